"""Which clips a set is made of."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from densevidcap.cli.caption_set import choose_library
from densevidcap.errors import ClipError, CorpusError
from densevidcap.library.inputs import Listing, Patterns, Pictures, list_set


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Videos at two depths, pictures beside them, and what is neither."""
    root = tmp_path / "shoot"
    for name in (
        "clip10.mp4",
        "clip2.MOV",
        "day 1/take.mkv",
        "day 1/take.txt",
        "day 1/still.png",
        "cover.jpg",
        "notes.pdf",
        ".hidden.mp4",
        ".cache/take.mp4",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


def list_names(listing: Listing) -> list[str]:
    return [clip.name for clip in listing.clips]


def test_videos_of_a_folder_at_any_depth(folder: Path) -> None:
    found = list_set([str(folder)])
    assert list_names(found) == ["clip2.MOV", "clip10.mp4", "day 1/take.mkv"]
    assert found.clips[0].source == str(folder / "clip2.MOV")
    assert found.folders == (folder,)
    assert [*found.left_out] == [str(folder / "cover.jpg"), str(folder / "day 1" / "still.png")]


@pytest.mark.parametrize(
    ("pictures", "names"),
    [
        ("ignore", ["clip2.MOV", "clip10.mp4", "day 1/take.mkv"]),
        ("clips", ["clip2.MOV", "clip10.mp4", "cover.jpg", "day 1/still.png", "day 1/take.mkv"]),
        ("frames", [".", "clip2.MOV", "clip10.mp4", "day 1", "day 1/take.mkv"]),
    ],
)
def test_what_pictures_are_can_be_said(folder: Path, pictures: Pictures, names: list[str]) -> None:
    found = list_set([str(folder)], pictures=pictures)
    assert list_names(found) == names
    assert found.left_out == ()


@pytest.mark.parametrize(
    ("patterns", "names", "missed"),
    [
        (Patterns(include=["*.mp4"]), ["clip10.mp4"], 4),
        (Patterns(include=["day*/*.mkv"]), ["day 1/take.mkv"], 4),
        (Patterns(exclude=["clip*", "*.png"]), ["day 1/take.mkv"], 3),
        (Patterns(["*.mp4", "*.mkv"], ["take*"]), ["clip10.mp4"], 4),
    ],
)
def test_patterns_choose(folder: Path, patterns: Patterns, names: list[str], missed: int) -> None:
    found = list_set([str(folder)], patterns)
    assert (list_names(found), found.missed) == (names, missed)


def test_a_folder_of_pictures_alone_is_one_clip(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.png").touch()
    found = list_set([str(tmp_path)])
    assert [clip.source for clip in found.clips] == [str(tmp_path)]
    assert found.folders == ()
    with pytest.raises(ClipError, match="--pictures frames"):
        list_set([str(tmp_path)], pictures="ignore")


def test_folders_of_pictures_are_a_clip_each(tmp_path: Path) -> None:
    for name in ("b/0.png", "b/1.png", "a/deep/0.jpg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = list_set([str(tmp_path)])
    assert list_names(found) == ["a/deep", "b"]
    assert found.folders == (tmp_path,)


def test_libraries_inside_are_not_looked_into(folder: Path) -> None:
    found = list_set([str(folder)], ignored=lambda path: path.name == "day 1")
    assert list_names(found) == ["clip2.MOV", "clip10.mp4"]


def test_an_empty_folder_is_left_to_whoever_opens_it(tmp_path: Path) -> None:
    assert [clip.source for clip in list_set([str(tmp_path)]).clips] == [str(tmp_path)]


def test_what_is_named_itself_stays_as_it_is() -> None:
    asked = ["nowhere.mp4", "x.tar::key", "talk", "a.jsonl", "nowhere.mp4"]
    found = list_set(asked)
    assert [clip.source for clip in found.clips] == asked[:-1]
    assert list_names(found) == ["nowhere.mp4", "key", "talk", "a.jsonl"]


def test_patterns_in_quotes(folder: Path) -> None:
    found = list_set([f"{folder}/**/*.m*"])
    assert sorted(list_names(found)) == ["clip10.mp4", "take.mkv"]
    with pytest.raises(ClipError, match="nothing fits"):
        list_set([f"{folder}/*.avi"])


def test_a_file_with_signs_of_patterns_in_its_name(tmp_path: Path) -> None:
    path = tmp_path / "clip[1].mp4"
    path.touch()
    assert [clip.source for clip in list_set([str(path)]).clips] == [str(path)]


def test_the_folder_above_has_a_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder / "day 1")
    assert choose_library(list_set([".."])) == Path("shoot.library")
    assert choose_library(list_set(["."])) == Path("day 1.library")
    (clip,) = list_set([".."], Patterns(["*.jpg"]), "frames").clips
    assert clip == ("..", "shoot")


def test_lists_of_paths(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = folder / "list.txt"
    listed.write_text("\ufeffclip10.mp4\r\n\n/nowhere.mp4\n")
    found = list_set([str(listed)])
    assert [clip.source for clip in found.clips] == [str(folder / "clip10.mp4"), "/nowhere.mp4"]
    # Where the user is comes before where the list is.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clip10.mp4").touch()
    assert list_set([str(listed)]).clips[0].source == "clip10.mp4"


@pytest.mark.parametrize("text", ["", "no video\n", "\n\n"])
def test_a_text_that_names_nothing_is_no_list(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    assert [clip.source for clip in list_set([str(path)]).clips] == [str(path)]


@pytest.mark.parametrize("text", ["a.mp4\nb\nb.mp4\n", "a.mp4\0b\nb.mp4\0"])
def test_standard_input(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    expected = ["a.mp4", "b\nb.mp4"] if "\0" in text else ["a.mp4", "b", "b.mp4"]
    assert [clip.source for clip in list_set(["-"]).clips] == expected
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" \n")))
    with pytest.raises(CorpusError, match="names no clips"):
        list_set(["-"])
    # As Python has it where a shell has closed it.
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(CorpusError, match="standard input: is closed"):
        list_set(["-"])


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="all names are text there")
def test_names_of_standard_input_need_not_be_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9.mp4"
    Path(os.fsdecode(name)).touch()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(name + b"\n"), "utf-8"))
    (clip,) = list_set(["-"]).clips
    assert Path(clip.source).is_file()
