"""Algebraic forms of metrics, which decide how fast E[metric] can be computed.

No caller branches on the name of a metric: it reads the form and picks the
algorithm that the form allows. A metric without a form is a function of three
counts and nothing else; it is summed over windows of the two Poisson binomial
distributions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from argmetric._ground.display import Shown
from argmetric._ground.types import Floats

Coefficients = tuple[float, float, float, float]


@dataclass(frozen=True)
class MeanForm:
    """Affine in tp and at most quadratic in t, for fixed k.

    E[value] = value(E[tp], k, E[t], n) + curvature(k, n) · Var[t]. Where the value is
    a weighted sum of TP, FP, FN and TN over scale(k, n), the four expected counts are
    summed each for itself, which keeps small values accurate.

    Experimental: may change in any release.

    Parameters
    ----------
    curvature : callable, optional
        Factor of Var[t], a function of k and n; by default the value is affine in t.
    cells : tuple of four floats, optional
        Weights of TP, FP, FN and TN.
    scale : callable, optional
        What their sum is divided by, a function of k and n.

    Examples
    --------
    >>> import argmetric as am
    >>> am.Accuracy().form.cells
    (1.0, 0.0, 0.0, 1.0)
    """

    curvature: Callable[[Floats, Floats], Floats] | None = None
    cells: Coefficients | None = None
    scale: Callable[[Floats, Floats], Floats] | None = None


@dataclass(frozen=True)
class RatioForm:
    """(c0·n + c1·tp + c2·k + c3·t) / (d0·n + d1·tp + d2·k + d3·t).

    Experimental: may change in any release.

    Parameters
    ----------
    c, d : tuple of four floats
        Coefficients of n, tp, k and t above and below.

    Examples
    --------
    >>> import argmetric as am
    >>> am.FBeta(1).form
    RatioForm(c=(0.0, 2.0, 0.0, 0.0), d=(0.0, 0.0, 1.0, 1.0))
    """

    c: Coefficients
    d: Coefficients

    @property
    def counts_hits_only(self) -> bool:
        """Whether the numerator is a multiple of tp."""
        return self.c[0] == self.c[2] == self.c[3] == 0

    def positive_inside(self, n: int) -> bool:
        """Return whether the denominator is positive for all 1 ≤ k, t ≤ n-1.

        Parameters
        ----------
        n : int
            Number of items.

        Returns
        -------
        bool
            True where the least of them is positive.
        """
        d0, d1, d2, d3 = self.d
        last = max(n - 1, 1)
        pairs = [(1, 1), (1, last), (last, 1), (last, last)]
        cells = [(max(0, k + t - n), k, t) for k, t in pairs]
        cells += [(min(k, t), k, t) for k, t in pairs]
        return min(d0 * n + d1 * tp + d2 * k + d3 * t for tp, k, t in cells) > 0

    def denominator_range(
        self, m: npt.ArrayLike, n: npt.ArrayLike
    ) -> tuple[Floats, Floats]:
        """Return the smallest and the largest denominator of the summed counts.

        Parameters
        ----------
        m : array-like
            Largest numbers of predicted and of actual positives.
        n : array-like
            Numbers of items.

        Returns
        -------
        least, most : ndarray
            The ends of the denominator over all counts up to m.
        """
        least = 1 if self.counts_hits_only else 0
        most = np.maximum(np.asarray(m, dtype=np.float64), least)
        size, few = np.asarray(n, dtype=np.float64), np.full_like(most, least)
        corners = [(few, few, few), (few, few, most), (few, most, few)]
        corners.append((most, most, most))
        d0, d1, d2, d3 = self.d
        values = np.stack(
            [d0 * size + d1 * tp + d2 * k + d3 * t for tp, k, t in corners]
        )
        return values.min(axis=0), values.max(axis=0)


@dataclass(frozen=True)
class ItemForm:
    """hits(k, n) · tp / t^exponent + rejections(k, n) · tn / (n-t)^exponent + offset.

    Each item then carries a weight of its own, whatever else is predicted. Neither
    `hits` nor `rejections` rises with k.

    Experimental: may change in any release.

    Parameters
    ----------
    exponent : float
        Power of the sizes of the classes.
    hits, rejections : callable or None
        Weights of true positives and true negatives, functions of k and n; None for 0.
    offset : float, default=0.0
        Added to the sum.

    Examples
    --------
    >>> import argmetric as am
    >>> form = am.Youden().form
    >>> form.exponent, form.offset
    (1.0, -1.0)
    """

    exponent: float
    hits: Callable[[Floats, Floats], Floats] | None
    rejections: Callable[[Floats, Floats], Floats] | None
    offset: float = 0.0


@dataclass(frozen=True)
class AffineFactors:
    """(hits_k·hits_t·tp + rest_k·rest_t) / (floor + rate·t) in (k, n) or (t, n).

    Experimental: may change in any release.

    Parameters
    ----------
    hits_k, hits_t, rest_k, rest_t : callable
        Factors of the slope and of the rest, functions of k and n or of t and n.
    floor, rate : callable, optional
        The denominator, functions of k and n; by default it is 1.

    Examples
    --------
    >>> import argmetric as am
    >>> factors = am.Kappa().form.factors
    >>> factors.hits_k(3, 10), factors.rate(3, 10)
    (20.0, 4.0)
    """

    hits_k: Callable[[Floats, Floats], Floats]
    hits_t: Callable[[Floats, Floats], Floats]
    rest_k: Callable[[Floats, Floats], Floats]
    rest_t: Callable[[Floats, Floats], Floats]
    floor: Callable[[Floats, Floats], Floats] | None = None
    rate: Callable[[Floats, Floats], Floats] | None = None


@dataclass(frozen=True)
class AffineForm:
    """slope(k, t, n) · tp + intercept(k, t, n) for 0 < k < n and 0 < t < n.

    Both are smooth in t on the scale of min(t, n-t). At k = 0 and k = n the
    value is the same for every 0 < t < n. Without `factors` the metric is summed as
    any other function of the counts.

    Experimental: may change in any release.

    Parameters
    ----------
    slope, intercept : callable
        Functions of k, t and n.
    factors : AffineFactors, optional
        Both as products of functions of k and of t.
    falls_with_k : bool, default=False
        Whether, at fixed tp and t, one more predicted positive never raises the value.

    Examples
    --------
    >>> import argmetric as am
    >>> am.Kappa().form.falls_with_k
    True
    """

    slope: Callable[[Floats, Floats, float], Floats]
    intercept: Callable[[Floats, Floats, float], Floats]
    factors: AffineFactors | None = None
    falls_with_k: bool = False


@dataclass(frozen=True)
class RatesForm:
    """A mean of the rates tp/t and tn/(n-t): concave, and each rate helps the other.

    A rate that is 0/0 is zero_division.

    Experimental: may change in any release.

    Parameters
    ----------
    mean : {"geometric", "harmonic", "quadratic"}
        The mean; with "quadratic", 1 less that of both errors.

    Examples
    --------
    >>> import argmetric as am
    >>> am.GMean().form
    RatesForm(mean='geometric')
    """

    mean: Literal["geometric", "harmonic", "quadratic"]


Form = MeanForm | RatioForm | ItemForm | AffineForm | RatesForm


# n³/6 cells: 1.3 million at 200, a tenth of a second. Beyond, a grid of cells.
EXHAUSTIVE_LIMIT = 200
GRID = 48
INSTANCE_SIZE = 5
INSTANCE_TRIES = 200
RELATIVE_SLACK = 1e-12


@dataclass(frozen=True)
class RankingPrinciple(Shown):
    """Answer to "is some optimal decision a top-k set?"; true when it holds.

    Experimental: may change in any release.

    Attributes
    ----------
    holds : bool
        Whether the principle holds.
    reason : {"proven", "checked", "sampled", "violated"}
        Proven for every n; checked on all cells of this n; checked on a grid of
        cells, where n is too large for all; or violated at a cell.
    n : int
        Number of rows.
    detail : str
        The proof, or what was checked, or the violated cell in words.
    counterexample : dict or None
        `tp`, `k`, `t`, `n` at which one more hit makes the value worse, and the two
        values. Where a search finds one, also probabilities `p` for which the items
        `better` are expected to score more than `top`, the most probable as many.

    Examples
    --------
    >>> import argmetric as am
    >>> principle = am.MCC().ranking_principle(10)
    >>> principle.holds, principle.reason
    (True, 'proven')
    """

    holds: bool
    reason: str
    n: int
    detail: str
    counterexample: dict[str, Any] | None = None

    def __bool__(self) -> bool:
        return self.holds


def cells(n: int) -> tuple[Floats, Floats, Floats]:
    """Return feasible (tp, k, t), 1 ≤ k, t ≤ n-1, whose tp can still rise by one."""
    if n <= EXHAUSTIVE_LIMIT:
        sizes = np.arange(1, n)
    else:
        sizes = np.unique(np.linspace(1, n - 1, GRID).astype(np.int64))
    k, t = np.meshgrid(sizes, sizes, indexing="ij")
    low, high = np.maximum(0, k + t - n), np.minimum(k, t) - 1
    k, t, low, high = (a[low <= high] for a in (k, t, low, high))
    steps = np.minimum(high - low + 1, high.max(initial=0) + 1)
    if n > EXHAUSTIVE_LIMIT:
        steps = np.minimum(steps, GRID)
    owner = np.repeat(np.arange(k.size), steps)
    rank = np.arange(owner.size) - np.repeat(np.cumsum(steps) - steps, steps)
    width = (high - low)[owner]
    tp = low[owner] + np.where(
        steps[owner] == width + 1,
        rank,
        (rank * width) // np.maximum(steps[owner] - 1, 1),
    )
    return tp.astype(float), k[owner].astype(float), t[owner].astype(float)


def search_violation(
    value: Callable[..., Floats], n: int, greater_is_better: bool
) -> RankingPrinciple:
    """Look at every feasible cell (a grid for large n) for a falling value."""
    tp, k, t = cells(n)
    if tp.size == 0:
        return RankingPrinciple(True, "checked", n, "no cell to check")
    sign = 1.0 if greater_is_better else -1.0
    before, after = sign * value(tp, k, t, n), sign * value(tp + 1, k, t, n)
    slack = RELATIVE_SLACK * (np.abs(before) + np.abs(after))
    with np.errstate(invalid="ignore"):  # infinities are refused elsewhere
        fall = np.nan_to_num(before - after - slack, nan=-1.0)
    worst = int(np.argmax(fall))
    if fall[worst] <= 0:
        reason = "checked" if n <= EXHAUSTIVE_LIMIT else "sampled"
        return RankingPrinciple(
            True, reason, n, f"the value never falls with tp on {tp.size} cells"
        )
    cell = {
        "tp": int(tp[worst]),
        "k": int(k[worst]),
        "t": int(t[worst]),
        "n": n,
        "value": sign * float(before[worst]),
        "value_with_one_more_hit": sign * float(after[worst]),
    }
    detail = (
        f"with k={cell['k']} predicted and t={cell['t']} actual positives of n={n}, "
        f"raising tp from {cell['tp']} to {cell['tp'] + 1} changes the value from "
        f"{cell['value']:.6g} to {cell['value_with_one_more_hit']:.6g}"
    )
    instance = search_instance(value, min(n, INSTANCE_SIZE), sign)
    if instance:
        detail += (
            f"; for p = {instance['p']} the items {instance['better']} are expected to "
            f"score {instance['better_value']:.4f}, the most probable "
            f"{len(instance['top'])} only {instance['top_value']:.4f}"
        )
    return RankingPrinciple(False, "violated", n, detail, cell | instance)


def search_instance(
    value: Callable[..., Floats], n: int, sign: float
) -> dict[str, Any]:
    """Return probabilities for which another k-set beats the top-k set, if found."""
    outcomes = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    k, t = outcomes.sum(axis=1)[:, None], outcomes.sum(axis=1)[None, :]
    values = sign * np.nan_to_num(value(outcomes @ outcomes.T, k, t, n))
    rng = np.random.default_rng(0)
    best: dict[str, Any] = {}
    gain = 1e-9
    for p in np.sort(rng.random((INSTANCE_TRIES, n)).round(2))[:, ::-1]:
        probability = np.where(outcomes == 1, p, 1 - p).prod(axis=1)
        expected = values @ probability
        tops = 2 ** outcomes.sum(axis=1) - 1  # the k most probable come first
        lead = expected - expected[tops]
        winner = int(np.argmax(lead))
        if lead[winner] > gain:
            gain = float(lead[winner])
            top = int(tops[winner])
            best = {
                "p": p.tolist(),
                "better": np.flatnonzero(outcomes[winner]).tolist(),
                "top": np.flatnonzero(outcomes[top]).tolist(),
                "better_value": sign * float(expected[winner]),
                "top_value": sign * float(expected[top]),
            }
    return best
