"""Certify thresholds: each limit proves a range, and all of them must meet.

Theorem. Rows are independent draws, and precision(t) crosses the floor once: no
threshold above w is below the floor, and none at or below w keeps it. Then a threshold
below the floor is certified with a probability of at most delta.

Proof. Read the rows from the lowest score upwards, those that tie in random order. The
start is a stopping time: rows that are not read yet play no part in whether the climb
ends. Given the rows read, the errors among the k others are Bin(k, 1 - their
precision). (a) If the climb ends before all rows below w are read, something is
certified only if the k rows left pass, whose precision is below the floor: a
probability of at most delta, given the rows read. (b) Otherwise a threshold at or below
w is certified only if the cut of all rows from w on passes, for every cut down from the
start is tested: a probability of at most delta, given the rows below w. These rows
alone decide whether it is (a) or (b), so both together have at most delta.

A start at a score that unlabelled rows choose is a constant: with w the highest
threshold from there down that is below the floor, (b) holds without the crossing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from argmetric._ground.display import counted
from argmetric._ground.types import Booleans, Floats, Interval
from argmetric._verbs import _binomial as tests
from argmetric._verbs.guarantees import (
    Guarantee,
    NotCertifiedError,
    Promise,
    at_prevalence,
    percent,
)
from argmetric.metrics import FBeta, Jaccard, Metric

ONE_CROSSING = "precision crosses the floor once as the threshold rises"
NOT_FITTED = "the model was not fitted on these rows"
CHAINS = ("min_precision", "min_npv")
# Lowest and highest proven threshold; rows, errors and allowed errors behind them
Proof = tuple[float, float, tuple[int, int, int]]
# The class that alone says whether a limit is kept
OF_CLASS = {"min_recall": "positive", "min_specificity": "negative"}


@dataclass(frozen=True)
class LabelledRows:
    """Rows that thresholds are certified on: independent draws."""

    scores: Floats
    positive: Booleans
    probabilities: bool  # whether scores may be read as such
    unlabelled: Floats | None = None  # scores of other rows, where the test begins
    labels: int | None = None  # labels that were given, where one of a group counts
    of: int | None = None  # all labelled rows, where these are those given one class

    @property
    def start_is_known(self) -> bool:
        """Whether unlabelled rows choose where a test begins."""
        return self.unlabelled is not None and self.probabilities

    @property
    def only_class(self) -> str:
        """Return "positive" or "negative" if all rows have one class, else ""."""
        if self.positive.all():
            return "positive"
        return "" if self.positive.any() else "negative"


@dataclass(frozen=True)
class Terms:
    """Limits to certify, and the words for them.

    `limits` are shares; `words` are the same limits as they were typed. The labels of a
    matrix share the risk: `n_labels` of them, of which this one is called `label`.
    """

    limits: Mapping[str, float]
    words: Mapping[str, str]
    confidence: float
    new_rows: int | None = None
    prior: float | None = None
    unlabelled: Floats | None = None  # scores of other rows, where the test begins
    n_labels: int = 1
    label: str = ""

    @property
    def risk(self) -> float:
        """Return the risk of this label: an equal part of the whole (Bonferroni)."""
        risk = 1.0 - self.confidence
        return (round(risk, 12) or risk) / self.n_labels

    def one_class(self, rows: LabelledRows) -> str:
        """Return the only class of the rows, if all limits concern it; else ""."""
        kinds = {OF_CLASS.get(name) for name in self.limits}
        return rows.only_class if kinds == {rows.only_class} else ""

    def refuse(self, what: str, reason: str) -> NotCertifiedError:
        """Return the error of limits that are not proven, with the reason."""
        text = f"{self.label}: " if self.label else ""
        text += f"{what} with a confidence of {percent(self.confidence)}"
        if self.n_labels > 1:
            text += f" for all {self.n_labels} labels"
        return NotCertifiedError(text + reason)

    def refuse_limits(
        self, names: Sequence[str], reason: str, labels_needed: int | None = None
    ) -> NotCertifiedError:
        """Return the error for limits that no threshold is proven to keep."""
        limits = " and ".join(self.words[name] for name in names)
        what = f"no threshold is proven to keep {limits}{at_prevalence(self.prior)}"
        if self.new_rows is not None:
            what += f" for the next {self.new_rows:,} such rows"
        error = self.refuse(what, f": {reason}")
        error.labels_needed = labels_needed
        return error


@dataclass(frozen=True)
class Test:
    """One limit, the floor or ceiling to test on the labelled rows, and its risk."""

    name: str
    bound: float
    delta: float
    first: float  # the risk at which the climb decides where the test begins


def certify(rows: LabelledRows, terms: Terms, metric: Metric) -> Guarantee:
    """Return the best threshold on these rows of those that keep all limits.

    Each of m limits is tested at risk / m; of a promise for the next rows one half of
    that goes to the rows, and one to the population. Without limits the metric itself
    is promised. Rows of one class say nothing of the metric: the certified threshold
    that is best for the other class is taken.
    """
    delta = terms.risk / max(len(terms.limits), 1)
    if terms.new_rows is not None:
        delta /= 2.0
    promises: list[Promise] = []
    if terms.limits:
        thresholds = np.unique(rows.scores)
        thresholds = np.append(thresholds, np.nextafter(thresholds[-1], math.inf))
        kept = np.ones(thresholds.size, dtype=bool)
        for name in terms.limits:
            promises.append(certify_limit(rows, thresholds, name, terms, delta))
            low, high = promises[-1].interval
            kept &= (thresholds >= low) & (thresholds <= high)
        if only := terms.one_class(rows):
            ends = promises[0].interval
            threshold = ends.high if only == "positive" else ends.low
        elif kept.any():
            threshold = best_threshold(rows, metric, thresholds[kept])
        else:
            raise _no_meeting(promises, terms)
    elif terms.new_rows is None and terms.prior is None:
        promises.append(_highest_score(rows, metric, terms, delta))
        threshold = promises[0].interval.low
    else:
        raise ValueError(
            "new_rows and prior go with a limit such as min_precision: a promise of "
            f"{metric.name} holds for the population that these rows come from"
        )
    assumed = [population_words(rows, terms), NOT_FITTED]
    if any(name in CHAINS for name in terms.limits) and not rows.start_is_known:
        assumed.append(ONE_CROSSING)
    return Guarantee(
        threshold,
        round(1.0 - terms.risk, 15),
        tuple(promises),
        rows.scores.size,
        terms.new_rows,
        terms.prior,
        metric.name,
        tuple(assumed),
    )


def population_words(rows: LabelledRows, terms: Terms) -> str:
    """Return where new rows have to come from."""
    same, n = "from the same population as", f"these {rows.scores.size:,} rows"
    if only := terms.one_class(rows):
        return f"new {only} rows come {same} {n}"
    if terms.prior is None:
        return f"new rows come {same} {n}"
    share = f"{percent(terms.prior)} of new rows are positive"
    return f"{share} and each class comes {same} in {n}"


def certify_limit(
    rows: LabelledRows,
    thresholds: Floats,
    name: str,
    terms: Terms,
    delta: float,
    *,
    first: float | None = None,
) -> Promise:
    """Return the promise that one limit proves.

    With `first`, the test begins where one at this risk begins: then what is proven at
    one risk is proven at all larger ones.
    """
    bound = terms.limits[name]
    floor = bound
    if terms.new_rows is not None:  # the next rows come at the new prevalence
        floor = _for_new_rows(name, floor, terms.new_rows, delta)
    floor = _shifted_floor(name, floor, float(rows.positive.mean()), terms.prior)
    test = Test(name, floor, delta, delta if first is None else first)
    if name in CHAINS:
        low, high, counts = _chain(rows, thresholds, test, terms)
    else:
        low, high, counts = _class_share(rows, test, terms)
    return Promise(name, bound, floor, *counts, Interval(low, high))


def _shifted_floor(name: str, bound: float, share: float, prior: float | None) -> float:
    """Return the floor to certify so that `bound` holds at another prevalence.

    Of selected rows the odds move with those of the prevalence:
    odds(floor) = odds(bound) odds(share) / odds(prior); of other rows the reverse.
    The prevalence is taken to be that of the labelled rows.
    """
    if prior is None or name in OF_CLASS:
        return bound
    if name not in CHAINS:
        raise ValueError(f"{name} cannot be promised at another prevalence")
    if bound >= 1.0:
        return bound
    if name == "min_npv":
        share, prior = 1.0 - share, 1.0 - prior
    right, wrong = bound * share * (1.0 - prior), (1.0 - bound) * (1.0 - share) * prior
    return right / (right + wrong) if right > 0.0 else 0.0


def _for_new_rows(name: str, bound: float, rows: int, delta: float) -> float:
    """Return the share in the population with which `rows` draws keep the bound.

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


def _class_share(rows: LabelledRows, test: Test, terms: Terms) -> Proof:
    """Return the thresholds that an order statistic of the scores of a class proves."""
    kind, missed = OF_CLASS.get(test.name), 1.0 - test.bound
    if kind == "positive":
        scores, side = rows.scores[rows.positive], 1.0
    elif kind == "negative":
        scores, side = rows.scores[~rows.positive], -1.0
    else:
        scores, side, missed = rows.scores, -1.0, test.bound
    value, c = tests.least_passed(side * scores, missed, test.delta)
    if c < 0:
        fewest, needed = tests.fewest_rows(1.0 - missed, test.delta), None
        of_kind = f"{kind} rows" if kind else "rows"
        reason = f"no number of {of_kind} proves it"
        if fewest is not None:
            reason = f"it takes {fewest:,} {of_kind} at the least, not {scores.size:,}"
        if fewest is not None and scores.size:
            needed = math.ceil(fewest * rows.scores.size / scores.size)
        words, needed = _labels_words(rows, needed)
        raise terms.refuse_limits([test.name], reason + words, needed)
    counts = (scores.size, c, c)
    if side > 0.0:
        return -math.inf, value, counts
    return float(np.nextafter(-value, math.inf)), math.inf, counts


def _chain(rows: LabelledRows, thresholds: Floats, test: Test, terms: Terms) -> Proof:
    """Return thresholds of proven precision; NPV is that of turned scores and labels.

    A cut of k rows has the threshold with k rows at or above it; of turned scores, the
    one with k rows below it.
    """
    turned, floor, delta = test.name == "min_npv", test.bound, test.delta
    one = 1.0 if rows.probabilities else 0.0
    scores = one - rows.scores if turned else rows.scores
    right = ~rows.positive if turned else rows.positive
    # 1 - p rounds, and would tie distinct small p: the order is that of p itself
    order = -rows.scores if turned else rows.scores
    cuts = tests.rank_cuts(scores, right, floor, delta, order=order)
    if rows.unlabelled is not None and rows.start_is_known:
        other = one - rows.unlabelled if turned else rows.unlabelled
        cut = tests.most_powerful_cut(other, scores.size, floor, delta)
        start = int(np.count_nonzero(scores >= cut))
    else:
        begun = replace(cuts, delta=test.first)
        start = tests.climbed_start(begun, probabilities=rows.probabilities)
    below = np.searchsorted(np.sort(rows.scores), thresholds)
    taken = below if turned else rows.scores.size - below
    passed = tests.passed_chain(cuts, start)
    if passed is not None:
        first, last = passed
        found = thresholds[(taken >= cuts.k[first]) & (taken <= cuts.k[last])]
        counts = int(cuts.k[last]), int(cuts.errors[last]), int(cuts.allowed[last])
        return float(found.min()), float(found.max()), counts
    fewest, began = tests.fewest_rows(floor, delta), None
    if fewest is None:
        raise terms.refuse_limits([test.name], "no number of rows proves it")
    i = int(np.searchsorted(cuts.k, start))
    k, errors, most = (int(x[i]) for x in (cuts.k, cuts.errors, cuts.allowed))
    threshold = float(thresholds[taken == k][0])
    where = f"at p {'<' if turned else '≥'} {threshold:.4g}"
    if errors > most:
        began = {"threshold": threshold, "k": k, "errors": errors, "allowed": most}
    else:  # inside of a tie: rows in random order are no cut that could be named
        where, k = "inside of a tie", start
        errors = int(np.count_nonzero(~cuts.right[:start]))
        most = int(tests.allowed_errors(start, floor, delta))
    reason = f"it takes {fewest:,} rows without an error at the least"
    if start == 0:
        began = None
        reason += ", and none scores as high as the unlabelled rows that promise most"
    else:
        reason = f"at most {most:,} may be wrong" if most >= 0 else reason
        seen = f"{counted(errors, 'error')} among {counted(k, 'row')}"
        reason = f"{where} there are {seen}, and {reason}"
    needed = tests.labels_needed(scores, floor, delta) if rows.probabilities else None
    words, needed = _labels_words(rows, needed)
    error = terms.refuse_limits([test.name], reason + words, needed)
    error.nearest = began
    raise error


def _labels_words(rows: LabelledRows, needed: int | None) -> tuple[str, int | None]:
    """Return a hint that more labels may prove the limit, and how many."""
    lower = ", or lower the limit or the confidence"
    if needed is None:
        return f"; pass more labelled rows{lower}", None
    if needed <= rows.scores.size:
        return (
            "; by the scores these rows should do, so the scores are too high for the "
            "labels, or the draw was unlucky: calibrate them, or lower the limit"
        ), None
    if rows.of is not None:
        needed = math.ceil(needed * rows.of / rows.scores.size)
    if rows.labels is None:
        return f"; about {needed:,} labelled rows may do (a forecast){lower}", needed
    labels = math.ceil(needed * rows.labels / rows.scores.size)
    text = f"; about {labels:,} labelled rows in {needed:,} groups may do (a forecast)"
    return text + lower, labels


def _highest_score(
    rows: LabelledRows, metric: Metric, terms: Terms, delta: float
) -> Promise:
    """Return the highest floor under F-beta or Jaccard = F / (2 - F) that is proven."""
    if not isinstance(metric, FBeta | Jaccard) or not rows.probabilities:
        raise ValueError(
            "a floor under the metric is proven for F-beta and Jaccard of "
            f"probabilities, not for {metric.name}: set a limit such as min_precision"
        )
    beta = metric.beta if isinstance(metric, FBeta) else 1.0
    found = tests.f_chain(rows.scores, rows.positive, beta, delta)
    if not found:
        what = f"no floor under {metric.name} is proven"
        raise terms.refuse(what, f" on these {rows.scores.size:,} rows")
    floor, cut, tp, fp, fn = found[-1]
    bound = floor / (2.0 - floor) if isinstance(metric, Jaccard) else floor
    wrong = fp + fn
    return Promise(
        "min_score", bound, bound, tp + wrong, wrong, wrong, Interval(cut, cut)
    )


def best_threshold(rows: LabelledRows, metric: Metric, thresholds: Floats) -> float:
    """Return the threshold of best score on these rows; of equal ones the highest."""
    found = np.unique(thresholds)
    ascending = np.sort(rows.scores)
    hits = np.sort(rows.scores[rows.positive])
    k = rows.scores.size - np.searchsorted(ascending, found, side="left")
    tp = hits.size - np.searchsorted(hits, found, side="left")
    n = float(rows.scores.size)
    counts = (tp.astype(float), k.astype(float), float(hits.size), n)
    values = np.asarray(metric.value(*counts))
    values = np.nan_to_num(
        values if metric.greater_is_better else -values, nan=-math.inf
    )
    return float(found[np.flatnonzero(values == values.max())[-1]])


def _no_meeting(promises: list[Promise], terms: Terms) -> NotCertifiedError:
    """Return the error of promises whose proven thresholds have none in common."""
    ranges = "; ".join(
        f"{terms.words[one.name]} holds from "
        + "{:.4g} to {:.4g}".format(*one.interval)
        for one in promises
    )
    names = [one.name for one in promises]
    return terms.refuse_limits(names, f"the proven thresholds do not meet ({ranges})")
