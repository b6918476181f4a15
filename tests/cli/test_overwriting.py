"""One rule for every verb that writes: what stands there stays unless --overwrite is given."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from tests.data.made_clips import write_video
from tests.library.made_library import make_library
from tests.pipeline.small_model import write_model

from densevidcap.cli import VERBS, root
from densevidcap.errors import OutputError

COMMANDS = {
    "caption": ("caption talk.mp4 --model model --frames 2 --out said.srt", "said.srt"),
    "caption, all": ("caption talk.mp4 --model model --frames 2 --predictions a.json", "a.json"),
    "frames": ("frames talk.mp4 --sheet sheet.png", "sheet.png"),
    "words": ("words talk.mp4 --model model/words --word dog", "talk-dog.mp4"),
    "regions": ("regions talk.mp4 --model model/words --out drawn", "drawn/talk-regions.png"),
    "figures": (
        "figures talk --data mine.jsonl --model model --out drawn",
        "drawn/talk-responses.png",
    ),
    "prepare": ("prepare table mine.csv --out made.jsonl", "made.jsonl"),
    "lexicon": ("lexicon --captions mine.jsonl --min-count 1 --out words.json", "words.json"),
    "streams": ("streams show talk.mp4 --out heard", "heard/talk.png"),
    "find": ("find library dog --playlist dogs.m3u", "dogs.m3u"),
    "export": ("export library --format csv --out all.csv", "all.csv"),
    "evaluate": ("evaluate --predictions p.json --references r.json --out s.json", "s.json"),
}
"""A command, and one of the files that it writes."""
INPUTS = {
    "caption": "talk.mp4",
    "frames": "talk.mp4",
    "prepare": "mine.csv",
    "lexicon": "mine.jsonl",
    "evaluate": "p.json",
}
"""What must not be given as the command's last word, which is where it writes."""
GOES_ON = {"train", "fit", "serve", "correct"}
"""These go on in their folder; each has tests of its own."""
READS = {"models"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def here(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DENSEVIDCAP_WEIGHTS", str(tmp_path / "weights"))
    write_video(tmp_path / "talk.mp4", 5)
    (tmp_path / "model").symlink_to(model)
    make_library(tmp_path / "library")
    (tmp_path / "mine.csv").write_text("video,caption\ntalk.mp4,a dog\n")
    row = {"id": "talk", "source": "talk.mp4", "captions": ["a dog is running"], "split": "train"}
    (tmp_path / "mine.jsonl").write_text(json.dumps(row))
    for name in ("p.json", "r.json"):
        (tmp_path / name).write_text('{"a": ["a dog"], "b": ["a cat"]}')
    return tmp_path


def run(command: str) -> click.testing.Result:
    return CliRunner().invoke(root, command.split())


def test_every_verb_is_tried() -> None:
    tried = {command.split()[0] for command, _ in COMMANDS.values()}
    assert tried | GOES_ON | READS | {"experiment"} == set(VERBS)


@pytest.mark.parametrize("verb", COMMANDS)
def test_what_stands_there_is_replaced_only_if_asked(here: Path, verb: str) -> None:
    command, name = COMMANDS[verb]
    (here / name).parent.mkdir(exist_ok=True)
    (here / name).write_text("mine")
    before = set(here.rglob("*"))
    refused = run(command)
    assert isinstance(refused.exception, OutputError), refused.output
    assert f"{name}: stands there already; give --overwrite" in str(refused.exception)
    assert (here / name).read_text() == "mine"
    assert set(here.rglob("*")) == before
    replaced = run(f"{command} --overwrite")
    assert replaced.exit_code == 0, replaced.output
    assert (here / name).read_bytes() != b"mine"


@pytest.mark.parametrize("verb", INPUTS)
def test_no_input_is_written_over(here: Path, verb: str) -> None:
    command = COMMANDS[verb][0].split()
    asked = here / ".." / here.name / INPUTS[verb]
    before = asked.read_bytes()
    refused = run(" ".join([*command[:-1], str(asked), "--overwrite"]))
    assert isinstance(refused.exception, OutputError), refused.output
    assert f"{asked}: is read by this run" in str(refused.exception)
    assert asked.read_bytes() == before


def test_a_clip_of_a_table_is_not_written_over(here: Path) -> None:
    before = (here / "talk.mp4").read_bytes()
    refused = run("prepare table mine.csv --out talk.mp4 --overwrite")
    assert "talk.mp4: is read by this run" in str(refused.exception)
    assert (here / "talk.mp4").read_bytes() == before
