"""Motion: what a network of 3D convolutions sees in snippets of consecutive frames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext
from copy import copy
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from densevidcap.config import Engine, StreamsConfig
from densevidcap.data.clip import Clip, Size
from densevidcap.data.sampling import Indices, Shot
from densevidcap.models.device import resolve_engine
from densevidcap.models.extractors.weights import Extractor, load_extractor
from densevidcap.models.streams import ExtractedStream, Level
from densevidcap.models.views import spread_evenly
from densevidcap.types import FloatArray, TimeArray, UInt8Array

LENGTH = 16
"""Frames of a snippet."""


class MotionNetwork(Extractor, ABC):
    """Snippets (B, 3, F, H, W) with values 0 to 255, F consecutive frames, to vectors (B, D)."""

    channels: ClassVar[int]
    """D"""
    shorter: ClassVar[int]
    """Pixels of a frame's shorter side before its middle is cut out."""
    size: ClassVar[int]
    """Pixels of that middle, which is a square."""

    @abstractmethod
    def forward(self, snippets: Tensor) -> Tensor: ...

    def label(self, vectors: Tensor) -> Tensor | None:  # noqa: ARG002
        """Probabilities (B, L) of what the network was trained to tell, if it still knows."""
        return None


class MotionStream(ExtractedStream):
    """One vector a frame: that of the snippet which is nearest in time.

    A clip of a single picture has no motion.
    """

    level: Level = "frame"
    network: ClassVar[type[MotionNetwork]]

    def __init__(self) -> None:
        self.snippets = StreamsConfig().snippets
        self._device = torch.device("cpu")

    def configure(self, config: StreamsConfig) -> MotionStream:
        stream = copy(self)
        stream.snippets = config.snippets
        return stream

    def to(self, device: torch.device, engine: Engine = "float32") -> None:
        self._device, self.numbers = device, resolve_engine(engine, device)

    def check(self) -> None:
        self.network.find()

    def identify(self) -> str:
        return f"{self.name} {self.network.identify()} {LENGTH} {self.snippets}"

    def describe(self) -> dict[str, str]:
        return super().describe() | self.network.describe()

    def extract(self, clip: Clip, times: TimeArray, span: Shot) -> FloatArray | None:
        found = self.watch(clip, times, span)
        if found is None:
            return None
        middles, vectors = found
        nearest = np.abs(times[:, None] - middles[None]).argmin(axis=1)
        return np.asarray(vectors[nearest], np.float32)

    def watch(
        self, clip: Clip, times: TimeArray, span: Shot
    ) -> tuple[TimeArray, FloatArray] | None:
        """The snippets' own times (S,) and vectors (S, D); None where nothing can move."""
        all_times = clip.times()
        first, last = np.searchsorted(all_times, [span[0] - 1e-6, span[1] - 1e-6])
        if last - first < 2:
            return None
        chosen = times[spread_evenly(len(times), min(len(times), self.snippets))]
        middles = np.searchsorted(all_times, chosen - 1e-6)
        places = choose_snippets(middles, int(first), int(last))
        network = load_extractor(self.network)
        network.to(self._device, memory_format=torch.channels_last_3d)  # type: ignore[call-overload]
        size = fit_frames((clip.info.width, clip.info.height), network.shorter)
        snippets = pick_snippets(clip, places, size, network.size)
        vectors = [self._look(network, snippet) for snippet in snippets]
        return chosen, np.stack(vectors)

    @torch.inference_mode()
    def _look(self, network: MotionNetwork, snippet: UInt8Array) -> FloatArray:
        """The vector (D,) of frames (F, H, W, 3)."""
        # Seen as (1, 3, F, H, W), such an array is channels-last already.
        frames = torch.from_numpy(snippet).to(self._device).permute(3, 0, 1, 2)[None].float()
        short = self.numbers if self.numbers != torch.float32 else None
        with torch.autocast(self._device.type, short) if short else nullcontext():
            vector: Tensor = network(frames)[0]
        return vector.float().cpu().numpy()


def choose_snippets(middles: Indices, first: int, last: int) -> Indices:
    """(S, LENGTH): indices of consecutive frames around each middle, from `first` to below `last`.

    Where the clip ends, a snippet begins earlier or ends later; where all of it is shorter, its
    last frame stands still.
    """
    begins = np.clip(middles - LENGTH // 2, first, max(first, last - LENGTH))
    places: Indices = np.minimum(begins[:, None] + np.arange(LENGTH), last - 1)
    return places


def fit_frames(size: Size, shorter: int) -> Size:
    """The frame's shape, as large as its shorter side has to be."""
    scale = shorter / min(size)
    width, height = (max(shorter, round(side * scale)) for side in size)
    return width, height


def pick_snippets(clip: Clip, places: Indices, size: Size, middle: int) -> list[UInt8Array]:
    """(F, side, side, 3) of each snippet: its frames' middles.

    A damaged frame is replaced by the next intact one, or by the last.
    """
    left, top = ((side - middle) // 2 for side in size)
    images: list[UInt8Array] = []
    sources: list[int] = []
    for picked in clip.pick(np.unique(places).tolist(), size):
        # A copy, or the whole frame would stay in memory with it.
        cut = picked.image[top : top + middle, left : left + middle].copy()
        images.append(cut)
        sources.append(picked.source_frame)
    found = np.minimum(np.searchsorted(sources, places), len(sources) - 1)
    return [np.stack([images[place] for place in snippet]) for snippet in found]


class Unit3D(nn.Module):
    """A 3D convolution without bias, batch normalisation and a ReLU, padded as TensorFlow does."""

    def __init__(
        self,
        channels: tuple[int, int],
        kernel: tuple[int, int, int] = (1, 1, 1),
        stride: tuple[int, int, int] = (1, 1, 1),
    ) -> None:
        super().__init__()
        self.conv3d = nn.Conv3d(*channels, kernel, stride, bias=False)
        self.bn = nn.BatchNorm3d(channels[1], eps=1e-3)

    def forward(self, x: Tensor) -> Tensor:
        x = pad_same(x, self.conv3d.kernel_size, self.conv3d.stride)
        normalised: Tensor = self.bn(self.conv3d(x))
        return normalised.relu_()


def pad_same(x: Tensor, kernel: Sequence[int], stride: Sequence[int]) -> Tensor:
    """(B, C, F, H, W) with zeros around, so that a stride s leaves a share of 1/s, rounded up.

    Where the zeros on both sides cannot be equally many, there is one more at the end.
    """
    pads: list[int] = []
    for length, size, step in zip(x.shape[2:], kernel, stride, strict=True):
        total = max((-(-length // step) - 1) * step + size - length, 0)
        pads = [total // 2, total - total // 2, *pads]
    return nn.functional.pad(x, pads) if any(pads) else x
