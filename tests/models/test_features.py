"""The feature cache: the numbers of a direct run, whatever happened while it was written."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.limited_disk import limited_files
from tests.models.small_world import ENCODER, SAMPLING, write_corpus

from densevidcap.config import Engine, EyesConfig, WordsConfig
from densevidcap.data.clip import open_clip
from densevidcap.data.lexicon import Lexicon, LexiconEntry
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.errors import CorpusError, OutputError
from densevidcap.models.backbones.dinov2 import LayerScale
from densevidcap.models.word_detector import FastEncoder, LexicalFCN, RegionEncoder
from densevidcap.train.feature_cache import (
    DATA,
    INDEX,
    FeatureCache,
    cache_features,
    describe_origin,
    gather,
    name_cache,
)
from densevidcap.types import FloatArray


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[ClipRecord]:
    return list(read_manifest(write_corpus(tmp_path_factory.mktemp("world"), clips=5)))


@pytest.fixture(scope="module")
def encoder() -> RegionEncoder:
    torch.manual_seed(0)
    return RegionEncoder(ENCODER).eval()


def look(record: ClipRecord, encoder: RegionEncoder, stage: int | None = None) -> FloatArray:
    assert record.source is not None
    images = open_clip(record.source).sample(SAMPLING, (ENCODER.size, ENCODER.size)).images
    fast = FastEncoder(encoder)
    return fast.observe(images)[0] if stage is None else fast.begin(images, stage)


@pytest.mark.parametrize("stage", [None, 15])
def test_the_cache_holds_what_the_encoder_sees(
    records: list[ClipRecord], encoder: RegionEncoder, tmp_path: Path, stage: int | None
) -> None:
    seen: list[None] = []
    cache, failures = cache_features(
        records, encoder, tmp_path, SAMPLING, stage, lambda: seen.append(None)
    )
    assert not failures
    assert len(seen) == len(cache) == len(records)
    for record in records:
        assert record.id in cache
        expected = look(record, encoder, stage).astype(np.float16)
        np.testing.assert_array_equal(cache.features(record.id), expected)
        assert len(cache.times(record.id)) == SAMPLING.frames


def test_gathered_frames_know_their_clip(
    records: list[ClipRecord], encoder: RegionEncoder, tmp_path: Path
) -> None:
    cache, _ = cache_features(records, encoder, tmp_path, SAMPLING)
    features, owners = gather(cache, [cache.rows(records[3].id), cache.rows(records[1].id)])
    assert owners.tolist() == [0, 0, 0, 1, 1, 1]
    np.testing.assert_array_equal(features[3:].numpy(), cache.features(records[1].id))


class _KilledError(BaseException):
    """As sudden as the real thing: nothing in the package catches it."""


def test_a_killed_run_goes_on_where_it_was(
    records: list[ClipRecord], encoder: RegionEncoder, tmp_path: Path
) -> None:
    whole, _ = cache_features(records, encoder, tmp_path / "whole", SAMPLING)
    done: list[None] = []

    def die_after_three() -> None:
        done.append(None)
        if len(done) == 3:
            raise _KilledError

    with pytest.raises(_KilledError):
        cache_features(records, encoder, tmp_path, SAMPLING, advance=die_after_three)
    folder = tmp_path / name_cache(encoder, SAMPLING, None)
    # The worst moments: features without a line, and half a line.
    with (folder / DATA).open("ab") as data:
        data.write(bytes(1000))
    with (folder / INDEX).open("a") as index:
        index.write('{"id": "world-0-0')
    assert len(FeatureCache(folder)) == 3
    cache, _ = cache_features(records, encoder, tmp_path, SAMPLING)
    np.testing.assert_array_equal(cache.all, whole.all)
    assert (folder / INDEX).read_text() == (whole.folder / INDEX).read_text()


def list_files(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()}


def test_opening_changes_nothing(
    records: list[ClipRecord], encoder: RegionEncoder, tmp_path: Path
) -> None:
    """So no kill can, and a whole cache can be read where nothing can be written."""
    cache, _ = cache_features(records[:2], encoder, tmp_path, SAMPLING)
    with (cache.folder / DATA).open("ab") as data:
        data.write(bytes(1000))
    with (cache.folder / INDEX).open("a") as index:
        index.write('{"id": "world-0-0')
    before = list_files(cache.folder)
    with limited_files(0):
        again, failures = cache_features(records[:2], encoder, tmp_path, SAMPLING)
    assert not failures
    assert len(again) == 2
    assert list_files(cache.folder) == before


def test_one_process_at_a_time_adds_clips_and_others_read(
    records: list[ClipRecord], encoder: RegionEncoder, tmp_path: Path
) -> None:
    cache, _ = cache_features(records[:2], encoder, tmp_path, SAMPLING)
    late = FeatureCache(cache.folder)
    with cache.filling():
        assert cache_features(records[:2], encoder, tmp_path, SAMPLING)[1] == {}
        with pytest.raises(CorpusError, match=r"another process adds clips .* another --cache"):
            cache_features(records[:3], encoder, tmp_path, SAMPLING)
    cache_features(records[:3], encoder, tmp_path, SAMPLING)
    # One that was opened before the others came does not write over them.
    with late.filling():
        late.append("late", late.times(records[0].id), late.features(records[0].id))
    whole = FeatureCache(cache.folder)
    assert len(whole) == 4
    expected = look(records[2], encoder).astype(np.float16)
    np.testing.assert_array_equal(whole.features(records[2].id), expected)
    np.testing.assert_array_equal(whole.features("late"), whole.features(records[0].id))


def test_a_full_disk_costs_only_the_clip_in_work(
    records: list[ClipRecord], encoder: RegionEncoder, tmp_path: Path
) -> None:
    whole, _ = cache_features(records, encoder, tmp_path / "whole", SAMPLING)
    cache, _ = cache_features(records[:2], encoder, tmp_path, SAMPLING)
    room = (cache.folder / DATA).stat().st_size + 100
    fault = rf"{DATA}: cannot be written \(File too large\); make room"
    with pytest.raises(OutputError, match=fault), limited_files(room):
        cache_features(records, encoder, tmp_path, SAMPLING)
    assert len(FeatureCache(cache.folder)) == 2
    cache, _ = cache_features(records, encoder, tmp_path, SAMPLING)
    np.testing.assert_array_equal(cache.all, whole.all)


def test_lost_data_and_a_spoilt_index_are_refused(
    records: list[ClipRecord], encoder: RegionEncoder, tmp_path: Path
) -> None:
    cache, _ = cache_features(records[:2], encoder, tmp_path, SAMPLING)
    data, index = cache.folder / DATA, cache.folder / INDEX
    content = index.read_text()
    for spoilt in ("not json\n" + content, '{"id": "x"}\n' + content, "[]\n"):
        index.write_text(spoilt)
        with pytest.raises(CorpusError, match="damaged; remove it to compute it again"):
            FeatureCache(cache.folder)
    index.write_text(content)
    os.truncate(data, data.stat().st_size - 2)
    with pytest.raises(CorpusError, match="damaged; remove it"):
        FeatureCache(cache.folder)
    data.unlink()
    with pytest.raises(CorpusError, match="damaged; remove it"):
        FeatureCache(cache.folder)


def test_unreadable_clips_are_named_and_the_rest_go_on(
    records: list[ClipRecord], encoder: RegionEncoder, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_text("this is not a video")
    odd = [
        ClipRecord("broken", str(broken), ("a dog",), None, "train"),
        ClipRecord("nowhere", None, ("a cat",), None, "train"),
    ]
    cache, failures = cache_features([odd[0], records[0], odd[1]], encoder, tmp_path, SAMPLING)
    assert len(cache) == 1
    assert failures.keys() == {"broken", "nowhere"}
    assert "broken.mp4" in failures["broken"]


def test_a_clip_of_the_same_id_is_not_taken_for_another(
    records: list[ClipRecord], encoder: RegionEncoder, tmp_path: Path
) -> None:
    first, other = (Path(str(record.source)) for record in records[:2])
    cache, _ = cache_features(records[:1], encoder, tmp_path, SAMPLING)

    moved = tmp_path / first.name
    moved.write_bytes(first.read_bytes())
    for place in (moved, tmp_path / "gone.mp4"):
        same = replace(records[0], source=str(place))
        assert cache_features([same], encoder, tmp_path, SAMPLING)[1] == {}

    another = replace(records[0], source=str(other))
    with pytest.raises(CorpusError, match=rf"'{records[0].id}' is {first.name} \(.* bytes\), not "):
        cache_features([another], encoder, tmp_path, SAMPLING)

    # A cache from before origins were kept.
    index = cache.folder / INDEX
    entry = json.loads(index.read_text())
    del entry["origin"]
    index.write_text(json.dumps(entry) + "\n")
    assert cache_features([another], encoder, tmp_path, SAMPLING)[1] == {}


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        ("frames", "frames (2 files)"),
        ("clip.mp4", "clip.mp4 (5 bytes)"),
        ("shard.tar::key", "shard.tar::key (7 bytes)"),
        ("none.mp4", None),
        (None, None),
    ],
)
def test_origins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str | None, origin: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("clip.mp4").write_bytes(bytes(5))
    Path("shard.tar").write_bytes(bytes(7))
    Path("frames").mkdir()
    for name in ("1.png", "2.png"):
        Path("frames", name).touch()
    assert describe_origin(source) == origin


def test_a_caches_name_changes_with_all_it_depends_on(encoder: RegionEncoder) -> None:
    torch.manual_seed(1)
    names = {
        name_cache(encoder, SAMPLING, None),
        name_cache(encoder, SAMPLING, 3),
        name_cache(encoder, SAMPLING, None, torch.bfloat16),
        name_cache(encoder, Sampling(frames=4), None),
        name_cache(RegionEncoder(ENCODER), SAMPLING, None),
        name_cache(RegionEncoder(EyesConfig("lite0", 96, 1, 1)), SAMPLING, None),
    }
    assert len(names) == 6
    assert name_cache(encoder, SAMPLING, None) in names


def test_a_stages_name_does_not_depend_on_what_comes_after_it() -> None:
    """Encoders that were tuned from there on share what lies below."""
    torch.manual_seed(0)
    encoder = RegionEncoder(ENCODER).eval()
    stages = encoder.backbone.stages()
    places = (*range(len(stages) + 1), None)
    before = [name_cache(encoder, SAMPLING, place) for place in places]
    assert len(set(before)) == len(before)
    tuned = len(stages) - 2
    for module in stages[tuned].modules:
        for parameter in encoder.backbone.get_submodule(module).parameters():
            parameter.data += 1
    after = [name_cache(encoder, SAMPLING, place) for place in places]
    changed = [one != other for one, other in zip(before, after, strict=True)]
    assert changed == [place is None or place > tuned for place in places]


def test_training_sees_what_captioning_sees(records: list[ClipRecord], tmp_path: Path) -> None:
    """With the numbers of its engine, kept apart from those of another."""
    torch.manual_seed(0)
    lexicon = Lexicon([LexiconEntry("dog", 9, 9, "NOUN")])
    eyes = EyesConfig("dinov2-s14", size=56, window=2, stride=2)
    model = LexicalFCN(lexicon, eyes, WordsConfig(hidden=8)).eval()
    for block in model.encoder.backbone.modules():
        if isinstance(block, LayerScale):
            torch.nn.init.constant_(block.gamma, 0.5)
    one = records[0]
    assert one.source is not None
    frames = open_clip(one.source).sample(SAMPLING, model.encoder.form)
    found: list[FloatArray] = []
    engines: tuple[Engine, ...] = ("float32", "bfloat16")
    for engine in engines:
        cache, _ = cache_features([one], model.encoder, tmp_path, SAMPLING, engine=engine)
        found.append(model.encoder.split(cache.features(one.id))[0])
        seen = model.read(frames, engine).features
        np.testing.assert_allclose(found[-1], seen, rtol=2e-3, atol=1e-3)
    assert not np.array_equal(found[0], found[1])


def test_what_goes_into_a_tuned_stage_has_the_engines_numbers(
    records: list[ClipRecord], encoder: RegionEncoder, tmp_path: Path
) -> None:
    """What is tuned is trained on what it will be given."""
    found: list[FloatArray] = []
    engines: tuple[Engine, ...] = ("float32", "bfloat16")
    for engine in engines:
        cache, _ = cache_features(records[:1], encoder, tmp_path, SAMPLING, 10, engine=engine)
        found.append(cache.features(records[0].id))
    whole, short = found
    assert 0 < np.abs(whole - short).max() < 0.1 * np.abs(whole).max()
