"""Weakly supervised dense video captioning (Shen et al., CVPR 2017)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from densevidcap.api import Model
    from densevidcap.library import Library

__version__ = "0.2.0"


def load(path: Path | str | None = None, device: str | None = None) -> Model:
    """The model in that folder, or the one that comes with the package. Downloads nothing.

    `device` is where it runs, in place of what its config says: auto, cpu, cuda or mps.
    """
    # Torch takes seconds to import, and much of the package does without.
    from densevidcap.api import Model

    return Model.load(path, device)


def open_library(folder: Path | str) -> Library:
    """What is known of many clips, as `densevidcap caption FOLDER` keeps it.

    `open_library("holiday.library").find("a dog on the beach")` says where to look.
    """
    from densevidcap.library import Library

    return Library(folder)
