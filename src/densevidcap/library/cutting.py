"""Answers cut out of their clips: each a short film with its sound."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from densevidcap.data.clip import Clip, open_clip
from densevidcap.data.sampling import end_of
from densevidcap.errors import ClipError
from densevidcap.export.film import write_film
from densevidcap.files import replacing
from densevidcap.library.search import Answer
from densevidcap.types import TimeArray

LEAD = 0.5
"""Seconds before and after what fits."""
LONGEST_NAME = 80
"""Letters of a clip's name in that of a cut."""


def name_cuts(answers: Sequence[Answer], folder: Path) -> list[Path]:
    """In the order of the answers, whose number comes first; then the clip, and when it begins."""
    digits = max(2, len(str(len(answers))))
    return [
        folder / f"{rank:0{digits}}-{_name_clip(answer)}-{_name_second(answer.start)}.mp4"
        for rank, answer in enumerate(answers, start=1)
    ]


def cut_answer(
    answer: Answer,
    path: Path,
    lead: float = LEAD,
    overwrite: bool = False,
    advance: Callable[[], None] = lambda: None,
) -> None:
    """Write the stretch as an MP4, `lead` seconds longer on both sides where the clip has them.

    Encoded anew, because a copy could begin at keyframes only. A ClipError if the clip is gone.
    """
    clip = open_clip(answer.clip)
    clip.require_pictures("cutting")
    times = clip.times()
    first, end = _find_frames(times, answer.start - lead, answer.end + lead)
    start = float(times[first])
    # A frame stays until the next one comes.
    stop = float(times[end]) if end < len(times) else end_of(times)
    # H.264 has even sides.
    size = max(2, clip.info.width // 2 * 2), max(2, clip.info.height // 2 * 2)
    pictures = _show(clip, first, end, size, start)
    with replacing(path, overwrite) as temporary:
        write_film(temporary, pictures, size, clip, advance, (start, stop))


def _find_frames(times: TimeArray, start: float, end: float) -> tuple[int, int]:
    """From the frame that is seen at `start` up to the last before `end`; at least one."""
    first = max(0, int(np.searchsorted(times, start + 1e-6, side="right")) - 1)
    return first, max(first + 1, int(np.searchsorted(times, end - 1e-6, side="left")))


def _show(
    clip: Clip, first: int, end: int, size: tuple[int, int], start: float
) -> Iterator[tuple[float, Image.Image]]:
    seconds = None
    for seconds, image in clip.stretch(first, end, size):
        yield seconds - start, Image.fromarray(image)
    if seconds is None:
        raise ClipError(f"{clip.name}: no frame of it can be decoded there; is the file complete?")


def _name_clip(answer: Answer) -> str:
    """What all file systems take."""
    stem = Path(answer.name.replace("::", "-")).stem
    return re.sub(r"[^\w.+-]+", "_", stem)[:LONGEST_NAME].strip("._") or "clip"


def _name_second(seconds: float) -> str:
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours:02}h{minute:02}m{second:02}s"
