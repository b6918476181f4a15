"""The annotated video, decoded again."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given
from PIL import Image
from tests.data.made_clips import paint, tone, write_folder, write_gif, write_video
from tests.export.made_captions import make_caption, make_captions, texts

from densevidcap.data.clip import open_clip
from densevidcap.export import save
from densevidcap.types import UInt8Array
from densevidcap.viz.captions import Panel
from densevidcap.viz.colours import RGB, colour_of

WIDTH, HEIGHT = 480, 360
"""Of the clip's part: small clips are enlarged."""


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> dict[float, UInt8Array]:
    """Time to picture of an annotated clip."""
    folder = tmp_path_factory.mktemp("video")
    save(make_captions(write_video(folder / "talk.mp4")), folder / "out.mp4")
    with av.open(str(folder / "out.mp4")) as film:
        return {
            round(frame.time, 3): frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)
        }


def test_every_picture_comes_at_its_time(pictures: dict[float, UInt8Array]) -> None:
    assert list(pictures) == [round(n / 10, 3) for n in range(40)]


@pytest.mark.parametrize(
    ("time", "number", "left"),
    [
        (0.0, 0, 0),  # held before the first frame that was looked at
        (0.5, 0, 0),
        (1.0, 0, 0.5 / 6),  # halfway
        (3.5, 0, 3 / 6),
        (3.9, 0, 3 / 6),
        (1.0, 1, 4 / 6),
        (2.5, 2, 0),
    ],
)
def test_boxes_are_where_their_regions_are(
    pictures: dict[float, UInt8Array], time: float, number: int, left: float
) -> None:
    top = 0.0 if number == 2 else 0.25
    # Lower lanes are drawn a line further in.
    x, y = round(left * WIDTH) + 2 + 3 * number, round((top + 0.3) * HEIGHT)
    assert _shows(pictures[time], x, y, colour_of(number).rgb)
    assert not _shows(pictures[time], x + 40, y, colour_of(number).rgb)


def test_boxes_and_sentences_go_when_their_time_is_over(pictures: dict[float, UInt8Array]) -> None:
    third = colour_of(2).rgb
    inks = {
        time: int((picture[HEIGHT:] > 200).all(axis=2).sum()) for time, picture in pictures.items()
    }
    for time, shown in [(1.9, False), (2.0, True), (2.9, True), (3.0, False)]:
        assert _shows(pictures[time], 2 + 6, round(0.3 * HEIGHT), third) == shown
        assert (inks[time] > inks[0.0] * 1.2) == shown
    assert inks[0.0] > 300


def _shows(picture: UInt8Array, x: int, y: int, colour: RGB) -> bool:
    """Whether some pixel near (x, y) has much of that colour, of which the codec keeps a part."""
    near = picture[y - 3 : y + 4, max(0, x - 3) : x + 4].astype(float)
    hues = near - near.mean(axis=2, keepdims=True)
    hue = np.array(colour) - np.mean(colour)
    return bool((hues @ hue).max() > 0.4 * (hue @ hue))


@pytest.mark.parametrize("delay", [0.0, 1.0])
@pytest.mark.parametrize("ending", ["mp4", "mkv"])
def test_sound_is_kept_in_step(tmp_path: Path, ending: str, delay: float) -> None:
    clip = write_video(tmp_path / f"talk.{ending}", sounds=[tone(2)], sound_delay=delay)
    save(make_captions(clip), tmp_path / "out" / "talk.mp4")
    before, after = (open_clip(path).sound() for path in (clip, tmp_path / "out" / "talk.mp4"))
    assert before is not None
    assert after is not None
    loud_before, loud_after = (
        np.flatnonzero(abs(sound) > 0.25) / 16_000 for sound in (before, after)
    )
    assert loud_after[0] == pytest.approx(loud_before[0], abs=0.05)
    assert loud_after[-1] == pytest.approx(loud_before[-1], abs=0.05)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["talk.mp4"]


@pytest.mark.parametrize("ahead", [2**40, 2**58, 2**61])
def test_pictures_ages_after_their_sound(tmp_path: Path, ahead: int) -> None:
    """Their first stamp, in the sound's finer unit, is more than 64 bits hold."""
    whole = write_video(tmp_path / "talk.mkv", 10, codec="mpeg4", sounds=[tone(1)])
    late = tmp_path / "late.mov"
    with av.open(str(whole)) as source, av.open(str(late), "w") as film:
        streams = {each.index: film.add_stream_from_template(each) for each in source.streams}
        for packet in source.demux():
            if packet.dts is not None and packet.pts is not None:
                if packet.stream.type == "video":
                    packet.pts, packet.dts = packet.pts + ahead, packet.dts + ahead
                packet.stream = streams[packet.stream.index]
                film.mux(packet)
    save(make_captions(late), tmp_path / "out.mp4")
    assert len(open_clip(tmp_path / "out.mp4").times()) == len(open_clip(late).times())


def test_sound_that_runs_backwards(tmp_path: Path) -> None:
    clip = write_video(tmp_path / "talk.ts", 20, sounds=[tone(2)])
    data = clip.read_bytes()
    middle = len(data) // 376 * 188
    clip.write_bytes(data[:middle] + data)
    save(make_captions(clip), tmp_path / "out.mp4")
    assert open_clip(tmp_path / "out.mp4").sound() is not None


@pytest.mark.parametrize("make", [write_gif, write_folder], ids=lambda make: make.__name__)
def test_gifs_and_folders_become_silent_videos(tmp_path: Path, make: type) -> None:
    clip = make(tmp_path / "talk.gif")
    counted: list[None] = []
    save(make_captions(clip), tmp_path / "out.mp4", advance=lambda: counted.append(None))
    assert not open_clip(tmp_path / "out.mp4").info.has_sound
    times = open_clip(tmp_path / "out.mp4").times()
    np.testing.assert_allclose(times[:12], open_clip(clip).times(), atol=1e-3)
    # A picture that lasts for a second is shown again at its end.
    assert times[12:].tolist() == ([] if make is write_gif else [pytest.approx(11.96, abs=1e-3)])
    assert len(counted) == 12


def test_a_still_becomes_a_picture_with_sentences(tmp_path: Path) -> None:
    Image.fromarray(paint(0, 1)).save(tmp_path / "still.png")
    save(make_captions(tmp_path / "still.png"), tmp_path / "out.mp4")
    assert open_clip(tmp_path / "out.mp4").times().tolist() == pytest.approx([0, 0.96], abs=1e-3)


@given(texts)
def test_any_sentence_can_be_drawn(text: str) -> None:
    panel = Panel([make_caption(text)], WIDTH)
    assert panel.height % 2 == 0
    assert panel.draw((0,)).size == (WIDTH, panel.height)
