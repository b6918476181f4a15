"""A corpus, a model and experiments so small that rivals are trained in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner, Result
from tests.models.small_world import make_lexicon, make_model, write_corpus

from densevidcap.cli import root
from densevidcap.data.manifest import read_manifest
from densevidcap.train.evaluator import EvaluatorFit, EvaluatorRecipe
from densevidcap.train.loop import Silence
from densevidcap.train.sentences import SentencesFit, SentencesRecipe

RIVAL = """
[sampling]
frames = 3
[streams]
frame_level = ["regions"]
clip_level = ["category"]
[captioner]
kind = "{kind}"
hidden = 16
embedding = 8
[library]
words = 20
k = 4
[sentences]
min_count = 1
[training]
epochs = 1
"""
EVALUATOR = """
[sampling]
frames = 3
[library]
words = 20
k = 4
[evaluator]
width = 8
hidden = 16
embedding = 8
[lessons]
min_count = 1
[training]
epochs = 1
"""
WORDS = """
[sampling]
frames = 3
[encoder]
backbone = "lite0"
size = 96
window = 2
stride = 1
[head]
hidden = 8
[words]
paradigm = "{paradigm}"
[training]
epochs = 2
"""
SINGLE = """
[about]
title = "Who says it better"
kind = "single"
notes = ["A note."]

[[rows]]
name = "plain"
system = "plain"
paper = [25.7, 32.1, 56.4, 32.5]

[[rows]]
name = "told"
system = "plain"
category = "given"
paper = [25.9, 33.7, 56.9, 32.6]

[[rows]]
name = "on other words"
system = "plain"
words = "words-mil"

[[rows]]
name = "model"
system = "model"

[[rows]]
name = "human"
system = "human"

[[rows]]
name = "published"
paper = [29.0, 43.7, 61.4, 45.7]

[[claims]]
better = "told"
worse = "plain"
"""


@dataclass(frozen=True)
class Studio:
    folder: Path

    @property
    def manifest(self) -> Path:
        return self.folder / "world" / "manifest.jsonl"

    @property
    def definitions(self) -> Path:
        return self.folder / "experiments"

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    def define(self, name: str, text: str) -> Path:
        path = self.definitions / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run(self, *arguments: str, data: Path | None = None) -> Result:
        places = {
            "data": data or self.manifest,
            "model": self.folder / "model",
            "cache": self.folder / "cache",
            "out": self.runs,
            "definitions": self.definitions,
        }
        options = [part for name, path in places.items() for part in (f"--{name}", str(path))]
        return CliRunner().invoke(root, ["experiment", *arguments, *options])


def open_studio(folder: Path) -> Studio:
    """With a trained model and the recipes of its rivals."""
    studio = Studio(folder)
    records = list(read_manifest(write_corpus(folder / "world", clips=10)))
    model, cache = folder / "model", folder / "cache"
    make_model(make_lexicon(records)).save(model / "words", {})
    plain = studio.define("ablation/plain", RIVAL.format(kind="mean-pooling"))
    studio.define("ablation/words-mil", WORDS.format(paradigm="mil"))
    studio.define("ablation/words-mimll", WORDS.format(paradigm="mimll"))
    evaluator = studio.define("evaluator", EVALUATOR)
    for fit in (
        SentencesFit(
            studio.manifest, model / "words", SentencesRecipe.read(plain), model / "sentences"
        ),
        EvaluatorFit(
            studio.manifest, model / "words", EvaluatorRecipe.read(evaluator), model / "evaluator"
        ),
    ):
        assert not fit.read_clips(cache, lambda: None, lambda: None)
        fit.train(Silence())
    return studio
