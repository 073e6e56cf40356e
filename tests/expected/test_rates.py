"""Best counts that are searched for without a curve: means of two rates, and smooth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import argmetric as am
import oracle
from argmetric._expected import kernels
from decide_checks import NAN
from routes import decide_by
from strategies import moderate_vectors, probability_vectors

NAMES = ["gmean", "hmean", "qmean"]
SMOOTH = am.CustomMetric(lambda tp, k, t, n: tp / (0.3 * k + 0.7 * t + 1), smooth=True)
some_vectors = st.one_of(
    probability_vectors(min_size=33, max_size=40), moderate_vectors(33, 60)
)


@pytest.mark.filterwarnings("ignore:p has .* values, all of them 0 or 1")
@pytest.mark.parametrize("name", NAMES)
@given(p=some_vectors, zero=st.sampled_from([0.0, 1.0, NAN]), data=st.data())
def test_the_search_finds_the_best_of_the_curve(name, p, zero, data):
    """Any range of counts, in groups, which are searched from 33 rows on."""
    low = data.draw(st.integers(0, p.size))
    high = data.draw(st.integers(low, p.size))
    curve = oracle.summed_curve(name, p, zero)[0].astype(float)
    pmf = oracle.poisson_binomial(p)
    mass = float(pmf[1:-1].sum()) if math.isnan(zero) else 1.0
    if mass < 1e-290:  # of what is never defined there is nothing to find
        return
    found = am.decide(
        np.tile(p, 2),
        name,
        groups=np.repeat([0, 1], p.size),
        average="groups",
        zero_division=zero,
        min_positives=low,
        max_positives=high,
    )
    likely = max(int(np.count_nonzero(p)), low) if math.isnan(zero) else p.size
    top = float(np.nanmax(curve[low : min(high, likely) + 1]))
    slack = 1e-15 * p.size / mass + 1e-11 * top
    for best, value in zip(found.group_n_positives, found.group_expected, strict=True):
        assert low <= best <= high
        assert value == pytest.approx(curve[best], abs=slack)
        assert curve[best] >= top - slack
        if top > 1e-3 and mass == 1.0:  # ties go to the smaller k
            assert (curve[low:best] < top - 1e-13).all()


@pytest.mark.parametrize("metric", [*NAMES, SMOOTH])
def test_limits_hold_where_there_is_no_curve(metric):
    p = np.random.default_rng(2).beta(0.3, 1.0, 300)
    curve = am.decide(p, metric).curve
    whole = decide_by(p, metric, method="windows").curve
    np.testing.assert_allclose(curve, whole, rtol=1e-9, atol=1e-13)
    free = oracle.best_k(curve)
    for low, high in ((0, free - 20), (free + 20, None), (free - 3, free + 3)):
        limited = am.decide(p, metric, min_positives=low, max_positives=high)
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

    compiled_search = kernels.best_of_rates
    monkeypatch.setattr(kernels, "best_of_rates", give_up)
    again = am.decide(p, name, groups=ids, average="groups")
    np.testing.assert_array_equal(found.labels, again.labels)
    np.testing.assert_allclose(found.group_expected, again.group_expected, rtol=1e-12)
