import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from densevidcap.cli import root
from densevidcap.data.lexicon import Lexicon
from densevidcap.data.manifest import ClipRecord, write_manifest
from densevidcap.errors import CorpusError

CAPTIONS = ("a man is playing a guitar", "a man plays the guitar on stage")


@pytest.fixture(params=["clips.jsonl", "info.json"])
def captions(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The same corpus as a manifest and in MSR-VTT's form."""
    path: Path = tmp_path / request.param
    if path.suffix == ".jsonl":
        clips = (
            ClipRecord(f"video{n}", None, CAPTIONS, "music", split)
            for n, split in enumerate(["train", "train", "validate"])
        )
        write_manifest(path, clips)
    else:
        splits = ["train", "train", "validate"]
        videos = [
            {"video_id": f"video{n}", "category": 0, "split": split}
            for n, split in enumerate(splits)
        ]
        sentences = [
            {"video_id": video["video_id"], "caption": caption}
            for video in videos
            for caption in CAPTIONS
        ]
        path.write_text(json.dumps({"videos": videos, "sentences": sentences}))
    return path


def test_lexicon_of_the_training_split(captions: Path, tmp_path: Path) -> None:
    out = tmp_path / "lexicon.json"
    arguments = ["--captions", str(captions), "--min-count", "3", "--out", str(out)]
    result = CliRunner().invoke(root, ["lexicon", *arguments, "--pos", "noun", "--pos", "DET"])
    assert result.exit_code == 0, result.output
    assert "3 words of 2 videos" in result.output
    assert "NOUN" in result.output
    lexicon = Lexicon.load(out)
    assert [(entry.word, entry.count, entry.videos, entry.pos) for entry in lexicon.entries] == [
        ("a", 6, 2, "DET"),
        ("guitar", 4, 2, "NOUN"),
        ("man", 4, 2, "NOUN"),
    ]


def test_an_absent_split_is_named(tmp_path: Path) -> None:
    manifest = tmp_path / "clips.jsonl"
    write_manifest(manifest, [ClipRecord("video0", None, CAPTIONS, None, "train")])
    arguments = ["--captions", str(manifest), "--split", "test", "--out", str(tmp_path / "l.json")]
    result = CliRunner().invoke(root, ["lexicon", *arguments])
    assert isinstance(result.exception, CorpusError)
    assert "no clip of split 'test'" in str(result.exception)
