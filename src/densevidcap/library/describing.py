"""What is kept of each clip, made by one model in this process or by several in others."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from densevidcap.data.failures import naming
from densevidcap.errors import ClipError, DenseVidCapWarning
from densevidcap.types import DenseCaptions
from densevidcap.workers import refuse_deadly, share_work

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


def describe_all(
    describer: Describer, sources: Iterable[str], workers: int = 1
) -> Generator[Outcome, None, None]:
    """Each source as soon as it is done. With several workers, in no particular order.

    A clip that ends its worker costs no other: see `share_work`.
    """
    return share_work(partial(_try, describer), sources, workers, refuse_deadly)


def _try(describer: Describer, source: str) -> Described | ClipError:
    try:
        return describer.describe(source)
    except ClipError as error:
        return error
