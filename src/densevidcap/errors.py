"""Errors a user can act on. The command line prints them as one line, without a trace."""


class DenseVidCapError(Exception):
    """Something the user can put right; the message names the file and the remedy."""


class ClipError(DenseVidCapError):
    """A clip that cannot be read."""


class ClipTooLargeError(ClipError):
    """A clip that is over a limit of what we are willing to decode."""

    limit = ""
    """The name of that limit, if it has one."""


class CorpusError(DenseVidCapError):
    """A manifest, annotation or feature file that cannot be used."""


class ModelError(DenseVidCapError):
    """A model folder, weight file or configuration that cannot be used."""


class OutputError(DenseVidCapError):
    """A file or folder that cannot be written, or must not be."""


class MissingExtraError(DenseVidCapError):
    """An optional dependency that the requested work needs."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}': run  pip install 'densevidcap[{extra}]'"
        )


class DenseVidCapWarning(UserWarning):
    """Something odd in the user's data that we worked around."""
