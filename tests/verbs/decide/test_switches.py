"""On both sides of every switch of routes by size: the same answers."""

import math

import numpy as np
import pytest

import argmetric as am
from argmetric._expected import expected_curves, plan
from argmetric._ground import groups as _groups
from argmetric._ground.groups import Segments
from argmetric._verbs.decide import decide_by
from decide_checks import law_value


def own(tp, k, t, n):
    return tp / (0.3 * k + 0.7 * t + 1.0)


LIMITS = (plan.TABLE_ROWS, plan.SHORT_ROWS, plan.QUADRATIC_ROWS, plan.SHARED_TABLE_ROWS)
METRICS = ("f1", "f0.7", "jaccard", "mcc", "kappa", "gmean", "qmean")
METRICS += ("balanced_accuracy", "fowlkes_mallows", own)


@pytest.mark.parametrize("size", sorted({m + d for m in LIMITS for d in (0, 1)}))
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("copies", [1, 3, LIMITS[-1] ** 2 // plan.SHARING + 3])
def test_curves_at_the_limits_of_tables(metric, size, copies):
    rng = np.random.default_rng(size)
    p = rng.beta(0.5, 2, (copies, size))
    decision = (
        am.decide(p[0], metric)
        if copies == 1
        else am.decide(p, metric, average="samples")
    )
    for g in {0, copies - 1}:
        curve = decision.curve if copies == 1 else decision.curve_of(g)
        best = int(decision.n_positives if copies == 1 else p[g].size // 3)
        for k in {best, 1, size - 1}:
            assert curve[k] == pytest.approx(
                law_value(metric, p[g], k, size), rel=1e-11, abs=1e-13
            )
        if copies > 1:
            k = int(decision.group_n_positives[g])
            assert decision.group_expected[g] == pytest.approx(
                law_value(metric, p[g], k, size), rel=1e-11, abs=1e-13
            )
            assert curve.max() == pytest.approx(decision.group_expected[g], rel=2e-12)


@pytest.mark.parametrize("zero_division", [0.0, 1.0, math.nan])
@pytest.mark.parametrize(
    "metric",
    ["f1", "f0.7", "jaccard", "mcc", "kappa", "balanced_accuracy", "fowlkes_mallows"],
)
def test_what_0_by_0_adds_is_shared_by_segments_of_a_size(metric, zero_division):
    """Alone, of one size, of many, with certain negatives; likely, rare and never."""
    metric = am.get_metric(metric).with_zero_division(zero_division)
    rng = np.random.default_rng(0)
    short, long = 200, 201
    lengths = np.array([33, 60, 33, 33, short, long, long, 33, 40, long, short, 60])
    sizes = lengths + 5 * (np.arange(lengths.size) % 3)
    rates = [1e-9, 0.01, 0.3, 0.9, 0.3, 0.01, 0.6, 1 - 1e-9, 0.5, 1e-9, 0.999, 0.3]
    for copies in (1, 4):
        chosen = np.tile(np.arange(lengths.size), copies)
        parts = [
            np.sort(rates[g] * (1 - 0.1 * rng.random(lengths[g])))[::-1] for g in chosen
        ]
        p = np.concatenate(parts)
        indptr = np.concatenate([[0], np.cumsum(lengths[chosen])])
        segments = Segments(p, 1 - p, indptr, sizes[chosen])
        curves, _ = expected_curves(segments, metric)
        for g in range(chosen.size):
            alone, _ = expected_curves(segments.one(g), metric)
            np.testing.assert_allclose(
                curves[segments.place(g)], alone, rtol=1e-12, atol=1e-14
            )


@pytest.mark.parametrize(
    ("metric", "variance"),
    [
        ("mcc", plan.AFFINE_QUADRATURE_VARIANCE),
        ("kappa", plan.MIXED_QUADRATURE_VARIANCE),
        (own, plan.QUADRATURE_VARIANCE),
    ],
)
@pytest.mark.parametrize("side", [0.97, 1.03])
def test_curves_at_the_limits_of_variance(metric, variance, side):
    p = np.random.default_rng(1).beta(0.5, 2, 5000)
    items = np.searchsorted(np.cumsum(p * (1 - p)), side * variance)
    p = np.concatenate([p[:items], np.full(5000 - items, 1e-9)])
    assert math.isclose(float(p @ (1 - p)), side * variance, rel_tol=0.02)
    # Eight points for a law of the variance at the switch err by less than 1e-10.
    rel = 1e-10 if metric is own else 1e-11
    decision = am.decide(p, metric)
    for k in (decision.n_positives, 5, 2400):
        wanted = law_value(metric, p, k, p.size)
        assert decision.curve[k] == pytest.approx(wanted, rel=rel, abs=1e-13)
    wanted = law_value(metric, p, decision.n_positives, p.size)
    assert decision.expected == pytest.approx(wanted, rel=rel)


@pytest.mark.parametrize("metric", ["f1", "mcc", "kappa", "jaccard", own])
def test_groups_on_both_sides_of_the_limits_of_variance(metric):
    """Some groups of one call below, and some above."""
    rng = np.random.default_rng(4)
    sizes = [150, 300, 480, 560, 700, 900, 2100]
    p = rng.random(sum(sizes))
    ids = np.repeat(np.arange(len(sizes)), sizes)
    found = decide_by(p, metric, groups=ids, average="groups", check=False)
    for g, n in enumerate(sizes):
        k, value = found.group_n_positives[g], found.group_expected[g]
        wanted = law_value(metric, p[ids == g], k, n)
        assert value == pytest.approx(wanted, rel=1e-10)
        for other in (k - 1, k + 1):
            assert law_value(metric, p[ids == g], other, n) <= wanted * (1 + 1e-10)


@pytest.mark.parametrize("metric", ["f1", "jaccard", "mcc", "kappa", "gmean", own])
@pytest.mark.parametrize("size", [plan.HISTOGRAM_ROWS - 1, plan.HISTOGRAM_ROWS])
def test_sorted_and_unsorted_vectors_meet(metric, size):
    p = np.random.default_rng(5).beta(0.1, 5, size)
    decision = decide_by(p, metric, check=False)
    k = decision.n_positives
    wanted = law_value(metric, p, k, size)
    assert decision.expected == pytest.approx(wanted, rel=1e-10)
    for other in (k - 1, k + 1):
        assert law_value(metric, p, other, size) <= wanted * (1 + 1e-11)


@pytest.mark.parametrize("metric", ["f1", "jaccard", "mcc", "gmean", "hmean", own])
@pytest.mark.parametrize("size", [1000, 4097])
def test_kernels_find_the_best_of_the_laws(metric, size):
    p = np.random.default_rng(2).beta(0.5, 8, size)
    decision = am.decide(p, metric)
    k = decision.n_positives
    wanted = law_value(metric, p, k, size)
    assert decision.expected == pytest.approx(wanted, rel=1e-11)
    for other in (k - 1, k + 1):
        assert law_value(metric, p, other, size) <= wanted * (1 + 1e-12)


@pytest.mark.parametrize("name", ["f1", "mcc", "gmean", "specificity"])
@pytest.mark.parametrize("zd", [0.0, 1.0, math.nan])
def test_short_vectors_at_once_equal_the_oracle(name, zd):
    p = np.random.default_rng(3).random(9)
    metric = am.get_metric(name, zero_division=zd)
    decision = am.decide(p, metric)
    values = [oracle_value(metric, p, k) for k in range(10)]
    np.testing.assert_allclose(decision.curve, values, rtol=1e-12)


def oracle_value(metric, p, k):
    """By enumeration of all outcomes, those left out in which it is undefined."""
    chosen = np.argsort(-p)[:k]
    outcomes = np.array(list(np.ndindex(*(2,) * p.size)))
    chance = np.where(outcomes == 1, p, 1 - p).prod(axis=1)
    hits, positives = outcomes[:, chosen].sum(axis=1), outcomes.sum(axis=1)
    values = metric.value(hits, k, positives, p.size)
    defined = ~np.isnan(values)
    if not defined.any():
        return math.nan
    return chance[defined] @ values[defined] / chance[defined].sum()


def test_functions_of_the_users_own_are_asked_again():
    """What a function reads besides the counts may have changed."""
    weight = [1.0]

    def weighted(tp, k, t, n):
        return weight[0] * tp / (k + t + 1)

    first = am.decide([0.9, 0.4, 0.2], weighted)
    weight[0] = 2.0
    second = am.decide([0.9, 0.4, 0.2], weighted)
    assert second.expected == pytest.approx(2 * first.expected)


ID_KINDS = {
    "close": lambda ids: ids - 7,
    "wide": lambda ids: ids.astype(np.int64) * 1_000_003_000_007 - 2**40,
    "unsigned": lambda ids: np.uint64(2**64 - 1) - ids.astype(np.uint64) * np.uint64(9),
    "text": lambda ids: np.char.add("order-", ids.astype(str)),
    "bytes": lambda ids: np.char.add("o", ids.astype(str)).astype("S"),
    "fractions": lambda ids: np.where(ids == 3, -0.0, ids / 3 - 1.0),
    "days": lambda ids: np.datetime64("1999-01-01") + ids,
}


def ids_of(kind, runs, distinct):
    """So many ids none of which is beside its like, and the codes of a dictionary."""
    rng = np.random.default_rng(distinct)
    codes = rng.permutation(np.resize(np.arange(distinct), runs))
    codes = codes[np.append(True, codes[1:] != codes[:-1])]
    values = ID_KINDS[kind](codes)
    seen = {}
    return values, [seen.setdefault(x, len(seen)) for x in values.tolist()], list(seen)


@pytest.mark.parametrize("kind", ID_KINDS)
@pytest.mark.parametrize(
    ("runs", "distinct"),
    [
        (_groups.FEW_IDS, _groups.FEW_IDS),
        (_groups.FEW_IDS + 1, _groups.FEW_IDS + 1),
        (_groups.FEW_IDS + 900, 700),
        (20_000, 19_999),
        (20_001, 5000),
        (8 * _groups.FEW_IDS + 1, 8 * _groups.FEW_IDS),
        (8 * _groups.FEW_IDS + 1, 8 * _groups.FEW_IDS + 1),
    ],
)
def test_ids_are_numbered_as_by_a_dictionary(kind, runs, distinct):
    """Sorted, counted or hashed; few or so many that the table has to grow."""
    values, codes, ids = ids_of(kind, runs, distinct)
    found = _groups.code_groups(values, values.size)
    np.testing.assert_array_equal(found.codes, codes)
    assert found.ids.tolist() == ids


@pytest.mark.parametrize("beyond", [0, 1])
def test_whole_numbers_that_just_lie_close(beyond):
    n = _groups.FEW_IDS + 10
    values = np.random.default_rng(1).integers(0, 4 * n, n)
    values[[5, 9]] = 0, 4 * n + 1024 + beyond
    seen = {}
    codes = [seen.setdefault(x, len(seen)) for x in values.tolist()]
    for kind in (np.int64, np.int32, np.uint64):
        found = _groups.code_groups(values.astype(kind), n)
        np.testing.assert_array_equal(found.codes, codes)
        assert found.ids.tolist() == list(seen)


@pytest.mark.parametrize("kind", ["close", "wide", "text"])
@pytest.mark.parametrize("count", [4096, 4097, 16_383, 16_384])
def test_shuffled_groups_are_decided_as_sorted_ones(kind, count):
    """On both sides of what sorts the ids, and of what sorts the rows by group."""
    rng = np.random.default_rng(count)
    p, order = rng.random(2 * count), rng.permutation(2 * count)
    ids = np.repeat(np.arange(count), 2)
    wanted = am.decide(p, "f1", groups=ids, average="groups")
    found = am.decide(
        p[order], "f1", groups=ID_KINDS[kind](ids)[order], average="groups"
    )
    np.testing.assert_array_equal(found.labels, wanted.labels[order])
    assert found.expected == pytest.approx(wanted.expected, rel=1e-13)
    firsts = dict.fromkeys(ids[order].tolist())
    np.testing.assert_array_equal(
        found.group_n_positives, wanted.group_n_positives[list(firsts)]
    )


@pytest.mark.parametrize("more", [0, 1])
def test_ids_of_extended_floats(more):
    """Where they have padding, its bytes are of any value."""
    n = _groups.FEW_IDS + more
    ids = (np.arange(n) % 7).astype(np.longdouble)
    used = 10 if np.finfo(np.longdouble).nmant == 63 else ids.itemsize
    padding = ids.view(np.uint8).reshape(n, -1)[:, used:]
    padding[:] = np.random.default_rng(0).integers(0, 256, padding.shape)
    codes, distinct = _groups.factorize(ids)
    np.testing.assert_array_equal(codes, np.arange(n) % 7)
    np.testing.assert_array_equal(distinct, np.arange(7))
