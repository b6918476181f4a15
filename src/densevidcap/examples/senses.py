"""Clips that a single frame does not tell apart: only motion, or only sound, does.

A ball rolls left or right, and beeps or hums. Colours can be seen; where the ball is says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

import av
import numpy as np
from av.audio.frame import AudioFrame

from densevidcap.data.manifest import ClipRecord, write_manifest
from densevidcap.examples.world import CODING
from densevidcap.types import FloatArray, UInt8Array

COLOURS = {"red": (220, 40, 40), "green": (40, 170, 60), "blue": (50, 80, 230)}
SIZE, FRAMES, FRAME_RATE = 96, 17, 12
SOUND_RATE = 22_050
_SPEED = 2.5
"""Pixels from frame to frame."""
_RADIUS = 13
HELD_OUT = 3
"""Of how many clips the last is held out, colour by colour."""


@dataclass(frozen=True)
class SenseClip:
    """What happens in a clip."""

    number: int
    colour: str
    way: Literal["left", "right"]
    sound: Literal["beeps", "hums"]

    @property
    def caption(self) -> str:
        return f"a {self.colour} ball rolls {self.way} and {self.sound}"

    def paint(self) -> UInt8Array:
        """(T, H, W, 3). The ball is anywhere in the middle frame, whichever way it rolls."""
        random = np.random.default_rng((self.number, 0))
        middle = random.uniform(0.4, 0.6, 2) * SIZE
        step = -_SPEED if self.way == "left" else _SPEED
        lines = random.uniform(110, 160, (6, 6, 1)).repeat(SIZE // 6, 0).repeat(SIZE // 6, 1)
        down, across = np.mgrid[:SIZE, :SIZE]
        images = np.empty((FRAMES, SIZE, SIZE, 3))
        for index in range(FRAMES):
            x = middle[0] + step * (index - FRAMES // 2)
            is_ball = (across - x) ** 2 + (down - middle[1]) ** 2 < _RADIUS**2
            images[index] = np.where(is_ball[..., None], COLOURS[self.colour], lines)
        return images.astype(np.uint8)

    def play(self) -> FloatArray:
        """(samples,): short high tones, or a low one that lasts; no two clips sound the same."""
        random = np.random.default_rng((self.number, 1))
        seconds = np.arange(round(FRAMES / FRAME_RATE * SOUND_RATE)) / SOUND_RATE
        if self.sound == "beeps":
            tone = np.sin(2 * np.pi * random.uniform(800, 1000) * seconds)
            wave = tone * ((seconds * 4 + random.uniform()) % 1 < 0.5)
        else:
            pitch = random.uniform(90, 130)
            overtones = [np.sin(2 * np.pi * k * pitch * seconds) / k for k in (1, 2, 3)]
            wave = np.sum(overtones, axis=0) / 1.8
        wave = random.uniform(0.2, 0.6) * wave + random.normal(0, 0.005, len(seconds))
        return np.clip(wave, -1, 1).astype(np.float32)


def make_clip(number: int) -> SenseClip:
    """Every colour has every way with every sound, equally often."""
    kind, names = number % 4, list(COLOURS)
    colour = names[number // 4 % len(names)]
    return SenseClip(
        number, colour, "left" if kind % 2 else "right", "beeps" if kind // 2 else "hums"
    )


def write_senses(folder: Path | str, clips: Iterable[int]) -> Path:
    """Write clips by their numbers, a third of them held out, and return the manifest's path."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / "manifest.jsonl"
    write_manifest(manifest, _write_clips(folder, clips))
    return manifest


def _write_clips(folder: Path, clips: Iterable[int]) -> Iterator[ClipRecord]:
    for number in clips:
        clip = make_clip(number)
        video = folder / f"sense-{number:04d}.mp4"
        _write_video(video, clip)
        held_out = number // (4 * len(COLOURS)) % HELD_OUT == HELD_OUT - 1
        split = "val" if held_out else "train"
        yield ClipRecord(video.stem, str(video), (clip.caption,), None, split)


def _write_video(path: Path, clip: SenseClip) -> None:
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=FRAME_RATE, options=CODING)
        video.width = video.height = SIZE
        video.pix_fmt = "yuv420p"
        audio = container.add_stream("aac", rate=SOUND_RATE, layout="mono")
        for image in clip.paint():
            container.mux(video.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(video.encode())
        sound = AudioFrame.from_ndarray(clip.play()[None], "fltp", "mono")
        sound.sample_rate, sound.time_base, sound.pts = SOUND_RATE, Fraction(1, SOUND_RATE), 0
        container.mux(audio.encode(sound))
        container.mux(audio.encode())
