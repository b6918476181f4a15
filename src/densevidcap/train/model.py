"""Every stage of a model, one after the other, in one folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from densevidcap import __version__
from densevidcap.data.clip import open_clip
from densevidcap.data.failures import naming
from densevidcap.data.lexicon import build_lexicon, tag_sentences
from densevidcap.data.lsa import LatentSpace
from densevidcap.data.manifest import ClipRecord, write_manifest
from densevidcap.data.table import read_table
from densevidcap.decoding.select import ChoiceOptions
from densevidcap.errors import ClipError, CorpusError, MissingExtraError, ModelError
from densevidcap.metrics.captions import CaptionScorer
from densevidcap.metrics.cider import Consensus
from densevidcap.metrics.dense import PAPER_METRICS
from densevidcap.metrics.diversity import diversity
from densevidcap.model_folder import CARD, WEIGHTS, hash_file, write_json
from densevidcap.pipeline.captioner import RANKING, AnalysisOptions, DenseCaptioner
from densevidcap.pipeline.captions import choose_from
from densevidcap.pipeline.confidence import Judged, Ranking, judge
from densevidcap.train.evaluator import EvaluatorFit
from densevidcap.train.recipe import ModelRecipe
from densevidcap.train.run import (
    HELD_OUT,
    RUN,
    Meter,
    Watcher,
    alone,
    claim_folder,
    read_json_or_none,
)
from densevidcap.train.sentences import SentencesFit
from densevidcap.train.view_cache import ViewedCorpus
from densevidcap.train.words import WordsFit, WordsRecipe

SHARE = 0.1
"""Of the clips, to hold out where the table holds out none."""
LEAST = 3
"""Clips: two to learn from, since the evaluator tells clips apart, and one to measure on."""


@dataclass(frozen=True)
class OwnCorpus:
    records: tuple[ClipRecord, ...]
    """Those with captions, for training or held out."""
    chosen: bool
    """Whether the held-out clips were chosen here and not in the table."""

    @property
    def trained(self) -> list[ClipRecord]:
        return [record for record in self.records if record.split == "train"]

    @property
    def held_out(self) -> list[ClipRecord]:
        return [record for record in self.records if record.split in HELD_OUT]

    def fingerprint(self) -> str:
        """Changes with any clip, caption, category or split."""
        rows = [
            asdict(record) | {"source": str(Path(str(record.source)).absolute())}
            for record in self.records
        ]
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def read_corpus(table: Path, videos: Path | None = None, skip_missing: bool = False) -> OwnCorpus:
    """From a manifest, or any other table that `read_table` knows."""
    records = [
        record
        for record in read_table(table, videos, skip_missing)
        if record.captions and record.split in ("train", *HELD_OUT)
    ]
    if len(records) < LEAST:
        raise CorpusError(
            f"{table}: {len(records)} clips with captions of split 'train' or 'validate', "
            f"and at least {LEAST} are needed; add some"
        )
    chosen = not any(record.split in HELD_OUT for record in records)
    corpus = OwnCorpus(tuple(hold_out(records) if chosen else records), chosen)
    if len(corpus.trained) < LEAST - 1:
        raise CorpusError(
            f"{table}: {len(corpus.trained)} clips of split 'train' have captions, "
            f"and at least {LEAST - 1} are needed; add some"
        )
    return corpus


def hold_out(records: list[ClipRecord], share: float = SHARE) -> list[ClipRecord]:
    """The same clips, a share of them, at least one, to measure on.

    Which ones follows from their ids alone, so that the order of a table does not matter.
    """
    by_hash = sorted(records, key=lambda record: hashlib.sha256(record.id.encode()).hexdigest())
    kept_apart = {record.id for record in by_hash[: max(1, round(share * len(records)))]}
    return [replace(r, split=HELD_OUT[0]) if r.id in kept_apart else r for r in records]


SENTENCES = 10
"""Of each clip, as in the paper's dense tables."""

Said = Mapping[str, Sequence[str]]
"""The sentences of each clip, the best first."""


class Described(NamedTuple):
    """The sentences that are said of a held-out clip, in order of choice, and their worth."""

    sentences: tuple[str, ...]
    judged: Judged

    def rank(self, ranking: Ranking) -> list[str]:
        order = np.argsort(-ranking.rate(self.judged.agreement, self.judged.fit), kind="stable")
        return [self.sentences[place] for place in order]


def describe_clips(
    model: DenseCaptioner, records: Sequence[ClipRecord], advance: Callable[[], None]
) -> dict[str, Described]:
    """Of each clip that can be read; the others were named when the stages read them."""
    consensus = Consensus({record.id: record.captions for record in records})
    described = {}
    for record in records:
        try:
            with naming(record.id):
                clip = open_clip(str(record.source))
                analysis = model.analyse(clip, AnalysisOptions(per_shot=False))
        except ClipError:
            continue
        finally:
            advance()
        (segment,) = analysis.segments
        chosen = [choice.place for choice in choose_from(segment, ChoiceOptions(SENTENCES))]
        sentences = tuple(segment.sentences[place] for place in chosen)
        quality, fit = segment.quality[chosen], segment.fit[chosen]
        judged = judge(sentences, quality, fit, record.id, record.captions, consensus)
        described[record.id] = Described(sentences, judged)
    return described


def measure_difference(said: Said, meaning: LatentSpace) -> dict[str, float]:
    """D_div (Eq. 15) of a clip's sentences, on average."""
    return {"D_div": float(np.mean([diversity(meaning.embed(texts)) for texts in said.values()]))}


def score_first(said: Said, records: Sequence[ClipRecord]) -> dict[str, float]:
    """The paper's metrics of each clip's first sentence, in percent. Needs the extra `eval`."""
    references = {record.id: record.captions for record in records if record.id in said}
    with CaptionScorer(references) as scorer:
        overall = scorer.score({clip: said[clip][0] for clip in references}).overall
    # CIDEr weighs words by how few clips have them: with a single clip it is always 0.
    metrics = [name for name in PAPER_METRICS if name != "CIDEr" or len(references) > 1]
    return {name: 100 * overall[name] for name in metrics}


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
