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
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._ground.display import (
    Field,
    Headline,
    Result,
    counted,
    documented,
    only_shown,
)
from argmetric._ground.pictures import drawing
from argmetric._ground.saving import with_intervals
from argmetric._ground.types import Axes, Booleans, Floats, Interval
from argmetric._verbs import _binomial as tests
from argmetric.metrics import FBeta, Jaccard, Metric

# What a promise says of a cut, after "at least 90 % of the" or "of the next 100"
WORDS = {
    "min_precision": "rows selected by {cut} are positive",
    "min_npv": "rows not selected by {cut} are negative",
    "min_recall": "positive rows are selected by {cut}",
    "min_specificity": "negative rows are not selected by {cut}",
    "max_positives": "rows are selected by {cut}",
}
SAME_POPULATION = "new rows come from the same population as these {n:,} rows"
ONE_CROSSING = "precision crosses the floor once as the threshold rises"
NOT_FITTED = "the model was not fitted on these rows"


@dataclass(frozen=True)
class Promise:
    """One floor or ceiling, and the count that proves it.

    Attributes
    ----------
    name : str
        Argument of `tune` that asked for it.
    bound : float
        The floor or ceiling that is promised.
    tested : float
        The one that was tested: higher where the share of positives moves, or where
        the promise is for so many rows.
    k, errors, allowed : int
        Rows that the test looked at, wrong ones among them, and the most that pass.
    interval : Interval
        Thresholds that are certified, both included.
    """

    name: str
    bound: float
    tested: float
    k: int
    errors: int
    allowed: int
    interval: Interval

    def sentence(self, cut: str, rows: int | None, metric: str) -> str:
        if self.name == "min_score":
            return f"{metric} of {cut} is at least {self.bound:.3g}"
        side = "at least" if self.name.startswith("min") else "at most"
        share, kind = percent(self.bound), "the"
        if rows is not None:
            share, kind = f"{rows * self.bound:.4g}", f"the next {rows:,}"
        return f"{side} {share} of {kind} {WORDS[self.name].format(cut=cut)}"


def percent(share: float) -> str:
    return f"{100.0 * share:.4g} %"


@dataclass(frozen=True, repr=False)
class Guarantee(Result):
    """What holds for new rows, with which confidence.

    Attributes
    ----------
    threshold : float
        Scores from here on are selected.
    confidence : float
        Probability, over draws of the labelled rows, that all promises hold.
    promises : tuple of Promise
        What is promised, with the counts behind it.
    n : int
        Labelled rows; with groups, one of each.
    for_rows : int or None
        The promises hold for the next so many rows of their kind; None: for the
        population.
    prior : float or None
        Share of positives that new rows have, where it was given.
    metric : str
        The metric, where a floor under it is promised.
    assumptions : tuple of str
        What the promises rest on.
    """

    threshold: float
    confidence: float
    promises: tuple[Promise, ...]
    n: int
    for_rows: int | None
    prior: float | None
    metric: str
    assumptions: tuple[str, ...] = ()

    @property
    def certified_interval(self) -> Interval:
        """Thresholds of which all promises are proven."""
        lows, highs = zip(*(one.interval for one in self.promises), strict=True)
        return Interval(max(lows), min(highs))

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        cut = f"p ≥ {self.threshold:.4g}"
        told = " and ".join(
            one.sentence(cut, self.for_rows, self.metric) for one in self.promises
        )
        where = self.assumptions[0]
        return f"with {percent(self.confidence)} confidence {told}, if {where}"

    _told = ("promise",)

    def _headline(self) -> Headline:
        return Headline("", f"p ≥ {self.threshold:.3g}", self.sentence)

    def fields(self) -> list[Field]:
        low, high = self.certified_interval
        found = [
            Field("sentence", self.sentence, "promise", self.sentence),
            *self._keys("threshold", "confidence"),
            Field("promises", [vars(one) for one in self.promises]),
            *self._keys("n", "for_rows", "prior", "metric"),
            Field(
                "certified_interval",
                self.certified_interval,
                "certified",
                f"thresholds from {low:.3g} to {high:.3g}",
            ),
            Field("assumptions", self.assumptions),
        ]
        counts = (
            (
                one.name,
                f"{counted(one.errors, 'error')} among {counted(one.k, 'row')}, "
                f"{one.allowed:,} allowed",
            )
            for one in self.promises
        )
        return [*found, *only_shown(counts)]

    def _columns(self) -> dict[str, Any]:
        names = Promise.__dataclass_fields__
        return {x: [getattr(one, x) for one in self.promises] for x in names}

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the thresholds that keep each promise, and the chosen one."""
        ends = [x for one in self.promises for x in one.interval] + [self.threshold]
        known = [x for x in ends if math.isfinite(x)]
        room = 0.1 * (max(known) - min(known)) or 0.1
        least, most = min(known) - room, max(known) + room
        with drawing(ax, (6.4, 2.4), xlabel="Threshold", xlim=(least, most)) as ax:
            for place, one in enumerate(self.promises):
                low, high = np.clip(one.interval, least, most)
                ax.barh(place, high - low, 0.5, low, color="C0", alpha=0.5)
            names = [f"{one.name}={one.bound:.3g}" for one in self.promises]
            ax.set_yticks(range(len(names)), names)
            label = f"chosen: {self.threshold:.3g}"
            ax.axvline(self.threshold, color="C3", label=label)
        return ax

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> Guarantee:
        """What `to_dict` gave."""
        known = {name: values[name] for name in cls.__dataclass_fields__}
        known["promises"] = tuple(
            Promise(**with_intervals(one)) for one in known["promises"]
        )
        known["assumptions"] = tuple(known["assumptions"])
        return cls(**known)


class NotCertifiedError(ValueError):
    """No threshold is proven to keep the limits.

    Attributes
    ----------
    nearest : dict or None
        The cut that is nearest to passing: threshold, k, errors, allowed.
    labels_needed : int or None
        Labelled rows with which a cut would pass with a chance of 80 %, if the scores
        are calibrated: a forecast, and too low where they are overconfident.
    """

    def __init__(
        self,
        message: str,
        nearest: dict[str, Any] | None = None,
        labels_needed: int | None = None,
    ) -> None:
        super().__init__(message)
        self.nearest = nearest
        self.labels_needed = labels_needed


CHAINS = ("min_precision", "min_npv")


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
    one half of that goes to the rows, and one to the population. Without limits the
    metric itself is promised.
    """
    delta = round(1.0 - confidence, 12) / max(len(limits), 1)
    if for_rows is not None:
        delta /= 2.0
    share, promises = float(rows.positive.mean()), []
    assumed = [SAME_POPULATION.format(n=rows.scores.size), NOT_FITTED]
    if limits:
        thresholds = np.unique(rows.scores)
        thresholds = np.append(thresholds, np.nextafter(thresholds[-1], math.inf))
        kept = np.ones(thresholds.size, dtype=bool)
        for name, bound in limits.items():
            tested = _moved(name, bound, share, prior)
            if for_rows is not None:
                tested = _for_rows(name, tested, for_rows, delta)
            low, high, counts = _range(rows, thresholds, name, tested, delta)
            promises.append(Promise(name, bound, tested, *counts, Interval(low, high)))
            kept &= (thresholds >= low) & (thresholds <= high)
        if not kept.any():
            raise _no_meeting(promises, confidence)
        threshold = _best(rows, metric, thresholds[kept])
    elif for_rows is None and prior is None:
        promises.append(_highest_score(rows, metric, delta))
        threshold = promises[0].interval.low
    else:
        raise ValueError(
            "for_rows and prior go with a limit such as min_precision: a promise of "
            f"{metric.name} holds for the population that these rows come from"
        )
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
    if prior is None or name in ("min_recall", "min_specificity"):
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

    floor = bound if name.startswith("min") else 1.0 - bound
    need = math.ceil(floor * rows - 1e-9)
    if need == 0:
        return bound
    found = float(betaincinv(need, rows - need + 1, 1.0 - delta))
    return found if name.startswith("min") else 1.0 - found


def _range(
    rows: LabelledRows, thresholds: Floats, name: str, bound: float, delta: float
) -> tuple[float, float, tuple[int, int, int]]:
    """Lowest and highest threshold that one limit proves, and the counts behind it."""
    if name in CHAINS:
        return _chain(rows, thresholds, name, bound, delta)
    if name == "min_recall":
        scores, side, missed = rows.scores[rows.positive], 1.0, 1.0 - bound
    else:
        of_all = name == "max_positives"
        scores = rows.scores if of_all else rows.scores[~rows.positive]
        side, missed = -1.0, bound if of_all else 1.0 - bound
    value, c = tests.least_passed(side * scores, missed, delta)
    if c < 0:
        needed = None
        if scores.size and 0.0 < missed < 1.0:
            fewest = math.log(delta) / math.log1p(-missed)
            needed = math.ceil(fewest * rows.scores.size / scores.size)
        raise _refused(name, bound, delta, None, needed)
    counts = (scores.size, c, c)
    if side > 0.0:
        return -math.inf, value, counts
    return float(np.nextafter(-value, math.inf)), math.inf, counts


def _chain(
    rows: LabelledRows, thresholds: Floats, name: str, floor: float, delta: float
) -> tuple[float, float, tuple[int, int, int]]:
    """Precision of the rows selected; of the others, with scores and labels turned.

    A cut of k rows has the threshold with k rows at or above it; of turned scores, the
    one with k rows below it.
    """
    turned = name == "min_npv"
    one = 1.0 if rows.probabilities else 0.0
    scores = one - rows.scores if turned else rows.scores
    cuts = tests.cuts_of(scores, ~rows.positive if turned else rows.positive)
    allowed = tests.allowed_errors(cuts.k, floor, delta)
    if rows.unlabelled is not None and rows.probabilities:
        other = one - rows.unlabelled if turned else rows.unlabelled
        rank = tests.most_powerful_count(other, scores.size, floor, delta)
        start = int(np.searchsorted(cuts.k, rank))
    else:
        start = tests.climbed_start(cuts, allowed, probabilities=rows.probabilities)
    below = np.searchsorted(np.sort(rows.scores), thresholds)
    taken = below if turned else rows.scores.size - below
    passed = tests.passed_chain(cuts, allowed, start)
    if passed is None:
        chance = tests.binomial_cdf(cuts.errors, cuts.k, 1.0 - floor)
        i = int(np.argmin(chance))  # the errors that are rarest under the floor
        nearest = {
            "threshold": float(thresholds[taken == cuts.k[i]][0]),
            "k": int(cuts.k[i]),
            "errors": int(cuts.errors[i]),
            "allowed": int(allowed[i]),
        }
        needed = (
            tests.labels_needed(scores, floor, delta) if rows.probabilities else None
        )
        raise _refused(name, floor, delta, nearest, needed)
    first, last = passed
    found = thresholds[(taken >= cuts.k[first]) & (taken <= cuts.k[last])]
    counts = (int(cuts.k[last]), int(cuts.errors[last]), int(allowed[last]))
    return float(found.min()), float(found.max()), counts


def _highest_score(rows: LabelledRows, metric: Metric, delta: float) -> Promise:
    """The highest floor under F-beta or Jaccard = F / (2 - F) that is proven."""
    if not isinstance(metric, FBeta | Jaccard) or not rows.probabilities:
        raise ValueError(
            "a floor under the metric is proven for F-beta and Jaccard of "
            f"probabilities, not for {metric.name}: set a limit such as min_precision"
        )
    beta = metric.beta if isinstance(metric, FBeta) else 1.0
    found = tests.f_chain(rows.scores, rows.positive, beta, delta)
    if not found:
        raise NotCertifiedError(
            f"no floor under {metric.name} is proven with a confidence of "
            f"{percent(1.0 - delta)} on these {rows.scores.size:,} rows"
        )
    floor, cut, tp, fp, fn = found[-1]
    bound = floor / (2.0 - floor) if isinstance(metric, Jaccard) else floor
    wrong = fp + fn
    return Promise(
        "min_score", bound, bound, tp + wrong, wrong, wrong, Interval(cut, cut)
    )


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
        f"{one.name}={one.bound:g} from " + "{:.4g} to {:.4g}".format(*one.interval)
        for one in promises
    )
    return NotCertifiedError(
        "no threshold keeps all limits with a confidence of "
        f"{percent(confidence)}: {told}"
    )
