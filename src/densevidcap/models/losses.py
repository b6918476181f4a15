"""Losses that link words to regions from clip-level labels alone (Eq. 1-3).

A bag is a set of regions that share a label vector: the regions of a frame or
of a whole clip. Logits are z = w·x + b (Eq. 3), one for each region and word.
N frames with R regions each belong to B bags; `bags` (N,) says which.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

LOWEST_LOGIT = -60.0
"""Below it exp(z) nears float32's smallest number; the gradient there is that of this logit."""


def noisy_or(logits: Tensor) -> Tensor:
    """Noisy-OR bag probability (Eq. 2): (…, R, W) to (…, W).

    1 - sigmoid(z) = exp(-softplus(z)), so the product over regions is a sum in
    log space and cannot underflow, however large the bag.
    """
    return -torch.expm1(-F.softplus(logits).sum(dim=-2))


class _NoisyOrCrossEntropy(torch.autograd.Function):
    """-[y log p + (1 - y) log(1 - p)] for noisy-OR bags, with its gradient written out.

    With s = Σ softplus(z_j) over a bag: log(1 - p) = -s, log p = log(1 - exp(-s)),
    dL/dz_j = sigmoid(z_j) · ((1 - y) - y / (exp(s) - 1)). Autograd would keep
    four arrays of the size of the logits for this; here it is the logits alone.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, bags: Tensor, labels: Tensor) -> Tensor:
        logits = logits.clamp(min=LOWEST_LOGIT)
        total = torch.zeros_like(labels).index_add_(0, bags, F.softplus(logits).sum(dim=-2))
        ctx.save_for_backward(logits, bags, labels, total)
        log_any = torch.log(-torch.expm1(-total))
        return (1 - labels) * total - labels * log_any

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        logits, bags, labels, total = ctx.saved_tensors
        slope = gradients[0] * ((1 - labels) - labels / torch.expm1(total))
        return torch.sigmoid(logits) * slope[bags].unsqueeze(-2), None, None


def mimll_loss(logits: Tensor, bags: Tensor, labels: Tensor) -> Tensor:
    """Multi-instance multi-label loss (Eq. 1) of each bag and word, (B, W).

    Logits (N, R, W), bags (N,), labels (B, W). Eq. 1 sums it over words and
    averages it over bags.
    """
    losses: Tensor = _NoisyOrCrossEntropy.apply(logits, bags, labels)  # type: ignore[no-untyped-call]
    return losses


def mil_loss(logits: Tensor, bags: Tensor, labels: Tensor) -> Tensor:
    """Multi-instance loss (B, W): a bag carries one label, not a set (fig. "three paradigms").

    One of a bag's words is drawn as its label; its other words count neither
    as present nor as absent. A bag without words stays without.
    """
    drawn = torch.multinomial(labels + 1e-9, 1)
    single = torch.zeros_like(labels).scatter_(1, drawn, 1.0) * (labels > 0)
    return mimll_loss(logits, bags, single) * ((labels == 0) | (single > 0))


def mll_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Multi-label loss (N, W): a whole frame is the one instance; logits, labels (N, W)."""
    return F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
