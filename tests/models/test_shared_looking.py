"""Features that several processes compute: the cache of one, whatever happens to any of them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from PIL import Image
from tests.data.made_clips import write_video
from tests.models.small_world import ENCODER, SAMPLING, write_corpus
from tests.odd_jobs import DeadlyEyes

from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.errors import ClipError, DenseVidCapWarning
from densevidcap.models.word_detector import RegionEncoder
from densevidcap.train import feature_cache
from densevidcap.train.feature_cache import DATA, INDEX, FeatureCache, cache_features

pytestmark = pytest.mark.thorough


def make_eyes(kind: type[RegionEncoder] = RegionEncoder) -> RegionEncoder:
    torch.manual_seed(0)
    return kind(ENCODER).eval()


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("world"), clips=9)


@pytest.fixture(scope="module")
def records(manifest: Path) -> list[ClipRecord]:
    return list(read_manifest(manifest))


def read_bytes(cache: FeatureCache) -> tuple[bytes, bytes]:
    return (cache.folder / DATA).read_bytes(), (cache.folder / INDEX).read_bytes()


@pytest.fixture(scope="module")
def odd_records(
    records: list[ClipRecord], tmp_path_factory: pytest.TempPathFactory
) -> list[ClipRecord]:
    """With one that is no video, one that is nowhere, and one with a hole."""
    folder = tmp_path_factory.mktemp("odd")
    (folder / "broken.mp4").write_text("this is not a video")
    damaged = write_video(folder / "damaged.mp4", 60, options={"g": "10"})
    content = bytearray(damaged.read_bytes())
    middle = (content.index(b"mdat") + content.index(b"moov")) // 2
    content[middle : middle + 500] = bytes(500)
    damaged.write_bytes(content)
    odd = [
        ClipRecord("broken", str(folder / "broken.mp4"), ("a dog",), None, "train"),
        ClipRecord("nowhere", None, ("a cat",), None, "train"),
        ClipRecord("damaged", str(damaged), ("a cow",), None, "train"),
    ]
    return [odd[0], *records[:3], odd[1], *records[3:6], odd[2], *records[6:]]


@pytest.mark.parametrize("stage", [None, 15])
def test_the_cache_is_the_same_to_the_byte_whatever_the_workers(
    odd_records: list[ClipRecord], tmp_path: Path, stage: int | None
) -> None:
    """Also what is told: failures, and what is odd about clips."""
    outcomes = []
    for workers in (1, 2, 3):
        advanced: list[None] = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DenseVidCapWarning)
            cache, failures = cache_features(
                odd_records,
                make_eyes(),
                tmp_path / str(workers),
                SAMPLING,
                stage,
                lambda told=advanced: told.append(None),  # type: ignore[misc]
                workers=workers,
            )
        told = {str(each.message) for each in caught}
        outcomes.append((*read_bytes(cache), list(failures.items()), told, len(advanced)))
    assert outcomes[0][2]
    assert outcomes[0][3]
    assert outcomes[1] == outcomes[0]
    assert outcomes[2] == outcomes[0]


def test_the_first_failure_of_the_order_is_raised(
    odd_records: list[ClipRecord], tmp_path: Path
) -> None:
    with pytest.raises(ClipError, match=r"nowhere: its manifest line names no source"):
        cache_features(odd_records[1:], make_eyes(), tmp_path, SAMPLING, fail_fast=True, workers=2)
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert len(FeatureCache(folder)) == 3


def test_a_clip_that_ends_its_worker_is_named_and_the_rest_go_on(
    records: list[ClipRecord], tmp_path: Path
) -> None:
    Image.fromarray(np.full((96, 96, 3), 255, np.uint8)).save(tmp_path / "white.png")
    deadly = ClipRecord("white", str(tmp_path / "white.png"), ("snow",), None, "train")
    cache, failures = cache_features(
        [*records[:4], deadly, *records[4:]],
        make_eyes(DeadlyEyes),
        tmp_path / "cache",
        SAMPLING,
        workers=2,
    )
    assert failures == {
        "white": "white: ends the process that reads it; shrink or cut it, or leave it out"
    }
    whole, _ = cache_features(records, make_eyes(), tmp_path / "whole", SAMPLING, workers=1)
    assert read_bytes(cache) == read_bytes(whole)


def test_few_clips_start_no_process(
    records: list[ClipRecord], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(feature_cache, "share_work")
    cache, _ = cache_features(records, make_eyes(), tmp_path, SAMPLING)
    assert len(cache) == len(records)


SCRIPT = """
import sys
from pathlib import Path
from tests.data.made_clips import write_video
from tests.models.small_world import SAMPLING
from tests.models.test_shared_looking import make_eyes
from densevidcap.data.manifest import read_manifest
from densevidcap.train.feature_cache import cache_features
records = list(read_manifest(Path(sys.argv[1])))
cache_features(records, make_eyes(), Path(sys.argv[2]), SAMPLING, workers=2)
"""


def test_a_killed_run_leaves_no_worker_and_goes_on(manifest: Path, tmp_path: Path) -> None:
    records = list(read_manifest(manifest))
    whole, _ = cache_features(records, make_eyes(), tmp_path / "whole", SAMPLING, workers=1)
    index = tmp_path / "cache" / whole.folder.name / INDEX
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    running = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, manifest, tmp_path / "cache"], env=environment
    )
    while not index.exists() and running.poll() is None:
        time.sleep(0.01)
    left = psutil.Process(running.pid).children(recursive=True) if running.poll() is None else []
    running.kill()
    running.wait()
    _, alive = psutil.wait_procs(left, timeout=60)
    assert not alive
    cache, _ = cache_features(records, make_eyes(), tmp_path / "cache", SAMPLING, workers=2)
    assert read_bytes(cache) == read_bytes(whole)
