"""What Section 3.3 of the paper asks of sentences: both directions, every frame, Eq. 14."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest
import torch
from tests.models.small_captioners import SENTENCES
from tests.models.small_views import FEATURES, REGIONS, WORDS, make_view
from torch import nn

from densevidcap.config import CaptionerConfig, DecodingConfig, ModelConfig
from densevidcap.data.lsa import LatentSpace
from densevidcap.data.phrases import Phrases
from densevidcap.data.text import Vocabulary
from densevidcap.models.captioner import CaptionModel, StreamWidths
from densevidcap.models.category import CategoryClassifier, mark_category
from densevidcap.models.views import ClipView
from densevidcap.pipeline.generator import CaptionGenerator
from densevidcap.types import Hypothesis

CATEGORIES = ("cooking", "music", "sports")
SIZES = CaptionerConfig(hidden=16, embedding=8, dropout=0.0)
BEAMS = ModelConfig(captioner=SIZES, decoding=DecodingConfig(beam=2, samples=0))
DOING = ("running", "eating", "playing", "sleeping")
MOST_FRAMES = 8
"""Of a sequence, unless a config says otherwise."""


def make_describer() -> CaptionGenerator:
    """Random weights, large enough that every input changes what is said."""
    torch.manual_seed(0)
    widths = StreamWidths({"regions": FEATURES}, {"category": len(CATEGORIES)})
    captioner = CaptionModel(Vocabulary.build(SENTENCES), SIZES, widths).eval()
    classifier = CategoryClassifier(CATEGORIES, FEATURES, WORDS).eval()
    for parameter in (*captioner.parameters(), *classifier.parameters()):
        nn.init.normal_(parameter, std=0.6)
    return CaptionGenerator(
        captioner, classifier, LatentSpace.fit(SENTENCES), Phrases.count([SENTENCES])
    )


@pytest.mark.parametrize("penalty", [0.0, 0.7])
@pytest.mark.parametrize("samples", [0, 5])
def test_a_sentence_counts_with_the_probability_of_its_category(
    penalty: float, samples: int
) -> None:
    """Eq. 14: the best, over the categories c, of P(s | c, v) times P(c | v)."""
    describer, view = make_describer(), make_view(frames=3, categories=0)
    assert describer.classifier is not None
    likely = describer.classifier.classify(view)
    assert likely.max() / likely.min() > 2
    decoding = DecodingConfig(beam=4, samples=samples, length_penalty=penalty, categories=3)
    config = ModelConfig(captioner=SIZES, decoding=decoding)
    wanted: dict[tuple[int, tuple[int, ...]], float] = {}
    for name, probability in zip(CATEGORIES, likely, strict=True):
        for one in describer.propose(mark_category(view, CATEGORIES, name), config):
            score = one.score + log(probability) / (len(one.ids) + 1) ** penalty
            key = (one.sequence, one.ids)
            wanted[key] = max(score, wanted.get(key, score))
    found = {(one.sequence, one.ids): one.score for one in describer.propose(view, config)}
    assert found == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("frames", [1, 2, 5, MOST_FRAMES])
def test_every_frame_changes_what_is_thought_of_a_sentence(frames: int) -> None:
    describer, view = make_describer(), make_view(frames, categories=0)
    view = mark_category(view, CATEGORIES, "music")
    sentence = describer.captioner.vocabulary.encode(SENTENCES[0])
    usual = describer.compare(view, [sentence], BEAMS)
    scores = [{one.score for one in describer.propose(view, BEAMS)}]
    for changed in range(frames):
        other = change_frame(view, changed)
        assert (np.abs(describer.compare(other, [sentence], BEAMS) - usual) > 1e-6).all(), changed
        scores.append({one.score for one in describer.propose(other, BEAMS)})
    assert len({frozenset(each) for each in scores}) == frames + 1


def test_of_a_long_clip_as_many_frames_are_looked_at_as_were_trained_on() -> None:
    describer, frames = make_describer(), 5 * MOST_FRAMES
    view = mark_category(make_view(frames, categories=0), CATEGORIES, "music")
    sentence = describer.captioner.vocabulary.encode(SENTENCES[0])
    usual = describer.compare(view, [sentence], BEAMS)
    counted = [
        changed
        for changed in range(frames)
        if (describer.compare(change_frame(view, changed), [sentence], BEAMS) != usual).any()
    ]
    assert len(counted) == MOST_FRAMES
    assert counted[0] < 5
    assert counted[-1] >= frames - 5


def change_frame(view: ClipView, frame: int) -> ClipView:
    features = view.features.copy()
    features[frame] = np.random.default_rng(1).random((REGIONS, FEATURES), np.float32)
    return replace(view, features=features)


def test_english_is_checked_unless_it_is_to_stay_as_said() -> None:
    """Only where there is enough to choose from besides."""
    right = [f"the {who} are {doing}" for who in ("men", "women", "dogs") for doing in DOING]
    wrong = "the women is running"
    describer = make_describer()
    describer.captioner.vocabulary = Vocabulary.build([*right, wrong] * 2)
    describer.phrases = Phrases.count([[*right, wrong]] * 2)

    def keep(said: list[str], english: str) -> list[str]:
        encode = describer.captioner.vocabulary.encode
        found = [Hypothesis(tuple(encode(each)), -1.0, -1.0) for each in said]
        config = BEAMS.override({"wording.english": english})
        quality = np.linspace(1, 0, len(found), dtype=np.float32)
        return [describer.say(found[i].ids) for i in describer.find_best(found, quality, config)]

    assert keep([wrong, *right], "said") == [wrong, *right]
    assert keep([wrong, *right], "checked") == right
    assert keep([wrong, right[0]], "checked") == [wrong, right[0]]
