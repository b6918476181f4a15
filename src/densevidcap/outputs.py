"""What may be written: no output is an input, and what stands there stays unless asked for."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from densevidcap.errors import OutputError
from densevidcap.files import refuse_existing, refuse_writing, workspace


class Inputs:
    """What a run reads, under whatever name an output may have for it.

    Links, `..`, other names of the same file, and other cases of letters, which are the same file
    on some systems.
    """

    def __init__(
        self, clips: Iterable[str | Path] = (), files: Iterable[str | Path | None] = ()
    ) -> None:
        """Of a clip that is a folder pictures are read; of other folders, such as models, all."""
        self._names: set[str] = set()
        self._identities: set[tuple[int, int]] = set()
        self._picture_folders: set[str] = set()
        self._folders: set[str] = set()
        for clip in clips:
            path = _find_file(str(clip))
            self._add(path)
            if _is_folder(path):
                self._picture_folders.add(_unify(path))
                for picture in filter(_is_picture, _list(path)):
                    self._add(picture)
        for file in files:
            if file is not None:
                self._add(Path(file))
                if _is_folder(Path(file)):
                    self._folders.add(_unify(Path(file)))

    def _add(self, path: Path) -> None:
        self._names.add(_unify(path))
        if (status := _look_at(path)) is not None:
            self._identities.add((status.st_dev, status.st_ino))

    def __contains__(self, output: Path) -> bool:
        name, status = Path(_unify(output)), _look_at(output)
        if str(name) in self._names:
            return True
        if status is not None and (status.st_dev, status.st_ino) in self._identities:
            return True
        if status is not None and not self._folders.isdisjoint(map(str, name.parents)):
            return True
        return str(name.parent) in self._picture_folders and _is_picture(name)


def check_outputs(outputs: Iterable[Path], inputs: Inputs, overwrite: bool) -> None:
    """Before any work: refuse what may not be written, and places where nothing can be."""
    planned: set[str] = set()
    places: dict[Path, Path] = {}
    for path in outputs:
        refuse_input(path, inputs)
        if _unify(path) in planned:
            raise OutputError(f"{path}: two outputs have this name; choose another for one of them")
        planned.add(_unify(path))
        status = _look_at(path)
        if status is not None and not S_ISREG(status.st_mode):
            raise OutputError(f"{path}: is no file; choose another name")
        if os.path.lexists(path) and not overwrite:
            raise refuse_existing(path)
        places.setdefault(path.absolute().parent, path)
    for folder, path in places.items():
        _try_place(folder, path)


def refuse_input(path: Path, inputs: Inputs) -> None:
    """Unless it is none."""
    if path in inputs:
        raise OutputError(
            f"{path}: is read by this run, so it is not written; choose another name or folder"
        )


def _try_place(folder: Path, path: Path) -> None:
    """Leaves nothing behind: folders are made when there is something to write."""
    near = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    if not _is_folder(near):
        raise refuse_writing(path, OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))
    with workspace(near, path):
        pass


def _find_file(source: str) -> Path:
    """The file or folder that is read for a clip's source."""
    path, shard = Path(source), source.rpartition("::")[0]
    return Path(shard) if shard and _look_at(path) is None else path


def _list(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        # Whoever reads the clip says what is wrong with it.
        return []


def _unify(path: Path) -> str:
    try:
        return os.path.realpath(path).casefold()
    except ValueError:
        # No name that a file can have.
        return str(path).casefold()


def _look_at(path: Path) -> os.stat_result | None:
    """None if there is nothing, or nothing that can be seen."""
    try:
        return path.stat()
    except (OSError, ValueError):
        return None


def _is_folder(path: Path) -> bool:
    status = _look_at(path)
    return status is not None and S_ISDIR(status.st_mode)


def _is_picture(path: Path) -> bool:
    from densevidcap.data.pictures import SUFFIXES

    return path.suffix.lower() in SUFFIXES
