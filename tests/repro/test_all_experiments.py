"""`densevidcap experiment all`: every table of the paper, by its own files, on a few made clips."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copytree, ignore_patterns
from threading import Event, Thread
from time import sleep

import pytest
from click.testing import CliRunner, Result
from tests.data.made_features import write_table
from tests.models.drift import DriftStream, install_drift
from tests.models.small_world import make_lexicon, make_model

from densevidcap.cli import root
from densevidcap.config import ModelConfig
from densevidcap.data.manifest import ClipRecord, read_manifest, write_manifest
from densevidcap.examples.senses import write_senses
from densevidcap.files import hold_in_turn
from densevidcap.model_folder import hash_file
from densevidcap.models.streams import STREAMS
from densevidcap.progress import Silent
from densevidcap.repro import results
from densevidcap.repro.definition import DEFINITIONS, Experiment, list_experiments, read_claims
from densevidcap.repro.single import INTERVALS
from densevidcap.train.evaluator import EvaluatorStage
from densevidcap.train.sentences import SentenceStage

CLIPS = (*range(8), *range(24, 30))
"""The first of them are for training."""
SMALL = {
    "frames.most": 3,
    "eyes.backbone": "lite0",
    "eyes.size": 96,
    "eyes.window": 2,
    "eyes.stride": 1,
    "words.hidden": 8,
    "regions.k": 3,
    "streams.lexicon_size": 20,
    "captioner.hidden": 16,
    "captioner.embedding": 8,
    "decoding.beam": 3,
    "evaluator.width": 8,
    "evaluator.hidden": 8,
    "evaluator.embedding": 8,
    "training.sentences.min_count": 1,
    "training.sentences.epochs": 1,
    "training.evaluator.min_count": 1,
    "training.evaluator.epochs": 1,
    "training.category.epochs": 1,
}


def say_more(record: ClipRecord) -> ClipRecord:
    """With a category and eleven captions more, and some of the held-out clips for testing."""
    words = record.captions[0].split()
    others = (" ".join(words[:count]) for count in range(2, len(words)))
    moved = (text.replace("ball", thing) for text in record.captions for thing in ("toy", "thing"))
    number = int("".join(letter for letter in record.id if letter.isdigit()))
    split = "test" if record.split != "train" and number % 2 else record.split
    captions = (*record.captions, *others, *moved, "a ball", "something moves", "it is small")
    return replace(record, captions=captions, category=words[1], split=split)


class Bench:
    """A corpus with sound, motion and a test split, and a whole model."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data, model = folder, folder / "clips.jsonl", folder / "model"
        records = [
            say_more(record) for record in read_manifest(write_senses(folder / "clips", CLIPS))
        ]
        write_manifest(self.data, records)
        self.splits = [record.split for record in records]
        make_model(make_lexicon(records)).save(model / "words", {})
        config = ModelConfig().override(SMALL | {"decoding.samples": 2})
        for stage in (
            SentenceStage(
                model / "sentences", config, self.data, model / "words", folder / "cache"
            ),
            EvaluatorStage(
                model / "evaluator", config, self.data, model / "words", folder / "cache"
            ),
        ):
            stage.run(Silent())

    def run(self, *arguments: str) -> Result:
        places = {"data": self.data, "model": self.folder / "model", "cache": self.folder / "cache"}
        options = [part for name, path in places.items() for part in (f"--{name}", str(path))]
        options += [f"--set={name}={json.dumps(value)}" for name, value in SMALL.items()]
        out = ["--out", str(self.folder / "runs")]
        return CliRunner().invoke(root, ["experiment", *out, *options, *arguments])

    def load(self, name: str) -> results.Result:
        return results.Result.load(self.folder / "runs" / name / "results.json")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """With motion that needs no weights in the place of I3D."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DENSEVIDCAP_WEIGHTS", str(tmp_path_factory.mktemp("weights")))
        install_drift()
        stream = DriftStream()
        stream.name = "i3d"  # type: ignore[misc]
        patch.setitem(STREAMS, "i3d", stream)
        yield Bench(tmp_path_factory.mktemp("all"))


def test_no_table_can_rot(bench: Bench) -> None:
    docs = bench.folder / "docs"
    shown = bench.run("all", "--report", str(docs), "--claims")
    assert shown.exit_code == 0, f"{shown.output}\n{shown.exception!r}"
    assert "left out grounding: it needs --boxes" in shown.stderr
    names = [name for name in list_experiments(DEFINITIONS) if name != "grounding"]
    assert {path.parent.name for path in bench.folder.glob("runs/*/results.json")} == {*names}

    for name in names:
        result, experiment = bench.load(name), Experiment.read(DEFINITIONS / f"{name}.toml")
        assert not [note for note in result.notes if note.startswith("Not run")]
        lines = {line.name: line for line in result.outcome.tables[0].lines}
        for row in experiment.rows:
            assert lines[row.name].ours or not row.system, f"{name}: {row.name} has no figure"
        if experiment.about.kind == "single":
            (spread,) = [each for each in result.outcome.tables if each.title == INTERVALS]
            known = {line.name for line in spread.lines if min(line.ours) >= 0}
            assert known == {row.name for row in experiment.rows if row.system not in ("", "human")}
        tested = {claim.name for claim in read_claims(DEFINITIONS) if claim.experiment == name}
        assert {finding.claim for finding in result.outcome.findings} == tested, name
        for measured in (each for one in result.outcome.findings for each in one.measured):
            assert measured.low <= measured.high

    check_category_captioners(bench)
    check_evaluators(bench)
    assert bench.load("table4").clips == bench.splits.count("test") > 0
    assert bench.load("table3").clips == bench.splits.count("val") + bench.splits.count("validate")
    page = (docs / "results.md").read_text()
    header = page.index("| the paper says | where |")
    assert header < page.index("## Table 1") < page.index("## Table 4")
    assert page.count("**not run**") == 0
    assert (docs / "pictures" / "table3-curves.png").is_file()


def check_category_captioners(bench: Bench) -> None:
    """Each learned from the clips of its category, starting from the captioner of all."""
    records = [record for record in read_manifest(bench.data) if record.split == "train"]
    start = bench.folder / "runs/models/bi-s2vt"
    weights = {hash_file(start / "weights.safetensors")}
    for category in {str(record.category) for record in records}:
        folder = bench.folder / f"runs/models/category-captioners-{category}"
        card = json.loads((folder / "card.json").read_text())
        of_it = sum(record.category == category for record in records)
        # It can say what the others can, though its clips' captions have fewer words.
        words = [json.loads((each / "vocabulary.json").read_text()) for each in (folder, start)]
        assert words[0] == words[1]
        assert card["data"]["clips"] == of_it < len(records)
        assert card["data"]["sha256"]["initial"] == hash_file(start / "weights.safetensors")
        weights.add(hash_file(folder / "weights.safetensors"))
    assert len(weights) == 1 + len({record.category for record in records})


def check_evaluators(bench: Bench) -> None:
    """Between random, at 0, and the oracle, at 100 percent, which nobody is above."""
    precision, way, _ = bench.load("evaluator").outcome.tables
    figures = {line.name: line.ours for line in precision.lines}
    ways = {line.name: line.ours for line in way.lines}
    # ROUGE-L and CIDEr are means over clips; of the others an oracle may miss the best.
    for column in (2, 3):
        best = max(each[column] for each in figures.values())
        assert figures["Oracle"][column] == pytest.approx(best)
    assert ways["At random"] == (0, 0, 0, 0)
    rows = (figures[name] for name in ("At random", "Network", "Oracle"))
    for column, (low, own, high) in enumerate(zip(*rows, strict=True)):
        if high > low:
            assert ways["Network"][column] == pytest.approx(100 * (own - low) / (high - low))
    trained = [record for record in read_manifest(bench.data) if record.split == "train"]
    for share in (0.0625, 0.125, 0.25, 0.5, 1):
        folder = (
            bench.folder / f"runs/models/evaluator-regression-{max(1, round(share * len(trained)))}"
        )
        card = json.loads((folder / "card.json").read_text())
        assert card["data"]["clips"] == max(1, round(share * len(trained)))


def test_a_run_is_known_by_all_that_made_it(bench: Bench) -> None:
    """Its id stands for commit, settings, weights and predictions, and is the same again."""
    if not (bench.folder / "runs" / "table1").is_dir():
        assert bench.run("table1").exit_code == 0
    before = bench.load("table1")
    origin = dict(before.origin)
    weights = origin["weights of models/bi-s2vt"]
    assert weights == hash_file(bench.folder / "runs/models/bi-s2vt/weights.safetensors")
    assert {
        "settings of Bi-directional",
        "settings of Bi-directional (VGG-16)",
        "weights of model/words",
        "weights of models/words-vgg16",
        "weights of models/bi-s2vt/category",
    } <= {*origin}
    assert not [name for name in origin if name.startswith("commit of")]
    said = [name for name in origin if name.startswith("predictions validate-bi-s2vt-predicted")]
    (path,) = (bench.folder / "runs" / "said" / name.removeprefix("predictions ") for name in said)
    assert origin[said[0]] == hash_file(path)
    again = bench.run("table1", "--overwrite")
    assert again.exit_code == 0, again.output
    assert "epoch" not in again.stderr
    after = bench.load("table1")
    # Who commits while this runs gets another id, as it should be.
    assert dict(after.origin) | {"commit": ""} == origin | {"commit": ""}
    assert (after.run == before.run) == (after.origin == before.origin)
    assert len(before.run) == 12


def test_what_other_code_made_is_told(bench: Bench) -> None:
    """Models and sentences are made once, and may be older than the code that measures them."""
    if not (bench.folder / "runs" / "table1").is_dir():
        assert bench.run("table1").exit_code == 0
    path = bench.folder / "runs" / "made.json"
    made = json.loads(path.read_text())
    try:
        path.write_text(json.dumps(made | {"models/bi-s2vt": "0" * 12}))
        assert bench.run("table1", "--overwrite").exit_code == 0
    finally:
        path.write_text(json.dumps(made))
    told = {
        name: commit
        for name, commit in bench.load("table1").origin
        if name.startswith("commit of models/bi-s2vt")
    }
    assert told["commit of models/bi-s2vt"] == "0" * 12


def test_all_goes_on_with_what_is_missing(bench: Bench) -> None:
    names = [name for name in list_experiments(DEFINITIONS) if name != "grounding"]
    if {path.parent.name for path in bench.folder.glob("runs/*/results.json")} != {*names}:
        assert bench.run("all").exit_code == 0
    runs = {name: bench.load(name) for name in names}
    (bench.folder / "runs" / "table1" / "results.json").unlink()
    shown = bench.run("all")
    assert shown.exit_code == 0, f"{shown.output}\n{shown.exception!r}"
    assert shown.stdout.count("--overwrite measures it anew") == len(names) - 1
    assert {name: bench.load(name) for name in names if name != "table1"} == {
        name: result for name, result in runs.items() if name != "table1"
    }
    assert bench.load("table1").outcome == runs["table1"].outcome
    # What another command found is nobody's to replace.
    refused = bench.run("all", "--set=decoding.max_length=4")
    assert "stands there already; give --overwrite" in str(refused.exception)


def test_another_budget_is_another_folder(bench: Bench) -> None:
    if not (bench.folder / "runs" / "table1").is_dir():
        assert bench.run("table1").exit_code == 0
    mixed = bench.run("table1", "--overwrite", "--set=captioner.hidden=32")
    assert "holds a run with other data or settings" in str(mixed.exception)


def test_a_row_without_its_weights_is_not_run_and_says_why(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DENSEVIDCAP_WEIGHTS", str(tmp_path))
    folder = tmp_path / "own"
    folder.mkdir()
    text = (DEFINITIONS / "table4.toml").read_text()
    head = text[: text.index("[[rows]]")].replace('split = "test"', 'split = "validate"')
    (folder / "short.toml").write_text(
        head + '[[rows]]\nname = "N"\nsystem = "v2t_navigator"\npaper = [1.0, 2.0, 3.0, 4.0]\n'
        '[[rows]]\nname = "A"\nsystem = "v2t_navigator"\nwithout = ["i3d", "audio_words"]\n'
    )
    shown = bench.run("short", "--definitions", str(folder))
    assert shown.exit_code == 0, f"{shown.output}\n{shown.exception!r}"
    result = bench.load("short")
    published, alone = result.outcome.tables[0].lines
    assert (published.ours, published.paper) == ((), (1.0, 2.0, 3.0, 4.0))
    assert len(alone.ours) == 4
    (note,) = (note for note in result.notes if note.startswith("Not run"))
    assert note.startswith("Not run: N: ")
    assert str(tmp_path) not in note


def test_without_categories_what_needs_them_is_not_run(bench: Bench, tmp_path: Path) -> None:
    """A clip may have none; a row must not become another system of the same name."""
    records = [replace(record, category=None) for record in read_manifest(bench.data)]
    write_manifest(tmp_path / "clips.jsonl", records)
    runs = tmp_path / "runs"
    shown = bench.run("category", "--data", str(tmp_path / "clips.jsonl"), "--out", str(runs))
    assert shown.exit_code == 0, f"{shown.output}\n{shown.exception!r}"
    result = results.Result.load(runs / "category" / "results.json")
    ran = {line.name for line in result.outcome.tables[0].lines if line.ours}
    assert ran == {
        "Without category",
        "Without category, two epochs longer",
        "Without category, once more",
        "Without category, a third time",
    }
    notes = [note for note in result.notes if note.startswith("Not run")]
    assert len(notes) == len(Experiment.read(DEFINITIONS / "category.toml").rows) - len(ran)
    assert all(note.endswith("no training clip has a category") for note in notes)


def test_two_runs_share_a_folder(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each waits for what the other trains, and finds it there."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "short.toml").write_text(
        '[about]\ntitle = "One"\nkind = "single"\n'
        '[[rows]]\nname = "V"\nsystem = "v2t_navigator"\nwithout = ["i3d", "audio_words"]\n'
    )
    options = ("short", "--definitions", str(folder), "--out", str(tmp_path / "runs"))
    name = tmp_path / "runs" / "models" / "v2t_navigator-without-i3d-audio_words"
    shown: list[Result] = []
    waits = Event()

    def wait(seconds: float) -> None:
        waits.set()
        sleep(seconds)

    monkeypatch.setattr("densevidcap.files.sleep", wait)
    with hold_in_turn(name):
        waiting = Thread(target=lambda: shown.append(bench.run(*options)))
        waiting.start()
        assert waits.wait(timeout=300)
        assert waiting.is_alive()
    waiting.join()
    assert shown[0].exit_code == 0, shown[0].output
    assert f"{name.name} is trained by another run" in shown[0].stderr


def test_an_evaluator_that_is_not_there_ranks_nothing(bench: Bench, tmp_path: Path) -> None:
    """All its scores are 0, which would leave the order of choice."""
    model, folder = tmp_path / "model", tmp_path / "own"
    copytree(bench.folder / "model", model, ignore=ignore_patterns("evaluator"))
    folder.mkdir()
    rows = (("R", "random"), ("E", "evaluator"), ("L", "likelihood"), ("O", "ore"))
    (folder / "short.toml").write_text(
        '[about]\ntitle = "Who ranks"\nkind = "ranking"\n'
        + "".join(f'[[rows]]\nname = "{name}"\nsystem = "{order}"\n' for name, order in rows)
    )
    out = tmp_path / "runs"
    shown = bench.run(
        "short", "--definitions", str(folder), "--out", str(out), "--model", str(model)
    )
    assert shown.exit_code == 0, f"{shown.output}\n{shown.exception!r}"
    tables = results.Result.load(out / "short" / "results.json").outcome.tables
    assert [line.name for line in tables[0].lines if line.ours] == ["R", "L", "O"]


def test_the_yardstick_brings_its_own_words(tmp_path: Path) -> None:
    """Features of one vector a frame: no model is given, and six captioners are compared."""
    table, features = write_table(tmp_path, clips=24)
    data, out = tmp_path / "clips.jsonl", tmp_path / "runs"
    prepared = ["prepare", "table", str(table), "--features", str(features), "--out", str(data)]
    assert CliRunner().invoke(root, prepared).exit_code == 0
    small = {name: SMALL[name] for name in SMALL if not name.startswith(("eyes.", "frames."))}
    options = [f"--set={name}={json.dumps(value)}" for name, value in small.items()]
    options += ["--set=lexicon.min_count=2", "--data", str(data), "--out", str(out)]
    for name, split in (("msvd", "validate"), ("msvd-test", "test")):
        shown = CliRunner().invoke(root, ["experiment", name, *options])
        assert shown.exit_code == 0, f"{shown.output}\n{shown.exception!r}"
        result = results.Result.load(out / name / "results.json")
        scores, spread, training = result.outcome.tables
        assert [line.name for line in spread.lines] == [line.name for line in scores.lines]
        assert [len(line.ours) for line in scores.lines] == [4] * 6
        assert [line.name for line in training.lines] == [
            "mean-pooling",
            "s2vt",
            "s2vt-1000",
            "s2vt-random",
            "bi-s2vt",
            "soft-attention",
        ]
        assert result.clips == sum(record.split == split for record in read_manifest(data))
    # What was trained for the first is not trained again for the second.
    assert "epoch" not in shown.stderr
