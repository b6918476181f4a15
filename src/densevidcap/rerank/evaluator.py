"""The evaluator: a score and a confidence for each sentence of a clip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from densevidcap.artefacts import build_model, load_model, save_model
from densevidcap.data.text import Vocabulary, tokenise
from densevidcap.errors import CorpusError, ModelError
from densevidcap.language.views import ClipView
from densevidcap.records import FloatArray
from densevidcap.rerank.calibration import Calibration
from densevidcap.rerank.evidence import Shelf, gather
from densevidcap.rerank.network import EvaluatorNetwork, EvaluatorOptions

KIND = "evaluator"
VOCABULARY = "vocabulary.json"


class Evaluator:
    """A trained network, and what its scores mean."""

    def __init__(self, network: EvaluatorNetwork, calibration: Calibration) -> None:
        self.network, self.calibration = network.eval(), calibration

    @torch.inference_mode()
    def score(
        self, view: ClipView, sentences: Sequence[str], sequences: Sequence[int] | None = None
    ) -> FloatArray:
        """(S,): how well each sentence fits the clip, from -1 to 1.

        With `sequences`, one for each sentence, what sets that region-sequence apart counts too.
        """
        if not sentences:
            return np.zeros(0, np.float32)
        if sequences is not None and len(sequences) != len(sentences):
            raise ValueError(f"{len(sentences)} sentences need as many sequences")
        said = self.network.sentences(encode_sentences(sentences, self.network.vocabulary))
        rows = 1 if sequences is None else len(sentences)
        chosen = None if sequences is None else torch.tensor(list(sequences))
        seen = self.network.clips(Shelf([gather(view)]).take(torch.zeros(rows).long(), chosen))
        return np.asarray((said * seen).sum(-1).clamp(-1, 1).numpy())

    def confidence(self, scores: FloatArray) -> FloatArray:
        """(S,): P(people said it of this clip), if it were as likely that they said it of another.

        Calibrated on captions of clips that were not learned from, each under its own clip and
        under another one that was drawn at random.
        """
        return self.calibration.apply(scores)

    def save(self, folder: Path, card: Mapping[str, Any], half: bool = False) -> None:
        """Write a model folder; `half` keeps 16 bits of every number."""
        folder.mkdir(parents=True, exist_ok=True)
        self.network.vocabulary.save(folder / VOCABULARY)
        tensors = self.network.state_dict()
        if half:
            tensors = {name: tensor.half() for name, tensor in tensors.items()}
        content = {
            "kind": KIND,
            "sizes": self.network.sizes,
            "evaluator": asdict(self.network.options),
            "calibration": asdict(self.calibration),
            **card,
        }
        save_model(folder, tensors, content, (VOCABULARY,))

    @classmethod
    def load(cls, folder: Path) -> Evaluator:
        tensors, card = load_model(folder)
        if card.get("kind") != KIND:
            raise ModelError(f"{folder}: holds a {card.get('kind')}, not an evaluator")
        vocabulary = Vocabulary.load(folder / VOCABULARY)

        def build() -> EvaluatorNetwork:
            features, words = card["sizes"]
            options = EvaluatorOptions(**card["evaluator"])
            return EvaluatorNetwork(vocabulary, features, words, options)

        network = build_model(folder, tensors, build)
        try:
            return cls(network, Calibration(**card["calibration"]))
        except (KeyError, TypeError) as error:
            raise ModelError(f"{folder}: no calibration on its card ({error})") from None


def encode_sentences(sentences: Sequence[str], vocabulary: Vocabulary) -> Tensor:
    """(S, L) numbers of words, padded."""
    for sentence in sentences:
        if not tokenise(sentence):
            raise CorpusError(f"{sentence!r}: a sentence without words has no score; leave it out")
    return pad([vocabulary.encode(sentence) for sentence in sentences])


def pad(sentences: Sequence[Sequence[int]]) -> Tensor:
    rows = [torch.tensor(words) for words in sentences]
    return pad_sequence(rows, batch_first=True, padding_value=Vocabulary.PAD)
