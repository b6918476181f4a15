"""Lines on a terminal, which obeys what it is told: text of files must not tell it anything."""

from __future__ import annotations

from pathlib import Path

import click

from densevidcap.hidden import show_lines


def echo(text: str | Path, err: bool = False) -> None:
    """Print it, with the replacement sign for what terminals would obey and nobody would see."""
    click.echo(show_lines(str(text)), err=err)
