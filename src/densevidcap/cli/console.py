"""Rich's console for text of files: see `printing`."""

from __future__ import annotations

from collections.abc import Iterable

from rich import console
from rich.segment import Segment

from densevidcap.hidden import show_lines


class Console(console.Console):
    """Its own control codes reach the terminal, but none of the texts'; nor is there markup."""

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False)

    def render(
        self,
        renderable: console.RenderableType,
        options: console.ConsoleOptions | None = None,
    ) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else show_lines(text), style, control)
