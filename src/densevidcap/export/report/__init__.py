"""A report: one HTML page with player, moving boxes, ranked sentences, evidence and timeline.

`footage` finds the video, `page.html`, `page.css`, `boxes.js` and `page.js` make the page, which
asks no other host for anything. The studio's page shares `page.css` and `boxes.js`.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from html import escape
from io import BytesIO
from pathlib import Path
from string import Template

from densevidcap.data.clip import Clip
from densevidcap.data.sampling import end_of
from densevidcap.data.text import one_line
from densevidcap.errors import ClipTooLargeError
from densevidcap.export.report.footage import find_footage
from densevidcap.files import replacing
from densevidcap.types import SILENCE, Caption, DenseCaptions, Evidence
from densevidcap.viz.captions import assign_lanes
from densevidcap.viz.colours import colour_of
from densevidcap.viz.streams import draw_spectrogram

_PARTS = Path(__file__).parent
SOUND_RATE = 16_000
SOUND_SIZE = (1200, 80)
"""Of the picture of a clip's sound, in pixels."""


def write_report(
    captions: DenseCaptions,
    clip: Clip,
    path: Path,
    advance: Callable[[], None],
    overwrite: bool = False,
) -> None:
    """Write the page, and a film beside it where the clip needs one (see `footage`)."""
    page = render_page(captions, find_footage(clip, path, advance), draw_sound(clip))
    with replacing(path, overwrite) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")


def draw_sound(clip: Clip) -> str | None:
    """A picture of what is heard when, as a URL; None where there is nothing to hear."""
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


def render_page(captions: DenseCaptions, footage: str, sound: str | None = None) -> str:
    """The page around the video at the URL `footage`, with a picture of its sound."""
    lanes = assign_lanes(captions.captions)
    script = _join_scripts()
    page = Template((_PARTS / "page.html").read_text(encoding="utf-8"))
    return page.substitute(
        name=_text(Path(captions.source).name),
        # Only our own script may run, whatever a sentence or a file name says.
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        script=script,
        style=(_PARTS / "page.css").read_text(encoding="utf-8"),
        footage=escape(footage),
        width=_text(str(captions.width)),
        height=_text(str(captions.height)),
        duration=_text(str(captions.duration)),
        facts=_text(
            f"{captions.duration:.1f} s · {captions.width} × {captions.height} · "
            f"{len(captions)} sentences by {captions.model} {captions.model_version}"
        ),
        lanes=max(lanes, default=0) + 1,
        sound_height="0rem" if sound is None else "3.5rem",
        sound=_render_sound(sound),
        # A tag would end the element that it stands in.
        tracks=json.dumps([_track(caption) for caption in captions]).replace("<", "\\u003c"),
        spans="\n".join(
            _render_span(rank, caption, lanes[rank], captions.duration)
            for rank, caption in enumerate(captions)
        ),
        sentences="\n".join(
            _render_sentence(rank, caption, lanes[rank]) for rank, caption in enumerate(captions)
        )
        or f"<li>{SILENCE.capitalize()}.</li>",
    )


def _join_scripts() -> str:
    """One script, because a page that is a single file has nowhere to import modules from."""
    boxes = (_PARTS / "boxes.js").read_text(encoding="utf-8").replace("export ", "")
    return f'"use strict";\n{boxes}\n' + (_PARTS / "page.js").read_text(encoding="utf-8")


def _track(caption: Caption) -> dict[str, object]:
    """What the script moves: times and edges."""
    return {
        "start": caption.start,
        "end": caption.end,
        "times": caption.sequence.times,
        "boxes": [(box.left, box.top, box.right, box.bottom) for box in caption.boxes],
    }


def _render_sound(sound: str | None) -> str:
    if sound is None:
        return ""
    alt = "Spectrogram: the sound over time, high above low, the louder the brighter"
    return f'<img class="sound" src="{escape(sound)}" alt="{alt}" draggable="false">\n'


def _render_span(rank: int, caption: Caption, lane: int, duration: float) -> str:
    left, width = caption.start / duration, (caption.end - caption.start) / duration
    return (
        f'<button class="span" data-caption="{rank}" tabindex="-1" style="{_colour(lane)};'
        f'--lane:{lane};--from:{left:.5f};--share:{width:.5f}" title="{_text(caption.text)}">'
        f"{rank + 1}</button>"
    )


def _render_sentence(rank: int, caption: Caption, lane: int) -> str:
    evidence = "".join(_render_evidence(rank, word) for word in caption.evidence)
    missing = ", ".join(_text(word) for word in caption.unsupported)
    unsupported = f'<p class="missing">without evidence: {missing}</p>' if missing else ""
    return f"""<li style="{_colour(lane)}">
<button class="sentence" data-caption="{rank}" aria-pressed="false">
<span class="rank">{rank + 1}</span><span class="text">{_text(caption.text)}</span>
</button>
<p class="facts">{caption.start:.1f}–{caption.end:.1f} s
<meter min="0" max="1" value="{caption.confidence:.4f}"></meter>
{caption.verdict}, {caption.confidence:.0%} · log P {caption.log_probability:.1f}</p>
<p class="evidence">{evidence}</p>{unsupported}
</li>"""


def _render_evidence(rank: int, word: Evidence) -> str:
    time = _text(str(word.time))
    box = _text(json.dumps([word.box.left, word.box.top, word.box.right, word.box.bottom]))
    return (
        f'<button class="word" data-caption="{rank}" data-time="{time}" data-box="{box}"'
        f' style="--share:{word.probability:.3f}" title="seen best at {word.time:.1f} s">'
        f"{_text(word.word)} <small>{word.probability:.0%}</small></button>"
    )


def _colour(lane: int) -> str:
    return "--colour:rgb({} {} {})".format(*colour_of(lane).rgb)


def _text(text: str) -> str:
    """Text of users for elements and quoted attributes."""
    return escape(one_line(text))
