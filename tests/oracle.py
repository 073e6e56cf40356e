"""Slow, independent references: every number the package returns has one here.

Nothing is imported from the package. Metrics are written once, from the four
counts of the confusion matrix, and work both on `Fraction` (exact; roots by mpmath
with 40 digits) and on arrays of `np.longdouble` (64 bits of mantissa or more).

`enumerated_*` sum over all 2^n outcomes; `summed_*` use Poisson-binomial PMFs and
serve larger n. The second kind is tested against the first.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache, lru_cache

import mpmath
import numpy as np

mpmath.mp.dps = 40
REAL = np.longdouble
NAN = math.nan

# ------------------------------------------------------------------ metrics


def ratio(numerator, denominator, otherwise):
    if isinstance(denominator, np.ndarray):
        zero = denominator == 0
        return np.where(zero, otherwise, numerator / np.where(zero, 1, denominator))
    return otherwise if denominator == 0 else numerator / denominator


def root(x):
    if isinstance(x, np.ndarray):
        return np.sqrt(x)
    return x if x != x else mpmath.sqrt(mpmath.mpf(x.numerator) / x.denominator)


def where(condition, this, other):
    if isinstance(condition, np.ndarray):
        return np.where(condition, this, other)
    return this if condition else other


def unless_left_out(convention, zd):
    """Fixed value of scikit-learn's convention, unless undefined cases are left out."""
    return zd if math.isnan(zd) else convention


def f_measure(above, below=1):
    """F with beta² = above / below, in whole coefficients."""

    def formula(tp, fp, fn, tn, zd):
        hits = (above + below) * tp
        return ratio(hits, hits + above * fn + below * fp, zd)

    return formula


def tversky(unit, fp_weight, fn_weight):
    def formula(tp, fp, fn, tn, zd):
        return ratio(unit * tp, unit * tp + fp_weight * fp + fn_weight * fn, zd)

    return formula


def linear_fractional(c, d):
    def formula(tp, fp, fn, tn, zd):
        size, k, t = tp + fp + fn + tn, tp + fp, tp + fn
        top = c[0] * size + c[1] * tp + c[2] * k + c[3] * t
        bottom = d[0] * size + d[1] * tp + d[2] * k + d[3] * t
        return ratio(top, bottom, zd)

    return formula


def utility(hit, false_alarm, miss, rejection):
    def formula(tp, fp, fn, tn, zd):
        return hit * tp + false_alarm * fp + miss * fn + rejection * tn

    return formula


def rates(tp, fp, fn, tn, zd):
    """True positive rate and true negative rate."""
    return ratio(tp, tp + fn, zd), ratio(tn, tn + fp, zd)


def jaccard(tp, fp, fn, tn, zd):
    return ratio(tp, tp + fp + fn, zd)


def balanced_accuracy(tp, fp, fn, tn, zd):
    tpr, tnr = rates(tp, fp, fn, tn, 0)
    absent = where(tp + fn == 0, tnr, tpr)
    both = (tpr + tnr) / 2
    return where((tp + fn) * (tn + fp) == 0, absent, both)


def fowlkes_mallows(tp, fp, fn, tn, zd):
    k, t = tp + fp, tp + fn
    return where(k + t == 0, zd, ratio(tp, root(k * t), 0))


def gmean(tp, fp, fn, tn, zd):
    tpr, tnr = rates(tp, fp, fn, tn, zd)
    return root(tpr * tnr)


def hmean(tp, fp, fn, tn, zd):
    tpr, tnr = rates(tp, fp, fn, tn, zd)
    return ratio(2 * tpr * tnr, tpr + tnr, 0)


def qmean(tp, fp, fn, tn, zd):
    tpr, tnr = rates(tp, fp, fn, tn, zd)
    return 1 - root(((1 - tpr) ** 2 + (1 - tnr) ** 2) / 2)


def mcc(tp, fp, fn, tn, zd):
    marginals = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return ratio(tp * tn - fp * fn, root(marginals), unless_left_out(0, zd))


def kappa(tp, fp, fn, tn, zd):
    expected_agreement = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    return ratio(2 * (tp * tn - fp * fn), expected_agreement, zd)


def accuracy(tp, fp, fn, tn, zd):
    return (tp + tn) / (tp + fp + fn + tn)


def precision(tp, fp, fn, tn, zd):
    return ratio(tp, tp + fp, zd)


def recall(tp, fp, fn, tn, zd):
    return ratio(tp, tp + fn, zd)


def specificity(tp, fp, fn, tn, zd):
    return ratio(tn, tn + fp, zd)


def youden(tp, fp, fn, tn, zd):
    tpr, tnr = rates(tp, fp, fn, tn, zd)
    return tpr + tnr - 1


def markedness(tp, fp, fn, tn, zd):
    return ratio(tp, tp + fp, zd) + ratio(tn, tn + fn, zd) - 1


def lift(tp, fp, fn, tn, zd):
    size = tp + fp + fn + tn
    return ratio(size * tp, (tp + fp) * (tp + fn), unless_left_out(1, zd))


def squared_count_error(tp, fp, fn, tn, zd):
    return ((fn - fp) / (tp + fp + fn + tn)) ** 2


def squared_rates(tp, fp, fn, tn, zd):
    """A user's function without a closed form: tp² / (k t)."""
    return ratio(tp * tp, (tp + fp) * (tp + fn), zd)


# Whole coefficients: a Fraction stays a Fraction, a longdouble stays one.
LINEAR_FRACTIONAL_C = (1, 16, -4, 2)
LINEAR_FRACTIONAL_D = (4, 2, 8, 6)
UTILITY = (4, -3, -2, 1)

FORMULAS = {
    "f1": f_measure(1),
    "f2": f_measure(4),
    "f0.5": f_measure(1, 4),
    "jaccard": jaccard,
    "tversky": tversky(4, 1, 6),  # alpha = 1/4, beta = 3/2
    "linear_fractional": linear_fractional(LINEAR_FRACTIONAL_C, LINEAR_FRACTIONAL_D),
    "balanced_accuracy": balanced_accuracy,
    "fowlkes_mallows": fowlkes_mallows,
    "gmean": gmean,
    "hmean": hmean,
    "qmean": qmean,
    "mcc": mcc,
    "kappa": kappa,
    "accuracy": accuracy,
    "precision": precision,
    "recall": recall,
    "specificity": specificity,
    "youden": youden,
    "markedness": markedness,
    "lift": lift,
    "utility": utility(*UTILITY),
    "sec": squared_count_error,
    "custom": squared_rates,
}
NAMES = tuple(FORMULAS)
TWO_DIMENSIONAL = ("gmean", "hmean", "qmean", "custom")
NOT_AFFINE = (*TWO_DIMENSIONAL, "jaccard", "tversky", "linear_fractional")
AFFINE = tuple(name for name in NAMES if name not in NOT_AFFINE)
MINIMISED = ("sec",)


def exact_value(metric, tp, k, t, n, zd=0):
    """Value of one cell, as a Fraction or a 40-digit number; nan if left out."""
    formula = FORMULAS[metric] if isinstance(metric, str) else metric
    counts = (tp, k - tp, t - tp, n - k - t + tp)
    zd = zd if math.isnan(zd) else Fraction(zd)
    return formula(*(Fraction(count) for count in counts), zd)


def values(metric, tp, k, t, n, zd=0.0, real=REAL):
    """Values of many cells in extended precision; nan where left out."""
    formula = FORMULAS[metric] if isinstance(metric, str) else metric
    tp, k, t, n = np.broadcast_arrays(*(np.asarray(x, real) for x in (tp, k, t, n)))
    with np.errstate(invalid="ignore"):
        return np.asarray(formula(tp, k - tp, t - tp, n - k - t + tp, real(zd)), real)


def feasible_cells(n):
    """Every (tp, k, t) that a confusion matrix of n items can have."""
    return [
        (tp, k, t)
        for k in range(n + 1)
        for t in range(n + 1)
        for tp in range(max(0, k + t - n), min(k, t) + 1)
    ]


@lru_cache(maxsize=512)
def _table(metric, n, zd_key):
    zd = NAN if zd_key == "nan" else zd_key
    table = np.full((n + 1, n + 1, n + 1), NAN, REAL)
    tp, k, t = np.array(feasible_cells(n)).T
    table[tp, k, t] = values(metric, tp, k, t, n, zd)
    return table


def value_table(metric, n, zd=0.0):
    """`table[tp, k, t]`; nan where infeasible or left out."""
    return _table(metric, n, "nan" if math.isnan(zd) else float(zd))


# -------------------------------------------------- enumeration of outcomes


@cache
def binary_vectors(n):
    """All 2^n rows of 0/1."""
    return np.array(list(itertools.product((0, 1), repeat=n)), dtype=np.int64)


def outcome_weights(p):
    """Probability of each row of `binary_vectors(n)`."""
    p = np.asarray(p, REAL)
    return np.prod(np.where(binary_vectors(p.size), p, 1 - p), axis=1)


def mean_and_scale(weights, cells):
    """E[value | defined], E[|value| | defined], P(defined); nan if never defined."""
    defined = ~np.isnan(cells)
    mass = np.sum(np.where(defined, weights, 0), axis=0)
    filled = np.where(defined, cells, 0)
    mean = ratio(np.sum(weights * filled, axis=0), np.asarray(mass), NAN)
    scale = ratio(np.sum(weights * np.abs(filled), axis=0), np.asarray(mass), NAN)
    return mean, scale, mass


def enumerated_means(metric, p, predictions, zd=0.0):
    """Expected value of each row of `predictions`, with its scale E|value|."""
    p = np.asarray(p, float)
    predictions = np.atleast_2d(predictions)
    outcomes, weights = binary_vectors(p.size), outcome_weights(p)
    tp = outcomes @ predictions.T
    k, t = predictions.sum(axis=1), outcomes.sum(axis=1)
    cells = value_table(metric, p.size, zd)[tp, k[None, :], t[:, None]]
    mean, scale, _ = mean_and_scale(weights[:, None], cells)
    return mean, scale


def enumerated_mean(metric, p, labels, zd=0.0):
    """Expected value of one prediction."""
    return enumerated_means(metric, p, np.asarray(labels)[None, :], zd)[0][0]


def top_sets(p):
    """Top-k predictions, k = 0..n, one a row; ties in input order."""
    p = np.asarray(p, float)
    rank = np.empty(p.size, int)
    rank[np.argsort(-p, kind="stable")] = np.arange(p.size)
    return (rank[None, :] < np.arange(p.size + 1)[:, None]).astype(int)


def enumerated_curve(metric, p, zd=0.0):
    """Expected value of the top-k set, k = 0..n, and its scale."""
    return enumerated_means(metric, p, top_sets(p), zd)


def enumerated_best(metric, p, zd=0.0, keep=None):
    """Best expected value over all 2^n predictions that `keep` admits; its scale."""
    predictions = binary_vectors(len(p))
    if keep is not None:
        predictions = predictions[[keep(row) for row in predictions]]
    mean, scale = enumerated_means(metric, p, predictions, zd)
    if np.isnan(mean).all():
        return NAN, NAN
    at = np.nanargmin(mean) if metric in MINIMISED else np.nanargmax(mean)
    return mean[at], scale[at]


def exact_mean(metric, p, labels, zd=0):
    """Exact expectation with fractions (roots: 40 digits); for a handful of items."""
    total, mass, n, k = 0, Fraction(0), len(p), int(sum(labels))
    p = [Fraction(x) for x in p]
    for outcome in itertools.product((0, 1), repeat=n):
        weight = math.prod(
            (x if y else 1 - x for x, y in zip(p, outcome, strict=True)),
            start=Fraction(1),
        )
        tp = sum(y and z for y, z in zip(outcome, labels, strict=True))
        value = exact_value(metric, int(tp), k, sum(outcome), n, zd)
        if value == value:
            total, mass = total + weight * value, mass + weight
    return total / mass if mass else NAN


# ------------------------------------------------- sums over counts, larger n


def poisson_binomial(p):
    """Distribution of the number of successes, by adding one item at a time."""
    pmf = np.ones(1, REAL)
    for x in np.asarray(p, REAL):
        longer = np.zeros(pmf.size + 1, REAL)
        longer[:-1] += (1 - x) * pmf
        longer[1:] += x * pmf
        pmf = longer
    return pmf


def wide_pmf(p, negligible=0.0, real=REAL):
    """First count and probabilities of the number of successes: a tree of products.

    The polynomials (1-x) + x·z of all items are multiplied in pairs, all pairs of a
    level at once; coefficients up to `negligible` are dropped at both ends. All terms
    are positive: doubles lose a digit or two.
    """
    rows = np.sort(np.asarray(p, float)).astype(real)[:, None]
    rows, first = np.append(1 - rows, rows, axis=1), np.zeros(len(rows), int)
    if not len(rows):
        return 0, np.ones(1, real)
    while len(rows) > 1:
        if len(rows) % 2:
            one = np.zeros((1, rows.shape[1]), real)
            one[0, 0] = 1
            rows, first = np.append(rows, one, axis=0), np.append(first, 0)
        width = rows.shape[1]
        product = np.zeros((len(rows) // 2, 2 * width - 1), real)
        for i in range(width):
            product[:, i : i + width] += rows[::2, i, None] * rows[1::2]
        kept = product > negligible
        low, high = kept.argmax(axis=1), kept.shape[1] - kept[:, ::-1].argmax(axis=1)
        at = low[:, None] + np.arange((high - low).max())
        product = np.append(product, np.zeros((len(product), 1), real), axis=1)
        rows = np.take_along_axis(product, np.minimum(at, 2 * width - 1), axis=1)
        first = first[::2] + first[1::2] + low
    return int(first[0]), rows[0]


def _prefix_pmfs(p):
    pmf = np.ones(1, REAL)
    pmfs = [pmf]
    for x in np.asarray(p, REAL):
        pmf = np.append((1 - x) * pmf, REAL(0)) + np.append(REAL(0), x * pmf)
        pmfs.append(pmf)
    return pmfs


def summed_curve(metric, p, zd=0.0):
    """Whole curve by the cubic double sum over (tp, rest); n up to about 200."""
    p = np.sort(np.asarray(p, float))[::-1]
    selected = _prefix_pmfs(p)
    left = _prefix_pmfs(p[::-1])[::-1]
    results = [
        _double_sum(metric, selected[k], left[k], k, p.size, zd)
        for k in range(p.size + 1)
    ]
    mean, scale = zip(*results, strict=True)
    return np.array(mean, REAL), np.array(scale, REAL)


def _double_sum(metric, selected, left, k, n, zd, first=0, first_left=0):
    tp = first + np.arange(selected.size)[:, None]
    t = tp + first_left + np.arange(left.size)[None, :]
    weights = (selected[:, None] * left[None, :]).ravel()
    mean, scale, _ = mean_and_scale(weights, values(metric, tp, k, t, n, zd).ravel())
    return mean[()], scale[()]


def summed_mean(metric, p, k, zd=0.0, negligible=0.0):
    """Expected value of the top-k set for one k, any metric; n up to about 2000.

    Probabilities up to `negligible` are dropped at both ends of the two PMFs: 1e-40
    is faster, and wrong only where the value itself is as small.
    """
    p = np.sort(np.asarray(p, float))[::-1]
    selected, first = _trim(poisson_binomial(p[:k]), negligible)
    left, first_left = _trim(poisson_binomial(p[k:]), negligible)
    return _double_sum(metric, selected, left, k, p.size, zd, first, first_left)[0]


def _trim(pmf, negligible):
    kept = np.flatnonzero(pmf > negligible)
    return pmf[kept[0] : kept[-1] + 1], int(kept[0])


def affine_curve(metric, p, zd=0.0, negligible=0.0):
    """Whole curve of a metric affine in tp, O(n²); n up to about 2000.

    E[value] = Σ_t slope(k, t)·E[tp; T = t] + intercept(k, t)·P(T = t), where
    E[tp; T = t] = Σ_{i ≤ k} p_i P(T without i = t-1).
    """
    p = np.sort(np.asarray(p, float))[::-1].astype(REAL)
    n = p.size
    pmf = poisson_binomial(p)
    hits = np.zeros((n + 1, n + 1), REAL)  # [k, t]: E[tp; T = t]
    hits[1:, 1:] = np.cumsum(p[:, None] * leave_one_out(p, pmf), axis=0)
    curve = np.empty(n + 1, REAL)
    kept, first = _trim(pmf, negligible)
    t = first + np.arange(kept.size)
    pmf, hits = kept, hits[:, t]
    for k in range(n + 1):
        low, high = np.maximum(0, k + t - n), np.minimum(k, t)
        at_low = values(metric, low, k, t, n, zd)
        at_high = values(metric, high, k, t, n, zd)
        slope = (at_high - at_low) / np.maximum(high - low, 1)
        cells = slope * hits[k] + (at_low - slope * low) * pmf
        defined = ~np.isnan(cells)
        mass = pmf[defined].sum()
        curve[k] = cells[defined].sum() / mass if mass > 0 else NAN
    return curve


def leave_one_out(p, pmf):
    """`[i, t]` = P(T without i = t), t = 0..n-1, by stable deconvolution."""
    n = p.size
    result = np.zeros((n, n), REAL)
    low, high = p <= 0.5, p > 0.5
    a, b = p[low], p[high]
    carry = np.zeros(a.size, REAL)
    for t in range(n):
        carry = (pmf[t] - a * carry) / (1 - a)
        result[low, t] = carry
    carry = np.zeros(b.size, REAL)
    for t in range(n - 1, -1, -1):
        carry = (pmf[t + 1] - (1 - b) * carry) / b
        result[high, t] = carry
    return result


def jaccard_curve(p, zd=0.0):
    """Whole Jaccard curve, E = mu_k E[1/(k + R)], O(n²)."""
    p = np.sort(np.asarray(p, float))[::-1].astype(REAL)
    n = p.size
    curve = np.empty(n + 1, REAL)
    pmf = np.ones(1, REAL)
    hits = np.append(REAL(0), np.cumsum(p))
    for k in range(n, 0, -1):
        curve[k] = hits[k] * np.sum(pmf / (k + np.arange(pmf.size)))
        x = p[k - 1]
        pmf = np.append((1 - x) * pmf, REAL(0)) + np.append(REAL(0), x * pmf)
    curve[0] = 0 if math.isnan(zd) else zd * pmf[0]
    if math.isnan(zd) and pmf[1:].sum() == 0:
        curve[0] = NAN
    return curve


# ------------------------------------------------------------- choosing k


def best_k(curve, metric="f1", allowed=None, slack=1e-12):
    """Smallest k whose value is the best up to a relative `slack`."""
    gain = np.array(-curve if metric in MINIMISED else curve, REAL)
    if allowed is not None:
        gain[~np.asarray(allowed)] = NAN
    top = np.nanmax(gain)
    return int(np.flatnonzero(gain >= top - slack * abs(top))[0])


def allowed_sizes(
    p, min_positives=0, max_positives=None, min_precision=None, min_recall=None
):
    """Which k = 0..n satisfy the floors and budgets, by their definitions."""
    p = np.sort(np.asarray(p, float))[::-1]
    k = np.arange(p.size + 1)
    allowed = (k >= min_positives) & (
        k <= (p.size if max_positives is None else max_positives)
    )
    if min_precision is not None:
        allowed[1:] &= np.cumsum(p.astype(REAL)) / k[1:] >= min_precision
    if min_recall is not None:
        curve, _ = enumerated_curve("recall", p, NAN)
        allowed &= np.nan_to_num(curve, nan=1.0) >= min_recall
    return allowed


# ---------------------------------------------------------- distributions


def distribution(metric, p, labels, zd=0.0):
    """Distinct values, their probabilities given `defined`, and P(undefined)."""
    outcomes, weights = binary_vectors(len(p)), outcome_weights(p)
    labels = np.asarray(labels, int)
    cells = value_table(metric, len(p), zd)[
        outcomes @ labels, labels.sum(), outcomes.sum(axis=1)
    ]
    return merge_atoms(cells, weights)


def merge_atoms(cells, weights, resolution=1e-14):
    """Sort atoms, join those that only rounding separates, condition on `defined`."""
    defined = ~np.isnan(cells) & (weights > 0)
    missing = weights[np.isnan(cells)].sum()
    order = np.argsort(cells[defined], kind="stable")
    atoms, mass = cells[defined][order], weights[defined][order]
    if atoms.size == 0:
        return atoms, mass, missing
    scale = np.maximum(1, np.abs(atoms[1:]))
    starts = np.append(0, np.flatnonzero(np.diff(atoms) > resolution * scale) + 1)
    return atoms[starts], np.add.reduceat(mass, starts) / mass.sum(), missing


def moments(atoms, probabilities):
    """Mean and standard deviation."""
    mean = np.sum(atoms * probabilities)
    return mean, np.sqrt(np.sum(probabilities * (atoms - mean) ** 2))


def central_interval(atoms, probabilities, coverage):
    """The narrowest pair of atoms with at most half of the rest beyond each."""
    rest = (1 - REAL(coverage)) / 2 + 1e-12
    low = max(a for a in atoms if probabilities[atoms < a].sum() <= rest)
    high = min(a for a in atoms if probabilities[atoms > a].sum() <= rest)
    return float(low), float(high)


def scores(metric, y_true, y_pred, zd=0.0):
    """Realised score of 0/1 rows against 0/1 rows, one a row."""
    y_true, y_pred = np.atleast_2d(y_true), np.atleast_2d(y_pred)
    tp = (y_true & y_pred).sum(axis=1)
    return values(
        metric, tp, y_pred.sum(axis=1), y_true.sum(axis=1), y_true.shape[1], zd
    )


def binomial_pmf(n, x):
    """PMF of a sum of n equal labels in extended precision, by log-factorials."""
    t = np.arange(n + 1, dtype=np.longdouble)
    log_factorial = np.concatenate([[0], np.cumsum(np.log(t[1:]))])
    choose = log_factorial[-1] - log_factorial - log_factorial[::-1]
    return np.exp(
        choose + t * np.log(np.longdouble(x)) + (n - t) * np.log1p(-np.longdouble(x))
    )


# Values of zero_division that metrics with a 0/0 of their own take beside nan
FIXED = {"balanced_accuracy": (), "mcc": (0.0,), "lift": (1.0,)}


def obeyed(name, zero_division):
    """The value, or None where the metric would refuse it."""
    known = FIXED.get(name, (0.0, 1.0))
    fits = zero_division in known or math.isnan(zero_division)
    return zero_division if fits else None
