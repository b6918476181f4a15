"""`densevidcap fit`: train one stage of the model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from densevidcap.cli.clips import FAIL_FAST, OVERWRITE, keeping
from densevidcap.cli.printing import echo
from densevidcap.cli.training_view import GOING_ON, open_terminal
from densevidcap.outputs import Inputs, check_outputs, refuse_input

if TYPE_CHECKING:
    from densevidcap.train.stage import CorpusStage

_PATH = click.Path(path_type=Path)
_WORDS = click.option(
    "--words", "words_model", type=_PATH, help="The Lexical-FCN's folder.  [default: the bundled]"
)
_START = click.option("--from", "initial", type=_PATH, help="A trained model of it to start from.")


def _shared(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every stage."""
    for option in (
        click.option("--half", is_flag=True, help="Save 16-bit weights: half the size."),
        click.option(
            "--cache", type=_PATH, help="Folder for the clips' features.  [default: cache in --out]"
        ),
        click.option("--out", type=_PATH, required=True, help="The model folder."),
        click.option(
            "--config",
            metavar="NAME|FILE",
            required=True,
            help="small, large, full or paper, or a TOML file like theirs.",
        ),
        click.option(
            "--data", type=_PATH, required=True, help="The manifest: .jsonl or .jsonl.gz."
        ),
    ):
        command = option(command)
    return command


@click.group()
def command() -> None:
    """Train one stage of the model from a manifest.

    Stop it at any time: the same command goes on where it was. A clip that cannot be read is
    named and left out; the model is made of the others, and the exit code is 1.

    Words and sentences can be trained by several processes together, as in
    `torchrun --nproc-per-node 2 -m densevidcap fit words …`.
    """


@command.command()
@_shared
@click.option("--lexicon", type=_PATH, required=True, help="What `densevidcap lexicon` wrote.")
@_START
@FAIL_FAST
def words(
    data: Path,
    config: str,
    out: Path,
    cache: Path | None,
    half: bool,
    lexicon: Path,
    initial: Path | None,
    fail_fast: bool,
) -> None:
    """The Lexical-FCN: words linked to regions, from clips and their captions."""
    from densevidcap.config import ModelConfig
    from densevidcap.models.word_detector import LEXICON
    from densevidcap.train.words import list_rounds

    refuse_input(out / LEXICON, Inputs(files=[lexicon]))
    how: dict[str, Any] = {"initial": initial, "half": half, "fail_fast": fail_fast}
    folder = cache or out / "cache"
    _run(list_rounds(out, ModelConfig.read(config), data, lexicon, folder, **how))


@command.command()
@_shared
@_WORDS
@_START
@FAIL_FAST
def sentences(
    data: Path,
    config: str,
    out: Path,
    cache: Path | None,
    half: bool,
    words_model: Path | None,
    initial: Path | None,
    fail_fast: bool,
) -> None:
    """The captioner: a sentence for each region-sequence, and the categories of clips."""
    from densevidcap.config import ModelConfig
    from densevidcap.model_folder import find_model
    from densevidcap.train.sentences import SentenceStage

    model, folder = find_model(words_model, "words"), cache or out / "cache"
    how: dict[str, Any] = {"initial": initial, "half": half, "fail_fast": fail_fast}
    _run([SentenceStage(out, ModelConfig.read(config), data, model, folder, **how)])


@command.command()
@_shared
@_WORDS
@click.option(
    "--weaker", type=_PATH, help="A captioner's sentences to learn from: {clip: [sentence, …]}."
)
@FAIL_FAST
def evaluator(
    data: Path,
    config: str,
    out: Path,
    cache: Path | None,
    half: bool,
    words_model: Path | None,
    weaker: Path | None,
    fail_fast: bool,
) -> None:
    """The evaluator: how well a sentence fits a clip, to rank a clip's sentences."""
    from densevidcap.config import ModelConfig
    from densevidcap.model_folder import find_model
    from densevidcap.train.evaluator_regression import choose_stage
    from densevidcap.train.team import refuse_team

    refuse_team("fit evaluator", "fit words or fit sentences")
    model, folder = find_model(words_model, "words"), cache or out / "cache"
    how: dict[str, Any] = {"weaker": weaker, "half": half, "fail_fast": fail_fast}
    _run([choose_stage(out, ModelConfig.read(config), data, model, folder, **how)])


@command.command()
@click.option("--data", type=_PATH, required=True, help="The manifest: .jsonl or .jsonl.gz.")
@click.option(
    "--model", "folder", type=_PATH, required=True, help="The folder that holds all stages."
)
@click.option(
    "--config",
    metavar="NAME|FILE",
    help="What the whole model is to do.  [default: as its sentences were trained]",
)
@OVERWRITE
def ranking(data: Path, folder: Path, config: str | None, overwrite: bool) -> None:
    """How sure to be of words and sentences, from clips that are held out of training.

    Writes ranking.json and the card of the whole model, with its figures on these clips.
    """
    from densevidcap.config import ModelConfig
    from densevidcap.model_folder import CARD, WEIGHTS, read_card, read_model_config
    from densevidcap.pipeline.captioner import RANKING
    from densevidcap.train.model import MetricsStage, read_corpus

    stages = [folder / name for name in ("words", "sentences")]
    for each in stages:
        read_card(each)
    check_outputs([folder / RANKING, folder / CARD], Inputs(files=[data]), overwrite)
    corpus = read_corpus(data)
    read = ModelConfig.read(config) if config else read_model_config(stages[-1])
    stage = MetricsStage(
        corpus, folder, {each.name: each / WEIGHTS for each in stages}, {}, read, needs_clips=True
    )
    with open_terminal() as terminal:
        result = stage.run(terminal)
    echo(f"{folder}: {result}")
    refuse_gaps(data, stage.left_out)


def _run(stages: Sequence[CorpusStage]) -> None:
    """Show how they go and what came of the last; exit with 1 if clips were left out."""
    from densevidcap.progress import Silent, write_events
    from densevidcap.train.stage import RUN
    from densevidcap.train.team import is_leader

    last = stages[-1]
    if not is_leader():
        for stage in stages:
            if stage is last or not stage.result.is_file():
                stage.run(Silent())
        return
    with open_terminal() as terminal, keeping(lambda: GOING_ON):
        for number, stage in enumerate(stages, start=1):
            if len(stages) > 1:
                terminal.stage(stage.name, number, len(stages))
            # A round that is done may be asked for at 16 bits; what came before it is as it was.
            if stage is not last and stage.result.is_file():
                terminal.end("done before")
                continue
            result = stage.run(write_events(terminal, str(stage.out / RUN)))
            if len(stages) > 1:
                terminal.end(result)
    echo(f"{last.out}: {result}")
    refuse_gaps(last.inputs["manifest"], last.left_out)


def refuse_gaps(data: Path, failures: Mapping[str, str]) -> None:
    """Exit with 1 if clips were left out."""
    from densevidcap.data.manifest import name_some

    if failures:
        echo(
            f"densevidcap: {data}: made without {len(failures):,} clips, as told above: "
            f"{name_some(list(failures))}; put them right or take them out, and train anew",
            err=True,
        )
        sys.exit(1)
