"""forecast over files: that of one call in memory."""

import numpy as np
import pyarrow as pa
import pytest

import argmetric as am
from opened import forecast
from scale_data import SMALL, write_parts


def table_of(n, groups, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 1.2, n)
    p[:3] = 0.0, 1.0, 0.0
    return pa.table(
        {"user": rng.integers(0, groups, n), "score": p, "decision": p > 0.3}
    )


def in_memory(table, metric, **words):
    p, labels = table["score"].to_numpy(), table["decision"].to_numpy()
    return am.forecast(p, labels, metric, **words)


def assert_same(found, wanted, within=1e-12):
    assert found.mean == pytest.approx(wanted.mean, rel=within)
    assert found.std == pytest.approx(wanted.std, rel=1e-9)
    # several intervals may be as short, in a distribution that is binned
    assert np.ptp(found.interval) == pytest.approx(np.ptp(wanted.interval), abs=1e-6)
    at = np.linspace(wanted.mean - 2 * wanted.std, wanted.mean + 2 * wanted.std, 9)
    for x in at.tolist():
        reached = [one.probabilities[one.values <= x].sum() for one in (found, wanted)]
        assert reached[0] == pytest.approx(reached[1], abs=1e-3)
    assert found.p_undefined == pytest.approx(wanted.p_undefined, rel=1e-9, abs=1e-15)
    assert found.expected_positives == pytest.approx(wanted.expected_positives)
    for name in ("n", "n_positives", "n_groups", "assumptions", "coverage"):
        assert getattr(found, name) == getattr(wanted, name)


@pytest.mark.parametrize("metric", ["f1", "mcc", "gmean"])
@pytest.mark.parametrize("n", [60, 6000])
def test_one_vector(tmp_path, metric, n):
    table = table_of(n, 5)
    folder = write_parts(tmp_path / "in", table, [10, 10, n // 2])
    wanted = in_memory(table, metric, coverage=0.8)
    assert_same(forecast(folder, metric, 0.8, n_jobs=2), wanted)
    pooled = forecast(folder, metric, 0.8, group="user", average="pooled")
    assert_same(pooled, wanted)


@pytest.mark.parametrize("zero_division", [0.0, float("nan")])
def test_groups_that_fit_are_forecast_at_once(tmp_path, zero_division):
    table = table_of(3000, 400)
    folder = write_parts(tmp_path / "in", table, [1000])
    words = {"zero_division": zero_division}
    wanted = in_memory(table, "f1", groups=table["user"].to_numpy(), **words)
    assert_same(forecast(folder, group="user", **words), wanted)


@pytest.mark.parametrize(
    ("metric", "zero_division"), [("f1", 0.0), ("f1", 1.0), ("f1", float("nan"))]
)
def test_very_many_groups_are_merged_by_their_moments(tmp_path, metric, zero_division):
    table = table_of(60_000, 25_000, seed=4)
    folder = write_parts(tmp_path / "in", table, [20_000])
    words = {"zero_division": zero_division}
    wanted = in_memory(table, metric, groups=table["user"].to_numpy(), **words)
    found = forecast(folder, metric, group="user", memory=10 * SMALL, **words)
    assert_same(found, wanted)


def test_too_few_groups_for_pieces_are_refused(tmp_path):
    table = table_of(5000, 300)
    folder = write_parts(tmp_path / "in", table, [1000])
    with pytest.raises(ValueError, match=r"300 groups are too few.* raise `memory`"):
        forecast(folder, group="user", memory=SMALL)
