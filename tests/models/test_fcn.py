"""The Lexical-FCN as one thing: reading frames, saving, loading."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.models.small_world import ENCODER, make_model

from densevidcap.config import EyesConfig, WordsConfig
from densevidcap.data.lexicon import Lexicon, LexiconEntry
from densevidcap.errors import ModelError
from densevidcap.model_folder import CARD, WEIGHTS, load_model, save_model
from densevidcap.models.backbones.dinov2 import LayerScale
from densevidcap.models.losses import noisy_or
from densevidcap.models.word_detector import (
    LEXICON,
    FastEncoder,
    LexicalFCN,
    RegionEncoder,
    WordHead,
)
from densevidcap.types import FloatArray, Frames, ImageArray

WORDS = Lexicon(LexiconEntry(word, 9 - n, 1, "NOUN") for n, word in enumerate(["dog", "cat"]))


@pytest.fixture(scope="module")
def model() -> LexicalFCN:
    return make_model(WORDS)


@pytest.fixture(scope="module")
def frames() -> Frames:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (5, ENCODER.size, ENCODER.size, 3), dtype=np.uint8)
    return Frames(images, np.arange(5.0))


@pytest.fixture
def folder(model: LexicalFCN, tmp_path: Path) -> Path:
    model.save(tmp_path / "model", {"licence": "Apache-2.0"})
    return tmp_path / "model"


def test_reading_is_the_forward_pass(model: LexicalFCN, frames: Frames) -> None:
    seen = model.read(frames)
    pixels = torch.from_numpy(frames.images).permute(0, 3, 1, 2).float()
    with torch.inference_mode():
        expected = torch.sigmoid(model(pixels)).numpy()
    np.testing.assert_allclose(seen.probabilities, expected, atol=1e-5)
    assert seen.grid == model.encoder.grid
    assert seen.features.shape == (5, 4, 1280)
    np.testing.assert_array_equal(seen.times, frames.times)


@pytest.mark.parametrize(("backbone", "size"), [("dinov2-s14", 28), ("lite0", 64)])
def test_eyes_in_training_are_as_fast_and_see_the_same(backbone: str, size: int) -> None:
    """Whether they are copied, as those with norms, or not."""
    torch.manual_seed(0)
    encoder = RegionEncoder(EyesConfig(backbone=backbone, size=size, window=1, stride=1))
    images = np.random.default_rng(0).integers(0, 256, (2, size, size, 3), dtype=np.uint8)
    in_training, _ = FastEncoder(encoder.train()).observe(images)
    expected, _ = FastEncoder(encoder.eval()).observe(images)
    np.testing.assert_array_equal(in_training, expected)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("place", [0, 700, 1022])
def test_a_single_value_that_is_no_number_is_refused(
    tmp_path: Path, kind: torch.dtype, value: float, place: int
) -> None:
    numbers = torch.randn(1023, generator=torch.Generator().manual_seed(place)).to(kind)
    tensors = {"none": torch.zeros(0), "one": torch.ones(()), "flag": numbers > 0}
    save_model(tmp_path, {**tensors, "numbers": numbers}, {})
    assert load_model(tmp_path)[0]["numbers"].equal(numbers)
    numbers[place] = value
    save_model(tmp_path, {"numbers": numbers}, {})
    with pytest.raises(ModelError, match="'numbers' holds values that are no numbers"):
        load_model(tmp_path)


def test_still_frames_are_looked_at_once(
    model: LexicalFCN, frames: Frames, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[int] = []

    def observe(self: FastEncoder, images: ImageArray) -> tuple[FloatArray, FloatArray]:
        looked_at.append(len(images))
        return whole(self, images)

    whole = FastEncoder.observe
    monkeypatch.setattr(FastEncoder, "observe", observe)
    still = Frames(frames.images[[0, 0, 1, 2, 2, 2]], np.arange(6.0))
    all_of_them, seen = model.read(still), model.read(still, still=0.01)
    assert looked_at == [6, 3]
    np.testing.assert_allclose(seen.features, all_of_them.features, atol=1e-4)
    np.testing.assert_array_equal(seen.features[3], seen.features[5])
    assert seen.patches is not None
    assert all_of_them.patches is not None
    np.testing.assert_allclose(seen.patches, all_of_them.patches, atol=1e-4)
    np.testing.assert_array_equal(seen.times, still.times)


def test_short_numbers_see_nearly_the_same(frames: Frames) -> None:
    """On CPUs that only imitate bfloat16 too."""
    torch.manual_seed(0)
    eyes = EyesConfig("dinov2-s14", size=56, window=2, stride=2)
    model = LexicalFCN(WORDS, eyes, WordsConfig(hidden=32)).eval()
    for block in model.encoder.backbone.modules():
        if isinstance(block, LayerScale):
            torch.nn.init.constant_(block.gamma, 0.5)
    images = Frames(frames.images[:2, :56, :56], frames.times[:2])
    grids = [model.read(images, engine) for engine in ("float32", "bfloat16")]
    whole, short = (grid.features for grid in grids)
    assert short.dtype == np.float32
    assert not np.array_equal(whole, short)
    lengths = np.linalg.norm(whole, axis=-1) * np.linalg.norm(short, axis=-1)
    cosines = (whole * short).sum(-1) / lengths
    assert cosines.min() > 0.99
    assert cosines.mean() > 0.999
    np.testing.assert_array_equal(model.read(images).features, whole)
    words = [grid.probabilities for grid in grids]
    words += [
        model.map_words(grids[0], [0, 1], 2, engine).probabilities
        for engine in ("float32", "bfloat16")
    ]
    for exact, near in (words[:2], words[2:]):
        assert near.dtype == np.float32
        assert not np.array_equal(exact, near)
        np.testing.assert_allclose(near, exact, atol=0.02)


def test_convolutions_are_not_shortened_unasked(model: LexicalFCN, frames: Frames) -> None:
    found = model.read(frames, "auto").features
    np.testing.assert_array_equal(found, model.read(frames, "float32").features)


def test_a_saved_model_gives_the_same_probabilities(
    model: LexicalFCN, frames: Frames, folder: Path
) -> None:
    loaded = LexicalFCN.load(folder)
    assert loaded.lexicon.words == ("dog", "cat")
    assert json.loads((folder / CARD).read_text())["licence"] == "Apache-2.0"
    before, after = model.read(frames), loaded.read(frames)
    np.testing.assert_array_equal(after.probabilities, before.probabilities)
    np.testing.assert_array_equal(after.features, before.features)


def test_words_of_whole_frames_are_saved_along(frames: Frames, tmp_path: Path) -> None:
    model = make_model(WORDS, WordsConfig(hidden=8, whole=1))
    model.save(tmp_path, {"licence": "Apache-2.0"})
    seen, again = model.read(frames), LexicalFCN.load(tmp_path).read(frames)
    assert seen.frame_words is not None
    assert again.frame_words is not None
    assert seen.frame_words.shape == (len(frames), 1)
    np.testing.assert_array_equal(again.frame_words, seen.frame_words)
    np.testing.assert_array_equal(seen.select([1]).frame_words, seen.frame_words[[1]])


def edit_card(folder: Path, **changes: object) -> None:
    card = json.loads((folder / CARD).read_text())
    (folder / CARD).write_text(json.dumps(card | changes))


def test_folders_that_are_no_lexical_fcn_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"nowhere: no card\.json"):
        LexicalFCN.load(tmp_path / "nowhere")
    other = tmp_path / "other"
    other.mkdir()
    save_model(other, {}, {"kind": "language-model"})
    with pytest.raises(ModelError, match="holds a language-model, not a Lexical-FCN"):
        LexicalFCN.load(other)
    (folder / LEXICON).unlink()
    with pytest.raises(ModelError, match=rf"missing {LEXICON}"):
        LexicalFCN.load(folder)


def test_changed_weights_are_refused(folder: Path) -> None:
    content = bytearray((folder / WEIGHTS).read_bytes())
    content[-1] ^= 1
    (folder / WEIGHTS).write_bytes(content)
    with pytest.raises(ModelError, match=f"{WEIGHTS}: damaged or changed"):
        LexicalFCN.load(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"words": {"hidden": 8, "dropout": 0.5}},
        {"words": {"hidden": 32, "layers": 3}},
        {"eyes": None},
        {"eyes": {"backbone": "lite2", "size": 96, "window": 2, "stride": 1}},
    ],
)
def test_a_card_that_does_not_fit_the_weights_is_refused(
    folder: Path, changes: dict[str, object]
) -> None:
    edit_card(folder, **changes)
    with pytest.raises(ModelError, match="card and weights do not fit") as caught:
        LexicalFCN.load(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("hidden", [0, 16])
def test_bags_start_at_the_words_priors(hidden: int) -> None:
    """Exactly so for an empty feature; features move it a little."""
    head = WordHead(8, 3, WordsConfig(hidden=hidden)).eval()
    priors = torch.tensor([0.5, 0.01, 0.2])
    head.start_from_priors(priors, instances=16)
    if hidden:
        torch.nn.init.zeros_(head.shared.bias)
    torch.testing.assert_close(noisy_or(head(torch.zeros(16, 8))), priors)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"backbone": "alexnet"}, "no backbone named 'alexnet'"),
        ({"size": 300}, "multiple of 14"),
        ({"backbone": "lite0", "size": 300}, "multiple of 32"),
        ({"size": 42}, "does not fit 42 pixels"),
        ({"backbone": "vgg16"}, "set window = 7 and stride = 1"),
    ],
)
def test_impossible_encoders_are_refused(options: dict[str, object], fault: str) -> None:
    with pytest.raises(ModelError, match=fault):
        RegionEncoder(EyesConfig(**options))  # type: ignore[arg-type]
