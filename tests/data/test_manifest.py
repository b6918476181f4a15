import gzip
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from densevidcap.data.manifest import ClipRecord, read_manifest, write_manifest
from densevidcap.errors import CorpusError, OutputError

words = st.text(min_size=1).filter(str.strip)
paths = st.lists(st.text("abc.: -é", min_size=1), min_size=1, max_size=3).map("/".join)
records = st.builds(
    ClipRecord,
    id=words,
    source=st.none() | paths.filter(str.strip) | paths.map("/elsewhere/{}".format),
    captions=st.lists(words, max_size=3).map(tuple),
    category=st.none() | words,
    split=words,
)
CLIP = ClipRecord("a", None, ("a man runs",), "sports", "train")


@settings(max_examples=50)
@given(
    st.lists(records, min_size=1, max_size=5, unique_by=lambda record: record.id),
    st.sampled_from(["clips.jsonl", "clips.jsonl.gz"]),
)
def test_what_is_written_is_read(clips: list[ClipRecord], name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        assert write_manifest(path, clips) == len(clips)
        again = list(read_manifest(path))
    for before, after in zip(clips, again, strict=True):
        expected = None if before.source is None else str(Path(before.source).absolute())
        assert after == ClipRecord(
            before.id, expected, before.captions, before.category, before.split
        )


def test_a_corpus_folder_can_be_moved(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    inside, outside = old / "shards" / "train-000.tar::video1", tmp_path / "clip.mp4"
    write_manifest(
        old / "clips.jsonl",
        [
            ClipRecord("inside", str(inside), (), None, "train"),
            ClipRecord("outside", str(outside), (), None, "train"),
        ],
    )
    old.rename(new)
    sources = {clip.id: clip.source for clip in read_manifest(new / "clips.jsonl")}
    assert sources == {
        "inside": str(new / "shards" / "train-000.tar::video1"),
        "outside": str(outside),
    }


def test_source_and_category_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "clips.jsonl"
    path.write_text('\n{"id": "a", "captions": [], "split": "test"}\n\n')
    assert list(read_manifest(path)) == [ClipRecord("a", None, (), None, "test")]


def test_reading_is_lazy(tmp_path: Path) -> None:
    path = tmp_path / "clips.jsonl"
    path.write_text('{"id": "a", "captions": [], "split": "test"}\nbroken\n')
    assert next(read_manifest(path)).id == "a"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "not JSON"),
        ("[]", "JSON object"),
        ('{"id": "b", "captions": []}', "'split' is missing"),
        ('{"id": "b", "captions": [], "split": "train", "catagory": "x"}', "'catagory'"),
        ('{"id": "", "captions": [], "split": "train"}', "'id' must be"),
        ('{"id": 7, "captions": [], "split": "train"}', "'id' must be"),
        ('{"id": "b", "captions": "a man", "split": "train"}', "'captions' must be"),
        ('{"id": "b", "captions": ["a man", " "], "split": "train"}', "'captions' must be"),
        ('{"id": "b", "captions": [], "split": "train", "source": 3}', "'source' must be"),
        ('{"id": "a", "captions": [], "split": "train"}', "already in line 1"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, complaint: str) -> None:
    path = tmp_path / "clips.jsonl"
    path.write_text('{"id": "a", "captions": [], "split": "train"}\n' + line + "\n")
    with pytest.raises(CorpusError) as caught:
        list(read_manifest(path))
    message = str(caught.value)
    assert message.startswith(f"{path}:2: ")
    assert complaint in message
    assert "\n" not in message


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    whole = gzip.compress(json.dumps({"id": "a", "captions": [], "split": "train"}).encode())
    contents = {
        "cut.jsonl.gz": whole[:-12],
        "plain.jsonl.gz": b"not zipped",
        "latin.jsonl": '{"id": "é"}'.encode("latin-1"),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    for name in (*contents, "absent.jsonl"):
        with pytest.raises(CorpusError, match=name):
            list(read_manifest(tmp_path / name))


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "clips.jsonl"
    write_manifest(path, [CLIP])
    before = path.read_bytes()
    with pytest.raises(CorpusError, match="comes twice"):
        write_manifest(path, [CLIP, CLIP])
    with pytest.raises(CorpusError, match=r"clips\.jsonl: no clips in it"):
        write_manifest(path, [])
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_that_is_no_text_is_told(tmp_path: Path) -> None:
    path = tmp_path / "clips.jsonl"
    clip = ClipRecord("caf\udce9", str(tmp_path / "caf\udce9.mp4"), ("a man",), None, "train")
    with pytest.raises(CorpusError) as caught:
        write_manifest(path, [CLIP, clip])
    expected = f"{tmp_path}/caf\\xe9.mp4: its name is not UTF-8; rename it"
    assert str(caught.value) == expected
    assert not path.exists()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"clips\.jsonl: cannot be written"):
        write_manifest(tmp_path / "file" / "clips.jsonl", [CLIP])
