"""The process that holds the model and captions one waiting clip after another."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from densevidcap.data.clip import Clip, open_clip
from densevidcap.data.video import VideoClip
from densevidcap.errors import DenseVidCapError, DenseVidCapWarning
from densevidcap.export.report.footage import film_clip, is_played
from densevidcap.pipeline.captioner import DenseCaptioner
from densevidcap.studio.files import ClipFiles, DataFolder
from densevidcap.studio.jobs import Job, Jobs
from densevidcap.studio.limits import StudioLimits
from densevidcap.studio.sandbox import die_with_parent

IDLE = 0.1
"""Seconds between two looks into an empty queue."""
FILMING = "film"
"""The stage before those of the pipeline."""
FILMING_SHARE = 0.2
"""Of all work on a clip that browsers do not play."""

log = logging.getLogger(__name__)


class RemovedError(Exception):
    """The clip was deleted while it was in work."""


def work(data: DataFolder, model: Path | None, limits: StudioLimits) -> None:
    """Never returns."""
    die_with_parent()
    # What is damaged in a clip is left out; there is nobody at this process's terminal to tell.
    warnings.simplefilter("ignore", DenseVidCapWarning)
    captioner, jobs = DenseCaptioner.load(model), Jobs(data.jobs)
    while True:
        job = jobs.take()
        if job is None:
            time.sleep(IDLE)
        else:
            if not caption(job, data.clip(job.id), captioner, jobs, limits):
                data.remove(job.id)
                jobs.forget(job.id)


def caption(
    job: Job, files: ClipFiles, captioner: DenseCaptioner, jobs: Jobs, limits: StudioLimits
) -> bool:
    """Leave a film and an analysis in the clip's folder, or say in the job why not.

    False if the clip was deleted meanwhile.
    """

    def report(stage: str, share: float) -> None:
        if not jobs.report(job.id, stage, share):
            raise RemovedError

    source = files.source
    try:
        clip = open_clip(source, limits=limits.decoding)
        begun = 0.0
        if not (isinstance(clip, VideoClip) and is_played(clip)):
            _film(clip, files.film, report)
            begun = FILMING_SHARE
        analysis = captioner.analyse(
            clip, report=lambda stage, share: report(stage, begun + (1 - begun) * share)
        )
        replace(analysis, source=job.name).save(files.analysis)
        return jobs.finish(job.id)
    except RemovedError:
        return False
    except DenseVidCapError as error:
        return jobs.fail(job.id, str(error).replace(str(source), job.name))
    except Exception as error:
        log.exception("clip %s", job.id)
        return jobs.fail(job.id, f"{job.name}: could not be captioned ({type(error).__name__})")


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
