"""Captioners that start from a trained one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from densevidcap.config import CaptionerConfig
from densevidcap.data.text import Vocabulary
from densevidcap.errors import ModelError
from densevidcap.models.captioner import CaptionModel, StreamWidths, warm_start
from densevidcap.models.fusion import Streams

OLD, NEW = Vocabulary(["a", "dog", "runs"]), Vocabulary(["runs", "a", "whale"])


def make(vocabulary: Vocabulary, words: int, hidden: int = 8) -> CaptionModel:
    widths = StreamWidths({"centred": 5}, {"clip": 5, "clip_words": words})
    return CaptionModel(vocabulary, CaptionerConfig(hidden=hidden, embedding=6), widths).eval()


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    torch.manual_seed(1)
    model = make(OLD, words=4)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    model.save(tmp_path / "trained", {})
    return tmp_path / "trained"


def test_shared_words_keep_their_rows_and_new_ones_are_their_own(trained: Path) -> None:
    heir, ancestor = make(NEW, words=7), CaptionModel.load(trained)
    fresh = heir.words.weight.detach().clone()
    warm_start(heir, trained)
    for word in (*Vocabulary.SPECIAL_TOKENS, "a", "runs"):
        here, there = NEW.words.index(word), OLD.words.index(word)
        assert torch.equal(heir.words.weight[here], ancestor.words.weight[there])
        assert heir.bias[here] == ancestor.bias[there]
    whale = NEW.words.index("whale")
    assert torch.equal(heir.words.weight[whale], fresh[whale])


def test_it_says_what_the_trained_one_says_without_the_streams_of_its_corpus(
    trained: Path,
) -> None:
    """Logits of shared words are equal, whatever the new corpus' words are."""
    heir, ancestor = make(NEW, words=7), CaptionModel.load(trained)
    warm_start(heir, trained)
    seen = {"centred": torch.randn(2, 3, 5)}
    clip, lengths = torch.randn(2, 5), torch.tensor([3, 2])
    ours = heir(
        Streams(seen, {"clip": clip, "clip_words": torch.rand(2, 7)}, lengths),
        torch.tensor([[NEW.BOS, NEW.words.index("a")]] * 2),
    )
    theirs = ancestor(
        Streams(seen, {"clip": clip}, lengths),
        torch.tensor([[OLD.BOS, OLD.words.index("a")]] * 2),
    )
    for word in (*Vocabulary.SPECIAL_TOKENS, "a", "runs"):
        here, there = NEW.words.index(word), OLD.words.index(word)
        torch.testing.assert_close(ours[..., here], theirs[..., there])


def test_other_sizes_are_refused(trained: Path) -> None:
    with pytest.raises(ModelError, match="other sizes than the config's") as caught:
        warm_start(make(NEW, words=7, hidden=10), trained)
    assert str(caught.value).startswith(f"{trained}: ")
