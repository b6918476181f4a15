"""How large the house is, and how far a command walks through it.

    python scripts/measure_house.py                          # lines and files of the package
    python scripts/measure_house.py -- caption clip.mp4      # also: what this command runs
    python scripts/measure_house.py --src OTHER/src -- train table.csv --out model

A call counts as a hop when caller and callee are of different rooms (folders) of the package.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

HERE = Path(__file__).resolve().parents[1] / "src"


class Trace:
    """Which functions of the package run, and which calls lead from one room into another."""

    def __init__(self, package: Path) -> None:
        self.package = str(package)
        self.functions: set[CodeType] = set()
        self.hops: Counter[tuple[str, str]] = Counter()
        self.calls: set[tuple[CodeType, CodeType]] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(self.package):
            return
        if frame.f_code.co_name.startswith("<"):  # modules, comprehensions, lambdas
            return
        self.functions.add(frame.f_code)
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(self.package):
            caller = caller.f_back
        if caller is None or (caller.f_code, frame.f_code) in self.calls:
            return
        self.calls.add((caller.f_code, frame.f_code))
        one, other = self.room(caller.f_code), self.room(frame.f_code)
        if one != other:
            self.hops[one, other] += 1

    def room(self, code: CodeType) -> str:
        return str(Path(code.co_filename).relative_to(self.package).parent)


def measure(package: Path) -> tuple[int, int]:
    """Lines and files."""
    files = sorted(package.rglob("*.py"))
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files), len(files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--src", type=Path, default=HERE, help="the folder that holds densevidcap/")
    parser.add_argument("command", nargs="*", help="arguments of densevidcap, after --")
    options = parser.parse_args()
    package = options.src.resolve() / "densevidcap"
    lines, files = measure(package)
    print(f"package: {lines:,} lines in {files} files")
    if not options.command:
        return
    sys.path.insert(0, str(package.parent))
    from densevidcap.cli import main as run

    trace = Trace(package)
    sys.argv = ["densevidcap", *options.command]
    threading.setprofile(trace)
    sys.setprofile(trace)
    code: object = 0
    try:
        run()
    except SystemExit as stopped:
        code = stopped.code or 0
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    modules = {function.co_filename for function in trace.functions}
    print(
        f"{options.command[0]}: {len(trace.functions)} functions in {len(modules)} files, "
        f"{sum(trace.hops.values())} calls between rooms; exit code {code}"
    )


if __name__ == "__main__":
    main()
