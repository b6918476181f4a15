"""What was found out about a clip: all that choosing captions needs, without any network."""

from __future__ import annotations

import json
import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from densevidcap.config import ModelConfig
from densevidcap.errors import CorpusError, ModelError
from densevidcap.files import replacing, writing
from densevidcap.intake import parse_json
from densevidcap.regions.objectives import IndexArray
from densevidcap.types import (
    Candidates,
    FloatArray,
    Grid,
    RegionSequence,
    SourceFrameArray,
    TimeArray,
    check_source_frames,
    list_source_frames,
)

FILE = "analysis.safetensors"
VERSION = 4
"""Raised when a reader of older files would misunderstand newer ones."""

HELD = 32 * 2**20
"""Bytes of an analysis that is held whole. Of a larger one, which is a film's, each segment is read
when it is asked for."""

HalfArray = npt.NDArray[np.float16]


@dataclass(frozen=True)
class CloseUp:
    """A segment's frames in patches: where exactly words are, and what belongs together."""

    grid: Grid
    """Windows that are one patch apart, smaller than regions."""
    words: tuple[str, ...]
    """(V,): those of the lexicon that sentences say."""
    maps: HalfArray
    """(T, F, V): P(word | window)."""
    patches: HalfArray
    """(T, rows, columns, P): few numbers a patch, alike where what they show is alike."""

    def __post_init__(self) -> None:
        rows, columns = self.grid.map_rows, self.grid.map_columns
        if self.maps.shape != (len(self.maps), len(self.grid), len(self.words)):
            raise ValueError(f"maps must be (T, {len(self.grid)}, {len(self.words)})")
        if self.patches.ndim != 4 or self.patches.shape[:3] != (len(self.maps), rows, columns):
            raise ValueError(f"patches must be (T, {rows}, {columns}, P)")

    def map(self, word: str) -> FloatArray | None:
        """(T, F): P(word | window); None for a word that no sentence says."""
        if word not in self.words:
            return None
        return self.maps[:, :, self.words.index(word)].astype(np.float32)


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
    close_up: CloseUp | None = None
    """None where boxes are those of the grid."""
    is_blind: bool = False
    """Whether it shows nothing that the model knows."""
    source_frames: SourceFrameArray | None = None
    """(T,) where the frames stand in the source; None in analyses that did not keep it."""

    def __post_init__(self) -> None:
        T, W, K = len(self.times), len(self.words), len(self.paths)
        shapes = {
            "times": (T,),
            "probabilities": (T, len(self.grid), W),
            "paths": (K, T),
        }
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} must be {shape}, not {getattr(self, name).shape}")
        if self.candidates.likelihoods.shape[1] != K:
            raise ValueError(f"likelihoods must be of {K} region-sequences")
        if self.close_up is not None and len(self.close_up.maps) != T:
            raise ValueError(f"a close-up must be of {T} frames")
        check_source_frames(self.source_frames, self.times)
        if self.paths.min() < 0 or self.paths.max() >= len(self.grid):
            raise ValueError(f"paths must lead through the {len(self.grid)} regions")

    def sequence(self, number: int) -> RegionSequence:
        """The region-sequence of that number, through all frames."""
        regions, times = self.paths[number].tolist(), self.times.tolist()
        source_frames = list_source_frames(self.source_frames)
        return RegionSequence(self.grid, (*regions,), (*times,), source_frames)

    def map_closely(self, word: str) -> tuple[Grid, FloatArray]:
        """Windows, and P(word | window) (T, R): as small as is known, else the regions."""
        closely = None if self.close_up is None else self.close_up.map(word)
        if self.close_up is None or closely is None:
            return self.grid, self.respond(word)
        return self.close_up.grid, closely

    def respond(self, word: str) -> FloatArray:
        """(T, R): P(word | region); a KeyError for a word that was not kept."""
        if word not in self.words:
            raise KeyError(word)
        return self.probabilities[:, :, self.words.index(word)].astype(np.float32)


ARRAYS = ("times", "probabilities", "paths")
SOURCE_FRAMES = "source_frames"
CLOSE_ARRAYS = ("maps", "patches")
"""Those fields of a segment, one that it may be without, and those of its close-up, beside those of
its candidates; the others are kept as JSON."""


@dataclass(frozen=True)
class Analysis:
    """Everything that is known of one source."""

    source: str
    """What the user called the clip."""
    duration: float
    """Seconds."""
    width: int
    """Pixels, as displayed; 0 where features are all there is."""
    height: int
    model: str
    model_version: str
    config: ModelConfig
    """The model's, but for the settings."""
    segments: Sequence[Segment]
    """By time, at least one."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What was set otherwise than in the model's config, by dotted name."""

    def find_segment(self, time: float) -> Segment:
        """The one around that time, or next to it."""
        begun = bisect_right(self.segments, time, key=lambda segment: segment.start)
        return self.segments[max(0, begun - 1)]

    def save(self, folder: Path) -> None:
        """Write one file into the folder, whole or not at all."""
        with AnalysisFile(folder) as file:
            for segment in self.segments:
                file.add(segment)
            file.finish(self)

    @classmethod
    def load(cls, folder: Path) -> Analysis:
        """What `save` wrote, by whichever process."""
        path = folder / FILE
        try:
            file: Any = safe_open(path, "np")
            content = parse_json(file.metadata()["analysis"], file_names=True)
            version, rows = content.pop("version"), content.pop("segments")
            if version != VERSION:
                raise ValueError(f"version {version} of the format, not {VERSION}")
            config = ModelConfig.from_dict(content.pop("config"), str(path))
            kept = KeptSegments(file, rows)
            segments: Sequence[Segment] = kept
            if path.stat().st_size <= HELD:
                segments = tuple(kept)
            else:
                kept.check()
            return cls(**content, config=config, segments=segments)
        except FileNotFoundError:
            raise CorpusError(f"{path}: no such file; analyse the clip first") from None
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, ModelError) as error:
            raise CorpusError(f"{path}: no sound analysis ({error}); do it again") from None


class KeptSegments(Sequence[Segment]):
    """Those of a file, which stays as it was when it was opened; none is held."""

    def __init__(self, file: Any, rows: Sequence[dict[str, Any]]) -> None:
        self._file, self._rows = file, rows
        self._names = frozenset(file.keys())

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Segment: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Segment]: ...

    def __getitem__(self, place: int | slice) -> Segment | Sequence[Segment]:
        if isinstance(place, slice):
            return tuple(self[each] for each in range(*place.indices(len(self))))
        number = range(len(self))[place]
        return _build_segment(self._rows[number], self._read, number)

    def check(self) -> None:
        """Each can be read."""
        for _ in self:
            pass

    def _read(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._file.get_tensor(name)


class AnalysisFile:
    """An analysis on its way into a folder, segment by segment, of which none is held.

    The file is safetensors, whose header tells where in it each array is: so arrays wait in a file
    without a name until all are known.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        with writing(self._path):
            folder.mkdir(parents=True, exist_ok=True)
            self._arrays = TemporaryFile(dir=folder)  # noqa: SIM115
        self._places: dict[str, Any] = {}
        self._rows: list[dict[str, Any]] = []

    def add(self, segment: Segment) -> None:
        for name, array in _list_arrays(segment).items():
            start = self._arrays.tell()
            with writing(self._path):
                self._arrays.write(np.ascontiguousarray(array).tobytes())
            self._places[f"{len(self._rows)}.{name}"] = {
                "dtype": DTYPES[array.dtype.name],
                "shape": array.shape,
                "data_offsets": (start, self._arrays.tell()),
            }
        self._rows.append(_list_plain_fields(segment))

    def finish(self, analysis: Analysis) -> None:
        """Write what was added with all else of the analysis, whole or not at all."""
        content = {
            "version": VERSION,
            **{name: getattr(analysis, name) for name in FACTS},
            "config": analysis.config.to_dict(),
            "segments": self._rows,
        }
        # In ASCII, because names of files may hold what UTF-8 has no bytes for.
        named = {"__metadata__": {"analysis": json.dumps(content)}, **self._places}
        header = json.dumps(named).encode()
        header += b" " * (-len(header) % 8)
        self._arrays.seek(0)
        with replacing(self._path) as temporary, temporary.open("wb") as file:
            file.write(len(header).to_bytes(8, "little") + header)
            shutil.copyfileobj(self._arrays, file)

    def __enter__(self) -> AnalysisFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._arrays.close()


DTYPES = {
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
    "int32": "I32",
    "int64": "I64",
    "bool": "BOOL",
}
"""What safetensors calls NumPy's."""
FACTS = ("source", "duration", "width", "height", "model", "model_version", "settings")
"""Fields of an analysis that JSON holds as they are."""


def _list_arrays(segment: Segment) -> dict[str, Any]:
    candidates, close = segment.candidates, segment.close_up
    arrays = {name: getattr(segment, name) for name in ARRAYS}
    if segment.source_frames is not None:
        arrays[SOURCE_FRAMES] = segment.source_frames
    arrays |= {name: getattr(candidates, name) for name in candidates.list_arrays()}
    return arrays if close is None else arrays | {n: getattr(close, n) for n in CLOSE_ARRAYS}


def _list_plain_fields(segment: Segment) -> dict[str, Any]:
    close = segment.close_up
    return {
        "start": segment.start,
        "end": segment.end,
        "grid": asdict(segment.grid),
        "words": segment.words,
        "sentences": segment.candidates.sentences,
        "is_blind": segment.is_blind,
        "close_up": close and {"grid": asdict(close.grid), "words": close.words},
    }


def _build_segment(row: dict[str, Any], read: Callable[[str], Any], number: int) -> Segment:
    def take(names: Iterable[str]) -> dict[str, Any]:
        return {name: read(f"{number}.{name}") for name in names}

    close = row["close_up"]
    if close is not None:
        grid, words = Grid(**close["grid"]), tuple(close["words"])
        close = CloseUp(grid, words, **take(CLOSE_ARRAYS))
    try:
        source_frames = read(f"{number}.{SOURCE_FRAMES}")
    except KeyError:
        source_frames = None
    return Segment(
        start=row["start"],
        end=row["end"],
        grid=Grid(**row["grid"]),
        words=tuple(row["words"]),
        candidates=Candidates(tuple(row["sentences"]), **take(Candidates.list_arrays())),
        close_up=close,
        is_blind=bool(row["is_blind"]),
        source_frames=source_frames,
        **take(ARRAYS),
    )
