"""Candidate sentences of a clip, from every one of its region-sequences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import torch

from densevidcap.config import DecodingConfig, ModelConfig
from densevidcap.data.lexicon import CONTENT, Lexicon, is_content_word
from densevidcap.data.lsa import LatentSpace
from densevidcap.data.phrases import Phrases
from densevidcap.data.text import Vocabulary
from densevidcap.decoding.generate import Guidance, compare, search, tell
from densevidcap.decoding.mbr import mbr_scores
from densevidcap.model_folder import CATEGORY, MEANING, PHRASES
from densevidcap.models.captioner import CaptionModel
from densevidcap.models.category import CategoryClassifier, mark_category
from densevidcap.models.device import computing, device_of, resolve_engine
from densevidcap.models.fusion import Streams
from densevidcap.models.streams import ExtractedStream, load_streams, make_streams
from densevidcap.models.views import ClipView, Row, look
from densevidcap.pipeline.wording import breaks_off, is_absurd
from densevidcap.regions.objectives import Float64Array
from densevidcap.types import FloatArray, Hypothesis


class CaptionGenerator:
    """A captioner and the classifier that tells it a clip's category, if it takes one."""

    def __init__(
        self,
        captioner: CaptionModel,
        classifier: CategoryClassifier | None,
        meaning: LatentSpace,
        phrases: Phrases,
        extracted: Mapping[str, ExtractedStream] | None = None,
    ) -> None:
        """`extracted` are those of its streams that are read from clips themselves."""
        self.captioner, self.classifier = captioner, classifier
        self.meaning, self.phrases = meaning, phrases
        self.extracted = extracted or {}

    @classmethod
    def load(cls, folder: Path) -> CaptionGenerator:
        captioner = CaptionModel.load(folder)
        widths = captioner.widths
        takes_category = "category" in widths.clip_level
        return cls(
            captioner,
            CategoryClassifier.load(folder / CATEGORY) if takes_category else None,
            LatentSpace.load(folder / MEANING),
            Phrases.load(folder / PHRASES),
            load_streams(folder, (*widths.frame_level, *widths.clip_level)),
        )

    def categorise(self, view: ClipView, most: int) -> list[tuple[ClipView, float]]:
        """The view in each of its `most` probable categories, with log P(c | v).

        A view that has its category already, or a captioner without, stays as it is.
        """
        if self.classifier is None or view.category is not None or not most:
            return [(view, 0.0)]
        probabilities = self.classifier.classify(view)
        order = np.argsort(-probabilities, kind="stable")[:most]
        names = self.classifier.categories
        floor = np.finfo(np.float32).tiny
        return [
            (mark_category(view, names, names[c]), log(max(probabilities[c], floor))) for c in order
        ]

    def propose(
        self,
        view: ClipView,
        config: ModelConfig,
        sequences: Sequence[int] | None = None,
        costs: FloatArray | None = None,
        is_alone: bool | None = None,
    ) -> list[Hypothesis]:
        """The sentences that are searched and sampled for every sequence, each one's best first.

        A score is with that of the category (Eq. 14), and with the `costs` (V,) of the vocabulary's
        words, if there are any. If the captioner has a region's voice, what each sequence alone
        would say is searched too. With `is_alone` it is only one of the voices that speaks, the
        region's or the clip's.
        """
        decoding, most = config.decoding, config.captioner.most_frames
        found: dict[tuple[int, tuple[int, ...]], Hypothesis] = {}
        supposals = [] if is_alone else self.categorise(view, decoding.categories)
        asked = [(look(supposed, sequences, most), category) for supposed, category in supposals]
        if is_alone or (is_alone is None and config.streams.region_voice):
            # At once with the clip's voice: large products cost less than twice as many small ones.
            rows, category = asked.pop() if asked else ([], 0.0)
            asked.append(([*rows, *look(view, sequences, most, is_alone=True)], category))
        with self._computing(config):
            for rows, category in asked:
                self._gather(found, rows, decoding, costs, category)
        return sorted(found.values(), key=lambda each: (each.sequence, -each.score))

    def _gather(
        self,
        found: dict[tuple[int, tuple[int, ...]], Hypothesis],
        rows: Sequence[Row],
        decoding: DecodingConfig,
        costs: FloatArray | None,
        log_category: float,
    ) -> None:
        """Add what the rows say to what was found; of those alone, which come last, no samples."""
        streams, guidance = self._stream(rows), self._guide(len(rows), costs)
        samples_of = sum(not row.is_alone for row in rows)
        told = tell(self.captioner, streams, decoding, guidance, samples_of=samples_of)
        for row, both in zip(rows, told, strict=True):
            for one in (each for kind in both for each in kind):
                known_category = 0.0 if row.is_alone else log_category
                score = one.weigh(known_category, decoding.length_penalty)
                known = found.get((row.sequence, one.ids))
                found[row.sequence, one.ids] = replace(
                    one,
                    score=max(score, known.score) if known else score,
                    samples=one.samples + (known.samples if known else 0),
                    sequence=row.sequence,
                    is_alone=row.is_alone or bool(known and known.is_alone),
                )

    def _guide(self, rows: int, costs: FloatArray | None) -> Guidance | None:
        if costs is None:
            return None
        device = device_of(self.captioner)
        return Guidance(torch.from_numpy(costs).to(device).expand(rows, -1))

    def mention(
        self,
        view: ClipView,
        config: ModelConfig,
        things: Sequence[tuple[int, str]],
        costs: FloatArray | None = None,
    ) -> list[Hypothesis]:
        """The best sentence of a sequence that has a word, for the first so many of these pairs."""
        vocabulary = self.captioner.vocabulary
        known = [(sequence, word) for sequence, word in things if word in vocabulary]
        wanted = [
            (sequence, vocabulary.encode(word)[1])
            for sequence, word in known[: config.decoding.mentions]
        ]
        if not wanted:
            return []
        is_alone = config.streams.region_voice > 0
        rows = [
            look(view, [sequence], config.captioner.most_frames, is_alone)[0]
            for sequence, _ in wanted
        ]
        size = len(vocabulary)
        device = device_of(self.captioner)
        due = torch.zeros(len(wanted), size, dtype=torch.bool, device=device)
        due[range(len(wanted)), [word for _, word in wanted]] = True
        added = self._guide(len(rows), np.zeros(size, np.float32) if costs is None else costs)
        assert added is not None
        guidance = Guidance(added.costs, due)
        with self._computing(config):
            found = search(self.captioner, self._stream(rows), config.decoding, guidance)
        return [
            replace(one, sequence=row.sequence, is_alone=is_alone, is_wanted=True)
            for row, hypotheses in zip(rows, found, strict=True)
            for one in hypotheses[:1]
        ]

    def compare(
        self,
        view: ClipView,
        sentences: Sequence[Sequence[int]],
        config: ModelConfig,
        is_alone: bool = False,
    ) -> FloatArray:
        """(S, K): log P(sentence | sequence) of every sentence under every sequence of the clip.

        By the clip's voice, or with `is_alone` by a region's.
        """
        ((supposed, _),) = [(view, 0.0)] if is_alone else self.categorise(view, 1)
        streams = self._stream(look(supposed, None, config.captioner.most_frames, is_alone))
        with self._computing(config):
            likelihoods = compare(self.captioner, streams, sentences)
        return np.asarray(likelihoods.cpu().numpy(), np.float32)

    def find_best(
        self, found: Sequence[Hypothesis], quality: FloatArray, config: ModelConfig
    ) -> list[int]:
        """The indices of the different sentences of the highest quality (S,), the best first.

        Among them are all that were asked for by name, and what each region by itself would rather
        say: of a thing at the edge no other sentence tells, and so none agrees. Those that break
        off are kept only if there are no others, those that are absurd only if there are few.
        """
        order = np.argsort(-quality, kind="stable").tolist()
        of_regions: dict[int, int] = {}
        for index in (index for index in order if found[index].is_alone):
            known = of_regions.setdefault(found[index].sequence, index)
            if found[index].score > found[known].score:
                of_regions[found[index].sequence] = index
        named = [index for index, one in enumerate(found) if one.is_wanted]
        best: dict[tuple[int, ...], int] = {}
        for index in (*named, *of_regions.values(), *order):
            best.setdefault(found[index].ids, index)
        told = {index: self.say(ids) for ids, index in best.items()}
        whole = [index for index, sentence in told.items() if not breaks_off(sentence)]
        strict = config.wording.english == "checked"
        sensible = [index for index in whole if not is_absurd(told[index], self.phrases, strict)]
        kept = sensible if len(sensible) >= ENOUGH else whole or list(told)
        kept = kept[: config.decoding.candidates]
        return sorted(kept, key=lambda index: -quality[index])

    def rate(self, found: Sequence[Hypothesis]) -> Float64Array:
        """(S,): how well each sentence agrees with all that were sampled (minimum Bayes risk).

        If none were, with all of them.
        """
        samples = self.count_samples(found)
        counts = [*samples.values()]
        scores = mbr_scores([*samples], counts, self.phrases)
        ratings = dict(zip(samples, scores.tolist(), strict=True))
        return np.array([ratings[self.say(one.ids)] for one in found])

    def count_samples(self, found: Iterable[Hypothesis]) -> dict[str, int]:
        """How often each of the sentences was sampled; if none was, each counts once."""
        samples: Counter[str] = Counter()
        for one in found:
            samples[self.say(one.ids)] += one.samples
        return dict(samples) if any(samples.values()) else dict.fromkeys(samples, 1)

    def say(self, ids: Sequence[int]) -> str:
        return self.captioner.vocabulary.decode(ids)

    def _computing(self, config: ModelConfig) -> AbstractContextManager[Any]:
        device = device_of(self.captioner)
        return computing(resolve_engine(config.engine, device), device)

    def _stream(self, rows: Sequence[Row]) -> Streams:
        widths = self.captioner.widths
        names = [*widths.frame_level], [*widths.clip_level]
        return make_streams(rows, *names, device_of(self.captioner))


def cost_words(
    vocabulary: Vocabulary, lexicon: Lexicon, named: FloatArray, doubt: float
) -> FloatArray | None:
    """(V,), at most 0: what saying each word costs, by the probabilities (W,) that people name it.

    Words that the lexicon does not have, and those that cannot be seen, cost nothing.
    """
    if not doubt:
        return None
    costs = np.zeros(len(vocabulary), np.float32)
    usual = np.log(np.maximum(named, 1e-6) / NO_COST)
    for entry, cost in zip(lexicon.entries, np.clip(usual, -MOST_COST, 0), strict=False):
        if entry.word in vocabulary and entry.pos in CONTENT and is_content_word(entry.word):
            costs[vocabulary.encode(entry.word)[1]] = doubt * cost
    return costs


ENOUGH = 10
"""Sensible sentences to choose from."""
NO_COST = 0.2
"""A word of this probability costs nothing."""
MOST_COST = 4.0
