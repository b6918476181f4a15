"""A clip that fails in a way that nobody foresaw costs a batch no more than itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from av.error import FFmpegError
from click.testing import CliRunner, Result
from tests.data.made_clips import write_video
from tests.models.small_world import make_lexicon, write_corpus
from tests.pipeline.small_model import write_model

from densevidcap.cli import root
from densevidcap.data.clip import Clip, Size
from densevidcap.data.failures import naming
from densevidcap.data.manifest import read_manifest
from densevidcap.data.pictures import PictureClip
from densevidcap.data.video import VideoClip
from densevidcap.errors import ClipError

FAILURES = {
    "memory": (MemoryError(), "b.mp4: needs more memory than there is"),
    "a network": (RuntimeError("shapes\ndo not fit"), "(RuntimeError: shapes)"),
    "a decoder": (FFmpegError(1, "odd"), "b.mp4: failed in an unforeseen way (FFmpegError: "),
    "without words": (AssertionError(), "(AssertionError)"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def clips(tmp_path: Path) -> list[str]:
    return [str(write_video(tmp_path / f"{name}.mp4", 4)) for name in "abc"]


def fail_at(monkeypatch: pytest.MonkeyPatch, kind: type[Clip], name: str, error: Exception) -> None:
    """Reading frames of the clip with that in its name ends in the error."""
    pick = kind.pick

    def fail(clip: Clip, chosen: list[int], size: Size | None = None) -> Iterator[object]:
        if name in clip.name:
            raise error
        return pick(clip, chosen, size)

    monkeypatch.setattr(kind, "pick", fail)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(root, [*map(str, arguments)])


@pytest.mark.parametrize("failure", FAILURES)
def test_the_others_are_captioned(
    whole: Path, clips: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, failure: str
) -> None:
    error, reason = FAILURES[failure]
    fail_at(monkeypatch, VideoClip, "b.mp4", error)
    out = tmp_path / "out"
    result = run("caption", *clips, "--model", whole, "--frames", 2, "--out", out)
    assert result.exit_code == 1
    assert sorted(path.name for path in out.iterdir()) == ["a.json", "c.json"]
    lines = result.stderr.splitlines()
    assert sum(reason in line for line in lines) == 1
    assert lines[-1] == "densevidcap: 1 of 3 clips failed, as told above: b"


def test_the_first_failure_stops_if_asked(
    whole: Path, clips: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fail_at(monkeypatch, VideoClip, "b.mp4", MemoryError())
    out = tmp_path / "out"
    options = ["--model", whole, "--frames", 2, "--out", out, "--fail-fast"]
    result = run("caption", *clips, *options)
    assert isinstance(result.exception, ClipError)
    assert [path.name for path in out.iterdir()] == ["a.json"]


def test_frames_of_the_others_are_shown(clips: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    fail_at(monkeypatch, VideoClip, "b.mp4", RuntimeError("odd"))
    result = run("frames", *clips)
    assert result.exit_code == 1
    assert ("a.mp4" in result.stdout, "b.mp4" in result.stdout) == (True, False)
    assert isinstance(run("frames", *clips, "--fail-fast").exception, ClipError)


CONFIG = """
[frames]
most = 2
[eyes]
backbone = "lite0"
size = 96
window = 2
[words]
hidden = 16
[[training.words]]
batch = 8
tuned = 0
epochs = 1
"""


def test_training_goes_on_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = write_corpus(tmp_path / "world", clips=6)
    records = list(read_manifest(manifest))
    make_lexicon(records).save(tmp_path / "lexicon.json")
    (tmp_path / "words.toml").write_text(CONFIG)
    kind = PictureClip if Path(str(records[0].source)).is_dir() else VideoClip
    fail_at(monkeypatch, kind, str(records[0].source), MemoryError())
    paths = {"lexicon": "lexicon.json", "config": "words.toml", "out": "model"}
    options = [part for name, path in paths.items() for part in (f"--{name}", tmp_path / path)]
    options += ["--data", manifest]
    stopped = run("fit", "words", *options, "--fail-fast")
    assert isinstance(stopped.exception, ClipError)
    assert not (tmp_path / "model" / "card.json").exists()
    result = run("fit", "words", *options)
    assert result.exit_code == 1
    assert f"left out {records[0].id}: " in result.stderr
    assert "needs more memory than there is" in result.stderr
    assert f"made without 1 clips, as told above: {records[0].id}" in result.stderr
    assert (tmp_path / "model" / "card.json").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_what_concerns_all_clips_goes_through(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)):
        _named(fail)


def _named(act: Callable[[], None]) -> None:
    with naming("a.mp4"):
        act()
