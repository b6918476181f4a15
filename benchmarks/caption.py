"""A clip's captions by stage, beside ResNet-50 alone in ONNX Runtime; memory of an hour's film."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnxruntime
import torch

import densevidcap
from benchmarks.decode import write_film
from densevidcap.data.clip import open_clip
from densevidcap.models.backbones.resnet import ResNet50
from densevidcap.pipeline.captioner import RAW, DenseCaptioner
from densevidcap.pipeline.captions import choose_captions

MODEL = os.environ.get("DENSEVIDCAP_MODEL")
"""Folder of another model than the bundled one."""
FRAMES = 30
SIZE = 320
ROUNDS = 3
AIM = 0.6
"""Of ResNet-50's time."""


def run() -> None:
    with TemporaryDirectory() as folder:
        film = write_film(Path(folder) / "film.mp4", 20, 25, (640, 360))
        compare_speed(densevidcap.load(MODEL), film, Path(folder))
        measure_memory(Path(folder))


def compare_speed(captioner: DenseCaptioner, film: Path, folder: Path) -> None:
    """In turns, so that a busy moment of the machine hits both; the best round of each counts.

    On one thread, since threads that wait for each other on a busy machine count as work.
    """
    torch.set_num_threads(1)
    look = load_resnet(folder / "resnet50.onnx")
    rounds = [(time_stages(captioner, film), clock(look)) for _ in range(ROUNDS)]
    stages = min((stages for stages, _ in rounds), key=lambda stages: sum(stages.values()))
    resnet = min(seconds for _, seconds in rounds)
    whole = sum(stages.values())
    most = captioner.config.frames.most
    print(f"{most} frames of a 20-second film, seconds on one thread, best of {ROUNDS}:")
    for stage, seconds in stages.items():
        print(f"  {stage:10} {seconds:6.2f}  {seconds / whole:4.0%}")
    print(f"  {'whole clip':10} {whole:6.2f}")
    print(f"  {'ResNet-50':10} {resnet:6.2f}  alone, in ONNX Runtime")
    print(f"  whole clip / ResNet-50 = {whole / resnet:.2f} (aim: {AIM})")


def time_stages(
    captioner: DenseCaptioner, film: Path, settings: Mapping[str, Any] | None = None
) -> dict[str, float]:
    """Seconds of CPU: the clock on the wall tells of whatever else the machine does."""
    marks: list[tuple[str, float]] = []
    clip = open_clip(film)
    # However sure it is: of a painted film it would say little, or nothing.
    analysis = captioner.analyse(
        clip, {**(settings or {}), **RAW}, lambda s, _: marks.append((s, time.process_time()))
    )
    marks.append(("choosing", time.process_time()))
    assert len(choose_captions(analysis)) == 5
    marks.append(("end", time.process_time()))
    seconds: defaultdict[str, float] = defaultdict(float)
    for (stage, start), (_, end) in pairwise(marks):
        seconds[stage] += end - start
    return dict(seconds)


def load_resnet(path: Path) -> Callable[[], Any]:
    """With random weights, which take as long as any."""
    pictures = np.random.default_rng(0).random((FRAMES, 3, SIZE, SIZE), np.float32)
    network = ResNet50("resnet50").eval()
    torch.onnx.export(network, (torch.from_numpy(pictures),), str(path), dynamo=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(str(path), options, providers)
    name = session.get_inputs()[0].name
    return lambda: session.run(None, {name: pictures})


def clock(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def measure_memory(folder: Path) -> None:
    """Each film in a process of its own, whose peak is its own."""
    for name, seconds in {"two minutes": 120, "an hour": 3600}.items():
        film = write_film(folder / f"{seconds}.mp4", seconds, 5, (160, 90))
        start = time.perf_counter()
        kilobytes, scenes = caption_apart(film)
        elapsed = time.perf_counter() - start
        print(f"  {name:12} {kilobytes / 1024:6.0f} MB, {scenes} scenes, {elapsed:.0f} s")


def caption_apart(film: Path) -> tuple[int, int]:
    """(kilobytes at most, scenes)."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "import densevidcap\n"
        "model = densevidcap.load(*sys.argv[2:])\n"
        "scenes = len(model.caption(sys.argv[1]).scenes)\n"
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0], scenes)\n"
    )
    command = [sys.executable, "-c", code, str(film), *([MODEL] if MODEL else [])]
    output = subprocess.run(command, capture_output=True, check=True, text=True)
    kilobytes, scenes = map(int, output.stdout.split())
    return kilobytes, scenes
