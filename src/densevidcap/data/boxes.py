"""Boxes of things in clips' frames, as a detector or people drew them, and the words for them.

Only for measuring where words and sentences point: nothing is learned from boxes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from densevidcap.data.coco_classes import NAMES, WORDS, list_forms
from densevidcap.data.text import tokenise
from densevidcap.data.text_files import read_json, read_json_lines
from densevidcap.errors import CorpusError

BoxArray = npt.NDArray[np.float64]
"""(M, 4): left, top, right, bottom in fractions of the frame."""

SURE = 0.5
"""Score of a detector that is believed to see a thing at all."""
FOUND = 0.3
"""Score from which its boxes of that thing count, so that few of several are missed."""
LARGEST = 0.6
"""Share of the frame beyond which a thing is everywhere, and pointing at it shows nothing."""

_OVERHANG = 1.0
"""Frames by which an edge may lie outside: detectors do not stop at the border, pixels would."""

_MOST = 1000
"""Boxes of a frame; a detector gives a hundred."""


class Thing(NamedTuple):
    """What was found in a frame."""

    name: str
    """Of its class."""
    score: float
    edges: tuple[float, float, float, float]
    """As given, so a little outside of the frame where the detector was."""


@dataclass(frozen=True)
class Case:
    """All things of a class in a frame: a point or a box is right if it is on any of them."""

    clip: str
    frame: int
    """Place among the clip's own frames, from 0 on."""
    name: str
    """Of the class."""
    words: tuple[str, ...]
    """Any of which means the class, as the clip's captions say it; none of a sentence's box."""
    things: BoxArray
    """(M, 4), at least one."""


@dataclass(frozen=True)
class BoxFile:
    """The things of clips, by frame."""

    path: Path
    clips: Mapping[str, Mapping[int, Sequence[Thing]]]
    """By the place of a frame among the clip's own, from 0 on."""
    given_words: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Class to the words that mean it, where the file says so."""
    frame_rate: float | None = None
    """Frames a second, where the file says so: then times tell which of its frames is meant."""

    @cached_property
    def words(self) -> dict[str, tuple[str, ...]]:
        """Class to words and phrases: the file's own, or COCO's, or the name itself.

        Who finds only classes of COCO's looked for all of these: those that are nowhere count too.
        """
        named = {thing.name for clip in self.clips.values() for f in clip.values() for thing in f}
        if not self.given_words and named <= WORDS.keys():
            named = {*WORDS}
        ordered = [name for name in WORDS if name in named] + sorted(named - WORDS.keys())
        known = {name: WORDS.get(name, list_forms(name)) for name in ordered}
        return {name: tuple(words) for name, words in self.given_words.items()} | {
            name: words for name, words in known.items() if name not in self.given_words
        }

    def find_classes(self, sentence: str) -> list[str]:
        """The classes that a sentence names; a word of several means the first of them."""
        found = self._phrases.findall(" ".join(tokenise(sentence)))
        return list(dict.fromkeys(self._class_of[phrase] for phrase in found))

    def find_words(self, name: str, sentences: Iterable[str]) -> tuple[str, ...]:
        """Those words of a class that any of the sentences has, in the order of the class."""
        said = [f" {' '.join(tokenise(sentence))} " for sentence in sentences]
        return tuple(word for word in self.words[name] if any(f" {word} " in each for each in said))

    def find_things(self, clip: str, frame: int, name: str, least: float) -> BoxArray:
        """Boxes of a class in a frame, of that score or more."""
        things = self.clips.get(clip, {}).get(frame, ())
        kept = [thing.edges for thing in things if thing.name == name and thing.score >= least]
        return np.array(kept, dtype=np.float64).reshape(-1, 4)

    def make_cases(self, captions: Mapping[str, Sequence[str]]) -> list[Case]:
        """For words: in each frame, each class that is surely there, named, and not everywhere."""
        cases = []
        for clip, sentences in captions.items():
            words = {name: self.find_words(name, sentences) for name in self.words}
            for frame, things in sorted(self.clips.get(clip, {}).items()):
                sure = {thing.name for thing in things if thing.score >= SURE}
                for name in (name for name in words if name in sure and words[name]):
                    boxes = self.find_things(clip, frame, name, FOUND)
                    if measure_areas(boxes).sum() <= LARGEST:
                        cases.append(Case(clip, frame, name, words[name], boxes))
        return cases

    @cached_property
    def _class_of(self) -> dict[str, str]:
        pairs = [(word, name) for name, words in self.words.items() for word in words]
        return dict(reversed(pairs))

    @cached_property
    def _phrases(self) -> re.Pattern[str]:
        # Longer ones first, so that nobody sees a dog in a hot dog.
        longest = sorted(self._class_of, key=len, reverse=True)
        return re.compile(rf"(?<!\S)(?:{'|'.join(map(re.escape, longest)) or '(?!)'})(?!\S)")


def measure_areas(boxes: BoxArray) -> npt.NDArray[np.float64]:
    """(…, 4) to (…,)."""
    return np.asarray((boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1]))


def read_boxes(path: Path) -> BoxFile:
    """Our own form or COCO's (docs/evaluation.md has both), plain or .gz."""
    content = read_json(path, finite=True)
    try:
        return _parse(path, content)
    except _FaultError as fault:
        raise CorpusError(f"{path}: {fault}; docs/evaluation.md has the forms of boxes") from None


def read_cases(path: Path) -> list[Case]:
    """One a line: clip, frame, class, words and boxes."""
    cases = [_read_case(path, number, row) for number, row in read_json_lines(path)]
    if not cases:
        raise CorpusError(f"{path}: no cases in it; give a file that has some")
    return cases


def _read_case(path: Path, number: int, row: Mapping[str, Any]) -> Case:
    try:
        boxes = [_parse_edges(edges) for edges in _get(row, "boxes", list)]
        words = _get(row, "words", list)
        if len(boxes) > _MOST:
            raise _FaultError(f"over {_MOST:,} boxes")
        if not boxes or not words or not all(isinstance(word, str) for word in words):
            raise _FaultError("a case needs 'boxes' and 'words', at least one of each")
        clip, frame = _get(row, "clip", str), _parse_frame(row.get("frame"))
        return Case(clip, frame, _parse_class(row.get("class"), {}), (*words,), np.array(boxes))
    except _FaultError as fault:
        raise CorpusError(f"{path}:{number}: {fault}; see docs/evaluation.md") from None


class _FaultError(ValueError):
    """What is wrong with a file, for the user."""


@contextmanager
def _naming(place: str) -> Iterator[None]:
    try:
        yield
    except _FaultError as fault:
        raise _FaultError(f"{place}: {fault}") from None


def _parse(path: Path, content: Any) -> BoxFile:
    if isinstance(content, list):
        return _make(path, _read_results(content))
    if not isinstance(content, dict):
        raise _FaultError("neither an object nor a list")
    if {"images", "annotations"} <= content.keys():
        return _make(path, _read_coco(content), content)
    if content and content.keys() <= {"boxes", "words", "frame_rate"}:
        return _make(path, _read_own(_get(content, "boxes", dict)), content)
    return _make(path, _read_own(content))


Rows = Iterator[tuple[str, int, Sequence[Thing]]]
"""Clip, frame and things in it; a frame may come again."""


def _make(path: Path, rows: Rows, content: Mapping[str, Any] | None = None) -> BoxFile:
    clips: dict[str, dict[int, list[Thing]]] = {}
    for clip, frame, things in rows:
        found = clips.setdefault(clip, {}).setdefault(frame, [])
        found.extend(things)
        if len(found) > _MOST:
            raise _FaultError(f"clip '{clip:.80}', frame {frame}: over {_MOST:,} boxes")
    if not any(things for frames in clips.values() for things in frames.values()):
        raise _FaultError("no boxes in it")
    given = content or {}
    rate = None
    if "frame_rate" in given:
        rate = _parse_number(given["frame_rate"], "'frame_rate'")
        if rate <= 0:
            raise _FaultError("'frame_rate' must be above 0")
    return BoxFile(path, clips, _parse_words(given.get("words", {})), rate)


def _parse_words(content: Any) -> dict[str, tuple[str, ...]]:
    words = {}
    for name, of_class in (content if isinstance(content, dict) else {"": None}).items():
        if not isinstance(of_class, list) or not all(isinstance(word, str) for word in of_class):
            raise _FaultError("'words' must be lists of words by the names of classes")
        said = (" ".join(tokenise(word)) for word in of_class)
        words[_parse_class(_read_digits(name), {})] = tuple(word for word in said if word)
    return words


def _read_own(content: Mapping[str, Any]) -> Rows:
    for clip, frames in content.items():
        if not isinstance(frames, dict):
            raise _FaultError(f"clip '{clip:.80}' must be an object of frames")
        for frame, rows in frames.items():
            where = f"clip '{clip:.80}', frame {frame:.20}"
            with _naming(where):
                if not isinstance(rows, list):
                    raise _FaultError("its boxes must be a list")
                yield (
                    clip,
                    _parse_frame(_read_digits(frame)),
                    [*filter(None, map(_read_own_row, rows))],
                )


def _read_own_row(row: Any) -> Thing | None:
    if not isinstance(row, list) or len(row) not in (5, 6):
        raise _FaultError(
            "a box is [class, score, left, top, right, bottom], or that without score"
        )
    score = 1.0 if len(row) == 5 else _parse_number(row[1], "a score")
    return _make_thing(_parse_class(row[0], {}), score, _parse_edges(row[-4:]))


def _read_coco(content: Mapping[str, Any]) -> Rows:
    """COCO's annotations; of videos, images say their `video_id` and `frame_id`."""
    categories = {_key(row, "id"): _get(row, "name", str) for row in _rows(content, "categories")}
    videos = {_key(row, "id"): _get(row, "name", str) for row in _rows(content, "videos")}
    places: dict[int | str, tuple[str, int, tuple[float, float]]] = {}
    for image in _rows(content, "images"):
        with _naming(f"image {image.get('id')!r:.40}"):
            clip, frame = _get(image, "file_name", str), 0
            if "video_id" in image:
                if (video := _key(image, "video_id")) not in videos:
                    raise _FaultError("its video is not among 'videos'")
                clip, frame = videos[video], _parse_frame(image.get("frame_id"))
            places[_key(image, "id")] = Path(clip).stem, frame, _parse_size(image)
    if len({place[:2] for place in places.values()}) < len(places):
        raise _FaultError("two images are the same frame of a clip: give 'video_id' and 'frame_id'")
    for clip, frame, _ in places.values():
        yield clip, frame, ()
    for number, row in enumerate(_rows(content, "annotations"), start=1):
        with _naming(f"annotation {number}"):
            if (image_id := _key(row, "image_id")) not in places:
                raise _FaultError("its image is not among 'images'")
            clip, frame, size = places[image_id]
            yield clip, frame, [*filter(None, [_read_coco_row(row, size, categories)])]


def _read_results(content: Sequence[Any]) -> Rows:
    """A list as detectors write it, with the image's size in each row: there is no other place."""
    for number, row in enumerate(content, start=1):
        with _naming(f"row {number}"):
            if not isinstance(row, dict):
                raise _FaultError("it must be an object")
            clip, frame = (
                Path(str(_key(row, "image_id"))).stem,
                _parse_frame(row.get("frame_id", 0)),
            )
            yield clip, frame, [*filter(None, [_read_coco_row(row, _parse_size(row), {})])]


def _read_coco_row(
    row: Mapping[str, Any], size: tuple[float, float], categories: Mapping[int | str, str]
) -> Thing | None:
    given = next((row[n] for n in ("category_name", "category", "category_id") if n in row), None)
    sides = _get(row, "bbox", list)
    if len(sides) != 4:
        raise _FaultError("'bbox' must be [left, top, width, height] in pixels")
    left, top, width, height = (_parse_number(side, "a side of 'bbox'") for side in sides)
    across, down = size
    edges = (left / across, top / down, (left + width) / across, (top + height) / down)
    score = _parse_number(row.get("score", 1.0), "'score'")
    return _make_thing(_parse_class(given, categories), score, _parse_edges(edges))


def _make_thing(name: str, score: float, edges: tuple[float, float, float, float]) -> Thing | None:
    """None for a box without area, as even COCO has some: no point lies in it."""
    left, top, right, bottom = edges
    return Thing(name, score, edges) if left < right and top < bottom else None


def _parse_edges(values: Any) -> tuple[float, float, float, float]:
    if not isinstance(values, list | tuple) or len(values) != 4:
        raise _FaultError("a box has four edges: left, top, right, bottom")
    left, top, right, bottom = (_parse_number(value, "an edge") for value in values)
    if left > right or top > bottom:
        raise _FaultError("a box's left must be before its right, and its top before its bottom")
    if min(left, top) < -_OVERHANG or max(right, bottom) > 1 + _OVERHANG:
        raise _FaultError("edges must be fractions of the frame, from 0 to 1; are these pixels?")
    return left, top, right, bottom


def _parse_class(value: Any, categories: Mapping[int | str, str]) -> str:
    """A class by its name, by the file's number for it, or by COCO's."""
    if isinstance(value, int | str) and value in categories:
        value = categories[value]
    if isinstance(value, str) and value.strip():
        return " ".join(tokenise(value)) or value
    if isinstance(value, int) and not isinstance(value, bool) and value in NAMES and not categories:
        return NAMES[value]
    raise _FaultError(f"no class is called {value!r:.40}: give a name, or a number of COCO's")


def _parse_frame(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise _FaultError("a frame must be a whole number: its place in the clip, from 0 on")
    return value


def _read_digits(key: str) -> int | str:
    """JSON's objects have no numbers as keys."""
    return int(key) if key.isascii() and key.isdigit() and len(key) < 10 else key


def _parse_size(row: Mapping[str, Any]) -> tuple[float, float]:
    if not {"width", "height"} <= row.keys():
        raise _FaultError("pixels need the image's 'width' and 'height'")
    width, height = (_parse_number(row[side], f"'{side}'") for side in ("width", "height"))
    if min(width, height) <= 0:
        raise _FaultError("'width' and 'height' must be above 0")
    return width, height


def _parse_number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _FaultError(f"{what} must be a number, not {value!r:.40}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _FaultError(f"{what} must be a finite number")
    return number


def _rows(content: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    rows = content.get(name, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _FaultError(f"'{name}' must be a list of objects")
    return rows


def _key(row: Mapping[str, Any], name: str) -> int | str:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise _FaultError(f"'{name}' must be a number or a name")
    return value


def _get(row: Mapping[str, Any], name: str, kind: Any) -> Any:
    if not isinstance(row.get(name), kind):
        expected = {str: "text", list: "a list", dict: "an object"}[kind]
        raise _FaultError(f"'{name}' must be {expected}")
    return row[name]
