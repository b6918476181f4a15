"""A vision transformer goes all the way: cache, training, tuning, reading, captions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.models.small_corpus import ASSOCIATION, LEXICON_SIZE, REGIONS
from tests.models.small_world import SAMPLING, make_lexicon, write_corpus

from densevidcap.config import (
    CaptionerConfig,
    EyesConfig,
    ModelConfig,
    RegionsConfig,
    StreamsConfig,
    WordsConfig,
    WordTrainingConfig,
)
from densevidcap.data.clip import open_clip
from densevidcap.data.lsa import LatentSpace
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.data.phrases import Phrases
from densevidcap.data.text import Vocabulary
from densevidcap.errors import ModelError
from densevidcap.models.backbones import BACKBONES, build_backbone
from densevidcap.models.captioner import CaptionModel, StreamWidths
from densevidcap.models.streams import StreamSizes, make_streams, size_streams
from densevidcap.models.views import look, view_clip
from densevidcap.models.word_detector import LexicalFCN, RegionEncoder
from densevidcap.pipeline.captioner import DenseCaptioner
from densevidcap.pipeline.generator import CaptionGenerator
from densevidcap.regions import generate_sequences
from densevidcap.train.feature_cache import cache_features, gather, name_cache
from densevidcap.train.loop import TrainingLoop
from densevidcap.train.view_cache import open_view_cache
from densevidcap.train.words import WordTask
from densevidcap.types import Grid

EYES = EyesConfig("tiny-vit", size=70, window=2, stride=1)
FRAMES = torch.rand(2, 3, 70, 70, generator=torch.Generator().manual_seed(0)) * 255


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its line in the registry."""
    monkeypatch.setitem(BACKBONES, "tiny-vit", "tests.models.tiny_vit:TinyViT")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[ClipRecord]:
    return list(read_manifest(write_corpus(tmp_path_factory.mktemp("world"), clips=6)))


def make_words(records: list[ClipRecord]) -> LexicalFCN:
    torch.manual_seed(0)
    return LexicalFCN(make_lexicon(records), EYES, WordsConfig(hidden=8)).eval()


@torch.inference_mode()
def test_its_tokens_are_pooled_to_regions_and_its_class_token_is_the_frame() -> None:
    torch.manual_seed(0)
    encoder = RegionEncoder(EYES).eval()
    backbone = encoder.backbone
    tokens = backbone.tokens(FRAMES)
    assert tokens.shape == (2, 5, 5, backbone.channels)
    assert encoder.grid == Grid(5, 5, window=2, stride=1)
    regions = encoder(FRAMES)
    torch.testing.assert_close(regions[:, 5], tokens[:, 1:3, 1:3].mean(dim=(1, 2)))
    observed, patches = encoder.observe(FRAMES)
    torch.testing.assert_close(patches, tokens)
    seen, frame = encoder.split(observed)
    torch.testing.assert_close(regions, seen)
    assert frame is not None
    torch.testing.assert_close(frame, backbone.finish(FRAMES, 0)[:, 0])
    lite = RegionEncoder(EyesConfig("lite0", 64, 2, 1)).eval()
    assert lite.split(lite.observe(FRAMES[:, :, :64, :64])[0])[1] is None
    assert lite.frame_channels == 0


@torch.inference_mode()
@pytest.mark.parametrize("name", ["tiny-vit", "lite0"])
def test_it_can_be_cut_anywhere(name: str) -> None:
    torch.manual_seed(0)
    backbone, frames = build_backbone(name).eval(), FRAMES[:, :, :64, :64]
    frames = FRAMES if name == "tiny-vit" else frames
    whole = backbone.tokens(frames)
    for stage in range(1, len(backbone.stages()) + 1):
        x = backbone.begin(frames, stage)
        cells = backbone.to_cells(x)
        assert cells.ndim == 3
        again = backbone.from_cells(cells)
        torch.testing.assert_close(again, x)
        torch.testing.assert_close(backbone.read_map(backbone.finish(again, stage)), whole)
        torch.testing.assert_close(backbone.mirror(backbone.mirror(x)), x)
    last = backbone.begin(frames, len(backbone.stages()))
    torch.testing.assert_close(backbone.read_map(backbone.mirror(last)), whole.flip(2))


def test_sizes_and_windows_that_it_cannot_have_are_refused() -> None:
    with pytest.raises(ModelError, match="multiple of 14 pixels for tiny-vit"):
        RegionEncoder(EyesConfig("tiny-vit", size=64, window=2, stride=1))
    with pytest.raises(ModelError, match="a window of 6 cells does not fit 70 pixels"):
        RegionEncoder(EyesConfig("tiny-vit", size=70, window=6, stride=1))


@pytest.mark.parametrize("tuned", [0, 2, 4])
def test_it_learns_words_and_its_last_blocks_with_them(
    records: list[ClipRecord], tmp_path: Path, tuned: int
) -> None:
    model = make_words(records)
    stages = model.encoder.backbone.stages()
    stage = len(stages) - tuned if tuned else None
    cache, failures = cache_features(records, model.encoder, tmp_path, SAMPLING, stage)
    assert not failures
    options = WordTrainingConfig(epochs=2, tuned=tuned, tuned_rate=1.0, batch=4)
    task = WordTask(model, cache, records[1:], records[:1], options)
    with torch.inference_mode():
        regions = task.split(gather(cache, [cache.rows(records[0].id)])[0])[0]
    frames = open_clip(str(records[0].source)).sample(SAMPLING, model.encoder.size)
    np.testing.assert_allclose(regions, model.read(frames).features, rtol=0.02, atol=0.02)

    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    TrainingLoop(task, options, tmp_path / "run").train()
    changed = {n for n, tensor in model.state_dict().items() if not torch.equal(tensor, before[n])}
    expected = {name for name in before if name.startswith("head.")}
    for each in stages[len(stages) - tuned :]:
        for module in each.modules:
            expected |= {name for name in before if name.startswith(f"encoder.backbone.{module}")}
    assert changed == expected


def test_a_caches_name_knows_its_plain_parameters(records: list[ClipRecord]) -> None:
    encoder = make_words(records).encoder
    before = [name_cache(encoder, SAMPLING, stage) for stage in (0, 1, None)]
    encoder.backbone.get_parameter("positions").data += 1
    after = [name_cache(encoder, SAMPLING, stage) for stage in (0, 1, None)]
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, False]


def test_it_is_saved_loaded_and_describes_a_clip(records: list[ClipRecord], tmp_path: Path) -> None:
    model = make_words(records)
    model.save(tmp_path / "words", {})
    loaded = LexicalFCN.load(tmp_path / "words")
    assert loaded.encoder.config == EYES
    frames = open_clip(str(records[0].source)).sample(SAMPLING, loaded.encoder.size)
    seen, again = model.read(frames), loaded.read(frames)
    np.testing.assert_array_equal(seen.probabilities, again.probabilities)
    assert seen.features.shape == (SAMPLING.frames, 16, loaded.encoder.channels)
    assert seen.frame_vectors is not None
    assert again.frame_vectors is not None
    np.testing.assert_array_equal(seen.frame_vectors, again.frame_vectors)

    captions = [caption for record in records for caption in record.captions]
    channels = loaded.encoder.channels
    sizes = CaptionerConfig(hidden=8, embedding=8)
    widths = StreamWidths({"centred": channels, "whole_frames": channels})
    captioner = CaptionModel(Vocabulary.build(captions), sizes, widths).eval()
    meaning, phrases = LatentSpace.fit(captions), Phrases.count([captions])
    generator = CaptionGenerator(captioner, None, meaning, phrases)
    whole = DenseCaptioner(ModelConfig(eyes=EYES, captioner=sizes), loaded, generator)
    settings = {"regions.k": 3, "decoding.samples": 2}
    said = whole.caption(str(records[0].source), frames=3, beam=2, settings=settings)
    assert len(said) >= 1
    for caption in said:
        assert caption.sequence.grid == loaded.encoder.grid
        assert len(caption.boxes) == len(caption.sequence.times)


def test_its_class_token_is_a_stream_of_training_and_of_captioning(
    records: list[ClipRecord], tmp_path: Path
) -> None:
    model = make_words(records)
    cache, _ = cache_features(records, model.encoder, tmp_path, SAMPLING)
    library = open_view_cache(tmp_path, model, cache, records, REGIONS, ASSOCIATION, LEXICON_SIZE)
    for record in records:
        frames = open_clip(str(record.source)).sample(SAMPLING, model.encoder.size)
        seen = model.read(frames)
        view = view_clip(seen, generate_sequences(seen, RegionsConfig(k=2)), words=3)
        learned, said = (
            make_streams(look(each)[:1], ("whole_frames", "centred"), ())
            for each in (library.view(record.id), view)
        )
        expected = seen.frame_vectors
        assert expected is not None
        for streams in (learned, said):
            np.testing.assert_allclose(streams.frames["whole_frames"][0], expected, atol=2e-3)
    sizes = StreamSizes(model.encoder.channels, 3, 0, model.encoder.frame_channels)
    widths, _ = size_streams(StreamsConfig(("whole_frames",), ()), sizes)
    assert widths == {"whole_frames": model.encoder.channels}
