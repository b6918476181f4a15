import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densevidcap.data.lexicon import (
    FUNCTION_WORDS,
    Lexicon,
    LexiconEntry,
    build_lexicon,
    tag_sentences,
)
from densevidcap.data.text import tokenise
from densevidcap.errors import CorpusError

sentences = st.lists(
    st.sampled_from(["a", "man", "dog", "runs", "T-shirt", *FUNCTION_WORDS]), max_size=6
).map(" ".join)
corpora = st.dictionaries(st.text("abc", min_size=1), st.lists(sentences, max_size=4), max_size=5)


def tag_by_length(sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """A tagger that needs no model: short words are verbs, long ones nouns."""
    return [["NOUN" if len(word) > 3 else "VERB" for word in words] for words in sentences]


@given(corpora, st.integers(1, 4), st.integers(1, 3), st.sampled_from([None, {"NOUN"}]))
def test_the_rule(
    corpus: dict[str, list[str]], min_count: int, min_videos: int, pos: set[str] | None
) -> None:
    lexicon = build_lexicon(
        corpus, tag_by_length, min_count=min_count, min_videos=min_videos, pos=pos
    )
    spoken = [tokenise(" ".join(captions)) for captions in corpus.values()]
    for word in {word for words in spoken for word in words}:
        count = sum(words.count(word) for words in spoken)
        videos = sum(word in words for words in spoken)
        kept = (
            word not in FUNCTION_WORDS
            and count >= min_count
            and videos >= min_videos
            and (pos is None or len(word) > 3)
        )
        assert (word in lexicon.index) == kept
        if kept:
            entry = lexicon.entries[lexicon.index[word]]
            assert (entry.word, entry.count, entry.videos) == (word, count, videos)
    counts = [entry.count for entry in lexicon.entries]
    assert counts == sorted(counts, reverse=True)


@given(corpora)
def test_labels_are_the_words_of_any_caption(corpus: dict[str, list[str]]) -> None:
    lexicon = build_lexicon(corpus, tag_by_length, min_count=1)
    for captions in corpus.values():
        labels = lexicon.label(captions)
        assert labels.shape == (len(lexicon),)
        assert labels.dtype == np.bool_
        found = {place for caption in captions for place in lexicon.find(caption)}
        assert set(np.flatnonzero(labels)) == found
        spoken = {word for caption in captions for word in tokenise(caption)}
        assert {lexicon.words[place] for place in found} == spoken - FUNCTION_WORDS


@given(corpora)
def test_a_saved_lexicon_is_the_same(corpus: dict[str, list[str]]) -> None:
    lexicon = build_lexicon(corpus, tag_by_length, min_count=1)
    with tempfile.TemporaryDirectory() as folder:
        lexicon.save(Path(folder) / "lexicon.json")
        again = Lexicon.load(Path(folder) / "lexicon.json")
    assert again.entries == lexicon.entries


def test_find_keeps_the_sentences_order() -> None:
    lexicon = Lexicon(
        [LexiconEntry("dog", 9, 3, "NOUN"), LexiconEntry("runs", 5, 2, "VERB")],
    )
    assert lexicon.find("Runs, the dog runs!") == [1, 0]


def test_a_words_part_of_speech_is_that_of_most_uses() -> None:
    captions = ["a man plays a guitar"] * 3 + ["two plays are shown on stage"]
    lexicon = build_lexicon({"video": captions}, tag_sentences, min_count=1)
    pos = {entry.word: entry.pos for entry in lexicon.entries}
    assert (pos["plays"], pos["guitar"], pos["two"]) == ("VERB", "NOUN", "NUM")


def test_tagging_keeps_our_words() -> None:
    sentence = tokenise("she doesn't wear a t-shirt")
    (tags,) = tag_sentences([sentence])
    assert len(tags) == len(sentence)
    assert tags[0] == "PRON"


@pytest.mark.parametrize("content", ["{}", "[3]", '[{"word": "a"}]', '{"a": 1}', "3", "["])
def test_other_files_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "lexicon.json"
    path.write_text(content)
    with pytest.raises(CorpusError, match=r"lexicon\.json"):
        Lexicon.load(path)
