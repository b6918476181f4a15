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
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from densevidcap.errors import DenseVidCapError, ModelError
from densevidcap.intake import check_plain

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Recipe = TypeVar("Recipe")


def read_config(path: Path, **sections: type[Any]) -> dict[str, Any]:
    """The options of each section: its name to an instance of its dataclass."""
    tables = read_toml(path)
    for name, table in tables.items():
        if name not in sections:
            raise ModelError(f"{path}: no section '{name}'; there are {', '.join(sections)}")
        if not isinstance(table, dict):
            raise ModelError(f"{path}: '{name}' must be a section: write [{name}]")
    return {
        name: build_options(path, name, kind, tables.get(name, {}))
        for name, kind in sections.items()
    }


def read_recipe(path: Path, kind: type[Recipe]) -> Recipe:
    """A dataclass of options' dataclasses, from a file with a section for each field."""
    return kind(**read_config(path, **get_type_hints(kind)))


def read_toml(path: Path) -> dict[str, Any]:
    try:
        check_plain(path)
        tables: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file; check the path") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: not a TOML file ({error})") from None
    return tables


def build_options(path: Path, section: str, kind: type[Any], table: dict[str, Any]) -> Any:
    """An instance of the dataclass from one section's table."""
    known = [field.name for field in fields(kind)]
    types = get_type_hints(kind)
    for key, value in table.items():
        if key not in known:
            raise ModelError(f"{path}: [{section}] has no '{key}'; it has {', '.join(known)}")
        if not _fits(value, types[key]):
            raise ModelError(
                f"{path}: [{section}] {key} = {value!r} must be {_describe(types[key])}"
            )
    values = {key: tuple(v) if isinstance(v, list) else v for key, v in table.items()}
    try:
        return kind(**values)
    except (DenseVidCapError, ValueError) as error:
        raise ModelError(f"{path}: [{section}] {error}") from None


def _fits(value: Any, kind: Any) -> bool:
    origin = get_origin(kind)
    if origin is Literal:
        return value in get_args(kind)
    if origin is tuple:
        return isinstance(value, list) and all(_fits(item, get_args(kind)[0]) for item in value)
    if origin is dict:
        item_kind = get_args(kind)[1]
        return isinstance(value, dict) and all(_fits(v, item_kind) for v in value.values())
    if kind is float:
        kind = (int, float)
    return isinstance(value, kind) and isinstance(value, bool) == (kind is bool)


def _describe(kind: Any) -> str:
    origin = get_origin(kind)
    if origin is Literal:
        return "one of " + ", ".join(map(repr, get_args(kind)))
    if origin is tuple:
        return f"a list, each {_describe(get_args(kind)[0])}"
    if origin is dict:
        return f"a table, each {_describe(get_args(kind)[1])}"
    names = {bool: "true or false", int: "a whole number", float: "a number"}
    return {**names, str: "a text in quotes"}[kind]
