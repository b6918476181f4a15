"""What is kept of each clip, made by one model in this process or by several in others."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from densevidcap.data.failures import naming
from densevidcap.errors import ClipError, DenseVidCapWarning
from densevidcap.types import DenseCaptions

if TYPE_CHECKING:
    from densevidcap.data.limits import Limits
    from densevidcap.library.shown import ShownWords, WordList, WordRecord
    from densevidcap.pipeline.analysis import Analysis, Segment
    from densevidcap.pipeline.captioner import DenseCaptioner, Report
    from densevidcap.types import FrameGrid

METHOD = 1
"""Raised when the same model with the same settings says other sentences than it did before."""
NO_PART = ("training", "device", "engine")
"""Of a config in what is said: how the model was made, and what it runs on."""
UNSAID = 30
"""Sentences that are kept for search beside those that are said, at most."""


class Described(NamedTuple):
    """What was found out about one clip."""

    identity: str
    captions: DenseCaptions
    words: WordRecord
    seconds: float
    """Of work."""
    warned: tuple[str, ...]
    """What was odd about the clip."""


@dataclass(frozen=True)
class Describer:
    """A model that is loaded when it is first used: in another process, where it is used there."""

    model: Path | None
    """Its folder; None for the one that comes with the package."""
    settings: Mapping[str, Any]
    """What is set otherwise than in its config."""

    @cached_property
    def captioner(self) -> DenseCaptioner:
        from densevidcap.pipeline.captioner import DenseCaptioner

        return DenseCaptioner.load(self.model)

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model, "settings": dict(self.settings)}

    @property
    def recipe(self) -> str:
        """Changes with everything that can change a sentence: method, model, calibration, config.

        Neither where the model lies nor what it runs on is of this.
        """
        captioner = self.captioner
        config = captioner.override(self.settings).to_dict()
        content = {
            "method": METHOD,
            "model": captioner.version,
            "trust": asdict(captioner.trust),
            "config": {n: part for n, part in config.items() if n not in NO_PART},
        }
        text = json.dumps(content, sort_keys=True, default=str)
        return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()

    @property
    def lexicon(self) -> WordList:
        from densevidcap.library.shown import WordList

        curve = self.captioner.trust.clip
        return WordList(self.captioner.words.lexicon.words, curve.raw, curve.true)

    @cached_property
    def _digest(self) -> str:
        return self.lexicon.digest

    def describe(self, source: str) -> Described:
        """A ClipError for a clip that cannot be described, or that changes meanwhile."""
        return self.look(source)[0]

    def look(
        self,
        source: str,
        limits: Limits | None = None,
        report: Report = lambda *_: None,
        hold: Callable[[Segment], None] = lambda _: None,
    ) -> tuple[Described, Analysis]:
        """The same, and an analysis that holds no segment: `hold` gets each, to choose other
        sentences from."""
        from densevidcap.data.clip import open_clip
        from densevidcap.library.identity import identify, stamp
        from densevidcap.library.looking import gather_words
        from densevidcap.library.shown import WordRecord

        captioner, began = self.captioner, time.monotonic()
        boxes = captioner.override(self.settings).boxes
        segments: list[ShownWords] = []
        found: dict[str, float] = {}

        def keep(segment: Segment, _: object) -> None:
            candidates = segment.candidates
            for sentence, sure in zip(candidates.sentences, candidates.confidence, strict=True):
                found[sentence] = max(found.get(sentence, 0.0), round(float(sure), 4))
            hold(segment)

        def watch(seen: FrameGrid, span: tuple[float, float]) -> None:
            segments.append(gather_words(captioner.words, captioner.trust, seen, span, boxes))

        with naming(source), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DenseVidCapWarning)
            clip = open_clip(source, limits=limits)
            before = stamp(clip)
            identity = identify(clip)
            narration = captioner.narrate(clip, self.settings, report, watch, keep)
            captions = narration.finish()
            if stamp(open_clip(source)) != before:
                raise ClipError(f"{source}: changed while it was read; run it again")
        unsaid = _list_unsaid(found, captions, len(segments))
        words = WordRecord(self._digest, tuple(segments), unsaid)
        warned = tuple(dict.fromkeys(str(warning.message) for warning in caught))
        seconds = time.monotonic() - began
        return Described(identity, captions, words, seconds, warned), narration.source


def _list_unsaid(
    found: Mapping[str, float], captions: DenseCaptions, segments: int
) -> tuple[tuple[str, float], ...]:
    """The surest sentences that were found and are not said."""
    said = {caption.raw for caption in captions}
    unsaid = (pair for pair in found.items() if pair[0] not in said)
    return tuple(sorted(unsaid, key=lambda pair: (-pair[1], pair[0]))[: UNSAID * segments])


Outcome = tuple[str, "Described | ClipError"]
"""A source, and what became of it."""
Crew = Callable[[Describer, Iterable[str]], Generator[Outcome, None, None]]
"""Whoever describes clips: `describe_all` here, `describe_on_ray` elsewhere."""


WORTH = 10
"""Clips that are worth the start of another worker."""
ROOM = 2**30
"""Bytes of free memory for each: a model at work takes about three quarters of it."""


def count_workers(clips: int, free: int | None = None) -> int:
    """How many share so many clips best: one a CPU, as far as memory and work are enough.

    On other devices than CPUs it is one.
    """
    from densevidcap.models.device import resolve_device

    if resolve_device("auto").type != "cpu":
        return 1
    free = measure_free_memory() if free is None else free
    return max(1, min(os.cpu_count() or 1, clips // WORTH, free // ROOM))


def measure_free_memory() -> int:
    """Bytes that processes can have; 0 where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(1024 * int(each.split()[1]) for each in lines if each.startswith("MemAvail"))
    except (OSError, ValueError, StopIteration):
        return 0


def describe_all(
    describer: Describer, sources: Iterable[str], workers: int = 1
) -> Generator[Outcome, None, None]:
    """Each source as soon as it is done. With several workers, in no particular order.

    A clip that ends its worker, as one that needs more memory than there is may do, costs no other:
    all that were in work are tried again one by one, and the one that does it again has failed.
    """
    if workers == 1:
        for source in sources:
            yield source, _try(describer, source)
        return
    waiting = iter(sources)
    while True:
        lost: list[str] = []
        with _pool(describer, workers) as pool:
            yield from _share(pool, waiting, workers, lost)
        if not lost:
            return
        for source in lost:
            yield source, _describe_apart(describer, source)


def _share(
    pool: ProcessPoolExecutor, waiting: Iterator[str], workers: int, lost: list[str]
) -> Iterator[Outcome]:
    """No more than one clip waits for each worker; what a broken pool had is `lost`."""
    running: dict[Future[Described | ClipError], str] = {}
    while True:
        try:
            for source in islice(waiting, 2 * workers - len(running)):
                running[pool.submit(_work, source)] = source
        except BrokenProcessPool:
            lost.append(source)
        if not running:
            return
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for each in done:
            source = running.pop(each)
            try:
                yield source, each.result()
            except BrokenProcessPool:
                lost.append(source)
        if lost:
            lost += running.values()
            return


def _describe_apart(describer: Describer, source: str) -> Described | ClipError:
    with _pool(describer, 1) as pool:
        try:
            return pool.submit(_work, source).result()
        except BrokenProcessPool:
            return refuse_deadly(source)


def refuse_deadly(source: str) -> ClipError:
    return ClipError(f"{source}: ends the process that reads it; shrink or cut it, or leave it out")


@contextmanager
def _pool(describer: Describer, workers: int) -> Iterator[ProcessPoolExecutor]:
    from multiprocessing import get_context

    threads = max(1, (os.cpu_count() or 1) // workers)
    with ExitStack() as stack:
        pool = ProcessPoolExecutor(workers, get_context("spawn"), _begin_work, (describer, threads))
        stack.callback(pool.shutdown, wait=True, cancel_futures=True)
        yield pool


_working: list[Describer] = []
"""Of a worker: the one model that it has."""


def _begin_work(describer: Describer, threads: int) -> None:
    import torch

    torch.set_num_threads(threads)
    _end_with_parent()
    _working[:] = [describer]


def _end_with_parent() -> None:
    """Workers of a process that was killed would wait for ever."""
    from multiprocessing import parent_process

    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _work(source: str) -> Described | ClipError:
    return _try(_working[0], source)


def _try(describer: Describer, source: str) -> Described | ClipError:
    try:
        return describer.describe(source)
    except ClipError as error:
        return error
