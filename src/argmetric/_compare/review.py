"""Which rows should a person review, or be left out of the score?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._calibrate.resolve import resolve_reference
from argmetric._compare.row_search import Choice, RowSearch
from argmetric._forecast.distributions import ScorePMF
from argmetric._forecast.draws import COUNTS, draw_counts, sums
from argmetric._forecast.forecast import forecast, refuse_undefined
from argmetric._forecast.rivals import SharedDraws
from argmetric._ground import arguments as check
from argmetric._ground import display
from argmetric._ground import labels as read
from argmetric._ground.discrete import central_interval
from argmetric._ground.display import Field, Result, documented
from argmetric._ground.layout import lay_out
from argmetric._ground.odds import from_log_odds, logit
from argmetric._ground.pictures import drawing
from argmetric._ground.types import (
    ArrayLike,
    Axes,
    Floats,
    Integers,
    LabelsLike,
    ReferenceLike,
)
from argmetric._ground.validation import count_dimensions
from argmetric._verbs.decide import decide
from argmetric.metrics import Metric, MetricLike, get_metric, require_defined


@dataclass(frozen=True, repr=False, eq=False)
class Review(Result):
    """Rows for manual review, and the score to expect after it.

    Experimental: may change in any release.

    Parameters
    ----------
    rows : ndarray of int, shape (n_reviewed,)
        Numbers of the rows, the most valuable first.
    worth : ndarray of float, shape (n_reviewed,)
        Approximate gain of the expected score by each row. The gains add up to
        ``mean - before``, or ``before - mean`` where smaller scores are better.
    labels : ndarray of int, shape (n,)
        Labels of all rows: those that were passed, or the best beside a reviewer's.
        Those of `rows` hold until the review.
    mean : float
        Expected score after the review, or of the rows that are not left out.
    interval : tuple of two floats
        Central interval of that score, with probability `coverage`.
    coverage : float
        Probability of the interval.
    before : float
        Expected score without a review, of the labels that were passed or, where none
        were, of those that `decide` predicts.
    metric : Metric
        The metric that scores the labels.
    left_out : bool
        Whether the rows are left out of the score, not reviewed.

    Examples
    --------
    >>> import argmetric as am
    >>> review = am.review_rows([0.9, 0.6, 0.4, 0.1], [1, 1, 0, 0], "f1", 1)
    >>> review.rows, review.mean > review.before
    (array([2]), True)
    """

    rows: Integers
    worth: Floats
    labels: Integers
    mean: float
    interval: tuple[float, float]
    coverage: float
    before: float
    metric: Metric
    left_out: bool

    def _title(self) -> str:
        how = "leave out" if self.left_out else "correct"
        (low, high), title = self.interval, display.metric_title(self.metric.name)
        rows = display.counted(self.rows.size, "row")
        return (
            f"Review: {how} {rows}, then {title} is {self.mean:.4f} "
            f"({low:.4f} to {high:.4f})"
        )

    def fields(self) -> list[Field]:
        """Return all fields of the result.

        Returns
        -------
        list of Field
            In the order of the summary.
        """
        what = "rows left out" if self.left_out else "rows to review"
        some = display.part_text(self.rows.size, self.labels.size)
        chosen = display.part_text(int(self.labels.sum()), self.labels.size)
        return [
            *display.metric_fields(self.metric),
            Field("rows", self.rows, what, some),
            Field("worth", self.worth),
            self._field("before", "expected before", display.number),
            self._field("mean", "expected after", display.number),
            self._field("interval", f"{self.coverage:.0%} interval", display.between),
            Field("coverage", self.coverage),
            Field("labels", self.labels, "labels", f"{chosen} positive"),
            Field("left_out", self.left_out),
        ]

    def _columns(self) -> dict[str, Any]:
        labels = self.labels[self.rows]
        return {"row": self.rows, "label": labels, "worth": self.worth}

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the expected score after each reviewed row, about."""
        title = display.metric_title(self.metric.name)
        x = "Rows left out" if self.left_out else "Rows reviewed"
        with drawing(ax, xlabel=x, ylabel=f"Expected {title}, about") as ax:
            sign = 1.0 if self.metric.greater_is_better else -1.0
            risen = sign * np.append(0.0, np.cumsum(self.worth))
            ax.plot(np.arange(risen.size), self.before + risen, color="C0")
        return ax


def review_rows(
    p: ArrayLike,
    labels: LabelsLike | None,
    metric: MetricLike | None = None,
    budget: int | str = "5%",
    *,
    reference: ReferenceLike | None = None,
    logits: bool = False,
    leave_out: bool = False,
    coverage: float = 0.9,
    random_state: int = 0,
) -> Review:
    """Find the rows whose manual review raises the expected score most.

    A reviewer corrects the label of every row in `rows`. The score to expect then is
    computed as `forecast` computes it.

    Experimental: may change in any release.

    Parameters
    ----------
    p : array-like of shape (n,)
        Probabilities, one for each row.
    labels : array-like of shape (n,), Rule, float, Decision or None
        The predicted labels. None: start at those of `decide`, and return the best
        beside a reviewer's.
    metric : str, Metric or callable, optional
        The metric that scores the labels; by default that of a Rule or a Decision, and
        else "f1".
    budget : int or str, default="5%"
        The number of rows, or a percentage of all rows.
    reference : pair (y, p), or Calibrator
        Labelled rows that recalibrate `p` first, and widen the interval by the
        uncertainty that they leave.
    logits : bool, default=False
        Whether `p` holds log-odds.
    leave_out : bool, default=False
        Whether the rows are left out of the score, not reviewed.
    coverage : float, default=0.9
        Probability of the interval.
    random_state : int, default=0
        Seed of the posterior draws, which only a `reference` needs.

    Returns
    -------
    Review
        The rows, and the expected score before and after.

    Raises
    ------
    ValueError
        Where `p` and `labels` are swapped, `p` is a matrix, or the budget is no number
        of rows.

    Examples
    --------
    >>> import argmetric as am
    >>> review = am.review_rows([0.95, 0.7, 0.4, 0.3, 0.05], [1, 1, 0, 0, 0], "f1", 2)
    >>> review.rows, round(review.before, 2), round(review.mean, 2)
    (array([2, 1]), 0.75, 0.91)
    """
    metric = get_metric(read.scoring_metric(metric, labels))
    read.refuse_swapped([p], [labels], "review_rows(p, labels, metric)")
    logits, leave = check.as_flags(logits=logits, leave_out=leave_out)
    coverage = check.check_share(coverage, "coverage")
    seed = check.check_count(random_state, "random_state", low=0)
    if count_dimensions(p) > 1:
        raise ValueError("p must be one column, not a matrix: review_rows ranks rows")
    layout = lay_out(p, logits=logits)
    n = layout.scores.size
    require_defined(metric, n)
    count = _budget(budget, n)
    if leave and count >= n:
        raise ValueError(
            f"budget={check.shown(budget)} leaves none of the {n:,} rows: pass fewer"
        )
    calibrator = resolve_reference(reference, logits=logits).calibrator
    how: dict[str, Any] = {"reference": calibrator, "logits": logits}
    start = decide(layout.scores, metric, **how) if labels is None else labels
    predicted, _ = read.predicted_labels(start, layout.scores, logits=logits)
    given = read.clear_labels(predicted, "labels", shape=layout.shape)
    how["coverage"] = coverage
    before = forecast(layout.scores, given.astype(np.int64), metric, **how).mean
    x = layout.scores if logits else logit(layout.scores)
    both = from_log_odds(x if calibrator is None else calibrator._map(x))
    search = RowSearch(metric, *both, given, count, leave)
    best = search.best_rows(free=labels is None)
    _, rows, chosen = best
    rise = np.nan  # where it is not known apart
    if leave:
        rest = np.delete(np.arange(n), rows)
        left = chosen[rest].astype(np.int64)
        after: Any = forecast(layout.scores[rest], left, metric, **how)
    elif calibrator is not None and calibrator._uncertain:
        draws = SharedDraws(layout, chosen, reference=calibrator, logits=logits)
        after, rise = _posterior_score(search, draws, best, seed)
    else:
        after = search.distribution(chosen, rows)
    refuse_undefined(after.values, metric)
    mean = after.mean
    if np.isfinite(before + rise):
        mean = float(np.clip(before + rise, after.values[0], after.values[-1]))
    worth = search.worth(chosen, rows)
    order = np.argsort(-worth, kind="stable")
    return Review(
        rows=rows[order],
        worth=_portions(worth[order], search.sign * (mean - before)),
        labels=chosen.astype(np.int64),
        mean=mean,
        interval=central_interval(after.values, after.probabilities, coverage),
        coverage=coverage,
        before=before,
        metric=metric,
        left_out=leave,
    )


def _budget(budget: Any, n: int) -> int:
    """Return a number of rows from a count, or from a percentage such as "5%"."""
    if isinstance(budget, str) and (part := check.read_share(budget, "budget")):
        return max(1, round(part * n))
    return min(check.check_count(budget, "budget", low=1), n)


def _portions(worth: Floats, total: float) -> Floats:
    """Split a total into parts proportional to the worth of rows, if positive."""
    worth = np.maximum(worth, 0.0)
    worth = worth if worth.any() else np.ones(worth.size)
    return np.asarray(worth * (total / worth.sum()))


def _posterior_score(
    search: RowSearch, draws: SharedDraws, best: Choice, seed: int
) -> tuple[ScorePMF, float]:
    """Return the distribution of the score after the review, and the mean's rise by it.

    Probabilities of rows are posterior draws of the calibrator. The rise has the same
    draws before and after: with S the expected score under the fitted calibrator and
    m_d the metric of the counts that are expected in draw d, it is the rise of
    S + mean over d of m_d - m of the fitted calibrator.
    """
    p, place = draws.p, draws.bins.place

    def sets(one: Choice) -> Floats:
        kind = np.where(one.labels, 0, 1)
        kind[one.rows] = 2
        counts = np.bincount(kind * len(p) + place, minlength=3 * len(p))
        return counts.reshape(3, -1).astype(np.float64)

    def about(one: Choice) -> float:
        some = sets(one)
        of_draws, own = (
            search.score(some[0].sum(), *sums(some, x)).mean()
            for x in (p, draws.fitted)
        )
        return float(np.nan_to_num(of_draws - own)) + search.sign * one.value

    rise = about(best) - about(search.choice(search.given, np.arange(0)))
    some, rng = sets(best), np.random.default_rng(1 + seed)  # 1: of `forecast`
    counts = draw_counts(p, some, COUNTS, rng).transpose(1, 0, 2)
    drawn = search.score(some[0].sum(), *counts).ravel()
    return ScorePMF.from_atoms([(drawn, np.full(drawn.size, 1.0 / drawn.size))]), rise
