"""The verb `models`: what there is, by its cards."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from safetensors.torch import load_file, save_file
from tests.pipeline.small_model import write_model

import densevidcap
from densevidcap.cli import root
from densevidcap.config import EyesConfig, ModelConfig
from densevidcap.errors import ModelError
from densevidcap.model_folder import hash_file, read_model_config


def run(*arguments: object) -> Result:
    return CliRunner().invoke(root, ["models", *map(str, arguments)])


def test_the_bundled_model_is_listed() -> None:
    result = run()
    assert result.exit_code == 0, result.output
    assert "default" in result.stdout
    assert "words" in result.stdout


def test_a_user_s_own(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "mine")
    # What a whole training writes beside its stages.
    (folder / "card.json").write_text('{"figures": {"CIDEr": 12.5}, "licence": "MIT"}')
    result = run(folder)
    assert "mine" in result.stdout
    assert "val_loss 2.5" in result.stdout
    assert "CIDEr 12.5" in result.stdout
    parts = json.loads(run(folder, "--json").stdout)[str(folder)]
    assert [part["stage"] for part in parts] == ["words", "sentences", "evaluator", "whole"]
    assert parts[1]["clips"] == 7


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    assert f"{tmp_path}: no model" in str(run(tmp_path).exception)


def make_old(folder: Path) -> Path:
    """A model as version 0.1 left it: no config anywhere, and its own words in the cards."""
    write_model(folder)
    card = json.loads((folder / "sentences" / "card.json").read_text())
    streams = card.pop("streams")
    card["captioner"].pop("most_frames")
    card["captioner"] |= {
        "frame_streams": streams["frame_level"],
        "whole_streams": streams["clip_level"],
        "stream_dropout": {"frames": 0.3},
    }
    card["history"] = [{"epoch": 1, "nats_a_word": 2.5}]
    card["recipe"] = {
        "sampling": {"strategy": "uniform", "frames": 12, "seed": 3},
        "streams": {"frames": ["centred", "frames"], "dropout": {"frames": 0.3, "category": 0.3}},
        "library": {"words": 5, "k": 4, "pairing": "winner", "most": 2},
        "sentences": {"frames": 6, "sentences": 2, "min_count": 1},
        "training": {"epochs": 7},
        "about": {"licence": "MIT"},
    }
    (folder / "sentences" / "card.json").write_text(json.dumps(card))
    card = json.loads((folder / "evaluator" / "card.json").read_text())
    card["recipe"] = {"lessons": {"rivals": 3, "strangers": 4, "grading": 0.5}}
    tensors = load_file(folder / "evaluator" / "weights.safetensors")
    tensors["log_sharpness"] = tensors.pop("log_scale")
    save_file(tensors, folder / "evaluator" / "weights.safetensors")
    card["files"]["weights.safetensors"] = hash_file(folder / "evaluator" / "weights.safetensors")
    (folder / "evaluator" / "card.json").write_text(json.dumps(card))
    (folder / "card.json").write_text('{"figures": {"CIDEr": 12.5}}')
    return folder


def test_a_model_of_version_0_1_loads_by_what_it_was_trained_with(tmp_path: Path) -> None:
    config = densevidcap.load(make_old(tmp_path / "old")).config
    assert (config.frames.most, config.frames.seed) == (12, 3)
    assert (config.regions.k, config.captioner.most_frames) == (4, 6)
    assert (config.association.method, config.association.most) == ("winner", 2)
    assert config.streams.frame_level == ("centred", "frames")
    assert config.streams.dropout == {"frames": 0.3}
    assert config.streams.lexicon_size == 5
    assert config.captioner.kind == "mean-pooling"
    assert config.training.sentences.captions_per_clip == 2
    assert config.training.sentences.epochs == 7
    evaluator = config.training.evaluator
    assert (evaluator.negatives, evaluator.other_clips, evaluator.listnet) == (3, 4, 0.5)
    assert config.evaluator.width == 8
    assert config.about.licence == "MIT"


def test_the_cards_of_the_model_of_version_0_1_are_understood(tmp_path: Path) -> None:
    """Those that came with it; what they say of files is all that is read of them here."""
    for stage in ("words", "sentences"):
        card = Path(__file__).parent / "cards-0.1" / f"{stage}.json"
        (tmp_path / stage).mkdir()
        shutil.copy(card, tmp_path / stage / "card.json")
        for name in json.loads(card.read_text())["files"]:
            (tmp_path / stage / name).touch()
    config = read_model_config(tmp_path)
    assert config.eyes == EyesConfig("lite2", 320, 4, 2)
    assert config.boxes.fit == "grid"
    default = ModelConfig.read("default")
    changed = {name.partition(".")[0] for name in config.list_differences(default)}
    assert changed == {
        *(
            "frames",
            "eyes",
            "words",
            "boxes",
            "streams",
            "decoding",
            "evaluator",
            "training",
            "about",
        ),
    }
    assert config.streams.region_voice == 0


def test_upgrading_writes_the_card_and_nothing_else(tmp_path: Path) -> None:
    folder = make_old(tmp_path / "old")
    config = read_model_config(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    result = run("upgrade", folder)
    assert result.exit_code == 0, result.output
    assert "card.json: written" in result.stdout
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert {path for path in after if after[path] != before.get(path)} == {folder / "card.json"}
    card = json.loads((folder / "card.json").read_text())
    assert card["figures"] == {"CIDEr": 12.5}
    assert card["config"] == json.loads(json.dumps(config.to_dict()))
    assert read_model_config(folder) == read_model_config(folder / "words") == config
    assert "nothing to do" in str(run("upgrade", folder).exception)
    assert "val_loss 2.5" in run(folder).stdout


def test_what_cannot_be_upgraded_is_named(tmp_path: Path) -> None:
    folder = make_old(tmp_path / "old")
    assert "a stage of a model" in str(run("upgrade", folder / "words").exception)
    assert "no card.json" in str(run("upgrade", tmp_path).exception)
    assert run("upgrade").exit_code == 2


@pytest.mark.parametrize(
    ("card", "fault"),
    [
        ("[1]", "not a model card"),
        ('{"version": 99}', "newer densevidcap"),
        ('{"config": {"eyes": {"colour": 1}}}', "has no 'colour'"),
    ],
)
def test_a_wrong_card_is_named(tmp_path: Path, card: str, fault: str) -> None:
    folder = write_model(tmp_path / "mine")
    (folder / "card.json").write_text(card)
    with pytest.raises(ModelError, match=fault):
        densevidcap.load(folder)
