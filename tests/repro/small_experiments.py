"""A corpus, a model and experiments so small that baselines are trained in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner, Result
from tests.models.small_world import make_lexicon, make_model, write_corpus

from densevidcap.cli import root
from densevidcap.config import ModelConfig
from densevidcap.data.manifest import read_manifest
from densevidcap.progress import Silent
from densevidcap.train.evaluator import EvaluatorStage
from densevidcap.train.sentences import SentenceStage

CONFIG = """
[frames]
most = 3
[eyes]
backbone = "lite0"
size = 96
window = 2
stride = 1
[words]
hidden = 8
[regions]
k = 4
[streams]
frame_level = ["regions"]
clip_level = ["category"]
lexicon_size = 20
[captioner]
kind = "mean-pooling"
hidden = 16
embedding = 8
[evaluator]
width = 8
hidden = 16
embedding = 8
[[training.words]]
paradigm = "{paradigm}"
epochs = 2
[training.sentences]
min_count = 1
epochs = 1
[training.evaluator]
min_count = 1
epochs = 1
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
"""
CLAIMS = """
[[claims]]
name = "told"
text = "a category helps"
where = "Table 3"
experiment = "single"
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
    """With a trained model and the configs of its baselines."""
    studio = Studio(folder)
    records = list(read_manifest(write_corpus(folder / "world", clips=10)))
    model, cache, data = folder / "model", folder / "cache", studio.manifest
    words = model / "words"
    make_model(make_lexicon(records)).save(words, {})
    config = ModelConfig.read(studio.define("ablation/plain", CONFIG.format(paradigm="mimll")))
    studio.define("claims", CLAIMS)
    studio.define("ablation/words-mil", CONFIG.format(paradigm="mil"))
    studio.define("ablation/words-mimll", CONFIG.format(paradigm="mimll"))
    for stage in (
        SentenceStage(model / "sentences", config, data, words, cache),
        EvaluatorStage(model / "evaluator", config, data, words, cache),
    ):
        stage.run(Silent())
        assert not stage.left_out
    return studio
