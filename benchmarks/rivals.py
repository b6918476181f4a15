"""A clip's five sentences beside one caption of what people would use instead, by cost alone."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import torch

import densevidcap
from benchmarks.caption import FRAMES, MODEL, clock, time_stages
from benchmarks.clips import list_clips
from benchmarks.vision_language import Captioner, build_blip_base, build_git_base

WORDS = 12
ROUNDS = 5


def run() -> None:
    torch.set_num_threads(1)
    model = densevidcap.load(MODEL)
    blip, git = build_blip_base(), build_git_base()
    rivals = {
        "BLIP-base, one picture": (blip, 1),
        "GIT-base, one picture": (git, 1),
        "GIT-base, six pictures": (git, 6),
    }
    ours: list[float] = []
    theirs: dict[str, list[float]] = {name: [] for name in rivals}
    with TemporaryDirectory() as folder:
        clip = list_clips(Path(folder))[0]
        for _ in range(ROUNDS):
            ours.append(sum(time_stages(model, clip).values()))
            for name, (rival, count) in rivals.items():
                theirs[name].append(time_caption(rival, count))
    print(f"a clip of at most {FRAMES} frames, its sentences: {median(ours):.2f} s of CPU")
    for name, (rival, count) in rivals.items():
        ratios = [own / other for own, other in zip(ours, theirs[name], strict=True)]
        print(
            f"  {name:24} {count_parameters(rival) / 1e6:4.0f} million numbers, {WORDS} words: "
            f"{median(theirs[name]):.2f} s; ours / theirs {median(ratios):.2f} "
            f"({min(ratios):.2f} to {max(ratios):.2f}), {FRAMES} such pictures "
            f"{median(ratios) * count / FRAMES:.3f}"
        )


def time_caption(rival: Captioner, count: int) -> float:
    pictures = torch.rand(count, 3, rival.side, rival.side)
    return clock(lambda: rival.caption(pictures, WORDS))


def count_parameters(rival: Captioner) -> int:
    return sum(parameter.numel() for parameter in rival.parameters())
