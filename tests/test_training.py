"""The training loop: schedules, averages, and runs that survive being killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from tests.killed_training import RESULT, STEPS, train
from tests.models.small_world import write_corpus
from torch import Tensor, nn

from densevidcap.config import OptimisationConfig
from densevidcap.errors import ModelError
from densevidcap.train.loop import CHECKPOINT, HISTORY, TrainingLoop, learning_rate_at


class Line:
    """A task so small that its course is known: learn y = 2x by least squares."""

    def __init__(self, factors: dict[str, float] | None = None) -> None:
        torch.manual_seed(0)
        self.model: nn.Module = nn.Sequential(nn.Linear(1, 4), nn.Linear(4, 1))
        self.factors = factors or {}
        self.batches_seen: list[float] = []

    def steps_per_epoch(self) -> int:
        return 5

    def batches(self, epoch: int) -> Iterator[Tensor]:
        rng = np.random.default_rng(epoch)
        for _ in range(self.steps_per_epoch()):
            yield torch.from_numpy(rng.normal(size=(8, 1))).float()

    def loss(self, batch: Tensor) -> Tensor:
        self.batches_seen.append(float(batch[0]))
        guess: Tensor = self.model(batch)
        return (guess - 2 * batch).square().mean()

    def validate(self) -> dict[str, float]:
        assert not self.model.training
        guess: Tensor = self.model(torch.ones(1, 1))
        return {"guess": float(guess.detach())}

    def lr_multipliers(self) -> dict[str, float]:
        return self.factors


def test_it_learns_and_writes_its_history(tmp_path: Path) -> None:
    task = Line()
    history = TrainingLoop(
        task, OptimisationConfig(epochs=40, learning_rate=0.03), tmp_path
    ).train()
    assert history[-1]["guess"] == pytest.approx(2, abs=0.05)
    assert [entry["epoch"] for entry in history] == list(range(1, 41))
    lines = (tmp_path / HISTORY).read_text().splitlines()
    assert [json.loads(line) for line in lines] == history


def test_factors_slow_down_and_freeze_parameters(tmp_path: Path) -> None:
    def moved(factors: dict[str, float]) -> list[float]:
        task = Line(factors)
        before = [parameter.detach().clone() for parameter in task.model.parameters()]
        options = OptimisationConfig(epochs=1, learning_rate=1e-3, weight_decay=0)
        TrainingLoop(task, options, tmp_path / str(len(list(tmp_path.iterdir())))).train()
        pairs = zip(before, task.model.parameters(), strict=True)
        return [float((new - old).detach().abs().max()) for old, new in pairs]

    usual, slowed = moved({}), moved({"0.": 0.0, "1.": 0.1, "1.bias": 1.0})
    assert slowed[:2] == [0.0, 0.0]
    assert slowed[2] < usual[2] / 5
    assert slowed[3] > usual[3] / 5


def test_the_result_is_the_average_of_the_weights(tmp_path: Path) -> None:
    options = OptimisationConfig(epochs=2, average=0.5)
    task = Line()
    run = TrainingLoop(task, options, tmp_path)
    history = run.train()
    for name, parameter in task.model.named_parameters():
        torch.testing.assert_close(parameter.detach(), run.averages[name])
    # Validation saw the average too.
    assert history[-1]["guess"] == pytest.approx(task.validate()["guess"])
    plain = Line()
    TrainingLoop(plain, OptimisationConfig(epochs=2), tmp_path / "plain").train()
    assert task.validate() != plain.validate()


@given(st.integers(2, 500), st.floats(0, 0.5))
def test_the_rate_rises_to_its_peak_and_falls_to_nothing(total: int, warmup: float) -> None:
    options = OptimisationConfig(warmup=warmup, learning_rate=0.1)
    rates = [learning_rate_at(step, total, options) for step in range(total)]
    peak = rates.index(max(rates))
    assert max(rates) == pytest.approx(0.1)
    assert rates[: peak + 1] == sorted(rates[: peak + 1])
    assert rates[peak:] == sorted(rates[peak:], reverse=True)
    assert learning_rate_at(total, total, options) == pytest.approx(0, abs=1e-12)


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    options = OptimisationConfig(epochs=2, average=0.5)
    first, second = Line(), Line()
    history = TrainingLoop(first, options, tmp_path).train()
    assert TrainingLoop(second, options, tmp_path).train() == history
    assert not second.batches_seen
    assert first.validate() == second.validate()


class StoppedError(Exception):
    """In place of a kill."""


class StoppedLine(Line):
    """It stops after so many steps."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps = steps

    def loss(self, batch: Tensor) -> Tensor:
        if len(self.batches_seen) == self.steps:
            raise StoppedError
        return super().loss(batch)


@pytest.mark.parametrize("steps", [1, 5, 8])
def test_a_stopped_run_tells_the_losses_of_whole_epochs(tmp_path: Path, steps: int) -> None:
    options = OptimisationConfig(epochs=3, checkpoint_seconds=0)
    straight = TrainingLoop(Line(), options, tmp_path / "straight").train()
    with pytest.raises(StoppedError):
        TrainingLoop(StoppedLine(steps), options, tmp_path / "stopped").train()
    resumed = Line()
    assert TrainingLoop(resumed, options, tmp_path / "stopped").train() == straight
    assert len(resumed.batches_seen) == 15 - steps
    histories = [(tmp_path / name / HISTORY).read_text() for name in ("straight", "stopped")]
    assert histories[0] == histories[1]


def test_checkpoints_without_losses_are_gone_on_from(tmp_path: Path) -> None:
    options = OptimisationConfig(epochs=2, checkpoint_seconds=0)
    straight = TrainingLoop(Line(), options, tmp_path / "straight").train()
    with pytest.raises(StoppedError):
        TrainingLoop(StoppedLine(7), options, tmp_path / "stopped").train()
    path = tmp_path / "stopped" / CHECKPOINT
    with safe_open(path, "pt") as file:
        header = file.metadata()
    del header["losses"]
    save_file(load_file(path), path, header)
    resumed = TrainingLoop(Line(), options, tmp_path / "stopped").train()
    assert [each["guess"] for each in resumed] == [each["guess"] for each in straight]


def test_a_run_with_other_options_is_refused(tmp_path: Path) -> None:
    TrainingLoop(Line(), OptimisationConfig(epochs=1), tmp_path).train()
    with pytest.raises(ModelError, match=f"{CHECKPOINT}: was made with other training options"):
        TrainingLoop(Line(), OptimisationConfig(epochs=2), tmp_path).train()


def test_how_often_it_saves_may_change(tmp_path: Path) -> None:
    history = TrainingLoop(Line(), OptimisationConfig(epochs=1), tmp_path).train()
    seldom = OptimisationConfig(epochs=1, checkpoint_seconds=600)
    assert TrainingLoop(Line(), seldom, tmp_path).train() == history


def test_a_loss_that_explodes_stops_the_run(tmp_path: Path) -> None:
    task = Line()
    with torch.no_grad():
        next(task.model.parameters()).fill_(float("inf"))
    with pytest.raises(
        ModelError, match=r"the loss became (nan|inf) at step 0; lower the learning"
    ):
        TrainingLoop(task, OptimisationConfig(), tmp_path).train()


def start(manifest: Path, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.killed_training", str(manifest), str(folder)]
    root = Path(__file__).parent.parent
    return subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)


def test_a_run_killed_three_times_ends_in_the_same_weights(tmp_path: Path) -> None:
    manifest = write_corpus(tmp_path / "world")
    undisturbed = train(manifest, tmp_path / "undisturbed")
    checkpoint = tmp_path / "killed" / CHECKPOINT
    rng = np.random.default_rng()
    for _ in range(3):
        with start(manifest, checkpoint.parent) as process:
            assert process.stdout is not None
            for _ in process.stdout:
                if checkpoint.exists():
                    break
            # The process goes on while its lines are read, so the kill hits any moment of a
            # step or of a checkpoint.
            for _ in range(rng.integers(6)):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
            process.communicate()
        assert process.returncode == -signal.SIGKILL
    with start(manifest, checkpoint.parent) as process:
        lines = process.communicate()[0].splitlines()
    assert process.returncode == 0
    assert 0 < len(lines) < STEPS
    result = load_file(checkpoint.parent / RESULT)
    assert result.keys() == undisturbed.keys()
    assert all(torch.equal(result[name], undisturbed[name]) for name in result)
