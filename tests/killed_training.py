"""A small training run in a process of its own, so that a test can kill it.

It prints a line for every step and writes the weights at its end.
"""

from __future__ import annotations

import sys
from pathlib import Path

from safetensors.torch import save_file
from tests.models.small_world import read_corpus
from torch import Tensor

from densevidcap.config import WordTrainingConfig
from densevidcap.progress import Silent
from densevidcap.train.loop import TrainingLoop
from densevidcap.train.words import WordTask

RESULT = "result.safetensors"
EPOCHS, BATCH, CLIPS = 5, 2, 16
STEPS = EPOCHS * CLIPS // BATCH


class Lines(Silent):
    """Progress that a waiting process can read."""

    def step(self, done: int, total: int, loss: float) -> None:
        print(done, total, loss, flush=True)


def train(manifest: Path, folder: Path) -> dict[str, Tensor]:
    """Its checkpoints are written after nearly every step; the weights of its end are returned."""
    records, model, cache = read_corpus(manifest)
    # MIL draws words and the head drops units, so the random state has to come back too.
    options = WordTrainingConfig(
        paradigm="mil", batch=BATCH, epochs=EPOCHS, average=0.9, checkpoint_seconds=0.03
    )
    task = WordTask(model, cache, records[:CLIPS], records[CLIPS:], options)
    TrainingLoop(task, options, folder).train(Lines())
    return model.state_dict()


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    save_file(train(Path(sys.argv[1]), folder), folder / RESULT)
