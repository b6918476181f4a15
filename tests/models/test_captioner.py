"""Every kind of sentence model keeps the same promises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.plain_scores import log_likelihood
from tests.models.small_captioners import (
    KINDS,
    SENTENCES,
    Kind,
    encode_sentences,
    make_captioner,
    make_streams,
)
from torch.nn import functional as F

from densevidcap.config import CaptionerConfig, DecodingConfig, StreamsConfig
from densevidcap.config_files import build_section
from densevidcap.data.text import Vocabulary
from densevidcap.decoding.generate import search
from densevidcap.errors import ModelError
from densevidcap.model_folder import CARD, save_model
from densevidcap.models.captioner import CaptionModel, StreamWidths
from densevidcap.models.fusion import Streams

BEAMS = DecodingConfig()

every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
@settings(max_examples=15)
@given(lengths=st.lists(st.integers(1, 5), min_size=4, max_size=4), more=st.integers(0, 3))
def test_padding_changes_nothing(kind: Kind, lengths: list[int], more: int) -> None:
    """Neither of frames nor of words: each row is as it is alone."""
    captioner = make_captioner(kind)
    streams = make_streams(lengths, frames=max(lengths) + more)
    words = encode_sentences(captioner.vocabulary)
    together = captioner(streams, words)
    for row, length in enumerate(lengths):
        alone = Streams(
            {name: stream[row : row + 1, :length] for name, stream in streams.frames.items()},
            {name: stream[row : row + 1] for name, stream in streams.whole.items()},
            streams.lengths[row : row + 1],
        )
        said = len(captioner.vocabulary.encode(SENTENCES[row]))
        expected = captioner(alone, words[row : row + 1, :said])[0]
        torch.testing.assert_close(together[row, :said], expected)


@every_kind
def test_whole_sentences_equal_single_steps(kind: Kind) -> None:
    captioner, streams = make_captioner(kind), make_streams([4, 1, 3, 2])
    words = encode_sentences(captioner.vocabulary)
    expected = captioner(streams, words).log_softmax(-1)
    state = captioner.encode(streams, words.shape[1])
    for position in range(words.shape[1]):
        log_probabilities, state = captioner.step(state, words[:, position])
        torch.testing.assert_close(log_probabilities, expected[:, position])


@every_kind
def test_a_state_can_be_shuffled_and_repeated(kind: Kind) -> None:
    captioner, streams = make_captioner(kind), make_streams([4, 1, 3, 2])
    rows = torch.tensor([2, 0, 2, 3, 1])
    words = torch.arange(4, 9)
    selected, _ = captioner.step(captioner.encode(streams, 1).select(rows), words)
    expected, _ = captioner.step(captioner.encode(streams.select(rows), 1), words)
    torch.testing.assert_close(selected, expected)


@every_kind
@pytest.mark.parametrize("anchor", [True, False])
def test_sentences_may_share_what_they_see(kind: Kind, anchor: bool) -> None:
    captioner, streams = make_captioner(kind, anchor=anchor), make_streams([4, 1, 3])
    sentences = encode_sentences(captioner.vocabulary)
    owners = torch.tensor([2, 0, 2, 1])
    shared = captioner.loss(streams, sentences, owners=owners)
    apart = captioner.loss(streams.select(owners), sentences)
    torch.testing.assert_close(shared, apart)
    # Vectors of streams that are never absent learn nothing.
    learned = [each for name, each in captioner.named_parameters() if "absent" not in name]
    for ours, theirs in zip(
        *(torch.autograd.grad(loss, learned) for loss in (shared, apart)), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


@every_kind
@pytest.mark.parametrize("anchor", [True, False])
def test_every_stream_and_every_frame_of_it_counts(kind: Kind, anchor: bool) -> None:
    captioner, streams = make_captioner(kind, anchor=anchor), make_streams([3])
    words = torch.tensor([[Vocabulary.BOS]])
    before = captioner(streams, words)
    inputs = [stream[:, frame] for stream in streams.frames.values() for frame in range(3)]
    for stream in (*inputs, *streams.whole.values()):
        stream[:, 0] += 1
        assert not torch.allclose(captioner(streams, words), before)
        stream[:, 0] -= 1


def test_only_mean_pooling_and_attention_forget_the_order_of_frames() -> None:
    streams = make_streams([3])
    turned = Streams(
        {name: stream.flip(1) for name, stream in streams.frames.items()},
        streams.whole,
        streams.lengths,
    )
    words = torch.tensor([[Vocabulary.BOS]])
    for kind in KINDS:
        captioner = make_captioner(kind)
        same = torch.allclose(captioner(streams, words), captioner(turned, words))
        assert same == (kind in ("mean-pooling", "soft-attention"))


@every_kind
def test_an_absent_stream_is_its_learned_vector(kind: Kind) -> None:
    captioner, streams = make_captioner(kind), make_streams([2, 3])
    words = encode_sentences(captioner.vocabulary)[:2]
    nothing = Streams({}, {}, streams.lengths)
    assert captioner(nothing, words).isfinite().all()
    without = Streams({"regions": streams.frames["regions"]}, streams.whole, streams.lengths)
    before = captioner(without, words)
    assert not torch.allclose(before, captioner(streams, words))
    with torch.no_grad():
        captioner.get_parameter("fusion.frames.global.absent").add_(1)
    assert not torch.allclose(before, captioner(without, words))


def test_streams_that_the_model_does_not_know_are_not_looked_at() -> None:
    captioner, streams = make_captioner(), make_streams([2, 3])
    words = encode_sentences(captioner.vocabulary)[:2]
    more = Streams(streams.frames, {**streams.whole, "audio": torch.rand(2, 9)}, streams.lengths)
    torch.testing.assert_close(captioner(more, words), captioner(streams, words))


def test_a_stream_is_dropped_for_whole_rows_and_in_training_only() -> None:
    """Each row is then one of two: with the stream, or as if it were absent."""
    captioner = make_captioner(stream_dropout={"words": 0.5})
    rows = 40
    streams = make_streams([3]).select(torch.zeros(rows, dtype=torch.long))
    without = Streams(streams.frames, {"category": streams.whole["category"]}, streams.lengths)
    words = torch.full((rows, 1), Vocabulary.BOS)
    present, absent = captioner(streams, words), captioner(without, words)
    mixed = captioner.train()(streams, words)
    as_present = torch.isclose(mixed, present).all(-1).squeeze()
    as_absent = torch.isclose(mixed, absent).all(-1).squeeze()
    assert (as_present ^ as_absent).all()
    assert 0 < as_present.sum() < rows


def test_the_loss_is_the_mean_over_words() -> None:
    captioner, streams = make_captioner(), make_streams([4, 1, 3, 2])
    words = encode_sentences(captioner.vocabulary)
    logits, targets = captioner(streams, words[:, :-1]), words[:, 1:]
    for smoothing in (0.0, 0.2):
        expected = F.cross_entropy(
            logits.flatten(0, 1),
            targets.flatten(),
            ignore_index=Vocabulary.PAD,
            label_smoothing=smoothing,
        )
        torch.testing.assert_close(captioner.loss(streams, words, smoothing), expected)
    likelihood = log_likelihood(captioner, streams, words)
    mean = -likelihood.sum() / (targets != Vocabulary.PAD).sum()
    torch.testing.assert_close(captioner.loss(streams, words), mean)


def test_words_to_choose_come_in_few_numbers_where_products_are_short() -> None:
    captioner, wide = make_captioner().float(), make_streams([4, 1, 3, 2])
    frames, whole = (
        {name: stream.float() for name, stream in part.items()}
        for part in (wide.frames, wide.whole)
    )
    streams, words = Streams(frames, whole, wide.lengths), encode_sentences(captioner.vocabulary)
    chosen: list[int] = []
    captioner.choice.register_forward_hook(lambda _, given, __: chosen.append(len(given[0])))
    for rows in (1, 2, 4):
        part, said = streams.select(slice(rows)), words[:rows]
        expected = captioner.loss(part, said, 0.1)
        with torch.autocast("cpu", torch.bfloat16):
            found = captioner.loss(part, said, 0.1)
        torch.testing.assert_close(found, expected, rtol=0.05, atol=0.02)
    assert chosen[::2] == [int((words[:rows, 1:] != Vocabulary.PAD).sum()) for rows in (1, 2, 4)]
    assert all(count % 16 == 0 for count in chosen[1::2])


@every_kind
def test_a_few_sentences_are_learned_by_heart(kind: Kind) -> None:
    streams, drawn = make_streams([4, 1, 3, 2]), make_captioner(kind)
    captioner = CaptionModel(drawn.vocabulary, drawn.config, drawn.widths).double()
    words = encode_sentences(captioner.vocabulary)
    optimiser = torch.optim.Adam(captioner.parameters(), 0.02)
    for _ in range(60):
        optimiser.zero_grad()
        captioner.loss(streams, words).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    said = [
        captioner.vocabulary.decode(found[0].ids) for found in search(captioner, streams, BEAMS)
    ]
    assert said == list(SENTENCES)


@every_kind
def test_a_saved_captioner_says_the_same(kind: Kind, tmp_path: Path) -> None:
    captioner = make_captioner(kind).float()
    streams = make_streams([4, 1, 3])
    streams = Streams(
        {name: stream.float() for name, stream in streams.frames.items()},
        {name: stream.float() for name, stream in streams.whole.items()},
        streams.lengths,
    )
    captioner.save(tmp_path, {"licence": "Apache-2.0"})
    loaded = CaptionModel.load(tmp_path)
    assert loaded.vocabulary.words == captioner.vocabulary.words
    assert (loaded.config, loaded.widths) == (captioner.config, captioner.widths)
    assert search(loaded, streams, BEAMS) == search(captioner, streams, BEAMS)
    captioner.save(tmp_path, {}, half=True)
    words = encode_sentences(captioner.vocabulary)[:3]
    halved = CaptionModel.load(tmp_path)(streams, words)
    torch.testing.assert_close(halved, captioner(streams, words), rtol=0.05, atol=0.05)


def test_folders_that_hold_no_captioner_are_refused(tmp_path: Path) -> None:
    save_model(tmp_path, {}, {"kind": "lexical-fcn"})
    with pytest.raises(ModelError, match="holds a lexical-fcn, not a captioner"):
        CaptionModel.load(tmp_path)
    make_captioner().float().save(tmp_path, {})
    card = json.loads((tmp_path / CARD).read_text())
    card["captioner"]["kind"] = "s2vt"
    (tmp_path / CARD).write_text(json.dumps(card))
    with pytest.raises(ModelError, match="card and weights do not fit"):
        CaptionModel.load(tmp_path)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"kind": "transformer"}, "'transformer' must be one of 'bi-s2vt'"),
        ({"hidden": 0}, "1 or more"),
        ({"hidden": 511}, "511 must be even"),
        ({"dropout": 1.0}, "below 1"),
    ],
)
def test_impossible_captioners_are_refused(options: dict[str, object], fault: str) -> None:
    with pytest.raises(ModelError, match=fault):
        build_section("mine.toml", CaptionerConfig, options)


@pytest.mark.parametrize(
    ("widths", "fault"),
    [
        (({},), "at least one stream"),
        (({"regions": 3}, {"regions": 3}), "not in both"),
    ],
)
def test_impossible_streams_are_refused(widths: tuple[dict[str, int], ...], fault: str) -> None:
    with pytest.raises(ModelError, match=fault):
        StreamWidths(*widths)


@pytest.mark.parametrize(
    ("dropout", "fault"),
    [({"sound": 0.5}, "'sound', which is in neither"), ({"regions": -0.5}, "from 0")],
)
def test_impossible_stream_dropout_is_refused(dropout: dict[str, float], fault: str) -> None:
    with pytest.raises(ModelError, match=fault):
        StreamsConfig(("regions",), (), dropout)
