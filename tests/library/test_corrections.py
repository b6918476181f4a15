"""What people say of clips, take out, and what can be learned from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.library.made_library import add, make_library

from densevidcap.cli import root
from densevidcap.data.manifest import read_manifest
from densevidcap.errors import CorpusError
from densevidcap.library.corrected import write_lessons
from densevidcap.library.search import Finder
from densevidcap.library.store import Library, Source

BEACH = b"beach.mp4".hex().ljust(32, "0")[:32]
DOG, MAN = "A dog runs on the beach.", "A man watches."


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return make_library(tmp_path / "library")


def say(library: Library) -> list[str]:
    return [caption.text for caption in library.captions(BEACH)]


def test_an_approved_sentence_keeps_its_evidence_and_is_sure(library: Library) -> None:
    library.correct_clip(BEACH, DOG, DOG)
    first = library.captions(BEACH)[0]
    assert (first.text, first.confidence, len(first.evidence)) == (DOG, 1.0, 1)
    (correction,) = library.read_corrections(BEACH)
    assert correction.is_approval


@given(st.lists(st.sampled_from(["approve", "change", "again", "drop"]), min_size=1, max_size=4))
@settings(max_examples=20, deadline=None)
def test_undoing_brings_back_the_model_whatever_was_said(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    library = Library.make(tmp_path_factory.mktemp("undo") / "library")
    add(library, "beach.mp4", DOG, MAN)
    said = DOG
    for step in steps:
        new = {"approve": said, "change": "A cat runs.", "again": "Two cats run.", "drop": None}[
            step
        ]
        library.correct_clip(BEACH, said, new)
        if new is None:
            break
        said = new
    assert len(library.read_corrections(BEACH)) == 1
    assert MAN in say(library)
    assert library.uncorrect(BEACH, DOG)
    assert say(library) == [DOG, MAN]
    assert not library.uncorrect(BEACH, DOG)
    assert not library.place("corrections", BEACH).exists()


def test_what_was_taken_out_is_restored_with_what_people_said(library: Library) -> None:
    library.correct_clip(BEACH, DOG, "A poodle runs.")
    count = len(library)
    library.remove(BEACH)
    assert (len(library), library.list_removed()) == (count - 1, [BEACH])
    assert library.read_removed(BEACH)[0].text == DOG
    with Finder(library) as finder:
        assert BEACH not in {card.identity for card in finder.read_cards()}
        assert all(answer.identity != BEACH for answer in finder.find("a poodle on the beach"))
        library.restore(BEACH)
        assert finder.refresh()
        assert finder.find("poodle")[0].sentence == "A poodle runs."
    assert library.list_removed() == []
    with pytest.raises(CorpusError, match="not taken out"):
        library.restore(BEACH)


def test_captioned_again_meanwhile_it_keeps_the_new_result(library: Library) -> None:
    library.correct_clip(BEACH, MAN, None)
    library.remove(BEACH)
    add(library, "beach.mp4", "A seal sleeps.")
    library.restore(BEACH)
    assert say(library) == ["A seal sleeps."]
    assert [each.said for each in library.read_corrections(BEACH)] == [MAN]
    assert library.list_removed() == []


def test_what_is_forgotten_is_gone(library: Library) -> None:
    library.remove(BEACH)
    library.forget(BEACH)
    assert library.list_removed() == []
    assert not list((library.folder / "removed").rglob("*.json"))


def test_cards_tell_the_first_sentence_as_people_put_it_right(library: Library) -> None:
    library.correct_clip(BEACH, DOG, "A poodle runs.")
    with Finder(library) as finder:
        (card,) = [card for card in finder.read_cards() if card.identity == BEACH]
    assert (card.text, card.confidence, card.corrected) == ("A poodle runs.", 1.0, 1)
    assert (card.sentences, card.duration, card.width, card.height) == (2, 4.0, 64, 48)


def test_training_learns_what_people_gave_or_approved_of(library: Library, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="nothing was put right"):
        write_lessons(library, tmp_path / "none.jsonl")
    clip = tmp_path / "clips" / "beach.mp4"
    clip.parent.mkdir()
    clip.write_bytes(b"")
    library.note(Source(str(clip), "beach.mp4", "stamp", BEACH))
    library.correct_clip(BEACH, DOG, "A poodle runs.")
    library.correct_clip(BEACH, MAN, None)
    # Its file is not there, so nothing can be learned from it.
    kitchen = b"kitchen.mp4".hex().ljust(32, "0")[:32]
    library.correct_clip(kitchen, "A man is cooking.", "A man is cooking.")
    lessons = write_lessons(library, tmp_path / "mine.jsonl")
    assert (lessons.clips, lessons.sentences, lessons.missing) == (1, 1, 1)
    (record,) = read_manifest(lessons.path)
    assert (record.captions, record.source) == (("A poodle runs.",), str(clip))


def test_the_command_writes_the_manifest_and_prints_what_learns_from_it(
    library: Library, tmp_path: Path
) -> None:
    clip = tmp_path / "beach.mp4"
    clip.write_bytes(b"")
    library.note(Source(str(clip), "beach.mp4", "stamp", BEACH))
    asked = ["correct", str(library.folder)]
    run = CliRunner().invoke(root, [*asked, "beach.mp4", DOG, DOG])
    assert run.exit_code == 0, run.output
    out = tmp_path / "mine.jsonl"
    run = CliRunner().invoke(root, [*asked, "--manifest", str(out)])
    assert run.exit_code == 0, run.output
    assert f"densevidcap train {out} --out" in run.stdout
    assert next(read_manifest(out)).captions == (DOG,)
    again = CliRunner().invoke(root, [*asked, "--manifest", str(out)])
    assert "--overwrite" in str(again.exception)
    for wrong in (["--manifest", str(out), "--drop"], ["beach.mp4"]):
        assert CliRunner().invoke(root, [*asked, *wrong]).exit_code == 2
