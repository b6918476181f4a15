"""How likely every sentence is under every region-sequence of a clip.

A clip's sentences begin alike, and each is read under all sequences. So sequences are encoded once,
and sentences are read as one tree of beginnings, word by word: each beginning once a sequence.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from densevidcap.data.text import Vocabulary
from densevidcap.language.captioner import Captioner
from densevidcap.language.streams import Streams


@torch.inference_mode()
def compare(captioner: Captioner, streams: Streams, sentences: Sequence[Sequence[int]]) -> Tensor:
    """(S, K): log P(sentence | streams) of S sentences, numbers without signs, and K sequences."""
    K = len(streams)
    endings = [(*words, Vocabulary.EOS) for words in sentences]
    totals = torch.zeros(len(endings), K, dtype=torch.float64)
    state, said = captioner.encode(streams), torch.full((K,), Vocabulary.BOS)
    # Sentences by their common beginning, whose K rows lie together in the state.
    groups = [list(range(len(endings)))]
    depth = 0
    while groups:
        log_probabilities, state = captioner.step(state, said)
        following: list[list[int]] = []
        parents: list[int] = []
        words: list[int] = []
        for parent, group in enumerate(groups):
            own = log_probabilities[parent * K : (parent + 1) * K]
            for word, going_on in _split(group, endings, depth).items():
                totals[going_on] += own[:, word]
                if word != Vocabulary.EOS:
                    following.append(going_on)
                    parents.append(parent)
                    words.append(word)
        rows = torch.tensor(parents, dtype=torch.long)[:, None] * K + torch.arange(K)
        state = state.select(rows.flatten())
        said = torch.tensor(words, dtype=torch.long).repeat_interleave(K)
        groups, depth = following, depth + 1
    return totals


def _split(
    group: Sequence[int], endings: Sequence[tuple[int, ...]], depth: int
) -> dict[int, list[int]]:
    """The sentences of a group by their word at that depth."""
    split: dict[int, list[int]] = {}
    for sentence in group:
        split.setdefault(endings[sentence][depth], []).append(sentence)
    return split
