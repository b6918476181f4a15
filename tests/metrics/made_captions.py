"""Captions that share words, with what tokenizers stumble over."""

from __future__ import annotations

import random

SUBJECTS = ("a man", "two women", "A small dog", "people", "the café's cook", "someone")
VERBS = ("is riding", "talks about", "isn't eating", "jumps over", "sings, and then drops")
OBJECTS = ("a horse", "the t-shirt", "some food (hot)", "“cars”", "$5 notes; a lot", "a man")


def say(source: random.Random) -> str:
    return " ".join(source.choice(words) for words in (SUBJECTS, VERBS, OBJECTS))


def make_references(videos: int) -> dict[str, list[str]]:
    """One to six sentences a video."""
    source = random.Random(videos)
    return {f"video{n}": [say(source) for _ in range(source.randint(1, 6))] for n in range(videos)}


REFERENCES = make_references(12)
