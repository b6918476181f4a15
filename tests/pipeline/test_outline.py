"""Titles and summaries are sentences that were said, each once."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.pipeline.test_story import make_caption, make_captions

from densevidcap.pipeline.outline import MOST, UNTITLED, list_chapters, summarise
from densevidcap.types import Caption, DenseCaptions

TEXTS = (
    "A man is driving a car.",
    "Two dogs are running on grass.",
    "A woman is singing.",
    "a cat sleeps",
    "A man is driving a red car.",
)


def make_film(captions: list[Caption], scenes: int = 6, of_chapter: int = 2) -> DenseCaptions:
    """Scenes of ten seconds."""
    spans = [(10.0 * n, 10.0 * (n + 1)) for n in range(scenes)]
    chapters = [(spans[n][0], spans[n + of_chapter - 1][1]) for n in range(0, scenes, of_chapter)]
    return replace(
        make_captions(captions),
        duration=10.0 * scenes,
        scenes=tuple(spans),
        chapters=tuple(chapters),
    )


said = st.lists(st.tuples(st.sampled_from(TEXTS), st.integers(0, 58)), max_size=20)


@given(said)
def test_every_title_and_every_line_of_a_summary_was_said(said: list[tuple[str, int]]) -> None:
    film = make_film([make_caption(text, float(start)) for text, start in said])
    chapters = list_chapters(film)
    assert tuple(chapter[:2] for chapter in chapters) == film.chapters
    titles = [chapter.title for chapter in chapters if chapter.title != UNTITLED]
    assert len(titles) == len(set(titles))
    for chapter in chapters:
        own = [one for one in film if chapter.start <= one.start + 0.5 < chapter.end]
        assert chapter.caption is None or chapter.caption in own
        if chapter.caption is not None:
            assert chapter.title.lower() == chapter.caption.text.rstrip(".").lower()
    lines = [line.strip().lower() for line in summarise(film).split(".") if line]
    assert set(lines) <= {text.rstrip(".").lower() for text, _ in said}
    assert len(lines) == len(set(lines)) <= MOST
    assert bool(lines) == bool(said)


def test_the_surest_sentence_is_the_title() -> None:
    sure = replace(make_caption("A woman is singing.", 4.0), confidence=0.9)
    film = make_film([make_caption("A dog is running.", 1.0), sure, make_caption("a cat", 25.0)])
    assert [each.title for each in list_chapters(film)] == ["A woman is singing", "A cat", UNTITLED]


def test_a_clip_has_one_chapter_and_no_summary() -> None:
    clip = make_captions([make_caption("a dog is running")])
    assert [each[:3] for each in list_chapters(clip)] == [(0.0, 99.0, "A dog is running")]
    assert summarise(clip) == ""


def test_a_summary_tells_different_things_by_time() -> None:
    captions = [
        make_caption("A man is driving a car.", 30.0),
        make_caption("A man is driving a red car.", 12.0),
        make_caption("A woman is singing.", 3.0),
    ]
    assert summarise(make_film(captions)) == "A woman is singing. A man is driving a car."
