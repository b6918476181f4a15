"""What the studio's questions are answered with; FastAPI describes them in its OpenAPI page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from PIL import Image
from pydantic import BaseModel, Field

from densevidcap.data.lexicon import list_content_words
from densevidcap.export.json_file import to_dict
from densevidcap.library.store import Correction
from densevidcap.pipeline.analysis import Analysis, Segment
from densevidcap.types import Caption, DenseCaptions, FloatArray, Verdict
from densevidcap.viz.captions import assign_colours, assign_lanes

if TYPE_CHECKING:
    from densevidcap.studio.supervisor import Supervisor

TILE = 48, 48
"""Pixels of a frame in a heat map: the browser smooths it when it fits it to the video."""
UNSEEN = 0.005
"""Probabilities up to here, which are told as 0 %, do not glow."""


class Fault(BaseModel):
    """Why not."""

    detail: str


class FileKind(BaseModel):
    """A format that captions are exported in."""

    ending: str
    about: str = Field(description="For people.")


class Facts(BaseModel):
    """What the page should know of its studio."""

    version: str
    formats: dict[str, FileKind] = Field(description="Of exports, by name.")
    library: str | None = Field(description="What the library is called, if there is one.")
    limits: str = Field(description="Which clips fit, for people.")
    max_bytes: int
    max_days: float | None = Field(description="How long clips are kept; null for ever.")


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


class Note(BaseModel):
    """What a person says of a sentence."""

    said: str = Field(description="The model's own sentence.")
    mark: Literal["", "approved", "changed"]


class Result(BaseModel):
    """Captions, and how to show them."""

    captions: dict[str, Any] = Field(description="As in `.json` exports (see their schema).")
    colours: list[str] = Field(description="Of each caption, the same as in exports.")
    lanes: list[int] = Field(
        description="Of each caption, from 0 on: in one lane no two hold at the same time."
    )
    verdicts: list[str] = Field(description="Of each caption: sure, likely or guess.")
    words: list[str] = Field(description="Content words of the sentences that have a heat map.")
    usual: dict[str, float] = Field(
        description="k, diversity and sure as they are where nothing else is asked for."
    )

    notes: list[Note] = Field(description="Of each caption; none without a library.")
    rejected: list[str] = Field(description="Sentences that a person left out.")
    missing: bool = Field(description="Whether the clip's file is gone.")

    @classmethod
    def of(
        cls,
        captions: DenseCaptions,
        analysis: Analysis | None = None,
        corrections: Sequence[Correction] | None = None,
        missing: bool = False,
    ) -> Result:
        """`analysis` is what they were chosen from, if it is there."""
        segments = analysis.segments if analysis else ()
        lexicon = {word for segment in segments for word in segment.words}
        said = {word for caption in captions for word in list_content_words(caption.text)}
        return cls(
            captions=to_dict(captions),
            colours=[
                "#{:02x}{:02x}{:02x}".format(*each) for each in assign_colours(captions.captions)
            ],
            lanes=assign_lanes(captions.captions),
            verdicts=[caption.verdict for caption in captions],
            words=sorted(said & lexicon),
            usual={name: getattr(analysis.config.selection, name) for name in CHOICE}
            if analysis
            else {},
            notes=[] if corrections is None else [_note(each, corrections) for each in captions],
            rejected=[each.said for each in corrections or () if each.caption is None],
            missing=missing,
        )


def _note(caption: Caption, corrections: Sequence[Correction]) -> Note:
    for each in corrections:
        if each.caption == caption:
            return Note(said=each.said, mark="approved" if each.is_approval else "changed")
    return Note(said=caption.text, mark="")


class Card(BaseModel):
    """A clip of a library at a glance."""

    id: str
    name: str
    text: str = Field(description="Its first sentence.")
    confidence: float
    verdict: Verdict = Field(description="The confidence in a word.")
    sentences: int
    duration: float
    width: int
    height: int
    corrected: int = Field(description="Sentences that a person said something of.")
    made: float = Field(description="Seconds since 1970 when it was captioned.")
    missing: bool = Field(description="Whether its file is gone.")


class Cards(BaseModel):
    """A page of a library."""

    total: int = Field(description="Clips there are.")
    fitting: int = Field(description="Clips that fit what was asked for.")
    corrected: int = Field(description="Clips that a person said something of.")
    clips: list[Card]


class Word(BaseModel):
    word: str
    probability: float


class Answer(BaseModel):
    """A stretch of a clip that fits a question."""

    id: str
    name: str
    start: float
    end: float
    time: float = Field(description="When it is seen best.")
    box: tuple[float, float, float, float] | None = Field(description="Where it is then.")
    score: float
    words: list[Word] = Field(description="Of the question, as far as they are seen.")
    sentence: str | None
    confidence: float | None
    verdict: Verdict | None


class Answers(BaseModel):
    answers: list[Answer] = Field(description="The best first.")
    seconds: float = Field(description="What looking took.")


class Training(BaseModel):
    """What there is to learn from people."""

    manifest: str = Field(description="The file that was written.")
    clips: int
    sentences: int
    missing: int = Field(description="Clips whose files are gone.")
    command: str = Field(description="What learns from it.")
    then: str = Field(description="What opens the library with what was learned.")


class HeatMap(BaseModel):
    """How strongly each place of a stretch of the clip answers to a word.

    The brightest place of a frame has P(word | region) of the frame's best region, which is what
    evidence tells too; how it is spread follows from smaller windows where these are known. The
    same brightness is the same probability in every map.
    """

    word: str
    peak: float = Field(description="The strongest P(word | region).")
    peak_time: float = Field(description="Seconds of the frame that has it.")
    times: list[float] = Field(description="Seconds of the frames that were looked at.")
    strongest: list[float] = Field(description="P(word | region) of each frame's best region.")
    picture: str = Field(
        description="A PNG as data URL: a tile for each frame, below each other, to be laid over"
        " the whole video."
    )

    @classmethod
    def of(cls, segment: Segment, word: str) -> HeatMap:
        # The colours and the smoothing of the pictures that `densevidcap words` draws.
        from densevidcap.viz.responses import colour, level, opacity, spread

        grid, responses = segment.map_closely(word)
        strongest = segment.respond(word).max(axis=1)
        fields = [spread(each, grid, TILE) for each in level(responses, strongest)]
        probabilities = np.concatenate(fields)
        strengths = brightness(probabilities)
        # What is as good as not there is not painted at all.
        seen = np.clip(probabilities / UNSEEN - 1, 0, 1)
        layers = np.concatenate(
            [colour(strengths), (255 * seen * opacity(strengths))[..., None]], axis=-1
        )
        file = BytesIO()
        Image.fromarray(layers.astype(np.uint8), "RGBA").save(file, "PNG")
        return cls(
            word=word,
            peak=float(strongest.max()),
            peak_time=float(segment.times[strongest.argmax()]),
            times=segment.times.tolist(),
            strongest=[round(float(each), 4) for each in strongest],
            picture=f"data:image/png;base64,{b64encode(file.getvalue()).decode()}",
        )


def brightness(probabilities: FloatArray) -> FloatArray:
    """From probabilities to places on the ramp: the square root, because most are small."""
    return np.asarray(np.sqrt(np.clip(probabilities, 0, 1)))
