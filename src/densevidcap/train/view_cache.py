"""The views of a corpus, computed once and kept on disk, with which sentence goes with what.

Region-sequences and word probabilities follow from the Lexical-FCN alone, so they are computed
before the language model is trained, not while.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from densevidcap.config import AssociationConfig, RegionsConfig
from densevidcap.data.lexicon import CONTENT
from densevidcap.data.manifest import ClipRecord
from densevidcap.data.text_files import read_json
from densevidcap.errors import CorpusError
from densevidcap.files import replacing
from densevidcap.model_folder import write_json
from densevidcap.models.views import ClipView, view_clip
from densevidcap.models.word_detector import LexicalFCN, RegionEncoder
from densevidcap.regions import (
    CaptionedClip,
    WeightStep,
    associate,
    count_sequences,
    generate_sequences,
    learn_terms,
    match,
    pool_words,
)
from densevidcap.regions.association import FLOOR, Matches
from densevidcap.regions.objectives import IndexArray
from densevidcap.train.feature_cache import (
    FeatureCache,
    read_extracted,
)
from densevidcap.types import FloatArray

MOST_LEARNED = 200
"""Clips that the weights of the objective are learned from, drawn at random: more change little."""


class ViewCache:
    """The views of clips, by id, and which of a clip's sentences goes with which sequence."""

    def __init__(
        self,
        arrays: dict[str, npt.NDArray[np.generic]],
        ids: Sequence[str],
        cache: FeatureCache,
        association: AssociationConfig,
        encoder: RegionEncoder,
    ) -> None:
        self._arrays, self._cache, self._association = arrays, cache, association
        self._encoder = encoder
        # Once for all views: every map of the file holds one of the process' open files.
        self._features = cache.all
        self.extracted: Mapping[str, FeatureCache] = {}
        """Streams that were read from the clips themselves, by name."""
        self._index = {clip: index for index, clip in enumerate(ids)}
        self._sentences = np.concatenate([[0], np.cumsum(arrays["sentences"])])

    def __contains__(self, clip: str) -> bool:
        return clip in self._index

    def view(self, clip: str, category: FloatArray | None = None) -> ClipView:
        index, rows = self._index[clip], self._cache.rows(clip)
        arrays = self._arrays
        observed: FloatArray = self._features[rows.start : rows.stop]  # type: ignore[assignment]
        features, frame_vectors = self._encoder.split(observed)
        return ClipView(
            features,
            arrays["paths"][index, :, : len(rows)],  # type: ignore[arg-type]
            arrays["sequence_words"][index],
            arrays["clip_words"][index],
            category,
            frame_vectors,
            read_extracted(self.extracted, clip),
        )

    def pair(self, clip: str) -> IndexArray:
        """(S,): the sequence that each of the clip's captions is learned with, or `LEFT_OUT`."""
        return associate(self.match(clip), self._association)

    def own(self, clip: str) -> IndexArray:
        """(S,): the sequence that shows each of the clip's captions best, or `LEFT_OUT`."""
        return self.match(clip).own

    def match(self, clip: str) -> Matches:
        """How well the clip's sequences show each of its captions."""
        index = self._index[clip]
        own = slice(self._sentences[index], self._sentences[index + 1])
        sums, shares = (np.asarray(self._arrays[n][own], np.float32) for n in ("sums", "shares"))
        return Matches(sums, shares)

    def count_captions(self, clips: Iterable[str]) -> dict[str, int]:
        """Of these clips: all, those that no sequence shows, and those that are left out."""
        counts = np.zeros(3, int)
        for clip in clips:
            supported, pairs = self.match(clip).supported, self.pair(clip)
            counts += len(pairs), int((~supported).sum()), int((pairs < 0).sum())
        return dict(zip(("captions", "unsupported", "left_out"), counts.tolist(), strict=True))


class CaptionedClips(Collection[CaptionedClip]):
    """Clips whose words are computed from cached features each time they are gone through."""

    def __init__(
        self, records: Sequence[ClipRecord], model: LexicalFCN, cache: FeatureCache
    ) -> None:
        self._records, self._model, self._cache = records, model, cache

    def __iter__(self) -> Iterator[CaptionedClip]:
        for record in self._records:
            clip = self._cache.features(record.id), self._cache.times(record.id)
            yield CaptionedClip(self._model.describe(*clip), _find_words(self._model, record))

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, clip: object) -> bool:
        return any(clip is other for other in self)


def learn_regions(
    folder: Path,
    model: LexicalFCN,
    cache: FeatureCache,
    records: Sequence[ClipRecord],
    regions: RegionsConfig,
    seed: int = 0,
    report: Callable[[WeightStep], None] = lambda _: None,
) -> tuple[RegionsConfig, list[WeightStep]]:
    """Weights of the objective's terms by Eq. 9, from clips of these drawn at random.

    What was found is kept in the folder, so that a run that was stopped goes on with the same.
    """
    order = np.random.default_rng(seed).permutation(len(records))[:MOST_LEARNED]
    drawn = [records[index] for index in sorted(order)]
    path = folder / f"terms-{_name(model, cache, drawn, asdict(regions))}.json"
    if not path.exists():
        _, steps = learn_terms(CaptionedClips(drawn, model, cache), regions, report)
        write_json(path, {"steps": [asdict(step) for step in steps]})
    try:
        steps = [WeightStep(**step) for step in read_json(path)["steps"]]
        return replace(regions, terms=steps[-1].terms, weights="fixed"), steps
    except (TypeError, KeyError, IndexError):
        raise CorpusError(f"{path}: damaged; remove it to compute it again") from None


def open_view_cache(
    folder: Path,
    model: LexicalFCN,
    cache: FeatureCache,
    records: Sequence[ClipRecord],
    regions: RegionsConfig,
    association: AssociationConfig,
    lexicon_size: int,
    advance: Callable[[], None] = lambda: None,
) -> ViewCache:
    """Read the views of these clips from the folder, or make them.

    Word probabilities of the `lexicon_size` most frequent words are kept of each.
    """
    ids = [record.id for record in records]
    name = _name(model, cache, records, asdict(regions), lexicon_size, FLOOR)
    path = folder / f"views-{name}.safetensors"
    if path.exists():
        for _ in records:
            advance()
    else:
        arrays = _make(model, cache, records, regions, lexicon_size, advance)
        with replacing(path) as temporary:
            save_file(arrays, temporary)
    try:
        return ViewCache(load_file(path), ids, cache, association, model.encoder)
    except SafetensorError:
        raise CorpusError(f"{path}: damaged; remove it to compute it again") from None


def _make(
    model: LexicalFCN,
    cache: FeatureCache,
    records: Sequence[ClipRecord],
    regions: RegionsConfig,
    lexicon_size: int,
    advance: Callable[[], None],
) -> dict[str, npt.NDArray[np.generic]]:
    longest = max(len(cache.rows(record.id)) for record in records)
    count, words = len(records), min(lexicon_size, len(model.lexicon))
    k = count_sequences(regions, model.encoder.grid)
    paths = np.zeros((count, k, longest), np.int16)
    sequence_words = np.zeros((count, k, words), np.float16)
    clip_words = np.zeros((count, words), np.float16)
    matches = []
    is_content = np.array([entry.pos in CONTENT for entry in model.lexicon.entries])
    for index, record in enumerate(records):
        seen = model.describe(cache.features(record.id), cache.times(record.id))
        said = _find_words(model, record)
        # Clips held out are seen as a clip without captions is.
        told = CaptionedClip(seen, said).list_words(regions) if record.split == "train" else None
        sequences = generate_sequences(seen, regions, told)
        view = view_clip(seen, sequences, words)
        paths[index, :, : len(seen.times)] = view.paths
        sequence_words[index] = view.sequence_words
        clip_words[index] = view.clip_words
        pooled = pool_words(sequences, seen)
        matches.append(match(said, pooled, regions.threshold, is_content))
        advance()
    return {
        "paths": paths,
        "sequence_words": sequence_words,
        "clip_words": clip_words,
        "sums": np.concatenate([each.sums for each in matches]),
        "shares": np.concatenate([each.shares for each in matches]),
        "sentences": np.array([len(record.captions) for record in records]),
    }


def _find_words(model: LexicalFCN, record: ClipRecord) -> list[IndexArray]:
    """The ids of each caption's words in the lexicon."""
    return [np.array(model.lexicon.find(caption), np.intp) for caption in record.captions]


def _name(
    model: LexicalFCN, cache: FeatureCache, records: Sequence[ClipRecord], *settings: Any
) -> str:
    """After all that decides what is computed: features, words, clips, captions and settings."""
    digest = hashlib.sha256(cache.folder.name.encode())
    heads = [model.head] if model.branch is None else [model.head, model.branch]
    for name, tensor in chain.from_iterable(head.state_dict().items() for head in heads):
        digest.update(name.encode() + tensor.contiguous().numpy().tobytes())
    clips = [[record.id, record.captions, record.split] for record in records]
    digest.update(json.dumps([clips, settings], sort_keys=True).encode())
    return digest.hexdigest()[:12]
