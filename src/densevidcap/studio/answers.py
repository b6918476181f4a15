"""What the studio's questions are answered with; FastAPI describes them in its OpenAPI page."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image
from pydantic import BaseModel, Field

from densevidcap.data.lexicon import list_content_words
from densevidcap.export.json_file import to_dict
from densevidcap.pipeline.analysis import Analysis, Segment
from densevidcap.types import DenseCaptions
from densevidcap.viz.captions import assign_lanes
from densevidcap.viz.colours import colour_of

if TYPE_CHECKING:
    from densevidcap.studio.supervisor import Supervisor

TILE = 48, 48
"""Pixels of a frame in a heat map: the browser smooths it when it fits it to the video."""


class Fault(BaseModel):
    """Why not."""

    detail: str


class Facts(BaseModel):
    """What the page should know of its studio."""

    version: str
    formats: dict[str, str] = Field(description="Of exports: name to the ending of files.")
    limits: str = Field(description="Which clips fit, for people.")
    max_bytes: int
    max_days: float = Field(description="How long clips are kept.")


class Health(BaseModel):
    """Whether clips are being captioned, as it was a moment ago."""

    ok: bool = Field(description="Whether nothing is wrong.")
    worker: bool = Field(description="Whether the process that captions is alive.")
    supervisor: bool = Field(description="Whether somebody looks after it.")
    errors: list[str] = Field(description="What keeps going wrong.")
    since: float | None = Field(description="Seconds since 1970 from which on it has gone wrong.")
    last_error: str = Field(description="What went wrong last, also if it is mended.")
    last_error_time: float | None = Field(description="Seconds since 1970.")

    @classmethod
    def of(cls, supervisor: Supervisor) -> Health:
        faults, last = [*supervisor.faults.values()], supervisor.last_fault
        if not supervisor.is_working and not faults and last is not None:
            faults = [last]
        return cls(
            ok=supervisor.is_working and supervisor.is_watching and not faults,
            worker=supervisor.is_working,
            supervisor=supervisor.is_watching,
            errors=[fault.message for fault in faults],
            since=min((fault.time for fault in faults), default=None),
            last_error=last.message if last else "",
            last_error_time=last.time if last else None,
        )


CHOICE = ("k", "diversity", "sure")
"""What a person chooses by; fields of `SelectionConfig`."""


class Result(BaseModel):
    """Captions, and how to show them."""

    captions: dict[str, Any] = Field(description="As in `.json` exports (see their schema).")
    colours: list[str] = Field(description="Of each caption, the same as in exports.")
    verdicts: list[str] = Field(description="Of each caption: sure, likely or guess.")
    words: list[str] = Field(description="Content words of the sentences that have a heat map.")
    usual: dict[str, float] = Field(
        description="k, diversity and sure as they are where nothing else is asked for."
    )

    @classmethod
    def of(cls, captions: DenseCaptions, analysis: Analysis | None = None) -> Result:
        """`analysis` is what they were chosen from, if it is there."""
        segments = analysis.segments if analysis else ()
        lexicon = {word for segment in segments for word in segment.words}
        said = {word for caption in captions for word in list_content_words(caption.text)}
        return cls(
            captions=to_dict(captions),
            colours=[
                "#{:02x}{:02x}{:02x}".format(*colour_of(lane).rgb)
                for lane in assign_lanes(captions.captions)
            ],
            verdicts=[caption.verdict for caption in captions],
            words=sorted(said & lexicon),
            usual={name: getattr(analysis.config.selection, name) for name in CHOICE}
            if analysis
            else {},
        )


class HeatMap(BaseModel):
    """How strongly each place of a stretch of the clip answers to a word."""

    word: str
    peak: float = Field(description="The strongest P(word | region): full glow.")
    peak_time: float = Field(description="Seconds of the frame that has it.")
    times: list[float] = Field(description="Seconds of the frames that were looked at.")
    picture: str = Field(
        description="A PNG as data URL: a tile for each frame, below each other, to be laid over"
        " the whole video."
    )

    @classmethod
    def of(cls, segment: Segment, word: str) -> HeatMap:
        # The colours and the smoothing of the pictures that `densevidcap words` draws.
        from densevidcap.viz.responses import colour, opacity, spread

        grid, responses = segment.map_closely(word)
        peak = max(float(responses.max()), 1e-6)
        strengths = np.concatenate([spread(each / peak, grid, TILE) for each in responses])
        layers = np.concatenate([colour(strengths), 255 * opacity(strengths)[..., None]], axis=-1)
        file = BytesIO()
        Image.fromarray(layers.astype(np.uint8), "RGBA").save(file, "PNG")
        return cls(
            word=word,
            peak=peak,
            peak_time=float(segment.times[responses.max(axis=1).argmax()]),
            times=segment.times.tolist(),
            picture=f"data:image/png;base64,{b64encode(file.getvalue()).decode()}",
        )
