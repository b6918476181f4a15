"""The file behind a clip, for what the clip itself does not tell: its sound and its codecs."""

from __future__ import annotations

import av
from av.container import InputContainer

from densevidcap.data.video import VideoClip

# A playlist that poses as a video must not make us fetch what it names.
_PROTOCOLS = {"protocol_whitelist": "file,subfile"}


def open_source(clip: VideoClip) -> InputContainer:
    return av.open(clip.extent.url, "r", options=_PROTOCOLS, metadata_errors="replace")
