"""Clips that fail in ways that nobody foresaw: they are named, and cost a batch no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from densevidcap.errors import ClipError, DenseVidCapError


@contextmanager
def naming(clip: str) -> Iterator[None]:
    """What goes wrong with a clip in this block becomes a ClipError that names it.

    Memory that is short, or an error from deep inside a decoder or a network. What is known stays
    as it is, and so does a place that cannot be written: no other clip would fare better.
    """
    try:
        yield
    except DenseVidCapError:
        raise
    except MemoryError as error:
        raise ClipError(f"{clip}: needs more memory than there is; shrink or cut it") from error
    except Exception as error:
        from av.error import FFmpegError

        if isinstance(error, OSError) and not isinstance(error, FFmpegError):
            raise
        said = (str(error).splitlines() or [""])[0]
        reason = f"{type(error).__name__}: {said}" if said else type(error).__name__
        raise ClipError(
            f"{clip}: failed in an unforeseen way ({reason}); convert it or leave it out,"
            " and please report it"
        ) from error
