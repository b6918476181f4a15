"""How fast `--help` answers, against what Python and click need by themselves."""

from __future__ import annotations

import subprocess
import sys
import time

ROUNDS = 9
ALLOWED = 3.0
"""Times what no command line built on click could save."""


def run() -> None:
    commands = {
        "python -c pass": ["-c", "pass"],
        "python -c 'import click'": ["-c", "import click"],
        "densevidcap --help": ["-m", "densevidcap", "--help"],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, arguments in commands.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
            seconds[name].append(time.perf_counter() - start)
    best = {name: min(times) for name, times in seconds.items()}
    for name, value in best.items():
        print(f"  {name:26} {value * 1000:6.0f} ms")
    ratio = best["densevidcap --help"] / best["python -c 'import click'"]
    print(f"  help / (python + click) = {ratio:.2f} (allowed: {ALLOWED})")
