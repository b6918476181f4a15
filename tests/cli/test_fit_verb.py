"""The verb `fit`, through the real command line, on a few clips of the test world."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result
from PIL import Image
from tests.limited_disk import limited_files
from tests.models.small_world import make_lexicon, make_model, write_corpus
from tests.models.tiny_vit import TinyViT

from densevidcap.cli import root
from densevidcap.cli.training_view import GOING_ON
from densevidcap.config import ModelConfig
from densevidcap.data.manifest import ClipRecord, read_manifest, write_manifest
from densevidcap.errors import ModelError, OutputError
from densevidcap.models.backbones import BACKBONES, build_backbone
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.train.stage import hold_run

CONFIG = """
[frames]
most = 3
[eyes]
backbone = "lite0"
size = 96
window = 2
[words]
hidden = 16
[about]
licence = "Apache-2.0"
data = "the test world"
[[training.words]]
batch = 8
tuned = {tuned}
epochs = 2
seed = 5
"""


@dataclass(frozen=True)
class Corpus:
    manifest: Path
    lexicon: Path
    config: Path

    def fit(self, out: Path, *more: str) -> Result:
        paths = {"data": self.manifest, "lexicon": self.lexicon, "config": self.config, "out": out}
        options = [part for name, path in paths.items() for part in (f"--{name}", str(path))]
        cache = ["--cache", str(self.manifest.parent / "cache")]
        return CliRunner().invoke(root, ["fit", "words", *options, *cache, *more])


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    manifest = write_corpus(tmp_path / "world", clips=12)
    make_lexicon(list(read_manifest(manifest))).save(tmp_path / "lexicon.json")
    (tmp_path / "words.toml").write_text(CONFIG.format(tuned=0))
    return Corpus(manifest, tmp_path / "lexicon.json", tmp_path / "words.toml")


def test_a_model_with_its_card_and_curves(corpus: Corpus, tmp_path: Path) -> None:
    out = tmp_path / "model"
    result = corpus.fit(out)
    assert result.exit_code == 0, result.output
    assert "epoch 2: loss " in result.stderr
    assert result.stdout.startswith(f"{out}: epoch 2, step 4, loss ")

    assert LexicalFCN.load(out).encoder.config.window == 2
    card = json.loads((out / "card.json").read_text())
    assert card["licence"] == "Apache-2.0"
    assert card["started_from"]["licence"] == "Apache-2.0"
    assert card["started_from"]["weights"].startswith("efficientnet-lite0")
    assert card["data"]["about"] == "the test world"
    assert (card["data"]["clips"], card["data"]["held_out_clips"]) == (10, 1)
    assert card["config"]["training"]["words"][0]["seed"] == 5
    assert [entry["epoch"] for entry in card["history"]] == [1, 2]
    with Image.open(out / "training" / "curves.png") as curves:
        assert curves.format == "PNG"
    assert list((out / "training").glob("events.out.tfevents.*"))


def test_clips_that_cannot_be_read_are_named_and_the_model_is_made_of_the_others(
    corpus: Corpus, tmp_path: Path
) -> None:
    missing = tmp_path / "none.mp4"
    broken = ClipRecord("[/broken]", str(missing), ("a red ball",), None, "train")
    write_manifest(corpus.manifest, [*read_manifest(corpus.manifest), broken])
    result = corpus.fit(tmp_path / "model")
    assert result.exit_code == 1
    assert f"left out [/broken]: {missing}: no such file" in result.stderr
    assert "made without 1 clips, as told above: [/broken];" in result.stderr.splitlines()[-1]
    assert result.stdout.startswith(f"{tmp_path / 'model'}: epoch 2, step 4, loss ")
    assert LexicalFCN.load(tmp_path / "model").encoder.config.window == 2
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    assert card["data"]["clips"] == 10

    # Put right too late: a model never claims a clip that it was not trained on.
    missing.write_bytes(Path(str(next(read_manifest(corpus.manifest)).source)).read_bytes())
    again = corpus.fit(tmp_path / "model")
    assert again.exit_code == 1
    assert "left out [/broken]: this run began without it;" in again.stderr
    assert json.loads((tmp_path / "model" / "card.json").read_text()) == card
    assert corpus.fit(tmp_path / "other").exit_code == 0


@pytest.mark.parametrize(
    "wrong",
    [
        "[[training.words]]\nepochs = 0",
        "[[training.words]]\nlearning_rate = nan",
        "[[training.words]]\nseed = -1",
        "[[training.words]]\naverage = 1",
        "[words]\ndropout = 1.5",
        "[words]\nhidden = -1",
        "[[training.words]]\nbatch = 0",
        "[[training.words]]\ntuned = -1",
        "[eyes]\nstride = 0",
        "[frames]\nseed = -1",
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(tmp_path: Path, wrong: str) -> None:
    config = tmp_path / "words.toml"
    config.write_text(wrong)
    section, name = wrong.split(" =")[0].split("\n")
    named = section.replace("[[", "[").replace("]]", "]")
    with pytest.raises(ModelError, match=re.escape(f"{config}: {named} ")) as caught:
        ModelConfig.read(config)
    assert name in str(caught.value)


def test_the_same_command_again_has_nothing_to_do(corpus: Corpus, tmp_path: Path) -> None:
    first = corpus.fit(tmp_path / "model")
    weights = (tmp_path / "model" / "weights.safetensors").read_bytes()
    again = corpus.fit(tmp_path / "model")
    assert again.stdout == first.stdout
    assert "epoch" not in again.stderr
    assert (tmp_path / "model" / "weights.safetensors").read_bytes() == weights


def test_a_folder_of_another_run_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    corpus.fit(tmp_path / "model")
    corpus.config.write_text(CONFIG.format(tuned=1))
    result = corpus.fit(tmp_path / "model")
    assert isinstance(result.exception, ModelError)
    assert "holds a run with other data or settings" in str(result.exception)
    assert corpus.fit(tmp_path / "tuned").exit_code == 0


def test_a_folder_of_version_0_1_is_told(corpus: Corpus, tmp_path: Path) -> None:
    settings = tmp_path / "model" / "training" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"data": {}, "recipe": {"training": {"epochs": 2}}}')
    result = corpus.fit(tmp_path / "model")
    assert isinstance(result.exception, ModelError)
    assert "other data or settings, or of version 0.1; give another" in str(result.exception)


def test_what_does_not_change_the_weights_may_change(corpus: Corpus, tmp_path: Path) -> None:
    first = corpus.fit(tmp_path / "model")
    text = CONFIG.format(tuned=0).replace("Apache-2.0", "MIT")
    corpus.config.write_text(f'device = "cpu"\n{text}checkpoint_seconds = 5\n')
    again = corpus.fit(tmp_path / "model")
    assert again.stdout == first.stdout
    assert json.loads((tmp_path / "model" / "card.json").read_text())["licence"] == "MIT"


def test_rounds_start_from_each_other(corpus: Corpus, tmp_path: Path) -> None:
    out = tmp_path / "model"
    corpus.config.write_text(CONFIG.format(tuned=1) + "[[training.words]]\nepochs = 1\n")
    result = corpus.fit(out)
    assert result.exit_code == 0, result.output
    assert "1 of 2, words, round 1: epoch 2: loss " in result.stderr
    assert "2 of 2, words: epoch 1: loss " in result.stderr
    card = json.loads((out / "card.json").read_text())
    assert card["started_from"] == {"weights": "words-1", "licence": "Apache-2.0"}
    again = corpus.fit(out)
    assert again.stdout == result.stdout
    assert "1 of 2, words, round 1: done before" in again.stderr


def test_eyes_that_stay_as_they_came_are_not_stored(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a model of the package has them; a training can start from what is left."""
    bundled = tmp_path / "package" / "default"
    make_model(make_lexicon(list(read_manifest(corpus.manifest)))).save(bundled / "words", {})
    monkeypatch.setattr("densevidcap.model_folder.BUNDLED", bundled)
    frozen, tuned = tmp_path / "frozen", tmp_path / "tuned"
    assert corpus.fit(frozen).exit_code == 0
    assert json.loads((frozen / "card.json").read_text())["shared_eyes"]["of"] == "default"
    corpus.config.write_text(CONFIG.format(tuned=1))
    result = corpus.fit(tuned, "--from", str(frozen))
    assert result.exit_code == 0, result.output
    assert "shared_eyes" not in json.loads((tuned / "card.json").read_text())
    ours, theirs = (LexicalFCN.load(folder).encoder.state_dict() for folder in (tuned, frozen))
    assert torch.equal(ours["backbone._conv_stem.weight"], theirs["backbone._conv_stem.weight"])
    assert not torch.equal(ours["backbone._conv_head.weight"], theirs["backbone._conv_head.weight"])


def test_weights_of_a_file(corpus: Corpus, tmp_path: Path) -> None:
    weights = tmp_path / "mine.pth"
    torch.save(build_backbone("lite0").state_dict(), weights)
    corpus.config.write_text(f'{CONFIG.format(tuned=0)}weights = "{weights}"\n')
    assert corpus.fit(tmp_path / "model").exit_code == 0
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    assert card["started_from"]["weights"] == "mine.pth"
    assert len(card["started_from"]["sha256"]) == 64


def test_layers_that_a_file_lacks_are_told(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of VGG-16, whose public convolutions come without fc6 and fc7."""
    monkeypatch.setitem(BACKBONES, "tiny-vit", "tests.models.tiny_vit:TinyViT")
    monkeypatch.setattr(TinyViT, "may_lack", ("norm.",))
    weights = {n: t for n, t in TinyViT("tiny-vit").state_dict().items() if n[:4] != "norm"}
    torch.save(weights, tmp_path / "mine.pth")
    config = CONFIG.format(tuned=1).replace("lite0", "tiny-vit").replace("96", "70")
    corpus.config.write_text(f'{config}weights = "{tmp_path / "mine.pth"}"\n')
    result = corpus.fit(tmp_path / "model")
    assert result.exit_code == 0, result.output
    assert "mine.pth has no weights of norm: they are random" in result.stderr
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    assert card["started_from"]["started_at_random"] == "norm"


def test_weights_of_another_model(corpus: Corpus, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    corpus.config.write_text(CONFIG.format(tuned=1))
    assert corpus.fit(first).exit_code == 0
    corpus.config.write_text(CONFIG.format(tuned=0))
    assert corpus.fit(second, "--from", str(first)).exit_code == 0
    card = json.loads((second / "card.json").read_text())
    assert card["started_from"] == {"weights": "first", "licence": "Apache-2.0"}
    ours, theirs = (LexicalFCN.load(folder).encoder.state_dict() for folder in (second, first))
    assert all(torch.equal(ours[name], tensor) for name, tensor in theirs.items())

    other = CONFIG.format(tuned=0).replace("lite0", "lite2")
    corpus.config.write_text(other)
    result = corpus.fit(tmp_path / "third", "--from", str(first))
    assert isinstance(result.exception, ModelError)
    assert f"{first}: its backbone is lite0, not lite2" in str(result.exception)


def test_a_full_disk_and_a_second_training_are_told_in_a_line(
    corpus: Corpus, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    with limited_files(200_000):
        full = corpus.fit(out)
    assert isinstance(full.exception, OutputError), full.output
    (line,) = str(full.exception).splitlines()
    assert "checkpoint.safetensors: cannot be written (File too large); make room" in line
    assert line.endswith(GOING_ON)
    with hold_run(out):
        refused = corpus.fit(out)
    assert isinstance(refused.exception, ModelError)
    assert f"{out}: another training works here; wait" in str(refused.exception)
    assert corpus.fit(out).exit_code == 0


def test_a_lexicon_in_the_models_folder_is_not_written_over(corpus: Corpus) -> None:
    before = corpus.lexicon.read_bytes()
    refused = corpus.fit(corpus.lexicon.parent)
    assert f"{corpus.lexicon}: is read by this run" in str(refused.exception)
    assert corpus.lexicon.read_bytes() == before


def test_a_model_is_not_replaced(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "card.json").write_text("{}")
    refused = corpus.fit(tmp_path / "model")
    assert "model: holds a model, which is not replaced" in str(refused.exception)
