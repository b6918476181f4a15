"""Experiments as TOML files: a table for each frozen dataclass of options.

```toml
[encoder]
backbone = "lite2"

[training]
epochs = 20
```

What a file leaves out keeps its default; what it misspells is an error.
"""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from densevidcap.errors import DenseVidCapError, ModelError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_config(path: Path, **sections: type[Any]) -> dict[str, Any]:
    """The options of each section: its name to an instance of its dataclass."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file; check the path") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: not a TOML file ({error})") from None
    for name, table in tables.items():
        if name not in sections:
            raise ModelError(f"{path}: no section '{name}'; there are {', '.join(sections)}")
        if not isinstance(table, dict):
            raise ModelError(f"{path}: '{name}' must be a section: write [{name}]")
    return {name: _build(path, name, kind, tables.get(name, {})) for name, kind in sections.items()}


def _build(path: Path, section: str, kind: type[Any], table: dict[str, Any]) -> Any:
    known = [field.name for field in fields(kind)]
    types = get_type_hints(kind)
    for key, value in table.items():
        if key not in known:
            raise ModelError(f"{path}: [{section}] has no '{key}'; it has {', '.join(known)}")
        if not _fits(value, types[key]):
            raise ModelError(
                f"{path}: [{section}] {key} = {value!r} must be {_describe(types[key])}"
            )
    try:
        return kind(**table)
    except (DenseVidCapError, ValueError) as error:
        raise ModelError(f"{path}: [{section}] {error}") from None


def _fits(value: Any, kind: Any) -> bool:
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if kind is float:
        kind = (int, float)
    return isinstance(value, kind) and not isinstance(value, bool)


def _describe(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(repr, get_args(kind)))
    return {int: "a whole number", float: "a number", str: "a text in quotes"}[kind]
