"""Every kernel equals its plain numpy twin."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import argmetric as am
import plain_kernels as reference
from argmetric._expected import _affine, plan
from argmetric._expected import kernels as compiled
from argmetric._expected.kernels.nodes import exponential_sum, two_sided_sum
from argmetric._input.segments import Segments
from argmetric._jit.laws import PAD, add_labels, law_room
from strategies import probability_vectors

LAWS = {
    "uniform": lambda rng, n: rng.random(n),
    "skewed": lambda rng, n: rng.beta(0.1, 2, n),
    "equal": lambda rng, n: np.full(n, 0.3),
    "tiny": lambda rng, n: np.full(n, 1e-200),
    "nearly one": lambda rng, n: np.full(n, 1 - 2.0**-53),
    "mixed": lambda rng, n: rng.choice([0, 1, 0.5, 1e-300, 1 - 1e-16], n),
    "ones": lambda rng, n: np.ones(n),
    "zeros": lambda rng, n: np.zeros(n),
}


def segments(law, lengths, seed=0):
    rng = np.random.default_rng(seed)
    parts = [np.sort(LAWS[law](rng, n))[::-1] for n in lengths]
    p = np.concatenate(parts)
    return p, 1 - p, np.concatenate([[0], np.cumsum(lengths)])


def both(name, make_arguments, result):
    """Run a kernel and its twin on arguments of their own and compare the results."""
    outcomes = []
    for backend in (compiled, reference):
        arguments = make_arguments()
        getattr(backend, name)(*arguments)
        outcomes.append(arguments[result])
    np.testing.assert_allclose(outcomes[0], outcomes[1], rtol=2e-12, atol=1e-300)


@pytest.mark.parametrize("alpha", [1.0, 0.5, 2.0])
@pytest.mark.parametrize("ratio", [1.0, 2.0, 32.0, 1e3, 1e6, 1e9])
def test_exponential_sums_are_accurate_uniformly(alpha, ratio):
    nodes, weights = exponential_sum(alpha, 3.0, 3.0 * ratio)
    y = np.geomspace(3.0, 3.0 * ratio, 500)
    approximation = np.exp(-np.outer(y, nodes)) @ weights
    np.testing.assert_allclose(approximation, y**-alpha, rtol=1e-14)
    assert (weights > 0).all()


@pytest.mark.parametrize("n", [2, 3, 20, 1000, 100_000])
def test_two_sided_sums_are_accurate_uniformly(n):
    nodes, weights = two_sided_sum(n)
    t = np.unique(np.geomspace(1, n - 1, 300).round())
    t = np.union1d(t, n - t)
    terms = np.exp(-np.outer(t, nodes)) + np.exp(-np.outer(n - t, nodes))
    np.testing.assert_allclose(terms @ weights, (t * (n - t)) ** -0.5, rtol=1e-14)
    assert (weights > 0).all()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_hit_curves(law, alpha):
    p, q, indptr = segments(law, [1, 7, 64, 65, 300])
    low, high = np.full(5, 1.5), np.full(5, 1.5 + 0.5 * 300 + 300.0)
    nodes, weights = exponential_sum(alpha, 1.0, float(high[0] / low[0]))
    rule, rules = np.zeros(5, dtype=np.int64), np.array([0, nodes.size])

    def arguments():
        out = np.zeros(p.size + 5)
        base = np.zeros(5)
        common = (p, q, indptr, rule, rules, nodes, weights, alpha)
        return (*common, base, 1.0, 0.5, low, high, out)

    both("hit_curves", arguments, -1)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("c", "d"),
    [
        ((0, 1, 0, 0), (0, -1, 1, 1)),
        ((0, 1, 0, 0), (0, -0.1, 0.3, 0.8)),
        ((0.2, 1, 0.3, 0.1), (0.5, -0.2, 0.3, 0.4)),
        ((1, 2, -1, -0.5), (3, 1, -0.5, 0.1)),
    ],
)
def test_ratio_curves(law, c, d):
    p, q, indptr = segments(law, [2, 40, 130])
    sizes = np.array([2, 45, 130])
    low, high = np.empty(3), np.empty(3)
    for g, (m, n) in enumerate(zip(np.diff(indptr), sizes, strict=True)):
        least = 1 if c[0] == c[2] == c[3] == 0 else 0
        cells = [(least, least, least), (least, least, m), (least, m, least), (m, m, m)]
        values = [d[0] * n + d[1] * tp + d[2] * k + d[3] * t for tp, k, t in cells]
        low[g], high[g] = min(values), max(values)
    nodes, weights = exponential_sum(1.0, 1.0, float((high / low).max()))
    rule, rules = np.zeros(3, dtype=np.int64), np.array([0, nodes.size])

    def arguments():
        common = (p, q, indptr, rule, rules, nodes, weights)
        both_sides = np.array(c, dtype=float), np.array(d, dtype=float)
        return (*common, *both_sides, sizes, low, high, np.zeros(p.size + 3))

    both("ratio_curves", arguments, -1)


@settings(deadline=None, max_examples=30)
@given(probability_vectors(max_size=9), st.integers(1, 11))
def test_table_kernels(p, copies):
    """Lanes: from one segment to more than a full set of eight, of one size."""
    m = p.size
    p = np.tile(np.sort(p)[::-1], copies)
    q, indptr = 1 - p, np.arange(copies + 1) * m
    rng = np.random.default_rng(m)
    table, chosen = rng.random((m + 1, m + 1, m + 1)), np.arange(copies)
    selected = rng.random(p.size) < 0.5
    common = (p, q, indptr, chosen)
    both("table_curves", lambda: (*common, table, np.zeros(p.size + copies)), -1)
    both("table_moments", lambda: (*common, selected, table, np.zeros((copies, 3))), -1)


@settings(deadline=None)
@given(probability_vectors(max_size=40))
def test_laws_of_short_vectors_are_the_same_to_the_bit(p):
    """Whether a kernel is loaded must not show in any decision."""
    p = np.sort(p)[::-1]
    m, q = p.size, 1 - p
    first, second = (backend.both_laws(p, q) for backend in (compiled, reference))
    np.testing.assert_array_equal(first, second)
    exact = reference.laws(p, q), reference.laws(p[::-1], q[::-1])[::-1]
    for rows, laws in zip(first, exact, strict=True):
        padded = [np.pad(law, (0, m + 1 - law.size)) for law in laws]
        np.testing.assert_allclose(rows, padded, rtol=1e-14, atol=1e-300)


@given(probability_vectors(max_size=40), st.integers(0, 40), st.sampled_from([0, 1e-3]))
def test_a_law_grows_by_labels(p, first, tolerance):
    """In two steps, in a room as wide as its variance asks; trimmed mass is told."""
    q, first = 1 - p, min(first, p.size)
    law, spare = np.zeros((2, law_room(float(p @ q), p.size)))
    law[PAD] = 1.0
    low, length, lost = add_labels(p, q, 0, first, tolerance, 0, 1, law, spare)
    low, length, more = add_labels(
        p, q, first, p.size, tolerance, low, length, law, spare
    )
    wanted = reference.laws(p, q)[-1]
    found = np.zeros(p.size + 1)
    found[low : low + length] = law[PAD : PAD + length]
    assert found.sum() + lost + more == pytest.approx(1.0, abs=1e-13)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=lost + more + 1e-300)
    assert not law[:PAD].any()
    assert not law[PAD + length : 2 * PAD + length].any()


def test_laws_outlive_those_of_the_next_vector_of_their_size():
    """The twin works in arrays that it keeps."""
    p = np.array([0.9, 0.5, 0.2])
    kept = reference.both_laws(p, 1 - p)
    copies = [laws.copy() for laws in kept]
    reference.both_laws(p / 2, 1 - p / 2)
    np.testing.assert_array_equal(kept, copies)


def test_threads_share_no_arrays_for_laws():
    vectors = [np.sort(LAWS["uniform"](np.random.default_rng(s), 25)) for s in range(8)]
    wanted = [compiled.both_laws(p, 1 - p) for p in vectors]

    def differences(place):
        p = vectors[place]
        found = (reference.both_laws(p, 1 - p) for _ in range(200))
        return sum(not np.array_equal(one, wanted[place]) for one in found)

    with ThreadPoolExecutor(len(vectors)) as threads:
        assert list(threads.map(differences, range(len(vectors)))) == [0] * 8


def factors(p, n, kind):
    """Flat factors of one segment in n members for `affine_curves`."""
    count = np.arange(p.size + 1.0)
    inside = (count > 0) & (count < n)
    x = np.where(inside, count, n / 2)  # where it does not matter
    if kind == "mcc":
        parts = n / np.sqrt(x * (n - x)), 1 / np.sqrt(x * (n - x))
        parts += -np.sqrt(x / (n - x)), np.sqrt(x / (n - x))
        return *(np.where(inside, part, 0.0) for part in parts), *np.zeros((2, 0))
    if kind == "kappa":
        parts = np.full(x.size, 2.0 * n), np.ones(x.size), -2.0 * x, x
        below = np.where(inside, n * x, 1.0), np.where(inside, n - 2.0 * x, 0.0)
        return *(np.where(inside, part, 0.0) for part in parts), *below
    ones, some = np.ones(x.size), (count > 0) * 1.0
    return 2.0 * ones, some, 0.0 * ones, 0.0 * ones, np.maximum(count, 1.0), some


def affine_by_laws(p, n, kind):
    """The same from the laws of the hits and of the misses, cell by cell."""
    hits_k, hits_t, rest_k, rest_t, floor, rate = factors(p, n, kind)
    if not rate.size:
        floor, rate = np.ones(p.size + 1), np.zeros(p.size + 1)
    hits, misses = reference.laws(p, 1 - p), reference.laws(p[::-1], 1 - p[::-1])
    curve = np.zeros(p.size + 1)
    for k in range(1, p.size + 1):
        a, r = np.ogrid[: k + 1, : p.size - k + 1]
        t = a + r
        above = hits_k[k] * hits_t[t] * a + rest_k[k] * rest_t[t]
        curve[k] = hits[k] @ (above / (floor[k] + rate[k] * t)) @ misses[p.size - k]
    return curve


@pytest.mark.parametrize("kind", ["mcc", "kappa", "f1"])
@given(p=probability_vectors(max_size=40), implicit=st.integers(0, 3))
def test_affine_curves(kind, p, implicit):
    """From one lane to several blocks, on both sides of one half and of the middle."""
    p = np.sort(p)[::-1].copy()
    n = p.size + implicit
    slow = affine_by_laws(p, n, kind)
    for backend in (compiled, reference):
        out = np.full(p.size + 1, np.nan)
        place = np.array([0, p.size])
        at = np.zeros(1, dtype=np.int64)
        backend.affine_curves(p, 1 - p, place, at, *factors(p, n, kind), out)
        np.testing.assert_allclose(out, slow, rtol=1e-12, atol=1e-14)
        if kind == "f1":  # sums of positive terms
            np.testing.assert_allclose(out, slow, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("kind", ["mcc", "kappa", "f1"])
def test_affine_curves_of_several_segments(law, kind):
    lengths = [1, 0, 7, 8, 9, 200, 63]
    p, q, indptr = segments(law, lengths)
    parts = [factors(p[a:b], b - a + 1, kind) for a, b in itertools.pairwise(indptr)]
    flat = tuple(np.concatenate(part) for part in zip(*parts, strict=True))
    outcomes = []
    for backend in (compiled, reference):
        outcomes.append(np.full(p.size + len(lengths), np.nan))
        places = indptr[:-1] + np.arange(len(lengths))
        backend.affine_curves(p, q, indptr, places, *flat, outcomes[-1])
    np.testing.assert_allclose(outcomes[0], outcomes[1], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("form", [am.MCC().form, am.Kappa().form])
@pytest.mark.parametrize("implicit", [0, 5])
def test_smooth_curves_equal_those_of_the_whole_law(form, implicit, monkeypatch):
    """Odd and even sizes, more than one block of sums, all predicted or not."""
    rng = np.random.default_rng(4)
    lengths = [700, 701, 2001, 650]
    p = np.concatenate([np.sort(rng.random(m))[::-1] for m in lengths])
    p[:3], p[698:701] = 1.0, 0.0
    p[701] = 1 - 1e-16
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    sizes = np.array(lengths) + implicit
    some = Segments(p, 1 - p, indptr, sizes)
    found = []
    twin = reference.smooth_curves
    for kernel, switch in ((compiled.smooth_curves, 0.0), (twin, 0.0), (None, 1e9)):
        monkeypatch.setattr(plan, "AFFINE_QUADRATURE_VARIANCE", switch)
        monkeypatch.setattr(compiled, "smooth_curves", kernel)
        found.append(np.full(p.size + len(lengths), np.nan))
        _affine.affine_curves(some, form, found[-1])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found[0], found[2], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("steps", [(1, 1), (1, 4), (4, 1)])
def test_harmonic_curves(law, steps):
    p, q, indptr = segments(law, [1, 2, 33, 90, 3])

    def arguments():
        chosen = np.array([0, 1, 4, 2])  # up to 60 items, the shortest first
        return (p, q, indptr, chosen, *steps, 2.5, 0.7, np.zeros(p.size + 5))

    both("harmonic_curves", arguments, -1)


@pytest.mark.parametrize("law", LAWS)
def test_moments_of_segments(law):
    p, q, indptr = segments(law, [1, 63, 64, 65, 200])
    both("segment_moments", lambda: (p, q, indptr, np.zeros((5, 2))), -1)
    both("edge_logs", lambda: (p, q, indptr, np.zeros((5, 2))), -1)
    both("prefix_means", lambda: (p, indptr, np.zeros(p.size + 5)), -1)
    none, counts = np.zeros(5), np.zeros(5, dtype=np.int64)
    compiled.count_and_chance(p, q, indptr, 0.5, counts, none)
    sums = [(p[a:b] >= 0.5).sum() for a, b in itertools.pairwise(indptr)]
    np.testing.assert_array_equal(counts, sums)
    expected = [np.prod(q[a:b]) for a, b in itertools.pairwise(indptr)]
    np.testing.assert_allclose(none, expected, rtol=1e-12)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=12), st.integers(0, 9))
def test_segments_are_sorted_stably(lengths, seed):
    """By falling score, ties in input order: ten distinct scores make many ties."""
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    distinct = np.array(
        [-np.inf, -2, -1e-300, 0, 1e-300, 0.5, 0.5 + 1e-16, 1, 2, np.inf]
    )
    scores, rows = rng.choice(distinct, indptr[-1]), rng.permutation(indptr[-1])
    check_sorted(scores, rows, indptr)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("length", [64, 65, 66, 1000, 70_000])
def test_scores_alike_in_their_first_digits_are_sorted(length, sign):
    """Rising, falling and in any order, with ties: all bits count, at any distance."""
    rng = np.random.default_rng(length)
    step = np.arange(length) // 2
    close = sign * (0.5 + step * 2.0**-53)
    far = sign * 1.001 ** (step % 5000)
    for scores in (close, close[::-1], rng.permutation(close), far, far[::-1]):
        check_sorted(scores.copy(), np.arange(length), np.array([0, length]))
    mixed = np.concatenate([close, far, rng.random(length)])
    check_sorted(mixed, rng.permutation(mixed.size), np.arange(4) * length)


def check_sorted(scores, rows, indptr):
    key, order = np.empty(indptr[-1]), np.empty(indptr[-1], dtype=np.int64)
    longest = int(np.diff(indptr).max())
    values, counts = np.empty(longest), np.empty((4, 256), dtype=np.int64)
    words = np.empty((2, longest), dtype=np.int64)
    room = values, values.view(np.int64), *words, counts
    compiled.sort_short(scores, rows, indptr, key, order)
    compiled.sort_long(scores, rows, indptr, *room, key, order)
    for start, stop in itertools.pairwise(indptr):
        part = rows[start:stop]
        expected = part[np.argsort(-scores[part], kind="stable")]
        np.testing.assert_array_equal(order[start:stop], expected)
        np.testing.assert_array_equal(key[start:stop], scores[expected])


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("min_precision", "min_recall"), [(0.4, 0), (0, 0.6), (0.2, 0.3)]
)
def test_bounds_of_counts(law, min_precision, min_recall):
    """A range holds every k within the budgets whose means are on the floors."""
    p, _, indptr = segments(law, [0, 1, 7, 64])
    sums = [
        np.concatenate([[0.0], np.cumsum(p[a:b])])
        for a, b in itertools.pairwise(indptr)
    ]
    recalls = [one / one[-1] if one[-1] > 0 else np.ones(one.size) for one in sums]
    low, high = np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64)
    floors = (float(min_precision), float(min_recall))
    compiled.bounded_counts(
        p, np.concatenate(recalls), indptr, 1, 40, *floors, low, high
    )
    for g, (one, recall) in enumerate(zip(sums, recalls, strict=True)):
        k = np.arange(one.size)
        inside = (k >= min(1, k[-1])) & (k <= 40) & (recall >= min_recall - 1e-12)
        inside &= one >= (min_precision - 1e-12) * k
        np.testing.assert_array_equal(np.arange(low[g], high[g] + 1), k[inside])


def test_choice_marks_and_counts():
    indptr = np.array([0, 3, 3, 5])
    curve = np.array([0.1, 0.5, 0.5 * (1 + 1e-13), 0.2, 7.0, np.nan, 0.3, 0.3])
    low, high = np.zeros(3, dtype=np.int64), np.array([3, 0, 2])
    best, floor = np.zeros(3, dtype=np.int64), np.zeros(3)
    compiled.choose(curve, indptr, low, high, 1.0, floor, best)
    np.testing.assert_array_equal(best, [1, 0, 1])
    compiled.choose(curve, indptr, low, high, -1.0, floor, best)
    np.testing.assert_array_equal(best, [0, 0, 1])
    compiled.choose(curve, indptr, low, high, 1.0, np.full(3, 0.45), best)
    np.testing.assert_array_equal(best, [0, 0, 1])
    labels = np.zeros(5, dtype=np.int64)
    compiled.mark(np.array([2, 0, 1, 4, 3]), indptr, np.array([2, 0, 1]), labels)
    np.testing.assert_array_equal(labels, [1, 0, 1, 0, 1])
    counts, none = np.zeros(3, dtype=np.int64), np.zeros(3)
    key = np.array([0.9, 0.5, 0.4, 0.5, 0.5])
    compiled.count_and_chance(key, 1 - key, indptr, 0.5, counts, none)
    np.testing.assert_array_equal(counts, [2, 0, 2])
    np.testing.assert_allclose(none, [0.1 * 0.5 * 0.6, 1.0, 0.25])
