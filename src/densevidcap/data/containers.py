"""Opening of media files, the same with every PyAV that pyproject.toml allows."""

from __future__ import annotations

from typing import Any

import av
from av.container import InputContainer

from densevidcap.data.extent import Extent

# A playlist that poses as a video must not make us fetch what it names.
_PROTOCOLS = {"protocol_whitelist": "file,subfile"}

# Titles need not be UTF-8. From PyAV 19 on that is no error any more, and no keyword either.
_KEYWORDS: dict[str, Any] = (
    {"metadata_errors": "replace"} if int(av.__version__.partition(".")[0]) < 19 else {}
)


def open_container(extent: Extent) -> InputContainer:
    container: InputContainer = av.open(extent.url, "r", options=_PROTOCOLS, **_KEYWORDS)
    return container
