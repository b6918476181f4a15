"""How the captioning of many clips goes: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from densevidcap.cli.console import Console
from densevidcap.cli.printing import echo
from densevidcap.library.estimate import name_duration
from densevidcap.progress import Silent

SPARSE = 60.0
"""Seconds between two lines of a log, at least."""


class SetView(Silent):
    """Clips that are done, a minute and of all, and the time that is left."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        console = Console(stderr=True)
        self._bar = _make_bar(console) if console.is_terminal else None

    @contextmanager
    def showing(self) -> Iterator[None]:
        if self._bar is None:
            yield
        else:
            with self._bar:
                yield

    def count(self, doing: str, total: int | None = None) -> Callable[[], None]:
        assert total is not None
        bar = self._bar
        if bar is not None:
            for task in bar.task_ids:
                bar.remove_task(task)
            number = bar.add_task(doing, total=total, rate="")
        began = told = self._clock()
        done = 0

        def advance() -> None:
            nonlocal done, told
            done += 1
            now = self._clock()
            rate = describe_rate(done, total, now - began)
            if bar is not None:
                bar.update(number, completed=done, rate=rate)
            elif now - told >= SPARSE and done < total:
                echo(f"{doing}: {done:,} of {total:,}, {rate}", err=True)
                told = now

        return advance

    def say(self, line: str) -> None:
        with self.aside():
            echo(f"densevidcap: {line}", err=True)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Around printing, which the bar would be in the way of."""
        if self._bar is not None:
            self._bar.stop()
        yield
        if self._bar is not None:
            self._bar.start()


def describe_rate(done: int, total: int, seconds: float) -> str:
    """Clips a minute up to now, and how long the others take at that rate."""
    if not seconds:
        return ""
    left = name_duration((total - done) * seconds / done)
    return f"{60 * done / seconds:.1f} a minute, {left} left"


def _make_bar(console: Console) -> Progress:
    # Names of files may look like Rich's markup.
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        console=console,
        transient=True,
    )
