"""One call of `decide`: its data, its metric, and what it has to obey."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from argmetric._expected import (
    TIE,
    Choice,
    CountRange,
    Tables,
    choose_counts,
    choose_on_curves,
    expected_curves,
    has_search,
    kernels,
)
from argmetric._ground.groups import Method, Segments
from argmetric._ground.layout import UNITS, Layout
from argmetric._ground.limits import UNLIMITED, Limits, refuse_more_than_all
from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import Metric, Recall, leaves_out_none, size_facts

OFTEN_EMPTY = 0.05  # probability of no positive from which the 0/0 convention matters


class Question(NamedTuple):
    """One call of `decide`: its data, its metric and its limits."""

    layout: Layout
    metric: Metric
    method: Method
    limits: Limits
    logits: bool
    tables: Tables
    asked: dict[str, Any]
    raw: Floats | None = None  # scores before the calibrator, where there is one
    whole_ties: bool = False  # whether rows with equal scores get equal labels

    @property
    def n(self) -> int:
        """Members of the largest segment."""
        return self.layout.largest

    @property
    def scale(self) -> str:
        """Return the scale of thresholds: "p" or "logit", "calibrated " before it."""
        scale = "logit" if self.logits else "p"
        return scale if self.raw is None else f"calibrated {scale}"

    @property
    def sign(self) -> float:
        return 1.0 if self.metric.greater_is_better else -1.0

    @property
    def half(self) -> float:
        """A probability of one half, on the scale of the scores."""
        return 0.0 if self.logits else 0.5

    @property
    def from_half(self) -> Booleans:
        """Which raw scores, before a calibrator, are one half or more."""
        return (self.layout.scores if self.raw is None else self.raw) >= self.half

    def segments(self, key: Floats, indptr: Integers, sizes: Integers) -> Segments:
        """Return segments of scores that descend within each of them."""
        return Segments(*self.probabilities(key), indptr, sizes)

    def probabilities(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of 1 and of 0."""
        return from_log_odds(scores) if self.logits else (scores, 1.0 - scores)

    def tie_floor(self, segments: Segments) -> Floats:
        """Return rounding errors: `Metric.tie_floor`·min(mean, n - mean, 1).

        Where no positives are left out as 0/0, values are those of the rest, and the
        floor is whole.
        """
        if segments.n_segments == 1:
            floor = np.full(1, size_facts(self.metric, int(segments.sizes[0])).floor)
        else:
            distinct = segments.distinct_sizes
            floors = self.metric.tie_floor(distinct)
            if not floors.any():
                return np.zeros(segments.n_segments)
            floor = floors[np.searchsorted(distinct, segments.sizes)]
        if floor.any() and not leaves_out_none(self.metric):
            # Each by itself: a difference of running sums loses a small one
            mean, there = np.zeros(segments.n_segments), segments.lengths > 0
            if there.any():
                mean[there] = np.add.reduceat(segments.p, segments.indptr[:-1][there])
            floor = floor * np.clip(np.minimum(mean, segments.sizes - mean), 0.0, 1.0)
        return floor

    def choose(
        self, segments: Segments, low: Integers, high: Integers, extra: Integers
    ) -> tuple[Choice, Callable[[], Floats]]:
        """Return best counts, values at `extra`, and a function for curves."""
        asked = CountRange(low, high, self.tie_floor(segments), extra)
        if has_search(self.metric, self.method, segments):
            choice = choose_counts(segments, self.metric, asked, tables=self.tables)
            return choice, cache(lambda: self.curves(segments)[0])
        curves, errors = self.curves(segments)
        return choose_on_curves(segments, self.metric, curves, errors, asked), (
            lambda: curves
        )

    def curves(self, segments: Segments) -> tuple[Floats, Floats]:
        """Return the expected metric of segments for every k, and an error of each."""
        curves, errors = expected_curves(
            segments, self.metric, method=self.method, tables=self.tables
        )
        if np.isinf(curves).any():
            raise ValueError(
                f"{self.metric.name} is infinite on some counts: see check_metric"
            )
        return curves, errors


def require_no_zeros_chosen(metric: Metric, n: int) -> None:
    """Refuse a metric that one more certain negative raises once all hits are in."""
    size = min(n, 40)
    t, k = (a.ravel() for a in np.mgrid[: size + 1, :size])
    t, k = t[t <= k], k[t <= k]
    sign = 1.0 if metric.greater_is_better else -1.0
    gain = sign * (metric.value(t, k + 1, t, size) - metric.value(t, k, t, size))
    gain = np.nan_to_num(gain)[k > 0]  # leaving k = 0 may leave 0/0 behind
    if (gain > 1e-12).any():
        raise ValueError(
            f"{metric.name} can gain from predicting certain negatives: pass a dense "
            "matrix instead of a sparse one"
        )


def allowed_range(question: Question, segments: Segments) -> tuple[Integers, Integers]:
    """Return the smallest and largest allowed k of every segment."""
    limits, count = question.limits, segments.n_segments
    low = np.zeros(count, dtype=np.int64)
    most = limits.most_of(segments.sizes)
    high = np.minimum(segments.lengths, most)
    if math.isnan(question.metric.zero_division):
        # Predicting a certain negative only to leave 0/0 is no decision.
        likely = np.concatenate([[0], np.cumsum(segments.p > 0)])[segments.indptr]
        high = np.minimum(high, np.maximum(np.diff(likely), limits.least))
    if limits.no_floor:
        return low, high
    recall = np.zeros(0)
    if limits.min_recall > 0:
        recall, _ = expected_curves(segments, Recall(zero_division=math.nan))
        recall = np.nan_to_num(recall, nan=1.0)  # without positives nothing is missed
    asked = limits.least, UNLIMITED, limits.min_precision, limits.min_recall
    kernels.bounded_counts(segments.p, recall, segments.indptr, *asked, low, high)
    return low, np.minimum(high, most)


def refuse_empty_range(
    question: Question, low: Integers, high: Integers, segments: Segments, first: int
) -> None:
    """Refuse limits that leave no number of positives in some segment."""
    wrong = np.flatnonzero((low > high) | (question.limits.least > segments.lengths))
    if not wrong.size:
        return
    g = int(wrong[0])
    ids = question.layout.ids
    where = "" if ids is None else f" in group {ids.tolist()[first + g]!r}"
    refuse_more_than_all(question.limits, int(segments.lengths[g]), where)
    mean = np.cumsum(segments.one(g).p)
    k = max(int(low[g]), 1)
    raise ValueError(
        f"no number of positives meets all limits{where}: min_recall or min_positives "
        f"needs {low[g]} positives or more (expected precision {mean[k - 1] / k:.4g} "
        f"there), min_precision or max_positives allows {high[g]} at most"
    )


def choose(
    question: Question,
    values: Floats,
    low: int,
    high: int,
    floor: float,
    *,
    allowed: Booleans | None = None,
) -> int:
    """Return the best k of one curve within its range; ties take the smaller k.

    It is the smallest where no value that is allowed is defined.
    """
    part = values[low : high + 1]
    if not question.metric.greater_is_better:
        part = -part
    if allowed is not None:
        part = np.where(allowed[low : high + 1], part, np.nan)
        if np.isnan(part).all():
            return low + int(allowed[low : high + 1].argmax())
    top = float(np.fmax.reduce(part))  # passes over nan
    return low + int((part >= _least_of_tie(top, floor)).argmax())


def choose_of_few(
    question: Question, values: list[float], low: int, high: int, floor: float
) -> int:
    """Return `choose`, for the curve of a short vector."""
    part = values[low : high + 1]
    if not question.metric.greater_is_better:
        part = [-value for value in part]
    least = _least_of_tie(max(-math.inf, *part), floor)  # passes over nan
    for i, value in enumerate(part):
        if value >= least:
            return low + i
    return low


def _least_of_tie(top: float, floor: float) -> float:
    """Return the smallest value that counts as equal to the best one."""
    return top - max(TIE * abs(top), floor)


def threshold_between(key: Floats, k: int) -> float | None:
    """Return a cut with exactly k scores at or above it; None if a tie is split."""
    return cut_between(*scores_at(key, k))


def scores_at(key: Floats, k: int) -> tuple[float, float]:
    """Return the k-th largest score and the next one, between which a cut lies.

    Infinite if there is none.
    """
    upper = float(key[k - 1]) if k > 0 else math.inf
    return upper, float(key[k]) if k < key.size else -math.inf


def cut_between(upper: float, lower: float) -> float | None:
    """Return a cut below one score and above the next; infinite if there is none."""
    if upper == lower:
        return None
    if math.isinf(upper) or math.isinf(lower):
        return upper
    # Half-way survives rounding to fewer digits, as in a file of 32-bit numbers.
    middle = lower / 2 + upper / 2
    with np.errstate(over="ignore"):
        rounded = float(np.float32(middle))
    return middle if lower < rounded <= upper else upper


def raw_threshold(raw: Floats, labels: Integers) -> float | None:
    """Return a cut on raw scores that gives these labels; None if there is none."""
    chosen = labels == 1
    upper = float(raw.min(initial=math.inf, where=chosen))
    lower = float(raw.max(initial=-math.inf, where=~chosen))
    return cut_between(upper, lower) if upper > lower else None


def error_note(error: float) -> list[str]:
    if error <= 1e-9:
        return []
    return [f"the expected values carry a numerical error of about {error:.1g}"]


def convention_note(question: Question, none: float, often: float) -> list[str]:
    """Return a note if 0/0 matters: P(no positive), and in how many segments."""
    if often == 0.0:
        return []
    values = size_facts(question.metric, question.n).empty
    if values[0] == values[1]:
        return []
    zero = question.metric.zero_division
    if question.layout.single:
        subject = f"there is no positive at all with probability {none:.2f}"
    else:
        units = UNITS.get(question.layout.average or "", "groups")
        subject = f"{none:.0%} of the {units} are expected to have no positive"
    effect = (
        "such outcomes are left out"
        if math.isnan(zero)
        else f"predicting nothing then scores {values[int(zero)][0]:g}"
    )
    return [f"{subject}; with zero_division={zero:g} {effect}"]
