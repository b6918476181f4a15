"""The one source of every setting, in training and in captioning.

A `ModelConfig` is read from one TOML file, stored in the card of the model that it made, and read
back from there by everything that uses the model. A section of the file is a dataclass below:

```toml
extends = "default"      # what this file leaves out: of another file, or of a name in `configs/`

[eyes]
backbone = "dinov2-s14"

[training.sentences]
epochs = 20
```

What is misspelled, or does not go together, is an error that names file, section and remedy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any, Literal

from densevidcap.config_files import build_section, find_config, flatten, read_extended
from densevidcap.errors import ModelError

FEATURES = "features"
"""The backbone that looks at nothing: others did, and clips are features."""

LARGEST_FRAME = 2048
"""Pixels of a frame's side; thirty such frames take 400 MB before anything is computed."""

Engine = Literal["auto", "float32", "bfloat16"]


def _at_least(config: Any, least: float, *names: str) -> None:
    for name in names:
        if not getattr(config, name) >= least:
            raise ModelError(f"{name} must be {least:g} or more, not {getattr(config, name)}")


def _above_zero(config: Any, *names: str) -> None:
    for name in names:
        if not getattr(config, name) > 0:
            raise ModelError(f"{name} must be more than 0, not {getattr(config, name)}")


def _share(config: Any, *names: str, below_one: bool = False) -> None:
    for name in names:
        value = getattr(config, name)
        if not (0 <= value < 1 if below_one else 0 <= value <= 1):
            end = "below 1" if below_one else "1"
            raise ModelError(f"{name} must be from 0 to {end}, not {value}")


@dataclass(frozen=True)
class FramesConfig:
    """Which frames of a clip are looked at."""

    most: int = 24
    """Frames of a segment: a shot, or all of a short clip."""
    every: float = 0.0
    """Seconds from one frame to the next, where that makes fewer than `most`; 0 takes as many as
    there may be."""
    least: int = 8
    """Frames of a segment that is so short that there would be fewer."""
    strategy: Literal["uniform", "jittered", "random", "shots"] = "uniform"
    seed: int = 0
    """For the random strategies; change it to see other frames of a clip."""
    per_shot: Literal["long", "always", "never"] = "long"
    """Whether each shot is described by itself, or all at once; `long`: a clip that is longer than
    `longest` is a film, whose shots become scenes (see `ScenesConfig`)."""
    longest: float = 60.0
    """Seconds: a longer shot is looked at in equal parts."""
    still: float = 0.0
    """A frame that differs by less from the one that was looked at before it is not looked at: the
    other stands for it. Root mean square of thumbnails' difference, 0 to 1; 0 looks at all."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "most", "least")
        _at_least(self, 0, "seed", "every")
        _share(self, "still")
        _above_zero(self, "longest")

    def is_film(self, seconds: float) -> bool:
        """Whether a clip of that length is described scene by scene."""
        return self.per_shot == "long" and seconds > self.longest


@dataclass(frozen=True)
class ScenesConfig:
    """How a film is told: scene by scene, in a few sentences a minute."""

    sentences: float = 5.0
    """A minute. There are no more scenes than that, and each has a sentence at least."""
    every: float = 4.0
    """Seconds from one frame that is looked at to the next; each shot has one at least."""
    frames: int = 8
    """Of a scene that its sentences are made from, at most."""
    alike: float = 0.6
    """Cosine of what the eyes see in two shots from which on both are of one scene, and what is
    between them too."""
    longest: float = 300.0
    """Seconds up to which shots that are alike become one scene."""
    repetition: float = 0.1
    """What meaning the same as a sentence of the scenes before costs, where quality is from 0 to 1.
    Whatever it is, what was said in the same words is said again only if nothing else is sure."""
    chapter: float = 120.0
    """Seconds of a chapter on average."""

    def __post_init__(self) -> None:
        _above_zero(self, "sentences", "every", "longest", "chapter")
        _at_least(self, 1, "frames")
        _at_least(self, -1, "alike")
        _at_least(self, 0, "repetition")


@dataclass(frozen=True)
class EyesConfig:
    """Which network looks at a frame, and how its map is cut into regions (Sec. 3.1.3)."""

    backbone: str = "dinov2-s14"
    """A name in `models.backbones`."""
    size: int = 224
    """Side of the square that a frame is resized to, in pixels."""
    window: int = 4
    """Side of a region in cells of the backbone's map. The paper's is 7, at stride 1."""
    stride: int = 4
    """Cells from one region to the next."""
    rows: int = 0
    """Of the backbone `features` alone, as are the next two: cells of a frame's map. All three are
    those of the training clips; a model's card has them."""
    columns: int = 0
    features: int = 0
    """D: numbers of a cell."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "size", "window", "stride")
        _at_least(self, 0, "rows", "columns", "features")
        if self.size > LARGEST_FRAME:
            raise ModelError(f"size must be at most {LARGEST_FRAME} pixels, not {self.size}")


@dataclass(frozen=True)
class LexiconConfig:
    """Which words are looked for in regions (Sec. 3.1.2)."""

    min_count: int = 5
    """Least occurrences of a word."""
    min_videos: int = 1
    """Least clips that have it."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "min_count", "min_videos")


@dataclass(frozen=True)
class WordsConfig:
    """From a region's feature to its words (Eq. 3)."""

    hidden: int = 1024
    """Units of a layer that all words share; 0 is the paper's Eq. 3, one linear map a word."""
    shaping: int = 1000
    """Only that many of the most frequent words shape the shared layer and what lies below it; the
    others, with a handful of clips each, read it. Left to themselves they make it learn clips by
    heart."""
    dropout: float = 0.7
    """Share of the shared layer (of the features, where there is none) left out of a step."""
    whole: int = 0
    """So many of the most frequent words are looked for in whole frames too, by a branch of their
    own: where a word is, its regions tell; whether a clip shows it, both. 0 is the paper's."""

    def __post_init__(self) -> None:
        _at_least(self, 0, "hidden", "shaping", "whole")
        _share(self, "dropout", below_one=True)


@dataclass(frozen=True)
class RegionsConfig:
    """How region-sequences are found (Sec. 3.2)."""

    k: int = 10
    """Region-sequences of a segment."""
    terms: dict[str, float] = field(
        default_factory=lambda: {
            "informativeness": 1.0,
            "nearest_divergence": 1.0,
            "coherence": 8.0,
        }
    )
    """Terms of the objective R(A) (Eq. 4) by name in `regions.objectives`, with their weights w_v.
    The paper's three are informativeness, divergence and coherence."""
    weights: Literal["fixed", "learned"] = "fixed"
    """`learned`: training starts from `terms` and fits w_v by Eq. 9, alternating with association;
    what it found replaces `terms` in the model's card, where it is fixed."""
    scaling: Literal["clip", "paper"] = "clip"
    """What a weight of 1 means: see `regions.objectives`."""
    search: str = "frame-order"
    """A name in `regions.search`: frame by frame (Eq. 8), or `celf` with a budget."""
    budget: int = 0
    """m of Algorithm 1: sites of a sequence at most, for searches that are free in time; 0 is one a
    frame."""
    threshold: float = 0.1
    """theta of Eq. 10: a word of a sentence counts from this probability on."""
    training_words: Literal["lexicon", "captions"] = "lexicon"
    """Which words are information in training clips: all, or those of the clip's captions, as the
    paper has it where sentences are known (Eq. 10)."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "k")
        _at_least(self, 0, "budget")
        _share(self, "threshold")
        if not self.terms or min(self.terms.values()) < 0:
            raise ModelError("terms needs at least one term, and no weight below 0")


@dataclass(frozen=True)
class BoxesConfig:
    """How a box is fitted to what a region-sequence shows."""

    fit: Literal["patches", "grid"] = "patches"
    """`patches`: to the patches that belong to what the sentence names; `grid`: the paper's plain
    box, the region itself."""
    window: int = 2
    """Side, in patches, of the windows in which words are looked for."""
    sharpness: float = 4.0
    """How much the places where the words are strongest count before others: a power."""
    loyalty: float = 1.0
    """How much more the sequence's own regions count than the rest of the frame."""
    memory: float = 0.5
    """How much what is sought in a frame follows what is sought in all of them."""
    words: float = 0.3
    """Share of the words in how much a patch belongs to the thing; the rest is likeness."""
    level: float = 0.1
    """How much a patch must belong to the thing for a box to gain by taking it in."""
    steadiness: float = 0.03
    """What likeness to the boxes of the frames before and after brings; 0 fits each frame alone."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "window")
        _at_least(self, 0, "sharpness", "loyalty", "memory", "steadiness")
        _share(self, "words", "level")


@dataclass(frozen=True)
class AssociationConfig:
    """Which sentence is learned with which region-sequence (Eq. 10)."""

    method: Literal["winner", "spread"] = "spread"
    """The paper's winner-takes-all by the sum of the sentence's word probabilities; or `spread`: by
    how much more of them than the clip's other sequences a sequence has, with at most `most`
    sentences for each, so that few sequences go without."""
    most: int = 3
    unsupported: Literal["first", "leave_out", "spread"] = "spread"
    """What becomes of a sentence none of whose words any sequence shows: it goes to the first
    sequence, trains none, or is spread over the sequences."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "most")


@dataclass(frozen=True)
class StreamsConfig:
    """What a sentence is made from: named inputs of a region-sequence."""

    frame_level: tuple[str, ...] = ("regions", "frames", "whole_frames")
    """Streams of one vector a frame."""
    clip_level: tuple[str, ...] = ("words", "special_words", "clip", "clip_words", "category")
    """Streams of one vector for all frames."""
    dropout: dict[str, float] = field(default_factory=dict)
    """Stream to its share of sentences that are learned without it. A stream that says most by
    itself would keep the others from being used."""
    region_voice: float = 0.0
    """Share of sentences that are learned from their region-sequence alone, without any stream of
    the whole clip. A captioner that always hears of the clip does not listen to its region."""
    lexicon_size: int = 1000
    """V: word probabilities of that many of the lexicon's most frequent words are inputs."""
    snippets: int = 8
    """Motion is read in at most so many snippets of consecutive frames of a clip or shot: most of
    what such a stream costs. A frame has the motion of the snippet that is nearest to it."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "lexicon_size", "snippets")
        _share(self, "region_voice", below_one=True)
        if not self.frame_level:
            raise ModelError("frame_level must name at least one stream")
        if len(set(self.names)) < len(self.names):
            raise ModelError("a stream is named once, in frame_level or in clip_level")
        for stream, share in self.dropout.items():
            if stream not in self.names:
                raise ModelError(
                    f"dropout has '{stream}', which is in neither frame_level nor clip_level"
                )
            if not 0 <= share < 1:
                raise ModelError(f"dropout of '{stream}' must be from 0 to below 1, not {share}")

    @property
    def names(self) -> tuple[str, ...]:
        """Of both levels."""
        return (*self.frame_level, *self.clip_level)


@dataclass(frozen=True)
class CaptionerConfig:
    """The sentence model (Sec. 3.3)."""

    kind: Literal["bi-s2vt", "s2vt", "mean-pooling", "soft-attention"] = "bi-s2vt"
    hidden: int = 512
    """Width of the projected streams and of each model's LSTMs."""
    embedding: int = 300
    """Width of a word, where it is read and where it is chosen: both share one table, which rare
    words need and which halves the model."""
    dropout: float = 0.5
    """Share of all connections but the recurrent ones left out of a step. The paper's "ratio 0.9"
    is, in the style of Zaremba et al., a probability to keep."""
    anchor: bool = True
    """Whether the clip-level streams join every word, so that the topic is not lost on the way
    through the frames. In the paper's model they can only come in with the frames."""
    most_frames: int = 8
    """Frames of a sequence that it reads at most, in training and in captioning."""
    forget_bias: float = 0.0
    """What S2VT's LSTMs begin with as the bias of their forget gates: from 0 on, where a memory is
    halved at each step, the more the longer it lasts."""
    visual_gain: float = 1.0
    """How many times their usual size S2VT's weights of frames begin with. Frames become small on
    their way through one LSTM to the other and words do not, so that words are learned first."""
    drop_codes: bool = True
    """Whether dropout falls on what S2VT's lower LSTMs make of the frames too, beside the frames,
    the words and the hidden vectors."""
    order: Literal["time", "random"] = "time"
    """In which it reads them. `random` is to compare with: what is lost without their order is what
    the order tells."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "hidden", "embedding", "most_frames")
        _at_least(self, 0, "forget_bias")
        _above_zero(self, "visual_gain")
        _share(self, "dropout", below_one=True)
        if self.kind == "bi-s2vt" and self.hidden % 2:
            raise ModelError(f"hidden is shared by two directions: {self.hidden} must be even")


@dataclass(frozen=True)
class DecodingConfig:
    """How candidate sentences are searched and sampled for each region-sequence."""

    beam: int = 5
    """Beginnings that are kept at every word, and sentences at the end; 1 is greedy."""
    samples: int = 20
    """Sentences drawn at random for each region-sequence; 0 draws none."""
    temperature: float = 0.7
    """Of sampling: below 1 the probable words become more so."""
    max_length: int = 20
    """Words of a sentence at most."""
    length_penalty: float = 0.7
    """A sentence's score is its log-probability divided by its length to this power: 0 leaves that
    in favour of short ones, 1 is the mean."""
    no_repeat_ngram: int = 3
    """No run of that many words comes twice in a sentence; 0 allows it."""
    categories: int = 1
    """How many of a clip's probable categories are tried (Eq. 14); 0 for none."""
    candidates: int = 100
    """Different sentences of a segment that are kept at most."""
    doubt: float = 0.0
    """What saying a word costs that the clip does not show: so many times the log of how much less
    probable it is than one in five, four nats at most. 0 lets the captioner say what it likes."""
    mentions: int = 8
    """Things, of those that the clip shows, for each of which a sentence is searched that names it,
    in the sequence that shows it best."""
    evaluator: float = 0.0
    """The evaluator's share of a sentence's quality; the rest is how well it agrees with all that
    was sampled."""
    seed: int = 0
    """Of the samples: the same clip gets the same captions."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "beam", "max_length", "candidates")
        _at_least(self, 0, "samples", "length_penalty", "no_repeat_ngram", "categories", "seed")
        _at_least(self, 0, "doubt", "mentions")
        _share(self, "evaluator")
        _above_zero(self, "temperature")


@dataclass(frozen=True)
class SelectionConfig:
    """Which of the candidates are said."""

    k: int = 5
    """Sentences of a segment, or as many as there are."""
    diversity: float = 1.5
    """What sameness with those chosen costs. Quality is from 0 to 1, rarely above .5, a cosine at
    most 1."""
    specificity: float = 0.05
    """What affinity to its sequence brings. It is a log, rarely above 2."""
    reuse: float = 0.01
    """What each sentence that a sequence has already costs the next: much, and sequences take
    turns; nothing, and every sentence goes where it belongs best."""
    detail: float = 1.5
    """What each content word beyond two brings, times the confidence, from the second sentence on:
    a sentence is to be sure and to tell something, and the surest tell nothing."""
    telling: int = 1
    """Content words beyond two that a sentence has at least, if any has that."""
    news: int = 1
    """Content words that a sentence has beyond each one before it; 0: it only has others."""
    coverage: float = 1.6
    """What naming a thing brings that the clip shows and no sentence has named yet, for each by how
    probable it is."""
    sure: float = 0.28
    """The least confidence of a sentence that is said, if any has that: from few and sure to many
    and different."""
    silence: bool = True
    """Whether nothing is said of what is unlike all that the model was calibrated on."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "k")
        _at_least(
            self, 0, "diversity", "specificity", "reuse", "detail", "telling", "news", "coverage"
        )
        _share(self, "sure")


@dataclass(frozen=True)
class WordingConfig:
    """How a sentence is shown."""

    case: Literal["sentence", "raw"] = "sentence"
    """With a capital and a full stop, or as the captioner says it."""
    looks: bool = False
    """Whether the looks and the origin of people are told."""
    gender: Literal["seen", "said"] = "seen"
    """Words of gender only where the clip shows them, else "a person"; or as they are said."""
    topics: Literal["seen", "said"] = "seen"
    """What people talk about only where the clip shows it, else that they talk; or as said."""
    english: Literal["checked", "said"] = "checked"
    """Without sentences whose verbs do not agree, or that join words by an article as people never
    do; or as they are said, which is nearer to what people write in a hurry."""


@dataclass(frozen=True)
class ConfidenceConfig:
    """What speaks for a sentence, and from when on."""

    evidence: float = 0.3
    """A word has evidence in a region from this probability on."""
    level: float = 0.3
    """A sentence holds where its words show at least so well, as a share of where they do best."""
    smooth: int = 5
    """Frames over which that is averaged: what one frame seems to show is noise."""

    def __post_init__(self) -> None:
        _share(self, "evidence", "level")
        _at_least(self, 1, "smooth")


@dataclass(frozen=True)
class EvaluatorConfig:
    """How well a sentence fits a clip: by the evaluator network (supplement), or by a regression of
    what people would say on how the clip looks (docs/evaluator.md)."""

    kind: Literal["network", "regression"] = "network"
    rank: int = 256
    """Of a regression: main directions of what people say that are predicted."""
    sharpness: float = 0.8
    """How soon clips that look different tell nothing of each other."""
    ridge: float = 1.0
    """How strongly a prediction is held at what people say of any clip."""
    least_clips: int = 5
    """Phrases that fewer clips have are not predicted."""
    width: int = 256
    """E: dimensions of the space in which clips and sentences meet."""
    hidden: int = 256
    """Width of the layer before it, of both."""
    embedding: int = 256
    """Width of a word."""
    dropout: float = 0.5
    sequence_dropout: float = 0.5
    """Share of sentences learned without what sets their region-sequence apart, so that a sentence
    can be scored against the clip alone."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "rank", "least_clips", "width", "hidden", "embedding")
        _above_zero(self, "sharpness", "ridge")
        _share(self, "dropout", "sequence_dropout", below_one=True)


@dataclass(frozen=True)
class OptimisationConfig:
    """How the loop trains a model; what it is trained on belongs to its task."""

    epochs: int = 10
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    warmup: float = 0.05
    """Share of all steps over which the learning rate rises; it falls by a cosine after."""
    clip_norm: float = 5.0
    average: float = 0.0
    """Decay of a running average of the weights, kept as the result; 0 keeps the last weights."""
    seed: int = 0
    checkpoint_seconds: float = 60.0
    mixed_precision: bool = False
    """16-bit arithmetic where it is safe: float16 on CUDA, bfloat16 on CPUs that multiply it."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "epochs")
        _above_zero(self, "learning_rate", "clip_norm")
        _at_least(self, 0, "weight_decay", "seed", "checkpoint_seconds")
        _share(self, "warmup")
        _share(self, "average", below_one=True)


@dataclass(frozen=True)
class WordTrainingConfig(OptimisationConfig):
    """One round of teaching a Lexical-FCN its words (Eq. 1-2)."""

    weights: str = "imagenet"
    """What the first round starts from where no model is given: "imagenet" for those of the
    installed package, or a .safetensors or .pth file."""
    head: Literal["new", "kept"] = "new"
    """Whether a model that training starts from also gives the words that both have. New data of
    few clips are better off with them; more of the same data are not (docs/log.md)."""
    paradigm: Literal["mimll", "mil", "mll"] = "mimll"
    bag: Literal["frame", "clip"] = "frame"
    """Whose regions share a label: a frame's, or all of a clip's."""
    readers: int = 4
    """A word's target is the chance that one of so many of the clip's captions, drawn at random,
    has it: what one person in twenty saw is there, but weakly. 0 takes any mention for certain,
    as the paper does."""
    batch: int = 32
    """Clips a step."""
    frames_per_clip: int = 1
    """Frames a clip gives to a step, drawn anew each epoch (the paper's augmentation by sampling);
    0 takes all of them."""
    tuned: int = 0
    """How many of the backbone's last stages are trained along; 0 leaves it as it is."""
    tuned_rate: float = 0.05
    """Their learning rate, as a share of the head's."""
    frequent: int = 200
    """Mean AP is taken over that many of the lexicon's most frequent words."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _at_least(self, 1, "batch", "frequent")
        _at_least(self, 0, "readers", "frames_per_clip", "tuned", "tuned_rate")


@dataclass(frozen=True)
class SentenceTrainingConfig(OptimisationConfig):
    """Teaching a captioner its sentences."""

    min_count: int = 3
    """Words that the training captions have less often are not learned."""
    max_length: int = 20
    """Longer captions are cut off."""
    batch: int = 64
    """Sentences a step."""
    label_smoothing: float = 0.1
    captions_per_clip: int = 0
    """Captions of a clip in one epoch, on average, drawn anew; 0 takes all."""
    captions_together: int = 1
    """Captions of a step, at most, that are learned from one look at a region-sequence, whose
    frames are read once for all of them: less time a step, and fewer clips in it."""
    draw_frames: bool = True
    """Whether a sequence's frames are drawn anew for each sentence (the paper's augmentation by
    sampling), or are always those that captioning reads."""
    projection_rate: float = 1.0
    """Of the learning rate, what the projections of frame-level streams learn at. A step of Adam
    moves every weight by about the rate, and so a sum over thousands of features by far more than
    one over the hundreds of a region: by that the gates of S2VT become hard switches."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _above_zero(self, "projection_rate")
        _at_least(self, 1, "min_count", "max_length", "batch", "captions_together")
        _at_least(self, 0, "captions_per_clip")
        _share(self, "label_smoothing")


@dataclass(frozen=True)
class EvaluatorTrainingConfig(OptimisationConfig):
    """Teaching the evaluator: whose sentence is it (InfoNCE), and which is better (ListNet)."""

    min_count: int = 3
    """Words that the training captions have less often are not learned."""
    max_length: int = 20
    """Longer captions are cut off."""
    batch: int = 128
    """Captions a step; each is told from all others of its batch."""
    hard: float = 0.5
    """Share of batches whose clips are of one category, where what tells them apart is finer."""
    unknown: float = 0.1
    """Share of words that are read as unknown, so that unknown ones are nothing new."""
    negatives: int = 2
    """Sentences that each caption is compared with: other captions of its clip, captions of other
    clips, and the captioner's."""
    other_clips: int = 10
    """Captions of other clips (of its category) among a clip's negatives."""
    listnet: float = 1.0
    """Weight of that comparison beside InfoNCE."""
    tolerance: float = 0.3
    """Difference in CIDEr (which ends at 10) that makes one sentence e times as good."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _at_least(self, 1, "min_count", "max_length", "batch", "negatives")
        _at_least(self, 0, "other_clips", "listnet")
        _share(self, "hard", "unknown")
        _above_zero(self, "tolerance")


@dataclass(frozen=True)
class TrainingConfig:
    """How each stage is trained. What a trained model does not depend on any more."""

    words: tuple[WordTrainingConfig, ...] = (WordTrainingConfig(),)
    """One for each round; the second starts from the first."""
    sentences: SentenceTrainingConfig = field(default_factory=SentenceTrainingConfig)
    category: OptimisationConfig = field(
        default_factory=lambda: OptimisationConfig(epochs=12, weight_decay=0.05, average=0.99)
    )
    evaluator: EvaluatorTrainingConfig = field(default_factory=EvaluatorTrainingConfig)
    workers: int = 0
    """Processes that look at clips, each of one CPU's threads or more, on CPUs alone; 0 is as many
    as CPUs, where memory and clips are enough. What is learned does not depend on it."""

    def __post_init__(self) -> None:
        _at_least(self, 0, "workers")
        if not self.words:
            raise ModelError("words needs at least one round: write [[training.words]]")


@dataclass(frozen=True)
class AboutConfig:
    """For the model's card: what only a person can know."""

    licence: str = "not stated"
    data: str = "not stated"
    """Where the clips and captions come from, and on what terms."""


@dataclass(frozen=True)
class ModelConfig:
    """All that decides what a model becomes and does, beside its data."""

    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """Where networks run; `auto` takes the first there is of cuda, mps, cpu."""
    engine: Engine = "auto"
    """Numbers that products are computed with: of the eyes and networks of motion in training and
    captioning, of words and sentences in captioning. `auto` takes bfloat16 on CPUs that multiply
    it, but for eyes that are mostly convolutions, and float32 elsewhere."""
    frames: FramesConfig = field(default_factory=FramesConfig)
    scenes: ScenesConfig = field(default_factory=ScenesConfig)
    eyes: EyesConfig = field(default_factory=EyesConfig)
    lexicon: LexiconConfig = field(default_factory=LexiconConfig)
    words: WordsConfig = field(default_factory=WordsConfig)
    regions: RegionsConfig = field(default_factory=RegionsConfig)
    boxes: BoxesConfig = field(default_factory=BoxesConfig)
    association: AssociationConfig = field(default_factory=AssociationConfig)
    streams: StreamsConfig = field(default_factory=StreamsConfig)
    captioner: CaptionerConfig = field(default_factory=CaptionerConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    selection: SelectionConfig = field(default_factory=SelectionConfig)
    wording: WordingConfig = field(default_factory=WordingConfig)
    confidence: ConfidenceConfig = field(default_factory=ConfidenceConfig)
    evaluator: EvaluatorConfig = field(default_factory=EvaluatorConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    about: AboutConfig = field(default_factory=AboutConfig)

    def __post_init__(self) -> None:
        if "category" not in self.streams.clip_level and self.decoding.categories > 1:
            raise ModelError(
                "decoding.categories tries several categories, but the captioner hears of none: "
                "add 'category' to streams.clip_level, or set categories to 0 or 1"
            )

    @classmethod
    def read(cls, source: Path | str) -> ModelConfig:
        """From a TOML file, or by the name of a config that comes with the package."""
        path = find_config(source)
        return build_section(str(path), cls, read_extended(path))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], source: str) -> ModelConfig:
        """What `to_dict` made; `source` is named in errors."""
        return build_section(source, cls, content)

    def to_dict(self) -> dict[str, Any]:
        """As JSON and TOML hold it."""
        return asdict(self)

    def override(self, values: Mapping[str, Any]) -> ModelConfig:
        """The same but for some fields, each by its dotted name: {"decoding.beam": 3}.

        All are set at once: whether they go together does not depend on their order.
        """
        content = self.to_dict()
        known = flatten(content)
        for name, value in values.items():
            if name not in known:
                raise ModelError(f"no setting '{name}'")
            *sections, key = name.split(".")
            reduce(getitem, sections, content)[key] = value
        return build_section("settings", ModelConfig, content)

    def list_differences(self, other: ModelConfig) -> dict[str, Any]:
        """The fields in which this one differs from the other, by dotted name."""
        ours, theirs = flatten(asdict(self)), flatten(asdict(other))
        return {name: value for name, value in ours.items() if theirs.get(name) != value}
