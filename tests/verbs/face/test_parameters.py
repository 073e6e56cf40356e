"""One word for one thing: parameters that several verbs share, and what they take."""

import inspect
import re
import warnings
from operator import attrgetter

import numpy as np
import pytest

import argmetric as am
from argmetric._ground.arguments import keywords_of

NAMES = """
decide forecast evaluate tune calibrate calibration_check monitor
classes.decide classes.forecast classes.evaluate classes.tune classes.calibrate
classes.check classes.monitor published.decide tensors.decide tensors.forecast
scale.decide scale.forecast scale.evaluate scale.tune
"""
VERBS = {
    name: attrgetter(name.replace("scale.", "scale.Files."))(am)
    for name in NAMES.split()
}
# Of each shared parameter its default, and how its text in every verb begins
SHARED = {
    "groups": (None, "Group of each row"),
    "average": (None, "With groups: their mean (default), or all rows"),
    "zero_division": (None, "Value of 0/0, by default the metric's own"),
    "min_positives": (0, ""),
    "max_positives": (None, ""),
    "min_precision": (None, "Lower limits "),
    "min_recall": (None, "Lower limits "),
    "budget": (None, ""),
    "confidence": (None, "The limits"),
    "reference": (
        None,
        "Labels and scores of rows that the model was not trained "
        "on, or a fitted calibrator. `p` is recalibrated first",
    ),
    "prior": (None, ""),
    "logits": (False, "Whether `p` holds log-odds"),
    "known": (None, "True labels that have arrived; nan or None for the others."),
    "coverage": (0.9, ""),
    "sample_weight": (None, "Weight"),
    "pos_label": (None, "The label that counts as positive"),
    "n_jobs": (None, ""),
    "metric": ("f1", ""),
    "max_per_class": (None, ""),
    "classes": (None, ""),
    "cost": (None, ""),
    "time": (None, "Time of every row: dates, times or ISO text, in any order."),
    "every": (None, "Length of a period"),
    "shift": ("auto", '"auto" mixes the three explanations.'),
    "false_alarms": (0.05, "Probability of a false alarm"),
}
# Where a default is another one, and why
OWN_DEFAULTS = {
    # labels or costs may say the metric
    "metric": "forecast evaluate monitor classes.decide "
    "classes.forecast classes.evaluate classes.tune classes.check classes.monitor",
    "reference": "monitor classes.monitor",  # they can do nothing without
    "average": "scale.decide scale.forecast scale.evaluate",  # one column of groups
}
OWN_WORDS = {"classes.", "tensors."}  # a class, a row of a matrix of their own
GONE = ("calibrator", "y_true", "y_pred", "max_cost", "check", "recalibration")


def parameters(verb):
    return dict(inspect.signature(VERBS[verb]).parameters)


@pytest.mark.parametrize("verb", VERBS)
def test_a_parameter_has_one_name_and_one_default(verb):
    for name, parameter in parameters(verb).items():
        assert name not in GONE
        if name in SHARED and verb not in OWN_DEFAULTS.get(name, "").split():
            assert parameter.default == SHARED[name][0], (name, parameter.default)


def test_limits_are_keywords_that_the_help_names():
    for verb in ("tune", "scale.tune"):
        limits = VERBS[verb].limits
        assert set(limits) < set(keywords_of(VERBS[verb]))
        assert (
            documented(verb)["**limits"]
            .partition(" | ")[2]
            .startswith("What the threshold must keep")
        )
    assert re.findall(r"\bm\w+_\w+|budget", documented("tune")["**limits"]) == [
        *("min_precision", "min_recall", "min_specificity", "min_npv"),
        *("max_positives", "min_positives", "budget"),
    ]
    assert len(parameters("tune")) == 20
    for verb in ("tune", "decide"):
        assert {"min_positives", "max_positives", "min_precision", "budget"} <= set(
            keywords_of(VERBS[verb])
        )


def test_decide_has_eighteen_parameters_in_one_order():
    assert list(parameters("decide")) == [
        *("p", "metric", "groups", "average", "zero_division", "min_positives"),
        *("max_positives", "min_precision", "min_recall", "missed", "budget"),
        *("per_row", "confidence", "reference", "prior", "logits", "pos_label"),
        "n_jobs",
    ]


def documented(verb):
    """The text of each parameter in the docstring of a verb, by its name."""
    text = inspect.getdoc(VERBS[verb]) or ""
    text = text.partition("Parameters\n----------\n")[2]
    text = re.split(r"\n\n\w+\n-+\n", text)[0]
    found = re.findall(
        r"^([*\w][^\n]*?)(?: : ([^\n]*))?\n((?:    [^\n]*\n?|\n(?=    ))+)", text, re.M
    )
    return {
        name: f"{kind} | {' '.join(words.split())}"
        for names, kind, words in found
        for name in names.split(", ")
    }


@pytest.mark.parametrize("verb", VERBS)
def test_every_parameter_is_documented(verb):
    given = documented(verb)
    names = {*parameters(verb)} - {"self", "files", "limits"}
    assert names <= given.keys(), names - given.keys()


@pytest.mark.parametrize("verb", VERBS)
def test_the_words_of_a_shared_parameter_are_the_same(verb):
    texts = documented(verb)
    for name in SHARED.keys() & parameters(verb).keys():
        text = texts[name].partition(" | ")[2]
        if verb.startswith(tuple(OWN_WORDS)) or text.startswith(("As for ", "See ")):
            continue
        if (verb, name) != ("monitor", "reference"):  # rows alone, with segments
            assert text.startswith(SHARED[name][1]), (name, text)


# ------------------------------------------------------------------------- groups

P = np.array([0.9, 0.6, 0.3, 0.8, 0.2, 0.1, 0.55, 0.35])
Y = np.array([1, 0, 1, 1, 0, 0, 1, 0])
Z = np.array([1, 1, 0, 1, 0, 0, 0, 1])
G = list("aabbccdd")
ROWS = np.random.default_rng(0).random(400)
KNOWN = np.random.default_rng(1).random(400) < ROWS
PARTS = np.arange(400) // 8


def mean_of(*rows, **how):
    (period,) = am.monitor(*rows, **how).periods
    return getattr(period, "mean", None) or period.expected


WITH_GROUPS = {
    "decide": lambda **how: am.decide(P, groups=G, **how).expected,
    "published.decide": lambda **how: am.published.decide(P, groups=G, **how).expected,
    "forecast": lambda **how: am.forecast(P, Z, groups=G, **how).mean,
    "evaluate": lambda **how: float(am.evaluate(Y, Z, groups=G, **how)),
    "tune": lambda **how: am.tune(Y, P, groups=G, n_bootstrap=0, cv=None, **how).score,
    "calibration_check": lambda **how: (
        am.calibration_check(
            KNOWN, ROWS, groups=PARTS, method="platt", n_bootstrap=5, **how
        ).expected
    ),
    "monitor": lambda **how: mean_of(
        ROWS[200:],
        0.5,
        reference=(KNOWN[:200], ROWS[:200]),
        groups=PARTS[200:],
        **how,
    ),
}


@pytest.mark.parametrize("verb", WITH_GROUPS)
def test_groups_alone_are_the_mean_over_groups(verb):
    call = WITH_GROUPS[verb]
    assert call() == call(average="groups")
    assert call() != call(average="pooled")


# ------------------------------------------------------------------------- labels


def rows_by_kind():
    rule = am.Rule("f1", 0.5)
    return {
        "labels": (P >= 0.5).astype(int),
        "booleans": P >= 0.5,
        "a rule": rule,
        "a threshold": 0.5,
        "a decision": am.decide(P, min_positives=4, max_positives=4),
    }


@pytest.mark.parametrize("kind", ["booleans", "a rule", "a threshold", "a decision"])
def test_labels_are_labels_a_rule_a_threshold_or_a_decision(kind):
    given, plain = rows_by_kind()[kind], rows_by_kind()["labels"]
    assert am.forecast(P, given).mean == am.forecast(P, plain).mean
    names = np.where(Y == 1, "yes", "no")
    if kind in ("a rule", "a decision"):  # the truth may have names, and they have none
        for metric in ("f1", "mcc"):
            known = [names[0], *[None] * 7]
            told = am.forecast(P, given, metric, known=known, pos_label="yes")
            same = am.forecast(P, plain, metric, known=[1, *[None] * 7])
            assert told.mean == same.mean
    reference = KNOWN[:200], ROWS[:200]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = am.monitor(P, given, reference=reference).periods[0]
    assert found.n_positives == plain.sum()
    if kind in ("booleans", "a decision"):
        assert am.evaluate(Y, given) == am.evaluate(Y, plain)
        assert am.evaluate(names, am.decide(P), pos_label="yes") == am.evaluate(
            Y, am.decide(P).labels
        )
    else:
        way = r"rule\.predict\(p\)" if kind == "a rule" else "p >= 0.5"
        with pytest.raises(TypeError, match=f"there are no scores here: pass {way}"):
            am.evaluate(Y, given)


def test_the_metric_is_that_of_the_rule_or_the_decision():
    rule, decision = am.Rule("jaccard", 0.5), am.decide(P, "mcc")
    assert am.forecast(P, rule).metric == am.Jaccard()
    assert am.forecast(P, decision).metric == am.MCC()
    assert am.evaluate(Y, decision).metric == am.MCC()
    assert am.forecast(P, rule, "f1").metric == am.FBeta()
    assert am.forecast(P, 0.5).metric == am.FBeta()


def test_classes_take_rules_and_decisions():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 60)
    y = np.array(list("abc"))[p.argmax(axis=1)]
    names = list("abc")
    decision = am.classes.decide(p, "mcc", classes=names)
    rule = am.classes.tune(y, p, "f1", n_bootstrap=0, cv=None)
    plain = am.classes.forecast(p, decision.labels, "mcc", classes=names)
    assert am.classes.forecast(p, decision, classes=names).mean == plain.mean
    assert am.classes.evaluate(y, decision) == am.classes.evaluate(
        y, decision.labels, "mcc"
    )
    assert (
        am.classes.forecast(p, rule, classes=names).mean
        == am.classes.forecast(p, rule.apply(p), rule.metric, classes=names).mean
    )
    with pytest.raises(TypeError, match="labels is MultiClassRule, and there are no"):
        am.classes.evaluate(y, rule)


# ------------------------------------------------------------- reference, pos_label


def test_a_reference_is_rows_or_a_map():
    rows, fitted = (KNOWN, ROWS), am.calibrate(KNOWN, ROWS)
    assert (
        am.decide(P, reference=rows).expected == am.decide(P, reference=fitted).expected
    )
    assert (
        am.forecast(P, Z, reference=rows).mean
        == am.forecast(P, Z, reference=fitted).mean
    )
    how = {"n_bootstrap": 0, "cv": None}
    assert (
        am.tune(Y, P, reference=rows, **how).threshold
        == am.tune(Y, P, reference=fitted, **how).threshold
    )
    names = np.where(KNOWN, "yes", "no")
    for odd in (3, "rows", [1, 2, 3], {"y": KNOWN, "p": ROWS}):
        for call in (
            lambda odd: am.decide(P, reference=odd),
            lambda odd: am.forecast(P, Z, reference=odd),
            lambda odd: am.tune(Y, P, reference=odd),
            lambda odd: am.classes.decide(np.c_[P, 1 - P], reference=odd),
        ):
            with pytest.raises(TypeError, match=r"\(y, p\) .* or a fitted Calibrator"):
                call(odd)
    with pytest.raises(ValueError, match=r"pass pos_label='yes' or pos_label='no'"):
        am.decide(P, reference=(names, ROWS))


def test_pos_label_names_the_positive_class_of_the_reference():
    names = np.where(KNOWN, "yes", "no")
    wanted = am.decide(P, reference=(KNOWN, ROWS))
    found = am.decide(P, reference=(names, ROWS), pos_label="yes")
    assert found.labels.tolist() == wanted.labels.tolist()
    assert set(found.labels.tolist()) <= {0, 1}
    assert found.forecast().mean == wanted.forecast().mean
    told = am.forecast(P, found, reference=(names, ROWS), pos_label="yes")
    assert told.mean == wanted.forecast().mean
    with pytest.raises(ValueError, match="the scores rank backwards"):
        am.decide(P, reference=(names, ROWS), pos_label="no")
    assert "actual" in am.report(found, Y).render("text").lower()
    with pytest.raises(ValueError, match="pos_label='yes' names the positive class of"):
        am.decide(P, pos_label="yes")


# ----------------------------------------------------------------- limits and costs


@pytest.mark.parametrize("share", ["0%", "12.5%", "29%", "50%", "100%"])
def test_a_share_of_rows_is_a_count_of_each_segment(share):
    part = float(share[:-1]) / 100
    p = ROWS[:100]
    most = int(part * 100 + 1e-9)
    found = am.decide(p, max_positives=share)
    assert found.labels.tolist() == am.decide(p, max_positives=most).labels.tolist()
    groups = np.repeat(np.arange(4), [10, 20, 30, 40])
    found = am.decide(p, groups=groups, max_positives=share, min_precision=0.2)
    for g, size in enumerate((10, 20, 30, 40)):
        most = int(part * size + 1e-9)
        own = am.decide(p[groups == g], max_positives=most, min_precision=0.2)
        assert found.labels[groups == g].tolist() == own.labels.tolist()
    cost = np.ones(100)
    within = am.decide(p, groups=groups, max_positives=share, budget=(cost, 4))
    counts = np.bincount(groups, within.labels)
    assert (counts <= np.minimum(np.array([10, 20, 30, 40]) * part + 1e-9, 4)).all()


def test_a_share_of_rows_per_class():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([4, 1, 1], 90)
    groups = np.repeat([0, 1], [30, 60])
    found = am.classes.decide(p, groups=groups, max_per_class={0: "50%"})
    for g, size in ((0, 30), (1, 60)):
        own = am.classes.decide(p[groups == g], max_per_class={0: size // 2})
        assert found.labels[groups == g].tolist() == own.labels.tolist()
    y = p.argmax(axis=1)
    how = {"n_bootstrap": 0, "cv": None}
    share = am.classes.tune(y, p, max_per_class="50%", **how)
    assert (
        share.weights.tolist()
        == am.classes.tune(y, p, max_per_class=45, **how).weights.tolist()
    )


@pytest.mark.parametrize(
    ("value", "kind"),
    [(0.05, ValueError), ("5", ValueError), ("101%", ValueError), ("-1%", ValueError),
     ("5 per cent", ValueError), (-1, ValueError), (True, TypeError)],
)  # fmt: skip
def test_what_is_neither_count_nor_share_is_told(value, kind):
    with pytest.raises(
        kind, match=r"max_positives (must be a whole number ≥ 0, or a sh|is a count of)"
    ):
        am.decide(P, max_positives=value)


def test_cost_and_a_metric_are_one_too_many():
    p, cost = np.random.default_rng(0).dirichlet([1, 1, 1], 30), 1.0 - np.eye(3)
    y = p.argmax(axis=1)
    for call in (
        lambda **how: am.classes.decide(p, **how),
        lambda **how: am.classes.forecast(p, y, **how),
        lambda **how: am.classes.evaluate(y, y, **how),
        lambda **how: am.classes.tune(y, p, **how),
        lambda **how: am.classes.check(y, p, **how),
        lambda **how: am.classes.monitor(p, reference=(y, p), **how),
    ):
        with pytest.raises(ValueError, match="pass either cost or metric, not both"):
            call(metric="f1", cost=cost)
    assert am.classes.decide(p, cost=cost).expected == pytest.approx(
        am.classes.forecast(p, am.classes.decide(p, cost=cost), cost=cost).mean
    )
