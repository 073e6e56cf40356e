"""Find the labels with the best expected utility, exactly or by search."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._ground.arguments import check_count
from argmetric._ground.display import Field, Headline, Result, documented, number
from argmetric._ground.pictures import Mark, draw_curve, drawing
from argmetric._ground.types import Axes, Floats, Integers
from argmetric.metrics import Metric, get_metric
from argmetric.sequence._beam import decode_by_beam
from argmetric.sequence._exact import (
    count_pmfs,
    decode_windows,
    is_affine,
    mark_top,
    maximise,
    most_probable,
)
from argmetric.sequence._expectation import UtilityDistribution, distribution, expected
from argmetric.sequence._models import Chain, Independent, Model, as_chain
from argmetric.sequence._utilities import (
    CountUtility,
    SimpleFunction,
    Utility,
    as_scalar,
)

ALL_COUNTS = 12  # maximum length to enumerate all hypotheses, for metrics of counts
ALL_OTHERS = 9  # the same for other utilities
CERTIFIED = 300  # maximum length to bound the optimum
WIDTH = 64  # width of the beam that filters hypotheses before exact evaluation
CLOSED = 1e-9  # a search is proven if its bound is this close to its value
EXACT = 1e-12  # the same for a beam, which can lose less than CLOSED


@dataclass(frozen=True, eq=False)
class BestLabels:
    """Best labels so far, and a bound on the utility of any labels."""

    labels: Integers
    expected: float
    bound: float
    exhaustive: bool = False


def search(function: SimpleFunction, chain: Chain, budget: int) -> BestLabels:
    """Return the best labels of a short chain, or good ones and a bound for a long one.

    All labels of up to ALL_COUNTS tokens (ALL_OTHERS if the utility is no metric of
    counts) are compared. Longer chains are searched locally, with bounds by the number
    of positives where these are known.
    """
    n = chain.n
    counts = function.counts if isinstance(function, CountUtility) else None
    if counts is not None and n <= ALL_COUNTS:
        return _compare_all_by_counts(counts, chain)
    search = _LocalSearch(function, chain, budget)
    if n <= ALL_OTHERS:
        for code in range(1 << n):
            search.offer(code >> np.arange(n)[::-1] & 1, sure=True)
        return BestLabels(search.labels, search.value, search.value, exhaustive=True)
    if counts is not None and n <= CERTIFIED and not math.isnan(counts.zero_division):
        return search.run_by_size(counts)
    return search.run_from_marginals()


def _compare_all_by_counts(metric: Metric, chain: Chain) -> BestLabels:
    """Return the best of all 2^n labels, each against every outcome of the chain."""
    from argmetric.sequence._segmentation import count_ones

    n, sign = chain.n, 1.0 if metric.greater_is_better else -1.0
    pmf = chain.windows(n)[-1]
    codes = np.arange(1 << n)
    ones = count_ones(codes)
    best, best_gain = 0, -math.inf
    for code in codes[np.argsort(ones, kind="stable")].tolist():
        hits, k = ones[codes & code], int(ones[code])
        joint = np.bincount(hits * (n + 1) + ones, pmf, minlength=(n + 1) ** 2)
        cells = np.flatnonzero(joint)  # pairs of hits and true positives
        values = metric.value(cells // (n + 1), k, cells % (n + 1), n)
        defined = ~np.isnan(values)
        mass = joint[cells][defined]
        if not mass.sum() > 0:
            continue
        gain = sign * float(mass @ values[defined] / mass.sum())
        margin = 1e-12 * abs(best_gain) if math.isfinite(best_gain) else 0.0
        if gain > best_gain + margin:
            best, best_gain = code, gain
    labels = best >> np.arange(n)[::-1] & 1
    value = sign * best_gain if best_gain > -math.inf else math.nan
    return BestLabels(labels, value, value, exhaustive=True)


class _LocalSearch:
    """Keep the best labels; a beam rejects most others before exact evaluation."""

    def __init__(self, function: SimpleFunction, chain: Chain, budget: int) -> None:
        self.function, self.chain, self.left = function, chain, budget
        self.sign = 1.0 if function.greater_is_better else -1.0
        self.labels = np.zeros(chain.n, dtype=np.int64)
        self.gain = -math.inf

    @property
    def value(self) -> float:
        """Return the expected utility of the best labels so far; nan if undefined."""
        return self.sign * self.gain if self.gain > -math.inf else math.nan

    def offer(self, labels: Integers, *, sure: bool = False) -> bool:
        """Keep labels that are better than the best so far; return whether they are."""
        self.left -= 1
        if not sure and math.isfinite(self.gain):
            rough = expected(self.function, labels, self.chain, WIDTH)
            hope = rough.bounds.high if self.sign > 0 else -rough.bounds.low
            if hope <= self.gain:
                return False
        gain = self.sign * expected(self.function, labels, self.chain).mean
        margin = 1e-12 * abs(self.gain) if math.isfinite(self.gain) else 0.0
        if math.isnan(gain) or gain <= self.gain + margin:
            return False
        self.labels, self.gain = labels.copy(), gain
        return True

    def climb(self, worthwhile: bool) -> None:
        """Flip and move single labels while that helps and the budget lasts."""
        n = self.chain.n
        better = worthwhile
        while better and self.left > 0:
            better = False
            for i in range(n):
                for j in (i, i + 1):
                    if self.left <= 0:
                        return
                    trial = self.labels.copy()
                    trial[i] ^= 1
                    if j != i and j < n:
                        trial[j] ^= 1
                    better = self.offer(trial) or better

    def run_by_size(self, metric: Metric) -> BestLabels:
        """Search from the labels that attain the bounds for each number of positives.

        The result is proven if no bound is above its value.
        """
        bounds, candidates = size_bounds(metric, self.chain)
        for k in np.argsort(-bounds).tolist():
            if bounds[k] <= self.gain + CLOSED:
                break  # no set of this size, or of those that follow, is better
            self.offer(candidates[k], sure=True)
        self.climb(bool((bounds > self.gain + CLOSED).any()))
        bound = self.sign * max(float(bounds.max()), self.gain)
        if not (bounds > self.gain + CLOSED).any():
            bound = self.value
        return BestLabels(self.labels, self.value, bound)

    def run_from_marginals(self) -> BestLabels:
        """Search from the most probable labels, and from the k best marginals.

        The result is proven only if it reaches the best value of the utility.
        """
        n, marginals = self.chain.n, self.chain.marginals()
        for start in (most_probable(self.chain), (marginals > 0.5).astype(np.int64)):
            self.offer(start)
        order = np.argsort(-marginals, kind="stable")
        for k in np.unique(np.linspace(0, n, min(n + 1, 33)).astype(int)).tolist():
            labels = np.zeros(n, dtype=np.int64)
            labels[order[:k]] = 1
            self.offer(labels)
        self.climb(True)
        low, high = self.function.bounds(self.labels)
        best_possible = high if self.sign > 0 else low
        is_proven = self.gain >= self.sign * best_possible - CLOSED
        bound = self.value if is_proven else self.sign * math.inf
        return BestLabels(self.labels, self.value, bound)


def size_bounds(metric: Metric, chain: Chain) -> tuple[Floats, list[Integers]]:
    """Return an upper bound on the expected metric for every k, and k good labels.

    An affine function of tp above the metric is maximised exactly. Its slope at (k, s)
    is that of the chord, then that around the expected tp of the best labels; the
    lowest bound holds. For a metric that is minimised the signs are turned.
    """
    n = chain.n
    joint, pmf = count_pmfs(chain, metric.name)
    sign = 1.0 if metric.greater_is_better else -1.0
    bounds, candidates = np.empty(n + 1), []
    tp, s = np.arange(n + 1)[None, :], np.arange(n + 1)[:, None]
    rows = np.arange(n + 1)
    for k in range(n + 1):
        low, high = np.maximum(0, k + rows - n), np.minimum(k, rows)
        inside = (tp >= low[:, None]) & (tp <= high[:, None])
        values = sign * metric.value(np.clip(tp, low[:, None], high[:, None]), k, s, n)
        start, stop = low, high
        bounds[k] = math.inf
        for _ in range(3):
            rise = values[rows, stop] - values[rows, start]
            slope = rise / np.maximum(stop - start, 1)
            lifted = np.where(inside, values - slope[:, None] * tp, -math.inf)
            offset = lifted.max(axis=1)
            gains = joint @ slope
            labels = mark_top(gains, k)
            bound = float(gains[labels == 1].sum() + offset @ pmf)
            if bound < bounds[k]:
                bounds[k], best = bound, labels
            hits = joint[labels == 1].sum(axis=0)
            mean = np.divide(hits, pmf, out=np.zeros(n + 1), where=pmf > 0)
            start = np.clip(np.floor(mean).astype(np.int64), low, high)
            stop = np.clip(start + 1, low, high)
        candidates.append(best)
    return bounds, candidates


@dataclass(frozen=True, repr=False, eq=False)
class SequenceDecision(Result):
    """Chosen labels of a sequence and their expected utility.

    Parameters
    ----------
    labels : ndarray of {0, 1}
        One for each position.
    expected : float
        Expected utility of these labels; with a beam, a lower bound of it.
    proven : bool
        Whether no other labels have a better expectation, but for rounding.
    bound : float
        No labels have a better expectation than this; equal to `expected` if proven,
        infinite where nothing is known.
    curve : ndarray or None
        Best expectation for every number of positives, where it was computed.
    utility : SimpleFunction
        The utility that was optimised.
    method : str
        How the labels were found.
    _chain : Chain
        The distribution of the labels, for `distribution()`.
    n_states : int or None
        States of the automaton that a beam visited.

    Examples
    --------
    >>> from argmetric.sequence import Independent, decode
    >>> decision = decode("f1", Independent([0.9, 0.6, 0.2]))
    >>> decision.labels, round(decision.expected, 3), decision.proven
    (array([1, 1, 0]), 0.784, True)
    """

    labels: Integers
    expected: float
    proven: bool
    bound: float
    curve: Floats | None
    utility: SimpleFunction
    method: str
    _chain: Chain
    n_states: int | None = None

    @property
    def n(self) -> int:
        """Return the number of labels."""
        return int(self.labels.size)

    @property
    def n_positives(self) -> int:
        """Return the number of labels that are 1."""
        return int(self.labels.sum())

    def distribution(self) -> UtilityDistribution:
        """Return the exact distribution of the utility of these labels.

        Returns
        -------
        UtilityDistribution
            Values and their probabilities.
        """
        return distribution(self.utility, self.labels, self._chain)

    _told = ("positives", "expected", "utility")

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions behind `expected`."""
        return ("labels follow the model",)

    def _columns(self) -> dict[str, Any]:
        return {"position": np.arange(self.n), "label": self.labels}

    def _headline(self) -> Headline:
        more = f"{self.n_positives:,} of {self.n:,} positive"
        return Headline(f"expected {self.utility.name}", number(self.expected), more)

    def fields(self) -> list[Field]:
        """Return the fields of the result, in the order of its summary.

        Returns
        -------
        list of Field
            A key, a value and a text for each.
        """
        known = "proven" if self.proven else "not proven"
        if not self.proven and math.isfinite(self.bound):
            known += f", none beats {number(self.bound)}"
        return [
            Field("utility", self.utility.name, "utility", self.utility.name),
            Field("n", self.n),
            self._field("n_positives", "positives", f"{{:,}} of {self.n:,}"),
            self._field("expected", "expected", number),
            Field("proven", self.proven, "optimum", known),
            Field("bound", self.bound),
            self._field("method", "found by"),
        ]

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the best expectation for every number of positives."""
        if self.curve is None:
            raise ValueError(
                f"there is no curve to draw for the method {self.method!r}; "
                "distribution() has a plot"
            )
        k, value = self.n_positives, self.expected
        mark = Mark(k, value, f"decision: {k:,} positives, {value:.3f}")
        name = f"expected {self.utility.name}"
        with drawing(ax, xlabel="labels predicted positive", ylabel=name) as ax:
            draw_curve(ax, self.curve, k, f"{name} of the best k", [mark])
        return ax


def decode(
    metric: Utility,
    model: Model,
    *,
    zero_division: float | None = None,
    budget: int = 2000,
    beam: int | None = None,
) -> SequenceDecision:
    """Return the labels with the best expected utility under a model.

    Parameters
    ----------
    metric : str, Metric or SimpleFunction
        The objective. A metric of counts is maximised exactly for independent
        labels (:func:`argmetric.decide`) and, if it is affine in tp at fixed numbers
        of predicted and actual positives, for every other model: F-measures, MCC,
        kappa, balanced accuracy, recall and most others, but not Jaccard and the means
        of two rates. `Hamming`, `ZeroOne`, `Pk`, `WindowDiff` and windows of your own
        are exact too. Everything else is searched.
    model : Independent, MarkovChain or LinearChainCRF
        Distribution of the labels.
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0, by default the metric's own.
    budget : int, default=2000
        How many label sequences a search may look at.
    beam : int, optional
        Decode approximately, as Jansche (2007, section 4) does, with so many states at
        every position: of the n + 1 hypotheses that take the labels by falling
        probability, the one whose expectation by the states kept is best. `expected` is
        then a value that the labels are sure to reach. `bound` is one that no labels
        exceed, for independent labels and metrics that rank by probability; it is
        infinite for others. By default decoding is exact, and faster.

    Returns
    -------
    SequenceDecision
        With `labels`, `expected` and `proven`.

    Examples
    --------
    >>> from argmetric.sequence import MarkovChain, decode
    >>> chain = MarkovChain([0.7, 0.3], [[[0.9, 0.1], [0.4, 0.6]]] * 5)
    >>> decode("f1", chain)
    SequenceDecision: expected f1 0.312, 6 of 6 positive
      optimum   proven
      found by  general F-maximiser

    A beam is never needed for F, but shows what it costs:

    >>> from argmetric.sequence import Independent
    >>> labels = Independent([0.9, 0.8, 0.6, 0.5, 0.3, 0.2])
    >>> for beam in (2, 6, None):
    ...     d = decode("f1", labels, beam=beam)
    ...     print(d.n_positives, round(d.expected, 3), round(d.bound, 3))
    2 0.57 0.792
    4 0.75 0.754
    4 0.753 0.753
    """
    function, chain = as_scalar(metric, "decode()"), as_chain(model)
    budget = check_count(budget, "budget", low=1)
    if zero_division is not None:
        if not isinstance(function, CountUtility):
            raise ValueError(f"{function.name} has no zero_division")
        function = CountUtility(
            get_metric(function.counts, zero_division=zero_division)
        )
    function.check(chain.n)
    ranked = (
        isinstance(function, CountUtility)
        and isinstance(model, Independent)
        and bool(function.counts.ranking_principle(chain.n))
    )

    def decision(
        labels: Integers,
        value: float,
        bound: float,
        curve: Floats | None,
        how: str,
        *,
        n_states: int | None = None,
    ) -> SequenceDecision:
        """Return the result; proven where value and bound agree up to rounding."""
        closed = CLOSED if beam is None else EXACT
        proven = abs(value - bound) <= closed * max(1.0, abs(value))
        known = value, proven, value if proven else bound, curve
        return SequenceDecision(
            np.asarray(labels), *known, function, how, chain, n_states
        )

    if beam is not None:
        width = check_count(beam, "beam", low=1)
        kept = decode_by_beam(function, chain, width, ranked=ranked)
        how = f"most probable k, beam of {width:,}"
        known = kept.labels, kept.sure, kept.bound, kept.curve
        return decision(*known, how, n_states=kept.n_states)
    if isinstance(function, CountUtility):
        counts: Metric = function.counts
        if ranked and isinstance(model, Independent):
            from argmetric._verbs.decide import decide_by

            best = decide_by(model.p, counts, check=False)
            value = best.expected
            return decision(best.labels, value, value, best.curve, "most probable k")
        if is_affine(counts, chain.n):
            top = maximise(counts, chain)
            how = "general F-maximiser"
            return decision(top.labels, top.expected, top.expected, top.curve, how)
    else:
        labels = decode_windows(function, chain)
        if labels is not None:
            value = expected(function, labels, chain).mean
            return decision(labels, value, value, None, "shortest path")
    found = search(function, chain, budget)
    how = "all hypotheses" if found.exhaustive else "search with bounds"
    return decision(found.labels, found.expected, found.bound, None, how)
