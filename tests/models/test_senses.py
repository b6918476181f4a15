"""Where one frame does not tell, motion and sound do; and a clip without them is described too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from tests.models.drift import install_drift
from tests.models.small_world import make_lexicon, make_model

from densevidcap.config import ModelConfig
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.errors import ModelError
from densevidcap.examples.senses import write_senses
from densevidcap.model_folder import hash_file, read_card, write_json
from densevidcap.models.extractors.audio_words import AudioWordStream, Codebook
from densevidcap.models.streams import STREAMS
from densevidcap.models.views import ClipView
from densevidcap.pipeline.captioner import DenseCaptioner
from densevidcap.pipeline.generator import CaptionGenerator
from densevidcap.progress import Silent
from densevidcap.train.sentences import SentenceStage

CLIPS = 108
"""A third of them held out."""
BASE = ModelConfig().override(
    {
        "frames.most": 1,
        "regions.k": 1,
        "streams.lexicon_size": 10,
        "streams.frame_level": ("frames",),
        "streams.clip_level": (),
        # Frames alone would be learned by heart: the clips are few.
        "streams.dropout": {"frames": 0.3},
        "captioner.kind": "mean-pooling",
        "captioner.hidden": 32,
        "captioner.embedding": 16,
        "captioner.dropout": 0.0,
        "training.sentences.min_count": 1,
        "training.sentences.batch": 16,
        "training.sentences.epochs": 60,
        "training.sentences.learning_rate": 5e-3,
        "decoding.samples": 0,
        "decoding.beam": 2,
    }
)
SENSES = BASE.override(
    {
        "streams.frame_level": ("frames", "drift"),
        "streams.clip_level": ("audio_words",),
        "streams.dropout": {"frames": 0.3, "drift": 0.2, "audio_words": 0.2},
    }
)


class Learned:
    """A captioner, and the clips that were held out from it."""

    def __init__(self, manifest: Path, config: ModelConfig, out: Path) -> None:
        self.config = config
        words, cache = manifest.parent / "words", manifest.parent / "cache"
        stage = SentenceStage(out, config, manifest, words, cache)
        stage.run(Silent())
        self.held_out: Mapping[ClipRecord, ClipView] = {
            record: stage.views.view(record.id) for record in stage.held_out
        }
        self.generator = CaptionGenerator.load(out)

    def rate(self, *missing: str) -> dict[str, float]:
        """Shares of held-out clips of which the right colour, way and sound is said."""
        right = np.zeros(3)
        for record, view in self.held_out.items():
            kept = {name: each for name, each in view.extracted.items() if name not in missing}
            found = self.generator.propose(replace(view, extracted=kept), self.config)
            said = self.generator.say(max(found, key=lambda one: one.score).ids).split()
            true = record.captions[0].split()
            assert len(said) == len(true), "it breaks down"
            right += [said[place] == true[place] for place in (1, 4, 6)]
        names = ("colour", "way", "sound")
        return dict(zip(names, (right / len(self.held_out)).tolist(), strict=True))


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    manifest = write_senses(tmp_path_factory.mktemp("senses"), range(CLIPS))
    make_model(make_lexicon(list(read_manifest(manifest)))).save(manifest.parent / "words", {})
    return manifest


@pytest.fixture(scope="module")
def learned(manifest: Path) -> Iterator[Learned]:
    """With motion and sound, in a model folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DENSEVIDCAP_WEIGHTS", str(manifest.parent / "weights"))
        patch.setitem(STREAMS, "drift", "tests.models.drift:DriftStream")
        install_drift()
        yield Learned(manifest, SENSES, manifest.parent / "sentences")


def test_one_frame_does_not_tell_them_apart(manifest: Path, tmp_path: Path) -> None:
    rates = Learned(manifest, BASE, tmp_path).rate()
    assert rates["colour"] >= 0.9
    assert 0.2 <= rates["way"] <= 0.8
    assert 0.2 <= rates["sound"] <= 0.8


def test_motion_and_sound_do(learned: Learned) -> None:
    rates = learned.rate()
    assert rates["colour"] >= 0.9
    assert rates["way"] >= 0.95
    assert rates["sound"] >= 0.95


def test_where_one_is_missing_only_what_it_tells_is_lost(learned: Learned) -> None:
    without_motion, without_sound = learned.rate("drift"), learned.rate("audio_words")
    assert without_motion["sound"] >= 0.95
    assert without_sound["way"] >= 0.95
    assert 0.2 <= without_motion["way"] <= 0.8
    assert 0.2 <= without_sound["sound"] <= 0.8
    for missing in (("drift",), ("audio_words",), ("drift", "audio_words")):
        assert learned.rate(*missing)["colour"] >= 0.9


def test_a_clip_is_described_by_what_it_sounds_like(learned: Learned, manifest: Path) -> None:
    """From the file, as a user has it; and from a copy that is mute."""
    model = DenseCaptioner.load(manifest.parent)
    settings = {"regions.k": 1, "selection.sure": 0.0, "selection.silence": False}
    right = 0
    for record in [*learned.held_out][:8]:
        said = model.caption(str(record.source), k=1, settings=settings)
        right += said[0].text.lower().split()[6].strip(".") == record.captions[0].split()[6]
    assert right == 8


def test_the_card_lists_them_and_guards_what_they_learned(
    learned: Learned, manifest: Path, tmp_path: Path
) -> None:
    assert learned.generator.extracted.keys() == {"drift", "audio_words"}
    folder = tmp_path / "sentences"
    copytree(manifest.parent / "sentences", folder)
    card = read_card(folder)
    assert card["files"]["audio_words.safetensors"] == hash_file(folder / "audio_words.safetensors")
    assert card["extracted"].keys() == {"drift", "audio_words"}
    assert card["extracted"]["drift"]["licence"] == "not stated"

    card["extracted"]["drift"]["identity"] = "drift of other weights"
    write_json(folder / "card.json", card)
    with pytest.raises(ModelError, match=r"learned from 'drift of other weights'.*install"):
        CaptionGenerator.load(folder)

    stream = AudioWordStream(Codebook.fit(np.random.default_rng(0).random((300, 39), np.float32)))
    stream.save(folder)
    with pytest.raises(ModelError, match=r"audio_words\.safetensors: damaged or changed"):
        CaptionGenerator.load(folder)


def test_a_model_whose_weights_are_gone_says_how_to_have_them(
    learned: Learned, manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert learned.generator.extracted
    monkeypatch.setenv("DENSEVIDCAP_WEIGHTS", str(tmp_path))
    with pytest.raises(ModelError, match=r"no weights of 'drift' there; run .* install drift"):
        CaptionGenerator.load(manifest.parent / "sentences")
