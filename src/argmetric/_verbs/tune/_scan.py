"""Every cut between distinct scores, the empty and the full prediction included.

Cut 0 predicts nothing; cut j predicts the rows of the j largest distinct scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypedDict

import numpy as np

from argmetric._expected import TIE
from argmetric._ground.arguments import check_fraction, count_or_part
from argmetric._ground.groups import narrow_integers
from argmetric._ground.odds import can_pack, sort_labelled
from argmetric._ground.types import AnyArray, ArrayLike, Booleans, Floats, Integers
from argmetric._verbs.decide import read_budget, threshold_between
from argmetric.metrics import Metric, MissedLike

CUTS_AT_ONCE = 1 << 16  # cuts that are scored at a time


@dataclass(frozen=True)
class SortedRows:
    """Rows by descending score; `order` is None where it was not needed.

    Files read in batches know their number alone: there the arrays are empty.
    """

    scores: Floats
    positive: Booleans
    weight: Floats | None
    order: Integers | None
    n_rows: int

    @cached_property
    def ends(self) -> Integers:
        """One past the last row of every distinct score."""
        last = np.flatnonzero(self.scores[1:] != self.scores[:-1])
        ends = np.empty(last.size + 1, dtype=narrow_integers(self.n_rows))
        ends[:-1], ends[-1] = last, self.n_rows
        ends[:-1] += 1
        return ends

    def ends_of(self, cuts: Integers) -> Integers:
        """Return how many rows each of these cuts predicts."""
        found = np.zeros(cuts.size, dtype=np.int64)
        found[cuts > 0] = self.ends[cuts[cuts > 0] - 1]
        return found

    def worth(self, chosen: Booleans) -> Booleans | Floats:
        """Return the weights of the chosen rows, 0 for the others."""
        return chosen if self.weight is None else np.where(chosen, self.weight, 0.0)


def sort_rows(
    scores: Floats, positive: Booleans, weight: Floats | None, *, order: bool = False
) -> SortedRows:
    """Sort by descending score."""
    if weight is None and not order and can_pack(scores):
        found = sort_labelled(scores, positive, descending=True)
        return SortedRows(*found, None, None, scores.size)
    index = np.argsort(scores)[::-1]
    if weight is not None:
        weight = weight[index]
    placed = scores[index] + 0.0, positive[index]
    return SortedRows(*placed, weight, index, scores.size)


@dataclass(frozen=True)
class Cuts:
    """Weighted counts of every cut, over the same rows."""

    scores: Floats  # the distinct scores, descending
    # tp, fp: true and false positives of every cut, one more than there are scores
    tp: Floats
    fp: Floats

    @cached_property
    def k(self) -> Floats:
        """Predicted positives. As a sum, so that k never falls below tp."""
        return self.tp + self.fp

    @property
    def t(self) -> float:
        return float(self.tp[-1])

    @property
    def n(self) -> float:
        return self.n_chosen(-1)

    def n_chosen(self, cut: int) -> float:
        """Return the predicted positives of one cut."""
        return float(self.tp[cut] + self.fp[cut])

    @property
    def size(self) -> int:
        return self.tp.size

    def metric_values(self, metric: Metric) -> Floats:
        """Return the metric at every cut, in blocks that fit in cache."""
        t, n, values = self.t, self.n, np.empty(self.size)
        for first in range(0, self.size, CUTS_AT_ONCE):
            part = slice(first, first + CUTS_AT_ONCE)
            values[part] = metric.value(self.tp[part], self.k[part], t, n)
        return values

    @cached_property
    def thresholds(self) -> Floats:
        """Return the smallest score that each cut predicts, infinite for the empty cut.

        An array of shape (n_cuts,), as the counts.
        """
        return np.concatenate([[math.inf], self.scores])

    def threshold(self, cut: int) -> float:
        """Return a threshold that exactly the rows of this cut reach."""
        if 0 < cut < self.scores.size:
            # Half-way to the next score; nearer to the upper one where 32 bits need it:
            # scores that differ there lie on both sides, rounded or not.
            middle = threshold_between(self.scores, cut)
            assert middle is not None  # the scores are distinct
            with np.errstate(over="ignore", under="ignore"):
                near = float(np.float32(middle))
                ends = self.scores[cut - 1 : cut + 1].astype(np.float32)
            upper, lower = ends.tolist()
            separates = lower < middle <= upper and lower < near
            if np.isfinite(ends).all() and lower < upper and not separates:
                upper = lower / 4 + 3 * (upper / 4)
                middle = min(upper, float(self.scores[cut - 1]))
            return middle
        if cut == 0:
            return math.inf
        # The largest 32-bit number at or below: the smallest score stays above it
        # when it is rounded to 32 bits.
        lowest = self.scores[-1]
        with np.errstate(over="ignore"):
            rounded = np.float32(lowest)
        if rounded > lowest:
            rounded = np.nextafter(rounded, np.float32(-np.inf))
        return float(rounded if np.isfinite(rounded) else lowest)

    def intervals(self, runs: Integers) -> Floats:
        """Return thresholds (low, high] of the cuts first … last of each run."""
        last = runs[:, 1]
        inside = last < self.scores.size
        low = np.full(last.size, -math.inf)
        low[inside] = self.scores[last[inside]]
        return np.stack([low, self.thresholds[runs[:, 0]]], axis=1)


def count_cuts(rows: SortedRows) -> Cuts:
    """Return counts at the last row of every tie, and of the empty prediction."""
    ends, scores, positive = rows.ends, rows.scores, rows.positive
    tp: AnyArray
    fp: AnyArray
    if rows.weight is None:  # integers add up exactly; at ends, k is the number of rows
        hits = np.cumsum(positive, dtype=np.int64)
        tp = hits if ends.size == hits.size else hits[ends - 1]
        fp = ends - tp
    else:
        tp, fp = (
            np.cumsum(rows.worth(chosen))[ends - 1] for chosen in (positive, ~positive)
        )
    distinct = scores if ends.size == scores.size else scores[ends - 1]
    return Cuts(distinct, *(np.concatenate([[0.0], part]) for part in (tp, fp)))


@dataclass(frozen=True)
class Curve:
    """Values of one metric at all cuts; `gain` grows where it gets better.

    A cut whose value is undefined, or that the limits forbid, gains -inf.
    """

    values: Floats
    gain: Floats
    tolerance: float

    @property
    def best(self) -> int:
        """Return the index of the best cut; ties go to fewer positives."""
        return int(np.argmax(self.optimal))

    @cached_property
    def optimal(self) -> Booleans:
        """Every cut whose gain equals the largest up to rounding."""
        return self.gain >= float(self.gain.max()) - self.tolerance


def curve_of(
    values: Floats, metric: Metric, allowed: Booleans | None, n: float
) -> Curve:
    """Turn values into gains; ties are 1e-12 of the best, as in `decide`."""
    if np.isinf(values).any():
        raise ValueError(f"{metric.name} is infinite on some counts: see check_metric")
    gain = gains(values, metric, allowed)
    top = float(gain.max())
    if top == -math.inf:
        raise ValueError(
            f"{metric.name} is undefined at every cut that the limits allow; another "
            "zero_division gives it a value"
        )
    return Curve(values, gain, max(TIE * abs(top), float(metric.tie_floor(n))))


def gains(values: Floats, metric: Metric, allowed: Booleans | None) -> Floats:
    """Return values to maximise: -inf where undefined or forbidden."""
    gain = values if metric.greater_is_better else -values
    if allowed is not None:
        return np.where(allowed & ~np.isnan(gain), gain, -math.inf)
    return np.where(np.isnan(gain), -math.inf, gain) if np.isnan(gain).any() else gain


def means(total: Floats, defined: Floats) -> Floats:
    """Return sums over the number of defined terms; nan if there is none."""
    result = np.full(total.shape, math.nan)
    np.divide(total, defined, out=result, where=defined > 0.5)
    return result


def runs(mask: Booleans) -> Integers:
    """Return first and last index of every run of True, one row each."""
    edge = np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8))
    return np.stack([np.flatnonzero(edge == 1), np.flatnonzero(edge == -1) - 1], axis=1)


Numbers = Floats | float


class CutLimits(TypedDict, total=False):
    """Limits on the counts of a threshold, in memory and in files.

    Attributes
    ----------
    min_positives, max_positives : int, str or None
        A count of predicted positives, or a share of the rows such as "5%".
    min_precision, min_recall, min_specificity, min_npv : float or None
        Lower limits of these scores.
    """

    min_positives: int | str | None
    max_positives: int | str | None
    min_precision: float | None
    min_recall: float | None
    min_specificity: float | None
    min_npv: float | None


class TuneLimits(CutLimits, total=False):
    """Keywords ``**limits`` of `tune`.

    Attributes
    ----------
    budget : pair (cost, most) or None
        The cost of each row, and the most that the predicted positives may cost.
    parity : tuple (rate, groups, gap) or None
        "recall" or "selection_rate", the group of each row, and the largest difference.
    missed : int, float, pair, list or None
        Positives that are no rows; a list has one a label.
    """

    budget: tuple[ArrayLike, float] | None
    parity: tuple[str, ArrayLike, float] | None
    missed: MissedLike | list[int] | None


@dataclass(frozen=True)
class RuleLimits:
    """Numbers of positives are counts where they are ints, shares where floats."""

    min_precision: float | None = None
    min_recall: float | None = None
    max_positives: int | float | None = None
    min_positives: int | float | None = None
    min_specificity: float | None = None
    min_npv: float | None = None

    @property
    def named_limits(self) -> dict[str, float]:
        """Return the limits that were set, by name."""
        return {name: x for name, x in vars(self).items() if x is not None}

    def paid_for(
        self, budget: object, scores: Floats, weight: Floats | None
    ) -> RuleLimits:
        """Return limits with no more positives than a budget pays for."""
        # Costs of the rows above a cut never fall as it sinks: a limit on the cuts.
        costs, most = read_budget(budget, scores.shape)
        worth = np.ones(scores.size) if weight is None else weight
        order = np.argsort(-scores, kind="stable")
        last = np.append(np.diff(scores[order]) != 0.0, True)  # of each tie
        spent, taken = (np.cumsum(x[order])[last] for x in (costs * worth, worth))
        paid = taken[spent <= most * (1.0 + TIE)]
        rows, n = (float(paid[-1]) if paid.size else 0.0), float(scores.size)
        if weight is not None:
            n = float(weight.sum())
        own = self.max_positives
        if own is not None:
            rows = min(rows, own * n if isinstance(own, float) else own)
        share: int | float = rows / n if weight is not None else int(rows * (1 + TIE))
        return replace(self, max_positives=share)

    def of_share(self, n: float) -> RuleLimits:
        """Return limits for any number of rows: a count of n becomes a share."""
        counts = ("max_positives", "min_positives")
        given = {name: getattr(self, name) for name in counts}
        return replace(
            self, **{name: x / n for name, x in given.items() if isinstance(x, int)}
        )

    def allowed_counts(
        self, tp: Floats, k: Floats, t: Numbers, n: Numbers
    ) -> Booleans | None:
        """Return which counts obey; an empty prediction has enough precision."""
        if not self.named_limits:
            return None
        result = self.within_budget(k, n)
        for name, (hits, of) in _rates(tp, k, t, n).items():
            if name in self.named_limits:
                result &= hits >= self.named_limits[name] * of * (1.0 - TIE)
        return result

    def within_budget(self, k: Floats, n: Numbers) -> Booleans:
        """Return which numbers of positives k obey the limits on them."""
        result = np.ones(np.shape(k), dtype=bool)
        most, least = (
            x * n if isinstance(x, float) else x
            for x in (self.max_positives, self.min_positives)
        )
        if most is not None:
            result &= k <= most * (1 + TIE)
        if least is not None:
            result &= k >= least * (1 - TIE)
        return result

    def allowed_cuts(self, cuts: Cuts) -> Booleans | None:
        """Return which cuts obey; an error says what is possible if none does."""
        allowed = self.allowed_counts(cuts.tp, cuts.k, cuts.t, cuts.n)
        if allowed is not None and not allowed.any():
            # Say of each floor the most that the other limits leave.
            counts = cuts.tp, cuts.k, cuts.t, cuts.n
            text = limit_words(self.named_limits, " and ")
            parts = []
            for name, (hits, of) in _rates(*counts).items():
                without = replace(self, **{name: None})
                others = without.allowed_counts(*counts)
                if name not in self.named_limits or others is None or not others.any():
                    continue
                share = hits / np.where(np.greater(of, 0.0), of, 1.0)
                best = share[others].max()
                rest = limit_words(without.named_limits, " and ")
                kind = name.removeprefix("min_")
                parts.append(f"the best {kind} that {rest} can have is {best:.4g}")
            why = f": {', '.join(parts)}" if parts else ""
            raise ValueError(f"no cut meets {text}{why}")
        return allowed


def _rates(
    tp: Floats, k: Floats, t: Numbers, n: Numbers
) -> dict[str, tuple[Floats, Numbers]]:
    """Return numerator and denominator of each limited rate, by name of the limit."""
    tn = n - t - (k - tp)
    return {
        "min_recall": (tp, t),
        "min_precision": (tp, k),
        "min_specificity": (tn, n - t),
        "min_npv": (tn, n - k),
    }


def limit_words(limits: Mapping[str, float], between: str = ", ") -> str:
    """Return limits as they were passed: a share of the rows in per cent."""
    percent = {name: name.endswith("positives") for name in limits}
    return between.join(
        f"{name}={100.0 * x:.12g}%"
        if percent[name] and isinstance(x, float)
        else f"{name}={x:.12g}"
        for name, x in limits.items()
    )


def check_tune_limits(limits: Mapping[str, Any]) -> RuleLimits:
    """Return the limits of `tune`, other than a budget, by their names."""
    counts = ("max_positives", "min_positives")
    return RuleLimits(
        **{
            name: count_or_part(x, name) if name in counts else check_fraction(x, name)
            for name, x in limits.items()
            if x is not None
        }
    )
