"""METEOR's table of five million paraphrases, as an index in which phrases are looked up.

The table comes with pycocoevalcap as a compressed text of 270 MB. It is read once; the index,
of numbers that stand for phrases, is kept in the user's cache and opens in no time.
"""

from __future__ import annotations

import gzip
import os
import sys
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from densevidcap.errors import DenseVidCapError, DenseVidCapWarning
from densevidcap.files import replacing
from densevidcap.metrics.coco import CocoError, find_beside, import_coco

LONGEST: Final = 7
"""Words of the table's longest phrases."""
_VERSION: Final = 1
"""Of what is kept."""
_PIECE: Final = 1 << 18
"""Bytes that are read at once."""
_FACTOR: Final = 0x9E3779B97F4A7C15
_MOST_LETTERS: Final = 1024
_POWERS: Final = np.cumprod(np.full(_MOST_LETTERS, _FACTOR, np.uint64))
_NEWLINE: Final = ord("\n")

Array = npt.NDArray[np.uint64]


class Paraphrases:
    """Which phrases have which paraphrases."""

    def __init__(self, index: Mapping[str, Array]) -> None:
        """`index`: numbers of phrases in ascending order, where the paraphrases of each begin,
        and the paraphrases' numbers."""
        self._phrases, self._begin, self._paraphrases = (
            index[name] for name in ("phrases", "begin", "paraphrases")
        )
        self._found: dict[int, Mapping[int, int]] = {}

    def number(self, phrases: Sequence[str]) -> list[int]:
        """A number for each phrase, which must have a letter; the same for the same phrase."""
        text = "".join(f"{phrase}\n" for phrase in phrases).encode(errors="replace")
        return number_lines(np.frombuffer(text, np.uint8)).tolist()

    def look_up(self, numbers: Sequence[int]) -> list[Mapping[int, int] | None]:
        """The paraphrases of each number's phrase, with their places in the table, or None."""
        wanted = np.array(numbers, np.uint64)
        places = np.searchsorted(self._phrases, wanted)
        places[places == len(self._phrases)] = 0
        known = self._phrases[places] == wanted
        return [
            self._open(place) if found else None
            for place, found in zip(places.tolist(), known.tolist(), strict=True)
        ]

    def _open(self, place: int) -> Mapping[int, int]:
        if place not in self._found:
            begin, end = self._begin[place : place + 2].tolist()
            self._found[place] = {
                paraphrase: rank
                for rank, paraphrase in enumerate(self._paraphrases[begin:end].tolist())
            }
        return self._found[place]


def load_paraphrases(folder: Path | None = None) -> Paraphrases:
    """The table's index, made and kept in the cache folder if it is not there yet."""
    table = find_beside(import_coco("meteor.meteor"), "data") / "paraphrase-en.gz"
    try:
        with table.open("rb") as stream:
            # The checksum and the size of what is compressed.
            stream.seek(-8, os.SEEK_END)
            mark = stream.read().hex()
    except OSError as error:
        raise CocoError(table, error) from error
    kept = (find_cache() if folder is None else folder) / f"paraphrases-{_VERSION}-{mark}.safetensors"
    try:
        return Paraphrases(load_file(kept))
    except (OSError, SafetensorError, KeyError):
        # Not there yet, or not whole.
        index = index_table(table)
    try:
        with replacing(kept) as temporary:
            save_file(index, temporary)
    except (DenseVidCapError, OSError) as error:
        warnings.warn(
            f"METEOR's paraphrases are read anew each time ({error}); "
            "set DENSEVIDCAP_CACHE to a folder that can be written",
            DenseVidCapWarning,
            stacklevel=2,
        )
    return Paraphrases(index)


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


def index_table(table: Path) -> dict[str, Array]:
    """Read the table: three lines an entry, which are a probability, a phrase, a paraphrase."""
    pieces = [[np.zeros(0, np.uint64)], [np.zeros(0, np.uint64)]]
    read = 0
    try:
        for lines in _read_lines(table):
            numbers = number_lines(lines)
            for offset, found in enumerate(pieces, 1):
                found.append(numbers[(offset - read) % 3 :: 3])
            read += len(numbers)
    except (OSError, EOFError, zlib.error) as error:
        raise CocoError(table, error) from error
    phrases, paraphrases = map(np.concatenate, pieces)
    if read % 3 or not len(phrases):
        raise CocoError(table, f"{read:,} lines")
    order = np.argsort(phrases, kind="stable")
    ordered = phrases[order]
    begin = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return {
        "phrases": ordered[begin],
        "begin": np.append(begin, len(ordered)).astype(np.uint64),
        "paraphrases": paraphrases[order],
    }


def _read_lines(table: Path) -> Iterator[npt.NDArray[np.uint8]]:
    """Whole lines, some at a time."""
    left = b""
    with gzip.open(table) as stream:
        while piece := stream.read(_PIECE):
            end = piece.rfind(b"\n") + 1
            if end:
                yield np.frombuffer(left + piece[:end], np.uint8)
                left = piece[end:]
            else:
                left += piece
    if left:
        yield np.frombuffer(left + b"\n", np.uint8)


def number_lines(lines: npt.NDArray[np.uint8]) -> Array:
    """A number of 64 bits for each line: that two of all phrases share one is next to impossible.

    Each line must have a letter; only its first 1,024 count.
    """
    ends = np.flatnonzero(lines == _NEWLINE)
    begins = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    places = np.arange(len(lines)) - np.repeat(begins, ends - begins + 1)
    weighed = _POWERS[np.minimum(places, _MOST_LETTERS - 1)] * lines
    weighed[ends] = 0
    return np.add.reduceat(weighed, begins) if len(begins) else weighed
