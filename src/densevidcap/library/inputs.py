"""What a set of clips is made of: folders, globs, lists of paths, and what of these is left out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from glob import glob, has_magic
from pathlib import Path
from typing import Literal, NamedTuple

from densevidcap.data.names import VIDEO_SUFFIXES
from densevidcap.data.pictures import SUFFIXES as PICTURE_SUFFIXES
from densevidcap.data.pictures import natural_order
from densevidcap.data.text_files import open_text
from densevidcap.errors import ClipError, CorpusError

STDIN = "-"
LISTS = ".txt"

Pictures = Literal["auto", "frames", "clips", "ignore"]
"""What pictures in folders are. `auto`: a folder's frames, unless there are videos; `frames`: a
folder's frames in any case; `clips`: each a clip; `ignore`: nothing."""


class Named(NamedTuple):
    """A clip of a set."""

    source: str
    """What `open_clip` takes."""
    name: str
    """Its path below the folder that was asked for, with slashes; else the name of its file."""


@dataclass(frozen=True)
class Listing:
    """The clips that were asked for."""

    clips: tuple[Named, ...]
    """Each once, in the order of asking; of a folder in the order a person would sort them."""
    folders: tuple[Path, ...] = ()
    """Those that hold sets of clips."""
    left_out: tuple[str, ...] = ()
    """Pictures that are not captioned, because there are videos beside them."""
    missed: int = 0
    """How many files of folders the patterns leave out."""


class Patterns(NamedTuple):
    """Which files of a folder count, by their paths below it or by their names."""

    include: Sequence[str] = ()
    """Any of these, if there are any."""
    exclude: Sequence[str] = ()
    """None of these."""

    def take(self, inside: str) -> bool:
        names = (inside, inside.rpartition("/")[2])

        def fits(patterns: Iterable[str]) -> bool:
            return any(fnmatch(name, pattern) for pattern in patterns for name in names)

        return (not self.include or fits(self.include)) and not fits(self.exclude)


ALL = Patterns()


def list_set(
    asked: Sequence[str],
    patterns: Patterns = ALL,
    pictures: Pictures = "auto",
    ignored: Callable[[Path], bool] = lambda _: False,
) -> Listing:
    """The clips of files, folders, globs, lists of paths (.txt) and standard input (`-`).

    Folders that are `ignored`, such as libraries, are not looked into.
    """
    clips: dict[str, Named] = {}
    folders: list[Path] = []
    left_out: list[str] = []
    missed = 0
    for each in _expand(asked):
        folder = Path(each)
        if not folder.is_dir():
            clips.setdefault(each, Named(each, _name(each)))
            continue
        found = _walk(folder, patterns, ignored)
        missed += found.missed
        sources = found.list_sources(pictures)
        if not sources:
            if found.pictures:
                raise ClipError(f"{each}: holds pictures alone; let them count: --pictures frames")
            # Whoever opens it says what a folder needs.
            sources = [folder]
        is_one_clip = sources == [folder]
        if not is_one_clip:
            folders.append(folder)
        for source in sources:
            name = name_folder(folder) if is_one_clip else source.relative_to(folder).as_posix()
            clips.setdefault(str(source), Named(each if is_one_clip else str(source), name))
        if found.videos and pictures == "auto":
            left_out += map(str, found.pictures)
    return Listing(tuple(clips.values()), tuple(folders), tuple(left_out), missed)


def name_folder(folder: Path) -> str:
    """As it is called where it lies, also of `.` and `..`; the topmost one has no name."""
    return (folder.resolve() if folder.name == ".." else folder.absolute()).name


def _name(source: str) -> str:
    return source.rpartition("::")[2].rpartition("/")[2] or Path(source).absolute().name


def _expand(asked: Sequence[str]) -> Iterator[str]:
    """Globs, lists and standard input to the paths that they stand for."""
    for each in asked:
        if each == STDIN:
            paths = _split(_read_stdin())
            if not paths:
                raise CorpusError("standard input: names no clips; give one path a line")
            yield from paths
        elif Path(each).suffix.lower() == LISTS and Path(each).is_file():
            yield from _read_list(Path(each))
        elif has_magic(each) and not os.path.lexists(each):
            found = sorted(glob(each, recursive=True), key=natural_order)  # noqa: PTH207
            if not found:
                raise ClipError(f"{each}: nothing fits this pattern; check it")
            yield from found
        else:
            yield each


def _read_stdin() -> str:
    """Names of files in whatever bytes they have."""
    # So it is where a shell has closed it.
    if sys.stdin is None:
        raise CorpusError("standard input: is closed; give one path a line")
    return os.fsdecode(sys.stdin.buffer.read())


def _read_list(path: Path) -> list[str]:
    """Paths as from where the user is; those that are not there, from the list's own folder.

    A text that names nothing that is there is no list: whoever opens it says that it is no clip.
    """
    try:
        with open_text(path) as stream:
            paths = _split(stream.read())
    except CorpusError:
        return [str(path)]
    found = [
        str(path.parent / each)
        if not os.path.lexists(each) and os.path.lexists(path.parent / each)
        else each
        for each in paths
    ]
    return found if any(map(_is_there, found)) else [str(path)]


def _is_there(source: str) -> bool:
    return os.path.lexists(source) or os.path.lexists(source.rpartition("::")[0] or source)


def _split(text: str) -> list[str]:
    """One path a line, or each ended by a zero as `find -print0` does."""
    lines = text.split("\0") if "\0" in text else text.splitlines()
    return [line for line in lines if line.strip()]


class _Tree(NamedTuple):
    videos: list[Path]
    pictures: list[Path]
    missed: int

    def list_sources(self, pictures: Pictures) -> list[Path]:
        """What is captioned of a folder, each a file or a folder of frames."""
        if pictures == "ignore" or (pictures == "auto" and self.videos):
            return self.videos
        if pictures == "clips":
            return _sort([*self.videos, *self.pictures])
        return _sort([*self.videos, *{picture.parent for picture in self.pictures}])


def _walk(folder: Path, patterns: Patterns, ignored: Callable[[Path], bool]) -> _Tree:
    """Hidden files and folders do not count, and links to folders are not followed."""
    videos, pictures, missed = [], [], 0
    for at, names, files in os.walk(folder, onerror=_refuse):
        names[:] = [n for n in names if not n.startswith(".") and not ignored(Path(at, n))]
        for name in files:
            path = Path(at, name)
            suffix = path.suffix.lower()
            if name.startswith(".") or suffix not in VIDEO_SUFFIXES | PICTURE_SUFFIXES:
                continue
            if not patterns.take(path.relative_to(folder).as_posix()):
                missed += 1
            elif suffix in VIDEO_SUFFIXES:
                videos.append(path)
            else:
                pictures.append(path)
    return _Tree(_sort(videos), _sort(pictures), missed)


def _refuse(error: OSError) -> None:
    raise ClipError(f"{error.filename}: {error.strerror}; check the folder") from error


def _sort(paths: Iterable[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: natural_order(str(path)))
