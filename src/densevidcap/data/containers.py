"""Opening of media files of unknown origin, the same with every PyAV that pyproject.toml allows."""

from __future__ import annotations

from typing import Any

import av
from av.container import InputContainer

from densevidcap.data.clip import Extent
from densevidcap.data.limits import Limits

# A playlist or a script that poses as a video must not make us fetch or wait for what it names.
_PLAYLISTS = {"avisynth", "concat", "dash", "hls", "imf", "lavfi", "rtp", "rtsp", "sap", "sdp"}
_FORMATS = ",".join(sorted({n for f in av.formats_available for n in f.split(",")} - _PLAYLISTS))

# Titles need not be UTF-8. From PyAV 19 on that is no error any more, and no keyword either.
_KEYWORDS: dict[str, Any] = (
    {"metadata_errors": "replace"} if int(av.__version__.partition(".")[0]) < 19 else {}
)


def open_container(extent: Extent, limits: Limits, decode: bool = True) -> InputContainer:
    """The limit of pixels holds already while FFmpeg decodes the first frames to know the file.

    Without `decode` it goes by what the file declares, and no frame can be read.
    """
    options = {
        "protocol_whitelist": "file,subfile",
        "format_whitelist": _FORMATS,
        "max_pixels": str(limits.max_pixels),
    }
    if not decode:
        options["codec_whitelist"] = "none"
    container: InputContainer = av.open(extent.url, "r", options=options, **_KEYWORDS)
    return container
