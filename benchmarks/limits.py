"""What this machine can multiply, and which share of it each stage of a clip reaches.

All on one thread, in seconds of CPU, so that whatever else the machine does counts little.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

import densevidcap
from benchmarks.caption import FRAMES, MODEL, load_resnet, time_stages
from benchmarks.decode import write_film
from densevidcap.data.clip import open_clip
from densevidcap.models.device import device_of, resolve_engine
from densevidcap.models.word_detector import choose_numbers
from densevidcap.pipeline.captioner import RAW, DenseCaptioner

SIDE = 1024
"""Of the matrices whose product shows the peak."""
ROUNDS = 5


def run() -> None:
    torch.set_num_threads(1)
    peaks = measure_peaks()
    print(f"products of {SIDE} x {SIDE} on one thread, best of {ROUNDS}:")
    for name, peak in peaks.items():
        print(f"  {name:10} {peak:6.0f} GFLOP/s  ratio to float32 {peak / peaks['float32']:.2f}")
    with TemporaryDirectory() as folder:
        captioner = densevidcap.load(MODEL)
        film = write_film(Path(folder) / "film.mp4", 20, 25, (640, 360))
        compare_stages(captioner, film, peaks)
        seconds = measure(load_resnet(Path(folder) / "resnet50.onnx"), rounds=1)
        print(f"  ResNet-50 alone, {FRAMES} frames in ONNX Runtime: {seconds:.2f} s")


def measure_peaks() -> dict[str, float]:
    """GFLOP/s by the kind of numbers."""
    numbers = torch.rand(SIDE, SIDE)
    kinds: dict[str, Callable[[], Any]] = {}
    for kind in (torch.float32, torch.bfloat16):
        factor = numbers.to(kind)
        kinds[str(kind).removeprefix("torch.")] = partial(torch.matmul, factor, factor)
    whole = (numbers * 100).to(torch.int8)
    kinds["int8"] = partial(torch._int_mm, whole, whole)
    return {name: 2 * SIDE**3 / measure(multiply) / 1e9 for name, multiply in kinds.items()}


def measure(work: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Seconds of CPU in the best round."""
    work()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def compare_stages(captioner: DenseCaptioner, film: Path, peaks: dict[str, float]) -> None:
    eyes, engine = captioner.words.encoder, captioner.config.engine
    of_sentences = resolve_engine(engine, device_of(captioner.words))
    numbers = {"words": choose_numbers(eyes, engine)}
    numbers |= dict.fromkeys(("sentences", "ranking"), of_sentences)
    by = {stage: str(each).removeprefix("torch.") for stage, each in numbers.items()}
    flops, seconds = count_flops(captioner, film), time_stages(captioner, film)
    whole = sum(seconds.values())
    still = captioner.config.frames.still
    most = captioner.config.frames.most
    print(f"{most} frames of a 20-second film by {eyes.backbone.name}, still {still}:")
    limit = 0.0
    for stage, elapsed in seconds.items():
        peak, giga = peaks[by.get(stage, "float32")], flops.get(stage, 0) / 1e9
        limit += giga / peak
        print(
            f"  {stage:10} {elapsed:6.2f} s {elapsed / whole:4.0%}  {giga:7.1f} GFLOP"
            f"  {giga / elapsed / peak:4.0%} of the peak of {by.get(stage, 'float32')}"
        )
    print(f"  whole clip {whole:.2f} s, at the peak {limit:.2f} s: ratio {whole / limit:.2f}")


def count_flops(captioner: DenseCaptioner, film: Path) -> dict[str, int]:
    """Of the products in torch, by stage."""
    marks: list[tuple[str, int]] = []
    # A weight that is a result as it stands, and could be trained, is more than the counter takes.
    captioner.generator.captioner.requires_grad_(False)
    with FlopCounterMode(display=False) as counter:
        captioner.analyse(
            open_clip(film), RAW, lambda step, _: marks.append((step, counter.get_total_flops()))
        )
        marks.append(("end", counter.get_total_flops()))
    counts: dict[str, int] = {}
    for (stage, start), (_, end) in pairwise(marks):
        counts[stage] = counts.get(stage, 0) + end - start
    return counts
