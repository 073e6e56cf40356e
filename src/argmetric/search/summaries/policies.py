"""Policies that choose the next piece of a summary, and how they are learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from argmetric._ground.types import AnyArray, Floats
from argmetric.search.summaries.growth import (
    Chooser,
    Growth,
    best_of,
    best_path,
    gain_per_unit,
)
from argmetric.search.summaries.material import Material, recall_steps
from argmetric.search.summaries.pieces import ATTRIBUTIONS, FIRST_PERSON, PRONOUNS
from argmetric.search.summaries.weights import Linear, RidgeSums, Shares, Weights

_BESIDE = 0.1  # what a gram counts that the query is not about, where others count 1
_TOKEN_SHARE = 0.3  # what a token counts where a pair counts 1
N_VALUES = 4
_NEARLY_FULL = 0.08  # of the budget is left
Start = Callable[[Material, Floats], Growth]
_MOST_BEST = 150  # pieces that count as much as all others of a state
_PENALTY = 1000.0
_PERCENT = 100.0


class ByFrequency:
    """Pairs and tokens that several documents have, each counted once.

    Of one document, what its lead says counts as if one more sentence said it. With a
    query, what sentences with its words say counts, were it said once, and little else.
    The gain of a step is what it covers, as a share of all that there is to cover.
    """

    def chooser(self, material: Material) -> Chooser:
        """Score new pairs and tokens by their number of documents, per cost."""
        found = frequency_of_pairs(material)
        n_types = len(material.grams.types)
        tokens = material.grams.documents + material.grams.in_lead
        tokens *= (tokens >= 2) | (material.relevance >= 0.5)
        found[:n_types] = (_TOKEN_SHARE * tokens * material.is_content)[:n_types]
        if material.query is not None:
            found *= _BESIDE + material.relevance
        return Chooser((found / max(found.sum(), 1.0))[None, :, None], gain_per_unit)


def frequency_of_pairs(material: Material) -> Floats:
    """Return the number of documents of each pair, 0 for one or for function words.

    Of one document, its sentences are counted, and the lead as one more.
    """
    grams, stop = material.grams, material.is_stop_word
    found = grams.documents.astype(np.float64)
    found[: len(stop)] = 0.0
    found[len(stop) :][stop[grams.lefts] & stop[grams.rights]] = 0.0
    several = np.where((found >= 2.0) | (material.relevance >= 0.5), found, 0.0)
    if not several.any():  # documents that have nothing in common
        several = found
    return np.where(grams.in_lead & (found > 0.0), found + 1.0, several)


@dataclass(frozen=True, eq=False)
class ByWeights:
    """Policy that adds pairs of words by their expected recall, each counted once."""

    weights: Weights

    def chooser(self, material: Material) -> Chooser:
        """Score new pairs by their weights, per cost; tokens alone have none."""
        found = self.weights.predict_recall(material)
        found[: len(material.grams.types)] = 0.0
        return Chooser(found[None, :, None], gain_per_unit)


class ByReferences:
    """Oracle that maximises ROUGE-2 recall, averaged over the references."""

    def chooser(self, material: Material) -> Chooser:
        """Score pieces by their gain in recall, per cost."""
        steps = recall_steps(material.grams, material.references)
        return Chooser(steps, gain_per_unit)


def value_steps(material: Material, weights: Weights, own: Shares | None) -> Floats:
    """Return values of grams: learned weights of pairs and tokens, and frequencies."""
    grams = material.grams
    n_types = len(grams.types)
    is_token = np.arange(len(grams)) < n_types
    learned = weights.predict_recall(material, own)
    shares = grams.documents / grams.n_documents
    return np.stack(
        [
            np.where(is_token, 0.0, learned),
            learned * material.is_content,
            frequency_of_pairs(material) / grams.n_documents,
            shares * (grams.documents >= 2) * material.is_content,
        ]
    )[:, :, None]


def fixed_features(material: Material) -> Floats:
    """Return the features of each piece that do not change while a summary grows."""
    cluster, pieces, grams = material.cluster, material.pieces, material.grams
    sentence = pieces.sentences
    document = cluster.sentence_documents
    size = np.diff(pieces.starts)
    length = np.diff(cluster.sentence_starts)
    position = np.arange(cluster.n_sentences) - cluster.document_starts[document]
    of_document = np.bincount(document, length)[document]
    place = position[sentence]

    def words_with(known: frozenset[str]) -> Floats:
        tokens = np.array([t in known for t in grams.types], dtype=np.float64)
        sums = np.append(0.0, np.cumsum(tokens[grams.tokens]))
        return _per_piece(np.diff(sums[grams.places]) > 0, material)

    def words_of(marks: str) -> Floats:
        text = np.array(cluster.words, dtype=str)
        found = [np.char.find(text, mark) >= 0 for mark in marks]
        return _per_piece(np.logical_or.reduce(found), material)

    columns = [
        place == 0,
        np.minimum(place, 5),
        1.0 / (1.0 + place),
        np.log(length[sentence]),
        np.log(of_document[sentence]),
        words_with(FIRST_PERSON) / size,
        words_with(PRONOUNS) / size,
        words_of('"“”') > 0,
        words_of("!?") > 0,
        words_with(ATTRIBUTIONS) > 0,
        size / length[sentence],
        size == length[sentence],
        _per_piece(np.diff(grams.places), material) / size,
    ]
    if material.query is not None:
        sums = np.append(0.0, np.cumsum(material.relevance[grams.tokens]))
        columns += [
            _per_piece(np.diff(sums[grams.places]), material) / size,
            words_with(asked := frozenset(np.array(grams.types)[material.in_query]))
            > 0,
            words_with(asked) / size,
        ]
    return np.stack([np.asarray(x, dtype=np.float64) for x in columns], axis=1)


def _per_piece(of_words: AnyArray, material: Material) -> Floats:
    pieces = material.pieces
    return np.add.reduceat(
        of_words[pieces.words].astype(np.float64), pieces.starts[:-1]
    )


def features(growth: Growth, fixed: Floats) -> Floats:
    """Return the features of each piece in the current state, one row each.

    The first values of the growth are those of `value_steps`.
    """
    cluster, pieces = growth.material.cluster, growth.material.pieces
    limit, sentence = growth.budget.room, pieces.sentences
    size = np.where(growth.sizes > 0.0, growth.sizes, 1.0)
    left = (growth.room - size) / limit
    kept = growth.kept_words
    document = cluster.sentence_documents
    of_document = np.bincount(document, kept)[document]
    follows = np.append(False, (kept[:-1] > 0) & (np.diff(document) == 0))
    grown = (kept > 0)[sentence]
    used = growth.used_size / limit
    rates = limit * growth.values[:, :N_VALUES] / size[:, None]
    first = rates[:, 0]
    is_last = left <= _NEARLY_FULL
    same = np.ones(len(pieces))
    moving = [
        np.log(size / limit), size / limit, left, is_last, grown,
        (of_document > 0)[sentence], follows[sentence], used * same,
        (used == 0.0) * same, *rates.T,
        first * np.log(size / limit), first * grown, first * used, first * is_last,
        first * rates[:, 1], first**2, rates[:, 1] ** 2, first * rates[:, 2],
        first * rates[:, 3],
    ]  # fmt: skip
    columns = np.stack([np.asarray(x, dtype=np.float64) for x in moving], axis=1)
    return np.concatenate(
        [columns, fixed, fixed * first[:, None], fixed[:, :6] * (used == 0.0)], axis=1
    )


@dataclass(frozen=True, eq=False)
class ByStates:
    """Weights of pairs, corrected by a linear function of features of the state."""

    weights: Weights
    linear: Linear

    def rates(self, growth: Growth, rows: Floats) -> Floats:
        """Return the expected recall of pieces, in percent of the budget."""
        return _by_weights(growth) + self.linear.predict(rows)

    def chooser(self, material: Material) -> Chooser:
        """Score pieces by their expected recall, per cost."""
        fixed = fixed_features(material)

        def scores(growth: Growth) -> Floats:
            found = self.rates(growth, features(growth, fixed))
            return found / (_PERCENT * growth.budget.room)

        return Chooser(value_steps(material, self.weights, None), scores)


@dataclass(frozen=True, eq=False)
class Lesson:
    """A cluster to learn from."""

    material: Material
    # values of grams by what *other* clusters say, and behind them recall itself
    steps: Floats
    fixed: Floats  # fixed features of the pieces


def lesson_steps(material: Material, own: Shares, weights: Weights) -> Floats:
    """Return values of grams learned from other clusters, and recall itself."""
    values = value_steps(material, weights, own)
    recall = ByReferences().chooser(material).steps
    steps = np.zeros((len(values) + 1, *recall.shape[1:]))
    steps[:-1, :, :1] = values
    steps[-1] = recall
    return steps


@dataclass(frozen=True)
class SummaryIteration:
    """Quantities of the theory of SEARN, on the training clusters."""

    iteration: int  # 0 is the initial policy
    # of the policy: 1 - ROUGE-2 recall, averaged over references and clusters
    loss: float
    # mean cost of its choices: the recall that the best piece would have brought more,
    # were the whole budget spent at that rate
    regret: float
    steps: float  # mean number of choices in a summary

    def __str__(self) -> str:
        what = f"iteration {self.iteration}" if self.iteration else "initial"
        return (
            f"{what} policy: loss {self.loss:.4f}, regret {self.regret:.4f}, "
            f"{self.steps:.1f} steps"
        )


class StepTally:
    """Sums over the choices of a policy; `asked` counts those with a known regret."""

    def __init__(self) -> None:
        self.recall = self.regret = 0.0
        self.steps = self.asked = 0

    def row(self, iteration: int, n_clusters: int) -> SummaryIteration:
        """Return a row of the history: 1 - mean recall, mean regret and steps."""
        return SummaryIteration(
            iteration,
            1.0 - self.recall / n_clusters,
            self.regret / max(self.asked, 1),
            self.steps / n_clusters,
        )


def learn_dagger(
    lessons: Sequence[Lesson],
    weights: Weights,
    start: Start,
    *,
    iterations: int,
    beam: int,
) -> Iterator[tuple[SummaryIteration, ByStates]]:
    """Learn from the states of the policies so far, those of the initial one first.

    Yields a row and the policy learned so far for each policy whose states were
    visited: the initial one, then the learned ones. The last policy is only measured.
    """
    sums: RidgeSums | None = None
    policy: ByStates | None = None
    for iteration in range(iterations + 1):
        tally = StepTally()
        for lesson in lessons:
            growth = start(lesson.material, lesson.steps)
            if policy is None:
                only = start(lesson.material, lesson.steps[-1:])
                path = iter(best_path(only, beam))
            while growth.measure():
                rows = features(growth, lesson.fixed)
                if sums is None:
                    sums = RidgeSums(rows.shape[1])
                sizes = np.where(growth.sizes > 0.0, growth.sizes, 1.0)
                recall = growth.values[:, -1]
                rates = _PERCENT * growth.budget.room * recall / sizes
                if policy is None:
                    piece = next(path, best_of(rates, growth))
                else:
                    piece = best_of(policy.rates(growth, rows), growth)
                if iteration < iterations:
                    can = np.flatnonzero(growth.sizes > 0.0)
                    missed = (rates - _by_weights(growth))[can]
                    sums.add(rows[can], missed, _weights(rates[can]))
                best = rates[best_of(rates, growth)]
                tally.regret += float(best - rates[piece]) / _PERCENT
                tally.recall += float(recall[piece])
                tally.steps += 1
                tally.asked += 1
                growth.take(piece, 0.0)
        if sums is None:
            raise ValueError("no sentence of the clusters fits the budget")
        if policy is None or iteration < iterations:
            policy = ByStates(weights, sums.fit(_PENALTY))
        yield tally.row(iteration, len(lessons)), policy


def _by_weights(growth: Growth) -> Floats:
    """Return rates by the first of the values, the learned weights."""
    return _PERCENT * growth.budget.room * gain_per_unit(growth)


def _weights(rates: Floats) -> Floats:
    """Return training weights of the pieces of a state: half goes to the best.

    Up to twice `_MOST_BEST` pieces all weigh the same. Of more, nearly all bring next
    to nothing, and would be all that is learned.
    """
    n_best = min(_MOST_BEST, len(rates) // 2)
    weights = np.full(len(rates), (0.5 if n_best else 1.0) / (len(rates) - n_best))
    if n_best:
        weights[np.argpartition(-rates, n_best)[:n_best]] = 0.5 / n_best
    return weights
