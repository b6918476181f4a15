"""SoundNet-8, which learned from films what their sound tells of the scene (Aytar et al., 2016)."""

from __future__ import annotations

import ast
import pickle
from io import BytesIO

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from densevidcap.config import Engine
from densevidcap.data.clip import Clip
from densevidcap.data.sampling import Shot
from densevidcap.models.backbones.weights import ArrayUnpickler, Tensors
from densevidcap.models.extractors.sound import RATE, hear
from densevidcap.models.extractors.weights import Extractor, PickledWeights, load_extractor
from densevidcap.models.streams import ExtractedStream, Level
from densevidcap.types import FloatArray, TimeArray

_LAYERS = {
    "conv1": (1, 16, 64, 8),
    "conv2": (16, 32, 32, 8),
    "conv3": (32, 64, 16, 1),
    "conv4": (64, 128, 8, 1),
    "conv5": (128, 256, 4, 4),
    "conv6": (256, 512, 4, 1),
    "conv7": (512, 1024, 4, 1),
}
"""Channels in and out, samples of a kernel, and how many values are pooled after it."""
SCENES = 401
STEP = 2**15
"""Samples from one vector to the next."""
SHORTEST = 4 * STEP
"""Samples that a vector is made from at least: shorter sounds are repeated."""
SHORTEST_SCENE = 9 * STEP
"""The same of the last layer, which looks at eight vectors at once."""
PIECE = 60 * RATE
"""Samples that are listened to at once, however long a clip is."""


class SoundNet(Extractor):
    """Sound (B, samples) at 22,050 Hz in [-1, 1] to vectors (B, steps, 1024)."""

    name = "soundnet"
    channels = 1024

    def __init__(self) -> None:
        super().__init__()
        for name, (inputs, width, kernel, _) in _LAYERS.items():
            conv = nn.Conv1d(inputs, width, kernel, stride=2, padding=kernel // 2)
            self.add_module(name, nn.ModuleDict({"conv": conv, "bn": nn.BatchNorm1d(width)}))
        self.scenes = nn.Conv1d(self.channels, SCENES, 8, stride=2)

    def forward(self, sound: Tensor) -> Tensor:
        return self._listen(sound).transpose(1, 2)

    def tell_scenes(self, sound: Tensor) -> Tensor:
        """Probabilities (B, steps, scenes)."""
        scores: Tensor = self.scenes(self._listen(sound))
        return scores.transpose(1, 2).softmax(-1)

    def _listen(self, sound: Tensor) -> Tensor:
        x = (256 * sound).unsqueeze(1)
        for name, (_, _, _, pooled) in _LAYERS.items():
            layer = self.get_submodule(name)
            assert isinstance(layer, nn.ModuleDict)
            x = layer["bn"](layer["conv"](x)).relu_()
            if pooled > 1:
                x = F.max_pool1d(x, pooled)
        return x


class SoundNetStream(ExtractedStream):
    """The mean over time of the last hidden layer: what all of the span sounds like."""

    name = "soundnet"
    level: Level = "clip"
    features = SoundNet.channels

    def __init__(self) -> None:
        self._device = torch.device("cpu")

    def to(self, device: torch.device, engine: Engine = "float32") -> None:  # noqa: ARG002
        self._device = device

    def check(self) -> None:
        SoundNet.find()

    def identify(self) -> str:
        return f"{self.name} {SoundNet.identify()}"

    def describe(self) -> dict[str, str]:
        return super().describe() | SoundNet.describe()

    def extract(self, clip: Clip, times: TimeArray, span: Shot) -> FloatArray | None:  # noqa: ARG002
        sound = hear(clip, span)
        if sound is None:
            return None
        network = load_extractor(SoundNet).to(self._device)
        total, steps = np.zeros(self.features), 0
        with torch.inference_mode():
            for piece in cut_pieces(sound):
                found = network(torch.from_numpy(piece).to(self._device)[None])[0].cpu().numpy()
                total, steps = total + found.sum(axis=0), steps + len(found)
        return np.asarray(total / steps, np.float32)


def cut_pieces(sound: FloatArray) -> list[FloatArray]:
    """At most a minute each; what is too short to listen to is repeated."""
    whole = repeat_sound(sound, SHORTEST)
    return np.array_split(whole, -(-len(whole) // PIECE))


def repeat_sound(sound: FloatArray, least: int) -> FloatArray:
    """As often as it needs to have so many samples."""
    return sound if len(sound) >= least else np.tile(sound, -(-least // len(sound)))[:least]


def convert_arrays(content: bytes) -> Tensors:
    """Weights of the package's .npy, a pickled dict of arrays: kernels are (size, 1, in, out)."""
    stream = BytesIO(content)
    try:
        np.lib.format.read_magic(stream)
        np.lib.format.read_array_header_1_0(stream)
        layers = ArrayUnpickler(stream, encoding="latin1").load().item()
        tensors: Tensors = {}
        for name in _LAYERS:
            layer = layers[name]
            tensors[f"{name}.conv.weight"] = _turn(layer["weights"])
            tensors[f"{name}.conv.bias"] = torch.from_numpy(layer["biases"])
            for own, theirs in _MOMENTS.items():
                tensors[f"{name}.bn.{own}"] = torch.from_numpy(layer[theirs])
        tensors["scenes.weight"] = _turn(layers["conv8_2"]["weights"])
        tensors["scenes.bias"] = torch.from_numpy(layers["conv8_2"]["biases"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise pickle.UnpicklingError(f"holds no SoundNet ({error!r})") from None
    return tensors


_MOMENTS = {"weight": "gamma", "bias": "beta", "running_mean": "mean", "running_var": "var"}


def _turn(kernel: FloatArray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(kernel[:, 0].transpose(2, 1, 0)))


def read_scenes(code: str) -> list[str]:
    """The names of scenes in the package's module, which is parsed and never run."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Assign) and "categories_places" in map(ast.unparse, node.targets):
            return [str(each) for each in ast.literal_eval(node.value)]
    return []


SoundNet.package = PickledWeights(
    distribution="soundnet",
    version="0.1.2",
    file="soundnet/models/sound8.npy",
    sha256="7bef691761d00a23b027751bb8e7bdadc603a03f3bbec5574e7cd54c98a850c5",
    licence="MIT",
    convert=convert_arrays,
    label_file="soundnet/__init__.py",
    read_labels=read_scenes,
)
