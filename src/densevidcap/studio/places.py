"""How many may do the same at once."""

from __future__ import annotations

from collections import Counter

from fastapi import HTTPException


class Paths:
    """So many for each visitor, or for all together if visitors are not told apart."""

    def __init__(self, most: int, what: str) -> None:
        self._most, self._what = most, what
        self._taken: Counter[str] = Counter()

    def take(self, visitor: str = "") -> Place:
        """A place until it is left; refused if there is none."""
        if self._taken[visitor] >= self._most:
            raise HTTPException(
                429, f"{self._most} {self._what}; try again in a moment", {"Retry-After": "5"}
            )
        return Place(self._taken, visitor)


class Place:
    """Taken when it is made, free after its `with` block."""

    def __init__(self, taken: Counter[str], visitor: str) -> None:
        self._taken, self._visitor = taken, visitor
        taken[visitor] += 1

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._taken[self._visitor] -= 1
        if not self._taken[self._visitor]:
            # Else every visitor who ever came would stay in memory.
            del self._taken[self._visitor]
