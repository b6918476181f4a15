"""From a corpus and a Lexical-FCN to a folder with an evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from densevidcap.artefacts import hash_file
from densevidcap.config import read_recipe
from densevidcap.curves import draw_curves
from densevidcap.data.manifest import ClipRecord
from densevidcap.data.sampling import Sampling
from densevidcap.errors import CorpusError
from densevidcap.evaluation.sentence_files import read_predictions
from densevidcap.fits import (
    HELD_OUT,
    RUN,
    AboutOptions,
    alone,
    claim_folder,
    describe_run,
)
from densevidcap.language.corpus import ViewedCorpus
from densevidcap.language.library import LibraryOptions
from densevidcap.rerank.evaluator import Evaluator
from densevidcap.rerank.evidence import gather
from densevidcap.rerank.exam import Exam
from densevidcap.rerank.learning import EvaluatorTask, LessonOptions
from densevidcap.rerank.lessons import Lesson
from densevidcap.rerank.network import EvaluatorNetwork, EvaluatorOptions
from densevidcap.training import Progress, Run, TrainingOptions


@dataclass(frozen=True)
class EvaluatorRecipe:
    """All that decides what a training run gives, beside its data and the words it builds on."""

    sampling: Sampling
    library: LibraryOptions
    evaluator: EvaluatorOptions
    lessons: LessonOptions
    training: TrainingOptions
    about: AboutOptions

    @classmethod
    def read(cls, path: Path) -> EvaluatorRecipe:
        """From a TOML file with a section for each field."""
        return read_recipe(path, cls)


class EvaluatorFit(ViewedCorpus):
    """A training run of an evaluator. The same call goes on with a run that was stopped."""

    def __init__(
        self,
        manifest: Path,
        words: Path,
        recipe: EvaluatorRecipe,
        out: Path,
        weaker: Path | None = None,
    ) -> None:
        """`weaker` holds a captioner's sentences of clips: `{clip: [sentence, …]}`."""
        super().__init__(manifest, words, recipe.sampling, recipe.library, out)
        self.recipe = recipe
        self.weaker = {} if weaker is None else _read_sentences(weaker)
        if weaker is not None:
            self.data["weaker"] = hash_file(weaker)
        claim_folder(out, self.data, asdict(recipe))

    @alone
    def train(self, progress: Progress, half: bool = False) -> list[dict[str, Any]]:
        """Train to the end, write the model folder (at 16 bits if `half`), return the history."""
        recipe = self.recipe
        trained = [self._teach(record) for record in self.clips if record.split == "train"]
        measured = [self._teach(record) for record in self.clips if record.split in HELD_OUT]
        torch.manual_seed(recipe.training.seed)
        network = EvaluatorNetwork(
            self.list_words(recipe.lessons.min_count),
            self.words.encoder.channels,
            min(recipe.library.words, len(self.words.lexicon)),
            recipe.evaluator,
        )
        task = EvaluatorTask(network, trained, measured, recipe.lessons, recipe.training.seed)
        history = Run(task, recipe.training, self.out / RUN).train(progress)
        # With no clips held out, the network knows those it is calibrated on: the card says so.
        calibration, error = (task.exam or Exam(trained)).calibrate(network)
        card = describe_run(
            recipe.about,
            self.data,
            asdict(recipe),
            history,
            trained=len(trained),
            measured=len(measured),
        )
        card["calibrated_on"] = "held-out clips" if task.exam else "training clips"
        card["calibration_error"] = error
        Evaluator(network, calibration).save(self.out, card, half)
        draw_curves(history, self.out / RUN / "curves.png")
        return history

    def _teach(self, record: ClipRecord) -> Lesson:
        return Lesson(
            record.id,
            gather(self.library.view(record.id)),
            record.captions,
            self.library.pair(record.id, self.recipe.library),
            record.category,
            self.weaker.get(record.id, ()),
        )


def _read_sentences(path: Path) -> Mapping[str, Sequence[str]]:
    file = read_predictions(path)
    if file.faults:
        raise CorpusError(file.faults[0])
    return file.sentences
