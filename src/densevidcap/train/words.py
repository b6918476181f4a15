"""Training a Lexical-FCN from clips and their captions (Sec. 3.1.1 and 4.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from densevidcap.config import FEATURES, EyesConfig, ModelConfig, WordTrainingConfig
from densevidcap.data.feature_files import Census, take_census
from densevidcap.data.lexicon import Lexicon
from densevidcap.data.manifest import ClipRecord
from densevidcap.data.sampling import Sampling
from densevidcap.errors import CorpusError, ModelError
from densevidcap.metrics.detection import average_precision, detect
from densevidcap.model_folder import WEIGHTS
from densevidcap.models.backbones.weights import load_file_weights, load_imagenet
from densevidcap.models.device import device_of, move
from densevidcap.models.losses import mil_loss, mimll_loss, mll_loss
from densevidcap.models.shown_words import score_frames
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.progress import Progress
from densevidcap.train.feature_cache import FeatureCache, gather
from densevidcap.train.stage import RUN, TrainingStage, describe_start
from densevidcap.types import FloatArray


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
        options: WordTrainingConfig,
    ) -> None:
        if not records:
            raise CorpusError("no clip to train on: is the manifest's split 'train'?")
        self.model, self.cache, self.options = model, cache, options
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
        drawn = self.options.frames_per_clip or max(counts)
        frames = sum(min(count, drawn) for count in counts) / len(counts)
        regions = len(self.model.encoder.grid)
        instances = {"mll": 1.0}.get(self.options.paradigm, regions)
        if self.options.bag == "clip" and self.options.paradigm != "mll":
            instances *= frames
        priors = torch.from_numpy(self.targets.mean(axis=0))
        self.model.head.start_from_priors(priors.float(), instances)
        if self.model.branch is not None:
            known = len(self.model.branch.words.bias)
            self.model.branch.start_from_priors(priors[:known].float(), 1)

    def steps_per_epoch(self) -> int:
        return -(-len(self.clips) // self.options.batch)

    def batches(self, epoch: int) -> Iterator[Batch]:
        random = np.random.default_rng((self.options.seed, epoch))
        order = random.permutation(len(self.clips))
        for start in range(0, len(order), self.options.batch):
            places = order[start : start + self.options.batch]
            rows = [self._draw(self.cache.rows(self.clips[place]), random) for place in places]
            features, owners = gather(self.cache, rows)
            yield Batch(features, owners, torch.from_numpy(self.targets[places]))

    def _draw(self, rows: range, random: np.random.Generator) -> Sequence[int]:
        if not self.options.frames_per_clip or self.options.frames_per_clip >= len(rows):
            return rows
        drawn = random.choice(rows, self.options.frames_per_clip, replace=False)
        return [int(row) for row in np.sort(drawn)]

    def split(self, cached: Tensor) -> tuple[Tensor, Tensor | None]:
        """Regions (N, R, D) and frames' vectors (N, D) from what the cache holds."""
        encoder = self.model.encoder
        return encoder.split(self._observe(cached) if self.options.tuned else cached)

    def _observe(self, cached: Tensor) -> Tensor:
        backbone = self.model.encoder.backbone
        x = backbone.from_cells(cached)
        if self.model.training and torch.rand((), device="cpu") < 0.5:
            x = backbone.mirror(x)  # its words stay the same
        return self.model.encoder.observe(x, self.first_tuned)[0]

    def loss(self, batch: Batch) -> Tensor:
        """Eq. 1: summed over words, averaged over clips, however many frames each has.

        A branch for whole frames learns beside it, and shapes nothing that the regions share.
        """
        regions, frames = self.split(batch.features)
        loss = lose_words(self.model, regions, batch.owners, batch.labels, self.options).mean()
        if self.model.branch is None:
            return loss
        frames = None if frames is None else frames.detach()
        logits = self.model.look_at_frames(regions.detach(), frames).float()
        losses = mll_loss(logits, batch.labels[batch.owners, : logits.shape[1]])
        return loss + _average(losses, batch.owners, len(batch.labels)).mean()

    def divide(self, batch: Batch, rank: int, size: int) -> tuple[Batch, float]:
        """Every `size`-th clip; all of them, if there are fewer than processes."""
        clips = len(batch.labels)
        if clips < size:
            return batch, 1 / size
        own = batch.owners % size == rank
        labels = batch.labels[rank::size]
        return Batch(batch.features[own], batch.owners[own] // size, labels), len(labels) / clips

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
            regions, frames = self.split(features.to(device_of(self.model)))
            probabilities = torch.sigmoid(self.model.head(regions)).cpu().numpy()
            most.append(probabilities.max(axis=(0, 1)))
            if self.options.paradigm == "mll":
                mean = regions.mean(dim=1, keepdim=True)
                probabilities = torch.sigmoid(self.model.head(mean)).cpu().numpy()
            whole = None
            if self.model.branch is not None:
                logits = self.model.look_at_frames(regions, frames)
                whole = torch.sigmoid(logits).cpu().numpy()
            shown.append(score_frames(probabilities, whole))
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


def lose_words(
    model: LexicalFCN, regions: Tensor, owners: Tensor, labels: Tensor, options: WordTrainingConfig
) -> Tensor:
    """Eq. 1 of each clip (B,), summed over words: of its bag, or the mean of its frames'.

    Regions (N, R, D) of all frames, owners (N,): the place of each frame's clip, labels (B, W).
    """
    if options.paradigm == "mll":
        whole = model.head(regions.mean(dim=1)).float()
        return _average(mll_loss(whole, labels[owners]), owners, len(labels))
    loss = mil_loss if options.paradigm == "mil" else mimll_loss
    logits = model.head(regions).float()
    if options.bag == "clip":
        return loss(logits, owners, labels).sum(dim=1)
    frames = torch.arange(len(owners), device=owners.device)
    return _average(loss(logits, frames, labels[owners]), owners, len(labels))


def _average(losses: Tensor, owners: Tensor, clips: int) -> Tensor:
    """Of each clip (B,), by losses (N, W) of its frames, summed over words."""
    of_frames = losses.sum(dim=1)
    sums = of_frames.new_zeros(clips).index_add(0, owners, of_frames)
    return sums / torch.bincount(owners, minlength=clips)


@torch.inference_mode()
def measure_losses(
    model: LexicalFCN,
    cache: FeatureCache,
    records: Sequence[ClipRecord],
    options: WordTrainingConfig,
) -> FloatArray:
    """(B,): Eq. 1 of each clip by a model that has learned, with all frames and no dropout."""
    model.eval()
    targets, losses = torch.from_numpy(weigh_clips(model, records, options.readers)), []
    for place, record in enumerate(records):
        features, owners = gather(cache, [cache.rows(record.id)])
        batch = move(Batch(features, owners, targets[place : place + 1]), device_of(model))
        regions, _ = model.encoder.split(batch.features)
        losses.append(lose_words(model, regions, batch.owners, batch.labels, options).cpu())
    return np.asarray(torch.cat(losses).numpy(), np.float32)


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


class WordStage(TrainingStage):
    """One round of training a Lexical-FCN."""

    def __init__(
        self,
        out: Path,
        config: ModelConfig,
        manifest: Path,
        lexicon: Path,
        cache: Path,
        *,
        number: int = 1,
        initial: Path | None = None,
        half: bool = False,
        left_out: dict[str, str] | None = None,
        fail_fast: bool = False,
    ) -> None:
        """`initial` is a Lexical-FCN to start from, in place of the round's weights."""
        inputs = {"manifest": manifest, "lexicon": lexicon}
        if initial is not None:
            inputs["initial"] = initial / WEIGHTS
        super().__init__(
            out, config, inputs, cache, half=half, left_out=left_out, fail_fast=fail_fast
        )
        rounds = config.training.words
        self.name = "words" if number == len(rounds) else f"words, round {number}"
        self.options: WordTrainingConfig = rounds[number - 1]
        self._initial = initial

    def list_settings(self) -> dict[str, Any]:
        return {
            "frames": Sampling.of(self.config.frames).to_dict(),
            "eyes": asdict(self.config.eyes),
            "words": asdict(self.config.words),
            "training": asdict(self.options),
        }

    def open(self) -> None:
        torch.manual_seed(self.options.seed)
        lexicon = Lexicon.load(self.inputs["lexicon"])
        if self.config.eyes.backbone == FEATURES:
            eyes = fit_eyes(self.config.eyes, self.trained, self.inputs["manifest"])
            self.config = replace(self.config, eyes=eyes)
        self.model = LexicalFCN(lexicon, self.config.eyes, self.config.words)
        self.origin = start_encoder(self.model, self._initial or self.options.weights)

    def prepare(self, progress: Progress) -> WordTask:
        if random := self.origin.get("started_at_random"):
            progress.say(f"{self.origin['weights']} has no weights of {random}: they are random")
        stages, tuned = len(self.model.encoder.backbone.stages()), self.options.tuned
        features = self.read_clips(self.model.encoder, progress, stages - tuned if tuned else None)
        task = WordTask(self.model, features, self.trained, self.held_out, self.options)
        if self.options.head == "kept" and self._initial is not None:
            self.model.keep_words(LexicalFCN.load(self._initial))
        return task

    def save(self, card: dict[str, Any]) -> None:
        self.model.save(self.out, {**card, "started_from": self.origin}, self.half)


def fit_eyes(eyes: EyesConfig, records: Sequence[ClipRecord], manifest: Path) -> EyesConfig:
    """Eyes for features as most of these clips have them, unless their sizes are given.

    Clips whose headers cannot be read do not count here: reading them says what is wrong.
    """
    if eyes.features:
        return eyes
    census = Census()
    for _ in take_census(records, census, skip_faults=True):
        pass
    if census.usual is None:
        raise CorpusError(
            f"{manifest}: no clip of split 'train' has features that can be read, which is all that"
            " eyes of the backbone 'features' see; name .npy files or features.h5::KEY as sources,"
            " or take another config"
        )
    return replace(eyes, **asdict(census.usual))


def list_rounds(
    out: Path, config: ModelConfig, manifest: Path, lexicon: Path, cache: Path, **more: Any
) -> list[WordStage]:
    """The stages of all rounds; each starts from the one before, the first from `initial`."""
    count = len(config.training.words)
    initial: Path | None = more.pop("initial", None)
    stages = []
    for number in range(1, count + 1):
        folder = out if number == count else out / RUN / f"words-{number}"
        stages.append(
            WordStage(
                folder, config, manifest, lexicon, cache, number=number, initial=initial, **more
            )
        )
        initial = folder
    return stages


def start_encoder(model: LexicalFCN, weights: Path | str) -> dict[str, str]:
    """Load the encoder's initial weights; returns their origin and licence for the card.

    They are those of a Lexical-FCN's folder, of a file, or by the name "imagenet".
    """
    backbone = model.encoder.backbone
    if not isinstance(weights, Path) and not backbone.state_dict():
        return {"weights": "none", "licence": "not stated"}
    if weights == "imagenet":
        origin, lacking = load_imagenet(backbone)
        return origin | _tell_lacking(lacking)
    path = Path(weights)
    if path.is_dir():
        known = LexicalFCN.load(path).encoder
        if known.backbone.name != backbone.name:
            raise ModelError(f"{path}: its backbone is {known.backbone.name}, not {backbone.name}")
        if known.channels != model.encoder.channels:
            raise ModelError(
                f"{path}: its eyes see {known.form} of a frame, not {model.encoder.form};"
                " start from a model of the same features, or from none"
            )
        backbone.load_state_dict(known.backbone.state_dict())
        return describe_start(path)
    origin, lacking = load_file_weights(backbone, path)
    return origin | _tell_lacking(lacking)


def _tell_lacking(layers: list[str]) -> dict[str, str]:
    return {"started_at_random": ", ".join(layers)} if layers else {}
