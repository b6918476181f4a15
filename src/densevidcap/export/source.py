"""The file behind a clip, for what the clip itself does not tell: its sound and its codecs."""

from __future__ import annotations

from av.container import InputContainer

from densevidcap.data.containers import open_container
from densevidcap.data.video import VideoClip


def open_source(clip: VideoClip) -> InputContainer:
    return open_container(clip.extent)
