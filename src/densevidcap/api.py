"""The package from Python: a model that takes whatever holds frames, and results that show
themselves in a notebook."""

from __future__ import annotations

import base64
import html
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from densevidcap.data.arrays import ArrayClip
from densevidcap.data.clip import PICTURES_PER_SECOND, Clip, open_clip
from densevidcap.errors import ClipError, MissingExtraError
from densevidcap.export import json_file
from densevidcap.export.formats import save
from densevidcap.export.sets import SetRow, list_cells, parse_columns
from densevidcap.pipeline.captioner import DenseCaptioner
from densevidcap.types import DenseCaptions, UInt8Array
from densevidcap.viz.contact_sheet import draw_moments

if TYPE_CHECKING:
    import pandas
    from PIL import Image

Source: TypeAlias = "Path | str | Clip | UInt8Array"
"""A file or folder of frames, a clip that is open, or frames (N, H, W, 3) of 8 bits."""

MOMENTS = 4
"""Frames that a notebook shows."""


@dataclass(frozen=True, repr=False)
class Result(DenseCaptions):
    """What was said of one source, and the source."""

    clip: Clip | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        if not self.captions:
            return f"<nothing said of {self.source}>"
        first, others = self.captions[0], len(self.captions) - 1
        more = f" and {others} more" if others else ""
        return f"<{self.source}: {first.text!r} ({first.verdict}){more}>"

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON files."""
        return json_file.to_dict(self)

    def to_pandas(self, columns: str | None = None) -> pandas.DataFrame:
        """A row for each sentence, the best first; columns as in `densevidcap export --columns`."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("pandas", "notebook", "a table of sentences") from None
        wanted = parse_columns(columns)
        cells = list_cells(SetRow(self.source, self.source, self), wanted)
        return pandas.DataFrame(cells, columns=[*wanted])

    def save(self, path: Path | str, overwrite: bool = False) -> None:
        """In the format of the ending: .json, .vtt, .html, .mp4 and others (docs/export.md)."""
        save(self, Path(path), clip=self.clip, overwrite=overwrite)

    def draw(self) -> Image.Image:
        """A few frames side by side, with the boxes of what is said of them."""
        clip = self.clip or open_clip(self.source)
        clip.require_pictures("drawing")
        return draw_moments(self.captions, clip, MOMENTS)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<li>{html.escape(caption.text)} <small>{caption.verdict}, "
            f"{caption.confidence:.0%}, {caption.start:.1f} to {caption.end:.1f} s</small></li>"
            for caption in self.captions
        )
        said = f"<ol>{rows}</ol>" if rows else "<p>Nothing is said of it.</p>"
        return f"<div><b>{html.escape(self.source)}</b>{self._show_frames()}{said}</div>"

    def _show_frames(self) -> str:
        try:
            picture = self.draw()
        except ClipError:
            # The result outlives its file, and may be of features alone.
            return ""
        file = BytesIO()
        picture.save(file, "JPEG", quality=85)
        data = base64.b64encode(file.getvalue()).decode()
        return f'<br><img alt="frames with boxes" src="data:image/jpeg;base64,{data}">'


class Model(DenseCaptioner):
    """A model of every stage, for use from Python."""

    def caption(
        self,
        source: Source,
        *,
        frame_rate: float = PICTURES_PER_SECOND,
        settings: Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> Result:
        """At most k sentences of a clip, or of each of its shots, the best first.

        `frame_rate` times frames of arrays and folders, which do not tell. Keywords are those of
        `DenseCaptioner.caption`: k, diversity, frames, beam, seed, sure, per_shot, fast.
        """
        clip = open_source(source, frame_rate)
        said = super().caption(clip, settings=settings, **keywords)
        known = {each.name: getattr(said, each.name) for each in fields(DenseCaptions)}
        return Result(**known, clip=clip)

    def caption_many(
        self, sources: Iterable[Source], *, skip: bool = False, **keywords: Any
    ) -> Iterator[Result]:
        """Each clip's result as soon as it is there, with progress on a terminal or in a notebook.

        With `skip`, a clip that cannot be read is a warning and not an error. For thousands of
        files that shall survive an interruption, make a library: `densevidcap caption FOLDER`.
        """
        if isinstance(sources, str | PathLike | Clip | np.ndarray):
            raise TypeError(
                "caption_many: several clips are wanted; for one, use model.caption(clip)"
            )
        from rich.progress import track

        for source in track(list(sources), description="captioning", transient=True):
            result = self._try(source, keywords) if skip else self.caption(source, **keywords)
            if result is not None:
                yield result

    def _try(self, source: Source, keywords: Mapping[str, Any]) -> Result | None:
        try:
            return self.caption(source, **keywords)
        except ClipError as error:
            warnings.warn(str(error), stacklevel=3)
            return None


def open_source(source: Source, frame_rate: float = PICTURES_PER_SECOND) -> Clip:
    """The clip that this is, or a TypeError that says what could be."""
    if isinstance(source, Clip):
        return source
    if isinstance(source, str | PathLike):
        return open_clip(source, frame_rate=frame_rate)
    if isinstance(source, np.ndarray):
        return ArrayClip(source, frame_rate)
    raise TypeError(
        f"no clip is a {type(source).__name__}; give a path, or frames as an array (N, H, W, 3)"
        " of uint8; for several clips, use model.caption_many"
    )
