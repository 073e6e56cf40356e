"""review_rows: which rows should a person look at, or be left out?

With U the metric at the expected counts, a row of chance p is best called positive
where p·U_tp + U_k > 0. A person who looks at it corrects what is wrong, and is worth

    -U_k·(1 - p)  of a row that is called positive,   p·(U_tp + U_k)  of another:

for F1 with the score F that is F·(1 - p) and p·(2 - F), but for a factor. Leaving a row
out of the score, called a, is worth -(a·(p·U_tp + U_k) + p·U_t + U_n). The counts move
with the rows that are chosen: a few rounds find where they stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.resolve import resolve_reference
from argmetric._forecast.truth import COUNTS, DRAWS, Truth, TruthCells, drawn_counts
from argmetric._ground.arguments import check_count, check_flag, shown
from argmetric._ground.discrete import central_interval
from argmetric._ground.display import (
    Field,
    Result,
    as_frame,
    between,
    documented,
    metric_fields,
    metric_title,
    number,
    part_text,
)
from argmetric._ground.labels import handed_in, read_together
from argmetric._ground.layout import Layout, lay_out
from argmetric._ground.odds import from_log_odds, logit
from argmetric._ground.pictures import drawing
from argmetric._ground.types import (
    ArrayLike,
    Axes,
    Booleans,
    Floats,
    Frame,
    Integers,
    LabelsLike,
    ReferenceLike,
)
from argmetric._ground.validation import warn_of_scale
from argmetric.metrics import Metric, MetricLike, get_metric, require_defined

ROUNDS = 6
COVERAGE = 0.9
STEP = 1e-3  # of a difference, as a part of the room that counts have


@dataclass(frozen=True, repr=False, eq=False)
class Review(Result):
    """Rows for a person, and the score to expect once these were looked at.

    Attributes
    ----------
    rows : ndarray
        Numbers of the rows, the most worthwhile first.
    worth : ndarray
        What a look at each raises the expected score by, about.
    labels : ndarray
        Labels of all rows: those that were passed, or those that are best beside a
        person's. Those of `rows` hold until they were looked at.
    mean : float
        Expected score after the looks, or of the rows that are not left out.
    interval : tuple of two floats
        90 % interval of that score.
    before : float
        Expected score of the labels without a look.
    metric : Metric
        What the labels are scored by.
    left_out : bool
        Whether the rows are left out of the score, not looked at.
    """

    rows: Integers
    worth: Floats
    labels: Integers
    mean: float
    interval: tuple[float, float]
    before: float
    metric: Metric
    left_out: bool

    def _title(self) -> str:
        how = "leave out" if self.left_out else "look at"
        (low, high), title = self.interval, metric_title(self.metric.name)
        return (
            f"Review: {how} {self.rows.size:,} rows, then {title} is {self.mean:.4f} "
            f"({low:.4f} to {high:.4f})"
        )

    def fields(self) -> list[Field]:
        what = "rows left out" if self.left_out else "rows to look at"
        some = part_text(self.rows.size, self.labels.size)
        chosen = part_text(int(self.labels.sum()), self.labels.size)
        return [
            *metric_fields(self.metric),
            Field("rows", self.rows, what, some),
            Field("worth", self.worth),
            self._field("before", "expected before", number),
            self._field("mean", "expected after", number),
            self._field("interval", f"{COVERAGE:.0%} interval", between),
            Field("labels", self.labels, "labels", f"{chosen} positive"),
            Field("left_out", self.left_out),
        ]

    @documented
    def to_frame(self, backend: str = "pandas") -> Frame:
        """The rows as a frame: row, label until the look, and worth."""
        labels = self.labels[self.rows]
        columns = {"row": self.rows, "label": labels, "worth": self.worth}
        return as_frame(columns, backend)

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what the looks raise the expected score by, one after the other."""
        title = metric_title(self.metric.name)
        x = "Rows left out" if self.left_out else "Rows that were looked at"
        with drawing(ax, xlabel=x, ylabel=f"Expected {title}, about") as ax:
            risen = np.concatenate([[0.0], np.cumsum(self.worth)])
            ax.plot(np.arange(risen.size), self.before + risen, color="C0")
        return ax


def decided_by(decides: Any, layout: Layout, name: str) -> Any:
    """Labels as they are, or those that a rule, a threshold or a Decision gives."""
    found, made = handed_in(decides, layout.scores)
    if made and np.shape(found) != layout.shape:
        raise ValueError(f"{name}: pass the labels where scores are a matrix")
    return found


def review_rows(
    p: ArrayLike,
    labels: LabelsLike | None,
    metric: MetricLike = "f1",
    budget: int | str = "5%",
    *,
    reference: ReferenceLike | None = None,
    logits: bool = False,
    leave_out: bool = False,
) -> Review:
    """Find the rows whose look by a person raises the expected score most.

    Parameters
    ----------
    p : array-like
        Probabilities, one for each row.
    labels : array-like, Rule, float, Decision or None
        The labels that are handed in. None: those that are best where a person looks at
        the rows, which are given back.
    metric : str, Metric or callable, default="f1"
        The metric that scores the labels.
    budget : int or str, default="5%"
        How many rows, or which share of them.
    reference : pair (y, p), or Calibrator
        Labelled rows that recalibrate `p` first, and widen the interval by what they
        leave open.
    logits : bool, default=False
        Whether `p` holds log-odds.
    leave_out : bool, default=False
        Whether the rows are left out of the score, not looked at.

    Returns
    -------
    Review

    Examples
    --------
    >>> import argmetric as am
    >>> found = am.review_rows([0.95, 0.7, 0.4, 0.3, 0.05], [1, 1, 0, 0, 0], "f1", 2)
    >>> found.rows, round(found.before, 2), round(found.mean, 2)
    (array([2, 3]), 0.75, 0.9)
    """
    metric = get_metric(metric)
    logits, leave = check_flag(logits, "logits"), check_flag(leave_out, "leave_out")
    layout = lay_out(p, logits=logits)
    if len(layout.shape) > 1:
        raise ValueError("p must be one column: review_rows ranks rows")
    n = layout.scores.size
    require_defined(metric, n)
    count = _budget(budget, n)
    found: Any = reference
    if reference is None:
        warn_of_scale(layout.scores, logits=logits, given=p)
    elif not isinstance(reference, Calibrator):
        found = resolve_reference(reference, logits=logits).calibrator
    x = layout.scores if logits else logit(layout.scores)
    chance = from_log_odds(x if found is None else found._map(x))[0]
    chosen = None
    if labels is not None:
        given = {"labels": decided_by(labels, layout, "labels")}
        (read,) = read_together(shape=layout.shape, **given)
        chosen = read == 1.0
    rows, worth, after = _fixed_point(metric, chance, chosen, count, leave)
    before, drawn = (
        _drawn_scores(metric, x, chance, found, after, some, leave)
        for some in (rows[:0], rows)
    )
    drawn = np.sort(drawn[np.isfinite(drawn)])
    if not drawn.size:
        raise ValueError(f"{metric.name} is undefined (0/0) whatever the truth")
    even = np.full(drawn.size, 1.0 / drawn.size)
    return Review(
        rows=rows,
        worth=worth,
        labels=after.astype(np.int64),
        mean=float(drawn.mean()),
        interval=central_interval(drawn, even, COVERAGE),
        before=float(np.nanmean(before)),
        metric=metric,
        left_out=leave,
    )


def _budget(budget: Any, n: int) -> int:
    """A number of rows, at most all of them."""
    if isinstance(budget, str):
        text = budget.strip()
        try:
            share = float(text.removesuffix("%")) / 100.0
        except ValueError:
            share = -1.0
        if not text.endswith("%") or not 0.0 < share <= 1.0:
            raise ValueError(
                f"budget must be a number of rows or a share such as '5%', not "
                f"{shown(budget)}"
            )
        return max(1, round(share * n))
    return min(check_count(budget, "budget", low=1), n)


def _fixed_point(
    metric: Metric, p: Floats, labels: Booleans | None, count: int, leave: bool
) -> tuple[Integers, Floats, Booleans]:
    """Rows, their worth, and labels; `labels`: those that stay, or None."""
    sign = 1.0 if metric.greater_is_better else -1.0
    chosen = p >= 0.5 if labels is None else labels
    n, t = float(p.size), float(p.sum())
    tp, k = float(p @ chosen), float(chosen.sum())
    counts = tp, k, t, n
    for _ in range(ROUNDS):
        by_tp, by_k, by_t, by_n = sign * _gradient(metric, *counts)
        if labels is None:
            chosen = p * by_tp + by_k > 0.0
        if leave:
            worth = -(chosen * (p * by_tp + by_k) + p * by_t + by_n)
        else:
            worth = np.where(chosen, -by_k * (1.0 - p), p * (by_tp + by_k))
        rows = np.argsort(-worth, kind="stable")[:count]
        rest = np.ones(p.size, dtype=bool)
        rest[rows] = False
        tp, k = float(p @ (chosen & rest)), float((chosen & rest).sum())
        if leave:
            counts = tp, k, float(p[rest].sum()), float(rest.sum())
        else:  # what a person will say, on average
            more = float(p[rows].sum())
            counts = tp + more, k + more, t, n
    return rows, worth[rows], chosen


def _gradient(metric: Metric, tp: float, k: float, t: float, n: float) -> Floats:
    """Derivatives by tp, k, t and n, central differences."""
    room = max(min(tp, k - tp, t - tp, n - k - t + tp), 1.0)
    steps = STEP * room * np.eye(4)
    up, down = (metric.value(*(np.array([tp, k, t, n]) + s).T) for s in (steps, -steps))
    return np.nan_to_num((up - down) / (2 * STEP * room))


def _drawn_scores(
    metric: Metric,
    x: Floats,
    p: Floats,
    calibrator: Calibrator | None,
    chosen: Booleans,
    rows: Integers,
    leave: bool,
) -> Floats:
    """Draws of the score of labels, where a person looks at some rows."""
    kind, place, repeats = np.where(chosen, 0, 1), np.arange(p.size), COUNTS * DRAWS
    kind[rows] = 2
    chances = p[:, None]
    if calibrator is not None and calibrator._uncertain:
        cells = TruthCells.of(x, chosen, np.full(x.size, np.nan), calibrator)
        chances, place = Truth(calibrator).chances(cells), cells.place
        repeats = COUNTS
    many = np.bincount(kind * len(chances) + place, minlength=3 * len(chances))
    sets = many.reshape(3, -1).astype(np.float64)
    drawn = drawn_counts(chances, sets, repeats, np.random.default_rng(1))
    hits, missed, seen = (drawn[:, i].ravel() for i in range(3))
    k, t = float((kind == 0).sum()), hits + missed
    if leave:
        return np.asarray(metric.value(hits, k, t, float(p.size - rows.size)))
    return np.asarray(metric.value(hits + seen, k + seen, t + seen, float(p.size)))
