"""What can be said of a clip, and varied sentences that say it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from densevidcap.examples.scene import Actor, Scene
from densevidcap.examples.words import (
    COLOUR_WORDS,
    KIND_WORDS,
    MOTION_PHRASES,
    PLACE_PHRASES,
    TEXTURE_WORDS,
)

PATTERNS = (
    "{a_thing} {moves}",
    "{a_thing} {moves} {somewhere}",
    "the {thing} {moves}",
    "the {thing} {moves} {somewhere}",
    "there is {a_thing} that {moves}",
    "{somewhere} {a_thing} {moves}",
    "we see {a_thing} which {moves}",
)


def describe(rng: np.random.Generator, scene: Scene, actor: Actor, count: int) -> list[str]:
    """`count` different sentences; each names kind and motion, most of them colour or texture."""
    sentences: list[str] = []
    while len(sentences) < count:
        thing = _name(rng, actor)
        sentence = _pick(rng, PATTERNS).format(
            thing=thing,
            a_thing=f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}",
            moves=_pick(rng, MOTION_PHRASES[actor.way.motion]),
            somewhere=_pick(rng, PLACE_PHRASES[scene.place]).format(shade=scene.shade),
        )
        if sentence not in sentences:
            sentences.append(sentence)
    return sentences


def _name(rng: np.random.Generator, actor: Actor) -> str:
    """For example "scarlet ball with stripes"."""
    name = _pick(rng, KIND_WORDS[actor.kind])
    if rng.random() < 0.85:
        name = f"{_pick(rng, COLOUR_WORDS[actor.colour])} {name}"
    if actor.texture == "plain":
        return f"plain {name}" if rng.random() < 0.25 else name
    adjective, noun = TEXTURE_WORDS[actor.texture]
    return _pick(rng, (f"{adjective} {name}", f"{name} with {noun}", name))


def _pick(rng: np.random.Generator, options: Sequence[str]) -> str:
    return options[int(rng.integers(len(options)))]
