"""A Lexical-FCN that takes over the words that another knows."""

from __future__ import annotations

import pytest
import torch
from tests.models.small_world import ENCODER

from densevidcap.config import WordsConfig
from densevidcap.data.lexicon import Lexicon, LexiconEntry
from densevidcap.errors import ModelError
from densevidcap.models.word_detector import LexicalFCN


def make(words: str, hidden: int = 8, whole: int = 0) -> LexicalFCN:
    entries = (LexiconEntry(word, 99 - n, 1, "NOUN") for n, word in enumerate(words.split()))
    return LexicalFCN(Lexicon(entries), ENCODER, WordsConfig(hidden=hidden, whole=whole)).eval()


def test_shared_words_answer_as_before_wherever_they_stand() -> None:
    known, heir = make("dog cat whale"), make("cow whale dog bird")
    fresh = heir.head.words.weight.detach().clone()
    heir.keep_words(known)
    features = torch.randn(5, heir.encoder.channels)
    ours, theirs = heir.head(features), known.head(features)
    for word in ("dog", "whale"):
        here, there = heir.lexicon.index[word], known.lexicon.index[word]
        torch.testing.assert_close(ours[:, here], theirs[:, there])
    for word in ("cow", "bird"):
        place = heir.lexicon.index[word]
        assert torch.equal(heir.head.words.weight[place], fresh[place])


def test_so_do_those_that_both_look_for_in_whole_frames() -> None:
    known, heir = make("dog cat whale", whole=2), make("cow whale dog bird", whole=3)
    assert heir.branch is not None
    assert known.branch is not None
    fresh = heir.branch.words.weight.detach().clone()
    heir.keep_words(known)
    features = torch.randn(5, heir.encoder.channels)
    ours, theirs = heir.branch(features), known.branch(features)
    torch.testing.assert_close(ours[:, 2], theirs[:, 0])
    assert torch.equal(heir.branch.words.weight[:2], fresh[:2])
    make("dog", whole=1).keep_words(make("dog"))  # which has none


def test_a_head_of_another_size_keeps_nothing() -> None:
    with pytest.raises(ModelError, match="hidden is 4, that of the known words 8"):
        make("dog", hidden=4).keep_words(make("dog"))
