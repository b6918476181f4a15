"""What a sentence is worth to a clip: how far it agrees with what people said of it, by CIDEr."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from densevidcap.data.text import tokenise
from densevidcap.evaluation.cider import Cider


class Consensus:
    """The captions of a set of clips; their words weigh more the fewer clips have them."""

    def __init__(self, captions: Mapping[str, Sequence[str]]) -> None:
        self._cider = Cider({clip: [_clean(s) for s in said] for clip, said in captions.items()})

    def weigh(self, clip: str, sentence: str) -> float:
        """CIDEr (from 0 to 10) of any sentence against all of the clip's captions."""
        return self._cider.score(clip, _clean(sentence))


def _clean(sentence: str) -> str:
    return " ".join(tokenise(sentence))
