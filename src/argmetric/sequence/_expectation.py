"""Expected utility of a hypothesis and its distribution: Algorithms 3 and 4."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, overload

import numpy as np

from argmetric._ground.arguments import check_count, check_number, is_whole, shown
from argmetric._ground.discrete import DiscreteDistribution, distinct
from argmetric._ground.display import (
    Field,
    Headline,
    Result,
    Shown,
    distribution_columns,
    documented,
    number,
    only_shown,
    with_interval,
)
from argmetric._ground.pictures import draw_distribution, drawing, small_distribution
from argmetric._ground.types import ArrayLike, Axes, Floats, Integers, Interval
from argmetric._ground.validation import to_numpy
from argmetric.sequence._exact import affine_mean, is_affine
from argmetric.sequence._models import Chain, Model, as_chain, check_sequence
from argmetric.sequence._runs import Outcome, mean_if_defined, run, run_mean
from argmetric.sequence._utilities import (
    CountUtility,
    SimpleFunction,
    Utility,
    VectorFunction,
    as_scalar,
    as_utility,
)

FIRST_WIDTH = 16  # of beam="auto"
# From this length on, metrics that are affine in tp are averaged given the number of
# ones, in n² steps instead of n³.
LONG_SEQUENCE = 300


@dataclass(frozen=True)
class Expectation(Shown):
    """Expected utility of a hypothesis.

    Parameters
    ----------
    mean : float
        The mean of the utility. With a beam, an estimate within the bounds: the lower
        one for a utility that is never negative.
    bounds : Interval
        The mean lies between them; both equal it when it is exact.
    n_states : int
        Number of states of the composed automaton that were visited, the start
        included, with the histories of the model counted apart.
    exact : bool
        Whether nothing was dropped.
    dropped : float
        Probability of the dropped states.
    partial : float
        Sum of probability times utility over the states that were kept: what the
        paper calls the approximate expectation.
    beam : int or None
        Width of the beam.

    Examples
    --------
    >>> from argmetric.sequence import Independent, expectation
    >>> result = expectation("f1", [1, 1], Independent([0.9, 0.5]))
    >>> round(result.mean, 4), result.exact
    (0.7833, True)
    """

    mean: float
    bounds: Interval
    n_states: int
    exact: bool
    dropped: float = 0.0
    partial: float = math.nan
    beam: int | None = None

    def __float__(self) -> float:
        return self.mean


@dataclass(frozen=True, eq=False)
class VectorExpectation(Shown):
    """Expected utilities of a hypothesis, for a `VectorFunction`.

    Parameters
    ----------
    mean : ndarray of shape (components,)
        The mean of each; with a beam, an estimate within the bounds.
    bounds : Interval of ndarrays of shape (components,)
        The mean lies between them; both equal it when it is exact.
    n_states : int
        Number of states of the composed automaton that were visited.
    exact : bool
        Whether nothing was dropped.
    dropped : float
        Probability of the dropped states.
    beam : int or None
        Width of the beam.

    Examples
    --------
    >>> from argmetric.sequence import Independent, VectorFunction, expectation
    >>> class Counts(VectorFunction):
    ...     def start(self):
    ...         return 0, 0
    ...     def transition(self, state, z, i, y_i):
    ...         return state[0] + z[i] * y_i, state[1] + y_i
    ...     def value(self, state, z):
    ...         return state
    >>> expectation(Counts(), [1, 0], Independent([0.9, 0.5])).mean
    array([0.9, 1.4])
    """

    mean: Floats
    bounds: Interval
    n_states: int
    exact: bool
    dropped: float = 0.0
    beam: int | None = None


def evaluate(utility: Utility, z: ArrayLike, y: ArrayLike) -> float:
    """Return the utility of a hypothesis for one outcome (Algorithm 3).

    Parameters
    ----------
    utility : SimpleFunction, Metric or str
        An automaton; a metric stands for its `CountUtility`.
    z : array-like of {0, 1}
        The hypothesis.
    y : array-like of {0, 1}
        The outcome.

    Returns
    -------
    float
        The utility; nan if it is undefined.

    Examples
    --------
    >>> from argmetric.sequence import Hamming, evaluate
    >>> evaluate(Hamming(), z=[1, 0, 1], y=[1, 1, 0])
    2.0
    """
    function = as_scalar(utility, "evaluate()")
    hypothesis = check_hypothesis(z, None)
    outcome = check_sequence(y, "y", hypothesis.size, "z")
    function.check(hypothesis.size)
    state = function.start()
    for i, label in enumerate(outcome.tolist()):
        state = function.transition(state, hypothesis, i, label)
    return float(function.value(state, hypothesis))


def check_hypothesis(z: ArrayLike, chain: Chain | None) -> Integers:
    """Return the hypothesis as an array, or raise an error if its length is wrong."""
    size = to_numpy(z, "z").size if chain is None else chain.n
    hypothesis = check_sequence(z, "z", size, "the model")
    if not hypothesis.size:
        raise ValueError("z is empty: a sequence has at least one label")
    return hypothesis


@overload
def expectation(  # type: ignore[overload-overlap]  # a vector is no scalar utility
    utility: VectorFunction,
    z: ArrayLike,
    model: Model,
    beam: int | None = None,
    *,
    tol: float = ...,
    max_states: int | None = ...,
) -> VectorExpectation: ...


@overload
def expectation(
    utility: Utility,
    z: ArrayLike,
    model: Model,
    beam: int | Literal["auto"] | None = None,
    *,
    tol: float = ...,
    max_states: int | None = ...,
) -> Expectation: ...


def expectation(
    utility: Utility,
    z: ArrayLike,
    model: Model,
    beam: int | Literal["auto"] | None = None,
    *,
    tol: float = 1e-6,
    max_states: int | None = None,
) -> Expectation | VectorExpectation:
    """Return the expected utility of a hypothesis under a model of the outcome.

    Outcomes for which the utility is undefined (nan, from ``zero_division=nan``) are
    left out, as in :func:`argmetric.decide`.

    Parameters
    ----------
    utility : SimpleFunction, Metric or str
        An automaton; a metric stands for its `CountUtility`.
    z : array-like of {0, 1}
        The hypothesis.
    model : Independent, MarkovChain or LinearChainCRF
        Distribution of the outcome.
    beam : int or "auto", optional
        Keep only this number of most probable states at every position, and bound the
        rest; 1 follows a single path. "auto" doubles the number until the bounds are
        within `tol`; a utility without bounds is then run exactly. By default the
        expectation is exact.
    tol : float, default=1e-6
        Width of the bounds for ``beam="auto"``.
    max_states : int, optional
        Limit on the states of one position; by default what should fit in memory.

    Returns
    -------
    Expectation or VectorExpectation
        With `mean`, `bounds`, `n_states` and `exact`; arrays for a `VectorFunction`.

    Examples
    --------
    >>> from argmetric.sequence import MarkovChain, Pk, expectation
    >>> chain = MarkovChain([0.7, 0.3], [[[0.9, 0.1], [0.4, 0.6]]] * 3)
    >>> round(expectation("f1", [1, 1, 0, 0], chain).mean, 4)
    0.2605
    >>> round(expectation(Pk(2), [1, 1, 0, 0], chain).mean, 4)
    0.5358
    """
    function, chain = as_utility(utility), as_chain(model)
    hypothesis = check_hypothesis(z, chain)
    function.check(chain.n)
    tol = check_number(tol, "tol", low=0.0)
    if max_states is not None:
        max_states = check_count(max_states, "max_states", low=1)
    if isinstance(function, VectorFunction):
        width = None if beam is None else check_count(beam, "beam", low=1)
        outcome = run(function, hypothesis, chain, width, max_states)
        size = outcome.values.shape[1]
        ends = np.broadcast_arrays(outcome.least, outcome.most, np.empty(size))[:2]
        parts = [
            bound_mean(replace(outcome, values=x, least=float(a), most=float(b)), width)
            for x, a, b in zip(outcome.values.T, *ends, strict=True)
        ]
        mean, lower, upper = np.array([(p.mean, *p.bounds) for p in parts]).T
        exact, dropped = outcome.dropped == 0.0, outcome.dropped
        bounds = Interval(lower, upper)
        return VectorExpectation(mean, bounds, outcome.n_states, exact, dropped, width)
    return expected(function, hypothesis, chain, beam, tol=tol, max_states=max_states)


def expected(
    function: SimpleFunction,
    z: Integers,
    chain: Chain,
    beam: int | Literal["auto"] | None = None,
    *,
    tol: float = 1e-6,
    max_states: int | None = None,
) -> Expectation:
    """Return the expected utility of a hypothesis that has been checked."""
    if beam is None:
        tables = function.tables(z)
        if tables is not None and tables.worth is not None:
            mean, total = run_mean(chain, tables)
            return _exact(mean, total)
        if chain.n > LONG_SEQUENCE and isinstance(function, CountUtility):
            metric = function.counts
            if is_affine(metric, chain.n):
                mean, total = affine_mean(metric, z, chain)
                return _exact(mean, total)
        return bound_mean(run(function, z, chain, None, max_states), None)
    if isinstance(beam, str) and beam == "auto":
        return _widen_beam(function, z, chain, tol=tol, max_states=max_states)
    if not is_whole(beam) or beam < 1:
        raise ValueError(
            f'beam must be a positive integer, "auto" or None, not {shown(beam)}'
        )
    return bound_mean(run(function, z, chain, int(beam), max_states), int(beam))


def _widen_beam(
    function: SimpleFunction,
    z: Integers,
    chain: Chain,
    *,
    tol: float,
    max_states: int | None,
) -> Expectation:
    """Return the expectation by the first beam whose bounds are within `tol`."""
    width = FIRST_WIDTH
    while True:
        result = bound_mean(run(function, z, chain, width, max_states), width)
        low, high = result.bounds
        if result.exact or high - low <= tol:
            return result
        if math.isnan(result.mean) or width >= 1 << 24:
            return result
        if math.isinf(high - low):  # nothing bounds a drop
            return bound_mean(run(function, z, chain, None, max_states), None)
        width *= 2


def _exact(mean: float, n_states: int) -> Expectation:
    """Return an expectation without dropped states."""
    return Expectation(mean, Interval(mean, mean), n_states, True, partial=mean)


def bound_mean(outcome: Outcome, width: int | None) -> Expectation:
    """Return the expectation with bounds from the kept and the dropped states."""
    total, mass = mean_if_defined(outcome)
    dropped = outcome.dropped
    if math.isnan(mass):
        low, high = total + outcome.least, total + outcome.most
        value = min(max(total, low), high)
        partial = total
    else:
        # Dropped outcomes may be defined or not: the mean lies between both cases
        partial = value = total / mass if mass > 0 else math.nan
        low = high = value
        if dropped > 0:
            with_all = mass + dropped
            low = min(value, (total + outcome.least) / with_all)
            high = max(value, (total + outcome.most) / with_all)
            if mass == 0:
                low, high = outcome.least / dropped, outcome.most / dropped
    exact = dropped == 0.0
    if exact:
        low = high = value
    bounds = Interval(low, high)
    return Expectation(value, bounds, outcome.n_states, exact, dropped, partial, width)


COVERAGE = 0.9  # of the interval that is shown


@dataclass(frozen=True, repr=False, eq=False)
class UtilityDistribution(Result, DiscreteDistribution):
    """Distribution of a utility.

    Parameters
    ----------
    values, probabilities : ndarray
        Distinct values in ascending order, and the probability of each.
    p_undefined : float
        Probability that the utility is undefined and left out.

    Examples
    --------
    >>> from argmetric.sequence import Independent, ZeroOne, distribution
    >>> distribution(ZeroOne(), [1, 0], Independent([0.9, 0.2])).mean
    0.28
    """

    values: Floats
    probabilities: Floats
    p_undefined: float = 0.0

    @property
    def mean(self) -> float:
        """Return the expected utility."""
        return float(self.values @ self.probabilities)

    @property
    def std(self) -> float:
        """Return the standard deviation of the utility."""
        deviation = self.values - self.mean
        return math.sqrt(float(deviation**2 @ self.probabilities))

    @property
    def interval(self) -> Interval:
        """Return the central interval, with equal probability on either side."""
        tail = (1 - COVERAGE) / 2
        return Interval(self.quantile(tail), self.quantile(1 - tail))

    coverage: ClassVar[float] = COVERAGE

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions behind the distribution."""
        return ("labels follow the model",)

    def _headline(self) -> Headline | None:
        if not self.values.size:
            return None
        interval = with_interval(self.interval, COVERAGE)
        return Headline("mean", number(self.mean), interval)

    def _picture(self) -> str:
        return small_distribution(self, self.interval)

    def _columns(self) -> dict[str, Any]:
        return distribution_columns(self)

    def fields(self) -> list[Field]:
        """Return the fields of the result, in the order of its summary.

        Returns
        -------
        list of Field
            A key, a value and a text for each.
        """
        median = self.quantile(0.5)
        if not self.values.size:
            shown = [("never defined", "")]
        else:
            shown = [("median", number(median)), ("values", f"{self.values.size:,}")]
        return [
            *only_shown(shown),
            *self._keys("mean", "std", "coverage", "p_undefined"),
            Field("median", median),
            Field("interval", self.interval),
        ]

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distribution with its mean and an interval between quantiles."""
        with drawing(ax, xlabel="utility", ylabel="probability") as ax:
            draw_distribution(ax, self, self.interval, COVERAGE)
        return ax


def distribution(
    utility: Utility, z: ArrayLike, model: Model, *, max_states: int | None = None
) -> UtilityDistribution:
    """Return the exact distribution of the utility of a hypothesis.

    Parameters
    ----------
    utility : SimpleFunction, Metric or str
        An automaton; a metric stands for its `CountUtility`.
    z : array-like of {0, 1}
        The hypothesis.
    model : Independent, MarkovChain or LinearChainCRF
        Distribution of the outcome.
    max_states : int, optional
        Limit on the states of one position.

    Returns
    -------
    UtilityDistribution
        Values and their probabilities.

    Examples
    --------
    >>> from argmetric.sequence import Hamming, Independent, distribution
    >>> losses = distribution(Hamming(), [1, 0], Independent([0.9, 0.2]))
    >>> losses.values, losses.probabilities.round(2)
    (array([0., 1., 2.]), array([0.72, 0.26, 0.02]))
    >>> losses.quantile(0.9)
    1.0
    """
    function, chain = as_scalar(utility, "distribution()"), as_chain(model)
    if max_states is not None:
        max_states = check_count(max_states, "max_states", low=1)
    hypothesis = check_hypothesis(z, chain)
    function.check(chain.n)
    outcome = run(function, hypothesis, chain, None, max_states)
    known = ~np.isnan(outcome.values) & (outcome.mass > 0)
    undefined = float(outcome.mass[np.isnan(outcome.values)].sum())
    values, mass = distinct(outcome.values[known], outcome.mass[known])
    return UtilityDistribution(values, mass / (mass.sum() or 1.0), undefined)
