"""Content words: those of a sentence that tell what is shown."""

from __future__ import annotations

from densevidcap.data.lexicon import FUNCTION_WORDS
from densevidcap.data.text import tokenise

_LITTLE_WORDS = FUNCTION_WORDS.union(
    tokenise("a an the this that these those some another other each"),
    tokenise("i you he she it we they him her them his its their there who which what"),
    tokenise("of for from by into onto down up out off over under through around about as near"),
    tokenise("or but while then so not"),
    tokenise(
        "be been being was were am has have had having do does did doing can could will would"
    ),
)


def is_content_word(word: str) -> bool:
    """Whether it is no article, pronoun, preposition, conjunction or auxiliary."""
    return word not in _LITTLE_WORDS


def list_content_words(sentence: str) -> list[str]:
    """Those of the sentence's words, in its order."""
    return [word for word in tokenise(sentence) if is_content_word(word)]
