"""Captions as JSON (`schema.json` says how) and back, without loss."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from densevidcap.data.text_files import read_json
from densevidcap.errors import CorpusError
from densevidcap.records import Box, Caption, DenseCaptions, Evidence, Grid, RegionSequence

VERSION = 1
"""Raised when a reader of older files would misunderstand newer ones."""
SCHEMA = Path(__file__).with_name("schema.json")


def render_json(captions: DenseCaptions) -> str:
    # In ASCII, because names of files may hold what UTF-8 has no bytes for.
    return json.dumps(to_dict(captions), indent=1, allow_nan=False) + "\n"


def read_captions(path: Path) -> DenseCaptions:
    """What `render_json` wrote."""
    content = read_json(path, file_names=True)
    try:
        if content["version"] != VERSION:
            raise CorpusError(
                f"{path}: version {content['version']} of the format, but this reads {VERSION};"
                " update densevidcap or caption the clip again"
            )
        return from_dict(content)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise CorpusError(
            f"{path}: not captions as densevidcap writes them ({error!r}); caption the clip again"
        ) from error


def to_dict(captions: DenseCaptions) -> dict[str, Any]:
    return {
        "version": VERSION,
        "source": captions.source,
        "duration": captions.duration,
        "width": captions.width,
        "height": captions.height,
        "model": {"name": captions.model, "version": captions.model_version},
        "captions": [_caption_to_dict(caption) for caption in captions],
    }


def from_dict(content: dict[str, Any]) -> DenseCaptions:
    return DenseCaptions(
        source=content["source"],
        duration=content["duration"],
        width=content["width"],
        height=content["height"],
        captions=tuple(_caption_from_dict(caption) for caption in content["captions"]),
        model=content["model"]["name"],
        model_version=content["model"]["version"],
    )


def _caption_to_dict(caption: Caption) -> dict[str, Any]:
    sequence = caption.sequence
    return {
        "text": caption.text,
        "confidence": caption.confidence,
        "log_probability": caption.log_probability,
        "start": caption.start,
        "end": caption.end,
        "boxes": [
            _place_to_dict(*place)
            for place in zip(
                sequence.times, sequence.frames, sequence.regions, sequence.boxes, strict=True
            )
        ],
        "evidence": [
            {
                "word": word.word,
                "probability": word.probability,
                "box": _place_to_dict(word.time, word.frame, word.region, word.box),
            }
            for word in caption.evidence
        ],
        "unsupported": list(caption.unsupported),
        "grid": asdict(sequence.grid),
    }


def _caption_from_dict(content: dict[str, Any]) -> Caption:
    boxes = content["boxes"]
    sequence = RegionSequence(
        grid=Grid(**content["grid"]),
        frames=tuple(box["frame"] for box in boxes),
        regions=tuple(box["region"] for box in boxes),
        times=tuple(box["time"] for box in boxes),
    )
    return Caption(
        text=content["text"],
        confidence=content["confidence"],
        log_probability=content["log_probability"],
        start=content["start"],
        end=content["end"],
        sequence=sequence,
        evidence=tuple(_evidence_from_dict(word) for word in content["evidence"]),
        unsupported=tuple(content["unsupported"]),
    )


def _evidence_from_dict(content: dict[str, Any]) -> Evidence:
    box = content["box"]
    return Evidence(
        word=content["word"],
        probability=content["probability"],
        frame=box["frame"],
        region=box["region"],
        time=box["time"],
        box=Box(box["left"], box["top"], box["right"], box["bottom"]),
    )


def _place_to_dict(time: float, frame: int, region: int, box: Box) -> dict[str, Any]:
    return {"time": time, "frame": frame, "region": region, **asdict(box)}
