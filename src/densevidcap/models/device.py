"""Where networks run."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn

from densevidcap.config import Engine
from densevidcap.errors import ModelError


def resolve_device(name: str) -> torch.device:
    """Of `auto`, `cpu`, `cuda` (`cuda:1`, …) or `mps`; one that is not there is refused."""
    there = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        return torch.device(next(kind for kind, found in there.items() if found))
    kind, _, number = name.partition(":")
    if kind not in there or (number and not number.isdigit()):
        raise ModelError(f"no device '{name}': choose one of auto, {', '.join(sorted(there))}")
    if not there[kind] or int(number or 0) >= max(1, torch.cuda.device_count()):
        raise ModelError(f"torch finds no {name} on this machine: set device to auto or cpu")
    return torch.device(name)


def device_of(model: nn.Module) -> torch.device:
    """Where its parameters are."""
    # Eyes for features that others extracted have no numbers of their own.
    return next((each.device for each in model.parameters()), torch.device("cpu"))


def widest_float(device: torch.device) -> torch.dtype:
    """For sums of many logarithms; mps has no 64 bits."""
    return torch.float32 if device.type == "mps" else torch.float64


def short_float(device: torch.device) -> torch.dtype | None:
    """The 16-bit numbers that the device multiplies faster than 32-bit ones; None without such.

    A CPU that only imitates them is slower with them.
    """
    if device.type == "cuda":
        return torch.float16
    has_bfloat16 = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return torch.bfloat16 if device.type == "cpu" and has_bfloat16 and has_bfloat16() else None


def resolve_engine(name: Engine, device: torch.device) -> torch.dtype:
    """The numbers that products of matrices are computed with on that device.

    `auto` is float32 on others than CPUs: they are fast enough with what training has seen.
    """
    if name == "auto":
        name = "bfloat16" if device.type == "cpu" and short_float(device) else "float32"
    return torch.bfloat16 if name == "bfloat16" else torch.float32


def computing(numbers: torch.dtype, device: torch.device) -> AbstractContextManager[Any]:
    """In it, products of matrices are computed with these numbers, all else with 32 bits.

    Weights are rounded once in it, if nothing around it is in inference mode: they are not kept
    then, but rounded for every product.
    """
    return nullcontext() if numbers == torch.float32 else torch.autocast(device.type, numbers)


def round_up(rows: int) -> int:
    """The next of few numbers of rows, for products of short numbers.

    On CPUs torch keeps code for every size that it has multiplied with them, which would grow from
    clip to clip by tens of megabytes.
    """
    each = 16 if rows <= 128 else 64
    return -(-rows // each) * each


def move(batch: Any, device: torch.device) -> Any:
    """A tensor, what can be moved like one, or a tuple of such, to the device."""
    if isinstance(batch, tuple):
        parts = [move(part, device) for part in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else tuple(parts)
    return batch.to(device) if hasattr(batch, "to") else batch
