"""Settings of the whole test run."""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import settings

# Workers run side by side; each with threads for every core would only be in the others' way.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A busy machine is no failure: timing belongs in benchmarks/.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """What was not run, and the command that runs it: a green end must not hide it."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", ())
        if isinstance(report.longrepr, tuple)
    )
    for reason, count in reasons.items():
        terminalreporter.write_line(f"NOT RUN: {count} tests ({reason})")
    if config.getoption("markexpr") == "not slow":
        terminalreporter.write_line("NOT RUN: slow tests (to run them: make test-slow)")
