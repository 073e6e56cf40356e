"""The route table: what it says on both sides of every limit, and that it is one."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import argmetric as am
from processes import run_program
from routes import decide_by, plan

ROOMS = [Path(am.__file__).parent / room for room in ("_expected", "_verbs/decide")]


def own(tp, k, t, n):
    return tp / (0.3 * k + 0.7 * t + 1.0)


SMOOTH = am.CustomMetric(own, smooth=True)


def of_variance(variance, rows=900):
    """Uncertain rows with this variance of the number of positives, about."""
    return np.full(rows, 0.5 - math.sqrt(0.25 - variance / rows))


@pytest.mark.parametrize(
    ("rows", "metric", "said"),
    [
        (64, "f1", "64 rows, 64 or fewer: table of all counts"),
        (65, "f1", "kernels; 65 rows: exact curve by exponential sums"),
        (49_999, "f1", "kernels; 49,999 rows: exact curve by exponential sums"),
        (50_000, "f1", "50,000 rows: histogram of the scores, without a sort"),
        (65, "accuracy", "kernels; 65 rows: exact curve from means"),
        (65, "gmean", "kernels; 65 rows: bounds, and exact sums where the best can be"),
        (65, own, "kernels; 65 rows: exact curve by sums over whole PMFs"),
        (65, SMOOTH, "kernels; 65 rows: rough curve, and exact sums at its top"),
    ],
)
def test_the_route_of_one_vector(rows, metric, said):
    p = np.random.default_rng(rows).beta(0.5, 3, rows)
    assert am.decide(p, metric).plan == said


@pytest.mark.parametrize(
    ("metric", "limit", "below", "above"),
    [
        (
            "mcc",
            plan.AFFINE_QUADRATURE_VARIANCE,
            "the distribution of the positives without one item",
            "quadrature over the positives",
        ),
        (
            own,
            plan.QUADRATURE_VARIANCE,
            "sums over whole PMFs",
            "quadrature over both PMFs, its error estimated",
        ),
    ],
)
def test_the_route_by_variance(metric, limit, below, above):
    for side, said in ((0.97, below), (1.03, above)):
        assert am.decide(of_variance(side * limit), metric).plan.endswith(said)


@pytest.mark.parametrize(
    ("metric", "rows", "said"),
    [
        ("jaccard", 64, "table of all counts"),
        ("jaccard", 65, "exact curve by exponential sums"),
        ("f1", 200, "exact curve by quadratic sums"),
        ("f1", 201, "exact curve by exponential sums"),
        (
            "recall",
            200,
            "exact curve by the distribution of the positives without one item",
        ),
        ("recall", 201, "exact curve by exponential sums"),
        ("gmean", 33, "bounds, and exact sums where the best can be"),
        (own, 64, "table of all counts"),
    ],
)
def test_the_route_of_groups(metric, rows, said):
    p = np.random.default_rng(rows).beta(0.5, 5, (3, rows))
    decision = am.decide(p, metric, average="samples")
    assert decision.plan == f"kernels; 3 groups of {rows} rows: {said}"


def test_groups_of_many_sizes_name_the_ends():
    ids = np.repeat([0, 1, 2], [3, 40, 300])
    p = np.random.default_rng(0).beta(0.5, 5, ids.size)
    decision = am.decide(p, "mcc", groups=ids, average="groups")
    assert decision.plan == (
        "kernels; 3 groups of 3 to 300 rows: table of all counts; the longest by "
        "exact curve by the distribution of the positives without one item"
    )


@pytest.mark.parametrize("method", ["windows", "published"])
def test_a_method_that_was_asked_for_is_named(method):
    decision = decide_by(np.linspace(0.1, 0.9, 70), method=method)
    assert decision.plan.startswith(f"method='{method}'; 70 rows: ")


def test_a_first_call_does_not_load_scipy_linalg():
    """numba does, to see whether scipy is there; it still compiles what needs it."""
    code = (
        "import sys, numba, numpy as np, argmetric as am\n"
        "am.decide(np.linspace(0.1, 0.9, 100))\n"
        "print('scipy.linalg' in sys.modules)\n"
        "print(numba.njit(lambda a: np.dot(a, a))(np.eye(2)).sum())\n"
    )
    assert run_program(code).stdout.split() == ["False", "2.0"]


def test_there_are_few_switches():
    kinds = ("_ROWS", "_VARIANCE", "_POSITIVES")
    switches = [name for name in vars(plan) if name.endswith(kinds)]
    of_classes = {"EXACT_CLASS_ROWS", "DRAWN_ROWS"}  # one label per row
    assert of_classes < {*switches}
    assert len(switches) - len(of_classes) <= 12


def test_no_other_file_looks_at_sizes_or_at_what_is_loaded():
    compared = re.compile(r"[<>]=? *(?:plan\.)?[A-Z_]+_(?:ROWS|VARIANCE|POSITIVES)\b")
    for path in (path for room in ROOMS for path in room.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path.name not in ("plan.py", "_powers.py"):  # where a series is exact
            assert not compared.search(text), path
        if path.name != "plan.py":
            assert "sys.modules" not in text, path
