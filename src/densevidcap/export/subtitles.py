"""Subtitles, a cue for each sentence by time, and chapters, a cue for each.

Sentences of one clip overlap in time, which both formats allow: players show them at once. Chapters
never do, and leave no gap: that is what players take for chapters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from densevidcap.data.text import format_clock, one_line, time_code
from densevidcap.pipeline.outline import list_chapters
from densevidcap.types import Caption, DenseCaptions
from densevidcap.viz.captions import assign_lanes

WORD_JOINER = "\u2060"
"""Nothing to see and nothing to break a line at."""

# SRT has no escapes, so what players take for a tag or a time is broken up invisibly.
_MARKUP = re.compile(r"<(?=[/a-z])|\{(?=[\\a-z])|--(?=>)", re.IGNORECASE)


def render_vtt(captions: DenseCaptions) -> str:
    """WebVTT, with ranks as identifiers.

    Each lane has its row from the bottom up, where a sentence stays when others end.
    """
    lanes = assign_lanes(captions.captions)
    rows = max(lanes, default=0) + 1
    blocks = ["WEBVTT"]
    for rank, caption in _by_time(captions):
        span = _name_times(caption.start, caption.end, ".")
        text = _escape_vtt(caption.text)
        blocks.append(f"{rank}\n{span} line:{lanes[rank - 1] - rows}\n{text}")
    return "\n\n".join(blocks) + "\n"


def render_srt(captions: DenseCaptions) -> str:
    """SubRip, whose cues are counted by time."""
    return _join_srt(
        (caption.start, caption.end, caption.text) for _, caption in _by_time(captions)
    )


def render_chapters_vtt(captions: DenseCaptions) -> str:
    """WebVTT for `<track kind="chapters">` and players that show chapters."""
    blocks = ["WEBVTT"]
    for number, (start, end, title, _) in enumerate(list_chapters(captions), start=1):
        blocks.append(f"{number}\n{_name_times(start, end, '.')}\n{_escape_vtt(title)}")
    return "\n\n".join(blocks) + "\n"


def render_chapters_srt(captions: DenseCaptions) -> str:
    """SubRip, which has no chapters of its own: titles are shown while their chapters last."""
    return _join_srt((start, end, title) for start, end, title, _ in list_chapters(captions))


def render_chapters_txt(captions: DenseCaptions) -> str:
    """A time code and a title a line, as it is pasted below a video on the web."""
    chapters = list_chapters(captions)
    return "".join(f"{time_code(each.start)} {one_line(each.title)}\n" for each in chapters)


def _join_srt(cues: Iterable[tuple[float, float, str]]) -> str:
    return "\n".join(
        f"{number}\n{_name_times(start, end, ',')}\n{_MARKUP.sub(_break_up, one_line(text))}\n"
        for number, (start, end, text) in enumerate(cues, start=1)
    )


def _escape_vtt(text: str) -> str:
    return one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _by_time(captions: DenseCaptions) -> Iterator[tuple[int, Caption]]:
    """(rank from 1 on, caption) in the order in which they begin."""
    yield from sorted(enumerate(captions, start=1), key=lambda each: (each[1].start, each[0]))


def _break_up(match: re.Match[str]) -> str:
    return match.group() + WORD_JOINER


def _name_times(start: float, end: float, point: str) -> str:
    """Both times in whole milliseconds, at least one apart."""
    first = round(start * 1000)
    last = max(round(end * 1000), first + 1)
    return f"{format_clock(first, point)} --> {format_clock(last, point)}"
