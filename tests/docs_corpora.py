"""Corpora as the pages of the docs have them, of a few generated clips: MSR-VTT in all its forms,
MSVD, features, boxes, and one's own tables."""

from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from tests.data.made_clips import encode_picture, write_shard
from tests.data.made_features import list_captions, make_features, write_features
from tests.export.made_captions import make_captions
from tests.made_boxes import follow, list_boxes, make_case
from tests.models.small_world import make_lexicon

from densevidcap.data.manifest import ClipRecord, write_manifest
from densevidcap.data.msrvtt import CATEGORIES
from densevidcap.data.msvd import SPLITS
from densevidcap.examples import World, write_world
from densevidcap.export.json_file import render_json
from densevidcap.models.extractors.c3d import C3D

NUMBERS = (*range(7), 6967, 6973, 6974)
"""Of MSR-VTT's clips; pages name the last ones."""
CLIPS = len(NUMBERS)
WORLD = World(size=96, frames=4)
PARTS = ("train", "train", "validate", "train", "test")
"""The splits of MSR-VTT's clips, again and again."""
MANIFESTS = (
    "corpus.jsonl",
    "msrvtt.jsonl",
    "msrvtt-test.jsonl",
    "msrvtt-captions.jsonl",
    "val.jsonl",
    "clips.jsonl",
    "captions.jsonl",
)
SENTENCES = ("P.json", "Q.json", "R.json")
"""Of the clips of split `validate`."""
TABLES = ("mine.csv", "my-clips.csv")
YARDSTICK = 24
"""Clips of MSVD that have features and are trained on; its annotations name all 1,970."""


def write_corpora(folder: Path, kept: Path) -> None:
    """Below `folder`; what has thousands of files lies in `kept`, where links lead to."""
    clips = [WORLD.clip(number) for number in range(CLIPS)]
    videos = folder / "TrainValVideo"
    drawn = write_world(videos, range(CLIPS), WORLD).parent
    for number, clip in zip(NUMBERS, clips, strict=True):
        (drawn / f"{clip.id}.mp4").rename(videos / f"video{number}.mp4")
    records = [
        ClipRecord(
            f"video{number}",
            str(videos / f"video{number}.mp4"),
            clip.captions,
            CATEGORIES[place % 3],
            PARTS[place % len(PARTS)],
        )
        for place, (number, clip) in enumerate(zip(NUMBERS, clips, strict=True))
    ]
    _write_annotations(folder, records)
    _write_sentences(folder, records)
    _write_tables(folder, records)
    of_id = dict(zip((record.id for record in records), clips, strict=True))
    boxes = json.dumps(list_boxes(of_id))
    (folder / "boxes.json").write_text(boxes)
    (folder / "boxes.json.gz").write_bytes(gzip.compress(boxes.encode()))
    cases = (make_case(record.id, of_id[record.id]) for record in records)
    pointing = "".join(f"{json.dumps(case)}\n" for case in cases).encode()
    (folder / "val-pointing.jsonl.gz").write_bytes(gzip.compress(pointing))
    (folder / "said").mkdir()
    (folder / "DIR").mkdir()
    members: dict[str, bytes] = {}
    for record in records:
        clip = of_id[record.id]
        said = [follow(clip, thing) for thing in range(len(clip.things))]
        (folder / "said" / f"{record.id}.json").write_text(
            render_json(make_captions(record.id, *said))
        )
        for frame, image in enumerate(clip.frames.images):
            members[f"{record.id}.{frame:02}.png"] = encode_picture(image)
        content = _describe(record) | {"captions": record.captions}
        members[f"{record.id}.json"] = json.dumps(content).encode()
    write_shard(folder / "DIR" / "train-000.tar", members)
    features = {record.id: make_features(n) for n, record in enumerate(records)}
    write_features(folder, "h5", features).rename(folder / "resnet.h5")
    _write_msvd(folder, kept)
    _write_yardstick(folder)
    # Every number of a layer is one and the same, which is kept once.
    alike = {name: torch.zeros(1).expand(each.shape) for name, each in C3D().state_dict().items()}
    torch.save(alike, kept / "c3d.pth")
    (folder / "c3d.pth").symlink_to(kept / "c3d.pth")


def _describe(record: ClipRecord) -> dict[str, object]:
    number = [*CATEGORIES.values()].index(str(record.category))
    return {"video_id": record.id, "category": number, "split": record.split}


def _write_annotations(folder: Path, records: Sequence[ClipRecord]) -> None:
    sentences = [
        {"video_id": record.id, "caption": caption}
        for record in records
        for caption in record.captions
    ]
    text = json.dumps({"videos": [*map(_describe, records)], "sentences": sentences})
    (folder / "train_val_videodatainfo.json").write_text(text)
    (folder / "train_val_videodatainfo.json.gz").write_bytes(gzip.compress(text.encode()))
    for name in MANIFESTS:
        write_manifest(folder / name, records)
    make_lexicon(records).save(folder / "lexicon.json")


def _write_sentences(folder: Path, records: Sequence[ClipRecord]) -> None:
    said = {record.id: list(record.captions) for record in records}
    for name in ("mine.json", "candidates.json"):
        (folder / name).write_text(json.dumps(said))
    held_out = {record.id: said[record.id] for record in records if record.split == "validate"}
    for name in SENTENCES:
        (folder / name).write_text(json.dumps(held_out))


def _write_tables(folder: Path, records: Sequence[ClipRecord]) -> None:
    for name in TABLES:
        with (folder / name).open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["video", "caption"])
            for record in records:
                place = Path(str(record.source)).relative_to(folder)
                rows.writerows([place, caption] for caption in record.captions)


def _write_msvd(folder: Path, kept: Path) -> None:
    """All 1,970 clips, each of them the same video and the same features."""
    names = [f"clip{number:04}_1_9" for number in range(sum(SPLITS.values()))]
    lines = [f"{name} {text}\n" for n, name in enumerate(names) for text in list_captions(n)]
    (folder / "AllVideoDescriptions.txt").write_text("".join(lines))
    features = kept / "features.npy"
    np.save(features, make_features(0))
    for place, suffix, file in (
        ("YouTubeClips", "avi", next((folder / "TrainValVideo").glob("*.mp4"))),
        ("vgg", "npy", features),
    ):
        (kept / place).mkdir()
        first = Path(shutil.copyfile(file, kept / place / f"{names[0]}.{suffix}"))
        for name in names[1:]:
            os.link(first, kept / place / f"{name}.{suffix}")
        (folder / place).symlink_to(kept / place)
    with (folder / "captions.csv").open("w", newline="") as table:
        rows = csv.writer(table)
        rows.writerow(["id", "caption"])
        rows.writerows([name, "a man runs"] for name in names[:3])


def _write_yardstick(folder: Path) -> None:
    """The table that names its features, and what `prepare` makes of it."""
    place = folder / "msvd"
    names = [f"clip{number}" for number in range(YARDSTICK)]
    write_features(place, "npy", {name: make_features(n) for n, name in enumerate(names)})
    records = [
        ClipRecord(
            name,
            str(place / f"{name}.npy"),
            tuple(list_captions(number)),
            None,
            ("validate", "test", *["train"] * 4)[number % 6],
        )
        for number, name in enumerate(names)
    ]
    rows = (
        {"id": each.id, "file": f"{each.id}.npy", "captions": each.captions, "split": each.split}
        for each in records
    )
    (place / "captions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    write_manifest(folder / "msvd.jsonl", records)
