"""The test world on disk: real small videos, their manifest and the truth beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

import av
import numpy as np

from densevidcap.data.manifest import ClipRecord, write_manifest
from densevidcap.examples.scene import Scene, draw_scene
from densevidcap.examples.sentences import describe
from densevidcap.examples.words import words_of
from densevidcap.types import Box, Frames

FRAME_RATE = 6
"""Frames a second."""

SENTENCES_PER_THING = 4


@dataclass(frozen=True)
class Thing:
    """What moves in a clip, and where it truly is."""

    kind: str
    colour: str
    texture: str
    motion: str
    boxes: tuple[Box, ...]
    """One for each frame."""

    @property
    def words(self) -> frozenset[str]:
        """Every word that holds for it, whether or not a sentence says it."""
        return words_of(self.kind, self.colour, self.texture, self.motion)


@dataclass(frozen=True)
class WorldSentence:
    """A caption, and which thing it is about."""

    text: str
    thing: int
    """Index into the clip's things."""


@dataclass(frozen=True)
class WorldClip:
    """A clip of the test world with its captions and its truth."""

    id: str
    place: str
    frames: Frames
    sentences: tuple[WorldSentence, ...]
    things: tuple[Thing, ...]

    @property
    def captions(self) -> tuple[str, ...]:
        return tuple(sentence.text for sentence in self.sentences)

    def boxes(self, word: str, frame: int) -> list[Box]:
        """Where a word holds in a frame; empty for function words and words of the background."""
        return [thing.boxes[frame] for thing in self.things if word in thing.words]


@dataclass(frozen=True)
class World:
    """An endless row of clips; the same seed and number give the same clip on every machine.

    Size and number of frames change how finely a clip is drawn, not what happens in it.
    """

    seed: int = 0
    size: int = 160
    frames: int = 12

    def __post_init__(self) -> None:
        if self.size < 64 or self.size % 2:
            raise ValueError(f"size must be even (H.264) and at least 64 pixels, not {self.size}")
        if self.frames < 2:
            raise ValueError("nothing moves in fewer than two frames")

    def scene(self, number: int) -> Scene:
        """What happens in a clip, not yet drawn."""
        return draw_scene(np.random.default_rng((self.seed, number)))

    def clip(self, number: int) -> WorldClip:
        scene = self.scene(number)
        images, bounds = scene.render(self.size, self.frames)
        return WorldClip(
            id=f"world-{self.seed}-{number:05d}",
            place=scene.place,
            frames=Frames(images, np.arange(self.frames) / FRAME_RATE, np.arange(self.frames)),
            sentences=_tell(np.random.default_rng((self.seed, number, 1)), scene),
            things=tuple(
                Thing(
                    actor.kind,
                    actor.colour,
                    actor.texture,
                    actor.way.motion,
                    tuple(Box(*edges) for edges in (pixels / self.size).tolist()),
                )
                for actor, pixels in zip(scene.actors, bounds, strict=True)
            ),
        )


def _tell(rng: np.random.Generator, scene: Scene) -> tuple[WorldSentence, ...]:
    """The sentences of all things, in an order that does not tell which is about which."""
    sentences = [
        WorldSentence(text, thing)
        for thing, actor in enumerate(scene.actors)
        for text in describe(rng, scene, actor, SENTENCES_PER_THING)
    ]
    return tuple(sentences[i] for i in rng.permutation(len(sentences)))


SPLITS = ("train",) * 8 + ("val", "test")
"""Clip n belongs to split n mod 10."""


CODING = {"crf": "18", "x264-params": "mbtree=0"}
"""With x264's tree of macroblocks, small frames are coded a little differently each time."""


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
        stream = container.add_stream("libx264", rate=FRAME_RATE, options=CODING)
        stream.height, stream.width = frames.images.shape[1:3]
        stream.pix_fmt = "yuv420p"
        for image in frames.images:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode())
