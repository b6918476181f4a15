"""A model whose workers meet with accidents, as some clips cause them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from densevidcap.library.describing import Described, Describer

DEADLY, ONCE, STUCK = "deadly.mp4", "once.mp4", "stuck.mp4"
"""Ends its worker each time; only the first time; stays in work the first time, for ever."""
DIARY = "diary"
"""Folder beside the clips: a file for each of these, a line for each time that it was begun."""


class DeadlyDescriber(Describer):
    """Writes down on which node it begins such a clip."""

    def describe(self, source: str) -> Described:
        name = Path(source).name
        if name in (DEADLY, ONCE, STUCK):
            import ray

            diary = Path(source).parent / DIARY / name
            is_first = not diary.exists()
            with diary.open("a") as lines:
                lines.write(f"{ray.get_runtime_context().get_node_id()}\n")
            if name == DEADLY:
                os.kill(os.getpid(), signal.SIGSEGV)
            if name == ONCE and is_first:
                os.kill(os.getpid(), signal.SIGKILL)
            while name == STUCK and is_first:
                time.sleep(0.1)
        return super().describe(source)


def read_diary(folder: Path, name: str) -> list[str]:
    """The nodes that began the clip, in order; whole lines only."""
    path = folder / DIARY / name
    return path.read_text().split("\n")[:-1] if path.exists() else []
