"""Settings of the whole test run."""

from __future__ import annotations

import os

from hypothesis import settings

# Workers run side by side; each with threads for every core would only be in the others' way.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A busy machine is no failure: timing belongs in benchmarks/.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
