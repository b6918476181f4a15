"""Captions chosen from an analysis: how many, which, in what order, and what they rest on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.pipeline.small_model import SENTENCES, TAGS, make_analysis, make_segment

from densevidcap.data.lexicon import list_content_words
from densevidcap.pipeline.analysis import Segment
from densevidcap.pipeline.captions import choose_captions
from densevidcap.types import SourceFrame

seeds = st.integers(0, 10_000)


@settings(max_examples=30)
@given(seed=seeds, k=st.integers(1, 8), diversity=st.floats(0, 2), shots=st.integers(1, 3))
def test_k_different_captions_of_each_segment(
    seed: int, k: int, diversity: float, shots: int
) -> None:
    segments = [make_segment(seed + n, start=4.0 * n) for n in range(shots)]
    analysis = make_analysis(*segments)
    captions = choose_captions(analysis, k, diversity)
    for segment in segments:
        own = [c.text for c in captions if segment.start <= c.start < segment.end]
        assert len(set(own)) == len(own) == min(k, len(SENTENCES))
    firsts = [caption.confidence for caption in captions.captions[:shots]]
    assert firsts == sorted(firsts, reverse=True)
    assert {int(caption.start // 4) for caption in captions.captions[:shots]} == set(range(shots))
    assert captions == choose_captions(analysis, k, diversity)


@settings(max_examples=30)
@given(seed=seeds, k=st.integers(1, 4))
def test_without_diversity_the_best_are_chosen(seed: int, k: int) -> None:
    segment = make_segment(seed)
    found = segment.candidates
    found = replace(found, affinities=np.zeros_like(found.affinities))
    segment = replace(segment, candidates=found)
    captions = choose_captions(make_analysis(segment), k, diversity=0)
    best = np.argsort(-found.quality)[:k]
    assert {caption.text for caption in captions} == {found.sentences[row] for row in best}


@settings(max_examples=30)
@given(seed=seeds, k=st.integers(1, 3))
def test_captions_have_region_sequences_of_their_own(seed: int, k: int) -> None:
    segment = make_segment(seed, sequences=3)
    captions = choose_captions(make_analysis(segment), k)
    places = {text: place for place, text in enumerate(segment.candidates.sentences)}
    ties = [
        segment.candidates.likelihoods[places[caption.text]]
        .tolist()
        .index(np.float32(caption.log_probability))
        for caption in captions
    ]
    assert len(set(ties)) == len(ties)
    for caption, tie in zip(captions, ties, strict=True):
        frames = find_looked_at(segment, caption.sequence.source_frames)
        assert list(caption.sequence.regions) == segment.paths[tie][frames].tolist()
        assert list(caption.sequence.times) == segment.times[frames].tolist()


def find_looked_at(segment: Segment, source_frames: Sequence[SourceFrame] | None) -> list[int]:
    """Their indices in the segment's arrays."""
    assert segment.source_frames is not None
    assert source_frames is not None
    return [segment.source_frames.tolist().index(frame) for frame in source_frames]


@settings(max_examples=30)
@given(seed=seeds, support=st.floats(0, 1))
def test_evidence_lies_on_the_caption_s_own_sequence(seed: int, support: float) -> None:
    segments = make_segment(seed), make_segment(seed + 1, start=4.0)
    analysis = make_analysis(*segments)
    config = analysis.config.override({"confidence.evidence": support})
    for caption in choose_captions(replace(analysis, config=config), 3):
        segment = segments[caption.start >= 4]
        found = [evidence.word for evidence in caption.evidence]
        assert {*found, *caption.unsupported} == set(list_content_words(caption.text))
        assert set(found) <= set(TAGS)
        frames = find_looked_at(segment, caption.sequence.source_frames)
        way = dict(zip(frames, caption.sequence.regions, strict=True))
        for evidence in caption.evidence:
            assert evidence.source_frame is not None
            (looked_at,) = find_looked_at(segment, [evidence.source_frame])
            assert way[looked_at] == evidence.region
            assert evidence.box == segment.grid.box(evidence.region)
            assert evidence.time == segment.times[looked_at]
            response = segment.respond(evidence.word)[looked_at, evidence.region]
            assert evidence.probability == response >= support


def test_words_without_evidence_are_named() -> None:
    segment = make_segment()
    silent = replace(segment, probabilities=np.full_like(segment.probabilities, 0.05))
    for caption in choose_captions(make_analysis(silent)):
        assert caption.evidence == ()
        assert (caption.start, caption.end) == (0, 4)


def test_a_caption_holds_where_its_words_are_shown() -> None:
    segment = make_segment(frames=20, sentences=1)
    shown = np.full_like(segment.probabilities, 0.01)
    shown[5:12, :, segment.words.index("dog")] = 0.8
    (caption,) = choose_captions(make_analysis(replace(segment, probabilities=shown)))
    assert caption.start == pytest.approx(5, abs=2)
    assert caption.end == pytest.approx(12, abs=2)


def test_what_says_the_same_is_said_once() -> None:
    segment = make_segment(sentences=3)
    same = ("a dog chases a cat", "the cat chases the dog", "a man is running")
    segment = replace(segment, candidates=replace(segment.candidates, sentences=same))
    texts = {c.text for c in choose_captions(make_analysis(segment))}
    assert len(texts) == 2


def test_what_reads_the_same_is_said_once() -> None:
    segment = make_segment(sentences=3)
    said = ("a dog chases a man", "a dog chases a woman", "a man is running")
    segment = replace(segment, candidates=replace(segment.candidates, sentences=said))
    told = make_analysis(replace(segment, probabilities=np.full_like(segment.probabilities, 0.4)))
    assert len(choose_captions(told)) == 3
    neutral = replace(told, config=told.config.override({"wording.gender": "seen"}))
    texts = {caption.text for caption in choose_captions(neutral)}
    assert texts == {"a dog chases a person", "a person is running"}


def test_what_was_set_is_told() -> None:
    analysis = make_analysis(make_segment())
    assert choose_captions(analysis).settings == {}
    assert choose_captions(analysis, k=5, diversity=0.4).settings == {}
    assert choose_captions(analysis, k=2).settings == {"selection.k": 2}
    sampled = replace(analysis, settings={"decoding.samples": 3})
    both = {"decoding.samples": 3, "selection.diversity": 0.9}
    assert choose_captions(sampled, diversity=0.9).settings == both


@pytest.mark.parametrize("smooth", [1, 2, 5, 6])
def test_any_smoothing_keeps_the_span_inside_the_clip(smooth: int) -> None:
    analysis = make_analysis(make_segment(frames=7))
    config = analysis.config.override({"confidence.smooth": smooth})
    for caption in choose_captions(replace(analysis, config=config)):
        assert 0 <= caption.start < caption.end <= 7


def test_choosing_needs_no_network() -> None:
    code = "import sys, densevidcap.pipeline.captions; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_is_not_told_is_no_evidence_either() -> None:
    """A gender that nothing shows clearly, but which has some evidence."""
    segment = make_segment(sentences=3)
    faint = np.full_like(segment.probabilities, 0.4)
    segment = replace(segment, probabilities=faint)
    told = make_analysis(segment)
    neutral = replace(told, config=told.config.override({"wording.gender": "seen"}))
    plain, shown = (
        next(each for each in choose_captions(one, k=3) if "guitar" in each.text)
        for one in (told, neutral)
    )
    assert "man" in {each.word for each in plain.evidence}
    assert shown.raw == plain.text == "a man is playing a guitar"
    assert shown.text == "a person is playing a guitar"
    assert "man" not in {each.word for each in shown.evidence} | {*shown.unsupported}


@settings(max_examples=30, deadline=None)
@given(
    seed=seeds,
    lengths=st.lists(st.integers(1, 40), min_size=3, max_size=8).filter(
        lambda each: sum(each) > 60
    ),
    rate=st.floats(1, 20),
    k=st.integers(1, 6),
)
def test_a_film_has_so_many_sentences_a_minute_and_repeats_none(
    seed: int, lengths: list[int], rate: float, k: int
) -> None:
    """Each scene has one; when all that the small model can say was said, it says it again."""
    edges = np.cumsum([0, *lengths]).tolist()
    scenes = [
        make_segment(seed + n, length, start=float(start))
        for n, (length, start) in enumerate(zip(lengths, edges, strict=False))
    ]
    analysis = make_analysis(*scenes)
    config = analysis.config.override({"scenes.sentences": rate, "selection.k": k})
    captions = choose_captions(replace(analysis, config=config))
    assert captions.scenes == tuple((scene.start, scene.end) for scene in scenes)
    counts = [sum(a <= c.start < b for c in captions) for a, b in captions.scenes]
    assert all(1 <= count <= k for count in counts)
    assert len(captions) <= rate * edges[-1] / 60 + len(scenes)
    by_time = sorted(captions, key=lambda caption: caption.start)
    texts = [caption.text for caption in by_time]
    assert len(set(texts)) == min(len(texts), len(SENTENCES))


def test_what_is_sure_is_said_again_rather_than_what_is_not() -> None:
    scenes = [make_segment(n, 40, start=40.0 * n) for n in range(2)]
    sure = np.array([0.9, 0.1, 0.1, 0.1, 0.1], np.float32)
    scenes = [replace(s, candidates=replace(s.candidates, confidence=sure)) for s in scenes]
    analysis = make_analysis(*scenes)
    config = analysis.config.override({"selection.sure": 0.5, "scenes.sentences": 1.0})
    said = [c.text for c in choose_captions(replace(analysis, config=config))]
    assert said == [SENTENCES[0]] * 2
    config = config.override({"selection.sure": 0.0})
    assert len({c.text for c in choose_captions(replace(analysis, config=config))}) == 2


def test_silence_that_goes_on_is_told_once() -> None:
    scenes = [replace(make_segment(n, 40, start=40.0 * n), is_blind=n < 2) for n in range(3)]
    captions = choose_captions(make_analysis(*scenes))
    assert captions.silent == ((0.0, 80.0),)
    assert {c.start >= 80 for c in captions} == {True}
