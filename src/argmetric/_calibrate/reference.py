"""A labelled reference: checked labels, scores and weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from argmetric._ground.discrete import dot
from argmetric._ground.groups import narrow_integers
from argmetric._ground.label_words import one_class
from argmetric._ground.labels import Labels, binary_labels
from argmetric._ground.odds import can_pack, expit, logit, logit_of, sort_labelled
from argmetric._ground.types import ArrayLike, Booleans, Floats, Integers, Label
from argmetric._ground.validation import (
    Probabilities,
    check_weight,
    is_sparse,
    read_scores,
    refuse_two_classes,
)

MAX_LOG_ODDS = 36.7  # log-odds of the double next to 1
MAX_RARITY = 100.0  # times less likely than the usual row of its class
MIN_ROWS = 100  # rows that a reference counts as at least when scores are kept from 0


class Axis(NamedTuple):
    """Finite log-odds of rows, and where scores of 0 and 1 stand if there are any."""

    x: Floats
    ends: tuple[float, float] | None


@dataclass(frozen=True)
class Reference:
    """Labels with scores, flat."""

    scores: Floats  # probabilities or log-odds, before calibration
    y: Booleans  # whether the row is positive
    weight: Floats | None  # weights; None: all 1
    logits: bool  # what the scores are
    rises: bool = False  # whether no score is below the one before it
    # Log-odds of the scores, where they have been computed
    known_odds: Floats | None = None
    # Where a score is the mean of several rows: how many, the sum of their squared
    # weights, and the lowest and the highest of their scores
    rows: Integers | None = None
    squares: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None

    @cached_property
    def reach(self) -> float | None:
        """Return the largest |log-odds| that scores stand for; None: no bound.

        A score of 0 or 1 is neither certain nor 37 units of log-odds away. It stands at
        half the least distance from 0 or 1 that another score has, and never nearer
        than 1/4m, as m rows cannot resolve smaller probabilities; but where the scores
        of positives themselves are that small (or of negatives that large), and so on
        another scale, only far below them. Scores that are log-odds stay as they are,
        unless some are infinite: those go as far as the largest finite one.
        """
        if self.logits:
            return largest_finite(self._ends)
        rows = max(sum(self.counts), MIN_ROWS)
        # A median score of exactly 0 or 1 is a lump, and shows no scale.
        medians = (
            self._median(self.scores, self.y),
            self._median(1 - self.scores, ~self.y),
        )
        usual = min((one for one in medians if one > 0.0), default=1.0)
        distance = np.minimum(self._ends, 1.0 - self._ends)
        least = float(distance.min(initial=0.5, where=distance > 0.0))
        nearest = max(least / 2, min(1 / (4 * rows), usual / MAX_RARITY))
        return -logit_of(nearest)

    @property
    def _ends(self) -> Floats:
        """Return the scores, or the lowest and highest score of each bin."""
        if self.low is None or self.high is None:
            return self.scores
        return np.concatenate([self.low, self.high])

    def _median(self, values: Floats, part: Booleans) -> float:
        """Return the median over rows of a class; values rise or fall with the score.

        values : ndarray of shape (n_scores,)
        part : ndarray of bool, shape (n_scores,)
        """
        values = values[part]
        last = np.arange(values.size) + 1
        if self.rows is not None:
            last = np.cumsum(self.rows[part])
        elif not self.rises:
            values = np.sort(values)
        middle = [(last[-1] - 1) // 2, last[-1] // 2]
        return float(values[np.searchsorted(last, middle, side="right")].mean())

    @property
    def odds(self) -> Floats:
        """Log-odds, infinite for scores of 0 and 1."""
        if self.known_odds is not None:
            return self.known_odds
        return self.scores if self.logits else logit(self.scores)

    def with_odds(self) -> Reference:
        """Return this reference with its log-odds computed once and kept."""
        known = self.logits or self.known_odds is not None
        return self if known else replace(self, known_odds=self.odds)

    @cached_property
    def x(self) -> Floats:
        """Log-odds within reach, finite."""
        x, reach = self.odds, self.reach
        if reach is None:
            return x
        is_own = not self.logits and self.known_odds is None
        return np.clip(x, -reach, reach, out=x if is_own else None)

    @cached_property
    def axis(self) -> Axis:
        """Return finite log-odds, with scores of 0 and 1 placed beyond all others."""
        x = self.odds
        if self.reach is None:
            return Axis(x, None)
        finite = np.isfinite(x)
        least = float(x.min(initial=0.0, where=finite))
        largest = float(x.max(initial=0.0, where=finite))
        beyond = math.log(2.0)  # half the distance from 0 or 1
        ends = min(least - beyond, -self.reach), max(largest + beyond, self.reach)
        return Axis(np.clip(x, *ends), ends)

    @cached_property
    def p(self) -> Floats:
        return expit(self.scores) if self.logits else self.scores

    @property
    def n(self) -> int:
        return int(self.y.size if self.rows is None else self.rows.sum())

    @cached_property
    def weights(self) -> Floats:
        return np.ones(self.n) if self.weight is None else self.weight

    @cached_property
    def masses(self) -> tuple[float, float]:
        """Weight of the negatives and of the positives."""
        if self.weight is None:
            return self.counts
        return dot(self.weights, ~self.y), dot(self.weights, self.y)

    @cached_property
    def largest_weight(self) -> float:
        return 1.0 if self.weight is None else float(self.weight.max())

    def relative_weights(self, part: slice) -> tuple[Floats, Floats]:
        """Return weights of some rows, and their squares, over the largest weight."""
        if self.weight is None:
            ones = np.ones(self.y[part].size)
            return ones, ones
        most = self.largest_weight
        share = self.weight[part] / most
        return share, share**2 if self.squares is None else self.squares[part] / most**2

    @cached_property
    def counts(self) -> tuple[float, float]:
        """Rows of each class that the weights stand for: see `row_count`."""
        if self.weight is None:
            positive = int(np.count_nonzero(self.y))
            return float(self.n - positive), float(positive)
        return self._row_count(~self.y), self._row_count(self.y)

    def _row_count(self, part: Booleans) -> float:
        squares = None if self.squares is None else self.squares[part]
        return row_count(self.weights[part], squares)

    @cached_property
    def weight_of_a_row(self) -> float:
        """Mean weight of a row, where the weights do not count rows; else 1."""
        if self.weight is None:
            return 1.0
        return float(self.weights.sum()) / self._row_count(np.ones_like(self.y))

    @property
    def prevalence(self) -> float:
        return self.masses[1] / sum(self.masses)

    def take(self, rows: Booleans | Integers, *, rises: bool = False) -> Reference:
        """Return some rows, or all in another order."""
        weight = None if self.weight is None else self.weight[rows]
        return Reference(self.scores[rows], self.y[rows], weight, self.logits, rises)

    def part(self, rows: Booleans) -> Reference:
        """Return some rows in their order, with their log-odds."""
        return replace(self.take(rows, rises=self.rises), known_odds=self.odds[rows])

    def rising(self) -> Reference:
        """Return the rows by rising score."""
        if self.rises:
            return self
        if self.weight is None and can_pack(self.scores):
            scores, y = sort_labelled(self.scores, self.y)
            return Reference(scores, y, None, self.logits, rises=True)
        return self.in_order()[0]

    def in_order(self) -> tuple[Reference, Integers]:
        """Return the rows by rising score, and the original index of each."""
        # The order of rows that are equal but for the label changes no sum of theirs.
        kind: Literal["stable"] | None = None if self.weight is None else "stable"
        order = np.argsort(self.scores, kind=kind)
        rising = self.take(order, rises=True)
        return rising, order.astype(narrow_integers(order.size))


def row_count(weight: Floats, squares: Floats | None = None) -> float:
    """Return the number of rows that weights stand for: their sum, if they count rows.

    Weights that were scaled down, to a sum of 1 say, count (Σw)²/Σw² rows instead;
    `squares`, where weights are sums themselves, add up to Σw².
    """
    total = float(weight.sum())
    if squares is not None:
        return max(total, total * (total / float(squares.sum())))
    share = weight / weight.max()
    return max(total, float(share.sum()) ** 2 / dot(share, share))


def largest_finite(scores: Floats) -> float | None:
    """Return the largest finite |log-odds| if some are infinite, else None."""
    finite = np.isfinite(scores)
    if finite.all():
        return None
    return float(np.abs(scores[finite]).max(initial=MAX_LOG_ODDS))


def check_reference(
    y: ArrayLike,
    p: ArrayLike | Probabilities,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    *,
    logits: bool,
) -> Reference:
    """Check labels and scores; drop rows of weight 0, refuse one class or one score."""
    scores = check_score_array(p, logits=logits)
    refuse_two_classes(scores, "p")
    labels = binary_labels(y, pos_label, both=True, shape=scores.shape)
    positive = labels.positive.ravel()
    weight = check_weight(sample_weight, scores.shape)
    reference = Reference(scores.ravel(), positive, None, logits)
    if weight is not None:
        reference = replace(reference, weight=weight.ravel())
        part = weight.ravel() > 0
        if not part.all():
            reference = reference.take(part)
    refuse_useless(reference, labels)
    return reference


def refuse_useless(reference: Reference, labels: Labels) -> None:
    """Refuse weights that leave no row, or one class, and scores that are equal."""
    if reference.n == 0:
        raise ValueError("all weights are 0: there is nothing to calibrate on")
    if reference.y.all() or not reference.y.any():
        label = labels.pos_label if reference.y.all() else labels.neg_label
        raise one_class(label, "y", "label of positive weight")
    low = float(reference.scores.min())
    if low == float(reference.scores.max()):
        raise ValueError(
            f"all {reference.n:,} scores are equal ({low:g}): they carry nothing about "
            f"the labels, {reference.prevalence:.4g} of which are positive"
        )


def check_score_array(p: ArrayLike | Probabilities, *, logits: bool) -> Floats:
    """Return scores in one or two dimensions, none missing."""
    if is_sparse(p):
        raise TypeError(
            "p must be dense here: pass the explicit cells and their labels as vectors"
        )
    scores = read_scores(p, "p", logits=logits)
    if scores.ndim not in (1, 2):
        raise ValueError(f"p must have one or two dimensions, not {scores.ndim}")
    if scores.size == 0:
        raise ValueError("p is empty: there is nothing to calibrate on")
    return scores
