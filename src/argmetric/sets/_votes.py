"""Choose the items named by a minimum share of the samples, tuned on known answers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import Metric
from argmetric.sets._samples import Samples

DIGITS = 9  # digits of a vote share: sums of equal weights differ by rounding
MOST_SHARES = 100  # vote shares to try
FOLDS = 5  # folds of the questions, each scored by a share tuned on the others


def item_questions(data: Samples) -> Integers:
    """Return the question of each item, of shape (n_items,)."""
    return np.repeat(np.arange(data.n), np.diff(data.firsts))


def vote_shares(data: Samples) -> Floats:
    """Return the total weight of the samples that name each item, shape (n_items,)."""
    question = np.repeat(np.arange(data.n), data.counts)
    sample = np.repeat(np.arange(question.size), np.diff(data.ends))
    places = data.firsts[question[sample]] + data.items
    shares = np.bincount(places, data.weights[sample], data.codes.size)
    return np.asarray(shares.round(DIGITS))


def vote_items(data: Samples, least: Floats, most: int) -> Floats:
    """Mark the items with vote shares of at least `least`, up to `most` per question.

    If more items qualify, those with the largest shares are taken; of equal ones, those
    that sort first.

    Parameters
    ----------
    least : ndarray of shape (n_questions,)
        Minimum vote share in each question.
    most : int
        Maximum number of items of a set.

    Returns
    -------
    ndarray of shape (n_items,)
        1 for items that are taken.
    """
    owner, shares = item_questions(data), vote_shares(data)
    chosen = shares >= least[owner]
    order = np.lexsort((-shares, owner))  # stable: items lie in sorted order
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size) - data.firsts[owner]
    return np.asarray(chosen & (rank < most), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class KnownAnswers:
    """Questions with their samples and their true sets."""

    data: Samples
    is_true: Booleans  #: (n_items,): whether the item is in the true set
    sizes: Floats  #: (n_questions,): size of the true set, with items never sampled
    metric: Metric

    @classmethod
    def from_sets(
        cls, data: Samples, true: list[frozenset[object]], metric: Metric
    ) -> KnownAnswers:
        """Mark which sampled items are in the true set of their question."""
        names = data.names[data.codes].tolist()
        pairs = zip(names, item_questions(data).tolist(), strict=True)
        is_true = np.fromiter((x in true[q] for x, q in pairs), bool, len(names))
        return cls(data, is_true, np.array([len(one) for one in true], float), metric)

    def scores(self, chosen: Floats) -> Floats:
        """Return the actual score of the chosen items of each question."""
        owner, n = item_questions(self.data), self.data.n
        hits = np.bincount(owner, chosen * self.is_true, n)
        k = np.bincount(owner, chosen, n)
        size = np.maximum(k + self.sizes, 1.0)
        return np.asarray(self.metric.value(hits, k, self.sizes, size))

    def tune_votes(self, most: int) -> tuple[float, Floats]:
        """Find the minimum vote share with the highest mean score.

        Returns
        -------
        share : float
            The share tuned on all questions; inf if empty sets score most.
        out_of_fold : ndarray of shape (n_questions,)
            The share for each question, tuned on the other folds.
        """
        grid = self._grid()
        ones = np.ones(self.data.n)
        scores = np.array(
            [self.scores(vote_items(self.data, least * ones, most)) for least in grid]
        )
        fold = np.arange(self.data.n) % FOLDS
        out_of_fold = np.empty(self.data.n)
        for part in range(FOLDS):
            others = scores[:, fold != part].mean(axis=1)
            out_of_fold[fold == part] = grid[int(np.argmax(others))]
        return float(grid[int(np.argmax(scores.mean(axis=1)))]), out_of_fold

    def _grid(self) -> Floats:
        """Return thresholds on vote shares to try: 0, midpoints, and infinity.

        Midpoints also suit questions with other numbers of samples. The first share
        takes all items, the last none.
        """
        known = np.unique(vote_shares(self.data))
        if known.size > MOST_SHARES:
            places = np.linspace(0, known.size - 1, MOST_SHARES).round().astype(int)
            known = known[places]
        return np.concatenate(([0.0], (known[1:] + known[:-1]) / 2.0, [math.inf]))
