"""Certify thresholds: each limit proves a range, and all of them must meet.

Theorem. Rows are independent draws and precision(t) crosses the floor once, at w:
below it above w, not so below. Then a threshold of lower precision is certified with
a probability of at most delta. Proof: given the rows below t, errors above t are
Bin(N(t), 1 - precision(t)). A wrong answer needs a start below w that passes, or a
start above w and a pass at w, for every cut is tested. The rows below w alone decide
which of the two it can be; each has a conditional chance of at most delta.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argmetric._ground.types import Booleans, Floats
from argmetric._verbs.guarantees import _binomial as tests
from argmetric._verbs.guarantees._result import (
    NOT_FITTED,
    ONE_CROSSING,
    SAME_POPULATION,
    WORDS,
    Guarantee,
    NotCertifiedError,
    Promise,
    percent,
)
from argmetric.metrics import FBeta, Jaccard, Metric

PROMISES = (*WORDS, "min_score")
CHAINS = ("min_precision", "min_npv")
AIMED_POWER = 0.8  # of a plan for how many labels are needed
MOST_PLANNED = 20_000  # selected rows that a plan looks at


@dataclass(frozen=True)
class LabelledRows:
    """What thresholds are certified on."""

    scores: Floats
    positive: Booleans
    probabilities: bool  # whether scores may be read as such
    unlabelled: Floats | None = None  # scores of other rows, where the test begins


def certify(
    rows: LabelledRows,
    limits: Mapping[str, float],
    metric: Metric,
    *,
    confidence: float,
    for_rows: int | None = None,
    prior: float | None = None,
) -> Guarantee:
    """The threshold of best score on these rows among those that keep all limits.

    Each of m limits is tested at (1 - confidence) / m; of a promise for the next rows
    one half of that goes to the rows, and one to the population.
    """
    delta = round(1.0 - confidence, 12) / len(limits)
    share = float(rows.positive.mean())
    promises, points = [], []
    for name, bound in limits.items():
        level = delta if for_rows is None else delta / 2.0
        tested = _moved(name, bound, share, prior)
        if for_rows is not None:
            tested = _for_rows(name, tested, for_rows, level)
        promise, certified = _certified(rows, name, tested, level, metric)
        promises.append(replace(promise, bound=bound or promise.bound))
        if certified is not None:
            points.append(certified)
    low = max(one.low for one in promises)
    high = min(one.high for one in promises)
    candidates = np.unique(rows.scores)
    for certified in points:
        candidates = (
            np.intersect1d(candidates, certified) if len(points) > 1 else certified
        )
    inside = np.append(candidates, [low, high] if not points else [])
    inside = inside[(inside >= low) & (inside <= high) & np.isfinite(inside)]
    if not inside.size:
        raise _no_meeting(promises, confidence)
    threshold = _best(rows, metric, inside)
    assumed = [SAME_POPULATION.format(n=rows.scores.size), NOT_FITTED]
    if any(name in CHAINS for name in limits) and rows.unlabelled is None:
        assumed.append(ONE_CROSSING)
    if prior is not None:
        assumed.append(
            f"their share of positives is {prior:.4g}, and else nothing moved"
        )
    return Guarantee(
        threshold,
        confidence,
        tuple(promises),
        rows.scores.size,
        for_rows,
        prior,
        metric.name,
        tuple(assumed),
    )


def _moved(name: str, bound: float, share: float, prior: float | None) -> float:
    """The floor to certify so that `bound` holds at another share of positives.

    Of selected rows the odds move with those of the share:
    odds(floor) = odds(bound) odds(share) / odds(prior); of other rows the reverse.
    """
    if prior is None or name in (
        "min_recall",
        "min_specificity",
        "max_false_positive_rate",
    ):
        return bound
    if name not in CHAINS:
        raise ValueError(f"{name} cannot be promised for another share of positives")
    if bound >= 1.0:
        return bound
    odds = (share / (1.0 - share)) / (prior / (1.0 - prior))
    turned = bound / (1.0 - bound) * (odds if name == "min_precision" else 1.0 / odds)
    return turned / (1.0 + turned)


def _for_rows(name: str, bound: float, rows: int, delta: float) -> float:
    """The share in the population with which `rows` draws keep the bound.

    P(Bin(rows, q) >= ⌈bound rows⌉) = 1 - delta at q = BetaInv(1 - delta; ⌈bound rows⌉,
    rows - ⌈bound rows⌉ + 1).
    """
    from scipy.special import betaincinv

    if name == "min_score":
        raise ValueError(
            "a floor under the metric holds for the population: no for_rows"
        )
    floor = bound if name.startswith("min") else 1.0 - bound
    need = math.ceil(floor * rows - 1e-9)
    if need == 0:
        return bound
    found = float(betaincinv(need, rows - need + 1, 1.0 - delta))
    return found if name.startswith("min") else 1.0 - found


def _certified(
    rows: LabelledRows, name: str, bound: float, delta: float, metric: Metric
) -> tuple[Promise, Floats | None]:
    """What one limit proves; the thresholds, where they are no whole range."""
    if name in CHAINS:
        return _chain(rows, name, bound, delta)
    if name == "min_score":
        return _score(rows, bound, delta, metric)
    if name == "min_recall":
        scores, side, missed = rows.scores[rows.positive], 1.0, 1.0 - bound
    else:
        kept = slice(None) if name == "max_positives" else ~rows.positive
        scores, side = rows.scores[kept], -1.0
        missed = 1.0 - bound if name == "min_specificity" else bound
    value, c = tests.least_passed(side * scores, missed, delta)
    if c < 0:
        fewest = (
            math.ceil(math.log(delta) / math.log1p(-missed)) if 0 < missed < 1 else None
        )
        share = scores.size / rows.scores.size
        needed = None if fewest is None or not share else math.ceil(fewest / share)
        raise _refused(name, bound, delta, None, needed)
    counts = (scores.size, c, c)
    if side > 0.0:
        return Promise(name, bound, bound, *counts, -math.inf, value), None
    low = float(np.nextafter(-value, math.inf))
    return Promise(name, bound, bound, *counts, low, math.inf), None


def _chain(
    rows: LabelledRows, name: str, floor: float, delta: float
) -> tuple[Promise, Floats]:
    """Precision of the rows selected; of the others, with scores and labels turned."""
    turned = name == "min_npv"
    one = 1.0 if rows.probabilities else 0.0
    scores = one - rows.scores if turned else rows.scores
    cuts = tests.cuts_of(scores, ~rows.positive if turned else rows.positive)
    allowed = tests.allowed_errors(cuts.k, floor, delta)
    if rows.unlabelled is not None and rows.probabilities:
        other = one - rows.unlabelled if turned else rows.unlabelled
        rank = tests.first_rank(other, scores.size, floor, delta)
        start = int(np.searchsorted(cuts.k, rank))
    else:
        start = tests.climbed_start(cuts, allowed, probabilities=rows.probabilities)
    passed = tests.passed_chain(cuts, allowed, start)
    if passed is None:
        nearest = _nearest(cuts, allowed, floor, turned, rows)
        raise _refused(
            name,
            floor,
            delta,
            nearest,
            _labels_needed(scores, floor, delta) if rows.probabilities else None,
        )
    first, last = passed
    thresholds = _thresholds(cuts, slice(first, last + 1), turned, rows)
    k, errors = int(cuts.k[last]), int(cuts.errors[last])
    most = int(allowed[last])
    low, high = float(thresholds.min()), float(thresholds.max())
    return Promise(name, floor, floor, k, errors, most, low, high), thresholds


def _thresholds(
    cuts: tests.Cuts, part: slice, turned: bool, rows: LabelledRows
) -> Floats:
    """Thresholds of cuts: the lowest score that is selected, on the scale of scores.

    Of turned scores the rows that a cut takes are those that are not selected: the
    threshold is the next number above the largest of theirs.
    """
    if not turned:
        return cuts.scores[part]
    ascending = np.sort(rows.scores)
    return np.nextafter(ascending[cuts.k[part] - 1], math.inf)


def _score(
    rows: LabelledRows, floor: float, delta: float, metric: Metric
) -> tuple[Promise, Floats]:
    if not isinstance(metric, FBeta | Jaccard) or not rows.probabilities:
        raise ValueError(
            "a floor under the metric is proven for F-beta and Jaccard of "
            f"probabilities, not for {metric.name}"
        )
    beta = metric.beta if isinstance(metric, FBeta) else 1.0
    jaccard = isinstance(metric, Jaccard)
    found = tests.f_chain(rows.scores, rows.positive, beta, delta)
    passed = [(f / (2.0 - f) if jaccard else f, *rest) for f, *rest in found]
    kept = [one for one in passed if one[0] >= floor]
    if not kept:
        best = passed[-1][0] if passed else 0.0
        raise NotCertifiedError(
            f"{metric.name} of {floor:g} is not proven with a confidence of "
            f"{percent(1.0 - delta)}: {best:.3g} is",
            {"certified": best},
        )
    if floor == 0.0:  # the highest that is proven, at its own cut
        kept = kept[-1:]
        floor = kept[0][0]
    thresholds = np.array([cut for _, cut, *_ in kept])
    tp, fp, fn = map(int, kept[-1][2:])
    counts = (tp + fp + fn, fp + fn, fp + fn)
    ends = (float(thresholds[0]), float(thresholds[-1]))
    return Promise("min_score", floor, floor, *counts, *ends), thresholds


def _best(rows: LabelledRows, metric: Metric, thresholds: Floats) -> float:
    """The threshold of best score on these rows; of equal ones the highest."""
    found = np.unique(thresholds)
    ascending = np.sort(rows.scores)
    hits = np.sort(rows.scores[rows.positive])
    k = rows.scores.size - np.searchsorted(ascending, found, side="left")
    tp = hits.size - np.searchsorted(hits, found, side="left")
    n = float(rows.scores.size)
    counts = (tp.astype(float), k.astype(float), float(hits.size), n)
    values = np.nan_to_num(metric.value(*counts), nan=-math.inf)
    if not metric.greater_is_better:
        values = -values
    return float(found[np.flatnonzero(values == values.max())[-1]])


def _nearest(
    cuts: tests.Cuts, allowed: Any, floor: float, turned: bool, rows: LabelledRows
) -> dict[str, Any]:
    """The cut whose errors are rarest under the floor."""
    chance = tests.binomial_cdf(cuts.errors, cuts.k, 1.0 - floor)
    i = int(np.argmin(chance))
    threshold = _thresholds(cuts, slice(i, i + 1), turned, rows)[0]
    return {
        "threshold": float(threshold),
        "k": int(cuts.k[i]),
        "errors": int(cuts.errors[i]),
        "allowed": int(allowed[i]),
    }


def _labels_needed(scores: Floats, floor: float, delta: float) -> int | None:
    """Rows of which a cut passes with `AIMED_POWER`, if the scores are calibrated."""
    u = np.sort(scores)[::-1]
    ranks = np.unique(np.geomspace(1, u.size, 60).astype(np.int64))
    mean = np.cumsum(u)[ranks - 1] / ranks
    k = np.unique(np.geomspace(1, MOST_PLANNED, 400).astype(np.int64))
    allowed = tests.allowed_errors(k, floor, delta)
    k, allowed = k[allowed >= 0], allowed[allowed >= 0]
    above = mean > floor
    if not above.any() or not k.size:
        return None
    chance = tests.binomial_cdf(allowed, k, 1.0 - mean[above, None])
    enough = chance >= AIMED_POWER
    first = np.where(enough.any(axis=1), k[enough.argmax(axis=1)], math.inf)
    least = (first * u.size / ranks[above]).min()
    return math.ceil(least) if math.isfinite(least) else None


def _refused(
    name: str,
    bound: float,
    delta: float,
    nearest: dict[str, Any] | None,
    needed: int | None,
) -> NotCertifiedError:
    text = (
        f"no threshold is proven to keep {name}={bound:.4g} with a confidence of "
        f"{percent(1.0 - delta)}"
    )
    if nearest is not None:
        k, errors, allowed = (nearest[one] for one in ("k", "errors", "allowed"))
        text += f": the nearest, p ≥ {nearest['threshold']:.4g}, has {errors} errors "
        few = f"of which {allowed} may be wrong"
        text += f"among {k} rows, {few if allowed >= 0 else 'too few for any proof'}"
    if needed is not None:
        text += f"; about {needed:,} labelled rows may do (a forecast)"
    return NotCertifiedError(text, nearest, needed)


def _no_meeting(promises: list[Promise], confidence: float) -> NotCertifiedError:
    told = "; ".join(
        f"{one.name}={one.bound:g} from {one.low:.4g} to {one.high:.4g}"
        for one in promises
    )
    return NotCertifiedError(
        "no threshold keeps all limits with a confidence of "
        f"{percent(confidence)}: {told}"
    )
