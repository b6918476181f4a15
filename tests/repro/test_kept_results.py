"""docs/results: what the page of results was written from."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from densevidcap.metrics.sentence_files import read_predictions
from densevidcap.model_folder import hash_file
from densevidcap.repro.definition import DEFINITIONS
from densevidcap.repro.report import PICTURES, load_results, write_page
from densevidcap.repro.results import Result

DOCS = Path(__file__).parents[2] / "docs"
RESULTS = load_results(DOCS / "results")
SAID = sorted((DOCS / "results" / "said").glob("*.json"))


def test_the_page_says_what_the_kept_results_say() -> None:
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    written = "\n".join(write_page(RESULTS, DEFINITIONS))
    # What follows names the evaluator that is installed here.
    end = "\n## Evaluator\n"
    assert written.partition(end)[0] == page.partition(end)[0]
    for result in RESULTS:
        for picture in result.outcome.pictures:
            assert (DOCS / PICTURES / f"{picture.name}.png").is_file()


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.experiment)
def test_a_run_id_stands_for_all_that_a_result_was_made_from(result: Result) -> None:
    assert sha256(json.dumps(result.origin).encode()).hexdigest().startswith(result.run)


@pytest.mark.parametrize("path", SAID, ids=lambda path: path.stem)
def test_kept_sentences_are_those_that_were_measured(path: Path) -> None:
    named = {dict(result.origin).get(f"predictions {path.name}"): result for result in RESULTS}
    result = named[hash_file(path)]
    predictions = read_predictions(path)
    assert not predictions.faults
    clips = sha256(json.dumps([*predictions.sentences]).encode()).hexdigest()
    assert dict(result.origin)["clips measured"] == clips
    assert len(predictions.sentences) == result.clips
