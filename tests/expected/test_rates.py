"""The search for the best k of a mean of two rates, against whole curves."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import argmetric as am
import oracle
import plain_kernels as reference
from argmetric._expected import _search
from argmetric._expected import kernels as compiled
from strategies import moderate_vectors, probability_vectors

NAMES = ["gmean", "hmean", "qmean"]
ZEROS = [0.0, 1.0, math.nan]
some_vectors = st.one_of(
    probability_vectors(max_size=12), moderate_vectors(min_size=13, max_size=40)
)


def searched(backend, kind, zero, p, n, low, high, extra):
    p = np.sort(p)[::-1].copy()
    out = np.zeros((4, 1))
    ranges = (np.array([x]) for x in (low, high))
    backend.best_of_rates(
        p,
        1 - p,
        np.array([0, p.size]),
        np.array([n]),
        kind,
        zero,
        *ranges,
        np.zeros(1),
        np.array([extra]),
        out,
    )
    return out[:, 0]


@pytest.mark.parametrize(
    ("kind", "zero"),
    [
        pytest.param(kind, zero, marks=() if (kind + j) % 2 else pytest.mark.slow)
        for kind in range(3)
        for j, zero in enumerate(ZEROS)
    ],
)
@given(p=some_vectors, implicit=st.integers(0, 3), data=st.data())
def test_the_search_finds_the_best_of_the_curve(kind, zero, p, implicit, data):
    """Any range of counts; certain negatives beside the items, as in a sparse row."""
    m, n = p.size, p.size + implicit
    low = data.draw(st.integers(0, m))
    high, extra = data.draw(st.integers(low, m)), data.draw(st.integers(0, m))
    everything = np.append(p, np.zeros(implicit))
    curve = oracle.summed_curve(NAMES[kind], everything, zero)[0][: m + 1]
    curve = curve.astype(float)
    law = oracle.poisson_binomial(everything)
    mass = float(law[1:-1].sum()) if math.isnan(zero) else 1.0
    if mass < 1e-290:  # of what is never defined there is nothing to find
        return
    top = float(curve[low : high + 1].max())
    slack = 1e-15 * n / mass + 1e-11 * top
    for backend in (compiled, reference):
        found = searched(backend, kind, zero, p, n, low, high, extra)
        if found[3] == 0:
            assert backend is compiled  # given up: the curve is made instead
            continue
        best = int(found[0])
        assert low <= best <= high
        assert found[1] / mass == pytest.approx(curve[best], abs=slack)
        assert found[2] / mass == pytest.approx(curve[extra], abs=slack)
        assert curve[best] >= top - slack
        if top > 1e-3 and mass == 1.0:  # ties go to the smaller k
            assert (curve[low:best] < top - 1e-13).all()


@pytest.mark.parametrize("zero", ZEROS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("law", ["uniform", "rare", "frequent", "tied", "certain"])
def test_decisions_equal_those_on_whole_curves(name, zero, law):
    """Sizes on both sides of the tables, one by one and in groups."""
    draw = {
        "uniform": lambda rng, n: rng.random(n),
        "rare": lambda rng, n: np.minimum(1.0, rng.exponential(1.0 / n, n)),
        "frequent": lambda rng, n: 1.0 - rng.beta(0.2, 4.0, n),
        "tied": lambda rng, n: rng.choice([0.1, 0.2, 0.5, 0.9], n),
        "certain": lambda rng, n: rng.choice([0.0, 1.0, 0.3], n),
    }[law]
    rng = np.random.default_rng(5)
    sizes = [1, 2, 64, 65, 66, 200]
    p = np.concatenate([draw(rng, n) for n in sizes])
    ids = np.repeat(np.arange(len(sizes)), sizes)
    found = am.decide(p, name, groups=ids, average="groups", zero_division=zero)
    for g in range(len(sizes)):
        curve = found.curve_of(g)
        if np.isnan(curve).all():
            assert math.isnan(found.group_expected[g])
            continue
        k = oracle.best_k(curve)
        assert found.group_n_positives[g] == k
        assert found.group_expected[g] == pytest.approx(curve[k], rel=1e-12, abs=1e-14)
        alone = am.decide(p[ids == g], name, zero_division=zero)
        np.testing.assert_array_equal(alone.labels, found.labels[ids == g])
        assert alone.best_cut.expected <= alone.expected + 1e-14
        half = alone.cut_half
        assert half.expected == pytest.approx(curve[half.n_positives], abs=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_limits_hold_where_there_is_no_curve(name):
    p = np.random.default_rng(2).beta(0.3, 1.0, 300)
    curve = am.decide(p, name).curve
    free = oracle.best_k(curve)
    for low, high in ((0, free - 20), (free + 20, None), (free - 3, free + 3)):
        limited = am.decide(p, name, min_positives=low, max_positives=high)
        last = 300 if high is None else high
        assert limited.n_positives == low + oracle.best_k(curve[low : last + 1])
        assert limited.best_cut.n_positives == free


@pytest.mark.parametrize("name", NAMES)
def test_a_search_that_is_given_up_makes_the_curve(name, monkeypatch):
    rng = np.random.default_rng(9)
    p, ids = rng.beta(0.5, 2.0, 400), np.repeat([0, 1, 2, 3], 100)
    found = am.decide(p, name, groups=ids, average="groups")

    def give_up(*arguments):
        compiled_search(*arguments)
        arguments[-1][3, 1:3] = 0

    compiled_search = compiled.best_of_rates
    monkeypatch.setattr(compiled, "best_of_rates", give_up)
    again = am.decide(p, name, groups=ids, average="groups")
    np.testing.assert_array_equal(found.labels, again.labels)
    np.testing.assert_allclose(found.group_expected, again.group_expected, rtol=1e-12)


def test_other_metrics_and_methods_have_curves():
    p = np.full(70, 0.3)
    segments = _search.Segments(p, 1 - p, np.array([0, 70]), np.array([70]))
    assert _search.has_search(am.GMean(), "auto", segments)
    assert not _search.has_search(am.GMean(), "windows", segments)
    assert not _search.has_search(am.MCC(), "auto", segments)
