"""What looks like a clip, a time or a part of the picture, where that is known."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors import safe_open
from safetensors.numpy import save_file
from tests.export.made_captions import GRID, make_caption, make_captions
from tests.library.made_library import WORDS, add, make_words

import densevidcap
from densevidcap.cli import root
from densevidcap.errors import CorpusError
from densevidcap.library import looks as looking
from densevidcap.library.index import open_index
from densevidcap.library.looks import REGIONS, SEGMENTS, Rows
from densevidcap.library.search import Answer, Finder
from densevidcap.library.shown import WordRecord, to_rows
from densevidcap.library.store import INDEX, Entry, Library, Source
from densevidcap.library.vectors import VectorFile, compare, find_centre, lengthen
from densevidcap.types import Box, FloatArray

D = 8
SEA, WOOD, TOWN, DOG, CAR = np.eye(D, dtype=np.float32)[:5]
CORNER = 14
"""The region at the bottom right."""


def picture(*moments: FloatArray, thing: FloatArray | None = None, place: int = 0) -> FloatArray:
    """(K, R, D): moments that look so all over, with a thing in one region of the last."""
    vectors = np.tile(np.stack(moments)[:, None], (1, len(GRID), 1)) + 0.01
    if thing is not None:
        vectors[-1, place] = thing
    return np.asarray(vectors, np.float32)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """Two seas, a wood then a town, a town, and dogs in two of them."""
    made = Library.make(tmp_path / "library")
    seen = {
        "sea.mp4": picture(SEA, SEA, thing=DOG),
        "waves.mp4": picture(SEA),
        "walk.mp4": picture(WOOD, TOWN),
        "town.mp4": picture(TOWN, TOWN, thing=DOG, place=CORNER),
        "road.mp4": picture(CAR),
    }
    for name, vectors in seen.items():
        shown = {"dog": 0.5, "ball": 0.01} if name in ("sea.mp4", "town.mp4") else {"man": 0.5}
        words = make_words(shown, vectors=vectors)
        add(made, name, f"This is {name[:-4]}.", words=words)
    return made


def names(answers: list[Answer]) -> list[str]:
    return [answer.name for answer in answers]


def test_a_clip_is_not_like_itself_but_like_what_looks_so(library: Library) -> None:
    answers = library.more_like("waves.mp4")
    assert answers[0].name == "sea.mp4"
    assert sorted(names(answers)) == ["road.mp4", "sea.mp4", "town.mp4", "walk.mp4"]
    assert [a.score for a in answers] == sorted((a.score for a in answers), reverse=True)
    assert answers[0].signals == {"look": answers[0].score}
    assert (answers[0].start, answers[0].end, answers[0].box) == (0.0, 4.0, None)
    assert answers[0].sentence == "This is sea."


def test_reasons_are_words_that_both_show(library: Library) -> None:
    best = next(a for a in library.more_like("sea.mp4") if a.name == "town.mp4")
    assert [word for word, _ in best.words] == ["dog"]
    assert best.words[0][1] == pytest.approx(0.8, rel=0.03)
    assert library.more_like("sea.mp4")[0].words == ()


def test_a_time_is_like_what_looks_as_it_did_then(library: Library) -> None:
    town = library.more_like("walk.mp4", at=1.5)
    assert town[0].name == "town.mp4"
    # A clip that is both is seen at the moment that is meant.
    (walk,) = (a for a in library.more_like("town.mp4") if a.name == "walk.mp4")
    assert walk.time == 1.5


def test_a_region_is_found_wherever_it_is(library: Library) -> None:
    box = GRID.box(0)
    (best, *_) = library.more_like("sea.mp4", at=1.5, box=box)
    assert best.name == "town.mp4"
    assert best.box == GRID.box(CORNER)
    assert (best.start, best.end, best.time) == (1.0, 4.0, 1.5)
    assert best.score > 0.9
    # Of all its moments, one that looks so is enough: the first has the sea there.
    answers = library.more_like("sea.mp4", box=box)
    assert {*names(answers)[:2]} == {"town.mp4", "waves.mp4"}


def test_other_scenes_of_a_film_are_answers_to_a_time_of_it(library: Library) -> None:
    shots = (
        make_words({}, vectors=picture(CAR)),
        make_words({}, vectors=picture(WOOD), span=(4.0, 8.0)),
        make_words({}, vectors=picture(CAR), span=(8.0, 12.0)),
    )
    said = make_captions("film.mp4", make_caption("A car drives.", 8, 12, (8.5, 9.5, 10.5, 11.5)))
    library.write(Entry("ab" * 16, "r", said, 1.0), WordRecord(WORDS.digest, shots), WORDS)
    library.note(Source("/films/film.mp4", "film.mp4", "s", "ab" * 16))
    answers = library.more_like("film.mp4", at=1.0)
    assert {*names(answers)[:2]} == {"film.mp4", "road.mp4"}
    (again,) = (a for a in answers[:2] if a.name == "film.mp4")
    assert (again.start, again.end, again.sentence) == (8.0, 12.0, "A car drives.")
    assert "film.mp4" not in names(library.more_like("film.mp4"))


def test_what_other_eyes_saw_is_not_compared(library: Library) -> None:
    add(library, "narrow.mp4", words=make_words({}, vectors=picture(SEA)[:, :, :4]))
    assert "narrow.mp4" not in names(library.more_like("waves.mp4"))
    assert library.more_like("narrow.mp4") == []


def forget_vectors(library: Library, name: str) -> None:
    """As the first libraries were."""
    path = library.place("words", library.find_identity(name), ".safetensors")
    with safe_open(path, "np") as file:
        tensors = {n: file.get_tensor(n) for n in file.keys()}  # noqa: SIM118
        kept = {n: v for n, v in tensors.items() if n.split(".")[1] not in ("moments", "vectors")}
        metadata = file.metadata()
    save_file(kept, path, metadata)


def test_of_older_records_whole_clips_are_compared(library: Library) -> None:
    expected = names(library.more_like("waves.mp4"))
    forget_vectors(library, "waves.mp4")
    forget_vectors(library, "sea.mp4")
    assert names(library.more_like("waves.mp4")) == expected
    assert library.more_like("waves.mp4", at=2.0)[0].name == "sea.mp4"
    with pytest.raises(CorpusError, match="regions were not kept; caption it again"):
        library.more_like("waves.mp4", box=Box(0, 0, 1, 1))


@pytest.mark.parametrize(
    ("clip", "at", "message"),
    [("sea.mp4", 9.0, "has no second 9; it ends at 4.0"), ("lake.mp4", None, "no clip of")],
)
def test_what_is_not_there_is_told(
    library: Library, clip: str, at: float | None, message: str
) -> None:
    with pytest.raises(CorpusError, match=message):
        library.more_like(clip, at)


class TestIndex:
    def test_rows_follow_the_library(
        self, library: Library, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(looking, "SLACK", 0)
        before = library.more_like("waves.mp4")
        files = {path.name for path in library.folder.glob("*.int8")}
        assert len(files) == 2
        for name in ("road.mp4", "walk.mp4", "town.mp4"):
            library.remove(library.find_identity(name))
        add(library, "shore.mp4", words=make_words({}, vectors=picture(SEA)))
        grown = library.more_like("waves.mp4")
        # More rows were of clips that are gone than of others: the files are new.
        left = {path.name for path in library.folder.glob("*.int8")}
        assert len(left) == 2
        assert left != files
        (library.folder / INDEX).unlink()
        assert library.more_like("waves.mp4") == grown
        assert len(list(library.folder.glob("*.int8"))) == 2
        assert names(before) != names(grown)

    @pytest.mark.parametrize("harm", ["shorten", "remove"])
    def test_is_made_again_where_its_rows_are_damaged(self, library: Library, harm: str) -> None:
        expected = library.more_like("waves.mp4")
        for path in library.folder.glob("*.int8"):
            path.write_bytes(b"") if harm == "shorten" else path.unlink()
        assert library.more_like("waves.mp4") == expected

    def test_a_row_behind_the_known_ones_is_none(self, library: Library) -> None:
        """As a kill between the file and the index leaves it."""
        expected = library.more_like("waves.mp4")
        for path in library.folder.glob("*.int8"):
            path.write_bytes(path.read_bytes() + b"\x7f" * 5 * D)
        assert library.more_like("waves.mp4") == expected
        add(library, "shore.mp4", words=make_words({}, vectors=picture(SEA)))
        assert {*names(library.more_like("waves.mp4"))[:2]} == {"sea.mp4", "shore.mp4"}

    def test_every_region_has_a_row(self, library: Library) -> None:
        with Finder(library) as finder:
            segments = finder.index.looks.read(SEGMENTS, WORDS.digest, D)
            regions = finder.index.looks.read(REGIONS, WORDS.digest, D)
        assert segments is not None
        assert regions is not None
        assert len(segments.vectors) == 5
        assert len(regions.vectors) == 8 * len(GRID)
        assert sorted(regions.counts.tolist()) == [len(GRID) * n for n in (1, 1, 2, 2, 2)]
        assert regions.list_live().tolist() == list(range(8 * len(GRID)))

    def test_a_reader_sees_what_others_took_in(self, library: Library) -> None:
        with Finder(library) as finder:
            add(library, "new.mp4", "A zebra eats.", words=make_words({}))
            with Finder(library):
                pass
            assert finder.refresh()
            assert [answer.name for answer in finder.find("zebra")] == ["new.mp4"]
            assert not finder.refresh()

    def test_two_processes_may_take_in_the_same_clips(self, library: Library) -> None:
        code = "import sys, densevidcap; print(densevidcap.open_library(sys.argv[1]).find('sea'))"
        command = [sys.executable, "-c", code, str(library.folder)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        both = [subprocess.Popen(command, **pipes) for _ in range(2)]  # type: ignore[call-overload]
        outputs = [process.communicate() for process in both]
        assert [process.returncode for process in both] == [0, 0], outputs
        with open_index(library) as index:
            assert len(index.read_cards()) == 5


@given(
    arrays(np.int8, (7, 4), elements=st.integers(-127, 127)),
    arrays(np.float32, (2, 4), elements=st.floats(-1, 1, width=16)),
)
def test_cosines_are_those_of_plain_arithmetic(
    rows: np.ndarray,
    queries: np.ndarray,
) -> None:
    centre = find_centre(rows, np.arange(len(rows)))
    units = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    assert np.allclose(centre, units.mean(axis=0), atol=1e-5)
    away = units - centre
    wanted = lengthen(lengthen(queries) - centre)
    lengths = np.linalg.norm(away, axis=1)
    sure = (lengths > 1e-2) & rows.any(axis=1)
    expected = (away @ wanted.T / np.maximum(lengths, 1e-9)[:, None]).max(axis=1)
    assert np.allclose(compare(rows, queries, centre)[sure], expected[sure], atol=1e-3)


def test_only_rows_of_segments_count() -> None:
    rows = Rows(np.zeros((9, 2), np.int8), np.array([7, 3]), np.array([1, 6]), np.array([2, 3]))
    assert rows.list_live().tolist() == [1, 2, 6, 7, 8]
    scores = np.array([9, 1, 2, 9, 9, 9, 5, 4, 3], np.float32)
    assert rows.find_best(scores).tolist() == [2, 5]


@given(arrays(np.float32, (5, 6), elements=st.floats(-100, 100, width=16)))
def test_a_byte_keeps_a_direction(vectors: np.ndarray) -> None:
    rows = to_rows(vectors)
    assert np.abs(rows.astype(int)).max(initial=0) <= 127
    cosines = (lengthen(rows.astype(np.float32)) * lengthen(vectors)).sum(axis=1)
    assert np.allclose(cosines, vectors.any(axis=1), atol=1e-3)


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = random.integers(-127, 128, (9, 5)).astype(np.int8)
    file = VectorFile(tmp_path / "rows", 5, 0)
    assert [file.append(rows[:4]), file.append(rows[4:])] == [0, 4]
    assert np.array_equal(VectorFile(tmp_path / "rows", 5, 9).read(), rows)
    assert not VectorFile(tmp_path / "rows", 5, 10).is_whole


class TestVerb:
    def run(self, *arguments: object) -> tuple[int, str, str]:
        result = CliRunner().invoke(root, ["find", *map(str, arguments)])
        return result.exit_code, result.stdout, result.stderr

    def test_tells_what_looks_alike(self, library: Library) -> None:
        code, out, _ = self.run(library.folder, "--like", "waves.mp4", "-n", 1)
        head, reasons = out.splitlines()
        assert code == 0
        assert head.startswith("  1  /films/sea.mp4  00:00:00.500, likeness 1.00")
        assert reasons == '     00:00:00.000 to 00:00:04.000: said "This is sea." 80%'

    def test_takes_times_and_boxes_as_answers_have_them(self, library: Library) -> None:
        box = GRID.box(0)
        given_box = f"{box.left},{box.top},{box.right},{box.bottom}"
        asked = [library.folder, "--like", "sea.mp4", "--at", "0:00:01.5", "--box", given_box]
        _, out, _ = self.run(*asked, "--json")
        (best, *_) = json.loads(out)
        assert (best["name"], best["time"]) == ("town.mp4", 1.5)
        expected = densevidcap.open_library(library.folder).more_like("sea.mp4", 1.5, box)
        assert best["score"] == expected[0].score

    @pytest.mark.parametrize(
        ("asked", "message"),
        [
            ((), "ask a QUESTION"),
            (("dog", "--like", "sea.mp4"), "ask a QUESTION"),
            (("dog", "--at", "1"), "--at and --box need --like"),
            (("--like", "sea.mp4", "--at", "soon"), "'soon' is no time"),
            (("--like", "sea.mp4", "--at", "1:2:3:4"), "is no time"),
            (("--like", "sea.mp4", "--box", "0,0,2,1"), "is no box"),
            (("--like", "sea.mp4", "--box", "0,0,1"), "is no box"),
        ],
    )
    def test_what_is_asked_wrongly_is_told(
        self, library: Library, asked: tuple[str, ...], message: str
    ) -> None:
        code, _, errors = self.run(library.folder, *asked)
        assert code == 2
        assert message in errors
