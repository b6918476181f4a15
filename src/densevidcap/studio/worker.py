"""The process that holds the model and captions one waiting clip after another."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path

from densevidcap.data.clip import Clip, open_clip
from densevidcap.data.video import VideoClip
from densevidcap.errors import ClipError, DenseVidCapError, DenseVidCapWarning
from densevidcap.export.report.footage import film_clip, is_played
from densevidcap.library.captioning import keep
from densevidcap.library.describing import Described, Describer
from densevidcap.library.inputs import Named
from densevidcap.pipeline.analysis import AnalysisFile
from densevidcap.studio.files import ClipFiles, DataFolder
from densevidcap.studio.jobs import Job, Jobs
from densevidcap.studio.limits import StudioLimits
from densevidcap.studio.sandbox import die_with_parent
from densevidcap.studio.shelf import Shelf, find_files

IDLE = 0.1
"""Seconds between two looks into an empty queue."""
FILMING = "film"
"""The stage before those of the pipeline."""
SHELVING = "shelving"
"""The stage after them, in a library."""
FILMING_SHARE = 0.2
"""Of all work on a clip that browsers do not play."""

log = logging.getLogger(__name__)


class RemovedError(Exception):
    """The clip was deleted while it was in work."""


def work(
    data: DataFolder, model: Path | None, limits: StudioLimits, library: Path | None = None
) -> None:
    """Never returns."""
    die_with_parent()
    # What is damaged in a clip is left out; there is nobody at this process's terminal to tell.
    warnings.simplefilter("ignore", DenseVidCapWarning)
    describer, jobs = Describer(model, {}), Jobs(data.jobs)
    _ = describer.captioner
    shelf = None if library is None else Shelf(library)
    while True:
        job = jobs.take()
        if job is None:
            time.sleep(IDLE)
            continue
        files = data.clip(job.id) if shelf is None else find_files(data, shelf, job.id)
        if not caption(job, files, describer, jobs, limits, shelf) and not (
            shelf is not None and shelf.knows(job.id)
        ):
            data.remove(job.id)
            jobs.forget(job.id)


def caption(
    job: Job,
    files: ClipFiles,
    describer: Describer,
    jobs: Jobs,
    limits: StudioLimits,
    shelf: Shelf | None = None,
) -> bool:
    """Leave a film and an analysis in the clip's folder, or say in the job why not.

    With a shelf, the library gets its captions too. False if the clip was deleted meanwhile.
    """

    def report(stage: str, share: float) -> None:
        if not jobs.report(job.id, stage, share):
            raise RemovedError

    source = files.source
    try:
        clip = open_clip(source, limits=limits.decoding)
        begun = 0.0
        if not files.film.exists() and not (isinstance(clip, VideoClip) and is_played(clip)):
            _film(clip, files.film, report)
            begun = FILMING_SHARE

        def report_rest(stage: str, share: float) -> None:
            report(stage, begun + (1 - begun) * share)

        # However long a film is, none of its scenes is held.
        with AnalysisFile(files.analysis) as file:
            if shelf is None:
                narration = describer.captioner.narrate(
                    clip, report=report_rest, tell=lambda segment, _: file.add(segment)
                )
                analysis, captions = narration.source, narration.finish()
            else:
                found, analysis = describer.look(
                    str(source), limits.decoding, report_rest, file.add
                )
                captions = found.captions
                if found.identity != job.id:
                    raise ClipError(f"{source}: has changed; caption its folder again")
            file.finish(replace(analysis, source=job.name))
        if shelf is not None:
            _shelve(job, source, found, describer, shelf, report)
        best = next(iter(captions), None)
        files.picture.unlink(missing_ok=True)  # it may show what another sentence was about
        return jobs.finish(job.id, best.text if best else "")
    except RemovedError:
        return False
    except DenseVidCapError as error:
        return jobs.fail(job.id, str(error).replace(str(source), job.name))
    except Exception as error:
        log.exception("clip %s", job.id)
        return jobs.fail(job.id, f"{job.name}: could not be captioned ({type(error).__name__})")


def _shelve(
    job: Job,
    source: Path,
    found: Described,
    describer: Describer,
    shelf: Shelf,
    report: Callable[[str, float], None],
) -> None:
    """Another process may be captioning a folder into the library: it is waited for."""
    report(SHELVING, 1.0)
    with shelf.writing(patience=inf) as library:
        report(SHELVING, 1.0)
        named = Named(str(source), job.name)
        keep(library, named, found, describer.recipe, describer.lexicon)


def _film(clip: Clip, path: Path, report: Callable[[str, float], None]) -> None:
    """Progress in steps of a hundredth: a film has many pictures."""
    count = len(clip.times())
    step = max(1, count // 100)
    done = 0
    report(FILMING, 0)

    def advance() -> None:
        nonlocal done
        done += 1
        if done % step == 0:
            report(FILMING, FILMING_SHARE * done / count)

    film_clip(clip, path, advance)
