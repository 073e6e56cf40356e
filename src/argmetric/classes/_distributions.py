"""Laws of the score of given labels: on the values that the metric can take.

The law of a few rows is a sum over all truths, and that of accuracy a law of a count.
Other truths are drawn. Where the mean is known exactly, drawn scores v are weighed by
e^(θ·v), so that their mean is that one: they are never moved.

With a map that may be wrong the expected score is normal about that of the fitted map.
For every quantile of it the odds that labels are right are moved until the expected
score is there, and truths are drawn from these odds.
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
BLOCK = 2048  # rows whose law of a count grows at once
LEVELS = 64  # quantiles of the expected score over maps
STEPS = np.geomspace(0.02, 40.0, 20)  # of the log-odds, to find those of a level
NEWTON, SETTLED = 50, 1e-13  # most steps for the weights, and when they are right


class Law(NamedTuple):
    """Values in ascending order with their probabilities; 0 draws if it is exact."""

    values: Floats
    probabilities: Floats
    draws: int = 0

    @property
    def mean(self) -> float:
        return dot(self.values, self.probabilities)

    @property
    def std(self) -> float:
        away = self.values - self.mean
        return math.sqrt(max(dot(away * away, self.probabilities), 0.0))

    def mean_error(self, metric: ClassMetric) -> float:
        """Standard error of the mean of draws, as if one more were a range away.

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


def exact_law(rows: GroupRows, metric: ClassMetric, labels: Integers) -> Law | None:
    """The law itself where it is cheap: accuracy, and rows with few truths."""
    even = (rows.sizes == rows.sizes[0]).all()
    if isinstance(metric, ClassGain) and metric.matrix is None and even:
        low, law = law_of_hits(rows.p[np.arange(labels.size), labels])
        return Law((low + np.arange(law.size)) / labels.size, law / law.sum())
    # The law by all truths; None where there are too many.
    from argmetric.classes.kernels.draws import all_tables

    count = rows.p.shape[1]
    possible = np.count_nonzero(rows.p, axis=1).astype(np.float64)
    with np.errstate(over="ignore"):
        truths = np.multiply.reduceat(possible, rows.starts[:-1])
    if not plan.sums_truths(truths.sum(), count, isinstance(metric, ClassFunction)):
        return None
    values, chances = np.zeros(1), np.ones(1)
    for first, last, size in zip(
        rows.starts[:-1], rows.starts[1:], truths.astype(np.int64), strict=True
    ):
        tables, weights = np.zeros((size, count, count)), np.empty(size)
        all_tables(rows.p, first, last, labels, tables, weights)
        scores = metric.score(tables)
        there = ~np.isnan(scores)
        if not there.all() and rows.n_groups > 1:
            return None  # the mean is over the groups that are defined
        scores, weights = distinct(scores[there], weights[there])
        if not plan.sums_groups(values.size * scores.size):
            return None
        values, chances = distinct(
            np.add.outer(values, scores).ravel(), np.outer(chances, weights).ravel()
        )
    return Law(values / rows.n_groups, chances / max(chances.sum(), 1e-300))


def law_of_hits(chance: Floats) -> tuple[int, Floats]:
    """Law of the number of labels that are right: the first count, and the masses."""
    from argmetric._ground.jit.pmfs import PAD
    from argmetric.classes.kernels.exact import TOLERANCE, count_law

    laws = []
    for first in range(0, chance.size, BLOCK):
        one = np.ascontiguousarray(chance[first : first + BLOCK])
        law, spare = np.empty((2, one.size + 2 * PAD + 3))
        low, length = count_law(one, 1.0 - one, law, spare)
        laws.append((low, law[PAD : PAD + length]))
    while len(laws) > 1:
        pairs = []
        for (a, u), (b, v) in zip(laws[::2], laws[1::2], strict=False):
            both = np.convolve(u, v)
            kept = np.flatnonzero(both > TOLERANCE)
            pairs.append((a + b + int(kept[0]), both[kept[0] : kept[-1] + 1]))
        laws = pairs + laws[2 * len(pairs) :]
    return laws[0]


def drawn_law(
    rows: GroupRows,
    metric: ClassMetric,
    labels: Integers,
    seed: int,
    mean: float | None,
) -> Law:
    """The law by drawn truths, weighed to the mean where it is known."""
    function = isinstance(metric, ClassFunction)
    draws = plan.class_draws(labels.size, rows.p.shape[1], rows.n_groups, function)
    return weighed(drawn_scores(rows, metric, labels, seed, draws), mean)


def weighed(scores: Floats, mean: float | None) -> Law:
    """Drawn scores where they are defined, each as likely as the mean asks."""
    scores = scores[~np.isnan(scores)]
    weights = np.full(scores.size, 1.0 / max(scores.size, 1))
    if mean is not None:
        weights = tilted(scores, weights, mean)
    return Law(*distinct(scores, weights), scores.size)


def tilted(values: Floats, weights: Floats, mean: float) -> Floats:
    """Weights times e^(θ·value) whose mean is this one; as they are out of its reach.

    θ = 0 is the least of log Σ w·e^(θ(v - mean)) if the mean is right already, and
    Newton's steps find it otherwise: the function is convex.
    """
    if not values.size or not values.min() < mean < values.max():
        return weights
    away = values - mean
    away /= math.sqrt(dot(away * away, weights))
    theta, found = 0.0, weights
    for _ in range(NEWTON):
        powers = theta * away
        found = weights * np.exp(powers - powers.max())
        found /= found.sum()
        slope = dot(away, found)
        if abs(slope) < SETTLED:
            break
        curve = dot(away * away, found) - slope * slope
        theta -= min(max(slope / max(curve, 1e-300), -1.0), 1.0)
    return found


def law_over_maps(
    rows: GroupRows,
    metric: ClassMetric,
    labels: Integers,
    seed: int,
    mean: float,
    spread: float,
) -> Law:
    """The law if the expected score is normal about `mean` with this deviation."""
    from scipy.special import ndtri

    from argmetric.classes.kernels.draws import add_expected

    # How the log-odds of true classes (rows) move in rows of a label (columns): costs,
    # disagreements and slopes say it themselves; otherwise it is those of the label.
    count = rows.p.shape[1]
    if isinstance(metric, ClassGain):
        found = metric.gains(count)
    elif isinstance(metric, ClassAgreement):
        found = -metric.disagreement(count)
    elif isinstance(metric, ClassFunction):
        found = slopes_of(metric, expected_table(rows.p, labels))
    else:
        found = np.eye(count)
    found = found - found.max(axis=0)
    slopes = np.asarray(found / max(-float(found.min()), 1e-300))
    ladder = np.concatenate([-STEPS[::-1], [0.0], STEPS])
    # The metric of the expected counts at every level: the mean over groups.
    factors, means = _factors(ladder, slopes), []
    for first, last in zip(rows.starts[:-1], rows.starts[1:], strict=True):
        tables = np.zeros_like(factors)
        add_expected(rows.p, first, last, labels, factors, tables)
        means.append(metric.score(tables))
    reached = np.asarray(np.nan_to_num(np.mean(means, axis=0)))
    reached -= reached[STEPS.size]
    reached[STEPS.size :] = np.maximum.accumulate(reached[STEPS.size :])
    below = reached[STEPS.size :: -1]
    reached[STEPS.size :: -1] = np.minimum.accumulate(below)
    wanted = spread * ndtri((np.arange(LEVELS) + 0.5) / LEVELS)
    moves = np.interp(wanted, reached, ladder)
    function = isinstance(metric, ClassFunction)
    draws = plan.class_draws(labels.size, rows.p.shape[1], rows.n_groups, function)
    factors = _factors(moves, slopes)
    scores = drawn_scores(rows, metric, labels, seed, draws, factors)
    gained = float(np.interp(moves, ladder, reached).mean())
    return weighed(scores, mean + gained)


def _factors(moves: Floats, slopes: Floats) -> Floats:
    return np.exp(moves[:, None, None] * slopes)


def drawn_scores(
    rows: GroupRows,
    metric: ClassMetric,
    labels: Integers,
    seed: int,
    draws: int,
    factors: Floats | None = None,
) -> Floats:
    """Scores of the labels against drawn truths: means over the groups."""
    from argmetric.classes.kernels.draws import draw_tables

    count = rows.p.shape[1]
    if factors is None:
        factors = np.ones((1, count, count))
    each = math.ceil(draws / len(factors))
    draws = each * len(factors)
    total, defined = np.zeros(draws), np.zeros(draws)
    tables = np.empty((len(factors), each, count, count))
    every_row = plan.draws_every_row(rows.p.shape[0])
    rng = np.random.default_rng(seed)
    state = rng.integers(2**63, size=1).astype(np.uint64)
    for first, last in zip(rows.starts[:-1], rows.starts[1:], strict=True):
        tables[:] = 0.0
        if every_row:
            draw_tables(rows.p, first, last, labels, factors, state, tables)
        else:
            part = slice(first, last)
            _draw_counts(rows.p[part], labels[part], factors, rng, state, tables)
        scores = metric.score(tables.reshape(draws, count, count))
        there = ~np.isnan(scores)
        total += np.where(there, scores, 0.0)
        defined += there
    return np.where(defined > 0, total / np.maximum(defined, 1), math.nan)


def _draw_counts(
    p: Floats,
    labels: Integers,
    factors: Floats,
    rng: np.random.Generator,
    state: Hashes,
    tables: Floats,
) -> None:
    """Counts of many rows: normal with the mean and the covariance of drawn ones.

    The few rows of a small cell are a binomial count of the same mean and variance.
    Counts are whole, and those of a label add up to its rows: the largest makes up for
    the rest. Levels differ in their means alone.
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
        drawn = means[:, None, :, c] + rng.multivariate_normal(
            np.zeros(count), covariance, (levels, each), check_valid="ignore"
        )
        few = np.flatnonzero((mean > 0.0) & (mean < FEW))
        share = np.maximum(1.0 - np.diagonal(covariance)[few] / mean[few], 1e-9)
        trials = np.maximum(np.round(mean[few] / share), 1.0)
        share = np.minimum(means[:, None, few, c] / trials, 1.0)
        size = levels, each, few.size
        drawn[:, :, few] = rng.binomial(trials.astype(np.int64), share, size)
        drawn = np.maximum(np.rint(drawn), 0.0)
        largest = drawn.argmax(axis=2)[:, :, None]
        rest = own.shape[0] - drawn.sum(axis=2, keepdims=True)
        grown = np.take_along_axis(drawn, largest, axis=2) + rest
        np.put_along_axis(drawn, largest, np.maximum(grown, 0.0), axis=2)
        tables[:, :, :, c] = drawn
