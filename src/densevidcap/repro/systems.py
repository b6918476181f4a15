"""Systems that are compared: captioners of ours, and how one of their sentences is picked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from densevidcap.config import Engine, ModelConfig
from densevidcap.config_files import CONFIGS, build_section, read_extended
from densevidcap.data.lexicon import CONTENT, Lexicon, is_content_word
from densevidcap.data.text import tokenise
from densevidcap.errors import ModelError
from densevidcap.repro.definition import ABLATION
from densevidcap.types import FloatArray

SYSTEMS = CONFIGS / "systems"
"""With the package: a config for each system of the challenge."""

Pick = Literal["likelihood", "tags", "evaluator"]


@dataclass(frozen=True)
class SystemSection:
    """[system] of a config."""

    pick: Pick = "likelihood"
    """Of all sentences that beams find: the most likely; that which is also the best match of the
    clip's tags; or that which an evaluator network scores highest."""
    tags: int = 20
    """How many of a clip's most probable content words are its tags."""
    tag_weight: float = 1.0
    """Of the match of tags beside the likelihood, both standardised over a clip's sentences."""
    captioners: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Several captioners, each with the settings, by dotted names, in which it differs."""
    start: str = ""
    """The system of this name, from whose captioner this one's starts."""
    each_category: str = ""
    """A captioner for each category (Eq. 14): all start from that of the system of this name, which
    learned from all clips, and learn from those of their category alone."""


@dataclass(frozen=True)
class System:
    config: ModelConfig
    section: SystemSection
    captioners: Mapping[str, ModelConfig]
    """By name; of a single one, that is empty."""

    def leave_out(self, streams: Sequence[str]) -> System:
        """The same without these streams, and without captioners that are left with none."""
        if not streams:
            return self
        kept = {
            name: drop_streams(config, streams)
            for name, config in self.captioners.items()
            if set(config.streams.frame_level) - set(streams)
        }
        if not kept:
            raise ModelError(f"without {', '.join(streams)} nothing is left to read")
        return replace(self, captioners=kept)

    def look_by(self, engine: Engine) -> System:
        """The same on eyes of this engine."""
        captioners = {name: replace(each, engine=engine) for name, each in self.captioners.items()}
        return replace(self, config=replace(self.config, engine=engine), captioners=captioners)


def drop_streams(config: ModelConfig, streams: Sequence[str]) -> ModelConfig:
    old = config.streams
    return config.override(
        {
            "streams.frame_level": [name for name in old.frame_level if name not in streams],
            "streams.clip_level": [name for name in old.clip_level if name not in streams],
            "streams.dropout": {n: share for n, share in old.dropout.items() if n not in streams},
        }
    )


def read_system(definitions: Path, name: str, settings: Mapping[str, Any]) -> System:
    """That of definitions/ablation, or of the package's systems, with some settings changed."""
    path = definitions / ABLATION / f"{name}.toml"
    if not path.is_file() and (SYSTEMS / path.name).is_file():
        path = SYSTEMS / path.name
    tables = read_extended(path)
    content = tables.pop("system", {})
    if not isinstance(content, Mapping):
        raise ModelError(f"{path}: 'system' must be a section: write [system]")
    section = build_section(str(path), SystemSection, content, "system")
    if sum(map(bool, (section.start, section.each_category, section.captioners))) > 1:
        raise ModelError(f"{path}: [system] has one of captioners, start and each_category at most")
    config = build_section(str(path), ModelConfig, tables).override(settings)
    try:
        # What is set for all must not undo in what a system's captioners differ.
        captioners = {n: config.override(own) for n, own in section.captioners.items()}
    except ModelError as error:
        raise ModelError(f"{path}: [system.captioners] {error}") from None
    return System(config, section, captioners or {"": config})


def match_tags(sentence: str, lexicon: Lexicon, shown: FloatArray, count: int) -> float:
    """How much of the clip's tags a sentence names: the sum of their probabilities.

    Tags are the `count` most probable content words of the clip, by `shown` (V,).
    """
    entries = lexicon.entries[: len(shown)]
    content = [n for n, e in enumerate(entries) if e.pos in CONTENT and is_content_word(e.word)]
    tags = sorted(content, key=lambda number: -shown[number])[:count]
    said = set(tokenise(sentence))
    return float(sum(shown[number] for number in tags if entries[number].word in said))


def standardise(values: Sequence[float] | FloatArray) -> FloatArray:
    """With mean 0 and deviation 1; equal values are all 0."""
    array = np.asarray(values, np.float64)
    deviation = array.std()
    centred = array - array.mean()
    return np.asarray(centred / deviation if deviation > 1e-9 else 0 * centred)
