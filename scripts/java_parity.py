"""Whether our METEOR and our tokenizer are the COCO code's, which are Java; and how long both take.

    python -m scripts.java_parity --captions CAPTIONS [--split validate]
    python -m scripts.java_parity --pin tests/metrics/jar_scores.json

The first compares them on the captions of a manifest and on odd sentences made of their words.
The second writes cases with what the jars say of them, so that tests need no Java.
Needs the extra `java`, or a Java of the system.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from scripts.coco_parity import score_with_coco

from densevidcap.data.manifest import read_manifest
from densevidcap.data.text_files import replace_text
from densevidcap.metrics import java, ptb
from densevidcap.metrics.coco import find_beside, import_coco
from densevidcap.metrics.meteor import Meteor
from densevidcap.metrics.meteor.paraphrases import find_table, index_table

Case = tuple[str, Sequence[str]]
"""A sentence and its references."""

ODD = (
    *("can't", "won't", "I'm", "they've", "he'd", "gonna", "cannot", "lemme", "'tis", "n't", "'s"),
    *("U.S.", "u.s.a.", "Mr.", "Dr.", "e.g.", "etc.", "No. 5", "no.", "vs.", "p.m.", "A.B.", "J."),
    *("3.5", "1,000", "$5.00", "£3", "€4", "5%", "1/2", "½", "3 1/2", "10-20", "12:30", "1990s"),
    *(
        "http://www.a.com/b?c=d",
        "foo@bar.com",
        "#tag",
        ":-)",
        "<b>",
        "</i>",
        "&amp;",
        "AT&T",
        "C++",
    ),
    *("rock'n'roll", "o'clock", "O'Brien", "'90s", "dogs'", "y'all", "'em", '"', "''", "``", "“"),
    *("”", "‘", "’", "«", "(", ")", "[", "{", "-", "--", "---", "–", "—", "...", "....", "…", "?!"),
    *("*", "/", "\\", "|", "|||", "~", "_", "=", "<", ">", "555-1234", "(650) 723-0293", "x-ray"),
    *("state-of-the-art", "naïve", "café", "日本語", "русский", "ελληνικά", "😀", "\u200b", "\xad"),
    *("soft\xadhyphen", "¿", "©", "°", "Ph.D.", "Inc.", "Jan.", "Yahoo!", ".", ",", ";", ":", "'"),
    *("c0", "\x80", "\x92", "\ue000", "\xa0", "\u3000", "a" * 80, "}", "]", "\x7f", '"a', ">_<"),
    *("'06", "Smith-Co.,", "R&D.,", "12/25/2014", "Co. Limited", "co. lim", "is.C.", "q"),
)
"""What tokenizers stumble over."""

PARTS = (
    *(("a man", "the guy", "two women", "a young boy", "some kids", "several people", "a lady"),),
    *(("is", "are", "starts", "keeps on", "was seen", "begins to", "is going to", "tries to be"),),
    *(("cooking", "cooks", "prepares", "making", "playing", "plays", "talking about", "driving"),),
    *(
        (
            "a meal",
            "food",
            "the film",
            "a movie",
            "music",
            "songs",
            "a big car",
            "large automobiles",
        ),
    ),
    *(("in front of", "on top of", "near", "close to", "because of", "as well as", "with"),),
    *(("a lot of houses", "many homes", "the kitchen", "a crowd", "children", "each other"),),
)
"""Words with stems, synonyms and paraphrases among each other."""


HARD = (
    *(
        "at the same time",
        "simultaneously",
        "with a view to making sure that",
        "in order to ensure",
    ),
    *("on the other hand", "as a result of the", "in the middle of the", "right now", "at present"),
    *("found", "establish", "better", "improve", "leaves", "foliage", "drawers", "sofa", "couch"),
    *("film", "movie", "guy", "man", "bicycle", "bike", "a great deal", "very much", "glasses"),
    *("80's", "a,1", "1,a", "x--y", "--", "cook", "cooks", "cooked", "the", "of", "is", "a", "to"),
)
"""Long phrases, forms that are words of their own, and what METEOR splits with rules of its own."""


def say(source: random.Random) -> str:
    """A sentence, of which some parts may be missing or out of order."""
    said = [source.choice(part) for part in PARTS if source.random() < 0.85]
    if source.random() < 0.2:
        source.shuffle(said)
    return " ".join(said)


def scramble(source: random.Random, words: Sequence[str], odd: float, most: int = 14) -> str:
    """Words and oddities, some of them without a blank between."""
    drawn = (
        source.choice(ODD if source.random() < odd else words)
        for _ in range(source.randint(0, most))
    )
    cased = (source.choice((str, str, str.upper, str.capitalize))(word) for word in drawn)
    return "".join(word + (" " if source.random() < 0.8 else "") for word in cased)


def draw_letters(source: random.Random) -> str:
    ranges = ((32, 126), (32, 126), (0, 255), (0, 0xD7FF), (0x2000, 0x20FF), (0x1F300, 0x1FAFF))
    return "".join(
        chr(source.randint(*source.choice(ranges))) for _ in range(source.randint(0, 40))
    )


def make_cases(
    source: random.Random, clips: Sequence[Sequence[str]]
) -> Iterator[tuple[str, list[Case]]]:
    """Sets of tokenised cases, with what they are."""
    words = [word for said in clips for sentence in said for word in sentence.split()]

    def shuffle(sentence: str) -> str:
        return " ".join(source.sample(sentence.split(), len(sentence.split())))

    def draw(least: int, most: int) -> str:
        return " ".join(source.choice(words) for _ in range(source.randint(least, most)))

    yield "a caption, the others", [(said[0], said[1:]) for said in clips]
    yield "another clip's", [(source.choice(source.choice(clips)), said) for said in clips]
    yield "shuffled words", [(shuffle(source.choice(said)), said) for said in clips]
    yield (
        "random words",
        [(draw(0, 25), source.sample(source.choice(clips), 5)) for _ in range(2000)],
    )
    yield "20 to 80 words", [(draw(20, 80), [draw(20, 80) for _ in range(3)]) for _ in range(100)]
    odd = ptb.tokenise_ptb([scramble(source, words, 0.4) for _ in range(6 * 500)])
    yield "odd sentences", [(odd[n], odd[n + 1 : n + 6]) for n in range(0, len(odd), 6)]


def compare_tokens(name: str, sentences: Sequence[str]) -> None:
    ours, theirs = ptb.tokenise_ptb(sentences), java.tokenise_ptb(sentences)
    different = sum(a != b for a, b in zip(ours, theirs, strict=True))
    click.echo(f"{name:24} {len(sentences):7,} sentences, {different} differ")


def compare_scores(name: str, cases: Sequence[Case], meteor: Meteor, jar: java.Meteor) -> None:
    meteor.learn(text for sentence, references in cases for text in (sentence, *references))
    overall, each = meteor.score([meteor.match(*case) for case in cases])
    overall_there, each_there = jar.score([jar.match(*case) for case in cases])
    apart = [abs(a - b) for a, b in zip(each, each_there, strict=True)]
    click.echo(
        f"{name:24} {len(cases):7,} sentences: largest {max(apart):.1e}, mean "
        f"{sum(apart) / len(apart):.1e}; all together {overall:.6f}, "
        f"{abs(overall - overall_there):.1e} apart"
    )


def measure(clips: Sequence[Sequence[str]], tokenise: Callable[..., list[str]], make: Any) -> str:
    """Seconds until METEOR is there, for all tokens, and for all scores."""
    begin, cpu = time.perf_counter(), count_cpu()
    meteor = make()
    meteor.score([meteor.match("a man", ["a man sings"])])
    ready = time.perf_counter()
    tokens = iter(tokenise([sentence for said in clips for sentence in said]))
    tokenised = [[next(tokens) for _ in said] for said in clips]
    parted = time.perf_counter()
    meteor.learn(text for said in tokenised for text in said)
    meteor.score([meteor.match(said[0], said[1:]) for said in tokenised])
    end = time.perf_counter()
    meteor.close()
    return (
        f"start {ready - begin:.2f} s, tokens {parted - ready:.2f} s, METEOR {end - parted:.2f} s, "
        f"together {end - begin:.2f} s, {count_cpu() - cpu:.2f} CPU-seconds"
    )


def count_cpu() -> float:
    """CPU-seconds of this process, and of those that it started and that have ended."""
    return sum(os.times()[:4])


def measure_index() -> str:
    """What the first evaluation of a user pays for the index of paraphrases."""
    begin, cpu = time.perf_counter(), time.process_time()
    index = index_table(find_table())
    size = sum(numbers.nbytes for numbers in index.values())
    return (
        f"{time.process_time() - cpu:.1f} CPU-seconds ({time.perf_counter() - begin:.1f} in all), "
        f"{size / 1e6:.0f} MB"
    )


START = """
import time
begin = time.perf_counter()
from densevidcap.metrics import CaptionScorer
with CaptionScorer({{"v": ["a man sings"]}}, java={java}) as scorer:
    scorer.score({{"v": "a man"}})
print(time.perf_counter() - begin)
"""


def measure_start(with_java: bool) -> str:
    """What a new process takes until it has scored a sentence by all metrics; best of three."""
    command, cpu = [sys.executable, "-c", START.format(java=with_java)], count_cpu()
    runs = [subprocess.run(command, capture_output=True, check=True, text=True) for _ in range(3)]
    best = min(float(run.stdout) for run in runs)
    return f"{best:.2f} s, {(count_cpu() - cpu) / 3:.2f} CPU-seconds"


def pin(path: Path) -> None:
    source = random.Random(0)
    words = sorted({word for part in PARTS for phrase in part for word in phrase.split()})
    sentences = [scramble(source, words, 0.6, 10) for _ in range(250)]
    sentences += [word for odd in ODD for word in (odd, f"{odd} Then", f"(a {odd})")]
    raw = [*(say(source) for _ in range(800)), *(scramble(source, words, 0.4) for _ in range(200))]
    # What parts cases for the jar is never in a tokenised sentence.
    raw = [" ".join(text.replace("|||", "").split()) for text in raw]
    cases = [(raw[n], raw[n + 1 : n + source.randint(2, 5)]) for n in range(0, len(raw), 5)]
    for _ in range(120):
        drawn = [source.choice(HARD) for _ in range(source.randint(8, 30))]
        cases.append((" ".join(drawn), [" ".join(source.sample(drawn, len(drawn)))]))
        cases.append((" ".join(source.choices(HARD, k=12)), [" ".join(source.choices(HARD, k=12))]))
    cases += [(text, [text]) for text in raw[:5]]
    jar = java.Meteor()
    overall, scores = jar.score([jar.match(*case) for case in cases])
    jar.close()
    references = {f"v{n}": [say(source) for _ in range(source.randint(1, 6))] for n in range(10)}
    sets = [{video: say(source) for video in references} for _ in range(3)]
    sets.append(dict.fromkeys(references, "...") | {"v0": "a man ||| sings"})
    content = {
        "made_by": f"python -m scripts.java_parity --pin {path.as_posix()}",
        "tokens": list(zip(sentences, java.tokenise_ptb(sentences), strict=True)),
        "stems": _stem(_make_words(source, words)),
        "meteor": [(*case, score) for case, score in zip(cases, scores, strict=True)],
        "meteor_of_all": overall,
        "references": references,
        "sets": [
            {"said": said, "overall": scored.overall, "videos": scored.videos}
            for said, scored in zip(sets, score_with_coco(sets, references), strict=True)
        ],
    }
    with replace_text(path) as stream:
        stream.write(_format(content))


def _format(content: dict[str, Any]) -> str:
    """JSON with a line for each case."""
    fields = []
    for name, value in content.items():
        written = json.dumps(value, ensure_ascii=True)
        if isinstance(value, list):
            written = "[\n" + ",\n".join(f"  {json.dumps(each)}" for each in value) + "\n ]"
        fields.append(f' "{name}": {written}')
    return "{\n" + ",\n".join(fields) + "\n}\n"


ENDINGS = (
    *("s", "es", "ies", "ied", "ed", "eed", "eedly", "edly", "ing", "ingly", "'s", "'", "ly", "y"),
    *("ness", "ful", "fully", "less", "lessly", "ization", "ational", "ation", "ator", "alism"),
    *("ality", "ally", "fulness", "ously", "iveness", "ivity", "bility", "bly", "ogy", "logy"),
    *("e", "ll", "ion", "al", "ance", "er", "ic", "able", "ement", "ent", "ism", "ous", "ize"),
)
"""What stems are without."""
ROOTS = ("hop", "fit", "gener", "commun", "arsen", "yell", "by", "say", "sky", "rat", "control")


def _make_words(source: random.Random, words: Sequence[str]) -> list[str]:
    """Words with endings, words of drawn letters, and some that have rules of their own."""
    made = {source.choice((*words, *ROOTS)) + source.choice(ENDINGS) for _ in range(700)}
    made |= {
        "".join(source.choice("aeiouybstledngi'") for _ in range(source.randint(1, 8)))
        for _ in range(400)
    }
    return sorted(made | {"skies", "dying", "early", "news", "inning", "herring", "proceed"})


def _stem(words: Sequence[str]) -> list[tuple[str, str]]:
    coco = import_coco("meteor.meteor")
    command = [java.find_java(), "-cp", str(find_beside(coco, coco.METEOR_JAR)), "Stemmer", "en"]
    lines = "".join(f"{word}\n" for word in words)
    run = subprocess.run(command, input=lines, capture_output=True, check=True, encoding="utf-8")
    return list(zip(words, map(str.strip, run.stdout.splitlines()), strict=True))


def repeat(clips: Sequence[Sequence[str]], count: int) -> Iterable[Sequence[str]]:
    """So many, the same again if there are not enough."""
    return (clips[n % len(clips)] for n in range(count))


def compare(clips: Sequence[Sequence[str]]) -> None:
    source = random.Random(0)
    words = [word for said in clips for sentence in said for word in sentence.split()]
    click.echo("Tokenizer")
    compare_tokens("captions", [sentence for said in clips for sentence in said])
    compare_tokens("odd sentences", [scramble(source, words, 0.5) for _ in range(6000)])
    compare_tokens("drawn letters", [draw_letters(source) for _ in range(6000)])
    click.echo("METEOR")
    meteor, jar = Meteor(), java.Meteor()
    for name, cases in make_cases(source, [ptb.tokenise_ptb(said) for said in clips]):
        compare_scores(name, cases, meteor, jar)
    jar.close()


@click.command()
@click.option("--captions", type=click.Path(path_type=Path), help="A manifest.")
@click.option("--split", default="validate", show_default=True)
@click.option("--only-time", is_flag=True, help="Compare nothing.")
@click.option("--pin", "pinned", type=click.Path(path_type=Path), help="Write the tests' cases.")
def main(captions: Path | None, split: str, only_time: bool, pinned: Path | None) -> None:
    if pinned is not None:
        pin(pinned)
    if captions is None:
        return
    clips = [clip.captions for clip in read_manifest(captions) if clip.split == split]
    if not only_time:
        compare(clips)
    many = list(repeat([[*said, said[0]] for said in clips], 497))
    click.echo(f"497 sentences, {sum(len(said) - 1 for said in many):,} references")
    click.echo(f"jars    {measure(many, java.tokenise_ptb, java.Meteor)}")
    click.echo(f"Python  {measure(many, ptb.tokenise_ptb, Meteor)}")
    click.echo(f"Index of paraphrases, once: {measure_index()}")
    click.echo(
        f"A new process with one sentence: jars {measure_start(True)}; "
        f"Python {measure_start(False)}"
    )


if __name__ == "__main__":
    main()
