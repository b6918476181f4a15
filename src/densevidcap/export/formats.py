"""Which writer writes what: by name, or by the file's ending."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from densevidcap.data.clip import Clip, open_clip
from densevidcap.errors import DenseVidCapError
from densevidcap.export.coco import render_coco
from densevidcap.export.cvat import render_cvat
from densevidcap.export.fiftyone import render_fiftyone
from densevidcap.export.film import write_annotated
from densevidcap.export.json_file import render_json
from densevidcap.export.report import write_report
from densevidcap.export.subtitles import render_srt, render_vtt
from densevidcap.files import replacing
from densevidcap.outputs import Inputs, check_outputs
from densevidcap.types import DenseCaptions

ENDINGS = {
    "json": ".json",
    "vtt": ".vtt",
    "srt": ".srt",
    "mp4": ".mp4",
    "html": ".html",
    "coco": ".coco.json",
    "cvat": ".cvat.xml",
    "fiftyone": ".fiftyone.json",
}
"""Format to the ending of its files."""

_TEXTS: dict[str, Callable[[DenseCaptions], str]] = {
    "json": render_json,
    "vtt": render_vtt,
    "srt": render_srt,
}
_TRACKS: dict[str, Callable[[DenseCaptions, Clip], str]] = {
    "coco": render_coco,
    "cvat": render_cvat,
    "fiftyone": render_fiftyone,
}
"""These need the times of the clip's frames."""
_SHOWS: dict[str, Callable[[DenseCaptions, Clip, Path, Callable[[], None], bool], None]] = {
    "mp4": write_annotated,
    "html": write_report,
}
"""These show the clip itself."""


class ExportError(DenseVidCapError):
    """A file that cannot be written as asked."""


def find_format(path: Path) -> str:
    """The format whose ending the file has; of two that fit, the longer: x.coco.json is COCO."""
    name = path.name.lower()
    fitting = [kind for kind, ending in ENDINGS.items() if name.endswith(ending)]
    if not fitting:
        raise ExportError(
            f"{path}: no format has this ending; use one of {' '.join(ENDINGS.values())}"
        )
    return max(fitting, key=lambda kind: len(ENDINGS[kind]))


def save(
    captions: DenseCaptions,
    path: Path,
    kind: str | None = None,
    clip: Clip | None = None,
    advance: Callable[[], None] = lambda: None,
    overwrite: bool = False,
) -> None:
    """Write `path`, whole or not at all, in the format of that name or else by its ending.

    Formats that need the clip open the captions' source, unless `clip` is given. `advance` is
    called after each picture of the clip that is drawn. What stands there is replaced only if
    `overwrite`, and never if it is the clip.
    """
    kind = kind or find_format(path)
    if kind not in ENDINGS:
        raise ExportError(f"{kind}: no such format; use one of {' '.join(ENDINGS)}")
    sources = [captions.source] if clip is None else [captions.source, clip.name]
    check_outputs([path], Inputs(clips=sources), overwrite)
    if kind in _TEXTS:
        _write(path, _TEXTS[kind](captions), overwrite)
        return
    clip = clip or open_clip(captions.source)
    if kind in _TRACKS:
        _write(path, _TRACKS[kind](captions, clip), overwrite)
    else:
        _SHOWS[kind](captions, clip, path, advance, overwrite)


def _write(path: Path, text: str, overwrite: bool) -> None:
    with replacing(path, overwrite) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
