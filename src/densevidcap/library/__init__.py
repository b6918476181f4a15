"""Folders of clips: captioned once, whatever happens meanwhile, and searched together."""

from densevidcap.library.store import Library

__all__ = ["Library"]
