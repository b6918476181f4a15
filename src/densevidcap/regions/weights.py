"""Learning w_v from sentences that nobody tied to regions (steps 1-5 of section 3.2.2).

Eq. 9 as printed has no ground-truth term, so w = 0 minimises it. What its text describes is the
structured hinge that we minimise: along a sequence that a sentence was given to, the region that
the sentence's words point at (Eq. 10) must out-gain every other candidate, by as much as it shows
more of those words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from densevidcap.config import AssociationConfig, RegionsConfig
from densevidcap.errors import ModelError
from densevidcap.regions.association import associate, match
from densevidcap.regions.objectives import Float64Array, IndexArray, Objective, informativeness
from densevidcap.regions.search import generate_sequences, pool_words
from densevidcap.types import FloatArray, FrameGrid, RegionSequence

WINNER = AssociationConfig(method="winner", unsupported="leave_out")
"""Step 3. A sentence that no sequence shows asks for nothing."""


@dataclass(frozen=True)
class CaptionedClip:
    """A clip and its sentences, each as its words' ids in the lexicon."""

    clip: FrameGrid
    sentences: Sequence[IndexArray]

    def list_words(self, config: RegionsConfig) -> IndexArray | None:
        """The ids of the words that are information in training, or None for all."""
        if config.training_words == "lexicon":
            return None
        return np.unique(np.concatenate([np.empty(0, np.intp), *self.sentences]))


@dataclass(frozen=True)
class WeightStep:
    """One round of the alternation."""

    terms: dict[str, float]
    """Refined weights; scaled to a mean of 1, because only their ratio matters to a search."""
    loss: float
    """The hinge loss that is left, without the regulariser."""
    moved: float
    """The largest change of a weight."""
    reassociated: float
    """Share of sentences that went to another sequence than in the round before."""
    converged: bool


@dataclass(frozen=True)
class Choices:
    """G choices among candidates, as M comparisons of the oracle's region with another one."""

    advantages: Float64Array
    """(M, terms): how much more than the other region the oracle's adds to each term."""
    margins: Float64Array
    """(M,): how much higher the oracle's region scores for the sentence."""
    sizes: IndexArray
    """(G,): comparisons of each choice, which follow each other."""

    def hinge(self, weights: Float64Array) -> tuple[float, Float64Array]:
        """Mean over choices of the worst violation, if any, and its subgradient (terms,)."""
        violations = self.margins - self.advantages @ weights
        starts = np.cumsum(self.sizes) - self.sizes
        worst = np.maximum.reduceat(violations, starts)
        is_worst = violations == np.repeat(np.maximum(worst, 0), self.sizes)
        ties = np.repeat(np.maximum(np.add.reduceat(is_worst, starts, dtype=int), 1), self.sizes)
        gradient = -((is_worst / ties) @ self.advantages) / len(worst)
        return float(np.maximum(worst, 0).mean()), gradient


def learn_terms(
    clips: Collection[CaptionedClip],
    config: RegionsConfig,
    report: Callable[[WeightStep], None] = lambda _: None,
) -> tuple[RegionsConfig, list[WeightStep]]:
    """The config with the weights that the clips' sentences ask for, and how they were found.

    Those weights are fixed: what reads the config again does not learn them again.
    """
    steps = []
    for step in learn_weights(clips, config):
        report(step)
        steps.append(step)
    return replace(config, terms=steps[-1].terms, weights="fixed"), steps


def learn_weights(
    clips: Collection[CaptionedClip],
    config: RegionsConfig,
    *,
    rounds: int = 20,
    tolerance: float = 0.01,
    decay: float = 1e-4,
) -> Iterator[WeightStep]:
    """Alternate between sequences, their association and weights, until no weight changes.

    Starts from the config's weights and yields every round; the last one's weights are the result.
    `decay` is Eq. 9's lambda.
    """
    terms = config.terms
    winners_before: list[IndexArray] = []
    for _ in range(rounds):
        winners, choices = _observe(clips, replace(config, terms=terms))
        fitted = fit_weights(choices, decay)
        refined = dict(zip(terms, (fitted / fitted.mean()).tolist(), strict=True))
        moved = max(abs(refined[name] - terms[name]) for name in terms)
        reassociated = np.mean(np.concatenate(winners) != np.concatenate(winners_before or winners))
        yield WeightStep(
            refined, choices.hinge(fitted)[0], moved, float(reassociated), moved < tolerance
        )
        if moved < tolerance:
            return
        terms, winners_before = refined, winners


def fit_weights(choices: Choices, decay: float, steps: int = 600) -> Float64Array:
    """(terms,): the w >= 0 that minimise the hinge, by projected subgradients.

    Terms differ in size by orders of magnitude, so search and regulariser, decay/2 |w|^2, count a
    weight in units of its term's typical advantage. The steps shrink geometrically, which is enough
    in a few dimensions.
    """
    typical = np.sqrt(np.mean(choices.advantages**2, axis=0))
    units = np.divide(1, typical, out=np.zeros_like(typical), where=typical > 0)
    longest_step = 4 * choices.margins.mean()
    scaled = best = np.zeros_like(typical)
    lowest = np.inf
    for step in range(steps):
        loss, gradient = choices.hinge(scaled * units)
        loss += decay / 2 * float(scaled @ scaled)
        if loss < lowest:
            lowest, best = loss, scaled
        slope = units * gradient + decay * scaled
        length = float(np.linalg.norm(slope))
        if length == 0:
            break
        scaled = np.maximum(scaled - longest_step * 0.98**step * slope / length, 0)
    if not best.any():
        raise ModelError(
            "no term of the objective tells the regions that sentences are about from others: "
            "train the Lexical-FCN longer, or on more clips"
        )
    return np.asarray(best * units)


def _observe(
    clips: Collection[CaptionedClip], config: RegionsConfig
) -> tuple[list[IndexArray], Choices]:
    """Each clip's association under the config's weights, and the choices it asks for."""
    winners = []
    advantages, margins = [], []
    for captioned in clips:
        words = captioned.list_words(config)
        sequences = generate_sequences(captioned.clip, config, words)
        pooled = pool_words(sequences, captioned.clip)
        matches = match(captioned.sentences, pooled, config.threshold)
        winners.append(associate(matches, WINNER))
        for advantage, margin in _compare(captioned, sequences, winners[-1], config):
            advantages.append(advantage)
            margins.append(margin)
    if not margins:
        raise ModelError(
            "no region shows any word of the sentences: train the Lexical-FCN longer, "
            "or check that sentences and probabilities share a lexicon"
        )
    sizes = np.array([len(margin) for margin in margins])
    return winners, Choices(np.concatenate(advantages), np.concatenate(margins), sizes)


def _compare(
    captioned: CaptionedClip,
    sequences: Sequence[RegionSequence],
    winners: IndexArray,
    config: RegionsConfig,
) -> Iterator[tuple[Float64Array, FloatArray]]:
    """Walk along every sequence; for each of its sentences and frames, the oracle against the rest.

    Candidates that show as much of the sentence as the oracle's region are not compared.
    """
    clip = captioned.clip
    beside = [np.flatnonzero(row) for row in clip.grid.neighbours()]
    objective = Objective(clip, config, captioned.list_words(config))
    for index, sequence in enumerate(sequences):
        told = [
            words
            for words, winner in zip(captioned.sentences, winners, strict=True)
            if winner == index
        ]
        regions = np.arange(len(clip.grid))
        subset = objective.empty()
        for frame, region in enumerate(sequence.regions):
            candidates = objective.extend(subset, frame, regions)
            gains = candidates.term_gains
            for words in told:
                probabilities = clip.probabilities[frame, regions]
                scores = informativeness(probabilities, words, config.threshold)
                oracle = int(scores.argmax())
                others = scores < scores[oracle]
                if others.any():
                    yield gains[oracle] - gains[others], scores[oracle] - scores[others]
            subset = candidates.take(int(np.searchsorted(regions, region)))
            regions = beside[region]
        objective = objective.beside(subset)
