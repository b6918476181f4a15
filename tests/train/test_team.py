"""Several processes that train one model: what each computes, and the real `torchrun`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from tests.models.small_corpus import make_corpus
from tests.models.small_corpus import make_task as make_sentence_task
from tests.models.small_world import make_lexicon, make_model, read_corpus, write_corpus
from torch import Tensor, nn

from densevidcap.cli import root
from densevidcap.config import SentenceTrainingConfig, WordTrainingConfig
from densevidcap.data.manifest import read_manifest
from densevidcap.errors import ModelError
from densevidcap.model_folder import WEIGHTS
from densevidcap.train.sentences import SentenceTask
from densevidcap.train.team import Team
from densevidcap.train.words import WordTask

CONFIG = """
[frames]
most = 3
[eyes]
backbone = "lite0"
size = 96
window = 2
[words]
hidden = 16
dropout = 0.0
[about]
licence = "Apache-2.0"
data = "the test world"
[[training.words]]
batch = 5
epochs = 3
seed = 5
average = 0.9
"""


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> list[WordTask | SentenceTask]:
    folder = tmp_path_factory.mktemp("tasks")
    records, model, cache = read_corpus(write_corpus(folder / "words", clips=13))
    words = [
        WordTask(
            make_model(model.lexicon), cache, records, [], WordTrainingConfig(batch=6, bag=bag)
        )
        for bag in ("frame", "clip")
    ]
    sentences = make_sentence_task(make_corpus(folder / "sentences"), SentenceTrainingConfig())
    return [*words, sentences]


@pytest.mark.parametrize("which", range(3))
@settings(max_examples=20)
@given(size=st.integers(1, 9), place=st.integers(0, 99))
def test_the_parts_of_a_batch_have_the_loss_of_the_whole(
    tasks: list[WordTask | SentenceTask], which: int, size: int, place: int
) -> None:
    """Also where there are fewer clips than processes."""
    task: Any = tasks[which]
    task.model.eval()
    batches = [*task.batches(0)]
    batch = batches[place % len(batches)]
    parts = (task.divide(batch, rank, size) for rank in range(size))
    total = sum(weight * task.loss(part) for part, weight in parts)
    torch.testing.assert_close(total, task.loss(batch), rtol=1e-4, atol=1e-5)


def run_team(arguments: Iterable[object], size: int) -> subprocess.CompletedProcess[str]:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command = [*torchrun, f"--nproc-per-node={size}", "-m", "densevidcap", *map(str, arguments)]
    alone = {name: each for name, each in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**alone, "OMP_NUM_THREADS": "1"}
    )


@pytest.mark.thorough
def test_two_processes_learn_what_one_learns(tmp_path: Path) -> None:
    manifest = write_corpus(tmp_path / "world", clips=12)
    make_lexicon(list(read_manifest(manifest))).save(tmp_path / "lexicon.json")
    (tmp_path / "words.toml").write_text(CONFIG)
    options = ["--data", manifest, "--config", tmp_path / "words.toml"]
    options += ["--lexicon", tmp_path / "lexicon.json"]

    def ask(name: str) -> list[str]:
        cache = tmp_path / f"cache of {name}"
        return [
            "fit",
            "words",
            *map(str, options),
            "--out",
            str(tmp_path / name),
            "--cache",
            str(cache),
        ]

    alone = CliRunner().invoke(root, ask("alone"))
    assert alone.exit_code == 0, alone.output
    team = run_team(ask("team"), 2)
    assert team.returncode == 0, team.stderr
    # One of them speaks.
    assert team.stdout.count("epoch 3, step") == 1
    one, two = (load_file(tmp_path / name / WEIGHTS) for name in ("alone", "team"))
    heads = [name for name in one if name.startswith("head.")]
    assert len(heads) >= 2
    for name in heads:
        torch.testing.assert_close(two[name], one[name], rtol=1e-3, atol=1e-4)
    again = run_team(ask("team"), 2)
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize("verb", [["train", "table.csv"], ["fit", "evaluator"]])
def test_what_one_process_must_do_is_refused(
    verb: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    (tmp_path / "table.csv").write_text("video,caption\n")
    monkeypatch.chdir(tmp_path)
    needed = [] if verb[0] == "train" else ["--data", "table.csv", "--config", "small"]
    result = CliRunner().invoke(root, [*verb, *needed, "--out", str(tmp_path / "model")])
    assert isinstance(result.exception, ModelError)
    assert "is the work of one process; with torchrun, use fit words" in str(result.exception)
    assert not (tmp_path / "model").exists()


def test_a_loss_that_cannot_be_divided_is_refused() -> None:
    class Whole:
        model = nn.Linear(1, 1)

        def loss(self, batch: Tensor) -> Tensor:
            return batch.sum()

    with pytest.raises(ModelError, match="run it without torchrun"):
        Team(0, 2).share(Whole(), torch.device("cpu"))
