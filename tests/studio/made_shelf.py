"""A library of small clips whose sentences and words are known, as the command line leaves it."""

from __future__ import annotations

from pathlib import Path

from tests.export.made_captions import FITTED, make_caption, make_captions
from tests.library.made_library import WORDS, make_words
from tests.studio.small_model import write_clip

from densevidcap.data.clip import open_clip
from densevidcap.library.identity import identify, stamp
from densevidcap.library.shown import ShownWords, WordRecord
from densevidcap.library.store import Entry, Library, Source
from densevidcap.types import Caption, DenseCaptions

DOG, MAN = "A dog runs on the beach.", "A man watches."
SEEN = make_words(
    {"dog": 0.5, "beach": 0.5},
    {"dog": (2, 3), "beach": (0, 1, 2, 3)},
    {"dog": (51, 102, 102, 204)},
)


def shelve(
    library: Library, clip: Path, *captions: Caption, words: ShownWords | None = None
) -> str:
    """The clip with these sentences; its identity."""
    return shelve_captions(library, clip, make_captions(clip.name, *captions), words)


def shelve_captions(
    library: Library, clip: Path, captions: DenseCaptions, words: ShownWords | None = None
) -> str:
    opened = open_clip(clip)
    identity = identify(opened)
    record = WordRecord(WORDS.digest, (words or make_words({}),))
    library.write(Entry(identity, "recipe", captions, 1.0), record, WORDS)
    library.note(Source(str(clip), clip.name, stamp(opened), identity))
    return identity


def make_shelf(folder: Path) -> dict[str, str]:
    """`library` and `clips` in the folder; name to identity."""
    library = Library.make(folder / "holiday.library")
    clips = folder / "clips"
    clips.mkdir()
    beach, kitchen, old = (
        write_clip(clips / name, seconds, codec)
        for name, seconds, codec in (
            ("beach.mp4", 4.0, "libx264"),
            ("kitchen.mp4", 3.0, "libx264"),
            ("old.avi", 2.0, "mpeg4"),
        )
    )
    dog, man = (
        make_caption(DOG, fitted=FITTED[0].sequence.fitted),
        make_caption(MAN, 1.0, 3.0, (1.5, 2.5), (9, 9), 0.6),
    )
    return {
        "beach.mp4": shelve(library, beach, dog, man, words=SEEN),
        "kitchen.mp4": shelve(
            library,
            kitchen,
            make_caption("A man is cooking.", confidence=0.4),
            words=make_words({"cooking": 0.9, "man": 0.9}, {"man": (0, 1)}),
        ),
        "old.avi": shelve(library, old, make_caption("A ball lies there.", confidence=0.9)),
    }
