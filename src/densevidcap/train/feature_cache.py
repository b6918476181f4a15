"""What a frozen encoder sees in a corpus, computed once and kept on disk.

A cache is a folder named after everything its numbers depend on beside the clips;
those it knows by id, and by name and size of their files. Its files only grow, a
clip's features first and its line in the index after, so a run that is killed goes
on where it was. Opening changes nothing; one process at a time adds clips, and cuts
off what a killed one has left unfinished.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from densevidcap.config import Engine
from densevidcap.data.clip import Clip, open_clip
from densevidcap.data.failures import naming
from densevidcap.data.feature_files import FeatureClip, is_features
from densevidcap.data.manifest import ClipRecord
from densevidcap.data.sampling import Sampling, end_of
from densevidcap.errors import ClipError, CorpusError, DenseVidCapWarning, ModelError
from densevidcap.files import hold, writing
from densevidcap.models.device import device_of
from densevidcap.models.streams import ExtractedStream, find_stream
from densevidcap.models.word_detector import FastEncoder, RegionEncoder, choose_numbers
from densevidcap.progress import Progress, Silent
from densevidcap.types import FloatArray, Frames, TimeArray
from densevidcap.workers import count_workers, refuse_deadly, share_work

DATA = "features.f16"
INDEX = "index.jsonl"
WORTH = 25
"""Clips that are worth the start of another process that looks at them: a few seconds."""


class FeatureCache:
    """Clip id to features (T, R, D), memory-mapped float16; R are what an encoder observes or
    cells of what goes into a stage of its backbone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._shape: tuple[int, int] = (0, 0)
        self._rows: dict[str, tuple[int, list[float]]] = {}
        self._origins: dict[str, str | None] = {}
        self._frames = self._index_bytes = 0
        self._read()

    def __contains__(self, clip: str) -> bool:
        return clip in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def times(self, clip: str) -> TimeArray:
        """(T,) seconds."""
        return np.array(self._rows[clip][1])

    def rows(self, clip: str) -> range:
        """Where the clip's frames stand in `all`."""
        start, times = self._rows[clip]
        return range(start, start + len(times))

    @property
    def all(self) -> npt.NDArray[np.float16]:
        """(all frames, R, D)."""
        return np.memmap(self.folder / DATA, np.float16, "r", shape=(self._frames, *self._shape))

    def features(self, clip: str) -> FloatArray:
        """(T, R, D) of one clip."""
        return np.asarray(self.all[list(self.rows(clip))], dtype=np.float32)

    def check_origin(self, clip: str, origin: str | None) -> None:
        """Refuse a cached clip that shares no more than its id with the one that is meant.

        Where either origin is unknown, the id has to do.
        """
        cached = self._origins[clip]
        if origin and cached and origin != cached:
            raise CorpusError(
                f"{self.folder}: its clip '{clip}' is {cached}, not {origin};"
                " give another --cache, or remove this one"
            )

    @contextmanager
    def filling(self) -> Iterator[None]:
        """A block in which this process may append clips, and no other."""
        refusal = CorpusError(
            f"{self.folder}: another process adds clips to this cache; "
            "wait until it is done, or give another --cache"
        )
        with hold(self.folder, refusal):
            # Others may have added clips since it was opened.
            self._read()
            yield

    def open_for(self, records: Sequence[ClipRecord]) -> AbstractContextManager[None]:
        """`filling`, unless all of these are there.

        A whole cache is only read, which many may do at once, also where nothing can be written.
        """
        return nullcontext() if all(r.id in self for r in records) else self.filling()

    def append(
        self,
        clip: str,
        times: TimeArray,
        features: FloatArray | npt.NDArray[np.float16],
        origin: str | None = None,
    ) -> None:
        """Add a clip; only inside `filling`."""
        shape = list(features.shape[1:])
        entry = {"id": clip, "times": times.tolist(), "shape": shape, "origin": origin}
        line = f"{json.dumps(entry)}\n".encode()
        _extend(self.folder / DATA, self._data_bytes, features.astype(np.float16).tobytes())
        _extend(self.folder / INDEX, self._index_bytes, line)
        self._index_bytes += len(line)
        self._add_row(clip, times.tolist(), shape, origin)

    def _add_row(self, clip: str, times: list[float], shape: list[int], origin: str | None) -> None:
        self._origins[clip] = origin
        self._shape = (shape[0], shape[1])
        self._rows[clip] = (self._frames, times)
        self._frames += len(times)

    def _read(self) -> None:
        self._rows.clear()
        self._origins.clear()
        self._frames = 0
        index, data = self.folder / INDEX, self.folder / DATA
        lines = index.read_bytes() if index.exists() else b""
        lines = lines[: lines.rfind(b"\n") + 1]  # a kill may have cut the last one
        self._index_bytes = len(lines)
        try:
            for line in lines.splitlines():
                entry = json.loads(line)
                self._add_row(entry["id"], entry["times"], entry["shape"], entry.get("origin"))
        except (ValueError, KeyError, TypeError):
            raise self._damaged() from None
        if self._frames and (not data.exists() or data.stat().st_size < self._data_bytes):
            raise self._damaged()

    @property
    def _data_bytes(self) -> int:
        """Of all clips that the index has."""
        return self._frames * self._shape[0] * self._shape[1] * 2

    def _damaged(self) -> CorpusError:
        return CorpusError(f"{self.folder}: damaged; remove it to compute it again")


def _extend(path: Path, start: int, content: bytes) -> None:
    """Add to a file from there on, in place of what a killed process has left unfinished."""
    with writing(path):
        path.touch()
        with path.open("r+b") as file:
            file.seek(start)
            file.truncate()
            file.write(content)
            file.flush()
            os.fsync(file.fileno())


def describe_origin(source: str | None) -> str | None:
    """A source's name and size, which stay when a corpus is moved; None if it is not there.

    Those of a clip's features tell nothing of the network that made them: its first frame does.
    """
    if source is None:
        return None
    path = Path(source)
    try:
        if path.is_dir():
            return f"{path.name} ({len(list(path.iterdir())):,} files)"
        file = path if path.is_file() else Path(source.rpartition("::")[0])
        if not file.is_file():
            return None
        size = f"{file.stat().st_size:,} bytes"
        if is_features(source) and isinstance(clip := open_clip(source), FeatureClip):
            size += f", {clip.fingerprint()}"
        return f"{path.name} ({size})"
    except (OSError, ClipError):
        return None


def name_cache(
    encoder: RegionEncoder,
    sampling: Sampling,
    stage: int | None,
    numbers: torch.dtype = torch.float32,
) -> str:
    """A name that changes with anything the features depend on, and with nothing else."""
    digest = hashlib.sha256()
    if numbers != torch.float32:
        digest.update(str(numbers).encode())
    # What is 0 belongs to eyes of another kind.
    eyes = {name: value for name, value in asdict(encoder.config).items() if value != 0}
    digest.update(json.dumps([eyes, sampling.to_dict(), stage]).encode())
    later = [] if stage is None else encoder.backbone.names_from(stage)
    unused = {f"backbone.{name}" for name in later}
    for name, tensor in encoder.state_dict().items():
        if name not in unused:
            digest.update(name.encode())
            digest.update(tensor.contiguous().cpu().numpy().tobytes())
    return f"{encoder.config.backbone}-{digest.hexdigest()[:12]}"


def cache_features(
    records: Iterable[ClipRecord],
    encoder: RegionEncoder,
    folder: Path,
    sampling: Sampling,
    stage: int | None = None,
    advance: Callable[[], None] = lambda: None,
    fail_fast: bool = False,
    engine: Engine = "float32",
    workers: int = 0,
) -> tuple[FeatureCache, dict[str, str]]:
    """Features of every record that is not in the cache yet, and the clips that failed, with why.

    What the encoder observes, or with `stage` the cells that go into that stage of the
    backbone. With `fail_fast` the first failure is raised instead. `workers` are processes that
    look (`TrainingConfig.workers`); clips are appended in the records' order by this one alone,
    however many there are.
    """
    records = list(records)
    eyes = _Eyes(encoder, sampling, stage, engine)
    numbers = choose_numbers(encoder, eyes.engine)
    cache = FeatureCache(folder / name_cache(encoder, sampling, stage, numbers))
    failures: dict[str, str] = {}
    with cache.open_for(records):
        missing = []
        for record in records:
            if record.id in cache:
                cache.check_origin(record.id, describe_origin(record.source))
                advance()
            else:
                missing.append(record)
        count = _choose_workers(encoder, len(missing), workers)
        with closing(
            _look_here(eyes, missing) if count == 1 else eyes.share(missing, count)
        ) as clips:
            for record, seen in clips:
                if isinstance(seen, ClipError):
                    if fail_fast:
                        raise seen
                    failures[record.id] = str(seen)
                else:
                    for text in seen.warned:
                        warnings.warn(text, DenseVidCapWarning, stacklevel=2)
                    origin = describe_origin(record.source)
                    cache.append(record.id, seen.times, seen.features, origin)
                advance()
    return cache, failures


def _choose_workers(encoder: RegionEncoder, clips: int, wanted: int) -> int:
    """Only a CPU that looks at pictures gains by several processes."""
    device = device_of(encoder).type
    if device != "cpu" or not isinstance(encoder.form, tuple):
        return 1
    return max(1, min(wanted, clips)) if wanted else count_workers(clips, device, worth=WORTH)


class _Seen(NamedTuple):
    """Of one clip."""

    times: TimeArray
    features: npt.NDArray[np.float16]
    warned: tuple[str, ...] = ()
    """What was odd about it, as far as nobody was told yet."""


Outcome: TypeAlias = tuple[ClipRecord, _Seen | ClipError]
"""A clip, and what became of it."""


@dataclass(frozen=True)
class _Eyes:
    """An encoder and how it looks at clips, here or in other processes."""

    encoder: RegionEncoder
    sampling: Sampling
    stage: int | None
    engine: Engine

    @cached_property
    def _fast(self) -> FastEncoder:
        return FastEncoder(self.encoder, self.engine)

    def open(self, record: ClipRecord) -> Frames:
        return _open(record).sample(self.sampling, self.encoder.form)

    def look(self, frames: Frames) -> _Seen:
        fast, images = self._fast, frames.images
        seen = fast.observe(images)[0] if self.stage is None else fast.begin(images, self.stage)
        return _Seen(frames.times, seen.astype(np.float16))

    def share(self, records: Sequence[ClipRecord], workers: int) -> Generator[Outcome, None, None]:
        return share_work(self._try, records, workers, _refuse, ordered=True)

    def _try(self, record: ClipRecord) -> _Seen | ClipError:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DenseVidCapWarning)
            try:
                with naming(record.id):
                    seen = self.look(self.open(record))
            except ClipError as error:
                return error
        told = dict.fromkeys(
            str(each.message) for each in caught if issubclass(each.category, DenseVidCapWarning)
        )
        return seen._replace(warned=tuple(told))


def _refuse(record: ClipRecord) -> _Seen | ClipError:
    return refuse_deadly(record.id)


def _look_here(eyes: _Eyes, records: Sequence[ClipRecord]) -> Generator[Outcome, None, None]:
    """One thread decodes the next clips while the encoder works on this one."""
    with ThreadPoolExecutor(1) as reader:
        upcoming = [reader.submit(eyes.open, record) for record in records[:2]]
        for position, record in enumerate(records):
            if position + 2 < len(records):
                upcoming.append(reader.submit(eyes.open, records[position + 2]))
            try:
                with naming(record.id):
                    seen = eyes.look(upcoming.pop(0).result())
            except ClipError as error:
                yield record, error
            else:
                yield record, seen


def fit_streams(
    records: Sequence[ClipRecord], streams: Mapping[str, ExtractedStream], folder: Path
) -> dict[str, ExtractedStream]:
    """The streams with what they learn from those clips that can be opened, kept in the folder."""
    clips = [[record.id, describe_origin(record.source)] for record in records]
    digest = hashlib.sha256(json.dumps(clips).encode()).hexdigest()[:12]
    fitted = {}
    for name, stream in streams.items():
        place = folder / f"{name}-learned-{digest}"
        try:
            fitted[name] = stream.load(place)
        except ModelError:
            fitted[name] = stream.fit([*_open_all(records)])
            fitted[name].save(place)
    return fitted


def cache_streams(
    records: Sequence[ClipRecord],
    streams: Mapping[str, ExtractedStream],
    features: FeatureCache,
    folder: Path,
    sampling: Sampling,
    progress: Progress | None = None,
    fail_fast: bool = False,
) -> dict[str, FeatureCache]:
    """A cache for each of these streams, which are read from the clips themselves.

    Its frames are those of `features`. A clip without such a stream is kept with no rows, so that
    it is not asked again. One whose stream cannot be read is told of and goes without; it is not
    kept, and so told of again until it is put right. With `fail_fast` it is raised instead.
    """
    progress = progress or Silent()
    caches = {}
    for name, stream in streams.items():
        advance = progress.count(f"reading {name}", len(records))
        depends_on = [stream.identify(), sampling.to_dict()]
        if stream.numbers != torch.float32:
            depends_on.append(str(stream.numbers))
        digest = hashlib.sha256(json.dumps(depends_on).encode()).hexdigest()[:12]
        cache = caches[name] = FeatureCache(folder / f"{name}-{digest}")
        with cache.open_for(records):
            for record in records:
                origin = describe_origin(record.source)
                if record.id in cache:
                    cache.check_origin(record.id, origin)
                else:
                    try:
                        times, rows = _extract(record, stream, features.times(record.id))
                    except ClipError as error:
                        if fail_fast:
                            raise
                        progress.say(f"without its stream {name}: {error}")
                    else:
                        cache.append(record.id, times, rows[:, None], origin)
                advance()
    return caches


def _extract(
    record: ClipRecord, stream: ExtractedStream, times: TimeArray
) -> tuple[TimeArray, FloatArray]:
    """Rows (T or 1, D) with their times; none of a clip that is without."""
    with naming(record.id):
        clip = _open(record)
        values = stream.extract(clip, times, (0.0, end_of(clip.times())))
    own = times if stream.level == "frame" else times[:1]
    rows = np.zeros((0, stream.features), np.float32)
    rows = rows if values is None else values.reshape(-1, stream.features)
    return own[: len(rows)], rows


def _open_all(records: Sequence[ClipRecord]) -> Iterator[Clip]:
    """Those that can be opened; who reads the others tells of them."""
    for record in records:
        with suppress(ClipError):
            yield _open(record)


def _open(record: ClipRecord) -> Clip:
    if record.source is None:
        raise ClipError(f"{record.id}: its manifest line names no source")
    return open_clip(record.source)


def read_extracted(caches: Mapping[str, FeatureCache], clip: str) -> dict[str, FloatArray]:
    """What a clip has of the streams that `cache_streams` kept, for `ClipView.extracted`."""
    found = {}
    for name, cache in caches.items():
        if clip in cache and cache.rows(clip):
            rows = cache.features(clip)[:, 0]
            found[name] = rows if find_stream(name).level == "frame" else rows[0]
    return found


def gather(
    cache: FeatureCache, clips: Sequence[Sequence[int]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Features (N, R, D) of each clip's rows, and the place of each frame's clip (N,)."""
    rows = np.concatenate([np.asarray(rows, dtype=np.intp) for rows in clips])
    owners = np.repeat(np.arange(len(clips)), [len(rows) for rows in clips])
    return torch.from_numpy(cache.all[rows].astype(np.float32)), torch.from_numpy(owners)
