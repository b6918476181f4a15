"""Tokens are those of the COCO code's tokenizer, whose automaton is followed without Java."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.metrics.jar_scores import PINNED

from densevidcap.metrics.coco import CocoError, import_coco
from densevidcap.metrics.ptb import read_automaton, tokenise_ptb


def test_tokens_are_the_jars() -> None:
    sentences, tokens = zip(*PINNED["tokens"], strict=True)
    assert len(sentences) > 500
    # In one go, as the jar read them: a full stop depends on what follows, also in the next line.
    assert dict(zip(sentences, tokenise_ptb(sentences), strict=True)) == dict(PINNED["tokens"])
    assert tokenise_ptb(sentences) == list(tokens)


TEXTS = st.lists(st.text(st.characters(exclude_categories=[])), max_size=5)


@given(TEXTS)
@settings(max_examples=200)
@example(["a <b", "c> d", "No.", "5"])
@example(["\ud800", "\U0001f600", "\x7f"])
def test_each_sentence_stays_one_line_without_punctuation(sentences: list[str]) -> None:
    punctuation = set(import_coco("tokenizer.ptbtokenizer").PUNCTUATIONS)
    tokenised = tokenise_ptb(sentences)
    assert len(tokenised) == len(sentences)
    for line in tokenised:
        assert punctuation.isdisjoint(line.split(" "))
        assert "\n" not in line


def test_nothing_is_no_token() -> None:
    assert tokenise_ptb([]) == []
    assert tokenise_ptb(["", " ", "..."]) == ["", "", ""]


def test_a_jar_that_is_none_is_told(tmp_path: Path) -> None:
    other = tmp_path / "other.jar"
    with ZipFile(other, "w") as archive:
        archive.writestr("edu/stanford/nlp/process/PTBLexer.class", b"\xca\xfe\xba\xbe" + bytes(20))
    broken = tmp_path / "broken.jar"
    broken.write_bytes(b"PK")
    for jar in (other, broken, tmp_path / "none.jar"):
        with pytest.raises(CocoError, match=rf"{jar.name}: .*install it again"):
            read_automaton(jar)
