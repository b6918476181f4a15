"""What a sentence is made from, by name: inputs that are read from a view of a clip."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from densevidcap.config import Engine, StreamsConfig
from densevidcap.data.clip import Clip
from densevidcap.data.sampling import Shot
from densevidcap.errors import ModelError
from densevidcap.model_folder import read_card, read_model_config
from densevidcap.models.fusion import Streams
from densevidcap.models.views import Row
from densevidcap.types import FloatArray, TimeArray


@dataclass(frozen=True)
class StreamSizes:
    """What the widths of streams depend on."""

    features: int
    """D: of a region."""
    words: int
    """V: words whose probabilities are inputs."""
    categories: int
    """C, or 0 without."""
    frame_vector: int = 0
    """D: of the eyes' own vector of a whole frame, or 0 without."""


Level = Literal["frame", "clip"]


class Stream(ABC):
    """A named input of a sentence, of any width."""

    level: Level
    """Whether it has a vector for each frame, or one for all."""
    of_clip: bool = True
    """Whether it tells of the whole clip, and not of the region-sequence: a region's voice goes
    without."""
    of_corpus: bool = False
    """Whether it has a place for each word of a lexicon, each category, or the like: another corpus
    has others."""

    @abstractmethod
    def width(self, sizes: StreamSizes) -> int:
        """Length of a vector; 0 where there is no such stream."""

    @abstractmethod
    def read(self, row: Row) -> FloatArray | None:
        """(T, D) or (D,), by its level; None where the clip has none."""


class SeenStream(Stream):
    """One that follows from what the eyes have seen; it is as wide as one of the sizes."""

    def __init__(
        self,
        level: Level,
        size: Literal["features", "frame_vector", "words", "categories"],
        read: Callable[[Row], FloatArray | None],
        of_clip: bool = True,
    ) -> None:
        self.level, self.of_clip = level, of_clip
        self.of_corpus = size in ("words", "categories")
        self._size, self._read = size, read

    def width(self, sizes: StreamSizes) -> int:
        width: int = getattr(sizes, self._size)
        return width

    def read(self, row: Row) -> FloatArray | None:
        return self._read(row)


class ExtractedStream(Stream):
    """One that is read from the clip itself (its motion, its sound), and has its own cache."""

    name: ClassVar[str]
    """Its name in `STREAMS`."""
    features: ClassVar[int]
    """D"""
    numbers: torch.dtype = torch.float32
    """That products of its network are computed with."""

    @abstractmethod
    def extract(self, clip: Clip, times: TimeArray, span: Shot) -> FloatArray | None:
        """(T, D) for the frames at these times, or (D,) for the span, by its level, in seconds.

        None where the clip has none.
        """

    def identify(self) -> str:
        """Changes with anything that its numbers depend on, such as its network's weights."""
        return self.name

    def configure(self, config: StreamsConfig) -> ExtractedStream:  # noqa: ARG002
        """The same by these settings."""
        return self

    def describe(self) -> dict[str, str]:
        """For the card of a model that learned from it."""
        return {"identity": self.identify()}

    def check(self) -> None:
        """Refuse work that cannot be done, for instance without weights, before it begins."""

    def to(self, device: torch.device, engine: Engine = "float32") -> None:
        """Where its network is to run, and with which numbers, if it has one."""

    def fit(self, clips: Sequence[Clip]) -> ExtractedStream:  # noqa: ARG002
        """The same with what it has to learn from the training clips, if there is anything."""
        return self

    def save(self, folder: Path) -> tuple[str, ...]:  # noqa: ARG002
        """Write what it learned into a model folder; the names of the files."""
        return ()

    def load(self, folder: Path) -> ExtractedStream:  # noqa: ARG002
        """The same with what it learned, as a model folder has it."""
        return self

    def width(self, sizes: StreamSizes) -> int:  # noqa: ARG002
        return self.features

    def read(self, row: Row) -> FloatArray | None:
        extracted = row.view.extracted.get(self.name)
        return extracted if extracted is None or self.level == "clip" else extracted[row.frames]


class ClipMean(Stream):
    """The mean over a clip of a stream that is read from it frame by frame."""

    level: Level = "clip"

    def __init__(self, source: str) -> None:
        """Of the stream with that name."""
        self.source = source

    def width(self, sizes: StreamSizes) -> int:
        return find_stream(self.source).width(sizes)

    def read(self, row: Row) -> FloatArray | None:
        values = find_stream(self.source).read(row)
        return None if values is None else np.asarray(values.mean(axis=0), np.float32)


STREAMS: dict[str, Stream | str] = {
    # Of each frame: the sequence's region; the same minus the frame's mean, which is what sets it
    # apart from the other regions; that mean itself; and the eyes' own vector of the whole frame.
    "regions": SeenStream("frame", "features", lambda row: row.regions, of_clip=False),
    "centred": SeenStream("frame", "features", lambda row: row.regions - row.means, of_clip=False),
    "frames": SeenStream("frame", "features", lambda row: row.means),
    "whole_frames": SeenStream("frame", "frame_vector", lambda row: row.frame_vectors),
    # Of the clip or sequence as a whole: the mean of its frames; word probabilities along the
    # sequence, what sets them apart from the clip's other sequences, and those of the clip; its
    # category, known or probable.
    "clip": SeenStream("clip", "features", lambda row: row.means.mean(axis=0)),
    "words": SeenStream("clip", "words", lambda row: row.words[row.sequence], of_clip=False),
    "special_words": SeenStream(
        "clip",
        "words",
        lambda row: row.words[row.sequence] - row.words.mean(axis=0),
        of_clip=False,
    ),
    "clip_words": SeenStream(
        "clip", "words", lambda row: np.sqrt(np.asarray(row.view.clip_words, np.float32))
    ),
    "category": SeenStream("clip", "categories", lambda row: row.view.category),
    # Of the clip itself, for each frame: its motion. Of all of it: that motion's mean, which joins
    # every word as a stream of frames cannot, and its sound.
    "i3d": "densevidcap.models.extractors.i3d:I3DStream",
    "c3d": "densevidcap.models.extractors.c3d:C3DStream",
    "clip_i3d": ClipMean("i3d"),
    "clip_c3d": ClipMean("c3d"),
    "soundnet": "densevidcap.models.extractors.soundnet:SoundNetStream",
    "audio_words": "densevidcap.models.extractors.audio_words:AudioWordStream",
}
"""Name to a stream, or to the module and class of one. A new stream is a file and a line."""


@cache
def _import_stream(path: str) -> Stream:
    module, _, kind = path.partition(":")
    stream: Stream = getattr(import_module(module), kind)()
    return stream


def find_stream(name: str) -> Stream:
    if name not in STREAMS:
        raise ModelError(f"no stream '{name}': there are {', '.join(STREAMS)}")
    found = STREAMS[name]
    return _import_stream(found) if isinstance(found, str) else found


def check_streams(config: StreamsConfig) -> None:
    """Refuse a stream that there is not, or not at that level, before any clip is read."""
    for level, names in (("frame", config.frame_level), ("clip", config.clip_level)):
        for name in names:
            if find_stream(name).level != level:
                known = [each for each in STREAMS if find_stream(each).level == level]
                raise ModelError(
                    f"'{name}' is no {level}-level stream: {level}_level may be {', '.join(known)}"
                )


def check_extracted(names: Iterable[str]) -> None:
    """Refuse streams that cannot be read here, for instance for want of weights."""
    for stream in list_extracted(names).values():
        stream.check()


def size_streams(
    config: StreamsConfig, sizes: StreamSizes
) -> tuple[dict[str, int], dict[str, int]]:
    """Name to width, of the frame-level and of the clip-level streams that there are."""
    check_streams(config)
    frames, whole = (
        {name: find_stream(name).width(sizes) for name in names}
        for names in (config.frame_level, config.clip_level)
    )
    return (
        {name: width for name, width in frames.items() if width},
        {name: width for name, width in whole.items() if width},
    )


def list_extracted(
    names: Iterable[str], config: StreamsConfig | None = None
) -> dict[str, ExtractedStream]:
    """What has to be read from the clip itself for these streams, by these settings."""
    settings = config or StreamsConfig()
    streams = [(name, find_stream(name)) for name in names if name in STREAMS]
    sources = [each.source if isinstance(each, ClipMean) else name for name, each in streams]
    found = {name: find_stream(name) for name in sources}
    return {
        name: each.configure(settings)
        for name, each in found.items()
        if isinstance(each, ExtractedStream)
    }


def load_streams(folder: Path, names: Iterable[str]) -> dict[str, ExtractedStream]:
    """What the captioner in that folder reads from clips themselves, as it did in training."""
    if not list_extracted(names):
        return {}
    learned = read_card(folder).get(EXTRACTED, {})
    streams = list_extracted(names, read_model_config(folder).streams)
    loaded = {name: stream.load(folder) for name, stream in streams.items()}
    for name, stream in loaded.items():
        known, own = learned.get(name, {}).get("identity"), stream.identify()
        if known not in (None, own):
            raise ModelError(
                f"{folder}: its captioner learned from '{known}', and here is '{own}'; "
                f"install those weights of '{name}', or train it again"
            )
    return loaded


EXTRACTED = "extracted"
"""In the card of a captioner: what its streams that are read from clips were made by."""


def extract_streams(
    streams: Mapping[str, ExtractedStream], clip: Clip, times: TimeArray, span: Shot
) -> dict[str, FloatArray]:
    """What a clip has of these streams, for `ClipView.extracted`."""
    values = {name: stream.extract(clip, times, span) for name, stream in streams.items()}
    return {name: value for name, value in values.items() if value is not None}


def make_streams(
    rows: Sequence[Row],
    frame_level: Sequence[str],
    clip_level: Sequence[str],
    device: torch.device | None = None,
) -> Streams:
    """The named streams of N rows, side by side and padded with zeros to the longest."""
    lengths = [len(row.frames) for row in rows]
    missing: dict[str, Tensor] = {}

    def stack(names: Sequence[str], steps: tuple[int, ...]) -> dict[str, Tensor]:
        stacked = {}
        for name in names:
            stream = find_stream(name)
            values = [None if row.is_alone and stream.of_clip else stream.read(row) for row in rows]
            widths = {value.shape[-1] for value in values if value is not None}
            if not widths:
                continue  # none of the rows has it
            padded = np.zeros((len(rows), *steps, *widths), np.float32)
            for place, value in enumerate(values):
                if value is not None:
                    padded[place, : len(value)] = value
            stacked[name] = torch.from_numpy(padded)
            if any(value is None for value in values):
                missing[name] = torch.tensor([value is None for value in values], device="cpu")
        return stacked

    frames, whole = stack(frame_level, (max(lengths),)), stack(clip_level, ())
    streams = Streams(frames, whole, torch.tensor(lengths, device="cpu"), missing)
    return streams if device is None else streams.to(device)
