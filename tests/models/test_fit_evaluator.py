"""`fit evaluator`, through the real command line, on a few clips of the test world."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.models.small_world import make_lexicon, make_model, write_corpus

from densevidcap.cli import root
from densevidcap.config import ModelConfig
from densevidcap.data.manifest import read_manifest, write_manifest
from densevidcap.errors import CorpusError, ModelError
from densevidcap.model_folder import WEIGHTS
from densevidcap.models.evaluator import load_evaluator
from densevidcap.models.evaluator_network import NetworkEvaluator
from densevidcap.models.evaluator_regression import RegressionEvaluator
from densevidcap.progress import Silent
from densevidcap.train.evaluator import EvaluatorStage

CONFIG = """
[frames]
most = 3
[regions]
k = 4
[streams]
lexicon_size = 20
[evaluator]
width = {width}
hidden = 16
embedding = 8
[training.evaluator]
min_count = 1
batch = 32
epochs = 3
average = 0.9
[about]
data = "the test world"
"""


@dataclass(frozen=True)
class Corpus:
    manifest: Path
    words: Path
    cache: Path
    config: Path

    def fit(self, out: Path, *more: str) -> Result:
        paths = {"data": self.manifest, "words": self.words, "config": self.config, "out": out}
        options = [part for name, path in paths.items() for part in (f"--{name}", str(path))]
        cache = ["--cache", str(self.cache)]
        return CliRunner().invoke(root, ["fit", "evaluator", *options, *cache, *more])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with clips, a Lexical-FCN and a cache that all tests share."""
    folder = tmp_path_factory.mktemp("world")
    records = list(read_manifest(write_corpus(folder, clips=20)))
    make_model(make_lexicon(records)).save(folder / "words", {})
    return folder


@pytest.fixture
def corpus(world: Path, tmp_path: Path) -> Corpus:
    """With a manifest and a config that a test may change."""
    write_manifest(tmp_path / "manifest.jsonl", read_manifest(world / "manifest.jsonl"))
    (tmp_path / "evaluator.toml").write_text(CONFIG.format(width=8))
    return Corpus(
        tmp_path / "manifest.jsonl", world / "words", world / "cache", tmp_path / "evaluator.toml"
    )


def test_a_model_with_its_card(corpus: Corpus, tmp_path: Path) -> None:
    out = tmp_path / "model"
    weaker = tmp_path / "weaker.json"
    clips = [record.id for record in read_manifest(corpus.manifest)]
    weaker.write_text(json.dumps({clip: ["a ball", "a red star moves"] for clip in clips}))
    result = corpus.fit(out, "--weaker", str(weaker))
    assert result.exit_code == 0, result.output
    assert re.match(rf"{out}: epoch 3, step \d+, loss .*, clip_at_1 .*, auc .*", result.stdout)
    assert "agreement" in result.stdout
    card = json.loads((out / "card.json").read_text())
    assert card["data"]["about"] == "the test world"
    assert set(card["data"]["sha256"]) == {"manifest", "words", "weaker"}
    assert card["config"]["evaluator"]["width"] == 8
    assert NetworkEvaluator.load(out).network.config.width == 8

    weights = (out / WEIGHTS).read_bytes()
    again = corpus.fit(out, "--weaker", str(weaker))
    assert again.stdout == result.stdout
    assert (out / WEIGHTS).read_bytes() == weights
    assert corpus.fit(out, "--weaker", str(weaker), "--half").exit_code == 0
    assert (out / WEIGHTS).stat().st_size < 0.6 * len(weights)

    corpus.config.write_text(CONFIG.format(width=4))
    for other in ([], ["--weaker", str(weaker)]):
        refused = corpus.fit(out, *other)
        assert isinstance(refused.exception, ModelError)
        assert "holds a run with other data or settings" in str(refused.exception)


class _KilledError(BaseException):
    """As sudden as the real thing: nothing in the package catches it."""


class _Killer(Silent):
    def epoch(self, epoch: int, metrics: dict[str, float]) -> None:  # noqa: ARG002
        if epoch == 2:
            raise _KilledError


def test_a_run_that_was_stopped_ends_in_the_same_weights(corpus: Corpus, tmp_path: Path) -> None:
    assert corpus.fit(tmp_path / "whole").exit_code == 0
    config, out = ModelConfig.read(corpus.config), tmp_path / "stopped"
    stage = EvaluatorStage(out, config, corpus.manifest, corpus.words, corpus.cache)
    with pytest.raises(_KilledError):
        stage.run(_Killer())
    assert not (tmp_path / "stopped" / WEIGHTS).exists()
    assert corpus.fit(tmp_path / "stopped").exit_code == 0
    stopped, whole = tmp_path / "stopped" / WEIGHTS, tmp_path / "whole" / WEIGHTS
    assert stopped.read_bytes() == whole.read_bytes()


def test_without_held_out_clips_nothing_is_measured(corpus: Corpus, tmp_path: Path) -> None:
    records = [record for record in read_manifest(corpus.manifest) if record.split == "train"]
    write_manifest(corpus.manifest, records)
    assert corpus.fit(tmp_path / "model").exit_code == 0
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    assert set(card["history"][-1]) == {"epoch", "step", "loss"}


def test_a_faulty_file_of_sentences_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    weaker = tmp_path / "weaker.json"
    weaker.write_text('{"clip": [" "]}')
    result = corpus.fit(tmp_path / "model", "--weaker", str(weaker))
    assert isinstance(result.exception, CorpusError)
    assert str(weaker) in str(result.exception)


def test_a_corpus_that_teaches_nothing_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    corpus.config.write_text(CONFIG.format(width=8).replace("min_count = 1", "min_count = 9999"))
    result = corpus.fit(tmp_path / "rare")
    assert isinstance(result.exception, CorpusError)
    assert "lower min_count" in str(result.exception)
    records = [record for record in read_manifest(corpus.manifest) if record.split != "train"]
    write_manifest(corpus.manifest, records)
    untold = corpus.fit(tmp_path / "untold")
    assert "no clip of split 'train' has captions" in str(untold.exception)


@pytest.mark.parametrize(
    "wrong",
    [
        "[evaluator]\nwidth = 0",
        "[training.evaluator]\nhard = 2",
        "[training.evaluator]\nnegatives = 0",
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(tmp_path: Path, wrong: str) -> None:
    config = tmp_path / "evaluator.toml"
    config.write_text(wrong)
    section, name = wrong.split(" =")[0].split("\n")
    with pytest.raises(ModelError, match=re.escape(f"{config}: {section} ")) as caught:
        ModelConfig.read(config)
    assert name in str(caught.value)


def test_one_that_is_solved_for(corpus: Corpus, tmp_path: Path) -> None:
    corpus.config.write_text(
        CONFIG.format(width=8).replace("[evaluator]", '[evaluator]\nkind = "regression"\nrank = 5')
    )
    out = tmp_path / "model"
    result = corpus.fit(out)
    assert result.exit_code == 0, result.output
    assert re.match(rf"{out}: epoch 1, clip_at_1 .*, auc .*", result.stdout)
    evaluator = load_evaluator(out)
    assert isinstance(evaluator, RegressionEvaluator)
    assert evaluator.config.rank == 5
    card = json.loads((out / "card.json").read_text())
    assert set(card["data"]["sha256"]) == {"manifest", "words"}
    weights = (out / WEIGHTS).read_bytes()
    assert corpus.fit(out, "--half").exit_code == 0
    assert (out / WEIGHTS).stat().st_size < 0.6 * len(weights)

    corpus.config.write_text(corpus.config.read_text().replace("rank = 5", "rank = 6"))
    refused = corpus.fit(out)
    assert refused.exit_code == 1
    assert "holds a run with other data or settings" in str(refused.exception)


def test_what_a_captioner_says_is_of_no_use_to_a_regression(corpus: Corpus, tmp_path: Path) -> None:
    corpus.config.write_text(
        CONFIG.format(width=8).replace("[evaluator]", '[evaluator]\nkind = "regression"')
    )
    weaker = tmp_path / "weaker.json"
    weaker.write_text("{}")
    result = corpus.fit(tmp_path / "model", "--weaker", str(weaker))
    assert result.exit_code == 1
    assert "--weaker" in str(result.exception)
    assert not (tmp_path / "model").exists()
