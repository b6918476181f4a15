"""Somebody who wants to see how a whole training goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from densevidcap.training import Progress


class Watcher(Progress, Protocol):
    """Sees the steps and epochs of every stage, and what comes before and after them."""

    def begin(self, stage: str, number: int, of: int) -> None: ...

    def end(self, result: str) -> None:
        """The stage that began last is done; one that was done before ends at once."""

    def count(self, doing: str, total: int) -> Callable[[], None]:
        """Something other than steps begins; the result is called after each of `total`."""

    def say(self, line: str) -> None: ...
