"""The figure that region-sequences are there for, at small size."""

from __future__ import annotations

from click.testing import CliRunner
from scripts.region_grounding import main


def test_sequences_ground_sentences_better_than_chance() -> None:
    result = CliRunner().invoke(main, ["--clips", "8", "--k", "5"], catch_exceptions=False)
    rows = {
        line.split("│")[1].strip(): line.split("│")[2:5]
        for line in result.output.splitlines()
        if "│" in line
    }
    winner, chance, ceiling = (float(cell) for cell in rows["default"])
    assert chance < winner <= ceiling
    assert winner > float(rows["random"][0])
