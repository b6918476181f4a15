"""One studio at a time in a data folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from densevidcap import files
from densevidcap.errors import DenseVidCapError


class StudioError(DenseVidCapError):
    """A studio that cannot be opened as asked."""


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Keep others out; the lock ends with the process, however that ends."""
    refusal = StudioError(f"{folder}: another studio works here; name another --data")
    with files.hold(folder, refusal):
        yield
