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
    *("balanced_accuracy", "mcc", "gmean"),
)
PLAIN = [m for m in METRICS if m != "accuracy"]


def objective(P, labels, metric):
    """The mean over labels of the metric at the expected counts."""
    tp, k, t = (labels * P).sum(axis=0), labels.sum(axis=0), P.sum(axis=0)
    return float(get_metric(metric).value(tp, k, t, len(P)).mean())


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
        now = objective(P, labels, metric)
        if now - before < 1e-7:
            break
        before = now
    return labels


def assert_no_worse(P, labels, metric, count, stored=None):
    """At least the published loop, and no row has better labels by itself."""
    value = objective(P, labels, metric)
    twin = ascent(P, metric, count, stored)
    assert value > objective(P, twin, metric) - 1e-12
    stored = np.ones(P.shape, dtype=bool) if stored is None else stored
    for i in range(len(P)):
        entries = np.flatnonzero(stored[i])
        assert labels[i].sum() == labels[i, entries].sum() == min(count, entries.size)
        for other in combinations(entries, min(count, entries.size)):
            changed = labels.copy()
            changed[i] = 0
            changed[i, list(other)] = 1
            assert objective(P, changed, metric) < value + 1e-12


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("metric", METRICS)
def test_labels_are_no_worse_than_those_of_the_published_loop(metric, count):
    for seed in range(2):
        P = np.random.default_rng(seed).random((9, 6)) ** 2
        labels = am.decide(P, metric, average="macro", per_row=count).labels
        assert_no_worse(P, labels, metric, count)


@pytest.mark.parametrize("metric", PLAIN)
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_sparse_labels_are_no_worse_either(kind, metric):
    rng = np.random.default_rng(7)
    P = rng.random((12, 8)) ** 2
    P[rng.random(P.shape) < 0.4] = 0.0
    P[3] = 0.0
    labels = am.decide(kind(P), metric, average="macro", per_row=2).labels
    assert type(labels) is kind
    assert_no_worse(P, labels.toarray(), metric, 2, stored=P > 0)


def test_more_labels_than_a_row_keeps_in_mind():
    """All entries are looked at again after the likely ones."""
    P = np.random.default_rng(8).random((40, 60)) ** 3
    for metric in ("f1", "jaccard"):
        dense = am.decide(P, metric, average="macro", per_row=1).labels
        assert_no_worse(P, dense, metric, 1)
        sparse = am.decide(sp.csr_array(P), metric, average="macro", per_row=1).labels
        np.testing.assert_array_equal(sparse.toarray(), dense)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shape", [(3, 2), (4, 2), (1, 5), (40, 6), (600, 3)])
def test_the_expected_score_is_that_of_the_exact_law(metric, shape):
    P = np.random.default_rng(1).random(shape) ** 2
    found = am.decide(P, metric, average="macro", per_row=1)
    for j, expected in enumerate(found.group_expected):
        law = am.forecast(P[:, j], found.labels[:, j], metric)
        assert expected == pytest.approx(law.mean, abs=1e-11)
    assert found.expected == pytest.approx(found.group_expected.mean(), abs=1e-15)
    assert found.group_n_positives.tolist() == found.labels.sum(axis=0).tolist()
    assert found.n_positives == shape[0]
    if shape[0] <= 4:  # all outcomes of the truth
        total = 0.0
        for y in product((0, 1), repeat=P.size):
            truth = np.reshape(y, shape)
            chance = np.where(truth, P, 1 - P).prod()
            hits, t = (truth * found.labels).sum(axis=0), truth.sum(axis=0)
            k = found.labels.sum(axis=0)
            total += chance * get_metric(metric).value(hits, k, t, len(P)).mean()
        assert found.expected == pytest.approx(total, abs=1e-12)


def best_of_all(P, metric, count):
    """The highest objective of all answers."""
    rows = [np.bincount(c, minlength=4) for c in combinations(range(4), count)]
    return max(
        objective(P, np.array(answer), metric) for answer in product(rows, repeat=3)
    )


@pytest.mark.parametrize("count", [1, 2])
def test_most_tiny_matrices_get_the_best_of_all_answers(count):
    gaps = []
    for seed in range(40):
        P = np.random.default_rng(seed).random((3, 4))
        found = am.decide(P, "f1", average="macro", per_row=count)
        gaps.append(best_of_all(P, "f1", count) - objective(P, found.labels, "f1"))
    assert min(gaps) > -1e-12
    assert np.mean(np.array(gaps) < 1e-12) >= 0.95


@pytest.mark.parametrize("metric", ["recall", "accuracy", "balanced_accuracy"])
def test_rows_that_do_not_depend_on_each_other_get_the_best_labels(metric):
    for seed in range(10):
        P = np.random.default_rng(seed).random((3, 4))
        found = am.decide(P, metric, average="macro", per_row=2)
        best = best_of_all(P, metric, 2)
        assert objective(P, found.labels, metric) == pytest.approx(best, abs=1e-12)


def test_ties_go_to_the_first_labels():
    P = np.full((1, 5), 0.25)
    assert am.decide(P, average="macro", per_row=2).labels.tolist() == [[1, 1, 0, 0, 0]]
    P = np.full((5, 5), 0.5)  # a label that a row has is worth less to the next row
    labels = am.decide(P, average="macro", per_row=1).labels
    np.testing.assert_array_equal(labels, np.roll(np.eye(5), 1, axis=1))
    np.testing.assert_array_equal(labels, ascent(P, "f1", 1))
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
        told = objective(P, found.labels, get_metric(metric).with_zero_division(zero))
        assert found.expected == pytest.approx(told, abs=1e-12)
        assert (found.labels.sum(axis=1) == 1).all()
    for one in (0.0, 1.0):
        labels = am.decide(np.full((3, 2), one), metric, **options).labels
        assert (labels.sum(axis=1) == 1).all()


def test_one_row_and_none():
    found = am.decide([[0.2, 0.9, 0.4]], "recall", average="macro", per_row=2)
    assert found.labels.sum() == 2
    with pytest.raises(ValueError, match="p is empty"):
        am.decide(np.empty((0, 3)), average="macro", per_row=1)


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
    assert found.plan.endswith("block-coordinate ascent over rows")
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
