"""New pictures of a clip as an H.264 film with the clip's own sound."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from PIL import Image

from densevidcap.data.clip import Clip, Size
from densevidcap.data.video import VideoClip
from densevidcap.drawing.video import write_video
from densevidcap.export.soundtrack import add_sound
from densevidcap.files import workspace


def write_film(
    path: Path,
    pictures: Iterable[tuple[float, Image.Image]],
    size: Size,
    clip: Clip,
    advance: Callable[[], None],
) -> None:
    """Write (seconds, picture) of that even size; `advance` is called after each."""
    if not isinstance(clip, VideoClip) or not clip.info.has_sound:
        write_video(path, pictures, size, advance)
        return
    with workspace(path.parent) as private:
        silent = private / "silent.mp4"
        write_video(silent, pictures, size, advance)
        add_sound(silent, clip, path)
