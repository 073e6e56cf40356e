"""Which rows of a period to label, and the score that their labels tell.

Rows are drawn at random in strata along the score, five of each predicted label, more
of them where a label matters more for the score, as `compare` does it for several
models (`_compare/strata.py`). Under one calibrator the log-odds of a bin are

    a + b·x,   a ~ N(0, 1),   b ~ N(1, ½²),

x those of the calibrator, and the rate of positives of a stratum, of which they expect
the mean μ, is ρ ~ Beta(κ·μ, κ·(1 - μ)). Positives among the labels of a stratum weigh a
and b by beta-binomials.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._compare.strata import (
    FEWEST,
    allocation,
    drawn_rows,
    moves_of,
    strata_of,
)
from argmetric._ground.arguments import check_count
from argmetric._ground.discrete import central_interval
from argmetric._ground.display import (
    COUNT,
    Field,
    Headline,
    Result,
    as_frame,
    between,
    counted,
    documented,
    metric_title,
    number,
    with_interval,
)
from argmetric._ground.labels import read_together
from argmetric._ground.odds import from_log_odds, logit
from argmetric._ground.pictures import drawing
from argmetric._ground.types import (
    ArrayLike,
    Axes,
    Booleans,
    Floats,
    Frame,
    Integers,
    Interval,
    Label,
)
from argmetric._monitor._bins import POSITIVE, UNKNOWN
from argmetric.metrics import Metric

STRATA = 5  # of each predicted label
KAPPA = 20.0  # rows that a level and a slope count for in a stratum
DRAWS = 64  # of every calibrator
TILTS = np.linspace(-3.0, 3.0, 31), np.linspace(0.1, 1.9, 13)  # levels and slopes
TILT_STD = (1.0, 0.5)
FURTHEST = 30.0  # log-odds of a bin
SIDES = np.array([[0.0, 1.0]])  # the decisions of one model


@dataclass(frozen=True, repr=False, eq=False)
class LabelledEstimate(Result):
    """The score of a period, estimated from labels of some of its rows.

    Experimental: may change in any release.

    Parameters
    ----------
    mean : float
        The estimate of the score: its mean given these labels.
    interval : tuple of two floats
        Interval that contains the score with the probability `coverage`.
    coverage : float
        The probability asked for.
    n_labels : int
        Labels that were used.
    hits, positives : float
        Estimates without a model, Σ N_h·k_h/m_h over strata, with the known labels:
        unbiased, and less precise than the score.
    metric : Metric
        What is estimated.

    Examples
    --------
    >>> import argmetric as am, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 3, 3000)
    >>> y = rng.random(3000) < p
    >>> m = am.monitor(p[1000:], 0.3, reference=(y[:1000], p[:1000]))
    >>> plan = m.to_label(50)
    >>> plan.estimate(y[1000:][plan.rows]).n_labels
    50
    """

    mean: float
    interval: Interval
    coverage: float
    n_labels: int
    hits: float
    positives: float
    metric: Metric

    _told = ("mean", "interval")

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the estimate rests on."""
        return ("the labelled rows are those that the plan drew",)

    def _headline(self) -> Headline:
        interval = with_interval(self.interval, self.coverage)
        more = f"from {counted(self.n_labels, 'label')}"
        more = f"{interval}, {more}" if interval else more
        return Headline(metric_title(self.metric.name), number(self.mean), more)

    def fields(self) -> list[Field]:
        """Return all fields of the result.

        Returns
        -------
        list of Field
            In the order of the summary.
        """
        found = f"{{:,.0f}}, {self.hits:,.0f} of them found"
        return [
            self._field("mean", "mean", number),
            self._field("interval", "interval", between),
            Field("coverage", self.coverage),
            self._field("n_labels", "labels", COUNT),
            Field("hits", self.hits),
            self._field("positives", "positives", found),
            Field("metric", self.metric.name),
        ]

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the score and its interval."""
        low, high = self.interval
        title = f"from {self.n_labels:,} labels, {self.coverage:.0%} interval"
        labels = {"xlabel": metric_title(self.metric.name), "ylabel": ""}
        with drawing(ax, size=(6.4, 2.0), title=title, **labels) as ax:
            bars = np.maximum([[self.mean - low], [high - self.mean]], 0.0)
            ax.errorbar([self.mean], [0.0], xerr=bars, fmt="o", capsize=4)
            ax.set_yticks([])
        return ax


@dataclass(frozen=True, repr=False, eq=False)
class LabellingPlan(Result):
    """The rows of a period that are most informative about its score.

    `Monitoring.to_label` returns it.

    Experimental: may change in any release.

    Parameters
    ----------
    rows : ndarray
        Numbers of the rows to label, among those that were passed, in rising order.
    scores, labels : ndarray
        Their scores, and the labels they were predicted.
    stratum : ndarray
        Number of the stratum of each row.
    sizes : ndarray
        Rows of every stratum whose label is not known.
    period : str
        The period they belong to.
    _table, _probabilities, _member, _metric, _coverage : object
        Of the period, for `estimate`.

    Examples
    --------
    >>> import argmetric as am, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 3, 3000)
    >>> y = rng.random(3000) < p
    >>> m = am.monitor(p[1000:], 0.3, reference=(y[:1000], p[:1000]))
    >>> m.to_label(50).rows.size
    50
    """

    rows: Integers
    scores: Floats
    labels: Booleans
    stratum: Integers
    sizes: Integers
    period: str
    _table: Integers
    _probabilities: Floats
    _member: Integers
    _metric: Metric
    _coverage: float

    @documented
    def to_frame(self, backend: str = "pandas") -> Frame:
        """Return the rows to label: row, score, predicted label and stratum."""
        columns = {
            "row": self.rows,
            "score": self.scores,
            "predicted": self.labels.astype(np.int64),
            "stratum": self.stratum,
        }
        return as_frame(columns, backend)

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw where on the score the rows lie, by their predicted label."""
        labels = {"xlabel": "Score", "ylabel": "Rows to label"}
        parts = [self.scores[~self.labels], self.scores[self.labels]]
        with drawing(ax, size=(6.4, 3.8), title=self.period, **labels) as ax:
            names = ["predicted negative", "predicted positive"]
            ax.hist(parts, bins=20, stacked=True, label=names)
        return ax

    _told = ("rows to label", "period")

    def _headline(self) -> Headline:
        whole = f"of {int(self.sizes.sum()):,}, {self.period}"
        return Headline("rows to label", f"{self.rows.size:,}", whole)

    def fields(self) -> list[Field]:
        """Return all fields of the result.

        Returns
        -------
        list of Field
            In the order of the summary.
        """
        some = f"{self.rows.size:,} of {int(self.sizes.sum()):,}"
        chosen = f"{int(self.labels.sum()):,}"
        return [
            self._field("period", "period"),
            Field("rows", self.rows, "rows to label", some),
            Field("scores", self.scores),
            Field("labels", self.labels, "predicted positive", chosen),
            Field("stratum", self.stratum),
            Field("sizes", self.sizes, "strata", f"{self.sizes.size}"),
        ]

    def estimate(
        self, y: ArrayLike, *, pos_label: Label | None = None
    ) -> LabelledEstimate:
        """Estimate the score of the period from labels of the drawn rows.

        Parameters
        ----------
        y : array-like
            True labels of `rows`, in their order; nan or None where one is missing.
        pos_label : object, optional
            The label that counts as positive.

        Returns
        -------
        LabelledEstimate
            `mean` and `interval` of the score.
        """
        shape = self.rows.shape
        (y_,) = read_together(pos_label, shape=shape, other="rows", missing="y", y=y)
        there = ~np.isnan(y_)
        if not there.any():
            raise ValueError("y has no label: nothing can be estimated")
        count = self.sizes.size
        drawn = np.bincount(self.stratum[there], minlength=count)
        found = np.bincount(self.stratum[there], y_[there], count).astype(np.float64)
        # (strata, cells): share of the unlabelled rows of a stratum in each cell.
        open_ = self._table[:, UNKNOWN]
        weight = np.zeros((self.sizes.size, open_.shape[1]))
        for member, rows in zip(self._member, open_, strict=True):
            inside = member >= 0
            weight[member[inside], np.flatnonzero(inside)] += rows[inside]
        positives = stratum_positives(
            self._probabilities,
            np.asarray(weight / weight.sum(axis=1, keepdims=True)),
            self.sizes,
            drawn,
            found,
        )
        is_hit = np.isin(np.arange(count), self._member[1])  # strata of positive labels
        known = self._table[:, POSITIVE].sum(axis=1)
        hits = positives[:, is_hit].sum(axis=1) + known[1]
        total = positives.sum(axis=1) + known.sum()
        k, n = self._table[1].sum(), self._table.sum()
        values = np.sort(self._metric.value(hits, k, total, n))
        values = values[np.isfinite(values)]
        even = np.full(values.size, 1.0 / max(values.size, 1))
        plain = self.sizes * found / np.maximum(drawn, 1)
        return LabelledEstimate(
            mean=float(values.mean()) if values.size else np.nan,
            interval=central_interval(values, even, self._coverage)
            if values.size
            else Interval(np.nan, np.nan),
            coverage=self._coverage,
            n_labels=int(there.sum()),
            hits=float(plain[is_hit].sum() + known[1]),
            positives=float(plain.sum() + known.sum()),
            metric=self._metric,
        )


def stratum_positives(
    probabilities: Floats,
    weights: Floats,
    sizes: Integers,
    drawn: Integers,
    found: Floats,
) -> Floats:
    """Return draws of the number of positives of every stratum, given its labels.

    probabilities : (calibrators, bins) probabilities
    weights : (strata, bins) part of the rows of a stratum in each bin
    sizes, drawn, found : (strata) rows, labels, and positives among these
    """
    from scipy.special import betaln

    a, b = (one.ravel() for one in np.meshgrid(*TILTS, indexing="ij"))
    prior = (a / TILT_STD[0]) ** 2 / 2.0 + ((b - 1.0) / TILT_STD[1]) ** 2 / 2.0
    rng, draws = np.random.default_rng(0), []
    for x in np.clip(logit(probabilities), -FURTHEST, FURTHEST):
        # μ and 1 - μ from sums of their own: where all rows are nearly sure, 1 - μ as
        # a difference is 0, and its beta distribution is none.
        both = from_log_odds(a[:, None] + b[:, None] * x)
        up, down = (KAPPA * (one @ weights.T) for one in both)
        level = betaln(up + found, down + drawn - found) - betaln(up, down)
        weight = level.sum(axis=1) - prior
        weight = np.exp(weight - weight.max())
        tilt = rng.choice(weight.size, DRAWS, p=weight / weight.sum())
        rate = rng.beta(up[tilt] + found, down[tilt] + (drawn - found))
        draws.append(found + rng.binomial(sizes - drawn, rate))
    return np.concatenate(draws)


def plan_labelling(
    n: int,
    table: Integers,
    probabilities: Floats,
    metric: Metric,
    *,
    coverage: float,
    rows: tuple[Integers, Floats, Booleans, Integers],
    period: str,
    seed: Any,
) -> LabellingPlan:
    """Draw rows to label, of `rows`: number, score, label and cell of each."""
    n = check_count(n, "n", low=1)
    open_ = table[:, UNKNOWN]
    if not open_.sum():
        raise ValueError("all labels of this period are known already")
    c = probabilities.mean(axis=0)
    sizes = row_sizes(table, c, metric)
    per_side = int(np.clip(n // (2 * FEWEST), 1, STRATA))
    side = np.repeat([0, 1], c.size)
    mass = (open_ * (sizes + 1e-12)).ravel()
    member = strata_of(side, mass, np.array([per_side] * 2)).reshape(open_.shape)
    number, scores, selected, cell = rows
    stratum = member[selected.astype(np.int64), cell]
    count = int(member.max()) + 1
    total = np.bincount(stratum, minlength=count)
    weight = np.bincount(stratum, sizes[selected.astype(np.int64), cell], count)
    wanted = allocation(n, total, np.asarray(weight, dtype=np.float64))
    chosen = drawn_rows(stratum, wanted, np.arange(number.size), seed)
    return LabellingPlan(
        rows=number[chosen],
        scores=scores[chosen],
        labels=selected[chosen],
        stratum=stratum[chosen],
        sizes=total,
        period=period,
        _table=table,
        _probabilities=probabilities,
        _member=member,
        _metric=metric,
        _coverage=coverage,
    )


def row_sizes(table: Integers, c: Floats, metric: Metric) -> Floats:
    """Return what the label of a row moves the score by, by predicted label and bin.

    |l·∂/∂tp + ∂/∂t| of the metric at the expected counts, times √(c·(1 - c)); for F1 it
    is |2l - F|·√(c·(1 - c)) but for a factor.
    """
    rows = table.sum(axis=1)
    positives = rows @ c
    counts = positives[1:, None], rows[1:].sum(axis=1, keepdims=True)
    whole = positives.sum(keepdims=True), np.array([float(rows.sum())])
    slopes = np.abs(moves_of(metric, *counts, *whole, patterns=SIDES))[0]
    if not slopes.any():
        slopes = np.ones((2, 1))
    return np.asarray(slopes * np.sqrt(c * (1.0 - c)))
