"""Looks things up in a library, in a process of its own: see `Sandbox`.

An index of thousands of clips takes its time, and meanings of sentences take a network; the server
has neither.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from densevidcap.data.text import one_line
from densevidcap.errors import CorpusError
from densevidcap.library.search import Finder
from densevidcap.library.store import Library
from densevidcap.types import judge

Sort = Literal["new", "name", "long", "sure", "unsure"]
Show = Literal["all", "corrected", "unchecked", "missing", "deleted"]

FRESH = 0.5
"""Seconds for which nobody looks whether the library has changed, unless the revision tells."""

_open: dict[Path, tuple[Finder, str, float]] = {}


def list_cards(
    folder: Path, revision: str, words: str, sort: Sort, show: Show, offset: int, most: int
) -> dict[str, Any]:
    """A page of the clips that fit, and how many these and all are."""
    finder = _open_finder(folder, revision)
    rows = _list_deleted(folder) if show == "deleted" else _list_present(finder)
    total = len(rows)
    corrected = sum(card.corrected > 0 for card in finder.read_cards())
    wanted = words.casefold().split()
    rows = [row for row in rows if _fits(row, wanted, show)]
    rows.sort(key=lambda row: (_ORDERS[sort](row), row["name"], row["id"]))
    clips = [{**row, "verdict": judge(row["confidence"])} for row in rows[offset : offset + most]]
    return {"total": total, "fitting": len(rows), "corrected": corrected, "clips": clips}


def find(folder: Path, revision: str, question: str, most: int) -> dict[str, Any]:
    began = time.perf_counter()
    answers = _open_finder(folder, revision).find(question, most)
    rows = [
        {
            **{name: value for name, value in answer.to_dict().items() if name not in _PRIVATE},
            "id": answer.identity,
            "name": one_line(answer.name),
            "box": answer.box and [*asdict(answer.box).values()],
            "verdict": None if answer.confidence is None else judge(answer.confidence),
        }
        for answer in answers
    ]
    return {"answers": rows, "seconds": round(time.perf_counter() - began, 4)}


_PRIVATE = {"clip", "identity", "signals"}

_ORDERS = {
    "new": lambda row: -row["made"],
    "name": lambda row: row["name"].casefold(),
    "long": lambda row: -row["duration"],
    "sure": lambda row: -row["confidence"],
    "unsure": lambda row: row["confidence"],
}


def _open_finder(folder: Path, revision: str) -> Finder:
    finder, seen, looked = _open.get(folder, (None, "", 0.0))
    if finder is None:
        finder = Finder(Library(folder))
    elif revision != seen or time.monotonic() - looked > FRESH:
        finder.refresh()
    else:
        return finder
    _open[folder] = finder, revision, time.monotonic()
    return finder


def _list_present(finder: Finder) -> list[dict[str, Any]]:
    rows = []
    for card in finder.read_cards():
        source, place = finder.files[card.identity]
        row = asdict(card)
        row["id"] = row.pop("identity")
        is_there = Path(place.rpartition("::")[0] or place).exists()
        rows.append({**row, "name": one_line(source.name), "missing": not is_there})
    return rows


def _list_deleted(folder: Path) -> list[dict[str, Any]]:
    library = Library(folder)
    names = {source.identity: source.name for source in library.sources.values()}
    rows = []
    for identity in library.list_removed():
        try:
            captions = library.read_removed(identity)
        except CorpusError:
            continue
        best = next(iter(captions), None)
        rows.append(
            {
                "id": identity,
                "name": one_line(names.get(identity, captions.source)),
                "text": best.text if best else "",
                "confidence": best.confidence if best else 0.0,
                "sentences": len(captions),
                "duration": captions.duration,
                "width": captions.width,
                "height": captions.height,
                "corrected": 0,
                "made": 0.0,
                "missing": False,
            }
        )
    return rows


def _fits(row: dict[str, Any], wanted: list[str], show: Show) -> bool:
    text = f"{row['name']} {row['text']}".casefold()
    if not all(word in text for word in wanted):
        return False
    if show == "missing":
        return bool(row["missing"])
    if show in ("corrected", "unchecked"):
        return bool(row["corrected"]) == (show == "corrected")
    return True
