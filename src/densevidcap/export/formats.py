"""Which writer writes what: by name, or by the file's ending."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from densevidcap.errors import DenseVidCapError
from densevidcap.files import replacing
from densevidcap.outputs import Inputs, check_outputs

if TYPE_CHECKING:
    from densevidcap.data.clip import Clip
    from densevidcap.types import DenseCaptions


@dataclass(frozen=True)
class Format:
    """A kind of file, and the function of this room that makes it, imported when it is used."""

    ending: str
    writer: str
    """`module:function`."""
    needs: Literal["captions", "times", "pictures"]
    """What the writer is given: the captions, to make a text of; the clip too, for the times of its
    frames; or the clip, the path and all that drawing takes, to write the file itself."""
    about: str
    """For people."""

    def load_writer(self) -> Callable[..., Any]:
        module, _, function = self.writer.partition(":")
        writer: Callable[..., Any] = getattr(
            importlib.import_module(f"densevidcap.export.{module}"), function
        )
        return writer


FORMATS = {
    "json": Format(".json", "json_file:render_json", "captions", "all of it, for programs"),
    "vtt": Format(".vtt", "subtitles:render_vtt", "captions", "subtitles for the web"),
    "srt": Format(".srt", "subtitles:render_srt", "captions", "subtitles"),
    "chapters": Format(
        ".chapters.vtt", "subtitles:render_chapters_vtt", "captions", "chapters for the web"
    ),
    "chapters-srt": Format(
        ".chapters.srt", "subtitles:render_chapters_srt", "captions", "chapters as subtitles"
    ),
    "chapters-txt": Format(
        ".chapters.txt", "subtitles:render_chapters_txt", "captions", "chapters as text"
    ),
    "mp4": Format(".mp4", "film:write_annotated", "pictures", "the film with its boxes"),
    "html": Format(".html", "report:write_report", "pictures", "a report to look at"),
    "coco": Format(".coco.json", "coco:render_coco", "times", "boxes for COCO tools"),
    "cvat": Format(".cvat.xml", "cvat:render_cvat", "times", "boxes for CVAT"),
    "fiftyone": Format(".fiftyone.json", "fiftyone:render_fiftyone", "times", "boxes for FiftyOne"),
}
"""One line for each; everything that offers formats reads this."""


@dataclass(frozen=True)
class SetFormat:
    """A kind of file about a set."""

    ending: str
    """Of the one file of all clips, with its name, or of each clip's."""
    per: Literal["set", "clip"]
    about: str
    """For people."""


SET_FORMATS = {
    "jsonl": SetFormat("captions.jsonl", "set", "JSON Lines: everything, one clip a line"),
    "csv": SetFormat("captions.csv", "set", "a table, one sentence a row (--columns)"),
    "parquet": SetFormat("captions.parquet", "set", "the same table; extra `tables`"),
    "huggingface": SetFormat("metadata.jsonl", "set", "VideoFolder's list of files and captions"),
    "predictions": SetFormat("predictions.json", "set", "for `densevidcap evaluate`"),
    "txt": SetFormat(".txt", "clip", "sentences alone, one a line"),
    "xmp": SetFormat(".xmp", "clip", "a sidecar for photo and film managers"),
}
"""Those that only sets have; those of single clips can be written of each clip too."""

ENDINGS = {kind: each.ending for kind, each in FORMATS.items()}
"""Format to the ending of its files."""


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


def check_pictures(clip: Clip, kind: str) -> None:
    """Refuse a format of pictures, or of places in them, for a clip that has none."""
    if FORMATS[kind].needs != "captions":
        plain = ", ".join(name for name, each in FORMATS.items() if each.needs == "captions")
        clip.require_pictures(f"{kind} (unlike {plain})")


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
    # Here, because the command line lists formats and answers `--help` without NumPy.
    from densevidcap.data.clip import open_clip

    kind = kind or find_format(path)
    if kind not in ENDINGS:
        raise ExportError(f"{kind}: no such format; use one of {' '.join(ENDINGS)}")
    sources = [captions.source] if clip is None else [captions.source, clip.name]
    check_outputs([path], Inputs(clips=sources), overwrite)
    found = FORMATS[kind]
    writer = found.load_writer()
    if found.needs == "captions":
        _write(path, writer(captions), overwrite)
        return
    clip = clip or open_clip(captions.source)
    check_pictures(clip, kind)
    if found.needs == "times":
        _write(path, writer(captions, clip), overwrite)
    else:
        writer(captions, clip, path, advance, overwrite)


def _write(path: Path, text: str, overwrite: bool) -> None:
    with replacing(path, overwrite) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
