"""Real clips beside ResNet-50 alone: the mean over a folder of them, in turns, with its spread.

`DENSEVIDCAP_CLIPS` names the folder; without it, a generated film stands for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from unittest.mock import patch

import torch

import densevidcap
from benchmarks.caption import FRAMES, MODEL, SIZE, clock, load_resnet, time_stages
from benchmarks.decode import write_film
from densevidcap.models.word_detector import FastEncoder
from densevidcap.types import FloatArray, ImageArray

CLIPS = os.environ.get("DENSEVIDCAP_CLIPS")
MOST = 10
"""Clips of the folder, the first by name."""
ROUNDS = 5


def run() -> None:
    torch.set_num_threads(1)
    captioner = densevidcap.load(MODEL)
    with TemporaryDirectory() as folder:
        look = load_resnet(Path(folder) / "resnet50.onnx")
        clips = list_clips(Path(folder))
        ratios: list[float] = []
        for number in range(ROUNDS):
            resnet, seconds = [], []
            with counting_frames() as frames:
                for place, clip in enumerate(clips):
                    # Before the first clip and after every fifth: the machine's mood changes.
                    if place % 5 == 0:
                        resnet.append(clock(look))
                    seconds.append(sum(time_stages(captioner, clip).values()))
            ratios.append(mean(seconds) / mean(resnet))
            print(
                f"  run {number + 1}: a clip {mean(seconds):.2f} s ({min(seconds):.2f} to "
                f"{max(seconds):.2f}), ResNet-50 {mean(resnet):.2f} s, ratio {ratios[-1]:.3f}; "
                f"{sum(frames) / len(clips):.1f} frames of a clip looked at",
                flush=True,
            )
    print(
        f"  mean of {len(clips)} clips / ResNet-50 ({FRAMES} frames, {SIZE} px, ONNX Runtime, "
        f"float32), seconds of CPU: median ratio {median(ratios):.2f} "
        f"({min(ratios):.2f} to {max(ratios):.2f} in {ROUNDS} runs)"
    )


def list_clips(folder: Path) -> list[Path]:
    if CLIPS is None:
        return [write_film(folder / "film.mp4", 20, 25, (640, 360))]
    return sorted(path for path in Path(CLIPS).iterdir() if path.is_file())[:MOST]


@contextmanager
def counting_frames() -> Iterator[list[int]]:
    """Of each call, how many frames went through the eyes."""
    counts: list[int] = []
    whole = FastEncoder.observe

    def observe(self: FastEncoder, images: ImageArray) -> tuple[FloatArray, FloatArray]:
        counts.append(len(images))
        return whole(self, images)

    with patch.object(FastEncoder, "observe", observe):
        yield counts
