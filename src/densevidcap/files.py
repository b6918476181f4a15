"""Files written whole or not at all, folders that one process has for itself, and the cache."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from typing import IO

from safetensors import SafetensorError

from densevidcap.errors import DenseVidCapError, OutputError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

WORKSPACE = ".densevidcap-work-"
"""How the names of private folders begin; a kill leaves them behind."""
LOCK = ".lock"

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_ONLY_WRITING = _FULL | {errno.EROFS}
"""Faults that reading never has."""


@contextmanager
def workspace(folder: Path, purpose: Path | None = None) -> Iterator[Path]:
    """A private folder on the file system of `folder`, gone at the end with what is left in it.

    If it cannot be made, the error names the file that is its `purpose`.
    """
    with writing(purpose or folder):
        folder.mkdir(parents=True, exist_ok=True)
        private = TemporaryDirectory(prefix=WORKSPACE, dir=folder, ignore_cleanup_errors=True)
    with private as name:
        yield Path(name)


@contextmanager
def replacing(path: Path, overwrite: bool = True) -> Iterator[Path]:
    """A private path that takes the place of `path`, whole, when the block succeeds.

    Without `overwrite`, what stands there by then stays, and an OutputError is raised.
    """
    with _explaining(path), workspace(path.parent, path) as private:
        temporary = private / path.name
        yield temporary
        with writing(path):
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
            if overwrite:
                temporary.replace(path)
            else:
                _place(temporary, path)
            _sync(path.parent)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Around what only writes to `path`: a fault becomes one line with what helps."""
    try:
        yield
    except OSError as error:
        raise refuse_writing(path, error) from error


@contextmanager
def hold(folder: Path, refusal: DenseVidCapError, tidy: bool = True) -> Iterator[None]:
    """Have the folder for oneself, or raise `refusal`.

    The lock ends with the process, however that ends. Private folders that are found there were
    left by processes that were killed, and are removed; without `tidy` they stay, as they must
    where others write that do not hold the folder.
    """
    with _open_lock(folder) as file:
        if not _lock(file):
            raise refusal
        if tidy:
            for left in folder.glob(f"{WORKSPACE}*/"):
                shutil.rmtree(left, ignore_errors=True)
        yield


@contextmanager
def hold_in_turn(folder: Path, tell: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Have the folder for oneself, after whoever has it now; if somebody has, `tell` is called."""
    with _open_lock(folder) as file:
        if not _lock(file):
            tell()
            while not _lock(file):
                sleep(0.2)
        yield


def _open_lock(folder: Path) -> IO[bytes]:
    path = folder / LOCK
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)
        return path.open("ab")


def _lock(file: IO[bytes]) -> bool:
    """Lock an open file, unless it is locked; writes nothing, so that a full disk does not matter.

    The system unlocks it when it is closed.
    """
    try:
        if sys.platform == "win32":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def refuse_existing(path: Path) -> OutputError:
    return OutputError(
        f"{path}: stands there already; give --overwrite (in Python overwrite=True) to replace it,"
        " or choose another name"
    )


def refuse_writing(path: Path, error: OSError) -> OutputError:
    remedy = (
        "make room on its disk and run it again"
        if error.errno in _FULL
        else "choose another place, or make this one writable"
    )
    return OutputError(f"{path}: cannot be written ({error.strerror}); {remedy}")


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """Around what reads too: only faults of writing become one line."""
    try:
        yield
    except OSError as error:
        if error.errno not in _ONLY_WRITING:
            raise
        raise refuse_writing(path, error) from error
    except SafetensorError as error:
        # Its own class, with the number of the system's fault only in the text.
        if (number := re.search(r"\(os error (\d+)\)|Os { code: (\d+)", str(error))) is None:
            raise
        fault = int(number[1] or number[2])
        raise refuse_writing(path, OSError(fault, os.strerror(fault))) from error


def _place(temporary: Path, path: Path) -> None:
    """Move to a name that must be free."""
    try:
        # Fails if somebody was faster, which a rename does not.
        os.link(temporary, path)
    except FileExistsError:
        raise refuse_existing(path) from None
    except OSError:
        # A file system without hard links.
        if os.path.lexists(path):
            raise refuse_existing(path) from None
        temporary.replace(path)


def _sync(folder: Path) -> None:
    """Let a new name outlive a power cut, where folders can be opened."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def find_cache() -> Path:
    """The folder that a person's programs keep things in which can be made again."""
    if chosen := os.environ.get("DENSEVIDCAP_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "densevidcap"
