"""What is kept of the words that a clip shows, against what the Lexical-FCN saw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.data.made_clips import write_video
from tests.pipeline.small_model import write_model

from densevidcap.data.clip import open_clip
from densevidcap.library.describing import Describer
from densevidcap.library.looking import SEEN, gather_words
from densevidcap.library.shown import ShownWords, WordRecord, from_byte
from densevidcap.library.vectors import lengthen
from densevidcap.models.shown_words import score_clip
from densevidcap.pipeline.captioner import DenseCaptioner
from densevidcap.types import FrameGrid


@pytest.fixture(scope="module")
def captioner(tmp_path_factory: pytest.TempPathFactory) -> DenseCaptioner:
    return DenseCaptioner.load(write_model(tmp_path_factory.mktemp("models") / "tiny"))


@pytest.fixture(scope="module")
def seen(captioner: DenseCaptioner, tmp_path_factory: pytest.TempPathFactory) -> FrameGrid:
    clip = write_video(tmp_path_factory.mktemp("clips") / "clip.mp4", 12)
    grid = captioner.read_words(open_clip(clip))
    # Weights at random see much the same everywhere; these are as different as can be.
    random = np.random.default_rng(0)
    return FrameGrid(
        grid.grid,
        grid.times,
        random.random(grid.probabilities.shape).astype(np.float32) ** 3,
        grid.features,
        patches=grid.patches,
    )


@pytest.fixture(scope="module")
def kept(captioner: DenseCaptioner, seen: FrameGrid) -> ShownWords:
    boxes = captioner.config.boxes
    return gather_words(captioner.words, captioner.trust, seen, (0.0, 1.2), boxes)


def test_every_word_of_the_clip_is_kept(seen: FrameGrid, kept: ShownWords) -> None:
    assert from_byte(kept.clip) == pytest.approx(score_clip(seen), rel=0.03)


def test_each_frame_s_words_are_kept_with_their_regions(seen: FrameGrid, kept: ShownWords) -> None:
    peaks = seen.probabilities.max(axis=1)
    assert len(kept.frames) == (peaks >= SEEN).sum()
    for word in range(peaks.shape[1]):
        expected = np.where(peaks[:, word] >= SEEN, peaks[:, word], 0)
        assert kept.follow(word) == pytest.approx(expected, rel=0.03)
    for frame, word, region in zip(kept.frames, kept.words, kept.regions, strict=True):
        assert seen.probabilities[frame, region, word] == peaks[frame, word]


def test_the_best_frame_of_a_likely_word_has_a_box(seen: FrameGrid, kept: ShownWords) -> None:
    peaks = seen.probabilities.max(axis=1)
    for word in set(kept.boxed.tolist()):
        assert peaks[:, word].argmax() in kept.boxed_frames[kept.boxed == word]
    assert (kept.boxes[:, :2] < kept.boxes[:, 2:]).all()
    pairs = [*zip(kept.boxed.tolist(), kept.boxed_frames.tolist(), strict=True)]
    assert len(pairs) == len(set(pairs))
    box = kept.find_box(*pairs[0])
    assert box is not None
    assert 255 * box.left == pytest.approx(kept.boxes[0, 0])


def test_a_word_that_is_not_likely_has_no_place(kept: ShownWords) -> None:
    words = {*zip(kept.words.tolist(), kept.frames.tolist(), strict=True)}
    absent = [(w, f) for w in range(len(kept.clip)) for f in range(len(kept.times))]
    word, frame = next(pair for pair in absent if pair not in words)
    assert kept.find_box(word, frame) is None


def test_what_is_kept_is_read_back(kept: ShownWords, tmp_path: Path) -> None:
    record = WordRecord("digest", (kept, kept), (("a dog", 0.25),))
    record.save(tmp_path / "words.safetensors")
    read = WordRecord.load(tmp_path / "words.safetensors")
    assert (read.digest, read.unsaid, len(read.segments)) == ("digest", record.unsaid, 2)
    for name, value in vars(kept).items():
        assert np.array_equal(getattr(read.segments[1], name), value), name


def test_a_recipe_changes_with_what_can_change_a_sentence(tmp_path: Path) -> None:
    model = write_model(tmp_path / "tiny")
    recipe = Describer(model, {}).recipe
    others: list[dict[str, float]] = [
        {"selection.k": 1},
        {"decoding.seed": 9},
        {"boxes.level": 0.2},
    ]
    assert len({recipe, *(Describer(model, each).recipe for each in others)}) == 4
    (model / "ranking.json").write_text('{"slope": 2.0, "fit": 0.5, "offset": -1.0}')
    assert Describer(model, {}).recipe != recipe


def test_moments_that_look_alike_are_kept_once(captioner: DenseCaptioner, seen: FrameGrid) -> None:
    boxes = captioner.config.boxes
    random = np.random.default_rng(0)
    shape = (12, *seen.features.shape[1:])
    one, other = random.standard_normal((2, *shape[1:])).astype(np.float32)
    features = np.stack([one] * 6 + [other] * 3 + [one] * 3)
    film = replace(seen, features=features)
    kept = gather_words(captioner.words, captioner.trust, film, (0.0, 1.2), boxes)
    # Middles of four parts are frames 1, 4, 7 and 10; the second looks like the first.
    assert kept.moments.tolist() == [1, 7, 10]
    assert [kept.find_moment(float(time)) for time in film.times] == [0] * 6 + [1] * 3 + [2] * 3
    cosines = (lengthen(kept.vectors.astype(np.float32)) * lengthen(features[[1, 7, 10]])).sum(-1)
    assert cosines == pytest.approx(np.ones(cosines.shape), abs=1e-3)
