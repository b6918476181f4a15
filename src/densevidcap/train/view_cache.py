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

from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.data.text import Vocabulary
from densevidcap.errors import CorpusError, ModelError
from densevidcap.files import replacing
from densevidcap.model_folder import WEIGHTS, hash_file
from densevidcap.models.streams import ClipView, view_clip
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.regions import SequenceOptions, generate_sequences
from densevidcap.regions.association import spread
from densevidcap.regions.objectives import THRESHOLD, IndexArray
from densevidcap.regions.search import pool_words
from densevidcap.regions.words import CONTENT
from densevidcap.train.feature_cache import FeatureCache, cache_features
from densevidcap.train.run import HELD_OUT, alone, find_latecomers
from densevidcap.types import FloatArray

Pairing = Literal["winner", "spread"]


@dataclass(frozen=True)
class ViewOptions:
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


class ViewCache:
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

    def pair(self, clip: str, options: ViewOptions) -> IndexArray:
        """(S,): the sequence that each of the clip's captions describes."""
        place = self._place[clip]
        own = slice(self._sentences[place], self._sentences[place + 1])
        if options.pairing == "winner":
            return np.asarray(self._arrays["sums"][own].argmax(axis=1))
        return spread(np.asarray(self._arrays["shares"][own], np.float32), options.most)


def open_view_cache(
    folder: Path,
    model: LexicalFCN,
    cache: FeatureCache,
    records: Sequence[ClipRecord],
    options: ViewOptions,
    advance: Callable[[], None] = lambda: None,
) -> ViewCache:
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
        return ViewCache(load_file(path), ids, cache)
    except SafetensorError:
        raise CorpusError(f"{path}: damaged; remove it to compute it again") from None


def _make(
    model: LexicalFCN,
    cache: FeatureCache,
    records: Sequence[ClipRecord],
    options: ViewOptions,
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
    model: LexicalFCN, cache: FeatureCache, records: Sequence[ClipRecord], options: ViewOptions
) -> str:
    digest = hashlib.sha256(cache.folder.name.encode())
    for name, tensor in model.head.state_dict().items():
        digest.update(name.encode() + tensor.contiguous().numpy().tobytes())
    clips = [[record.id, record.captions] for record in records]
    sizes = [options.words, options.k, asdict(SequenceOptions())]
    digest.update(json.dumps([clips, sizes]).encode())
    return digest.hexdigest()[:12]


class ViewedCorpus:
    """Clips with captions, and after `read_clips` the library of their views."""

    def __init__(
        self, manifest: Path, words: Path, sampling: Sampling, options: ViewOptions, out: Path
    ) -> None:
        self.out = out
        self.words = LexicalFCN.load(words)
        self.data = {"manifest": hash_file(manifest), "words": hash_file(words / WEIGHTS)}
        self._sampling, self._options = sampling, options
        records = [record for record in read_manifest(manifest) if record.captions]
        self.clips = [record for record in records if record.split in ("train", *HELD_OUT)]
        if not any(record.split == "train" for record in self.clips):
            raise CorpusError(f"{manifest}: no clip of split 'train' has captions; add some")

    @alone
    def read_clips(
        self,
        cache: Path,
        read: Callable[[], None],
        viewed: Callable[[], None],
        fail_fast: bool = False,
    ) -> dict[str, str]:
        """Compute what is not in the cache yet; returns the clips to leave out, with why."""
        features, failures = cache_features(
            self.clips, self.words.encoder, cache, self._sampling, advance=read, fail_fast=fail_fast
        )
        readable = [record.id for record in self.clips if record.id in features]
        if not readable:
            raise CorpusError(f"no clip can be read; the first: {next(iter(failures.values()))}")
        left_out = failures | find_latecomers(self.out, readable)
        self.clips = [record for record in self.clips if record.id not in left_out]
        self.library = open_view_cache(
            cache, self.words, features, self.clips, self._options, viewed
        )
        return left_out

    def list_words(self, min_count: int) -> Vocabulary:
        """Of the training captions."""
        trained = (record for record in self.clips if record.split == "train")
        vocabulary = Vocabulary.build(
            (caption for record in trained for caption in record.captions), min_count
        )
        if len(vocabulary) == len(Vocabulary.SPECIAL_TOKENS):
            raise CorpusError(f"no word occurs {min_count} times in the captions: lower min_count")
        return vocabulary
