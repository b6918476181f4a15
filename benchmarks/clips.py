"""Clips beside ResNet-50 alone, by default and `--fast`, in turns, with the spread of ratios.

`DENSEVIDCAP_CLIPS` names a folder of real ones; a generated film whose frames all differ comes
after it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import torch

import densevidcap
from benchmarks.caption import FRAMES, MODEL, SIZE, clock, load_resnet, time_stages
from benchmarks.decode import write_film
from densevidcap.models.word_detector import FastEncoder
from densevidcap.pipeline.captioner import FAST, DenseCaptioner
from densevidcap.types import FloatArray, ImageArray

CLIPS = os.environ.get("DENSEVIDCAP_CLIPS")
MOST = 10
"""Clips of the folder, the first by name."""
ROUNDS = 5
WAYS: dict[str, Mapping[str, Any]] = {"default": {}, "fast": FAST}
ALLOWED = {"default": 0.75, "fast": 0.35}
"""Of ResNet-50's time."""


def run() -> None:
    torch.set_num_threads(1)
    captioner = densevidcap.load(MODEL)
    with TemporaryDirectory() as folder:
        look = load_resnet(Path(folder) / "resnet50.onnx")
        film = write_film(Path(folder) / "film.mp4", 20, 25, (640, 360))
        for clips in [list_clips(Path(folder)), [film]] if CLIPS else [[film]]:
            name = "a film whose frames all differ" if clips == [film] else f"{len(clips)} clips"
            print(f"{name}, beside ResNet-50 ({FRAMES} frames, {SIZE} px, ONNX Runtime, float32):")
            compare(captioner, clips, look)


def compare(captioner: DenseCaptioner, clips: list[Path], look: Callable[[], Any]) -> None:
    """All ways of each clip and ResNet-50 in turns: the machine's mood changes."""
    ratios: dict[str, list[float]] = {way: [] for way in WAYS}
    for number in range(ROUNDS):
        resnet: list[float] = []
        seconds: dict[str, list[float]] = {way: [] for way in WAYS}
        looked_at = dict.fromkeys(WAYS, 0)
        for place, clip in enumerate(clips):
            if place % 5 == 0:
                resnet.append(clock(look))
            for way, settings in WAYS.items():
                with counting_frames() as frames:
                    seconds[way].append(sum(time_stages(captioner, clip, settings).values()))
                looked_at[way] += sum(frames)
        for way, times in seconds.items():
            ratios[way].append(mean(times) / mean(resnet))
            print(
                f"  run {number + 1}, {way}: a clip {mean(times):.2f} s ({min(times):.2f} to "
                f"{max(times):.2f}), ResNet-50 {mean(resnet):.2f} s, ratio {ratios[way][-1]:.3f}; "
                f"{looked_at[way] / len(clips):.1f} frames of a clip looked at",
                flush=True,
            )
    for way, found in ratios.items():
        print(
            f"  {way}, seconds of CPU: median ratio {median(found):.2f} "
            f"({min(found):.2f} to {max(found):.2f} in {ROUNDS} runs; allowed: {ALLOWED[way]})"
        )


def list_clips(folder: Path) -> list[Path]:
    """Real ones, or one that is generated in the folder."""
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
