"""A bag of audio words: how often a clip makes each of the sounds that a corpus is made of.

Short looks at the sound are described by MFCC and how they change. Those of the training clips are
clustered; the centres are the words, and travel with the model that learned from them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from densevidcap.data.clip import Clip
from densevidcap.data.failures import naming
from densevidcap.data.sampling import Shot, end_of
from densevidcap.data.spectrum import COEFFICIENTS, measure_cepstrum
from densevidcap.errors import ClipError, CorpusError, ModelError
from densevidcap.files import replacing
from densevidcap.models.extractors.sound import RATE, hear
from densevidcap.models.streams import ExtractedStream, Level
from densevidcap.types import FloatArray, TimeArray

WORDS = 256
ROUNDS = 20
SHARED = 4
"""Words that a look is shared by: the last of them has 1/e of the nearest one's share, on average.
In so many dimensions all distances are alike, and their own size would share it among all."""
MOST_CLIPS = 300
MOST_LOOKS = 200
"""Of each clip that the words are learned from: a corpus has millions, and more change little."""
FILE = "audio_words.safetensors"
_PIECE = 4_000
"""Looks that are compared with all words at once."""


@dataclass(frozen=True)
class Codebook:
    """The words of sound: D numbers of a look are scaled alike, and compared with W centres."""

    mean: FloatArray
    """(D,)"""
    deviation: FloatArray
    """(D,)"""
    centres: FloatArray
    """(W, D), scaled."""
    spread: FloatArray
    """(1,): how much more squared distance leaves a word 1/e of the nearest one's share."""

    def count(self, looks: FloatArray) -> FloatArray:
        """(W,), of sum one: the share of the looks (N, D) that each word has.

        A look between two centres belongs to both, the more the nearer.
        """
        shares = np.zeros(len(self.centres))
        for begin in range(0, len(looks), _PIECE):
            scaled = (looks[begin : begin + _PIECE] - self.mean) / self.deviation
            distances = _measure(scaled, self.centres)
            nearness = np.exp((distances.min(axis=1, keepdims=True) - distances) / self.spread)
            shares += (nearness / nearness.sum(axis=1, keepdims=True)).sum(axis=0)
        return np.asarray(shares / shares.sum(), np.float32)

    @classmethod
    def fit(cls, looks: FloatArray, words: int = WORDS, seed: int = 0) -> Codebook:
        """k-means of the looks (N, D): the same looks give the same words."""
        mean, deviation = looks.mean(axis=0), np.maximum(looks.std(axis=0), 1e-3)
        scaled = np.asarray((looks - mean) / deviation, np.float32)
        random = np.random.default_rng(seed)
        centres = _scatter(scaled, words, random)
        for _ in range(ROUNDS):
            owners = _measure(scaled, centres).argmin(axis=1)
            sums = np.zeros(centres.shape)
            np.add.at(sums, owners, scaled)
            counts = np.bincount(owners, minlength=words)[:, None]
            centres = np.where(counts > 0, sums / np.maximum(counts, 1), centres)
            centres = centres.astype(np.float32)
        nearest = np.sort(_measure(scaled, centres), axis=1)[:, :SHARED]
        spread = max(float((nearest[:, -1] - nearest[:, 0]).mean()), 1e-3)
        return cls(mean, deviation, centres, np.array([spread], np.float32))

    def save(self, path: Path) -> None:
        with replacing(path) as temporary:
            save_file(self._tensors(), temporary)

    @classmethod
    def load(cls, path: Path) -> Codebook:
        try:
            book = cls(**load_file(path))
            sizes = book.mean.shape, book.deviation.shape, book.centres.shape, book.spread.shape
            if sizes != ((_D,), (_D,), (WORDS, _D), (1,)) or not book.is_finite():
                raise ValueError
        except (OSError, SafetensorError, TypeError, ValueError):
            raise ModelError(f"{path}: no words of sound; copy the whole model folder") from None
        return book

    def is_finite(self) -> bool:
        tensors = self._tensors().values()
        return all(np.isfinite(each).all() for each in tensors) and bool((self.deviation > 0).all())

    def hash(self) -> str:
        digest = hashlib.sha256()
        for _, tensor in sorted(self._tensors().items()):
            digest.update(tensor.tobytes())
        return digest.hexdigest()

    def _tensors(self) -> dict[str, FloatArray]:
        return {name: np.ascontiguousarray(each) for name, each in vars(self).items()}


_D = 3 * COEFFICIENTS


def _measure(looks: FloatArray, centres: FloatArray) -> FloatArray:
    """(N, W): squared distances."""
    products = looks @ centres.T
    squares = (looks**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)
    return np.asarray(np.maximum(squares - 2 * products, 0), np.float32)


def _scatter(looks: FloatArray, words: int, random: np.random.Generator) -> FloatArray:
    """First centres that lie far apart (k-means++); where there are fewer looks, some twice."""
    chosen = [int(random.integers(len(looks)))]
    nearest = _measure(looks, looks[chosen])[:, 0]
    for _ in range(words - 1):
        total = float(nearest.sum(dtype=np.float64))
        if total > 0:
            chosen.append(int(random.choice(len(looks), p=nearest.astype(np.float64) / total)))
        else:
            chosen.append(int(random.integers(len(looks))))
        nearest = np.minimum(nearest, _measure(looks, looks[chosen[-1:]])[:, 0])
    return looks[chosen]


class AudioWordStream(ExtractedStream):
    """The roots of a clip's shares of audio words."""

    name = "audio_words"
    level: Level = "clip"
    of_corpus = True
    features = WORDS

    def __init__(self, codebook: Codebook | None = None) -> None:
        self._codebook = codebook

    @property
    def codebook(self) -> Codebook:
        if self._codebook is None:
            raise ModelError(f"'{self.name}' has no words yet; they are learned in training")
        return self._codebook

    def identify(self) -> str:
        return f"{self.name} {self.codebook.hash()[:12]}"

    def fit(self, clips: Sequence[Clip]) -> AudioWordStream:
        """From looks at clips, both drawn at random; from none of a clip that cannot be read."""
        random = np.random.default_rng(0)
        looks: list[FloatArray] = []
        for place in random.permutation(len(clips)):
            clip, sound = clips[place], None
            with suppress(ClipError), naming(clip.name):
                sound = hear(clip, (0.0, end_of(clip.times())))
            if sound is not None:
                found = measure_cepstrum(sound, RATE)
                looks.append(found[random.permutation(len(found))[:MOST_LOOKS]])
            if len(looks) == MOST_CLIPS:
                break
        if not looks:
            raise CorpusError(
                f"no training clip has sound: take '{self.name}' out of streams.clip_level"
            )
        return AudioWordStream(Codebook.fit(np.concatenate(looks)))

    def save(self, folder: Path) -> tuple[str, ...]:
        self.codebook.save(folder / FILE)
        return (FILE,)

    def load(self, folder: Path) -> AudioWordStream:
        return AudioWordStream(Codebook.load(folder / FILE))

    def extract(self, clip: Clip, times: TimeArray, span: Shot) -> FloatArray | None:  # noqa: ARG002
        sound = hear(clip, span)
        if sound is None:
            return None
        return np.sqrt(self.codebook.count(measure_cepstrum(sound, RATE)))
