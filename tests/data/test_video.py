"""The oddities of video files."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image
from tests.data.made_clips import brightness, paint, tone, write_gif, write_video

from densevidcap.data.clip import open_clip
from densevidcap.data.limits import Limits
from densevidcap.data.sampling import Sampling
from densevidcap.data.video import WORTH_A_SEEK
from densevidcap.errors import ClipError, ClipTooLargeError, DenseVidCapWarning
from densevidcap.types import UInt8Array

CODECS = {
    "h264.mp4": ("libx264", {"g": "12"}),
    "h264-long-gop.mp4": ("libx264", {"g": "300"}),
    "h264-pyramid.mkv": ("libx264", {"g": "12", "x264-params": "b-pyramid=strict:bframes=7"}),
    "h264-open-gop.mkv": ("libx264", {"x264-params": "open-gop=1:keyint=12"}),
    "h264-intra-refresh.mkv": ("libx264", {"x264-params": "intra-refresh=1:keyint=12"}),
    "h264.avi": ("libx264", {}),
    "h264.ts": ("libx264", {"g": "12"}),
    "h264.h264": ("libx264", {}),
    "hevc.mp4": ("libx265", {"g": "12", "x265-params": "log-level=none"}),
    "vp8.webm": ("libvpx", {"g": "12", "auto-alt-ref": "1", "lag-in-frames": "16"}),
    "vp9.webm": ("libvpx-vp9", {"g": "12"}),
    "mpeg4.mp4": ("mpeg4", {"g": "12", "bf": "2"}),
    "mpeg4.avi": ("mpeg4", {"bf": "2"}),
    "mpeg2.mpg": ("mpeg2video", {"g": "12", "bf": "2"}),
    "mpeg2.ts": ("mpeg2video", {"g": "12", "bf": "2"}),
    "ffv1.mkv": ("ffv1", {}),
}


@pytest.mark.parametrize("name", CODECS)
def test_chosen_frames_equal_streamed_ones(name: str, tmp_path: Path) -> None:
    """Seeking and leaving out frames must not change a pixel."""
    codec, options = CODECS[name]
    clip = open_clip(write_video(tmp_path / name, 120, codec=codec, options=options))
    streamed = list(clip.stream((32, 32)))
    assert len(streamed) == 120
    levels = [brightness(image) for _, image in streamed]
    # Frames of equal brightness within rounding may stand in either order.
    assert (np.diff(levels) > -2).all()
    assert levels[-1] - levels[0] > 140
    # Far apart, so that seeking pays, and side by side, so that it does not.
    chosen = [0, 1, 2, 40, 41, 90, 117, 119]
    assert WORTH_A_SEEK < 40 - 2
    for index, picked in zip(chosen, clip.pick(chosen, (32, 32)), strict=True):
        assert picked.source_frame == index
        assert picked.seconds == streamed[index][0]
        np.testing.assert_array_equal(picked.image, streamed[index][1])
    for first, end in [(0, 2), (3, 3), (50, 53), (89, 96), (118, 130)]:
        stretch = list(clip.stretch(first, end, (32, 32)))
        for (seconds, image), expected in zip(stretch, streamed[first:end], strict=True):
            assert seconds == expected[0]
            np.testing.assert_array_equal(image, expected[1])


def write_picture(path: Path, picture: UInt8Array, title: str = "") -> Path:
    """A video of one frame, without loss but for the usual space of colours."""
    with av.open(str(path), "w") as container:
        container.metadata["title"] = title
        stream = container.add_stream("ffv1", rate=10)
        stream.height, stream.width = picture.shape[:2]
        stream.pix_fmt = "yuv420p"
        container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return path


def test_a_title_need_not_be_utf_8(tmp_path: Path) -> None:
    path = write_picture(tmp_path / "clip.mkv", paint(1, 2), "Le soleil se couche")
    data = path.read_bytes()
    assert b"Le soleil" in data
    path.write_bytes(data.replace(b"Le soleil", b"L'\xe9t\xe9 est"))
    assert len(list(open_clip(path).stream())) == 1


def test_colours_are_those_of_the_picture(tmp_path: Path) -> None:
    """Scaled down, a video must look to a network as the same picture does in a file."""
    rng = np.random.default_rng(0)
    small = Image.fromarray(rng.integers(0, 256, (6, 8, 3), np.uint8))
    picture = small.resize((256, 192), Image.Resampling.BICUBIC)
    clip = open_clip(write_picture(tmp_path / "clip.mkv", np.asarray(picture)))
    for size in (64, 48), (256, 192):
        _, shown = next(clip.stream(size))
        difference = shown.astype(int) - picture.resize(size, Image.Resampling.BICUBIC)
        assert abs(difference.mean()) < 0.2
        assert np.abs(difference).max() <= 3


def test_variable_frame_rate(tmp_path: Path) -> None:
    milliseconds = [0, 10, 20, 30, 500, 1000, 1700, 1710, 1720, 3000]
    clip = open_clip(write_video(tmp_path / "clip.mkv", milliseconds=milliseconds))
    assert clip.times() == pytest.approx(np.array(milliseconds) / 1000)
    uniform = clip.sample(Sampling(frames=4), (16, 16))
    # The middles of four spans are .38, 1.13, 1.88 and 2.63 s; the frame on screen at the
    # third is still there at the fourth, and no frame comes twice.
    assert uniform.times.tolist() == pytest.approx([0.03, 1.0, 1.72, 3.0])
    assert len(clip.sample(Sampling(frames=30), (16, 16))) == 10


@pytest.mark.parametrize(
    ("rotation", "corner"), [(90, "left bottom"), (180, "right bottom"), (-90, "right top")]
)
def test_rotation_is_applied(tmp_path: Path, rotation: int, corner: str) -> None:
    clip = open_clip(write_video(tmp_path / "clip.mp4", 5, rotation=rotation))
    size = (64, 48) if rotation == 180 else (48, 64)
    assert (clip.info.width, clip.info.height) == size
    _, image = next(clip.stream())
    assert image.shape == (size[1], size[0], 3)
    column, row = corner.split()
    red, _, blue = image[0 if row == "top" else -1, 0 if column == "left" else -1].astype(int)
    assert red - blue > 150


@pytest.mark.parametrize("size", [(63, 47), (1, 1), (17, 200)])
def test_odd_sizes(tmp_path: Path, size: tuple[int, int]) -> None:
    path = write_video(tmp_path / "clip.mkv", 3, codec="ffv1", sizes=[size], pixels="yuv444p")
    clip = open_clip(path)
    assert (clip.info.width, clip.info.height) == size
    _, image = next(clip.stream())
    assert np.abs(image - paint(0, 3, size).astype(float)).mean() < 4


def test_one_frame(tmp_path: Path) -> None:
    clip = open_clip(write_video(tmp_path / "clip.mp4", 1))
    assert clip.info.frame_count == 1
    assert clip.info.duration is None
    assert clip.sample().times.tolist() == [0.0]


@pytest.mark.parametrize(
    ("name", "codec", "container_options"),
    [("live.webm", "libvpx-vp9", {"live": "1"}), ("bare.h264", "libx264", {})],
)
def test_without_duration(
    tmp_path: Path, name: str, codec: str, container_options: dict[str, str]
) -> None:
    path = write_video(tmp_path / name, 20, codec=codec, container_options=container_options)
    clip = open_clip(path)
    assert clip.info.duration == pytest.approx(2.0)
    assert clip.sample().times == pytest.approx(np.arange(20) / 10)


def test_several_streams(tmp_path: Path) -> None:
    path = write_video(
        tmp_path / "clip.mkv", 10, sizes=[(64, 48), (32, 16)], sounds=[tone(1.0), tone(1.0)]
    )
    clip = open_clip(path)
    assert (clip.info.width, clip.info.height) == (64, 48)
    assert clip.info.frame_count == 10
    assert clip.info.has_sound
    assert clip.sound() is not None


def test_file_names_that_ffmpeg_would_interpret(tmp_path: Path) -> None:
    path = write_video(tmp_path / "plain.mp4", 3)
    for name in ("12:30 clip.mp4", "clip%03d.mp4", "concat:a|b.mp4", "a::b.mp4", "-i.mp4"):
        assert len(open_clip(path.rename(tmp_path / name)).sample()) == 3
        path = tmp_path / name


def test_sound_is_mono_of_the_same_loudness(tmp_path: Path) -> None:
    path = write_video(tmp_path / "clip.mkv", 20, sounds=[tone(2.0)])
    sound = open_clip(path).sound()
    assert sound is not None
    assert sound.dtype == np.float32
    assert len(sound) == pytest.approx(2 * 16_000, rel=0.05)
    steady = sound[8_000:24_000]
    assert np.abs(steady).max() == pytest.approx(0.5, abs=0.05)
    spectrum = np.abs(np.fft.rfft(steady))
    assert np.argmax(spectrum) == pytest.approx(440, abs=1)


def test_late_sound_starts_late(tmp_path: Path) -> None:
    path = write_video(tmp_path / "clip.mkv", 20, sounds=[tone(1.0)], sound_delay=0.5)
    sound = open_clip(path).sound(8_000)
    assert sound is not None
    assert not sound[:3_800].any()
    assert np.abs(sound[4_400:8_000]).max() > 0.4


def test_silence_is_no_sound(tmp_path: Path) -> None:
    clip = open_clip(write_video(tmp_path / "clip.mkv", 5, sounds=[0 * tone(0.5)]))
    assert clip.info.has_sound
    assert clip.sound() is None


def test_sound_alone_is_no_clip(tmp_path: Path) -> None:
    path = write_video(tmp_path / "song.m4a", sizes=[], sounds=[tone(0.5)])
    with pytest.raises(ClipError, match="no video stream"):
        open_clip(path).sample()


def test_too_long(tmp_path: Path) -> None:
    path = write_video(tmp_path / "clip.mp4", 20)
    with pytest.raises(ClipError, match="max_duration"):
        open_clip(path, limits=Limits(max_duration=1)).sample()


@pytest.mark.parametrize("name", ["mjpeg.mp4", "mjpeg.mkv", "mjpeg.avi", "ffv1.mkv", "png.mov"])
def test_a_size_is_refused_by_its_name_whatever_the_decoder(name: str, tmp_path: Path) -> None:
    """Decoders that refuse the first frame leave no size behind."""
    codec = name.partition(".")[0]
    pixels = {"mjpeg": "yuvj420p", "ffv1": "yuv420p", "png": "rgb24"}[codec]
    path = write_video(tmp_path / name, 3, codec=codec, pixels=pixels)
    assert open_clip(path).info.width == 64
    with pytest.raises(ClipTooLargeError, match="64 x 48 pixels: 12,288 is over max_frame_bytes"):
        _ = open_clip(path, limits=Limits(max_frame_bytes=4 * 64 * 48 - 1)).info


def test_transparent_gif_is_laid_on_white(tmp_path: Path) -> None:
    path = tmp_path / "clip.gif"
    clear = Image.new("RGBA", (8, 8), (255, 0, 0, 0))
    clear.save(path, save_all=True, append_images=[clear], duration=50)
    assert (open_clip(path).sample(size=(8, 8)).images == 255).all()


def test_gif_times(tmp_path: Path) -> None:
    clip = open_clip(write_gif(tmp_path / "clip.gif", 5, milliseconds=70))
    assert clip.times() == pytest.approx(np.arange(5) * 0.07)


def test_damaged_video_gives_what_is_intact(tmp_path: Path) -> None:
    path = write_video(tmp_path / "clip.mp4", 60, options={"g": "10"})
    data = bytearray(path.read_bytes())
    pixels = data.index(b"mdat") + 4
    middle = (pixels + data.index(b"moov")) // 2
    data[middle : middle + 500] = bytes(500)
    path.write_bytes(data)
    clip = open_clip(path)
    with pytest.warns(DenseVidCapWarning, match=r"clip\.mp4: is damaged"):
        frames = clip.sample(Sampling(frames=60), (16, 16))
    assert 20 < len(frames) < 60
    assert (np.diff(frames.times) > 0).all()
    # Frames that are damaged count too, but none is taken for them.
    assert frames.source_frames is not None
    assert frames.source_frames.max() > len(frames)
    assert clip.times()[frames.source_frames].tolist() == frames.times.tolist()


def test_playlist_in_disguise_fetches_nothing(tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    path.write_text("#EXTM3U\n#EXTINF:1,\nhttp://localhost:1/secret.ts\n#EXT-X-ENDLIST\n")
    with pytest.raises(ClipError, match=r"clip\.mp4: cannot be read as a video"):
        open_clip(path).sample()
