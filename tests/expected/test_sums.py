"""Sums of any metric over pairs of laws, against plain sums and whole curves."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import argmetric as am
import plain_kernels as reference
from argmetric._expected import _pieces, _sums
from argmetric._expected import kernels as compiled
from argmetric._input.segments import Segments
from slow import SLOW
from strategies import moderate_vectors, probability_vectors

some_vectors = st.one_of(
    probability_vectors(max_size=12), moderate_vectors(min_size=13, max_size=40)
)


def own(tp, k, t, n):
    return tp / (0.3 * k + 0.7 * t + 1.0)


def squares(tp, k, t, n):
    return tp * tp / (k * t)


def spike(tp, k, t, n):
    return np.where((k == 7) & (tp >= 2), 2.5, 2 * tp / (k + t + 1))


def odd(tp, k, t, n):
    return (t % 2) * (tp + 1) / (n + 1)


def signed(tp, k, t, n):
    return (tp * n - k * t) / (k * t + 1)


FUNCTIONS = [own, squares, spike, odd, signed]
LAWS = {
    "uniform": lambda rng, n: rng.random(n),
    "skewed": lambda rng, n: rng.beta(0.2, 2.0, n),
    "rare": lambda rng, n: np.minimum(1.0, rng.exponential(0.5 / n, n)),
    "frequent": lambda rng, n: 1.0 - rng.beta(0.2, 4.0, n),
    "tied": lambda rng, n: rng.choice([0.1, 0.2, 0.5, 0.9], n),
    "certain": lambda rng, n: rng.choice([0.0, 1.0, 0.3], n),
    "tiny": lambda rng, n: rng.choice([1e-300, 1e-16, 1 - 1e-16, 0.4], n),
    "never": lambda rng, n: np.zeros(n),
}


def segments_of(vectors, implicit=0):
    p = np.concatenate([np.sort(x)[::-1] for x in vectors])
    sizes = np.array([len(x) for x in vectors])
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return Segments(p, 1 - p, indptr, sizes + implicit)


def random_laws(rng, n_pairs, *, whole):
    """Points and weights of laws that rise and fall, or of quadratures."""
    table, spans = [np.zeros((2, 0))], []
    for i in range(n_pairs):
        size, start = int(rng.integers(1, 7)), sum(x.shape[1] for x in table)
        if whole[i]:
            points = rng.integers(0, 5) + np.arange(size)
            falls = np.arange(size) - rng.uniform(0, size)
            weights = np.exp(-rng.uniform(0.1, 9.0) * falls * falls)
        else:
            points = np.sort(rng.uniform(0, 9, size))
            weights = rng.uniform(0.5, 1.0, size)
            weights[:1] *= -0.1 if size > 2 else 1.0
        table.append(np.array([points, weights / weights.sum()]))
        spans.append((start, size))
    return np.concatenate(table, axis=1), np.array(spans)


@given(seed=st.integers(0, 1000), limit=st.integers(1, 60), tolerance=st.just(1e-9))
def test_cells_and_sums_are_those_of_both_laws(seed, limit, tolerance):
    """Blocks of any size; keys are shared; undefined cells and unlikely ones go."""
    rng = np.random.default_rng(seed)
    n_pairs = int(rng.integers(1, 12))
    k, n = rng.integers(0, 3, n_pairs), rng.integers(20, 22, n_pairs)
    whole = rng.random(n_pairs) < 0.7
    hits, hit_spans = random_laws(rng, n_pairs, whole=whole)
    misses, miss_spans = random_laws(rng, n_pairs, whole=whole)
    spans = np.concatenate([hit_spans, miss_spans], axis=1)
    asked = np.stack([k, n, np.where(whole, tolerance, -1.0)], axis=1).astype(float)
    order, ends = _sums.shared_keys(100 * n + k, whole)
    assert len(set(zip(k[whole], n[whole], strict=True))) + (~whole).sum() == (
        ends.size - 1
    )
    holes = rng.random() < 0.5

    def value(tp, k, t, n):
        found = np.sin(tp) + 0.1 * t + 0.01 * k + 0.001 * n
        return np.where(holes & (np.floor(t) % 3 == 0), np.nan, found)

    for backend in (compiled, reference):
        known, sides = (order, ends, spans), (hits, misses)
        rows, cells = backend.widest_key(*known, *sides)
        bases = np.empty((ends.size, 3), dtype=np.int64)
        lines = np.empty((limit + rows, 3), dtype=np.int64)
        table, work = np.empty((4, limit + cells)), np.empty((3, 8))
        out, key = np.full((2, n_pairs), np.nan), 0
        while key < ends.size - 1:
            last, used = backend.fill_cells(
                key, limit, *known, asked, *sides, bases, lines, table
            )
            assert last > key
            values = value(*table[:, :used])
            finite = backend.sum_cells(
                key, last, *known, *sides, bases, lines, values, work, out
            )
            assert finite or np.isnan(values).any()
            key = last
        for i in range(n_pairs):
            first, size, miss_first, miss_size = spans[i]
            a, x = hits[:, first : first + size]
            r, y = misses[:, miss_first : miss_first + miss_size]
            chance = x[:, None] * y
            found = value(a[:, None], k[i], a[:, None] + r, n[i])
            defined = ~np.isnan(found)
            mass = np.where(defined, chance, 0.0).sum()
            total = np.where(defined, chance * found, 0.0).sum()
            left_out = np.abs(chance[np.abs(chance) < tolerance]).sum()
            assert out[1, i] <= left_out * (1 + 1e-12)
            if not whole[i]:
                assert out[1, i] == 0.0
            slack = 4 * out[1, i] + 1e-12 * np.abs(chance).sum()
            if defined.all():
                assert out[0, i] == pytest.approx(total, abs=4 * slack)
            elif mass > 1e-6:
                wanted = total / mass
                assert out[0, i] == pytest.approx(
                    wanted, rel=1e-6, abs=1e-6 * (1 + abs(wanted)) / mass
                )
            elif not defined.any():
                assert math.isnan(out[0, i])


def curve_by_laws(segment, metric):
    """E[value | defined] for every k: a plain sum over the whole laws."""
    p, q, m = segment.p, segment.q, segment.p.size
    hits, misses = reference.laws(p, q), reference.laws(p[::-1], q[::-1])
    curve = np.full(m + 1, np.nan)
    for k in range(m + 1):
        a, r = np.ogrid[: k + 1.0, : m - k + 1.0]
        value = metric.value(a, float(k), a + r, float(segment.sizes[0]))
        chance = hits[k][:, None] * misses[m - k]
        defined = ~np.isnan(value)
        mass = chance[defined].sum()
        if mass > 1e-300:
            curve[k] = (chance[defined] * value[defined]).sum() / mass
    return curve


def curves_are_right(segments, metric, **options):
    """Equal to plain sums over whole laws, within the errors told."""
    found, errors = _pieces.value_curves(segments, metric, **options)
    for g in range(segments.n_segments):
        wanted, place = curve_by_laws(segments.one(g), metric), segments.place(g)
        scale = max(1.0, np.nanmax(np.abs(wanted), initial=0.0))
        slack = errors[g] + scale * (segments.lengths[g] * 2.0**-53 + 1e-14)
        np.testing.assert_allclose(found[place], wanted, rtol=0, atol=slack)
    return found, errors


@pytest.mark.parametrize("function", FUNCTIONS)
@settings(deadline=None, max_examples=15)
@given(
    vectors=st.lists(some_vectors, min_size=1, max_size=4),
    implicit=st.integers(0, 3),
    zero=st.sampled_from([0.0, 1.0, math.nan]),
)
def test_curves_of_any_segments(function, vectors, implicit, zero):
    metric = am.CustomMetric(function, zero_division=zero)
    segments = segments_of(vectors, implicit)
    _, errors = curves_are_right(segments, metric)
    assert (errors < 1e-13 * (1 + 40 * 40)).all()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("function", "piece", "room"),
    [
        (own, 128, 1 << 20),
        (spike, 50, 20_000),
        pytest.param(squares, 128, 1 << 20, marks=pytest.mark.slow),
        pytest.param(signed, 50, 20_000, marks=pytest.mark.slow),
    ],
)
def test_curves_in_pieces_and_batches(function, law, piece, room, monkeypatch):
    """Laws are rolled on from seeds; segments of one size share their values."""
    monkeypatch.setattr(_pieces, "PIECE", piece)
    monkeypatch.setattr(_pieces, "ROOM", room)
    rng = np.random.default_rng(4)
    sizes = [130, 1, 130, 51, 260, 50, 49]
    segments = segments_of([LAWS[law](rng, n) for n in sizes])
    for zero in (0.0, math.nan):
        curves_are_right(segments, am.CustomMetric(function, zero_division=zero))


@pytest.mark.parametrize(
    "function", [own, odd, pytest.param(spike, marks=pytest.mark.slow)]
)
def test_curves_of_large_variance(function):
    """Quadratures are tried, and given up where the metric is too rough for them."""
    rng = np.random.default_rng(5)
    vectors = [rng.random(n) for n in ((500, 600, 500) if SLOW else (500, 500))]
    segments = segments_of(vectors)
    metric = am.CustomMetric(function)
    found, errors = curves_are_right(segments, metric)
    exact, bounds = _pieces.value_curves(segments, metric, switch=math.inf)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-8)
    assert (bounds < 1e-11).all()
    assert (errors < 1e-7).all()
    if function is odd:
        np.testing.assert_array_equal(errors, bounds)


@pytest.mark.parametrize("metric", ["f1", "jaccard"])
def test_curves_equal_those_of_the_papers(metric):
    known = am.get_metric(metric)
    same = am.CustomMetric(known.value)
    rng = np.random.default_rng(2)
    for law in LAWS.values():
        p = np.sort(law(rng, 90))[::-1]
        curve, _ = _pieces.value_curves(segments_of([p, p, p]), same)
        wanted = am.decide(p, known, method="reference", check=False).curve
        for part in curve.reshape(3, -1):
            np.testing.assert_allclose(part, wanted, rtol=1e-11, atol=1e-300)


def test_functions_of_single_numbers():
    def one_by_one(tp, k, t, n):
        return 1.0 if tp > 0.5 * k else 0.25 * tp / n

    segments = segments_of([[0.9, 0.5, 0.2, 0.1, 1e-300], [0.3], [0.0] * 5])
    curves_are_right(segments, am.CustomMetric(one_by_one))


def test_segments_of_one_size_share_the_values():
    """The function is asked about a cell once for all segments of a batch."""
    asked = []

    def counted(tp, k, t, n):
        asked.append(np.stack(np.broadcast_arrays(tp, k, t, n)).reshape(4, -1))
        return own(tp, k, t, n)

    rng = np.random.default_rng(3)
    vectors = [rng.beta(0.3, 2.0, 150) for _ in range(12)]
    _pieces.value_curves(segments_of(vectors), am.CustomMetric(counted))
    cells = np.concatenate(asked, axis=1)
    assert np.unique(cells, axis=1).shape[1] == cells.shape[1]
    shared = cells.shape[1]
    asked.clear()
    _pieces.value_curves(segments_of(vectors[:1]), am.CustomMetric(counted))
    alone = sum(x.shape[1] for x in asked)
    assert shared < 4 * alone


def test_infinite_values_are_refused_wherever_they_have_weight():
    p = np.random.default_rng(1).random((3, 100))

    def infinite(tp, k, t, n):
        return np.where((k == 7) & (tp == 3), np.inf, tp / (k + 1))

    segments = segments_of(list(p))
    for sign in (1, -1):
        metric = am.CustomMetric(lambda *x, s=sign: s * infinite(*x), name="odd one")
        with pytest.raises(ValueError, match="odd one is infinite on some counts"):
            _pieces.value_curves(segments, metric)


def test_small_values_keep_their_digits():
    """Outcomes that are rare may be all that counts."""
    for p in (1e-12, 1e-100):
        segments = segments_of([np.full(80, p), np.full(80, p)])
        curve, _ = _pieces.value_curves(segments, am.CustomMetric(own))
        k = np.arange(81)
        wanted = k * p / (0.3 * k + 0.7 + 1.0)
        np.testing.assert_allclose(curve.reshape(2, -1), [wanted] * 2, rtol=1e-9)
