"""Every view of a decision on degenerate probabilities, for every metric and 0/0."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

import argmetric as am
from argmetric._ground.pictures import (
    adaptive_edges,
    small_distribution,
    small_histogram,
)
from argmetric._ground.types import Interval
from argmetric._verbs.decide._decide import NeverDefinedError
from argmetric.metrics import metric_names
from oracle import obeyed

ULP = np.nextafter(0.3, 1.0)
DRAWN = ("f1", "mcc", "gmean", "sec")  # one of each form: pictures take long
BATCHES = {
    "equal": ([0.3, 0.3, 0.3], None),
    "all 0": ([0.0, 0.0, 0.0], None),
    "all 1": ([1.0, 1.0, 1.0], None),
    "one row": ([0.3], None),
    "one 0": ([0.0], None),
    "one 1": ([1.0], None),
    "certain": ([0.0, 1.0], None),
    "tiny": ([5e-324, 1e-300, 1.0 - 1e-16], None),
    "groups of one": ([0.2, 0.7, 0.3], [0, 1, 2]),
    "groups an ulp apart": ([0.3, ULP, 0.3, ULP], [0, 1, 2, 3]),
    "pairs an ulp apart": ([0.3, 0.3, ULP, ULP], [0, 0, 1, 1]),
    "equal groups": ([0.3] * 4, [0, 0, 1, 1]),
    "a group of 0": ([0.0, 0.0, 0.5, 0.0], [0, 0, 1, 1]),
    "groups of 1": ([1.0] * 4, [0, 0, 1, 1]),
}


@pytest.fixture(scope="module")
def axes():
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def show(decision, ax):
    """All that a person or a file may see of it."""
    json.dumps(decision.to_dict(), allow_nan=False)
    assert repr(decision).startswith("Decision: ")
    html = decision._repr_html_()
    assert "nan" not in html.replace("zero_division=nan", "")
    assert " inf" not in repr(decision) + html
    decision.to_frame()
    if decision.metric.name in DRAWN:
        ax.clear()
        decision.plot(ax)


@pytest.mark.parametrize("metric", metric_names())
def test_every_view_of_a_degenerate_decision(metric, axes):
    for zero_division in {obeyed(metric, one) for one in (0.0, 1.0, math.nan)}:
        for p, groups in BATCHES.values():
            try:
                decision = am.decide(
                    p, metric, zero_division=zero_division, groups=groups
                )
            except NeverDefinedError:
                continue
            show(decision, axes)
            for cut in (decision.best_cut, decision.cut_half):
                assert cut.n_positives == np.sum(np.asarray(p) >= cut.threshold)
            if not math.isnan(decision.expected):
                forecast = decision.forecast()
                repr(forecast)
                assert "nan" not in forecast._repr_html_()


def test_no_single_cut_is_defined():
    """MCC of none and of all is 0/0: only a split tie has a value."""
    decision = am.decide([0.3, 0.3, 0.3], "mcc", zero_division=math.nan)
    assert (decision.n_positives, decision.threshold) == (1, None)
    cut = decision.best_cut
    assert (cut.threshold, cut.n_positives) == (math.inf, 0)
    assert math.isnan(cut.expected)
    assert "best single cut  undefined (no row is positive)" in repr(decision)


def test_an_empty_prediction_has_no_infinite_threshold():
    text = repr(am.decide([0.1, 0.1, 0.3], zero_division=1.0))
    assert "threshold        none: no row is positive" in text


@pytest.mark.parametrize("size", [0.3, 1.0, 1e12])
def test_values_that_differ_by_rounding_are_one_bar(size):
    values = np.array([size, np.nextafter(size, np.inf)])
    edges = adaptive_edges(values)
    assert np.all(np.diff(edges) > 0)
    assert np.histogram(values, edges)[0].max() == 2
    assert small_histogram(values, "scores").count("<rect") == 5
    forecast = SimpleNamespace(
        values=values, probabilities=values / values.sum(), mean=size
    )
    assert small_distribution(forecast, Interval(*values)).count("<rect") == 41


def test_thresholds_and_rivals_read_as_what_they_are():
    p = [0.1, 0.99997, 0.99998, 1.0]
    rule, one = am.tune([0, 0, 1, 1], p, n_bootstrap=0), am.decide(p, max_positives=1)
    assert repr(rule).startswith("Rule: p >= 0.99998, ")
    assert "as good  (0.99997, 0.99998]\n" in repr(rule)
    assert "best single cut without limits  0.986 " in repr(one)
    found = am.classes.decide([[0.9, 0.1]] * 4, "accuracy", max_per_class=2)
    assert "most probable without limits  0.900" in repr(found)
