"""The server keeps to its own OpenAPI description, whatever is asked within or against it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.studio.running import RunningStudio, run_studio

# No generator makes videos or captions. Questions are about a clip that is there, because ids
# that are made up only ever meet a 404.
CONFIG = """
[checks]
positive_data_acceptance.enabled = false
[[operations]]
include-method = "GET"
parameters = {{ "path.id" = "{id}" }}
# A stream that never ends.
[[operations]]
include-path = "/api/queue/events"
enabled = false
"""


def test_answers_are_as_described(model: Path, clip: Path, tmp_path: Path) -> None:
    # A studio of its own, because the clips that it lists are deleted too.
    with run_studio(tmp_path / "data", model) as studio:
        _ask_everything(studio, studio.caption(clip), tmp_path)


def _ask_everything(studio: RunningStudio, done: str, tmp_path: Path) -> None:
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG.format(id=done))
    tool = str(Path(sys.executable).with_name("schemathesis"))
    options = ["--phases", "coverage,fuzzing", "--max-examples", "5", "--seed", "1", "--no-color"]
    run = subprocess.run(
        [tool, "--config-file", str(config), "run", f"{studio.url}api/openapi.json", *options],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout
