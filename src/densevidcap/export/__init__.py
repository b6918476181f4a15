"""Captions as files for people and for other tools: one small writer each, found by name."""

from densevidcap.export.formats import ENDINGS, ExportError, find_format, save
from densevidcap.export.json_file import SCHEMA, read_captions

__all__ = ["ENDINGS", "SCHEMA", "ExportError", "find_format", "read_captions", "save"]
