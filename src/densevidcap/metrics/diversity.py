"""How different the sentences of a clip are from each other, by their places in a latent space."""

from __future__ import annotations

from math import log

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_RESTARTS, _ROUNDS = 10, 50
"""Of K-means: with ten starts the diversity of the centres has settled (docs/evaluation.md)."""


def diversity(vectors: Array) -> float:
    """D_div (Eq. 15) of sentences at (n, D): the mean of 1 - cosine over ordered pairs.

    The paper's formula divides by n, but only the number of pairs can give the
    figures that it reports. Sentences without a known word lie at zero, alike
    among themselves; a single sentence differs from nothing.
    """
    count = len(vectors)
    if count < 2:
        return 0.0
    silent = ~vectors.any(axis=1)
    unit = _normalise(vectors)
    cosines = unit @ unit.T + np.outer(silent, silent)
    return float((1 - cosines)[~np.eye(count, dtype=bool)].mean())


def cluster(vectors: Array, count: int, seed: int = 0) -> Array:
    """(count, D): the centres of the tightest of several K-means clusterings of (n, D).

    So the paper takes the redundancy out of a clip's human sentences. As in the
    cosine, only a vector's direction matters.
    """
    vectors = _normalise(vectors)
    source = np.random.default_rng(seed)
    centres = np.stack([_spread(vectors, count, source) for _ in range(_RESTARTS)])
    for _ in range(_ROUNDS):
        nearest = _measure(vectors, centres).argmin(axis=2)
        member = nearest[:, :, None] == np.arange(count)
        sizes = member.sum(axis=1)[:, :, None]
        means = np.einsum("snk,nd->skd", member, vectors) / np.maximum(sizes, 1)
        moved = np.where(sizes > 0, means, centres)
        if np.array_equal(moved, centres):
            break
        centres = moved
    tightest = _measure(vectors, centres).min(axis=2).sum(axis=1).argmin()
    return np.asarray(centres[tightest])


def _spread(vectors: Array, count: int, source: np.random.Generator) -> Array:
    """Greedy K-means++: of a few far vectors, the next centre is the one that helps most."""
    centres = [vectors[source.integers(len(vectors))]]
    distances = ((vectors - centres[0]) ** 2).sum(axis=1)
    while len(centres) < count:
        total = distances.sum()
        drawn = source.choice(
            len(vectors), size=2 + int(log(count)), p=distances / total if total else None
        )
        shrunk = np.minimum(distances, _measure(vectors[drawn], vectors[None])[0])
        best = shrunk.sum(axis=1).argmin()
        centres.append(vectors[drawn[best]])
        distances = shrunk[best]
    return np.stack(centres)


def _measure(vectors: Array, centres: Array) -> Array:
    """(S, n, k): squared distances of vectors (n, D) from the centres (S, k, D) of S runs."""
    return np.asarray(((vectors[:, None] - centres[:, None]) ** 2).sum(axis=-1))


def _normalise(vectors: Array) -> Array:
    """(n, D) at length one, zeros left at zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1))
