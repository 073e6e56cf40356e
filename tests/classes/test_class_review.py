"""A class or a person: exact risks, risk that passes on, words, files, refusals."""

import json
import math
import pickle
import re
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import poisson

import argmetric as am
from argmetric._verbs.tune import Terms, fewest_rows, proportion_interval
from argmetric.classes._review import _certify
from binomials import tail

RNG = np.random.default_rng(0)
P = RNG.dirichlet([0.3, 0.3, 0.3], 3000)
Y = (P.cumsum(axis=1) < RNG.random((3000, 1))).sum(axis=1)
PROMISE = {"min_precision": 0.9, "confidence": 0.9, "review": True}
tune = am.classes.tune


def thresholds(best, top, right, floors, confidence):
    """The threshold of each class; infinite where nothing is proven."""
    terms = Terms({}, {}, confidence)
    found = np.full(len(floors), math.inf)
    try:
        promises, _ = _certify((0, 1), np.array(floors), (best, top, right), terms)
    except am.NotCertifiedError:
        return found
    for c, one in promises.items():
        found[c] = one.interval.low
    return found


# By class: mass and probability of a right label at the score 0.6, and at 0.9
POPULATIONS = {
    "a good model": [(1, "3/5", 2, "9/10"), (1, "3/5", 2, "9/10")],
    "all of one class is right": [(1, "1", 2, "1"), (1, "12/25", 1, "12/25")],
    "just wrong": [(1, "12/25", 1, "12/25"), (1, "12/25", 1, "12/25")],
    "wrong below": [(1, "0", 2, "3/5"), (2, "12/25", 2, "1")],
    "rare and wrong": [(3, "9/10", 3, "1"), (0, "0", 1, "49/100")],
}


@pytest.mark.parametrize("name", POPULATIONS)
def test_the_risk_of_all_draws_is_within_what_is_promised(name):
    """All draws of 4 rows with their exact probabilities, both floors 1/2."""
    n, kinds, scores = 4, POPULATIONS[name], (0.6, 0.9)
    total = sum(low + high for low, _, high, _ in kinds)
    cells, rates = [], {}
    for c, (low, under, high, over) in enumerate(kinds):
        for score, mass, q in zip(scores, (low, high), (under, over), strict=True):
            rates[c, score] = Fraction(mass, total), Fraction(q)
            for right in (True, False):
                part = Fraction(q) if right else 1 - Fraction(q)
                cells.append((c, score, right, Fraction(mass, total) * part))

    def is_wrong(c, threshold):
        taken = [rates[c, score] for score in scores if score >= threshold]
        mass = sum(m for m, _ in taken)
        return bool(mass) and sum(m * q for m, q in taken) / mass < Fraction(1, 2)

    broken = Fraction(0)
    for bars in combinations(range(n + len(cells) - 1), len(cells) - 1):
        counts = np.diff([-1, *bars, n + len(cells) - 1]) - 1
        ways, probability = math.factorial(n), Fraction(1)
        for count, cell in zip(counts.tolist(), cells, strict=True):
            ways //= math.factorial(count)
            probability *= cell[3] ** count
        if not probability:
            continue
        best, top, right = (
            np.repeat([cell[i] for cell in cells], counts) for i in range(3)
        )
        found = thresholds(best, top, right, (0.5, 0.5), 0.5)
        broken += ways * probability * any(is_wrong(c, found[c]) for c in (0, 1))
    assert broken <= Fraction(1, 2)


def test_a_class_that_is_given_in_full_passes_its_risk_on():
    """Class 0 is always right: class 1 is then tested at the whole risk."""
    best = np.repeat([0, 1], [60, 40])
    top = np.concatenate([np.linspace(0.5, 1, 60), np.linspace(0.5, 1, 40)])
    right = np.ones(100, dtype=bool)
    right[60:62] = False  # P(Bin(40, 1/10) <= 2) = .2228: more than .15, less than .3
    assert Fraction(15, 100) < tail(40, Fraction(1, 10), 2) < Fraction(3, 10)
    found = thresholds(best, top, right, (0.9, 0.9), 0.7)
    assert found.tolist() == [0.0, 0.0]
    right[:8] = False  # now class 0 keeps its own half
    found = thresholds(best, top, right, (0.9, 0.9), 0.7)
    lowest = []
    for first, n, errors in ((0, 60, 8), (60, 40, 2)):
        passed = [
            tail(n - i, Fraction(1, 10), errors - i) <= Fraction(15, 100)
            for i in range(errors + 1)
        ]
        lowest.append(top[first + passed.index(True)])
    assert found.tolist() == lowest


def test_classes_with_too_few_rows_take_no_risk():
    """Nine rows prove no floor of 0.9 at any risk: class 0 has all of it."""
    rows = np.arange(30)
    best, top = (rows > 20).astype(int), np.linspace(0.5, 1, 30)
    right = np.ones(30, dtype=bool)
    assert tail(21, Fraction(1, 10), 0) < Fraction(12, 100)
    found = thresholds(best, top, right, (0.9, 0.9), 0.88)
    assert found.tolist() == [0.0, math.inf]


def test_each_class_is_certified_as_a_label_of_its_own():
    """Where no class is given in full: `argmetric.tune` at a third of the risk."""
    rule = tune(Y, P, **PROMISE)
    best, sure = P.argmax(axis=1), round(1 - 0.1 / 3, 15)
    assert (rule.thresholds > 0).all()
    for c, promise in enumerate(rule.guarantee.promises):
        own = best == c
        alone = am.tune(
            Y[own] == c,
            P[own, c],
            "recall",
            min_precision=0.9,
            confidence=sure,
            n_bootstrap=0,
            cv=0,
        )
        assert alone.guarantee.promises[0] == promise
        assert promise.interval.low == rule.thresholds[c]
        given = own & (P[:, c] >= rule.thresholds[c])
        assert (promise.k, promise.errors) == (given.sum(), (Y[given] != c).sum())
        assert tail(promise.k, Fraction(1, 10), promise.errors) <= Fraction(1, 30)


@pytest.mark.parametrize("coarse", [lambda p: p, lambda p: np.round(p, 1)])
@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])  # over- and underconfident
def test_drawn_rows_break_a_promise_rarely(coarse, power):
    rng, broken, draws = np.random.default_rng(0), 0, 40
    truth = rng.dirichlet([0.4, 0.3, 0.2], 20_000)
    told = truth**power / (truth**power).sum(axis=1, keepdims=True)
    p = coarse(told)
    for _ in range(draws):
        rows = rng.integers(0, truth.shape[0], 300)
        drawn = (truth[rows].cumsum(axis=1) < rng.random((300, 1))).sum(axis=1)
        try:
            rule = tune(drawn, p[rows], classes=[0, 1, 2], **PROMISE)
        except am.NotCertifiedError:
            continue
        given = rule.predicts(p)
        right = [truth[given == c, c] for c in range(3)]
        broken += any(one.size and one.mean() < 0.9 - 1e-9 for one in right)
    assert broken / draws <= 0.1 + 2 * math.sqrt(0.09 / draws)


def test_labels_counts_and_proportions_agree():
    rule = tune(Y, P, **PROMISE)
    labels, columns = rule.apply(P), rule.predicts(P)
    for row, label in zip(P.tolist(), labels.tolist(), strict=True):
        c = row.index(max(row))
        assert label == (c if row[c] >= rule.thresholds[c] else -1)
    assert (labels == columns).all()
    assert rule.automated == pytest.approx((labels >= 0).mean(), abs=0.01)
    low, high = rule.automated_interval
    assert low < rule.automated < high
    right, wrong, asked = np.sum(rule.counts, axis=0)
    assert right + wrong + asked == rule.n == 3000
    assert right == (labels == Y).sum()
    assert asked == (labels == -1).sum()
    assert wrong == ((labels >= 0) & (labels != Y)).sum()


def test_classes_chosen_for_their_many_rows_are_not_counted_on():
    """Ten equal classes, 30 rows each: those with more have the thresholds."""
    rng = np.random.default_rng(5)
    p = rng.dirichlet([0.005] * 10, 20_000)
    best = p.argmax(axis=1)
    of_all, of_these, told, inside = [], [], [], []
    for _ in range(25):
        rows = rng.integers(0, best.size, 300)
        rule = tune(best[rows], p[rows], classes=list(range(10)), **PROMISE)
        of_all.append((rule.predicts(p) >= 0).mean())
        of_these.append((rule.predicts(p[rows]) >= 0).mean())
        told.append(rule.automated)
        inside.append(of_all[-1] == np.clip(of_all[-1], *rule.automated_interval))
    assert np.mean(of_these) > 1.15 * np.mean(of_all)
    assert np.mean(told) == pytest.approx(np.mean(of_all), rel=0.08)
    assert np.mean(inside) >= 0.8


def test_the_excess_of_classes_that_their_number_chose_is_exact():
    """E[r 1{r >= m}] - λ P(r >= m) = m P(r = m) where r is Poisson."""
    r = np.arange(400)
    for mean, m in [(30.0, 31), (53.0, 53), (0.4, 1), (80.0, 53)]:
        chosen = r >= m
        wanted = ((r - mean) * chosen * poisson.pmf(r, mean)).sum()
        assert wanted == pytest.approx(m * poisson.pmf(m, mean), rel=1e-9)
    sizes = [60, 33, 41, 0, 22]  # 33 rows without an error prove 0.9 at 0.1 / 3
    best = np.repeat(np.arange(5), sizes)
    p = np.full((best.size, 5), 1e-6)  # so sure that a test begins at all rows
    p[np.arange(best.size), best] = 1.0 + np.linspace(0, 1, best.size)
    p /= p.sum(axis=1, keepdims=True)
    rule = tune(best, p, classes=list(range(5)), **PROMISE)
    given = np.isfinite(rule.thresholds)
    assert given.tolist() == [True, True, True, False, False]
    m = fewest_rows(0.9, 0.1 / 3)
    own = [(m, size) for size in sizes if size]
    excess = sum(k * poisson.pmf(k, size) for k, size in own)
    assert rule.automated == pytest.approx((134 - excess) / 156, rel=1e-9)
    low = proportion_interval((134 - math.sqrt(2) * excess) / 156, 156, 0.9).low
    high = proportion_interval(134 / 156, 156, 0.9).high
    assert rule.automated_interval == pytest.approx((low, high))


@pytest.mark.parametrize(("sizes", "n"), [([1] * 20, 980), ([12, 12] + [1] * 20, 2150)])
def test_the_interval_holds_where_the_rows_of_classes_choose_them(sizes, n):
    """Half of the small classes are certified; of 70 draws 3.5 may miss at an end."""
    rng = np.random.default_rng(2)
    share = np.array(sizes) / sum(sizes)
    classes = list(range(share.size))
    scores = 0.9 + 0.05 * np.linspace(0, 1, n)
    below = above = 0
    told, true = [], []
    for _ in range(70):
        best = rng.choice(share.size, n, p=share)
        p = np.repeat((1.0 - scores)[:, None] / (share.size - 1), share.size, axis=1)
        p[np.arange(n), best] = scores
        rule = tune(best, p, classes=classes, **PROMISE)
        true.append(share[np.isfinite(rule.thresholds)].sum())
        told.append(rule.automated)
        low, high = rule.automated_interval
        below, above = below + (true[-1] < low), above + (true[-1] > high)
    assert np.mean(told) == pytest.approx(np.mean(true), abs=0.02)
    assert max(below, above) <= 70 * 0.05 + 2 * math.sqrt(70 * 0.05 * 0.95)


def test_a_rule_that_gives_every_row_a_class_has_no_interval_to_speak_of():
    best = np.repeat([0, 1], 60)
    p = np.stack([0.9 - 0.8 * best, 0.1 + 0.8 * best], axis=1)
    p[:, 0] += np.linspace(0, 0.01, 120)
    rule = tune(best, p / p.sum(axis=1, keepdims=True), **PROMISE)
    assert rule.thresholds.tolist() == [0.0, 0.0]
    assert (rule.automated, rule.automated_interval) == (1.0, (1.0, 1.0))


def test_ask_is_a_word_among_words_and_minus_one_among_numbers():
    words = np.array(["ham", "spam", "eggs"])
    named = tune(words[Y], P, classes=words, **PROMISE)
    assert named.ask == "ask"
    assert set(named.apply(P)) == {"ham", "spam", "eggs", "ask"}
    assert named.apply(P).dtype.kind == "U"
    assert tune(Y, P, **PROMISE, ask=7).apply([[0.4, 0.3, 0.3]]).tolist() == [7]
    mixed = tune(Y, P, **PROMISE, ask="a person").apply([[0.4, 0.3, 0.3], [0, 0, 1.0]])
    assert mixed.tolist() == ["a person", 2]
    with pytest.raises(ValueError, match="ask is -1, which is a class too"):
        tune(Y - 1, P, **PROMISE)


def test_classes_without_a_promise_or_a_proof_are_never_given():
    rule = tune(Y, P, **PROMISE | {"min_precision": {0: 0.8, 2: 0.9999}})
    assert np.isfinite(rule.thresholds).tolist() == [True, False, False]
    assert "no row is given 2: too few rows have it" in rule.notes[0]
    assert rule.guarantee.classes == (0,)
    assert set(rule.apply(P).tolist()) == {0, -1}
    wrong = tune(np.where(Y == 2, 0, Y), P, classes=[0, 1, 2], **PROMISE)
    assert wrong.thresholds[2] == math.inf  # a class that does not occur
    assert "no row is given 2: no threshold is proven to keep" in wrong.notes[0]
    with pytest.raises(am.NotCertifiedError, match=r"no class is proven, and \d comes"):
        tune((Y + 1) % 3, P, **PROMISE)
    with pytest.raises(am.NotCertifiedError, match="it takes 22 rows") as caught:
        tune(Y[:30], P[:30], **PROMISE)
    most = np.bincount(P[:30].argmax(axis=1)).max()
    assert caught.value.labels_needed == math.ceil(22 * 30 / most)


def test_odd_probabilities():
    """0, 1, subnormal ones, ties between classes, and all rows alike."""
    p = np.array([[1.0, 0.0], [0.5, 0.5], [5e-324, 1.0], [1 - 1e-16, 1e-16]] * 30)
    with pytest.warns(UserWarning, match="leave duplicates out"):
        rule = tune([0, 0, 1, 0] * 30, p, **PROMISE)
    assert rule.thresholds.tolist() == [0.0, 0.0]
    assert rule.apply(p[:4]).tolist() == [0, 0, 1, 0]
    assert rule.automated == pytest.approx(1.0)
    flat = tune([0] * 60 + [1], np.full((61, 2), 0.5), **PROMISE)
    assert flat.apply([[0.5, 0.5]]).tolist() == [0]
    assert flat.thresholds.tolist() == [0.0, math.inf]


def test_a_reference_calibrates_first():
    p = P**0.5 / (P**0.5).sum(axis=1, keepdims=True)
    rule = tune(Y[:2000], p[:2000], reference=(Y[2000:], p[2000:]), **PROMISE)
    plain = tune(Y[:2000], rule.calibrator.apply(p[:2000]), **PROMISE)
    assert (rule.thresholds == plain.thresholds).all()
    assert (rule.apply(p) == plain.apply(rule.calibrator.apply(p))).all()
    with pytest.raises(ValueError, match="cannot be exported"):
        rule.to_sql()
    assert am.Rule.from_dict(json.loads(json.dumps(rule.to_dict()))) == rule


def test_the_promises_stand_in_one_sentence():
    words = np.array(["ham", "spam", "eggs"])
    floors = {"ham": 0.8, "spam": 0.9, "eggs": 0.9}
    rule = tune(words[Y], P, classes=words, **PROMISE | {"min_precision": floors})
    sentence = (
        "with 90 % confidence at least 80 % of the rows given 'ham' belong to it and at"
        " least 90 % of the rows given each of 'spam', 'eggs' belong to it, if new rows"
        " come from the same population as these 3,000 rows"
    )
    assert rule.guarantee.sentence == sentence
    texts = [repr(rule), repr(rule.guarantee), rule._repr_html_()]
    texts += [am.report(rule).render(form) for form in ("md", "html", "text")]
    texts += [rule.to_python().replace("`", "'"), rule.to_sql()]
    texts.append(json.dumps(rule.to_dict(), ensure_ascii=False))
    for text in texts:
        plain = " ".join(text.replace("&#x27;", "'").replace("&#39;", "'").split())
        assert "at least 80 % of the rows given 'ham' belong" in plain
    many = {str(c): 0.5 for c in range(20)}
    p = np.random.default_rng(0).dirichlet([0.01] * 20, 3000)
    rule = tune(p.argmax(axis=1).astype(str), p, classes=list(many), **PROMISE)
    assert "given each of 20 classes belong" in rule.guarantee.sentence


def test_the_page_counts_the_rows_of_each_class():
    p = np.random.default_rng(0).dirichlet([0.01] * 40, 4000)
    rule = tune(p.argmax(axis=1), p, classes=list(range(40)), **PROMISE)
    page = am.report(rule)
    text = page.render("md")
    right, wrong, asked = rule.counts[3]
    cut = "none" if math.isinf(rule.thresholds[3]) else f"{rule.thresholds[3]:.4g}"
    assert f"| 3 | {cut} | {right:,} | {wrong:,} | {asked:,} |" in text
    assert "10 more classes are not shown" in page.render("html")
    assert "40 classes" in text
    assert json.loads(page.render("json"))["rule"]["n"] == 4000
    by_hand = am.report(am.classes.ClassReviewRule((0, 1), [0.5, 1.0])).render("md")
    assert "most probable" not in by_hand


def test_rules_save_and_load(tmp_path):
    rule = tune(Y, P, **PROMISE | {"min_precision": {0: 0.8, 1: 0.9}})
    rule.save(tmp_path / "rule.json")
    for kind in (am.Rule, am.classes.ClassReviewRule):
        loaded = kind.load(tmp_path / "rule.json")
        assert loaded == rule
        assert repr(loaded) == repr(rule)
    assert pickle.loads(pickle.dumps(rule)) == rule
    with pytest.raises(ValueError, match="damaged"):
        am.Rule.from_dict(rule.to_dict() | {"thresholds": ["high"] * 3})
    frame = rule.to_frame()
    assert frame["threshold"].tolist() == rule.thresholds.tolist()
    assert frame["asked"].tolist() == [asked for *_, asked in rule.counts]


REFUSED = """
confidence=None -> review=True promises what holds for new rows: pass confidence=0.9
min_precision=None -> review=True needs a promise: min_precision=0.9
min_precision={} -> min_precision names no class
min_precision={"cow": 0.9} -> names the class 'cow', which is not among 0, 1, 2
min_precision=0 -> min_precision of class 0 is 0, and must lie between 0 and 1
min_precision=1.0 -> min_precision of class 0 is 1, and must lie between 0 and 1
min_precision=[0.9, 90, 0.9] -> min_precision of class 1 is 90, and must lie between
min_precision=-0.5 -> min_precision must be 0 or a positive number, not -0.5
min_precision=math.nan -> min_precision must
min_precision=[0.9, 0.8] -> one value for each of the 3 classes, not 2
confidence=1.0 -> confidence must lie
confidence=90 -> confidence must lie
review=False -> min_precision is promised where a person sees unsure rows: pass review
review=False, min_precision=None -> confidence is promised where
review=False, min_precision=None, confidence=None, ask=7 -> ask=7 goes with review=True
review="yes" -> review must be True or False, not 'yes'
ask=[1] -> ask must be one label, not [1]
ask=math.nan -> ask must be one label, not nan
ask=2 -> ask is 2, which is a class too
metric="f1" -> review=True goes without metric
cost=np.eye(3) -> review=True goes without cost
average="macro" -> review=True goes without average
min_recall=0.5 -> review=True goes without min_recall
max_per_class=9 -> review=True goes without max_per_class: how many rows are given
sample_weight=P[:, 0] -> review=True goes without sample_weight: a test counts rows
mean=P[:, 0] -> review=True goes without mean: thresholds are on probabilities: pass p
groups=Y -> tune takes no groups: rows count one by one. Where those
prior=[0.2, 0.3, 0.5] -> tune takes no prior: rows stand for new ones. For other
new_rows=500 -> tune takes no new_rows: what is promised of classes holds for
for_rows=P -> tune takes no for_rows: what is promised of classes holds for
min_npv=0.9 -> tune takes no min_npv: it is of one class: am.tune(y == c, p[:, c], ...)
min_specificity=0.9 -> tune takes no min_specificity: it is of one class
logits=True -> tune takes no logits: it takes probabilities
zero_division=1.0 -> review=True goes without zero_division
y=Y * 0, classes=[0, 1, 2] -> y has one class
y=Y[:4], p=P[:4], classes=[0, 1, 2] -> 4 rows prove nothing
p=np.where(P > 0.999, math.nan, P) -> p has NaN at row
"""


@pytest.mark.parametrize("case", REFUSED.strip().splitlines())
def test_what_has_no_meaning_is_refused(case):
    arguments, _, message = case.partition(" -> ")
    known = {"math": math, "np": np, "P": P, "Y": Y}
    given = {"y": Y, "p": P, **PROMISE, **eval(f"dict({arguments})", known)}
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        tune(given.pop("y"), given.pop("p"), **given)


def test_the_ways_out_of_weights_and_other_prevalences_do_what_they_say():
    """Rows that are kept by weights, or drawn for prevalences, have these."""
    rng, n = np.random.default_rng(4), len(Y)
    weight = 1.0 + 3.0 * (Y == 1)
    kept = rng.random(n) < weight / weight.max()
    wanted = np.bincount(Y, weight) / weight.sum()
    got = np.bincount(Y[kept]) / kept.sum()
    assert got == pytest.approx(wanted, abs=0.03)
    new, old = np.array([0.2, 0.3, 0.5]), np.bincount(Y) / n
    r = new / old
    kept = rng.random(n) < r[Y] / r.max()
    assert np.bincount(Y[kept]) / kept.sum() == pytest.approx(new, abs=0.04)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"thresholds": [0.5]}, "a number for each of 2 classes"),
        ({"thresholds": [0.5, math.nan]}, "a number for each of 2 classes"),
        ({"min_precision": [0.5]}, "a number for each of 2 classes"),
        ({"classes": ("a", "a")}, "a class twice"),
        ({"classes": ("a",), "thresholds": [0.5]}, r"two or more, not \('a',\)"),
        ({"ask": "a"}, "ask is 'a', which is a class too"),
    ],
)
def test_rules_by_hand_are_checked(values, message):
    good = {"classes": ("a", "b"), "thresholds": [0.5, math.inf]}
    assert "nan%" not in repr(am.classes.ClassReviewRule(**good))
    assert "nan%" not in am.report(am.classes.ClassReviewRule(**good)).render()
    assert "nan%" not in am.report(am.ReviewRule("f1", 0.2, 0.5)).render()
    assert am.classes.ClassReviewRule(**good).predicts([[0.5, 0.5]]).tolist() == [0]
    with pytest.raises(ValueError, match=message):
        am.classes.ClassReviewRule(**good | values)
    with pytest.raises(ValueError, match="p must have 2 columns"):
        am.classes.ClassReviewRule(**good).apply([0.1, 0.9])


def test_pictures_count_the_rows():
    pytest.importorskip("matplotlib.pyplot", reason="needs the extra 'plot'")
    rule = tune(Y, P, **PROMISE)
    axes = rule.plot()
    names = axes.get_legend_handles_labels()[1]
    assert names == ["right", "wrong", "for a person"]
    widths = [patch.get_width() for patch in axes.patches]
    assert widths == np.ravel(rule.counts, order="F").tolist()
    assert rule.guarantee.plot() is not None
    with pytest.raises(ValueError, match="no counts"):
        am.classes.ClassReviewRule((0, 1), [0.5, 0.5]).plot()
