"""Say how good the sentences of the sample clips are, and write one page with all of the demo.

    python scripts/demo_page.py demo-output

The folder has a library of the samples (`library`, with its reports and films) and the map of a
word. What a reader says of each sentence comes from `readings.toml`, what to do next from
`next-steps.sh`.
"""

from __future__ import annotations

import sys
from base64 import b64encode
from collections import Counter
from html import escape
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from densevidcap import open_library
from densevidcap.data.clip import open_clip
from densevidcap.library.search import Answer
from densevidcap.types import Caption

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
QUESTIONS = ("a man in a car", "a cup of coffee", "a bicycle", "a rocket")
"""As `demo.sh` asks them, the last one of what the model cannot see."""
MARKS = {"right": "✓", "partly": "~", "wrong": "✗", "unread": "?"}
NOTHING = "<p>Nothing: what the model has no word for cannot be found, even where it is shown.</p>"
WORD_MAP = "bikes-bicycle"
THUMBNAIL = 384


class Reading(NamedTuple):
    """What a reader says of a sentence."""

    mark: str
    why: str


def read_readings() -> dict[str, dict[str, str]]:
    """By clip: `shows`, and sentence to what is said of it."""
    readings: dict[str, dict[str, str]] = tomllib.loads(
        (HERE / "readings.toml").read_text(encoding="utf-8")
    )
    return readings


def read(readings: dict[str, str], sentence: str) -> Reading:
    mark, _, why = readings.get(sentence, "unread: new, nobody has judged it yet").partition(": ")
    return Reading(mark, why)


def main(folder: Path) -> None:
    library = open_library(folder / "library")
    known = read_readings()
    cards, marks = [], Counter[str]()
    order = {name: place for place, name in enumerate(known)}
    files = sorted(library.list_files(), key=lambda file: order.get(file[0].name, len(order)))
    for source, place in files:
        assert source.identity is not None
        readings = known.get(source.name, {})
        said = library.captions(source.identity, place)
        judged = [(caption, read(readings, caption.text)) for caption in said]
        marks.update(reading.mark for _, reading in judged)
        print(f"{source.name}: {readings.get('shows', 'nobody has described this clip')}")
        for caption, reading in judged:
            why = f" ({reading.why})" if reading.why else ""
            print(f"  {MARKS[reading.mark]} {caption.text}  {reading.mark}{why}")
        cards.append(draw_clip(folder, source.name, readings.get("shows", ""), judged))
    total = ", ".join(f"{marks[mark]} {mark}" for mark in MARKS if marks[mark])
    print(f"Of {sum(marks.values())} sentences a reader finds {total}.")
    answers = [(question, library.find(question, 2)) for question in QUESTIONS]
    page = (HERE / "demo_page.html").read_text(encoding="utf-8")
    steps = (HERE / "next-steps.sh").read_text(encoding="utf-8")
    for name, content in {
        "TOTAL": "".join(
            f"<span class='mark {mark}'>{sign} {marks[mark]} {mark}</span>"
            for mark, sign in MARKS.items()
            if marks[mark]
        ),
        "CLIPS": "\n".join(cards),
        "ANSWERS": "\n".join(draw_question(*asked) for asked in answers),
        "MAP": draw_map(folder),
        "STEPS": escape(steps),
    }.items():
        page = page.replace(f"<!--{name}-->", content)
    (folder / "index.html").write_text(page, encoding="utf-8")


def draw_clip(folder: Path, name: str, shows: str, judged: list[tuple[Caption, Reading]]) -> str:
    stem = f"library/export/{Path(name).stem}"
    poster = draw_still(folder / f"{stem}.mp4", 2.0)
    rows = "".join(draw_sentence(*each) for each in judged)
    if not rows:
        rows = "<li>Nothing to say: this looks like nothing the model has seen.</li>"
    return f"""<article>
<video src="{stem}.mp4" poster="{poster}" aria-label="{name} with its boxes"
 controls muted loop playsinline preload="none"></video>
<div><h3>{name}</h3><p class="shows">{escape(shows)}</p><ol>{rows}</ol>
<p class="links"><a href="{stem}.html">Report</a> <a href="{stem}.mp4">Annotated film</a></p>
</div></article>"""


def draw_sentence(caption: Caption, reading: Reading) -> str:
    words = " ".join(f"<b>{escape(e.word)}</b> {e.probability:.0%}" for e in caption.evidence)
    doubted = "".join(f" <b>{escape(word)}</b> ?" for word in caption.unsupported)
    why = f": {escape(reading.why)}" if reading.why else ""
    return (
        f"<li><span class='text'>{escape(caption.text)}</span>"
        f"<span class='meta'>{caption.confidence:.0%} {caption.verdict} · {words}{doubted}</span>"
        f"<span class='mark {reading.mark}'>{MARKS[reading.mark]} {reading.mark}{why}</span></li>"
    )


def draw_question(question: str, answers: list[Answer]) -> str:
    figures = "".join(draw_answer(answer) for answer in answers) or NOTHING
    return f"<section class='asked'><h3>“{escape(question)}”</h3>{figures}</section>"


def draw_answer(answer: Answer) -> str:
    box = ""
    if answer.box is not None:
        left, top = 100 * answer.box.left, 100 * answer.box.top
        wide, high = 100 * answer.box.right - left, 100 * answer.box.bottom - top
        box = (
            f"<i style='left:{left:.1f}%;top:{top:.1f}%;width:{wide:.1f}%;height:{high:.1f}%'></i>"
        )
    words = " ".join(f"<b>{escape(word)}</b> {likely:.0%}" for word, likely in answer.words)
    still = draw_still(answer.clip, answer.time)
    return (
        f"<figure><div class='still'><img alt='' src='{still}'>{box}</div>"
        f"<figcaption>{escape(answer.name)} at {answer.time:.1f} s · {words}</figcaption></figure>"
    )


def draw_still(path: Path | str, time: float) -> str:
    """A small picture of a clip, as an address that holds it."""
    clip = open_clip(str(path))
    nearest = int(np.abs(clip.times() - time).argmin())
    size = THUMBNAIL, round(THUMBNAIL * clip.info.height / clip.info.width)
    picked = next(iter(clip.pick([nearest], size)))
    stream = BytesIO()
    Image.fromarray(picked.image).save(stream, "JPEG", quality=75)
    return f"data:image/jpeg;base64,{b64encode(stream.getvalue()).decode()}"


def draw_map(folder: Path) -> str:
    if not (folder / f"{WORD_MAP}.png").is_file():
        return ""
    word = WORD_MAP.partition("-")[2]
    return (
        f"<a href='{WORD_MAP}.mp4'><img class='map' src='{WORD_MAP}.png' "
        f"alt='Frames of bikes.mp4 under the responses to the word {word}'></a>"
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/demo_page.py FOLDER")
    main(Path(sys.argv[1]))
