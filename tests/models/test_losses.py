"""The noisy-OR losses against the paper's formulas written out literally, in float64."""

from __future__ import annotations

from random import Random

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from densevidcap.models.losses import LOWEST_LOGIT, mil_loss, mimll_loss, mll_loss, noisy_or

SIZES = st.integers(1, 4)


def literal_misses(logits: Tensor, bags: Tensor, count: int) -> Tensor:
    """The product of Eq. 2, with Eq. 3 in it, as printed: (N, R, W) logits to 1 - p (B, W)."""
    p = 1 / (1 + torch.exp(-logits))
    return torch.stack([(1 - p[bags == bag]).prod(dim=0).prod(dim=0) for bag in range(count)])


def literal_loss(logits: Tensor, bags: Tensor, labels: Tensor) -> Tensor:
    """Eq. 1 of each bag and word, as printed."""
    misses = literal_misses(logits, bags, len(labels))
    return -(labels * torch.log(1 - misses) + (1 - labels) * torch.log(misses))


@st.composite
def problems(draw: st.DrawFn, lowest: float = -8, highest: float = 8) -> tuple[Tensor, ...]:
    """Float64 logits (N, R, W), bags (N,) of which none is empty, labels (B, W)."""
    frames, regions, words = draw(SIZES), draw(SIZES), draw(SIZES)
    count = draw(st.integers(1, frames))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    logits = rng.uniform(lowest, highest, (frames, regions, words))
    bags = rng.permutation(np.arange(frames) % count)
    labels = rng.integers(0, 2, (count, words)).astype(np.float64)
    return torch.from_numpy(logits), torch.from_numpy(bags), torch.from_numpy(labels)


@given(problems())
def test_noisy_or_is_one_minus_the_product_of_misses(problem: tuple[Tensor, ...]) -> None:
    logits, _, _ = problem
    expected = 1 - literal_misses(logits, torch.arange(len(logits)), len(logits))
    torch.testing.assert_close(noisy_or(logits), expected, rtol=1e-9, atol=1e-12)


@given(problems())
def test_loss_is_equation_1(problem: tuple[Tensor, ...]) -> None:
    torch.testing.assert_close(mimll_loss(*problem), literal_loss(*problem), rtol=1e-7, atol=1e-9)


@given(problems(), st.integers(0, 2**32))
def test_gradient_is_that_of_the_literal_formula(problem: tuple[Tensor, ...], seed: int) -> None:
    logits, bags, labels = problem
    weights = torch.from_numpy(np.random.default_rng(seed).uniform(0.1, 2, tuple(labels.shape)))
    ours, literal = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    (mimll_loss(ours, bags, labels) * weights).sum().backward()  # type: ignore[no-untyped-call]
    (literal_loss(literal, bags, labels) * weights).sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(ours.grad, literal.grad, rtol=1e-6, atol=1e-9)


def test_gradient_agrees_with_finite_differences() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(5, 4, 3, dtype=torch.float64, generator=generator, requires_grad=True)
    labels = torch.randint(0, 2, (2, 3), generator=generator).double()
    bags = torch.tensor([0, 1, 1, 0, 1])
    assert torch.autograd.gradcheck(lambda z: mimll_loss(z, bags, labels), (logits,))


@given(
    st.lists(
        st.one_of(
            st.floats(-1e4, 1e4, width=32), st.sampled_from([-1e4, LOWEST_LOGIT, -0.0, 0.0, 1e4])
        ),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([0.0, 1.0]),
)
def test_loss_and_gradient_are_finite_at_any_logit(values: list[float], label: float) -> None:
    logits = torch.tensor(values).view(1, -1, 1).requires_grad_()
    loss = mimll_loss(logits, torch.tensor([0]), torch.tensor([[label]]))
    loss.sum().backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert loss.isfinite().all()
    assert logits.grad.isfinite().all()
    assert (loss >= 0).all()


def test_a_hopeless_positive_still_learns() -> None:
    """Plain float32 would have probability 0 here, and no way out of it."""
    logits = torch.full((1, 16, 1), -1e4).requires_grad_()
    mimll_loss(logits, torch.tensor([0]), torch.ones(1, 1)).sum().backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    torch.testing.assert_close(logits.grad, torch.full((1, 16, 1), -1 / 16))


@given(problems())
def test_a_clips_bag_is_its_frames_regions_in_one(problem: tuple[Tensor, ...]) -> None:
    logits, _, _ = problem
    frames, regions, words = logits.shape
    labels = torch.ones(1, words, dtype=torch.float64)
    clip = mimll_loss(logits, torch.zeros(frames, dtype=torch.long), labels)
    flat = mimll_loss(logits.reshape(1, frames * regions, words), torch.tensor([0]), labels)
    torch.testing.assert_close(clip, flat)


@given(problems(), st.randoms(use_true_random=False))
def test_order_of_frames_and_regions_does_not_matter(
    problem: tuple[Tensor, ...], random: Random
) -> None:
    logits, bags, labels = problem
    frames, regions = list(range(logits.shape[0])), list(range(logits.shape[1]))
    random.shuffle(frames)
    random.shuffle(regions)
    shuffled = mimll_loss(logits[frames][:, regions], bags[frames], labels)
    torch.testing.assert_close(shuffled, mimll_loss(logits, bags, labels))


@given(problems(highest=0), st.integers(0, 2**32))
def test_mil_has_one_positive_word_and_leaves_the_others_out(
    problem: tuple[Tensor, ...], seed: int
) -> None:
    """With no region certain, a word that counts has a loss above zero."""
    logits, bags, labels = problem
    torch.manual_seed(seed)
    losses = mil_loss(logits, bags, labels)
    absent = literal_loss(logits, bags, torch.zeros_like(labels))
    present = literal_loss(logits, bags, torch.ones_like(labels))
    counted = losses.ne(0)
    for bag, truth in enumerate(labels.bool()):
        torch.testing.assert_close(losses[bag, ~truth], absent[bag, ~truth], rtol=1e-7, atol=1e-9)
        drawn = truth & counted[bag]
        assert drawn.sum() == truth.any()
        torch.testing.assert_close(losses[bag, drawn], present[bag, drawn], rtol=1e-7, atol=1e-9)


def test_mil_draws_each_of_a_bags_words() -> None:
    torch.manual_seed(0)
    logits, labels = torch.zeros(1, 2, 3), torch.tensor([[1.0, 0.0, 1.0]])
    seen = {
        int(mil_loss(logits, torch.tensor([0]), labels)[0].ne(0).nonzero()[0]) for _ in range(40)
    }
    # The second word is absent and always counts; the first counted one is 0 or, if 2 was drawn, 1.
    assert seen == {0, 1}


@given(problems())
def test_mll_is_cross_entropy_of_single_instances(problem: tuple[Tensor, ...]) -> None:
    logits, _, _ = problem
    single = logits[:, 0]
    labels = (single > 0).double()
    expected = F.binary_cross_entropy(torch.sigmoid(single), labels, reduction="none")
    torch.testing.assert_close(mll_loss(single, labels), expected, rtol=1e-6, atol=1e-9)
    bag_of_one = mimll_loss(single.unsqueeze(1), torch.arange(len(single)), labels)
    torch.testing.assert_close(mll_loss(single, labels), bag_of_one, rtol=1e-6, atol=1e-9)
