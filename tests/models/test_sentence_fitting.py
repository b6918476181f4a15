"""A captioner from a corpus, whatever the corpus lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tests.models.small_world import SAMPLING, make_lexicon, make_model, write_corpus

from densevidcap.config import ModelConfig, RegionsConfig, StreamsConfig
from densevidcap.data.manifest import ClipRecord, read_manifest, write_manifest
from densevidcap.data.text import tokenise
from densevidcap.errors import CorpusError, ModelError
from densevidcap.metrics.cider import Cider
from densevidcap.model_folder import CATEGORY, WEIGHTS, read_card, read_model_config
from densevidcap.models.captioner import CaptionModel
from densevidcap.models.category import CategoryClassifier
from densevidcap.pipeline.generator import CaptionGenerator
from densevidcap.progress import Progress, Silent
from densevidcap.regions import generate_sequences, learn_terms
from densevidcap.train.feature_cache import cache_features
from densevidcap.train.sentences import SentenceStage
from densevidcap.train.view_cache import CaptionedClips

CONFIG = ModelConfig().override(
    {
        "frames.most": 3,
        "regions.k": 4,
        "streams.dropout": {"clip": 0.3, "category": 0.3},
        "streams.lexicon_size": 20,
        "captioner.hidden": 16,
        "captioner.embedding": 8,
        "training.sentences.min_count": 1,
        "training.sentences.batch": 32,
        "training.sentences.epochs": 1,
    }
)


def beam_of(width: int) -> ModelConfig:
    return CONFIG.override({"decoding.beam": width, "decoding.samples": 0})


@dataclass(frozen=True)
class Corpus:
    folder: Path
    records: Sequence[ClipRecord]

    def fit(
        self,
        out: Path,
        records: Sequence[ClipRecord],
        config: ModelConfig = CONFIG,
        progress: Progress | None = None,
    ) -> SentenceStage:
        """Trained to the end; all runs share one cache."""
        manifest = out.with_suffix(".jsonl")
        write_manifest(manifest, records)
        words, cache = self.folder / "words", self.folder / "cache"
        stage = SentenceStage(out, config, manifest, words, cache)
        stage.run(progress or Silent())
        assert not stage.left_out
        return stage


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("world")
    records = list(read_manifest(write_corpus(folder, clips=20)))
    make_model(make_lexicon(records)).save(folder / "words", {})
    return Corpus(folder, records)


def test_the_same_run_gives_the_same_weights(corpus: Corpus, tmp_path: Path) -> None:
    for name in ("one", "two"):
        corpus.fit(tmp_path / name, corpus.records)
    for part in (WEIGHTS, f"{CATEGORY}/{WEIGHTS}"):
        assert (tmp_path / "one" / part).read_bytes() == (tmp_path / "two" / part).read_bytes()


def test_learned_weights_make_the_views_and_are_told(corpus: Corpus, tmp_path: Path) -> None:
    """As the paper's config has it; a second run finds them in the cache."""
    learning = RegionsConfig(
        k=2, threshold=0.0001, terms=dict.fromkeys(RegionsConfig().terms, 1.0), weights="learned"
    )
    config = replace(CONFIG, regions=learning).override(
        {"association.method": "winner", "association.unsupported": "leave_out"}
    )
    cards = []
    for _ in range(2):
        fit = corpus.fit(tmp_path / "model", corpus.records, config)
        cards.append(read_card(fit.out))
    card, regions = cards[0], fit.config.regions
    assert cards[1] == card
    cache, encoder = corpus.folder / "cache", fit.words.encoder
    features, _ = cache_features(fit.clips, encoder, cache, SAMPLING)
    _, told = learn_terms(CaptionedClips(fit.trained, fit.words, features), learning)
    assert card["regions"]["weight_steps"] == [asdict(step) for step in told]
    assert card["config"]["regions"]["terms"] == told[-1].terms == regions.terms
    assert regions == replace(learning, terms=told[-1].terms, weights="fixed")
    assert read_model_config(fit.out).regions == regions
    captions = card["regions"]["captions"]
    assert captions["captions"] == sum(len(record.captions) for record in fit.trained)
    assert captions["unsupported"] == captions["left_out"] == 0
    for record in fit.clips[:3]:
        seen = fit.words.describe(features.features(record.id), features.times(record.id))
        expected = [sequence.regions for sequence in generate_sequences(seen, regions)]
        assert [tuple(path) for path in fit.views.view(record.id).paths] == expected


def test_the_card_tells_what_became_of_captions(corpus: Corpus, tmp_path: Path) -> None:
    fit = corpus.fit(tmp_path / "model", corpus.records)
    card = read_card(fit.out)
    assert card["config"]["regions"]["terms"] == RegionsConfig().terms
    captions = card["regions"]["captions"]
    assert captions["captions"] == sum(len(record.captions) for record in fit.trained)
    assert captions["left_out"] == 0


class _KilledError(BaseException):
    """As sudden as the real thing: nothing in the package catches it."""


class _Killer(Silent):
    def epoch(self, epoch: int, metrics: dict[str, float]) -> None:  # noqa: ARG002
        if epoch == 2:
            raise _KilledError


def test_a_run_that_was_stopped_ends_in_the_same_weights(corpus: Corpus, tmp_path: Path) -> None:
    config = CONFIG.override({"training.sentences.epochs": 3, "training.sentences.average": 0.9})
    whole = corpus.fit(tmp_path / "whole", corpus.records, config)
    with pytest.raises(_KilledError):
        corpus.fit(tmp_path / "stopped", corpus.records, config, _Killer())
    assert not (tmp_path / "stopped" / WEIGHTS).exists()
    corpus.fit(tmp_path / "stopped", corpus.records, config)
    stopped, undisturbed = tmp_path / "stopped" / WEIGHTS, whole.out / WEIGHTS
    assert stopped.read_bytes() == undisturbed.read_bytes()


def without_categories(records: Sequence[ClipRecord]) -> list[ClipRecord]:
    return [replace(record, category=None) for record in records]


def with_some_categories(records: Sequence[ClipRecord]) -> list[ClipRecord]:
    return [replace(r, category=None) if n % 2 else r for n, r in enumerate(records)]


def with_one_caption(records: Sequence[ClipRecord]) -> list[ClipRecord]:
    return [replace(record, captions=record.captions[:1]) for record in records]


def without_held_out_clips(records: Sequence[ClipRecord]) -> list[ClipRecord]:
    return [record for record in records if record.split == "train"]


def with_one_clip(records: Sequence[ClipRecord]) -> list[ClipRecord]:
    return [records[0]]


@pytest.mark.parametrize(
    "change",
    [
        without_categories,
        with_some_categories,
        with_one_caption,
        without_held_out_clips,
        with_one_clip,
    ],
)
def test_a_poorer_corpus_makes_a_model_too(
    corpus: Corpus, tmp_path: Path, change: Callable[[Sequence[ClipRecord]], list[ClipRecord]]
) -> None:
    fit = corpus.fit(tmp_path / "model", change(corpus.records))
    describer = CaptionGenerator.load(tmp_path / "model")
    assert (describer.classifier is None) == (change is without_categories)
    found = describer.propose(fit.views.view(fit.clips[0].id), beam_of(2))
    assert {candidate.sequence for candidate in found} == set(range(CONFIG.regions.k))


def test_a_single_frame_is_enough(corpus: Corpus, tmp_path: Path) -> None:
    config = CONFIG.override({"frames.most": 1})
    fit = corpus.fit(tmp_path / "model", corpus.records, config)
    assert fit.views.view(fit.clips[0].id).paths.shape == (CONFIG.regions.k, 1)
    assert CaptionGenerator.load(tmp_path / "model").propose(
        fit.views.view(fit.clips[0].id), beam_of(1)
    )


def test_a_model_knows_its_streams_and_categories(corpus: Corpus, tmp_path: Path) -> None:
    fit = corpus.fit(tmp_path / "model", corpus.records)
    widths, features = CaptionModel.load(tmp_path / "model").widths, fit.words.encoder.channels
    places = {record.category for record in corpus.records if record.split == "train"}
    # These eyes have no vector of whole frames.
    assert widths.frame_level == {"regions": features, "frames": features}
    assert widths.clip_level == {
        "words": CONFIG.streams.lexicon_size,
        "special_words": CONFIG.streams.lexicon_size,
        "clip": features,
        "clip_words": CONFIG.streams.lexicon_size,
        "category": len(places),
    }
    assert read_model_config(tmp_path / "model").streams.dropout == CONFIG.streams.dropout
    assert set(CategoryClassifier.load(tmp_path / "model" / CATEGORY).categories) == places


def test_a_corpus_that_teaches_nothing_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    untold = [record for record in corpus.records if record.split != "train"]
    with pytest.raises(CorpusError, match=r"untold\.jsonl: no clip of split 'train' has captions"):
        corpus.fit(tmp_path / "untold", untold)
    deaf = replace(CONFIG, streams=StreamsConfig(clip_level=("sound",)))
    with pytest.raises(ModelError, match="no stream 'sound': there are regions"):
        corpus.fit(tmp_path / "deaf", corpus.records, deaf)
    assert not (tmp_path / "deaf").exists()
    rare = CONFIG.override({"training.sentences.min_count": 1000})
    with pytest.raises(CorpusError, match=r"no word occurs 1000 times.*lower min_count"):
        corpus.fit(tmp_path / "rare", corpus.records, rare)


def test_it_learns_its_clips_by_heart(corpus: Corpus, tmp_path: Path) -> None:
    """To a CIDEr above 3, which no sentence of another clip comes near."""
    records = [replace(r, captions=r.captions[:2], split="train") for r in corpus.records]
    config = CONFIG.override(
        {
            "streams.dropout": {},
            "captioner.hidden": 96,
            "captioner.embedding": 48,
            "captioner.dropout": 0.0,
            "training.sentences.batch": 8,
            "training.sentences.label_smoothing": 0.0,
            "training.sentences.epochs": 40,
            "training.sentences.learning_rate": 5e-3,
        }
    )
    fit = corpus.fit(tmp_path / "model", records, config)
    describer = CaptionGenerator.load(tmp_path / "model")
    said = {}
    for record in records:
        found = describer.propose(fit.views.view(record.id), beam_of(3))
        said[record.id] = describer.say(max(found, key=lambda one: one.score).ids)
    cider = Cider({r.id: [" ".join(tokenise(text)) for text in r.captions] for r in records})
    others = [*said.values()][1:] + [*said.values()][:1]
    assert np.mean([cider.score(clip, sentence) for clip, sentence in said.items()]) > 3
    strange = [cider.score(clip, other) for clip, other in zip(said, others, strict=True)]
    assert np.mean(strange) < 1
