"""Two voices: what a region's voice hears, and which sentences teach it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.models.small_corpus import Corpus, make_corpus, make_task

from densevidcap.config import SentenceTrainingConfig
from densevidcap.models.streams import STREAMS, SeenStream, find_stream, make_streams
from densevidcap.models.views import ClipView, look
from densevidcap.regions.association import LEFT_OUT
from densevidcap.train.sentences import SentenceTask


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_corpus(tmp_path_factory.mktemp("corpus"), clips=4)


SEEN = [name for name in STREAMS if isinstance(find_stream(name), SeenStream)]
LEVELS = {
    level: [name for name in SEEN if find_stream(name).level == level]
    for level in ("frame", "clip")
}


def make_view(seed: int, words: int = 6) -> ClipView:
    random = np.random.default_rng(seed)
    return ClipView(
        random.normal(size=(3, 4, 5)).astype(np.float32),
        random.integers(4, size=(2, 3)),
        random.random((2, words), np.float32),
        random.random(words, np.float32),
        random.random(3, np.float32),
        random.normal(size=(3, 5)).astype(np.float32),
    )


def test_a_regions_voice_hears_of_nothing_but_its_sequence() -> None:
    """Whatever else the clip shows: other regions, its words, its category, whole frames."""
    view = make_view(0)
    path = view.paths[0]
    features = view.features + 3.0
    features[np.arange(3), path] = view.features[np.arange(3), path]
    other = replace(
        make_view(1), features=features, paths=view.paths, sequence_words=view.sequence_words
    )
    names = [*LEVELS["frame"]], [*LEVELS["clip"]]
    names[0].remove("centred")  # which tells what sets the region apart from the others
    alone, strange = (
        make_streams(look(each, [0], is_alone=True), *names) for each in (view, other)
    )
    assert set(alone.frames) == {"regions"}
    assert set(alone.whole) == {"words", "special_words"}
    for name, tensor in {**alone.frames, **alone.whole}.items():
        torch.testing.assert_close(tensor, {**strange.frames, **strange.whole}[name])


def test_rows_of_both_voices_go_into_one_batch() -> None:
    view = make_view(0)
    rows = [*look(view, [0]), *look(view, [1], is_alone=True)]
    streams = make_streams(rows, LEVELS["frame"], LEVELS["clip"])
    for name, missing in streams.missing.items():
        assert missing.tolist() == [False, True], name
    assert {name for name in SEEN if find_stream(name).of_clip} == set(streams.missing)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_so_many_sentences_teach_a_regions_voice(corpus: Corpus, share: float) -> None:
    plain = make_task(corpus)
    own = {record.id: np.full(len(record.captions), 1) for record in corpus.records}
    first = corpus.records[0]
    own[first.id] = np.full(len(first.captions), LEFT_OUT)
    task = SentenceTask(
        plain.model,
        {record.id: corpus.library.view(record.id) for record in corpus.records},
        {record.id: np.zeros(len(record.captions), np.intp) for record in corpus.records},
        corpus.records,
        [],
        SentenceTrainingConfig(),
        8,
        own,
        share,
    )
    random = np.random.default_rng(0)
    looks = [each for _ in range(30) for each in task._look(task.pairs, random)]
    for each in looks:
        assert each.sequence == (1 if each.is_alone else 0)
        assert len({pair.clip for pair in each.pairs}) == 1
        if each.pairs[0].clip == 0:
            assert not each.is_alone, "no sequence shows its captions"
    of_others = [each.is_alone for each in looks for pair in each.pairs if pair.clip]
    assert np.mean(of_others) == pytest.approx(share, abs=0.1)
