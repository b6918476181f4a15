"""What sentence models are made of, held against each formula written out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from densevidcap.config import CaptionerConfig
from densevidcap.models.decoders import (
    S2VT,
    Decoder,
    MeanPooling,
    SoftAttention,
    build_decoder,
    reverse,
)
from densevidcap.models.fusion import Seen
from densevidcap.models.recurrence import Recurrence

FEATURES, EMBEDDING, HIDDEN = 3, 2, 4
lengths_of_rows = st.lists(st.integers(1, 5), min_size=1, max_size=4)
seeds = st.integers(0, 10_000)
DECODERS: tuple[Callable[[], Decoder], ...] = (
    partial(S2VT, FEATURES, EMBEDDING, HIDDEN, 0.5, 1),
    partial(S2VT, FEATURES, EMBEDDING, HIDDEN, 0.5, 2),
    partial(MeanPooling, FEATURES, EMBEDDING, HIDDEN),
    partial(SoftAttention, FEATURES, EMBEDDING, HIDDEN),
)


def draw(seed: int, *shape: int) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=random, dtype=torch.float64)


def see(lengths: list[int], seed: int, width: int = FEATURES) -> Seen:
    """Rows of these lengths; padding is as random as the rest."""
    rows = len(lengths)
    frames = draw(seed, rows, max(lengths) + 1, width)
    return Seen(frames, draw(seed, rows, width), torch.tensor(lengths))


@given(lengths_of_rows, seeds)
def test_each_row_is_turned_round_and_its_padding_stays(lengths: list[int], seed: int) -> None:
    frames = see(lengths, seed).frames
    turned = reverse(frames, torch.tensor(lengths))
    for row, length in enumerate(lengths):
        assert turned[row, :length].equal(frames[row, :length].flip(0))
        assert turned[row, length:].equal(frames[row, length:])


def test_both_directions_share_the_width_of_one() -> None:
    for directions in (1, 2):
        model = S2VT(FEATURES, EMBEDDING, HIDDEN, 0.0, directions)
        sizes = [lstm.hidden_size for lstm in model.lower if isinstance(lstm, Recurrence)]
        assert len(sizes) == directions
        assert sum(sizes) == HIDDEN == model.upper.hidden_size


def test_the_second_direction_reads_from_last_to_first() -> None:
    torch.manual_seed(0)
    model = S2VT(FEATURES, EMBEDDING, HIDDEN, 0.0, directions=2).double()
    forth, back = model.lower
    back.load_state_dict(forth.state_dict())
    seen = see([3, 1, 2], seed=0)
    turned = Seen(reverse(seen.frames, seen.lengths), seen.whole, seen.lengths)
    here = model.encode(seen, 2).ahead
    assert not torch.allclose(model.encode(turned, 2).ahead, here)
    # The one above hears each direction where it heard the other.
    heard = model.upper.all_weights[0][0].data
    heard[:, :HIDDEN] = heard[:, :HIDDEN].roll(HIDDEN // 2, 1)
    torch.testing.assert_close(model.encode(turned, 2).ahead, here)


def test_frames_and_words_are_padding_for_each_other() -> None:
    """Of one direction: below, frames and then zeros; above, no word and then the words."""
    torch.manual_seed(0)
    model = S2VT(FEATURES, EMBEDDING, HIDDEN, 0.0, directions=1).double()
    frames, words = draw(0, 1, 3, FEATURES), draw(1, 1, 2, EMBEDDING)
    seen = Seen(frames, draw(2, 1, FEATURES), torch.tensor([3]))
    found, _ = model.decode(model.encode(seen, 2), words)
    below = model.lower[0]
    assert isinstance(below, nn.LSTM)
    lower, _ = below(torch.cat([frames, frames.new_zeros(1, 2, FEATURES)], 1))
    said = torch.cat([words.new_zeros(1, 3, EMBEDDING), words], 1)
    upper, _ = model.upper(torch.cat([lower, said], -1))
    torch.testing.assert_close(found, upper[:, 3:])


@settings(max_examples=40)
@given(lengths_of_rows, st.sampled_from(DECODERS), st.integers(1, 4), seeds, st.data())
def test_words_one_by_one_are_the_sentence(
    lengths: list[int], kind: Callable[[], Decoder], steps: int, seed: int, data: st.DataObject
) -> None:
    """Also where sequences have several sentences each, in any order, and share their words."""
    torch.manual_seed(seed)
    model = kind().double().eval()
    numbers = st.lists(st.integers(0, len(lengths) - 1), min_size=1, max_size=6)
    rows = torch.tensor(data.draw(numbers))
    table = draw(seed + 1, 3, EMBEDDING)
    said = torch.randint(3, (len(rows), steps), generator=torch.Generator().manual_seed(seed))
    seen = see(lengths, seed)
    state = model.encode(seen, data.draw(st.integers(steps, 5))).select(rows)
    expected, after = model.decode(state, table[said])
    for row, owner in enumerate(rows):
        alone = Seen(*(each[owner : owner + 1] for each in (seen.frames, seen.whole, seen.lengths)))
        hidden, _ = model.decode(model.encode(alone, steps), table[said[row : row + 1]])
        torch.testing.assert_close(hidden[0], expected[row])
    for step in range(steps):
        with torch.set_grad_enabled(data.draw(st.booleans())):
            hidden, state = model.step(state, table, said[:, step])
        torch.testing.assert_close(hidden, expected[:, step : step + 1])
        order = torch.arange(len(rows)).flip(0)
        state, said, expected = state.select(order), said[order], expected[order]
        after = after.select(order)
    torch.testing.assert_close(state["memory"], after["memory"])


def test_units_are_dropped_in_training_only() -> None:
    torch.manual_seed(0)
    model = S2VT(FEATURES, EMBEDDING, 64, 0.5, directions=2).double()
    seen, words = see([3, 2], seed=0), draw(1, 2, 2, EMBEDDING)

    def say() -> Tensor:
        hidden, _ = model.decode(model.encode(seen, 2), words)
        return hidden

    assert not torch.allclose(say(), say())
    model.eval()
    assert say().equal(say())


@given(lengths_of_rows, seeds)
def test_a_mean_is_that_of_the_rows_own_frames(lengths: list[int], seed: int) -> None:
    torch.manual_seed(seed)
    seen, word = see(lengths, seed), draw(seed + 1, len(lengths), 1, EMBEDDING)
    model = MeanPooling(FEATURES, EMBEDDING, HIDDEN).double()
    hidden, _ = model.decode(model.encode(seen, 1), word)
    for row, length in enumerate(lengths):
        inputs = torch.cat([seen.frames[row, :length].mean(0), word[row, 0]])
        expected, _ = nn.LSTM.forward(model.lstm, inputs[None, None])
        torch.testing.assert_close(hidden[row], expected[0])


@settings(max_examples=25)
@given(lengths_of_rows, seeds)
def test_attention_is_the_formula_written_out(lengths: list[int], seed: int) -> None:
    """e_t = v . tanh(K x_t + Q h + b), the context is the mean of x by the softmax of e."""
    torch.manual_seed(seed)
    model = SoftAttention(FEATURES, EMBEDDING, HIDDEN).double()
    seen, word = see(lengths, seed), draw(seed + 1, len(lengths), 1, EMBEDDING)
    memory = draw(seed + 2, len(lengths), 2, HIDDEN)
    hidden, after = model.decode(model.encode(seen, 1).replace(memory=memory), word)
    for row, length in enumerate(lengths):
        frames, now = seen.frames[row, :length], memory[row, 0]
        looked = model.query.weight @ now + model.query.bias
        energies = [
            model.energy.weight[0] @ torch.tanh(model.key.weight @ x + looked) for x in frames
        ]
        shares = torch.stack(energies).exp() / torch.stack(energies).exp().sum()
        context = sum(share * x for share, x in zip(shares, frames, strict=True))
        assert isinstance(context, Tensor)
        inputs = torch.cat([context, word[row, 0]])[None, None]
        begun = tuple(each[None, None].contiguous() for each in memory[row])
        expected, remembered = nn.LSTM.forward(model.lstm, inputs, begun)
        torch.testing.assert_close(hidden[row], expected[0])
        torch.testing.assert_close(after["memory"][row], torch.cat(remembered)[:, 0])


@given(seeds, st.booleans())
def test_dropout_falls_on_codes_of_the_frames_if_it_shall(seed: int, drops: bool) -> None:
    torch.manual_seed(seed)
    config = CaptionerConfig("s2vt", hidden=64, embedding=8, dropout=0.5, drop_codes=drops)
    model, seen = build_decoder(config).train(), see([3], seed, 64)
    seen = replace(seen, frames=seen.frames.float())
    first, second = (model.encode(seen, 2).ahead for _ in range(2))
    assert first.equal(second) != drops


@given(seeds, st.floats(0.5, 4), st.floats(2, 8))
def test_what_is_seen_begins_larger_and_lasts_longer(seed: int, bias: float, gain: float) -> None:
    torch.manual_seed(seed)
    model = S2VT(FEATURES, EMBEDDING, HIDDEN, 0.0, directions=2).double()
    plain = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.listen(0.0, 1.0)
    assert all(tensor.equal(plain[name]) for name, tensor in model.state_dict().items())
    model.listen(bias, gain)
    heard = model.state_dict()
    torch.testing.assert_close(heard["lower.1.weight_ih_l0"], gain * plain["lower.1.weight_ih_l0"])
    upper, before = heard["upper.weight_ih_l0"], plain["upper.weight_ih_l0"]
    torch.testing.assert_close(upper[:, :HIDDEN], gain * before[:, :HIDDEN])
    assert upper[:, HIDDEN:].equal(before[:, HIDDEN:])
    # A cell forgets less: without any input, more of a memory is left after a step.
    lstm = model.upper
    memory = torch.zeros(1, 2, HIDDEN, dtype=torch.float64)
    memory[:, 1] = 1e6  # so large that what a step adds does not matter
    kept = lstm.step_zero_input(1, memory)[1][:, 1]
    for name in ("bias_ih_l0", "bias_hh_l0", "weight_hh_l0"):
        getattr(lstm, name).data.copy_(plain[f"upper.{name}"])
    assert (kept > lstm.step_zero_input(1, memory)[1][:, 1]).all()
