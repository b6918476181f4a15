"""What the networks of motion and sound say in words, so that people can look at streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch

from densevidcap.config import StreamsConfig
from densevidcap.data.clip import Clip
from densevidcap.data.sampling import Sampling, end_of
from densevidcap.models.extractors.i3d import I3DStream, InceptionI3D
from densevidcap.models.extractors.sound import RATE, hear
from densevidcap.models.extractors.soundnet import SHORTEST_SCENE, SoundNet, repeat_sound
from densevidcap.models.extractors.weights import load_extractor
from densevidcap.types import FloatArray

MOST = 3
"""Labels of a moment."""


@dataclass(frozen=True)
class Moment:
    """What a network tells of a stretch of a clip, the most probable first."""

    start: float
    """Seconds."""
    end: float
    labels: tuple[tuple[str, float], ...]
    """With their probabilities."""


def tell_actions(clip: Clip, snippets: int | None = None) -> list[Moment]:
    """Actions of Kinetics by I3D, for snippets spread over the clip; none where nothing moves."""
    stream = I3DStream()
    stream.snippets = snippets or StreamsConfig().snippets
    stream.to(torch.device("cpu"), "auto")
    all_times = clip.times()
    times = all_times[Sampling(frames=stream.snippets).choose(all_times)]
    found = stream.watch(clip, times, (0.0, end_of(all_times)))
    if found is None:
        return []
    times, vectors = found
    probabilities = load_extractor(InceptionI3D).label(torch.from_numpy(vectors)).numpy()
    edges = [0.0, *((times[1:] + times[:-1]) / 2).tolist(), end_of(all_times)]
    return [
        Moment(start, end, rank_labels(InceptionI3D.labels(), row))
        for (start, end), row in zip(pairwise(edges), probabilities, strict=True)
    ]


def tell_scenes(clip: Clip, seconds: float = 15.0) -> list[Moment]:
    """Scenes by SoundNet, for parts of so many seconds at least; none without sound."""
    duration = end_of(clip.times())
    if hear(clip, (0.0, duration)) is None or not SoundNet.labels():
        return []
    network = load_extractor(SoundNet)
    edges = np.linspace(0, duration, max(1, int(duration / seconds)) + 1).tolist()
    moments = []
    for start, end in pairwise(edges):
        sound = hear(clip, (start, end))
        if sound is not None:
            whole = repeat_sound(sound, SHORTEST_SCENE)
            with torch.inference_mode():
                told = network.tell_scenes(torch.from_numpy(whole)[None])[0].mean(dim=0)
            moments.append(Moment(start, end, rank_labels(SoundNet.labels(), told.numpy())))
    return moments


def rank_labels(
    names: Sequence[str], probabilities: FloatArray, most: int = MOST
) -> tuple[tuple[str, float], ...]:
    order = np.argsort(-probabilities, kind="stable")[:most].tolist()
    return tuple((names[place], float(probabilities[place])) for place in order)


def read_sound(clip: Clip) -> tuple[FloatArray, int] | None:
    """All that there is to hear, and its rate."""
    sound = hear(clip, (0.0, end_of(clip.times())))
    return None if sound is None else (sound, RATE)
