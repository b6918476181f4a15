"""The test world: a seed and a number make a clip, its sentences and the truth about them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from densevidcap.records import Box, Frames
from densevidcap.testworld.scene import Scene, draw_scene
from densevidcap.testworld.sentences import describe
from densevidcap.testworld.words import words_of

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
            frames=Frames(images, np.arange(self.frames) / FRAME_RATE),
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
