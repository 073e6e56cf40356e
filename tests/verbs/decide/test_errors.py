"""The error that a decision states holds on both sides of every switch of routes.

Random places beside each switch by size, by variance and by the expected positives:
the stated value against sums over both PMFs in extended precision, at the stated k.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

import argmetric as am
import oracle
from routes import QUADRATURES, decide_by, plan
from slow import SLOW

PLACES = 200 if SLOW else 12
NAN = math.nan
NEGLIGIBLE = 1e-24
UNTRIMMED = 400  # rows up to which the twin keeps every outcome
SPECIAL = {
    "tversky": am.Tversky(0.25, 1.5),
    "linear_fractional": am.LinearFractional(
        oracle.LINEAR_FRACTIONAL_C, oracle.LINEAR_FRACTIONAL_D
    ),
    "utility": am.Utility(*oracle.UTILITY),
    "custom": am.CustomMetric(
        lambda tp, k, t, n: np.divide(
            tp * tp, k * t, out=np.zeros(np.broadcast(tp, k, t).shape), where=k * t > 0
        ),
        zero_division=0.0,
    ),
}
RATIO = ("f1", "f2", "f0.5", "jaccard", "tversky", "linear_fractional")
AFFINE = ("mcc", "kappa")
RATES = ("gmean", "hmean", "qmean")
ITEMS = ("recall", "specificity", "balanced_accuracy", "youden", "lift")
ITEMS += ("fowlkes_mallows",)
MEANS = ("accuracy", "precision", "markedness", "utility", "sec")
EVERY = (*RATIO, *AFFINE, *RATES, *ITEMS, *MEANS, "custom")

BY_SIZE = {
    "TABLE_ROWS": (plan.TABLE_ROWS, EVERY),
    "SHORT_ROWS": (plan.SHORT_ROWS, EVERY),
    "SHARED_TABLE_ROWS": (plan.SHARED_TABLE_ROWS, (*RATES, "custom")),
    "QUADRATIC_ROWS": (plan.QUADRATIC_ROWS, EVERY),
    "HISTOGRAM_ROWS": (plan.HISTOGRAM_ROWS, EVERY),
}
BY_VARIANCE = {
    "QUADRATURE_VARIANCE": (plan.QUADRATURE_VARIANCE, (*RATES, "custom")),
    "AFFINE_QUADRATURE_VARIANCE": (plan.AFFINE_QUADRATURE_VARIANCE, (*AFFINE, *ITEMS)),
    "MIXED_QUADRATURE_VARIANCE": (plan.MIXED_QUADRATURE_VARIANCE, ("kappa",)),
    "both sides of a rate": (2 * plan.QUADRATURE_VARIANCE, RATES),
    "five points": (QUADRATURES[-2][0], (*RATES, "custom")),
    "wide PMFs": (2000.0, (*RATES, *AFFINE, "f1", "custom")),
}
BY_MEAN = {
    "one positive": (1.0, EVERY),
    "HISTOGRAM_POSITIVES": (plan.HISTOGRAM_POSITIVES, (*RATIO, *AFFINE, *MEANS)),
}


def wide_mean(metric, p, k, zd=0.0, negligible=0.0, real=oracle.REAL):
    """Expected value of the top-k set for one k, any metric; n up to a million."""
    p = np.sort(np.asarray(p, float))[::-1]
    (first, hits), (other, misses) = (
        oracle.wide_pmf(part, negligible, real) for part in (p[:k], p[k:])
    )
    total, mass = real(0), real(0)
    t = other + np.arange(misses.size)
    for start in range(0, hits.size, 256):
        tp = first + np.arange(start, min(start + 256, hits.size))[:, None]
        cells = oracle.values(metric, tp, k, tp + t, p.size, zd, real)
        weights = hits[start : start + 256, None] * misses
        defined = ~np.isnan(cells)
        total += np.sum(np.where(defined, cells, 0) * weights)
        mass += np.sum(np.where(defined, weights, 0))
    return total / mass if mass > 0 else math.nan


def test_the_twin_is_exact():
    p = np.append(np.random.default_rng(0).random(37), [0.0, 1.0, 1e-300, 1 - 1e-16])
    pmf = [Fraction(1)]
    for x in map(Fraction, p.tolist()):
        pmf = [
            (1 - x) * same + x * less
            for same, less in zip([*pmf, 0], [0, *pmf], strict=True)
        ]
    first, found = oracle.wide_pmf(p)
    full = np.zeros(len(pmf), oracle.REAL)
    full[first : first + found.size] = found[: len(pmf) - first]
    for got, exact in zip(full, pmf, strict=True):
        assert abs(Fraction(*got.as_integer_ratio()) - exact) <= exact / 10**16
    for name in ("f1", "mcc", "gmean"):
        some = p[30:38]
        best = np.sort(some)[::-1]
        exact = oracle.exact_mean(name, best.tolist(), [1] * 3 + [0] * 5)
        assert abs(wide_mean(name, some, 3) - float(exact)) < 1e-15


def shapes(n, rng):
    """Probabilities of one of many kinds."""
    kind = rng.integers(8)
    a, b = np.exp(rng.uniform(-2.5, 2.5, 2))
    p = rng.beta(a, b, n)
    if kind == 1:
        p = np.minimum(rng.exponential(1, n) / np.exp(rng.uniform(1, 5)), 1.0)
    if kind == 2:
        p = 1 - np.minimum(rng.exponential(1, n) / np.exp(rng.uniform(1, 5)), 1.0)
    if kind == 3:
        p = p.round(1)
    if kind == 4:
        p = 10.0 ** rng.uniform(-16, 0, n)
    if kind == 5:
        p = np.full(n, rng.random())
    if kind == 6:
        p[rng.random(n) < 0.3] = rng.choice([0.0, 1.0, 1e-300, 1 - 1e-16])
    return p


def with_variance(wanted, rng):
    """So many probabilities that their variance is the wanted one."""
    for _ in range(1000):
        p = shapes(4000, rng)
        rows = int(wanted / max(float((p * (1 - p)).mean()), 1e-9)) + 1
        if rows <= (60_000 if rng.random() < 0.2 else 12_000):
            p = np.resize(p, rows)
            if rng.random() < 0.3:  # rare positives, or rare negatives
                p = rng.exponential(1, rows * int(rng.integers(2, 6)))
                p = np.minimum(p * wanted / p.sum(), 1.0)
                p = p if rng.random() < 0.5 else 1 - p
            if abs(float(p @ (1 - p)) / wanted - 1) < 0.5:
                return p
    raise AssertionError("no such probabilities")


def near(limit, rng):
    return limit * (1 + rng.uniform(-0.05, 0.05))


def places(kind, limit, rng):
    """Probabilities beside a switch, one vector or some groups."""
    for _ in range(PLACES if SLOW or limit <= 1000 else PLACES // 4):
        count = 1 if rng.random() < 0.6 or limit > 1000 else int(rng.integers(2, 4))
        if kind == "size":
            sizes = limit + rng.integers(-1, 2, count)
            yield [shapes(int(n), rng) for n in sizes]
        elif kind == "variance":
            yield [with_variance(near(limit, rng), rng) for _ in range(count)]
        else:
            n = 60_000 if limit > 1 and rng.random() < 0.2 else 3000
            parts = [rng.exponential(1, n) for _ in range(count)]
            parts = [near(limit, rng) / x.sum() * x for x in parts]
            yield [np.minimum(p, 1) if rng.random() < 0.5 else 1 - p for p in parts]


def true_value(name, parts, counts, zd):
    found = []
    for p, k in zip(parts, counts, strict=True):
        narrow = (0.0, oracle.REAL) if p.size <= UNTRIMMED else (NEGLIGIBLE, np.float64)
        found.append(wide_mean(name, p, int(k), zd, *narrow))
    defined = [value for value in found if not math.isnan(value)]
    return sum(defined) / len(defined) if defined else NAN


@pytest.mark.parametrize(
    ("kind", "name"),
    [("size", name) for name in BY_SIZE]
    + [("variance", name) for name in BY_VARIANCE]
    + [("mean", name) for name in BY_MEAN],
)
def test_the_stated_error_holds(kind, name):
    limit, metrics = {"size": BY_SIZE, "variance": BY_VARIANCE, "mean": BY_MEAN}[kind][
        name
    ]
    rng = np.random.default_rng(sum(map(ord, name)))
    wrong = []
    for place, parts in enumerate(places(kind, limit, rng)):
        metric = str(rng.choice(metrics))
        rare = metric in (*RATES, "custom") and max(p.size for p in parts) > UNTRIMMED
        zd = float(rng.choice([0.0, 1.0] if rare else [0.0, 1.0, NAN]))
        zd = 0.0 if metric == "custom" else zd
        spec = SPECIAL.get(metric, metric)
        if len(parts) == 1:
            found = decide_by(
                parts[0], spec, zero_division=oracle.obeyed(metric, zd), check=False
            )
            counts = [found.n_positives]
        else:
            ids = np.repeat(np.arange(len(parts)), [p.size for p in parts])
            found = decide_by(
                np.concatenate(parts),
                spec,
                groups=ids,
                average="groups",
                zero_division=oracle.obeyed(metric, zd),
                check=False,
            )
            counts = found.group_n_positives
        wanted = float(true_value(metric, parts, counts, zd))
        if math.isnan(wanted) and math.isnan(found.expected):
            continue
        if not abs(found.expected - wanted) <= found.error:
            off = abs(found.expected - wanted)
            sizes = [p.size for p in parts]
            where = f"{place}: {metric}, 0/0 = {zd}, {sizes} rows, k = {counts}"
            wrong.append(f"{where}: off by {off}, stated {found.error}")
    assert not wrong, "\n".join(wrong)


RARE = {"rare positives": lambda x: x, "rare negatives": lambda x: 1 - x}


@pytest.mark.parametrize("side", [0.61, 0.95, 1.05])
@pytest.mark.parametrize("rare", RARE)
@pytest.mark.parametrize("metric", [*AFFINE, *ITEMS])
def test_rare_labels_on_both_sides_of_the_switch(metric, rare, side):
    """Eight points erred by 1e-10 here, and by more where terms cancel."""
    p = np.random.default_rng(0).exponential(1, 60_000)
    p = RARE[rare](p * (side * plan.AFFINE_QUADRATURE_VARIANCE / p.sum()))
    found = am.decide(p, metric, min_positives=1, max_positives=p.size // 2)
    wanted = true_value(metric, [p], [found.n_positives], 0.0)
    stated = found.error if rare == "rare negatives" else 1e-13 * max(1.0, wanted)
    assert abs(found.expected - float(wanted)) <= stated < 1e-10
    if metric in ("mcc", "kappa"):  # the same with the classes exchanged
        other = am.decide(1 - p, metric)
        assert other.expected == pytest.approx(am.decide(p, metric).expected, rel=1e-11)


@pytest.mark.parametrize(
    "rows", [plan.HISTOGRAM_ROWS - 1, plan.HISTOGRAM_ROWS, 4 * plan.HISTOGRAM_ROWS]
)
def test_the_recall_of_all_rows_is_one(rows):
    p = np.random.default_rng(1).exponential(1, rows)
    p *= 1.01 * plan.AFFINE_QUADRATURE_VARIANCE / p.sum()
    found = am.decide(p, "recall", min_positives=rows)
    assert found.expected == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize(
    "rows",
    [
        n + more
        for n in (32, plan.SHORT_ROWS, plan.HISTOGRAM_ROWS - 1)
        for more in (0, 1)
    ],
)
@pytest.mark.parametrize("shape", ["uniform", "one low", "high"])
def test_markedness_near_all_rows(rows, shape):
    """Mean p above the cut less the mean below it: nothing cancels near k = n."""
    rng = np.random.default_rng(rows)
    p = {
        "uniform": rng.random(rows),
        "one low": np.append(0.5 + 1e-9 * rng.random(rows - 1), 0.4),
        "high": 1 - 1e-3 * rng.random(rows),
    }[shape]
    best, k = np.sort(p)[::-1].astype(np.longdouble), np.arange(1, rows)
    above, below = np.cumsum(best)[:-1] / k, np.cumsum(best[::-1])[-2::-1] / (rows - k)
    found = am.decide(p, "markedness")
    true = (above - below).astype(float)
    np.testing.assert_allclose(found.curve[1:-1], true, rtol=0, atol=2e-14)
    assert abs(found.expected - true[found.n_positives - 1]) <= found.error
    assert true[found.n_positives - 1] >= true.max() - 2e-12


@pytest.mark.parametrize("rows", [40, plan.HISTOGRAM_ROWS + 1])
def test_what_cancels_everywhere_has_an_error(rows):
    """Markedness of equal rows is 0 at every k, but for rounding."""
    found = am.decide(np.full(rows, 0.37), "markedness", zero_division=NAN)
    assert abs(found.expected) <= found.error <= 1e-12
