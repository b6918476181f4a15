import json
from pathlib import Path

import pytest

from densevidcap.data.manifest import ClipRecord
from densevidcap.data.table import read_table
from densevidcap.errors import CorpusError


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    folder = tmp_path / "videos"
    folder.mkdir()
    for name in ("cat.mp4", "dog.mp4"):
        (folder / name).touch()
    return folder


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", "video,caption\ncat.mp4,a cat\ndog.mp4,a dog\ncat.mp4,a pet\n"),
        ("t.csv", "\ufeffText,FILE\r\na cat,cat.mp4\r\na dog,dog.mp4\r\na pet,cat.mp4\r\n"),
        ("t.tsv", "path\tsentence\ncat.mp4\ta cat\ndog.mp4\ta dog\ncat.mp4\ta pet\n"),
        (
            "t.jsonl",
            '{"path": "cat.mp4", "captions": ["a cat", "a pet"]}\n\n'
            '{"path": "dog.mp4", "caption": "a dog"}\n',
        ),
    ],
)
def test_rows_become_clips(videos: Path, name: str, content: str) -> None:
    (videos / name).write_text(content)
    assert list(read_table(videos / name)) == [
        ClipRecord("cat", str(videos / "cat.mp4"), ("a cat", "a pet"), None, "train"),
        ClipRecord("dog", str(videos / "dog.mp4"), ("a dog",), None, "train"),
    ]


@pytest.mark.parametrize(("name", "tab"), [("t.csv", ","), ("t.tsv", "\t")])
def test_quoted_cells_have_lines_and_quotation_marks(videos: Path, name: str, tab: str) -> None:
    rows = [["video", "caption"], ["cat.mp4", '"""Meow"" says,\na cat"'], ["dog.mp4", 'no "cat"']]
    (videos / name).write_text("".join(tab.join(row) + "\n" for row in rows))
    cat, dog = read_table(videos / name)
    assert cat.captions == ('"Meow" says,\na cat',)
    assert dog.captions == ('no "cat"',)


def test_optional_columns_and_a_folder(tmp_path: Path, videos: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("id,file,text,category,split\n17,cat.mp4,a cat,animals,test\n")
    assert list(read_table(table, videos)) == [
        ClipRecord("17", str(videos / "cat.mp4"), ("a cat",), "animals", "test")
    ]


def test_missing_files_are_named_together_or_skipped(videos: Path) -> None:
    table = videos / "t.csv"
    table.write_text("video,caption\nelk.mp4,an elk\ncat.mp4,a cat\nfox.mp4,a fox\n")
    with pytest.raises(CorpusError, match=r"2 files .*elk\.mp4, .*fox\.mp4; .*--skip-missing"):
        list(read_table(table))
    assert [clip.id for clip in read_table(table, skip_missing=True)] == ["cat"]


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("t.csv", "clip,caption\ncat.mp4,a cat\n", "t.csv:2: no source: .* here are clip, caption"),
        ("t.csv", "video,caption\ncat.mp4,\n", "t.csv:2: the caption is empty"),
        ("t.csv", "video,caption\ncat.mp4\n", "t.csv:2: the caption is empty"),
        (
            "t.csv",
            "video,text\ncat.mp4,a cat\nold/cat.mp4,a cat\n",
            "t.csv:3: .*add an 'id' column",
        ),
        (
            "t.csv",
            "video,text,split\ncat.mp4,a cat,train\ncat.mp4,a cat,test\n",
            "t.csv:3: .*make them agree",
        ),
        ("t.jsonl", '{"video": "cat.mp4", "text": "a"}\n{', "t.jsonl:2: not JSON"),
        ("t.jsonl", json.dumps(["cat.mp4", "a cat"]), "t.jsonl:1: a line must be"),
        ("t.jsonl", '{"video": "cat.mp4", "text": 5}', "t.jsonl:1: the caption is empty or not"),
        ("t.xlsx", "", r"must end in \.csv"),
        ("t.csv", "", r"t\.csv: no clips in it"),
        ("t.csv", "video,caption\n", r"t\.csv: no clips in it"),
        ("t.csv", 'video,caption\ncat.mp4,"a cat\ndog.mp4,a dog\n', r"t\.csv:2: not a sound row"),
        ("t.csv", 'video,"caption\ncat.mp4,a cat\n', r"t\.csv:1: not a sound row"),
        (
            "t.tsv",
            'video\tcaption\ncat.mp4\ta cat\ndog.mp4\t"Woof" says a dog\ncat.mp4\ta pet\n',
            r"t\.tsv:3: not a sound row \('tab' expected .*; put quotation marks round",
        ),
        (
            "t.tsv",
            'video\tcaption\ncat.mp4\t"a cat\ndog.mp4\tsays a dog"\n',
            r"t\.tsv:2: not a sound row \(a cell goes on in the rows below",
        ),
        (
            "t.csv",
            "video,caption\ncat.mp4,a cat,\ncat.mp4,a cat, a dog\n",
            r"t\.csv:3: not a sound row \(it has more cells than the header\)",
        ),
    ],
)
def test_bad_tables_are_named(videos: Path, name: str, content: str, complaint: str) -> None:
    (videos / name).write_text(content)
    with pytest.raises(CorpusError, match=complaint):
        list(read_table(videos / name))


def test_keys_of_shards_and_of_features_name_their_clips(tmp_path: Path) -> None:
    for name in ("shard.tar", "f.h5"):
        (tmp_path / name).touch()
    table = tmp_path / "mine.csv"
    table.write_text("video,caption\nshard.tar::one,a dog\nf.h5::train/two,a cat\n")
    assert {clip.id: clip.source for clip in read_table(table)} == {
        "one": str(tmp_path / "shard.tar::one"),
        "two": str(tmp_path / "f.h5::train/two"),
    }


def test_ids_are_enough_where_files_are_found_by_them(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text("id,video,caption\none,,a dog\n,gone/two.mp4,a cat\none,other.mp4,a pet\n")
    records = {clip.id: clip for clip in read_table(table, by_id=True)}
    assert {name: clip.captions for name, clip in records.items()} == {
        "one": ("a dog", "a pet"),
        "two": ("a cat",),
    }
    assert not any(clip.source for clip in records.values())
    table.write_text("id,caption\none,a dog\n,a cat\n")
    with pytest.raises(CorpusError, match=r"mine\.csv:3: no source"):
        list(read_table(table, by_id=True))
