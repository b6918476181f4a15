"""A whole model of a few units, and a clip in which something moves."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import torch
from av.video.frame import VideoFrame
from tests.models.small_world import make_model

from densevidcap.config import CaptionerConfig
from densevidcap.data.lexicon import Lexicon, LexiconEntry
from densevidcap.data.lsa import LatentSpace
from densevidcap.data.phrases import Phrases
from densevidcap.data.text import Vocabulary
from densevidcap.model_folder import MEANING, PHRASES, read_model_config, write_model_card
from densevidcap.models.captioner import CaptionModel, StreamWidths

SENTENCES = (
    "a dog runs on grass",
    "two cats sleep near a car",
    "a man plays a guitar",
    "a woman drives a red car",
    "people dance in a street",
)
SIZE = (320, 240)


def write_model(folder: Path, more: Iterable[str] = ()) -> Path:
    """With ImageNet's eyes and random words and sentences: the same ones every time.

    It looks for the words of its sentences, and for more.
    """
    words = sorted({word for sentence in SENTENCES for word in sentence.split()} | {*more})
    lexicon = Lexicon(LexiconEntry(word, 99, 9, "NOUN") for word in words)
    make_model(lexicon).save(folder / "words", {"licence": "Apache-2.0"})
    torch.manual_seed(0)
    config, widths = CaptionerConfig(hidden=16, embedding=8), StreamWidths({"regions": 1280})
    captioner = CaptionModel(Vocabulary.build(SENTENCES), config, widths)
    for parameter in captioner.parameters():
        # Larger than at the start of a training, so that every region has its own sentence.
        torch.nn.init.normal_(parameter, std=0.6)
    sentences = folder / "sentences"
    sentences.mkdir()
    # Twice, because words of a single sentence have no place in the space.
    LatentSpace.fit(SENTENCES * 2).save(sentences / MEANING)
    Phrases.count([SENTENCES]).save(sentences / PHRASES)
    captioner.eval().save(sentences, {"licence": "Apache-2.0"}, files=(MEANING, PHRASES))
    # Boxes that follow what random words see, however it jumps.
    jumpy = {"boxes.steadiness": 0.0, "boxes.memory": 0.0, "boxes.window": 1, "boxes.level": 0.4}
    write_model_card(folder, read_model_config(folder).override(jumpy), licence="Apache-2.0")
    return folder


def write_clip(path: Path, seconds: float = 4.0, codec: str = "libx264") -> Path:
    """A bright square on its way from the left to the right, over stripes."""
    count = round(10 * seconds)
    width, height = SIZE
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=10)
        stream.width, stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        for index in range(count):
            image = np.full((height, width, 3), 40, np.uint8)
            image[:, ::16] = (20, 90, 40)
            left = round((width - 80) * index / max(1, count - 1))
            image[80:160, left : left + 80] = (250, 200, 40)
            frame = VideoFrame.from_ndarray(image)
            frame.pts, frame.time_base = index, Fraction(1, 10)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path
