"""`fit sentences`, through the real command line, on a few clips of the test world."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from PIL import Image
from tests.models.small_world import make_lexicon, make_model, write_corpus

from densevidcap.cli import root
from densevidcap.config import ModelConfig
from densevidcap.data.manifest import ClipRecord, read_manifest, write_manifest
from densevidcap.errors import CorpusError, ModelError
from densevidcap.models.captioner import CaptionModel
from densevidcap.pipeline.generator import CaptionGenerator

CONFIG = """
[frames]
most = 3
[regions]
k = 4
[streams]
frame_level = ["centred"]
clip_level = ["clip", "category"]
dropout = {{ clip = 0.3 }}
lexicon_size = 20
[captioner]
kind = "{kind}"
hidden = 16
embedding = 8
[training.sentences]
min_count = 1
epochs = 2
seed = 5
[about]
licence = "Apache-2.0"
data = "the test world"
"""


@dataclass(frozen=True)
class Corpus:
    manifest: Path
    words: Path
    config: Path

    def fit(self, out: Path, *more: str) -> Result:
        paths = {"data": self.manifest, "words": self.words, "config": self.config, "out": out}
        options = [part for name, path in paths.items() for part in (f"--{name}", str(path))]
        cache = ["--cache", str(self.manifest.parent / "cache")]
        return CliRunner().invoke(root, ["fit", "sentences", *options, *cache, *more])


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    manifest = write_corpus(tmp_path / "world", clips=10)
    make_model(make_lexicon(list(read_manifest(manifest)))).save(tmp_path / "words", {})
    (tmp_path / "sentences.toml").write_text(CONFIG.format(kind="s2vt"))
    return Corpus(manifest, tmp_path / "words", tmp_path / "sentences.toml")


def test_a_model_with_its_card_and_curves(corpus: Corpus, tmp_path: Path) -> None:
    out = tmp_path / "model"
    result = corpus.fit(out)
    assert result.exit_code == 0, result.output
    assert "epoch 2: loss " in result.stderr
    assert re.match(rf"{out}: epoch 2, step \d+, loss .*, val_loss ", result.stdout)
    assert CaptionGenerator.load(out).captioner.config.kind == "s2vt"
    card = json.loads((out / "card.json").read_text())
    assert (card["licence"], card["data"]["about"]) == ("Apache-2.0", "the test world")
    assert (card["data"]["clips"], card["data"]["held_out_clips"]) == (8, 1)
    assert set(card["data"]["sha256"]) == {"manifest", "words"}
    assert card["config"]["streams"]["frame_level"] == ["centred"]
    counts = card["regions"]["captions"]
    trained = [record for record in read_manifest(corpus.manifest) if record.split == "train"]
    assert counts["captions"] == sum(len(record.captions) for record in trained)
    assert 0 <= counts["unsupported"] <= counts["captions"]
    assert counts["left_out"] == 0
    assert [entry["epoch"] for entry in card["history"]] == [1, 2]
    with Image.open(out / "training" / "curves.png") as curves:
        assert curves.format == "PNG"

    weights = (out / "weights.safetensors").read_bytes()
    again = corpus.fit(out)
    assert again.stdout == result.stdout
    assert "epoch" not in again.stderr
    assert (out / "weights.safetensors").read_bytes() == weights

    assert corpus.fit(out, "--half").exit_code == 0
    assert (out / "weights.safetensors").stat().st_size < 0.6 * len(weights)
    assert CaptionModel.load(out).config.kind == "s2vt"

    corpus.config.write_text(CONFIG.format(kind="bi-s2vt"))
    refused = corpus.fit(out)
    assert isinstance(refused.exception, ModelError)
    assert "holds a run with other data or settings" in str(refused.exception)


def test_clips_that_cannot_be_read_are_named_and_the_model_is_made_of_the_others(
    corpus: Corpus, tmp_path: Path
) -> None:
    missing = tmp_path / "none.mp4"
    broken = ClipRecord("[/broken]", str(missing), ("a red ball",), None, "train")
    write_manifest(corpus.manifest, [*read_manifest(corpus.manifest), broken])
    out = tmp_path / "model"
    result = corpus.fit(out)
    assert result.exit_code == 1
    assert f"left out [/broken]: {missing}: no such file" in result.stderr
    assert "made without 1 clips, as told above: [/broken];" in result.stderr.splitlines()[-1]
    card = json.loads((out / "card.json").read_text())
    assert card["data"]["clips"] == 8

    # Put right too late: a model never claims a clip that it was not trained on.
    missing.write_bytes(Path(str(next(read_manifest(corpus.manifest)).source)).read_bytes())
    again = corpus.fit(out)
    assert again.exit_code == 1
    assert "left out [/broken]: this run began without it;" in again.stderr
    assert json.loads((out / "card.json").read_text()) == card


def test_a_run_goes_on_with_no_fewer_clips(corpus: Corpus, tmp_path: Path) -> None:
    """Without one its steps and rates would be others, and nobody would know."""
    out, begun = tmp_path / "model", next(read_manifest(corpus.manifest))
    assert corpus.fit(out).exit_code == 0
    Path(str(begun.source)).unlink()
    (out / "card.json").unlink()
    refused = corpus.fit(out, "--cache", str(tmp_path / "another"))
    assert isinstance(refused.exception, CorpusError)
    assert f"began with clips that cannot be read now: {begun.id};" in str(refused.exception)
    # What was seen of it is in the cache.
    assert corpus.fit(out).exit_code == 0


def test_a_corpus_of_which_nothing_can_be_read_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    missing = tmp_path / "none.mp4"
    write_manifest(
        corpus.manifest, [ClipRecord("gone", str(missing), ("a red ball",), None, "train")]
    )
    result = corpus.fit(tmp_path / "model")
    assert isinstance(result.exception, CorpusError)
    assert f"no clip can be read; the first: {missing}: no such file" in str(result.exception)


@pytest.mark.parametrize(
    "wrong",
    [
        '[streams]\nframe_level = "centred"',
        "[streams]\nframe_level = []",
        "[streams]\ndropout = { sound = 0.5 }",
        "[captioner]\nhidden = 0",
        "[captioner]\nanchor = 1",
        '[association]\nmethod = "best"',
        "[regions]\nk = 0",
        "[training.sentences]\nlabel_smoothing = 2",
        "[training.sentences]\ncaptions_per_clip = -1",
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(tmp_path: Path, wrong: str) -> None:
    config = tmp_path / "sentences.toml"
    config.write_text(wrong)
    section, name = wrong.split(" =")[0].split("\n")
    with pytest.raises(ModelError, match=re.escape(f"{config}: {section} ")) as caught:
        ModelConfig.read(config)
    assert name in str(caught.value)
