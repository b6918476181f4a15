"""What the figures of the paper's supplement show of a clip that people have described.

Its region-sequences with what the model says of each, the sequence that each person's sentence is
given to (Eq. 10), and where the words of a sentence are seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np
from PIL import Image

from densevidcap.config import ModelConfig
from densevidcap.data.clip import Clip, Size, gather
from densevidcap.data.lexicon import CONTENT, list_content_words
from densevidcap.data.manifest import ClipRecord, name_some, read_manifest
from densevidcap.decoding.select import choose
from densevidcap.errors import ClipError, CorpusError
from densevidcap.models.shown_words import show_word
from densevidcap.pipeline.analysis import Segment
from densevidcap.pipeline.captioner import DenseCaptioner
from densevidcap.pipeline.captions import word_sentences
from densevidcap.pipeline.wording import list_told
from densevidcap.regions import associate, match, pool_words
from densevidcap.regions.association import LEFT_OUT
from densevidcap.regions.objectives import IndexArray
from densevidcap.regions.weights import WINNER
from densevidcap.types import FrameGrid, Frames
from densevidcap.viz.beside import GivenSentence, ToldSequence, draw_beside
from densevidcap.viz.canvas import fit
from densevidcap.viz.responses import ResponseMap
from densevidcap.viz.sentence_responses import MappedSentence, draw_sentences

LARGEST = 480
"""Pixels of the longer side of the frames that are drawn on."""
TURNS = 1e3
"""What a second sentence costs a sequence: so much that each has one before."""


def choose_described(data: Path, ids: Sequence[str]) -> list[ClipRecord]:
    """The manifest's clips of these ids, each of which has a source and people's sentences."""
    known = {record.id: record for record in read_manifest(data)}
    if unknown := [each for each in dict.fromkeys(ids) if each not in known]:
        near = get_close_matches(unknown[0], known, n=3, cutoff=0.6) or [*known][:3]
        hint = f"it has {', '.join(near)}" if near else "it is empty"
        raise CorpusError(f"{data}: no clip {name_some(unknown)}; {hint}")
    chosen = [known[each] for each in dict.fromkeys(ids)]
    for record in chosen:
        if not record.captions:
            raise CorpusError(
                f"{data}: clip '{record.id}' has no captions to draw beside it; add what people"
                " say of it, or name another clip"
            )
        if record.source is None:
            raise CorpusError(f"{data}: clip '{record.id}' has no source; add it (docs/data.md)")
    return chosen


@dataclass(frozen=True)
class ClipFigures:
    """All that is drawn of a clip."""

    title: str
    shape: Size
    """The clip's own (width, height)."""
    frames: Frames
    """(T,): those that were looked at."""
    told: tuple[ToldSequence, ...]
    """(K,)"""
    given: tuple[GivenSentence, ...]
    """(S,): people's sentences in their order."""
    mapped: tuple[MappedSentence, ...]
    threshold: float
    """theta of Eq. 10."""

    def draw_sheet(self) -> Image.Image:
        """Region-sequences on the left, people's sentences on the right."""
        winners = {each.sequence for each in self.given} - {LEFT_OUT}
        heading = (
            "What people say, each after the number of the sequence that Eq. 10 gives it to, or an"
            f" empty square. {len(winners)} of {len(self.told)} have any. Bright are the words that"
            f" count: those that it shows with {self.threshold:.0%} or more, not calibrated."
        )
        return draw_beside(self.title, self.told, self.given, heading, self.frames, self.shape)

    def draw_responses(self) -> Image.Image:
        """Sentences with the response maps of their words."""
        return draw_sentences(self.title, self.mapped, self.frames, self.shape)


def describe_clip(
    model: DenseCaptioner, clip: Clip, title: str, captions: Sequence[str], k: int | None = None
) -> ClipFigures:
    """Look at a clip as a whole, as training does, in k region-sequences or the model's own number.

    `captions` are what people say of it, at least one sentence.
    """
    clip.require_pictures("drawing")
    looked: list[FrameGrid] = []
    given = {"frames.per_shot": "never"} | ({} if k is None else {"regions.k": k})
    analysis = model.analyse(clip, given, watch=lambda seen, _: looked.append(seen))
    (segment,), (seen,), config = analysis.segments, looked, analysis.config
    shape = clip.info.width, clip.info.height
    assert seen.source_frames is not None
    frames = gather(clip.pick(seen.source_frames.tolist(), fit(shape, LARGEST)))
    if frames is None:
        raise ClipError(f"{clip.name}: no frame can be decoded; is the file complete?")
    told, first = _tell_sequences(segment, config)
    sentences, best = _give_sentences(captions, segment, seen, model, config)
    spoken = [("a person", captions[best]), *([("the model", first)] if first else [])]
    return ClipFigures(
        title=title,
        shape=shape,
        frames=frames,
        told=told,
        given=sentences,
        mapped=tuple(_map_sentence(*each, seen, model) for each in spoken),
        threshold=config.regions.threshold,
    )


def _tell_sequences(segment: Segment, config: ModelConfig) -> tuple[tuple[ToldSequence, ...], str]:
    """(K,): each sequence with the best sentence that is left for it; and the model's first.

    However sure the model is of them: it is asked for one of each. Of what is unlike all that it
    knows it says nothing.
    """
    count, candidates, selection = len(segment.paths), segment.candidates, config.selection
    sequences = [segment.sequence(number) for number in range(count)]
    if segment.is_blind and selection.silence:
        return tuple(map(ToldSequence, sequences)), ""
    texts = word_sentences(segment, config)
    contents = [list_told(text, config.wording) for text in texts]
    first = choose(candidates, replace(selection, k=1), contents)
    dense = replace(selection, k=count, reuse=TURNS, sure=0.0, news=0)
    said = {choice.sequence: choice.candidate for choice in choose(candidates, dense, contents)}
    told = (
        ToldSequence(sequence, texts[said[number]], float(candidates.confidence[said[number]]))
        if number in said
        else ToldSequence(sequence)
        for number, sequence in enumerate(sequences)
    )
    return tuple(told), texts[first[0].candidate] if first else ""


def _give_sentences(
    captions: Sequence[str],
    segment: Segment,
    seen: FrameGrid,
    model: DenseCaptioner,
    config: ModelConfig,
) -> tuple[tuple[GivenSentence, ...], int]:
    """Each sentence with its sequence, and the index of the one that its sequence shows best.

    Winner-takes-all (Eq. 10): a sentence none of whose words any sequence shows has none.
    """
    lexicon, threshold = model.words.lexicon, config.regions.threshold
    pooled = pool_words([segment.sequence(number) for number in range(len(segment.paths))], seen)
    said = [np.array(lexicon.find(caption), np.intp) for caption in captions]
    matches = match(said, pooled, threshold)
    winners = associate(matches, WINNER).tolist()

    def list_counted(words: IndexArray, winner: int) -> frozenset[str]:
        # Of a sentence without a winner none is shown by any sequence, the last one included.
        shown = words[pooled[winner, words] >= threshold]
        return frozenset(lexicon.words[word] for word in shown)

    given = (
        GivenSentence(text, winner, list_counted(words, winner))
        for text, words, winner in zip(captions, said, winners, strict=True)
    )
    return tuple(given), int(matches.sums.max(axis=1).argmax())


def _map_sentence(who: str, text: str, seen: FrameGrid, model: DenseCaptioner) -> MappedSentence:
    """With the maps of those of its words that one can see and the lexicon has, in its order.

    A map is of the regions that sequences are made of, as the paper's are.
    """
    lexicon, trust, maps = model.words.lexicon, model.trust, []
    for word in dict.fromkeys(list_content_words(text)):
        place = lexicon.index.get(word)
        if place is not None and lexicon.entries[place].pos in CONTENT:
            shown = trust.rate_word(show_word(seen, lexicon, place))
            responses = trust.region.apply(seen.probabilities[:, :, place])
            boxes = (shown.box,) * len(seen.times)
            maps.append(ResponseMap(shown, seen.grid, seen.times, responses, boxes))
    return MappedSentence(who, text, tuple(maps))
