"""What motion and sound are worth where one frame tells nothing, and what they cost on clips.

    python scripts/measure_senses.py told OUT --motion i3d --sound audio_words
    python scripts/measure_senses.py cost CLIP...
    python scripts/measure_senses.py probe MANIFEST --streams audio_words soundnet

`told` writes the clips of `densevidcap.examples.senses`, trains a captioner on one frame of each,
without and with the streams, and prints how often the right colour, way and sound is said of clips
that were held out: with everything, and with streams taken away. `cost` prints CPU-seconds a clip,
peak memory and bytes in the cache of every stream whose weights are installed. `probe` learns the
categories of clips from a stream alone, by a linear classifier, and prints how often it is right on
clips of the split `validate`.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from densevidcap.config import EyesConfig, ModelConfig, WordsConfig
from densevidcap.data.clip import open_clip
from densevidcap.data.lexicon import Lexicon, LexiconEntry
from densevidcap.data.manifest import read_manifest
from densevidcap.data.sampling import Sampling, end_of
from densevidcap.errors import ModelError
from densevidcap.examples.senses import COLOURS, write_senses
from densevidcap.models.backbones.weights import load_imagenet
from densevidcap.models.streams import STREAMS, ExtractedStream, list_extracted
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.pipeline.generator import CaptionGenerator
from densevidcap.progress import Silent
from densevidcap.train.sentences import SentenceStage
from densevidcap.types import FloatArray

CLIPS = 108
FACTS = {"colour": 1, "way": 4, "sound": 6}
"""What a caption tells, and by which of its words."""
BASE = ModelConfig().override(
    {
        "frames.most": 1,
        "regions.k": 1,
        "streams.lexicon_size": 3,
        "streams.frame_level": ("frames",),
        "streams.clip_level": (),
        "streams.dropout": {"frames": 0.3},
        "captioner.hidden": 64,
        "captioner.embedding": 32,
        "captioner.dropout": 0.0,
        "training.sentences.min_count": 1,
        "training.sentences.batch": 16,
        "training.sentences.learning_rate": 3e-3,
        "decoding.samples": 0,
        "decoding.beam": 2,
    }
)


def make_words(folder: Path) -> Path:
    """Eyes of ImageNet, and the words of colours, which nobody has taught it."""
    torch.manual_seed(0)
    lexicon = Lexicon(LexiconEntry(word, 9, 1, "ADJ") for word in COLOURS)
    model = LexicalFCN(lexicon, EyesConfig("lite0", 96, 2, 1), WordsConfig(hidden=32))
    load_imagenet(model.encoder.backbone)
    model.eval().save(folder, {})
    return folder


def add_streams(motion: str | None, sound: str | None, kind: str, epochs: int) -> ModelConfig:
    given = [name for name in (motion, sound) if name]
    return BASE.override(
        {
            "streams.frame_level": ("frames", *([motion] if motion else [])),
            "streams.clip_level": (sound,) if sound else (),
            "streams.dropout": {"frames": 0.3, **dict.fromkeys(given, 0.2)},
            "captioner.kind": kind,
            "training.sentences.epochs": epochs,
        }
    )


def tell(out: Path, motion: str, sound: str, kind: str, epochs: int) -> None:
    manifest = out / "clips" / "manifest.jsonl"
    if not manifest.exists():
        write_senses(out / "clips", range(CLIPS))
    words = make_words(out / "words")
    print("| streams learned | taken away | " + " | ".join(FACTS) + " |")
    print("| --- | --- |" + " ---: |" * len(FACTS))
    for with_motion, with_sound in ((False, False), (True, False), (False, True), (True, True)):
        names = [n for n, wanted in ((motion, with_motion), (sound, with_sound)) if wanted]
        given = motion if with_motion else None, sound if with_sound else None
        config = add_streams(*given, kind, epochs)
        folder = out / "-".join([kind, str(epochs), *names])
        stage = SentenceStage(folder, config, manifest, words, out / "cache")
        stage.run(Silent())
        generator = CaptionGenerator.load(folder)
        for missing in [[], *([name] for name in names), *([names] if len(names) > 1 else [])]:
            right = np.zeros(len(FACTS))
            for record in stage.held_out:
                view = stage.views.view(record.id)
                kept = {n: values for n, values in view.extracted.items() if n not in missing}
                found = generator.propose(replace(view, extracted=kept), config)
                said = generator.say(max(found, key=lambda one: one.score).ids).split()
                true = record.captions[0].split()
                right += [said[p : p + 1] == true[p : p + 1] for p in FACTS.values()]
            shares = " | ".join(f"{share:.0%}" for share in right / len(stage.held_out))
            listed = " + ".join(["one frame", *names])
            print(f"| {listed} | {' + '.join(missing) or '-'} | {shares} |", flush=True)


def cost(clips: Sequence[str]) -> None:
    print("| stream | clips with it | CPU-s a clip | of clip's seconds | peak MB | KB a clip |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    seconds = sum(end_of(open_clip(each).times()) for each in clips)
    for name, stream in list_extracted(STREAMS).items():
        try:
            stream.check()
        except ModelError:
            continue
        started = time.process_time()
        fitted = stream.fit([open_clip(each) for each in clips])
        learned = time.process_time() - started
        found, spent = [], 0.0
        for each in clips:
            values, used = _extract(fitted, each)
            spent += used
            if values is not None:
                found.append(values.size * 2)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        size = np.mean(found) / 1024 if found else 0.0
        each_clip = spent / len(clips)
        row = (name, len(found), f"{each_clip:.2f}", f"{spent / seconds:.1%}")
        print("| " + " | ".join(map(str, row)) + f" | {peak:.0f} | {size:.1f} |", flush=True)
        if fitted is not stream:
            print(f"({name}: learned in {learned:.1f} CPU-s from {len(clips)} clips)")


def probe(manifest: Path, names: Sequence[str]) -> None:
    records = [r for r in read_manifest(manifest) if r.category and r.source]
    trained = [r for r in records if r.split == "train"]
    clips = [open_clip(str(r.source)) for r in trained]
    streams = {name: each.fit(clips) for name, each in list_extracted(names).items()}
    rows: dict[str, dict[str, FloatArray]] = {name: {} for name in streams}
    for record in records:
        for name, stream in streams.items():
            values, _ = _extract(stream, str(record.source))
            if values is not None:
                rows[name][record.id] = values if values.ndim == 1 else values.mean(axis=0)
    print("| stream | learned from | clips | right | 95% interval | the most frequent category |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    categories = sorted({str(r.category) for r in trained})
    for name in [*names, " + ".join(names)]:
        parts = name.split(" + ")
        known = [r for r in records if all(r.id in rows[part] for part in parts)]
        inputs = torch.tensor(
            np.stack([np.concatenate([rows[p][r.id] for p in parts]) for r in known])
        )
        labels = torch.tensor([categories.index(str(r.category)) for r in known])
        is_trained = torch.tensor([r.split == "train" for r in known])
        right = classify(inputs, labels, is_trained)
        usual = (labels[~is_trained] == labels[is_trained].mode().values).float().mean()
        measured = int((~is_trained).sum())
        off = 1.96 * (right * (1 - right) / measured) ** 0.5
        told = f"{right:.1%} | {right - off:.0%} to {right + off:.0%} | {usual:.1%}"
        print(f"| {name} | {int(is_trained.sum())} | {measured} | {told} |", flush=True)


def classify(inputs: Tensor, labels: Tensor, is_trained: Tensor) -> float:
    """How often a linear classifier is right on the others.

    Its weight decay is the one that is best for a fifth of those it may learn from.
    """
    scaled = (inputs - inputs[is_trained].mean(0)) / (inputs[is_trained].std(0) + 1e-6)
    order = torch.randperm(int(is_trained.sum()), generator=torch.Generator().manual_seed(0))
    places = is_trained.nonzero()[:, 0][order]
    fifth = len(places) // 5
    decays = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    best = max(decays, key=lambda d: _learn(scaled, labels, places[fifth:], places[:fifth], d))
    return _learn(scaled, labels, places, (~is_trained).nonzero()[:, 0], best)


def _learn(x: Tensor, y: Tensor, trained: Tensor, measured: Tensor, decay: float) -> float:
    torch.manual_seed(0)
    linear = torch.nn.Linear(x.shape[1], int(y.max()) + 1)
    optimiser = torch.optim.AdamW(linear.parameters(), 1e-2, weight_decay=10 * decay)
    for _ in range(200):
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(linear(x[trained]), y[trained])
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return float((linear(x[measured]).argmax(1) == y[measured]).float().mean())


def _extract(stream: ExtractedStream, source: str) -> tuple[FloatArray | None, float]:
    clip = open_clip(source)
    all_times = clip.times()
    times = all_times[Sampling().choose(all_times)]
    started = time.process_time()
    values = stream.extract(clip, times, (0.0, end_of(all_times)))
    return values, time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    told = verbs.add_parser("told")
    told.add_argument("out", type=Path)
    told.add_argument("--motion", default="i3d")
    told.add_argument("--sound", default="audio_words")
    told.add_argument("--kind", default="mean-pooling", help="of the captioner")
    told.add_argument("--epochs", type=int, default=100)
    costs = verbs.add_parser("cost")
    costs.add_argument("clips", nargs="+")
    probed = verbs.add_parser("probe")
    probed.add_argument("manifest", type=Path)
    probed.add_argument("--streams", nargs="+", default=["audio_words", "soundnet"])
    options = parser.parse_args()
    if options.verb == "told":
        tell(options.out, options.motion, options.sound, options.kind, options.epochs)
    elif options.verb == "probe":
        probe(options.manifest, options.streams)
    else:
        cost(options.clips)


if __name__ == "__main__":
    main()
