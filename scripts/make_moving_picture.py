"""Make the moving picture of README and the pictures of the model card from the films of the demo.

    make demo && python -m scripts.make_moving_picture demo-output docs/pictures

Only clips that may be passed on are taken (`samples/LICENCES.txt`). Below each stands what a reader
says of the sentence, from `readings.toml`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import av
from PIL import Image, ImageDraw, ImageFont
from scripts.demo_page import read, read_readings

from densevidcap import open_library

MOVING = ("motorcycle", "coffee", "bigbuckbunny")
"""Of which a reader says right, right and wrong."""
FAILURES = ("rocket", "bigbuckbunny")
WIDTH, HEIGHT = 480, 270
SENTENCE, READING = 20, 15
"""Sizes of letters below the picture."""
MARGIN = 12
PICTURES_PER_SECOND = 6
SECONDS = 2.6
AT = 0.6
"""Share of the film at which a still is taken."""
COLOURS = {"right": "#6fdcae", "partly": "#f3c15a", "wrong": "#ff9a9a", "unread": "#cccccc"}


def main(folder: Path, out: Path) -> None:
    moving = [picture for name in MOVING for picture in spread(judge(folder, name))]
    moving[0].save(
        out / "demo.webp",
        save_all=True,
        append_images=moving[1:],
        duration=round(1000 / PICTURES_PER_SECOND),
        loop=0,
        quality=45,
        method=6,
    )
    for name in FAILURES:
        pictures = judge(folder, name)
        still = pictures[int(AT * len(pictures))]
        still.save(out / f"failure-{name}.jpg", quality=82)


def spread(pictures: list[Image.Image]) -> list[Image.Image]:
    """As many as are shown, from all of the film."""
    count = round(SECONDS * PICTURES_PER_SECOND)
    return [pictures[number * (len(pictures) - 1) // (count - 1)] for number in range(count)]


def judge(folder: Path, name: str) -> list[Image.Image]:
    """The pictures of a film, with what a reader says of its first sentence below them."""
    library = open_library(folder / "library")
    source = f"{name}.mp4"
    first = library.captions(library.find_identity(source), source)[0]
    reading = read(read_readings()[source], first.text)
    why = f": {reading.why}" if reading.why else ""
    judged = f"{first.confidence:.0%} {first.verdict}. A reader says “{reading.mark}”{why}"
    with av.open(str(folder / "library" / "export" / source)) as film:
        pictures = [frame.to_image() for frame in film.decode(video=0)]
    return [caption(each, first.text, judged, COLOURS[reading.mark]) for each in pictures]


def caption(picture: Image.Image, text: str, judged: str, colour: str) -> Image.Image:
    """All of one size, whatever the film's; its own line of small letters is cut off."""
    below = SENTENCE + READING + 4 * MARGIN
    page = Image.new("RGB", (WIDTH, HEIGHT + below), "#131219")
    picture = picture.resize((WIDTH, round(WIDTH * picture.height / picture.width)))
    page.paste(picture.crop((0, 0, WIDTH, HEIGHT)))
    pen, top = ImageDraw.Draw(page), HEIGHT + MARGIN
    pen.text((MARGIN, top), text, fill="#ffffff", font=ImageFont.load_default(SENTENCE))
    top += SENTENCE + MARGIN
    pen.text((MARGIN, top), judged, fill=colour, font=ImageFont.load_default(READING))
    return page


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m scripts.make_moving_picture DEMO-OUTPUT OUT")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
