"""Libraries made on a Ray cluster: the same as here, whatever dies meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.data.made_clips import write_video
from tests.library.deadly_describer import (
    DEADLY,
    DIARY,
    ONCE,
    STUCK,
    DeadlyDescriber,
    read_diary,
)
from tests.library.test_library_runs import FAST, list_told, read_results, run
from tests.pipeline.small_model import write_model

from densevidcap.errors import DenseVidCapError, MissingExtraError
from densevidcap.files import LOCK, WORKSPACE
from densevidcap.library.captioning import caption_clips
from densevidcap.library.describing import Described, Describer
from densevidcap.library.inputs import list_set
from densevidcap.library.on_ray import SCRATCH, describe_on_ray, need_ray
from densevidcap.library.store import Library
from densevidcap.progress import Silent

COUNT = 8
PATIENCE = 600
"""Seconds that a busy machine may take to start three nodes."""
SETTINGS = {"frames.most": 2, "selection.k": 2, "decoding.beam": 3, "decoding.samples": 0}
"""Those of FAST."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Three nodes: one for drivers alone, and two of one CPU, so that workers can have them all."""
    need_ray()
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory(dir="/tmp") as short:
        # Workers find the package and these tests where this process does.
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        # Sockets have short paths.
        patch.setenv("RAY_TMPDIR", short)
        made = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "include_dashboard": False, "wait": False},
        )
        for _ in range(2):
            made.add_node(num_cpus=1, wait=False)
        made.wait_for_nodes(timeout=PATIENCE)
        yield made
        made.shutdown()


@pytest.fixture(scope="module")
def made(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set, one clip of which is none, and beside it the library that a local run makes of it."""
    folder = tmp_path_factory.mktemp("made")
    clips = folder / "set"
    clips.mkdir()
    for number in range(COUNT):
        write_video(clips / f"clip{number}.mp4", 8 + number)
    (clips / "bad.mp4").write_bytes(b"nonsense")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run("caption", "set", "--model", model, *FAST).exit_code == 1
    return folder


@pytest.fixture
def clips(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same set, below where we are, and the local run's library."""
    shutil.copytree(made / "set", tmp_path / "set")
    (tmp_path / "local").symlink_to(made / "set.library")
    monkeypatch.chdir(tmp_path)
    return Path("set")


def list_reasons(library: str) -> list[tuple[str, str | None]]:
    return [(source.name, source.failed) for source in Library(library).list_failures()]


@pytest.mark.thorough
def test_a_cluster_makes_the_same_library(cluster: Any, model: Path, clips: Path) -> None:
    """Also if workers have all its CPUs, and some workers never begin for want of them."""
    options = ["--model", model, *FAST, "--on", "ray", "--address", cluster.address]
    result = run("caption", clips, *options, "--workers", 3)
    assert result.exit_code == 1, result.output
    assert sorted(list_told(result)) == [f"clip{number}.mp4" for number in range(COUNT)]
    assert read_results(Path("set.library")) == read_results(Path("local"))
    assert list_reasons("set.library") == list_reasons("local")
    assert "set/bad.mp4: cannot be read as a video" in Path("set.library/failed.txt").read_text()
    (clips / "bad.mp4").unlink()
    again = run("caption", clips, *options)
    assert (again.exit_code, again.stdout) == (0, "")
    assert f"nothing to do, {COUNT} done before" in again.stderr


@pytest.mark.thorough
def test_a_clip_that_ends_its_worker_is_tried_once_more(
    cluster: Any, model: Path, clips: Path
) -> None:
    (clips / DIARY).mkdir()
    for number, name in enumerate((DEADLY, ONCE)):
        write_video(clips / name, 30 + number)
    library = Library.make(Path("set.library"))
    crew = partial(describe_on_ray, workers=2, address=cluster.address)
    describer = DeadlyDescriber(model, SETTINGS)
    with library.writing_alone():
        tally = caption_clips(library, list_set([str(clips)]).clips, describer, Silent(), crew=crew)
    assert tally.captioned == COUNT + 1
    assert sorted(tally.failed) == ["bad.mp4", DEADLY]
    assert len(read_diary(clips, DEADLY)) == len(read_diary(clips, ONCE)) == 2
    reasons = dict(list_reasons("set.library"))
    assert reasons[DEADLY] == (
        f"set/{DEADLY}: ends the process that reads it; shrink or cut it, or leave it out"
    )
    assert read_results(Path("set.library")).items() > read_results(Path("local")).items()


@pytest.mark.thorough
def test_a_node_that_is_lost_costs_no_clip(cluster: Any, model: Path, clips: Path) -> None:
    """Also if the other one has no CPU left for its worker until the others have ended."""
    (clips / DIARY).mkdir()
    write_video(clips / STUCK, 30)
    sources = [str(clips / STUCK), *(str(clips / f"clip{number}.mp4") for number in range(3))]
    is_over = threading.Event()

    def lose_node() -> None:
        while not is_over.is_set():
            if begun := read_diary(clips.absolute(), STUCK):
                nodes = {node.node_id: node for node in cluster.list_all_nodes()}
                cluster.remove_node(nodes[begun[0]], allow_graceful=False)
                return
            is_over.wait(0.05)

    losing = threading.Thread(target=lose_node)
    losing.start()
    try:
        describer = DeadlyDescriber(model, SETTINGS)
        outcomes = dict(describe_on_ray(describer, sources, 2, cluster.address))
    finally:
        is_over.set()
        losing.join()
        cluster.add_node(num_cpus=1, wait=False)
    assert {*outcomes} == {*sources}
    assert all(isinstance(outcome, Described) for outcome in outcomes.values())
    first, second = read_diary(clips, STUCK)
    assert first != second


@pytest.mark.thorough
def test_a_driver_that_is_killed_goes_on_where_it_was(
    cluster: Any, model: Path, clips: Path, tmp_path: Path
) -> None:
    (clips / "bad.mp4").unlink()
    arguments = ["caption", str(clips), "--model", str(model), *FAST]
    arguments += ["--on", "ray", "--address", cluster.address, "--workers", "2"]
    with (tmp_path / "told.txt").open("w+") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "densevidcap", *arguments],
            stdout=out,
            stderr=subprocess.DEVNULL,
        )
        while process.poll() is None and not (tmp_path / "told.txt").read_text().count("\n"):
            time.sleep(0.02)
        process.kill()
        # A busy machine may let it end before.
        assert process.wait() in (-signal.SIGKILL, 0)
    told = [line.partition(": ")[0] for line in (tmp_path / "told.txt").read_text().splitlines()]
    again = run(*arguments)
    assert again.exit_code == 0, again.output
    told += list_told(again)
    assert len(told) == len(set(told)), "a clip that was told done was done again"
    assert {source.name for source, _ in Library("set.library").list_files()} >= {*told}
    assert read_results(Path("set.library")) == read_results(Path("local"))
    assert not [*Path("set.library").rglob(f"{WORKSPACE}*")]


@pytest.mark.thorough
def test_a_cluster_of_our_own_ends_with_us(model: Path, clips: Path, tmp_path: Path) -> None:
    """Interrupted on a terminal: all processes get the signal, and nothing is left behind."""
    out, errors = tmp_path / "told.txt", tmp_path / "errors.txt"
    arguments = ["caption", str(clips), "--model", str(model), *FAST, "--on", "ray"]
    with TemporaryDirectory(dir="/tmp") as short, out.open("w") as o, errors.open("w") as e:
        left, another = (Path(short, f"{SCRATCH}{whose}") for whose in ("left", "another"))
        for folder in (left, another):
            folder.mkdir()
        (left / LOCK).touch()  # of a run that was killed
        process = subprocess.Popen(
            [sys.executable, "-m", "densevidcap", *arguments, "--workers", "1"],
            stdout=o,
            stderr=e,
            env={k: v for k, v in os.environ.items() if k != "RAY_ADDRESS"} | {"TMPDIR": short},
            start_new_session=True,
        )
        while process.poll() is None and not out.read_text().count("\n"):
            time.sleep(0.02)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        assert process.wait() == 1
        assert [*Path(short).glob(f"{SCRATCH}*")] == [another]
    lines = errors.read_text().splitlines()
    # A busy machine may let it end before.
    assert lines[-1] == "Aborted!" or "1 failed" in lines[-1]
    # Of Ray itself nothing is told.
    ours = ("densevidcap: ", "Captioning: ", "Aborted!")
    assert [line for line in lines if line and not line.startswith(ours)] == []
    assert all(".mp4: " in line for line in out.read_text().splitlines())
    assert len(Library("set.library")) >= 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("address", "message"),
    [("ray://here:10001", "run this command on one of its machines"), ("nonsense", "check")],
)
def test_addresses_of_no_cluster_are_refused(
    model: Path, clips: Path, address: str, message: str
) -> None:
    result = run("caption", clips, "--model", model, *FAST, "--on", "ray", "--address", address)
    assert isinstance(result.exception, DenseVidCapError)
    assert str(result.exception).startswith(f"{address}: ")
    assert message in str(result.exception)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--address", "auto"], "--on ray"),
        (["--on", "ray"], "--library"),
        (["--on", "spark"], "'spark' is not one of 'local', 'ray'"),
        (["--on", "ray", "--library", "x", "--workers", "0"], "--workers"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    tmp_path: Path, options: list[str], message: str
) -> None:
    clip = write_video(tmp_path / "a.mp4", 5)
    result = run("caption", clip, *options)
    assert (result.exit_code, message in result.stderr) == (2, True), result.output


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    clip = write_video(tmp_path / "a.mp4", 5)
    library = tmp_path / "library"
    result = run("caption", clip, "--library", library, "--on", "ray")
    assert isinstance(result.exception, MissingExtraError)
    assert "pip install 'densevidcap[ray]'" in str(result.exception)
    assert not library.exists()


def test_without_clips_no_cluster_is_needed() -> None:
    assert [*describe_on_ray(Describer(None, {}), [], address="nowhere:1")] == []
