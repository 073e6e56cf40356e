"""One class per row: against all labels, all truths and the bound."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import argmetric as am
from argmetric.metrics import get_class_metric
from class_oracle import best_by_enumeration, few_rows
from refusing import refuses

CONVENTIONS = (0.0, 1.0, math.nan)


@pytest.mark.parametrize("absent", [0.0, 1.0])
def test_the_best_of_all_labels_is_found(absent):
    score = get_class_metric("f1", zero_division=absent, n_classes=3).score
    for seed in range(12):
        p = few_rows(seed, n=3)
        d = am.classes.decide(p, "f1", zero_division=absent)
        assert d.expected == pytest.approx(best_by_enumeration(p, score), abs=1e-6)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    count=st.integers(2, 6),
    name=st.sampled_from(
        ["f1", "f0.5", "jaccard", "gmean", "balanced_accuracy", "mcc"]
    ),
    absent=st.sampled_from(CONVENTIONS),
)
def test_decisions_are_no_worse_than_the_most_probable_class(
    seed, n, count, name, absent
):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(count, 0.3), size=n)
    if seed % 3 == 0:  # certain rows, ties and a class that no row can have
        p = np.eye(count)[rng.integers(0, max(count - 1, 1), n)]
    how = {"zero_division": absent} if name in ("f1", "f0.5", "jaccard") else {}
    d = am.classes.decide(p, name, certificate=True, **how)
    assert d.expected >= d.most_probable - 1e-9
    assert d.counts.sum() == n
    if not math.isnan(d.bound):
        assert d.expected <= d.bound + 1e-9


@pytest.mark.parametrize("absent", CONVENTIONS)
@pytest.mark.parametrize("name", ["f1", "f2", "precision", "jaccard"])
def test_no_labels_pass_the_bound(name, absent):
    for seed in range(4):
        p = few_rows(seed, n=3)
        d = am.classes.decide(p, name, zero_division=absent, certificate=True)
        score = get_class_metric(name, zero_division=absent, n_classes=3).score
        assert best_by_enumeration(p, score) <= d.bound + 1e-7


@pytest.mark.parametrize(("name", "most"), [("f1", 0.01), ("jaccard", 0.02)])
def test_the_bound_is_near_on_real_sizes(name, most):
    rng = np.random.default_rng(0)
    for n in (200, 3000):
        p = rng.dirichlet(np.array([4, 2, 1, 0.5, 0.3]), size=n)
        d = am.classes.decide(p, name, zero_division=0.0, certificate=True)
        assert 0.0 <= d.gap < most


@pytest.mark.parametrize("absent", [0.0, math.nan])
@pytest.mark.parametrize("limit", [1000, 100])  # rows: exact climbs, further starts
def test_labels_on_both_sides_of_a_limit_are_as_good(limit, absent):
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.repeat([4, 2, 1, 0.5, 0.3], 2) / 2, size=limit + 1)
    p[-1] = np.eye(10)[0]  # a row that is sure changes little
    how = {"metric": "f1", "zero_division": absent}
    below, above = am.classes.decide(p[:-1], **how), am.classes.decide(p, **how)
    same = am.classes.forecast(p, np.append(below.codes, 0), **how)
    assert above.expected == pytest.approx(same.mean, abs=5e-4)
    shorter = am.classes.forecast(p[:-1], above.codes[:-1], **how)
    assert below.expected >= shorter.mean - 5e-4


def test_the_expected_score_of_many_rows_is_exact():
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.array([3, 1, 0.05]), size=1500)
    d = am.classes.decide(p, "f1", zero_division=0.0)
    below, values = np.arange(1501.0), []
    for c in range(3):
        own = d.codes == c
        # the distributions of hits and misses, row by row
        hits, others = np.ones(1), np.ones(1)
        for one in p[own, c]:
            hits = np.convolve(hits, [1 - one, one])
        for one in p[~own, c]:
            others = np.convolve(others, [1 - one, one])
        tp, fn = below[: hits.size, None], below[: others.size]
        values.append(hits @ (2 * tp / (own.sum() + tp + fn)) @ others)
    assert d.is_exact
    assert d.expected == pytest.approx(np.mean(values), abs=1e-8)


@pytest.mark.parametrize("name", ["kappa", "quadratic_kappa", "mcc"])
def test_ratios_of_counts_have_no_better_single_row(name):
    p = few_rows(2, n=12, count=4)
    d = am.classes.decide(p, name)
    metric = get_class_metric(name, n_classes=4)

    def value(codes):
        chosen = np.eye(4)[codes]
        return float(metric.score(p.T @ chosen))

    best = value(d.codes)
    assert best == pytest.approx(d.expected, abs=1e-9)
    for i in range(12):
        for c in range(4):
            moved = d.codes.copy()
            moved[i] = c
            assert value(moved) <= best + 1e-9


@pytest.mark.parametrize("name", ["f1", "gmean"])
def test_groups_are_decided_one_by_one(name):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(4), size=60)
    groups = rng.integers(0, 5, 60)
    d = am.classes.decide(p, name, groups=groups)
    alone = [am.classes.decide(p[groups == g], name) for g in d.group_ids]
    assert d.group_expected == pytest.approx([one.expected for one in alone])
    assert d.expected == pytest.approx(np.mean([one.expected for one in alone]))
    for g, one in zip(d.group_ids, alone, strict=True):
        assert (d.codes[groups == g] == one.codes).all()


def test_a_function_of_the_counts_is_climbed():
    p = few_rows(8, n=40, count=3)

    def hits(table):
        return float(np.trace(table)) / table.sum()

    d = am.classes.decide(p, hits)
    assert (d.codes == p.argmax(axis=1)).all()

    def least_recall(table):
        return float((np.diagonal(table) / np.maximum(table.sum(axis=1), 1e-9)).min())

    d = am.classes.decide(p, least_recall)
    assert d.expected > d.most_probable


def test_the_rule_labels_new_rows_nearly_as_well():
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.array([4, 2, 1, 0.5]), size=2000)
    for name in ("f1", "jaccard", "mcc", "kappa", "gmean", "balanced_accuracy"):
        d = am.classes.decide(p[:1000], name)
        whole = am.classes.decide(p[1000:], name)
        labels = d.rule.apply(p[1000:])
        mean = am.classes.forecast(p[1000:], labels, name).mean
        plain = am.classes.forecast(p[1000:], p[1000:].argmax(axis=1), name)
        best = am.classes.forecast(p[1000:], whole.codes, name).mean
        assert mean > plain.mean
        assert mean > best - 0.02


def test_frames_name_the_classes():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(few_rows(3), columns=["cat", "dog", "eel"], index=list("wxyz"))
    d = am.classes.decide(frame)
    assert list(d.labels.index) == list("wxyz")
    assert set(d.labels) <= {"cat", "dog", "eel"}
    assert list(d.to_frame()["class"]) == ["cat", "dog", "eel"]


@pytest.mark.parametrize(
    ("p", "options", "words"),
    [
        ([[0.5, 0.5]], {"classes": ["a"]}, "classes must name the 2 columns"),
        ([[0.5, 0.5]], {"max_per_class": {"c": 1}}, "names the class 'c'"),
        ([[0.5, 0.5]], {"min_recall": 1.5}, "from 0 to 1"),
        (np.empty((0, 3)), {}, "nothing to decide"),
    ],
)
def test_bad_input_is_told(p, options, words):
    refuses(ValueError, words, am.classes.decide, p, **options)


@pytest.mark.parametrize(
    ("call", "verb"),
    [
        (lambda y, p: am.decide(p, reference=(y, p)), "decide"),
        (lambda y, p: am.forecast(p, y), "forecast"),
        (lambda y, p: am.evaluate(y, y), "evaluate"),
        (lambda y, p: am.tune(y, p), "tune"),
        (lambda y, p: am.calibrate(y, p), "calibrate"),
        (lambda y, p: am.calibration_check(y, p), "check"),
    ],
)
def test_verbs_of_positives_name_the_verb_of_classes(call, verb):
    with pytest.raises(ValueError, match=rf"argmetric\.classes\.{verb}\b"):
        call(np.array(["a", "b", "c", "a"]), few_rows(0))


def test_a_matrix_of_costs_names_the_verb_of_classes():
    with pytest.raises(TypeError, match=r"argmetric\.classes\.tune\b"):
        am.tune([0, 1], [0.2, 0.9], cost=np.ones((3, 3)))


def test_a_decision_shows_itself():
    d = am.classes.decide(few_rows(0), classes=["a", "b", "c"], certificate=True)
    text = repr(d)
    assert "most probable" in text
    assert "is left out" in text
    assert "upper bound" in text
    assert d.to_dict()["classes"] == ["a", "b", "c"]
    assert d.plot().get_xlabel() == "Expected F1"
    assert d.expected_confusion.sum() == pytest.approx(4)
