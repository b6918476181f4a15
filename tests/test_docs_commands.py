"""Every command of README and the docs: run on generated stand-ins, or at least understood."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import click
import pytest
from click.testing import CliRunner
from tests.docs_world import write_world

import densevidcap
from densevidcap import model_folder
from densevidcap.cli import root
from densevidcap.pipeline import captioner

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
"""Pages of tasks, whose commands and programs are run."""
RUN = (
    *TASKS,
    "studio.md",
    "own-data.md",
    "cluster.md",
    "words.md",
    "regions.md",
    "evaluation.md",
    "streams.md",
    "model-card.md",
)
"""Pages whose commands are run; tests/train follows docs/own-data.md to its end."""
NOT_RUN = {
    "densevidcap serve": "answers until it is stopped: tests/studio runs it",
    "densevidcap train": "takes minutes: tests/train/test_own_data_guide.py follows the guide",
    "densevidcap fit": "trains: tests/cli/test_fit_verb.py runs it",
    "densevidcap figures": "needs the corpus: tests/repro/test_figures_verb.py runs it",
    "densevidcap experiment": "hours, on a corpus: tests/repro runs it on a small one",
    "densevidcap lexicon": "tags a corpus: tests/cli/test_lexicon_verb.py runs it",
    "--on ray": "starts a cluster: tests/library/test_on_ray.py runs it",
    "--boxes": "needs a detector's boxes: tests/cli/test_grounding_verbs.py makes them",
    "streams install": "needs weights: tests/cli/test_streams_verb.py makes them",
    "prepare msrvtt": "needs the corpus: tests/cli/test_prepare.py runs it on a small one",
    "prepare msvd": "needs the corpus: tests/cli/test_prepare.py runs it on a small one",
    "captions.csv --features": "needs features: tests/cli/test_features_only.py makes them",
    "msvd/captions.jsonl": "needs the corpus",
    "mean-pooling": "needs the model that the lines before it train",
    "said.json --references msvd.jsonl": "needs the sentences of that model",
    "--help": "prints",
}
"""Part of a command to why it is only parsed."""
NAMED = re.compile(r"\b[A-Z]{3,}\b|…|\.\.\.")
"""What a reader puts in, as in LIBRARY."""


class Block(NamedTuple):
    page: str
    number: int
    language: str
    text: str

    @property
    def commands(self) -> list[str]:
        """Its lines that start the program, joined where they go on."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line for line in lines if re.match(r"(find .*\| )?densevidcap |torchrun ", line)]


def list_blocks() -> Iterator[Block]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found = re.findall(r"^( *)```(\w*)\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL)
        for number, (_, language, block) in enumerate(found):
            yield Block(page.name, number, language, dedent(block))


BLOCKS = list(list_blocks())
INLINE = re.findall(r"`(densevidcap \w+ [^`]+)`", (ROOT / "docs" / "index.md").read_text("utf-8"))
COMMANDS = [(block.page, line) for block in BLOCKS for line in block.commands]
COMMANDS += [("index.md", line) for line in INLINE if line != "densevidcap experiment all"]
for script in ("demo.sh", "next-steps.sh"):
    lines = (ROOT / "scripts" / script).read_text("utf-8").replace("\\\n", " ").splitlines()
    COMMANDS += [(script, line) for line in lines if re.match(r"(run )?densevidcap ", line)]
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


@pytest.mark.parametrize(("page", "line"), COMMANDS)
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
    folder = tmp_path_factory.mktemp("docs") / "world"
    folder.mkdir()
    write_world(folder)
    return folder


@pytest.fixture
def here(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's folder, where the small model stands for the bundled one."""
    for module in (model_folder, captioner):
        monkeypatch.setattr(module, "BUNDLED", world / "my-model")
    folder = tmp_path / "reader"
    shutil.copytree(world, folder)
    monkeypatch.chdir(folder)
    return folder


def why_not(line: str) -> str | None:
    reasons = [reason for part, reason in NOT_RUN.items() if re.search(rf"(?<!\w){part}", line)]
    return next(iter(reasons), "a pattern to fill in" if NAMED.search(line) else None)


RUNNABLE = [
    block
    for block in BLOCKS
    if block.page in RUN and any(why_not(line.partition("#")[0]) is None for line in block.commands)
]


@pytest.mark.thorough
@pytest.mark.parametrize("block", RUNNABLE, ids=name)
@pytest.mark.usefixtures("here")
def test_the_commands_of_a_block_run(block: Block) -> None:
    for line in block.commands:
        if why_not(line.partition("#")[0]) is None:
            piped = "\0".join(map(str, Path().rglob("*.mkv"))) if "print0" in line else None
            # As a shell does; patterns in quotes are for the program.
            bare = set(re.findall(r"(?<!['\"])\S*\*\S*(?!['\"])", line))
            args = [
                part
                for word in split(line)
                for part in (sorted(map(str, Path().glob(word))) if word in bare else [word])
            ]
            done = CliRunner().invoke(root, args, input=piped)
            fault = f"{done.output}\n{done.exception!r}"
            assert done.exit_code == 0, f"{block.page}: {line}\n{fault}"


@pytest.mark.thorough
@pytest.mark.usefixtures("here")
def test_the_next_steps_of_the_demo_work_when_pasted() -> None:
    """But for pip, and for what NOT_RUN has a reason for; the small model knows no coffee."""
    lines = (ROOT / "scripts" / "next-steps.sh").read_text("utf-8").splitlines()
    steps = [line for line in lines if line and not line.startswith(("#", "source ", "pip "))]
    ran = []
    for line in steps:
        program, *args = shlex.split(line)
        if program == "python":
            exec(compile(args[args.index("-c") + 1], "next-steps.sh", "exec"), {})
        elif why_not(line) is None:
            assert program == "densevidcap"
            done = CliRunner().invoke(root, args)
            found = done.exit_code == 0 or (args[0] == "find" and "nothing fits" in done.output)
            assert found, f"{line}\n{done.output}\n{done.exception!r}"
            ran.append(args[0])
    assert ran == ["caption", "caption", "find", "caption"]


@pytest.mark.thorough
@pytest.mark.parametrize("block", [b for b in PYTHON if b.page in TASKS], ids=name)
@pytest.mark.usefixtures("here")
def test_the_python_of_a_task_runs(block: Block) -> None:
    said: Any = densevidcap.load().caption("clip.mp4")
    said.save("talk.json")
    known = {"captions": said, "Path": Path, "densevidcap": densevidcap}
    exec(compile(block.text, f"{block.page} block {block.number}", "exec"), known)


def test_what_is_not_run_is_still_in_the_docs() -> None:
    """A reason that no command needs any more is taken out."""
    lines = [line.partition("#")[0] for page, line in COMMANDS if page in RUN]
    unused = [part for part in NOT_RUN if not any(part in line for line in lines)]
    assert not unused
