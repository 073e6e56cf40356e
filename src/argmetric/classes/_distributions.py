"""Distributions of the score of given labels: on the values that the metric can take.

That of a few rows is a sum over all true labels, and that of accuracy one of a count.
Otherwise true labels are drawn. Where the mean is known exactly, drawn scores v are
weighted by e^(θ·v), so that their mean is that one: they are never moved.

With a calibrator that may be wrong the expected score is normal about that of the
fitted one. For every quantile of it the odds that labels are right are multiplied until
the expected score is there, and true labels are drawn from these odds.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from argmetric._expected import plan
from argmetric._ground.discrete import central_interval, distinct, dot
from argmetric._ground.types import Floats, Hashes, Integers, Interval
from argmetric.classes._climb import GroupRows, expected_table, slopes_of
from argmetric.metrics import ClassAgreement, ClassFunction, ClassGain, ClassMetric

FEW = 30.0  # expected rows of a cell up to which its count is not drawn as normal
FEW_ROWS = 1000  # rows of a label up to which each is drawn
BLOCK = 2048  # rows by which the distribution of a count grows at once
LEVELS = 64  # quantiles of the expected score over calibrators
STEPS = np.geomspace(0.02, 40.0, 20)  # of the log-odds, to find those of a level
NEWTON, SETTLED = 50, 1e-13  # most steps for the weights, and when they are right


class MetricDistribution(NamedTuple):
    """Values in ascending order with their probabilities; 0 draws if it is exact."""

    values: Floats
    probabilities: Floats
    draws: int = 0

    @classmethod
    def from_draws(
        cls, scores: Floats, mean: float | None = None
    ) -> MetricDistribution:
        """Return the distribution of drawn scores, nan left out.

        Parameters
        ----------
        scores : ndarray of shape (n_draws,)
        mean : float, optional
            Weight the scores so that this is their mean; by default all weigh the same.
        """
        scores = scores[~np.isnan(scores)]
        weights = np.full(scores.size, 1.0 / max(scores.size, 1))
        if mean is not None:
            weights = tilt_weights(scores, weights, mean)
        return cls(*distinct(scores, weights), scores.size)

    @property
    def mean(self) -> float:
        return dot(self.values, self.probabilities)

    @property
    def std(self) -> float:
        deviations = self.values - self.mean
        return math.sqrt(max(dot(deviations * deviations, self.probabilities), 0.0))

    def mean_error(self, metric: ClassMetric) -> float:
        """Return the standard error of the mean of the draws, 0 if exact.

        Draws that are all alike may have missed a rare score. The range of a function
        is not known: it is taken from 0 to its largest value.
        """
        if not self.draws:
            return 0.0
        low, high = metric.range
        width = high - low
        if not math.isfinite(width):
            width = float(max(np.ptp(self.values), np.abs(self.values).max())) or 1.0
        root = math.sqrt(self.draws)
        return math.hypot(self.std, width / root) / root

    def interval(self, coverage: float) -> Interval:
        return central_interval(self.values, self.probabilities, coverage)


def exact_distribution(
    rows: GroupRows, metric: ClassMetric, labels: Integers
) -> MetricDistribution | None:
    """Return the distribution where it is cheap: accuracy, and few true labels.

    Parameters
    ----------
    rows : GroupRows
    metric : ClassMetric
    labels : ndarray of shape (n_rows,)
        Column of the label of each row.
    """
    even = (rows.sizes == rows.sizes[0]).all()
    if isinstance(metric, ClassGain) and metric.matrix is None and even:
        first, pmf = hit_distribution(rows.p[np.arange(labels.size), labels])
        values = (first + np.arange(pmf.size)) / labels.size
        return MetricDistribution(values, pmf / pmf.sum())
    from argmetric.classes.kernels.draws import all_tables

    count = rows.p.shape[1]
    possible = np.count_nonzero(rows.p, axis=1).astype(np.float64)
    with np.errstate(over="ignore"):
        outcomes = np.multiply.reduceat(possible, rows.starts[:-1])
    if not plan.sums_truths(outcomes.sum(), count, isinstance(metric, ClassFunction)):
        return None
    values, probabilities = np.zeros(1), np.ones(1)
    for (first, last), size in zip(rows.ends, outcomes.astype(np.int64), strict=True):
        tables, weights = np.zeros((size, count, count)), np.empty(size)
        all_tables(rows.p, first, last, labels, tables, weights)
        scores = metric.score(tables)
        defined = ~np.isnan(scores)
        if not defined.all() and rows.n_groups > 1:
            return None  # the mean is over the groups that are defined
        scores, weights = distinct(scores[defined], weights[defined])
        if not plan.sums_groups(values.size * scores.size):
            return None
        values, probabilities = distinct(
            np.add.outer(values, scores).ravel(),
            np.outer(probabilities, weights).ravel(),
        )
    total = max(probabilities.sum(), 1e-300)
    return MetricDistribution(values / rows.n_groups, probabilities / total)


def hit_distribution(p: Floats) -> tuple[int, Floats]:
    """Return the distribution of the number of labels that are right.

    Parameters
    ----------
    p : ndarray of shape (n_rows,)
        Probability that the label of the row is right.

    Returns
    -------
    first : int
        The first count with a probability.
    pmf : ndarray
        Probabilities of first, first + 1, …
    """
    from argmetric._ground.jit.pmfs import PAD
    from argmetric.classes.kernels.exact import TOLERANCE, count_distribution

    parts = []
    for start in range(0, p.size, BLOCK):
        hit = np.ascontiguousarray(p[start : start + BLOCK])
        pmf, spare = np.empty((2, hit.size + 2 * PAD + 3))
        low, length = count_distribution(hit, 1.0 - hit, pmf, spare)
        parts.append((low, pmf[PAD : PAD + length]))
    while len(parts) > 1:
        pairs = []
        for (a, u), (b, v) in zip(parts[::2], parts[1::2], strict=False):
            both = np.convolve(u, v)
            kept = np.flatnonzero(both > TOLERANCE)
            pairs.append((a + b + int(kept[0]), both[kept[0] : kept[-1] + 1]))
        parts = pairs + parts[2 * len(pairs) :]
    return parts[0]


def tilt_weights(values: Floats, weights: Floats, mean: float) -> Floats:
    """Return weights times e^(θ·value) that have this mean; unchanged out of its reach.

    θ = 0 is the least of log Σ w·e^(θ(v - mean)) if the mean is right already, and
    Newton's steps find it otherwise: the function is convex.

    Parameters
    ----------
    values, weights : ndarray of shape (n_values,)
    mean : float
    """
    if not values.size or not values.min() < mean < values.max():
        return weights
    deviations = values - mean
    deviations /= math.sqrt(dot(deviations * deviations, weights))
    theta, tilted = 0.0, weights
    for _ in range(NEWTON):
        powers = theta * deviations
        tilted = weights * np.exp(powers - powers.max())
        tilted /= tilted.sum()
        slope = dot(deviations, tilted)
        if abs(slope) < SETTLED:
            break
        curve = dot(deviations * deviations, tilted) - slope * slope
        theta -= min(max(slope / max(curve, 1e-300), -1.0), 1.0)
    return tilted


def distribution_over_calibrators(
    rows: GroupRows,
    metric: ClassMetric,
    labels: Integers,
    *,
    seed: int,
    mean: float,
    std: float,
) -> MetricDistribution:
    """Return the distribution if the expected score is normal with this mean and std.

    Parameters
    ----------
    rows : GroupRows
    metric : ClassMetric
    labels : ndarray of shape (n_rows,)
    seed : int
    mean, std : float
        Mean and standard deviation of the expected score over calibrators.
    """
    from scipy.special import ndtri

    # How the log-odds of true classes (rows) move in rows of a label (columns): costs,
    # disagreements and slopes say it themselves; otherwise it is those of the label.
    count = rows.p.shape[1]
    if isinstance(metric, ClassGain):
        slopes = metric.gains(count)
    elif isinstance(metric, ClassAgreement):
        slopes = -metric.disagreement(count)
    elif isinstance(metric, ClassFunction):
        slopes = slopes_of(metric, expected_table(rows.p, labels))
    else:
        slopes = np.eye(count)
    slopes = slopes - slopes.max(axis=0)
    slopes = np.asarray(slopes / max(-float(slopes.min()), 1e-300))
    ladder = np.concatenate([-STEPS[::-1], [0.0], STEPS])
    factors = np.exp(ladder[:, None, None] * slopes)
    change = score_expected(rows, metric, labels, factors)
    change -= change[STEPS.size]
    change[STEPS.size :] = np.maximum.accumulate(change[STEPS.size :])
    below = change[STEPS.size :: -1]
    change[STEPS.size :: -1] = np.minimum.accumulate(below)
    quantiles = std * ndtri((np.arange(LEVELS) + 0.5) / LEVELS)
    moves = np.interp(quantiles, change, ladder)
    factors = np.exp(moves[:, None, None] * slopes)
    scores = draw_scores(rows, metric, labels, seed=seed, factors=factors)
    mean_change = float(np.interp(moves, ladder, change).mean())
    return MetricDistribution.from_draws(scores, mean + mean_change)


def score_expected(
    rows: GroupRows, metric: ClassMetric, labels: Integers, factors: Floats
) -> Floats:
    """Return the metric of the expected counts at every level: the mean over groups.

    Parameters
    ----------
    rows : GroupRows
    metric : ClassMetric
    labels : ndarray of shape (n_rows,)
    factors : ndarray of shape (n_levels, n_classes, n_classes)
        As for `draw_scores`.

    Returns
    -------
    ndarray of shape (n_levels,)
        0 where it is undefined.
    """
    from argmetric.classes.kernels.draws import add_expected

    means = []
    for first, last in rows.ends:
        tables = np.zeros_like(factors)
        add_expected(rows.p, first, last, labels, factors, tables)
        means.append(metric.score(tables))
    return np.asarray(np.nan_to_num(np.mean(means, axis=0)))


def draw_scores(
    rows: GroupRows,
    metric: ClassMetric,
    labels: Integers,
    *,
    seed: int,
    n_draws: int | None = None,
    factors: Floats | None = None,
) -> Floats:
    """Return scores of the labels against drawn true labels: means over the groups.

    Parameters
    ----------
    rows : GroupRows
    metric : ClassMetric
    labels : ndarray of shape (n_rows,)
    seed : int
    n_draws : int, optional
        At least so many draws; by default as many as the time allows.
    factors : ndarray of shape (n_levels, n_classes, n_classes), optional
        Factors of the odds of a true class (rows) in rows of a label (columns): the
        draws are dealt evenly to the levels. By default the odds are those of p.

    Returns
    -------
    ndarray of shape (n_draws,)
        Level by level; nan where the score is undefined in every group.
    """
    from argmetric.classes.kernels.draws import draw_tables

    count = rows.p.shape[1]
    if n_draws is None:
        function = isinstance(metric, ClassFunction)
        n_draws = plan.class_draws(labels.size, count, rows.n_groups, function)
    if factors is None:
        factors = np.ones((1, count, count))
    each = math.ceil(n_draws / len(factors))
    n_draws = each * len(factors)
    total, defined = np.zeros(n_draws), np.zeros(n_draws)
    tables = np.empty((len(factors), each, count, count))
    every_row = plan.draws_every_row(rows.p.shape[0])
    rng = np.random.default_rng(seed)
    state = rng.integers(2**63, size=1).astype(np.uint64)
    for first, last in rows.ends:
        tables[:] = 0.0
        if every_row:
            draw_tables(rows.p, first, last, labels, factors, state, tables)
        else:
            p, own = rows.p[first:last], labels[first:last]
            _draw_counts(p, own, factors, tables, rng=rng, state=state)
        scores = metric.score(tables.reshape(n_draws, count, count))
        there = ~np.isnan(scores)
        total += np.where(there, scores, 0.0)
        defined += there
    return np.where(defined > 0, total / np.maximum(defined, 1), math.nan)


def _draw_counts(
    p: Floats,
    labels: Integers,
    factors: Floats,
    tables: Floats,
    *,
    rng: np.random.Generator,
    state: Hashes,
) -> None:
    """Draw the counts of many rows: normal, with the mean and covariance of rows.

    The few rows of a small cell are a binomial count of the same mean and variance.
    Counts are whole, and those of a label add up to its rows: the largest makes up for
    the rest. Levels differ in their means alone.

    Parameters
    ----------
    p : ndarray of shape (n_rows, n_classes)
    labels : ndarray of shape (n_rows,)
    factors : ndarray of shape (n_levels, n_classes, n_classes)
    tables : ndarray of shape (n_levels, n_draws, n_classes, n_classes)
        Written.
    state : ndarray of shape (1,)
        Seed of the generator of single rows.
    """
    from argmetric.classes.kernels.draws import add_expected, draw_tables

    levels, each, count, _ = tables.shape
    means = np.zeros((levels, count, count))
    add_expected(p, 0, labels.size, labels, factors, means)
    for c in range(count):
        own = p[labels == c]
        if own.shape[0] <= FEW_ROWS:
            same = np.full(own.shape[0], c)
            draw_tables(own, 0, same.size, same, factors, state, tables)
            continue
        mean = own.sum(axis=0)
        covariance = np.diag(mean) - own.T @ own
        counts = means[:, None, :, c] + rng.multivariate_normal(
            np.zeros(count), covariance, (levels, each), check_valid="ignore"
        )
        few = np.flatnonzero((mean > 0.0) & (mean < FEW))
        rate = np.maximum(1.0 - np.diagonal(covariance)[few] / mean[few], 1e-9)
        trials = np.maximum(np.round(mean[few] / rate), 1.0)
        rate = np.minimum(means[:, None, few, c] / trials, 1.0)
        size = levels, each, few.size
        counts[:, :, few] = rng.binomial(trials.astype(np.int64), rate, size)
        counts = np.maximum(np.rint(counts), 0.0)
        largest = counts.argmax(axis=2)[:, :, None]
        rest = own.shape[0] - counts.sum(axis=2, keepdims=True)
        grown = np.take_along_axis(counts, largest, axis=2) + rest
        np.put_along_axis(counts, largest, np.maximum(grown, 0.0), axis=2)
        tables[:, :, :, c] = counts
