"""Training the evaluator: whose sentence is it, and which sentence is better."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from densevidcap.config import EvaluatorTrainingConfig, ModelConfig
from densevidcap.data.manifest import ClipRecord
from densevidcap.data.text import Vocabulary
from densevidcap.errors import CorpusError
from densevidcap.metrics.cider import Consensus
from densevidcap.metrics.retrieval import (
    agree,
    area_under_curve,
    rank_captions,
    rank_clips,
    recall,
    split_own,
)
from densevidcap.metrics.sentence_files import read_predictions
from densevidcap.model_folder import WEIGHTS
from densevidcap.models.device import device_of
from densevidcap.models.evaluator_network import (
    ClipFeatures,
    EvaluatorNetwork,
    FeatureBank,
    NetworkEvaluator,
    encode_sentences,
    gather,
    pad,
)
from densevidcap.progress import Progress
from densevidcap.regions.objectives import IndexArray
from densevidcap.train.stage import TrainingStage, ViewStage
from densevidcap.types import FloatArray

Words = tuple[int, ...]


@dataclass(frozen=True)
class Example:
    """A clip and what was said of it."""

    clip: str
    features: ClipFeatures
    captions: Sequence[str]
    sequences: IndexArray
    """(S,): the region-sequence that each caption describes; below 0 it trains none."""
    category: str | None = None
    weaker: Sequence[str] = ()
    """What a captioner says of the clip."""


class Graded(NamedTuple):
    """A sentence and what it is worth to a clip."""

    words: Words
    worth: float


class Pair(NamedTuple):
    """A caption, its clip and its region-sequence."""

    clip: int
    sequence: int
    said: Graded


def grade_sentences(
    examples: Sequence[Example], encode: Callable[[str], Words], other_clips: int, seed: int
) -> tuple[list[Pair], list[list[Graded]]]:
    """Every caption that has a sequence, and for every clip its negatives.

    These are all its captions, what the captioner says, and captions of so many `other_clips`,
    drawn from those of the same category if there are any.
    """
    random = np.random.default_rng(seed)
    consensus = Consensus({example.clip: example.captions for example in examples})
    alike = defaultdict(list)
    for clip, example in enumerate(examples):
        alike[example.category].append(clip)
    pairs: list[Pair] = []
    negatives: list[list[Graded]] = []
    for clip, example in enumerate(examples):
        near = alike[example.category]
        among = near if len(near) > 1 else range(len(examples))
        drawn = _draw_others(clip, among, other_clips, random)
        others = [str(random.choice(examples[other].captions)) for other in drawn]
        graded = [
            Graded(encode(sentence), consensus.weigh(example.clip, sentence))
            for sentence in (*example.captions, *example.weaker, *others)
        ]
        pairs += [
            Pair(clip, int(sequence), said)
            for sequence, said in zip(example.sequences, graded, strict=False)
            if sequence >= 0
        ]
        negatives.append(graded)
    return pairs, negatives


def _draw_others(
    clip: int, among: Sequence[int], count: int, random: np.random.Generator
) -> list[int]:
    """Any of them but the clip itself."""
    place = among.index(clip)
    steps = random.integers(1, len(among), size=count)
    return [among[(place + int(step)) % len(among)] for step in steps]


class ValidationSet:
    """Of C clips with S captions."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self.clips = len(examples)
        self.bank = FeatureBank([example.features for example in examples])
        self.captions = [caption for example in examples for caption in example.captions]
        self.owners = np.repeat(
            np.arange(self.clips), [len(example.captions) for example in examples]
        )
        consensus = Consensus({example.clip: example.captions for example in examples})
        self.weaker = {
            clip: (
                example.weaker,
                np.array([consensus.weigh(example.clip, s) for s in example.weaker]),
            )
            for clip, example in enumerate(examples)
            if example.weaker
        }

    @torch.inference_mode()
    def score(self, model: EvaluatorNetwork) -> FloatArray:
        """(S, C): every caption under every clip."""
        read = encode_sentences(self.captions, model.vocabulary).to(device_of(model))
        return np.asarray((model.sentences(read) @ self._see(model).T).cpu().numpy())

    @torch.inference_mode()
    def measure(self, model: EvaluatorNetwork) -> dict[str, float]:
        """In percent: recall of clips and captions, and the area under the curve of own ones.

        `agreement` is on a captioner's sentences: how often the better of two scores better.
        """
        scores = self.score(model)
        metrics = {
            **recall(rank_clips(scores, self.owners), "clip"),
            **recall(rank_captions(scores, self.owners), "caption"),
            "auc": 100 * area_under_curve(*split_own(scores, self.owners)),
        }
        if self.weaker:
            metrics["agreement"] = 100 * self._agree(model)
        return metrics

    def _agree(self, model: EvaluatorNetwork) -> float:
        seen = self._see(model)
        shares = []
        for clip, (sentences, worth) in self.weaker.items():
            read = encode_sentences(sentences, model.vocabulary).to(seen.device)
            shares.append(agree((model.sentences(read) @ seen[clip]).cpu().numpy(), worth))
        return float(np.nanmean(shares))

    def _see(self, model: EvaluatorNetwork) -> Tensor:
        """(C, E)"""
        every = torch.arange(self.clips, device=device_of(model))
        seen: Tensor = model.clips(self.bank.take(every))
        return seen


def info_nce(logits: Tensor, clips: Tensor) -> Tensor:
    """Each of N sentences must find its clip among the N, and each clip its sentence (InfoNCE).

    `logits` (N, N) are of sentences under clips. Where one of the clips (N,) comes again, the
    other place is neither right nor wrong.
    """
    places = torch.arange(len(clips), device=clips.device)
    again = (clips[:, None] == clips) & (places[:, None] != places)
    logits = logits.masked_fill(again, float("-inf"))
    return (F.cross_entropy(logits, places) + F.cross_entropy(logits.T, places)) / 2


def listnet(logits: Tensor, worth: Tensor, tolerance: float) -> Tensor:
    """Sentences (N, 1 + G) must be as probable as their worth to the clip makes them (ListNet)."""
    return F.cross_entropy(logits, (worth / tolerance).softmax(-1))


class Batch(NamedTuple):
    """N captions with G negatives each."""

    clips: Tensor
    """(N,)"""
    sequences: Tensor
    """(N,)"""
    sentences: Tensor
    """(N, L)"""
    negatives: Tensor
    """(N * G, L'), the G of the first caption first."""
    worth: Tensor
    """(N, 1 + G): of the caption and of its negatives, to its clip."""


class EvaluatorTask:
    """An evaluator network, clips and their sentences, for the training loop."""

    def __init__(
        self,
        model: EvaluatorNetwork,
        examples: Sequence[Example],
        held_out: Sequence[Example],
        options: EvaluatorTrainingConfig,
    ) -> None:
        if sum(bool((example.sequences >= 0).any()) for example in examples) < 2:
            raise CorpusError(
                "an evaluator compares clips: at least two need captions to train on; add some, "
                "or, if no region-sequence shows them, change association.unsupported"
            )
        self.model, self.options = model, options
        self.bank = FeatureBank([example.features for example in examples])
        self.categories = [example.category or "" for example in examples]
        self.pairs, self.negatives = grade_sentences(
            examples, self._encode, options.other_clips, options.seed
        )
        self.validation = ValidationSet(held_out) if len(held_out) > 1 else None

    def _encode(self, sentence: str) -> Words:
        return tuple(self.model.vocabulary.encode(sentence)[: self.options.max_length + 2])

    def steps_per_epoch(self) -> int:
        return -(-len(self.pairs) // self.options.batch)

    def batches(self, epoch: int) -> Iterator[Batch]:
        random = np.random.default_rng((self.options.seed, epoch))
        size, order = self.options.batch, random.permutation(len(self.pairs)).tolist()
        mixed = size * round((1 - self.options.hard) * len(order) / size)
        order[mixed:] = sorted(order[mixed:], key=self._category)
        starts = range(0, len(order), size)
        for part in random.permutation(len(starts)):
            places = order[starts[part] : starts[part] + size]
            yield self._collate([self.pairs[place] for place in places], random)

    def _category(self, place: int) -> str:
        return self.categories[self.pairs[place].clip]

    def _collate(self, pairs: Sequence[Pair], random: np.random.Generator) -> Batch:
        count = self.options.negatives
        negatives = [
            self.negatives[pair.clip][place]
            for pair in pairs
            for place in random.integers(len(self.negatives[pair.clip]), size=count)
        ]
        own = torch.tensor([[pair.said.worth] for pair in pairs], device="cpu")
        worths = torch.tensor([negative.worth for negative in negatives], device="cpu")
        worth = worths.view(len(pairs), count)
        return Batch(
            torch.tensor([pair.clip for pair in pairs], device="cpu"),
            torch.tensor([pair.sequence for pair in pairs], device="cpu"),
            self._forget(pad([pair.said.words for pair in pairs]), random),
            self._forget(pad([negative.words for negative in negatives]), random),
            torch.cat([own, worth], dim=1),
        )

    def _forget(self, sentences: Tensor, random: np.random.Generator) -> Tensor:
        """Some words become unknown ones."""
        chosen = torch.from_numpy(random.random(sentences.shape) < self.options.unknown)
        return sentences.masked_fill(chosen & (sentences > Vocabulary.UNK), Vocabulary.UNK)

    def loss(self, batch: Batch) -> Tensor:
        model, options = self.model, self.options
        said = model.sentences(batch.sentences)
        seen = model.clips(self.bank.take(batch.clips, batch.sequences))
        apart = info_nce(model.logit_scale * said @ seen.T, batch.clips)
        # Of negatives nobody knows the region-sequence: they are compared for the clip as a whole.
        whole = model.clips(self.bank.take(batch.clips))
        negatives = model.sentences(batch.negatives).view(len(said), options.negatives, -1)
        listed = torch.cat([said.unsqueeze(1), negatives], dim=1)
        logits = model.logit_scale * (listed @ whole.unsqueeze(-1)).squeeze(-1)
        return apart + options.listnet * listnet(logits, batch.worth, options.tolerance)

    def lr_multipliers(self) -> dict[str, float]:
        return {}

    def validate(self) -> dict[str, float]:
        return self.validation.measure(self.model) if self.validation else {}


class EvaluatorStage(ViewStage, TrainingStage):
    """Training an evaluator."""

    name = "evaluator"

    def __init__(
        self,
        out: Path,
        config: ModelConfig,
        manifest: Path,
        words: Path,
        cache: Path,
        *,
        weaker: Path | None = None,
        half: bool = False,
        left_out: dict[str, str] | None = None,
        fail_fast: bool = False,
    ) -> None:
        """`weaker` holds a captioner's sentences of clips: `{clip: [sentence, …]}`."""
        inputs = {"manifest": manifest, "words": words / WEIGHTS}
        if weaker is not None:
            inputs["weaker"] = weaker
        super().__init__(
            out, config, inputs, cache, half=half, left_out=left_out, fail_fast=fail_fast
        )
        self.options: EvaluatorTrainingConfig = config.training.evaluator

    def list_settings(self) -> dict[str, Any]:
        return {
            **super().list_settings(),
            "evaluator": asdict(self.config.evaluator),
            "training": asdict(self.options),
        }

    def open(self) -> None:
        super().open()
        weaker = self.inputs.get("weaker")
        self._weaker = {} if weaker is None else _read_sentences(weaker)

    def prepare(self, progress: Progress) -> EvaluatorTask:
        self.read_views(progress)
        vocabulary = self.list_words(self.options.min_count)
        torch.manual_seed(self.options.seed)
        features = self.words.encoder.channels
        self.network = EvaluatorNetwork(
            vocabulary, features, self.lexicon_size, self.config.evaluator
        )
        examples, held_out = (
            [self._make_example(record) for record in records]
            for records in (self.trained, self.held_out)
        )
        return EvaluatorTask(self.network, examples, held_out, self.options)

    def save(self, card: dict[str, Any]) -> None:
        NetworkEvaluator(self.network).save(self.out, card, self.half)

    def _make_example(self, record: ClipRecord) -> Example:
        return Example(
            record.id,
            gather(self.views.view(record.id)),
            record.captions,
            self.sequences[record.id],
            record.category,
            self._weaker.get(record.id, ()),
        )


def _read_sentences(path: Path) -> Mapping[str, Sequence[str]]:
    file = read_predictions(path)
    if file.faults:
        raise CorpusError(file.faults[0])
    return file.sentences
