"""The LSTM of sentence models, held against torch's."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from densevidcap.models.recurrence import Recurrence

FEATURES, HIDDEN = 3, 4
lengths_of_rows = st.lists(st.integers(1, 5), min_size=1, max_size=4)
seeds = st.integers(0, 10_000)


def draw(seed: int, *shape: int) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=random, dtype=torch.float64)


def make(seed: int) -> Recurrence:
    torch.manual_seed(seed)
    return Recurrence(FEATURES, HIDDEN).double()


def go_on(lstm: Recurrence, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    return lstm.go_on(lstm.begin_gates(x), memory)


@settings(max_examples=25)
@given(lengths_of_rows, st.integers(1, 3), seeds)
def test_a_memory_goes_on_as_if_there_had_been_no_break(
    lengths: list[int], steps: int, seed: int
) -> None:
    lstm, rows = make(seed), len(lengths)
    frames, more = (
        draw(seed, rows, max(lengths) + 1, FEATURES),
        draw(seed + 1, rows, steps, FEATURES),
    )
    begun, memory = lstm.begin(frames, torch.tensor(lengths))
    assert memory.shape == (rows, 2, HIDDEN)
    following, after = go_on(lstm, more, memory)
    for row, length in enumerate(lengths):
        whole = torch.cat([frames[row, :length], more[row]])[None]
        expected, (hidden, cell) = nn.LSTM.forward(lstm, whole)
        torch.testing.assert_close(begun[row, :length], expected[0, :length])
        assert not begun[row, length:].any()
        torch.testing.assert_close(following[row], expected[0, length:])
        torch.testing.assert_close(after[row], torch.cat([hidden[0], cell[0]]))


@settings(max_examples=25)
@given(lengths_of_rows, st.integers(1, 3), seeds)
def test_gradients_are_those_of_torch(lengths: list[int], steps: int, seed: int) -> None:
    """Of frames, further inputs and all weights, by outputs and the memory after the last."""
    lstm, rows = make(seed), len(lengths)
    frames = draw(seed, rows, max(lengths), FEATURES).requires_grad_()
    more = draw(seed + 1, rows, steps, FEATURES).requires_grad_()
    by = draw(seed + 2, rows, max(lengths) + steps, HIDDEN), draw(seed + 3, rows, 2, HIDDEN)

    def gather(outputs: list[Tensor], memories: list[Tensor]) -> list[Tensor]:
        total = sum(
            (output * by[0][row, : len(output)]).sum() + (memory * by[1][row]).sum()
            for row, (output, memory) in enumerate(zip(outputs, memories, strict=True))
        )
        assert isinstance(total, Tensor)
        return list(torch.autograd.grad(total, [frames, more, *lstm.parameters()]))

    begun, memory = lstm.begin(frames, torch.tensor(lengths))
    following, after = go_on(lstm, more, memory)
    ours = [torch.cat([begun[row, :n], following[row]]) for row, n in enumerate(lengths)]
    found = gather(ours, list(after))
    theirs, memories = [], []
    for row, length in enumerate(lengths):
        whole = torch.cat([frames[row, :length], more[row]])[None]
        outputs, (hidden, cell) = nn.LSTM.forward(lstm, whole)
        theirs.append(outputs[0])
        memories.append(torch.cat([hidden[0], cell[0]]))
    for ours_each, theirs_each in zip(found, gather(theirs, memories), strict=True):
        torch.testing.assert_close(ours_each, theirs_each)


@settings(max_examples=25)
@given(st.integers(1, 4), st.integers(1, 3), st.booleans(), seeds)
def test_steps_without_input_are_steps_with_zeros(
    rows: int, steps: int, learning: bool, seed: int
) -> None:
    lstm, memory = make(seed), draw(seed, rows, 2, HIDDEN)
    with torch.set_grad_enabled(learning):
        found = lstm.step_zero_input(steps, memory)
        expected = go_on(lstm, torch.zeros(rows, steps, FEATURES, dtype=torch.float64), memory)
    torch.testing.assert_close(found, expected)


@given(st.integers(0, FEATURES), seeds)
def test_gates_may_be_put_together_from_parts(known: int, seed: int) -> None:
    lstm, x = make(seed), draw(seed, 2, 3, FEATURES)
    first, last = x[..., :known], x[..., known:]
    together = lstm.begin_gates(first) + (lstm.end_gates(last) if known < FEATURES else 0)
    torch.testing.assert_close(together, lstm.begin_gates(x))


def test_products_of_16_bits_come_near() -> None:
    torch.manual_seed(0)
    lstm, frames = Recurrence(32, 64), torch.randn(6, 5, 32)
    lengths = torch.tensor([5, 1, 3, 5, 2, 4])
    expected, memory = lstm.begin(frames, lengths)
    with torch.autocast("cpu", torch.bfloat16):
        found, after = lstm.begin(frames, lengths)
    assert found.dtype == torch.bfloat16
    assert after.dtype == memory.dtype
    assert (found - expected).abs().max() < 0.02
    for each, short in zip(
        *(torch.autograd.grad(x.float().sum(), list(lstm.parameters())) for x in (memory, after)),
        strict=True,
    ):
        assert short.dtype == torch.float32
        assert torch.cosine_similarity(each.flatten(), short.flatten(), 0) > 0.999


def test_nothing_is_remembered_at_first() -> None:
    memory = make(0).empty(draw(0, 3, FEATURES))
    assert memory.shape == (3, 2, HIDDEN)
    assert memory.dtype == torch.float64
    assert not memory.any()
