"""Which words of a sentence stand for which of a reference, and in how many chunks.

Words match if they, their stems or their meanings are the same; phrases if one paraphrases
the other. Of all matches METEOR keeps those that cover the most words in the fewest chunks,
found by a beam search through the reference. Wherever that is a matter of order, of rounding
or of a sum that goes astray, its order, rounding and sums are kept: they decide between
alignments that look alike, and so the score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, NamedTuple

from densevidcap.metrics.meteor.tables import Word

EXACT, STEM, SYNONYM, PARAPHRASE = MODULES = range(4)
"""Ways to match, in METEOR's order."""
_BEAM: Final = 40


@dataclass(frozen=True)
class Sentence:
    """A sentence or a reference, ready to be matched."""

    words: Sequence[Word]
    phrases: Mapping[int, tuple[int, Sequence[int]]]
    """How many words each phrase of it has, and where it begins, by the phrase's number."""
    paraphrased: Sequence[tuple[int, int, Mapping[int, int]]]
    """Begin and length of each phrase that has paraphrases, and these with their ranks, in the
    order of the sentence."""


class Match(NamedTuple):
    """Neighbouring words of a sentence that match neighbouring words of a reference."""

    module: int
    begin: int
    """Their place in the sentence."""
    length: int
    begin_there: int
    """Their place in the reference."""
    length_there: int


class SentenceMatcher:
    """Aligns one sentence with any number of references."""

    def __init__(self, sentence: Sentence) -> None:
        self.sentence = sentence
        self._keys = [word.key for word in sentence.words]
        self._single: dict[Word, list[tuple[int, int]]] = {}
        """For a word of a reference, how and where words of the sentence match it."""
        self._paraphrases: dict[int, list[tuple[int, int, int]]] = {}
        for begin, length, paraphrases in sentence.paraphrased:
            for paraphrase, rank in paraphrases.items():
                self._paraphrases.setdefault(paraphrase, []).append((begin, length, rank))

    def align(self, reference: Sentence) -> list[Match]:
        """The matches that are kept, in the order of the reference."""
        same = self._keys == [word.key for word in reference.words]
        matches: list[list[Match]] = []
        for place, word in enumerate(reference.words):
            found = self._match_word(word)
            matches.append(
                [Match(how, begin, 1, place, 1) for how, begin in found if how == EXACT or not same]
            )
        if not same:
            self._match_phrases(reference, matches)
        return _resolve(matches, len(self._keys))

    def _match_word(self, word: Word) -> list[tuple[int, int]]:
        if (found := self._single.get(word)) is None:
            same, stems, synonyms = [], [], []
            for place, said in enumerate(self.sentence.words):
                if said.key == word.key:
                    same.append((EXACT, place))
                    continue
                if said.stem == word.stem:
                    stems.append((STEM, place))
                if not said.meanings.isdisjoint(word.meanings):
                    synonyms.append((SYNONYM, place))
            self._single[word] = found = [*same, *stems, *synonyms]
        return found

    def _match_phrases(self, reference: Sentence, matches: list[list[Match]]) -> None:
        """Add the reference's phrases that the sentence paraphrases, and then those that
        paraphrase the sentence's."""
        said = self.sentence.phrases
        for place, length, paraphrases in reference.paraphrased:
            if found := paraphrases.keys() & said.keys():
                for phrase in sorted(found, key=paraphrases.__getitem__):
                    words, begins = said[phrase]
                    matches[place] += (
                        Match(PARAPHRASE, begin, words, place, length) for begin in begins
                    )
        found = self._paraphrases.keys() & reference.phrases.keys()
        pairs = [(*known, phrase) for phrase in found for known in self._paraphrases[phrase]]
        for begin, length, _, phrase in sorted(pairs):
            words, places = reference.phrases[phrase]
            for place in places:
                matches[place].append(Match(PARAPHRASE, begin, length, place, words))


def count_chunks(matches: Sequence[Match]) -> int:
    """Runs of matches that are neighbours both here and there."""
    chunks, end, end_there = 0, -1, -1
    for match in matches:
        chunks += match.begin != end or match.begin_there != end_there
        end, end_there = match.begin + match.length, match.begin_there + match.length_there
    return chunks


_WORD, _CHUNK = 1 << 80, 1 << 40
"""What a word and a chunk cost, in steps of distance, of which there are always fewer."""


class _Move(NamedTuple):
    """What it means to take a match."""

    match: Match
    words: int
    """As bits."""
    words_there: int
    gain: int
    """Words that are not the same count half, and of each side only whole ones."""
    distance: int

    @classmethod
    def weigh(cls, match: Match) -> _Move:
        _, begin, length, begin_there, length_there = match
        return cls(
            match,
            ((1 << length) - 1) << begin,
            ((1 << length_there) - 1) << begin_there,
            _WORD * (2 if match.module == EXACT else length // 2 + length_there // 2),
            abs(begin - begin_there),
        )


_Chain = tuple[Match, "_Chain"] | None


class _State(NamedTuple):
    """Matches that are taken up to some word of the reference."""

    cost: int
    end: int
    """Where the last match ends in the sentence, -1 if the reference's last word has none."""
    following: int
    """The place in the reference from which on matches may begin."""
    words: int
    """Those taken, as bits."""
    words_there: int
    chain: _Chain


def _resolve(matches: Sequence[Sequence[Match]], length: int) -> list[Match]:
    """Choose matches that have no word in common."""
    certain = _find_certain(matches, length)
    words = words_there = 0
    for move in certain.values():
        words |= move.words
        words_there |= move.words_there
    states = [_State(0, -1, 0, words, words_there, None)]
    get_cost = itemgetter(0)
    for place, possible in enumerate(matches):
        states.sort(key=get_cost)
        beam, states = states[:_BEAM], []
        fixed = certain.get(place)
        moves = [] if fixed is not None else [_Move.weigh(match) for match in possible]
        for state in beam:
            cost, end, following, words, words_there, chain = state
            if place < following:
                states.append(state)
                continue
            if fixed is not None:
                states.append(_take(fixed, state, cost))
                continue
            for move in moves:
                if not (words & move.words or words_there & move.words_there):
                    states.append(_take(move, state, cost))
                    # A match's distance counts against what is chosen instead of it.
                    cost += move.distance
            if end != -1:
                cost += _CHUNK
            states.append(_State(cost, -1, place + 1, words, words_there, chain))
    states.sort(key=get_cost)
    best = min(states[:_BEAM], key=lambda state: state.cost + (_CHUNK if state.end != -1 else 0))
    return _unchain(best.chain)


def _take(move: _Move, state: _State, cost: int) -> _State:
    match = move.match
    if state.end not in (-1, match.begin):
        cost += _CHUNK
    return _State(
        cost - move.gain,
        match.begin + match.length,
        match.begin_there + match.length_there,
        state.words | move.words,
        state.words_there | move.words_there,
        (match, state.chain),
    )


def _find_certain(matches: Sequence[Sequence[Match]], length: int) -> dict[int, _Move]:
    """Matches of words that have no other, by their places in the reference."""
    covered, covered_there = [0] * length, [0] * len(matches)
    for possible in matches:
        for _, begin, words, begin_there, words_there in possible:
            for place in range(begin, begin + words):
                covered[place] += 1
            for place in range(begin_there, begin_there + words_there):
                covered_there[place] += 1
    certain = {}
    for place, possible in enumerate(matches):
        if len(possible) == 1:
            _, begin, words, _, words_there = possible[0]
            there = covered_there[place : place + words_there]
            if max(*covered[begin : begin + words], *there) == 1:
                certain[place] = _Move.weigh(possible[0])
    return certain


def _unchain(chain: _Chain) -> list[Match]:
    matches = []
    while chain is not None:
        match, chain = chain
        matches.append(match)
    return matches[::-1]
