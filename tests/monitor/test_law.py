"""The law of the score, against laws that are built up row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import argmetric as am
from argmetric._monitor._law import PeriodLaw, draws_at, mixture
from argmetric._monitor._readings import Readings
from watched import shifted_maps

CHANCE = np.array([0.02, 0.1, 0.3, 0.55, 0.8, 0.97])
METRICS = ("f1", "f2", "mcc", "gmean", "precision", "recall", "jaccard", "accuracy")


def table_of(missable: Any, called: Any) -> Any:
    table = np.zeros((2, 3, CHANCE.size), dtype=np.int64)
    table[0, 0], table[1, 0] = missable, called
    return table


def law_of_sum(p: Any) -> Any:
    law = np.ones(1)
    for one in p:
        law = np.convolve(law, [1 - one, one])
    return law


def exact_law(table: Any, q: Any, metric: Any) -> tuple[Any, Any]:
    """Values and chances of the score, all counts enumerated."""
    missed, hits = (law_of_sum(np.repeat(q, table[side, 0])) for side in (0, 1))
    tp = np.arange(hits.size)[:, None] + table[1, 2].sum()
    fn = np.arange(missed.size) + table[0, 2].sum()
    values = metric.value(tp, table[1].sum(), tp + fn, table.sum())
    order = np.argsort(values.ravel())
    return values.ravel()[order], (hits[:, None] * missed).ravel()[order]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("missable", "called"),
    [
        ((300, 60, 20, 8, 0, 0), (0, 0, 10, 20, 40, 30)),
        ((40, 9, 3, 0, 0, 0), (0, 0, 2, 3, 4, 2)),
    ],
)
@pytest.mark.parametrize("theta", [0.0, -0.9])
def test_draws_are_those_of_the_exact_law(
    metric: str, missable: Any, called: Any, theta: float
) -> None:
    score, table = am.get_metric(metric), table_of(missable, called)
    q = CHANCE * np.exp(theta) / (1 - CHANCE + CHANCE * np.exp(theta))
    values, chances = exact_law(table, q, score)
    maps = shifted_maps(CHANCE, 48)
    drawn = draws_at(table, maps, np.full((48, 16), theta), np.full(48, 1 / 48), score)
    mean, low, high = drawn.summary(0.9)
    deviation = np.sqrt(chances @ (values - chances @ values) ** 2)
    assert mean == pytest.approx(chances @ values, abs=0.06 * deviation)
    for at, level in ((low, 0.05), (high, 0.95)):
        below = chances[values < at - 1e-9].sum()
        reached = chances[values <= at + 1e-9].sum()
        assert below - 0.03 <= level <= reached + 0.03
    assert drawn.weight.sum() == pytest.approx(1.0)
    share = (q @ (np.array(missable) + called)) / table.sum()
    assert drawn.share_summary(0.9)[0] == pytest.approx(share, rel=0.02)


def test_known_labels_are_taken_as_they_are() -> None:
    table = np.zeros((2, 3, CHANCE.size), dtype=np.int64)
    table[0, 1, 1], table[0, 2, 2], table[1, 2, 4], table[1, 1, 3] = 50, 4, 9, 3
    old = np.full(CHANCE.size, 100.0)
    law = PeriodLaw(table, old, shifted_maps(CHANCE, 4), am.FBeta())
    assert law.mixed.summary(0.9) == pytest.approx([18 / 25] * 3)
    assert law.mixed.share_summary(0.9) == pytest.approx([13 / 66] * 3)
    table[0, 0, 0] = 40  # and some that are not known
    law = PeriodLaw(table, old, shifted_maps(CHANCE, 4), am.FBeta())
    mean, low, high = law.mixed.summary(0.9)
    assert low < mean <= 18 / 25
    assert high == pytest.approx(18 / 25)


def test_known_labels_tell_of_the_share() -> None:
    """A hundred known labels say what the scores leave open."""
    rng = np.random.default_rng(0)
    factor = 3.0
    old = np.array([200.0, 80, 60, 40, 30, 30])
    q = CHANCE * factor / (1 - CHANCE + CHANCE * factor)
    new = np.round(old * (1 - CHANCE + CHANCE * factor) / 3).astype(int)
    table = table_of(new * [1, 1, 1, 0, 0, 0], new * [0, 0, 0, 1, 1, 1])
    maps = shifted_maps(CHANCE, 8)
    before = PeriodLaw(table.copy(), old, maps, am.FBeta())
    for side in (0, 1):
        known = table[side, 0] // 2
        positive = rng.binomial(known, q)
        table[side, 0] -= known
        table[side, 1], table[side, 2] = known - positive, positive
    after = PeriodLaw(table, old, maps, am.FBeta())
    true = (table[:, 2].sum() + q @ table[:, 0].sum(axis=0)) / table.sum()
    _, low, high = after.mixed.share_summary(0.9)
    assert low <= true <= high
    assert high - low < 0.6 * np.diff(before.mixed.share_summary(0.9)[1:])[0]
    assert after.readings.share > 0.99 > before.readings.share


def test_a_mixture_has_the_weights_of_its_parts() -> None:
    maps = shifted_maps(CHANCE, 4)
    table = table_of((30, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 20))
    even = np.full(4, 0.25)
    laws = [
        draws_at(table, maps, np.full((4, 16), theta), even, am.FBeta())
        for theta in (-1.0, 0.0, 1.0)
    ]
    mixed = mixture(laws, np.array([0.5, 0.2, 0.3]))
    means = [one.summary(0.9)[0] for one in laws]
    assert mixed.summary(0.9)[0] == pytest.approx(np.dot([0.5, 0.2, 0.3], means))
    parts = mixed.parts()
    assert sum(parts) == pytest.approx(1.0)
    assert parts[0] == pytest.approx(0.0, abs=1e-10)  # the maps are all the same


def test_shifts_and_their_readings() -> None:
    maps = shifted_maps(CHANCE, 48, 0.1)
    chances = maps.chances
    old = np.array([400.0, 200, 100, 60, 60, 80])
    moved = old * (1 - CHANCE + CHANCE * 3)
    new = np.round(900 * moved / moved.sum()).astype(int)
    table = table_of(new * [1, 1, 1, 0, 0, 0], new * [0, 0, 0, 1, 1, 1])
    laws = {s: PeriodLaw(table, old, maps, am.FBeta(), s) for s in SHIFTS}
    assert laws["auto"].readings == laws["none"].readings
    mean = {s: law.mixed.summary(0.9)[0] for s, law in laws.items()}
    assert mean["prior"] == laws["auto"].share_moved.summary(0.9)[0]
    # No adjustment: E[F1] at the chances themselves, map by map
    q = chances @ np.stack([table[0, 0], table[1, 0]]).T
    f1 = 2 * q[:, 1] / (table[1].sum() + q.sum(axis=1))
    assert mean["none"] == pytest.approx(f1.mean(), abs=0.003)
    assert isinstance(laws["auto"].readings, Readings)


SHIFTS = ("auto", "none", "prior")
