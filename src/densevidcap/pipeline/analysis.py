"""What was found out about a clip: all that choosing captions needs, without any network."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from densevidcap.config import ModelConfig
from densevidcap.errors import CorpusError, ModelError
from densevidcap.files import replacing
from densevidcap.intake import parse_json
from densevidcap.regions.objectives import Float64Array, IndexArray
from densevidcap.types import Box, Candidates, FloatArray, Grid, RegionSequence, TimeArray

FILE = "analysis.safetensors"
VERSION = 2
"""Raised when a reader of older files would misunderstand newer ones."""

HalfArray = npt.NDArray[np.float16]


@dataclass(frozen=True)
class Segment:
    """A stretch of the source that is described by itself: a shot, or all of a short clip.

    T frames were looked at, R regions in each; K region-sequences run through all of them.
    """

    start: float
    """Seconds from the source's start."""
    end: float
    """Seconds, exclusive."""
    grid: Grid
    times: TimeArray
    """(T,) seconds from the source's start."""
    words: tuple[str, ...]
    """(W,): the lexicon, or of it, where a source has many segments, only what sentences say."""
    probabilities: HalfArray
    """(T, R, W): P(word | region)."""
    paths: IndexArray
    """(K, T): each sequence's region in each frame."""
    candidates: Candidates
    """The S different sentences that were found."""
    fitted: Float64Array | None = None
    """(K, T, 4): the left, top, right and bottom of each sequence's boxes; None: the grid's."""

    def __post_init__(self) -> None:
        T, W, K = len(self.times), len(self.words), len(self.paths)
        shapes: dict[str, tuple[int, ...]] = {
            "times": (T,),
            "probabilities": (T, len(self.grid), W),
            "paths": (K, T),
        }
        if self.fitted is not None:
            shapes["fitted"] = (K, T, 4)
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} must be {shape}, not {getattr(self, name).shape}")
        if self.candidates.likelihoods.shape[1] != K:
            raise ValueError(f"likelihoods must be of {K} region-sequences")
        if self.paths.min() < 0 or self.paths.max() >= len(self.grid):
            raise ValueError(f"paths must lead through the {len(self.grid)} regions")
        # Now, and not when a sentence about it is asked for.
        for number in range(K if self.fitted is not None else 0):
            self.sequence(number)

    def sequence(self, number: int) -> RegionSequence:
        """The region-sequence of that number, through all frames."""
        regions, times = self.paths[number].tolist(), self.times.tolist()
        fitted = None
        if self.fitted is not None:
            fitted = tuple(Box(*edges) for edges in self.fitted[number].tolist())
        return RegionSequence(self.grid, (*range(len(times)),), (*regions,), (*times,), fitted)

    def respond(self, word: str) -> FloatArray:
        """(T, R): P(word | region); a KeyError for a word that was not kept."""
        if word not in self.words:
            raise KeyError(word)
        return self.probabilities[:, :, self.words.index(word)].astype(np.float32)


def stack_fitted(sequences: Sequence[RegionSequence]) -> Float64Array | None:
    """(K, T, 4): the boxes of sequences through the same frames; None if none has fitted ones."""
    if all(sequence.fitted is None for sequence in sequences):
        return None
    return np.array([[astuple(box) for box in each.boxes] for each in sequences], np.float64)


ARRAYS = ("times", "probabilities", "paths")
"""Those fields of a segment, beside `fitted` and those of its candidates; the others are kept as
JSON."""


@dataclass(frozen=True)
class Analysis:
    """Everything that is known of one source."""

    source: str
    """What the user called the clip."""
    duration: float
    """Seconds."""
    width: int
    """Pixels, as displayed."""
    height: int
    model: str
    model_version: str
    config: ModelConfig
    """The model's, but for the settings."""
    segments: tuple[Segment, ...]
    """By time, at least one."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What was set otherwise than in the model's config, by dotted name."""

    def save(self, folder: Path) -> None:
        """Write one file into the folder, whole or not at all."""
        tensors = {
            f"{number}.{name}": np.ascontiguousarray(array)
            for number, segment in enumerate(self.segments)
            for name, array in _list_arrays(segment).items()
        }
        content = {
            "version": VERSION,
            **{name: getattr(self, name) for name in FACTS},
            "config": self.config.to_dict(),
            "segments": [_list_plain_fields(segment) for segment in self.segments],
        }
        with replacing(folder / FILE) as temporary:
            # In ASCII, because names of files may hold what UTF-8 has no bytes for.
            save_file(tensors, temporary, {"analysis": json.dumps(content)})

    @classmethod
    def load(cls, folder: Path) -> Analysis:
        """What `save` wrote, by whichever process."""
        path = folder / FILE
        try:
            with safe_open(path, "np") as file:
                content = parse_json(file.metadata()["analysis"], file_names=True)
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            version, rows = content.pop("version"), content.pop("segments")
            if version != VERSION:
                raise ValueError(f"version {version} of the format, not {VERSION}")
            config = ModelConfig.from_dict(content.pop("config"), str(path))
            segments = (_build_segment(row, arrays, n) for n, row in enumerate(rows))
            return cls(**content, config=config, segments=tuple(segments))
        except FileNotFoundError:
            raise CorpusError(f"{path}: no such file; analyse the clip first") from None
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, ModelError) as error:
            raise CorpusError(f"{path}: no sound analysis ({error}); do it again") from None


FACTS = ("source", "duration", "width", "height", "model", "model_version", "settings")
"""Fields of an analysis that JSON holds as they are."""


def _list_arrays(segment: Segment) -> dict[str, Any]:
    candidates = segment.candidates
    fitted = {} if segment.fitted is None else {"fitted": segment.fitted}
    return (
        {name: getattr(segment, name) for name in ARRAYS}
        | fitted
        | {name: getattr(candidates, name) for name in candidates.list_arrays()}
    )


def _list_plain_fields(segment: Segment) -> dict[str, Any]:
    return {
        "start": segment.start,
        "end": segment.end,
        "grid": asdict(segment.grid),
        "words": segment.words,
        "sentences": segment.candidates.sentences,
    }


def _build_segment(row: dict[str, Any], arrays: dict[str, Any], number: int) -> Segment:
    def take(names: Iterable[str]) -> dict[str, Any]:
        return {name: arrays[f"{number}.{name}"] for name in names}

    return Segment(
        start=row["start"],
        end=row["end"],
        grid=Grid(**row["grid"]),
        words=tuple(row["words"]),
        candidates=Candidates(tuple(row["sentences"]), **take(Candidates.list_arrays())),
        fitted=arrays.get(f"{number}.fitted"),
        **take(ARRAYS),
    )
