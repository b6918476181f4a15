"""A direct call of the COCO caption code, as its own evaluation makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import Meteor
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

from densevidcap.evaluation import METRICS, CaptionScores

Texts = Mapping[str, Sequence[str]]


class CocoEvaluator:
    """Keeps its tokenised references and its METEOR, and nothing else, from set to set."""

    def __init__(self, references: Texts) -> None:
        self._references = tokenise(references)
        self._meteor = Meteor()

    def score(self, predictions: Mapping[str, str]) -> CaptionScores:
        said = tokenise({video: [predictions[video]] for video in self._references})
        bleu, bleu_of = Bleu(4).compute_score(self._references, said, verbose=0)
        overall, each = list(bleu), list(bleu_of)
        for scorer in (self._meteor, Rouge(), Cider()):
            score, scores = scorer.compute_score(self._references, said)
            overall.append(score)
            each.append(scores)
        return CaptionScores(
            dict(zip(METRICS, overall, strict=True)),
            {
                video: dict(zip(METRICS, scores, strict=True))
                for video, scores in zip(self._references, zip(*each, strict=True), strict=True)
            },
        )


def tokenise(texts: Texts) -> dict[str, list[str]]:
    rows = {video: [{"caption": text} for text in of_video] for video, of_video in texts.items()}
    tokenised: dict[str, list[str]] = PTBTokenizer().tokenize(rows)
    return tokenised
