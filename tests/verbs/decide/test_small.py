"""`decide` against enumeration: every outcome, every prediction, every convention."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import argmetric as am
import oracle
import strategies as nasty
from argmetric import decide
from decide_checks import (
    CONVENTIONS,
    METRIC_AND_CONVENTION,
    NAN,
    assert_close,
    assert_optimal,
    assert_threshold_reproduces,
    defined_somewhere,
    few,
    gain,
    some,
    spec,
    tolerance,
)
from routes import decide_by


@pytest.mark.parametrize(("name", "zd"), METRIC_AND_CONVENTION)
def test_the_oracle_agrees_with_exact_fractions(name, zd):
    for p in ([0.5, 0.3, 1 - 2**-53], [1e-300, 0.0, 0.75], [1.0, 1.0]):
        for labels in oracle.binary_vectors(len(p)):
            exact = float(oracle.exact_mean(name, p, labels, zd))
            long = float(oracle.enumerated_mean(name, p, labels, zd))
            assert long == pytest.approx(exact, rel=1e-15, abs=1e-30, nan_ok=True)


@pytest.mark.parametrize(("name", "zd"), METRIC_AND_CONVENTION)
def test_the_oracle_agrees_with_itself(name, zd):
    p = np.append(np.random.default_rng(0).random(7) ** 2, [0.0, 1.0])
    curve, scale = oracle.enumerated_curve(name, p, zd)
    others = [oracle.summed_curve(name, p, zd)[0]]
    others.append([oracle.summed_mean(name, p, k, zd) for k in range(p.size + 1)])
    if name in oracle.AFFINE:
        others.append(oracle.affine_curve(name, p, zd))
    if name == "jaccard":
        others.append(oracle.jaccard_curve(p, zd))
    for other in others:
        assert_close(other, curve, 1e-15 * np.nan_to_num(scale.astype(float)))


# -------------------------------------------------------------- enumeration


@pytest.mark.parametrize(("name", "zd"), METRIC_AND_CONVENTION)
@few
@given(p=nasty.probability_vectors(max_size=7))
def test_decide_beats_every_prediction(name, zd, p):
    if defined_somewhere(name, p, zd):
        assert_optimal(
            name, p, zd, decide(p, spec(name), zero_division=oracle.obeyed(name, zd))
        )


EDGES = {
    "one": [0.3],
    "one certain": [1.0],
    "one impossible": [0.0],
    "tiny": [1e-300] * 5,
    "tiny and certain": [1e-300, 1.0, 1e-300],
    "all but certain": [1 - 2**-53] * 5,
    "almost certain": [1 - 1e-16, 1 - 1e-16, 1 - 1e-12],
    "all one": [1.0] * 4,
    "all zero": [0.0] * 4,
    "halves": [0.5] * 6,
    "both ends": [1 - 1e-16, 1e-300, 1.0, 0.0, 1e-17],
    "log-uniform": [10.0**-e for e in range(0, 300, 40)],
    "unsorted": [0.2, 0.9, 0.4, 0.9, 0.1],
}


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize(("name", "zd"), METRIC_AND_CONVENTION)
def test_edges(name, zd, edge):
    p = EDGES[edge]
    if defined_somewhere(name, p, zd):
        assert_optimal(
            name, p, zd, decide(p, spec(name), zero_division=oracle.obeyed(name, zd))
        )


@pytest.mark.parametrize(("name", "zd"), METRIC_AND_CONVENTION)
def test_curve_of_twelve(name, zd):
    rng = np.random.default_rng(12)
    for p in (rng.beta(0.3, 1, 12), 1 - rng.beta(0.3, 1, 12)):
        decision = decide(p, spec(name), zero_division=oracle.obeyed(name, zd))
        curve, scale = oracle.enumerated_curve(name, p, zd)
        assert_close(decision.curve, curve, tolerance(name, scale))
        best = gain(name, curve)[oracle.best_k(curve, name)]
        assert gain(name, decision.expected) >= float(best) - tolerance(name, abs(best))


def longer_vectors(n):
    """Beyond the sizes for which everything is a table of all cells."""
    rng = np.random.default_rng(n)
    ends = np.where(np.arange(n) < n // 2, 1 - 1e-16, 1e-16)
    return {
        "uniform": rng.random(n),
        "skewed": rng.beta(0.1, 2, n),
        "halves": np.full(n, 0.5),
        "tiny": np.full(n, 1e-300),
        "all but certain": np.full(n, 1 - 2**-53),
        "nearly one": np.full(n, 1 - 1e-10),
        "zero": np.zeros(n),
        "one": np.ones(n),
        "both ends": ends,
        "log-uniform": 10.0 ** -rng.uniform(0, 300, n),
        "rounded": rng.random(n).round(1),
        "one open": np.append(np.ones(n - 1), 0.5),
    }


@pytest.mark.parametrize("kind", longer_vectors(34))
@pytest.mark.parametrize("name", oracle.NAMES)
def test_curve_of_34_against_cubic_sums(name, kind):
    p = longer_vectors(34)[kind]
    several = ("skewed", "zero", "one", "nearly one")
    for zd in CONVENTIONS if kind in several else (1.0,):
        curve, scale = oracle.summed_curve(name, p, zd)
        if np.isnan(curve).all():
            continue
        decision = decide(p, spec(name), zero_division=oracle.obeyed(name, zd))
        assert_close(decision.curve, curve, tolerance(name, scale))
        if math.isnan(zd) and not p.any():
            assert decision.n_positives == 0  # as in `assert_optimal`
            continue
        assert decision.expected == decision.curve[decision.n_positives]
        best = oracle.best_k(curve, name)
        within = sum(tolerance(name, scale[k]) for k in (best, decision.n_positives))
        assert gain(name, decision.expected) >= float(gain(name, curve[best])) - within


@pytest.mark.parametrize("kind", ["uniform", "skewed", "both ends"])
def test_curve_of_300_against_quadratic_sums(kind):
    p = longer_vectors(300)[kind]
    for name in ("f1", "mcc", "kappa", "fowlkes_mallows"):
        curve = oracle.affine_curve(name, p, negligible=1e-40)
        assert_close(decide(p, name).curve, curve, 1e-11 * np.abs(curve).max())
    curve = oracle.jaccard_curve(p)
    assert_close(decide(p, "jaccard").curve, curve, 1e-11 * np.abs(curve) + 1e-300)


@pytest.mark.parametrize("method", ["auto", "windows", "published"])
@pytest.mark.parametrize("name", ["f1", "f2", "jaccard", "mcc", "gmean", "precision"])
def test_methods_agree(name, method):
    p = [0.95, 0.7, 0.5, 0.5, 0.2, 0.05, 0.0, 1.0]
    for zd in CONVENTIONS:
        decision = decide_by(
            p, name, zero_division=oracle.obeyed(name, zd), method=method
        )
        assert_optimal(name, p, zd, decision)


@pytest.mark.parametrize("zd", CONVENTIONS)
def test_zero_division_of_the_metric_itself(zd):
    p = [0.05, 0.04, 0.03]
    own = decide(p, am.FBeta(1, zero_division=zd))
    given_to_decide = decide(p, "f1", zero_division=zd)
    assert own.n_positives == given_to_decide.n_positives
    assert own.expected == given_to_decide.expected


def test_error_bounds_the_error():
    p = np.random.default_rng(0).random(10)
    for name in oracle.NAMES:
        decision = decide(p, spec(name))
        truth = oracle.enumerated_mean(name, p, decision.labels)
        assert 0 <= decision.error <= 1e-9 * max(1, abs(decision.expected))
        assert abs(decision.expected - float(truth)) <= decision.error + 1e-15


# ---------------------------------------------------- ties, k = 0, thresholds


@pytest.mark.parametrize(
    ("name", "p", "k"),
    [
        ("precision", [0.4, 0.4, 0.4], 1),
        ("recall", [0.5, 0.0, 0.0], 1),
        ("accuracy", [0.5, 0.5], 0),
        ("sec", [0.75, 0.5, 0.25], 1),
        ("f1", [0.0, 0.0, 0.0], 0),
        ("jaccard", [1.0, 0.0, 0.0], 1),
        ("mcc", [0.3, 0.3, 0.3], 0),
        ("mcc", [0.9] * 40, 0),
        ("kappa", [0.1] * 6, 0),
    ],
)
def test_ties_go_to_the_smaller_k(name, p, k):
    assert decide(p, spec(name)).n_positives == k


def test_erratum_12_the_empty_prediction_is_evaluated():
    p = [0.05, 0.04, 0.03]
    decision = decide(p, "f1", zero_division=1.0)
    assert decision.n_positives == 0
    assert decision.threshold == math.inf
    assert decision.expected == pytest.approx(0.95 * 0.96 * 0.97, rel=1e-14)
    assert decision.expected == pytest.approx(0.885, abs=5e-4)
    assert max(decision.curve[1:]) == pytest.approx(0.059, abs=5e-4)
    assert decide(p, "f1", zero_division=0.0).n_positives == 3


def test_erratum_11_no_threshold_splits_a_tie():
    decision = decide([0.5] * 6, "gmean")
    assert decision.n_positives == 3
    assert decision.labels.sum() == 3
    assert decision.threshold is None
    assert decision.expected == pytest.approx(0.45068331934618, abs=1e-12)
    assert "threshold" in repr(decision)


def test_erratum_8_sec_still_returns_a_top_set():
    assert decide([0.1, 0.9], "sec").labels.tolist() == [0, 1]


@some
@given(p=nasty.probability_vectors(max_size=8))
def test_cuts(p):
    decision = decide(p, "f1")
    curve, scale = oracle.enumerated_curve("f1", p)
    half = decision.cut_half
    assert half.threshold == 0.5
    assert half.n_positives == (p >= 0.5).sum()
    assert_close(half.expected, curve[half.n_positives], tolerance("f1", scale.max()))
    cuts = [(p >= x).sum() for x in [*p, math.inf]]
    best = decision.best_cut
    assert best.n_positives == (p >= best.threshold).sum()
    assert_close(best.expected, curve[best.n_positives], tolerance("f1", scale.max()))
    assert best.expected >= float(max(curve[cuts])) * (1 - 1e-11)


@pytest.mark.parametrize(
    ("name", "p"),
    [("precision", [0.4]), ("markedness", [0.3]), ("mcc", [0.3]), ("recall", [0.0, 0])],
)
def test_a_k_where_the_metric_is_never_defined_is_never_chosen(name, p):
    """Where no k is left, the answer is an error or an empty prediction worth nan."""
    curve, _ = oracle.enumerated_curve(name, p, NAN)
    if np.isnan(curve).all():
        try:
            decision = decide(p, name, zero_division=NAN)
        except ValueError as error:
            assert "defined" in str(error)  # noqa: PT017
        else:
            assert math.isnan(decision.expected)
            assert decision.n_positives == 0
        return
    decision = decide(p, name, zero_division=NAN)
    assert not np.isnan(curve[decision.n_positives])


def test_nan_conditions_on_the_metric_being_defined():
    decision = decide([0.5, 0.5], "f1", zero_division=NAN)
    assert decision.curve[0] == 0
    f1_of_one = 0.25 * 1 + 0.25 * (2 / 3)
    assert decision.curve[1] == pytest.approx(f1_of_one, rel=1e-13)
    decision = decide([0.5, 0.5], "recall", zero_division=NAN)
    assert decision.curve[1] == pytest.approx((0.25 + 0.25 * 0.5) / 0.75, rel=1e-13)
    decision = decide([1e-300, 1e-300], "recall", zero_division=NAN)
    np.testing.assert_allclose(decision.curve, [0, 0.5, 1], rtol=1e-13)
    decision = decide([0.3, 0.2], "precision", zero_division=NAN)
    assert math.isnan(decision.curve[0])
    assert decision.n_positives == 1


# ---------------------------------------------------------- floors and budgets


@pytest.mark.parametrize("name", ["f1", "f0.5", "recall", "mcc", "accuracy", "gmean"])
@few
@given(p=nasty.moderate_vectors(max_size=8), data=st.data())
def test_min_and_max_positives(name, p, data):
    low = data.draw(st.integers(0, p.size))
    high = data.draw(st.integers(low, p.size))
    decision = decide(p, name, min_positives=low, max_positives=high)
    assert low <= decision.n_positives <= high
    best, _ = oracle.enumerated_best(name, p, 0.0, lambda row: low <= row.sum() <= high)
    assert decision.expected == pytest.approx(float(best), rel=1e-11, abs=1e-14)
    assert_threshold_reproduces(decision, p)


FLOORS = {
    "min_precision": ("f1", "f2", "recall", "accuracy"),
    "min_recall": ("f1", "f0.5", "precision", "accuracy"),
}


@pytest.mark.parametrize(
    ("limit", "name"), [(limit, name) for limit in FLOORS for name in FLOORS[limit]]
)
@few
@given(
    p=nasty.moderate_vectors(max_size=8),
    floor=st.sampled_from([0.15, 0.35, 0.55, 0.75, 0.95]),
)
def test_floors(limit, name, p, floor):
    reached = np.cumsum(np.sort(p)[::-1]) / np.arange(1, p.size + 1)
    if limit == "min_recall":
        reached = oracle.enumerated_curve("recall", p, NAN)[0].astype(float)
    if np.isclose(reached, floor, rtol=1e-9).any():
        return
    decision = decide(p, name, **{limit: floor})
    allowed = oracle.allowed_sizes(p, **{limit: floor})
    assert allowed[decision.n_positives]
    curve, _ = oracle.enumerated_curve(name, p)
    k = oracle.best_k(curve, name, allowed)
    assert decision.expected == pytest.approx(float(curve[k]), rel=1e-11, abs=1e-15)


def test_all_constraints_together():
    p = np.array([0.9, 0.8, 0.55, 0.5, 0.3, 0.2, 0.1])
    limits = {
        "min_positives": 2,
        "max_positives": 5,
        "min_precision": 0.6,
        "min_recall": 0.7,
    }
    allowed = oracle.allowed_sizes(p, **limits)
    assert allowed.tolist() == [False, False, False, True, True, True, False, False]
    for name in ("f1", "f0.5", "f2", "jaccard", "mcc"):
        curve, _ = oracle.enumerated_curve(name, p)
        decision = decide(p, name, **limits)
        assert decision.n_positives == oracle.best_k(curve, name, allowed)


# ------------------------------------------------------------------- groups


def test_a_metric_without_the_ranking_principle_is_refused():
    def false_discovery(tp, k, t, n):
        return (k - tp) / k

    with pytest.raises(ValueError, match=r"(?s)false_discovery"):
        decide([0.9, 0.5, 0.1], false_discovery)
    decision = decide_by([0.9, 0.5, 0.1], false_discovery, check=False)
    np.testing.assert_allclose(decision.curve, [0, 0.1, 0.3, 0.5], atol=1e-9)
    with pytest.raises(ValueError, match="linear_fractional"):
        decide([0.9, 0.5], am.LinearFractional((0.5, -0.5, 0.1, 0), (2, -1, 0, 0)))


# --------------------------------------------------- kinds of input, logits


def test_logits_equal_probabilities():
    x = np.array([2.0, -1.0, 0.3, -4.0, 700.0, -700.0])
    p = 1 / (1 + np.exp(-np.clip(x, -690, 690)))
    for name in oracle.NAMES:
        of_logits = decide(x, spec(name), logits=True)
        of_p = decide(p, spec(name))
        assert of_logits.labels.tolist() == of_p.labels.tolist()
        assert of_logits.expected == pytest.approx(of_p.expected, rel=1e-11, abs=1e-12)


def test_labels_come_back_as_the_kind_that_went_in():
    import pandas
    import polars
    import pyarrow as arrow

    p = [0.2, 0.9, 0.4]
    wanted = decide(np.array(p), "f1")
    assert isinstance(wanted.labels, np.ndarray)
    assert wanted.labels.dtype == np.int64
    series = decide(pandas.Series(p, index=[5, 3, 9], name="score"), "f1").labels
    assert isinstance(series, pandas.Series)
    assert series.index.tolist() == [5, 3, 9]
    assert isinstance(decide(polars.Series(p), "f1").labels, polars.Series)
    of_arrow = decide(arrow.array(p), "f1").labels
    assert isinstance(of_arrow, arrow.Array | arrow.ChunkedArray)
    for labels in (series, of_arrow, decide(polars.Series(p), "f1").labels):
        assert list(np.asarray(labels)) == wanted.labels.tolist()
    assert list(np.asarray(decide(p, "f1").labels)) == wanted.labels.tolist()


def test_the_input_is_left_alone():
    p = np.array([0.2, 0.9, 0.4])
    p.setflags(write=False)
    decide(p, "f1")
    decide(p.astype(np.float32), "f1")
    assert p.tolist() == [0.2, 0.9, 0.4]


# ----------------------------------------------------------------- evaluate
