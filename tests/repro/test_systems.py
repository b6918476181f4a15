"""How systems pick a sentence, and captioners that read frames in no order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.models.small_captioners import make_captioner, make_streams

from densevidcap.config import ModelConfig
from densevidcap.data.lexicon import Lexicon, LexiconEntry
from densevidcap.data.manifest import ClipRecord
from densevidcap.data.text import Vocabulary
from densevidcap.models.decoders import shuffle
from densevidcap.repro.candidates import CategorySpeaker, Speaker, pick_sentence
from densevidcap.repro.systems import SystemSection, match_tags, standardise
from densevidcap.types import FloatArray, Hypothesis

WORDS = {"dog": "NOUN", "is": "AUX", "run": "VERB", "ball": "NOUN", "red": "ADJ"}
LEXICON = Lexicon(
    LexiconEntry(word, 9 - place, 5, pos) for place, (word, pos) in enumerate(WORDS.items())
)
SHOWN = np.array([0.5, 0.9, 0.4, 0.3, 0.2], np.float32)


@pytest.mark.parametrize(
    ("sentence", "count", "match"),
    [
        ("a dog is here", 3, 0.5),
        ("a dog runs", 3, 0.5),
        ("the dog can run, dog!", 3, 0.9),
        ("a red ball", 3, 0.3),
        ("a red ball", 4, 0.5),
        ("nothing", 3, 0.0),
    ],
)
def test_tags_are_the_content_words_that_a_clip_shows_most(
    sentence: str, count: int, match: float
) -> None:
    assert match_tags(sentence, LEXICON, SHOWN, count) == pytest.approx(match)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=9))
def test_standardised_values_keep_their_order(values: list[int]) -> None:
    found = standardise([float(value) for value in values])
    assert found.mean() == pytest.approx(0, abs=1e-9)
    if len(set(values)) > 1:
        assert found.std() == pytest.approx(1)
        assert np.array_equal(np.argsort(found, kind="stable"), np.argsort(values, kind="stable"))
    else:
        assert not found.any()


SAID = [("a red ball", -1.0), ("a dog can run", -1.1), ("nothing", -9.0)]


class OfLength:
    """An evaluator: the longer a sentence, the better."""

    def score(self, _: object, sentences: Sequence[str]) -> list[float]:
        return [float(len(sentence)) for sentence in sentences]


def test_each_system_picks_its_own_way() -> None:
    def pick(section: SystemSection, evaluator: OfLength | None = None) -> str:
        view = SimpleNamespace(clip_words=SHOWN)
        return pick_sentence(SAID, view, section, LEXICON, evaluator)  # type: ignore[arg-type]

    assert pick(SystemSection()) == "a red ball"
    assert pick(SystemSection(pick="tags", tags=3)) == "a dog can run"
    assert pick(SystemSection(pick="tags", tags=3, tag_weight=0.01)) == "a red ball"
    assert pick(SystemSection(pick="evaluator"), OfLength()) == "a dog can run"


HYPOTHESIS = Hypothesis((5, 6), -2.0, -1.0)
RECORD = ClipRecord("one", "one.mp4", ("a dog",), "pets", "validate")


class TwoCategories:
    categories = ("news", "pets")

    def classify(self, _: object) -> FloatArray:
        return np.array([0.75, 0.25], np.float32)


class SaysOneThing:
    """A generator that keeps what it was asked."""

    classifier = TwoCategories()
    found: Sequence[Hypothesis] = (HYPOTHESIS,)

    def __init__(self) -> None:
        self.asked: list[ModelConfig] = []

    def propose(self, _: object, config: ModelConfig, sequences: Sequence[int]) -> list[Hypothesis]:
        assert [*sequences] == [0]
        self.asked.append(config)
        return [*self.found]

    def say(self, _: object) -> str:
        return "a dog"


def make_speaker(kind: type[Speaker], generator: SaysOneThing) -> Any:
    speaker: Any = object.__new__(kind)
    speaker.generator, speaker.config, speaker.views = generator, ModelConfig(), {"one": None}
    return speaker


def test_a_category_that_is_predicted_is_any_of_all() -> None:
    generator = SaysOneThing()
    speaker = make_speaker(Speaker, generator)
    for known in ("predicted", "nothing"):
        assert speaker.say(RECORD, known) == [("a dog", HYPOTHESIS.score)]
    assert speaker.say(RECORD, "likeliest") == [("a dog", HYPOTHESIS.score)]
    of_all, none, likeliest = (config.decoding.categories for config in generator.asked)
    assert of_all >= 20  # as many as MSR-VTT has
    assert (none, likeliest) == (0, 1)


class SaysMuch(SaysOneThing):
    """Three sentences under each of two categories, the best by Eq. 14 first."""

    found = tuple(Hypothesis((number,), -1.0, -float(number)) for number in range(6))

    def say(self, ids: Any) -> str:
        return "dog " * int(ids[0])


def test_a_captioner_offers_its_beam_whatever_was_supposed() -> None:
    """Or an evaluator picks what was said of a category that the clip is not of."""
    speaker = make_speaker(Speaker, SaysMuch())
    speaker.config = ModelConfig().override({"decoding.beam": 3})
    found = speaker.say(RECORD, "predicted")
    assert [score for _, score in found] == [0.0, -1.0, -2.0]
    picks = SystemSection(pick="evaluator")
    assert pick_sentence(found, None, picks, LEXICON, OfLength()) == "dog dog "  # type: ignore[arg-type]


def test_a_categorys_captioner_counts_how_probable_its_category_is() -> None:
    penalty = ModelConfig().decoding.length_penalty
    for category, probability in (("news", 0.75), ("pets", 0.25)):
        speaker = make_speaker(CategorySpeaker, SaysOneThing())
        speaker.category, speaker.classifier = category, TwoCategories()
        ((sentence, score),) = speaker.say(RECORD, "predicted")
        assert sentence == "a dog"
        assert score == pytest.approx(-1.0 + np.log(probability) / 3**penalty)
        given = [("a dog", -1.0)] if category == RECORD.category else []
        assert speaker.say(RECORD, "given") == given
        assert speaker.say(RECORD, "likeliest") == (
            [(sentence, score)] if category == "news" else []
        )


LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=5)


@given(LENGTHS, st.booleans())
def test_shuffling_keeps_each_rows_frames_and_its_padding(lengths: list[int], anew: bool) -> None:
    count = torch.tensor(lengths)
    frames = torch.arange(len(lengths) * 6, dtype=torch.float32).view(len(lengths), 6, 1)
    shuffled = shuffle(frames, count, anew)
    for row, length in enumerate(lengths):
        assert sorted(shuffled[row, :length, 0].tolist()) == frames[row, :length, 0].tolist()
        assert torch.equal(shuffled[row, length:], frames[row, length:])
    if not anew:
        assert torch.equal(shuffled, shuffle(frames, count, anew))


def test_frames_are_shuffled_anew_in_training_alone() -> None:
    torch.manual_seed(0)
    frames, lengths = torch.arange(80.0).view(4, 20, 1), torch.tensor([20] * 4)
    first, second = (shuffle(frames, lengths, anew=True) for _ in range(2))
    assert not torch.equal(first, second)
    assert not torch.equal(first - frames, (first - frames)[:1].expand(4, -1, -1))
    assert not torch.equal(shuffle(frames, lengths, anew=False), frames)


def test_a_captioner_reads_in_the_order_that_its_config_says() -> None:
    in_time = make_captioner("s2vt")
    at_random = make_captioner("s2vt")
    at_random.config = replace(at_random.config, order="random")
    streams, words = make_streams([6, 4]), torch.tensor([[Vocabulary.BOS, 5], [Vocabulary.BOS, 6]])
    told = at_random(streams, words)
    assert torch.equal(told, at_random(streams, words))
    assert not torch.allclose(told, in_time(streams, words))
    mean = make_captioner("mean-pooling")
    shuffled = make_captioner("mean-pooling")
    shuffled.config = replace(shuffled.config, order="random")
    torch.testing.assert_close(shuffled(streams, words), mean(streams, words))
