"""Do a model's words point at their things? Frames with boxes of an independent detector."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from itertools import groupby

import numpy as np

from densevidcap.config import BoxesConfig
from densevidcap.data.boxes import Case, read_boxes, read_cases
from densevidcap.data.clip import open_clip
from densevidcap.data.failures import naming
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.errors import ClipError, CorpusError, ModelError
from densevidcap.metrics.grounding import Grounding, measure_grounding
from densevidcap.model_folder import read_model_config
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.pipeline.word_boxes import place_words
from densevidcap.progress import Progress
from densevidcap.repro.definition import Experiment
from densevidcap.repro.results import Line, Outcome, Table
from densevidcap.repro.runner import Paths, choose_measured
from densevidcap.types import Box, Frames, UInt8Array

OURS = "words of the model"

Answer = tuple[Case, tuple[float, float], Box]
"""A case, and the point and the box that the model has for its words."""


def compare_grounding(
    paths: Paths, experiment: Experiment, progress: Progress
) -> tuple[Outcome, int]:
    """Pointing game and boxes of words, and how many clips they were measured on."""
    if experiment.rows:
        raise ModelError(f"{experiment.name}: has rows, but it measures the given model alone")
    records = choose_measured(read_manifest(paths.data), paths.data, experiment.about.split)
    clips = {record.id: record for record in records}
    model = LexicalFCN.load(paths.model / "words")
    cases = _choose_cases(_find_cases(paths, clips), paths, clips, model, progress)
    boxes = read_model_config(paths.model / "words").boxes
    answers = [*_point(model, boxes, cases, clips, progress)]
    if not answers:
        raise CorpusError(f"{paths.data}: none of its clips can be read, as told above")
    grid = model.encoder.grid
    regions = np.array([astuple(grid.box(region)) for region in range(len(grid))])
    found = measure_grounding(
        [case for case, _, _ in answers],
        np.array([point for _, point, _ in answers]),
        np.array([astuple(box) for _, _, box in answers]),
        [regions] * len(answers),
        OURS,
    )
    return Outcome(tabulate_grounding(found)), len({case.clip for case, _, _ in answers})


def _find_cases(paths: Paths, clips: Mapping[str, ClipRecord]) -> list[Case]:
    """Those of a file with one a line, or made of all boxes and the clips' captions."""
    assert paths.boxes is not None
    if ".jsonl" in paths.boxes.suffixes:
        return read_cases(paths.boxes)
    cases = read_boxes(paths.boxes).make_cases(
        {clip: record.captions for clip, record in clips.items()}
    )
    if not cases:
        raise CorpusError(
            f"{paths.boxes}: of no clip of {paths.data} it has a frame with a thing that its "
            "captions name; check that both call clips the same"
        )
    return cases


def _choose_cases(
    cases: Sequence[Case],
    paths: Paths,
    clips: Mapping[str, ClipRecord],
    model: LexicalFCN,
    progress: Progress,
) -> list[Case]:
    """By clip: those whose clip is measured, and of whose words the model knows one."""
    there = [case for case in cases if case.clip in clips]
    if not there:
        raise CorpusError(
            f"{paths.boxes}: no case of a clip that is measured of {paths.data}; "
            "check that both call clips the same"
        )
    known = [case for case in there if any(word in model.lexicon.index for word in case.words)]
    if not known:
        raise ModelError(f"{paths.model}: knows no word of {paths.boxes}; give other cases")
    for kept, of, reason in (
        (there, cases, f"{paths.data} has no clip of theirs to measure"),
        (known, there, "the model has none of their words"),
    ):
        if len(kept) < len(of):
            progress.say(f"left out {len(of) - len(kept):,} of {len(of):,} cases: {reason}")
    return sorted(known, key=lambda case: case.clip)


def _point(
    model: LexicalFCN,
    boxes: BoxesConfig,
    cases: Sequence[Case],
    clips: Mapping[str, ClipRecord],
    progress: Progress,
) -> Iterator[Answer]:
    """Clip by clip; one that cannot be read is named and left out."""
    advance = progress.count("pointing", len({case.clip for case in cases}))
    for clip, grouped in groupby(cases, lambda case: case.clip):
        of_clip = [*grouped]
        try:
            with naming(clip):
                images = _read_frames(model, clips[clip], {case.frame for case in of_clip})
                for case in of_clip:
                    if case.frame in images:
                        seen = model.read(Frames(images[case.frame][None], np.zeros(1)))
                        (place,) = place_words(model, seen, case.words, boxes)
                        yield case, place.point, place.box
        except ClipError as error:
            progress.say(f"left out {clip}: {error}")
        advance()


def _read_frames(model: LexicalFCN, record: ClipRecord, wanted: set[int]) -> dict[int, UInt8Array]:
    """Frames by their places in the clip, without those that are damaged."""
    if record.source is None:
        raise ClipError(f"{record.id}: its manifest line names no source")
    clip, chosen = open_clip(record.source), sorted(wanted)
    if chosen[-1] >= (count := len(clip.times())):
        raise CorpusError(
            f"{record.source}: has {count:,} frames, but there are boxes of frame "
            f"{chosen[-1]}; boxes count a clip's own frames from 0 on"
        )
    read = clip.pick(chosen, model.encoder.size)
    # In place of a damaged frame comes another one.
    return {each.source_frame: each.image for each in read if each.source_frame in wanted}


def tabulate_grounding(found: Grounding) -> tuple[Table, Table]:
    """A line for each group and each answer, with 95% intervals over clips."""
    pointing, boxes = [], []
    for name, group in found.groups.items():
        for who, scores in group.scores.items():
            line = f"{name}, {group.cases:,} cases of {group.clips:,} clips: {who}"
            if scores.pointing is not None:
                pointing.append(Line(line, tuple(scores.pointing)))
            if scores.iou is not None and scores.good is not None:
                boxes.append(Line(line, (*scores.iou, *scores.good)))
    constant = ", ".join(f"{edge:g}" for edge in found.constant)
    return (
        Table("Pointing game", ("hits", "from", "to"), tuple(pointing), digits=3),
        Table(
            f"Boxes; the best constant one of these cases is ({constant})",
            ("IoU", "from", "to", "IoU >= .5", "from", "to"),
            tuple(boxes),
            digits=3,
        ),
    )
