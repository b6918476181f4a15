"""The file behind a clip, for what the clip itself does not tell: its sound and its codecs."""

from __future__ import annotations

import av
from av.container import InputContainer

from densevidcap.data.video import VideoClip, reading_options


def open_source(clip: VideoClip) -> InputContainer:
    options = reading_options(clip.limits)
    return av.open(clip.extent.url, "r", options=options, metadata_errors="replace")
