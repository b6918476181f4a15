"""What happens in one clip: where things are, how they move, before any is drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from densevidcap.examples.layout import Way, find_ways
from densevidcap.examples.painting import Bounds, Paint, draw_place, draw_thing, mix_paint
from densevidcap.examples.words import (
    COLOUR_WORDS,
    KIND_WORDS,
    MOTION_PHRASES,
    PLACE_PHRASES,
    SHADE_WORDS,
    TEXTURE_WORDS,
)
from densevidcap.types import UInt8Array


@dataclass(frozen=True)
class Actor:
    """A thing and all that is needed to draw it."""

    kind: str
    colour: str
    texture: str
    way: Way
    paint: Paint


@dataclass(frozen=True)
class Scene:
    place: str
    shade: str
    brightness: float
    place_seed: int
    actors: tuple[Actor, ...]

    def render(self, size: int, frames: int) -> tuple[UInt8Array, list[Bounds]]:
        """(T, H, W, 3) RGB and, for each actor, its (T, 4) bounds in pixels."""
        background = draw_place(
            np.random.default_rng(self.place_seed),
            place=self.place,
            shade=self.shade,
            size=size,
            brightness=self.brightness,
        )
        canvas = np.repeat(background[None], frames, axis=0)
        phases = np.linspace(0, 1, frames)
        bounds = [
            draw_thing(
                canvas,
                actor.paint,
                kind=actor.kind,
                texture=actor.texture,
                centres=actor.way.centres(phases) * size,
                angles=actor.way.angles(phases),
                radius=actor.way.radius * size,
                brightness=self.brightness,
            )
            for actor in self.actors
        ]
        return canvas, bounds


def draw_scene(rng: np.random.Generator) -> Scene:
    """Two or three things of different kinds, so that a kind's word means one of them."""
    count = int(rng.integers(2, 4))
    kinds = _pick(rng, KIND_WORDS, count, repeat=False)
    colours = _pick(rng, COLOUR_WORDS, count)
    textures = _pick(rng, TEXTURE_WORDS, count)
    ways = find_ways(rng, _pick(rng, MOTION_PHRASES, count))
    return Scene(
        place=_pick(rng, PLACE_PHRASES, 1)[0],
        shade=_pick(rng, SHADE_WORDS, 1)[0],
        brightness=rng.uniform(0.75, 1.0),
        place_seed=int(rng.integers(2**32)),
        actors=tuple(
            Actor(kind, colour, texture, way, mix_paint(rng, colour))
            for kind, colour, texture, way in zip(kinds, colours, textures, ways, strict=True)
        ),
    )


def _pick(
    rng: np.random.Generator, options: Iterable[str], count: int, repeat: bool = True
) -> list[str]:
    options = list(options)
    return [options[i] for i in rng.choice(len(options), count, replace=repeat)]
