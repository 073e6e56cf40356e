"""Values of the metrics, their 0/0, their names, and when top-k is optimal."""

import inspect
import math
import warnings

import numpy as np
import pytest
from sklearn import metrics as sk

import argmetric as am
import oracle
from refusing import refuses

NAN = math.nan
N = 5
CELLS = oracle.feasible_cells(N)


def instance(name, zd=0.0):
    """The package's metric for a name of the oracle."""
    special = {
        "tversky": lambda: am.Tversky(0.25, 1.5),
        "linear_fractional": lambda: am.LinearFractional(
            oracle.LINEAR_FRACTIONAL_C, oracle.LINEAR_FRACTIONAL_D
        ),
        "utility": lambda: am.Utility(*oracle.UTILITY),
        "custom": lambda: am.CustomMetric(lambda tp, k, t, n: tp * tp / (k * t)),
    }
    metric = special[name]() if name in special else am.get_metric(name)
    return metric.with_zero_division(zd)


def labels_of(tp, k, t, n):
    """Truth and prediction with these counts."""
    fp, fn = k - tp, t - tp
    y_true = np.repeat([1, 0, 1, 0], [tp, fp, fn, n - tp - fp - fn])
    y_pred = np.repeat([1, 1, 0, 0], [tp, fp, fn, n - tp - fp - fn])
    return y_true, y_pred


# ------------------------------------------------------------ scikit-learn


def fbeta_of(beta):
    return lambda a, b, zd: sk.fbeta_score(a, b, beta=beta, zero_division=zd)


SCIKIT_LEARN = {
    "f1": lambda a, b, zd: sk.f1_score(a, b, zero_division=zd),
    "f2": fbeta_of(2),
    "f0.5": fbeta_of(0.5),
    "f0.7": fbeta_of(0.7),
    "jaccard": lambda a, b, zd: sk.jaccard_score(a, b, zero_division=zd),
    "precision": lambda a, b, zd: sk.precision_score(a, b, zero_division=zd),
    "recall": lambda a, b, zd: sk.recall_score(a, b, zero_division=zd),
    "specificity": lambda a, b, zd: sk.recall_score(
        a, b, pos_label=0, zero_division=zd
    ),
    "balanced_accuracy": lambda a, b, zd: sk.balanced_accuracy_score(a, b),
    "mcc": lambda a, b, zd: sk.matthews_corrcoef(a, b),
    "kappa": lambda a, b, zd: sk.cohen_kappa_score(
        a, b, labels=[0, 1], replace_undefined_by=zd
    ),
    "accuracy": lambda a, b, zd: sk.accuracy_score(a, b),
}
if "replace_undefined_by" not in inspect.signature(sk.cohen_kappa_score).parameters:
    del SCIKIT_LEARN["kappa"]  # before 1.8 it has no value of 0/0


@pytest.mark.parametrize("zd", [0.0, 1.0])
@pytest.mark.parametrize("name", SCIKIT_LEARN)
def test_value_equals_scikit_learn_on_every_cell(name, zd):
    metric = instance(name, zd)
    tp, k, t = np.array(CELLS).T
    got = metric.value(tp, k, t, N)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns of each 0/0
        expected = [SCIKIT_LEARN[name](*labels_of(*cell, N), zd) for cell in CELLS]
    np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", ["f1", "f2", "precision", "recall"])
def test_nan_leaves_out_the_cells_that_scikit_learn_leaves_out(name):
    metric = am.get_metric(name, zero_division=NAN)
    for cell in CELLS:
        truth = SCIKIT_LEARN[name](*labels_of(*cell, N), NAN)
        assert metric.value(*cell, N) == pytest.approx(truth, rel=1e-13, nan_ok=True)


@pytest.mark.parametrize("name", ["f1", "f2", "mcc", "balanced_accuracy"])
def test_score_counts_and_evaluates(name):
    metric = am.get_metric(name)
    for cell in CELLS[::3]:
        y_true, y_pred = labels_of(*cell, N)
        score = metric.score(y_true, y_pred)
        assert isinstance(score, float)
        assert score == pytest.approx(float(metric.value(*cell, N)), rel=1e-15)


# ------------------------------------------------- from first principles


@pytest.mark.parametrize("zd", [0.0, 1.0, NAN])
@pytest.mark.parametrize("name", oracle.NAMES)
@pytest.mark.parametrize("n", [1, 2, N])
def test_value_equals_exact_fractions(name, zd, n):
    metric = instance(name, zd)
    for cell in oracle.feasible_cells(n):
        exact = float(oracle.exact_value(name, *cell, n, zd))
        got = float(metric.value(*cell, n))
        assert got == pytest.approx(exact, rel=1e-13, abs=1e-15, nan_ok=True), cell


@pytest.mark.parametrize("name", oracle.NAMES)
def test_value_broadcasts(name):
    metric = instance(name)
    tp = np.arange(3)[:, None]
    k = np.array([[3, 4]])
    got = metric.value(tp, k, 3, N)
    assert got.shape == (3, 2)
    for i in range(3):
        for j in range(2):
            assert got[i, j] == metric.value(i, k[0, j], 3, N)


@pytest.mark.parametrize("bad", [0.5, -1, 2, math.inf, "warn"])
def test_zero_division_is_0_1_or_nan(bad):
    with pytest.raises(ValueError, match=r"zero_division|could not convert"):
        am.FBeta(1, zero_division=bad)


# --------------------------------------------------------- asymmetric beta


@pytest.mark.parametrize("beta", [0.1, 0.5, 0.7, 1.0, 2.0, 3.3])
def test_tversky_and_linear_fractional_contain_f_beta(beta):
    tp, k, t = np.array(CELLS).T
    f = am.FBeta(beta).value(tp, k, t, N)
    alpha = 1 / (1 + beta**2)
    same = am.Tversky(alpha, 1 - alpha).value(tp, k, t, N)
    np.testing.assert_allclose(same, f, rtol=1e-13, atol=1e-15)
    linear = am.LinearFractional((0, 1 + beta**2, 0, 0), (0, 0, 1, beta**2))
    np.testing.assert_allclose(linear.value(tp, k, t, N), f, rtol=1e-13)


@pytest.mark.parametrize("bad", [0, -1, NAN, math.inf])
def test_beta_must_be_positive(bad):
    refuses(ValueError, "beta", am.FBeta, bad)


# ------------------------------------------------------- names and objects


NAMED = {"f1.5": am.FBeta(1.5), "f3": am.FBeta(3), "am": am.BalancedAccuracy()}
NAMED |= {"g_tppr": am.FowlkesMallows()}
NAMED |= {name: am.get_metric(name) for name in am.metric_names()}


@pytest.mark.parametrize("name", NAMED)
def test_names_read_back(name):
    metric = NAMED[name]
    assert isinstance(metric, am.Metric)
    assert am.get_metric(name) == am.get_metric(metric.name) == metric
    assert am.get_metric(metric) is metric
    assert hash(metric) == hash(am.get_metric(name))


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("f-1", "'f1'"), ("jacard", "'jaccard'"), ("balanced_acc", "balanced_accuracy")],
)
def test_an_unknown_name_suggests_the_nearest(wrong, near):
    with pytest.raises(ValueError, match="unknown metric") as error:
        am.get_metric(wrong)
    message = str(error.value)
    assert repr(wrong) in message
    assert "did you mean" in message
    assert near in message
    assert "Known names: " in message
    assert "gmean" in message


@pytest.mark.parametrize("wrong", [3, None, 0.5])
def test_a_metric_is_a_name_an_instance_or_a_callable(wrong):
    refuses(TypeError, "metric", am.get_metric, wrong)


# ----------------------------------------------------- functions of users


def test_custom_metric_vectorised_and_scalar_agree():
    def scalar(tp, k, t, n):
        return 2 * tp / (k + t) if k + t > 0 else NAN

    def vectorised(tp, k, t, n):
        return 2 * tp / (k + t)

    tp, k, t = np.array(CELLS).T
    for zd in (0.0, 1.0, NAN):
        expected = am.FBeta(1, zero_division=zd).value(tp, k, t, N)
        for function in (scalar, vectorised):
            metric = am.CustomMetric(function, zero_division=zd)
            assert metric.name == function.__name__
            np.testing.assert_allclose(metric.value(tp, k, t, N), expected, rtol=1e-15)


def test_a_callable_becomes_a_metric():
    def balance(tp, k, t, n):
        return -abs(k - t) / n

    metric = am.get_metric(balance)
    assert isinstance(metric, am.CustomMetric)
    assert metric.name == "balance"
    assert metric.value(0, 1, 3, 4) == -0.5


# ------------------------------------------------------- ranking principle


@pytest.mark.parametrize("n", [1, 2, 3, 9])
@pytest.mark.parametrize("name", [name for name in oracle.NAMES if name != "custom"])
def test_the_catalogue_has_the_ranking_principle_by_proof(name, n):
    principle = instance(name).ranking_principle(n)
    assert isinstance(principle, am.RankingPrinciple)
    assert principle
    assert principle.holds
    assert principle.counterexample is None
    if n > 1:
        assert principle.reason == "proven"


@pytest.mark.parametrize("zd", [0.0, 1.0])
@pytest.mark.parametrize("name", oracle.NAMES)
def test_some_optimum_over_all_predictions_is_a_top_set(name, zd):
    """The claim behind it, by enumeration: the oracle's own check."""
    rng = np.random.default_rng(5)
    for p in (rng.random(6), np.array([1, 0.9, 0.9, 0.2, 0, 0]), rng.random(5) ** 4):
        curve, _ = oracle.enumerated_curve(name, p, zd)
        best, _ = oracle.enumerated_best(name, p, zd)
        reached = curve.min() if name in oracle.MINIMISED else curve.max()
        assert float(reached) == pytest.approx(float(best), rel=1e-14, abs=1e-17)


def test_a_users_function_is_checked():
    principle = am.CustomMetric(lambda tp, k, t, n: tp / (k + t)).ranking_principle(8)
    assert principle
    assert principle.reason == "checked"


def false_discovery_rate(tp, k, t, n):
    return (k - tp) / k


def oracle_false_discovery_rate(tp, fp, fn, tn, zd):
    return oracle.ratio(fp, tp + fp, zd)


def erratum_9():
    """Φ = (.5 - .5u + .1v) / (2 - u): values in [0, 1] and c1 = -.5 > d1 = -1."""
    return am.LinearFractional((0.5, -0.5, 0.1, 0), (2, -1, 0, 0))


oracle_erratum_9 = oracle.linear_fractional((5, -5, 1, 0), (20, -10, 0, 0))


def assert_counterexample(principle, formula, maximise=True):
    """Some set of the same size really beats the top-k set, by enumeration."""
    assert not principle
    assert not principle.holds
    example = principle.counterexample
    p, better, top = (example[key] for key in ("p", "better", "top"))
    assert len(better) == len(top) == len(set(better)) == len(set(top))
    assert min(p[i] for i in top) >= max(p[i] for i in set(range(len(p))) - set(top))
    sets = np.zeros((2, len(p)), int)
    sets[0, better] = sets[1, top] = 1
    (of_better, of_top), _ = oracle.enumerated_means(formula, p, sets)
    assert of_better > of_top + 1e-9 if maximise else of_better < of_top - 1e-9
    assert float(of_better) == pytest.approx(example["better_value"], rel=1e-11)
    assert float(of_top) == pytest.approx(example["top_value"], rel=1e-11)


@pytest.mark.parametrize("n", [2, 3, 4, 8])
def test_false_discovery_rate_fails_with_a_real_counterexample(n):
    principle = am.CustomMetric(false_discovery_rate).ranking_principle(n)
    assert_counterexample(principle, oracle_false_discovery_rate)


@pytest.mark.parametrize("n", [2, 3, 6, 9])
def test_erratum_9_fails_with_a_real_counterexample(n):
    assert_counterexample(erratum_9().ranking_principle(n), oracle_erratum_9)


def test_erratum_9_printed_example():
    p = [0.9, 0.5, 0.1]
    means, _ = oracle.enumerated_means(oracle_erratum_9, p, oracle.binary_vectors(3))
    best = oracle.binary_vectors(3)[int(np.argmax(means))]
    assert best.tolist() == [0, 0, 1]
    curve, _ = oracle.enumerated_curve(oracle_erratum_9, p)
    assert float(means.max()) == pytest.approx(0.262, abs=5e-4)
    assert float(curve.max()) == pytest.approx(0.250, abs=5e-4)


@pytest.mark.parametrize("weights", [(0, 1, 1, 0), (1, 3, 0, 0)])
def test_a_perverse_utility_fails_with_a_real_counterexample(weights):
    principle = am.Utility(*weights).ranking_principle(5)
    assert_counterexample(principle, oracle.utility(*weights))


def test_a_function_that_falls_in_one_corner_only():
    """Falls from tp = 1 to tp = 2 at k = 3, t = 4 and rises everywhere else."""

    def dented(tp, k, t, n):
        return tp - 1.5 * (tp == 2) * (k == 3) * (t == 4)

    principle = am.CustomMetric(dented).ranking_principle(7)
    assert not principle
    cell = principle.counterexample
    assert (cell["tp"], cell["k"], cell["t"]) == (1, 3, 4)


def test_a_minimised_function_is_checked_the_other_way_round():
    loss = am.CustomMetric(false_discovery_rate, greater_is_better=False)
    assert loss.ranking_principle(6)


def test_linear_fractional_whose_denominator_vanishes_away_from_the_margins():
    """tp/(2tp) is 1/2 with a hit and zero_division without: with 1 it falls."""
    metric = am.LinearFractional((0, 1, 0, 0), (0, 2, 0, 0), zero_division=1.0)
    assert metric.value(0, 2, 2, 5) > metric.value(1, 2, 2, 5)
    assert not metric.ranking_principle(5)
    assert metric.with_zero_division(0.0).ranking_principle(5)


# ------------------------------------------------------------ check_metric


@pytest.mark.parametrize("name", oracle.NAMES)
def test_check_metric_passes_the_catalogue(name):
    assert am.check_metric(instance(name))


def test_check_metric_shows_the_counterexample():
    principle = am.check_metric(false_discovery_rate, n=4)
    assert_counterexample(principle, oracle_false_discovery_rate)


def test_check_metric_refuses_a_random_function():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="again"):
        am.check_metric(lambda tp, k, t, n: rng.random(np.shape(tp)))
