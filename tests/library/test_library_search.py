"""Questions to a library whose answers are known."""

from __future__ import annotations

import base64
import io
import json
import re
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from tests.data.made_clips import brightness, paint, write_video
from tests.export.made_captions import make_caption, make_captions
from tests.library.made_library import WORDS, add, make_library, make_words

import densevidcap
from densevidcap.cli import root
from densevidcap.errors import CorpusError
from densevidcap.library.search import Finder, fuse, standardise
from densevidcap.library.shown import WordRecord, from_byte, to_byte
from densevidcap.library.store import INDEX, Entry, Library, Source
from densevidcap.types import Box, FloatArray


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return make_library(tmp_path / "library")


def list_names(library: Library, question: str) -> list[str]:
    return [answer.name for answer in library.find(question)]


def test_what_is_said_and_shown_comes_before_what_is_only_shown(library: Library) -> None:
    assert list_names(library, "a dog on the beach") == ["beach.mp4", "shown.mp4"]


def test_an_answer_says_when_where_and_why(library: Library) -> None:
    (best, only_shown) = library.find("dogs on the beach")
    assert best.clip == "/films/beach.mp4"
    # Both are seen in frames 1 and 2; of these, the box is of 1.
    assert (best.start, best.end, best.time) == (1.0, 3.0, 1.5)
    assert best.box == Box(0.2, 0.4, 0.4, 0.8)
    assert [word for word, _ in best.words] == ["dog", "beach"]
    assert [likely for _, likely in best.words] == pytest.approx([0.8, 0.8], rel=0.03)
    assert (best.sentence, best.confidence) == ("A dog runs on the beach.", 0.8)
    assert best.score > only_shown.score
    assert (only_shown.start, only_shown.end, only_shown.time) == (3.0, 4.0, 3.5)
    assert only_shown.sentence is None
    assert only_shown.box is not None


@pytest.mark.parametrize("question", ["cooks", "Cooked!", "to cook", "cooking?"])
def test_words_are_found_by_their_stem(library: Library, question: str) -> None:
    (answer,) = library.find(question)
    assert answer.name == "kitchen.mp4"
    ((word, likely),) = answer.words
    assert word == "cooking"
    assert likely == pytest.approx(0.96, rel=0.03)


def test_what_nothing_speaks_for_is_no_answer(library: Library) -> None:
    assert library.find("zebra") == []
    assert list_names(library, "a ball") == ["ball.mp4"]
    with pytest.raises(CorpusError, match="no words"):
        library.find(" ?! ")


@pytest.mark.parametrize(
    "question", ['dog" OR "man', "NEAR(dog man)", "said : dog", "dog*", "^dog"]
)
def test_no_question_is_taken_for_a_language_of_queries(library: Library, question: str) -> None:
    assert "beach.mp4" in list_names(library, question)


def test_only_so_many_as_are_asked_for(library: Library) -> None:
    assert [answer.name for answer in library.find("dog", 1)] == ["beach.mp4"]


def test_what_was_left_unsaid_counts_less(tmp_path: Path) -> None:
    library = Library.make(tmp_path / "library")
    add(library, "unsaid.mp4", "a man talks", unsaid=("a zebra eats",))
    add(library, "said.mp4", "a zebra eats", unsaid=("a man talks",))
    add(library, "other.mp4", "a ball lies there", unsaid=("a ball rolls",))
    with Finder(library) as finder:
        names = [source.name for source, _ in library.list_files()]
        scores = finder.score("zebra")["sentences"]
        rows = [row.identity for row in finder.segments.values()]
    by_name = {bytes.fromhex(i).decode().strip("\0"): s for i, s in zip(rows, scores, strict=True)}
    assert by_name["said.mp4"] > by_name["unsaid.mp4"] > by_name["other.mp4"] == 0
    assert len(names) == 3


def test_a_correction_is_found_and_what_it_replaces_is_not(library: Library) -> None:
    assert list_names(library, "ball") == ["ball.mp4"]
    library.correct("ball.mp4", "A ball lies there.", "A melon lies there.")
    (answer,) = library.find("melons")
    assert (answer.name, answer.sentence, answer.confidence) == (
        "ball.mp4",
        "A melon lies there.",
        1.0,
    )
    # Its word is still shown.
    assert library.find("ball")[0].sentence is None


class TestIndex:
    def test_takes_in_only_what_is_new(self, library: Library) -> None:
        read: list[str] = []
        with Finder(library, advance=lambda: read.append("clip")):
            assert len(read) == 4
        add(library, "new.mp4", "A dog sleeps.", words=make_words({"dog": 0.9}))
        read.clear()
        with Finder(library, advance=lambda: read.append("clip")) as finder:
            assert len(read) == 1
            assert finder.find("a sleeping dog")[0].name == "new.mp4"
        with Finder(library, advance=lambda: read.append("clip")):
            assert len(read) == 1

    def test_is_as_if_made_anew_after_changes(self, library: Library) -> None:
        library.find("dog")
        identity = add(library, "ball.mp4", "A dog barks.", words=make_words({"dog": 0.99}))
        gone = library.find_identity("kitchen.mp4")
        library.place("clips", gone).unlink()
        questions = ["dog", "ball", "cooking man", "a barking dog on the beach"]
        grown = [library.find(question) for question in questions]
        (library.folder / INDEX).unlink()
        assert [library.find(question) for question in questions] == grown
        assert grown[0][0].identity == identity

    @pytest.mark.parametrize("content", [b"", b"no database" * 1000])
    def test_is_made_again_where_it_is_damaged(self, library: Library, content: bytes) -> None:
        expected = library.find("dog")
        (library.folder / INDEX).write_bytes(content)
        assert library.find("dog") == expected

    @pytest.mark.parametrize(
        "part", ["clips", "segments", "texts_data", "planes_of_word", "stems_data", "vectors"]
    )
    def test_is_made_again_where_a_page_is_damaged(self, library: Library, part: str) -> None:
        expected = library.find("dog"), library.more_like("beach.mp4")
        path = library.folder / INDEX
        with sqlite3.connect(path) as other:
            query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
            (page,) = other.execute(query, (part,)).fetchone()
            (size,) = other.execute("PRAGMA page_size").fetchone()
        with path.open("r+b") as stream:
            stream.seek((page - 1) * size)
            stream.write(b"\xff" * size)
        assert (library.find("dog"), library.more_like("beach.mp4")) == expected
        with sqlite3.connect(path) as other:
            assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        read: list[str] = []
        with Finder(library, advance=lambda: read.append("clip")):
            assert not read

    def test_goes_on_in_memory_where_it_must_not_be_written(self, library: Library) -> None:
        path = library.folder / INDEX
        with Finder(library) as finder:
            before = path.read_bytes()
            add(library, "new.mp4", "A zebra eats.", words=make_words({}))
            # As in a folder of somebody else's, also for root.
            finder.index._db.execute("PRAGMA query_only = 1")
            finder.refresh()
            assert [answer.name for answer in finder.find("zebra")] == ["new.mp4"]
        assert path.read_bytes() == before

    def test_a_fault_that_stays_is_one_line(self, library: Library) -> None:
        with Finder(library) as finder, pytest.raises(CorpusError, match=f"{INDEX}: cannot be"):
            finder.ask(lambda: finder.index._db.execute("SELECT 1 FROM nowhere"))

    def test_what_others_take_in_meanwhile_is_left_for_later(self, library: Library) -> None:
        with Finder(library) as finder:
            expected = finder.find("dog")
            add(library, "new.mp4", "A dog, a zebra.", words=make_words({}))
            assert [answer.name for answer in library.find("zebra")] == ["new.mp4"]
            assert finder.find("zebra") == []
            assert [each.name for each in finder.find("dog")] == [each.name for each in expected]

    def test_is_made_again_where_it_is_of_another_version(self, library: Library) -> None:
        expected = library.find("dog")
        with sqlite3.connect(library.folder / INDEX) as other:
            other.execute("PRAGMA user_version = 999")
        assert library.find("dog") == expected

    def test_moves_with_the_library(self, library: Library, tmp_path: Path) -> None:
        expected = [answer.name for answer in library.find("dog")]
        shutil.move(library.folder, tmp_path / "elsewhere")
        moved = densevidcap.open_library(tmp_path / "elsewhere")
        assert [answer.name for answer in moved.find("dog")] == expected


def embed(sentences: Sequence[str]) -> FloatArray:
    """As if "puppy" meant "dog", and nothing else anything."""
    rows = [
        [1.0, 0.0] if {"dog", "puppy"} & {*s.lower().split()} else [0.0, 1.0] for s in sentences
    ]
    return np.array(rows, np.float32)


def test_nearness_of_meaning_finds_what_has_no_word_in_common(library: Library) -> None:
    assert library.find("puppy") == []
    with Finder(library, embed) as finder:
        (answer,) = finder.find("puppy")
    assert (answer.name, answer.sentence) == ("beach.mp4", "A dog runs on the beach.")
    assert answer.signals.keys() == {"meaning"}


def test_segments_of_a_film_are_answers_by_themselves(tmp_path: Path) -> None:
    library = Library.make(tmp_path / "library")
    shots = (make_words({"man": 0.9}), make_words({"dog": 0.9}, {"dog": (2,)}, span=(4.0, 8.0)))
    said = make_captions(
        "film.mp4",
        make_caption("A man talks."),
        make_caption("A dog sleeps.", 4.0, 8.0, (4.5, 5.5, 6.5, 7.5)),
    )
    library.write(Entry("ab" * 16, "r", said, 1.0), WordRecord(WORDS.digest, shots), WORDS)
    library.note(Source("/films/film.mp4", "film.mp4", "s", "ab" * 16))
    (answer,) = library.find("a dog")
    assert (answer.start, answer.end, answer.sentence) == (6.0, 7.0, "A dog sleeps.")


@given(st.lists(st.floats(0, 1, width=32), min_size=1))
def test_a_byte_keeps_a_probability(values: list[float]) -> None:
    given_ = np.array(values, np.float32)
    kept = from_byte(to_byte(given_))
    floor = np.maximum(given_, 1e-6)
    assert (abs(np.log(kept) - np.log(floor)) < 0.03).all()
    assert (np.diff(kept[np.argsort(given_, kind="stable")]) >= 0).all()


@given(
    st.lists(st.floats(-100, 100), min_size=1, max_size=20), st.floats(0.1, 10), st.floats(-9, 9)
)
def test_no_unit_of_a_signal_matters(values: list[float], scale: float, shift: float) -> None:
    scores = np.array(values)
    plain = standardise(scores)
    if scores.std() > 1e-6:
        assert np.allclose(standardise(scale * scores + shift), plain, atol=1e-5)
        assert np.isclose(plain.std(), 1)
    assert np.allclose(fuse({"words": plain, "meaning": plain}), plain)
    assert np.allclose(fuse({"meaning": plain}), plain)


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(root, [*map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


class TestVerb:
    def test_tells_clip_time_place_and_reasons(self, library: Library) -> None:
        code, out, _ = run("find", library.folder, "a dog on the beach", "-n", 1)
        assert code == 0
        head, reasons = out.splitlines()
        assert head == "  1  /films/beach.mp4  00:00:01.500, middle left"
        assert reasons.startswith("     00:00:01.000 to 00:00:03.000: seen dog 8")
        assert reasons.endswith('"A dog runs on the beach." 80%')

    def test_names_a_clip_whose_file_is_called_otherwise(
        self, library: Library, tmp_path: Path
    ) -> None:
        """As what was dropped in a studio is."""
        kept = tmp_path / "source.mp4"
        add(library, "melon.mp4", "A melon is thrown.", file=kept)
        _, out, _ = run("find", library.folder, "a melon is thrown", "-n", 1)
        assert out.startswith(f"  1  melon.mp4: {kept}  ")

    def test_json(self, library: Library) -> None:
        _, out, _ = run("find", library.folder, "a dog on the beach", "--json")
        first, second = json.loads(out)
        assert first["clip"] == "/films/beach.mp4"
        assert first["box"] == {"left": 0.2, "top": 0.4, "right": 0.4, "bottom": 0.8}
        assert [word["word"] for word in first["words"]] == ["dog", "beach"]
        assert second["sentence"] is None

    def test_a_playlist_plays_just_the_answers(self, library: Library, tmp_path: Path) -> None:
        path = tmp_path / "dogs.m3u"
        run("find", library.folder, "a dog on the beach", "--playlist", path)
        lines = path.read_text().splitlines()
        assert lines[0] == "#EXTM3U"
        assert lines[2:5] == [
            "#EXTVLCOPT:start-time=1.000",
            "#EXTVLCOPT:stop-time=3.000",
            "/films/beach.mp4",
        ]
        before = path.read_bytes()
        code, _, _ = run("find", library.folder, "ball", "--playlist", path)
        assert code == 1
        assert path.read_bytes() == before

    def test_a_sheet_shows_each_answer_with_its_box(self, library: Library, tmp_path: Path) -> None:
        clip = write_video(tmp_path / "beach <b>.mp4", 40)
        identity = library.find_identity("beach.mp4")
        library.note(Source(str(clip), "beach <b>.mp4", "s", identity))
        code, _, _ = run("find", library.folder, "dogs & a beach", "--sheet", tmp_path / "s.html")
        assert code == 0
        page = (tmp_path / "s.html").read_text()
        # The other clip's file is not there.
        (data,) = re.findall(r'src="data:image/jpeg;base64,([^"]+)"', page)
        picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))
        assert picture.shape == (240, 320, 3)
        # Frame 15 of 40, as the clip is painted.
        expected = brightness(paint(15, 40))
        assert brightness(picture) == pytest.approx(expected, abs=3)
        assert page.count("<figure>") == 2
        assert "left:20.00%;top:40.00%;width:20.00%;height:40.00%" in page
        assert "beach &lt;b&gt;.mp4" in page
        assert "<h1>dogs &amp; a beach</h1>" in page
        assert "<b>" not in page

    def test_nothing_found_is_told(self, library: Library) -> None:
        code, out, errors = run("find", library.folder, "zebra")
        assert (code, out) == (1, "")
        assert "nothing fits 'zebra'" in errors

    def test_a_folder_that_is_no_library(self, tmp_path: Path) -> None:
        result = CliRunner().invoke(root, ["find", str(tmp_path), "dog"])
        assert isinstance(result.exception, CorpusError)
        assert "no library here" in str(result.exception)
