"""The verb `frames`, through the real command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import click
from click.testing import CliRunner
from PIL import Image
from tests.data.made_clips import tone, write_gif, write_video

from densevidcap.cli import root
from densevidcap.cli.frames import command
from densevidcap.data.sampling import Strategy


def test_table_and_sheet(tmp_path: Path) -> None:
    video = write_video(tmp_path / "talk.mp4", 40, sounds=[tone(4.0)])
    gif = write_gif(tmp_path / "dance.gif")
    sheet = tmp_path / "sheet.png"
    result = CliRunner().invoke(root, ["frames", str(video), str(gif), "--sheet", str(sheet)])
    assert result.exit_code == 0, result.output
    talk, dance = (line.split() for line in result.stdout.splitlines() if "64x48" in line)
    assert talk[:7] == ["talk.mp4", "4.00", "s", "64x48", "10", "30/40", "1"]
    assert dance == ["dance.gif", "1.20", "s", "64x48", "10", "12/12", "1", "-"]
    with Image.open(sheet) as image:
        assert image.format == "PNG"
        assert image.convert("L").getextrema()[1] == 255


def test_json_tells_times(tmp_path: Path) -> None:
    video = write_video(tmp_path / "talk.mp4", 40)
    result = CliRunner().invoke(root, ["frames", str(video), "--frames", "4", "--json"])
    (report,) = json.loads(result.stdout)
    assert report["clip"] == str(video)
    assert report["times"] == [0.5, 1.5, 2.5, 3.5]
    assert (report["width"], report["height"], report["frame_count"]) == (64, 48, 40)
    assert report["sound"] is None
    assert report["shots"] == [[0.0, 4.0]]


def test_broken_clip_is_named_and_the_rest_go_on(tmp_path: Path) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_text("this is not a video")
    gif = write_gif(tmp_path / "dance.gif")
    run = subprocess.run(
        [sys.executable, "-m", "densevidcap", "frames", broken, tmp_path / "none.mp4", gif],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "dance.gif" in run.stdout
    errors = run.stderr.splitlines()
    assert len(errors) == 3
    assert "broken.mp4" in errors[0]
    assert "none.mp4" in errors[1]
    assert errors[2].startswith("densevidcap: 2 of 3 clips failed, as told above: ")


def test_nothing_is_drawn_without_a_sheet(tmp_path: Path) -> None:
    gif, sheet = write_gif(tmp_path / "dance.gif"), tmp_path / "sheet.png"
    program = """if True:
        import sys
        from densevidcap.cli import root
        try:
            root()
        finally:
            print("densevidcap.viz.contact_sheet" in sys.modules)
    """
    for more, drawn in ([], "False"), (["--sheet", str(sheet)], "True"):
        run = subprocess.run(
            [sys.executable, "-c", program, "frames", gif, *more], capture_output=True, text=True
        )
        assert run.stdout.splitlines()[-1] == drawn


def test_sheet_that_cannot_be_written(tmp_path: Path) -> None:
    gif = write_gif(tmp_path / "dance.gif")
    run = subprocess.run(
        [sys.executable, "-m", "densevidcap", "frames", gif, "--sheet", gif / "s.png"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1
    assert "s.png: cannot be written" in run.stderr


def test_strategies_are_those_of_sampling() -> None:
    (choice,) = (p.type for p in command.params if isinstance(p.type, click.Choice))
    assert tuple(choice.choices) == get_args(Strategy)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from densevidcap.cli import VERBS, root\n"
        "for arguments in (['--help'], *([verb, '--help'] for verb in VERBS)):\n"
        "    root(arguments, standalone_mode=False)\n"
        "heavy = {'torch', 'numpy', 'av', 'PIL', 'rich'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
