"""Formats are found by name and by ending."""

from __future__ import annotations

from itertools import count, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.made_clips import write_video
from tests.export.made_captions import captions, make_caption, make_captions

from densevidcap.errors import ClipError
from densevidcap.export import ENDINGS, ExportError, find_format, save
from densevidcap.export.report import render_page
from densevidcap.export.subtitles import render_srt, render_vtt
from densevidcap.types import Caption
from densevidcap.viz.captions import assign_lanes


@pytest.mark.parametrize("kind", ENDINGS)
def test_each_format_is_found_by_its_ending_and_written(tmp_path: Path, kind: str) -> None:
    clip = write_video(tmp_path / "talk.mp4", 4)
    path = tmp_path / "out" / f"talk{ENDINGS[kind].upper()}"
    assert find_format(path) == kind
    save(make_captions(clip), path)
    assert path.stat().st_size > 0
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_name_overrules_the_ending(tmp_path: Path) -> None:
    save(make_captions("talk.mp4"), tmp_path / "talk.txt", "srt")
    assert (tmp_path / "talk.txt").read_text().startswith("1\n00:00:00,000 -->")


def test_unknown_names_and_endings_are_answered_with_the_known(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"talk\.avi: .*\.coco\.json"):
        save(make_captions("talk.mp4"), tmp_path / "talk.avi")
    with pytest.raises(ExportError, match=r"avi: .*fiftyone"):
        save(make_captions("talk.mp4"), tmp_path / "talk.json", "avi")


def test_only_formats_that_show_the_clip_need_it(tmp_path: Path) -> None:
    plain = {"json", "vtt", "srt", "chapters", "chapters-srt", "chapters-txt"}
    for kind in plain:
        save(make_captions("gone.mp4"), tmp_path / kind, kind)
    for kind in ENDINGS.keys() - plain:
        with pytest.raises(ClipError, match=r"gone\.mp4"):
            save(make_captions("gone.mp4"), tmp_path / kind, kind)


@given(st.lists(captions(), max_size=8))
def test_captions_of_one_lane_follow_each_other(made: list[Caption]) -> None:
    lanes = assign_lanes(made)
    for lane in set(lanes):
        alone = sorted(
            (caption.start, caption.end)
            for caption, own in zip(made, lanes, strict=True)
            if own == lane
        )
        assert all(end <= start for (_, end), (start, _) in pairwise(alone))
    # As few lanes as the most crowded moment needs.
    crowds = [sum(each.holds_at(caption.start) for each in made) for caption in made]
    assert len(set(lanes)) == max(crowds, default=0)


@given(st.lists(captions(), max_size=12))
def test_each_caption_has_the_lowest_lane_that_is_free(made: list[Caption]) -> None:
    lanes = assign_lanes(made)
    order = sorted(range(len(made)), key=lambda rank: (made[rank].start, rank))
    for place, rank in enumerate(order):
        taken = {lanes[each] for each in order[:place] if made[each].end > made[rank].start}
        assert lanes[rank] == next(lane for lane in count() if lane not in taken)


def test_thousands_of_captions_at_once_are_laid_out() -> None:
    """A look at every lane for each would take minutes."""
    assert sorted(assign_lanes([make_caption()] * 84_000)) == list(range(84_000))


@pytest.mark.parametrize(
    "hidden", ["\x1b]0;title\x07", "\x9b2J", "\x00", "\u202e", "\u2066", "\u200f", "\u061c"]
)
def test_what_hides_in_a_text_is_shown(hidden: str) -> None:
    made = make_captions(f"clip{hidden}.mp4", make_caption(f"a dog{hidden} runs"))
    for text in (render_vtt(made), render_srt(made), render_page(made, "clip.mp4")):
        assert "\ufffd" in text
        assert not set(hidden) - set("]0;title2J") & set(text)


@pytest.mark.parametrize(
    ("confidence", "told"),
    [(0.75, "75% sure"), (0.746, "75% sure"), (0.744, "74% likely"), (0.496, "50% likely")],
)
def test_the_word_for_a_confidence_agrees_with_its_figure(confidence: float, told: str) -> None:
    caption = make_caption("A dog runs.", confidence=confidence)
    assert f"{caption.confidence:.0%} {caption.verdict}" == told
