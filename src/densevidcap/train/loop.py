"""The one training loop that every model of the project uses.

A run can be killed at any moment: its folder holds the last whole checkpoint,
and a resumed run ends in the same weights as one that was never disturbed. So
everything that a step depends on is in the checkpoint (weights, optimiser,
random state, losses so far), and the batches of an epoch depend on seed and epoch alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from math import cos, pi
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from densevidcap.config import OptimisationConfig
from densevidcap.errors import ModelError
from densevidcap.files import replacing
from densevidcap.models.device import device_of, move, short_float
from densevidcap.progress import Progress, Silent
from densevidcap.train.team import ALONE, Team

CPU = torch.device("cpu")
CHECKPOINT = "checkpoint.safetensors"
HISTORY = "history.jsonl"


class Task(Protocol):
    """What the loop needs to know of a model and its data."""

    @property
    def model(self) -> nn.Module: ...

    def steps_per_epoch(self) -> int: ...

    def batches(self, epoch: int) -> Iterator[Any]:
        """The batches of an epoch, the same ones whenever they are asked for."""

    def loss(self, batch: Any) -> Tensor: ...

    def validate(self) -> dict[str, float]:
        """Metrics on held-out data; the model is in evaluation mode. May be empty."""

    def lr_multipliers(self) -> dict[str, float]:
        """Factor on the learning rate by prefix of a parameter's name; frozen ones have 0."""


def learning_rate_at(step: int, total: int, options: OptimisationConfig) -> float:
    """Linear warm-up, then a cosine to zero."""
    warmup = max(1, round(total * options.warmup))
    if step < warmup:
        return options.learning_rate * (step + 1) / warmup
    return options.learning_rate * 0.5 * (1 + cos(pi * (step - warmup) / max(1, total - warmup)))


class TrainingLoop:
    """A training run with its state in one folder; the model moves to the device and stays."""

    def __init__(
        self,
        task: Task,
        options: OptimisationConfig,
        folder: Path,
        device: torch.device = CPU,
        team: Team = ALONE,
    ) -> None:
        self.task, self.options, self.folder, self.device = task, options, folder, device
        self.team = team
        task.model.to(device)
        self.step = 0
        self._losses = 0.0, 0
        """Sum and count of the running epoch's."""
        self._saved = 0.0
        self.total = options.epochs * task.steps_per_epoch()
        self.rates, self.optimiser = _build_optimiser(task, options)
        self.trained = {n: p for n, p in task.model.named_parameters() if p.requires_grad}
        self.averages = {n: p.detach().clone() for n, p in self.trained.items()}
        self.short = short_float(device) if options.mixed_precision else None
        # Gradients are too small for float16 alone; bfloat16 has the range of 32 bits.
        self.scaled = self.short is torch.float16
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.scaled)

    def train(self, progress: Progress | None = None) -> list[dict[str, Any]]:
        """Train to the end, from the last checkpoint if there is one; returns the history."""
        progress = progress or Silent()
        model, per_epoch = self.task.model, self.task.steps_per_epoch()
        torch.manual_seed(self.options.seed)
        history = self._resume()
        # It takes note of which weights learn, so it comes after these are known.
        loss = self.task.loss if self.team.size == 1 else self.team.share(self.task, self.device)
        self._saved = time.monotonic()
        while self.step < self.total:
            epoch, done = divmod(self.step, per_epoch)
            model.train()
            for position, batch in enumerate(self.task.batches(epoch)):
                if position < done:
                    continue
                value = self._take_step(batch, loss)
                self._losses = self._losses[0] + value, self._losses[1] + 1
                progress.step(self.step, self.total, value)
                last = self.step % per_epoch == 0
                if not last and self._is_due():
                    self._save(history)
            with self.averaged():
                model.eval()
                metrics = self.task.validate() if self.team.leads else {}
            total, count = self._losses
            self._losses = 0.0, 0
            metrics = {"loss": total / max(1, count), **metrics}
            history.append({"epoch": epoch + 1, "step": self.step, **metrics})
            progress.epoch(epoch + 1, metrics)
            # Epochs of a small corpus take less time than writing a checkpoint.
            if self.step == self.total or self._is_due():
                self._save(history)
        if self.options.average:
            with torch.no_grad():
                for name, parameter in self.trained.items():
                    parameter.copy_(self.averages[name])
        model.eval()
        return history

    def _is_due(self) -> bool:
        return time.monotonic() - self._saved > self.options.checkpoint_seconds

    def averaged(self) -> Any:
        """A block in which the model carries the averaged weights."""
        return _Swapped(self.trained, self.averages) if self.options.average else nullcontext()

    def _take_step(self, batch: Any, compute: Callable[[Any], Tensor]) -> float:
        self.team.reseed(self.options.seed, self.step)
        rate = learning_rate_at(self.step, self.total, self.options)
        for group, factor in zip(self.optimiser.param_groups, self.rates, strict=True):
            group["lr"] = rate * factor
        with torch.autocast(self.device.type, self.short) if self.short else nullcontext():
            loss = compute(move(batch, self.device))
        value = float(loss.detach())
        if value != value or value in (float("inf"), float("-inf")):
            raise ModelError(
                f"{self.folder}: the loss became {value} at step {self.step}; "
                "lower the learning rate and start again from an empty folder"
            )
        self.optimiser.zero_grad(set_to_none=True)
        # Where nothing is scaled the scaler hands everything through.
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        self.scaler.unscale_(self.optimiser)
        nn.utils.clip_grad_norm_(self.trained.values(), self.options.clip_norm)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        self.step += 1
        if decay := self.options.average:
            decay = min(decay, self.step / (self.step + 10))  # short runs forget their start too
            with torch.no_grad():
                for name, parameter in self.trained.items():
                    self.averages[name].lerp_(parameter, 1 - decay)
        return value

    def _save(self, history: Sequence[dict[str, Any]]) -> None:
        """One file, replaced as a whole: a kill leaves the old checkpoint or the new one."""
        if not self.team.leads:
            return
        tensors = {f"model.{n}": t for n, t in self.task.model.state_dict().items()}
        tensors |= {f"average.{n}": t for n, t in self.averages.items()}
        names = {id(p): n for n, p in self.trained.items()}
        for parameter, state in self.optimiser.state.items():
            for key, value in state.items():
                tensors[f"optimiser.{key}.{names[id(parameter)]}"] = value
        tensors["random"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["random.cuda"] = torch.cuda.get_rng_state(self.device)
        elif self.device.type == "mps":
            tensors["random.mps"] = torch.mps.get_rng_state()
        header = {
            "step": str(self.step),
            "losses": json.dumps(self._losses),
            "scaler": json.dumps(self.scaler.state_dict()),
            "options": json.dumps(_list_what_matters(self.options)),
            "history": json.dumps(list(history)),
        }
        with replacing(self.folder / CHECKPOINT) as temporary:
            copies = {n: t.to("cpu", copy=True).contiguous() for n, t in tensors.items()}
            save_file(copies, temporary, header)
        lines = "".join(json.dumps(entry) + "\n" for entry in history)
        with replacing(self.folder / HISTORY) as temporary:
            temporary.write_text(lines)
        self._saved = time.monotonic()

    def _resume(self) -> list[dict[str, Any]]:
        path = self.folder / CHECKPOINT
        if not path.exists():
            return []
        try:
            with safe_open(path, "pt") as file:
                header = file.metadata()
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except SafetensorError as error:
            raise ModelError(f"{path}: damaged ({error}); remove it to train anew") from None
        if json.loads(header["options"]) != _list_what_matters(self.options):
            raise ModelError(
                f"{path}: was made with other training options; give another folder or remove it"
            )

        def part(prefix: str) -> dict[str, Tensor]:
            own = {n[len(prefix) :]: t for n, t in tensors.items() if n.startswith(prefix)}
            return {name: tensor.to(self.device) for name, tensor in own.items()}

        self.task.model.load_state_dict(part("model."))
        self.averages = part("average.")
        for name, parameter in self.trained.items():
            state = {
                # The optimiser counts steps in main memory, wherever the parameter is.
                key: tensors[f"optimiser.{key}.{name}"].to("cpu" if key == "step" else self.device)
                for key in ("step", "exp_avg", "exp_avg_sq")
                if f"optimiser.{key}.{name}" in tensors
            }
            if state:
                self.optimiser.state[parameter] = state
        if self.scaled and (scaler := json.loads(header["scaler"])):
            self.scaler.load_state_dict(scaler)
        torch.set_rng_state(tensors["random"])
        # A run may go on where there is another device: then its own random state is a new one.
        if self.device.type == "cuda" and "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"], self.device)
        elif self.device.type == "mps" and "random.mps" in tensors:
            torch.mps.set_rng_state(tensors["random.mps"])
        self.step = int(header["step"])
        # Checkpoints of earlier versions do not have them.
        total, count = json.loads(header.get("losses", "[0.0, 0]"))
        self._losses = total, count
        history: list[dict[str, Any]] = json.loads(header["history"])
        return history


class _Swapped:
    """Puts other values into parameters for the length of a block."""

    def __init__(self, parameters: dict[str, nn.Parameter], values: dict[str, Tensor]) -> None:
        self.parameters, self.values = parameters, values

    def __enter__(self) -> None:
        self._swap()

    def __exit__(self, *_: object) -> None:
        self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for name, parameter in self.parameters.items():
            before = parameter.detach().clone()
            parameter.copy_(self.values[name])
            self.values[name].copy_(before)


def _list_what_matters(options: OptimisationConfig) -> dict[str, Any]:
    """Of the settings, to the weights that a run ends in: how often it saves them does not."""
    return {n: value for n, value in asdict(options).items() if n != "checkpoint_seconds"}


def _build_optimiser(
    task: Task, options: OptimisationConfig
) -> tuple[list[float], torch.optim.Optimizer]:
    """AdamW with one group for each learning-rate factor; biases and norms do not decay."""
    groups: dict[tuple[float, bool], list[nn.Parameter]] = {}
    factors = task.lr_multipliers()
    for name, parameter in task.model.named_parameters():
        matching = [prefix for prefix in factors if name.startswith(prefix)]
        factor = factors[max(matching, key=len)] if matching else 1.0
        parameter.requires_grad_(factor > 0)
        if factor > 0:
            groups.setdefault((factor, parameter.ndim > 1), []).append(parameter)
    optimiser = torch.optim.AdamW(
        [
            {"params": parameters, "weight_decay": options.weight_decay if decays else 0.0}
            for (_, decays), parameters in groups.items()
        ],
        lr=options.learning_rate,
        # One pass over all numbers instead of ten; elsewhere it would count steps on the device.
        fused=device_of(task.model).type == "cpu",
    )
    return [factor for factor, _ in groups], optimiser
