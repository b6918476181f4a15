"""The video of a report: inside the page if it is small, beside it if not."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from av.video.stream import VideoStream
from PIL import Image

from densevidcap.data.clip import Clip
from densevidcap.data.containers import open_container
from densevidcap.data.video import VideoClip
from densevidcap.export.film import write_film
from densevidcap.files import workspace, writing
from densevidcap.viz.video import fit_video

EMBEDDED = 8 * 2**20
"""Bytes of a video that is put into the page itself; a larger one is linked."""

PLAYED = {
    ".mp4": ("video/mp4", {"h264", "av1", "vp9"}),
    ".m4v": ("video/mp4", {"h264"}),
    ".webm": ("video/webm", {"vp8", "vp9", "av1"}),
}
"""Ending to the media type and the codecs that every browser of today plays."""


def find_footage(clip: Clip, page: Path, advance: Callable[[], None]) -> str:
    """The URL of a video that browsers play: the clip's file, or a film made of its pictures.

    A film that is too large for the page stands beside it. It is named by the page and by what is
    in it, so that a file of that name is the same film, and no other is touched.
    """
    # Here, because it takes PyTorch along, which a process that only shows clips has no use for.
    from densevidcap.model_folder import hash_file

    if isinstance(clip, VideoClip) and is_played(clip):
        source = clip.extent.path
        media_type, _ = PLAYED[source.suffix.lower()]
        return _embed(source, media_type) if _is_small(source) else _link(source, page.parent)
    with workspace(page.parent) as private:
        film = private / "film.mp4"
        film_clip(clip, film, advance)
        if _is_small(film):
            return _embed(film, "video/mp4")
        beside = page.with_suffix(f".film-{hash_file(film)[:8]}.mp4")
        if not beside.exists():
            with writing(beside):
                film.replace(beside)
        return _link(beside, page.parent)


def film_clip(clip: Clip, path: Path, advance: Callable[[], None]) -> None:
    """Write a film of the clip's pictures that every browser plays; `advance` after each."""
    size = fit_video((clip.info.width, clip.info.height))
    pictures = ((seconds, Image.fromarray(image)) for seconds, image in clip.stream(size))
    write_film(path, pictures, size, clip, advance)


def is_played(clip: VideoClip) -> bool:
    """Whether browsers play the clip's own file."""
    _, codecs = PLAYED.get(clip.extent.path.suffix.lower(), ("", set()))
    if not codecs or clip.extent.size is not None:
        return False
    with open_container(clip.extent, clip.limits) as container:
        stream = container.streams.best("video")
        return (
            isinstance(stream, VideoStream)
            and stream.codec_context.name in codecs
            and stream.codec_context.pix_fmt == "yuv420p"
            # Our times count from the first picture, a browser's from the start of the file.
            and not stream.start_time
        )


def _is_small(path: Path) -> bool:
    return path.stat().st_size <= EMBEDDED


def _embed(path: Path, media_type: str) -> str:
    return f"data:{media_type};base64,{b64encode(path.read_bytes()).decode()}"


def _link(path: Path, folder: Path) -> str:
    # As bytes, because a name need not be text; a colon would look like a protocol.
    return quote(os.fsencode(os.path.relpath(path, folder)))
