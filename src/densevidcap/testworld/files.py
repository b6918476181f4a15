"""The test world on disk: real small videos, their manifest and the truth beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, astuple
from pathlib import Path

import av

from densevidcap.data.manifest import ClipRecord, write_manifest
from densevidcap.records import Frames
from densevidcap.testworld.world import FRAME_RATE, World, WorldClip

SPLITS = ("train",) * 8 + ("val", "test")
"""Clip n belongs to split n mod 10."""


def write_world(folder: Path | str, clips: Iterable[int], world: World) -> Path:
    """Write clips by their numbers and return the manifest's path.

    The folder gets a video for each clip, `manifest.jsonl`, and `truth.jsonl` with the things,
    their boxes (left, top, right, bottom for each frame) and which thing each sentence is about.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / "manifest.jsonl"
    write_manifest(manifest, _write_clips(folder, clips, world))
    return manifest


def _write_clips(folder: Path, clips: Iterable[int], world: World) -> Iterator[ClipRecord]:
    with (folder / "truth.jsonl").open("w", encoding="utf-8") as truth:
        for number in clips:
            clip = world.clip(number)
            video = folder / f"{clip.id}.mp4"
            _write_video(video, clip.frames)
            truth.write(json.dumps(_truth(clip)) + "\n")
            split = SPLITS[number % len(SPLITS)]
            yield ClipRecord(clip.id, str(video), clip.captions, clip.place, split)


def _truth(clip: WorldClip) -> dict[str, object]:
    things = [
        asdict(thing) | {"boxes": [astuple(box) for box in thing.boxes]} for thing in clip.things
    ]
    sentences = [asdict(sentence) for sentence in clip.sentences]
    return {"id": clip.id, "things": things, "sentences": sentences}


def _write_video(path: Path, frames: Frames) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FRAME_RATE, options={"crf": "18"})
        stream.height, stream.width = frames.images.shape[1:3]
        stream.pix_fmt = "yuv420p"
        for image in frames.images:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode())
