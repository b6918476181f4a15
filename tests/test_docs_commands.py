"""Every command of README and the docs is run, to the letter, in a generated world of small things.

What takes hours takes seconds by smaller settings (`small_settings.py`), not by other code.
"""

from __future__ import annotations

import ast
import importlib
import os
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import click
import httpx
import pytest
from click.testing import CliRunner
from tests.docs_world import write_world
from tests.small_settings import use_small_settings, write_small_package, write_small_settings

import densevidcap
from densevidcap.cli import root

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
TASKS = (
    "README.md",
    "captioning.md",
    "films.md",
    "library.md",
    "export.md",
    "python.md",
    "data.md",
    "reproduce.md",
)
"""Pages of tasks, whose programs in Python are run too."""
NOT_RUN = {
    "--on ray": "starts a cluster, which takes minutes: tests/library/test_on_ray.py does",
    "pip ": "needs an index: tests/test_wheel.py builds what is installed, and"
    " tests/models/test_stream_weights.py has made packages of weights",
    "npm ": "needs another index: tests/models/test_resnet50_keras.py has a made package",
    "scripts/convert_resnet50.py": "the same",
    "make ": "sets up an environment, and runs what is tested here",
    "python -m pytest": "are tests themselves",
    "python -m benchmarks": "measures time, for minutes",
    "python make_clips.py": "saved by the reader: tests/train/test_own_data_guide.py does",
    "scripts/coco_parity.py": "needs Java, and ten held-out clips",
    "scripts.java_parity": "needs Java: tests/metrics/test_meteor.py has what it said",
    "scripts/world_sentences.py": "trains for minutes",
    "scripts/measure_senses.py told": "needs I3D's weights: tests/models/test_senses.py needs none",
    "scripts/measure_senses.py probe": "needs I3D's and SoundNet's weights",
    "$streams": "needs I3D's weights: tests/repro/test_all_experiments.py trains with a stand-in",
    "scripts.measure_shelf": "needs a browser, and measures time",
    "scripts/make_pictures.py": "needs a browser",
    "curl ": "needs port 8765: tests/studio/test_studio_answers.py sends clips to another",
}
"""Part of a command to why it is only parsed, if it is ours, and by what else it is tried."""
PATIENCE = 1800
"""Seconds for a program of its own: a busy machine is no failure."""
PROGRAM = re.compile(r" *(find .*\| )?(densevidcap|torchrun|python|pip|npm|make|curl) ")


class Block(NamedTuple):
    page: str
    number: int
    language: str
    text: str

    @property
    def commands(self) -> list[str]:
        """Its lines that start a program, joined where they go on."""
        if self.language not in ("", "sh"):
            return []
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line.strip() for line in lines if PROGRAM.match(line)]


def list_blocks() -> Iterator[Block]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found = re.findall(r"^( *)```(\w*)\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL)
        for number, (_, language, block) in enumerate(found):
            yield Block(page.name, number, language, dedent(block))
    # That page has a table of tasks, each with its command.
    told = re.findall(r"`(densevidcap \w+ [^`]+)`", (ROOT / "docs" / "index.md").read_text("utf-8"))
    yield Block("index.md", 0, "", "\n".join(line for line in told if line not in NAMES))


NAMES = ("densevidcap experiment all",)
"""What is the name of a command, and not all of it."""
BLOCKS = list(list_blocks())
COMMANDS = [(block.page, line) for block in BLOCKS for line in block.commands]
OURS = [(page, line) for page, line in COMMANDS if "densevidcap " in line]
for script in ("demo.sh", "next-steps.sh"):
    lines = (ROOT / "scripts" / script).read_text("utf-8").replace("\\\n", " ").splitlines()
    OURS += [(script, line) for line in lines if re.match(r"(run )?densevidcap ", line)]
OTHERS = ("fiftyone",)
"""Programs that readers have of their own."""
PYTHON = [
    block
    for block in BLOCKS
    if block.language == "python" and not re.search(rf"import ({'|'.join(OTHERS)})", block.text)
]


def split(line: str) -> list[str]:
    """The program's arguments, without comments and other programs."""
    words = shlex.split(line, comments=True)
    words = words[words.index("densevidcap") + 1 :]
    for sign in ("&&", "|", ">", "2>"):
        words = words[: words.index(sign)] if sign in words else words
    return words


def name(block: Block) -> str:
    return f"{block.page}-{block.number}"


def parse(line: str) -> str | None:
    """What the real command line has against it: its verb, its options, the kinds of its values."""
    command: click.Command = root
    args, parent = split(line), None
    try:
        while args:
            context = command.make_context(command.name, list(args), parent)
            if not isinstance(command, click.Group):
                return None
            verb, args = args[0], args[1:]
            found = command.get_command(context, verb)
            if found is None:
                return f"no verb {verb!r}"
            command, parent = found, context
    except click.exceptions.Exit:
        return None  # --help
    except click.BadParameter as fault:
        # A file that a reader has is not here.
        return None if "does not exist" in str(fault) else fault.format_message()
    except click.UsageError as fault:
        return fault.format_message()
    return None


@pytest.mark.parametrize(("page", "line"), OURS)
def test_every_command_is_understood(page: str, line: str) -> None:
    fault = parse(line)
    assert fault is None, f"{page}: {line}: {fault}"


def test_a_wrong_option_is_noticed() -> None:
    assert "No such option" in str(parse("densevidcap caption clip.mp4 --formatt html"))
    assert "no verb" in str(parse("densevidcap captoin clip.mp4"))


@pytest.mark.parametrize("block", PYTHON, ids=name)
def test_everything_that_is_imported_is_there(block: Block) -> None:
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(str(node.module))
            missing = [alias.name for alias in node.names if not hasattr(module, alias.name)]
            assert not missing, f"{block.page}: {node.module} has no {missing}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                importlib.import_module(alias.name)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In `reader` all that commands name; in `settings` and `package` what makes them small."""
    folder = tmp_path_factory.mktemp("docs")
    write_world(folder / "reader")
    write_small_settings(folder / "settings")
    write_small_package(folder / "package", folder / "settings", folder / "reader" / "my-model")
    return folder


@pytest.fixture
def here(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A reader's folder, where a small model and small settings stand for the package's.

    It is removed at the end: all of them together would be gigabytes.
    """
    use_small_settings(world / "settings", world / "reader" / "my-model", monkeypatch)
    monkeypatch.setenv("DENSEVIDCAP_WEIGHTS", str(tmp_path / "weights"))
    folder = tmp_path / "reader"
    shutil.copytree(world / "reader", folder, symlinks=True)
    monkeypatch.chdir(folder)
    yield folder
    shutil.rmtree(tmp_path)


def start(world: Path, command: Sequence[str], **options: Any) -> subprocess.Popen[str]:
    """A program of its own, with this Python's others, the small package, and no screen."""
    hidden = ("PYTEST", "DISPLAY", "WAYLAND", "BROWSER", "DENSEVIDCAP_TOKEN")
    env = {name: each for name, each in os.environ.items() if not name.startswith(hidden)}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    env |= {"PYTHONPATH": str(world / "package"), "OMP_NUM_THREADS": "1"}
    env["XDG_CONFIG_HOME"] = str(Path("home").absolute())
    # torchrun: at any port that is free, as several tests may be at work.
    env["PET_STANDALONE"] = "1"
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True, **options)


def run(line: str, world: Path) -> None:
    """A command, which has to end well and to write what it says that it does."""
    if line.startswith("torchrun "):
        with start(world, shlex.split(line), stderr=subprocess.STDOUT) as process:
            output, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, f"{line}\n{output}"
    elif line.startswith("python "):
        run_script(shlex.split(line, comments=True)[1:])
    else:
        run_verb(line)
    words = shlex.split(line, comments=True)
    for option, place in pairwise(words):
        if option in ("--out", "--predictions", "--report", "--library"):
            assert Path(place).exists(), line


@contextmanager
def suppress_end() -> Iterator[None]:
    """A script may end by itself, if it ends well."""
    try:
        yield
    except SystemExit as end:
        if end.code:
            raise


def run_script(args: Sequence[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [*args])
        with suppress_end():
            runpy.run_path(str(ROOT / args[0]), run_name="__main__")


def run_verb(line: str) -> None:
    piped = "\0".join(map(str, Path().rglob("*.mkv"))) if "print0" in line else None
    # As a shell does; patterns in quotes are for the program.
    bare = set(re.findall(r"(?<!['\"])\S*\*\S*(?!['\"])", line))
    args = [
        part
        for word in split(line)
        for part in (sorted(map(str, Path().glob(word))) if word in bare else [word])
    ]
    done = CliRunner().invoke(root, args, input=piped)
    assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception!r}"


@contextmanager
def serve(line: str, world: Path) -> Iterator[httpx.Client]:
    """A visitor of the studio that the line opens, until Ctrl-C ends it.

    It is at any port that is free in place of 8765, where another program may be.
    """
    program = "from densevidcap.cli import root; root(default_map={'serve': {'port': 0}})"
    command = [sys.executable, "-c", program, *split(line)]
    with start(world, command, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            with httpx.Client(base_url=url.partition("?")[0], timeout=PATIENCE) as client:
                # A token is part of the address, and a cookie from then on.
                assert "densevidcap" in client.get(url, follow_redirects=True).text
                yield client
        finally:
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=PATIENCE)
    # Where Ctrl-C is not for this process, as below nohup, it ends without a word.
    assert told.strip() in ("", "Aborted!")


def why_not(line: str) -> str | None:
    return next((reason for part, reason in NOT_RUN.items() if part in line), None)


def clear(lines: Sequence[str]) -> None:
    """What a block's commands write is not there before, unless they are told to overwrite it."""
    for words in (shlex.split(line, comments=True) for line in lines):
        if "--out" in words and "--overwrite" not in words:
            place = Path(words[words.index("--out") + 1])
            if place.is_dir():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)


def write_configs(page: str) -> None:
    """The files that a page shows, which have their names in their first lines."""
    for block in BLOCKS:
        named = re.match(r"# ([\w-]+\.toml)\b", block.text)
        if block.page == page and block.language == "toml" and named:
            Path(named[1]).write_text(block.text, "utf-8")


SERVING = [line for _, line in COMMANDS if line.startswith("densevidcap serve ")]


def list_run(block: Block) -> list[str]:
    return [line for line in block.commands if line not in SERVING and why_not(line) is None]


@pytest.mark.thorough
@pytest.mark.parametrize("block", [block for block in BLOCKS if list_run(block)], ids=name)
@pytest.mark.usefixtures("here")
def test_the_commands_of_a_block_run(block: Block, world: Path) -> None:
    lines = list_run(block)
    clear(lines)
    write_configs(block.page)
    for line in lines:
        run(line, world)


@pytest.mark.thorough
@pytest.mark.parametrize("line", dict.fromkeys(line.partition("#")[0].strip() for line in SERVING))
@pytest.mark.usefixtures("here")
def test_the_studio_answers_until_it_is_stopped(line: str, world: Path) -> None:
    with serve(line, world) as client:
        if "holiday.library" in line:
            found = client.get("/api/find", params={"question": "a goal"}).json()["answers"]
            assert found[0]["name"] == "match.mp4"
        else:
            assert client.get("/api/clips").raise_for_status().json() == []


@pytest.mark.thorough
def test_the_next_steps_of_the_demo_work_when_pasted(here: Path, world: Path) -> None:
    """But for pip, whose extras are here; the small model knows no coffee."""
    shutil.rmtree(here / "my-model")  # After the demo there is none, but a library of samples:
    run("densevidcap caption samples --library demo-output/library", world)
    lines = (ROOT / "scripts" / "next-steps.sh").read_text("utf-8").splitlines()
    ran = []
    for line in lines:
        if not line or line.startswith(("#", "source ", "pip ")):
            continue
        program, *args = shlex.split(line)
        if program == "python":
            exec(compile(args[args.index("-c") + 1], "next-steps.sh", "exec"), {})
        elif args[0] == "serve":
            with serve(line, world) as client:
                cards = client.get("/api/library").raise_for_status().json()["clips"]
            # Their pictures are the same, so that they are kept as one.
            assert [card["name"] for card in cards] == ["carphone.mp4"]
        elif args[0] == "find":
            done = CliRunner().invoke(root, args)
            assert done.exit_code == 0 or "nothing fits" in done.output
        else:
            run(line, world)
        ran.append(args[0])
    assert ran == ["caption", "caption", "find", "serve", "-c", "train", "caption"]


@pytest.mark.thorough
@pytest.mark.parametrize("block", [b for b in PYTHON if b.page in TASKS], ids=name)
@pytest.mark.usefixtures("here")
def test_the_python_of_a_task_runs(block: Block) -> None:
    said: Any = densevidcap.load().caption("clip.mp4")
    said.save("talk.json")
    known = {"captions": said, "Path": Path, "densevidcap": densevidcap}
    exec(compile(block.text, f"{block.page} block {block.number}", "exec"), known)


def test_what_is_not_run_is_still_in_the_docs() -> None:
    """A reason that no command needs any more is taken out, and tests that it names are there."""
    for reason in NOT_RUN.values():
        assert all((ROOT / path).is_file() for path in re.findall(r"tests/\S+\.py", reason))
    unused = [part for part in NOT_RUN if not any(part in line for _, line in COMMANDS)]
    assert not unused
