import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from densevidcap.data.text import Vocabulary, tokenise
from densevidcap.errors import CorpusError

sentences = st.text() | st.lists(st.sampled_from(["a", "man", "t-shirt", "Runs!", "'"])).map(
    " ".join
)


def test_words() -> None:
    assert tokenise("A man in a T-shirt doesn’t run, he (2) flies - café_style...") == [
        *(["a", "man", "in", "a", "t-shirt", "doesn't", "run", "he", "2", "flies", "café", "style"])
    ]
    assert tokenise(" ?! ") == []


@given(sentences)
def test_its_own_words_are_words(sentence: str) -> None:
    words = tokenise(sentence)
    assert tokenise(" ".join(words)) == words


@given(st.lists(sentences, min_size=1), st.integers(0, 3))
def test_known_sentences_come_back(corpus: list[str], padding: int) -> None:
    vocabulary = Vocabulary.build(corpus)
    for sentence in corpus:
        numbers = vocabulary.encode(sentence)
        assert numbers[0] == Vocabulary.BOS
        assert numbers[-1] == Vocabulary.EOS
        padded = numbers + [Vocabulary.PAD] * padding
        assert vocabulary.decode(padded) == " ".join(tokenise(sentence))


@given(st.lists(sentences), st.integers(1, 4))
def test_a_saved_vocabulary_is_the_same(corpus: list[str], min_count: int) -> None:
    vocabulary = Vocabulary.build(corpus, min_count)
    with tempfile.TemporaryDirectory() as folder:
        vocabulary.save(Path(folder) / "vocabulary.json")
        again = Vocabulary.load(Path(folder) / "vocabulary.json")
    assert again.words == vocabulary.words


def test_rare_words_are_strangers() -> None:
    vocabulary = Vocabulary.build(["a man runs", "a man sings", "a dog"], min_count=2)
    assert vocabulary.words == ("<pad>", "<bos>", "<eos>", "<unk>", "a", "man")
    assert vocabulary.decode(vocabulary.encode("a dog runs")) == "a <unk> <unk>"
    assert "man" in vocabulary
    assert len(vocabulary) == 6


def test_words_that_look_like_signs_stay_words() -> None:
    assert Vocabulary.build(["<pad> and <eos>"]).encode("pad") == [1, 6, 2]
    with pytest.raises(ValueError, match="signs"):
        Vocabulary(["<eos>"])


@pytest.mark.parametrize("content", ["[]", "{}", '{"words": ["a", "a"]}', '{"words": 3}', "{"])
def test_other_files_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "vocabulary.json"
    path.write_text(content)
    with pytest.raises(CorpusError, match=r"vocabulary\.json"):
        Vocabulary.load(path)
