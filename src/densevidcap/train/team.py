"""Several processes that train one model together: `torchrun -m densevidcap fit …`.

Each of them computes the loss of its share of every batch, and gradients are averaged, so that
a step is that of one process with the whole batch. The first process leads: it alone reads clips,
validates, and writes files; the others read what it has written.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from densevidcap.errors import ModelError

PATIENCE = timedelta(days=7)
"""The others wait while the first reads a whole corpus."""


@runtime_checkable
class Divisible(Protocol):
    """What a process needs to compute its share of the loss."""

    @property
    def model(self) -> nn.Module: ...

    def loss(self, batch: Any) -> Tensor: ...

    def divide(self, batch: Any, rank: int, size: int) -> tuple[Any, float]:
        """A part of the batch, and what of its loss is in that of the whole batch."""


@dataclass(frozen=True)
class Team:
    """The processes of this run, of which this is the one of that rank."""

    rank: int = 0
    size: int = 1

    @classmethod
    def join(cls, device: torch.device) -> Team:
        """That which `torchrun` has started; a process alone where it was not used."""
        size = int(os.environ.get("WORLD_SIZE", 1))
        if size == 1:
            return cls()
        if not distributed.is_initialized():
            backend = "nccl" if device.type == "cuda" else "gloo"
            distributed.init_process_group(backend, timeout=PATIENCE)
            atexit.register(distributed.destroy_process_group)
        return cls(distributed.get_rank(), size)

    @property
    def leads(self) -> bool:
        return self.rank == 0

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """A block that each process enters when those of lower rank have left it."""
        for _ in range(self.rank):
            distributed.barrier()
        yield
        if self.size > 1:
            for _ in range(self.size - self.rank):
                distributed.barrier()

    def share(self, task: object, device: torch.device) -> nn.Module:
        """The loss of batches, as a module whose gradients are those of all processes."""
        if not isinstance(task, Divisible):
            raise ModelError("this stage is the work of one process; run it without torchrun")
        loss = _Loss(task, self)
        places = [device] if device.type == "cuda" else None
        # A stream that no clip of a batch has leaves its weights without a gradient.
        return DistributedDataParallel(loss, device_ids=places, find_unused_parameters=True)

    def reseed(self, seed: int, step: int) -> None:
        """Draw anew, each process for itself; a run that goes on draws what it would have drawn."""
        if self.size > 1:
            torch.manual_seed(hash((seed, step, self.rank)) % 2**63)


ALONE = Team()


def find_place(device: torch.device) -> torch.device:
    """The GPU that is this process' own, where several have several."""
    number = os.environ.get("LOCAL_RANK")
    if device.type != "cuda" or device.index is not None or number is None:
        return device
    return torch.device("cuda", int(number))


def is_leader() -> bool:
    """Whether this process speaks for the team; one that is alone does."""
    return int(os.environ.get("RANK", 0)) == 0


def refuse_team(verb: str, instead: str) -> None:
    """For what only one process can do."""
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        raise ModelError(f"{verb} is the work of one process; with torchrun, use {instead}")


class _Loss(nn.Module):
    def __init__(self, task: Divisible, team: Team) -> None:
        super().__init__()
        self.model, self._task, self._team = task.model, task, team

    def forward(self, batch: Any) -> Tensor:
        part, weight = self._task.divide(batch, self._team.rank, self._team.size)
        # Gradients are averaged over processes, so each counts as often as there are.
        return self._task.loss(part) * (weight * self._team.size)
