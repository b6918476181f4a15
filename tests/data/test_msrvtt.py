import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from densevidcap.data.manifest import (
    ClipRecord,
    attach_sources,
    find_frame_folders,
    find_shard_members,
    find_videos,
)
from densevidcap.data.msrvtt import read_annotations, read_categories, read_shards
from densevidcap.errors import ClipError, CorpusError

ANNOTATIONS = {
    "info": {"year": "2016"},
    "videos": [
        {"video_id": "video0", "category": 9, "split": "train", "id": 0},
        {"video_id": "video7", "category": 13, "split": "validate", "id": 7},
    ],
    "sentences": [
        {"video_id": "video7", "caption": " a dog runs", "sen_id": 0},
        {"video_id": "video0", "caption": "a car drives", "sen_id": 1},
        {"video_id": "video7", "caption": "a pet plays", "sen_id": 2},
    ],
}
CLIPS = [
    ClipRecord("video0", None, ("a car drives",), "vehicles/autos", "train"),
    ClipRecord("video7", None, ("a dog runs", "a pet plays"), "animals/pets", "validate"),
]


def write_shard(path: Path, clips: list[dict[str, Any]], frames: int = 2) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (8, 6), "red").save(picture, "WEBP")
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for clip in clips:
            members = {
                f"{clip['video_id']}.{frame:02}.webp": picture.getvalue() for frame in range(frames)
            }
            members[f"{clip['video_id']}.json"] = json.dumps(clip).encode()
            for name, content in members.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))


def shard_clip(**changes: Any) -> dict[str, Any]:
    return {
        "video_id": "video1",
        "split": "train",
        "category": 16,
        "frames": [{"shot": 1, "frame": 1}, {"shot": 1, "frame": 50}],
        "captions": ["a woman cooks"],
        **changes,
    }


def test_annotations_plain_and_zipped(tmp_path: Path) -> None:
    plain, zipped = tmp_path / "info.json", tmp_path / "info.json.gz"
    plain.write_text(json.dumps(ANNOTATIONS))
    zipped.write_bytes(gzip.compress(plain.read_bytes()))
    assert list(read_annotations(plain)) == CLIPS
    assert list(read_annotations(zipped)) == CLIPS


def test_other_category_names(tmp_path: Path) -> None:
    annotations, categories = tmp_path / "info.json", tmp_path / "category.txt"
    annotations.write_text(json.dumps(ANNOTATIONS))
    categories.write_text("fast cars\t9\nbeasts\t13\n")
    names = read_categories(categories)
    assert [clip.category for clip in read_annotations(annotations, names)] == [
        "fast cars",
        "beasts",
    ]
    categories.write_text("fast cars 9\n")
    with pytest.raises(CorpusError, match=r"category\.txt:1: expected"):
        read_categories(categories)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "not JSON"),
        ("[]", "2016 form"),
        ('{"videos": []}', "'sentences' is missing"),
        (
            '{"sentences": [], "videos": [{"video_id": "v", "category": 99, "split": "train"}]}',
            "category 99",
        ),
    ],
)
def test_other_annotations_are_refused(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "info.json"
    path.write_text(content)
    with pytest.raises(CorpusError, match=complaint) as caught:
        list(read_annotations(path))
    assert str(path) in str(caught.value)


def test_shards(tmp_path: Path) -> None:
    write_shard(tmp_path / "train-000.tar", [shard_clip(), shard_clip(video_id="video4")])
    write_shard(tmp_path / "validate-000.tar", [shard_clip(video_id="video9", split="validate")])
    clips = list(read_shards(tmp_path))
    assert [(clip.id, clip.split) for clip in clips] == [
        ("video1", "train"),
        ("video4", "train"),
        ("video9", "validate"),
    ]
    assert clips[1] == ClipRecord(
        "video4",
        f"{tmp_path / 'train-000.tar'}::video4",
        ("a woman cooks",),
        "food/drink",
        "train",
    )
    assert find_shard_members(tmp_path) == {clip.id: clip.source for clip in clips}


def test_bad_shards_are_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such folder"):
        list(read_shards(tmp_path / "absent"))
    with pytest.raises(CorpusError, match=r"no \.tar shards"):
        list(read_shards(tmp_path))

    shard = tmp_path / "train-000.tar"
    shard.write_bytes(b"not a tar file")
    with pytest.raises(ClipError, match=r"train-000\.tar: cannot be read as a tar"):
        list(read_shards(tmp_path))
    write_shard(shard, [shard_clip()], frames=0)
    with pytest.raises(CorpusError, match=r"train-000\.tar::video1: .*no frames"):
        list(read_shards(tmp_path))
    write_shard(shard, [shard_clip(captions=None)])
    with pytest.raises(CorpusError, match=r"train-000\.tar::video1: "):
        list(read_shards(tmp_path))


def test_sources_on_disk(tmp_path: Path) -> None:
    videos, frames = tmp_path / "videos", tmp_path / "frames"
    videos.mkdir()
    for name in ("video0.mp4", "video7.AVI", "video7.txt"):
        (videos / name).touch()
    for name in ("video0", "video8"):
        (frames / name).mkdir(parents=True)
    (frames / "video0" / "0001.jpg").touch()

    assert find_videos(videos) == {
        "video0": str(videos / "video0.mp4"),
        "video7": str(videos / "video7.AVI"),
    }
    assert find_frame_folders(frames) == {"video0": str(frames / "video0")}


def test_clips_without_a_source_are_named_together_or_skipped(tmp_path: Path) -> None:
    clips = [ClipRecord(f"video{number}", None, (), None, "train") for number in range(14)]
    sources = {"video3": "video3.mp4"}
    (kept,) = attach_sources(clips, sources, tmp_path, skip_missing=True)
    assert kept == ClipRecord("video3", "video3.mp4", (), None, "train")
    with pytest.raises(CorpusError, match=r"video0, video1, .* and 3 more; .*--skip-missing"):
        list(attach_sources(clips, sources, tmp_path, skip_missing=False))
