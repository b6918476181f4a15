"""Files about sets of clips, read back."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from tests.data.made_clips import write_video
from tests.export.made_captions import make_caption, make_captions
from tests.library.made_library import add, make_library

from densevidcap.cli import root
from densevidcap.errors import MissingExtraError, OutputError
from densevidcap.export.formats import ExportError
from densevidcap.export.json_file import from_dict
from densevidcap.export.sets import DEFAULT_COLUMNS, SetRow, parse_columns, write_set

NAMES = ["a.mp4", "b/a.mp4", "b/a.mov"]


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    folder = tmp_path / "set"
    (folder / "b").mkdir(parents=True)
    for name in NAMES:
        (folder / name).write_bytes(b"film")
    return folder


def list_rows(folder: Path) -> Iterable[SetRow]:
    for number, name in enumerate(NAMES):
        said = (make_caption(f'A "dog", {number} & <more>.'), make_caption("A man é."))
        place = str(folder / name)
        captions = replace(make_captions(place), captions=said[: 2 - number])
        yield SetRow(name, place, captions)


def test_json_lines_hold_everything(clips: Path, tmp_path: Path) -> None:
    (path,) = write_set(lambda: list_rows(clips), "jsonl", tmp_path / "out")
    assert path == tmp_path / "out" / "captions.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row.pop("file") for row in rows] == NAMES
    assert [from_dict(row) for row in rows] == [row.captions for row in list_rows(clips)]


def test_a_table_has_a_sentence_a_row(clips: Path, tmp_path: Path) -> None:
    (path,) = write_set(lambda: list_rows(clips), "csv", tmp_path / "all.csv")
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [*rows[0]] == DEFAULT_COLUMNS.split(",")
    ranked = [(row["file"], row["rank"]) for row in rows]
    assert ranked == [("a.mp4", "1"), ("a.mp4", "2"), ("b/a.mp4", "1")]
    assert rows[0]["text"] == 'A "dog", 0 & <more>.'
    assert (rows[1]["text"], rows[1]["words"]) == ("A man é.", "dog")
    assert (float(rows[0]["left"]), float(rows[0]["bottom"])) == (0.0, 0.75)


def test_columns_are_chosen_and_renamed(clips: Path, tmp_path: Path) -> None:
    columns = "text=caption, end_code,path=video"
    (path,) = write_set(lambda: list_rows(clips), "csv", tmp_path, columns)
    head, first, *_ = path.read_text().splitlines()
    assert head == "caption,end_code,video"
    assert first == f'"A ""dog"", 0 & <more>.",00:00:04.000,{clips / "a.mp4"}'
    for wrong, message in {"colour": "no column 'colour'", "file,text=file": "comes twice"}.items():
        with pytest.raises(ExportError, match=message):
            parse_columns(wrong)


def test_huggingface_finds_the_files_from_its_list(clips: Path) -> None:
    (path,) = write_set(lambda: list_rows(clips), "huggingface", clips)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert path.name == "metadata.jsonl"
    assert [row["file_name"] for row in rows] == NAMES
    assert all((path.parent / row["file_name"]).is_file() for row in rows)
    assert rows[0]["captions"] == ['A "dog", 0 & <more>.', "A man é."]
    assert rows[2]["caption"] == ""


def test_predictions_are_by_clip(clips: Path, tmp_path: Path) -> None:
    (path,) = write_set(lambda: list_rows(clips), "predictions", tmp_path)
    said = json.loads(path.read_text())
    assert said == {"a": ['A "dog", 0 & <more>.', "A man é."]} | {
        "b/a.mp4": ['A "dog", 1 & <more>.'],
        "b/a.mov": [],
    }


@pytest.mark.parametrize("kind", ["predictions", "txt"])
def test_files_of_one_name_all_have_their_place(tmp_path: Path, kind: str) -> None:
    rows = []
    for folder in "ABC":
        place = str(tmp_path / folder / "x.mp4")
        captions = replace(make_captions(place), captions=(make_caption(f"A {folder}."),))
        rows.append(SetRow("x.mp4", place, captions))
    paths = write_set(lambda: rows, kind, tmp_path / "out")
    if kind == "predictions":
        said = json.loads(paths[0].read_text())
        assert said == {"x": ["A A."], "x.mp4": ["A B."], str(tmp_path / "C/x.mp4"): ["A C."]}
    else:
        assert [path.name for path in paths] == ["x.mp4.txt", "x.mp4-2.txt", "x.mp4-3.txt"]
        assert [path.read_text() for path in paths] == ["A A.\n", "A B.\n", "A C.\n"]


def test_names_that_are_ids_are_whole(tmp_path: Path) -> None:
    ids = ["v_1.0", "v_1.5", "cat/1", "dog/1"]
    rows = []
    for number, name in enumerate(ids):
        place = str(tmp_path / f"{number}.mp4")
        rows.append(SetRow(name, place, make_captions(place, make_caption(f"A {name}."))))
    (path,) = write_set(lambda: rows, "predictions", tmp_path)
    assert json.loads(path.read_text()) == {name: [f"A {name}."] for name in ids}
    paths = write_set(lambda: rows, "txt", tmp_path / "out")
    assert [path.relative_to(tmp_path / "out").as_posix() for path in paths] == [
        f"{name}.txt" for name in ids
    ]


def test_sidecars_lie_as_the_clips_do(clips: Path, tmp_path: Path) -> None:
    paths = write_set(lambda: list_rows(clips), "txt", tmp_path / "out")
    names = [path.relative_to(tmp_path / "out").as_posix() for path in paths]
    assert names == ["a.txt", "b/a.mp4.txt", "b/a.mov.txt"]
    assert paths[0].read_text() == 'A "dog", 0 & <more>.\nA man é.\n'
    beside = write_set(lambda: list_rows(clips), "xmp", tmp_path / "out", beside=True)
    assert beside[0] == clips / "a.xmp"
    text = ElementTree.parse(beside[0]).find(".//{*}description//{*}li")
    assert text is not None
    assert text.text == 'A "dog", 0 & <more>. A man é.'


def test_nothing_is_written_if_one_stands_there(clips: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "b").mkdir(parents=True)
    (out / "b" / "a.mov.txt").write_text("mine")
    with pytest.raises(OutputError, match="stands there already"):
        write_set(lambda: list_rows(clips), "txt", out)
    assert not (out / "a.txt").exists()
    write_set(lambda: list_rows(clips), "txt", out, overwrite=True)
    assert (out / "b" / "a.mov.txt").read_text() == ""


def test_a_clip_is_never_replaced(tmp_path: Path) -> None:
    clip = write_video(tmp_path / "clip.mp4", 4)
    before = clip.read_bytes()
    rows = [SetRow("clip.mp4", str(clip), make_captions(clip))]
    (path,) = write_set(lambda: rows, "mp4", tmp_path, beside=True, overwrite=True)
    assert path.name == "clip.mp4.mp4"
    assert clip.read_bytes() == before


def test_names_cannot_lead_out_of_the_folder(clips: Path, tmp_path: Path) -> None:
    rows = [SetRow("../../evil.mp4", str(clips / "a.mp4"), make_captions(clips / "a.mp4"))]
    (path,) = write_set(lambda: rows, "txt", tmp_path / "out")
    assert path == tmp_path / "out" / "evil.txt"


def test_parquet_is_the_same_table_or_names_its_extra(clips: Path, tmp_path: Path) -> None:
    try:
        from pyarrow import parquet
    except ImportError:
        with pytest.raises(MissingExtraError, match="tables"):
            write_set(lambda: list_rows(clips), "parquet", tmp_path)
        assert not [*tmp_path.glob("*.parquet")]
        return
    (path,) = write_set(lambda: list_rows(clips), "parquet", tmp_path)
    table = parquet.read_table(path).to_pylist()
    assert [row["file"] for row in table] == ["a.mp4", "a.mp4", "b/a.mp4"]
    assert table[0]["confidence"] == 0.8
    rows = [SetRow("caf\udce9.mp4", str(clips / "a.mp4"), make_captions(clips / "a.mp4"))]
    (path,) = write_set(lambda: rows, "parquet", tmp_path, overwrite=True)
    assert {row["file"] for row in parquet.read_table(path).to_pylist()} == {"caf?.mp4"}


def test_the_verb_writes_into_the_library_or_where_it_is_told(tmp_path: Path) -> None:
    library = make_library(tmp_path / "library")
    library.correct("ball.mp4", "A ball lies there.", "A melon lies there.")
    run = CliRunner().invoke
    for _ in range(2):
        result = run(root, ["export", str(library.folder), "--format", "csv", "--format", "txt"])
        assert result.exit_code == 0, result.output
    own = library.folder / "export"
    assert (own / "ball.txt").read_text() == "A melon lies there.\n"
    assert "A ball lies there." not in (own / "captions.csv").read_text()
    to = ["--format", "csv", "--out", str(tmp_path / "all.csv")]
    assert run(root, ["export", str(library.folder), *to]).exit_code == 0
    refused = run(root, ["export", str(library.folder), *to])
    assert isinstance(refused.exception, OutputError)
    assert run(root, ["export", str(library.folder), *to, "--overwrite"]).exit_code == 0
    assert run(root, ["export", str(library.folder), *to, "--beside"]).exit_code == 2


def test_a_clip_that_is_gone_or_damaged_costs_no_other(tmp_path: Path) -> None:
    library = make_library(tmp_path / "library")
    film = write_video(tmp_path / "film.mp4", 5)
    add(library, "film.mp4", "A square moves.", file=film)
    # Files that are needed: those of the library's other clips were never there.
    run = CliRunner().invoke
    made = run(root, ["export", str(library.folder), "--format", "mp4", "--format", "html"])
    assert made.exit_code == 1
    assert sorted(path.name for path in (library.folder / "export").iterdir()) == [
        *("film.html", "film.mp4")
    ]
    left_out = [line for line in made.stderr.splitlines() if "left out: " in line]
    assert len(left_out) == 4
    assert "densevidcap: left out: /films/ball.mp4: no such file or folder; check the path" in (
        left_out
    )
    library.place("clips", library.find_identity("ball.mp4")).write_text("{")
    made = run(root, ["export", str(library.folder), "--format", "csv", "--format", "txt"])
    assert made.exit_code == 1
    (line,) = [line for line in made.stderr.splitlines() if "left out: " in line]
    assert line.startswith("densevidcap: left out: ball.mp4: ")
    table = (library.folder / "export/captions.csv").read_text()
    assert "beach.mp4" in table
    assert "ball.mp4" not in table
    assert len([*(library.folder / "export").glob("*.txt")]) == 4


def test_a_clip_whose_result_is_damaged_is_never_replaced(tmp_path: Path) -> None:
    library = make_library(tmp_path / "library")
    for name in ("film.mov", "film.mp4"):
        film = write_video(tmp_path / "film.mp4", 5)
        film = film if name == film.name else film.rename(tmp_path / name)
        add(library, name, "A square moves.", file=film)
    before = (tmp_path / "film.mp4").read_bytes()
    library.place("clips", library.find_identity("film.mp4")).write_text("{")
    to = ["--format", "mp4", "--beside", "--overwrite"]
    CliRunner().invoke(root, ["export", str(library.folder), *to])
    assert (tmp_path / "film.mp4").read_bytes() == before
    assert (tmp_path / "film.mov.mp4").exists()
