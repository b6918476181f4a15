"""BLEU, METEOR, ROUGE-L and CIDEr, identical to the COCO caption code.

BLEU, ROUGE-L and the tables of METEOR and of the tokenizer come from pycocoevalcap.
What is computed of one sentence against its video's references is kept, so that a sentence
which comes again in another set, at another rank or in another order costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt

from densevidcap.metrics import java as jars
from densevidcap.metrics.cider import LONGEST, SIGMA, Cider
from densevidcap.metrics.coco import import_coco
from densevidcap.metrics.meteor import Meteor
from densevidcap.metrics.ptb import tokenise_ptb

Array = npt.NDArray[np.float64]

METRICS = ("Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4", "METEOR", "ROUGE_L", "CIDEr")
"""By the COCO code's names."""


@dataclass(frozen=True)
class CaptionScores:
    """Each metric of METRICS, as fractions: 0.25 is what papers print as 25."""

    overall: Mapping[str, float]
    """Of the whole set. BLEU and METEOR are not the mean over videos."""
    videos: Mapping[str, Mapping[str, float]]
    """Of each video."""


class CaptionScorer:
    """Scores any number of prediction sets against the references of one set of videos.

    CIDEr's document frequencies come from all the references. With `java`, METEOR and the
    tokenizer are the COCO code's own programs; that of METEOR runs until `close`, so use it in
    a `with` block.
    """

    def __init__(self, references: Mapping[str, Sequence[str]], java: bool = False) -> None:
        if empty := [video for video, sentences in references.items() if not sentences]:
            raise ValueError(f"no references for {', '.join(empty)}")
        self.references, self.java = references, java
        self._tokens = _Tokens(jars.tokenise_ptb if java else tokenise_ptb)
        self._tokens.learn(text for texts in references.values() for text in texts)
        self._tokenised = {
            video: [self._tokens[text] for text in texts] for video, texts in references.items()
        }
        self._bleu = _Bleu(self._tokenised)
        self._rouge = import_coco("rouge.rouge").Rouge()
        self._cider = Cider(self._tokenised)
        self._matches: dict[tuple[str, str], _Match] = {}
        self._meteor: Any = jars.Meteor() if java else Meteor()
        self._meteor.learn(text for texts in self._tokenised.values() for text in texts)

    def __enter__(self) -> CaptionScorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._meteor.close()

    def score(self, predictions: Mapping[str, str]) -> CaptionScores:
        """One sentence for each video of the references."""
        return self.score_many([predictions])[0]

    def score_many(self, sets: Sequence[Mapping[str, str]]) -> list[CaptionScores]:
        """Each set has one sentence for each video of the references."""
        for predictions in sets:
            if different := predictions.keys() ^ self.references.keys():
                raise ValueError(f"predictions and references differ in {sorted(different)}")
        texts = [text for predictions in sets for text in predictions.values()]
        self._tokens.learn(texts)
        self._meteor.learn(self._tokens[text] for text in texts)
        return [self._aggregate(predictions) for predictions in sets]

    def resample(self, predictions: Mapping[str, str], draws: Array) -> dict[str, Array]:
        """Each metric of METRICS of the whole set, for N draws of videos (N,).

        A draw is how often each video of the references, in their order, is in it: (N, B). BLEU
        and METEOR are those of the drawn set, and not a mean over videos. Not with `java`.
        """
        if self.java:
            raise ValueError("the Java METEOR cannot be drawn again; leave out `java`")
        self.score(predictions)  # which learns the sentences
        matches = [
            self._match(video, self._tokens[predictions[video]]) for video in self.references
        ]
        counts = draws.sum(axis=1)
        figures = (
            *self._bleu.resample([match.bleu for match in matches], draws),
            self._meteor.resample([match.meteor for match in matches], draws),
            draws @ np.array([match.rouge for match in matches]) / counts,
            draws @ np.array([match.cider for match in matches]) / counts,
        )
        return dict(zip(METRICS, figures, strict=True))

    def _aggregate(self, predictions: Mapping[str, str]) -> CaptionScores:
        matches = [
            self._match(video, self._tokens[predictions[video]]) for video in self.references
        ]
        bleu, bleu_of = self._bleu.aggregate([match.bleu for match in matches])
        meteor, meteor_of = self._meteor.score([match.meteor for match in matches])
        rouge_of = [match.rouge for match in matches]
        cider_of = [match.cider for match in matches]
        overall = (*bleu, meteor, _mean(rouge_of), _mean(cider_of))
        each = zip(*bleu_of, meteor_of, rouge_of, cider_of, strict=True)
        return CaptionScores(
            dict(zip(METRICS, overall, strict=True)),
            {
                video: dict(zip(METRICS, scores, strict=True))
                for video, scores in zip(self.references, each, strict=True)
            },
        )

    def _match(self, video: str, sentence: str) -> _Match:
        if (video, sentence) not in self._matches:
            references = self._tokenised[video]
            self._matches[video, sentence] = _Match(
                self._bleu.match(video, sentence),
                self._meteor.match(sentence, references),
                self._rouge.calc_score([sentence], references),
                self._cider.score(video, sentence),
            )
        return self._matches[video, sentence]


def score_captions(
    predictions: Mapping[str, str], references: Mapping[str, Sequence[str]]
) -> CaptionScores:
    """Score one sentence of each video against the video's references."""
    return score_many([predictions], references)[0]


def score_many(
    sets: Sequence[Mapping[str, str]], references: Mapping[str, Sequence[str]]
) -> list[CaptionScores]:
    """Score several sets of predictions; the references are read once for all."""
    with CaptionScorer(references) as scorer:
        return scorer.score_many(sets)


def describe_evaluator(java: bool = False) -> dict[str, str]:
    """What a figure must be quoted with: the evaluator's name, version and options."""
    return {
        "evaluator": f"pycocoevalcap {version('pycocoevalcap')}",
        **({"java": jars.name_java()} if java else {}),
        "tokenizer": "Stanford PTB 3.4.1, lower case, without punctuation",
        "Bleu": "1 to 4 words, closest reference length",
        "METEOR": f"1.5 {' '.join(jars.OPTIONS)}",
        "ROUGE_L": "beta 1.2",
        "CIDEr": f"CIDEr-D, 1 to {LONGEST} words, sigma {SIGMA:g}, "
        "document frequencies of the references",
    }


@dataclass(frozen=True)
class _Match:
    """What each metric keeps of a sentence against its video's references."""

    bleu: dict[str, Any]
    meteor: Any
    rouge: float
    cider: float


class _Tokens(dict[str, str]):
    """Sentences and their tokens."""

    def __init__(self, tokenise: Callable[[Sequence[str]], list[str]]) -> None:
        super().__init__()
        self._tokenise = tokenise

    def learn(self, sentences: Iterable[str]) -> None:
        """Tokenise those not seen before, all in one go."""
        new = [sentence for sentence in dict.fromkeys(sentences) if sentence not in self]
        if new:
            self.update(zip(new, self._tokenise(new), strict=True))


class _Bleu:
    """The COCO code's BLEU, its counting apart from its aggregation."""

    def __init__(self, references: Mapping[str, Sequence[str]]) -> None:
        self._coco = import_coco("bleu.bleu_scorer")
        self._references = {
            video: self._coco.cook_refs(texts) for video, texts in references.items()
        }

    def match(self, video: str, sentence: str) -> dict[str, Any]:
        counts: dict[str, Any] = self._coco.cook_test(sentence, self._references[video])
        return counts

    def aggregate(self, matches: list[dict[str, Any]]) -> tuple[list[float], list[list[float]]]:
        """Bleu_1 to Bleu_4 of all, and for each of these its values of the single matches."""
        scorer = self._coco.BleuScorer()
        scorer.ctest = matches
        overall, each = scorer.compute_score(option="closest")
        return overall, each

    def resample(self, matches: list[dict[str, Any]], draws: Array) -> list[Array]:
        """Bleu_1 to Bleu_4 of draws (N, M), each how often every one of the M matches is in it."""
        sums = draws @ np.array([self._list_counts(match) for match in matches], float)
        said, closest, *counts = sums.T
        guessed, right = np.split(np.array(counts), 2)
        # The COCO code's small numbers, which keep nothing out of nothing from being an error.
        precisions = np.cumprod((right + 1e-15) / (guessed + 1e-9), axis=0)
        ratio = (said + 1e-15) / (closest + 1e-9)
        brevity = np.where(ratio < 1, np.exp(1 - 1 / ratio), 1)
        return [bleu ** (1 / n) * brevity for n, bleu in enumerate(precisions, start=1)]

    @staticmethod
    def _list_counts(match: dict[str, Any]) -> list[int]:
        length = match["testlen"]
        closest = min((abs(each - length), each) for each in match["reflen"])[1]
        return [length, closest, *match["guess"], *match["correct"]]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
