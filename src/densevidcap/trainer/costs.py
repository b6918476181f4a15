"""What a stage of training costs: time and memory."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    seconds: float
    """Of the call that finished it; one that was stopped before is not counted."""
    peak_bytes: int
    """The most memory that the process had held by its end, earlier stages included."""


class Meter:
    """Runs from its making on."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def read(self) -> Cost:
        return Cost(time.monotonic() - self._started, measure_peak())


def measure_peak() -> int:
    """Bytes; 0 where the system does not tell (Windows)."""
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
