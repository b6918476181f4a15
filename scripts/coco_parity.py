"""Whether our scores are those of the COCO caption code, on sets drawn from real captions.

    python scripts/coco_parity.py --captions CAPTIONS [--split validate] [--rounds 5]

A set predicts, for each of ten drawn videos, its first caption or any caption of the corpus;
references are the video's other captions.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import track

from densevidcap.data.manifest import read_manifest
from densevidcap.metrics import METRICS, CaptionScores, score_many
from densevidcap.metrics.coco import import_coco

VIDEOS, SETS = 10, 200
"""A set's videos, and how many sets share them, since each change of them starts METEOR anew."""


def score_with_coco(
    sets: Sequence[Mapping[str, str]], references: Mapping[str, Sequence[str]]
) -> Iterator[CaptionScores]:
    """Direct calls of the COCO code's tokenizer and of its four metrics."""
    tokenise = import_coco("tokenizer.ptbtokenizer").PTBTokenizer().tokenize
    known = tokenise({video: [{"caption": s} for s in said] for video, said in references.items()})
    predicted = tokenise(
        {(n, video): [{"caption": said[video]}] for n, said in enumerate(sets) for video in known}
    )
    meteor = import_coco("meteor.meteor").Meteor()
    for n in range(len(sets)):
        said = {video: predicted[n, video] for video in known}
        bleu, bleu_of = import_coco("bleu.bleu").Bleu(4).compute_score(known, said, verbose=0)
        overall, each = [*bleu], [*bleu_of]
        for scorer in (
            meteor,
            import_coco("rouge.rouge").Rouge(),
            import_coco("cider.cider").Cider(),
        ):
            score, scores = scorer.compute_score(known, said)
            overall.append(score)
            each.append(scores)
        yield CaptionScores(
            dict(zip(METRICS, overall, strict=True)),
            {
                video: dict(zip(METRICS, scores, strict=True))
                for video, scores in zip(known, zip(*each, strict=True), strict=True)
            },
        )


@click.command()
@click.option("--captions", type=click.Path(path_type=Path), required=True, help="A manifest.")
@click.option("--split", default="validate", show_default=True)
@click.option("--rounds", default=5, show_default=True, help=f"Of {SETS} sets each.")
def main(captions: Path, split: str, rounds: int) -> None:
    source = random.Random(0)
    clips = [clip for clip in read_manifest(captions) if clip.split == split]
    anything = [caption for clip in clips for caption in clip.captions]
    apart: dict[str, float] = defaultdict(float)
    for _ in track(range(rounds), "Scoring", console=Console(stderr=True)):
        videos = source.sample(clips, VIDEOS)
        own = {clip.id: clip.captions[0] for clip in videos}
        references = {clip.id: clip.captions[1:] for clip in videos}
        drawn = [
            {
                video: source.choice((caption, source.choice(anything)))
                for video, caption in own.items()
            }
            for _ in range(SETS)
        ]
        coco = score_with_coco(drawn, references)
        for ours, theirs in zip(score_many(drawn, references), coco, strict=True):
            for metric in METRICS:
                differences = [ours.overall[metric] - theirs.overall[metric]]
                differences += [
                    ours.videos[video][metric] - theirs.videos[video][metric] for video in own
                ]
                apart[metric] = max(apart[metric], *map(abs, differences))
    click.echo(
        f"{rounds * SETS:,} sets of {VIDEOS} videos; the largest difference, overall or of a video:"
    )
    for metric, difference in apart.items():
        click.echo(f"{metric:8} {difference:.1e}")


if __name__ == "__main__":
    main()
