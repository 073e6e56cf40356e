"""Curves and best counts of groups, against plain sums in extended precision."""

import itertools
import math
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import argmetric as am
import oracle
from decide_checks import (
    CONVENTIONS,
    assert_close,
    curve_by_pmfs,
    gain,
    spec,
    tolerance,
)
from routes import decide_by
from strategies import probability_vectors

SHAPES = {
    "uniform": lambda rng, n: rng.random(n),
    "skewed": lambda rng, n: rng.beta(0.1, 2, n),
    "rare": lambda rng, n: np.minimum(1.0, rng.exponential(1.0 / n, n)),
    "frequent": lambda rng, n: 1.0 - rng.beta(0.2, 4.0, n),
    "equal": lambda rng, n: np.full(n, 0.3),
    "tied": lambda rng, n: rng.choice([0.1, 0.2, 0.5, 0.9], n),
    "tiny": lambda rng, n: np.full(n, 1e-200),
    "nearly one": lambda rng, n: np.full(n, 1 - 2.0**-53),
    "certain": lambda rng, n: rng.choice([0, 1, 0.5, 1e-300, 1 - 1e-16], n),
    "two heaps": lambda rng, n: np.where(rng.random(n) < 0.2, 0.95, 0.02),
}

TABLES = "argmetric._expected.kernels.tables"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", oracle.NAMES)
def test_curves_of_groups(name, shape):
    """From one lane to several blocks of them, on both sides of the tables."""
    rng, sizes = np.random.default_rng(5), [1, 2, 7, 32, 33, 33, 64, 65, 72]
    parts = [SHAPES[shape](rng, n) for n in sizes]
    ids = np.repeat(np.arange(len(sizes)), sizes)
    for zd in CONVENTIONS:
        truths = [oracle.summed_curve(name, part, zd) for part in parts]
        found = am.decide(
            np.concatenate(parts),
            spec(name),
            groups=ids,
            average="groups",
            zero_division=oracle.obeyed(name, zd),
        )
        for g, (curve, scale) in enumerate(truths):
            within = tolerance(name, scale) + np.zeros(curve.size)
            assert_close(found.curve_of(g), curve, within)
            if np.isnan(curve).all():
                assert math.isnan(found.group_expected[g])
                continue
            k, best = found.group_n_positives[g], oracle.best_k(curve, name)
            if math.isnan(curve[k]):  # what is not there is not predicted
                assert k == 0
                continue
            assert_close(found.group_expected[g], curve[k], within[k])
            slack = within[k] + within[best]
            assert gain(name, curve[k]) >= gain(name, curve[best]) - slack


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "weights", [(60, 0.5), (1000, 0.5), (0.01, 300), (300, 300), (1e4, 1e-3)]
)
def test_heavy_weights_of_false_alarms_and_misses(weights, shape):
    """Against sums over the PMFs of hits and misses; e^(s·weight) overflows."""
    metric = am.Tversky(*weights)
    p = SHAPES[shape](np.random.default_rng(4), 90)
    curve = curve_by_pmfs(p, metric)
    found = am.decide(p, metric)
    np.testing.assert_allclose(found.curve, curve, rtol=1e-11, atol=1e-13)
    assert curve[found.n_positives] >= curve.max() - 1e-13


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["f1", "jaccard", "mcc", "kappa", "gmean", "recall"])
def test_groups_are_decided_as_they_are_alone(name, shape):
    rng, sizes = np.random.default_rng(6), [1, 34, 200, 201, 501, 700, 1501]
    p = np.concatenate([SHAPES[shape](rng, n) for n in sizes])
    ids = np.repeat(np.arange(len(sizes)), sizes)
    for zd in CONVENTIONS:
        found = am.decide(
            p, name, groups=ids, average="groups", zero_division=oracle.obeyed(name, zd)
        )
        for g in range(len(sizes)):
            if math.isnan(found.group_expected[g]):
                continue
            alone = am.decide(p[ids == g], name, zero_division=oracle.obeyed(name, zd))
            close = {"rel": 1e-11, "abs": 1e-13, "nan_ok": True}
            np.testing.assert_array_equal(alone.labels, found.labels[ids == g])
            assert found.group_expected[g] == pytest.approx(alone.expected, **close)
            assert found.curve_of(g) == pytest.approx(alone.curve, **close)
            half = alone.curve[int((p[ids == g] >= 0.5).sum())]
            assert alone.cut_half.expected == pytest.approx(half, **close)


@pytest.mark.parametrize("name", [*oracle.NAMES])
def test_absent_cells_are_certain_negatives(name):
    """Rows of a sparse matrix that hold few, half and most of the columns."""
    rng, columns = np.random.default_rng(4), 240
    p = np.zeros((9, columns))
    for row, size in zip(p, [1, 20, 33, 40, 64, 65, 120, 201, 239], strict=True):
        row[rng.choice(columns, size, replace=False)] = rng.beta(0.4, 1, size)
    few = sparse.csr_array(p)
    for zd in (0.0, math.nan):
        options = {
            "average": "samples",
            "zero_division": oracle.obeyed(name, zd),
            "check": False,
        }
        wanted = decide_by(p, spec(name), **options)
        found = decide_by(few, spec(name), **options)
        assert found.group_expected == pytest.approx(
            wanted.group_expected, rel=1e-11, abs=1e-12
        )


@pytest.mark.filterwarnings("ignore:p has .* values, all of them 0 or 1")
@given(p=probability_vectors(max_size=40))
def test_short_vectors_do_not_depend_on_what_is_loaded(p):
    """To the bit, whether the kernel of their distributions is there or not."""
    am.decide([[0.5, 0.3], [0.2, 0.1]], average="samples")  # loads it
    loaded = am.decide(p, "f1")
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, TABLES)
        np.testing.assert_array_equal(am.decide(p, "f1").curve, loaded.curve)
    assert am.decide(p, "f1").expected == loaded.expected


def test_threads_share_no_room_for_short_vectors(monkeypatch):
    monkeypatch.delitem(sys.modules, TABLES, False)
    vectors = [np.random.default_rng(seed).random(25) for seed in range(8)]
    wanted = [am.decide(p).curve for p in vectors]

    def differences(place):
        found = (am.decide(vectors[place]).curve for _ in range(50))
        return sum(not np.array_equal(one, wanted[place]) for one in found)

    with ThreadPoolExecutor(len(vectors)) as threads:
        assert list(threads.map(differences, range(len(vectors)))) == [0] * 8


def assert_first_of_each_group(scores, ids, k, **options):
    """The labels of k rows in each group: the first by falling score, then by row."""
    limits = {"min_positives": k, "max_positives": k, "average": "groups"}
    found = am.decide(scores, "f1", groups=ids, **limits, **options)
    for group in np.unique(ids):
        rows = np.flatnonzero(ids == group)
        first = rows[np.argsort(-scores[rows], kind="stable")[:k]]
        np.testing.assert_array_equal(
            np.flatnonzero(found.labels[rows]), np.sort(np.searchsorted(rows, first))
        )


@given(
    st.lists(st.integers(1, 300), min_size=1, max_size=12),
    st.integers(0, 9),
    st.floats(0, 1),
)
def test_segments_are_sorted_stably(lengths, seed, share):
    """By falling score, ties in input order: ten distinct scores make many ties."""
    rng = np.random.default_rng(seed)
    distinct = [-np.inf, -2, -1e-300, 0, 1e-300, 0.5, 0.5 + 1e-16, 1, 2, np.inf]
    ids = rng.permutation(np.repeat(np.arange(len(lengths)), lengths))
    scores = rng.choice(distinct, ids.size)
    assert_first_of_each_group(scores, ids, int(share * min(lengths)), logits=True)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("length", [64, 65, 66, 1000, 70_000])
def test_scores_alike_in_their_first_digits_are_sorted(length, sign):
    """Rising, falling and in any order, with ties: all bits count, at any distance."""
    rng = np.random.default_rng(length)
    step = np.arange(length) // 2
    close, far = sign * (0.5 + step * 2.0**-53), sign * 1.001 ** (step % 5000)
    parts = [close, close[::-1], rng.permutation(close), far, far[::-1]]
    ids = np.repeat(np.arange(5), length)
    for order, k in itertools.product((np.arange(ids.size), None), (1, length // 3)):
        order = rng.permutation(ids.size) if order is None else order
        scores = np.concatenate(parts)[order]
        assert_first_of_each_group(scores, ids[order], k, logits=True)
