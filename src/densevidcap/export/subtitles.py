"""Subtitles: a cue for each sentence, by time; its identifier is the sentence's rank.

Sentences of one clip overlap in time, which both formats allow: players show them at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from densevidcap.data.text import one_line
from densevidcap.types import Caption, DenseCaptions
from densevidcap.viz.captions import assign_lanes

WORD_JOINER = "\u2060"
"""Nothing to see and nothing to break a line at."""

# SRT has no escapes, so what players take for a tag or a time is broken up invisibly.
_MARKUP = re.compile(r"<(?=[/a-z])|\{(?=[\\a-z])|--(?=>)", re.IGNORECASE)


def render_vtt(captions: DenseCaptions) -> str:
    """WebVTT. Each lane has its row from the bottom up, where a sentence stays when others end."""
    lanes = assign_lanes(captions.captions)
    rows = max(lanes, default=0) + 1
    blocks = ["WEBVTT"]
    for rank, caption in _by_time(captions):
        span = _span(caption, ".")
        text = one_line(caption.text)
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        blocks.append(f"{rank}\n{span} line:{lanes[rank - 1] - rows}\n{text}")
    return "\n\n".join(blocks) + "\n"


def render_srt(captions: DenseCaptions) -> str:
    """SubRip."""
    blocks = (
        f"{rank}\n{_span(caption, ',')}\n{_MARKUP.sub(_break_up, one_line(caption.text))}\n"
        for rank, caption in _by_time(captions)
    )
    return "\n".join(blocks)


def _by_time(captions: DenseCaptions) -> Iterator[tuple[int, Caption]]:
    """(rank from 1 on, caption) in the order in which they begin."""
    yield from sorted(enumerate(captions, start=1), key=lambda each: (each[1].start, each[0]))


def _break_up(match: re.Match[str]) -> str:
    return match.group() + WORD_JOINER


def _span(caption: Caption, point: str) -> str:
    """Both times in whole milliseconds, at least one apart."""
    start = round(caption.start * 1000)
    end = max(round(caption.end * 1000), start + 1)
    return f"{_clock(start, point)} --> {_clock(end, point)}"


def _clock(milliseconds: int, point: str) -> str:
    seconds, milliseconds = divmod(milliseconds, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}{point}{milliseconds:03}"
