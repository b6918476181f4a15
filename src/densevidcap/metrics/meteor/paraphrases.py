"""METEOR's table of five million paraphrases, as an index in which phrases are looked up.

The table comes with pycocoevalcap as a compressed text of 270 MB. It is read once; the index,
of numbers that stand for phrases, is kept in the user's cache and opens in no time.
"""

from __future__ import annotations

import gzip
import os
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from densevidcap.errors import DenseVidCapError, DenseVidCapWarning
from densevidcap.files import find_cache, replacing
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


class Phrase(NamedTuple):
    """A phrase of the table."""

    number: int
    """It stands for the phrase, here and among the paraphrases of others."""
    paraphrases: Mapping[int, int]
    """The numbers of its paraphrases, with their places in the table."""


class Paraphrases:
    """Which phrases have which paraphrases."""

    def __init__(self, index: Mapping[str, Array]) -> None:
        """`index`: the numbers of phrases that have paraphrases, where those of each begin and
        what they are, and the numbers of all paraphrases; numbers of phrases ascend."""
        self._phrases, self._begin = index["phrases"], index["begin"]
        self._paraphrases, self._different = index["paraphrases"], index["different"]

    def find(self, phrases: Sequence[str]) -> list[Phrase | None]:
        """Each phrase, which must have a letter, or None if the table does not have it."""
        text = "".join(f"{phrase}\n" for phrase in phrases).encode(errors="replace")
        numbers = number_lines(np.frombuffer(text, np.uint8))
        places = _find_places(self._phrases, numbers)
        known = (places >= 0) | (_find_places(self._different, numbers) >= 0)
        found: list[Phrase | None] = [None] * len(phrases)
        for which in np.flatnonzero(known).tolist():
            found[which] = Phrase(int(numbers[which]), self._list(int(places[which])))
        return found

    def _list(self, place: int) -> Mapping[int, int]:
        if place < 0:
            return {}
        begin, end = self._begin[place : place + 2].tolist()
        return {number: n for n, number in enumerate(self._paraphrases[begin:end].tolist())}


def _find_places(among: Array, numbers: Array) -> npt.NDArray[np.int64]:
    """Where each number is, -1 where it is not."""
    places = np.minimum(np.searchsorted(among, numbers), len(among) - 1)
    return np.where(among[places] == numbers, places, -1)


def load_paraphrases(table: Path | None = None) -> Paraphrases:
    """The index of METEOR's or another table, made and kept in the cache if it is not there."""
    if table is None:
        table = find_table()
    kept = find_cache() / f"paraphrases-{_VERSION}-{_read_mark(table)}.safetensors"
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


def find_table() -> Path:
    return find_beside(import_coco("meteor.meteor"), "data") / "paraphrase-en.gz"


def _read_mark(table: Path) -> str:
    """The checksum and the size of what is compressed, with which such a file ends."""
    try:
        with table.open("rb") as stream:
            stream.seek(-8, os.SEEK_END)
            return stream.read().hex()
    except OSError as error:
        raise CocoError(table, error) from error


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
        "different": np.unique(paraphrases),
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
    if not len(ends):
        return np.zeros(0, np.uint64)
    begins = np.concatenate([[0], ends[:-1] + 1])
    places = np.arange(len(lines)) - np.repeat(begins, ends - begins + 1)
    weighed: Array = _POWERS[np.minimum(places, _MOST_LETTERS - 1)] * lines
    weighed[ends] = 0
    numbers: Array = np.add.reduceat(weighed, begins)
    return numbers
