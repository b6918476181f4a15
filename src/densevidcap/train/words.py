"""Training a Lexical-FCN from clips and their captions (Sec. 3.1.1 and 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from densevidcap.config import EyesConfig, WordsConfig, read_recipe
from densevidcap.data.lexicon import Lexicon
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.errors import CorpusError, ModelError
from densevidcap.metrics.detection import average_precision, detect
from densevidcap.model_folder import WEIGHTS, hash_file
from densevidcap.models.backbones.weights import load_imagenet, load_weights, read_weights
from densevidcap.models.device import device_of
from densevidcap.models.losses import mil_loss, mimll_loss, mll_loss
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.regions.words import score_clip
from densevidcap.train.feature_cache import FeatureCache, cache_features, gather
from densevidcap.train.loop import Progress, Run, TrainingOptions
from densevidcap.train.run import (
    HELD_OUT,
    RUN,
    AboutOptions,
    alone,
    claim_folder,
    describe_run,
    describe_start,
    draw_curves,
    find_latecomers,
)
from densevidcap.types import FloatArray

Paradigm = Literal["mimll", "mil", "mll"]


@dataclass(frozen=True)
class WordOptions:
    """What the words are learned from."""

    paradigm: Paradigm = "mimll"
    bag: Literal["frame", "clip"] = "frame"
    """Whose regions share a label: a frame's, or all of a clip's."""
    readers: int = 4
    """A word's target is the chance that one of so many of the clip's captions, drawn at random,
    has it: what one person in twenty saw is there, but weakly. 0 takes any mention for certain,
    as the paper does."""
    batch: int = 32
    """Clips a step."""
    frames: int = 1
    """Frames a clip gives to a step, drawn anew each epoch (the paper's augmentation by sampling);
    0 takes all of them."""
    tuned: int = 0
    """How many of the backbone's last stages are trained along; 0 leaves it as it is."""
    tuned_rate: float = 0.05
    """Their learning rate, as a share of the head's."""
    frequent: int = 200
    """Mean AP is taken over that many of the lexicon's most frequent words."""

    def __post_init__(self) -> None:
        for name in ("batch", "frequent"):
            if getattr(self, name) < 1:
                raise ModelError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("readers", "frames", "tuned", "tuned_rate"):
            if not getattr(self, name) >= 0:
                raise ModelError(f"{name} must be 0 or more, not {getattr(self, name)}")


class Batch(NamedTuple):
    features: Tensor
    """(N, R, D) of all frames."""
    owners: Tensor
    """(N,): the place of each frame's clip."""
    labels: Tensor
    """(B, W): targets from 0 to 1."""


class WordTask:
    """A Lexical-FCN, cached features of its clips and their words, for the training loop.

    The cache holds region features, or with `options.tuned` the cells that go
    into the first stage that is trained.
    """

    def __init__(
        self,
        model: LexicalFCN,
        cache: FeatureCache,
        records: Sequence[ClipRecord],
        held_out: Sequence[ClipRecord],
        options: WordOptions,
        seed: int = 0,
    ) -> None:
        if not records:
            raise CorpusError("no clip to train on: is the manifest's split 'train'?")
        self.model, self.cache, self.options, self.seed = model, cache, options, seed
        self.first_tuned = len(model.encoder.backbone.stages()) - options.tuned
        if self.first_tuned < 1:
            raise ModelError(f"tuned = {options.tuned} is more than the backbone's stages")
        self.clips = [record.id for record in records]
        self.held_out = [record.id for record in held_out]
        self.labels = label_clips(model, records)
        self.targets = weigh_clips(model, records, options.readers)
        self.held_out_labels = label_clips(model, held_out)
        self._set_priors()

    def _set_priors(self) -> None:
        counts = [len(self.cache.rows(clip)) for clip in self.clips]
        drawn = self.options.frames or max(counts)
        frames = sum(min(count, drawn) for count in counts) / len(counts)
        regions = len(self.model.encoder.grid)
        instances = {"mll": 1.0}.get(self.options.paradigm, regions)
        if self.options.bag == "clip" and self.options.paradigm != "mll":
            instances *= frames
        priors = torch.from_numpy(self.targets.mean(axis=0))
        self.model.head.start_from_priors(priors.float(), instances)

    def steps_per_epoch(self) -> int:
        return -(-len(self.clips) // self.options.batch)

    def batches(self, epoch: int) -> Iterator[Batch]:
        random = np.random.default_rng((self.seed, epoch))
        order = random.permutation(len(self.clips))
        for start in range(0, len(order), self.options.batch):
            places = order[start : start + self.options.batch]
            rows = [self._draw(self.cache.rows(self.clips[place]), random) for place in places]
            features, owners = gather(self.cache, rows)
            yield Batch(features, owners, torch.from_numpy(self.targets[places]))

    def _draw(self, rows: range, random: np.random.Generator) -> Sequence[int]:
        if not self.options.frames or self.options.frames >= len(rows):
            return rows
        drawn = random.choice(rows, self.options.frames, replace=False)
        return [int(row) for row in np.sort(drawn)]

    def regions(self, cached: Tensor) -> Tensor:
        """Region features (N, R, D) from what the cache holds."""
        if not self.options.tuned:
            return self.model.encoder.split(cached)[0]
        backbone = self.model.encoder.backbone
        x = backbone.from_cells(cached)
        if self.model.training and torch.rand((), device="cpu") < 0.5:
            x = backbone.mirror(x)  # its words stay the same
        return self.model.encoder.finish(x, self.first_tuned)

    def loss(self, batch: Batch) -> Tensor:
        """Eq. 1: summed over words, averaged over clips, however many frames each has."""
        features, owners, labels = self.regions(batch.features), batch.owners, batch.labels
        shares = 1 / torch.bincount(owners).float()[owners]
        if self.options.paradigm == "mll":
            losses = mll_loss(self.model.head(features.mean(dim=1)).float(), labels[owners])
            return (losses.sum(dim=1) * shares).sum() / len(labels)
        loss = mil_loss if self.options.paradigm == "mil" else mimll_loss
        logits = self.model.head(features).float()
        if self.options.bag == "clip":
            return loss(logits, owners, labels).sum(dim=1).mean()
        frames = torch.arange(len(owners), device=owners.device)
        losses = loss(logits, frames, labels[owners])
        return (losses.sum(dim=1) * shares).sum() / len(labels)

    def lr_multipliers(self) -> dict[str, float]:
        tuned = self.model.encoder.backbone.names_from(self.first_tuned)
        rates = {f"encoder.backbone.{name}": self.options.tuned_rate for name in tuned}
        return {"encoder.": 0.0, **rates}

    @torch.inference_mode()
    def score(self, clips: Sequence[str]) -> tuple[FloatArray, FloatArray]:
        """Of each clip and word (B, W): P(the clip shows it), and the most that a region gives it.

        The first is the noisy-OR of a frame, averaged over the frames. Region
        probabilities are those of the paradigm's own instances, so the paper's
        "max-probability within the region-sequence" is the second.
        """
        self.model.eval()
        shown, most = [], []
        for clip in clips:
            features, _ = gather(self.cache, [self.cache.rows(clip)])
            regions = self.regions(features.to(device_of(self.model)))
            probabilities = torch.sigmoid(self.model.head(regions)).cpu().numpy()
            if self.options.paradigm == "mll":
                whole = regions.mean(dim=1, keepdim=True)
                shown.append(score_clip(torch.sigmoid(self.model.head(whole)).cpu().numpy()))
            else:
                shown.append(score_clip(probabilities))
            most.append(probabilities.max(axis=(0, 1)))
        return np.stack(shown), np.stack(most)

    def validate(self) -> dict[str, float]:
        if not self.held_out:
            return {}
        shown, _ = self.score(self.held_out)
        precisions = average_precision(shown, self.held_out_labels)
        positives = self.held_out_labels.sum(axis=0)
        found = detect(shown, self.held_out_labels)
        return {
            "map_frequent": 100 * _mean_known(precisions[: self.options.frequent]),
            "map_5_positives": 100 * _mean_known(precisions[positives >= 5]),
            "chance_frequent": 100 * self._chance(),
            "detection_precision": 100 * found.precision,
            "detection_recall": 100 * found.recall,
            "detection_top_k": 100 * found.top_k,
        }

    def _chance(self) -> float:
        """Mean AP of a random order: about the share of positives."""
        return float(self.held_out_labels[:, : self.options.frequent].mean())


def _mean_known(precisions: npt.NDArray[np.float64]) -> float:
    """The mean over words that have a positive; 0 where none has."""
    known = precisions[~np.isnan(precisions)]
    return float(known.mean()) if len(known) else 0.0


def weigh_clips(model: LexicalFCN, records: Sequence[ClipRecord], readers: int) -> FloatArray:
    """(B, W): how surely each clip shows each word, by how many of its captions say so."""
    if not readers:
        return label_clips(model, records).astype(np.float32)
    shares = [model.lexicon.count(r.captions) / max(1, len(r.captions)) for r in records]
    return np.asarray(1 - (1 - np.stack(shares)) ** readers, dtype=np.float32)


def label_clips(model: LexicalFCN, records: Sequence[ClipRecord]) -> npt.NDArray[np.bool_]:
    """(B, W): the lexicon words that each clip's captions have."""
    if not records:
        return np.zeros((0, len(model.lexicon)), dtype=np.bool_)
    return np.stack([model.lexicon.label(record.captions) for record in records])


@dataclass(frozen=True)
class StartOptions:
    """What is known before training."""

    weights: str = "imagenet"
    """"imagenet" for those of the installed package, a .safetensors or .pth file, or the folder of
    another Lexical-FCN."""
    head: Literal["new", "kept"] = "new"
    """Whether a Lexical-FCN that training starts from also gives the words that both have. New data
    of few clips are better off with them; more of the same data are not (docs/log.md)."""


@dataclass(frozen=True)
class WordsRecipe:
    """All that decides what a training run gives, beside its data."""

    sampling: Sampling
    start: StartOptions
    encoder: EyesConfig
    head: WordsConfig
    words: WordOptions
    training: TrainingOptions
    about: AboutOptions

    @classmethod
    def read(cls, path: Path) -> WordsRecipe:
        """From a TOML file with a section for each field."""
        return read_recipe(path, cls)


class WordsFit:
    """A training run of a Lexical-FCN. The same call goes on with a run that was stopped."""

    def __init__(
        self,
        manifest: Path,
        lexicon: Path,
        recipe: WordsRecipe,
        out: Path,
        initial: Path | None = None,
    ) -> None:
        """`initial` is a Lexical-FCN to start from, in place of the recipe's weights."""
        self.recipe, self.out = recipe, out
        self._start = recipe.start.weights if initial is None else str(initial)
        self.records = list(read_manifest(manifest))
        self.train_records = [r for r in self.records if r.split == "train"]
        self.held_out = [r for r in self.records if r.split in HELD_OUT]
        self.data = {"manifest": hash_file(manifest), "lexicon": hash_file(lexicon)}
        torch.manual_seed(recipe.training.seed)
        self.model = LexicalFCN(Lexicon.load(lexicon), recipe.encoder, recipe.head)
        self.origin = start_encoder(self.model, self._start)
        if initial is not None:
            self.data["initial"] = hash_file(initial / WEIGHTS)
        claim_folder(out, self.data, asdict(recipe))

    @property
    def clips(self) -> list[ClipRecord]:
        """Those whose features are needed."""
        return self.train_records + self.held_out

    @alone
    def read_clips(
        self, cache: Path, advance: Callable[[], None], fail_fast: bool = False
    ) -> dict[str, str]:
        """Compute what is not in the cache yet; returns the clips to leave out, with why."""
        stages = len(self.model.encoder.backbone.stages())
        tuned = self.recipe.words.tuned
        self.cache, failures = cache_features(
            self.clips,
            self.model.encoder,
            cache,
            self.recipe.sampling,
            stages - tuned if tuned else None,
            advance,
            fail_fast,
        )
        readable = [record.id for record in self.clips if record.id in self.cache]
        self.left_out = failures | find_latecomers(self.out, readable)
        return self.left_out

    @alone
    def train(self, progress: Progress, half: bool = False) -> list[dict[str, Any]]:
        """Train to the end, write the model folder (at 16 bits if `half`), return the history."""
        trained, measured = (
            [record for record in records if record.id not in self.left_out]
            for records in (self.train_records, self.held_out)
        )
        recipe = self.recipe
        task = WordTask(
            self.model, self.cache, trained, measured, recipe.words, recipe.training.seed
        )
        if recipe.start.head == "kept" and Path(self._start).is_dir():
            self.model.keep_words(LexicalFCN.load(Path(self._start)))
        history = Run(task, recipe.training, self.out / RUN).train(progress)
        card = describe_run(
            recipe.about,
            self.data,
            asdict(recipe),
            history,
            trained=len(trained),
            measured=len(measured),
        )
        self.model.save(self.out, {**card, "started_from": self.origin}, half)
        draw_curves(history, self.out / RUN / "curves.png")
        return history


def start_encoder(model: LexicalFCN, weights: str) -> dict[str, str]:
    """Load the encoder's initial weights; returns their origin and licence for the card."""
    backbone = model.encoder.backbone
    if weights == "imagenet":
        package = load_imagenet(backbone)
        return {"weights": package.distribution, "licence": package.licence}
    path = Path(weights)
    if path.is_dir():
        known = LexicalFCN.load(path).encoder.backbone
        if known.name != backbone.name:
            raise ModelError(f"{path}: its backbone is {known.name}, not {backbone.name}")
        backbone.load_state_dict(known.state_dict())
        return describe_start(path)
    load_weights(backbone, read_weights(path), weights)
    return {"weights": path.name, "sha256": hash_file(path), "licence": "not stated"}
