"""The views of a corpus, computed once and kept on disk, with which sentence goes with what.

Region-sequences and word probabilities follow from the Lexical-FCN alone, so they are computed
before the language model is trained, not while.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from densevidcap.data.manifest import ClipRecord
from densevidcap.errors import CorpusError, ModelError
from densevidcap.files import replacing
from densevidcap.language.views import ClipView, view_clip
from densevidcap.lexical.fcn import LexicalFCN
from densevidcap.lexical.features import FeatureCache
from densevidcap.lexical.words import CONTENT
from densevidcap.records import FloatArray
from densevidcap.regions import SequenceOptions, generate_sequences
from densevidcap.regions.association import spread
from densevidcap.regions.objectives import THRESHOLD, IndexArray
from densevidcap.regions.sequences import pool_words

Pairing = Literal["winner", "spread"]


@dataclass(frozen=True)
class LibraryOptions:
    """What is known of a clip, and which sentence is said of which sequence."""

    words: int = 1000
    """V: word probabilities of that many of the lexicon's most frequent words are inputs."""
    k: int = 10
    """Region-sequences a clip."""
    pairing: Pairing = "spread"
    """The paper's winner-takes-all (Eq. 10) by the sum of the sentence's word probabilities, or
    `spread`: by how much more of them than the clip's other sequences a sequence has, with at most
    `most` sentences for each, so that few sequences go without."""
    most: int = 3

    def __post_init__(self) -> None:
        for name in ("words", "k", "most"):
            if getattr(self, name) < 1:
                raise ModelError(f"{name} must be at least 1, not {getattr(self, name)}")


class Library:
    """The views of clips, by id."""

    def __init__(
        self, arrays: dict[str, npt.NDArray[np.generic]], ids: Sequence[str], cache: FeatureCache
    ) -> None:
        self._arrays, self._cache = arrays, cache
        # Once for all views: every map of the file holds one of the process' open files.
        self._features = cache.all
        self._place = {clip: place for place, clip in enumerate(ids)}
        self._sentences = np.concatenate([[0], np.cumsum(arrays["sentences"])])

    def __contains__(self, clip: str) -> bool:
        return clip in self._place

    def view(self, clip: str, category: FloatArray | None = None) -> ClipView:
        place, rows = self._place[clip], self._cache.rows(clip)
        arrays = self._arrays
        return ClipView(
            self._features[rows.start : rows.stop],  # type: ignore[arg-type]
            arrays["paths"][place, :, : len(rows)],  # type: ignore[arg-type]
            arrays["sequence_words"][place],
            arrays["clip_words"][place],
            category,
        )

    def pair(self, clip: str, options: LibraryOptions) -> IndexArray:
        """(S,): the sequence that each of the clip's captions describes."""
        place = self._place[clip]
        own = slice(self._sentences[place], self._sentences[place + 1])
        if options.pairing == "winner":
            return np.asarray(self._arrays["sums"][own].argmax(axis=1))
        return spread(np.asarray(self._arrays["shares"][own], np.float32), options.most)


def open_library(
    folder: Path,
    model: LexicalFCN,
    cache: FeatureCache,
    records: Sequence[ClipRecord],
    options: LibraryOptions,
    advance: Callable[[], None] = lambda: None,
) -> Library:
    """Read the library of these clips from the folder, or make it."""
    ids = [record.id for record in records]
    path = folder / f"views-{_name(model, cache, records, options)}.safetensors"
    if path.exists():
        for _ in records:
            advance()
    else:
        arrays = _make(model, cache, records, options, advance)
        with replacing(path) as temporary:
            save_file(arrays, temporary)
    try:
        return Library(load_file(path), ids, cache)
    except SafetensorError:
        raise CorpusError(f"{path}: damaged; remove it to compute it again") from None


def _make(
    model: LexicalFCN,
    cache: FeatureCache,
    records: Sequence[ClipRecord],
    options: LibraryOptions,
    advance: Callable[[], None],
) -> dict[str, npt.NDArray[np.generic]]:
    longest = max(len(cache.rows(record.id)) for record in records)
    count, k, words = len(records), options.k, min(options.words, len(model.lexicon))
    paths = np.zeros((count, k, longest), np.int16)
    sequence_words = np.zeros((count, k, words), np.float16)
    clip_words = np.zeros((count, words), np.float16)
    sums, shares = [], []
    content = np.array([entry.pos in CONTENT for entry in model.lexicon.entries])
    for place, record in enumerate(records):
        seen = model.describe(cache.features(record.id), cache.times(record.id))
        sequences = generate_sequences(seen, SequenceOptions(k=k))
        view = view_clip(seen, sequences, words)
        paths[place, :, : len(seen.times)] = view.paths
        sequence_words[place] = view.sequence_words
        clip_words[place] = view.clip_words
        pooled = pool_words(sequences, seen)
        share = pooled / np.maximum(pooled.sum(axis=0), 1e-9) * content
        for caption in record.captions:
            said = model.lexicon.find(caption)
            evidence = pooled[:, said]
            sums.append(np.where(evidence >= THRESHOLD, evidence, 0).sum(axis=1))
            shares.append(share[:, said].sum(axis=1))
        advance()
    return {
        "paths": paths,
        "sequence_words": sequence_words,
        "clip_words": clip_words,
        "sums": np.array(sums, np.float32).reshape(-1, k),
        "shares": np.array(shares, np.float32).reshape(-1, k),
        "sentences": np.array([len(record.captions) for record in records]),
    }


def _name(
    model: LexicalFCN, cache: FeatureCache, records: Sequence[ClipRecord], options: LibraryOptions
) -> str:
    digest = hashlib.sha256(cache.folder.name.encode())
    for name, tensor in model.head.state_dict().items():
        digest.update(name.encode() + tensor.contiguous().numpy().tobytes())
    clips = [[record.id, record.captions] for record in records]
    sizes = [options.words, options.k, asdict(SequenceOptions())]
    digest.update(json.dumps([clips, sizes]).encode())
    return digest.hexdigest()[:12]
