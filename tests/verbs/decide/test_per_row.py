"""per_row=k for a matrix: exactly k labels in every row, for a mean over labels."""

from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse as sp

import argmetric as am
import oracle
from argmetric.metrics import get_metric

METRICS = (
    *("f1", "f2", "jaccard", "precision", "recall", "accuracy"),
    *("balanced_accuracy", "mcc", "gmean", "specificity", "youden"),
)
PLAIN = [m for m in METRICS if m != "accuracy"]


def ascent(P, metric, count, stored=None):
    """The published loop, one row after the other, with nothing kept between steps."""
    n, m = P.shape
    stored = np.ones((n, m), dtype=bool) if stored is None else stored
    labels, before = np.zeros((n, m), dtype=int), -np.inf
    for i in range(n):  # the start: the best labels for recall
        worth = P[i] / np.maximum(P.sum(axis=0), 1e-300)
        order = sorted(np.flatnonzero(stored[i]), key=lambda j: (-worth[j], j))
        labels[i, order[:count]] = 1
    for _ in range(100):
        for i in range(n):
            labels[i] = 0
            gains = []
            for j in np.flatnonzero(stored[i]):
                others, t = labels[:, j] @ P[:, j], P[:, j].sum()
                k, value = labels[:, j].sum(), get_metric(metric).value
                gain = value(others + P[i, j], k + 1, t, n) - value(others, k, t, n)
                gains.append((-round(float(gain), 13), j))
            for _, j in sorted(gains)[:count]:
                labels[i, j] = 1
        counts = (labels * P).sum(axis=0), labels.sum(axis=0), P.sum(axis=0)
        now = float(get_metric(metric).value(*counts, n).mean())
        if now - before < 1e-7:
            break
        before = now
    return labels


def assert_no_worse(P, found, metric, count, stored=None):
    """At least the published loop, and no row has better labels by itself."""

    def expected(labels):
        return am.forecast(P, labels, metric, average="macro").mean

    assert found.expected > expected(ascent(P, metric, count, stored)) - 1e-11
    labels = found.labels.toarray() if sp.issparse(found.labels) else found.labels
    stored = np.ones(P.shape, dtype=bool) if stored is None else stored
    for i in range(len(P)):
        entries = np.flatnonzero(stored[i])
        assert labels[i].sum() == labels[i, entries].sum() == min(count, entries.size)
    for i in range(0, len(P), 4):
        entries = np.flatnonzero(stored[i])
        for other in combinations(entries, min(count, entries.size)):
            changed = labels.copy()
            changed[i] = 0
            changed[i, list(other)] = 1
            assert expected(changed) < found.expected + 1e-10


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("metric", METRICS)
def test_labels_are_no_worse_than_those_of_the_published_loop(metric, count):
    P = np.random.default_rng(1).random((9, 6)) ** 2
    found = am.decide(P, metric, average="macro", per_row=count)
    assert_no_worse(P, found, metric, count)


@pytest.mark.parametrize("metric", PLAIN)
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_sparse_labels_are_no_worse_either(kind, metric):
    rng = np.random.default_rng(7)
    P = rng.random((12, 8)) ** 2
    P[rng.random(P.shape) < 0.4] = 0.0
    P[3] = 0.0
    found = am.decide(kind(P), metric, average="macro", per_row=2)
    assert type(found.labels) is kind
    assert_no_worse(P, found, metric, 2, stored=P > 0)


def test_more_labels_than_a_row_keeps_in_mind():
    """Sparse and dense labels are the same where all cells are stored."""
    P = np.random.default_rng(8).random((140, 60)) ** 3
    for metric in ("f1", "jaccard", "recall"):
        dense = am.decide(P, metric, average="macro", per_row=1).labels
        sparse = am.decide(sp.csr_array(P), metric, average="macro", per_row=1).labels
        np.testing.assert_array_equal(sparse.toarray(), dense)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shape", [(3, 2), (4, 2), (1, 5), (40, 6), (600, 3)])
def test_the_expected_score_is_that_of_the_exact_distribution(metric, shape):
    P = np.random.default_rng(1).random(shape) ** 2
    found = am.decide(P, metric, average="macro", per_row=1)
    for j, expected in enumerate(found.group_expected):
        forecast = am.forecast(P[:, j], found.labels[:, j], metric)
        assert expected == pytest.approx(forecast.mean, abs=1e-11)
    assert found.expected == pytest.approx(found.group_expected.mean(), abs=1e-15)
    assert found.group_n_positives.tolist() == found.labels.sum(axis=0).tolist()
    assert found.n_positives == shape[0]
    if shape[0] <= 4:  # all outcomes of the truth
        total = 0.0
        for y in product((0, 1), repeat=P.size):
            truth = np.reshape(y, shape)
            probability = np.where(truth, P, 1 - P).prod()
            hits, t = (truth * found.labels).sum(axis=0), truth.sum(axis=0)
            k = found.labels.sum(axis=0)
            total += probability * get_metric(metric).value(hits, k, t, len(P)).mean()
        assert found.expected == pytest.approx(total, abs=1e-12)


def column_values(p, metric):
    """Expected metric of all sets of rows of one column, over all outcomes."""
    sets = np.array(list(product((0, 1), repeat=p.size)))
    probability, size = np.where(sets, p, 1 - p).prod(axis=1), sets.sum(axis=1)
    return metric.value(sets @ sets.T, size[:, None], size, p.size) @ probability


def expected_of(values, labels):
    """Mean over columns of `column_values` at these labels."""
    codes = 2 ** np.arange(len(labels))[::-1] @ labels
    return float(values[np.arange(len(values)), codes].mean())


def best_of_all(values, n, count):
    """The highest expected score of all answers."""
    m = len(values)
    rows = np.array(
        [np.bincount(c, minlength=m) for c in combinations(range(m), count)]
    )
    answers = rows[np.array(list(product(range(len(rows)), repeat=n)))]
    codes = (answers * (2 ** np.arange(n)[::-1])[:, None]).sum(axis=1)
    return float(values[np.arange(m), codes].mean(axis=1).max())


def most_probable(P, count, stored=None):
    """The simple rule: the largest p of every row."""
    labels = np.zeros(P.shape, dtype=int)
    order = np.argsort(-P, axis=1, kind="stable")[:, :count]
    np.put_along_axis(labels, order, 1, axis=1)
    return labels if stored is None else labels * stored


SHAPES = ((3, 3), (3, 4), (4, 3), (5, 3))


@pytest.mark.parametrize("zero", [0.0, 1.0])
@pytest.mark.parametrize("metric", [*METRICS, am.Tversky(0.3, 0.7)], ids=str)
def test_tiny_matrices_get_the_best_expected_score_of_all_answers(metric, zero):
    metric = get_metric(metric).with_zero_division(zero)
    rng = np.random.default_rng(11)
    for case in range(16):
        n, m = SHAPES[case % 4]
        P, count = rng.random((n, m)) ** rng.choice([0.5, 1, 2, 4]), 1 + case // 8
        values = np.array([column_values(p, metric) for p in P.T])
        found = am.decide(P, metric, average="macro", per_row=count)
        assert found.expected == pytest.approx(
            expected_of(values, found.labels), abs=1e-11
        )
        best = best_of_all(values, n, count)
        assert found.expected == pytest.approx(best, abs=1e-11)
        assert found.expected > expected_of(values, most_probable(P, count)) - 1e-11


@pytest.mark.parametrize("metric", ["f1", "jaccard"])
def test_the_best_answer_of_a_tiny_matrix_may_take_other_labels_to_start_from(metric):
    metric, rng = get_metric(metric).with_zero_division(1.0), np.random.default_rng(8)
    P = rng.random((5, 3)) ** rng.choice([0.5, 1, 2, 4])
    best = best_of_all(np.array([column_values(p, metric) for p in P.T]), 5, 1)
    found = am.decide(P, metric, average="macro", per_row=1)
    assert found.expected == pytest.approx(best, abs=1e-11)


def test_recall_takes_the_likely_label():
    found = am.decide([[0.04, 0.001, 0.205]], "recall", average="macro", per_row=1)
    assert found.labels.tolist() == [[0, 0, 1]]
    assert found.expected == pytest.approx(0.205 / 3, abs=1e-12)
    assert found.gap == 0.0


@pytest.mark.parametrize("zero", [0.0, 1.0])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shape", [(15, 4), (100, 4), (101, 4), (300, 40)])
def test_no_answer_is_below_the_simple_rules(metric, zero, shape):
    """Both sides of the switch by size, dense and sparse, rare and frequent labels."""
    rng = np.random.default_rng(sum(shape))
    options = {"average": "macro", "zero_division": oracle.obeyed(metric, zero)}
    for power, count in ((2, 1), (12, 2)):
        P = rng.random(shape) ** power
        P[rng.random(shape) < 0.3] = 0.0
        stored = P > 0
        labels = am.decide(P, metric, per_row=count, **options)
        sparse = am.decide(sp.csr_array(P), metric, per_row=count, **options)
        for found, mask in ((labels, None), (sparse, stored)):
            simple = most_probable(P, count, mask)
            expected = am.forecast(P, simple, metric, **options).mean
            assert found.expected > expected - 1e-9
            plain = (
                np.asarray(ascent(P, metric, count, mask)) if shape[0] < 20 else simple
            )
            assert found.expected > am.forecast(P, plain, metric, **options).mean - 1e-9


@pytest.mark.parametrize("metric", ["recall", "specificity", "balanced_accuracy"])
@pytest.mark.parametrize("shape", [(12, 5), (400, 3), (3000, 2)])
def test_gains_of_rows_are_those_of_single_changes(metric, shape):
    """No row has better labels: gains do not depend on the other rows."""
    rng = np.random.default_rng(3)
    P = rng.random(shape) ** rng.choice([0.3, 1, 4, 30], shape[1])
    P[0], P[1] = 0.0, 1.0
    found = am.decide(P, metric, average="macro", per_row=1)
    for i in (0, 1, 2, 3, shape[0] - 1):
        for j in range(shape[1]):
            labels = found.labels.copy()
            labels[i], labels[i, j] = 0, 1
            other = am.forecast(P, labels, metric, average="macro").mean
            assert other < found.expected + 1e-10


@pytest.mark.parametrize("zero", [0.0, 1.0])
@pytest.mark.parametrize("metric", METRICS)
def test_extreme_probabilities(metric, zero):
    tiny, one, zero = 5e-324, 1 - 1e-16, oracle.obeyed(metric, zero)
    for P in (
        [[tiny, tiny], [tiny, tiny]],
        [[tiny, 0.5, 0.0], [one, 1.0, 1e-300], [0.5, tiny, one]],
        [[0.5], [0.5]],
        [[0.25, 0.25, 0.25]],
        np.full((4, 3), 0.3),
        np.full((120, 3), tiny),
        np.full((150, 3), 0.5),
    ):
        for count in (1, np.shape(P)[1]):
            found = am.decide(
                P, metric, average="macro", per_row=count, zero_division=zero
            )
            assert (np.asarray(found.labels).sum(axis=1) == count).all()
            assert np.isfinite(found.group_expected).all()


def test_ties_go_to_the_first_labels():
    P = np.full((1, 5), 0.25)
    assert am.decide(P, average="macro", per_row=2).labels.tolist() == [[1, 1, 0, 0, 0]]
    P = np.full((5, 5), 0.5)  # a label that a row has is worth less to the next row
    labels = am.decide(P, average="macro", per_row=1).labels
    assert (labels.sum(axis=0) == 1).all()
    P = np.array([[0.2, 0.7, 0.7, 0.7]])
    labels = am.decide(P, "accuracy", average="macro", per_row=2).labels
    assert labels.tolist() == [[0, 1, 1, 0]]


@pytest.mark.parametrize("metric", METRICS)
def test_no_labels_and_all_labels(metric):
    P = np.random.default_rng(2).random((5, 3))
    none = am.decide(P, metric, average="macro", per_row=0)
    assert none.n_positives == 0
    every = am.decide(P, metric, average="macro", per_row=3)
    assert every.n_positives == 15
    for found in (none, every):
        assert found.expected == pytest.approx(found.forecast().mean, abs=1e-12)


@pytest.mark.filterwarnings("ignore:p has .* values, all of them 0 or 1")
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("zero", [0.0, 1.0])
def test_certain_labels(metric, zero):
    options = {"average": "macro", "per_row": 1}
    options["zero_division"] = oracle.obeyed(metric, zero)
    for seed in range(5):
        P = np.random.default_rng(seed).integers(0, 2, (5, 4)).astype(float)
        found = am.decide(P, metric, **options)
        assert np.isfinite(found.group_expected).all()
        counts = (found.labels * P).sum(axis=0), found.labels.sum(axis=0), P.sum(axis=0)
        told = get_metric(metric).with_zero_division(zero).value(*counts, 5).mean()
        assert found.expected == pytest.approx(told, abs=1e-12)
        assert (found.labels.sum(axis=1) == 1).all()
    for one in (0.0, 1.0):
        labels = am.decide(np.full((3, 2), one), metric, **options).labels
        assert (labels.sum(axis=1) == 1).all()


def test_rows_with_fewer_stored_values_than_labels():
    P = sp.csr_array(np.array([[0.9, 0.5, 0.4], [0.0, 0.6, 0.0], [0.0, 0.0, 0.0]]))
    found = am.decide(P, average="macro", per_row=2)
    assert found.labels.toarray().tolist() == [[1, 0, 1], [0, 1, 0], [0, 0, 0]]
    (note,) = found.notes
    assert note.startswith(
        "2 of 3 rows store fewer than 2 values, as row 1 with 1: all of these are"
    )
    assert found.forecast().mean == pytest.approx(found.expected, abs=1e-12)
    stored = P.toarray()
    stored[2, 0] = stored[2, 1] = stored[1, 0] = 1e-300
    stored = sp.csr_array(stored)
    assert am.decide(stored, average="macro", per_row=2).notes == ()


def test_a_map_and_log_odds_come_first():
    rng = np.random.default_rng(3)
    P = rng.random((30, 5))
    options = {"average": "macro", "per_row": 2}
    odds = am.decide(np.log(P / (1 - P)), logits=True, **options)
    np.testing.assert_array_equal(odds.labels, am.decide(P, **options).labels)
    y, p = rng.random(400) < 0.3, rng.random(400)
    found = am.decide(P, reference=(y, p), **options)
    assert (found.labels.sum(axis=1) == 2).all()
    assert found.scale == "calibrated p"
    short = P.astype(np.float32)  # other kinds of numbers, and other orders in memory
    twin = am.decide(short.astype(float), **options).labels
    for same in (short, short.tolist(), np.asfortranarray(short)):
        np.testing.assert_array_equal(am.decide(same, **options).labels, twin)
    turned, plain = (am.decide(x, **options) for x in (np.asfortranarray(P), P))
    np.testing.assert_array_equal(turned.labels, plain.labels)


def test_a_frame_and_the_rest_of_the_result():
    pd = pytest.importorskip("pandas")
    P = np.random.default_rng(4).random((6, 3))
    found = am.decide(pd.DataFrame(P, columns=list("abc")), average="macro", per_row=1)
    assert found.group_ids.tolist() == ["a", "b", "c"]
    free = am.decide(P, average="macro")
    assert found.cut_half == free.cut_half
    assert found.best_cut == free.best_cut
    np.testing.assert_array_equal(found.curve_of("b"), free.curve_of(1))
    assert found.plan == "few rows: ascent in the expected score"
    assert np.isnan(found.gap)
    assert "expected F1" in repr(found)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"per_row": 4},
            ValueError,
            "per_row=4 is more than the 3 labels of a row",
        ),
        ({"per_row": -1}, ValueError, "per_row must be a whole number ≥ 0, not -1"),
        ({"per_row": 1.5}, ValueError, "per_row must be a whole number ≥ 0"),
        ({"per_row": True}, TypeError, "per_row must be a whole number ≥ 0, not True"),
        (
            {"average": "samples"},
            ValueError,
            "a matrix and average='macro', not 'samples'",
        ),
        ({"average": "micro"}, ValueError, "and average='macro', not 'micro'"),
        ({"budget": ([1, 1], 2)}, ValueError, "per_row does not go with budget"),
        ({"max_positives": 2}, ValueError, "does not go with budget, min_posit"),
        ({"min_precision": 0.5}, ValueError, "does not go with budget"),
        ({"min_positives": 1}, ValueError, "does not go with budget"),
        ({"zero_division": float("nan")}, ValueError, "needs zero_division=0 or 1"),
        ({"metric": "kappa"}, ValueError, "is not made for kappa: it knows F-beta"),
        ({"p": [0.5, 0.4], "average": None}, ValueError, "and p is a vector"),
        (
            {"p": [0.5, 0.4], "average": None, "groups": [0, 1]},
            ValueError,
            "goes with a matrix and average='macro'",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(options, error, message):
    given = {"p": np.full((2, 3), 0.4), "average": "macro", "per_row": 1} | options
    with pytest.raises(error, match=message):
        am.decide(**given)
