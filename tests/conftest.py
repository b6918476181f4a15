"""Settings of the whole test run."""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import Phase, settings

# Workers run side by side; each with threads for every core would only be in the others' way.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A busy machine is no failure: timing belongs in benchmarks/.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Whether a mutant is noticed matters, not the smallest example of it.
settings.register_profile("mutants", deadline=None, phases=[Phase.explicit, Phase.generate])


THOROUGH = {
    "test_studio_page.py",
    "test_studio_film_page.py",
    "test_studio_library_page.py",
    "test_studio_many_page.py",
    "test_studio_recovery.py",
    "test_studio_description.py",
    "test_studio_hostile.py",
    "test_studio_limits.py",
    "test_experiment_verb.py",
    "test_all_experiments.py",
    "test_own_data_guide.py",
    "test_one_config.py",
    "test_train_verb.py",
    "test_training.py",
    "test_corruption.py",
    "test_library_runs.py",
    "test_samples.py",
    "test_captions.py",
    "test_house.py",
}
"""Files whose tests train, kill or browse for long. One Python runs them; every Python runs the
others."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.name in THOROUGH:
            item.add_marker("thorough")


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
    if config.getoption("markexpr").startswith("not slow"):
        terminalreporter.write_line("NOT RUN: slow tests (to run them: make test-slow)")
    if "not thorough" in config.getoption("markexpr"):
        terminalreporter.write_line("NOT RUN: thorough tests (to run them: make test)")
