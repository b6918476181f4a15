"""How much one studio takes on."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from densevidcap.data.limits import BYTES_A_PIXEL, Limits

KIBIBYTE = 2**10
MEBIBYTE = 2**20
MINUTE = 60.0
DAY = 24 * 3600.0


@dataclass(frozen=True)
class StudioLimits:
    """What is refused at the door, and how long the rest is kept."""

    max_bytes: int = 256 * MEBIBYTE
    """Of one clip."""
    max_duration: float = 10 * MINUTE
    """Seconds."""
    max_pixels: int = 4096 * 2304
    """Of one frame."""
    max_frames: int = 60_000
    max_waiting: int = 32
    """Clips in the queue."""
    max_clips: int = 100
    """Clips that are kept, whatever became of them."""
    max_age: float = 7 * DAY
    """Seconds after which a clip is removed: those that the server ran, whatever clocks say."""
    max_work: float = 30 * MINUTE
    """Seconds of work on one clip, after which it is given up."""
    min_rate: float = 32 * KIBIBYTE
    """Bytes a second of what is posted, on average; slower senders are sent away."""
    max_delay: float = 30.0
    """Seconds by which a sender may lag behind that, and in which a question must be asked."""
    max_exports: int = 8
    """Files that are being made or wait for it."""
    max_streams: int = 16
    """Event streams that one visitor may have open."""
    max_text: int = 16 * MEBIBYTE
    """Bytes of captions made earlier."""
    max_captions: int = 5_000
    """Of captions made earlier."""
    max_readings: int = 8
    """Captions made earlier that are being sent and read at once."""

    @classmethod
    def of_library(cls) -> StudioLimits:
        """For a person's own clips: what decoders take, as many as there are, for ever."""
        return cls(
            max_bytes=2**40,
            max_duration=Limits.max_duration,
            max_pixels=Limits.max_frame_bytes // BYTES_A_PIXEL,
            max_frames=Limits.max_frames,
            max_waiting=1_000_000,
            max_clips=1_000_000_000,
            max_age=inf,
            max_work=DAY,
        )

    @property
    def decoding(self) -> Limits:
        frame = BYTES_A_PIXEL * self.max_pixels
        return Limits(frame, self.max_frames, self.max_duration)

    def describe(self) -> str:
        """What fits, for people whose clip does not."""
        return (
            f"{self.max_bytes / MEBIBYTE:,.0f} MiB, {self.max_duration / MINUTE:g} minutes,"
            f" {self.max_frames:,} frames and {self.max_pixels / 1e6:.1f} megapixels"
        )
