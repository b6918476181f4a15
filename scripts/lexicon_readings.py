"""How many words the paper's lexicon rule gives, by each way to read it; the paper has 6,690.

densevidcap lexicon --captions FILE --min-count 1 --out all-words.json
python scripts/lexicon_readings.py --captions FILE --all-words all-words.json
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Column, Table

from densevidcap.data.lexicon import FUNCTION_WORDS, Lexicon
from densevidcap.data.msrvtt import read_annotations
from densevidcap.data.text import tokenise

TOKENISERS: dict[str, Callable[[str], list[str]]] = {
    "our words": tokenise,
    "split at blanks": str.split,
    "hyphens split words": re.compile(r"\w+").findall,
    "letters only": re.compile(r"[a-z]+").findall,
}
CONTENT = ("NOUN", "PROPN", "VERB", "ADJ")
POS_READINGS: dict[str, Sequence[str]] = {
    "nouns, verbs, adjectives, pronouns, adverbs, numbers": (*CONTENT, "AUX", "ADV", "NUM", "PRON"),
    "nouns, verbs, adjectives, pronouns": (*CONTENT, "AUX", "PRON"),
    "the same without auxiliary verbs": (*CONTENT, "PRON"),
    "and without proper nouns": ("NOUN", "VERB", "ADJ", "PRON"),
}


@click.command()
@click.option("--captions", type=click.Path(path_type=Path), required=True, help="MSR-VTT's JSON.")
@click.option("--all-words", type=click.Path(path_type=Path), required=True, help="A lexicon.")
def main(captions: Path, all_words: Path) -> None:
    videos = [clip.captions for clip in read_annotations(captions) if clip.split == "train"]
    columns = ("at least 5 times", "more than 5 times", "in at least 5 videos")
    table = Table("reading", *(Column(name, justify="right") for name in columns))
    for name, words_of in TOKENISERS.items():
        spoken = [[w for c in video for w in words_of(c.lower())] for video in videos]
        counts = Counter(word for words in spoken for word in words)
        spread = Counter(word for words in spoken for word in set(words))
        kept = counts.keys() - FUNCTION_WORDS
        table.add_row(name, *_totals((counts[word], spread[word]) for word in kept))
    entries = Lexicon.load(all_words).entries
    for name, pos in POS_READINGS.items():
        of_pos = (entry for entry in entries if entry.pos in pos)
        table.add_row(name, *_totals((entry.count, entry.videos) for entry in of_pos))
    Console().print(table)


def _totals(figures: Iterable[tuple[int, int]]) -> list[str]:
    """The three columns, of each word's occurrences and videos."""
    words = list(figures)
    totals = (
        sum(count >= 5 for count, _ in words),
        sum(count > 5 for count, _ in words),
        sum(videos >= 5 for _, videos in words),
    )
    return [f"{total:,}" for total in totals]


if __name__ == "__main__":
    main()
