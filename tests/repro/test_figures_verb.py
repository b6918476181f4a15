"""`densevidcap figures`, through the real command line, with a small model and generated clips."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image
from tests.data.made_features import make_features, write_features
from tests.pipeline.small_model import write_model

from densevidcap.cli import root
from densevidcap.config import AssociationConfig
from densevidcap.data.clip import open_clip
from densevidcap.data.lexicon import Lexicon
from densevidcap.data.manifest import read_manifest
from densevidcap.errors import CorpusError
from densevidcap.examples import World, write_world
from densevidcap.model_folder import read_model_config, write_model_card
from densevidcap.pipeline.captioner import DenseCaptioner
from densevidcap.pipeline.confidence import Curve, Trust
from densevidcap.regions import associate, generate_sequences, match, pool_words
from densevidcap.regions.association import LEFT_OUT
from densevidcap.repro.figures import ClipFigures, describe_clip
from densevidcap.viz.beside import COLUMN, MARGIN, SQUARE
from densevidcap.viz.colours import colour_of

CAPTIONS = (
    "a dog is running",
    "a cat",
    "a man plays the guitar",
    "nobody is here",
    "the dog, the cat and the man",
    "running and running",
    "a guitar",
)
THRESHOLD = 0.56
"""Which only some words of some regions reach, with weights at random."""

SETTINGS = {
    "regions.threshold": THRESHOLD,
    "regions.k": 4,
    "frames.most": 6,
    "frames.per_shot": "always",
    "frames.longest": 0.2,
    "selection.sure": 0.99,
    "selection.news": 9,
}
"""A model that looks at parts and says as little as can be: neither holds for figures."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_model(tmp_path_factory.mktemp("models") / "small")
    write_model_card(folder, read_model_config(folder).override(SETTINGS))
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A clip of the test world, in which things move, with sentences of our own."""
    (moving,) = read_manifest(write_world(tmp_path / "world", [2], World(size=96, frames=4)))
    shutil.copyfile(str(moving.source), tmp_path / "talk.mp4")
    return write_rows(tmp_path, {"id": "talk", "source": "talk.mp4", "captions": CAPTIONS})


def write_rows(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "mine.jsonl"
    path.write_text("".join(json.dumps({"split": "train", **row}) + "\n" for row in rows))
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(root, ["figures", *map(str, arguments)])


def describe(model: Path, data: Path, k: int | None = None) -> tuple[DenseCaptioner, ClipFigures]:
    captioner = DenseCaptioner.load(model)
    clip = open_clip(data.parent / "talk.mp4")
    return captioner, describe_clip(captioner, clip, "talk", CAPTIONS, k)


def find_winners(captioner: DenseCaptioner, data: Path) -> list[int]:
    """By the room of regions alone."""
    seen = captioner.read_words(open_clip(data.parent / "talk.mp4"))
    pooled = pool_words(generate_sequences(seen, captioner.config.regions), seen)
    said = [np.array(captioner.words.lexicon.find(each), np.intp) for each in CAPTIONS]
    config = AssociationConfig(method="winner", unsupported="leave_out")
    return list(associate(match(said, pooled, THRESHOLD), config).tolist())


def test_two_pictures_of_each_clip(model: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "drawn"
    result = run("talk", "talk", "--data", data, "--model", model, "--out", out)
    assert result.exit_code == 0, result.output
    names = ["talk-sheet.png", "talk-responses.png"]
    assert result.stdout.splitlines() == [str(out / name) for name in names]
    assert {path.name for path in out.iterdir()} == {*names}
    for path in out.iterdir():
        with Image.open(path) as picture:
            assert picture.format == "PNG"


def test_a_sheet_has_as_many_squares_of_a_colour_as_sentences_of_a_sequence(
    model: Path, data: Path, tmp_path: Path
) -> None:
    assert run("talk", "--data", data, "--model", model, "--out", tmp_path / "drawn").exit_code == 0
    with Image.open(tmp_path / "drawn" / "talk-sheet.png") as sheet:
        pixels = np.asarray(sheet)
    winners = find_winners(DenseCaptioner.load(model), data)
    assert {*winners} == {0, 1, 2, LEFT_OUT}  # else this would say little
    # The left edge of the squares before people's sentences.
    edge = pixels[:, pixels.shape[1] - MARGIN - COLUMN]
    for number in range(4):
        drawn = int((edge == colour_of(number).rgb).all(axis=1).sum())
        assert drawn == SQUARE * winners.count(number)


def test_sentences_go_where_eq_10_gives_them(model: Path, data: Path) -> None:
    captioner, figures = describe(model, data)
    assert [each.text for each in figures.given] == list(CAPTIONS)
    assert [each.sequence for each in figures.given] == find_winners(captioner, data)
    assert figures.given[CAPTIONS.index("nobody is here")].sequence == LEFT_OUT
    seen = captioner.read_words(open_clip(data.parent / "talk.mp4"))
    index = captioner.words.lexicon.index
    for each in figures.given:
        assert bool(each.words) == (each.sequence != LEFT_OUT)
        for word in index if each.words else ():
            sequence = figures.told[each.sequence].sequence
            shown = sequence.follow(seen.probabilities)[:, index[word]].max() >= THRESHOLD
            assert (word in each.words) == (shown and word in each.text)


@pytest.mark.parametrize("k", [1, 3])
def test_as_many_sequences_as_asked_for_each_with_a_sentence_of_its_own(
    model: Path, data: Path, k: int
) -> None:
    captioner, figures = describe(model, data, k)
    seen = captioner.read_words(open_clip(data.parent / "talk.mp4"))
    config = captioner.config.override({"regions.k": k})
    expected = generate_sequences(seen, config.regions)
    assert [each.sequence.regions for each in figures.told] == [each.regions for each in expected]
    texts = [each.text for each in figures.told]
    assert all(texts)
    assert len({*texts}) == k
    assert all(0 < each.confidence <= 1 for each in figures.told)


def test_words_are_mapped_over_the_frame_and_region_that_show_them_best(
    model: Path, data: Path
) -> None:
    captioner, figures = describe(model, data)
    seen = captioner.read_words(open_clip(data.parent / "talk.mp4"))
    person, spoken = figures.mapped
    assert (person.who, spoken.who) == ("a person", "the model")
    first = captioner.caption(data.parent / "talk.mp4", per_shot=False).captions[0]
    assert spoken.text == first.text
    index = captioner.words.lexicon.index
    for sentence in figures.mapped:
        said = dict.fromkeys(sentence.text.replace(",", "").split())
        assert [each.shown.word for each in sentence.maps] == [
            each for each in said if each in index
        ]
        for each in sentence.maps:
            responses = seen.probabilities[:, :, index[each.shown.word]]
            np.testing.assert_array_equal(each.responses, responses)
            frame, region = divmod(int(responses.argmax()), len(seen.grid))
            assert (each.shown.index, each.shown.region) == (frame, region)
            assert set(each.boxes) == {seen.grid.box(region)}
            assert each.shown.peak == pytest.approx(responses.max())
    # The sentence of the highest sum of words that count.
    pooled = pool_words([each.sequence for each in figures.told], seen)
    said_words = [np.array(captioner.words.lexicon.find(each), np.intp) for each in CAPTIONS]
    sums = match(said_words, pooled, THRESHOLD).sums.max(axis=1)
    assert person.text == CAPTIONS[int(sums.argmax())]


def test_maps_have_the_probabilities_that_the_model_was_calibrated_to(
    model: Path, data: Path
) -> None:
    captioner, raw = describe(model, data)
    captioner.trust = Trust(region=Curve((0.0, 1.0), (0.2, 1.0)))
    clip = open_clip(data.parent / "talk.mp4")
    rated = describe_clip(captioner, clip, "talk", CAPTIONS)
    for before, after in zip(raw.mapped[0].maps, rated.mapped[0].maps, strict=True):
        np.testing.assert_allclose(after.responses, 0.2 + 0.8 * before.responses, rtol=1e-5)
        assert after.shown.peak == pytest.approx(float(after.responses.max()))
    assert rated.given == raw.given  # which training decides before anything is calibrated


def test_words_that_nobody_can_see_have_no_map(model: Path, data: Path) -> None:
    captioner, figures = describe(model, data)
    sentence = figures.mapped[0]
    words = [each.shown.word for each in sentence.maps]
    assert len(words) == 3
    entries = captioner.words.lexicon.entries
    captioner.words.lexicon = Lexicon(
        replace(entry, pos="NUM") if entry.word == words[1] else entry for entry in entries
    )
    clip = open_clip(data.parent / "talk.mp4")
    changed = describe_clip(captioner, clip, "talk", CAPTIONS).mapped[0]
    assert changed.text == sentence.text
    assert [each.shown.word for each in changed.maps] == [words[0], words[2]]


def test_a_clip_unlike_all_that_is_known_gets_no_sentence(model: Path, data: Path) -> None:
    captioner = DenseCaptioner.load(model)
    captioner.trust = replace(captioner.trust, centre=(1e6,) * 1280, reach=0.1)
    figures = describe_clip(captioner, open_clip(data.parent / "talk.mp4"), "talk", CAPTIONS)
    assert [each.text for each in figures.told] == [""] * 4
    assert [each.who for each in figures.mapped] == ["a person"]
    figures.draw_sheet()
    figures.draw_responses()


def test_wrong_ids_and_clips_without_captions_or_source_are_one_line(
    model: Path, data: Path, tmp_path: Path
) -> None:
    def refuse(*ids: str) -> str:
        result = run(*ids, "--data", data, "--model", model, "--out", tmp_path / "drawn")
        assert result.exit_code == 1
        assert isinstance(result.exception, CorpusError), result.output
        assert not (tmp_path / "drawn").exists()
        return str(result.exception)

    assert refuse("talk", "tlak") == f"{data}: no clip tlak; it has talk"
    assert refuse("x", "y") == f"{data}: no clip x, y; it has talk"
    write_rows(tmp_path, {"id": "mute", "source": "talk.mp4", "captions": []})
    assert refuse("mute").startswith(f"{data}: clip 'mute' has no captions to draw beside it; add")
    write_rows(tmp_path, {"id": "lost", "source": None, "captions": ["a dog"]})
    assert refuse("lost") == f"{data}: clip 'lost' has no source; add it (docs/data.md)"
    data.write_text("")
    assert refuse("talk") == f"{data}: no clip talk; it is empty"


def test_a_clip_that_cannot_be_drawn_is_named_and_the_others_are_drawn(
    model: Path, data: Path, tmp_path: Path
) -> None:
    (tmp_path / "broken.mp4").write_text("this is not a video")
    write_features(tmp_path / "features", "npy", {"f": make_features(0)})
    rows = {"broken": "broken.mp4", "plain": "features/f.npy", "talk": "talk.mp4"}
    write_rows(
        tmp_path,
        *({"id": name, "source": path, "captions": ["a dog"]} for name, path in rows.items()),
    )
    out = tmp_path / "drawn"
    command = [sys.executable, "-m", "densevidcap", "figures"]
    finished = subprocess.run(
        [*command, *rows, "--data", data, "--model", model, "--out", out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 1
    assert {path.name for path in out.iterdir()} == {"talk-sheet.png", "talk-responses.png"}
    broken, plain, summary = finished.stderr.splitlines()
    assert broken.startswith(f"densevidcap: {tmp_path / 'broken.mp4'}: ")
    features = tmp_path / "features" / "f.npy"
    assert plain == (
        f"densevidcap: {features}: holds features and no pictures; drawing needs the video"
    )
    assert summary == "densevidcap: 2 of 3 clips failed, as told above: broken, plain"
