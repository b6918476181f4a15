"""The verb `train`, through the real command line: a whole model of a few clips."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image
from tests.limited_disk import limited_files
from tests.train.tiny_config import write_config, write_table

import densevidcap
from densevidcap.cli import root
from densevidcap.cli.training_view import GOING_ON
from densevidcap.config import ModelConfig
from densevidcap.data.manifest import ClipRecord, write_manifest
from densevidcap.errors import CorpusError, ModelError, OutputError
from densevidcap.model_folder import CARD, WEIGHTS, read_card
from densevidcap.train.stage import hold_run

STAGES = ("words", "sentences", "evaluator")


def command(folder: Path, out: Path, *more: str) -> list[str]:
    """To train from the folder's table by its config."""
    options = ["--config", str(folder / "tiny.toml"), "--out", str(out)]
    return ["train", str(folder / "mine.csv"), *options, *more]


def train(folder: Path, out: Path, *more: str) -> Result:
    return CliRunner().invoke(root, command(folder, out, *more))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with clips, a table, a config, and in `model` what became of them."""
    folder = tmp_path_factory.mktemp("own")
    write_table(folder)
    write_config(folder / "tiny.toml")
    result = train(folder, folder / "model", "--from", "none")
    assert result.exit_code == 0, result.output
    (folder / "stdout").write_text(result.stdout)
    (folder / "stderr").write_text(result.stderr)
    return folder


@pytest.fixture
def own(trained: Path, tmp_path: Path) -> Path:
    """A copy of the corpus, which a test may change."""
    return Path(shutil.copytree(trained, tmp_path / "own", ignore=lambda *_: {"model"}))


@pytest.fixture
def no_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the extra `eval` were not installed, which also saves METEOR's ten seconds."""
    for name in [name for name in sys.modules if name.startswith("pycocoevalcap")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pycocoevalcap", None)


def test_all_stages_and_what_is_said_of_them(trained: Path) -> None:
    stdout, stderr = (trained / "stdout").read_text(), (trained / "stderr").read_text()
    assert "5 clips to learn from, 1 held out, chosen by their ids; config 'tiny'" in stdout
    for number, stage in enumerate(("lexicon", *STAGES, "figures"), start=1):
        assert f"{number} of 5, {stage}: " in stderr
        assert f"│ {stage} " in stdout
    assert "3 of 5, sentences: epoch 2: loss " in stderr
    for figure in ("METEOR", "Bleu_4", "ROUGE_L", "D_div"):
        assert figure in stdout.splitlines()[-1]

    card = json.loads((trained / "model" / CARD).read_text())
    assert (card["clips"], card["held_out_clips"], card["left_out"]) == (5, 1, {})
    config = ModelConfig.read(trained / "tiny.toml")
    for folder in ("", *STAGES):
        card = json.loads((trained / "model" / folder / CARD).read_text())
        assert ModelConfig.from_dict(card["config"], folder) == config
    card = json.loads((trained / "model" / CARD).read_text())
    # Of one clip CIDEr says nothing.
    assert set(card["figures"]) == {"METEOR", "Bleu_4", "ROUGE_L", "D_div"}


@pytest.mark.usefixtures("no_scores")
def test_how_sure_to_be_is_learned_again_from_the_stages_alone(
    trained: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    for stage in STAGES:
        shutil.copytree(trained / "model" / stage, model / stage)
    manifest = trained / "model" / "training" / "manifest.jsonl"

    def rank(*more: str) -> Result:
        options = ["--data", str(manifest), "--model", str(model), *more]
        return CliRunner().invoke(root, ["fit", "ranking", *options])

    result = rank("--config", str(trained / "tiny.toml"))
    assert result.exit_code == 0, result.output
    assert "of 1 held-out clips" in result.stdout
    ranking = (trained / "model" / "ranking.json").read_bytes()
    assert (model / "ranking.json").read_bytes() == ranking
    for folder in (trained / "model", model):
        assert densevidcap.load(folder).config == ModelConfig.read(trained / "tiny.toml")

    other = json.dumps(json.loads(ranking) | {"offset": 7.0})
    (model / "ranking.json").write_text(other)
    assert isinstance(rank().exception, OutputError)
    assert (model / "ranking.json").read_text() == other
    assert rank("--overwrite").exit_code == 0
    assert (model / "ranking.json").read_bytes() == ranking
    shutil.rmtree(model / "sentences")
    assert isinstance(rank("--overwrite").exception, ModelError)
    assert (model / "ranking.json").read_bytes() == ranking


@pytest.mark.usefixtures("no_scores")
def test_a_card_stays_where_nothing_can_take_its_place(trained: Path, tmp_path: Path) -> None:
    """Clips that cannot be read do not cost a model its figures."""
    model = Path(shutil.copytree(trained / "model", tmp_path / "model"))
    shutil.rmtree(model / "training")
    before = {name: (model / name).read_bytes() for name in (CARD, "ranking.json")}
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"no film")
    sound = next(trained.glob("*.mp4"))
    manifest = tmp_path / "broken.jsonl"
    splits = ("train", "train", "validate", "validate")

    def rank(*sources: Path) -> Result:
        records = [
            ClipRecord(f"clip{number}", str(source), ("a red ball",), None, split)
            for number, (source, split) in enumerate(zip(sources, splits, strict=True))
        ]
        write_manifest(manifest, records)
        options = ["--data", str(manifest), "--model", str(model), "--overwrite"]
        return CliRunner().invoke(root, ["fit", "ranking", *options])

    refused = rank(sound, sound, broken, broken)
    assert f"left out clip2: {broken}" in refused.stderr
    assert isinstance(refused.exception, CorpusError)
    assert "stays as it is, since no held-out clip can be read" in str(refused.exception)
    assert {name: (model / name).read_bytes() for name in before} == before

    partly = rank(sound, sound, broken, sound)
    assert partly.exit_code == 1
    assert "of 1 held-out clips" in partly.stdout
    assert "made without 1 clips, as told above: clip2" in partly.stderr


@pytest.mark.usefixtures("no_scores")
def test_figures_are_of_what_the_stages_saw_and_no_clip_is_looked_at_again(
    trained: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(trained, tmp_path / "own"))
    model = folder / "model"
    for name in (CARD, "ranking.json"):
        (model / name).unlink()
    for clip in folder.glob("*.mp4"):
        clip.write_bytes(bytes(clip.stat().st_size))
    assert CliRunner().invoke(root, ["caption", str(clip), "--model", str(model)]).exit_code
    manifest = model / "training" / "manifest.jsonl"
    manifest.write_text(manifest.read_text().replace(str(trained), str(folder)))
    again = CliRunner().invoke(
        root, ["fit", "ranking", "--data", str(manifest), "--model", str(model)]
    )
    assert again.exit_code == 0, again.output
    ranking, before = (each / "ranking.json" for each in (model, trained / "model"))
    assert ranking.read_bytes() == before.read_bytes()


def test_files_of_no_training_are_not_taken_for_its_own(own: Path) -> None:
    for name in ("manifest.jsonl", "lexicon.json"):
        out = own / name.partition(".")[0]
        mine = out / "training" / name
        mine.parent.mkdir(parents=True)
        mine.write_text("mine\n")
        result = train(own, out, "--from", "none")
        assert isinstance(result.exception, ModelError)
        assert str(result.exception) == (
            f"{mine.parent}: holds {name} of no training; give another folder"
        )
        assert mine.read_text() == "mine\n"


def test_the_model_captions_a_clip(trained: Path) -> None:
    clip = next(trained.glob("*.mp4"))
    assert densevidcap.load(trained / "model").caption(clip, k=2).captions[0].text
    said = CliRunner().invoke(
        root, ["caption", str(clip), "--model", str(trained / "model"), "-k", "2"]
    )
    assert said.exit_code == 0, said.output


def test_the_same_command_again_has_nothing_to_do(trained: Path) -> None:
    again = train(trained, trained / "model", "--from", "none")
    assert again.exit_code == 0, again.output
    assert again.stdout == (trained / "stdout").read_text()
    assert again.stderr.count("done before") == 5


@pytest.mark.usefixtures("no_scores")
def test_a_training_that_was_killed_goes_on_and_ends_in_the_same_weights(
    trained: Path, own: Path
) -> None:
    line = [sys.executable, "-m", "densevidcap", *command(own, own / "model", "--from", "none")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for moment in ("words: epoch 1:", "sentences: epoch 1:"):
        with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stderr is not None
            assert any(moment in told for told in process.stderr)
            process.send_signal(signal.SIGKILL)
        assert not (own / "model" / CARD).exists()
    finished = train(own, own / "model", "--from", "none")
    assert finished.exit_code == 0, finished.output
    assert "2 of 5, words: done before" in finished.stderr
    for stage in STAGES:
        ours, theirs = (folder / "model" / stage / WEIGHTS for folder in (own, trained))
        assert ours.read_bytes() == theirs.read_bytes(), stage


def test_a_second_training_in_the_same_folder_is_refused(trained: Path) -> None:
    with hold_run(trained / "model"):
        refused = train(trained, trained / "model", "--from", "none")
    assert isinstance(refused.exception, ModelError)
    assert f"{trained / 'model'}: another training works here" in str(refused.exception)


def test_what_the_training_writes_is_no_table_to_learn_from(trained: Path) -> None:
    table = trained / "model" / "training" / "manifest.jsonl"
    before = table.read_bytes()
    refused = CliRunner().invoke(root, ["train", str(table), "--out", str(trained / "model")])
    assert f"{table}: is read by this run" in str(refused.exception)
    assert table.read_bytes() == before


def test_a_model_without_its_training_is_not_replaced(trained: Path, own: Path) -> None:
    model = Path(shutil.copytree(trained / "model", own / "model"))
    shutil.rmtree(model / "training")
    for start in ("none", str(model)):
        refused = train(own, model, "--from", start)
        assert isinstance(refused.exception, ModelError)
        assert f"{model}: holds a model, which is not replaced" in str(refused.exception)
    (model / CARD).unlink()
    refused = train(own, model, "--from", "none")
    assert f"{model / 'words'}: holds a model" in str(refused.exception)


@pytest.mark.usefixtures("no_scores")
def test_a_full_disk_is_told_and_the_training_goes_on_when_there_is_room(
    trained: Path, own: Path
) -> None:
    rooms = (100, 10_000, 2_000_000)  # for settings, then for features, then for weights
    told = set()
    for room in rooms:
        with limited_files(room):
            full = train(own, own / "model", "--from", "none")
        assert isinstance(full.exception, OutputError), full.output
        (line,) = str(full.exception).splitlines()
        assert "cannot be written (File too large); make room on its disk" in line
        assert line.endswith(GOING_ON)
        told.add(line)
    assert len(told) == len(rooms)
    finished = train(own, own / "model", "--from", "none")
    assert finished.exit_code == 0, finished.output
    for stage in STAGES:
        ours, theirs = (folder / "model" / stage / WEIGHTS for folder in (own, trained))
        assert ours.read_bytes() == theirs.read_bytes(), stage


def test_what_is_no_model_to_start_from_is_named(own: Path) -> None:
    nothing = train(own, own / "model", "--from", str(own))
    assert isinstance(nothing.exception, ModelError)
    assert f"{own}: neither words nor sentences to start from" in str(nothing.exception)
    assert not (own / "model").exists()


@pytest.mark.parametrize("change", ["caption", "config", "start"])
def test_a_folder_of_another_training_is_refused_and_stays_as_it_is(
    trained: Path, own: Path, change: str
) -> None:
    before = {path: path.stat().st_mtime_ns for path in trained.rglob("*") if path.is_file()}
    start = "none"
    if change == "caption":
        table = own / "mine.csv"
        table.write_text(table.read_text().replace("mp4,a ", "mp4,one ", 1))
    elif change == "config":
        config = own / "tiny.toml"
        config.write_text(config.read_text().replace("epochs = 2", "epochs = 3"))
    else:
        start = str(trained / "model")
    result = train(own, trained / "model", "--videos", str(trained), "--from", start)
    assert isinstance(result.exception, ModelError)
    assert "holds a run with other data or settings" in str(result.exception)
    after = {path: path.stat().st_mtime_ns for path in trained.rglob("*") if path.is_file()}
    assert after == before


@pytest.mark.usefixtures("no_scores")
def test_it_starts_from_a_model_and_leaves_out_a_clip_that_cannot_be_read(
    trained: Path, own: Path
) -> None:
    (own / "broken.mp4").write_bytes(b"no video")
    with (own / "mine.csv").open("a") as table:
        table.write("broken.mp4,a red ball\nmissing.mp4,a red ball\n")
    # Two rounds of words, as in the config `full`.
    write_config(own / "tiny.toml", rounds=2)
    start = ("--from", str(trained / "model"))
    refused = train(own, own / "model", *start)
    assert isinstance(refused.exception, CorpusError)
    assert f"1 files do not exist: {own / 'missing.mp4'}" in str(refused.exception)
    assert not (own / "model").exists()

    result = train(own, own / "model", *start, "--skip-missing")
    assert result.exit_code == 1
    assert "scoring captions needs the package 'pycocoevalcap'" in result.stderr
    again = train(own, own / "model", *start, "--skip-missing")
    assert again.exit_code == 1
    for each in (result, again):
        assert each.stderr.count("left out broken: ") == 1
        assert "made without 1 clips, as told above: broken;" in each.stderr.splitlines()[-1]
    card = json.loads((own / "model" / CARD).read_text())
    assert list(card["left_out"]) == ["broken"]
    assert set(card["figures"]) == {"D_div"}

    assert "2 of 6, words, round 1: " in result.stderr
    model = own / "model"
    for stage in (model / "words" / "training" / "words-1", model / "words", model / "sentences"):
        origin = {"words": "words-1", "words-1": "words"}.get(stage.name, stage.name)
        assert read_card(stage)["started_from"]["weights"] == origin
    # The encoder is not trained by this config, so both models have the same one.
    first, second = (densevidcap.load(folder / "model") for folder in (trained, own))
    ours, theirs = first.words.encoder.state_dict(), second.words.encoder.state_dict()
    assert all(bool((ours[name] == theirs[name]).all()) for name in ours)


def test_words_too_rare_for_a_lexicon(own: Path) -> None:
    config = own / "tiny.toml"
    config.write_text(
        config.read_text().replace("[lexicon]\nmin_count = 2", "[lexicon]\nmin_count = 9999")
    )
    result = train(own, own / "model", "--from", "none")
    assert isinstance(result.exception, CorpusError)
    assert "lower min_count in the config's [lexicon]" in str(result.exception)


def test_the_option_of_version_0_1_is_told_apart(own: Path) -> None:
    result = train(own, own / "model", "--recipe", "small")
    assert result.exit_code == 2
    assert "--recipe is now --config" in result.stderr
    assert not (own / "model").exists()


@pytest.mark.usefixtures("no_scores")
def test_words_are_learned_from_pictures_too_and_sentences_are_not(
    own: Path, tmp_path: Path
) -> None:
    for number, shade in enumerate((40, 200)):
        picture = np.full((48, 64, 3), shade, np.uint8)
        Image.fromarray(picture).save(own / f"picture{number}.png")
    rows = "video,caption\npicture0.png,a dark thing\npicture1.png,a bright thing\n"
    (own / "pictures.csv").write_text(rows)
    more = ("--from", "none", "--pictures", str(own / "pictures.csv"))
    result = train(own, tmp_path / "model", *more)
    assert result.exit_code == 0, result.output
    cards = {stage: read_card(tmp_path / "model" / stage) for stage in STAGES}
    clips = {stage: card["data"]["clips"] for stage, card in cards.items()}
    assert clips["words"] == clips["sentences"] + 2 == clips["evaluator"] + 2

    # Without them it is another training.
    result = train(own, tmp_path / "model", "--from", "none")
    assert "other data or settings" in str(result.exception)


def test_a_picture_that_is_a_clip_too_is_refused(own: Path, tmp_path: Path) -> None:
    result = train(own, tmp_path / "model", "--pictures", str(own / "mine.csv"))
    assert isinstance(result.exception, CorpusError)
    assert "is a picture and a clip too" in str(result.exception)
    assert not (tmp_path / "model").exists()
