"""An evaluator without a network: what people would say of a clip, by those who saw others.

CIDEr is a mean of cosines between a sentence and each reference. A cosine with a vector of length 1
is a product, and products can be added before they are taken: the CIDEr of any sentence is its
product with one vector, the mean of the references' vectors. So whoever knows that vector knows
what every sentence is worth. Here it is predicted from how the clip looks, by kernel ridge
regression on the clips of a corpus, whose references are known. The corpus's vectors are many and
alike, so that only their main directions are predicted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from densevidcap.config import EvaluatorConfig
from densevidcap.data.phrases import LONGEST, Phrases
from densevidcap.data.text_files import read_json
from densevidcap.errors import CorpusError, ModelError
from densevidcap.model_folder import WEIGHTS, load_model, save_model, write_json
from densevidcap.models.views import ClipView
from densevidcap.types import FloatArray

KIND = "phrase-regression"
PHRASES = "phrases.json"
EXPECTED = "expected.json"
"""The phrases, P of them, that a prediction is made of."""


def describe_look(view: ClipView) -> FloatArray:
    """(D,): how a clip looks, by the mean of its regions and of its whole frames."""
    parts = [np.asarray(view.features, np.float32).mean(axis=(0, 1))]
    if view.frame_vectors is not None:
        parts.append(np.asarray(view.frame_vectors, np.float32).mean(axis=0))
    return np.concatenate(parts)


class RegressionEvaluator:
    """The score of a sentence is the CIDEr, from 0 to 1 and without its longest phrases, that it is
    expected to have."""

    inputs = None

    def __init__(
        self,
        config: EvaluatorConfig,
        phrases: Phrases,
        expected: Sequence[str],
        tensors: Mapping[str, Tensor],
    ) -> None:
        """`expected` are the P phrases. Of the C clips of the corpus the tensors are:

        `centre` and `scale` (D,) of their looks, `anchors` (C, D) their looks in these units,
        `weights` (C, Q) of each for the Q main directions, `directions` (Q, P), `mean` (P,).
        """
        self.config, self.phrases, self.expected = config, phrases, tuple(expected)
        self._place = {phrase: column for column, phrase in enumerate(self.expected)}
        self.tensors = {name: tensor.float() for name, tensor in tensors.items()}
        _check_sizes(self.tensors, len(self.expected))

    @classmethod
    def fit(
        cls,
        looks: Sequence[FloatArray],
        captions: Sequence[Sequence[str]],
        config: EvaluatorConfig,
        seed: int = 0,
    ) -> RegressionEvaluator:
        """From how clips look (D,) and what people said of each.

        Where no phrase comes again, there is nothing to expect, and every sentence scores 0.
        """
        phrases = Phrases.count(captions)
        expected = phrases.known_by(min(config.least_clips, len(captions)))
        place = {phrase: column for column, phrase in enumerate(expected)}
        targets = torch.stack([vectorise(said, phrases, place).mean(0) for said in captions])
        seen = torch.from_numpy(np.stack(looks)).float()
        centre, scale = seen.mean(0), seen.std(0, correction=0)
        scale = torch.where(scale > 1e-6, scale, LARGEST)
        anchors = (seen - centre) / scale
        mean = targets.mean(0)
        directions = _find_directions(targets - mean, config.rank, seed)
        kernel = _compare(anchors, anchors, config.sharpness).double()
        kernel += config.ridge * torch.eye(len(kernel), dtype=kernel.dtype)
        known = (targets - mean) @ directions.T
        weights = torch.linalg.solve(kernel, known.double()).float()
        tensors = {"centre": centre, "scale": scale, "anchors": anchors, "weights": weights}
        tensors |= {"directions": directions, "mean": mean}
        return cls(config, phrases, expected, tensors)

    def expect(self, view: ClipView) -> Tensor:
        """(P,): the mean of what people would say, as vectors of phrases."""
        of = self.tensors
        look = (torch.from_numpy(describe_look(view)) - of["centre"]) / of["scale"]
        near = _compare(look[None], of["anchors"], self.config.sharpness)
        mean = of["mean"] + (near @ of["weights"] @ of["directions"])[0]
        return mean.clamp(min=0)

    def score(self, view: ClipView, sentences: Sequence[str]) -> FloatArray:
        """(S,): how well each sentence fits the clip, from 0 to about 1."""
        return self.score_clips([view], sentences)[:, 0]

    def score_clips(self, views: Sequence[ClipView], sentences: Sequence[str]) -> FloatArray:
        """(S, C): each sentence under each of these clips."""
        expected = torch.stack([self.expect(view) for view in views])
        said = vectorise(sentences, self.phrases, self._place)
        return np.asarray((said @ expected.T / LONGEST).numpy())

    def to(self, device: torch.device) -> None:
        """Nothing: one product is quick enough where it is."""

    def save(self, folder: Path, card: Mapping[str, Any], half: bool = False) -> None:
        """Write a model folder; `half` keeps 16 bits of every number."""
        folder.mkdir(parents=True, exist_ok=True)
        self.phrases.save(folder / PHRASES)
        write_json(folder / EXPECTED, {"phrases": list(self.expected)})
        tensors = self.tensors
        if half:
            tensors = {name: tensor.half() for name, tensor in tensors.items()}
        content = {"kind": KIND, "evaluator": asdict(self.config), **card}
        save_model(folder, tensors, content, (PHRASES, EXPECTED))

    @classmethod
    def load(cls, folder: Path) -> RegressionEvaluator:
        tensors, card = load_model(folder)
        if card.get("kind") != KIND:
            raise ModelError(f"{folder}: holds a {card.get('kind')}, not an evaluator")
        try:
            expected = [str(phrase) for phrase in read_json(folder / EXPECTED)["phrases"]]
            config = EvaluatorConfig(**card["evaluator"])
            return cls(config, Phrases.load(folder / PHRASES), expected, tensors)
        except (CorpusError, KeyError, TypeError, ValueError) as error:
            reason = (str(error).splitlines() or [repr(error)])[0]
            raise ModelError(f"{folder / WEIGHTS}: does not fit its card ({reason})") from None


def vectorise(sentences: Sequence[str], phrases: Phrases, place: Mapping[str, int]) -> Tensor:
    """(S, P): CIDEr's vectors of sentences, of the phrases that have a place."""
    vectors = torch.zeros(len(sentences), len(place))
    for row, sentence in enumerate(sentences):
        for phrase, weight in phrases.weigh(sentence).items():
            if phrase in place:
                vectors[row, place[phrase]] = weight
    return vectors


LARGEST = 60000.0
"""The scale of what is the same in all clips, and so tells nothing: 16 bits can hold no more."""


def _compare(looks: Tensor, anchors: Tensor, sharpness: float) -> Tensor:
    """(N, C): how alike looks (N, D) and (C, D) are, from 0 to 1: a Gaussian of their distance.

    By a mean over dimensions, so that sharpness means the same whatever their number.
    """
    distances = torch.cdist(looks.double(), anchors.double()) ** 2 / looks.shape[1]
    return torch.exp(-sharpness * distances).float()


def _find_directions(targets: Tensor, rank: int, seed: int) -> Tensor:
    """(Q, P): the main directions of targets (C, P), orthonormal."""
    generator = torch.Generator().manual_seed(seed)
    wanted = min(rank, *targets.shape)
    if not wanted:
        return targets[:0]
    drawn = torch.randn(targets.shape[1], min(wanted + SPARE, *targets.shape), generator=generator)
    basis = torch.linalg.qr(targets @ drawn).Q
    for _ in range(ROUNDS):
        basis = torch.linalg.qr(targets @ torch.linalg.qr(targets.T @ basis).Q).Q
    directions: Tensor = torch.linalg.svd(basis.T @ targets, full_matrices=False).Vh
    return directions[:wanted].contiguous()


SPARE, ROUNDS = 16, 3
"""Directions beyond those wanted, and rounds of looking for them."""


def _check_sizes(tensors: Mapping[str, Tensor], phrases: int) -> None:
    clips, features = tensors["anchors"].shape
    rank = tensors["weights"].shape[1]
    sizes = {
        "centre": (features,),
        "scale": (features,),
        "weights": (clips, rank),
        "directions": (rank, phrases),
        "mean": (phrases,),
    }
    for name, size in sizes.items():
        if tuple(tensors[name].shape) != size:
            raise ValueError(f"'{name}' is {tuple(tensors[name].shape)} and should be {size}")
