"""Accept, ask or reject: exact risks, cuts that cross, sides without a proof, words."""

import json
import math
import pickle
import re
from fractions import Fraction

import numpy as np
import pytest

import argmetric as am
from argmetric._verbs._certify import LabelledRows, Terms
from argmetric._verbs.tune._review import proportion_interval, review_guarantee
from argmetric.metrics import get_metric
from binomials import all_samples, population, tail

F1 = get_metric("f1")
RNG = np.random.default_rng(0)
P = RNG.random(2000)
Y = (RNG.random(2000) < P).astype(int)
BOTH = {"min_precision": 0.8, "min_npv": 0.8, "confidence": 0.9}


def cuts(p, y, limits, confidence):
    """Both cuts; infinite where no side is proven."""
    terms = Terms(limits, dict.fromkeys(limits, ""), confidence)
    try:
        found, _ = review_guarantee(LabelledRows(p, y, True), terms, F1)
    except am.NotCertifiedError:
        return -math.inf, math.inf
    return found.low, found.threshold


# Mass of each score and its probability of a positive, from the lowest score up
POPULATIONS = {
    "a good model": [(1, "1/10"), (2, "1/2"), (1, "9/10")],
    "at both floors": [(1, "1/2"), (1, "1/2"), (2, "1/2")],
    "just wrong": [(2, "13/25"), (1, "1/2"), (2, "12/25")],
    "rare": [(6, "1/20"), (1, "1/5"), (1, "12/25")],
}


@pytest.mark.parametrize("name", POPULATIONS)
def test_the_risk_of_all_draws_is_within_what_is_promised(name):
    """All draws of 6 rows with their exact probabilities, both floors 1/2."""
    scores = 0.2, 0.5, 0.9
    cells = population(scores, POPULATIONS[name])

    def right(taken, label):
        mass = {x: sum(c for s, _, c in cells if s == x) for x in taken}
        hits = sum(c for s, one, c in cells if s in taken and one == label)
        return not mass or hits / sum(mass.values()) >= Fraction(1, 2)

    broken = {"accept": Fraction(0), "reject": Fraction(0)}
    for p, y, probability in all_samples(cells, 6):
        low, high = cuts(p, y, {"min_precision": 0.5, "min_npv": 0.5}, 0.5)
        accepted, rejected = (
            [x for x in scores if x >= high],
            [x for x in scores if x < low],
        )
        broken["accept"] += 0 if right(accepted, True) else probability
        broken["reject"] += 0 if right(rejected, False) else probability
    assert max(broken.values()) <= Fraction(1, 4)


GRID = (np.arange(8000) + 0.5) / 8000
CURVES = {
    "calibrated": lambda p: p,
    "overconfident": lambda p: 0.2 + 0.6 * p,
    "flat at the floors": lambda p: np.clip(1.2 * p - 0.1, 0.2, 0.8),
    "a bad top": lambda p: np.where(p > 0.95, 0.5, p),
    "rare": lambda p: 0.3 * p**6,
}
COARSE = {
    "fine": lambda p: p,
    "tenths": lambda p: np.round(p, 1),
    "tiny": lambda p: p**40 * 1e-300,
    "sure": lambda p: np.where(p > 0.6, 1.0, np.where(p < 0.3, 0.0, p)),
}


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("coarse", COARSE)
def test_drawn_rows_break_a_promise_rarely(name, coarse):
    curve, rounded, draws = CURVES[name], COARSE[coarse], 30
    rng, broken = np.random.default_rng(len(name)), 0
    for _ in range(draws):
        latent = rng.random(300)
        y = rng.random(300) < curve(latent)
        limits = {"min_precision": 0.8, "min_npv": 0.8}
        low, high = cuts(rounded(latent), y, limits, 0.9)
        accepted, rejected = rounded(GRID) >= high, rounded(GRID) < low
        wrong = accepted.any() and curve(GRID[accepted]).mean() < 0.8 - 1e-9
        broken += wrong or (
            rejected.any() and curve(GRID[rejected]).mean() > 0.2 + 1e-9
        )
    assert broken / draws <= 0.1 + 2 * math.sqrt(0.09 / draws)


@pytest.mark.filterwarnings("ignore:every score occurs")
def test_scores_that_one_minus_p_would_tie_have_cuts_of_their_own():
    """1 - p of a float below .5 and of the next one are the same."""
    low, above = 0.1, np.nextafter(0.1, 1.0)
    assert 1 - low == 1 - above
    p, y = (
        np.repeat([low, above, 0.5], [200, 100, 100]),
        np.repeat([0, 1, 1], [200, 100, 100]),
    )
    rule = am.tune(y, p, min_npv=0.9, confidence=0.9, review=True)
    assert rule.low == above
    assert rule.apply([low, above]).tolist() == [0, -1]
    plain = am.tune(y, p, "recall", min_npv=0.9, confidence=0.9, cv=0, n_bootstrap=0)
    assert plain.threshold == above


@pytest.fixture(scope="module")
def rule():
    return am.tune(Y, P, **BOTH, review=True)


def test_both_promises_stand_in_one_sentence(rule):
    low, high = f"{rule.low:.4g}", f"{rule.high:.4g}"
    assert rule.guarantee.sentence == (
        f"with 90 % confidence at least 80 % of the accepted rows (p ≥ {high}) are "
        f"positive and at least 80 % of the rejected rows (p < {low}) are negative, if "
        "new rows come from the same population as these 2,000 rows"
    )
    texts = [repr(rule), rule._repr_html_(), rule.to_python(), rule.to_sql()]
    texts += [am.report(rule).render(form) for form in ("md", "html", "text")]
    texts.append(json.dumps(rule.to_dict(), ensure_ascii=False))
    assert all("80 % of the rejected rows (p" in text for text in texts)


def test_each_side_is_certified_at_half_of_the_risk(rule):
    for name, side in (("min_precision", rule.high), ("min_npv", rule.low)):
        alone = am.tune(
            Y, P, "f1", **{name: 0.8}, confidence=0.95, cv=0, n_bootstrap=0
        ).guarantee.promises[0]
        own = next(x for x in rule.guarantee.promises if x.name == name)
        assert own == alone
        assert side == alone.interval[name == "min_npv"]
        assert tail(own.k, Fraction(1, 5), own.errors) <= Fraction(1, 20)


def test_labels_actions_and_proportions_agree(rule):
    labels, actions = rule.apply(P), rule.actions(P)
    assert (labels == 1).mean() == rule.accepted == (actions == "accept").mean()
    assert (labels == 0).mean() == rule.rejected == (actions == "reject").mean()
    assert ((labels == -1) == (actions == "ask")).all()
    assert rule.automated == rule.accepted + rule.rejected
    assert rule.predict([rule.low, rule.high]).tolist() == [-1, 1]
    edges, negative, positive = rule.histogram
    assert sum(positive) == Y.sum()
    assert sum(negative) + sum(positive) == Y.size
    assert edges[0] <= P.min() <= P.max() <= edges[-1]


def test_rules_save_and_load(rule, tmp_path):
    rule.save(tmp_path / "rule.json")
    for kind in (am.Rule, am.ReviewRule):
        loaded = kind.load(tmp_path / "rule.json")
        assert loaded == rule
        assert repr(loaded) == repr(rule)
    assert pickle.loads(pickle.dumps(rule)) == rule
    never = am.ReviewRule("f1", -math.inf, math.inf)
    assert am.Rule.from_dict(json.loads(json.dumps(never.to_dict()))) == never
    by_function = am.ReviewRule("f1", 0.1, 0.9, calibrator=np.sqrt)
    same = am.ReviewRule("f1", 0.1, 0.9, calibrator=np.sqrt)
    assert by_function.apply([0.04, 0.5]).tolist() == [-1, -1]
    assert by_function == same
    damaged = rule.to_dict() | {"low": "high"}
    with pytest.raises(ValueError, match="damaged"):
        am.Rule.from_dict(damaged)


def test_where_cuts_cross_nobody_is_asked():
    easy = am.tune(Y, P, min_precision=0.6, min_npv=0.6, confidence=0.9, review=True)
    assert easy.low == easy.high
    assert easy.automated == 1.0
    ends = [one.interval for one in easy.guarantee.promises]
    assert max(x.low for x in ends) <= easy.low <= min(x.high for x in ends)
    recall = am.tune(
        Y, P, "recall", min_precision=0.6, min_npv=0.6, confidence=0.9, review=True
    )
    assert recall.low < easy.low  # the metric chooses among the cuts of both


def test_a_side_without_a_proof_asks():
    rule = am.tune(Y, P, min_precision=0.9999, min_npv=0.8, confidence=0.9, review=True)
    assert rule.high == math.inf
    assert set(rule.apply(P)) == {0, -1}
    assert "no row is accepted: no threshold is proven" in rule.notes[0]
    assert [x.name for x in rule.guarantee.promises] == ["min_npv"]
    alone = am.tune(Y, P, min_precision=0.8, confidence=0.9, review=True)
    assert alone.low == -math.inf
    assert alone.notes == ()
    with pytest.raises(
        am.NotCertifiedError, match=r"0.9999 .*; no threshold"
    ) as caught:
        am.tune(Y, P, min_precision=0.9999, min_npv=0.9999, confidence=0.9, review=True)
    assert caught.value.nearest["k"] > 0


def test_five_positives_leave_all_rows_to_the_floor_of_the_others():
    y = np.zeros(400, dtype=int)
    p = np.linspace(0.001, 0.3, 400)
    y[[100, 250, 390, 395, 399]] = 1
    rule = am.tune(y, p, min_precision=0.9, min_npv=0.9, confidence=0.9, review=True)
    assert rule.rejected == 1.0
    assert "every row is rejected" in rule.notes[-1]
    caught = am.tune(y, p, min_recall=0.5, confidence=0.9, review=True)
    assert caught.low == p[100]  # P(Bin(5, .5) = 0) <= .1, and <= 1 is not


def test_rows_of_one_class_say_what_the_proportion_is_of():
    limits = {"min_recall": 0.9, "confidence": 0.9, "review": True}
    for prior in (None, 0.2):
        rule = am.tune(np.ones(2000, dtype=int), P, **limits, prior=prior)
        assert rule.automated == rule.rejected == (rule.low > P).mean()
        assert rule.notes == ("only positive rows: automated is a proportion of them",)


def test_recall_and_specificity_are_of_the_whole():
    rule = am.tune(
        Y, P, min_recall=0.9, min_specificity=0.95, confidence=0.9, review=True
    )
    assert (P[Y == 1] >= rule.low).mean() >= 0.9
    assert (P[Y == 0] < rule.high).mean() >= 0.95
    assert "positive rows are not rejected" in rule.guarantee.sentence
    assert "negative rows are not accepted" in rule.guarantee.sentence


def test_another_prevalence_moves_promise_and_proportion():
    rare = am.tune(Y, P, **BOTH, review=True, prior=0.2)
    plain = am.tune(Y, P, **BOTH, review=True)
    assert rare.high > plain.high
    assert rare.low > plain.low
    decided = (rare.high <= P) | (rare.low > P)
    expected = 0.2 * decided[Y == 1].mean() + 0.8 * decided[Y == 0].mean()
    assert rare.automated == pytest.approx(expected, abs=1e-12)
    assert "20 % of new rows are positive" in rare.guarantee.sentence


def test_groups_certify_with_one_row_each_and_a_calibrator_is_kept():
    groups = np.arange(2000) // 2
    rule = am.tune(Y, P, **BOTH, review=True, groups=groups)
    assert rule.guarantee.n == 1000
    assert rule.n == 2000
    mapped = am.tune(Y, P**2, **BOTH, review=True, reference=(Y[:1000], P[:1000] ** 2))
    assert "calibrated p" in repr(mapped)
    assert set(mapped.apply([0.0, 0.25, 1.0])) == {0, -1, 1}


def test_labels_keep_their_names():
    words = np.where(Y == 1, "spam", "ham")
    rule = am.tune(words, P, **BOTH, review=True, pos_label="spam", ask="look")
    assert rule.apply([0.0, 0.5, 1.0]).tolist() == ["ham", "look", "spam"]
    truth = am.tune(Y == 1, P, **BOTH, review=True)
    assert truth.apply([0.0, 0.5, 1.0]).tolist() == [0, -1, 1]
    negated = am.tune(Y == 1, 1 - P, **BOTH, review=True, pos_label=False)
    assert negated.apply([0.0, 0.5, 1.0]).tolist() == [1, -1, 0]
    with pytest.raises(ValueError, match=r'labels are -1 and 1: .* such as ask="ask"'):
        am.tune(2 * Y - 1, P, **BOTH, review=True)


REFUSED = """
review=True, min_precision=0.8 -> pass confidence=0.9
review=True, confidence=0.9 -> review=True needs a promise
review=True, confidence=0.9, max_positives="5%" -> goes without max_positives
review=True, confidence=0.9, min_npv=0.8, average="groups" -> average has no meaning
review=True, confidence=0.9, min_npv=0.8, metric=["f1", "mcc"] -> one metric
review=True, confidence=0.9, min_npv=0.8, sample_weight=P -> sample_weight has no
review="no", confidence=0.9, min_npv=0.8 -> review must be True or False, not 'no'
ask="look" -> ask='look' goes with review=True
review=True, ask=None, confidence=0.9, min_npv=0.8 -> ask must be one label, not None
review=True, ask=[1], confidence=0.9, min_npv=0.8 -> ask must be one label, not [1]
review=True, ask=math.nan, confidence=0.9, min_npv=0.8 -> ask must be one label, not nan
"""


@pytest.mark.parametrize("case", REFUSED.strip().splitlines())
def test_what_has_no_meaning_is_refused(case):
    arguments, _, message = case.partition(" -> ")
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        eval(f"am.tune(Y, P, {arguments})", {"am": am, "Y": Y, "P": P, "math": math})


def test_a_matrix_is_refused():
    with pytest.raises(ValueError, match="one column of scores"):
        am.tune(np.c_[Y, Y], np.c_[P, P], **BOTH, review=True)


def test_the_interval_of_the_proportion_is_exact():
    low, high = proportion_interval(0.3, 20, 0.9)
    assert 1 - sum(
        math.comb(20, k) * low**k * (1 - low) ** (20 - k) for k in range(6)
    ) == pytest.approx(0.05)
    assert sum(
        math.comb(20, k) * high**k * (1 - high) ** (20 - k) for k in range(7)
    ) == pytest.approx(0.05)
    assert proportion_interval(0.0, 20, 0.9)[0] == 0.0
    assert proportion_interval(1.0, 20, 0.9)[1] == 1.0


def test_pictures_show_the_band(rule):
    pytest.importorskip("matplotlib.pyplot", reason="needs the extra 'plot'")
    axes = rule.plot()
    names = axes.get_legend_handles_labels()[1]
    assert sorted(names) == ["for a person", "negative", "positive"]
    axes.figure.clear()
    assert "<svg" in rule._repr_html_()
    with pytest.raises(ValueError, match="no histogram"):
        am.ReviewRule("f1", 0.1, 0.2).plot()
