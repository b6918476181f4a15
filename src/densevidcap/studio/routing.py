"""What routes have in common: the studio that is asked, ids, and how refusals are described."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Path, Request

from densevidcap.studio.answers import Fault
from densevidcap.studio.studio import Studio


def _studio(request: Request) -> Studio:
    studio: Studio = request.app.state.studio
    return studio


def denials() -> dict[int | str, dict[str, Any]]:
    return {status: {"model": Fault} for status in (401, 403)}


def faults(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": Fault} for status in (401, 403, *statuses, 503)}


Open = Annotated[Studio, Depends(_studio)]
Key = Annotated[str, Path(alias="id", max_length=64, description="As posting it answered.")]
