"""From a corpus to a model folder: cached features, training, the card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from densevidcap.artefacts import WEIGHTS, hash_file
from densevidcap.config import read_recipe
from densevidcap.curves import draw_curves
from densevidcap.data.lexicon import Lexicon
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.errors import ModelError
from densevidcap.fits import (
    HELD_OUT,
    RUN,
    AboutOptions,
    alone,
    claim_folder,
    describe_run,
    describe_start,
    find_latecomers,
)
from densevidcap.lexical.backbones.weights import (
    PACKAGES,
    load_imagenet,
    load_weights,
    read_weights,
)
from densevidcap.lexical.encoder import EncoderOptions
from densevidcap.lexical.fcn import HeadOptions, LexicalFCN
from densevidcap.lexical.features import cache_features
from densevidcap.lexical.learning import WordOptions, WordTask
from densevidcap.training import Progress, Run, TrainingOptions


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
    encoder: EncoderOptions
    head: HeadOptions
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
    backbone, name = model.encoder.backbone, model.encoder.options.backbone
    if weights == "imagenet":
        load_imagenet(backbone, name)
        package = PACKAGES[name]
        return {"weights": package.distribution, "licence": package.licence}
    path = Path(weights)
    if path.is_dir():
        encoder = LexicalFCN.load(path).encoder
        if encoder.options.backbone != name:
            raise ModelError(f"{path}: its backbone is {encoder.options.backbone}, not {name}")
        backbone.load_state_dict(encoder.backbone.state_dict())
        return describe_start(path)
    load_weights(backbone, read_weights(path), weights)
    return {"weights": path.name, "sha256": hash_file(path), "licence": "not stated"}
