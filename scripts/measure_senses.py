"""What motion and sound are worth where one frame tells nothing, and what they cost on clips.

    python scripts/measure_senses.py told OUT --motion i3d --sound audio_words
    python scripts/measure_senses.py cost CLIP...
    python scripts/measure_senses.py probe MANIFEST --cache CACHE --streams whole_frames i3d

`told` writes the clips of `densevidcap.examples.senses`, trains a captioner on one frame of each,
without and with the streams, and prints how often the right colour, way and sound is said of clips
that were held out: with everything, and with streams taken away. `cost` prints CPU-seconds a clip,
peak memory and bytes in the cache of every stream whose weights are installed. `probe` learns the
categories of clips from each stream alone by a linear classifier, and prints how often it is right
on clips of the split `validate`, and how often the first two, three, … are together, by the product
of what their classifiers say.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import Tensor

from densevidcap.config import EyesConfig, ModelConfig, WordsConfig
from densevidcap.data.clip import open_clip
from densevidcap.data.lexicon import Lexicon, LexiconEntry
from densevidcap.data.manifest import ClipRecord
from densevidcap.data.sampling import Sampling, end_of
from densevidcap.errors import ModelError
from densevidcap.examples.senses import COLOURS, write_senses
from densevidcap.metrics.bootstrap import bootstrap_difference, bootstrap_mean
from densevidcap.model_folder import BUNDLED
from densevidcap.models.backbones.weights import load_imagenet
from densevidcap.models.streams import STREAMS, ExtractedStream, find_stream, list_extracted
from densevidcap.models.views import look
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
        stream.to(torch.device("cpu"), "auto")
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


def probe(manifest: Path, settings: str, cache: Path, names: Sequence[str]) -> None:
    config = ModelConfig.read(settings).override(
        {
            "streams.frame_level": _of_level(names, "frame") or ("frames",),
            "streams.clip_level": _of_level(names, "clip"),
            "streams.dropout": {},
        }
    )
    with TemporaryDirectory() as out:
        stage = SentenceStage(Path(out), config, manifest, BUNDLED / "words", cache)
        stage.claim()
        stage.read_views(Silent())
    records = [record for record in stage.clips if record.category]
    is_trained = torch.tensor([record.split == "train" for record in records])
    categories = sorted({str(record.category) for record in records})
    labels = torch.tensor([categories.index(str(record.category)) for record in records])
    usual = (labels[~is_trained] == labels[is_trained].mode().values).float().mean()
    print(f"{len(records)} clips, {int((~is_trained).sum())} of them held out, of which the most")
    print(f"frequent of {len(categories)} categories is right in {usual:.1%}")
    parts = {name: read_stream(stage, records, name, is_trained) for name in names}
    print("| stream | clips with it | right | 95% interval | above the first | 95% interval |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    told = {name: classify(parts[name][0], labels, is_trained) for name in names}
    first: dict[str, float] = {}
    for group in [[name] for name in names] + [[*names[:n]] for n in range(2, len(names) + 1)]:
        said = torch.stack([told[name] for name in group]).sum(0)
        found = said.argmax(1) == labels[~is_trained]
        right = {str(place): float(each) for place, each in enumerate(found)}
        first = first or right
        own = bootstrap_mean(np.array([*right.values()]), [*right])
        more = bootstrap_difference(first, right)
        count = min(parts[name][1] for name in group)
        print(
            f"| {' + '.join(group)} | {count} | {own.mean:.1%} | {own.low:.0%} to {own.high:.0%} "
            f"| {100 * more.mean:+.1f} | {100 * more.low:+.0f} to {100 * more.high:+.0f} |",
            flush=True,
        )


def _of_level(names: Sequence[str], level: str) -> tuple[str, ...]:
    return tuple(name for name in names if find_stream(name).level == level)


def read_stream(
    stage: SentenceStage, records: Sequence[ClipRecord], name: str, is_trained: Tensor
) -> tuple[Tensor, int]:
    """A vector (N, D) of each clip, and how many clips have the stream.

    The others have the mean of the training clips, which tells nothing.
    """
    found: list[FloatArray | None] = []
    for record in records:
        values = find_stream(name).read(look(stage.views.view(record.id))[0])
        found.append(values if values is None or values.ndim == 1 else values.mean(axis=0))
    pairs = zip(found, is_trained.tolist(), strict=True)
    usual = np.mean([each for each, trained in pairs if each is not None and trained], axis=0)
    filled = np.stack([usual if each is None else each for each in found])
    return torch.tensor(filled, dtype=torch.float32), sum(each is not None for each in found)


def classify(inputs: Tensor, labels: Tensor, is_trained: Tensor) -> Tensor:
    """What a linear classifier says of each of the others: (N, C), log-probabilities.

    Its weight decay is the one that is best for a fifth of those it may learn from.
    """
    scaled = (inputs - inputs[is_trained].mean(0)) / (inputs[is_trained].std(0) + 1e-6)
    order = torch.randperm(int(is_trained.sum()), generator=torch.Generator().manual_seed(0))
    places = is_trained.nonzero()[:, 0][order]
    fifth = len(places) // 5
    kept, held = places[fifth:], places[:fifth]
    decays = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    best = min(
        decays,
        key=lambda d: float(
            torch.nn.functional.nll_loss(_learn(scaled, labels, kept, held, d), labels[held])
        ),
    )
    return _learn(scaled, labels, places, (~is_trained).nonzero()[:, 0], best)


def _learn(x: Tensor, y: Tensor, trained: Tensor, measured: Tensor, decay: float) -> Tensor:
    torch.manual_seed(0)
    linear = torch.nn.Linear(x.shape[1], int(y.max()) + 1)
    optimiser = torch.optim.AdamW(linear.parameters(), 1e-2, weight_decay=10 * decay)
    for _ in range(200):
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(linear(x[trained]), y[trained])
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    with torch.inference_mode():
        said: Tensor = linear(x[measured]).log_softmax(1)
    return said


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
    probed.add_argument("--config", default="default", help="frames of a clip, and snippets")
    probed.add_argument("--cache", type=Path, required=True, help="where features are kept")
    probed.add_argument("--streams", nargs="+", default=["whole_frames", "i3d", "audio_words"])
    options = parser.parse_args()
    if options.verb == "told":
        tell(options.out, options.motion, options.sound, options.kind, options.epochs)
    elif options.verb == "probe":
        probe(options.manifest, options.config, options.cache, options.streams)
    else:
        cost(options.clips)


if __name__ == "__main__":
    main()
