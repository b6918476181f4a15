"""Every stage of a model, one after the other, in one folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from densevidcap import __version__
from densevidcap.artefacts import CARD, WEIGHTS, hash_file, write_json
from densevidcap.data.lexicon import build_lexicon
from densevidcap.data.manifest import write_manifest
from densevidcap.data.tagging import tag_sentences
from densevidcap.errors import CorpusError, MissingExtraError, ModelError
from densevidcap.fits import RUN, alone, claim_folder, read_json_or_none
from densevidcap.language.corpus import ViewedCorpus
from densevidcap.language.fitting import SentencesFit
from densevidcap.lexical.fitting import WordsFit, WordsRecipe
from densevidcap.pipeline.captioner import RANKING, DenseCaptioner
from densevidcap.pipeline.ranking import Ranking
from densevidcap.rerank.fitting import EvaluatorFit
from densevidcap.trainer.corpus import OwnCorpus
from densevidcap.trainer.costs import Meter
from densevidcap.trainer.figures import describe_clips, measure_difference, score_first
from densevidcap.trainer.recipe import ModelRecipe
from densevidcap.trainer.watching import Watcher

COSTS = "costs.json"
MANIFEST = "manifest.jsonl"
LEFT_OUT = "left-out.json"
SAID = "held-out.json"
"""What the model says of the held-out clips, as `densevidcap evaluate` reads it."""


@dataclass(frozen=True)
class Stage:
    name: str
    result: Path
    """The file that it writes last."""
    run: Callable[[Watcher], str]
    """Does the work, and says in a few words what came of it."""


class ModelTraining:
    """A training of all stages. The same call goes on with one that was stopped.

    `out` gets `words`, `sentences` and `evaluator`, which make the model, its card, and in
    `training` what is needed no more when it is done.
    """

    def __init__(
        self, corpus: OwnCorpus, recipe: ModelRecipe, out: Path, initial: Path | None = None
    ) -> None:
        """`initial` is the folder of a model to start from, as far as it has the stages."""
        self.corpus, self.recipe, self.out = corpus, recipe, out
        self._run = out / RUN
        self._manifest, self._lexicon = self._run / MANIFEST, self._run / "lexicon.json"
        self.initial = {} if initial is None else _find_stages(initial)
        hashes = {f"initial {name}": hash_file(f / WEIGHTS) for name, f in self.initial.items()}
        data = {"corpus": corpus.fingerprint(), **hashes}
        claim_folder(out, data, asdict(recipe), ("words", "sentences", "evaluator"))
        self._fail_fast = False
        self.left_out: dict[str, str] = read_json_or_none(self._run / LEFT_OUT) or {}
        self.costs: dict[str, dict[str, float]] = read_json_or_none(self._run / COSTS) or {}

    def list_stages(self) -> list[Stage]:
        """In their order; each needs the results of those before it."""
        return [
            Stage("lexicon", self._lexicon, self._build_lexicon),
            *self._list_rounds(),
            Stage("sentences", self.out / "sentences" / CARD, self._fit_sentences),
            Stage("evaluator", self.out / "evaluator" / CARD, self._fit_evaluator),
            Stage("figures", self.out / CARD, self._measure),
        ]

    def _list_rounds(self) -> Iterator[Stage]:
        """Of the words, each of which starts from the one before."""
        start = self.initial.get("words")
        for number, recipe in enumerate(self.recipe.words, start=1):
            is_last = number == len(self.recipe.words)
            folder = self.out / "words" if is_last else self._run / f"words-{number}"

            def fit(
                watcher: Watcher,
                recipe: WordsRecipe = recipe,
                folder: Path = folder,
                start: Path | None = start,
            ) -> str:
                return self._fit_words(watcher, recipe, folder, start)

            yield Stage("words" if is_last else f"words, round {number}", folder / CARD, fit)
            start = folder

    @alone
    def train(self, watcher: Watcher, fail_fast: bool = False) -> dict[str, Any]:
        """Run the stages that are not done; returns the model's card.

        A clip that cannot be read is left out, or with `fail_fast` ends the training.
        """
        self._fail_fast = fail_fast
        write_manifest(self._manifest, self.corpus.records)
        self._name(self.left_out, watcher)
        stages = self.list_stages()
        for number, stage in enumerate(stages, start=1):
            watcher.begin(stage.name, number, len(stages))
            if stage.result.is_file():
                watcher.end("done before")
                continue
            meter = Meter()
            result = stage.run(watcher)
            self.costs[stage.name] = asdict(meter.read())
            write_json(self._run / COSTS, self.costs)
            watcher.end(result)
        card: dict[str, Any] = read_json_or_none(self.out / CARD)
        return card

    def _build_lexicon(self, watcher: Watcher) -> str:
        def tag(sentences: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
            advance = watcher.count("tagging captions", len(sentences))
            for tags in tag_sentences(sentences):
                yield tags
                advance()

        captions = {record.id: record.captions for record in self.corpus.trained}
        lexicon = build_lexicon(captions, tag, **asdict(self.recipe.lexicon))
        if not len(lexicon):
            raise CorpusError(
                f"{self._manifest}: no word is frequent enough for the lexicon; "
                "add captions, or lower min_count in the recipe's lexicon.toml"
            )
        lexicon.save(self._lexicon)
        return f"{len(lexicon):,} words"

    def _fit_words(
        self, watcher: Watcher, recipe: WordsRecipe, folder: Path, start: Path | None
    ) -> str:
        fit = WordsFit(self._manifest, self._lexicon, recipe, folder, start)
        advance = watcher.count("reading clips", len(fit.clips))
        self._leave_out(fit.read_clips(self._cache, advance, self._fail_fast), watcher)
        return _describe(fit.train(watcher))

    def _fit_sentences(self, watcher: Watcher) -> str:
        start = self.initial.get("sentences")
        if self.initial and start is None:
            watcher.say("no captioner to start from: sentences are learned from nothing")
        words, out = self.out / "words", self.out / "sentences"
        fit = SentencesFit(self._manifest, words, self.recipe.sentences, out, start)
        self._read_views(fit, watcher)
        return _describe(fit.train(watcher))

    def _fit_evaluator(self, watcher: Watcher) -> str:
        words, out = self.out / "words", self.out / "evaluator"
        fit = EvaluatorFit(self._manifest, words, self.recipe.evaluator, out)
        self._read_views(fit, watcher)
        return _describe(fit.train(watcher))

    def _measure(self, watcher: Watcher) -> str:
        """Learn from held-out clips how to rank, and write the card with figures on them."""
        model, records = DenseCaptioner.load(self.out), self.corpus.held_out
        described = describe_clips(
            model, records, watcher.count("describing held-out clips", len(records))
        )
        figures: dict[str, float] = {}
        if described:
            ranking = Ranking.learn([each.judged for each in described.values()])
            ranking.save(self.out / RANKING)
            said = {clip: each.rank(ranking) for clip, each in described.items()}
            write_json(self._run / SAID, said)
            try:
                figures |= score_first(said, records)
            except MissingExtraError as error:
                watcher.say(str(error))
            figures |= measure_difference(said, model.describer.meaning)
        card = {
            "made_with": {"densevidcap": __version__},
            "clips": len(self.corpus.trained),
            "held_out_clips": len(described),
            "left_out": self.left_out,
            "figures": figures,
        }
        write_json(self.out / CARD, card)
        return f"of {len(described)} held-out clips"

    @property
    def _cache(self) -> Path:
        """Of what is computed of clips; stages share it."""
        return self._run / "cache"

    def _read_views(self, fit: ViewedCorpus, watcher: Watcher) -> None:
        read = watcher.count("reading clips", len(fit.clips))
        viewed = watcher.count("finding region-sequences", len(fit.clips))
        self._leave_out(fit.read_clips(self._cache, read, viewed, self._fail_fast), watcher)

    def _leave_out(self, failures: Mapping[str, str], watcher: Watcher) -> None:
        """Name each clip once, however many stages fail to read it."""
        new = {clip: reason for clip, reason in failures.items() if clip not in self.left_out}
        self._name(new, watcher)
        self.left_out |= new
        write_json(self._run / LEFT_OUT, self.left_out)

    def _name(self, left_out: Mapping[str, str], watcher: Watcher) -> None:
        for clip, reason in left_out.items():
            watcher.say(f"left out {clip}: {reason}")


def _find_stages(model: Path) -> dict[str, Path]:
    """Those that training can start from."""
    stages = {name: model / name for name in ("words", "sentences")}
    found = {name: folder for name, folder in stages.items() if (folder / CARD).is_file()}
    if not found:
        raise ModelError(f"{model}: neither words nor sentences to start from; name a model folder")
    return found


def _describe(history: Sequence[Mapping[str, Any]]) -> str:
    """The last figures of a run."""
    return ", ".join(f"{name} {value:.4g}" for name, value in history[-1].items())
