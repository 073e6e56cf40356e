"""Promises at another prevalence, and of rows of one class, on every surface."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import argmetric as am
from binomials import tail

RNG = np.random.default_rng(0)
P = RNG.beta(0.5, 0.5, 2000)
Y = (RNG.random(2000) < P).astype(int)
QUICK = {"n_bootstrap": 0, "cv": None}
WHERE = (
    "if 30 % of new rows are positive and each class comes from the same population "
    "as in these 2,000 rows"
)


@pytest.fixture(scope="module")
def moved():
    return am.tune(Y, P, min_precision=0.8, prior=0.3, confidence=0.9, **QUICK)


def test_the_sentence_names_the_prevalence_that_it_is_for(moved):
    cut = f"p ≥ {moved.threshold:.4g}"
    assert moved.guarantee.sentence == (
        f"with 90 % confidence at least 80 % of the rows selected by {cut} are "
        f"positive, {WHERE}"
    )
    assert moved.guarantee.assumptions[0] == WHERE.removeprefix("if ")


def test_every_surface_names_the_prevalence(moved, tmp_path):
    moved.save(tmp_path / "rule.json")
    loaded = am.Rule.load(tmp_path / "rule.json")
    assert loaded == moved
    texts = [
        *(repr(moved), repr(moved.guarantee), repr(loaded), moved._repr_html_()),
        *(moved.to_python(), json.dumps(moved.to_dict(), ensure_ascii=False)),
        *(am.report(moved).render(form) for form in ("md", "html")),
        *(moved.to_sql(name) for name in ("duckdb", "postgres", "sqlite", "spark")),
    ]
    for text in texts:
        assert "30 % of new rows are positive" in text
        assert "new rows come from the same population" not in text
    assert moved.to_dict()["guarantee"]["prior"] == 0.3
    assert ("limits", "min_precision=0.8 at 30 % positives") in moved.lines()
    names = [x.get_text() for x in moved.guarantee.plot().get_yticklabels()]
    assert names == ["min_precision=0.8 at 30 % positives"]
    labels = moved.plot().get_legend_handles_labels()[1]
    assert "certified at 30 % positives" in labels


def test_rules_of_several_labels_promise_in_one_sentence(tmp_path):
    both, options = np.stack([P, P[::-1]], axis=1), {"prior": 0.3, "confidence": 0.9}
    y = np.stack([Y, Y[::-1]], axis=1)
    rule = am.tune(y, both, min_precision=0.8, **options, **QUICK)
    said = (
        "with 90 % confidence for all 2 labels at once at least 80 % of the rows "
        f"selected by the threshold of each label are positive, {WHERE}"
    )
    rule.save(tmp_path / "rule.json")
    assert ("guarantee", said) in am.Rule.load(tmp_path / "rule.json").lines()
    assert said in rule.to_python()
    for name in ("duckdb", "postgres", "sqlite", "spark"):
        assert rule.to_sql(name).endswith(f"/* {said} */")
    floors = am.tune(y, both[:, [0, 1]], "f1", confidence=0.9, **QUICK)
    lowest = min(one.guarantee.promises[0].bound for one in floors.rules)
    said = f"f1 of the threshold of each label is at least {lowest:.3g}, if new rows"
    assert f"with 90 % confidence for all 2 labels at once {said}" in repr(floors)


def test_rules_with_promises_of_their_own_tell_each(moved):
    other = am.tune(Y, P, min_recall=0.7, confidence=0.9, **QUICK)
    none = am.Rule("f1", 0.5)
    told = dict(am.MultiLabelRule((moved, other, none), ("a", "b", "c")).lines())
    of_a, of_b = moved.guarantee.sentence, other.guarantee.sentence
    assert told["guarantee"] == f"a: {of_a}; b: {of_b}"
    told = dict(am.MultiLabelRule((moved, none, moved), ("a", "b", "c")).lines())
    said = "with 80 % confidence for a, c at once at least 80 % of the rows"
    assert told["guarantee"].startswith(said)
    assert "guarantee" not in dict(am.MultiLabelRule((none,), ("c",)).lines())


def test_a_decision_names_the_prevalence():
    options = {"min_precision": 0.8, "confidence": 0.9, "prior": 0.3}
    found = am.decide(P[:500], reference=(Y, P), **options)
    assert WHERE in found.guarantee.sentence
    assert WHERE in " ".join(repr(found).split())
    assert "30 % of new rows are positive" in am.report(found).render("md")


def test_a_model_file_names_the_prevalence(moved):
    pytest.importorskip("onnx")
    assert moved.to_onnx().doc_string == moved.guarantee.sentence


def test_the_floor_holds_at_the_prevalence_and_not_on_its_own_rows():
    """Of draws at 20 % positives, the floor is broken where they have 5 %."""
    rng = np.random.default_rng(1)
    grid = (np.arange(4000) + 0.5) / 4000
    positive, negative = grid**2, (1 - grid) ** 2  # densities of both classes
    broken, found, draws = 0, 0, 120
    for _ in range(draws):
        y = rng.random(500) < 0.2
        p = np.where(y, rng.random(500) ** (1 / 3), 1 - rng.random(500) ** (1 / 3))
        try:
            low = (
                am.tune(y, p, min_precision=0.3, prior=0.05, confidence=0.9, **QUICK)
                .guarantee.promises[0]
                .interval.low
            )
        except am.NotCertifiedError:
            continue
        found += 1
        hits, alarms = positive[grid >= low].sum(), negative[grid >= low].sum()
        broken += 0.05 * hits < 0.3 * (0.05 * hits + 0.95 * alarms)
    assert found > draws / 2
    assert broken / draws <= 0.1 + 2 * math.sqrt(0.1 * 0.9 / draws)


def odds(share):
    return share / (1 - share)


@pytest.mark.parametrize("name", ["min_precision", "min_npv"])
@pytest.mark.parametrize("prior", [0.1, 0.9])
def test_the_next_rows_are_drawn_at_the_new_prevalence(name, prior):
    """At the new prevalence the next rows keep the floor, with the tested odds."""
    options = {name: 0.7, "prior": prior, "new_rows": 50, "confidence": 0.9}
    try:
        tested = am.tune(Y, P, **options, **QUICK).guarantee.promises[0].tested
    except am.NotCertifiedError:
        pytest.fail("2,000 rows prove it")
    ratio = odds(prior) / odds(Y.mean())
    moved = odds(tested) * (ratio if name == "min_precision" else 1 / ratio)
    share = moved / (1 + moved)
    kept = sum(
        math.comb(50, k) * share**k * (1 - share) ** (50 - k) for k in range(35, 51)
    )
    assert kept == pytest.approx(0.95, abs=1e-9)  # one half of the risk


def one_of_each_group_is_positive():
    """Rows of both classes, of which the one of each group is positive."""
    y, p = np.ones(401, dtype=int), np.random.default_rng(0).random(401)
    groups = np.arange(401)
    y[-1], groups[-1] = 0, 0
    for seed in range(20):
        rule = am.tune(
            y, p, groups=groups, min_recall=0.5, confidence=0.9, random_state=seed,
            **QUICK,
        )  # fmt: skip
        if "positive rows come" in rule.guarantee.sentence:
            return {"y": y, "p": p, "groups": groups, "random_state": seed, **QUICK}
    raise AssertionError


def test_groups_that_leave_one_class_keep_every_limit():
    options = one_of_each_group_is_positive()
    limits = {"min_recall": 0.1, "min_precision": 0.99, "confidence": 0.9}
    found = am.tune(**options, **limits).guarantee
    for one in found.promises:
        assert one.interval.low <= found.threshold <= one.interval.high
    assert "if new rows come from the same population" in found.sentence


@pytest.mark.parametrize("name", ["min_precision", "min_npv"])
@pytest.mark.parametrize("positive", [True, False])
def test_groups_that_leave_one_class_prove_nothing_at_a_prevalence(name, positive):
    options = one_of_each_group_is_positive()
    if not positive:
        options["y"] = 1 - options["y"]
    with pytest.raises(am.NotCertifiedError, match=f"{name}=0.8 at 20 % positives"):
        am.tune(**options, **{name: 0.8}, prior=0.2, confidence=0.9)


def order_statistic(scores, floor, delta):
    """The (c+1)-th lowest, c the most with P(Bin(n, 1 - floor) <= c) <= delta."""
    n, wrong, total = len(scores), 1 - floor, Fraction(0)
    for c in range(n):
        total += math.comb(n, c) * wrong**c * floor ** (n - c)
        if total > delta:
            return sorted(scores)[c - 1]
    raise AssertionError


@pytest.mark.parametrize("pos_label", [None, "yes"])
def test_negatives_alone_prove_a_specificity(pos_label, tmp_path):
    p = P[Y == 0]
    y = np.zeros(p.size, dtype=int) if pos_label is None else np.full(p.size, "no")
    rule = am.tune(y, p, min_specificity=0.95, confidence=0.9, pos_label=pos_label)
    highest = -order_statistic((-p).tolist(), Fraction(19, 20), Fraction(1, 10))
    assert rule.threshold == np.nextafter(highest, np.inf)
    assert rule.guarantee.sentence == (
        f"with 90 % confidence at least 95 % of the negative rows are not selected by "
        f"p ≥ {rule.threshold:.4g}, if new negative rows come from the same population "
        f"as these {p.size:,} rows"
    )
    _works_everywhere(rule, tmp_path)
    both = am.tune(Y, P, min_specificity=0.95, confidence=0.9, **QUICK)
    assert rule.guarantee.promises == both.guarantee.promises


def test_positives_alone_prove_a_recall(tmp_path):
    p = P[Y == 1]
    rule = am.tune(np.ones(p.size), p, "mcc", min_recall=0.9, confidence=0.9)
    assert rule.threshold == order_statistic(
        p.tolist(), Fraction(9, 10), Fraction(1, 10)
    )
    assert "new positive rows come from" in rule.guarantee.sentence
    assert rule.prevalence == 1.0
    _works_everywhere(rule, tmp_path)


def _works_everywhere(rule, tmp_path):
    sentence = rule.guarantee.sentence
    rule.save(tmp_path / "rule.json")
    loaded = am.Rule.load(tmp_path / "rule.json")
    assert loaded == rule
    assert loaded.guarantee == rule.guarantee
    assert repr(loaded) == repr(rule)
    for text in (repr(rule), rule.to_python(), rule.to_sql(), rule._repr_html_()):
        assert sentence in text
    assert "certified threshold, not tuned for the metric" in repr(rule)
    assert math.isnan(rule.score)
    assert rule.reference is None
    assert am.report(rule).render("md").startswith("# A threshold for")
    scope = {}
    exec(rule.to_python(), scope)
    scores = [0.0, rule.threshold, np.nextafter(rule.threshold, 0), 1.0]
    assert [scope["label"](x) for x in scores] == list(rule.apply(scores))


def test_one_column_of_one_class():
    y = np.c_[Y[:600], np.zeros(600, dtype=int)]
    rules = am.tune(y, np.c_[P[:600], P[:600]], min_specificity=0.9, confidence=0.9)
    assert "new negative rows come from" in rules.rules[1].guarantee.sentence
    assert rules.apply([[0.0, 1.0]]).tolist() == [[0, 1]]
    with pytest.raises(
        ValueError, match="every label of column 1 of y is negative: min_recall"
    ):
        am.tune(y, np.c_[P[:600], P[:600]], min_recall=0.9, confidence=0.9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"min_precision": 0.9},
            "every label of y is negative: min_precision needs positive",
        ),
        ({"min_npv": 0.9}, "min_npv needs positive rows too"),
        ({"min_recall": 0.9}, "min_recall needs positive rows too"),
        ({"max_positives": "5%"}, "max_positives needs positive rows too"),
        ({"min_recall": 0.8, "min_specificity": 0.8}, "min_recall needs positive rows"),
        ({}, "a floor under the metric needs positive rows too"),
    ],
)
def test_both_classes_are_asked_for_where_a_promise_speaks_of_both(options, words):
    with pytest.raises(ValueError, match=words):
        am.tune(np.zeros(2000), P, confidence=0.9, **options)


def test_one_class_without_a_promise_is_refused_as_before():
    with pytest.raises(ValueError, match="y has one class only"):
        am.tune(np.zeros(2000), P, min_specificity=0.9)
    with pytest.raises(ValueError, match="the name of the other class is not known"):
        am.tune(["a"] * 2000, P, min_recall=0.9, confidence=0.9, pos_label="a")


def test_few_rows_of_one_class_are_refused_with_the_number_that_it_takes():
    with pytest.raises(am.NotCertifiedError, match="it takes 22 negative rows at the"):
        am.tune(np.zeros(10), P[:10], min_specificity=0.9, confidence=0.9)


SCORES = np.random.default_rng(3).normal(size=1000)


def test_normal_rows_alone_prove_a_limit_on_false_alarms():
    rule = am.tune(normal=SCORES, min_specificity=0.98, confidence=0.95)
    with_labels = am.tune(np.zeros(1000), SCORES, min_specificity=0.98, confidence=0.95)
    assert rule == with_labels
    (promise,) = rule.guarantee.promises
    n_above = int((rule.threshold <= SCORES).sum())
    assert n_above == promise.allowed
    assert tail(1000, Fraction(1, 50), n_above) <= Fraction(1, 20)
    assert tail(1000, Fraction(1, 50), n_above + 1) > Fraction(1, 20)
    more = am.tune(normal=SCORES, min_specificity=0.98, confidence=0.95, new_rows=500)
    assert more.threshold > rule.threshold


def test_normal_rows_break_the_limit_rarely_whatever_their_distribution():
    rng, broken = np.random.default_rng(0), 0
    for i in range(200):
        scores = rng.standard_cauchy(400) if i % 2 else rng.integers(0, 300, 400)
        rule = am.tune(normal=scores, min_specificity=0.95, confidence=0.9)
        cut = rule.threshold
        rate = (
            np.arctan(-cut) / np.pi + 0.5 if i % 2 else np.mean(np.arange(300) >= cut)
        )
        broken += rate > 0.05
    assert broken / 200 <= 0.1 + 2 * math.sqrt(0.09 / 200)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, TypeError, "needs labels y and scores p, or normal="),
        ({"normal": SCORES}, ValueError, "goes with min_specificity and confidence"),
        (
            {"normal": SCORES, "min_recall": 0.9, "confidence": 0.9},
            ValueError,
            "normal rows alone say nothing of other limits",
        ),
        (
            {"normal": SCORES, "p": P, "min_specificity": 0.9, "confidence": 0.9},
            ValueError,
            "either normal or y and p, not both",
        ),
        (
            {"normal": [[0.1]], "min_specificity": 0.9, "confidence": 0.9},
            ValueError,
            "one column",
        ),
        (
            {"normal": SCORES[:50], "min_specificity": 0.99, "confidence": 0.95},
            am.NotCertifiedError,
            "it takes 299 negative rows",
        ),
    ],
)
def test_what_normal_rows_cannot_say_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        am.tune(**arguments)
