"""Kills at random moments: fifty of `caption`, fifty of `train`, five of a library, two on Ray.

`python -m benchmarks.kills train` is for one of them.

What a killed run had reported must be there, whole and like what an undisturbed run writes, and a
training that was killed again and again must end in the same weights, bit by bit. A library of 300
clips that was killed again and again must lose none, do none twice, and end as an undisturbed one;
so must one that is made on Ray, of which a worker is killed, then the driver.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

import av
import psutil
from tests.data.made_clips import tone, write_video
from tests.pipeline.small_model import write_model
from tests.train.tiny_config import write_config, write_table

from densevidcap.files import WORKSPACE
from densevidcap.library.store import Library
from densevidcap.model_folder import WEIGHTS

KILLS = 50
"""Of each verb."""
CLIPS = 8
SET, SET_KILLS = 300, 5
"""Clips of a library, and how often it is killed."""
ON_RAY, RAY_KILLS = 24, (3, 10)
"""Clips of a library on Ray, and how many are told when a worker, and when the driver is killed."""
PATIENCE = 600
"""Seconds that the processes of a killed cluster may take to end on a busy machine."""
SEED = 0
END = re.compile(r"done before|[\d,]+ words|epoch \d+, step .+|of [\d,]+ held-out clips")
"""What is told when a stage of training is done."""


def run(*verbs: str) -> None:
    kinds = {
        "caption": kill_captioning,
        "train": kill_training,
        "library": kill_library,
        "ray": kill_on_ray,
    }
    for verb, kill in kinds.items():
        if not verbs or verb in verbs:
            with TemporaryDirectory() as folder:
                kill(Path(folder), random.Random(SEED))


class Told:
    """How a run ended, and what it had told until then."""

    def __init__(self, arguments: list[object], seconds: float | None = None) -> None:
        """After so many seconds it is killed, unless it has ended by then."""
        command = [sys.executable, "-m", "densevidcap", *map(str, arguments)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
        start = time.monotonic()
        # Into files: a pipe that nobody reads would hold it up, and one that is read late too.
        with TemporaryFile("w+") as out, TemporaryFile("w+") as errors:
            process = subprocess.Popen(command, stdout=out, stderr=errors, env=environment)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            self.seconds = time.monotonic() - start
            self.code = process.returncode
            out.seek(0)
            errors.seek(0)
            self.out, self.errors = out.read(), errors.read()
        if self.code > 0:
            raise AssertionError(f"exit code {self.code}: {self.errors}")

    @property
    def was_killed(self) -> bool:
        return self.code < 0


def kill_captioning(folder: Path, moments: random.Random) -> None:
    """Several clips, two files of each and the file of all sentences."""
    model = write_model(folder / "model")
    (folder / "clips").mkdir()
    clips = [
        write_video(folder / "clips" / f"clip{number}.mp4", 20 + number, sounds=[tone(2.0)])
        for number in range(CLIPS)
    ]
    sources = read_files(folder / "clips")

    def caption(out: Path, seconds: float | None = None) -> Told:
        options = ["--model", model, "--frames", 4, "-k", 3, "--format", "json", "--format", "mp4"]
        places = ["--out", out, "--predictions", out / "said.json"]
        return Told(["caption", *clips, *options, *places], seconds)

    undisturbed = caption(folder / "undisturbed")
    expected = describe_files(folder / "undisturbed")
    said = json.loads((folder / "undisturbed" / "said.json").read_text())
    runs = kills = reported = left = 0
    while kills < KILLS:
        runs += 1
        out = folder / f"run-{runs}"
        told = caption(out, moments.uniform(0, undisturbed.seconds))
        if not told.was_killed:
            continue
        kills += 1
        found = describe_files(out)
        told_files = {Path(line).name for line in told.errors.splitlines()}
        told_clips = {clip.stem for clip in clips if clip.name in told.out}
        kept = out / "said.json"
        sentences = json.loads(kept.read_text()) if kept.exists() else {}
        assert told_files <= found.keys(), told_files - found.keys()
        assert told_clips <= sentences.keys(), told_clips - sentences.keys()
        # What was not told may be there too, but only whole.
        unlike = {name for name, content in found.items() if content != expected[name]}
        assert not unlike, unlike
        assert all(texts == said[clip] for clip, texts in sentences.items())
        reported += len(told_files) + len(told_clips)
        left += sum(1 for _ in out.glob(f"{WORKSPACE}*"))
    assert read_files(folder / "clips") == sources
    print(
        f"  caption: {kills} kills within {undisturbed.seconds:.1f} s, {reported} files and clips"
        f" reported by then, 0 lost, 0 unlike an undisturbed run's; {left} private folders left"
    )


def kill_training(folder: Path, moments: random.Random) -> None:
    """Again and again in one folder, until it is done; then in the next."""
    table = write_table(folder)
    config = write_config(folder / "tiny.toml")

    def train(out: Path, seconds: float | None = None) -> Told:
        return Told(["train", table, "--config", config, "--from", "none", "--out", out], seconds)

    undisturbed = train(folder / "undisturbed")
    expected = read_weights(folder / "undisturbed")
    kills = finished = reported = 0
    done: set[str] = set()
    while kills < KILLS or done:
        seconds = moments.uniform(0, undisturbed.seconds) if kills < KILLS else None
        out = folder / f"killed-{finished}"
        told = train(out, seconds)
        lines = re.findall(r"^(\d of \d, [^:]+): (.+)", told.errors, re.MULTILINE)
        # A stage that was reported done is not begun again.
        again = {stage for stage, line in lines if stage in done and line != "done before"}
        assert not again, again
        ends = {stage for stage, line in lines if END.fullmatch(line)}
        reported += len(ends - done)
        done |= ends
        if told.was_killed:
            kills += 1
        else:
            assert read_weights(out) == expected
            finished += 1
            done.clear()
    print(
        f"  train: {kills} kills within {undisturbed.seconds:.1f} s, {reported} stages reported"
        f" done, 0 done again; {finished} models finished, all with the weights of an"
        " undisturbed one"
    )


def kill_library(folder: Path, moments: random.Random) -> None:
    """Again and again in one library, until it is done."""
    model = write_model(folder / "model")
    clips = folder / "clips"
    for number in range(SET):
        place = clips / f"part{number % 7}"
        place.mkdir(parents=True, exist_ok=True)
        # Frames at times of their own: no two clips are the same.
        write_video(place / f"clip{number}.mp4", milliseconds=[0, 90 + number, 900 + number])

    def caption(library: Path, seconds: float | None = None) -> Told:
        # As fast as a clip can be, so that there are many.
        fast = ["--frames", 2, "-k", 3, "--beam", 1, "--set", "decoding.samples=0"]
        options = ["--model", model, *fast, "--library", library]
        return Told(["caption", clips, *options], seconds)

    undisturbed = caption(folder / "undisturbed")
    expected = read_library(folder / "undisturbed")
    library, told, kills, runs = folder / "killed", list_told(undisturbed.out), 0, 0
    assert len(told) == len({*told}) == SET
    reported: list[str] = []
    while True:
        runs += 1
        # A share of what is left, so that every kill is in the middle of captioning.
        left = undisturbed.seconds * (1 - len(reported) / SET)
        seconds = moments.uniform(0.2, 0.6) * left if kills < SET_KILLS else None
        result = caption(library, seconds)
        reported += list_told(result.out)
        if not result.was_killed:
            break
        kills += 1
    assert kills == SET_KILLS, kills
    # The line of a clip that was kept may not have come out; no line comes without its clip.
    assert len(reported) == len({*reported}), "a clip that was reported done was done again"
    assert {*reported} <= {*told}
    assert read_library(library) == expected
    assert not [*library.rglob(f"{WORKSPACE}*")]
    print(
        f"  library: {SET} clips, {kills} kills in {runs} runs, an undisturbed run takes"
        f" {undisturbed.seconds:.0f} s; {len(reported)} clips reported done, 0 lost, 0 done again,"
        " and the library ends as the undisturbed one"
    )


def kill_on_ray(folder: Path, _: random.Random) -> None:
    """On a cluster of its own with two workers: one of them dies, then all of it."""
    model = write_model(folder / "model")
    clips = folder / "clips"
    clips.mkdir()
    for number in range(ON_RAY):
        write_video(clips / f"clip{number}.mp4", milliseconds=[0, 90 + number, 900 + number])

    def list_arguments(library: Path, *options: object) -> list[object]:
        return ["caption", clips, "--model", model, "--library", library, *options]

    ray = ["--on", "ray", "--workers", 2]
    Told(list_arguments(folder / "local"))
    expected = read_library(folder / "local")
    undisturbed = Told(list_arguments(folder / "undisturbed", *ray))
    assert len({*list_told(undisturbed.out)}) == ON_RAY
    assert read_library(folder / "undisturbed") == expected
    library, out = folder / "killed", folder / "told.txt"
    with out.open("w") as stream:
        command = [sys.executable, "-m", "densevidcap", *map(str, list_arguments(library, *ray))]
        driver = psutil.Popen(command, stdout=stream, stderr=subprocess.DEVNULL)

    def await_told(count: int) -> None:
        while driver.poll() is None and len(list_told(out.read_text())) < count:
            time.sleep(0.01)

    await_told(RAY_KILLS[0])
    cluster = driver.children(recursive=True)
    worker = next(each for each in cluster if "MapWorker" in "".join(each.cmdline()))
    worker.kill()
    await_told(RAY_KILLS[1])
    cluster = driver.children(recursive=True)
    driver.kill()
    assert driver.wait() < 0
    _, alive = psutil.wait_procs(cluster, timeout=PATIENCE)
    reported = list_told(out.read_text())
    kept = len(Library(library))
    again = Told(list_arguments(library, *ray))
    after = list_told(again.out)
    assert len({*reported, *after}) == len(reported) + len(after), "a clip was done again"
    assert len(after) == ON_RAY - kept
    assert read_library(library) == expected
    print(
        f"  ray: {ON_RAY} clips, an undisturbed run ends as a local one; a worker killed at"
        f" {RAY_KILLS[0]} clips and the driver at {len(reported)}: {kept} kept, {len(after)} done"
        " by the next run, 0 lost, 0 done again, the library as a local one's;"
        f" {len(alive)} processes of the killed cluster left"
    )


def list_told(out: str) -> list[str]:
    return [line.partition(": ")[0] for line in out.splitlines() if ".mp4: " in line]


def read_library(library: Path) -> dict[str, object]:
    """Results without the time that they took, words, and which file is which clip."""
    found: dict[str, object] = {}
    for path in library.glob("clips/??/*.json"):
        content = json.loads(path.read_text())
        del content["seconds"]
        found[path.stem] = content
    found |= {path.name: path.read_bytes() for path in library.glob("words/??/*")}
    files = Library(library).list_files()
    return found | {"files": sorted((place, str(each.identity)) for each, place in files)}


def describe_files(folder: Path) -> dict[str, object]:
    """Name to content, or of a film how much there is to see and hear, all of it decoded.

    The same pictures do not always become the same bytes: the encoder's threads share the work.
    """
    return {
        name: count_frames(folder / name) if name.endswith(".mp4") else content
        for name, content in read_files(folder).items()
        if name != "said.json"
    }


def count_frames(film: Path) -> list[int]:
    counts = []
    for kind in ("video", "audio"):
        with av.open(str(film)) as container:
            counts.append(sum(1 for _ in container.decode(**{kind: 0})))
    return counts


def read_files(folder: Path) -> dict[str, bytes]:
    if not folder.exists():
        return {}
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def read_weights(model: Path) -> dict[str, bytes]:
    paths = (path for path in model.glob(f"*/**/{WEIGHTS}") if "training" not in path.parts)
    return {str(path.relative_to(model)): path.read_bytes() for path in paths}


if __name__ == "__main__":
    run(*sys.argv[1:])
