"""Which code made something."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from densevidcap import __version__


@cache
def find_commit() -> str:
    """Of the code that runs, with "dirty" behind it where files were changed; else its version."""
    here = Path(__file__)
    try:
        # Only if this file is the repository's: an installed package may lie in someone else's.
        subprocess.run(
            ["git", "ls-files", "--error-unmatch", here.name],
            cwd=here.parent,
            check=True,
            capture_output=True,
        )
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*"],
            cwd=here.parent,
            check=True,
            capture_output=True,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return f"densevidcap {__version__}"
    return described.stdout.strip()
