"""What the COCO caption code (pycocoevalcap) brings: its metrics, and the tables in its jars."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from densevidcap.errors import DenseVidCapError, MissingExtraError


class CocoError(DenseVidCapError):
    """A file of the COCO caption code that is not what it should be."""

    def __init__(self, path: Path, fault: object) -> None:
        super().__init__(
            f"{path}: is not that of pycocoevalcap 1.2 ({fault}); install it again: "
            "pip install --force-reinstall 'pycocoevalcap==1.2'"
        )


def import_coco(name: str) -> ModuleType:
    """The module `name` of pycocoevalcap, which only the extra `eval` installs."""
    try:
        return importlib.import_module(f"pycocoevalcap.{name}")
    except ImportError as error:
        raise MissingExtraError("pycocoevalcap", "eval", "scoring captions") from error


def find_beside(module: ModuleType, name: str) -> Path:
    """A file beside a module of pycocoevalcap."""
    assert module.__file__ is not None
    return Path(module.__file__).with_name(name)
