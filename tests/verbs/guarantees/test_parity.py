"""A gap between groups: the exact probability, drawn rows, refusals and files."""

import importlib
import itertools
import json
import math
import pickle
import re
import sqlite3
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import argmetric as am
from argmetric._verbs import _parity as engine
from argmetric.metrics import get_metric


def drawn(n, seed, groups=2):
    """Labels, probabilities that are wrong in one group, and groups."""
    rng = np.random.default_rng(seed)
    group = rng.choice(groups, n, p=np.arange(1, groups + 1) / sum(range(groups + 1)))
    p = 1 / (1 + np.exp(-rng.normal(0.4 * group - 1, 1.3, n)))
    y = (rng.random(n) < np.where(group == 0, p**1.3, p)).astype(int)
    return y, p, np.array(list("abcd"))[group]


@pytest.mark.parametrize(
    ("ranks", "sizes", "gap"),
    [((7, 9), (10, 12), 0.1), ((70, 350), (100, 500), 0.05), ((1, 4), (4, 4), 0.3)],
)
def test_the_probability_is_the_integral(ranks, sizes, gap):
    one, other = (stats.beta(k, n + 1 - k) for k, n in zip(ranks, sizes, strict=True))

    def below(x):
        return one.pdf(x) * (other.cdf(min(x + gap, 1)) - other.cdf(x))

    def above(x):
        return other.pdf(x) * (one.cdf(min(x + gap, 1)) - one.cdf(x))

    wanted = sum(quad(f, 0, 1, limit=400)[0] for f in (below, above))
    found = engine.gap_probability(ranks, sizes, gap)
    assert found == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize(
    ("ranks", "sizes", "gap"),
    [
        *[((35, 7e4), (50, 1e5), 0.02), ((350, 7e6), (500, 1e7), 0.05)],
        *[((1, 5e4), (3, 1e5), 0.3), ((7e6, 35), (1e7, 50), 0.12)],
    ],
)
def test_a_large_group_beside_a_small_one_is_as_exact(ranks, sizes, gap):
    """Given the rate of the large one, the other is within the gap of it."""
    (k, n), (big, m) = sorted(zip(ranks, sizes, strict=True), key=lambda one: one[1])
    small, large = stats.beta(k, n + 1 - k), stats.beta(big, m + 1 - big)
    x = large.ppf((np.arange(20_000) + 0.5) / 20_000)
    wanted = (small.cdf(x + gap) - small.cdf(x - gap)).mean()
    assert engine.gap_probability(ranks, sizes, gap) == pytest.approx(wanted, abs=1e-6)


def test_a_probability_is_no_more_than_1():
    found = [engine.gap_probability((k, k), (60, 50), 0.999) for k in range(51)]
    assert max(found) == 1.0


def test_the_probability_of_several_groups_is_that_of_draws():
    rng, ranks, sizes = np.random.default_rng(0), (30, 61, 160, 9), (40, 80, 200, 11)
    rates = np.stack(
        [rng.beta(k, n + 1 - k, 400_000) for k, n in zip(ranks, sizes, strict=True)]
    )
    wanted = (np.ptp(rates, axis=0) <= 0.15).mean()
    found = engine.gap_probability(ranks, sizes, 0.15)
    assert abs(found - wanted) < 4 * math.sqrt(wanted * (1 - wanted) / 400_000)


def test_the_rate_of_an_order_statistic_is_that_of_new_rows():
    """A twin: scores are drawn, cut at ranks, and new rows are counted."""
    rng, ranks, sizes = np.random.default_rng(1), (14, 33), (20, 50)
    cuts = [
        np.sort(rng.random((20_000, n)), axis=1)[:, n - k]
        for k, n in zip(ranks, sizes, strict=True)
    ]
    wanted = (abs(cuts[0] - cuts[1]) <= 0.1).mean()  # 1 - cut is the rate
    found = engine.gap_probability(ranks, sizes, 0.1)
    assert abs(found - wanted) < 4 * math.sqrt(wanted * (1 - wanted) / 20_000)


def test_ranks_at_the_ends_have_the_rates_0_and_1():
    assert engine.gap_probability((0, 0), (5, 5), 0.1) == 1.0
    assert engine.gap_probability((6, 6), (5, 5), 0.1) == 1.0
    assert engine.gap_probability((0, 6), (5, 5), 0.1) == 0.0
    wanted = stats.beta(1, 10).cdf(0.1)
    assert engine.gap_probability((0, 1), (5, 10), 0.1) == pytest.approx(wanted)
    wanted = stats.beta(10, 1).sf(0.9)
    assert engine.gap_probability((6, 10), (5, 10), 0.1) == pytest.approx(wanted)


def test_the_positives_needed_are_those_of_the_table():
    """Recall 0.7, confidence 0.9, two equal groups."""
    for gap, wanted in ((0.05, 453), (0.1, 112)):
        factor = engine.labels_needed(0.7, (50, 50), gap, 0.9)
        assert 50 * factor == pytest.approx(wanted, rel=0.03)


@pytest.mark.parametrize("sizes", [(5, 9), (20, 20), (60, 1), (3, 4, 5)])
@pytest.mark.parametrize("coverage", [0.9, 0.95])
def test_the_interval_of_a_gap_holds_by_enumeration(sizes, coverage):
    """All counts of rows, weighed by exact binomials.

    The lower end, by which alarms are raised, is missed with half of the risk at most;
    the upper end a little more where one rate is near 0 and the other near 1.
    """
    counts = [*itertools.product(*(range(n + 1) for n in sizes))]
    ends = [
        engine.gap_interval(np.array(one), np.array(sizes), coverage)[1]
        for one in counts
    ]
    low, high = np.array(ends).reshape(*(n + 1 for n in sizes), 2).T
    for rates in itertools.product((0.0, 0.02, 0.3, 0.5, 0.9, 0.99), repeat=len(sizes)):
        weight = np.ones(())
        for n, rate in zip(sizes, rates, strict=True):
            weight = np.multiply.outer(weight, stats.binom.pmf(range(n + 1), n, rate))
        gap = np.ptp(rates)
        above = weight[gap + 1e-12 < low.T].sum()
        assert above <= (1 - coverage) / 2
        below = weight[gap - 1e-12 > high.T].sum()
        assert above + below <= 1 - coverage + 0.02 * (max(rates) - min(rates) > 0.9)


def test_the_interval_of_a_gap_of_nothing_is_all():
    assert engine.gap_interval(np.array([1, 0]), np.array([2, 0]), 0.9)[1] == (0, 1)
    gap, ends = engine.gap_interval(np.array([2, 0, 0]), np.array([2, 3, 0]), 0.9)
    assert gap == 1.0
    assert ends.high == 1.0
    gap, ends = engine.gap_interval(np.array([0, 0]), np.array([10**9, 10**9]), 0.9)
    assert gap == ends.low == 0.0 < ends.high < 1e-8


Y_ALL, P_ALL, G_ALL = drawn(200_000, 99)


def gap_of(rule, rate):
    chosen = rule.apply(P_ALL, G_ALL) == 1
    base = Y_ALL == 1 if rate == "recall" else np.ones(Y_ALL.size, dtype=bool)
    a, b = (chosen[base & (name == G_ALL)].mean() for name in "ab")
    return abs(a - b)


@pytest.mark.parametrize("rate", ["recall", "selection_rate"])
def test_drawn_rows_break_the_gap_rarely(rate):
    broken = [
        gap_of(am.tune(y, p, parity=(rate, g, 0.08), confidence=0.9), rate) > 0.08
        for y, p, g in (drawn(3000, 1000 + i) for i in range(60))
    ]
    assert np.mean(broken) <= 0.1 + 2 * math.sqrt(0.09 / 60)


Y, P, G = drawn(4000, 0)


@pytest.fixture(scope="module")
def rule():
    return am.tune(Y, P, "f1", parity=("recall", G, 0.08), confidence=0.9)


def test_each_group_is_cut_by_its_own_threshold(rule):
    assert rule.probability >= 0.9
    chosen = rule.apply(P, G)
    for name, one, rate in zip(rule.names, rule.rules, rule.rates, strict=True):
        here = name == G
        assert (chosen[here] == (P[here] >= one.threshold)).all()
        assert rate == chosen[here & (Y == 1)].mean()
        assert rule.thresholds[name] == one.threshold
    assert rule.score == pytest.approx(float(am.evaluate(Y, chosen, "f1")))
    assert "with 90 % confidence the recalls of the 2 groups differ" in rule.sentence
    assert rule.sentence in repr(rule)
    assert sum(rule.sizes) < Y.sum()  # some positives choose


def test_without_confidence_the_gap_is_that_of_these_rows():
    plain = am.tune(Y, P, "f1", parity=("recall", G, 0.03))
    assert np.ptp(plain.rates) <= 0.03
    assert math.isnan(plain.probability)
    assert plain.sentence.startswith("on these 4,000 rows")
    free = am.tune(Y, P, "f1", n_bootstrap=0, cv=0)
    assert plain.score > free.score - 0.03
    jaccard = am.tune(Y, P, "jaccard", parity=("recall", G, 0.03))
    assert jaccard.thresholds == pytest.approx(plain.thresholds)


def best_by_enumeration(y, p, group, rate, gap, value):
    """The best metric of all thresholds of the groups that keep the gap."""
    base = (y == 1) | (rate == "selection_rate")
    each = []
    for name in np.unique(group):
        here = group == name
        chosen = [here & (p >= cut) for cut in (np.inf, *p[here])]
        each.append([((x & base)[here & base].mean(), x) for x in chosen])
    values = [
        value(np.any([x for _, x in plan], axis=0))
        for plan in itertools.product(*each)
        if np.ptp([r for r, _ in plan]) <= gap + 1e-12
    ]
    return np.nanmax(values)


@pytest.mark.parametrize("rate", ["recall", "selection_rate"])
@pytest.mark.parametrize("metric", ["f1", "f2", "precision", "accuracy", "kappa"])
def test_without_confidence_the_thresholds_are_the_best_within_the_gap(metric, rate):
    """Ties, equal scores, tiny scores, groups of one row and of negatives alone."""
    rng, one, seen = np.random.default_rng(0), get_metric(metric), 0
    while seen < 25:
        count = int(rng.integers(2, 4))
        n = int(rng.integers(4, 15 if count == 2 else 11))
        y, group = rng.integers(2, size=n), rng.integers(count, size=n)
        p = [rng.random(n).round(1), rng.random(n), 1e-300 * rng.random(n)][seen % 3]
        base = np.bincount(group, y if rate == "recall" else None)
        if len({*y}) < 2 or len({*group}) < 2 or (base[np.unique(group)] == 0).any():
            continue
        seen, gap = seen + 1, float(rng.choice([1e-9, 0.1, 0.25, 0.5, 0.99]))
        rule = am.tune(y, p, metric, parity=(rate, group, gap))
        chosen = rule.apply(p, group) == 1

        def value(chosen, y=y, n=n):
            tp = float((chosen & (y == 1)).sum())
            return float(one.value(tp, float(chosen.sum()), float(y.sum()), float(n)))

        wanted = best_by_enumeration(y, p, group, rate, gap, value)
        assert rule.score == pytest.approx(wanted, abs=1e-12)
        assert value(chosen) == rule.score
        assert np.ptp(rule.rates) <= gap + 1e-12


def test_one_threshold_that_keeps_the_gap_is_not_better():
    y, p, g = drawn(600, 8)
    for gap in (0.05, 0.1, 0.2):
        rule = am.tune(y, p, parity=("selection_rate", g, gap))
        common = [
            float(am.evaluate(y, p >= cut, "f1"))
            for cut in np.unique(p)
            if np.ptp([(p[g == name] >= cut).mean() for name in "ab"]) <= gap
        ]
        assert rule.score >= max(common)
    apart = am.tune(y, p, parity=("recall", g, 1 - 1e-9)).score  # nothing is shared
    assert apart >= am.tune(y, p, n_bootstrap=0, cv=0).score


def test_groups_that_say_little_are_certified_or_refused_by_name():
    y, p, g = drawn(300, 2)
    positive = np.where(g == "a", 1, y)  # no negative row in a group
    for rate in ("recall", "selection_rate"):
        found = am.tune(positive, p, parity=(rate, g, 0.3), confidence=0.9)
        assert 0.9 <= found.probability <= 1.0
    negative = np.where(g == "a", 0, y)
    found = am.tune(negative, p, parity=("selection_rate", g, 0.3), confidence=0.9)
    assert found.rates[found.names.index("a")] < 0.4
    for confidence in (None, 0.9):
        with pytest.raises(ValueError, match="group 'a' has too few positive rows"):
            am.tune(negative, p, parity=("recall", g, 0.3), confidence=confidence)
    lone = np.where(np.arange(300) == np.flatnonzero(y)[0], "c", g)
    for rate in ("recall", "selection_rate"):
        with pytest.raises(
            am.NotCertifiedError, match=r"'c' has too few| 1[, ].*to prove"
        ):
            am.tune(y, p, parity=(rate, lone, 0.1), confidence=0.9)
    with pytest.raises(am.NotCertifiedError, match="more than a million") as caught:
        am.tune(y, p, parity=("recall", g, 1e-9), confidence=0.9)
    assert caught.value.labels_needed is None


def test_tiny_probabilities_choose_a_threshold():
    y, p, g = drawn(2000, 4)
    rule = am.tune(y, 1e-300 * p, parity=("recall", g, 0.3), confidence=0.9)
    assert 0.0 < min(rule.thresholds.values()) < 1e-300
    assert max(rule.rates) < 1.0


def test_files_pickles_and_labels(rule, tmp_path):
    rule.save(tmp_path / "rule.json")
    for kind in (am.Rule, am.ParityRule):
        loaded = kind.load(tmp_path / "rule.json")
        assert loaded == rule
        assert repr(loaded) == repr(rule)
    assert pickle.loads(pickle.dumps(rule)) == rule
    plain = am.tune(Y, P, parity=("selection_rate", G, 0.05))
    assert am.Rule.from_dict(json.loads(json.dumps(plain.to_dict()))) == plain
    words = am.tune(
        np.where(Y, "yes", "no"), P, parity=("recall", G == "a", 0.1), pos_label="yes"
    )
    assert words.apply([0.01, 0.99], [True, False]).tolist() == ["no", "yes"]
    assert words.names == (False, True) or words.names == (True, False)
    mapped = am.tune(
        Y, P**2, parity=("recall", G, 0.1), reference=(Y[:2000], P[:2000] ** 2)
    )
    assert mapped.apply(P[:100] ** 2, G[:100]).any()


def test_four_groups_share_a_rate():
    y, p, g = drawn(20_000, 5, 4)
    rule = am.tune(y, p, parity=("recall", g, 0.1), confidence=0.9)
    assert len(rule.rules) == 4
    assert np.ptp(rule.rates) < 0.1
    wanted = engine.gap_probability(
        [round(r * (n + 1)) for r, n in zip(rule.rates, rule.sizes, strict=True)],
        rule.sizes,
        0.1,
    )
    assert rule.probability == pytest.approx(wanted, abs=0.1)


def test_too_few_labels_are_refused_with_how_many_it_takes():
    with pytest.raises(am.NotCertifiedError, match="times as many") as caught:
        am.tune(Y, P, parity=("recall", G, 0.02), confidence=0.9)
    needed = caught.value.labels_needed
    y, p, g = drawn(int(needed * 1.1), 3)
    assert am.tune(y, p, parity=("recall", g, 0.02), confidence=0.9).probability >= 0.9


REFUSED = """
parity=("precision", G, 0.1), confidence=0.9 -> no gap of precision can be promised
parity=("accuracy", G, 0.1) -> the rate of parity
parity=("recall", G) -> a rate, groups and a gap
parity=("recall", np.zeros(4000), 0.1) -> two groups
parity=("recall", G[:9], 0.1) -> the groups of parity
parity=("recall", 0.1, G) -> and not 'recall', 0.1
parity=(G, "recall", 0.1) -> a rate, groups and a gap in this order
parity=("recall", G, 0.1), budget=(P, 9.0) -> budget has no meaning
parity=("recall", G, 1.5) -> the gap
parity=("recall", G, 0.1), min_precision=0.5 -> min_precision has no meaning
parity=("recall", G, 0.1), groups=G -> groups has no meaning
parity=("recall", G, 0.1), review=True, confidence=0.9 -> review has no meaning
parity=("recall", G, 0.1), metric="mcc" -> parity is for F-beta
parity=("recall", G, 0.1), metric=["f1", "f2"] -> one metric
"""


@pytest.mark.parametrize("case", REFUSED.strip().splitlines())
def test_what_has_no_meaning_is_refused(case):
    arguments, _, message = case.partition(" -> ")
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        eval(f"am.tune(Y, P, {arguments})", {**globals()})


def test_where_there_are_no_groups_of_rows_parity_is_refused_with_the_way(tmp_path):
    (tmp_path / "rows.csv").write_text("score,label\n0.9,1\n0.1,0\n")
    wanted = r"takes no parity: its thresholds need the group of each row.*memory"
    for name, call in {
        "tune": am.scale.open(tmp_path / "rows.csv").tune,
        "MetricClassifier": am.MetricClassifier,
    }.items():
        with pytest.raises(TypeError, match=f"^{name} {wanted}"):
            call(parity=("recall", G, 0.1))
    with pytest.raises(TypeError, match=f"^tune {wanted}"):
        am.classes.tune(Y, np.c_[1 - P, P], parity=("recall", G, 0.1))
    assert "parity" not in am.MetricClassifier().get_params()


def test_ties_unknown_groups_and_exports_are_refused(rule):
    with pytest.raises(ValueError, match="scores tie within a group"):
        am.tune(Y, P.round(2), parity=("recall", G, 0.1), confidence=0.9)
    names = re.escape(", ".join(map(repr, rule.names)))
    with pytest.raises(ValueError, match=f"'z' at row 1, which .* saw: it has {names}"):
        rule.apply([0.5, 0.5], ["a", "z"])
    for missing in (np.nan, None):
        with pytest.raises(ValueError, match="groups has a missing value at row 1"):
            rule.apply([0.5, 0.5], ["a", missing])
    with pytest.raises(ValueError, match="one column of scores, not of shape"):
        rule.apply([[0.5, 0.5], [0.5, 0.5]], list("abab"))
    with pytest.raises(ValueError, match="the group of each row"):
        rule.predict([0.5])
    for export in (rule.to_onnx, rule.to_json):
        with pytest.raises(TypeError, match="take the rules one by one"):
            export()
    with pytest.raises(ValueError, match="two names, of the scores and of the groups"):
        rule.to_sql(column=["p"])
    mixed = am.ParityRule((1, "1"), rule.rules, "recall", 0.1)
    with pytest.raises(TypeError, match="cannot hold the groups 1, '1'"):
        mixed.to_sql()
    with pytest.raises(ValueError, match="a name of Python that is not taken"):
        rule.to_python("print")
    with pytest.raises(ValueError, match="for probabilities, not scores"):
        am.tune(Y, 10 * P, parity=("recall", G, 0.1), confidence=0.9)


def test_a_picture_has_a_bar_for_each_group(rule):
    pytest.importorskip("matplotlib.pyplot", reason="needs the extra 'plot'")
    axes = rule.plot()
    assert len(axes.get_yticklabels()) == 2
    for bar, (low, high) in zip(
        axes.containers[1].lines[2][0].get_segments(), rule._rate_intervals, strict=True
    ):
        assert bar[:, 0] == pytest.approx([low, high])
    axes.figure.clear()


def test_a_rule_without_a_score_prints_after_it_was_loaded():
    one = am.tune([0, 1, 1, 0], [0.1, 0.8, 0.6, 0.3], n_bootstrap=0, cv=0)
    rule = am.ParityRule(("a", "b"), (one, one), "recall", 0.1, rates=(0.5, 0.6), n=6)
    again = am.ParityRule.from_dict(rule.to_dict())
    assert repr(again) == repr(rule)


def test_a_rule_by_hand_is_checked_and_prints():
    one, two = am.Rule("f1", 0.3), am.Rule("f1", 0.6)
    rule = am.ParityRule(("a", "b"), (one, two), "recall", 0.1)
    assert "recalls of the 2 groups should differ by at most 0.1" in repr(rule)
    assert repr(am.ParityRule.from_dict(rule.to_dict())) == repr(rule)
    assert rule.apply([0.5, 0.5], ["a", "b"]).tolist() == [1, 0]
    other = am.Rule("f1", 0.6, pos_label="yes", neg_label="no")
    for names, rules, gap, message in (
        (("a", "a"), (one, two), 0.1, "1 names that differ"),
        (("a", "b"), (one,), 0.1, "1 rules"),
        (("a", "b"), (one, two), 1.0, "gap must lie strictly between 0 and 1"),
        (("a", "b"), (one, other), 0.1, "the same two labels"),
        (("a", "b"), (one, am.Rule("f2", 0.1)), 0.1, "the same metric"),
    ):
        with pytest.raises(ValueError, match=message):
            am.ParityRule(names, rules, "recall", gap)


@pytest.mark.parametrize(
    "groups", [[0, 1], [True, False], [0.5, 1.5], [1, "1"], [("x", 1), ("x", 2)], "ab"]
)
def test_groups_of_any_kind_are_saved_and_met_again(groups, tmp_path):
    rng = np.random.default_rng(0)
    names = [groups[i] for i in rng.integers(2, size=400)]
    p = rng.random(400)
    rule = am.tune((rng.random(400) < p).astype(int), p, parity=("recall", names, 0.1))
    rule.save(tmp_path / "rule.json")
    again = am.ParityRule.load(tmp_path / "rule.json")
    assert again == rule
    assert (again.apply(p, names) == rule.apply(p, names)).all()
    assert {*again.names} == {*groups}


def test_a_group_of_one_row_is_named():
    y, p, g = drawn(300, 2)
    lone = g.astype(object)
    lone[np.flatnonzero(y == 0)[0]] = "c"
    with pytest.raises(ValueError, match="group 'c' has too few positive rows"):
        am.tune(y, p, parity=("recall", lone, 0.1))
    rule = am.tune(y, p, parity=("selection_rate", lone, 0.1))
    assert set(rule.rates) & {0.0, 1.0}
    assert np.ptp(rule.rates) <= 0.1
    assert "group 'c' has 1 row" in rule.notes[0]
    assert rule.notes[0] in am.ParityRule.from_dict(rule.to_dict()).notes


def test_a_page_has_the_groups_with_their_rates_and_the_gap(rule):
    page = am.report(rule)
    chosen = rule.apply(P, G) == 1
    rates, points = page.sections[0].figures
    for place, name in enumerate(rule.names):
        here = (name == G) & (Y == 1)
        k, n = int((chosen & here).sum()), int(here.sum())
        low, high = stats.binomtest(k, n).proportion_ci(0.9)  # Clopper-Pearson
        layer = rates.layers[-1]
        assert layer["y"][place] == k / n
        assert layer["low"][place] == pytest.approx(low)
        assert layer["high"][place] == pytest.approx(high)
        assert points.layers[0]["y"][place] == rule.thresholds[name]
        assert page.sections[0].tables[0].rows[place][0] == name
    lines = [one["y"][0] for one in rates.layers[:2]]
    assert lines == [min(rule.rates), min(rule.rates) + 0.08]
    gap = f"on these rows {np.ptp(rule.rates):.3f} (90% interval"
    assert gap in " ".join(repr(rule).split())
    for form in ("text", "md", "html", "json"):
        assert str(rule.rules[0].n)[0] in page.render(form)
    assert gap in page.render("md")
    by_hand = am.ParityRule(("a", "b"), (am.Rule("f1", 0.3),) * 2, "recall", 0.1)
    assert "undefined" in am.report(by_hand).render("text")
    assert "on these rows" not in repr(by_hand).replace(
        "F1 undefined on these rows", ""
    )


@pytest.mark.parametrize("names", [("a", 'it\'s \\ "b"'), (1, 2), (True, False)])
def test_exports_give_the_labels_of_apply(names):
    """SQL by SQLite and DuckDB, and Python; a group that is not there has no label."""
    nothing = am.Rule("f1", math.inf, pos_label="yes", neg_label="no")
    rules = nothing, am.Rule("f1", 0.1 + 0.2, pos_label="yes", neg_label="no")
    rule = am.ParityRule(names, rules, "recall", 0.1)
    scores = [0.0, 1e-300, 0.3, 0.1 + 0.2, math.nextafter(0.1 + 0.2, 0.0), 1.0]
    rows = [(p, name) for name in names for p in scores]
    wanted = [*rule.apply(*zip(*rows, strict=True)).tolist(), None, None]
    rows += [(0.5, "other" if isinstance(names[0], str) else 7), (None, names[1])]
    space: dict = {}
    exec(rule.to_python("decide"), space)
    assert [space["decide"](*row) for row in rows] == wanted
    kind = {str: "TEXT", int: "INTEGER", bool: "INTEGER"}[type(names[0])]
    engines = [("sqlite", sqlite3.connect(":memory:"))]
    if find_spec("duckdb") and kind == "TEXT":
        engines.append(("duckdb", importlib.import_module("duckdb").connect()))
    for dialect, base in engines:
        text = rule.to_sql(dialect, ["score", "sex"])
        base.execute(f"CREATE TABLE t (i INTEGER, score DOUBLE, sex {kind})")
        table = [(i, *row) for i, row in enumerate(rows)]
        base.executemany("INSERT INTO t VALUES (?, ?, ?)", table)
        found = base.execute(f"SELECT {text} FROM t ORDER BY i").fetchall()
        assert [one for (one,) in found] == wanted
