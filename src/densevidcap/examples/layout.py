"""Where things are and how they move, in fractions of the frame: they never leave it or overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

REACH = 1.15
"""A thing of radius r lies within the circle of radius REACH * r, whatever its kind."""

RADII = (0.14, 0.2)
"""A thing is about twice its radius wide: 28-40% of the frame."""

TRAVELS = (0.22, 0.42)
"""Frame widths from one end of a path to the other."""

GAP = 0.015
"""Least distance of things to each other and to the frame's border."""

CHECKED_PHASES = np.linspace(0, 1, 25)
"""Phases at which a layout is checked, whatever the number of frames; every path's turning points
are among them."""


@dataclass(frozen=True)
class Way:
    """How one thing goes through the clip."""

    motion: str
    radius: float
    middle: Floats
    """(2,): x, y around which it moves."""
    travel: float
    turn: float
    """Its angle at the start, in radians."""
    turning: float
    """How far it turns during the clip."""

    def centres(self, phases: Floats) -> Floats:
        """(T, 2): x, y of its centre at (T,) phases in [0, 1]."""
        return self.middle + self.travel * path(self.motion, phases)

    def angles(self, phases: Floats) -> Floats:
        """(T,): radians."""
        return np.asarray(self.turn + self.turning * phases)


def path(motion: str, phases: Floats) -> Floats:
    """(T, 2): offsets x, y of a motion at (T,) phases in [0, 1], about one unit from end to end."""
    zero = np.zeros_like(phases)
    along = phases - 0.5
    turns = 2 * np.pi * phases
    x, y = {
        "left": (-along, zero),
        "right": (along, zero),
        "up": (zero, -along),
        "down": (zero, along),
        "bounce": (0.3 * along, 0.4 - 0.8 * abs(np.sin(1.5 * turns))),
        "circle": (0.5 * np.cos(turns), 0.5 * np.sin(turns)),
        "shake": (0.15 * np.sin(5 * turns), zero),
        "still": (zero, zero),
    }[motion]
    return np.stack([x, y], axis=-1)


def find_ways(rng: np.random.Generator, motions: list[str], tries: int = 256) -> list[Way]:
    """A way for each motion such that the things keep apart at every phase.

    Of many layouts drawn at once the good one with the largest things is taken; when all are bad,
    the next ones are a little smaller and much shorter.
    """
    offsets = np.stack([path(motion, CHECKED_PHASES) for motion in motions])
    shape = (tries, len(motions))
    good = np.zeros(tries, dtype=bool)
    shrink = 1.0
    while not good.any():
        radii = rng.uniform(*RADII, shape) * shrink
        travels = rng.uniform(*TRAVELS, shape) * shrink**2
        swings = travels[..., None, None] * offsets
        margins = (REACH * radii + GAP)[..., None]
        low, high = margins - swings.min(axis=2), 1 - margins - swings.max(axis=2)
        middles = low + rng.random((*shape, 2)) * (high - low)
        good = _keep_apart(middles[:, :, None] + swings, radii)
        shrink *= 0.95
    chosen = int(np.where(good, radii.min(axis=1), 0).argmax())
    turns = rng.uniform(-0.35, 0.35, len(motions))
    turnings = rng.uniform(-0.6, 0.6, len(motions))
    return [
        Way(
            motion=motion,
            radius=float(radii[chosen, i]),
            middle=middles[chosen, i],
            travel=float(travels[chosen, i]),
            turn=float(turns[i]),
            turning=0.0 if motion == "still" else float(turnings[i]),
        )
        for i, motion in enumerate(motions)
    ]


def _keep_apart(centres: Floats, radii: Floats) -> npt.NDArray[np.bool_]:
    """Whether no two things of a layout touch: (N, K, T, 2) centres, (N, K) radii -> (N,)."""
    first, second = np.triu_indices(radii.shape[1], k=1)
    between = centres[:, first] - centres[:, second]
    squared = np.einsum("nptc,nptc->npt", between, between).min(axis=-1)
    needed = REACH * (radii[:, first] + radii[:, second]) + GAP
    return np.asarray((squared > needed**2).all(axis=1))
