"""Processes that must not outlive the one that started them, even if that one is killed."""

from __future__ import annotations

import multiprocessing
import os
from threading import Thread


def die_with_parent() -> None:
    """End this process as soon as its parent has ended."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()
