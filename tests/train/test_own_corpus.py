"""A user's table as a corpus: which clips are held out, and faults that are named at once."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.train.tiny_config import write_table

from densevidcap.data.manifest import ClipRecord, write_manifest
from densevidcap.errors import CorpusError
from densevidcap.train.model import hold_out, read_corpus

IDS = st.lists(st.text("abcdef0123", min_size=1), min_size=1, max_size=60, unique=True)


def make_records(ids: list[str]) -> list[ClipRecord]:
    return [ClipRecord(clip, None, ("a dog",), None, "train") for clip in ids]


def find_held_out(records: list[ClipRecord]) -> set[str]:
    return {record.id for record in hold_out(records) if record.split == "validate"}


@given(IDS, st.randoms())
def test_a_tenth_is_held_out_whatever_the_order(ids: list[str], random: Random) -> None:
    records = make_records(ids)
    held_out = find_held_out(records)
    assert len(held_out) == max(1, round(len(ids) / 10))
    assert [record.id for record in hold_out(records)] == ids
    random.shuffle(records)
    assert find_held_out(records) == held_out


def test_a_table_without_splits(tmp_path: Path) -> None:
    corpus = read_corpus(write_table(tmp_path))
    assert corpus.chosen
    assert (len(corpus.trained), len(corpus.held_out)) == (5, 1)


def test_splits_of_a_manifest_are_kept_and_what_is_only_to_be_captioned_is_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "shard.tar").touch()
    splits = ("train", "train", "val", "test")
    records = [
        ClipRecord(f"clip{n}", str(tmp_path / f"shard.tar::clip{n}"), ("a dog",), "pets", split)
        for n, split in enumerate(splits)
    ]
    silent = ClipRecord("silent", str(tmp_path / "shard.tar::silent"), (), None, "train")
    write_manifest(tmp_path / "manifest.jsonl", [*records, silent])
    corpus = read_corpus(tmp_path / "manifest.jsonl")
    assert not corpus.chosen
    assert corpus.records == tuple(records[:3])


@pytest.mark.parametrize("change", ["caption", "video", "category", "split"])
def test_the_fingerprint_changes_with_the_corpus(tmp_path: Path, change: str) -> None:
    rows = [
        {"video": f"{n}.mp4", "caption": "a dog", "category": "pets", "split": "train"}
        for n in range(4)
    ]
    other = {"caption": "a cat", "video": "4.mp4", "category": "zoo", "split": "validate"}
    prints = []
    for changed in ({}, {change: other[change]}):
        table = tmp_path / "table.jsonl"
        table.write_text("\n".join(json.dumps(row) for row in [rows[0] | changed, *rows[1:]]))
        for n in range(5):
            (tmp_path / f"{n}.mp4").touch()
        prints += [read_corpus(table).fingerprint()] * 2
    assert prints[0] == prints[1] != prints[2] == prints[3]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("video,caption\na.mp4,a dog\nb.mp4,\n", ":3: the caption is empty or not text"),
        ("movie,caption\na.mp4,a dog\n", ":2: no source: a column named video or path"),
        ("video,caption\na.mp4,a dog\n", ": 1 clips with captions of split 'train' or"),
        ("video,caption\n", ": no clips in it; a table has"),
        (
            "video,caption,split\na.mp4,a dog,train\nb.mp4,a cat,val\nc.mp4,a cow,val\n",
            ": 1 clips of split 'train' have captions",
        ),
        ("video,caption\nnone.mp4,a dog\n", ": 1 files do not exist: "),
    ],
)
def test_faults_name_the_table(tmp_path: Path, text: str, fault: str) -> None:
    for name in "abc":
        (tmp_path / f"{name}.mp4").touch()
    table = tmp_path / "mine.csv"
    table.write_text(text)
    with pytest.raises(CorpusError) as caught:
        read_corpus(table)
    assert str(caught.value).startswith(f"{table}{fault}")
    assert "\n" not in str(caught.value)
