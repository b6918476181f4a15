"""Run every benchmark, or those named: `python -m benchmarks decode regions`."""

from __future__ import annotations

import importlib
import sys

BENCHMARKS = {
    "startup": "how fast `--help` answers",
    "decode": "sampled frames against OpenCV, memory against length",
    "regions": "region-sequences against NumPy candidate by candidate, and how cost grows",
    "language": "sentences of ten region-sequences at once against one by one",
    "caption": "a clip's captions by stage beside ResNet-50 alone, memory of an hour's film",
    "studio": "fifty clips at once, kills, a flood of captions, and how fast it answers",
    "kills": "a hundred kills of caption and train, and what they cost",
    "grounding": "whether words point at their things in the test world",
}

if __name__ == "__main__":
    for name in sys.argv[1:] or BENCHMARKS:
        print(f"\n== {name}: {BENCHMARKS.get(name, 'on its own')}", flush=True)
        importlib.import_module(f"benchmarks.{name}").run()
