"""METEOR is that of its jar, and what its definition promises."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.metrics.jar_scores import PINNED

from densevidcap.errors import DenseVidCapWarning
from densevidcap.files import find_cache
from densevidcap.metrics.coco import CocoError
from densevidcap.metrics.meteor import Meteor
from densevidcap.metrics.meteor.paraphrases import load_paraphrases
from densevidcap.metrics.meteor.stems import find_stem
from densevidcap.metrics.meteor.tables import Words
from densevidcap.metrics.meteor.text import split_words

METEOR = Meteor()
"""One for all: what it has seen changes nothing."""


def score(sentence: str, *references: str) -> float:
    return METEOR.match(sentence, references).score


def test_scores_are_the_jars() -> None:
    cases = PINNED["meteor"]
    assert len(cases) >= 200
    matches = [METEOR.match(sentence, references) for sentence, references, _ in cases]
    overall, each = METEOR.score(matches)
    assert each == pytest.approx([score for *_, score in cases], abs=1e-12)
    assert overall == pytest.approx(PINNED["meteor_of_all"], abs=1e-12)


def test_stems_are_the_jars() -> None:
    assert {word: find_stem(word) for word, _ in PINNED["stems"]} == dict(PINNED["stems"])


SAID = st.lists(
    st.sampled_from(
        [
            *("a", "the", "man", "guy", "men", "is", "are", "cooking", "cooks", "cook", "food"),
            *(
                "a lot of",
                "many",
                "in front of",
                "before",
                "car",
                "automobile",
                ".",
                "it's",
                "u.s.",
            ),
        ]
    ),
    max_size=14,
).map(" ".join)


@given(SAID, st.lists(SAID, min_size=1, max_size=4))
@settings(max_examples=150)
def test_a_reference_more_never_harms(sentence: str, references: list[str]) -> None:
    best = score(sentence, *references)
    assert best == max(score(sentence, each) for each in references)
    assert 0 <= best <= 1
    assert score(sentence, *reversed(references)) == best


@given(SAID.filter(bool))
def test_a_sentence_fits_itself(sentence: str) -> None:
    assert score(sentence, sentence) == pytest.approx(1)


@given(SAID, SAID)
@settings(max_examples=150)
def test_no_word_is_matched_twice(sentence: str, reference: str) -> None:
    statistics = METEOR.match(sentence, [reference])
    for side in (statistics.said, statistics.there):
        assert sum(side.content_matches) <= side.length - side.functions
        assert sum(side.function_matches) <= side.functions
    assert bool(statistics.chunks) == bool(statistics.said.matches)
    assert statistics.chunks <= min(statistics.said.matches, statistics.there.matches)


def test_words_match_by_letters_stem_meaning_or_phrase() -> None:
    matched = {
        "man": "man",
        "cooking": "cooks",
        "sofa": "couch",
        "right now": "at the moment",
    }
    for module, (sentence, reference) in enumerate(matched.items()):
        statistics = METEOR.match(sentence, [reference])
        counted = [
            sum(both)
            for both in zip(
                statistics.said.content_matches, statistics.said.function_matches, strict=True
            )
        ]
        assert [bool(count) for count in counted] == [each == module for each in range(4)]
    assert score("a banana", "the sky") == 0


def test_words_that_match_in_two_ways_count_only_within_a_chunk() -> None:
    # The jar's search gains nothing by them, and a chunk costs; of one way, it has no choice.
    assert score("film", "movie") == 0
    assert METEOR.match("a film is", ["a movie is"]).said.matches == 3


def test_nothing_said_is_worth_nothing() -> None:
    assert score("", "a man") == score("a man", "") == score("", "") == 0
    assert METEOR.score([]) == (0, [])


def test_words_of_one_key_are_one_word() -> None:
    words = Words()
    assert words["an"].key == words["c0"].key != words["c1"].key


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("It's the U.S. of A. We go.", "it 's the us of a. we go ."),
        ("No. 5, no. five; Mr. X", "no. 5 , no. five ; mr. x"),
        ("wait... 1,000 times, 2-3", "wait ... 1,000 times , 2 3"),
        ("“so” she said: ‘ok’", "\" so \" she said : ' ok '"),
    ],
)
def test_sentences_are_split_as_the_jar_does(sentence: str, words: str) -> None:
    assert split_words(sentence, Words().abbreviations) == words.split(" ")


ENTRIES = (
    *(("a lot of", "many"), ("a lot of", "much of"), ("big", "large"), ("a", "one")),
    *((f"word{n}", f"phrase number {n}") for n in range(3000)),
)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small table of paraphrases, and a cache of its own."""
    monkeypatch.setenv("DENSEVIDCAP_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "table.gz"
    write_table(path, ENTRIES)
    return path


def write_table(path: Path, entries: Sequence[tuple[str, str]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(f"0.5\n{phrase}\n{paraphrase}\n" for phrase, paraphrase in entries)


def list_paraphrases(table: Path) -> Iterator[tuple[str, str]]:
    paraphrases = load_paraphrases(table)
    texts = list(dict.fromkeys(text for entry in ENTRIES for text in entry))
    found = dict(zip(texts, paraphrases.find(texts), strict=True))
    names = {phrase.number: text for text, phrase in found.items() if phrase is not None}
    assert len(names) == len(texts)
    for text, phrase in found.items():
        assert phrase is not None
        ordered = sorted(phrase.paraphrases, key=phrase.paraphrases.__getitem__)
        yield from ((text, names[number]) for number in ordered)


def test_the_table_is_read_once(table: Path) -> None:
    assert sorted(list_paraphrases(table)) == sorted(ENTRIES)
    assert list(list_paraphrases(table))[:2] == list(ENTRIES[:2])
    assert load_paraphrases(table).find(["nobody says this", "many words"]) == [None] * 2
    (kept,) = find_cache().iterdir()
    written = kept.stat().st_mtime_ns
    assert sorted(list_paraphrases(table)) == sorted(ENTRIES)
    assert kept.stat().st_mtime_ns == written
    kept.write_bytes(kept.read_bytes()[:100])
    assert sorted(list_paraphrases(table)) == sorted(ENTRIES)
    assert kept.stat().st_size > 100


def test_another_table_has_an_index_of_its_own(table: Path) -> None:
    load_paraphrases(table)
    write_table(table, ENTRIES[:3])
    assert load_paraphrases(table).find(["word1"]) == [None]
    assert len(list(find_cache().iterdir())) == 2


def test_a_cache_that_cannot_be_written_is_told(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (table.parent / "file").touch()
    monkeypatch.setenv("DENSEVIDCAP_CACHE", str(table.parent / "file" / "cache"))
    with pytest.warns(DenseVidCapWarning, match="set DENSEVIDCAP_CACHE to a folder"):
        assert sorted(list_paraphrases(table)) == sorted(ENTRIES)


def test_a_table_that_is_none_is_told(table: Path) -> None:
    whole = table.read_bytes()
    for content in (whole[:-20], b"no table at all", gzip.compress(b"0.5\na\n"), b""):
        table.write_bytes(content)
        with pytest.raises(CocoError, match=r"table\.gz: .*install it again"):
            load_paraphrases(table)
