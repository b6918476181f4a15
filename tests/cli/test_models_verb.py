"""The verb `models`: what there is, by its cards."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result
from tests.pipeline.small_model import write_model

from densevidcap.cli import root


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
