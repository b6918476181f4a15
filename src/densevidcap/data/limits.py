"""What we are willing to decode. A file can claim any size, so every reader asks here first."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from densevidcap.errors import ClipTooLargeError, DenseVidCapError

BYTES_A_PIXEL = 4
"""What a decoded pixel takes at least, by our count: so do pictures on their way to RGB."""
_PREFIX = "DENSEVIDCAP_"
_NUMBER = re.compile("[0-9]{1,18}")


@dataclass(frozen=True)
class Limits:
    """The default of each is lifted by an environment variable: DENSEVIDCAP_MAX_FRAME_BYTES, …"""

    max_frame_bytes: int = 192 * 2**20
    """Of one decoded frame, four or more a pixel: 8192 x 6144 pixels of eight bits a channel."""
    max_frames: int = 2_000_000
    max_duration: float = 12 * 3600
    """Seconds."""
    max_image_bytes: int = 256 * 2**20
    """Of one encoded image."""
    max_feature_bytes: int = 2**30
    """Of one clip's features, at four bytes a number."""
    max_sound_bytes: int = 2**30
    """Of all decoded sound: four and a half hours at 16 kHz."""
    max_unzipped_bytes: int = 2**30
    """Of one text that is stored as .gz."""

    @property
    def max_pixels(self) -> int:
        """Of one frame, for decoders that know no other measure."""
        return self.max_frame_bytes // BYTES_A_PIXEL

    def check(self, clip: str, limit: str, found: float) -> None:
        """Raise a ClipTooLargeError if `found` is more than the limit of that name."""
        allowed = getattr(self, limit)
        if found > allowed:
            error = ClipTooLargeError(
                f"{clip}: {found:,.0f} is over {limit} = {allowed:,.0f}; shrink or cut the clip,"
                f" or set {name_variable(limit)}={found:.0f} if there is memory for it"
            )
            error.limit = limit
            raise error

    def check_frame(self, clip: str, width: int, height: int, bits: int = 0) -> None:
        """The same of a frame of that size, declared or decoded; `bits` of a pixel, if known."""
        found = width * height * max(BYTES_A_PIXEL, -(-bits // 8))
        self.check(f"{clip}: {width} x {height} pixels", "max_frame_bytes", found)


def read_limits(environment: Mapping[str, str] = os.environ) -> Limits:
    """The defaults, each replaced by its environment variable if that is set."""
    given: dict[str, Any] = {}
    for field in fields(Limits):
        variable = name_variable(field.name)
        if text := environment.get(variable, ""):
            if not _NUMBER.fullmatch(text) or float(text) == 0:
                raise DenseVidCapError(f"{variable}={text}: must be a whole number above 0")
            given[field.name] = int(text)
    return Limits(**given)


def name_variable(limit: str) -> str:
    return _PREFIX + limit.upper()
