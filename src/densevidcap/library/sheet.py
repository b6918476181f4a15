"""Answers as a page: for each a picture with its box, the time, and the reasons. No scripts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from html import escape
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

import numpy as np
from PIL import Image

from densevidcap.data.clip import open_clip
from densevidcap.data.text import one_line
from densevidcap.errors import ClipError
from densevidcap.export.sets import name_time
from densevidcap.files import replacing
from densevidcap.library.search import Answer
from densevidcap.types import Box
from densevidcap.viz.canvas import fit

WIDTH = 320
"""Pixels of a picture's longer side."""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>{question}</title><style>
:root {{ color-scheme: light dark; font: 15px/1.4 system-ui, sans-serif }}
body {{ margin: 1.5rem }}
main {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(260px, 1fr)); gap: 1.2rem }}
figure {{ margin: 0; overflow-wrap: anywhere }}
figure div {{ position: relative; width: fit-content }}
img {{ display: block; max-width: 100% }}
i {{ position: absolute; border: 3px solid #e33; box-sizing: border-box }}
figcaption {{ margin-top: .3rem }}
small {{ opacity: .75 }}
</style></head><body><h1>{question}</h1><main>
{answers}</main></body></html>
"""


def write_sheet(
    path: Path,
    question: str,
    answers: Sequence[Answer],
    overwrite: bool = False,
    advance: Callable[[], None] = lambda: None,
) -> None:
    """One page with everything in it; a clip whose file is gone is told without a picture."""
    figures = []
    for answer in answers:
        figures.append(_draw(answer))
        advance()
    page = _PAGE.format(question=escape(one_line(question)), answers="".join(figures))
    with replacing(path, overwrite) as temporary:
        temporary.write_text(page, encoding="utf-8", errors="replace")


def _draw(answer: Answer) -> str:
    picture = _embed(answer)
    box = "" if answer.box is None or not picture else _outline(answer.box)
    reasons = "".join(f"<br>{escape(one_line(reason))}" for reason in answer.reasons)
    link = (
        "file://" + quote(answer.clip, errors="replace") + f"#t={answer.start:.2f},{answer.end:.2f}"
    )
    span = f"{name_time(answer.start)} to {name_time(answer.end)}"
    return (
        f"<figure><div>{picture}{box}</div><figcaption>"
        f'<a href="{escape(link)}">{escape(one_line(answer.name))}</a> {name_time(answer.time)}'
        f"{reasons}<br><small>{span}</small>"
        "</figcaption></figure>\n"
    )


def _embed(answer: Answer) -> str:
    try:
        clip = open_clip(answer.clip)
        nearest = int(np.abs(clip.times() - answer.time).argmin())
        size = fit((clip.info.width, clip.info.height), WIDTH)
        picked = next(iter(clip.pick([nearest], size)), None)
    except ClipError:
        return ""
    if picked is None:
        return ""
    stream = BytesIO()
    Image.fromarray(picked.image).save(stream, "JPEG", quality=80)
    data = b64encode(stream.getvalue()).decode()
    return f'<img width="{size[0]}" height="{size[1]}" alt="" src="data:image/jpeg;base64,{data}">'


def _outline(box: Box) -> str:
    """In percent, so that it fits the picture at any size."""
    left, top = 100 * box.left, 100 * box.top
    width, height = 100 * (box.right - box.left), 100 * (box.bottom - box.top)
    place = f"left:{left:.2f}%;top:{top:.2f}%;width:{width:.2f}%;height:{height:.2f}%"
    return f'<i style="{place}"></i>'
