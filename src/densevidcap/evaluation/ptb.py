"""The tokenizer of the COCO caption code: Stanford's PTB tokenizer, without punctuation."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from densevidcap.evaluation.coco import JavaError, find_jar, find_java, import_coco


def tokenise_ptb(sentences: Sequence[str]) -> list[str]:
    """Each sentence in lower case, its tokens parted by blanks; one Java process for all."""
    coco = import_coco("tokenizer.ptbtokenizer")
    # Java breaks lines at more characters than "\n"; `split` knows them all.
    lines = "".join(" ".join(sentence.split()) + "\n" for sentence in sentences)
    run = subprocess.run(
        [
            find_java(),
            *("-cp", str(find_jar(coco, coco.STANFORD_CORENLP_3_4_1_JAR))),
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
