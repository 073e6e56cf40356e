"""calibration_check of class probabilities, held to counts row by row."""

import json

import numpy as np
import pytest

import argmetric as am
from argmetric.metrics import get_class_metric
from refusing import refuses

NAMES = ["ok", "late", "lost"]


def rows_of(n, seed=0, count=3):
    """Class probabilities that are right, and classes drawn from them."""
    rng = np.random.default_rng(seed)
    shape = np.geomspace(3.0, 0.4, count)
    p = rng.dirichlet(shape, size=n)
    code = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return code, p


def sure(p, power=3.0):
    raised = p**power
    return raised / raised.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def right():
    code, p = rows_of(20_000, seed=1)
    return am.classes.check(np.array(NAMES)[code], p, classes=NAMES), code, p


@pytest.fixture(scope="module")
def too_sure():
    code, p = rows_of(20_000, seed=1)
    return am.classes.check(code, sure(p))


def test_right_probabilities_are_reliable(right):
    check = right[0]
    assert [one.reliable for one in check.per_class] == ["yes"] * 3
    assert check.fit_to_decide == "yes"
    assert check.fit_to_forecast == "yes"
    assert check.classes == tuple(NAMES)


def test_probabilities_that_are_too_sure_are_not(right, too_sure):
    assert [one.reliable for one in too_sure.per_class] == ["no"] * 3
    assert all(one.slope < 0.6 for one in too_sure.per_class)
    assert too_sure.fit_to_forecast == "recalibrated"
    assert too_sure.route == "recalibrate"
    assert too_sure.gap > 0.1
    assert too_sure.score_recalibrated == pytest.approx(right[0].score_as_is, abs=0.01)


def test_figures_are_those_of_the_functions_themselves(right):
    check, code, p = right
    y = np.array(NAMES)[code]
    d = am.classes.decide(p, classes=NAMES)
    assert check.expected == d.expected
    actual = am.classes.evaluate(y, d.labels, classes=NAMES)
    assert check.score_as_is == pytest.approx(float(actual), abs=1e-12)
    plain = am.classes.evaluate(y, np.array(NAMES)[p.argmax(axis=1)], classes=NAMES)
    last = check.routes[-1]
    assert (last.name, last.score) == ("most_probable", pytest.approx(float(plain)))
    own = p[np.arange(code.size), code]
    assert check.log_loss == pytest.approx(-np.log(own).mean())
    one_hot = np.eye(3)[code]
    assert check.brier == pytest.approx(((p - one_hot) ** 2).sum(axis=1).mean())
    for c, one in enumerate(check.per_class):
        assert one.prevalence == pytest.approx((code == c).mean())
        assert one.forecast_prevalence == pytest.approx(p[:, c].mean())
        assert (
            one.prevalence_interval.low < one.prevalence < one.prevalence_interval.high
        )
        binary = am.calibration_check(code[:2000] == c, p[:2000, c], n_bootstrap=2)
        few = am.classes.check(code[:2000], p[:2000], n_bootstrap=2)
        assert few.per_class[c].slope == pytest.approx(binary.slope)
        assert few.per_class[c].ece == pytest.approx(binary.ece)
        assert few.per_class[c].p_value == pytest.approx(min(1, 3 * binary.p_value))


def slow_bootstrap(metric, code, labels, n, rng):
    scores, n_rows = [], code.size
    for _ in range(n):
        drawn = rng.integers(n_rows, size=n_rows)
        table = np.zeros((3, 3))
        np.add.at(table, (code[drawn], labels[drawn]), 1)
        scores.append(float(metric.score(table)))
    return np.std(scores, ddof=1)


def test_standard_errors_are_those_of_rows_drawn_again():
    code, p = rows_of(150, seed=3)
    metric, rng = get_class_metric("f1", n_classes=3), np.random.default_rng(0)
    last = am.classes.check(code, p, n_bootstrap=2000).routes[-1]
    labels = p.argmax(axis=1)
    slow = slow_bootstrap(metric, code, labels, 2000, rng)
    assert (last.name, last.standard_error) == (
        "most_probable",
        pytest.approx(slow, rel=0.08),
    )
    assert last.score == pytest.approx(float(am.classes.evaluate(code, labels)))


def test_groups_are_drawn_whole_and_averaged():
    code, p = rows_of(300, seed=4)
    groups = np.arange(300) // 10
    check = am.classes.check(code, p, "accuracy", groups=groups, n_bootstrap=2000)
    means = (code == p.argmax(axis=1)).reshape(30, 10).mean(axis=1)
    last = check.routes[-1]
    assert last.score == pytest.approx(means.mean())
    assert last.standard_error == pytest.approx(means.std() / 30**0.5, rel=0.08)
    assert check.n_groups == 30
    with pytest.raises(ValueError, match="two groups or more"):
        am.classes.check(code, p, groups=np.zeros(300))


def test_a_rare_class_is_judged_by_its_count():
    code, p = rows_of(800, seed=5)
    p[:, 2] = 0.2  # far more than are there
    p[:, :2] *= 0.8 / p[:, :2].sum(axis=1, keepdims=True)
    code[code == 2] = 0
    code[:3] = 2
    found = am.classes.check(code, p, n_bootstrap=5).worst[0]
    assert (found.name, found.reliable, found.n) == (2, "no", 3)
    assert found.few


def test_a_hundred_classes_fit_on_a_screen():
    code, p = rows_of(1500, seed=6, count=100)
    moved = p.copy()
    moved[:, 40] = 0.3
    moved /= moved.sum(axis=1, keepdims=True)
    check = am.classes.check(code, moved, classes=range(100), n_bootstrap=5)
    assert len(repr(check).splitlines()) == 10
    lines = check.lines()
    assert check.worst[0].name == 40
    assert "weights" not in [route.name for route in check.routes]
    assert any("40" in name and "no; forecast" in text for name, text in lines)
    assert any("more classes" in text for _, text in lines)
    json.dumps(check.to_dict())
    ax = check.plot()
    assert len(ax.get_yticklabels()) == 40
    assert ax.get_yticklabels()[0].get_text() == "40"


def test_results_are_shown_and_plain(right):
    check = right[0]
    values = json.loads(json.dumps(check.to_dict()))
    assert [one["class"] for one in values["per_class"]] == NAMES
    assert values["routes"]["decide"]["score"] == check.score_as_is
    assert list(check.to_frame()["reliable"]) == ["yes"] * 3
    assert "macro F1" in check.plot().get_title()
    assert "reliable classes" in dict(check.lines())


@pytest.mark.parametrize("name", ["quadratic_kappa", "mcc", "gmean"])
def test_other_metrics_and_maps(name):
    code, p = rows_of(300, seed=7)
    check = am.classes.check(
        code,
        np.log(p),
        name,
        logits=True,
        method="temperature",
        n_bootstrap=5,
    )
    names = [route.name for route in check.routes]
    assert ("weights" in names) == (name != "quadratic_kappa")
    assert check.method == "temperature"
    assert check.log_loss == pytest.approx(-np.log(p[np.arange(300), code]).mean())


def test_a_cost_matrix_is_checked_too():
    code, p = rows_of(300, seed=8)
    cost = [[0, 1, 1], [5, 0, 1], [9, 1, 0]]
    check = am.classes.check(code, p, cost=cost, n_bootstrap=5)
    labels = am.classes.decide(p, cost=cost).labels
    paid = np.array(cost)[code, labels].mean()
    assert check.score_as_is == pytest.approx(-paid)


def test_wrong_input():
    code, p = rows_of(60, seed=9)
    refuses(ValueError, "sums to", am.classes.check, code, p / 2)
    with pytest.raises(ValueError, match="not among classes"):
        am.classes.check(code, p, classes=[0, 1, 5])
    refuses(ValueError, "method", am.classes.check, code, p, method="spline")
    refuses(ValueError, "only", am.classes.check, np.zeros(60, int), p)
    refuses(ValueError, "empty", am.classes.check, code[:0], p[:0])
    wrong = p.copy()
    wrong[0] = np.eye(3)[(code[0] + 1) % 3]
    check = am.classes.check(code, wrong, n_bootstrap=5)
    assert "1 rows had p = 0" in check.notes[0]
