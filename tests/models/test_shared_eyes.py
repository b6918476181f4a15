"""Eyes of a model of the package are named by their hash instead of stored; packing adds them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result
from safetensors.torch import load_file
from tests.data.made_clips import write_video
from tests.pipeline.small_model import write_model

import densevidcap
from densevidcap import model_folder
from densevidcap.cli import root
from densevidcap.errors import ModelError, OutputError
from densevidcap.model_folder import BUNDLED, WEIGHTS
from densevidcap.models.shared_eyes import EYES
from densevidcap.models.word_detector import LexicalFCN

FEW = {"frames.most": 3, "regions.k": 4, "decoding.samples": 3}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model whose eyes no model of the package has."""
    return write_model(tmp_path_factory.mktemp("models") / "whole")


@pytest.fixture
def installed(tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, as if it came with the package."""
    folder = tmp_path / "package" / "default"
    shutil.copytree(whole, folder)
    monkeypatch.setattr(model_folder, "BUNDLED", folder)
    return folder


@pytest.fixture
def mine(tmp_path: Path, installed: Path) -> Path:
    """A model of one's own with the eyes of that one."""
    assert installed.is_dir()
    return write_model(tmp_path / "mine")


def models(*arguments: object) -> Result:
    return CliRunner().invoke(root, ["models", *map(str, arguments)])


def list_eyes(folder: Path) -> list[str]:
    return [name for name in load_file(folder / "words" / WEIGHTS) if name.startswith(EYES)]


def read_words_card(folder: Path) -> dict[str, object]:
    card: dict[str, object] = json.loads((folder / "words" / "card.json").read_text())
    return card


def test_a_model_and_its_packed_copy_say_what_the_whole_one_says(
    whole: Path, mine: Path, tmp_path: Path
) -> None:
    clip = write_video(tmp_path / "talk.mp4", 20)
    assert list_eyes(whole)
    assert not list_eyes(mine)
    (mine / "words" / "training").mkdir()
    (mine / "words" / "training" / "manifest.jsonl").write_text("captions of mine")
    result = models("pack", mine, tmp_path / "packed")
    assert result.exit_code == 0, result.output
    assert "packed: a whole model" in result.stdout
    assert list_eyes(tmp_path / "packed") == list_eyes(whole)
    assert "shared_eyes" not in read_words_card(tmp_path / "packed")
    assert not (tmp_path / "packed" / "words" / "training").exists()
    first, *others = (
        densevidcap.load(folder).caption(clip, k=3, settings=FEW)
        for folder in (whole, mine, tmp_path / "packed")
    )
    for captions in others:
        assert list(captions) == list(first)


def test_the_card_names_the_eyes_and_the_list_tells(mine: Path, tmp_path: Path) -> None:
    shared = read_words_card(mine)["shared_eyes"]
    assert isinstance(shared, dict)
    assert shared["of"] == "default"
    assert len(shared["sha256"]) == 64
    assert "not whole: with the eyes of 'default'" in models(mine).stdout
    parts = json.loads(models(mine, "--json").stdout)[str(mine)]
    assert [part["shared_eyes"] for part in parts] == ["default", None, None, None]
    models("pack", mine, tmp_path / "packed")
    assert "not whole" not in models(tmp_path / "packed").stdout


def test_other_eyes_are_refused_in_one_line(mine: Path, installed: Path, tmp_path: Path) -> None:
    """As after a package with other eyes was installed."""
    words = LexicalFCN.load(installed / "words")
    with torch.no_grad():
        next(words.encoder.backbone.parameters()).add_(1e-3)
    words.save(installed / "words", {})
    for load in (lambda: densevidcap.load(mine), lambda: LexicalFCN.load(mine / "words")):
        with pytest.raises(ModelError, match=r"needs the eyes [0-9a-f]{12} of the model") as caught:
            load()
        assert "densevidcap models pack" in str(caught.value)
        assert "\n" not in str(caught.value)
    assert isinstance(models("pack", mine, tmp_path / "packed").exception, ModelError)
    assert not (tmp_path / "packed").exists()


@pytest.mark.parametrize("shared", ["default", {}, {"of": 3}, {"of": "../package/default"}])
def test_a_card_that_names_no_eyes_of_the_package_is_refused(mine: Path, shared: object) -> None:
    card = read_words_card(mine)
    known = card["shared_eyes"]
    assert isinstance(known, dict)
    card["shared_eyes"] = {**known, **shared} if shared and isinstance(shared, dict) else shared
    (mine / "words" / "card.json").write_text(json.dumps(card))
    with pytest.raises(ModelError, match=r"names no model|needs the eyes"):
        LexicalFCN.load(mine / "words")


def test_eyes_that_learned_are_stored(mine: Path, tmp_path: Path) -> None:
    words = LexicalFCN.load(mine / "words")
    with torch.no_grad():
        next(words.encoder.backbone.parameters())[0, 0, 0, 0] += 1e-3
    words.save(tmp_path / "tuned" / "words", {})
    assert list_eyes(tmp_path / "tuned")
    assert "shared_eyes" not in read_words_card(tmp_path / "tuned")
    loaded = LexicalFCN.load(tmp_path / "tuned" / "words").state_dict()
    assert all(torch.equal(loaded[name], tensor) for name, tensor in words.state_dict().items())


def test_the_model_of_the_package_keeps_its_own(installed: Path) -> None:
    LexicalFCN.load(installed / "words").save(installed / "words", {})
    assert list_eyes(installed)


def test_packing_a_whole_model_and_a_stage(whole: Path, mine: Path, tmp_path: Path) -> None:
    assert models("pack", whole, tmp_path / "copy").exit_code == 0
    files = [path.relative_to(whole) for path in whole.rglob("*") if path.is_file()]
    assert len(files) > 5
    for file in files:
        assert (tmp_path / "copy" / file).read_bytes() == (whole / file).read_bytes()
    assert models("pack", mine / "words", tmp_path / "alone").exit_code == 0
    assert LexicalFCN.load(tmp_path / "alone").encoder.config.backbone == "lite0"
    assert any(name.startswith(EYES) for name in load_file(tmp_path / "alone" / WEIGHTS))


def test_a_copy_of_16_bits_says_the_same_in_half_the_space(mine: Path, tmp_path: Path) -> None:
    assert models("pack", mine, tmp_path / "whole").exit_code == 0
    assert models("pack", mine, tmp_path / "half", "--half").exit_code == 0
    for stage in ("words", "sentences"):
        full, half = (load_file(tmp_path / name / stage / WEIGHTS) for name in ("whole", "half"))
        assert full.keys() == half.keys()
        for name, tensor in full.items():
            assert half[name].element_size() == (2 if tensor.is_floating_point() else 8)
            torch.testing.assert_close(half[name].to(tensor.dtype), tensor, atol=1e-3, rtol=1e-3)
    loaded = LexicalFCN.load(tmp_path / "half" / "words")
    assert next(loaded.parameters()).dtype == torch.float32


def test_what_cannot_be_packed_is_named(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    assert "no model" in str(models("pack", tmp_path / "there", tmp_path / "out").exception)
    taken = models("pack", whole, tmp_path / "there").exception
    assert isinstance(taken, OutputError)
    assert "stands there already" in str(taken)
    assert "inside the model" in str(models("pack", whole, whole / "copy").exception)
    assert models("pack", whole).exit_code == 2
    damaged = tmp_path / "damaged"
    shutil.copytree(whole, damaged)
    (damaged / "words" / "lexicon.json").write_text("{}")
    assert "damaged or changed" in str(models("pack", damaged, tmp_path / "out").exception)
    assert not (tmp_path / "out").exists()


def test_the_bundled_model_is_whole_and_shares_its_eyes(tmp_path: Path) -> None:
    """At 16 bits there, at 32 here: the same numbers."""
    assert list_eyes(BUNDLED)
    words = LexicalFCN.load(BUNDLED / "words")
    words.save(tmp_path / "words", {})
    assert not list_eyes(tmp_path)
    loaded = LexicalFCN.load(tmp_path / "words").state_dict()
    assert all(torch.equal(loaded[name], tensor) for name, tensor in words.state_dict().items())
