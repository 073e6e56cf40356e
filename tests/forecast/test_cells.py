"""Many groups too long for tables: their laws, many at a time, against single ones."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import argmetric as am
from argmetric._expected import Tables
from argmetric._forecast import groups as _cells
from argmetric._forecast import parts as _parts
from argmetric._forecast.groups import JudgedGroups
from argmetric._input.segments import Segments
from argmetric.metrics import get_metric
from strategies import probability_vectors


def groups_of(vectors, metric, seed=0, deviation=0.0, known=0.0, extra=0):
    rng = np.random.default_rng(seed)
    p = np.concatenate(vectors)
    lengths = np.array([vector.size for vector in vectors])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    labels = np.where(rng.random(p.size) < known, rng.random(p.size) < p, np.nan)
    rows = Segments(p, 1 - p, indptr, lengths + extra)
    return JudgedGroups(metric, rows, labels, rng.random(p.size) < 0.4, deviation)


def moments_by_hand(groups, g):
    """P(defined) and E[value^j; defined]: 1 - P(undefined) would round."""
    part = slice(groups.rows.indptr[g], groups.rows.indptr[g + 1])
    rows, selected = groups.certain(), groups.selected[part]
    laws = []
    for side in (selected, ~selected):
        law = np.ones(1)
        for p, q in zip(rows.p[part][side], rows.q[part][side], strict=True):
            law = np.convolve(law, [q, p])
        laws.append(law)
    tp, r = np.ogrid[: laws[0].size, : laws[1].size]
    value = groups.metric.value(tp, selected.sum(), tp + r, groups.rows.sizes[g])
    chance = np.where(np.isnan(value), 0.0, np.outer(*laws))
    return [(chance * np.nan_to_num(value) ** j).sum() for j in range(4)]


def by_hand(law, step, count, base, filled):
    """Mass and moment of one law on cells."""
    mass, moment = np.zeros(count + 1), np.zeros(count + 1)
    atoms = zip(law.values, (1 - law.p_undefined) * law.probabilities, strict=True)
    atoms = [*atoms, (filled, law.p_undefined)]
    for value, chance in atoms:
        if math.isnan(value):
            mass[count] += chance
            continue
        cell = min(max(math.floor((value - base) / step + 1e-9), 0), count - 1)
        mass[cell] += chance
        moment[cell] += chance * (value - cell * step)
    return mass, moment


@pytest.mark.parametrize("name", ["f1", "mcc", "gmean", "lift"])
@settings(deadline=None, max_examples=20)
@given(
    vectors=st.lists(probability_vectors(max_size=9), min_size=1, max_size=5),
    seed=st.integers(0, 99),
    left_out=st.booleans(),
    extra=st.integers(0, 2),
)
def test_cells_hold_the_laws_of_their_groups(name, vectors, seed, left_out, extra):
    metric = get_metric(name, zero_division=math.nan if left_out else 1.0)
    groups = groups_of(vectors, metric, seed, known=0.2, extra=extra)
    laws = _cells.cell_laws(groups)
    single = [groups.law(g) for g in range(groups.size)]
    raw, low, high, positives = laws.moments(0.0)
    assert positives == pytest.approx(sum(mean for _, mean in single), rel=1e-12)
    for g, (law, _) in enumerate(single):
        expected = moments_by_hand(groups, g)
        np.testing.assert_allclose(raw[g], expected, rtol=1e-12, atol=1e-15)
        if law.values.size:
            likely = law.values[law.probabilities > 1e-15]
            rounding = 1e-15  # values alike up to it are one in the law
            assert low[g] <= likely[0] + rounding
            assert high[g] >= likely[-1] - rounding
    step, count, base = 0.37, 5, np.linspace(-0.1, 0.2, groups.size)
    for filled in (math.nan, 0.45):
        mass, moment = laws.place(base, step, count, filled)
        for g, (law, _) in enumerate(single):
            expected = by_hand(law, step, count, base[g], filled)
            np.testing.assert_allclose(mass[g], expected[0], atol=1e-14)
            np.testing.assert_allclose(moment[g], expected[1], atol=1e-13)


@pytest.mark.parametrize("cells", [7, 1 << 14])
def test_groups_of_one_size_share_values_unless_their_counts_lie_apart(
    cells, monkeypatch
):
    monkeypatch.setattr(_cells, "CELLS", cells)
    rng = np.random.default_rng(0)
    few, many = rng.uniform(0.0, 0.01, 400), rng.uniform(0.99, 1.0, 400)
    near = [rng.uniform(0.4, 0.5, 30) for _ in range(4)]
    vectors = [few, many, *near]
    metric = get_metric("mcc")
    groups = groups_of(vectors, metric)
    selected = np.concatenate([np.arange(v.size) < v.size // 3 for v in vectors])
    groups = replace(groups, selected=selected)
    laws = _cells.cell_laws(groups)
    sizes = laws.box[:, 1] * laws.box[:, 3]
    assert laws.values.size < sizes[:2].sum() + 2 * sizes[2:].max()
    assert laws.values.size >= sizes[:2].sum() + sizes[2:].max()
    for g in range(groups.size):
        low_hit, hits, low_miss, misses = laws.box[g]
        tp = low_hit + np.arange(hits)[:, None]
        t = tp + low_miss + np.arange(misses)
        expected = metric.value(tp, vectors[g].size // 3, t, vectors[g].size)
        first, width = laws.places[g, 2:]
        found = first + width * np.arange(hits)[:, None] + np.arange(misses)
        np.testing.assert_array_equal(laws.values[found], expected)


def test_boxes_are_trimmed_to_likely_counts():
    """Two groups, one of them with a likely corner that is far off."""
    rng = np.random.default_rng(5)
    shapes, lows = [(6, 9), (4, 3)], [(2, 5), (0, 0)]
    laws = [rng.uniform(1e-9, 1e-3, shape) for shape in shapes]
    laws[0][:2], laws[0][5], laws[0][:, 0] = 1e-30, 1e-30, 1e-30
    laws[1][3, 2] = 0.9
    chance = np.concatenate([law.ravel() for law in laws])
    box = np.array([(a, h, r, m) for (h, m), (a, r) in zip(shapes, lows, strict=True)])
    places = np.array([[0, 9], [54, 3]])
    indptr = np.array([0, 30, 36])
    _cells.kernels.trim_boxes(indptr, 1e-18, chance, box, places)
    assert box.tolist() == [[4, 3, 6, 8], [0, 4, 0, 3]]
    assert places.tolist() == [[19, 9], [54, 3]]


def test_groups_with_an_effect_lose_no_likely_counts(monkeypatch):
    rng = np.random.default_rng(8)
    vectors = [rng.beta(0.5, 2.0, 80), np.full(70, 1e-9)]
    groups = groups_of(vectors, get_metric("f1"), 2, deviation=1.0)
    found = _cells.cell_laws(groups)
    monkeypatch.setattr(_cells, "TOLERANCE", 0.0)
    whole = _cells.cell_laws(groups)
    assert found.box[1, 1] < whole.box[1, 1]
    laws = (found.moments(_parts.UNLIKELY), whole.moments(_parts.UNLIKELY))
    for part, full in zip(*laws, strict=True):
        np.testing.assert_allclose(part, full, rtol=1e-12)


@pytest.mark.parametrize("deviation", [0.0, 0.3, 1.5])
@pytest.mark.parametrize("known", [0.0, 0.3])
def test_moments_on_both_sides_of_the_tables(deviation, known):
    """Groups of 64, 65 and 150 rows: a mixture over effects has its moments too."""
    rng = np.random.default_rng(3)
    vectors = [rng.beta(0.4, 2.0, n) for n in (64, 65, 150)]
    metric = get_metric("f1")
    groups = groups_of(vectors, metric, 1, deviation, known)
    parts, positives = _parts.parts_of(groups, Tables(metric))
    assert not parts.laws
    single = [groups.law(g) for g in range(groups.size)]
    assert positives == pytest.approx(sum(mean for _, mean in single), rel=1e-8)
    for g, (law, _) in enumerate(single):
        np.testing.assert_allclose(parts.raw[g], _parts._raw_moments(law), rtol=1e-8)


@pytest.mark.parametrize("zero", [0.0, math.nan])
@pytest.mark.parametrize("name", ["f1", "mcc", "gmean"])
def test_the_mean_and_the_deviation_are_those_of_the_groups(name, zero):
    rng = np.random.default_rng(4)
    sizes = np.array([70, 130, 66, 20, 300] * 12)
    ids = np.repeat(np.arange(sizes.size), sizes)
    p = rng.beta(0.3, 2.0, ids.size)
    labels = p > 0.25
    found = am.forecast(p, labels, name, groups=ids, zero_division=zero)
    single = [
        am.forecast(p[ids == g], labels[ids == g], name, zero_division=zero)
        for g in range(sizes.size)
    ]
    if zero == 0.0:
        mean = np.mean([one.mean for one in single])
        std = math.sqrt(sum(one.std**2 for one in single)) / sizes.size
        assert found.mean == pytest.approx(mean, rel=1e-12)
        assert found.std == pytest.approx(std, rel=1e-3)
    assert found.n_groups == sizes.size
    assert found.interval[0] < found.mean < found.interval[1]


def test_laws_of_groups_are_made_once_or_twice(monkeypatch):
    rng = np.random.default_rng(7)
    ids = np.repeat(np.arange(40), 90)
    p = rng.beta(0.5, 2.0, ids.size)
    found = am.forecast(p, p > 0.3, "gmean", groups=ids)
    monkeypatch.setattr(_cells, "ROWS_AT_ONCE", 500)
    for kept in (1 << 21, 0):
        monkeypatch.setattr(_parts, "KEPT", kept)
        again = am.forecast(p, p > 0.3, "gmean", groups=ids)
        np.testing.assert_allclose(again.values, found.values, rtol=1e-12)
        np.testing.assert_allclose(again.probabilities, found.probabilities, atol=1e-15)


def test_very_long_groups_have_laws_of_their_own(monkeypatch):
    rng = np.random.default_rng(6)
    ids = np.repeat(np.arange(30), 90)
    p = rng.beta(0.5, 2.0, ids.size)
    found = am.forecast(p, p > 0.3, "f1", groups=ids)
    monkeypatch.setattr(_cells, "LONGEST", 0)
    alone = am.forecast(p, p > 0.3, "f1", groups=ids)
    assert found.mean == pytest.approx(alone.mean, rel=1e-12)
    assert found.std == pytest.approx(alone.std, rel=1e-3)
