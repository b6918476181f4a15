"""CVAT for video 1.1: a track for each caption, with keyframes where frames were looked at.

Between keyframes CVAT moves boxes evenly, as we do.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from densevidcap.data.clip import Clip
from densevidcap.data.text import one_line
from densevidcap.export.tracks import LABEL, frames_of, key_boxes
from densevidcap.types import Box, Caption, DenseCaptions, TimeArray

ATTRIBUTES = ("caption", "rank", "confidence")


def render_cvat(captions: DenseCaptions, clip: Clip) -> str:
    times = clip.times()
    root = ET.Element("annotations")
    _add(root, "version", "1.1")
    _describe_task(_add(_add(root, "meta"), "task"), captions, len(times))
    for rank, caption in enumerate(captions, start=1):
        track = ET.SubElement(root, "track", id=str(rank - 1), label=LABEL, source="auto")
        values = (one_line(caption.text), str(rank), f"{caption.confidence:.4f}")
        attributes = dict(zip(ATTRIBUTES, values, strict=True))
        for frame, box, outside in _keyframes(caption, times):
            _add_box(track, frame, box, outside, captions, attributes)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, "unicode") + "\n"


def _describe_task(task: ET.Element, captions: DenseCaptions, frames: int) -> None:
    _add(task, "name", one_line(Path(captions.source).name))
    _add(task, "size", str(frames))
    _add(task, "mode", "interpolation")
    label = _add(_add(task, "labels"), "label")
    _add(label, "name", LABEL)
    _add(label, "type", "rectangle")
    attributes = _add(label, "attributes")
    for name in ATTRIBUTES:
        attribute = _add(attributes, "attribute")
        _add(attribute, "name", name)
        _add(attribute, "mutable", "False")
        _add(attribute, "input_type", "text")
        _add(attribute, "default_value")
        _add(attribute, "values")
    size = _add(task, "original_size")
    _add(size, "width", str(captions.width))
    _add(size, "height", str(captions.height))


def _keyframes(caption: Caption, times: TimeArray) -> list[tuple[int, Box, bool]]:
    """(frame, box, outside): from the caption's first frame to the one after its last."""
    frames = frames_of(times, caption)
    boxes = {frames.start: caption.boxes[0]} | key_boxes(times, caption)
    keyframes = [(frame, box, False) for frame, box in boxes.items()]
    if frames.stop < len(times):
        keyframes.append((frames.stop, caption.boxes[-1], True))
    return keyframes


def _add_box(
    track: ET.Element,
    frame: int,
    box: Box,
    outside: bool,
    captions: DenseCaptions,
    attributes: Mapping[str, str],
) -> None:
    element = ET.SubElement(
        track,
        "box",
        frame=str(frame),
        keyframe="1",
        outside=str(int(outside)),
        occluded="0",
        xtl=f"{box.left * captions.width:.2f}",
        ytl=f"{box.top * captions.height:.2f}",
        xbr=f"{box.right * captions.width:.2f}",
        ybr=f"{box.bottom * captions.height:.2f}",
        z_order="0",
    )
    for name, value in attributes.items():
        _add(element, "attribute", value).set("name", name)


def _add(parent: ET.Element, tag: str, text: str = "") -> ET.Element:
    element = ET.SubElement(parent, tag)
    element.text = text
    return element
