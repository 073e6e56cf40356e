"""Which rows of a period to label, and the score that their labels tell.

Rows are drawn in the strata of `compare` (`_compare/table.py`). The log-odds x of a bin
are those that the forecast of the period mixes: of all calibrators that the reference
allows, and of what the scores say of a prevalence shift. Labels say how right they are.
With the probability `SAME` they are right, and the rate of positives of a stratum, of
which they expect the mean μ, is

    ρ ~ Beta(κ·μ, κ·(1 - μ)),   κ = 1/(σ²·μ·(1 - μ)),

σ as in `_compare/effects.py`. Otherwise the labels are others than before: log-odds are

    a + b·x,   a ~ N(0, 1),   b ~ N(1, ½²),

and κ is `KAPPA`. Positives among the labels of a stratum weigh all this by
beta-binomials. The priors of `compare` keep the mean of every probability: they do not
believe that rows which the reference is sure of changed, however many labels say so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argmetric._compare.effects import at_rates
from argmetric._compare.joint import BINS, equal_bins
from argmetric._compare.result import draws_summary
from argmetric._compare.table import PatternTable
from argmetric._ground.arguments import check_count
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
from argmetric._ground.odds import from_log_odds
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
from argmetric._monitor._rows import NewRows
from argmetric._monitor._watch import Watch
from argmetric.metrics import Metric

CALIBRATORS, DRAWS = 240, 960  # of the log-odds of all bins, and of all parameters
SAME, SPREAD = 0.5, 0.15  # σ, of rates on the log-odds
SURE, BEYOND_SURE = 3.0, 0.25  # as in the kernels of `compare`: what σ rises by
KAPPA = 20.0  # rows that a level and a slope count for in a stratum
FEWEST_ODDS = 1e-9  # of a mean probability
LEVELS, SLOPES = np.linspace(-3.0, 3.0, 31), np.linspace(0.1, 1.9, 13)
TILT_STD = (1.0, 0.5)


def tilts() -> tuple[Floats, Floats, Floats]:
    """Return levels, slopes and the logarithm of their prior; the first: no change."""
    a, b = (one.ravel() for one in np.meshgrid(LEVELS, SLOPES, indexing="ij"))
    level = (a / TILT_STD[0]) ** 2 / 2.0 + ((b - 1.0) / TILT_STD[1]) ** 2 / 2.0
    weight = (1.0 - SAME) * np.exp(-level) / np.exp(-level).sum()
    parts = ((0.0, a), (1.0, b), (np.log(SAME), np.log(weight)))
    return tuple(np.append(*one) for one in parts)  # type: ignore[return-value]


class PeriodTable(PatternTable):
    """Rows of a period by predicted label."""

    def probability_draws(self) -> Floats:
        """Return (bins, draws) probabilities of a positive, given the labels."""
        from scipy.special import betaln

        _, labels, positives = self._labels_in(self.member)
        weight = np.zeros((labels.size, self.size.size))
        weight[self.member, np.arange(self.size.size)] = self.size
        weight /= weight.sum(axis=1, keepdims=True)
        a, b, prior = tilts()
        shape = len(self.odds), a.size, labels.size
        # μ and 1 - μ from sums of their own: 1 - μ as a difference may be 0.
        mean, rest = np.empty(shape), np.empty(shape)
        for i, x in enumerate(self.odds):
            both = from_log_odds(a[:, None] + b[:, None] * x)
            mean[i], rest[i] = (np.maximum(p @ weight.T, FEWEST_ODDS) for p in both)
        kappa = np.full(shape, KAPPA)
        mu, other = mean[:, 0], rest[:, 0]
        far = np.maximum(np.abs(np.log(mu / other)) - SURE, 0.0) * BEYOND_SURE
        kappa[:, 0] = 1.0 / ((SPREAD**2 + far**2) * mu * other)
        up, down = kappa * mean, kappa * rest
        gained = betaln(up + positives, down + labels - positives) - betaln(up, down)
        level = (gained.sum(axis=2) + prior).ravel()
        weights = np.exp(level - level.max())
        rng = np.random.default_rng(0)
        drawn = rng.choice(level.size, DRAWS, p=weights / weights.sum())
        place, tilt = np.unravel_index(drawn, shape[:2])
        up, down = up[place, tilt] + positives, down[place, tilt] + labels - positives
        rates = mean[place, tilt], rest[place, tilt], rng.beta(up, down)
        p = from_log_odds(a[tilt, None] + b[tilt, None] * self.odds[place])[0]
        return at_rates(p, *rates, stratum=self.member)


@dataclass(frozen=True, repr=False, eq=False)
class LabelledEstimate(Result):
    """Score of a period, estimated from labels of some of its rows.

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
        """Return the assumptions of the estimate."""
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
    """Rows of a period to label, drawn to be most informative about its score.

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
    _table, _places, _coverage : object
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
    _table: PeriodTable
    _places: Integers  # of `rows` in the table
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
        table, y_ = self._table, y_[there]
        known, called = np.nan_to_num(table.y), table.decisions[0, table.pattern]
        # Rows that a labelled one stands for
        drawn = np.bincount(self.stratum[there], minlength=self.sizes.size)
        found = y_ * (self.sizes / np.maximum(drawn, 1))[self.stratum[there]]
        labels = table.y.copy()
        labels[self._places[there]] = y_
        values = replace(table, y=labels).score_draws[0]
        score = draws_summary(values[np.isfinite(values)], self._coverage)
        return LabelledEstimate(
            mean=score.mean,
            interval=Interval(*score.interval),
            coverage=self._coverage,
            n_labels=int(there.sum()),
            hits=float(found @ self.labels[there] + known @ called),
            positives=float(found.sum() + known.sum()),
            metric=table.metric,
        )


def plan_labelling(
    n: int, watch: Watch, rows: NewRows, *, places: Integers, period: str, seed: Any
) -> LabellingPlan:
    """Draw rows to label; `places`: numbers of `rows` among those that were passed."""
    n, table = check_count(n, "n", low=1), period_patterns(watch, rows)
    open_ = ~table.is_labelled
    if not open_.any():
        raise ValueError("all labels of this period are known already")
    chosen = table.next_rows(n, table.first_contrasts(), seed)
    stratum = table.member[table.bin]
    return LabellingPlan(
        rows=places[chosen],
        scores=rows.scores[chosen],
        labels=rows.selected[chosen],
        stratum=stratum[chosen],
        sizes=np.bincount(stratum[open_], minlength=int(stratum.max()) + 1),
        period=period,
        _table=table,
        _places=chosen,
        _coverage=watch.coverage,
    )


def period_patterns(watch: Watch, rows: NewRows) -> PeriodTable:
    """Return rows of a period by predicted label, in bins, with their known labels.

    The log-odds are those of the forecast of the period without any label.
    """
    bins = watch.bins
    counts = bins.count(rows.scores, rows.selected)[0]
    forecast = watch.distribution(counts, watch.metric)
    both = from_log_odds(forecast.odds_draws(CALIBRATORS))
    cell = bins.assign(rows.scores)
    decisions, pattern = np.unique(rows.selected, return_inverse=True)
    bin_ = equal_bins(both[0].mean(axis=0)[cell], pattern, BINS)
    weight = np.zeros((int(bin_.max()) + 1, bins.size))
    np.add.at(weight, (bin_, cell), 1.0)
    weight /= weight.sum(axis=1, keepdims=True)
    up, down = (np.log(one @ weight.T) for one in both)
    known = np.full(bin_.size, np.nan) if rows.known is None else rows.known
    how = watch.metric, False, False  # neither raw nor a judge's scores
    return PeriodTable(decisions[None], pattern, bin_, up - down, known, *how)
