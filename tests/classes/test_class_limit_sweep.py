"""Degenerate batches within limits: all metrics, in a process that may be ended."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import argmetric as am
from argmetric.classes.kernels.transport import fill_classes
from slow import SLOW

PROGRAM = Path(__file__).parents[1] / "limit_sweep.py"
STEP = 1 if SLOW else 17  # no divisor of their number: every batch, metric and limit
CASES = 4620  # 14 batches, 15 metrics, 11 limits, with and without groups


def test_no_batch_within_limits_hangs_or_falls_below_the_simple_rules():
    done = subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAM), str(STEP)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-300:] + done.stderr
    answers = dict(line.rsplit("; ", 1) for line in done.stdout.splitlines())
    counts = Counter(answers.values())
    print(f"{len(answers):,} cases: {counts}")
    assert len(answers) == -(-CASES // STEP)
    wrong = {
        case: answer
        for case, answer in answers.items()
        if answer not in ("best", "no worse", "refused")
    }
    assert not wrong
    assert counts["best"] > 0.7 * len(answers)
    assert counts["refused"] < 0.1 * len(answers)


@pytest.mark.parametrize(
    ("p", "most", "counts"),
    [
        ([[0.8, 0.2]] * 6, [5, 2], [5, 1]),
        ([[0.4, 0.3, 0.2, 0.1]] * 35, 10, [10, 10, 10, 5]),
        ([[1.0, 0.0]] * 4, [3, 4], [3, 1]),
    ],
)
def test_equal_rows_have_gains_for_a_correlation(p, most, counts):
    d = am.classes.decide(p, "mcc", max_per_class=most)
    assert d.counts.tolist() == counts
    assert d.expected == pytest.approx(0.0, abs=1e-12)


def test_the_rule_of_a_correlation_is_finite_with_all_rows_in_one_class():
    rule = am.classes.decide([[0.8, 0.2]] * 6, "mcc").rule
    assert np.isfinite(rule.weights).all()
    assert rule.offsets.tolist() == pytest.approx([-0.8, -0.2])


def test_a_part_of_a_row_is_no_room():
    d = am.classes.decide([[0.8, 0.2]] * 6, "accuracy", max_per_class=[2.5, 6])
    assert d.counts.tolist() == [2, 4]
    with pytest.raises(ValueError, match="leaves room for 5 rows, but there are 6"):
        am.classes.decide([[0.8, 0.2]] * 6, "accuracy", max_per_class=[2.5, 3.5])


@pytest.mark.parametrize("scale", [1e-300, 1e-20, 1.0, 1e200, 1e307])
def test_labels_do_not_depend_on_the_unit_of_costs(scale):
    p = np.array([[0.8, 0.2]] * 5 + [[0.9, 0.1]])
    cost = scale * np.array([[-1.0, 1.0], [1.0, -1.0]])
    for limits in ({"max_per_class": [3, 6]}, {"min_recall": [0, 0.6]}):
        d = am.classes.decide(p, cost=cost, **limits)
        assert d.counts.tolist() == [3, 3] if "max_per_class" in limits else [2, 4]
        assert d.codes[5] == 0


@pytest.mark.parametrize("count", [102, 300])
def test_equal_rows_have_labels_within_recalls(count):
    """Prices alone move all equal rows at once, past the limits on either side."""
    p = np.tile([0.5, 0.25, 0.25], (count, 1))
    d = am.classes.decide(p, "f1", min_recall=0.3)
    assert (d.counts >= np.ceil(0.3 * count)).all()
    with pytest.raises(ValueError, match="the limits cannot be kept together"):
        am.classes.decide(p, "f1", min_recall={0: 0.7, 1: 0.4})


@pytest.mark.parametrize(
    ("gains", "most"),
    [
        ([[np.nan, 0.0]] * 3, [2.0, 2.0]),
        ([[np.inf, 0.0]] * 3, [2.0, 2.0]),
        ([[1.0, 0.0]] * 3, [1.0, 1.0]),
    ],
)
def test_a_kernel_refuses_what_it_would_not_end_with(gains, most):
    labels, price = np.empty(3, dtype=np.int64), np.zeros(2)
    with pytest.raises(ValueError, match=r"must be finite|too little room"):
        fill_classes(np.array(gains), labels, np.array(most), price)
