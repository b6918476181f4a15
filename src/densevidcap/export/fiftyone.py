"""FiftyOne: its `FiftyOneVideoLabelsDataset`, whose labels are ETA's VideoLabels.

Sentences become temporal detections of the video (`captions`), boxes become detections of its
frames (`regions`) whose index is the sentence's rank. FiftyOne does not move boxes by itself, so
every frame gets its own.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from densevidcap.data.clip import Clip
from densevidcap.export.tracks import frames_of
from densevidcap.types import Box, DenseCaptions
from densevidcap.viz.sequences import box_at


def render_fiftyone(captions: DenseCaptions, clip: Clip) -> str:
    times = clip.times()
    events = []
    objects = defaultdict(list)
    for rank, caption in enumerate(captions, start=1):
        frames = frames_of(times, caption)
        label = {"label": caption.text, "confidence": caption.confidence, "index": rank}
        # FiftyOne counts frames from 1.
        support = {"ranges": [[frames.start + 1, frames.stop]]}
        events.append({"name": "captions", **label, "support": support})
        for frame in frames:
            box = box_at(caption.sequence, times[frame])
            objects[frame + 1].append({"name": "regions", **label, "bounding_box": _corners(box)})
    content = {
        "filename": Path(captions.source).name,
        "events": {"events": events},
        "frames": {
            str(frame): {"frame_number": frame, "objects": {"objects": objects[frame]}}
            for frame in sorted(objects)
        },
    }
    return json.dumps(content) + "\n"


def _corners(box: Box) -> dict[str, Any]:
    return {
        "top_left": {"x": box.left, "y": box.top},
        "bottom_right": {"x": box.right, "y": box.bottom},
    }
