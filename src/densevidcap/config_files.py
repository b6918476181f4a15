"""Config files: TOML tables that become dataclasses, and may extend other files.

What is misspelled, lacking or of another kind is an error that names file, section and remedy.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from densevidcap.errors import DenseVidCapError, ModelError
from densevidcap.intake import check_plain

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CONFIGS = Path(__file__).parent / "configs"
"""Those that come with the package."""

WHOLE = ("terms", "dropout")
"""Tables that mean all that they list: they are not merged, and count as one value."""

Section = TypeVar("Section")


def find_config(source: Path | str) -> Path:
    """The file of a config that comes with the package, or the user's own."""
    bundled = CONFIGS / f"{source}.toml"
    if bundled.is_file():
        return bundled
    path = Path(source)
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in CONFIGS.glob("*.toml")))
        raise ModelError(f"{source}: no such config; name a TOML file, or one of {known}")
    return path


def read_toml(path: Path) -> dict[str, Any]:
    try:
        check_plain(path)
        tables: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file; check the path") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: not a TOML file ({error})") from None
    return tables


def build_section(
    source: str, kind: type[Section], table: Mapping[str, Any], name: str = ""
) -> Section:
    """An instance of the dataclass from a table; sections inside it are built from its tables."""
    where = f"{source}: [{name}]" if name else f"{source}:"
    known = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    types = get_type_hints(kind)
    values = {}
    for key, value in table.items():
        if key not in known:
            raise ModelError(f"{where} has no '{key}'; it has {', '.join(known)}")
        values[key] = _build_value(source, f"{name}.{key}" if name else key, types[key], value)
    for each in fields(kind):  # type: ignore[arg-type]
        if each.name not in values and each.default is each.default_factory is MISSING:
            raise ModelError(f"{where} needs '{each.name}'")
    try:
        return kind(**values)
    except (DenseVidCapError, ValueError) as error:
        raise ModelError(f"{where} {error}") from None


def _build_value(source: str, name: str, kind: Any, value: Any) -> Any:
    item = get_args(kind)[0] if get_origin(kind) is tuple else None
    if is_dataclass(kind) and isinstance(kind, type):
        if not isinstance(value, Mapping):
            raise ModelError(f"{source}: '{name}' must be a section: write [{name}]")
        return build_section(source, kind, value, name)
    if item is not None and is_dataclass(item) and isinstance(item, type):
        if not isinstance(value, (list, tuple)) or not all(isinstance(v, Mapping) for v in value):
            raise ModelError(f"{source}: '{name}' must be a list of sections: write [[{name}]]")
        return tuple(build_section(source, item, each, name) for each in value)
    if not _fits(value, kind):
        section, _, key = name.rpartition(".")
        where = f"{source}: [{section}]" if section else f"{source}:"
        raise ModelError(f"{where} {key} = {value!r} must be {_describe(kind)}")
    if item is not None:
        return tuple(value)
    return float(value) if kind is float else value


def read_extended(path: Path, extending: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The tables of a file, over those of the file that it extends."""
    if path in extending:
        raise ModelError(f"{path}: extends itself; leave out 'extends' in one of the files")
    tables = read_toml(path)
    base = tables.pop("extends", None)
    if base is None:
        return tables
    if not isinstance(base, str):
        raise ModelError(f"{path}: extends = {base!r} must be a text in quotes")
    beside = path.parent / base
    file = beside if beside.is_file() else find_config(base)
    return _merge(read_extended(file, (*extending, path)), tables)


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Sections are merged field by field."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = _merge(old, value) if both and key not in WHOLE else value  # type: ignore[arg-type]
    return merged


def flatten(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Values of all sections by their dotted names."""
    flat: dict[str, Any] = {}
    for key, value in content.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and key not in WHOLE:
            flat |= flatten(value, f"{name}.")
        else:
            flat[name] = value
    return flat


def _fits(value: Any, kind: Any) -> bool:
    origin = get_origin(kind)
    if kind is Any:
        return True
    if origin is Literal:
        return value in get_args(kind)
    if origin is tuple:
        items = isinstance(value, (list, tuple))
        return items and all(_fits(item, get_args(kind)[0]) for item in value)
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
