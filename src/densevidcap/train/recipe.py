"""Recipes of a whole model: a folder with a TOML file for each stage."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from densevidcap.config import read_config
from densevidcap.errors import ModelError
from densevidcap.train.evaluator import EvaluatorRecipe
from densevidcap.train.sentences import SentencesRecipe
from densevidcap.train.words import WordsRecipe

RECIPES = Path(__file__).parents[1] / "recipes"
"""Those that come with the package."""

SMALL = 500
"""Clips below which a corpus is small."""


@dataclass(frozen=True)
class LexiconOptions:
    """Which words are looked for in regions."""

    min_count: int = 5
    """Least occurrences of a word."""
    min_videos: int = 1
    """Least clips that have it."""


@dataclass(frozen=True)
class ModelRecipe:
    """All that decides what a model becomes, beside its data and what it starts from."""

    lexicon: LexiconOptions
    words: tuple[WordsRecipe, ...]
    """One for each round; the second starts from the first."""
    sentences: SentencesRecipe
    evaluator: EvaluatorRecipe

    @classmethod
    def read(cls, folder: Path) -> ModelRecipe:
        """From a folder with lexicon.toml, words*.toml, sentences.toml and evaluator.toml."""
        rounds = sorted(folder.glob("words*.toml"), key=lambda path: path.stem)
        if not rounds:
            known = ", ".join(sorted(path.name for path in RECIPES.iterdir()))
            raise ModelError(f"{folder}: no words.toml in it; a recipe is a folder, or of {known}")
        return cls(
            read_config(folder / "lexicon.toml", lexicon=LexiconOptions)["lexicon"],
            tuple(WordsRecipe.read(path) for path in rounds),
            SentencesRecipe.read(folder / "sentences.toml"),
            EvaluatorRecipe.read(folder / "evaluator.toml"),
        )


def find_recipe(name: str | None, clips: int) -> Path:
    """The folder of a recipe that comes with the package, or the user's own.

    Without a name, the one for a corpus of so many clips.
    """
    if name is None:
        name = "small" if clips < SMALL else "large"
    bundled = RECIPES / name
    return bundled if bundled.is_dir() else Path(name)
