"""A second device on a machine that has none: real numbers, but apart from the CPU's.

A tensor of it says that it is on `meta`, computes on the CPU inside, and refuses to meet a CPU
tensor, as one on a GPU would. What a GPU lets pass, a CPU tensor of no dimension, passes here too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

DEVICE = torch.device("meta")
PACKING = {
    torch.ops.aten._pack_padded_sequence.default,
    torch.ops.aten._pad_packed_sequence.default,
}
ON_CPU = PACKING | {
    torch.ops.aten._pack_padded_sequence_backward.default,
    torch.ops.aten.lstm.data,
    torch.ops.aten.index.Tensor,
    torch.ops.aten.index_put_.default,
}
"""These want the lengths of sequences on the CPU, wherever the sequences are, or take indices from
there, such as a plain list of columns."""


class Away(Tensor):
    """A tensor of the other device."""

    inside: Tensor

    @staticmethod
    def __new__(cls, inside: Tensor) -> Away:
        # Views of a wrapper cannot be made in inference mode: this one is not part of it.
        with torch.inference_mode(False):
            made: Away = Tensor._make_wrapper_subclass(
                cls,
                inside.shape,
                strides=inside.stride(),
                storage_offset=inside.storage_offset(),
                dtype=inside.dtype,
                device=DEVICE,
            )
        made.inside = inside
        return made

    def __repr__(self) -> str:  # type: ignore[override]
        return f"Away({self.inside!r})"

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, _: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return _compute(func, args, kwargs or {})


@contextmanager
def another_device() -> Iterator[None]:
    """While it lasts, what is made on `meta` is made on the other device."""
    with _Lists(), _Made():  # type: ignore[no-untyped-call]
        yield


class _Lists(TorchFunctionMode):
    """To and from lists of numbers, which torch does without asking any dispatcher."""

    def __torch_function__(
        self, func: Any, _: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.tensor:
            device = kwargs.pop("device", None)
            made = torch.tensor(*args, **kwargs)
            return made if device is None else made.to(device)
        if func is Tensor.new_tensor:
            like, numbers = args
            return torch.tensor(numbers, dtype=like.dtype).to(like.device)
        if func in (Tensor.__setitem__, Tensor.__getitem__):
            x, index, *value = args
            parts = index if isinstance(index, tuple) else (index,)
            index = tuple(torch.tensor(p).to(x.device) if type(p) is list else p for p in parts)
            if value and not isinstance(value[0], Tensor):
                value = [torch.tensor(value[0], dtype=x.dtype).to(x.device)]
            return func(x, index, *value)
        if func is Tensor.tolist:
            return args[0].cpu().tolist()
        return func(*args, **kwargs)


class _Made(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __torch_dispatch__(
        self, func: Any, _: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return _compute(func, args, kwargs or {})


def _compute(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    away = any(isinstance(tensor, Away) for tensor in tensors)
    target = kwargs.get("device")
    if func is torch.ops.aten.copy_.default:
        target = args[0].device  # copies lead from one device to another
    elif away and target is None:
        target = DEVICE
        strangers = [t for t in tensors if not isinstance(t, Away) and t.ndim]
        if strangers and func not in ON_CPU:
            raise RuntimeError(f"{func}: a CPU tensor {tuple(strangers[0].shape)} among others")
    if "device" in kwargs:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    if any(t.device == DEVICE and not isinstance(t, Away) for t in tensors):
        raise RuntimeError(f"{func}: a tensor without numbers")
    plain = tree_map(lambda x: x.inside if isinstance(x, Away) else x, (args, kwargs))
    result = func(*plain[0], **plain[1])
    if func._schema.is_mutable and tensors and tensors[0] is args[0]:
        return args[0]  # what is changed in place stays itself
    if target is None or torch.device(target).type != DEVICE.type:
        return result
    if func in PACKING:
        return Away(result[0]), result[1]
    return tree_map(lambda x: Away(x) if isinstance(x, Tensor) else x, result)


def send(module: nn.Module) -> nn.Module:
    """Move a module's parameters and buffers there."""
    for part in module.modules():
        for name, parameter in part._parameters.items():
            if parameter is not None:
                gone = nn.Parameter(Away(parameter.detach().clone()), parameter.requires_grad)
                part._parameters[name] = gone
        for name, buffer in part._buffers.items():
            if buffer is not None:
                part._buffers[name] = Away(buffer.clone())
    return module
