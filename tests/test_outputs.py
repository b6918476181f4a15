"""What may be written: never an input, by whatever name, and nothing that stands there unasked."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.data.made_clips import write_folder, write_shard, write_video
from tests.export.made_captions import make_captions

from densevidcap.errors import OutputError
from densevidcap.export import save
from densevidcap.outputs import Inputs, check_outputs

ALIASES: dict[str, Callable[[Path], Path]] = {
    "itself": lambda clip: clip,
    "a way with dots": lambda clip: clip.parent / "deep" / ".." / clip.name,
    "a relative way": lambda clip: Path(os.path.relpath(clip)),
    "a link": lambda clip: _link(clip, clip.parent / "link.mp4"),
    "a link to its folder": lambda clip: _link(clip.parent, clip.parent / "way") / clip.name,
    "a hard link": lambda clip: _link_hard(clip, clip.parent / "hard.mp4"),
    "other cases of letters": lambda clip: clip.with_name(clip.name.upper()),
}


def _link(target: Path, link: Path) -> Path:
    link.symlink_to(target)
    return link


def _link_hard(target: Path, link: Path) -> Path:
    link.hardlink_to(target)
    return link


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    return write_video(tmp_path / "talk.mp4", 3)


@pytest.mark.parametrize("alias", ALIASES)
def test_no_output_is_an_input(clip: Path, alias: str) -> None:
    output = ALIASES[alias](clip)
    for inputs in (Inputs([clip]), Inputs(files=[clip])):
        with pytest.raises(OutputError, match="is read by this run"):
            check_outputs([output], inputs, overwrite=True)
    with pytest.raises(OutputError, match="is read by this run"):
        check_outputs([clip], Inputs([output]), overwrite=True)


@pytest.mark.parametrize("alias", ALIASES)
def test_captions_are_never_saved_over_their_clip(clip: Path, alias: str) -> None:
    before = clip.read_bytes()
    output = ALIASES[alias](clip)
    with pytest.raises(OutputError, match="is read by this run"):
        save(make_captions(clip), output, "mp4", overwrite=True)
    assert clip.read_bytes() == before


def test_pictures_of_a_folder_and_members_of_shards_are_inputs(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "pictures", 2)
    shard = write_shard(tmp_path / "shard.tar", {"a.mp4": b""})
    (tmp_path / "picture.png").hardlink_to(next(folder.iterdir()))
    inputs = Inputs([str(folder), f"{shard}::a"])
    assert folder / "new.png" in inputs  # the next run would read it
    assert tmp_path / "picture.png" in inputs
    assert shard in inputs
    assert folder / "pictures.json" not in inputs
    assert tmp_path / "new.png" not in inputs


def test_all_files_of_a_model_are_inputs(tmp_path: Path) -> None:
    model = tmp_path / "model" / "words"
    model.mkdir(parents=True)
    (model / "card.json").touch()
    inputs = Inputs(files=[tmp_path / "model", None])
    assert model / "card.json" in inputs
    assert model / "said.json" not in inputs


@pytest.mark.parametrize("source", ["none.mp4", "a" * 5000, "no\0name", "half\ud800"])
def test_what_is_no_clip_is_no_fault_here(tmp_path: Path, source: str) -> None:
    check_outputs([tmp_path / "out.json"], Inputs([source], [source]), overwrite=False)


def test_what_stands_there_is_replaced_only_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "talk.srt"
    captions = make_captions("talk.mp4")
    save(captions, path)
    path.write_text("corrected by hand")
    with pytest.raises(OutputError, match=r"talk\.srt: stands there already; give --overwrite"):
        save(captions, path)
    assert path.read_text() == "corrected by hand"
    save(captions, path, overwrite=True)
    assert "-->" in path.read_text()
    dangling = _link(tmp_path / "nowhere", tmp_path / "link.srt")
    with pytest.raises(OutputError, match="stands there already"):
        save(captions, dangling)


def test_two_outputs_need_two_names(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="two outputs have this name"):
        check_outputs([tmp_path / "a.json", tmp_path / "A.json"], Inputs(), overwrite=True)


@pytest.mark.parametrize("kind", ["folder", "device"])
def test_only_files_are_replaced(tmp_path: Path, kind: str) -> None:
    path = tmp_path if kind == "folder" else Path(os.devnull)
    with pytest.raises(OutputError, match="is no file"):
        check_outputs([path], Inputs(), overwrite=True)


def test_looking_at_places_leaves_nothing_behind(tmp_path: Path) -> None:
    check_outputs([tmp_path / "new" / "deep" / "a.json"], Inputs(), overwrite=False)
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"a\.json: cannot be written \(Not a directory\)"):
        check_outputs([tmp_path / "file" / "new" / "a.json"], Inputs(), overwrite=False)
