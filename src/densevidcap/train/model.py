"""Every stage of a model, one after the other, in one folder."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from densevidcap import __version__
from densevidcap.config import ModelConfig
from densevidcap.data.feature_files import is_features
from densevidcap.data.lexicon import build_lexicon, tag_sentences
from densevidcap.data.lsa import LatentSpace
from densevidcap.data.manifest import ClipRecord, write_manifest
from densevidcap.data.table import read_table
from densevidcap.errors import CorpusError, MissingExtraError, ModelError
from densevidcap.metrics.captions import CaptionScorer
from densevidcap.metrics.dense import PAPER_METRICS
from densevidcap.metrics.diversity import diversity
from densevidcap.model_folder import (
    CARD,
    WEIGHTS,
    hash_file,
    read_model_config,
    write_json,
    write_model_card,
)
from densevidcap.models.streams import check_extracted, check_streams
from densevidcap.pipeline.captioner import RANKING, DenseCaptioner
from densevidcap.progress import Progress
from densevidcap.train.calibration import (
    HeldOutClips,
    calibrate_words,
    describe_clips,
    learn_trust,
)
from densevidcap.train.evaluator_regression import choose_stage
from densevidcap.train.sentences import SentenceStage
from densevidcap.train.stage import (
    HELD_OUT,
    RUN,
    Stage,
    claim_folder,
    hold_run,
    read_json_or_none,
)
from densevidcap.train.words import list_rounds

SMALL = 500
"""Clips below which a corpus is small."""
SHARE = 0.1
"""Of the clips, to hold out where the table holds out none."""
LEAST = 3
"""Clips: two to learn from, since the evaluator tells clips apart, and one to measure on."""


def choose_config(records: Sequence[ClipRecord]) -> str:
    """The config of the package that suits a corpus of these clips to learn from."""
    if records and all(is_features(record.source) for record in records):
        return "features"
    return "small" if len(records) < SMALL else "large"


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


Said = Mapping[str, Sequence[str]]
"""The sentences of each clip, the best first."""


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


@dataclass(frozen=True)
class LexiconStage:
    """Which words are looked for in regions."""

    corpus: OwnCorpus
    config: ModelConfig
    inputs: Mapping[str, Path]
    result: Path
    name: str = "lexicon"

    def run(self, progress: Progress) -> str:
        def tag(sentences: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
            advance = progress.count("tagging captions", len(sentences))
            for tags in tag_sentences(sentences):
                yield tags
                advance()

        captions = {record.id: record.captions for record in self.corpus.trained}
        lexicon = build_lexicon(captions, tag, **asdict(self.config.lexicon))
        if not len(lexicon):
            raise CorpusError(
                f"{self.inputs['manifest']}: no word is frequent enough for the lexicon; "
                "add captions, or lower min_count in the config's [lexicon]"
            )
        lexicon.save(self.result)
        return f"{len(lexicon):,} words"


CACHE = "cache"
"""What the stages saw in clips, in `training`."""
SAID = "held-out.json"
"""What the model says of the held-out clips, as `densevidcap evaluate` reads it."""


@dataclass(frozen=True)
class MetricsStage:
    """Learns from held-out clips how to rank, and writes the card with metrics of them."""

    corpus: OwnCorpus
    out: Path
    inputs: Mapping[str, Path]
    left_out: dict[str, str]
    """Clips that cannot be read, with why; those that it finds are told and added."""
    config: ModelConfig | None = None
    """What the whole model is to do, if not what its captioner was trained to."""
    needs_clips: bool = False
    """Refuse to go on where no held-out clip can be read; else the model goes without."""
    name: str = "figures"

    @property
    def result(self) -> Path:
        return self.out / CARD

    def run(self, progress: Progress) -> str:
        records = self.corpus.held_out
        model = DenseCaptioner.load(self.out, config=self.config)
        clips = HeldOutClips(model, records, self.out / RUN / CACHE, progress)
        for clip, reason in clips.failures.items():
            if clip not in self.left_out:
                progress.say(f"left out {clip}: {reason}")
        self.left_out.update(clips.failures)
        if self.needs_clips and not clips.records:
            raise CorpusError(
                f"{self.out}: stays as it is, since no held-out clip can be read; give a manifest"
                " with clips of split 'validate' that can be"
            )
        model.trust = calibrate_words(model, clips)
        described = describe_clips(
            model, clips, progress.count("describing held-out clips", len(clips.records))
        )
        metrics: dict[str, float] = {}
        if described:
            trust, sentences = learn_trust(model.trust, described.values(), model.config.selection)
            trust.save(self.out / RANKING)
            said = dict(zip(described, sentences, strict=True))
            write_json(self.out / RUN / SAID, said)
            try:
                metrics |= score_first(said, records)
            except MissingExtraError as error:
                progress.say(str(error))
            metrics |= measure_difference(said, model.generator.meaning)
        write_model_card(
            self.out,
            # The captioner's, since training it may have learned the weights of regions.
            self.config or read_model_config(self.out / "sentences"),
            made_with={"densevidcap": __version__},
            clips=len(self.corpus.trained),
            held_out_clips=len(described),
            left_out=dict(self.left_out),
            figures=metrics,
        )
        return f"of {len(described)} held-out clips"


MANIFEST = "manifest.jsonl"
WORDS_MANIFEST = "words-manifest.jsonl"
"""Of the clips and of the pictures that only words are learned from."""
COSTS = "costs.json"
LEFT_OUT = "left-out.json"


class ModelTraining:
    """A training of all stages. The same call goes on with one that was stopped.

    `out` gets `words`, `sentences` and `evaluator`, which make the model, its card, and in
    `training` what is needed no more when it is done.
    """

    def __init__(
        self,
        corpus: OwnCorpus,
        config: ModelConfig,
        out: Path,
        initial: Path | None = None,
        fail_fast: bool = False,
        pictures: Sequence[ClipRecord] = (),
    ) -> None:
        """`initial` is the folder of a model to start from, as far as it has the stages.

        A clip that cannot be read is left out, or with `fail_fast` ends the training. Words are
        also learned from `pictures`, or clips, that sentences are not learned from.
        """
        check_streams(config.streams)
        check_extracted(config.streams.names)
        self.corpus, self.config, self.out, self._fail_fast = corpus, config, out, fail_fast
        self._pictures = _choose_pictures(pictures, corpus)
        self._run = out / RUN
        self._manifest, self._lexicon = self._run / MANIFEST, self._run / "lexicon.json"
        self._words_manifest = self._run / WORDS_MANIFEST if pictures else self._manifest
        self.initial = {} if initial is None else _find_stages(initial)
        hashes = {f"initial {name}": hash_file(f / WEIGHTS) for name, f in self.initial.items()}
        data = {"corpus": corpus.fingerprint(), **hashes}
        if pictures:
            data["pictures"] = OwnCorpus(tuple(self._pictures), False).fingerprint()
        claim_folder(out, data, config.to_dict(), ("words", "sentences", "evaluator"))
        self.left_out: dict[str, str] = read_json_or_none(self._run / LEFT_OUT) or {}
        self.costs: dict[str, dict[str, float]] = read_json_or_none(self._run / COSTS) or {}

    def list_stages(self) -> list[Stage]:
        """In their order; each needs the results of those before it."""
        config, manifest, cache = self.config, self._manifest, self._run / CACHE
        reading: dict[str, Any] = {"left_out": self.left_out, "fail_fast": self._fail_fast}
        words, sentences, evaluator = (
            self.out / name for name in ("words", "sentences", "evaluator")
        )
        return [
            LexiconStage(self.corpus, config, {"manifest": manifest}, self._lexicon),
            *list_rounds(
                words,
                config,
                self._words_manifest,
                self._lexicon,
                cache,
                initial=self.initial.get("words"),
                **reading,
            ),
            SentenceStage(
                sentences,
                config,
                manifest,
                words,
                cache,
                initial=self.initial.get("sentences"),
                **reading,
            ),
            choose_stage(evaluator, config, manifest, words, cache, **reading),
            MetricsStage(
                self.corpus,
                self.out,
                {folder.name: folder / WEIGHTS for folder in (words, sentences, evaluator)},
                self.left_out,
            ),
        ]

    def train(self, progress: Progress) -> dict[str, Any]:
        """Run the stages that are not done; returns the model's card."""
        with hold_run(self.out):
            return self._train(progress)

    def _train(self, progress: Progress) -> dict[str, Any]:
        write_manifest(self._manifest, self.corpus.records)
        if self._pictures:
            write_manifest(self._words_manifest, [*self.corpus.records, *self._pictures])
        for clip, reason in self.left_out.items():
            progress.say(f"left out {clip}: {reason}")
        if self.initial and "sentences" not in self.initial:
            progress.say("no captioner to start from: sentences are learned from nothing")
        stages = self.list_stages()
        for number, stage in enumerate(stages, start=1):
            progress.stage(stage.name, number, len(stages))
            if stage.result.is_file():
                progress.end("done before")
                continue
            started = time.monotonic()
            result = stage.run(progress)
            seconds = time.monotonic() - started
            self.costs[stage.name] = {"seconds": seconds, "peak_bytes": measure_peak()}
            write_json(self._run / COSTS, self.costs)
            write_json(self._run / LEFT_OUT, self.left_out)
            progress.end(result)
        card: dict[str, Any] = read_json_or_none(self.out / CARD)
        return card


def measure_peak() -> int:
    """Bytes that the process has held at most; 0 where the system does not tell (Windows)."""
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _choose_pictures(pictures: Sequence[ClipRecord], corpus: OwnCorpus) -> list[ClipRecord]:
    """Those with captions that are not held out, by ids that no clip has."""
    clips = {record.id for record in corpus.records}
    both = next((record.id for record in pictures if record.id in clips), None)
    if both is not None:
        raise CorpusError(f"'{both}' is a picture and a clip too; give it another id")
    return [record for record in pictures if record.captions and record.split == "train"]


def _find_stages(model: Path) -> dict[str, Path]:
    """Those that training can start from."""
    stages = {name: model / name for name in ("words", "sentences")}
    found = {name: folder for name, folder in stages.items() if (folder / CARD).is_file()}
    if not found:
        raise ModelError(f"{model}: neither words nor sentences to start from; name a model folder")
    return found
