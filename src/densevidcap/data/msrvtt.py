"""MSR-VTT (2016): the official annotations, and shards that hold them beside frames."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from densevidcap.data.manifest import ClipRecord, open_shards
from densevidcap.data.shards import Shard
from densevidcap.data.text_files import open_text, read_json
from densevidcap.errors import CorpusError
from densevidcap.intake import parse_json

CATEGORIES: Mapping[int, str] = dict(
    enumerate(
        (
            "music",
            "people",
            "gaming",
            "sports/actions",
            "news/events/politics",
            "education",
            "tv shows",
            "movie/comedy",
            "animation",
            "vehicles/autos",
            "howto",
            "travel",
            "science/technology",
            "animals/pets",
            "kids/family",
            "documentary",
            "food/drink",
            "cooking",
            "beauty/fashion",
            "advertisement",
        )
    )
)
"""The names in the corpus's own category.txt."""


def read_categories(path: Path) -> dict[int, str]:
    """Category names from a file of `name<TAB>number` lines, as category.txt has them."""
    names = {}
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            name, _, index = line.strip().rpartition("\t")
            if not name or not index.isdecimal():
                raise CorpusError(
                    f"{path}:{number}: expected 'name<TAB>number', as in category.txt"
                )
            names[int(index)] = name
    return names


def read_annotations(
    path: Path, categories: Mapping[int, str] = CATEGORIES
) -> Iterator[ClipRecord]:
    """The clips of `train_val_videodatainfo.json` and its like, plain or .gz, without sources."""
    corpus = read_json(path)
    try:
        captions = defaultdict(list)
        for sentence in corpus["sentences"]:
            captions[sentence["video_id"]].append(sentence["caption"])
        for video in corpus["videos"]:
            yield _record(video, None, captions[video["video_id"]], categories)
    except (KeyError, TypeError, ValueError) as error:
        raise _not_msrvtt(path, error) from error


def read_shards(folder: Path, categories: Mapping[int, str] = CATEGORIES) -> Iterator[ClipRecord]:
    """The clips of a folder of tar shards that hold frames and one `<id>.json` a clip."""
    for shard in open_shards(folder):
        for key in shard.members:
            yield _read_member(shard, key, categories)


def _read_member(shard: Shard, key: str, categories: Mapping[int, str]) -> ClipRecord:
    source = f"{shard.path}::{key}"
    try:
        video = parse_json(shard.read(key, "json"))
        if video["video_id"] != key:
            raise ValueError(f"{key}.json is about {video['video_id']!r}")
        if shard.members[key].keys() == {"json"}:
            raise ValueError("it has no frames")
        return _record(video, source, video["captions"], categories)
    except (KeyError, TypeError, ValueError) as error:
        raise _not_msrvtt(source, error) from error


def _record(
    video: Mapping[str, Any],
    source: str | None,
    captions: list[str],
    categories: Mapping[int, str],
) -> ClipRecord:
    category = video["category"]
    if category not in categories:
        raise ValueError(f"category {category!r} has no name")
    if not all(isinstance(caption, str) for caption in captions):
        raise ValueError("a caption is not text")
    written = tuple(caption.strip() for caption in captions if caption.strip())
    return ClipRecord(video["video_id"], source, written, categories[category], video["split"])


def _not_msrvtt(place: Path | str, error: Exception) -> CorpusError:
    reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    return CorpusError(f"{place}: not in MSR-VTT's 2016 form ({reason}); see docs/data.md")
