"""Answers as films and as lists of edits, read again."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.data.made_clips import (
    SOUND_RATE,
    brightness,
    paint,
    tone,
    write_folder,
    write_video,
)
from tests.library.made_library import make_library

from densevidcap.cli import root
from densevidcap.data.clip import open_clip
from densevidcap.errors import OutputError
from densevidcap.library.cutting import cut_answer, name_cuts
from densevidcap.library.playlist import name_frame, write_playlist
from densevidcap.library.search import Answer
from densevidcap.library.store import Library, Source
from densevidcap.types import FloatArray, UInt8Array


def make_answer(clip: Path | str, start: float, end: float, name: str = "clip.mp4") -> Answer:
    return Answer(
        str(clip), name, "ab" * 16, start, end, start, None, 1.0, {}, (("dog", 0.5),), None, None
    )


def read_film(path: Path) -> list[tuple[float, UInt8Array]]:
    with av.open(str(path)) as film:
        return [(f.time or 0.0, f.to_ndarray(format="rgb24")) for f in film.decode(video=0)]


def click_at(second: float, seconds: float) -> FloatArray:
    """(2, samples): silence, and from that second on a tone."""
    wave = tone(seconds)
    wave[:, : round(second * SOUND_RATE)] = 0
    return wave


def hear(path: Path) -> float | None:
    """When something is first heard, in seconds from the first picture."""
    sound = open_clip(path).sound(48_000)
    return None if sound is None else float(np.flatnonzero(np.abs(sound) > 0.1)[0] / 48_000)


@pytest.mark.parametrize("name", ["clip.mp4", "clip.mkv", "clip.avi"])
def test_a_cut_has_the_frames_and_the_sound_of_its_stretch(tmp_path: Path, name: str) -> None:
    sounds = [click_at(7.3, 10.0)]
    clip = write_video(tmp_path / name, 100, sounds=sounds, options={"g": "30"})
    path = tmp_path / "cut.mp4"
    cut_answer(make_answer(clip, 7.0, 8.0), path, 0.5)
    film = read_film(path)
    # Frames 65 to 84 of 100, ten a second.
    assert [round(seconds, 3) for seconds, _ in film] == [round(n / 10, 3) for n in range(20)]
    for (_, image), index in zip(film, range(65, 85), strict=True):
        assert brightness(image) == pytest.approx(brightness(paint(index, 100)), abs=3)
    heard = hear(path)
    assert heard is not None
    # AAC smears a sharp edge over a frame of its own, a fiftieth of a second.
    assert heard == pytest.approx(0.8, abs=0.03)
    length = open_clip(path).sound(48_000)
    assert length is not None
    assert len(length) / 48_000 == pytest.approx(2.0, abs=0.05)


def test_a_cut_does_not_go_beyond_its_clip(tmp_path: Path) -> None:
    clip = write_video(tmp_path / "clip.mp4", 20, sizes=[(63, 49)], pixels="yuv444p")
    cut_answer(make_answer(clip, 0.2, 2.0), tmp_path / "cut.mp4", 5.0)
    film = read_film(tmp_path / "cut.mp4")
    assert len(film) == 20
    assert film[0][1].shape == (48, 62, 3)
    assert hear(tmp_path / "cut.mp4") is None


def test_a_picture_stays_as_long_as_it_did(tmp_path: Path) -> None:
    clip = write_folder(tmp_path / "frames", 6)
    cut_answer(make_answer(clip, 2.2, 4.0), tmp_path / "cut.mp4", 0)
    film = read_film(tmp_path / "cut.mp4")
    # Picture 2 is seen at 2.2 seconds; picture 3 stays until the fourth.
    assert [seconds for seconds, _ in film] == pytest.approx([0, 1, 1.96], abs=0.01)
    expected = [brightness(paint(n, 6)) for n in (2, 3, 3)]
    assert [brightness(image) for _, image in film] == pytest.approx(expected, abs=3)


def test_names_of_cuts_sort_by_rank_and_are_plain(tmp_path: Path) -> None:
    names = ["a/b:c?.mp4", "../x.avi", "...", "shard.tar::video7", "größe.mov"] * 25
    answers = [make_answer("x", 3723.4, 3724, name) for name in names]
    paths = name_cuts(answers, tmp_path)
    assert paths == sorted(paths)
    assert len({*paths}) == len(paths)
    assert paths[0].name == "001-b_c-01h02m03s.mp4"
    for path in paths:
        assert path.parent == tmp_path
        assert re.fullmatch(r"\d{3}-[\w.+-]+-01h02m03s\.mp4", path.name), path.name


EVENT = re.compile(r"(\d{3})  (AX) {6} (V|AA/V) +C {8}" + " ".join([r"(\d\d:\d\d:\d\d:\d\d)"] * 4))


def count(code: str, base: int) -> int:
    hours, minutes, seconds, frames = map(int, code.split(":"))
    assert minutes < 60
    assert seconds < 60
    assert frames < base
    return ((hours * 60 + minutes) * 60 + seconds) * base + frames


def test_an_edit_list_counts_each_clip_in_its_own_frames(tmp_path: Path) -> None:
    slow = write_video(tmp_path / "slow.mp4", 40, sounds=[tone(4.0)])
    fast = write_video(tmp_path / "fast.mp4", 60, milliseconds=[20 * n for n in range(60)])
    answers = [
        make_answer(slow, 1.0, 3.0, "slow.mp4"),
        make_answer(tmp_path / "gone.mp4", 0, 1),
        make_answer(fast, 0.5, 1.1, "fast.mp4"),
    ]
    path = tmp_path / "dogs.edl"
    (missing,) = write_playlist(path, "döge\nM2 x", answers)
    assert "gone.mp4" in str(missing)
    lines = path.read_text().splitlines()
    assert lines[:3] == ["TITLE: d?ge M2 x", "FCM: NON-DROP FRAME", ""]
    first, second = (match.groups() for line in lines if (match := EVENT.fullmatch(line)))
    assert first[:3] == ("001", "AX", "AA/V")
    assert [count(code, 10) for code in first[3:]] == [10, 30, 0, 20]
    assert second[:3] == ("002", "AX", "V")
    assert [count(code, 50) for code in second[3:5]] == [25, 55]
    # 0.6 seconds in the film's ten frames a second.
    assert [count(code, 10) for code in second[5:]] == [20, 26]
    assert f"M2   AX       050.0                {second[3]}" in lines
    assert f"* SOURCE FILE: {fast}" in lines
    assert "* FROM CLIP NAME: slow.mp4" in lines


@given(st.integers(0, 10**6), st.sampled_from([(24, 1), (25, 1), (30000, 1001), (60, 1)]))
def test_no_frame_number_is_dropped(frame: int, rate: tuple[int, int]) -> None:
    exact = Fraction(*rate)
    assert count(name_frame(frame, exact), round(exact)) == frame


def test_a_playlist_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"\.m3u.*\.edl"):
        write_playlist(tmp_path / "list.txt", "dog", [])


class TestVerb:
    @pytest.fixture
    def library(self, tmp_path: Path) -> Library:
        """Where one of two clips with dogs has a file."""
        library = make_library(tmp_path / "library")
        clip = write_video(tmp_path / "beach.mp4", 40)
        library.note(Source(str(clip), "beach.mp4", "s", library.find_identity("beach.mp4")))
        return library

    def test_cuts_what_is_there_and_tells_what_is_gone(
        self, library: Library, tmp_path: Path
    ) -> None:
        folder = tmp_path / "cuts"
        asked = ["find", str(library.folder), "a dog on the beach", "--cut", str(folder)]
        result = CliRunner().invoke(root, [*asked, "--lead", "0.2"])
        assert result.exit_code == 1
        assert "left out: /films/shown.mp4: no such file" in result.stderr
        (film,) = folder.iterdir()
        assert film.name == "01-beach-00h00m01s.mp4"
        # From second 1.0 to 3.0, and two frames on both sides.
        assert len(read_film(film)) == 24
        before = film.read_bytes()
        again = CliRunner().invoke(root, asked)
        assert isinstance(again.exception, OutputError)
        assert film.read_bytes() == before
        assert CliRunner().invoke(root, [*asked, "-n", "1", "--overwrite"]).exit_code == 0
        assert len(read_film(film)) == 30

    def test_writes_edit_lists(self, library: Library, tmp_path: Path) -> None:
        path = tmp_path / "dogs.edl"
        asked = ["find", str(library.folder), "a beach", "-n", "1", "--playlist", str(path)]
        assert CliRunner().invoke(root, asked).exit_code == 0
        (event,) = filter(None, map(EVENT.fullmatch, path.read_text().splitlines()))
        assert [count(code, 10) for code in event.groups()[3:5]] == [0, 40]
