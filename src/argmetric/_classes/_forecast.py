"""forecast for one label per row: the law of the score of given labels.

True classes are drawn from p and the labels scored against them. The spread of the map
and an allowance for its form are added where p was recalibrated on a reference. A
G-mean is 0 if one class has no hit, so that its allowance is made class by class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from argmetric._classes._climb import Rows
from argmetric._classes._prepare import ClassBatch, codes_of, read_call
from argmetric._classes._values import expected_metric
from argmetric._expected import plan
from argmetric._input.arguments import check_count, check_share
from argmetric._input.types import Floats, Integers
from argmetric._results.discrete import ScoreLaw
from argmetric._results.display import Lines, Result, metric_title
from argmetric._results.pictures import draw_law, drawing
from argmetric._results.saving import shown_number
from argmetric.metrics import ClassGMean, ClassMetric, MetricLike

DRAWS = 1000
FEW = 30.0  # expected rows of a cell up to which its count is not drawn as normal
ALLOWANCE = 0.02  # standard deviation for the form of a fitted map, found by coverage
# The same for one class, in units of log p: of a class with no rows in the reference;
# as many rows as halve its variance; and draws of it for every other map.
CLASS_ALLOWANCE, HALVING_ROWS, CLASS_DRAWS = 0.7, 10.0, 3


@dataclass(frozen=True, repr=False, eq=False)
class ClassForecast(Result, ScoreLaw):
    """The distribution of the score of labels, one of several classes per row.

    Attributes
    ----------
    mean : float
        Expected score.
    interval : tuple of two floats
        Central interval that contains the score with probability `coverage`.
    interval_given_map : tuple of two floats, or None
        The interval if the calibrator were exact; None without one.
    coverage : float
        Of the intervals.
    std : float
        Standard deviation of the score.
    values, probabilities : ndarray
        Drawn scores, ascending, and their probabilities.
    metric : ClassMetric
        What is forecast, with its convention for absent classes.
    classes : tuple
        The class of each column of p.
    n : int
        Number of rows.
    n_groups : int or None
        Number of groups that the score is the mean over.
    assumptions : tuple of str
        Conditions under which the forecast is valid.
    notes : tuple of str
        What was done to p.
    """

    mean: float
    interval: tuple[float, float]
    interval_given_map: tuple[float, float] | None
    coverage: float
    std: float
    values: Floats
    probabilities: Floats
    metric: ClassMetric
    classes: tuple[Any, ...]
    n: int
    n_groups: int | None
    assumptions: tuple[str, ...]
    notes: tuple[str, ...] = ()

    _check: ClassVar[str] = "calibration_check(y, p, one_label=True)"

    def _lines(self) -> Lines:
        low, high = self.interval
        told = self.metric.convention
        lines = [
            ("metric", self.metric.name + (f"; {told}" if told else "")),
            ("mean", f"{self.mean:.4f}"),
            (f"{self.coverage:.0%} interval", f"{low:.4f} to {high:.4f}"),
            ("rows", f"{self.n:,}, {len(self.classes)} classes"),
            ("assuming", "; ".join(self.assumptions)),
        ]
        if self.interval_given_map is not None:
            a, b = self.interval_given_map
            lines.insert(3, ("given the map", f"{a:.4f} to {b:.4f}"))
        if self.n_groups is not None:
            lines.insert(1, ("mean over", f"{self.n_groups:,} groups"))
        return lines

    def _notes(self) -> tuple[str, ...]:
        return self.notes

    def to_dict(self) -> dict[str, Any]:
        """Everything but the law, for JSON."""
        given = self.interval_given_map
        return {
            "metric": self.metric.name,
            "zero_division": shown_number(self.metric.zero_division),
            "convention": self.metric.convention,
            "mean": shown_number(self.mean),
            "interval": [shown_number(one) for one in self.interval],
            "interval_given_map": None if given is None else list(given),
            "coverage": self.coverage,
            "std": self.std,
            "n": self.n,
            "n_groups": self.n_groups,
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the law of the score and its interval.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        name = metric_title(self.metric.name)
        words = {"xlabel": name, "title": f"Forecast: {self.mean:.3f}"}
        with drawing(ax, (6.4, 3.8), **words) as ax:
            draw_law(ax, self, self.interval, self.coverage)
        return ax


def forecast_classes(
    p: Any,
    labels: Any,
    metric: MetricLike,
    coverage: float,
    *,
    known: Any = None,
    **how: Any,
) -> ClassForecast:
    """Forecast labels; parameters as for `forecast` with `one_label=True`."""
    batch, found = read_call(p, metric, **how)
    codes = codes_of(labels, batch.classes, batch.p.shape[0], "labels")
    return forecast_batch(batch, codes, found, coverage, known)


def forecast_batch(
    batch: ClassBatch,
    codes: Integers,
    metric: ClassMetric,
    coverage: float = 0.9,
    known: Any = None,
    random_state: int = 0,
) -> ClassForecast:
    """Forecast labels of rows that were checked."""
    coverage = check_share(coverage, "coverage")
    random_state = check_count(random_state, "random_state")
    if batch.p.shape[0] == 0:
        raise ValueError("p has no rows: there is nothing to forecast")
    truth = None
    if known is not None:
        truth = codes_of(known, batch.classes, batch.p.shape[0], "known", partial=True)
    rows = _with_known(batch, batch.p, truth)
    labels = batch.grouped(codes)
    values = drawn_scores(rows, metric, labels, random_state)
    left_out = np.isnan(values)
    if left_out.all():
        raise ValueError(f"{metric.name} is undefined in every outcome")
    values = values[~left_out]
    mean = _mean(rows, metric, labels, values)
    values = values - values.mean() + mean
    assumptions = ["rows are independent", "p is right"]
    given = None
    if batch.calibrator is not None:
        assumptions[1] = "rows come as those of the reference did"
        given = _interval(values, coverage, metric)
        if isinstance(metric, ClassGMean):
            values = _drawn_by_class(batch, truth, metric, codes, random_state)
            values *= mean / max(float(values.mean()), 1e-300)
        else:
            spread = math.hypot(_map_spread(batch, truth, metric, labels), ALLOWANCE)
            values = _widened(values, spread, random_state)
    values = np.sort(_within(values, metric))
    return ClassForecast(
        mean=mean,
        interval=_interval(values, coverage, metric),
        interval_given_map=given,
        coverage=coverage,
        std=float(values.std()),
        values=values,
        probabilities=np.full(values.size, 1.0 / values.size),
        metric=metric,
        classes=batch.classes,
        n=rows.p.shape[0],
        n_groups=None if batch.groups is None else batch.groups.count,
        assumptions=tuple(assumptions),
        notes=batch.notes,
    )


def _with_known(batch: ClassBatch, p: Floats, truth: Integers | None) -> Rows:
    """Rows in which the classes that are known are certain."""
    if truth is not None and (truth >= 0).any():
        p = p.copy()
        seen = np.flatnonzero(truth >= 0)
        p[seen] = 0.0
        p[seen, truth[seen]] = 1.0
    return ClassBatch(p, batch.classes, batch.groups).rows()


def _mean(rows: Rows, metric: ClassMetric, labels: Integers, drawn: Floats) -> float:
    """The exact expectation where there is one, else the mean of the draws."""
    expected = expected_metric(rows, metric, labels)
    return float(expected.groups.mean()) if expected.exact else float(drawn.mean())


def _map_spread(
    batch: ClassBatch, truth: Integers | None, metric: ClassMetric, labels: Integers
) -> float:
    """Standard deviation of the expected score over maps that fit the reference too."""
    means = []
    for p in batch.alternatives():
        rows = _with_known(batch, p, truth)
        means.append(float(np.nanmean(expected_metric(rows, metric, labels).groups)))
    return float(np.std(means)) if len(means) > 1 else 0.0


def _drawn_by_class(
    batch: ClassBatch,
    truth: Integers | None,
    metric: ClassMetric,
    codes: Integers,
    seed: int,
) -> Floats:
    """Scores against truths drawn under other maps, wrong for some classes.

    In each draw of a map, p of class a in the rows given b is multiplied by e^(σ_a·z),
    z normal. With m rows of the class in the reference σ_a² is 0.7²·10/(10 + m).
    """
    rng = np.random.default_rng(seed)
    seen = np.zeros(len(batch.classes))
    if getattr(batch.calibrator, "shares", None) is not None:
        seen = batch.calibrator.n * batch.calibrator.shares
    sd = CLASS_ALLOWANCE * np.sqrt(HALVING_ROWS / (HALVING_ROWS + seen))
    times = CLASS_DRAWS if plan.draws_every_row(codes.size) else 1
    maps = max(len(batch.calibrator.alternatives), 1)
    draws = math.ceil(DRAWS / (maps * times))
    found = []
    for p in batch.alternatives() if maps > 1 else (batch.p,):
        for _ in range(times):
            factors = np.exp(sd * rng.standard_normal((sd.size, sd.size)))
            moved = p * factors[codes]
            moved /= moved.sum(axis=1, keepdims=True)
            rows = _with_known(batch, moved, truth)
            state = int(rng.integers(2**31))
            labels = batch.grouped(codes)
            found.append(drawn_scores(rows, metric, labels, state, draws))
    values = np.concatenate(found)
    return values[~np.isnan(values)]


def _widened(values: Floats, spread: float, seed: int) -> Floats:
    """Values with normal noise of this spread, evenly spaced and shuffled."""
    from scipy.special import ndtri

    places = (np.arange(values.size) + 0.5) / values.size
    noise = np.random.default_rng(seed).permutation(ndtri(places))
    return np.asarray(values + spread * noise)


def _within(values: Floats, metric: ClassMetric) -> Floats:
    low, high = metric.range
    return np.clip(values, low, high)


def _interval(
    values: Floats, coverage: float, metric: ClassMetric
) -> tuple[float, float]:
    tail = (1.0 - coverage) / 2.0
    low, high = np.quantile(_within(values, metric), (tail, 1.0 - tail)).tolist()
    return low, high


def drawn_scores(
    rows: Rows, metric: ClassMetric, labels: Integers, seed: int, draws: int = DRAWS
) -> Floats:
    """Scores of the labels against drawn truths: means over the groups."""
    from argmetric._classes.kernels.draws import draw_tables

    count = rows.p.shape[1]
    total, defined = np.zeros(draws), np.zeros(draws)
    tables = np.empty((draws, count, count))
    every_row = plan.draws_every_row(rows.p.shape[0])
    rng = np.random.default_rng(seed)
    state = rng.integers(2**63, size=1).astype(np.uint64)
    for first, last in zip(rows.starts[:-1], rows.starts[1:], strict=True):
        tables[:] = 0.0
        if every_row:
            draw_tables(rows.p, first, last, labels, state, tables)
        else:
            _normal_tables(rows.p[first:last], labels[first:last], rng, tables)
        scores = metric.score(tables)
        there = ~np.isnan(scores)
        total += np.where(there, scores, 0.0)
        defined += there
    return np.where(defined > 0, total / np.maximum(defined, 1), math.nan)


def _normal_tables(
    p: Floats, labels: Integers, rng: np.random.Generator, tables: Floats
) -> None:
    """Counts of many rows: normal with the mean and the covariance of drawn ones.

    The few rows of a small cell are a binomial count of the same mean and variance.
    """
    for c in range(p.shape[1]):
        own = p[labels == c]
        mean = own.sum(axis=0)
        covariance = np.diag(mean) - own.T @ own
        drawn = rng.multivariate_normal(
            mean, covariance, tables.shape[0], check_valid="ignore"
        )
        tables[:, :, c] = np.maximum(drawn, 0.0)
        few = np.flatnonzero((mean > 0.0) & (mean < FEW))
        share = np.maximum(1.0 - np.diagonal(covariance)[few] / mean[few], 1e-9)
        trials = np.maximum(np.round(mean[few] / share), 1.0)
        share = np.minimum(mean[few] / trials, 1.0)
        size = tables.shape[0], few.size
        tables[:, few, c] = rng.binomial(trials.astype(np.int64), share, size)
