"""Names of clips: the ending of a media file is no part of one, the dot of an id is."""

from __future__ import annotations

from densevidcap.data.pictures import SUFFIXES as PICTURE_SUFFIXES
from densevidcap.data.shards import VIDEO_SUFFIXES as MEMBER_SUFFIXES

VIDEO_SUFFIXES = MEMBER_SUFFIXES | {
    *(".3gp", ".asf", ".divx", ".flv", ".m2ts", ".m2v", ".mpeg", ".mts"),
    *(".mxf", ".ogv", ".ts", ".vob", ".wmv"),
}
"""Files that are taken for videos in folders. What is named itself may end in anything."""
_ENDINGS = VIDEO_SUFFIXES | PICTURE_SUFFIXES | {".npy"}


def drop_ending(name: str) -> str:
    """Of "clip.mp4" it is "clip", of an id such as "v_1.5" all of it."""
    stem, dot, ending = name.rpartition(".")
    return stem if stem and f"{dot}{ending}".lower() in _ENDINGS else name
