"""A captioner that starts from a trained one, though its words and streams are others."""

from __future__ import annotations

from pathlib import Path

import torch

from densevidcap.data.text import match_words
from densevidcap.errors import ModelError
from densevidcap.language.captioner import Captioner
from densevidcap.language.streams import StreamProjection

OF_A_CORPUS = ("words", "special_words", "clip_words", "category")
"""Streams with a place for each word of a lexicon, or each category: another corpus has others."""


@torch.no_grad()
def inherit(heir: Captioner, folder: Path) -> None:
    """Take over all that the captioner in the folder knows and the heir can use.

    Words that both have keep their rows of the table. Streams of the corpus begin as if they were
    absent, which a captioner with stream dropout has learned to do without.
    """
    ancestor = Captioner.load(folder)
    known = ancestor.state_dict()
    here, there = match_words(heir.vocabulary.words, ancestor.vocabulary.words)
    strange = tuple(f"fusion.whole.{stream}." for stream in OF_A_CORPUS)
    for name, tensor in heir.state_dict().items():
        if name not in known or (name.startswith(strange) and not name.endswith(".absent")):
            continue
        if name in ("words.weight", "bias"):
            _check(folder, name, tensor[0], known[name][0])
            tensor[here] = known[name][there]
        else:
            _check(folder, name, tensor, known[name])
            tensor.copy_(known[name])
    for stream, projection in heir.fusion.whole.items():
        if stream in OF_A_CORPUS:
            assert isinstance(projection, StreamProjection)
            projection.linear.weight.zero_()
            projection.linear.bias.copy_(projection.absent)


def _check(folder: Path, name: str, ours: torch.Tensor, theirs: torch.Tensor) -> None:
    if ours.shape != theirs.shape:
        raise ModelError(
            f"{folder}: its captioner has other sizes than the recipe's ({name} is "
            f"{tuple(theirs.shape)}, not {tuple(ours.shape)}); set [captioner] as in its card"
        )
