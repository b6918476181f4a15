"""The stages that a model is made in: what all of them are, and what those that train share.

`densevidcap train` takes all stages, one after the other; `densevidcap fit` takes one.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol

import torch

from densevidcap import __version__
from densevidcap.config import ModelConfig, OptimisationConfig
from densevidcap.data.manifest import ClipRecord, name_some, read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.data.text import Vocabulary
from densevidcap.errors import CorpusError, MissingExtraError, ModelError
from densevidcap.files import hold, replacing
from densevidcap.intake import parse_json
from densevidcap.model_folder import CARD, hash_file, read_card, write_json
from densevidcap.models.device import resolve_device
from densevidcap.models.streams import (
    ExtractedStream,
    check_extracted,
    check_streams,
    list_extracted,
)
from densevidcap.models.word_detector import LexicalFCN, RegionEncoder
from densevidcap.progress import Progress, describe_metrics
from densevidcap.regions import WeightStep, check_regions
from densevidcap.regions.objectives import IndexArray
from densevidcap.train.feature_cache import (
    FeatureCache,
    cache_features,
    cache_streams,
    fit_streams,
)
from densevidcap.train.loop import CHECKPOINT, Task, TrainingLoop
from densevidcap.train.team import ALONE, Team, find_place
from densevidcap.train.view_cache import ViewCache, learn_regions, open_view_cache

HELD_OUT = ("validate", "val")
"""Splits whose clips are measured after each epoch."""

RUN = "training"
"""Folder inside the model's: checkpoint, history, curves."""
SETTINGS = "settings.json"
PASSED_OVER = (".", "events.out.tfevents")
"""Beginnings of files that may be there before: our lock, what systems leave, and TensorBoard's."""
CLIPS = "clips.json"
"""The clips that a run began with."""
WITHOUT_EFFECT = ("about", "device", "engine", "still", "workers", "checkpoint_seconds")
"""Settings that a run may change when it goes on: its weights depend on them in the last digits,
or not at all."""


class Stage(Protocol):
    """A step on the way to a model. Doing it again goes on with one that was stopped."""

    @property
    def name(self) -> str: ...

    @property
    def inputs(self) -> Mapping[str, Path]:
        """What it is made from: files, some of which earlier stages write."""

    @property
    def result(self) -> Path:
        """The file that it writes last: where it is, the stage is done."""

    def run(self, progress: Progress) -> str:
        """Do the work, and say in a few words what came of it."""


class CorpusStage(ABC):
    """A stage that learns from a manifest's clips, into a folder of its own."""

    name: str

    def __init__(
        self,
        out: Path,
        config: ModelConfig,
        inputs: Mapping[str, Path],
        cache: Path,
        *,
        half: bool = False,
        left_out: dict[str, str] | None = None,
        fail_fast: bool = False,
    ) -> None:
        """`half` saves 16-bit weights. `left_out` are clips that were named before, with why.

        With `fail_fast` the first clip that cannot be read ends it.
        """
        self.out, self.config, self.inputs, self.cache = out, config, inputs, cache
        self.half, self._fail_fast = half, fail_fast
        self.left_out = {} if left_out is None else left_out
        self.clips: list[ClipRecord] = []
        self._hashes: dict[str, str] = {}

    @property
    def result(self) -> Path:
        return self.out / CARD

    @abstractmethod
    def run(self, progress: Progress) -> str:
        """Learn, write the model folder, and tell metrics of held-out clips."""

    @property
    def device(self) -> torch.device:
        return find_place(resolve_device(self.config.device))

    def claim(self, team: Team = ALONE) -> None:
        """Refuse inputs that cannot be used, and a folder in which a run has other ones."""
        if self._hashes:
            return
        manifest = self.inputs["manifest"]
        records = [record for record in read_manifest(manifest) if record.captions]
        self.clips = [record for record in records if record.split in ("train", *HELD_OUT)]
        if not self.trained:
            raise CorpusError(f"{manifest}: no clip of split 'train' has captions; add some")
        self.open()
        self._hashes = {name: hash_file(path) for name, path in self.inputs.items()}
        if team.leads:
            claim_folder(self.out, self._hashes, self.list_settings())

    @abstractmethod
    def open(self) -> None:
        """Read the inputs, as far as they can be at fault, before the folder is claimed."""

    @abstractmethod
    def list_settings(self) -> dict[str, Any]:
        """The sections of the config that decide what comes of it."""

    @property
    def trained(self) -> list[ClipRecord]:
        return [record for record in self.clips if record.split == "train"]

    @property
    def held_out(self) -> list[ClipRecord]:
        return [record for record in self.clips if record.split in HELD_OUT]

    def read_clips(
        self, encoder: RegionEncoder, progress: Progress, cut: int | None = None
    ) -> FeatureCache:
        """Compute what is not in the cache yet; clips that cannot be read are named and left out.

        With `cut`, what goes into that stage of the backbone.
        """
        advance = progress.count("reading clips", len(self.clips))
        sampling = Sampling.of(self.config.frames)
        features, failures = cache_features(
            self.clips,
            encoder,
            self.cache,
            sampling,
            cut,
            advance,
            self._fail_fast,
            self.config.engine,
            self.config.training.workers,
        )
        readable = [record.id for record in self.clips if record.id in features]
        if not readable:
            raise CorpusError(f"no clip can be read; the first: {next(iter(failures.values()))}")
        failures |= keep_to_clips(self.out, readable)
        for clip, reason in failures.items():
            if clip not in self.left_out:
                progress.say(f"left out {clip}: {reason}")
        self.left_out |= failures
        self.clips = [record for record in self.clips if record.id not in failures]
        return features

    def describe(self, history: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """What the card of every model says of how it was made."""
        about = self.config.about
        card = {
            "made_with": {"densevidcap": __version__, "torch": torch.__version__},
            "licence": about.licence,
            "data": {
                "about": about.data,
                "sha256": self._hashes,
                "clips": len(self.trained),
                "held_out_clips": len(self.held_out),
            },
            "history": list(history),
        }
        return with_config(card, self.config)


class TrainingStage(CorpusStage):
    """A stage that trains a network, step by step."""

    options: OptimisationConfig

    def run(self, progress: Progress) -> str:
        """Train to the end, write the model folder, and tell the last epoch's metrics."""
        team = Team.join(self.device)
        # Of several processes the first does the work, which the others then find done.
        with ExitStack() as held:
            with team.in_turn():
                self.claim(team)
                if team.leads:
                    held.enter_context(hold_run(self.out))
                task = self.prepare(progress)
            loop = TrainingLoop(task, self.options, self.out / RUN, self.device, team)
            history = loop.train(progress)
            if team.leads:
                self.save(self.describe(history))
                draw_curves(history, self.out / RUN / "curves.png")
        return describe_metrics(history[-1])

    @abstractmethod
    def prepare(self, progress: Progress) -> Task:
        """Read the clips and build the network."""

    @abstractmethod
    def save(self, card: dict[str, Any]) -> None:
        """Write the model folder; `card` says how it was made."""


class ViewStage(CorpusStage):
    """A stage that builds on a Lexical-FCN: what it makes sees clips as region-sequences."""

    streams: tuple[str, ...] = ()
    """Those that it takes; of them, what must be read from the clips themselves is."""

    def open(self) -> None:
        check_regions(self.config.regions)
        check_streams(self.config.streams)
        check_extracted(self.streams)
        self.words = LexicalFCN.load(self.inputs["words"].parent)
        # What it builds on is what the card has to tell.
        self.config = replace(self.config, eyes=self.words.encoder.config)

    def list_settings(self) -> dict[str, Any]:
        sections = ("regions", "association", "streams")
        listed = {name: asdict(getattr(self.config, name)) for name in sections}
        return {"frames": Sampling.of(self.config.frames).to_dict(), **listed}

    def read_views(self, progress: Progress) -> None:
        """`views` of the clips, and the `sequences` that their captions describe."""
        features = self.read_clips(self.words.encoder, progress)
        self._learn_regions(features, progress)
        named = list_extracted(self.streams, self.config.streams)
        for stream in named.values():
            stream.to(self.device, self.config.engine)
        self.extracted = fit_streams(self.trained, named, self.cache)
        self.views = open_views(
            self.config,
            self.cache,
            self.words,
            features,
            self.clips,
            self.extracted,
            progress,
            self._fail_fast,
        )
        self.sequences: dict[str, IndexArray] = {
            record.id: self.views.pair(record.id) for record in self.clips
        }

    def _learn_regions(self, features: FeatureCache, progress: Progress) -> None:
        """If the config says so: what is found replaces its terms, here and in the card (Eq. 9)."""
        regions = self.config.regions
        self.weight_steps: list[WeightStep] = []
        if len(self.words.encoder.grid) == 1:
            # With one region a frame there is nothing to choose, so nothing to learn.
            self.config = replace(self.config, regions=replace(regions, weights="fixed"))
        elif regions.weights == "learned":
            progress.count("learning the weights of regions")
            regions, self.weight_steps = learn_regions(
                self.cache, self.words, features, self.trained, regions
            )
            self.config = replace(self.config, regions=regions)

    def describe_views(self) -> dict[str, Any]:
        """For the card: how weights were learned, and what association made of captions."""
        counts = self.views.count_captions(record.id for record in self.trained)
        return {"weight_steps": [asdict(step) for step in self.weight_steps], "captions": counts}

    @property
    def lexicon_size(self) -> int:
        """V: how many word probabilities are inputs."""
        return min(self.config.streams.lexicon_size, len(self.words.lexicon))

    def list_words(self, min_count: int) -> Vocabulary:
        """Of the training captions."""
        captions = (caption for record in self.trained for caption in record.captions)
        vocabulary = Vocabulary.build(captions, min_count)
        if len(vocabulary) == len(Vocabulary.SPECIAL_TOKENS):
            raise CorpusError(f"no word occurs {min_count} times in the captions: lower min_count")
        return vocabulary


def open_views(
    config: ModelConfig,
    cache: Path,
    words: LexicalFCN,
    features: FeatureCache,
    clips: Sequence[ClipRecord],
    extracted: Mapping[str, ExtractedStream],
    progress: Progress,
    fail_fast: bool = False,
) -> ViewCache:
    """The clips as a captioner of that config sees them, from the cache or computed."""
    advance = progress.count("finding region-sequences", len(clips))
    views = open_view_cache(
        cache,
        words,
        features,
        clips,
        config.regions,
        config.association,
        config.streams.lexicon_size,
        advance,
    )
    sampling = Sampling.of(config.frames)
    views.extracted = cache_streams(
        clips, extracted, features, cache, sampling, progress, fail_fast
    )
    return views


def with_config(card: Mapping[str, Any], config: ModelConfig) -> dict[str, Any]:
    """A card that has all that captioning must know of how the model was trained."""
    return {**card, "config": config.to_dict()}


def hold_run(out: Path) -> AbstractContextManager[None]:
    """Train in that folder alone: two runs that write one checkpoint give a wrong model."""
    refusal = f"{out}: another training works here; wait for its end, or give another folder"
    return hold(out / RUN, ModelError(refusal))


def claim_folder(
    out: Path, data: Mapping[str, str], settings: Mapping[str, Any], stages: Sequence[str] = ()
) -> None:
    """A run goes on only with the data and settings that it began with.

    It begins in no folder that holds a model already, or one of these stages of a model.
    """
    path = out / RUN / SETTINGS
    claim = {"data": dict(data), "settings": _drop_what_has_no_effect(settings)}
    for folder in (out, *(out / stage for stage in stages)):
        if (folder / CARD).exists() and not path.exists():
            raise ModelError(f"{folder}: holds a model, which is not replaced; give another folder")
    with hold_run(out):
        if not path.exists():
            _refuse_strangers(out / RUN)
            write_json(path, claim)
        elif read_json_or_none(path) != json.loads(json.dumps(claim)):
            raise ModelError(
                f"{out}: holds a run with other data or settings, or of version 0.1; "
                "give another folder or remove this one"
            )


def _refuse_strangers(folder: Path) -> None:
    """Files of no run of ours: it would take them for its own, and write over them."""
    files = (each.name for each in folder.iterdir() if each.is_file())
    strange = sorted(name for name in files if not name.startswith(PASSED_OVER))
    if strange:
        raise ModelError(
            f"{folder}: holds {name_some(strange)} of no training; give another folder"
        )


def _drop_what_has_no_effect(settings: Any) -> Any:
    if isinstance(settings, Mapping):
        kept = {name: each for name, each in settings.items() if name not in WITHOUT_EFFECT}
        return {name: _drop_what_has_no_effect(each) for name, each in kept.items()}
    if isinstance(settings, (list, tuple)):
        return [_drop_what_has_no_effect(each) for each in settings]
    return settings


def keep_to_clips(out: Path, readable: Sequence[str]) -> dict[str, str]:
    """What a run leaves out, since it took its first steps without: clips that came late.

    Without one that it began with its steps would be others: that is refused.
    """
    path = out / RUN / CLIPS
    begun = read_json_or_none(path) if (out / RUN / CHECKPOINT).exists() else None
    if not begun:
        write_json(path, {"clips": list(readable)})
        return {}
    gone = sorted(set(begun["clips"]) - set(readable))
    if gone:
        raise CorpusError(
            f"{out}: this run began with clips that cannot be read now: {name_some(gone)}; "
            "bring them back, or train in another folder"
        )
    late = set(readable) - set(begun["clips"])
    reason = "this run began without it; to have it, train in another folder"
    return {clip: reason for clip in readable if clip in late}


def describe_start(folder: Path) -> dict[str, str]:
    """What a card says of the model that training started from."""
    licence = read_card(folder).get("licence", "not stated")
    return {"weights": folder.name, "licence": str(licence)}


def read_json_or_none(path: Path) -> Any:
    """The file's content; None if it is missing or damaged."""
    try:
        return parse_json(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None


def draw_curves(history: Sequence[Mapping[str, Any]], path: Path) -> None:
    """A PNG with a small plot for the loss and each metric, by epoch."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "train", "drawing a loss curve") from None

    names = [name for name in history[-1] if name not in ("epoch", "step")]
    epochs = [entry["epoch"] for entry in history]
    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(4 * columns, 2.6 * rows), layout="constrained")
    for number, name in enumerate(names, start=1):
        axes = figure.add_subplot(rows, columns, number)
        axes.plot(epochs, [entry[name] for entry in history], marker=".", color="#9e2477")
        axes.set_title(name.replace("_", " "), loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.2)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
