"""What can be said in the test world: which words stand for which property."""

from __future__ import annotations

KIND_WORDS = {
    "ball": ("ball", "sphere"),
    "box": ("box", "square"),
    "triangle": ("triangle",),
    "star": ("star",),
    "cross": ("cross", "plus"),
    "ring": ("ring", "hoop"),
    "moon": ("moon", "crescent"),
    "heart": ("heart",),
}

COLOUR_WORDS = {
    "red": ("red", "scarlet"),
    "orange": ("orange",),
    "yellow": ("yellow", "golden"),
    "green": ("green", "emerald"),
    "blue": ("blue",),
    "purple": ("purple", "violet"),
}

TEXTURE_WORDS = {
    "plain": ("plain",),
    "striped": ("striped", "stripes"),
    "dotted": ("dotted", "dots"),
    "checked": ("checked", "checks"),
}
"""The adjective, then the noun of "with ...", which a plain thing lacks."""

MOTION_PHRASES = {
    "left": ("moves to the left", "is drifting left", "slides left"),
    "right": ("moves to the right", "is drifting right", "slides right"),
    "up": ("moves up", "is rising", "drifts upwards"),
    "down": ("moves down", "is sinking", "drifts downwards"),
    "bounce": ("bounces", "is bouncing", "hops again and again"),
    "circle": ("goes around in circles", "is circling", "orbits"),
    "shake": ("shakes", "is shaking", "trembles from side to side"),
    "still": ("stays still", "is resting", "rests"),
}

PLACE_PHRASES = {
    "wall": ("in front of a {shade} wall", "on a {shade} wall"),
    "carpet": ("on a {shade} carpet", "over a {shade} carpet"),
    "boards": ("on {shade} boards", "over {shade} boards"),
    "tiles": ("on {shade} tiles", "in front of {shade} tiles"),
}

SHADE_WORDS = ("dark", "grey", "pale")
"""Of the background; none is the colour of a thing, so that a colour word is always a thing's."""

FUNCTION_WORDS = frozenset(
    {"a", "again", "an", "around", "from", "front", "goes", "in", "is", "of", "on", "over", "see"}
    | {"side", "that", "the", "there", "to", "we", "which", "with"}
)
"""They hold for nothing that could have a box."""


def words_of(kind: str, colour: str, texture: str, motion: str) -> frozenset[str]:
    """Every word that holds for such a thing."""
    moving = {word for phrase in MOTION_PHRASES[motion] for word in phrase.split()}
    looks = {*KIND_WORDS[kind], *COLOUR_WORDS[colour], *TEXTURE_WORDS[texture]}
    return frozenset(looks | moving) - FUNCTION_WORDS
