"""Sets of clips through the real command line: resumed, moved, changed, corrected, killed."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.data.made_clips import write_folder, write_video
from tests.library.made_library import make_library
from tests.pipeline.small_model import write_model

from densevidcap.cli import root
from densevidcap.cli.set_view import SetView, describe_rate
from densevidcap.errors import ClipError, OutputError
from densevidcap.files import WORKSPACE, hold, replacing
from densevidcap.library.estimate import name_duration
from densevidcap.library.store import Library

NAMES = ["a.mp4", "b.mp4", "deep/c.mp4"]
FAST = ["--frames", "2", "-k", "2", "--beam", "3", "--set", "decoding.samples=0"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def clips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three that differ, below where we are."""
    monkeypatch.chdir(tmp_path)
    return write_set(Path("set"))


def write_set(folder: Path) -> Path:
    (folder / "deep").mkdir(parents=True)
    for number, name in enumerate(NAMES):
        write_video(folder / name, 8 + number)
    return folder


def run(verb: str, *arguments: object) -> Result:
    return CliRunner().invoke(root, [verb, *map(str, arguments)])


Caption = Callable[..., Result]


@pytest.fixture(scope="module")
def caption(model: Path) -> Caption:
    def run_it(*arguments: object) -> Result:
        return run("caption", "--model", model, *FAST, *arguments)

    return run_it


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, caption: Caption) -> tuple[Path, Result]:
    """A set beside its library, and how it was made."""
    folder = tmp_path_factory.mktemp("made")
    write_set(folder / "first" / "set")
    result = caption(folder / "first" / "set", "--library", folder / "first" / "set.library")
    # So that copies are all that is there.
    return (folder / "first").rename(folder / "kept"), result


@pytest.fixture
def done(made: tuple[Path, Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same set with its library, below where we are."""
    shutil.copytree(made[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return Path("set")


def read_results(library: Path) -> dict[str, bytes]:
    """Everything but what tells how long it took."""
    found = {}
    for path in sorted(library.glob("clips/??/*.json")):
        content = json.loads(path.read_text())
        content.pop("seconds")
        found[path.stem] = json.dumps(content).encode()
    for path in sorted(library.glob("words/??/*")):
        found[path.name] = path.read_bytes()
    return found


def list_told(result: Result) -> list[str]:
    return [line.partition(": ")[0] for line in result.stdout.splitlines()]


def test_a_folder_of_videos_becomes_a_library(caption: Caption, clips: Path) -> None:
    first = caption(clips)
    assert first.exit_code == 0, first.output
    assert list_told(first) == NAMES
    assert "3 clips to caption, 3 s in all; about " in first.stderr
    assert first.stderr.splitlines()[-1] == "densevidcap: set.library: 3 captioned"
    library = Library("set.library")
    assert len(library) == 3
    assert [source.name for source, _ in library.list_files()] == NAMES
    again = caption(clips)
    assert (again.exit_code, again.stdout) == (0, "")
    assert "nothing to do, 3 done before" in again.stderr


def test_what_is_kept_is_what_one_clip_alone_gets(caption: Caption, done: Path) -> None:
    (alone,) = json.loads(caption(done / "a.mp4", "--json").stdout)
    library = Library("set.library")
    run("export", "set.library", "--format", "json", "--out", "out")
    kept = json.loads(Path("out/a.json").read_text())
    assert kept.pop("source") == str(Path(alone.pop("source")).absolute())
    assert kept == alone
    assert library.read_words(library.find_identity("a.mp4")) is not None


def test_only_what_is_new_or_changed_is_captioned(caption: Caption, done: Path) -> None:
    write_video(done / "b.mp4", 20)
    write_video(done / "new.mp4", 21)
    result = caption(done)
    assert list_told(result) == ["b.mp4", "new.mp4"]
    assert "2 clips to caption" in result.stderr
    # The old content of b.mp4 is nobody's any more.
    assert [s.name for s, _ in Library("set.library").list_files()] == sorted([*NAMES, "new.mp4"])


def test_a_setting_that_can_change_a_sentence_does_all_again(caption: Caption, done: Path) -> None:
    assert list_told(caption(done, "--set", "decoding.samples=1")) == NAMES
    assert list_told(caption(done, "--set", "decoding.samples=1")) == []
    assert list_told(caption(done)) == NAMES


def test_another_model_does_all_again_but_not_a_copy(clips: Path, model: Path) -> None:
    options = [*FAST, "--model"]
    shutil.copytree(model, "copy")
    run("caption", clips, *options, model)
    assert list_told(run("caption", clips, *options, "copy")) == []
    card = Path("copy/words/card.json")
    card.write_text(json.dumps(json.loads(card.read_text()) | {"note": "another"}))
    assert list_told(run("caption", clips, *options, "copy")) == NAMES


def test_overwriting_does_all_again(caption: Caption, done: Path) -> None:
    before = read_results(Path("set.library"))
    assert list_told(caption(done, "--overwrite")) == NAMES
    assert read_results(Path("set.library")) == before


def test_moved_and_renamed_files_are_known(caption: Caption, done: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (done / "a.mp4").rename(done / "renamed.mp4")
    shutil.move("set", "elsewhere/other")
    shutil.move("set.library", "elsewhere/other.library")
    moved = Library("elsewhere/other.library")
    result = caption("elsewhere/other", "--library", "elsewhere/other.library")
    assert (result.exit_code, result.stdout) == (0, "")
    moved = Library("elsewhere/other.library")
    files = moved.list_files()
    assert [source.name for source, _ in files] == ["b.mp4", "deep/c.mp4", "renamed.mp4"]
    assert all(Path(place).exists() for _, place in files)


def test_a_library_moved_with_its_clips_knows_where_they_are(
    caption: Caption, clips: Path, tmp_path: Path
) -> None:
    caption(clips, "--library", "set/library")
    shutil.move("set", "other")
    places = [place for _, place in Library("other/library").list_files()]
    assert places == [str(tmp_path / "other" / name) for name in NAMES]


def test_a_file_that_took_a_moved_clip_s_place_is_not_taken_for_it(
    caption: Caption, clips: Path, tmp_path: Path
) -> None:
    caption(clips)
    identity = Library("set.library").find_identity("a.mp4")
    for name in ("set", "set.library"):
        shutil.copytree(name, f"copied/{name}")
    copied = [place for _, place in Library("copied/set.library").list_files()]
    assert copied == [str(tmp_path / "set" / name) for name in NAMES]
    shutil.rmtree("set")
    clips.mkdir()
    write_video(clips / "a.mp4", 20)
    library = Library("copied/set.library")
    places = [place for _, place in library.list_files()]
    assert places == [str(tmp_path / "copied/set" / name) for name in NAMES]
    assert library.find_identity(places[0]) == identity


def test_a_clip_that_is_there_twice_is_captioned_once(caption: Caption, clips: Path) -> None:
    shutil.copy(clips / "a.mp4", clips / "again.mp4")
    result = caption(clips)
    assert list_told(result) == ["a.mp4", "b.mp4", "deep/c.mp4"]
    assert result.stderr.endswith("3 captioned, 1 with the content of another\n")
    library = Library("set.library")
    assert len(library) == 3
    assert [s.name for s, _ in library.list_files()] == ["a.mp4", "again.mp4", *NAMES[1:]]


def test_a_failure_is_listed_and_tried_again(caption: Caption, clips: Path) -> None:
    (clips / "bad.mp4").write_bytes(b"nonsense")
    for _ in range(2):
        result = caption(clips)
        assert result.exit_code == 1
        assert "1 failed, as told above: bad.mp4" in result.stderr
        listed = Path("set.library/failed.txt").read_text()
        assert "bad.mp4\tset/bad.mp4: cannot be read as a video" in listed
    assert isinstance(caption(clips, "--fail-fast").exception, ClipError)
    write_video(clips / "bad.mp4", 30)
    result = caption(clips)
    assert (result.exit_code, list_told(result)) == (0, ["bad.mp4"])
    assert not Path("set.library/failed.txt").exists()
    assert Library("set.library").list_failures() == []


def test_features_are_a_failure_that_costs_the_others_nothing(caption: Caption, done: Path) -> None:
    np.save("f.npy", np.zeros((4, 8), np.float32))
    write_video(done / "new.mp4", 21)
    for told in (["new.mp4"], []):
        result = caption("f.npy", done, "--library", "set.library")
        assert (result.exit_code, list_told(result)) == (1, told)
        assert "f.npy: holds features, which libraries do not keep; caption" in result.stderr
        assert "1 failed, as told above: f.npy" in result.stderr


def test_corrections_survive_everything(caption: Caption, done: Path) -> None:
    library = Library("set.library")
    identity = library.find_identity("a.mp4")
    first, second = library.captions(identity).captions
    assert run("correct", "set.library", "a.mp4", first.text, "A red corner.").exit_code == 0
    assert run("correct", "set.library", done / "a.mp4", second.text, "--drop").exit_code == 0
    assert [each.text for each in library.captions(identity)] == ["A red corner."]
    caption(done, "--overwrite")
    assert [each.text for each in library.captions(identity)] == ["A red corner."]
    # Other sentences by another setting; the person's still stands, before the others.
    caption(done, "--set", "decoding.samples=3")
    texts = [each.text for each in library.captions(identity)]
    assert texts[0] == "A red corner."
    assert library.captions(identity)[0].confidence == 1
    run("correct", "set.library", "a.mp4", "a red corner", "A red box.")
    assert "A red box." in [each.text for each in library.captions(identity)]
    assert "A red corner." not in [each.text for each in library.captions(identity)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.mp4", "nothing like it", "x"], "nobody says"),
        (["z.mp4", "x", "y"], "no clip of"),
    ],
)
@pytest.mark.usefixtures("done")
def test_corrections_of_nothing_are_refused(arguments: list[str], message: str) -> None:
    assert message in str(run("correct", "set.library", *arguments).exception)
    assert run("correct", "set.library", "a.mp4", "x").exit_code == 2
    assert run("correct", "set.library", "a.mp4", "x", "y", "--drop").exit_code == 2


def test_pictures_beside_videos_are_named(caption: Caption, clips: Path) -> None:
    write_folder(clips / "stills", 3)
    result = caption(clips)
    assert "3 pictures beside videos are left out" in result.stderr
    assert str(clips / "stills") in result.stderr
    assert list_told(caption(clips, "--pictures", "frames")) == ["stills"]


def test_any_clips_go_into_a_library_that_is_named(caption: Caption, clips: Path) -> None:
    result = caption(clips / "a.mp4", "set/b.*", "--library", "mine")
    assert (result.exit_code, list_told(result)) == (0, ["a.mp4", "b.mp4"])
    assert len(Library("mine")) == 2


@pytest.mark.parametrize("option", ["--json", "--out x", "--predictions x", "--story"])
def test_options_of_single_clips_are_refused(caption: Caption, clips: Path, option: str) -> None:
    result = caption(clips, *option.split())
    assert result.exit_code == 2
    assert "densevidcap export set.library" in result.stderr
    assert not Path("set.library").exists()


def test_several_folders_need_a_name_for_the_library(caption: Caption, clips: Path) -> None:
    (clips.parent / "more").mkdir()
    write_video(Path("more/x.mp4"), 5)
    assert "--library" in caption(clips, "more").stderr
    assert caption(clips, "more", "--library", "both").exit_code == 0
    assert len(Library("both")) == 4


def test_formats_of_sets_need_a_library(caption: Caption, clips: Path) -> None:
    result = caption(clips / "a.mp4", "--format", "csv")
    assert (result.exit_code, "--library" in result.stderr) == (2, True)


def test_what_is_no_library_is_not_written_to(caption: Caption, clips: Path) -> None:
    Path("mine").mkdir()
    Path("mine/letter.txt").write_text("dear")
    result = caption(clips, "--library", "mine")
    assert isinstance(result.exception, OutputError)
    assert [path.name for path in Path("mine").iterdir()] == ["letter.txt"]


def test_two_runs_do_not_write_to_one_library(caption: Caption, done: Path) -> None:
    with hold(Path("set.library"), OutputError("held")):
        result = caption(done, "--overwrite")
    assert "another process is writing here" in str(result.exception)


def test_who_writes_to_a_library_leaves_alone_what_is_made_of_it(tmp_path: Path) -> None:
    library = make_library(tmp_path / "library")
    killed = [library.folder / "clips/ab", library.folder / "words/ab", library.folder]
    for place in killed:
        left = place / f"{WORKSPACE}killed" / "failed.txt"
        left.parent.mkdir(parents=True)
        left.write_text("half")
    made = [library.folder / "export/deep/a.mp4", library.folder / "all.csv"]
    with ExitStack() as stack:
        for path in made:
            stack.enter_context(replacing(path)).write_text("made meanwhile")
        result = run("correct", library.folder, "ball.mp4", "A ball lies there.", "A melon.")
        assert result.exit_code == 0
        assert not [place for place in killed if (place / f"{WORKSPACE}killed").exists()]
    assert [path.read_text() for path in made] == ["made meanwhile"] * 2


def test_several_workers_find_the_same(caption: Caption, clips: Path) -> None:
    (clips / "bad.mp4").write_bytes(b"nonsense")
    caption(clips, "--library", "one")
    result = caption(clips, "--library", "two", "--workers", 2)
    assert result.exit_code == 1
    assert read_results(Path("one")) == read_results(Path("two"))
    assert len(Library("two").list_failures()) == 1


def test_a_manifest_s_clips_go_by_their_ids(caption: Caption, clips: Path) -> None:
    rows = [
        {"id": name[0], "source": str(clips / name), "captions": [], "split": split}
        for name, split in zip(NAMES[:2], ("train", "test"), strict=True)
    ]
    Path("all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = caption("all.jsonl", "--library", "mine", "--split", "test")
    assert list_told(result) == ["b"]


def test_a_line_that_a_kill_cut_short_costs_nothing(caption: Caption, done: Path) -> None:
    sources = Path("set.library/sources.jsonl")
    whole = sources.read_bytes()
    for end in (len(whole) - 2, len(whole) // 2, 5):
        sources.write_bytes(whole[:end])
        result = caption(done)
        assert (result.exit_code, result.stdout) == (0, "")
        assert len(Library("set.library").list_files()) == 3


def test_a_result_that_is_damaged_is_done_again(caption: Caption, done: Path) -> None:
    before = read_results(Path("set.library"))
    path = next(Path("set.library").glob("clips/??/*.json"))
    path.write_bytes(path.read_bytes()[:100])
    assert len(list_told(caption(done))) == 1
    assert read_results(Path("set.library")) == before


def test_killed_again_and_again_nothing_is_lost_or_done_twice(
    model: Path, clips: Path, tmp_path: Path
) -> None:
    """With SIGKILL, at moments at random; `benchmarks/kills.py` does it with 300 clips."""
    for number in range(6):
        write_video(clips / f"more{number}.mp4", 20 + number)
    options = ["--model", str(model), *FAST]
    undisturbed = run("caption", clips, *options, "--library", "undisturbed")
    expected = set(list_told(undisturbed))
    assert len(expected) == 9
    command = [sys.executable, "-m", "densevidcap", "caption", str(clips), *options]
    moments, told, code = random.Random(1), [], -1
    for wanted in (1, 2, 3, 99):
        with (tmp_path / "told.txt").open("w+") as out:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
            # When it has told of so many clips, and a little later: in the middle of the next.
            while process.poll() is None:
                out.seek(0)
                if out.read().count("\n") >= wanted:
                    time.sleep(moments.uniform(0, 0.05))
                    process.kill()
                    break
                time.sleep(0.005)
            code = process.wait()
            out.seek(0)
            told += [line.partition(": ")[0] for line in out.read().splitlines()]
    assert code == 0
    assert len(told) == len(set(told)), "a clip that was told done was done again"
    assert 6 <= len(told) <= 9
    assert set(told) <= expected
    assert read_results(Path("set.library")) == read_results(Path("undisturbed"))
    assert {s.name for s, _ in Library("set.library").list_files()} == expected
    assert not [*Path("set.library").rglob(f"{WORKSPACE}*")]


def test_a_log_is_told_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    view = SetView(lambda: now)
    advance = view.count("Captioning", 300)
    for _ in range(300):
        now += 2.0
        advance()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Captioning: 30 of 300, 30.0 a minute, 9 min left"
    assert len(lines) == 9


@pytest.mark.parametrize(
    ("seconds", "name"),
    [
        (0.2, "1 s"),
        (89, "89 s"),
        (100, "2 min"),
        (5940, "99 min"),
        (12_000, "3 h 20 min"),
        (400_000, "5 days"),
    ],
)
def test_durations_are_as_precise_as_estimates_are(seconds: float, name: str) -> None:
    assert name_duration(seconds) == name


def test_a_rate_needs_time() -> None:
    assert describe_rate(3, 9, 0.0) == ""
