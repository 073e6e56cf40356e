"""Decisions on groups and on matrices equal decisions one by one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import oracle
import strategies as nasty
from argmetric import decide
from decide_checks import NAN, assert_close, assert_top_set, few, spec, tolerance


def per_group(p, ids, name, **options):
    """A loop of single decisions: labels, and {id: decision}."""
    labels, decisions = np.zeros(p.size, int), {}
    for group in dict.fromkeys(ids.tolist()):
        rows = ids == group
        decisions[group] = decide(p[rows], spec(name), **options)
        labels[rows] = decisions[group].labels
    return labels, decisions


def assert_same_groups(decision, p, ids, name, zd, **limits):
    _, singles = per_group(
        p, ids, name, zero_division=oracle.obeyed(name, zd), **limits
    )
    labels = np.asarray(decision.labels)
    assert decision.n_groups == len(singles)
    seen = {
        group: at for at, group in enumerate(np.asarray(decision.group_ids).tolist())
    }
    assert set(seen) == set(singles)
    allowances = []
    for group, single in singles.items():
        rows, at = ids == group, seen[group]
        count = decision.group_n_positives[at]
        assert labels[rows].sum() == count
        assert_top_set(labels[rows], p[rows])
        truth, scale = oracle.enumerated_curve(name, p[rows], zd)
        within = tolerance(name, max(scale[single.n_positives], scale[count]))
        allowances.append(within)
        assert_close(decision.group_expected[at], single.expected, within)
        assert_close(truth[count], single.expected, within)
        assert_close(decision.curve_of(group), truth, tolerance(name, scale))
    expected = np.mean([single.expected for single in singles.values()])
    assert_close(decision.expected, expected, max(allowances))
    assert decision.n_positives == labels.sum()
    assert decision.curve is None
    if decision.threshold is not None:
        np.testing.assert_array_equal(p >= decision.threshold, labels)


@pytest.mark.parametrize(
    "name",
    ["f1", "f2", "jaccard", "mcc", "balanced_accuracy", "gmean", "sec", "custom"],
)
@pytest.mark.parametrize("zd", [0.0, 1.0])
@few
@given(case=nasty.grouped_vectors())
def test_groups_equal_a_loop(name, zd, case):
    p, ids = case
    decision = decide(
        p,
        spec(name),
        groups=ids,
        average="groups",
        zero_division=oracle.obeyed(name, zd),
    )
    assert_same_groups(decision, p, ids, name, zd)


@pytest.mark.parametrize("name", ["f1", "jaccard", "mcc", "specificity", "qmean"])
def test_long_groups_among_short_ones(name):
    rng = np.random.default_rng(17)
    lengths = [1, 33, 2, 70, 5, 520]
    ids = rng.permutation(np.repeat(np.arange(len(lengths)), lengths))
    p = rng.beta(0.3, 1, ids.size)
    for zd in (1.0, NAN):
        # Alone, a group in which the metric is never defined is an error.
        kept = (ids > 0) | (zd == 1.0) | (name in ("f1", "jaccard", "specificity"))
        labels, singles = per_group(
            p[kept], ids[kept], name, zero_division=oracle.obeyed(name, zd)
        )
        decision = decide(
            p, name, groups=ids, average="groups", zero_division=oracle.obeyed(name, zd)
        )
        np.testing.assert_array_equal(decision.labels[kept], labels)
        for at, group in enumerate(decision.group_ids.tolist()):
            expected = singles[group].expected if group in singles else NAN
            assert decision.group_expected[at] == pytest.approx(
                expected, rel=1e-11, abs=1e-9, nan_ok=True
            )


@few
@given(case=nasty.grouped_vectors(numbers=nasty.moderate), data=st.data())
def test_groups_do_not_depend_on_the_order_of_rows(case, data):
    p, ids = case
    order = np.array(data.draw(st.permutations(range(p.size))))
    one = decide(p, "f1", groups=ids, average="groups")
    other = decide(p[order], "f1", groups=ids[order], average="groups")
    assert other.expected == pytest.approx(one.expected, rel=1e-13)
    for group in set(ids.tolist()):
        assert one.labels[ids == group].sum() == other.labels[ids[order] == group].sum()


@few
@given(case=nasty.grouped_vectors(numbers=nasty.moderate), high=st.integers(0, 3))
def test_limits_hold_in_every_group(case, high):
    p, ids = case
    decision = decide(p, "f2", groups=ids, average="groups", max_positives=high)
    assert_same_groups(decision, p, ids, "f2", 0.0, max_positives=high)
    labels, _ = per_group(p, ids, "f2", min_precision=0.5)
    floors = decide(p, "f2", groups=ids, average="groups", min_precision=0.5)
    np.testing.assert_array_equal(floors.labels, labels)
    for group in set(ids.tolist()):
        chosen = p[(ids == group) & (np.asarray(floors.labels) == 1)]
        assert chosen.size == 0 or chosen.mean() >= 0.5 - 1e-12


def test_groups_with_nan_leave_out_what_is_undefined():
    p, ids = np.array([0.3, 0.2, 0.0, 0.6]), np.array([1, 1, 2, 3])
    decision = decide(p, "recall", groups=ids, average="groups", zero_division=NAN)
    at = dict(zip(decision.group_ids.tolist(), decision.group_expected, strict=True))
    assert math.isnan(at[2])
    assert at[1] == pytest.approx(1.0)
    assert decision.expected == pytest.approx(1.0)


@few
@given(case=nasty.grouped_vectors(max_size=9))
def test_pooled_is_one_decision_over_all_rows(case):
    p, ids = case
    decision = decide(p, "f1", groups=ids, average="pooled")
    single = decide(p, "f1")
    assert decision.expected == pytest.approx(single.expected, rel=1e-12, abs=1e-300)
    assert decision.n_positives == single.n_positives
    assert_top_set(decision.labels, p)


# -------------------------------------------------------------- multi-label


def dense(labels):
    return labels.toarray() if sparse.issparse(labels) else np.asarray(labels)


@pytest.mark.parametrize("name", ["f1", "jaccard", "accuracy", "mcc"])
@pytest.mark.parametrize("zd", [0.0, 1.0])
@few
@given(matrix=nasty.probability_matrices())
def test_samples_macro_and_micro_equal_loops(name, zd, matrix):
    for layout in (np.asarray, sparse.csr_array):
        given_matrix = layout(matrix)
        for average, lines in (("samples", matrix), ("macro", matrix.T)):
            decision = decide(
                given_matrix,
                name,
                average=average,
                zero_division=oracle.obeyed(name, zd),
            )
            labels = dense(decision.labels)
            assert labels.shape == matrix.shape
            assert sparse.issparse(decision.labels) == sparse.issparse(given_matrix)
            chosen = labels if average == "samples" else labels.T
            singles = [
                decide(line, name, zero_division=oracle.obeyed(name, zd))
                for line in lines
            ]
            for line, said, single in zip(lines, chosen, singles, strict=True):
                assert_top_set(said, line)
                truth, scale = oracle.enumerated_curve(name, line, zd)
                within = tolerance(name, scale[single.n_positives])
                assert_close(truth[said.sum()], single.expected, within)
            mean = np.mean([single.expected for single in singles])
            assert decision.expected == pytest.approx(mean, rel=1e-11, abs=1e-15)
        micro = decide(
            given_matrix, name, average="micro", zero_division=oracle.obeyed(name, zd)
        )
        single = decide(matrix.ravel(), name, zero_division=oracle.obeyed(name, zd))
        assert micro.expected == pytest.approx(single.expected, rel=1e-11, abs=1e-15)
        assert dense(micro.labels).sum() == single.n_positives
        assert_top_set(dense(micro.labels).ravel(), matrix.ravel())


def test_sparse_rows_without_entries():
    matrix = sparse.csr_array(np.array([[0.0, 0.0], [0.9, 0.0]]))
    decision = decide(matrix, "f1", average="samples", zero_division=1.0)
    assert dense(decision.labels).tolist() == [[0, 0], [1, 0]]
    f1_of_empty_row = 1.0
    assert decision.expected == pytest.approx((f1_of_empty_row + 0.9) / 2, rel=1e-13)


# ------------------------------------------------- bugs of peers, not ours


def test_a_note_on_empty_rows_of_a_matrix_is_on_rows():
    (note,) = decide(np.full((4, 2), 0.1), average="samples").notes
    assert note.startswith("81% of the rows are expected to have no positive")
