"""What the house promises of itself: its rooms, the map of the paper, and the names of tests."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from tests.train.tiny_config import write_table

from densevidcap.config import ModelConfig
from densevidcap.config_files import read_toml
from densevidcap.pipeline.captioner import DenseCaptioner
from densevidcap.progress import Silent
from densevidcap.train.model import ModelTraining, read_corpus

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "densevidcap"
MAP = ROOT / "docs" / "paper-map.md"

ROOMS = (
    "errors",
    "types",
    "hidden",
    "intake",
    "files",
    "config_files",
    "config",
    "progress",
    "model_folder",
    "data",
    "outputs",
    "regions",
    "metrics",
    "models",
    "workers",
    "decoding",
    "pipeline",
    "train",
    "viz",
    "export",
    "library",
    "api",
    "examples",
    "repro",
    "studio",
    "cli",
)
"""In this order; nothing imports from a room after its own."""


def list_modules() -> dict[str, Path]:
    modules = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


MODULES = list_modules()


def list_imports(path: Path, *, lazy: bool) -> Iterator[str]:
    """Modules of the package that a file imports; with `lazy` also inside its functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree) if lazy else tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("densevidcap"):
            module = (node.module or "").removeprefix("densevidcap").lstrip(".")
            for name in node.names:
                inner = f"{module}.{name.name}".lstrip(".")
                yield inner if inner in MODULES else module


@pytest.mark.parametrize("module", sorted(set(MODULES) - {"", "__main__"}))
def test_imports_point_one_way(module: str) -> None:
    room = ROOMS.index(module.partition(".")[0])
    for imported in list_imports(MODULES[module], lazy=True):
        if imported:
            assert ROOMS.index(imported.partition(".")[0]) <= room, f"{module} -> {imported}"


def test_no_import_goes_round_in_a_circle() -> None:
    graph = {module: {*list_imports(path, lazy=False)} for module, path in MODULES.items()}
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join((*way, module))
        if module not in done:
            for imported in graph[module] - {module}:
                visit(imported, (*way, module))
            done.add(module)

    for module in graph:
        visit(module, ())


NAME = re.compile(r"`(densevidcap[\w.]*:\w+)`( \(by )?")
NAMES = sorted({(name, not by) for name, by in NAME.findall(MAP.read_text(encoding="utf-8"))})

TINY: dict[str, Any] = {
    "frames.most": 2,
    "lexicon.min_count": 2,
    "regions.k": 3,
    "streams.lexicon_size": 20,
    "captioner.hidden": 16,
    "captioner.embedding": 8,
    "evaluator.width": 8,
    "evaluator.hidden": 8,
    "evaluator.embedding": 8,
    "training.sentences.epochs": 1,
    "training.sentences.min_count": 1,
    "training.evaluator.epochs": 1,
    "training.evaluator.min_count": 1,
    "training.category.epochs": 1,
}
EYES = {"eyes.backbone": "lite0", "eyes.size": 256}


def make_tiny(name: str) -> ModelConfig:
    """The config of that name, as small and as short as it can be."""
    config = ModelConfig.read(name).override(TINY | EYES)
    first = config.to_dict()["training"]["words"][0] | {"epochs": 1, "tuned": 1}
    return config.override({"training.words": [first]})


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> set[CodeType]:
    """Everything of the package that runs when tiny models are trained and used."""
    ran: set[CodeType] = set()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            ran.add(frame.f_code)

    folder = tmp_path_factory.mktemp("traced")
    table = write_table(folder, categories=True)
    before = sys.getprofile()
    for name in ("paper", "default"):
        training = ModelTraining(read_corpus(table), make_tiny(name), folder / name)
        sys.setprofile(watch)
        try:
            training.train(Silent())
            DenseCaptioner.load(folder / name).caption(next(folder.glob("*.mp4")))
        finally:
            sys.setprofile(before)
    return ran


def list_code(thing: Any) -> set[CodeType]:
    """Of a function, or of the methods of a class."""
    members = vars(thing).values() if inspect.isclass(thing) else [thing]
    found = set()
    for member in members:
        if isinstance(member, property):
            member = member.fget
        elif isinstance(member, classmethod | staticmethod):
            member = member.__func__
        code = getattr(inspect.unwrap(member) if callable(member) else member, "__code__", None)
        if code is not None:
            found.add(code)
    return found


@pytest.mark.parametrize(("name", "by_all"), NAMES)
def test_each_name_of_the_map_takes_part(name: str, by_all: bool, executed: set[CodeType]) -> None:
    module, _, attribute = name.partition(":")
    thing = getattr(importlib.import_module(module), attribute)
    if by_all:
        assert list_code(thing) & executed, f"{name} is not reached by train or caption"


def test_the_map_names_every_equation() -> None:
    text = MAP.read_text(encoding="utf-8")
    for number in range(1, 16):
        assert re.search(rf"Eq\. (\d+-)?{number}\b|Eq\. {number}-", text), f"Eq. {number}"


def test_test_files_have_names_of_their_own() -> None:
    """pytest imports them by name: two of one name in different folders break a clean run."""
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert len(names) == len(set(names))


PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")})
TOLD = [page for page in PAGES if page.name not in ("CHANGELOG.md", "log.md")]
"""Those that tell how things are, not how they were."""
FILE = re.compile(r"[\w./-]*\w\.py\b|\b(?:src|tests|scripts|benchmarks)/[\w./-]*\w")
OWN = {"make_clips.py"}
"""What readers are asked to write."""


@pytest.mark.parametrize("page", TOLD, ids=lambda page: page.name)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    """From the repository's root, or from the package's."""
    named = {*FILE.findall(page.read_text(encoding="utf-8"))} - OWN
    places = (ROOT, ROOT / "docs", PACKAGE, PACKAGE.parent)
    assert [name for name in sorted(named) if not any((at / name).exists() for at in places)] == []


def test_mutants_are_made_and_hunted_in_files_that_are_there() -> None:
    settings = read_toml(ROOT / "pyproject.toml")["tool"]["mutmut"]
    named = settings["only_mutate"] + settings["pytest_add_cli_args_test_selection"]
    assert [name for name in named if not [*ROOT.glob(name)]] == []
