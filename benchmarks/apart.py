"""What a command costs in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple


class Cost(NamedTuple):
    first: float
    """Seconds until it says something, by the clock; until it ends if it says nothing."""
    of_cpu: float
    """Seconds of CPU, on however many cores, which a busy machine changes little."""
    megabytes: float
    """Memory at most."""
    said: str


LAUNCH = """
import os, subprocess, sys
process = subprocess.Popen([sys.executable, *sys.argv[1:]], stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""A small process in between: a new one's peak begins with the memory of the one it came from."""


def run_apart(*arguments: str) -> Cost:
    """Of Python with these arguments, on one thread."""
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-S", "-c", LAUNCH, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        first = time.perf_counter() - start
        said, usage = line + process.stdout.read(), process.stderr.read()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    seconds, kilobytes = map(float, usage.split())
    return Cost(first, seconds, kilobytes / 1024, said)


def take_turns(commands: dict[str, Sequence[str]], rounds: int) -> dict[str, Cost]:
    """The least that each costs, by name; in turns, so that a busy moment hits all of them."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, arguments in commands.items():
            costs[name].append(run_apart(*arguments))
    return {name: min(each, key=lambda cost: cost.of_cpu) for name, each in costs.items()}
