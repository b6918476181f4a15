"""METEOR 1.5: its Java program, kept running, since it takes seconds to start."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from densevidcap.evaluation.coco import JavaError, find_jar, find_java, import_coco

OPTIONS = ("-l", "en", "-norm")
"""Those of the COCO caption code."""


class Meteor:
    """Matches sentences with references one by one, and scores any selection of matches."""

    def __init__(self) -> None:
        coco = import_coco("meteor.meteor")
        jar = find_jar(coco, coco.METEOR_JAR)
        self._process = subprocess.Popen(
            [find_java(), "-Xmx2G", "-jar", jar.name, "-", "-", "-stdio", *OPTIONS],
            cwd=jar.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Never read, so a pipe would fill up and stop the program.
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )

    def match(self, sentence: str, references: Sequence[str]) -> str:
        """The statistics of a tokenised sentence against tokenised references."""
        sentence = sentence.replace("|||", "").replace("  ", " ")
        self._say(" ||| ".join(("SCORE", *references, sentence)))
        return self._hear()

    def score(self, matches: Sequence[str]) -> tuple[float, list[float]]:
        """METEOR of all matches together, and of each."""
        self._say(" ||| ".join(("EVAL", *matches)))
        each = [float(self._hear()) for _ in matches]
        return float(self._hear()), each

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._stopped() from error

    def _hear(self) -> str:
        assert self._process.stdout is not None
        if not (line := self._process.stdout.readline()):
            raise self._stopped()
        return line.strip()

    def _stopped(self) -> JavaError:
        return JavaError(
            f"METEOR's Java stopped (exit code {self._process.wait()}); it needs 2 GB of memory"
        )
