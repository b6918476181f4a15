"""`densevidcap serve`: a page on which clips are dropped and looked at."""

from __future__ import annotations

import os
import secrets
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from densevidcap.cli.printing import echo


@click.command("serve")
@click.argument("library", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535))
@click.option(
    "--token",
    help="What others must show; DENSEVIDCAP_TOKEN does the same where others can see commands."
    "  [default: made up if --host needs one]",
)
@click.option("--model", type=click.Path(path_type=Path), help="Folder of a whole model.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to keep clips in.  [default: this user's folder for applications]",
)
@click.option("--max-mib", type=click.IntRange(1), help="Of a clip.  [default: 256]")
@click.option("--max-minutes", type=click.FloatRange(0.01), help="Of a clip.  [default: 10]")
@click.option("--max-waiting", type=click.IntRange(1), help="Clips in the queue.  [default: 32]")
@click.option("--max-clips", type=click.IntRange(1), help="Clips that are kept.  [default: 100]")
@click.option("--keep-days", type=click.FloatRange(0.01), help="How long.  [default: 7]")
@click.option(
    "--open", "opening", is_flag=True, help="Open the page in a browser, if there is a screen."
)
def command(
    library: Path | None,
    host: str,
    port: int,
    token: str | None,
    model: Path | None,
    data: Path | None,
    max_mib: int | None,
    max_minutes: float | None,
    max_waiting: int | None,
    max_clips: int | None,
    keep_days: float | None,
    opening: bool,
) -> None:
    """Open the studio: drop clips, see their sentences and what each is about.

    With LIBRARY, as `densevidcap caption FOLDER` makes it, or a new folder: all its clips are
    there to be searched, looked at and put right, what is dropped is added to it, nothing expires,
    and the limits do not hold unless you give them.

    Only this machine can reach it unless you name another --host, which takes
    a token: it is part of the address that is printed.
    """
    if library is not None and data is not None:
        raise click.UsageError("a library keeps its clips itself: leave out --data")
    from densevidcap.config import FEATURES
    from densevidcap.errors import MissingExtraError, ModelError

    try:
        from densevidcap.studio.app import make_app
        from densevidcap.studio.door import build_server, open_door
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "fastapi", "studio", "The studio") from None
    from densevidcap.library.store import STUDIO, Library
    from densevidcap.model_folder import find_model, read_card
    from densevidcap.studio.access import is_loopback
    from densevidcap.studio.files import DataFolder
    from densevidcap.studio.jobs import Jobs
    from densevidcap.studio.limits import DAY, MEBIBYTE, MINUTE, StudioLimits
    from densevidcap.studio.lock import hold

    for stage in ("words", "sentences"):
        # Here rather than in the worker, where nobody would see what is wrong.
        card = read_card(find_model(model / stage if model else None, stage))
        if card.get("eyes", {}).get("backbone") == FEATURES:
            raise ModelError(
                f"{model}: sees features that others extracted, and the studio shows videos; give a"
                " model that sees pictures, or caption your features by `densevidcap caption`"
            )
    if token is None:
        # Not click's way, which takes an empty variable for none: that would let everybody in.
        token = os.environ.get("DENSEVIDCAP_TOKEN")
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(24)
    if library is not None:
        Library.make(library)
        folder = library / STUDIO
    else:
        folder = data or Path(click.get_app_dir("densevidcap")) / "studio"
    given: dict[str, Any] = {
        "max_bytes": max_mib and max_mib * MEBIBYTE,
        "max_duration": max_minutes and max_minutes * MINUTE,
        "max_waiting": max_waiting,
        "max_clips": max_clips,
        "max_age": keep_days and keep_days * DAY,
    }
    usual = StudioLimits() if library is None else StudioLimits.of_library()
    limits = replace(usual, **{name: value for name, value in given.items() if value})
    app = make_app(folder, model, token, limits, library)
    files = DataFolder(folder)
    # Before anything is written into it.
    files.claim()
    with hold(folder):
        # What is wrong with it is said here, in a line.
        Jobs(files.jobs)
        door = open_door(host, port)
        address = f"http://{_in_url(host)}:{door.getsockname()[1]}/"
        if token is not None:
            address += f"?token={quote(token, safe='')}"
        echo(address)
        if opening and _has_screen():
            click.launch(address)
        build_server(app, limits.max_delay).run([door])


def _has_screen() -> bool:
    """Whether a browser could show anything: on a bare server, looking for one prints faults."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME")
    return sys.platform != "linux" or any(os.environ.get(name) for name in names)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
