"""Where a test begins: a slow twin, rows above that play no part, and exact risks."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argmetric import NotCertifiedError
from argmetric._verbs import _binomial as tests
from argmetric._verbs._certify import LabelledRows, Terms, certify
from argmetric.metrics import get_metric
from binomials import all_samples, most_errors, population, tail

RECALL = get_metric("recall")


def slow_start(rows, right, floor, delta, *, probabilities=True):
    """The number of rows to test first; rows are sorted, the best first."""
    fewest = next(k for k in range(1, 10**4) if floor**k <= delta)
    if probabilities:
        fewest = max(fewest, sum(x >= 1 for x in rows))
    for k in range(len(rows), 0, -1):
        m = min(max(k // 2, 20), 200)
        positives = sum(map(bool, right[k : k + m]))
        guess = Fraction(positives, m)
        if probabilities:
            under = Fraction(rows[k]) if k < len(rows) else Fraction(0)
            guess = (positives + 20 * under) / (m + 20)
        c = most_errors(k, 1 - floor, delta)
        in_tie = k < len(rows) and rows[k] == rows[k - 1]
        if c >= 0 and tail(k, 1 - guess, c) >= Fraction(8 if in_tie else 1, 10):
            return k
        if k <= fewest:
            return k
    raise AssertionError


def slow_chain(rows, right, start, floor, delta):
    """The lowest score that is certified; None for none."""
    if sum(not x for x in right[:start]) > most_errors(start, 1 - floor, delta):
        return None
    lowest = None
    for k in range(start, len(rows) + 1):
        if k < len(rows) and rows[k] == rows[k - 1]:
            continue  # inside of a tie
        if sum(not x for x in right[:k]) > most_errors(k, 1 - floor, delta):
            break
        lowest = rows[k - 1]
    return lowest


def drawn_rows(seed, n, digits):
    rng = np.random.default_rng(seed)
    p = np.round(rng.beta(0.5, 0.5, n), digits)
    return p, rng.random(n) < p ** rng.choice([0.5, 1.0, 2.0])


FLOORS = st.sampled_from([Fraction(1, 2), Fraction(4, 5), Fraction(9, 10)])
DELTAS = st.sampled_from([Fraction(1, 10), Fraction(1, 4)])
DIGITS = st.sampled_from([0, 1, 2, 16])
SEEDS = st.integers(0, 10**6)


@given(SEEDS, st.sampled_from([1, 2, 9, 40, 70]), DIGITS, FLOORS, DELTAS)
def test_the_climb_and_the_tests_are_the_slow_ones(seed, n, digits, floor, delta):
    p, y = drawn_rows(seed, n, digits)
    cuts = tests.rank_cuts(p, y, float(floor), float(delta))
    rows, right = cuts.rows.tolist(), cuts.right.tolist()
    assert sorted(zip(rows, right, strict=True)) == sorted(zip(p, y, strict=True))
    assert rows == sorted(rows, reverse=True)
    for probabilities in (True, False):
        start = slow_start(rows, right, floor, delta, probabilities=probabilities)
        assert tests.climbed_start(cuts, probabilities=probabilities) == start
        passed = tests.passed_chain(cuts, start)
        lowest = None if passed is None else cuts.scores[passed[1]]
        assert lowest == slow_chain(rows, right, start, floor, delta)


@given(SEEDS, st.sampled_from([5, 30, 200]), DIGITS, FLOORS, DELTAS)
def test_rows_that_are_not_read_yet_play_no_part(seed, n, digits, floor, delta):
    cuts = tests.rank_cuts(*drawn_rows(seed, n, digits), float(floor), float(delta))
    k = tests.climbed_start(cuts, probabilities=True)
    if cuts.rows[k - 1] >= 1.0:  # p >= 1 is a constant
        return
    rng = np.random.default_rng(seed)
    below = cuts.rows[k] if k < n else 0.0
    tie = np.full(k, (below + 1.0) / 2)
    for above in (np.sort(rng.uniform(below, 1.0, k))[::-1], tie):
        rows = np.r_[above, cuts.rows[k:]]
        right = np.r_[rng.random(k) < rng.random(), cuts.right[k:]]
        other = replace(cuts, rows=rows, right=right)
        assert tests.climbed_start(other, probabilities=True) == k


def test_labels_do_not_order_ties():
    p, y = drawn_rows(0, 300, 1)
    marks = np.arange(300) % 2 == 0
    orders = [
        tests.rank_cuts(p, one, 0.8, 0.1).right for one in (marks, marks & y, marks)
    ]
    assert np.array_equal(orders[0], orders[2])
    assert not (orders[1] & ~orders[0]).any()
    # the prevalence in the first half of each tie is that of the tie
    shares = []
    for seed in range(40):
        rows, labels = drawn_rows(seed, 300, 0)
        cuts = tests.rank_cuts(np.sort(rows)[::-1], labels, 0.8, 0.1)
        half = cuts.k[0] // 2
        shares.append(cuts.right[:half].mean() - cuts.right[: cuts.k[0]].mean())
    assert abs(np.mean(shares)) < 0.02


def certified(p, y, floor, delta, unlabelled=None):
    """The lowest certified threshold; infinite for none."""
    floor, rows = float(floor), LabelledRows(p, y, True, unlabelled)
    terms = Terms({"min_precision": floor}, {"min_precision": ""}, 1 - float(delta))
    try:
        return certify(rows, terms, RECALL).promises[0].interval.low
    except NotCertifiedError:
        return math.inf


# Mass of each score and its probability of a positive, from the lowest score up
POPULATIONS = {
    "at the floor": [(1, "1/5"), (1, "2/5"), (2, "1/2")],
    "just below": [(1, "0"), (2, "12/25"), (1, "12/25")],
    "half above": [(2, "1/4"), (1, "2/5"), (1, "7/10")],
    "mostly below": [(1, "1/10"), (6, "9/20"), (1, "3/5")],
    "two scores": [(1, "9/20"), (1, "49/100"), (0, "0")],
}


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("scores", [(0.2, 0.5, 0.9), (0.8, 0.9, 1.0)])
def test_the_risk_of_all_draws_is_within_what_is_promised(name, scores):
    """All draws of 7 rows with their exact probabilities, a floor of 1/2."""
    floor, delta, kinds = Fraction(1, 2), Fraction(1, 4), POPULATIONS[name]
    above = [kinds[i:] for i in range(3)]
    precision = {
        score: sum(m * Fraction(p) for m, p in rest) / max(sum(m for m, _ in rest), 1)
        for score, rest in zip(scores, above, strict=True)
    }
    broken = everything = Fraction(0)
    for p, y, probability in all_samples(population(scores, kinds), 7):
        everything += probability
        if not probability:
            continue
        low = certified(p, y, floor, delta)
        if low < math.inf and precision[low] < floor:
            broken += probability
    assert everything == 1
    assert broken <= delta


CURVES = {
    "calibrated": lambda p: p,
    "underconfident": lambda p: p**3 / (p**3 + (1 - p) ** 3),
    "overconfident": lambda p: 0.95 * p**2,
    "flat at the floor": lambda p: np.minimum(0.8, 1.2 * p),
    "wavy": lambda p: np.clip(p + 0.1 * np.sin(40 * p), 0, 1),
}
COARSE = {
    "fine": lambda p: p,
    "tenths": lambda p: np.round(p, 1),
    "quarters": lambda p: np.floor(4 * p) / 4,
    "a tie at 1": lambda p: np.where(p > 0.7, 1.0, p),
}
GRID = (np.arange(8000) + 0.5) / 8000


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("coarse", COARSE)
def test_drawn_rows_break_the_floor_rarely(name, coarse):
    curve, rounded, draws, delta = CURVES[name], COARSE[coarse], 100, 0.1
    rng = np.random.default_rng(len(name))
    broken = 0
    for _ in range(draws):
        latent = rng.random(300)
        y = rng.random(300) < curve(latent)
        low = certified(rounded(latent), y, 0.8, delta)
        chosen = rounded(GRID) >= low
        broken += bool(chosen.any() and curve(GRID[chosen]).mean() < 0.8 - 1e-9)
    assert broken / draws <= delta + 2 * math.sqrt(delta * (1 - delta) / draws)


def test_underconfident_scores_keep_most_of_the_recall():
    curve, floor = CURVES["underconfident"], 0.9
    above = np.cumsum(curve(GRID)[::-1]) / np.arange(1, GRID.size + 1)
    best = np.cumsum(curve(GRID)[::-1])[above >= floor].max()
    rng = np.random.default_rng(0)
    kept = []
    for _ in range(40):
        p = rng.random(3000)
        low = certified(p, rng.random(3000) < curve(p), floor, 0.1)
        kept.append(curve(GRID[low <= GRID]).sum() / best)
    assert np.mean(kept) > 0.9


@pytest.mark.parametrize("digits", [16, 1])
def test_an_independent_start_needs_no_shape_of_the_precision(digits):
    """Precision crosses the floor many times, with and without ties."""

    def curve(p):
        return np.clip(0.75 + 0.2 * np.sin(25 * p), 0, 1)

    def rounded(p):
        return np.round(p, digits)

    rng, broken, draws, delta = np.random.default_rng(3), 0, 150, 0.1
    for _ in range(draws):
        latent, other = rng.random(200), rng.random(200)
        y = rng.random(200) < curve(latent)
        low = certified(rounded(latent), y, 0.8, delta, rounded(other))
        chosen = rounded(GRID) >= low
        broken += bool(chosen.any() and curve(GRID[chosen]).mean() < 0.8 - 1e-9)
    assert broken / draws <= delta + 2 * math.sqrt(delta * (1 - delta) / draws)


def test_an_independent_start_above_all_rows_proves_nothing():
    rows = LabelledRows(
        np.full(50, 0.4), np.ones(50, dtype=bool), True, np.full(9, 0.9)
    )
    terms = Terms({"min_precision": 0.5}, {"min_precision": "min_precision=0.5"}, 0.9)
    with pytest.raises(NotCertifiedError, match="none scores as high") as caught:
        certify(rows, terms, RECALL)
    assert caught.value.nearest is None


@given(st.floats(1e-9, 1 - 1e-9), st.floats(1e-9, 0.6))
def test_the_fewest_rows_are_the_fewest_that_pass(floor, delta):
    k = tests.fewest_rows(floor, delta)
    assert tests.allowed_errors(k, floor, delta) >= 0
    assert k == 1 or tests.allowed_errors(k - 1, floor, delta) < 0
    assert tests.fewest_rows(1.0, delta) is None
