"""Small settings are the package's own but for what makes them small."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.small_settings import EYES, MOST, use_small_settings, write_small_settings

from densevidcap.config import ModelConfig
from densevidcap.config_files import CONFIGS, flatten, read_extended
from densevidcap.repro.definition import DEFINITIONS

OURS = {
    f"{source.name}/{path.relative_to(source)}": path
    for source in (CONFIGS, DEFINITIONS)
    for path in sorted(source.rglob("*.toml"))
}


def read(path: Path) -> dict[str, object]:
    """Its settings by name; those of rounds of training like those of other sections."""
    tables = read_extended(path)
    rounds = tables.get("training", {}).pop("words", [{}])
    return flatten(tables) | {f"training.words.{name}": each for name, each in rounds[0].items()}


def test_they_differ_in_what_is_named_and_in_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {name: read(path) for name, path in OURS.items()}
    write_small_settings(tmp_path)
    use_small_settings(tmp_path, tmp_path / "model", monkeypatch)
    changed = set()
    for name, ours in before.items():
        small = read(tmp_path / name)
        assert small.keys() == ours.keys()
        differ = {setting for setting in ours if small[setting] != ours[setting]}
        for setting in differ:
            assert small[setting] == MOST.get(setting, EYES), f"{name}: {setting}"
        changed |= differ
    # A setting of another name would go unnoticed, but for the time that it takes.
    assert changed == {*MOST, "eyes.backbone"}
    assert ModelConfig.read("features").eyes.backbone == "features"
    assert ModelConfig.read("default").eyes.backbone == EYES
