"""What looks like a clip, a moment of it, or a part of its picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from densevidcap.data.lexicon import is_content_word
from densevidcap.errors import CorpusError
from densevidcap.library.looks import REGIONS, SEGMENTS, Rows
from densevidcap.library.search import LIKELY, Answer, Finder, Where
from densevidcap.library.shown import ShownWords, WordList, WordRecord, from_byte
from densevidcap.library.vectors import compare, find_centre, lengthen
from densevidcap.types import Box, Caption, FloatArray

if TYPE_CHECKING:
    from densevidcap.library.index import SegmentRow

AGAIN = "caption it again, with --overwrite"
REASONS = 5
"""Words that are told of an answer, at most."""


@dataclass(frozen=True)
class Example:
    """What others shall look like."""

    kind: str
    """What is compared with it: whole segments, or their regions."""
    vectors: FloatArray
    """(Q, D): one of them is enough."""
    own: frozenset[int]
    """Segments of the clip that are no answers, being the example."""
    shown: FloatArray
    """(W,): how probably people name each word there."""


def find_alike(
    finder: Finder,
    clip: str,
    at: float | None = None,
    box: Box | None = None,
    most: int = 10,
) -> list[Answer]:
    """What looks most like a clip of the library, a time of it, or a part of its picture.

    Compared is what the same eyes saw. The example itself is no answer; of its clip, other segments
    are if a time is named.
    """
    library = finder.library
    identity = library.find_identity(clip, finder.listed)
    record = library.read_words(identity)
    if record is None or not record.segments:
        raise CorpusError(f"{clip}: nothing is kept of how it looks; {AGAIN}")
    lexicon = library.read_lexicon(record.digest)
    example = find_example(record, lexicon, clip, at, box)
    width = example.vectors.shape[1]
    rows = finder.ask(lambda: finder.index.looks.read(example.kind, record.digest, width))
    if rows is None:
        return []
    answers: list[Answer] = []
    for number, near, place in _rank(rows, example):
        row, score = finder.segments.get(number), round(near, 4)
        if len(answers) == most:
            break
        if row is None or (row.identity == identity and row.number in example.own):
            continue
        answer = _explain(finder, row, score, place, example, lexicon)
        if answer is not None:
            answers.append(answer)
    return answers


def _rank(rows: Rows, example: Example) -> Iterator[tuple[int, float, int]]:
    """Segments, the best first: their number, the cosine of their best row, and which that is."""
    centre = find_centre(rows.vectors, rows.list_live())
    cosines = compare(rows.vectors, example.vectors, centre)
    best = rows.find_best(cosines)
    for place in np.argsort(-best, kind="stable").tolist():
        first = rows.firsts[place]
        own = cosines[first : first + rows.counts[place]]
        yield int(rows.segments[place]), float(best[place]), int(own.argmax())


def _explain(
    finder: Finder,
    row: SegmentRow,
    score: float,
    place: int,
    example: Example,
    lexicon: WordList,
) -> Answer | None:
    found = finder.files.get(row.identity)
    record = finder.library.read_words(row.identity)
    if found is None or record is None:
        return None
    segment = record.segments[row.number]
    region = place if example.kind == REGIONS else None
    where = place_example(segment, example, region)
    words = _list_shared(example, lexicon, segment)
    said = _choose_sentence(finder, row, where[2])
    return Answer.of(found, row.identity, where, score, {"look": score}, words, said)


def _choose_sentence(finder: Finder, row: SegmentRow, time: float) -> Caption | None:
    """The surest that holds then, or else the surest of the segment."""
    said = [
        caption
        for caption in finder.library.captions(row.identity)
        if row.start <= (caption.start + caption.end) / 2 <= row.end
    ]
    then = [caption for caption in said if caption.holds_at(time)]
    return max(then or said, key=lambda caption: caption.confidence, default=None)


def _list_shared(
    example: Example, lexicon: WordList, segment: ShownWords
) -> tuple[tuple[str, float], ...]:
    """Content words that both show, with the probability that people name them in the answer."""
    shown = lexicon.calibrate(from_byte(segment.clip))
    both = np.where(np.minimum(shown, example.shown) >= LIKELY, shown * example.shown, 0)
    order = np.argsort(-both, kind="stable").tolist()
    likely = (n for n in order if both[n] > 0 and is_content_word(lexicon.words[n]))
    return tuple((lexicon.words[n], float(shown[n])) for n in islice(likely, REASONS))


def find_example(
    record: WordRecord,
    lexicon: WordList,
    name: str,
    at: float | None = None,
    box: Box | None = None,
) -> Example:
    """Of a clip, a time or a part of the picture."""
    every = range(len(record.segments))
    chosen = [*every] if at is None else [_find_segment(record, at, name)]
    segments = [record.segments[number] for number in chosen]
    own = frozenset(chosen)
    if box is not None:
        parts = [vector for each in segments for vector in _look_inside(each, at, box)]
        if not parts:
            raise CorpusError(f"{name}: its regions were not kept; {AGAIN}")
        shown = np.max([_list_inside(each, at, box) for each in segments], axis=0)
        return Example(REGIONS, np.stack(parts), own, shown)
    looks = [_look(segment, at) for segment in segments]
    shown = np.max([lexicon.calibrate(from_byte(each.clip)) for each in segments], axis=0)
    return Example(SEGMENTS, np.stack(looks), own, shown)


def place_example(segment: ShownWords, example: Example, region: int | None) -> Where:
    """Start, end, the best time and the box there, in a segment that looks like the example.

    `region` is which of the segment's vectors does, counted through all of its moments.
    """
    if not len(segment.moments):
        return segment.start, segment.end, (segment.start + segment.end) / 2, None
    if region is None:
        means = lengthen(segment.vectors.astype(np.float32)).mean(axis=1)
        near = lengthen(means) @ lengthen(example.vectors).T
        moment, box = int(near.max(axis=1).argmax()), None
    else:
        moment, place = divmod(region, segment.vectors.shape[1])
        box = segment.grid.box(place)
    times, frames = segment.times, segment.moments
    time = float(times[frames[moment]])
    if region is None:
        return segment.start, segment.end, time, box
    start, end = segment.start, segment.end
    # Halfway to the moments that look otherwise.
    if moment > 0:
        start = (float(times[frames[moment - 1]]) + time) / 2
    if moment + 1 < len(frames):
        end = (float(times[frames[moment + 1]]) + time) / 2
    return start, end, time, box


def _find_segment(record: WordRecord, at: float, name: str) -> int:
    end = record.segments[-1].end
    if not 0 <= at <= end + 0.05:
        raise CorpusError(f"{name}: has no second {at:g}; it ends at {end:.1f}")
    gaps = [max(each.start - at, at - each.end, 0.0) for each in record.segments]
    return int(np.argmin(gaps))


def _look(segment: ShownWords, at: float | None) -> FloatArray:
    """(D,): of the moment, where it was kept, or of all of the segment."""
    moment = None if at is None else segment.find_moment(at)
    if moment is None:
        return segment.look.astype(np.float32)
    return np.asarray(lengthen(segment.vectors[moment].astype(np.float32)).mean(axis=0))


def _look_inside(segment: ShownWords, at: float | None, box: Box) -> list[FloatArray]:
    """Of each moment, or of that at the time: the mean of regions by how much of them is inside."""
    moment = None if at is None else segment.find_moment(at)
    moments = range(len(segment.moments)) if moment is None else [moment]
    weights = _weigh_regions(segment, box)
    vectors = lengthen(segment.vectors.astype(np.float32))
    return [np.asarray(weights @ vectors[each], np.float32) for each in moments]


def _list_inside(segment: ShownWords, at: float | None, box: Box) -> FloatArray:
    """(W,): words whose region is mostly inside the box, then."""
    inside = _weigh_regions(segment, box) > 0
    moment = None if at is None else segment.find_moment(at)
    here = inside[segment.regions]
    if moment is not None:
        here &= segment.frames == segment.moments[moment]
    shown = np.zeros(len(segment.clip), np.float32)
    np.maximum.at(shown, segment.words[here], from_byte(segment.likely[here]))
    return shown


def _weigh_regions(segment: ShownWords, box: Box) -> FloatArray:
    """(R,): the share of each that is inside; the nearest alone where the box is in a gap."""
    shares = []
    for region in range(len(segment.grid)):
        own = segment.grid.box(region)
        width = min(own.right, box.right) - max(own.left, box.left)
        height = min(own.bottom, box.bottom) - max(own.top, box.top)
        shares.append(max(0.0, width) * max(0.0, height) / own.area)
    weights = np.array(shares, np.float32)
    if not weights.any():
        middle = (box.left + box.right) / 2, (box.top + box.bottom) / 2
        centres = np.array([segment.grid.centre(region) for region in range(len(segment.grid))])
        weights[np.linalg.norm(centres - middle, axis=1).argmin()] = 1
    # What only touches the box is not what it was drawn around.
    weights[weights <= weights.max() / 2] = 0
    return np.asarray(weights, np.float32)
