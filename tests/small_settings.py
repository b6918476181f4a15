"""The package's settings made small: what takes hours by them then takes seconds, by the same code.

Copies of its configs and experiments in which no number is larger than it is here, and pictures are
looked at by the smallest backbone. What a file does not set, its copy does not set either.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from densevidcap import config_files, model_folder
from densevidcap.config_files import CONFIGS
from densevidcap.pipeline import captioner
from densevidcap.repro import definition, systems
from densevidcap.repro.definition import DEFINITIONS

MOST = {
    "frames.most": 3,
    "eyes.size": 96,
    "eyes.window": 2,
    "eyes.stride": 1,
    "lexicon.min_count": 2,
    # As large as those of the small model, which some trainings start from.
    "words.hidden": 32,
    "words.shaping": 20,
    "words.whole": 20,
    "captioner.hidden": 16,
    "captioner.embedding": 8,
    "regions.k": 3,
    "streams.lexicon_size": 20,
    "decoding.beam": 3,
    "decoding.samples": 4,
    "evaluator.width": 8,
    "evaluator.hidden": 16,
    "evaluator.embedding": 8,
    "training.words.epochs": 1,
    "training.sentences.epochs": 1,
    "training.sentences.min_count": 2,
    "training.evaluator.epochs": 1,
}
EYES = "lite0"


def write_small_settings(folder: Path) -> None:
    """Into `configs` and `definitions` of that folder."""
    for source in (CONFIGS, DEFINITIONS):
        for path in source.rglob("*.toml"):
            copy = folder / source.name / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(shrink(path.read_text("utf-8")), "utf-8")


def shrink(config: str) -> str:
    """The text of a config with smaller numbers; who sees features goes on to see features."""
    section, lines = "", []
    for line in config.splitlines():
        if found := re.match(r"\[+([\w.]+)\]+$", line):
            section = found[1]
        if found := re.match(r"(\w+) = (\d+)$", line):
            most = MOST.get(f"{section}.{found[1]}", int(found[2]))
            line = f"{found[1]} = {min(int(found[2]), most)}"
        lines.append(re.sub(r'^backbone = "(?!features")\S+', f'backbone = "{EYES}"', line))
    return "\n".join(lines)


def use_small_settings(folder: Path, model: Path, patch: pytest.MonkeyPatch) -> None:
    """What `write_small_settings` wrote and that model, in place of the package's."""
    patch.setattr(config_files, "CONFIGS", folder / CONFIGS.name)
    patch.setattr(systems, "SYSTEMS", folder / CONFIGS.name / systems.SYSTEMS.name)
    patch.setattr(definition, "DEFINITIONS", folder / DEFINITIONS.name)
    for module in (model_folder, captioner):
        patch.setattr(module, "BUNDLED", model)


def write_small_package(folder: Path, settings: Path, model: Path) -> None:
    """The same for programs of their own, which have this folder in their PYTHONPATH: a package
    whose code are links to ours."""
    ours, theirs = CONFIGS.parent, folder / CONFIGS.parent.name
    theirs.mkdir(parents=True)
    for path in ours.iterdir():
        if path.name not in (CONFIGS.name, "bundled", "__pycache__"):
            (theirs / path.name).symlink_to(path)
    (theirs / CONFIGS.name).symlink_to(settings / CONFIGS.name)
    (theirs / "bundled").mkdir()
    (theirs / "bundled" / "default").symlink_to(model)
