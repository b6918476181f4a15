"""A captioner from a corpus, whatever the corpus lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tests.models.small_corpus import LEXICON_SIZE, REGIONS
from tests.models.small_world import SAMPLING, make_lexicon, make_model, write_corpus

from densevidcap.config import AssociationConfig, RegionsConfig, StreamsConfig
from densevidcap.data.manifest import ClipRecord, read_manifest, write_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.data.text import tokenise
from densevidcap.decoding.generate import BeamOptions
from densevidcap.errors import CorpusError, ModelError
from densevidcap.metrics.cider import Cider
from densevidcap.model_folder import WEIGHTS, read_card
from densevidcap.models.captioner import CaptionModel, CaptionModelOptions
from densevidcap.models.category import CategoryClassifier
from densevidcap.pipeline.generator import CaptionGenerator
from densevidcap.regions import WeightStep, generate_sequences
from densevidcap.train.feature_cache import cache_features
from densevidcap.train.loop import Silence, TrainingOptions
from densevidcap.train.run import AboutOptions
from densevidcap.train.sentences import CATEGORY, SentenceOptions, SentencesFit, SentencesRecipe
from densevidcap.train.view_cache import ViewedCorpus, ViewOptions

RECIPE = SentencesRecipe(
    SAMPLING,
    StreamsConfig(dropout={"clip": 0.3, "category": 0.3}),
    CaptionModelOptions(hidden=16, embedding=8),
    ViewOptions(words=LEXICON_SIZE, k=REGIONS.k),
    SentenceOptions(min_count=1, batch=32),
    TrainingOptions(epochs=1),
    AboutOptions(),
)


@dataclass(frozen=True)
class Corpus:
    folder: Path
    records: Sequence[ClipRecord]

    def fit(
        self, out: Path, records: Sequence[ClipRecord], recipe: SentencesRecipe = RECIPE
    ) -> SentencesFit:
        """Trained to the end; all runs share one cache."""
        manifest = out.with_suffix(".jsonl")
        write_manifest(manifest, records)
        fit = SentencesFit(manifest, self.folder / "words", recipe, out)
        assert not fit.read_clips(self.folder / "cache", lambda: None, lambda: None)
        fit.train(Silence())
        return fit


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
    manifest = tmp_path / "corpus.jsonl"
    write_manifest(manifest, corpus.records)
    fixed = RegionsConfig(k=2, threshold=0.0001)
    learning = replace(fixed, terms=dict.fromkeys(fixed.terms, 1.0), weights="learned")
    association = AssociationConfig("winner", unsupported="leave_out")
    told: list[WeightStep] = []
    cards = []
    for _ in range(2):
        viewed = ViewedCorpus(
            manifest,
            corpus.folder / "words",
            SAMPLING,
            learning,
            association,
            LEXICON_SIZE,
            tmp_path / "out",
        )
        cache = corpus.folder / "cache"
        assert not viewed.read_clips(cache, lambda: None, lambda: None, learned=told.append)
        cards.append(viewed.describe_regions())
    card = cards[0]
    assert cards[1] == card
    assert card["weight_steps"] == [asdict(step) for step in told]
    assert card["terms"] == told[-1].terms == viewed.regions.terms
    assert viewed.regions == replace(learning, terms=told[-1].terms, weights="fixed")
    trained = [record for record in viewed.clips if record.split == "train"]
    assert card["captions"] == sum(len(record.captions) for record in trained)
    assert card["unsupported"] == card["left_out"] == 0
    for record in viewed.clips[:3]:
        features = cache_features([record], viewed.words.encoder, cache, SAMPLING)[0]
        seen = viewed.words.describe(features.features(record.id), features.times(record.id))
        expected = [sequence.regions for sequence in generate_sequences(seen, viewed.regions)]
        assert [tuple(path) for path in viewed.library.view(record.id).paths] == expected


def test_the_card_tells_what_became_of_captions(corpus: Corpus, tmp_path: Path) -> None:
    out = corpus.fit(tmp_path / "model", corpus.records).out
    trained = [record for record in corpus.records if record.split == "train"]
    regions = read_card(out)["regions"]
    assert regions["terms"] == RegionsConfig().terms
    assert regions["captions"] == sum(len(record.captions) for record in trained)
    assert regions["left_out"] == 0


class _KilledError(BaseException):
    """As sudden as the real thing: nothing in the package catches it."""


class _Killer(Silence):
    def epoch(self, epoch: int, figures: dict[str, float]) -> None:  # noqa: ARG002
        if epoch == 2:
            raise _KilledError


def test_a_run_that_was_stopped_ends_in_the_same_weights(corpus: Corpus, tmp_path: Path) -> None:
    recipe = replace(RECIPE, training=TrainingOptions(epochs=3, average=0.9))
    whole = corpus.fit(tmp_path / "whole", corpus.records, recipe)
    manifest = tmp_path / "whole.jsonl"
    for progress in (_Killer(), Silence()):
        fit = SentencesFit(manifest, corpus.folder / "words", recipe, tmp_path / "stopped")
        fit.read_clips(corpus.folder / "cache", lambda: None, lambda: None)
        try:
            fit.train(progress)
        except _KilledError:
            assert not (tmp_path / "stopped" / WEIGHTS).exists()
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
    found = describer.propose(fit.library.view(fit.clips[0].id), BeamOptions(width=2))
    assert {candidate.sequence for candidate in found} == set(range(REGIONS.k))


def test_a_single_frame_is_enough(corpus: Corpus, tmp_path: Path) -> None:
    recipe = replace(RECIPE, sampling=Sampling(frames=1))
    fit = corpus.fit(tmp_path / "model", corpus.records, recipe)
    assert fit.library.view(fit.clips[0].id).paths.shape == (REGIONS.k, 1)
    assert CaptionGenerator.load(tmp_path / "model").propose(
        fit.library.view(fit.clips[0].id), BeamOptions(width=1)
    )


def test_a_model_knows_its_streams_and_categories(corpus: Corpus, tmp_path: Path) -> None:
    fit = corpus.fit(tmp_path / "model", corpus.records)
    options, features = CaptionModel.load(tmp_path / "model").options, fit.words.encoder.channels
    places = {record.category for record in corpus.records if record.split == "train"}
    assert options.frame_streams == {"centred": features, "frames": features}
    assert options.whole_streams == {
        "clip": features,
        "special_words": LEXICON_SIZE,
        "clip_words": LEXICON_SIZE,
        "category": len(places),
    }
    assert options.stream_dropout == RECIPE.streams.dropout
    assert set(CategoryClassifier.load(tmp_path / "model" / CATEGORY).categories) == places


def test_a_corpus_that_teaches_nothing_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    untold = [record for record in corpus.records if record.split != "train"]
    with pytest.raises(CorpusError, match=r"untold\.jsonl: no clip of split 'train' has captions"):
        corpus.fit(tmp_path / "untold", untold)
    deaf = replace(RECIPE, streams=StreamsConfig(clip_level=("sound",)))
    with pytest.raises(ModelError, match="no stream 'sound': there are regions"):
        corpus.fit(tmp_path / "deaf", corpus.records, deaf)
    assert not (tmp_path / "deaf").exists()
    rare = replace(RECIPE, sentences=SentenceOptions(min_count=1000))
    with pytest.raises(CorpusError, match=r"no word occurs 1000 times.*lower min_count"):
        corpus.fit(tmp_path / "rare", corpus.records, rare)


def test_it_learns_its_clips_by_heart(corpus: Corpus, tmp_path: Path) -> None:
    """To a CIDEr above 3, which no sentence of another clip comes near."""
    records = [replace(r, captions=r.captions[:2], split="train") for r in corpus.records]
    recipe = replace(
        RECIPE,
        streams=StreamsConfig(),
        captioner=CaptionModelOptions(hidden=96, embedding=48, dropout=0.0),
        sentences=SentenceOptions(min_count=1, batch=8, label_smoothing=0.0),
        training=TrainingOptions(epochs=40, learning_rate=5e-3),
    )
    fit = corpus.fit(tmp_path / "model", records, recipe)
    describer = CaptionGenerator.load(tmp_path / "model")
    said = {}
    for record in records:
        found = describer.propose(fit.library.view(record.id), BeamOptions(width=3))
        said[record.id] = describer.say(max(found, key=lambda one: one.score).words)
    cider = Cider({r.id: [" ".join(tokenise(text)) for text in r.captions] for r in records})
    others = [*said.values()][1:] + [*said.values()][:1]
    assert np.mean([cider.score(clip, sentence) for clip, sentence in said.items()]) > 3
    strange = [cider.score(clip, other) for clip, other in zip(said, others, strict=True)]
    assert np.mean(strange) < 1
