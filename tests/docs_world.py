"""What the docs' commands name: a small model in place of the bundled one, generated clips, corpora
and libraries under the names that the pages use."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from tests.docs_corpora import write_corpora
from tests.export.made_captions import GRID
from tests.library.made_library import add, make_words
from tests.studio.small_model import write_clip, write_model

from densevidcap.examples.senses import write_senses
from densevidcap.examples.words import KIND_WORDS
from densevidcap.library.store import Library
from densevidcap.model_folder import read_model_config, write_model_card

CLIPS = (
    "clip.mp4",
    "a.mp4",
    "b.mp4",
    "clips/one.mp4",
    "clips/two.mp4",
    "clips/world-0-00003.mp4",
    "dance.mp4",
    "holiday/dunes.mp4",
    "holiday/raw/dunes.mp4",
    "my-folder/one.mp4",
    "samples/carphone.mp4",
    "samples/cat.mp4",
    "talk.mp4",
    "tape.mkv",
)
RESULTS = Path(__file__).parents[1] / "docs" / "results"


def write_world(folder: Path) -> None:
    """A reader's folder, with what has thousands of files beside it; the model is `my-model`."""
    kept = folder.with_name(f"{folder.name}-kept")
    kept.mkdir(parents=True)
    model = write_model(folder / "my-model", [word for of in KIND_WORDS.values() for word in of])
    # As little as shows that a command works.
    few = {"frames.most": 4, "scenes.frames": 2, "decoding.samples": 4}
    write_model_card(model, read_model_config(model).override(few), licence="Apache-2.0")
    shutil.copytree(model, folder / "paper-model")
    shutil.copytree(model / "words", folder / "WORDS")
    write_clip(folder / "film.mp4", 62)
    first = write_clip(folder / CLIPS[0], 1)
    for name in CLIPS[1:]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".mkv"):
            write_clip(folder / name, 1)
        else:
            shutil.copyfile(first, folder / name)
    (folder / "tapes" / "1999").mkdir(parents=True)
    write_clip(folder / "tapes" / "1999" / "party.avi", 1, "mpeg4")
    (folder / "list.txt").write_text("a.mp4\n")
    # As the page has it, for a reader to put clips in its place; this one can be heard.
    heard = write_senses(kept / "heard", [0])
    next(heard.parent.glob("*.mp4")).rename(folder / "CLIP...")
    write_corpora(folder, kept)
    _write_library(folder / "holiday.library")
    shutil.copytree(RESULTS, folder / "docs" / "results")


def _write_library(folder: Path) -> None:
    library = Library.make(folder)
    looks = np.random.default_rng(0).random((2, len(GRID), 3)).astype(np.float32)
    shown = make_words(
        {"dog": 0.5, "beach": 0.5}, {"dog": (1, 2), "beach": (0, 1)}, vectors=looks[::-1]
    )
    add(library, "beach.mp4", "A cat runs on the beach.", "A man is talking.", words=shown)
    add(library, "kitchen.mp4", "Somebody is cooking.", words=make_words({"cooking": 0.9}))
    add(library, "night.mp4", "Fireworks light the sky.")
    match = write_clip(folder.parent / "match.mp4", 4)
    add(library, "match.mp4", "A man scores a goal.", file=match)
    late = make_words({"man": 0.9}, span=(3600.0, 3900.0), vectors=looks)
    add(library, "film.mp4", "A man is talking.", words=late)
