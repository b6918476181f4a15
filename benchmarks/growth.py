"""How time and memory grow with the length of a clip, and with the number of sentences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.apart import run_apart
from benchmarks.caption import MODEL
from benchmarks.decode import write_film

LENGTHS = (5, 15, 30, 60, 120)
"""Seconds. From a minute on it is a film, which is read scene by scene."""
COUNTS = (1, 5, 10, 20)
"""Region-sequences, and sentences at most."""
USUAL = 15
"""Seconds of the clip whose sentences grow in number."""
CODE = """
import json, resource, sys, time
import densevidcap
from densevidcap.pipeline.captioner import RAW
model = densevidcap.load(*sys.argv[3:])
start = time.process_time()
model.caption(sys.argv[1], settings={**RAW, **json.loads(sys.argv[2])})
print(time.process_time() - start)
"""
"""Seconds of CPU for a clip, without loading the model; in a process whose peak is its own."""


def run() -> None:
    with TemporaryDirectory() as folder:
        films = {s: write_film(Path(folder) / f"{s}.mp4", s, 10, (320, 180)) for s in LENGTHS}
        print("a clip's seconds:")
        by_length = [measure(seconds, film, {}) for seconds, film in films.items()]
        print(f"  time grows as length^{fit(LENGTHS, by_length):.2f}")
        print(f"k, of {USUAL} seconds:")
        by_count = [measure(k, films[USUAL], {"regions.k": k, "selection.k": k}) for k in COUNTS]
        print(f"  time grows as k^{fit(COUNTS, by_count):.2f}")


def measure(size: int, film: Path, settings: dict[str, int]) -> float:
    """Seconds of CPU."""
    arguments = [str(film), json.dumps(settings), *([MODEL] if MODEL else [])]
    cost = run_apart("-c", CODE, *arguments)
    seconds = float(cost.said)
    print(f"  {size:4} {seconds:6.2f} s of CPU {cost.megabytes:6.0f} MB", flush=True)
    return seconds


def fit(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The exponent of the power that is nearest to all, in logs."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
