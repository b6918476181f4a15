"""Captions as JSON (`schema.json` says how) and back, without loss."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from densevidcap.data.text_files import read_json
from densevidcap.errors import CorpusError

if TYPE_CHECKING:
    from densevidcap.types import Box, Caption, DenseCaptions, Evidence, SourceFrame, Span

Number = TypeVar("Number", int, float)

VERSION = 3
"""Raised when a reader of older files would misunderstand newer ones. Older ones are read too: up
to 2, `frame` counted the frames that were looked at, so that where these stand in the source is not
known; in 1, boxes of captions follow from region and grid, and not from what they have as edges."""
SCHEMA = Path(__file__).with_name("schema.json")
UNSOUND = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What `from_dict` raises for content of another kind."""


def render_json(captions: DenseCaptions) -> str:
    # In ASCII, because names of files may hold what UTF-8 has no bytes for.
    return json.dumps(to_dict(captions), indent=1, allow_nan=False) + "\n"


def read_captions(path: Path) -> DenseCaptions:
    """What `render_json` wrote."""
    content = read_json(path, file_names=True)
    try:
        return from_dict(content)
    except CorpusError as error:
        raise CorpusError(f"{path}: {error}") from None
    except UNSOUND as error:
        raise CorpusError(
            f"{path}: not captions as densevidcap writes them ({error!r}); caption the clip again"
        ) from error


def to_dict(captions: DenseCaptions) -> dict[str, Any]:
    settings = {"settings": dict(captions.settings)} if captions.settings else {}
    silent = {"silent": [list(span) for span in captions.silent]} if captions.silent else {}
    return {
        "version": VERSION,
        "source": captions.source,
        "duration": captions.duration,
        "width": captions.width,
        "height": captions.height,
        "model": {"name": captions.model, "version": captions.model_version},
        **settings,
        **silent,
        **_outline_to_dict(captions),
        "captions": [caption_to_dict(caption) for caption in captions],
    }


def from_dict(content: dict[str, Any]) -> DenseCaptions:
    """What `to_dict` made, of this version or an earlier one; a CorpusError for a later one.

    What is of another kind, by whichever hand, raises one of `UNSOUND`.
    """
    from densevidcap.types import DenseCaptions

    version = _positive(_whole(content["version"]))
    if version > VERSION:
        raise CorpusError(
            f"version {version!s:.40} of the format, but this reads those up to {VERSION};"
            " update densevidcap or caption the clip again"
        )
    width, height = (_whole(content[name]) for name in ("width", "height"))
    if width or height:  # of features without pictures both are 0
        _positive(min(width, height))
    return DenseCaptions(
        source=_text(content["source"]),
        duration=_positive(_number(content["duration"])),
        width=width,
        height=height,
        captions=tuple(caption_from_dict(each, version) for each in content["captions"]),
        model=_text(content["model"]["name"]),
        model_version=_text(content["model"]["version"]),
        settings=dict(content.get("settings", {})),
        silent=tuple((_number(a), _number(b)) for a, b in content.get("silent", [])),
        scenes=_spans_from_list(content.get("scenes", [])),
        # Their titles, and the summary, follow from the sentences, which a person may correct.
        chapters=_spans_from_list(
            [(each["start"], each["end"]) for each in content.get("chapters", [])]
        ),
    )


def _outline_to_dict(captions: DenseCaptions) -> dict[str, Any]:
    """What only films have."""
    from densevidcap.pipeline.outline import list_chapters, summarise

    if not captions.scenes:
        return {}
    rows = [{"start": c.start, "end": c.end, "title": c.title} for c in list_chapters(captions)]
    return {
        "summary": summarise(captions),
        **({"chapters": rows} if captions.chapters else {}),
        "scenes": [list(span) for span in captions.scenes],
    }


def _spans_from_list(content: Sequence[Any]) -> tuple[Span, ...]:
    spans = tuple((_number(start), _number(end)) for start, end in content)
    edges = [edge for span in spans for edge in span]
    if edges != sorted(edges) or any(start >= end for start, end in spans):
        raise ValueError("scenes and chapters come by time, and do not overlap")
    return spans


def caption_to_dict(caption: Caption) -> dict[str, Any]:
    sequence = caption.sequence
    frames = sequence.source_frames or (None,) * len(sequence.times)
    return {
        "text": caption.text,
        **({"raw": caption.raw} if caption.raw != caption.text else {}),
        "confidence": caption.confidence,
        "log_probability": caption.log_probability,
        "start": caption.start,
        "end": caption.end,
        "boxes": [
            _place_to_dict(*place)
            for place in zip(sequence.times, frames, sequence.regions, sequence.boxes, strict=True)
        ],
        "evidence": [
            {
                "word": word.word,
                "probability": word.probability,
                "box": _place_to_dict(word.time, word.source_frame, word.region, word.box),
            }
            for word in caption.evidence
        ],
        "unsupported": list(caption.unsupported),
        "grid": asdict(sequence.grid),
    }


def caption_from_dict(content: dict[str, Any], version: int = VERSION) -> Caption:
    from densevidcap.types import Caption, Grid, RegionSequence

    boxes = content["boxes"]
    frames = tuple(_frame_from_dict(box, version) for box in boxes)
    known = tuple(frame for frame in frames if frame is not None)
    sequence = RegionSequence(
        grid=Grid(**{name: _whole(size) for name, size in content["grid"].items()}),
        regions=tuple(_whole(box["region"]) for box in boxes),
        times=tuple(_number(box["time"]) for box in boxes),
        source_frames=known or None,
        fitted=tuple(_box_from_dict(box) for box in boxes) if version > 1 else None,
    )
    # Regions that the grid does not have are noticed here rather than by whoever draws them.
    _ = sequence.grid_boxes
    return Caption(
        text=_text(content["text"]),
        raw=_text(content.get("raw", "")),
        confidence=_number(content["confidence"]),
        log_probability=_number(content["log_probability"]),
        start=_number(content["start"]),
        end=_number(content["end"]),
        sequence=sequence,
        evidence=tuple(_evidence_from_dict(word, version) for word in content["evidence"]),
        unsupported=tuple(_text(word) for word in content["unsupported"]),
    )


def _evidence_from_dict(content: dict[str, Any], version: int) -> Evidence:
    from densevidcap.types import Evidence

    box = content["box"]
    return Evidence(
        word=_text(content["word"]),
        probability=_number(content["probability"]),
        region=_whole(box["region"]),
        time=_number(box["time"]),
        box=_box_from_dict(box),
        source_frame=_frame_from_dict(box, version),
    )


def _frame_from_dict(content: dict[str, Any], version: int) -> SourceFrame | None:
    """None where the file does not say, as those of older versions never do."""
    from densevidcap.types import SourceFrame

    if version > 2 and "frame" not in content:
        return None
    frame = _whole(content["frame"])
    if frame < 0:
        raise ValueError(f"{frame} is below 0")
    return SourceFrame(frame) if version > 2 else None


def _box_from_dict(content: dict[str, Any]) -> Box:
    from densevidcap.types import Box

    return Box(*(_number(content[edge]) for edge in ("left", "top", "right", "bottom")))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{value!r:.40} is no number")
    return value


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r:.40} is no whole number")
    return value


def _positive(value: Number) -> Number:
    if value <= 0:
        raise ValueError(f"{value} is not above 0")
    return value


def _place_to_dict(time: float, frame: int | None, region: int, box: Box) -> dict[str, Any]:
    known = {} if frame is None else {"frame": frame}
    return {"time": time, **known, "region": region, **asdict(box)}
