"""What comes from outside: plain files only, and JSON within bounds.

Whoever reads what a user names opens it through here, so that a pipe, a device or a text made to
break parsers is refused in one line wherever it turns up.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Callable
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any, NoReturn

DEEPEST = 100
"""Levels of lists and objects inside each other; what we read and write has fewer than ten."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def check_plain(path: Path) -> None:
    """Raise an OSError unless it is a file on a disk.

    A pipe or a socket waits for somebody to write, a device may go on without end.
    """
    mode = path.stat().st_mode
    if S_ISDIR(mode):
        raise OSError(errno.EISDIR, "Is a folder, not a file", str(path))
    if not S_ISREG(mode):
        reason = "Not a plain file but a pipe, socket or device"
        raise OSError(errno.EINVAL, reason, str(path))


def parse_json(
    text: str | bytes,
    *,
    finite: bool = False,
    file_names: bool = False,
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """The content of a JSON text; a ValueError says in one line why there is none.

    `finite` refuses NaN and infinities. `file_names` allows the lone surrogates that stand for
    bytes of a file's name. `pairs` makes something else than a dict of an object.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        constant = _refuse_constant if finite else None
        content = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
        _check_depth(content)
        if _SURROGATE.search(text):
            escaped = "surrogateescape" if file_names else "strict"
            json.dumps(content, ensure_ascii=False).encode("utf-8", escaped)
    except json.JSONDecodeError as error:
        place = f"at line {error.lineno}, column {error.colno}"
        raise ValueError(f"not JSON ({error.msg} {place})") from None
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text ({error.reason})") from None
    except UnicodeEncodeError:
        raise ValueError("not JSON that we know (half a character, a lone surrogate)") from None
    return content


_TOO_DEEP = f"not JSON that we know (nested too deep, over {DEEPEST} levels)"


def _check_depth(content: Any) -> None:
    """Level by level, since walking down would recurse as deep as the content does."""
    level = [content]
    for _ in range(DEEPEST + 1):
        level = [
            value
            for outer in level
            if isinstance(outer, dict | list | tuple)
            for value in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(value, dict | list | tuple)
        ]
        if not level:
            return
    raise ValueError(_TOO_DEEP)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"not JSON ({name} is no number)")
