"""The captioned clips of a manifest, seen through a Lexical-FCN: what learning sentences needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from densevidcap.artefacts import WEIGHTS, hash_file
from densevidcap.data.manifest import read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.data.text import Vocabulary
from densevidcap.errors import CorpusError
from densevidcap.fits import HELD_OUT, alone, find_latecomers
from densevidcap.language.library import LibraryOptions, open_library
from densevidcap.lexical.fcn import LexicalFCN
from densevidcap.lexical.features import cache_features


class ViewedCorpus:
    """Clips with captions, and after `read_clips` the library of their views."""

    def __init__(
        self, manifest: Path, words: Path, sampling: Sampling, options: LibraryOptions, out: Path
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
        self.library = open_library(cache, self.words, features, self.clips, self._options, viewed)
        return left_out

    def list_words(self, min_count: int) -> Vocabulary:
        """Of the training captions."""
        trained = (record for record in self.clips if record.split == "train")
        vocabulary = Vocabulary.build(
            (caption for record in trained for caption in record.captions), min_count
        )
        if len(vocabulary) == len(Vocabulary.SIGNS):
            raise CorpusError(f"no word occurs {min_count} times in the captions: lower min_count")
        return vocabulary
