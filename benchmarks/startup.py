"""How fast `--help` answers and a first sentence comes, against Python and torch alone."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.apart import Cost, run_apart, take_turns
from benchmarks.caption import MODEL
from benchmarks.decode import write_film

ROUNDS = 9
ALLOWED = 3.0
"""Times what no command line built on click could save."""
HELP_ALLOWED, FIRST_ALLOWED, MEMORY_ALLOWED = 0.15, 2.5, 700
"""Seconds beside `python -c pass`; seconds until the first sentence; MB."""


def run() -> None:
    quick = take_turns(
        {
            "python -c pass": ["-c", "pass"],
            "python -c 'import click'": ["-c", "import click"],
            "densevidcap --help": ["-m", "densevidcap", "--help"],
            "import densevidcap": ["-c", "import densevidcap"],
        },
        ROUNDS,
    )
    slow = take_turns(
        {
            "import torch": ["-c", "import torch"],
            "import the pipeline": ["-c", "import densevidcap.pipeline.captioner"],
            "load the model": ["-c", f"import densevidcap; densevidcap.load({MODEL!r})"],
        },
        rounds=3,
    )
    for name, cost in {**quick, **slow}.items():
        print_cost(name, cost)
    ratio = quick["densevidcap --help"].of_cpu / quick["python -c 'import click'"].of_cpu
    print(f"  help / (python + click) = {ratio:.2f} (allowed: {ALLOWED})")
    beside = quick["densevidcap --help"].of_cpu - quick["python -c pass"].of_cpu
    print(f"  help beside python: {beside * 1000:.0f} ms (allowed: {HELP_ALLOWED * 1000:.0f})")
    with TemporaryDirectory() as folder:
        clip = write_film(Path(folder) / "clip.mp4", 2, 25, (640, 360))
        options = ["--model", MODEL] if MODEL else []
        cost = run_apart("-m", "densevidcap", "caption", str(clip), *options)
    print_cost("caption two seconds", cost)
    print(
        f"  first sentence after {cost.first:.1f} s by the clock on one thread (allowed on an idle"
        f" machine: {FIRST_ALLOWED}); {cost.megabytes:.0f} MB (allowed: {MEMORY_ALLOWED})"
    )


def print_cost(name: str, cost: Cost) -> None:
    print(f"  {name:26} {cost.of_cpu * 1000:6.0f} ms of CPU {cost.megabytes:6.0f} MB", flush=True)
