"""The verb `caption`, through the real command line, with a small model of random weights."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator
from tests.data.made_clips import encode_picture, paint, write_folder, write_shard, write_video
from tests.data.test_shots import write_scenes
from tests.limited_disk import limited_files
from tests.pipeline.small_model import write_model

from densevidcap.cli import root
from densevidcap.data.text import time_code
from densevidcap.errors import OutputError
from densevidcap.export import ENDINGS, SCHEMA, read_captions
from densevidcap.export.formats import FORMATS
from densevidcap.pipeline.outline import summarise


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(root, ["caption", *map(str, arguments)])


def test_ranked_sentences_with_their_evidence(whole: Path, clip: Path) -> None:
    result = run(clip, "--model", whole, "--frames", 4, "-k", 3)
    assert result.exit_code == 0, result.output
    head, *rows = result.stdout.splitlines()
    assert head.startswith("talk.mp4  2.0 s, 64 × 48")
    ranked = [row for row in rows if "━" in row or "─" in row]
    assert [row.split()[0] for row in ranked] == ["1", "2", "3"]
    assert all(row.rstrip()[-4:].strip("↖↑↗←·→↙↓↘") == "" for row in ranked)


def test_json_fits_the_schema(whole: Path, clip: Path) -> None:
    result = run(clip, "--model", whole, "--frames", 4, "--json")
    (captions,) = json.loads(result.stdout)
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(captions)
    assert captions["source"] == str(clip)
    told = json.loads(run(clip, "--model", whole, "--frames", 4, "--json", "--story").stdout)
    assert told[0].pop("story")
    assert told == [captions]


@pytest.mark.parametrize(
    ("pictures", "frames", "looked_at"), [(12, 3, [2, 6, 10]), (7, 2, [1, 5]), (5, 9, [*range(5)])]
)
def test_a_box_tells_which_picture_of_the_folder_it_is_in(
    whole: Path, tmp_path: Path, pictures: int, frames: int, looked_at: list[int]
) -> None:
    """Counted from 0 on, whatever they are called and however many are left out."""
    folder = tmp_path / "film"
    folder.mkdir()
    for place in range(pictures):
        picture = encode_picture(paint(place, pictures))
        (folder / f"shot {3 * place + 8}.png").write_bytes(picture)
    (told,) = json.loads(run(folder, "--model", whole, "--frames", frames, "--json").stdout)
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(told)
    assert {box["frame"] for box in list_places(told)} == set(looked_at)
    assert all(box["time"] == box["frame"] for box in list_places(told))


def test_a_box_tells_which_frame_of_the_film_it_is_in(whole: Path, tmp_path: Path) -> None:
    """Also where one lasts longer than others, so that times do not tell."""
    milliseconds = [0, 10, 20, 30, 500, 1000, 1700, 1710, 1720, 3000]
    clip = write_video(tmp_path / "uneven.mkv", milliseconds=milliseconds)
    (told,) = json.loads(run(clip, "--model", whole, "--frames", 4, "--json").stdout)
    places = {(box["frame"], round(1000 * box["time"])) for box in list_places(told)}
    assert places == {(3, 30), (5, 1000), (8, 1720), (9, 3000)}


def list_places(told: dict[str, Any]) -> list[dict[str, Any]]:
    """Boxes of sentences and of their evidence."""
    words = [word["box"] for caption in told["captions"] for word in caption["evidence"]]
    return words + [box for caption in told["captions"] for box in caption["boxes"]]


def test_only_what_was_given_is_set_and_told(whole: Path, clip: Path) -> None:
    """Everything else is as the model's config has it."""
    fast = ("--set", "decoding.samples=2", "--set", 'regions.terms={"informativeness": 1}')
    (told,) = json.loads(
        run(clip, "--model", whole, "--frames", 2, "-k", 5, *fast, "--json").stdout
    )
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(told)
    assert told["settings"] == {
        "frames.most": 2,
        "decoding.samples": 2,
        "regions.terms": {"informativeness": 1},
    }
    (plain,) = json.loads(run(clip, "--model", whole, "--json").stdout)
    assert "settings" not in plain
    assert "[default: the model's]" in run("--help").stdout


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ("decoding.samples", "is not NAME=VALUE"),
        ("decoding.sample=3", "no setting 'decoding.sample'"),
        ("captioner.hidden=3", "of a trained model"),
        ("frames.strategy=all", "must be one of 'uniform'"),
    ],
)
def test_wrong_settings_are_named(whole: Path, clip: Path, given: str, fault: str) -> None:
    result = run(clip, "--model", whole, "--set", given)
    assert result.exit_code != 0
    assert fault in f"{result.output} {result.exception}"


def test_every_format_for_every_clip(whole: Path, clip: Path, tmp_path: Path) -> None:
    other = write_folder(tmp_path / "pictures", 3)
    out = tmp_path / "deep" / "out"
    formats = [part for kind in FORMATS for part in ("--format", kind)]
    result = run(clip, other, "--model", whole, "--frames", 2, "-k", 2, *formats, "--out", out)
    assert result.exit_code == 0, result.output
    expected = {f"{name}{ending}" for name in ("talk", "pictures") for ending in ENDINGS.values()}
    assert {path.name for path in out.iterdir()} == expected
    assert len(read_captions(out / "talk.json")) == 2


def test_a_file_by_its_ending(whole: Path, clip: Path, tmp_path: Path) -> None:
    result = run(clip, "--model", whole, "--frames", 2, "--out", tmp_path / "said.srt")
    assert result.exit_code == 0, result.output
    assert "-->" in (tmp_path / "said.srt").read_text()


def test_formats_are_those_that_can_be_written() -> None:
    assert set(FORMATS) == set(ENDINGS)


def test_a_manifest_becomes_predictions(whole: Path, tmp_path: Path) -> None:
    pictures = {f"{key}.{n}.png": encode_picture(paint(n, 2)) for key in "ab" for n in range(2)}
    write_shard(tmp_path / "shard.tar", pictures)
    rows = [
        {"id": f"clip-{key}", "source": f"shard.tar::{key}", "captions": [], "split": split}
        for key, split in (("a", "validate"), ("b", "train"))
    ]
    manifest = tmp_path / "manifest.jsonl"
    manifest.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = tmp_path / "said.json"
    arguments = manifest, "--model", whole, "-k", 2, "--frames", 2, "--predictions", said
    assert run(*arguments, "--split", "validate").exit_code == 0
    predictions = json.loads(said.read_text())
    assert list(predictions) == ["clip-a"]
    assert len(predictions["clip-a"]) == 2
    assert run(*arguments, "--overwrite").exit_code == 0
    assert list(json.loads(said.read_text())) == ["clip-a", "clip-b"]
    result = run(*arguments, "--split", "tset", "--overwrite")
    assert "no clip of split 'tset'" in str(result.exception)


def test_shots_are_told_by_time(whole: Path, tmp_path: Path) -> None:
    film = write_scenes(tmp_path / "film", [12, 8, 10])
    common = film, "--model", whole, "--frames", 2, "-k", 1
    result = run(*common, "--per-shot", "--story")
    spans = [row.split()[-3] for row in result.stdout.splitlines() if "━" in row or "─" in row]
    starts = [float(span.split("–")[0]) for span in spans]
    assert len(starts) == 3
    assert starts == sorted(starts)
    assert "Then" in result.stdout
    (whole_film,) = json.loads(run(*common, "--whole", "--json").stdout)
    assert len(whole_film["captions"]) == 1


def test_a_film_is_told_by_scenes_chapters_and_a_summary(whole: Path, tmp_path: Path) -> None:
    """100 pictures, one a second: of more than a minute."""
    film = write_scenes(tmp_path / "film", [25] * 4)
    rate = ["scenes.sentences=3", "scenes.every=10", "scenes.chapter=40", "scenes.alike=2"]
    common = film, "--model", whole, *(part for one in rate for part in ("--set", one))
    out = tmp_path / "out"
    formats = [part for kind in ("json", "chapters", "html") for part in ("--format", kind)]
    result = run(*common, *formats, "--out", out, "--story")
    assert result.exit_code == 0
    captions = read_captions(out / "film.json")
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(
        json.loads((out / "film.json").read_text())
    )
    assert len(captions.chapters) == 2
    assert len(captions.scenes) <= len(captions) <= 1 + 3 * 100 / 60
    printed = " ".join(result.stdout.split())
    for text in (*(caption.text for caption in captions), summarise(captions)):
        assert text in printed
    for start, end in (*captions.scenes, *captions.chapters):
        assert f"{time_code(start)}–{time_code(end)}" in printed
    assert printed.index(captions.captions[-1].text) < printed.index("sentences of")
    cost = r"film: 00:01:40 of film in \d+ CPU-seconds, \d+\.\d a minute of film"
    assert re.search(cost, result.stderr)
    assert (out / "film.html").read_text().count("<details") == 2
    (told,) = json.loads(run(*common, "--json", "--story").stdout)
    assert told.pop("story").startswith("00:00:00 ")
    assert told == json.loads((out / "film.json").read_text())


def test_a_broken_clip_among_good_ones(whole: Path, clip: Path, tmp_path: Path) -> None:
    broken, empty, text = tmp_path / "broken.mp4", tmp_path / "empty", tmp_path / "notes.txt"
    broken.write_bytes(clip.read_bytes()[:500])
    empty.mkdir()
    text.write_text("no video")
    bad = [broken, empty, text, tmp_path / "none.mp4"]
    out = tmp_path / "out"
    clips: list[str | Path] = [bad[0], clip, *bad[1:]]
    finished = subprocess.run(
        [
            sys.executable,
            "-m",
            "densevidcap",
            "caption",
            *clips,
            "--model",
            whole,
            "--frames",
            "2",
            "--out",
            out,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 1
    assert "talk.mp4" in finished.stdout
    assert [path.name for path in out.iterdir()] == ["talk.json"]
    failures = [line for line in finished.stderr.splitlines() if line.startswith("densevidcap: ")]
    assert [line.split(": ")[1] for line in failures[:-1]] == [str(path) for path in bad]
    assert f"{len(bad)} of {len(clips)} clips failed" in failures[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "one.srt"], "is a file: give one clip"),
        (["--split", "train"], "--split needs a manifest"),
    ],
)
def test_what_makes_no_sense_is_refused(
    whole: Path, clip: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = run(clip, write_video(tmp_path / "b.mp4", 3), "--model", whole, *arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_an_unknown_ending_is_refused(whole: Path, clip: Path, tmp_path: Path) -> None:
    result = run(clip, "--model", whole, "--out", tmp_path / "said.doc")
    assert "no format has this ending" in str(result.exception)


def test_in_its_own_folder_a_clip_stays_as_it_is(
    whole: Path, clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clip.parent)
    before = clip.read_bytes()
    result = run(clip.name, "--model", whole, "--frames", 2, "--format", "mp4", "--format", "vtt")
    assert result.exit_code == 0, result.output
    assert clip.read_bytes() == before
    assert {path.name for path in clip.parent.iterdir()} == {
        *("talk.mp4", "talk.captioned.mp4", "talk.vtt")
    }


@pytest.mark.parametrize("option", ["--out", "--predictions"])
def test_no_clip_of_the_run_is_written_over(
    whole: Path, clip: Path, tmp_path: Path, option: str
) -> None:
    before = clip.read_bytes()
    other = tmp_path / "other.mp4"
    other.symlink_to(clip)
    result = run(clip, "--model", whole, "--frames", 2, option, other, "--overwrite")
    assert isinstance(result.exception, OutputError)
    assert f"{other}: is read by this run" in str(result.exception)
    assert clip.read_bytes() == before


def test_what_stands_there_is_told_before_any_work(whole: Path, clip: Path, tmp_path: Path) -> None:
    out, said = tmp_path / "out", tmp_path / "said.json"
    common = clip, "--model", whole, "--frames", 2, "--out", out, "--predictions", said
    assert run(*common).exit_code == 0
    (out / "talk.json").write_text("mine")
    # It would be in vain to load this model.
    for refused in (run(*common), run(clip, "--model", tmp_path / "none", "--out", out)):
        assert isinstance(refused.exception, OutputError)
        assert "talk.json: stands there already; give --overwrite" in str(refused.exception)
    assert (out / "talk.json").read_text() == "mine"
    assert run(*common, "--overwrite").exit_code == 0
    assert len(read_captions(out / "talk.json")) == 5


def test_sentences_are_kept_as_they_are_found(whole: Path, clip: Path, tmp_path: Path) -> None:
    """A run that is killed has written those of the clips that it has shown."""
    clips = [clip, *(write_video(tmp_path / f"{n}.mp4", 4) for n in range(30))]
    said = tmp_path / "said.json"
    options = ["--model", whole, "--frames", "2", "-k", "1", "--predictions", said]
    command = [sys.executable, "-m", "densevidcap", "caption", *map(str, [*clips, *options])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        shown = []
        for line in process.stdout:
            shown += [each.stem for each in clips if line.startswith(each.name)]
            if len(shown) == 3:
                break
        process.kill()
    assert process.returncode != 0
    assert set(shown) <= set(json.loads(said.read_text()))


def test_a_full_disk_ends_it_with_what_is_kept(whole: Path, clip: Path, tmp_path: Path) -> None:
    clips = [clip, write_video(tmp_path / "b.mp4", 4), write_video(tmp_path / "c.mp4", 4)]
    options = "--model", whole, "--frames", 2, "--out", tmp_path / "out"
    assert run(clip, *options, "--format", "json").exit_code == 0
    room = (tmp_path / "out" / "talk.json").stat().st_size
    shutil.rmtree(tmp_path / "out")
    with limited_files(room + 10):
        result = run(*clips, *options, "--format", "vtt", "--format", "html")
    assert isinstance(result.exception, OutputError)
    (line,) = str(result.exception).splitlines()
    assert "talk.html: cannot be written (File too large); make room" in line
    assert "0 of 3 clips are done and their files kept: caption the others, or all" in line
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["talk.vtt"]
