"""A report: one HTML page with player, moving boxes, ranked sentences, evidence and timeline.

`footage` finds the video, `page.html`, `page.css`, `boxes.js` and `page.js` make the page, which
asks no other host for anything. The studio's page shares `page.css` and `boxes.js`.

A film has a summary above, and its sentences, which count by time, in chapters: browsers lay out a
chapter when it is opened, so that a page of hours is as soon there as one of seconds.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from html import escape
from io import BytesIO
from itertools import islice
from pathlib import Path
from string import Template

import numpy as np
from PIL import Image

from densevidcap.data.clip import Clip
from densevidcap.data.sampling import end_of
from densevidcap.data.text import name_span, one_line, time_code
from densevidcap.errors import ClipTooLargeError
from densevidcap.export.report.footage import find_footage
from densevidcap.files import replacing
from densevidcap.pipeline.outline import Chapter, group_captions, list_chapters, summarise
from densevidcap.types import SILENCE, Caption, DenseCaptions, Evidence, UInt8Array
from densevidcap.viz.captions import assign_colours, assign_lanes
from densevidcap.viz.colours import RGB
from densevidcap.viz.streams import draw_spectrogram

_PARTS = Path(__file__).parent
SOUND_RATE = 16_000
SOUND_SIZE = (1200, 80)
"""Of the picture of a clip's sound, in pixels."""
LONGEST_SOUND = 600.0
"""Seconds. Of more, a pixel would be of half a second, and all of it would have to be held."""
NUMBERED = 0.03
"""Share of the timeline below which a sentence has no room for its number there."""
THUMBNAIL = 160
"""Pixels of the longer side of a chapter's picture."""


def write_report(
    captions: DenseCaptions,
    clip: Clip,
    path: Path,
    advance: Callable[[], None],
    overwrite: bool = False,
) -> None:
    """Write the page, and a film beside it where the clip needs one (see `footage`)."""
    footage = find_footage(clip, path, advance)
    page = render_page(captions, footage, draw_sound(clip), draw_chapters(captions, clip))
    with replacing(path, overwrite) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")


def draw_chapters(captions: DenseCaptions, clip: Clip) -> list[str]:
    """A picture of each chapter as a URL, from the middle of what it is called by."""
    if not captions.chapters:
        return []
    width, height = clip.info.width, clip.info.height
    scale = THUMBNAIL / max(width, height)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    times = clip.times()
    moments = [_find_middle(chapter) for chapter in list_chapters(captions)]
    wanted = np.minimum(np.searchsorted(times, moments), len(times) - 1)
    pictures = list(clip.pick(np.unique(wanted).tolist(), size))
    if not pictures:
        return []
    # A damaged frame is replaced by a later one.
    found = np.searchsorted([picture.source_frame for picture in pictures], wanted)
    drawn = [_encode(picture.image) for picture in pictures]
    return [drawn[min(place, len(drawn) - 1)] for place in found.tolist()]


def _find_middle(chapter: Chapter) -> float:
    caption = chapter.caption
    if caption is None:
        return (chapter.start + chapter.end) / 2
    return caption.sequence.times[len(caption.sequence.times) // 2]


def _encode(image: UInt8Array) -> str:
    buffer = BytesIO()
    Image.fromarray(image).save(buffer, "JPEG", quality=70)
    return f"data:image/jpeg;base64,{b64encode(buffer.getvalue()).decode()}"


def draw_sound(clip: Clip) -> str | None:
    """A picture of what is heard when, as a URL; None where there is nothing to hear."""
    if end_of(clip.times()) > LONGEST_SOUND:
        return None
    try:
        sound = clip.sound(SOUND_RATE)
    except ClipTooLargeError:
        # A film is described all the same.
        return None
    if sound is None:
        return None
    buffer = BytesIO()
    duration = end_of(clip.times())
    draw_spectrogram(sound, SOUND_RATE, SOUND_SIZE, duration).save(buffer, "PNG")
    return f"data:image/png;base64,{b64encode(buffer.getvalue()).decode()}"


def render_page(
    captions: DenseCaptions,
    footage: str,
    sound: str | None = None,
    pictures: Sequence[str] = (),
) -> str:
    """The page around the video at the URL `footage`, with pictures of its sound and chapters."""
    is_film = bool(captions.scenes)
    shown = list(captions)
    if is_film:
        # By time, chapter by chapter: the script finds them in the order in which they stand there.
        shown.sort(key=lambda each: each.start)
        spans = captions.chapters or ((0.0, captions.duration),)
        shown = [caption for own in group_captions(shown, spans) for caption in own]
    lanes, colours = assign_lanes(shown), assign_colours(shown)
    script = _join_scripts()
    page = Template((_PARTS / "page.html").read_text(encoding="utf-8"))
    length = time_code(captions.duration) if is_film else f"{captions.duration:.1f} s"
    scenes = f" of {len(captions.scenes)} scenes" if is_film else ""
    return page.substitute(
        name=_text(Path(captions.source).name),
        # Only our own script may run, whatever a sentence or a file name says.
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        script=script,
        style=(_PARTS / "page.css").read_text(encoding="utf-8"),
        footage=escape(footage),
        # A film is fetched as it is played.
        preload="metadata" if is_film else "auto",
        width=_text(str(captions.width)),
        height=_text(str(captions.height)),
        duration=_text(str(captions.duration)),
        facts=_text(
            f"{length} · {captions.width} × {captions.height} · "
            f"{_count(len(captions))}{scenes} · model {captions.model},"
            f" version {captions.model_version[:8]}"
        ),
        summary=f'<p class="summary">{_text(summarise(captions))}</p>\n' if is_film else "",
        lanes=max(lanes, default=0) + 1,
        chapters_height="1.1rem" if captions.chapters else "0rem",
        sound_height="0rem" if sound is None else "3.5rem",
        sound=_render_sound(sound),
        # A tag would end the element that it stands in.
        tracks=json.dumps([_track(caption) for caption in shown]).replace("<", "\\u003c"),
        spans="\n".join(
            [
                *(_render_part(*span, captions.duration) for span in captions.chapters),
                *(
                    _render_span(rank, caption, lanes[rank], colours[rank], captions)
                    for rank, caption in enumerate(shown)
                ),
            ]
        ),
        order="In order of time." if is_film else "Best first, then others that add something new.",
        sentences=_render_list(captions, shown, colours, pictures),
    )


def _render_list(
    captions: DenseCaptions,
    shown: Sequence[Caption],
    colours: Sequence[RGB],
    pictures: Sequence[str],
) -> str:
    """All sentences, or a part that opens for each chapter."""
    is_film = bool(captions.scenes)
    rows = [_render_sentence(rank, each, colours[rank], is_film) for rank, each in enumerate(shown)]
    if not captions.chapters:
        return f"<ol>\n{_join(rows)}\n</ol>"
    waiting = iter(rows)
    chapters = list_chapters(captions)
    parts = []
    for place, own in enumerate(group_captions(shown, captions.chapters)):
        start, end, title, _ = chapters[place]
        picture = f'<img src="{escape(pictures[place])}" alt="">' if pictures else ""
        parts.append(
            f'<details class="chapter" data-start="{start:.3f}" data-end="{end:.3f}"><summary>'
            f'{picture}<span><b class="title">{_text(title)}</b>'
            f'<small class="when">{name_span(start, end, is_film)} · {_count(len(own))}</small>'
            f"</span></summary>\n<ol>\n{_join([*islice(waiting, len(own))])}\n</ol>"
            "</details>"
        )
    return "\n".join(parts)


def _join(rows: Sequence[str]) -> str:
    return "\n".join(rows) or f"<li>{SILENCE.capitalize()}.</li>"


def _count(sentences: int) -> str:
    return "1 sentence" if sentences == 1 else f"{sentences} sentences"


def _join_scripts() -> str:
    """One script, because a page that is a single file has nowhere to import modules from."""
    boxes = (_PARTS / "boxes.js").read_text(encoding="utf-8").replace("export ", "")
    return f'"use strict";\n{boxes}\n' + (_PARTS / "page.js").read_text(encoding="utf-8")


def _track(caption: Caption) -> dict[str, object]:
    """What the script moves: times to the millisecond, edges to less than a pixel."""
    return {
        "start": caption.start,
        "end": caption.end,
        "times": [round(time, 3) for time in caption.sequence.times],
        "boxes": [
            [round(edge, 4) for edge in (box.left, box.top, box.right, box.bottom)]
            for box in caption.boxes
        ],
    }


def _render_sound(sound: str | None) -> str:
    if sound is None:
        return ""
    alt = "Spectrogram: the sound over time, high above low, the louder the brighter"
    return f'<img class="sound" src="{escape(sound)}" alt="{alt}" draggable="false">\n'


def _render_span(
    rank: int, caption: Caption, lane: int, colour: RGB, captions: DenseCaptions
) -> str:
    left = caption.start / captions.duration
    width = (caption.end - caption.start) / captions.duration
    return (
        f'<button class="span" data-caption="{rank}" tabindex="-1" style="{_colour(colour)};'
        f'--lane:{lane};--from:{left:.5f};--share:{width:.5f}" title="{_text(caption.text)}">'
        f"{rank + 1 if width >= NUMBERED else ''}</button>"
    )


def _render_part(start: float, end: float, duration: float) -> str:
    """A chapter on the timeline."""
    left, width = start / duration, (end - start) / duration
    return f'<i class="part" style="--from:{left:.5f};--share:{width:.5f}"></i>'


def _render_sentence(rank: int, caption: Caption, colour: RGB, is_film: bool) -> str:
    evidence = "".join(_render_evidence(rank, word, is_film) for word in caption.evidence)
    missing = ", ".join(_text(word) for word in caption.unsupported)
    unsupported = f'<p class="missing">not seen in its region: {missing}</p>' if missing else ""
    return f"""<li style="{_colour(colour)}">
<button class="sentence" data-caption="{rank}" aria-pressed="false">
<span class="rank">{rank + 1}</span><span class="text">{_text(caption.text)}</span>
</button>
<p class="facts">{name_span(caption.start, caption.end, is_film)}
<meter min="0" max="1" value="{caption.confidence:.4f}"></meter>
{caption.confidence:.0%} {caption.verdict}</p>
<p class="evidence">{evidence}</p>{unsupported}
</li>"""


def _render_evidence(rank: int, word: Evidence, is_film: bool) -> str:
    time = _text(str(word.time))
    edges = word.box.left, word.box.top, word.box.right, word.box.bottom
    box = _text(json.dumps([round(edge, 4) for edge in edges]))
    when = time_code(word.time) if is_film else f"{word.time:.1f} s"
    return (
        f'<button class="word" data-caption="{rank}" data-time="{time}" data-box="{box}"'
        f' style="--share:{word.probability:.3f}" title="seen best at {when}">'
        f"{_text(word.word)} <small>{word.probability:.0%}</small></button>"
    )


def _colour(colour: RGB) -> str:
    return "--colour:rgb({} {} {})".format(*colour)


def _text(text: str) -> str:
    """Text of users for elements and quoted attributes."""
    return escape(one_line(text))
