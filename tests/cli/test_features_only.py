"""A corpus without pictures, from `prepare` to `evaluate`, through the real command line."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import pytest
from click.testing import CliRunner, Result
from jsonschema import validate
from tests.data.made_clips import write_video
from tests.data.made_features import (
    CONFIG,
    FRAMES,
    THINGS,
    WIDTH,
    Kind,
    list_captions,
    make_features,
    write_table,
)

from densevidcap.cli import root
from densevidcap.data.lexicon import build_lexicon
from densevidcap.data.manifest import ClipRecord, read_manifest, write_manifest
from densevidcap.errors import ClipError, CorpusError, DenseVidCapError, ModelError
from densevidcap.export import SCHEMA
from densevidcap.model_folder import read_card, read_model_config
from densevidcap.train.model import choose_config
from densevidcap.types import MapShape

PIXELS = "holds features and no pictures; "


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(root, [str(each) for each in arguments])


def check(*arguments: object) -> Result:
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result


def refuse(kind: type[DenseVidCapError], *arguments: object) -> str:
    """The one line in which it is refused."""
    result = invoke(*arguments)
    assert result.exit_code != 0
    if result.exception is None or isinstance(result.exception, SystemExit):
        (line,) = (each for each in result.stderr.splitlines() if each.startswith("densevidcap: "))
        return line
    assert isinstance(result.exception, kind), result.exception
    assert "\n" not in str(result.exception)
    return str(result.exception)


@dataclass(frozen=True)
class Corpus:
    folder: Path
    features: Path
    manifest: Path
    config: Path

    @classmethod
    def write(cls, folder: Path, kind: Kind, regions: tuple[int, ...] = ()) -> Corpus:
        table, features = write_table(folder, kind, regions=regions)
        manifest, config = folder / "manifest.jsonl", folder / "tiny.toml"
        config.write_text(CONFIG)
        told = check("prepare", "table", table, "--features", features, "--out", manifest)
        shape = MapShape(1, 1, WIDTH) if not regions else MapShape(2, 2, WIDTH)
        assert (
            f"features in place of pictures: {FRAMES} frames a clip, {shape} a fra" in told.output
        )
        return cls(folder, features, manifest, config)

    @property
    def tested(self) -> list[ClipRecord]:
        return [record for record in read_manifest(self.manifest) if record.split == "test"]

    def write_lexicon(self) -> Path:
        captions = {record.id: record.captions for record in read_manifest(self.manifest)}
        tags = {**dict.fromkeys(THINGS, "NOUN"), "a": "DET", "the": "DET"}
        build_lexicon(
            captions, lambda sentences: [[tags.get(w, "VERB") for w in s] for s in sentences]
        ).save(self.folder / "lexicon.json")
        return self.folder / "lexicon.json"

    def fit(self, stage: str, out: Path, *more: object) -> Result:
        options = ("--data", self.manifest, "--config", self.config, "--out", out)
        return invoke("fit", stage, *options, "--cache", self.folder / "cache", *more)


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """One vector a frame, in .npy files; its model is made stage by stage in `model`."""
    corpus = Corpus.write(tmp_path_factory.mktemp("frames"), "npy")
    words, out = corpus.folder / "model" / "words", corpus.folder / "model"
    for result in (
        corpus.fit("words", words, "--lexicon", corpus.write_lexicon()),
        corpus.fit("sentences", out / "sentences", "--words", words),
        corpus.fit("evaluator", out / "evaluator", "--words", words),
    ):
        assert result.exit_code == 0, result.output
    return corpus


@pytest.fixture(scope="module")
def regions(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Four regions a frame, in an HDF5 file; its model is made by `train`."""
    corpus = Corpus.write(tmp_path_factory.mktemp("regions"), "h5", (4,))
    with pytest.MonkeyPatch.context() as patch:
        # As if the extra `eval` were not installed, which saves METEOR's ten seconds.
        for name in [name for name in sys.modules if name.startswith("pycocoevalcap")]:
            patch.delitem(sys.modules, name)
        patch.setitem(sys.modules, "pycocoevalcap", None)
        check(
            *("train", corpus.manifest, "--config", corpus.config),
            *("--out", corpus.folder / "model"),
        )
    return corpus


def caption(corpus: Corpus, *more: object) -> dict[str, list[str]]:
    """What is said of the clips of split `test`."""
    predictions = corpus.folder / "said.json"
    check(
        *("caption", corpus.manifest, "--split", "test", "--model", corpus.folder / "model"),
        *("--raw", "-k", 1, "--predictions", predictions, "--overwrite", *more),
    )
    said: dict[str, list[str]] = json.loads(predictions.read_text())
    assert [*said] == [record.id for record in corpus.tested]
    return said


def test_frames_from_prepare_to_evaluate(frames: Corpus) -> None:
    said = caption(frames)
    for clip, (sentence,) in said.items():
        assert sentence in list_captions(int(clip.removeprefix("clip")))
    result = check(
        *("evaluate", "--predictions", frames.folder / "said.json"),
        *("--references", frames.manifest, "--split", "test"),
    )
    assert "First sentence of 8 videos" in result.output
    assert "METEOR" in result.output


def test_regions_from_train_to_captions(regions: Corpus) -> None:
    assert all(len(sentences) == 1 for sentences in caption(regions).values())
    clip = regions.tested[0]
    model = regions.folder / "model"
    printed = check("caption", clip.source, "--model", model, "--raw", "--json", "--story").stdout
    (content,) = json.loads(printed)
    content.pop("story")
    validate(content, json.loads(SCHEMA.read_text()))
    assert content["source"] == clip.source
    assert (content["width"], content["height"], content["duration"]) == (0, 0, FRAMES)
    assert {"vtt", "srt", "json"} == {
        path.suffix[1:]
        for path in _write_files(regions.folder / "files", clip, model, "vtt", "srt", "json")
    }


def _write_files(folder: Path, clip: ClipRecord, model: Path, *kinds: str) -> list[Path]:
    formats = [part for kind in kinds for part in ("--format", kind)]
    check("caption", clip.source, "--model", model, "--raw", "--out", folder, *formats)
    return [*folder.iterdir()]


def test_a_model_of_features_is_listed_and_packed(frames: Corpus, tmp_path: Path) -> None:
    model, packed = frames.folder / "model", tmp_path / "packed"
    assert "model" in check("models", model).stdout
    check("models", "pack", model, packed)
    source = frames.tested[0].source
    said = [check("caption", source, "--model", each, "--json").stdout for each in (model, packed)]
    assert said[0].replace('"model"', "") == said[1].replace('"packed"', "").replace('"model"', "")


def test_sizes_come_from_the_data_and_stand_in_every_card(frames: Corpus, regions: Corpus) -> None:
    for corpus, sides in ((frames, 1), (regions, 2)):
        for stage in ("words", "sentences", "evaluator"):
            eyes = read_card(corpus.folder / "model" / stage)["config"]["eyes"]
            assert (eyes["rows"], eyes["columns"], eyes["features"]) == (sides, sides, WIDTH)
    assert read_model_config(regions.folder / "model").eyes.features == WIDTH
    assert read_card(frames.folder / "model" / "words")["started_from"]["weights"] == "none"


@pytest.mark.parametrize(("name", "count"), [("frames", 1), ("regions", 3)])
def test_one_region_a_frame_is_one_sequence(
    name: str, count: int, request: pytest.FixtureRequest
) -> None:
    corpus: Corpus = request.getfixturevalue(name)
    source, model = corpus.tested[0].source, corpus.folder / "model" / "words"
    (seen,) = json.loads(check("regions", source, "--model", model, "--json").stdout)
    assert len(seen["sequences"]) == count
    words = json.loads(check("words", source, "--model", model, "--json", "--top", 3).stdout)
    assert len(words["words"]) == 3


SINGLE = """
[about]
title = "Who says it better"
kind = "single"
split = "test"
[[rows]]
name = "mean-pooling"
system = "plain"
[[rows]]
name = "model"
system = "model"
"""


def test_experiments_need_no_pictures_but_for_grounding(frames: Corpus) -> None:
    definitions = frames.folder / "definitions"
    (definitions / "ablation").mkdir(parents=True)
    (definitions / "single.toml").write_text(SINGLE)
    (definitions / "ablation" / "plain.toml").write_text(CONFIG)
    (definitions / "point.toml").write_text('[about]\ntitle = "t"\nkind = "grounding"\n')
    run = (
        *("--data", frames.manifest, "--model", frames.folder / "model"),
        *("--definitions", definitions, "--out", frames.folder / "runs"),
    )
    assert "| mean-pooling |" in check("experiment", "single", *run).output
    boxes = frames.folder / "cases.jsonl"
    case = {"clip": "clip0", "frame": 0, "class": "dog", "words": ["dog"], "boxes": [[0, 0, 1, 1]]}
    boxes.write_text(json.dumps(case))
    message = refuse(ModelError, "experiment", "point", *run, "--boxes", boxes)
    assert "the model sees features that others extracted, 12 features of a frame" in message


@pytest.mark.parametrize("kind", ["mp4", "html", "coco", "cvat", "fiftyone"])
def test_formats_of_pictures_say_what_they_need(frames: Corpus, kind: str, tmp_path: Path) -> None:
    source, model = frames.tested[0].source, frames.folder / "model"
    line = refuse(
        ClipError,
        *("caption", source, "--model", model, "--format", kind, "--out", tmp_path / "out"),
    )
    others = "json, vtt, srt, chapters, chapters-srt, chapters-txt"
    assert line.endswith(f"{source}: {PIXELS}{kind} (unlike {others}) needs the video")
    assert not (tmp_path / "out").exists()


def test_verbs_that_need_pictures_say_so(frames: Corpus, tmp_path: Path) -> None:
    source, model = frames.tested[0].source, frames.folder / "model"
    for line, needs in (
        (("words", source, "--model", model / "words", "--word", "dog"), "drawing"),
        (("regions", source, "--model", model / "words", "--out", tmp_path / "out"), "drawing"),
        (("caption", source, "--model", model, "--per-shot"), "finding shots"),
    ):
        assert refuse(ClipError, *line).endswith(f"{source}: {PIXELS}{needs} needs the video")
    assert "no pictures, which are needed here" in refuse(ClipError, "frames", source)
    assert "the studio shows videos" in refuse(ModelError, "serve", "--model", model)
    assert not [*tmp_path.iterdir()]


def test_eyes_and_clips_that_do_not_fit(frames: Corpus, model: Path, tmp_path: Path) -> None:
    """`model` is a Lexical-FCN that sees pictures."""
    film, ours = write_video(tmp_path / "film.mp4", 3), frames.folder / "model"
    message = refuse(ClipError, "caption", film, "--model", ours)
    assert "has pictures, but the model sees features alone, 12 features of a frame" in message
    message = refuse(ClipError, "words", frames.tested[0].source, "--model", model)
    assert "holds features and no pictures, which are needed here; name the video" in message
    np.save(tmp_path / "wide.npy", np.ones((4, 99)))
    message = refuse(ClipError, "caption", tmp_path / "wide.npy", "--model", ours)
    assert "a frame has 99 features, but the model sees 12 features; extract" in message


def copy(corpus: Corpus, folder: Path) -> Corpus:
    """The same clips, with features of their own."""
    features, manifest = folder / "features", folder / "manifest.jsonl"
    features.mkdir(parents=True)
    records = list(read_manifest(corpus.manifest))
    for record in records:
        source = Path(str(record.source))
        (features / source.name).write_bytes(source.read_bytes())
    moved = (
        ClipRecord(r.id, str(features / f"{r.id}.npy"), r.captions, None, r.split) for r in records
    )
    write_manifest(manifest, moved)
    (folder / "tiny.toml").write_text(CONFIG)
    return Corpus(folder, features, manifest, folder / "tiny.toml")


def test_training_names_clips_that_it_leaves_out(frames: Corpus, tmp_path: Path) -> None:
    corpus = copy(frames, tmp_path / "copy")
    trained = [r.id for r in read_manifest(corpus.manifest) if r.split == "train"]
    broken, wide, gone = (corpus.features / f"{clip}.npy" for clip in trained[:3])
    array = make_features(0)
    array[2, 3] = np.nan
    np.save(broken, array)
    np.save(wide, np.ones((FRAMES, WIDTH + 1), np.float32))
    gone.unlink()
    result = corpus.fit("words", tmp_path / "words", "--lexicon", corpus.write_lexicon())
    assert result.exit_code == 1
    told = result.stderr
    assert f"{broken}: some values are not finite (NaN or infinite); extract its features" in told
    assert f"{wide}: a frame has 13 features, but the model sees 12 features" in told
    assert f"{gone}: no such file or folder" in told
    assert f"made without 3 clips, as told above: {', '.join(trained[:3])}" in told
    assert read_card(tmp_path / "words")["data"]["clips"] == len(trained) - 3


def test_other_features_of_the_same_size_are_not_taken_from_a_cache(
    frames: Corpus, tmp_path: Path
) -> None:
    corpus = copy(frames, tmp_path / "copy")
    for path in corpus.features.iterdir():
        np.save(path, np.load(path) + 1)
    options = ("--data", corpus.manifest, "--config", corpus.config, "--out", tmp_path / "words")
    lexicon = corpus.write_lexicon()
    message = refuse(
        CorpusError,
        *("fit", "words", *options, "--lexicon", lexicon, "--cache", frames.folder / "cache"),
    )
    assert "its clip 'clip0' is clip0.npy (" in message
    assert "give another --cache, or remove this one" in message


def test_starting_from_eyes_of_another_width(frames: Corpus, tmp_path: Path) -> None:
    corpus = copy(frames, tmp_path / "copy")
    for path in corpus.features.iterdir():
        np.save(path, np.ones((FRAMES, 7), np.float32))
    options = ("--lexicon", corpus.write_lexicon(), "--from", frames.folder / "model" / "words")
    result = corpus.fit("words", tmp_path / "words", *options)
    assert isinstance(result.exception, ModelError)
    assert "its eyes see 12 features of a frame, not 7 features" in str(result.exception)


def test_a_config_of_features_needs_features(tmp_path: Path) -> None:
    film, manifest = write_video(tmp_path / "film.mp4", 3), tmp_path / "manifest.jsonl"
    write_manifest(manifest, [ClipRecord("film", str(film), ("a dog",), None, "train")])
    (tmp_path / "tiny.toml").write_text(CONFIG)
    corpus = Corpus(tmp_path, tmp_path, manifest, tmp_path / "tiny.toml")
    result = corpus.fit("words", tmp_path / "words", "--lexicon", corpus.write_lexicon())
    assert isinstance(result.exception, CorpusError)
    assert "manifest.jsonl: no clip of split 'train' has features" in str(result.exception)


def test_features_choose_their_config() -> None:
    records = [ClipRecord(f"{n}", f"{n}.npy", ("a dog",), None, "train") for n in range(9)]
    assert choose_config(records) == "features"
    film = ClipRecord("film", "film.mp4", ("a dog",), None, "train")
    assert choose_config([*records, film]) == "small"


ANNOTATIONS = {
    "videos": [{"video_id": f"video{n}", "category": 9, "split": "train"} for n in range(3)],
    "sentences": [{"video_id": f"video{n}", "caption": "a dog runs"} for n in range(3)],
}


@pytest.fixture
def prepare(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "info.json").write_text(json.dumps(ANNOTATIONS))
    out = str(tmp_path / "clips.jsonl")
    return "prepare", "msrvtt", "--annotations", str(tmp_path / "info.json"), "--out", out


def test_prepare_finds_features_by_id(prepare: tuple[str, ...], tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        for n in range(3):
            file[f"video{n}"] = np.ones((n + 1, 4))
    result = check(*prepare, "--features", tmp_path / "f.h5")
    assert "1 to 3 frames a clip, 4 features a frame" in result.output
    sources = [clip.source for clip in read_manifest(tmp_path / "clips.jsonl")]
    assert sources == [f"{tmp_path / 'f.h5'}::video{n}" for n in range(3)]
    more = ("--features", tmp_path / "f.h5", "--videos", tmp_path, "--overwrite")
    both = invoke(*prepare, *more)
    assert both.exit_code == 2
    descriptions = tmp_path / "AllVideoDescriptions.txt"
    descriptions.write_text("".join(f"video{n} a man runs\n" for n in range(1970)))
    msvd = ("prepare", "msvd", "--annotations", descriptions, "--out", tmp_path / "msvd.jsonl")
    check(*msvd, "--features", tmp_path / "f.h5", "--skip-missing")
    assert len(list(read_manifest(tmp_path / "msvd.jsonl"))) == 3


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("missing", "features: nothing here for video1; add them, or leave these clips out with"),
        ("wide", "video1.npy: a frame has 9 features, but most clips have 4 features; extract"),
        ("cut", "video1.npy: ends too early; extract its features again, or leave it out"),
        ("objects", "video1.npy: holds Python objects, which are never read"),
    ],
)
def test_prepare_refuses_at_once(
    prepare: tuple[str, ...], tmp_path: Path, fault: str, message: str
) -> None:
    folder = tmp_path / "features"
    folder.mkdir()
    for n in range(3):
        np.save(folder / f"video{n}.npy", np.ones((2, 4)))
    bad = folder / "video1.npy"
    if fault == "missing":
        bad.unlink()
    elif fault == "wide":
        np.save(bad, np.ones((2, 9)))
    elif fault == "cut":
        bad.write_bytes(bad.read_bytes()[:-1])
    else:
        np.save(bad, np.array([[{}]], dtype=object), allow_pickle=True)
    command = [sys.executable, "-m", "densevidcap", *prepare, "--features", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1
    (line,) = run.stderr.strip().splitlines()
    assert line.startswith("densevidcap: ")
    assert message in line
    assert not (tmp_path / "clips.jsonl").exists()
