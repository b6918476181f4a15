"""From a corpus and a Lexical-FCN to a folder with an evaluator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from densevidcap.artefacts import WEIGHTS, hash_file
from densevidcap.config import read_config
from densevidcap.curves import draw_curves
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.data.text import Vocabulary
from densevidcap.errors import CorpusError
from densevidcap.evaluation.sentence_files import read_predictions
from densevidcap.fits import (
    HELD_OUT,
    RUN,
    AboutOptions,
    claim_folder,
    describe_run,
    find_latecomers,
)
from densevidcap.language.library import LibraryOptions, open_library
from densevidcap.lexical.fcn import LexicalFCN
from densevidcap.lexical.features import cache_features
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
        return cls(
            **read_config(
                path,
                sampling=Sampling,
                library=LibraryOptions,
                evaluator=EvaluatorOptions,
                lessons=LessonOptions,
                training=TrainingOptions,
                about=AboutOptions,
            )
        )


class EvaluatorFit:
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
        self.recipe, self.out = recipe, out
        self.words = LexicalFCN.load(words)
        self.data = {"manifest": hash_file(manifest), "words": hash_file(words / WEIGHTS)}
        self.weaker = {} if weaker is None else _read_sentences(weaker)
        if weaker is not None:
            self.data["weaker"] = hash_file(weaker)
        records = [record for record in read_manifest(manifest) if record.captions]
        self.clips = [record for record in records if record.split in ("train", *HELD_OUT)]
        if not any(record.split == "train" for record in self.clips):
            raise CorpusError(f"{manifest}: no clip of split 'train' has captions; add some")
        claim_folder(out, self.data, asdict(recipe))

    def read_clips(
        self, cache: Path, read: Callable[[], None], viewed: Callable[[], None]
    ) -> dict[str, str]:
        """Compute what is not in the cache yet; returns the clips to leave out, with why."""
        features, failures = cache_features(
            self.clips, self.words.encoder, cache, self.recipe.sampling, advance=read
        )
        readable = [record.id for record in self.clips if record.id in features]
        if not readable:
            raise CorpusError(f"no clip can be read; the first: {next(iter(failures.values()))}")
        left_out = failures | find_latecomers(self.out, readable)
        self.clips = [record for record in self.clips if record.id not in left_out]
        self.library = open_library(
            cache, self.words, features, self.clips, self.recipe.library, viewed
        )
        return left_out

    def train(self, progress: Progress, half: bool = False) -> list[dict[str, Any]]:
        """Train to the end, write the model folder (at 16 bits if `half`), return the history."""
        recipe = self.recipe
        trained = [self._teach(record) for record in self.clips if record.split == "train"]
        measured = [self._teach(record) for record in self.clips if record.split in HELD_OUT]
        torch.manual_seed(recipe.training.seed)
        network = EvaluatorNetwork(
            self._list_words(trained),
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

    def _list_words(self, trained: Sequence[Lesson]) -> Vocabulary:
        captions = (caption for lesson in trained for caption in lesson.captions)
        least = self.recipe.lessons.min_count
        vocabulary = Vocabulary.build(captions, least)
        if len(vocabulary) == len(Vocabulary.SIGNS):
            raise CorpusError(f"no word occurs {least} times in the captions: lower min_count")
        return vocabulary


def _read_sentences(path: Path) -> Mapping[str, Sequence[str]]:
    file = read_predictions(path)
    if file.faults:
        raise CorpusError(file.faults[0])
    return file.sentences
