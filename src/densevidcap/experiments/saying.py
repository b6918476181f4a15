"""The one sentence that a system says of each measured clip."""

from __future__ import annotations

from densevidcap.artefacts import WEIGHTS, hash_file, write_json
from densevidcap.data.text_files import read_json
from densevidcap.experiments.bench import Bench
from densevidcap.experiments.candidates import find_candidates
from densevidcap.experiments.definition import Known, Row
from densevidcap.language.beams import BeamOptions
from densevidcap.language.category import mark_category
from densevidcap.language.choosing import ChoiceOptions
from densevidcap.language.describer import Describer
from densevidcap.language.views import ClipView

TRIED: dict[Known, int] = {"nothing": 0, "predicted": 3, "given": 1}
"""How many probable categories a sentence is searched under (Eq. 14)."""


def say(bench: Bench, row: Row) -> dict[str, str]:
    """By the given model, or by the row's recipe; what was said once is read again."""
    if row.system == "model":
        return _say_by_model(bench)
    captioner = bench.find_captioner(row.system, row.words)
    version = hash_file(captioner / WEIGHTS)[:12]
    path = bench.keep(f"{captioner.name}-{row.category}", version)
    if not path.exists():
        describer = Describer.load(captioner)
        views = bench.view(captioner, bench.find_words(row.words))
        bench.watcher.start(f"{row.name}: describing", len(views))
        said = {}
        for record in bench.clips:
            said[record.id] = _say_one(describer, views[record.id], row.category, record.category)
            bench.watcher.advance()
        write_json(path, said)
    sentences: dict[str, str] = read_json(path)
    return sentences


def _say_by_model(bench: Bench) -> dict[str, str]:
    """The first choice of all that it finds."""
    first = ChoiceOptions(k=1)
    return {
        clip: found.sentences[found.choose(first)[0]]
        for clip, found in find_candidates(bench).items()
    }


def _say_one(describer: Describer, view: ClipView, known: Known, category: str | None) -> str:
    """Of the most informative sequence, which is a clip's first, as in the paper."""
    if known == "given" and describer.classifier is not None:
        view = mark_category(view, describer.classifier.categories, category)
    found = describer.propose(view, BeamOptions(), sequences=[0], categories=TRIED[known])
    return describer.say(max(found, key=lambda candidate: candidate.score).words)
