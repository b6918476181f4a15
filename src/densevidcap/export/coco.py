"""COCO: an image for each frame that was looked at, an annotation for each box in it.

As in COCO's video offspring, images name their video and frame, and annotations their track.
"""

from __future__ import annotations

import json
from pathlib import Path

from densevidcap import __version__
from densevidcap.data.clip import Clip
from densevidcap.export.tracks import LABEL, key_boxes
from densevidcap.types import Box, DenseCaptions


def render_coco(captions: DenseCaptions, clip: Clip) -> str:
    times = clip.times()
    size = {"width": captions.width, "height": captions.height}
    boxes = [
        (frame, rank, box)
        for rank, caption in enumerate(captions)
        for frame, box in key_boxes(times, caption).items()
    ]
    frames = sorted({frame for frame, _, _ in boxes})
    image_ids = {frame: number for number, frame in enumerate(frames, start=1)}
    content = {
        "info": {"description": captions.source, "version": f"densevidcap {__version__}"},
        "licenses": [],
        "videos": [{"id": 1, "name": Path(captions.source).name, **size}],
        "images": [
            {
                "id": number,
                "file_name": f"frame_{frame:06}.png",
                "video_id": 1,
                "frame_id": frame,
                "time": float(times[frame]),
                **size,
            }
            for frame, number in image_ids.items()
        ],
        "categories": [{"id": 1, "name": LABEL, "supercategory": "region"}],
        "annotations": [
            {
                "id": number,
                "image_id": image_ids[frame],
                "category_id": 1,
                **_measure(box, captions),
                "iscrowd": 0,
                "track_id": rank + 1,
                "caption": captions[rank].text,
                "score": captions[rank].confidence,
            }
            for number, (frame, rank, box) in enumerate(boxes, start=1)
        ],
    }
    return json.dumps(content, indent=1) + "\n"


def _measure(box: Box, captions: DenseCaptions) -> dict[str, object]:
    """In pixels; the outline stands for a mask, which some tools insist on."""
    left, right = box.left * captions.width, box.right * captions.width
    top, bottom = box.top * captions.height, box.bottom * captions.height
    return {
        "bbox": [left, top, right - left, bottom - top],
        "area": (right - left) * (bottom - top),
        "segmentation": [[left, top, right, top, right, bottom, left, bottom]],
    }
