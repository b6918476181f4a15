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

from densevidcap.config import read_recipe
from densevidcap.data.manifest import ClipRecord
from densevidcap.data.sampling import Sampling
from densevidcap.data.text import Vocabulary
from densevidcap.errors import CorpusError, ModelError
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
from densevidcap.model_folder import hash_file
from densevidcap.models.calibration import Calibration, calibrate, measure_error
from densevidcap.models.device import device_of
from densevidcap.models.evaluator import (
    ClipFeatures,
    Evaluator,
    EvaluatorNetwork,
    EvaluatorOptions,
    FeatureBank,
    encode_sentences,
    gather,
    pad,
)
from densevidcap.regions.association import LEFT_OUT
from densevidcap.regions.objectives import IndexArray
from densevidcap.train.loop import Progress, Run, TrainingOptions
from densevidcap.train.run import (
    HELD_OUT,
    RUN,
    AboutOptions,
    alone,
    claim_folder,
    describe_run,
    draw_curves,
)
from densevidcap.train.view_cache import ViewedCorpus, ViewOptions
from densevidcap.types import FloatArray

Words = tuple[int, ...]


@dataclass(frozen=True)
class Example:
    """A clip and what was said of it."""

    clip: str
    evidence: ClipFeatures
    captions: Sequence[str]
    sequences: IndexArray
    """(S,): the region-sequence that each caption describes."""
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
    lessons: Sequence[Example], encode: Callable[[str], Words], strangers: int, seed: int
) -> tuple[list[Pair], list[list[Graded]]]:
    """Every caption, and for every clip its rivals.

    These are all its captions, what the captioner says, and so many `strangers`: captions of other
    clips, drawn from those of the same category if there are any.
    """
    random = np.random.default_rng(seed)
    consensus = Consensus({lesson.clip: lesson.captions for lesson in lessons})
    alike = defaultdict(list)
    for clip, lesson in enumerate(lessons):
        alike[lesson.category].append(clip)
    pairs: list[Pair] = []
    rivals: list[list[Graded]] = []
    for clip, lesson in enumerate(lessons):
        kin = alike[lesson.category] if len(alike[lesson.category]) > 1 else range(len(lessons))
        drawn = _draw_others(clip, kin, strangers, random)
        others = [str(random.choice(lessons[other].captions)) for other in drawn]
        graded = [
            Graded(encode(sentence), consensus.weigh(lesson.clip, sentence))
            for sentence in (*lesson.captions, *lesson.weaker, *others)
        ]
        pairs += [
            Pair(clip, int(sequence), said)
            for sequence, said in zip(lesson.sequences, graded[: len(lesson.captions)], strict=True)
        ]
        rivals.append(graded)
    return pairs, rivals


def _draw_others(
    clip: int, among: Sequence[int], count: int, random: np.random.Generator
) -> list[int]:
    """Any of them but the clip itself."""
    place = among.index(clip)
    steps = random.integers(1, len(among), size=count)
    return [among[(place + int(step)) % len(among)] for step in steps]


class ValidationSet:
    """Of C clips with S captions."""

    def __init__(self, lessons: Sequence[Example]) -> None:
        self.clips = len(lessons)
        self.shelf = FeatureBank([lesson.evidence for lesson in lessons])
        self.captions = [caption for lesson in lessons for caption in lesson.captions]
        self.owners = np.repeat(np.arange(self.clips), [len(lesson.captions) for lesson in lessons])
        consensus = Consensus({lesson.clip: lesson.captions for lesson in lessons})
        self.weaker = {
            clip: (
                lesson.weaker,
                np.array([consensus.weigh(lesson.clip, s) for s in lesson.weaker]),
            )
            for clip, lesson in enumerate(lessons)
            if lesson.weaker
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
        figures = {
            **recall(rank_clips(scores, self.owners), "clip"),
            **recall(rank_captions(scores, self.owners), "caption"),
            "auc": 100 * area_under_curve(*split_own(scores, self.owners)),
        }
        if self.weaker:
            figures["agreement"] = 100 * self._agree(model)
        return figures

    def calibrate(self, model: EvaluatorNetwork) -> tuple[Calibration, float]:
        """From each caption under its own clip and under another one, drawn at random.

        With the expected error, of calibrations from half of the clips on the other half.
        """
        scores, owners = self.score(model), self.owners
        steps = np.random.default_rng(0).integers(1, self.clips, size=len(owners))
        rows = np.arange(len(owners))
        own, other = scores[rows, owners], scores[rows, (owners + steps) % self.clips]
        odd = owners % 2 == 1
        confidence, right = [], []
        for half in (odd, ~odd):
            calibration = calibrate(own[half], other[half])
            for part, truth in ((own[~half], 1.0), (other[~half], 0.0)):
                confidence.append(calibration.apply(part))
                right.append(np.full(len(part), truth, np.float32))
        error = measure_error(np.concatenate(confidence), np.concatenate(right))
        return calibrate(own, other), error

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
        seen: Tensor = model.clips(self.shelf.take(every))
        return seen


@dataclass(frozen=True)
class ExampleOptions:
    """What the evaluator learns from, and how."""

    min_count: int = 3
    """Words that the training captions have less often are not learned."""
    max_length: int = 20
    """Longer captions are cut off."""
    batch: int = 128
    """Captions a step; each is told from all others of its batch."""
    hard: float = 0.5
    """Share of batches whose clips are of one category, where what tells them apart is finer."""
    unknown: float = 0.1
    """Share of words that are read as unknown, so that unknown ones are nothing new."""
    rivals: int = 2
    """Sentences that each caption is compared with: other captions of its clip, captions of other
    clips, and the captioner's."""
    strangers: int = 10
    """Captions of other clips (of its category) among a clip's rivals."""
    grading: float = 1.0
    """Weight of that comparison beside the telling apart."""
    tolerance: float = 0.3
    """Difference in CIDEr (which ends at 10) that makes one sentence e times as good."""

    def __post_init__(self) -> None:
        for name in ("min_count", "max_length", "batch", "rivals"):
            if getattr(self, name) < 1:
                raise ModelError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("strangers", "grading"):
            if not getattr(self, name) >= 0:
                raise ModelError(f"{name} must be 0 or more, not {getattr(self, name)}")
        for name in ("hard", "unknown"):
            if not 0 <= getattr(self, name) <= 1:
                raise ModelError(f"{name} is a share, from 0 to 1, not {getattr(self, name)}")
        if not self.tolerance > 0:
            raise ModelError(f"tolerance must be more than 0, not {self.tolerance}")


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
    """N captions with G rivals each."""

    clips: Tensor
    """(N,)"""
    sequences: Tensor
    """(N,)"""
    sentences: Tensor
    """(N, L)"""
    rivals: Tensor
    """(N * G, L'), the G of the first caption first."""
    worth: Tensor
    """(N, 1 + G): of the caption and of its rivals, to its clip."""


class EvaluatorTask:
    """An evaluator network, clips and their sentences, for the training loop."""

    def __init__(
        self,
        model: EvaluatorNetwork,
        lessons: Sequence[Example],
        held_out: Sequence[Example],
        options: ExampleOptions,
        seed: int = 0,
    ) -> None:
        if len(lessons) < 2:
            raise CorpusError("an evaluator compares clips: at least two need captions to train on")
        self.model, self.options, self.seed = model, options, seed
        self.shelf = FeatureBank([lesson.evidence for lesson in lessons])
        self.categories = [lesson.category or "" for lesson in lessons]
        self.pairs, self.rivals = grade_sentences(lessons, self._encode, options.strangers, seed)
        self.exam = ValidationSet(held_out) if len(held_out) > 1 else None

    def _encode(self, sentence: str) -> Words:
        return tuple(self.model.vocabulary.encode(sentence)[: self.options.max_length + 2])

    def steps_per_epoch(self) -> int:
        return -(-len(self.pairs) // self.options.batch)

    def batches(self, epoch: int) -> Iterator[Batch]:
        random = np.random.default_rng((self.seed, epoch))
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
        count = self.options.rivals
        rivals = [
            self.rivals[pair.clip][place]
            for pair in pairs
            for place in random.integers(len(self.rivals[pair.clip]), size=count)
        ]
        own = torch.tensor([[pair.said.worth] for pair in pairs], device="cpu")
        worth = torch.tensor([rival.worth for rival in rivals], device="cpu").view(-1, count)
        return Batch(
            torch.tensor([pair.clip for pair in pairs], device="cpu"),
            torch.tensor([pair.sequence for pair in pairs], device="cpu"),
            self._forget(pad([pair.said.words for pair in pairs]), random),
            self._forget(pad([rival.words for rival in rivals]), random),
            torch.cat([own, worth], dim=1),
        )

    def _forget(self, sentences: Tensor, random: np.random.Generator) -> Tensor:
        """Some words become unknown ones."""
        chosen = torch.from_numpy(random.random(sentences.shape) < self.options.unknown)
        return sentences.masked_fill(chosen & (sentences > Vocabulary.UNK), Vocabulary.UNK)

    def loss(self, batch: Batch) -> Tensor:
        model, options = self.model, self.options
        said = model.sentences(batch.sentences)
        seen = model.clips(self.shelf.take(batch.clips, batch.sequences))
        apart = info_nce(model.sharpness * said @ seen.T, batch.clips)
        # Of rivals nobody knows the region-sequence: they are compared for the clip as a whole.
        whole = model.clips(self.shelf.take(batch.clips))
        rivals = model.sentences(batch.rivals).view(len(said), options.rivals, -1)
        listed = torch.cat([said.unsqueeze(1), rivals], dim=1)
        logits = model.sharpness * (listed @ whole.unsqueeze(-1)).squeeze(-1)
        return apart + options.grading * listnet(logits, batch.worth, options.tolerance)

    def lr_multipliers(self) -> dict[str, float]:
        return {}

    def validate(self) -> dict[str, float]:
        return self.exam.measure(self.model) if self.exam else {}


@dataclass(frozen=True)
class EvaluatorRecipe:
    """All that decides what a training run gives, beside its data and the words it builds on."""

    sampling: Sampling
    library: ViewOptions
    evaluator: EvaluatorOptions
    lessons: ExampleOptions
    training: TrainingOptions
    about: AboutOptions

    @classmethod
    def read(cls, path: Path) -> EvaluatorRecipe:
        """From a TOML file with a section for each field."""
        return read_recipe(path, cls)


class EvaluatorFit(ViewedCorpus):
    """A training run of an evaluator. The same call goes on with a run that was stopped."""

    def __init__(
        self,
        manifest: Path,
        words: Path,
        recipe: EvaluatorRecipe,
        out: Path,
        weaker: Path | None = None,
    ) -> None:
        """`weaker` holds a captioner's sentences of clips: `{clip: [sentence, …]}`."""
        library = recipe.library
        super().__init__(
            manifest,
            words,
            recipe.sampling,
            library.regions,
            library.association,
            library.words,
            out,
        )
        self.recipe = recipe
        self.weaker = {} if weaker is None else _read_sentences(weaker)
        if weaker is not None:
            self.data["weaker"] = hash_file(weaker)
        claim_folder(out, self.data, asdict(recipe))

    @alone
    def train(self, progress: Progress, half: bool = False) -> list[dict[str, Any]]:
        """Train to the end, write the model folder (at 16 bits if `half`), return the history."""
        recipe = self.recipe
        taught = [(record.split, self._teach(record)) for record in self.clips]
        trained, measured = (
            [example for split, example in taught if example.captions and split in splits]
            for splits in (("train",), HELD_OUT)
        )
        torch.manual_seed(recipe.training.seed)
        network = EvaluatorNetwork(
            self.list_words(recipe.lessons.min_count),
            self.words.encoder.channels,
            min(recipe.library.words, len(self.words.lexicon)),
            recipe.evaluator,
        )
        task = EvaluatorTask(network, trained, measured, recipe.lessons, recipe.training.seed)
        history = Run(task, recipe.training, self.out / RUN).train(progress)
        # With no clips held out, the network knows those it is calibrated on: the card says so.
        calibration, error = (task.exam or ValidationSet(trained)).calibrate(network)
        card = describe_run(
            recipe.about,
            self.data,
            asdict(recipe),
            history,
            trained=len(trained),
            measured=len(measured),
        )
        card["calibrated_on"] = "held-out clips" if task.exam else "training clips"
        card["calibration_error"] = error
        Evaluator(network, calibration).save(self.out, card, half)
        draw_curves(history, self.out / RUN / "curves.png")
        return history

    def _teach(self, record: ClipRecord) -> Example:
        pairs = self.library.pair(record.id)
        learned = np.flatnonzero(pairs != LEFT_OUT)
        return Example(
            record.id,
            gather(self.library.view(record.id)),
            tuple(record.captions[index] for index in learned),
            pairs[learned],
            record.category,
            self.weaker.get(record.id, ()),
        )


def _read_sentences(path: Path) -> Mapping[str, Sequence[str]]:
    file = read_predictions(path)
    if file.faults:
        raise CorpusError(file.faults[0])
    return file.sentences
