"""What the stages hand to each other. Shape letters: T frames, R regions, W words, D features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NewType

import numpy as np
import numpy.typing as npt

UInt8Array = npt.NDArray[np.uint8]
FloatArray = npt.NDArray[np.float32]
ImageArray = npt.NDArray[Any]
"""Of pictures, or of features in their place."""
TimeArray = npt.NDArray[np.float64]

SourceFrame = NewType("SourceFrame", int)
"""A frame's place among all frames of its source, from 0 on: of a folder or shard the picture's, of
a film the frame's in the order of display. Never an index of the frames that were looked at, which
arrays have along T."""
SourceFrameArray = npt.NDArray[np.int64]
"""(T,) of them."""


@dataclass(frozen=True)
class Frames:
    """Frames sampled from one clip, in time order."""

    images: ImageArray
    """(T, H, W, 3) RGB of eight bits; of a clip that has features in place of pictures, float32
    (T, rows, columns, D)."""
    times: TimeArray
    """(T,) seconds from the clip's start, non-decreasing."""
    source_frames: SourceFrameArray | None = None
    """(T,) where they stand in the clip, if that is known."""

    def __post_init__(self) -> None:
        is_picture = self.images.dtype != np.float32
        if self.images.ndim != 4 or (is_picture and self.images.shape[-1] != 3):
            raise ValueError(f"images must be (T, H, W, 3), not {self.images.shape}")
        if self.times.shape != self.images.shape[:1]:
            raise ValueError("one time per frame is needed")
        check_source_frames(self.source_frames, self.times)

    def __len__(self) -> int:
        return len(self.times)

    def before(self, end: float) -> Frames | None:
        """Those that appear before that time; None if there are none."""
        count, source = int(np.searchsorted(self.times, end)), self.source_frames
        if count == 0:
            return None
        places = None if source is None else source[:count]
        return Frames(self.images[:count], self.times[:count], places)


@dataclass(frozen=True)
class MapShape:
    """What a frame is to eyes that see features in place of pictures."""

    rows: int
    columns: int
    features: int
    """D: numbers of each cell."""

    def __post_init__(self) -> None:
        if min(self.rows, self.columns, self.features) < 1:
            raise ValueError(f"sizes must be at least 1: {self}")

    def __str__(self) -> str:
        if self.rows == self.columns == 1:
            return f"{self.features:,} features"
        return f"{self.rows} x {self.columns} regions of {self.features:,} features"


@dataclass(frozen=True)
class Box:
    """A rectangle in fractions of the frame, so that it fits the frame at any size."""

    left: float
    top: float
    right: float
    bottom: float

    def __post_init__(self) -> None:
        if not (0 <= self.left < self.right <= 1 and 0 <= self.top < self.bottom <= 1):
            raise ValueError(f"not a box inside the frame: {self}")

    def contains(self, x: float, y: float) -> bool:
        return self.left <= x <= self.right and self.top <= y <= self.bottom

    def iou(self, other: Box) -> float:
        """Intersection over union."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        if width <= 0 or height <= 0:
            return 0.0
        shared = width * height
        return shared / (self.area + other.area - shared)

    @property
    def area(self) -> float:
        return (self.right - self.left) * (self.bottom - self.top)


@dataclass(frozen=True)
class Grid:
    """Regions of a frame: windows of `window` x `window` cells, `stride` apart, on the CNN's map.

    Region r stands in row r // columns and column r % columns.
    """

    map_rows: int
    map_columns: int
    window: int
    stride: int

    def __post_init__(self) -> None:
        if min(self.map_rows, self.map_columns, self.window, self.stride) < 1:
            raise ValueError(f"sizes must be at least 1: {self}")
        if self.window > min(self.map_rows, self.map_columns):
            raise ValueError(f"the window is larger than the map: {self}")

    @property
    def rows(self) -> int:
        return (self.map_rows - self.window) // self.stride + 1

    @property
    def columns(self) -> int:
        return (self.map_columns - self.window) // self.stride + 1

    def __len__(self) -> int:
        return self.rows * self.columns

    def box(self, region: int) -> Box:
        """The part of the frame under the region's window."""
        row, column = divmod(region, self.columns)
        if not (0 <= row < self.rows):
            raise IndexError(f"region {region} of {len(self)}")
        top, left = row * self.stride, column * self.stride
        return Box(
            left / self.map_columns,
            top / self.map_rows,
            (left + self.window) / self.map_columns,
            (top + self.window) / self.map_rows,
        )

    def centre(self, region: int) -> tuple[float, float]:
        """(x, y) of the region's middle, in fractions of the frame."""
        box = self.box(region)
        return (box.left + box.right) / 2, (box.top + box.bottom) / 2

    def steps(self) -> npt.NDArray[np.intp]:
        """(R, R): how many steps to a neighbour lead from one region to another."""
        row, column = np.divmod(np.arange(len(self)), self.columns)
        apart = np.maximum(abs(row[:, None] - row), abs(column[:, None] - column))
        return np.asarray(apart)

    def neighbours(self) -> npt.NDArray[np.bool_]:
        """(R, R): whether two regions touch, diagonals and the region itself included."""
        return self.steps() <= 1


@dataclass(frozen=True)
class FrameGrid:
    """What the Lexical-FCN sees in a clip: every region's words and features."""

    grid: Grid
    times: TimeArray
    """(T,) seconds."""
    probabilities: FloatArray
    """(T, R, W): P(word | region)."""
    features: FloatArray
    """(T, R, D), not normalised."""
    frame_vectors: FloatArray | None = None
    """(T, D): one for each whole frame, where the eyes have such."""
    patches: FloatArray | None = None
    """(T, rows, columns, D): what regions are made of, where it was kept."""
    frame_words: FloatArray | None = None
    """(T, V): P(word | whole frame) of the V most frequent words, where these are looked for."""
    source_frames: SourceFrameArray | None = None
    """(T,) where the frames stand in the clip; None of features that were kept without."""

    def __post_init__(self) -> None:
        expected = (len(self.times), len(self.grid))
        for name in ("probabilities", "features"):
            shape = getattr(self, name).shape
            if len(shape) != 3 or shape[:2] != expected:
                raise ValueError(f"{name} must start with (T, R) = {expected}, not {shape}")
        check_source_frames(self.source_frames, self.times)

    def select(self, indices: Sequence[int]) -> FrameGrid:
        """Those of its T frames."""
        return self._remake(lambda name: getattr(self, name)[list(indices)])

    def join(self, later: FrameGrid) -> FrameGrid:
        """These frames, and those of a later part of the same clip."""
        return self._remake(lambda n: np.concatenate([getattr(self, n), getattr(later, n)]))

    def _remake(self, make: Callable[[str], Any]) -> FrameGrid:
        named = (each.name for each in fields(self) if each.name != "grid")
        return replace(self, **{n: make(n) for n in named if getattr(self, n) is not None})


def check_source_frames(source_frames: SourceFrameArray | None, times: TimeArray) -> None:
    if source_frames is not None and source_frames.shape != times.shape:
        raise ValueError("there must be one source frame for each time, or none")


def list_source_frames(array: SourceFrameArray | None) -> tuple[SourceFrame, ...] | None:
    return None if array is None else tuple(map(SourceFrame, array.tolist()))


@dataclass(frozen=True)
class WordMaps:
    """Where in a clip's frames some words are, finer than the regions."""

    grid: Grid
    """Windows that are one patch apart."""
    words: tuple[str, ...]
    probabilities: FloatArray
    """(T, R, W): P(word | window)."""

    def __post_init__(self) -> None:
        shape = self.probabilities.shape
        if shape[1:] != (len(self.grid), len(self.words)):
            raise ValueError(f"probabilities must be (T, {len(self.grid)}, {len(self.words)})")


@dataclass(frozen=True)
class RegionSequence:
    """A region that moves through the frames: one region in each frame that was looked at."""

    grid: Grid
    regions: tuple[int, ...]
    """The region in each of T frames."""
    times: tuple[float, ...]
    """Seconds, one for each of these frames."""
    source_frames: tuple[SourceFrame, ...] | None = None
    """Where each of these frames stands in the source, if that is known."""
    fitted: tuple[Box, ...] | None = None
    """Boxes fitted to the thing, one for each of these frames; None: those of the grid."""

    def __post_init__(self) -> None:
        if not self.regions or len(self.regions) != len(self.times):
            raise ValueError("a region-sequence has one region and one time for each of its frames")
        if self.source_frames is not None and len(self.source_frames) != len(self.regions):
            raise ValueError("a region-sequence has a source frame for each of its frames, or none")
        if self.fitted is None:
            return
        if len(self.fitted) != len(self.regions):
            raise ValueError("a region-sequence has one fitted box for each of its frames, or none")
        if self.fitted == self.grid_boxes:
            # Files keep boxes alone, and what comes back from them is equal to what went in.
            object.__setattr__(self, "fitted", None)

    @property
    def boxes(self) -> tuple[Box, ...]:
        """Where the thing is in each of the frames, as closely as is known."""
        return self.grid_boxes if self.fitted is None else self.fitted

    @property
    def grid_boxes(self) -> tuple[Box, ...]:
        """The regions' own boxes, which are all that the paper has."""
        return tuple(self.grid.box(region) for region in self.regions)

    def select(self, indices: Sequence[int]) -> RegionSequence:
        """Those of its T frames."""
        source = self.source_frames
        return RegionSequence(
            grid=self.grid,
            regions=tuple(self.regions[index] for index in indices),
            times=tuple(self.times[index] for index in indices),
            source_frames=source and tuple(source[index] for index in indices),
            fitted=self.fitted and tuple(self.fitted[index] for index in indices),
        )

    def follow(self, values: FloatArray) -> FloatArray:
        """(T, R, …) of the frames that it runs through to what its own regions have, (T, …)."""
        if len(values) != len(self.regions):
            raise ValueError(f"values of {len(values)} frames, not of {len(self.regions)}")
        return values[np.arange(len(values)), list(self.regions)]

    @property
    def start(self) -> float:
        return self.times[0]

    @property
    def end(self) -> float:
        return self.times[-1]


@dataclass(frozen=True)
class Hypothesis:
    """A sentence that decoding found for a region-sequence."""

    ids: tuple[int, ...]
    """In the captioner's vocabulary, without special tokens."""
    log_probability: float
    """log P(sentence | its sequence), its end included: the model's own, whatever was forbidden."""
    score: float
    """The log-probability after the length penalty."""
    samples: int = 0
    """How often it was sampled; 0 for one that was searched."""
    sequence: int = 0
    is_alone: bool = False
    """Whether a region's voice said it; the clip's may have said so too."""
    is_wanted: bool = False
    """Whether it was searched for a word that it must have."""

    def weigh(self, log_category: float, length_penalty: float) -> float:
        """Its score with log P(c | v) of the category that it was said under (Eq. 14)."""
        return self.score + log_category / float((len(self.ids) + 1) ** length_penalty)


@dataclass(frozen=True)
class Candidates:
    """S different sentences of a clip with K region-sequences, the best first."""

    sentences: tuple[str, ...]
    """(S,)"""
    scores: FloatArray
    """(S,): log P(sentence | the sequence that it was found for) after the length penalty."""
    likelihoods: FloatArray
    """(S, K): log P(sentence | sequence)."""
    affinities: FloatArray
    """(S, K): how much more of a sentence a sequence has than the others."""
    quality: FloatArray
    """(S,), 0 to 1: how well each agrees with all that was found."""
    fit: FloatArray
    """(S,), -1 to 1: the evaluator's score, 0 without one."""
    confidence: FloatArray
    """(S,), 0 to 1."""
    meanings: FloatArray
    """(S, D): places in the latent space."""
    traits: FloatArray
    """(S, F): what speaks for each."""
    things: FloatArray
    """(S, N): P(people name it) of each of N things that the clip shows, where the sentence names
    it, else 0."""

    def __post_init__(self) -> None:
        S, K = len(self.sentences), self.likelihoods.shape[-1]
        shapes = dict.fromkeys(("scores", "quality", "fit", "confidence"), (S,))
        pairs = dict.fromkeys(("likelihoods", "affinities"), (S, K))
        open_ended = ("meanings", "traits", "things")
        rows = {name: (S, getattr(self, name).shape[-1]) for name in open_ended}
        for name, shape in (shapes | pairs | rows).items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} must be {shape}, not {getattr(self, name).shape}")

    def __len__(self) -> int:
        return len(self.sentences)

    def select(self, rows: Sequence[int]) -> Candidates:
        """Those of these indices, in this order."""
        arrays = {name: getattr(self, name)[list(rows)] for name in self.list_arrays()}
        return Candidates(tuple(self.sentences[row] for row in rows), **arrays)

    @classmethod
    def list_arrays(cls) -> list[str]:
        """The names of all fields but the sentences."""
        return [each.name for each in fields(cls) if each.name != "sentences"]


@dataclass(frozen=True)
class Evidence:
    """A lexicon word that a sentence rests on, where its own region-sequence shows it best."""

    word: str
    probability: float
    """P(word | region)."""
    region: int
    time: float
    """Seconds."""
    box: Box
    """The region's own, also where boxes are fitted to the thing: there the word was seen."""
    source_frame: SourceFrame | None = None
    """The frame, as in the sequence's `source_frames`."""


Verdict = Literal["sure", "likely", "guess"]
VERDICTS: dict[Verdict, float] = {"sure": 0.75, "likely": 0.5, "guess": 0.0}
"""From which confidence on a sentence is called so."""


def judge(confidence: float) -> Verdict:
    """The confidence in a word, by the whole percents in which it is told beside it."""
    return next(name for name, least in VERDICTS.items() if round(confidence, 2) >= least)


@dataclass(frozen=True)
class Caption:
    """A sentence, the region-sequence that it describes, and what speaks for it."""

    text: str
    """As a person reads it."""
    confidence: float
    """From 0 to 1: how probable it is that all of it is right."""
    log_probability: float
    """log P(sentence | its region-sequence)."""
    start: float
    """Seconds from the source's start."""
    end: float
    """Seconds, exclusive: the sentence holds while start <= time < end. So one of a single frame
    lasts as long as that frame does, and those of two shots that meet do not overlap."""
    sequence: RegionSequence
    """Its times count from the source's start too, and lie between `start` and `end`."""
    evidence: tuple[Evidence, ...] = ()
    unsupported: tuple[str, ...] = ()
    """Content words of the sentence without evidence."""
    raw: str = ""
    """As the captioner said it; the text itself if that is not known."""

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("a caption needs a text")
        if not self.raw:
            object.__setattr__(self, "raw", self.text)
        if not 0 <= self.confidence <= 1:
            raise ValueError(f"confidence must be from 0 to 1, not {self.confidence}")
        if not 0 <= self.start < self.end:
            raise ValueError(f"a caption needs a positive duration: {self.start} to {self.end}")
        if not self.start <= self.sequence.start <= self.sequence.end < self.end:
            raise ValueError("a caption's region-sequence lies within its time")

    @property
    def verdict(self) -> Verdict:
        """The confidence in a word."""
        return judge(self.confidence)

    @property
    def boxes(self) -> tuple[Box, ...]:
        """One for each of the sequence's `times`."""
        return self.sequence.boxes

    def holds_at(self, time: float) -> bool:
        return self.start <= time < self.end


Span = tuple[float, float]
"""(start, end) in seconds from the source's start; the end is exclusive."""

SILENCE = "nothing to say: this is like nothing that the model has seen"


@dataclass(frozen=True)
class DenseCaptions:
    """What was said of one source, the best sentence first."""

    source: str
    """What the user called the clip."""
    duration: float
    """Seconds; of a single picture, how long it is shown."""
    width: int
    """Pixels of the source, as displayed; 0 where features are all there is."""
    height: int
    captions: tuple[Caption, ...]
    model: str
    """Name of the model that said it."""
    model_version: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What was set otherwise than in the model's config, by dotted name."""
    silent: tuple[Span, ...] = ()
    """What is unlike all that the model knows: nothing is said of it."""
    scenes: tuple[Span, ...] = ()
    """Of a film, by time and without gaps; none of a clip that is described as a whole."""
    chapters: tuple[Span, ...] = ()
    """Runs of scenes that belong together; what each is called follows from its sentences."""

    def __post_init__(self) -> None:
        if self.chapters and not self.scenes:
            raise ValueError("chapters are runs of scenes: there are none without")

    def __len__(self) -> int:
        return len(self.captions)

    def __iter__(self) -> Iterator[Caption]:
        return iter(self.captions)

    def __getitem__(self, rank: int) -> Caption:
        """By rank, from 0 on."""
        return self.captions[rank]
