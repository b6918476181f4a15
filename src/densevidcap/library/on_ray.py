"""Clips described by the workers of a Ray cluster: one model for each, results kept by the caller.

Ray Data hands out one clip at a time, starts workers that died again and gives their clips to them
again. Only how often a clip may do that is ours to count: see `Attempts`.
"""

from __future__ import annotations

import os
import pickle
import platform
import shutil
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import Any

from densevidcap.errors import ClipError, DenseVidCapError, MissingExtraError, ModelError
from densevidcap.files import LOCK, hold
from densevidcap.library.describing import Described, Describer, Outcome
from densevidcap.library.store import name_path
from densevidcap.workers import refuse_deadly

TRIES = 2
"""How often a clip is begun. One that ended its worker each time has failed."""
WAVE = 10_000
"""Clips that Ray Data is given at once, so that memory does not grow with their number."""
SPARE = 1
"""CPUs that are left to Ray Data's own tasks, which could else wait for ever."""
SCRATCH = "densevidcap-ray-"
"""How the folder begins that a cluster of our own has for its logs and sockets."""
REMOVALS = 100
"""How often it is tried to remove it, ten times a second."""
LONGEST = 24
"""Bytes of the name of the folder that this is in: a socket's path has 107 bytes at most."""

ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    # What raylets tell of workers that died goes to standard output, where our sentences are.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
    # Seconds, on a busy machine.
    "RAY_gcs_server_port_wait_time_s": "300",
}
"""Quiet and patient. Read when Ray is imported, or by what it starts; what a user sets stays."""


def need_ray() -> None:
    """A MissingExtraError where Ray Data is not installed."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import ray.data  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(error.name or "ray", "ray", "--on ray") from None


def describe_on_ray(
    describer: Describer,
    sources: Iterable[str],
    workers: int | None = None,
    address: str | None = None,
) -> Generator[Outcome, None, None]:
    """Each source as soon as it is done, in no particular order.

    On the cluster at `address` or that RAY_ADDRESS names, else on one of this machine that ends
    with the iterator. Without `workers`, as many as there are CPUs but one. Every worker must find
    the clips and the model where this process does.
    """
    waiting = enumerate(sources)
    wave = dict(islice(waiting, WAVE))
    if not wave:
        return
    need_ray()
    from ray.exceptions import RayError

    recipe = describer.recipe
    if describer.model is not None:
        describer = replace(describer, model=describer.model.absolute())
    with _connected(address or os.environ.get("RAY_ADDRESS"), workers) as count:
        attempts = _start_counting()
        while wave:
            try:
                for number, outcome in _spread((describer, recipe, attempts), wave, count):
                    yield wave[number], _rename(outcome, wave[number])
            except RayError as error:
                said = str(error).strip().splitlines() or [type(error).__name__]
                raise DenseVidCapError(f"Ray: {said[-1]}; run it again to go on") from error
            wave = dict(islice(waiting, WAVE))


def _spread(
    of_worker: tuple[Describer, str, Any], wave: dict[int, str], count: int
) -> Iterator[tuple[int, Described | ClipError]]:
    """Give one wave to as many workers."""
    import ray

    # Bytes, because names of files may hold what UTF-8 has no bytes for.
    rows = [{"number": n, "place": os.fsencode(name_path(s))} for n, s in wave.items()]
    given = ray.data.from_items(rows, override_num_blocks=len(rows))
    made = given.map_batches(
        Worker,
        fn_constructor_args=of_worker,
        batch_size=1,
        num_cpus=1,
        # One at a time, so that no clip waits behind a film while another worker is idle.
        compute=ray.data.ActorPoolStrategy(
            size=min(count, len(wave)), max_tasks_in_flight_per_actor=1
        ),
    )
    for row in made.iter_rows():
        outcome = pickle.loads(row["outcome"])
        if isinstance(outcome, Exception) and not isinstance(outcome, ClipError):
            raise outcome
        yield int(row["number"]), outcome


class Worker:
    """What each actor of Ray Data has: one model, which is loaded with the first clip."""

    def __init__(self, describer: Describer, recipe: str, attempts: Any) -> None:
        import torch

        torch.set_num_threads(1)
        self._describer, self._recipe, self._attempts = describer, recipe, attempts

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        (number,), (place,) = batch["number"], batch["place"]
        outcome = self._describe(int(number), os.fsdecode(place))
        return {"number": [int(number)], "outcome": [pickle.dumps(outcome)]}

    def _describe(self, number: int, place: str) -> Described | Exception:
        import ray

        if ray.get(self._attempts.begin.remote(number)) > TRIES:
            return refuse_deadly(place)
        try:
            if self._describer.recipe != self._recipe:
                return ModelError(
                    f"{platform.node()}: this worker has another model or densevidcap than you"
                    " have here; install the same on both"
                )
            return self._describer.describe(place)
        except (DenseVidCapError, OSError) as error:
            return error


class Attempts:
    """An actor that counts how often each clip was begun: whoever dies cannot tell."""

    def __init__(self) -> None:
        self._begun: Counter[int] = Counter()

    def begin(self, number: int) -> int:
        self._begun[number] += 1
        return self._begun[number]


def _start_counting() -> Any:
    """Where this process is: the node that is lost with it only."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    return ray.remote(Attempts).options(num_cpus=0, scheduling_strategy=here).remote()


def _rename(outcome: Described | ClipError, source: str) -> Described | ClipError:
    """Say the clip's path as the user did: workers may be elsewhere, and know the whole one."""
    place = name_path(source)
    if isinstance(outcome, ClipError):
        outcome.args = (str(outcome).replace(place, source),)
        return outcome
    return outcome._replace(warned=tuple(line.replace(place, source) for line in outcome.warned))


@contextmanager
def _connected(address: str | None, workers: int | None) -> Iterator[int]:
    """How many workers there will be."""
    import logging

    import ray

    with ExitStack() as stack:
        if address is None:
            count = workers or os.cpu_count() or 1
            scratch = stack.enter_context(_scratch())
            stack.callback(ray.shutdown)
            with _explaining("Ray: does not start on this machine", "try it again"):
                _begin(
                    "local",
                    num_cpus=count + SPARE,
                    include_dashboard=False,
                    _temp_dir=str(scratch),
                )
        else:
            if address.startswith("ray://"):
                raise DenseVidCapError(
                    f"{address}: Ray Data cannot be used from outside of a cluster; run this"
                    " command on one of its machines (`ray job submit`) with --address auto"
                )
            stack.callback(ray.shutdown)
            remedy = "check --address or RAY_ADDRESS"
            with _explaining(f"{address}: cannot be used as a Ray cluster", remedy):
                _begin(address)
            count = workers or max(1, int(ray.cluster_resources().get("CPU", 0)) - SPARE)
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        yield count


def _begin(address: str, **options: Any) -> None:
    import logging

    import ray

    with _muted():
        ray.init(address, log_to_driver=False, logging_level=logging.CRITICAL, **options)


@contextmanager
def _explaining(what: str, remedy: str) -> Iterator[None]:
    """Ray says by exceptions of any class that it cannot begin."""
    try:
        yield
    except Exception as error:
        said = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise DenseVidCapError(f"{what} ({said}); {remedy}") from error


@contextmanager
def _muted() -> Iterator[None]:
    """Ray's core tells on standard error, before any setting is in force, what its settings are."""
    sys.stderr.flush()
    kept = os.dup(2)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder that is gone at the end, or, after a kill, when the next one is made."""
    base = Path(gettempdir())
    if len(os.fsencode(base)) > LONGEST and sys.platform != "win32":
        base = Path("/tmp")
    folder = Path(mkdtemp(prefix=SCRATCH, dir=base))
    busy = DenseVidCapError(f"{folder}: another process has it")
    for left in base.glob(f"{SCRATCH}*"):
        with suppress(DenseVidCapError, OSError):
            if left != folder and _is_ours(left, folder):
                with hold(left, busy):
                    shutil.rmtree(left, ignore_errors=True)
    try:
        with hold(folder, busy):
            yield folder
    finally:
        # The last of Ray's processes may still write while it is removed.
        for _ in range(REMOVALS):
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(0.1)


def _is_ours(left: Path, folder: Path) -> bool:
    """Whether a run of this user held it: others may have folders of such a name."""
    is_held = not left.is_symlink() and (left / LOCK).is_file()
    return is_held and left.stat().st_uid == folder.stat().st_uid
