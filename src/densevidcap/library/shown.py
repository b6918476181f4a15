"""The words that a clip's regions show, small enough to keep of every clip.

They know far more than sentences say. For each segment: how probable each word of the lexicon is,
in a byte; for each of its frames, the words that are likely there, and the region of each; for the
likeliest words, a box that fits the thing where it is seen best; and the features of all regions at
a few moments, a byte a feature. Reading needs no network.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from densevidcap.data.text_files import read_json, replace_text
from densevidcap.errors import CorpusError
from densevidcap.files import replacing
from densevidcap.intake import parse_json
from densevidcap.types import Box, FloatArray, Grid, TimeArray, UInt8Array

VERSION = 1
LEAST = 1e-6
"""Probabilities below it are as good as none."""
MOMENTS = 4
"""Parts of a segment whose middle frames' features can be kept."""

Indices = npt.NDArray[np.unsignedinteger[Any]]
HalfArray = npt.NDArray[np.float16]
Int8Array = npt.NDArray[np.int8]


def to_byte(probabilities: FloatArray) -> UInt8Array:
    """By its logarithm: 1 is 255, and everything up to a millionth is 0."""
    logs = np.log(np.clip(probabilities, LEAST, 1.0, dtype=np.float64))
    return np.asarray(np.rint(255 * (1 - logs / log(LEAST))), np.uint8)


def from_byte(values: UInt8Array) -> FloatArray:
    """The probability again, within 3% of itself."""
    return np.asarray(np.exp(log(LEAST) * (1 - values.astype(np.float64) / 255)), np.float32)


def to_rows(vectors: npt.NDArray[Any]) -> Int8Array:
    """Their directions (…, D), a byte a feature; what has no direction stays none."""
    largest = np.abs(vectors).max(axis=-1, keepdims=True).astype(np.float64)
    scale = np.divide(127, largest, out=np.zeros_like(largest), where=largest > 0)
    return np.asarray(np.rint(vectors * scale), np.int8)


def find_middles(frames: int) -> list[int]:
    """The middle frame of each part of a segment."""
    parts = np.array_split(np.arange(frames), min(MOMENTS, frames))
    return [int(part[len(part) // 2]) for part in parts]


@dataclass(frozen=True)
class WordList:
    """The words of a lexicon, and what their probabilities are worth."""

    words: tuple[str, ...]
    raw: tuple[float, ...]
    """Points of a curve: from P(the clip shows it), as the Lexical-FCN has it,"""
    true: tuple[float, ...]
    """to P(people name it)."""

    def calibrate(self, probabilities: FloatArray) -> FloatArray:
        return np.asarray(np.interp(probabilities, self.raw, self.true), np.float32)

    @property
    def digest(self) -> str:
        content = json.dumps(asdict(self)).encode()
        return hashlib.blake2b(content, digest_size=8).hexdigest()

    def save(self, path: Path) -> None:
        with replace_text(path) as stream:
            json.dump(asdict(self), stream)

    @classmethod
    def load(cls, path: Path) -> WordList:
        content = read_json(path)
        try:
            curve = (tuple(map(float, content[side])) for side in ("raw", "true"))
            return cls(tuple(map(str, content["words"])), *curve)
        except (KeyError, TypeError, ValueError) as error:
            raise CorpusError(f"{path}: not a list of words; caption the clips again") from error


@dataclass(frozen=True)
class ShownWords:
    """Of a segment with T frames, W words in the lexicon, M of them likely in some frame."""

    start: float
    """Seconds from the source's start."""
    end: float
    grid: Grid
    times: TimeArray
    """(T,) seconds."""
    clip: UInt8Array
    """(W,) bytes: P(the segment shows the word), as the Lexical-FCN has it."""
    frames: Indices
    """(M,): in which of the frames,"""
    words: Indices
    """(M,): which word,"""
    regions: Indices
    """(M,): in which region,"""
    likely: UInt8Array
    """(M,) bytes: and how probably people name it there."""
    boxed: Indices
    """(N,): words that have a box,"""
    boxes: UInt8Array
    """(N, 4): left, top, right and bottom in 255ths of the frame,"""
    boxed_frames: Indices
    """(N,): and in which frame it is."""
    look: HalfArray
    """(D,): the mean of its regions' features, to find what looks like it."""
    moments: Indices
    """(K,): frames of which every region's features are kept: middles of parts, without those that
    look like the one before,"""
    vectors: Int8Array
    """(K, R, D): and those features, as directions."""

    def find_moment(self, time: float) -> int | None:
        """Which of the moments stands for that time; None where none were kept."""
        if not len(self.moments):
            return None
        middles = np.array(find_middles(len(self.times)))
        middle = middles[np.abs(self.times[middles] - time).argmin()]
        return max(0, int(np.searchsorted(self.moments, middle, side="right")) - 1)

    def find_box(self, word: int, frame: int) -> Box | None:
        """Where that word is in a frame: the box that fits if it is of that frame, or the region's.

        None where it is not likely.
        """
        here = np.flatnonzero((self.boxed == word) & (self.boxed_frames == frame))
        if len(here):
            left, top, right, bottom = (self.boxes[here[0]].astype(np.float64) / 255).tolist()
            return Box(left, top, right, bottom)
        here = np.flatnonzero((self.words == word) & (self.frames == frame))
        return self.grid.box(int(self.regions[here[0]])) if len(here) else None

    def follow(self, word: int) -> FloatArray:
        """(T,): how probably people name it in each frame, 0 where that is not likely."""
        shown = np.zeros(len(self.times), np.float32)
        here = self.words == word
        shown[self.frames[here]] = from_byte(self.likely[here])
        return shown


_ARRAYS = (
    "times",
    "clip",
    "frames",
    "words",
    "regions",
    "likely",
    "boxed",
    "boxes",
    "boxed_frames",
    "look",
    "moments",
    "vectors",
)


@dataclass(frozen=True)
class WordRecord:
    """The words of a whole clip, and sentences that were found but not said."""

    digest: str
    """Of the list of words."""
    segments: tuple[ShownWords, ...]
    unsaid: tuple[tuple[str, float], ...] = ()
    """With their confidence."""

    def save(self, path: Path) -> None:
        tensors = {
            f"{number}.{name}": np.ascontiguousarray(getattr(segment, name))
            for number, segment in enumerate(self.segments)
            for name in _ARRAYS
        }
        content = {
            "version": VERSION,
            "digest": self.digest,
            "unsaid": self.unsaid,
            "segments": [
                {"start": each.start, "end": each.end, "grid": asdict(each.grid)}
                for each in self.segments
            ],
        }
        with replacing(path) as temporary:
            save_file(tensors, temporary, {"words": json.dumps(content)})

    @classmethod
    def load(cls, path: Path) -> WordRecord:
        try:
            with safe_open(path, "np") as file:
                content = parse_json(file.metadata()["words"])
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            if content["version"] != VERSION:
                raise ValueError(f"version {content['version']}, not {VERSION}")
            rows: Sequence[Mapping[str, Any]] = content["segments"]
            # Of the first libraries, which kept none.
            for number in range(len(rows)):
                width = len(arrays[f"{number}.look"])
                arrays.setdefault(f"{number}.moments", np.zeros(0, np.uint16))
                arrays.setdefault(f"{number}.vectors", np.zeros((0, 0, width), np.int8))
            segments = (
                ShownWords(
                    row["start"],
                    row["end"],
                    Grid(**row["grid"]),
                    **{name: arrays[f"{number}.{name}"] for name in _ARRAYS},
                )
                for number, row in enumerate(rows)
            )
            unsaid = tuple((str(text), float(sure)) for text, sure in content["unsaid"])
            return cls(str(content["digest"]), tuple(segments), unsaid)
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            raise CorpusError(
                f"{path}: not the words of a clip ({error}); caption it again"
            ) from None
