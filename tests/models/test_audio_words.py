"""Words of sound: how they are learned, counted and kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.made_clips import tone, write_folder, write_gif, write_video

from densevidcap.data.clip import open_clip
from densevidcap.data.limits import Limits
from densevidcap.errors import ClipError, CorpusError, ModelError
from densevidcap.models.extractors.audio_words import WORDS, AudioWordStream, Codebook
from densevidcap.models.extractors.sound import RATE, hear
from densevidcap.types import FloatArray


def draw_looks(seed: int, count: int = 600) -> FloatArray:
    """Around three centres that lie far apart."""
    random = np.random.default_rng(seed)
    looks = 8 * np.eye(39, dtype=np.float32)[random.integers(3, size=count)]
    looks[:, :3] += random.normal(0, 0.3, (count, 3))
    return looks


def test_words_are_where_looks_gather() -> None:
    looks = draw_looks(0)
    book = Codebook.fit(looks, words=3)
    found = book.centres * book.deviation + book.mean
    assert sorted(found.argmax(axis=1).tolist()) == [0, 1, 2]
    np.testing.assert_allclose(found.max(axis=1), 8, atol=0.1)


@given(st.integers(0, 99), st.integers(1, 400))
def test_shares_are_of_all_looks_in_whatever_order(seed: int, count: int) -> None:
    looks = draw_looks(seed, count)
    shares = BOOK.count(looks)
    assert shares.min() >= 0
    np.testing.assert_allclose(shares.sum(), 1, rtol=1e-4)
    np.testing.assert_allclose(BOOK.count(looks[::-1]), shares, atol=1e-5)
    np.testing.assert_allclose(BOOK.count(np.tile(looks, (3, 1))), shares, atol=1e-5)
    share_of = gather(shares)
    for place in range(3):
        true = (looks[:, :3].argmax(axis=1) == place).mean()
        np.testing.assert_allclose(share_of[place], true, atol=0.02)


BOOK = Codebook.fit(draw_looks(1), words=30)


def gather(shares: FloatArray) -> list[float]:
    """Of the words around each of the three centres."""
    owners = (BOOK.centres * BOOK.deviation + BOOK.mean)[:, :3].argmax(axis=1)
    return [float(shares[owners == place].sum()) for place in range(3)]


@given(st.integers(0, 29))
def test_a_look_between_two_words_is_shared_by_both(word: int) -> None:
    """And by no other as much, where they are nearest to each other."""
    distances = np.square(BOOK.centres - BOOK.centres[word]).sum(axis=1)
    nearest = int(np.argsort(distances)[1])
    middle = (BOOK.centres[word] + BOOK.centres[nearest]) / 2
    shares = BOOK.count((middle * BOOK.deviation + BOOK.mean)[None])
    np.testing.assert_allclose(shares[word], shares[nearest], rtol=1e-2)
    np.testing.assert_allclose(shares.max(), shares[word], rtol=1e-2)
    assert shares[word] > 0.1


def test_the_same_looks_give_the_same_words_also_where_they_are_few() -> None:
    few = draw_looks(2, 40)
    first, again = Codebook.fit(few), Codebook.fit(few)
    assert first.hash() == again.hash() != Codebook.fit(draw_looks(3, 40)).hash()
    assert len(first.centres) == WORDS
    assert first.is_finite()


def test_they_are_kept_and_nothing_else_is_taken_for_them(tmp_path: Path) -> None:
    stream = AudioWordStream(Codebook.fit(draw_looks(4)))
    (name,) = stream.save(tmp_path)
    assert AudioWordStream().load(tmp_path).identify() == stream.identify()
    for broken in (b"", (tmp_path / name).read_bytes()[:-8]):
        (tmp_path / name).write_bytes(broken)
        with pytest.raises(ModelError, match="no words of sound; copy the whole model folder"):
            AudioWordStream().load(tmp_path)
    BOOK.save(tmp_path / name)
    with pytest.raises(ModelError, match="no words of sound"):
        AudioWordStream().load(tmp_path)
    with pytest.raises(ModelError, match="learned in training"):
        AudioWordStream().identify()


def test_a_silent_part_is_missing_and_not_a_word(tmp_path: Path) -> None:
    """The tone lasts for the second of four seconds."""
    sound = write_video(tmp_path / "late.mp4", sounds=[tone(1.0)], sound_delay=1.0)
    mute = open_clip(write_video(tmp_path / "mute.mp4"))
    clip = open_clip(sound)
    stream = AudioWordStream().fit([mute, clip])
    times = np.array([0.5, 1.5])
    assert stream.extract(mute, times, (0.0, 4.0)) is None
    assert stream.extract(clip, times, (3.0, 4.0)) is None
    heard, whole = hear(clip, (1.0, 2.0)), stream.extract(clip, times, (0.0, 4.0))
    assert heard is not None
    assert abs(len(heard) - RATE) <= 1
    assert whole is not None
    np.testing.assert_allclose((whole**2).sum(), 1, rtol=1e-4)
    for silent in (write_folder(tmp_path / "frames"), write_gif(tmp_path / "moving.gif")):
        assert hear(open_clip(silent), (0.0, 1.0)) is None
    with pytest.raises(CorpusError, match="no training clip has sound: take 'audio_words' out"):
        AudioWordStream().fit([mute])


def test_words_are_learned_without_a_clip_that_cannot_be_heard(tmp_path: Path) -> None:
    path = write_video(tmp_path / "clip.mp4", sounds=[tone(1.0)])
    clip, too_long = open_clip(path), open_clip(path, limits=Limits(max_sound_bytes=RATE))
    with pytest.raises(ClipError):
        hear(too_long, (0.0, 1.0))
    learned = AudioWordStream().fit([too_long, clip])
    assert learned.extract(clip, np.array([0.5]), (0.0, 1.0)) is not None
