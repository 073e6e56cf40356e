"""compare: its distribution against plain twins, labels, plans, and files."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import argmetric as am

LOSS = am.CustomMetric(
    lambda tp, k, t, n: 1 - 2 * tp / (k + t), "loss", greater_is_better=False
)


def expit(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def models(seed: int, n: int = 3000, noise: tuple[float, ...] = (0.4, 1.2)) -> Any:
    """Labels, and scores of models that are as good as their noise is small."""
    rng = np.random.default_rng(seed)
    x = rng.normal(-1.5, 1.7, n)
    y = rng.random(n) < expit(x)
    return y, [expit(1.4 * (x + rng.normal(0.0, one, n)) + 0.3) for one in noise]


Y, P = models(0)
OLD, NEW = slice(0, 600), slice(600, None)
NEW_Y = Y[NEW]
CUTS = [0.4, 0.45]
LABELS = [p[NEW] >= cut for p, cut in zip(P, CUTS, strict=True)]
REFERENCE = Y[OLD], [p[OLD] for p in P]
FOUND = am.compare([p[NEW] for p in P], CUTS, reference=REFERENCE)


def true_scores(y: Any, labels: Any, metric: Any = "f1") -> np.ndarray:
    return np.array([am.evaluate(y, one, metric).score for one in labels])


# ---------------------------------------------------------------------- distributions


def plain_labels(p: Any, count: int) -> np.ndarray:
    """Labels of rows, independent of each other: (count, rows)."""
    return (np.random.default_rng(3).random((count, p.size)) < p) * 1.0


@pytest.mark.parametrize("metric", ["f1", "mcc", "recall"])
def test_differences_without_labels_are_those_of_a_plain_twin(metric: str) -> None:
    rng = np.random.default_rng(1)
    p = rng.beta(1.0, 2.0, 40)
    labels = np.array([p > 0.35, rng.random(40) < p], dtype=float)
    found = am.compare(p, list(labels), metric)
    y, value = plain_labels(p, 4000), am.get_metric(metric).value
    counts = [(y @ one, one.sum(), y.sum(axis=1), float(p.size)) for one in labels]
    wanted = np.array([value(*one) for one in counts]).T
    gap = wanted[:, 0] - wanted[:, 1]
    one = found.difference()
    assert one.mean == pytest.approx(gap.mean(), abs=4 * gap.std() / 60)
    assert one.probability == pytest.approx((gap > 0).mean(), abs=0.04)
    ends = np.quantile(gap, (0.05, 0.95))
    np.testing.assert_allclose(one.interval, ends, atol=0.12 * gap.std())
    for name, column in zip("AB", wanted.T, strict=True):
        score = found.scores()[name]
        assert score.mean == pytest.approx(column.mean(), abs=4 * column.std() / 60)


def test_means_over_groups_are_those_of_a_plain_twin() -> None:
    rng = np.random.default_rng(2)
    p, groups = rng.beta(1.0, 2.0, 60), np.repeat(np.arange(12), 5)
    labels = np.array([p > 0.35, p > 0.6], dtype=float)
    found = am.compare(p, list(labels), "f1", groups=groups)

    y = plain_labels(p, 3000).reshape(-1, 1, 12, 5)
    called = labels.reshape(2, 12, 5)
    hits, size = (y * called).sum(axis=3), called.sum(axis=2) + y.sum(axis=3)
    f1 = np.divide(2 * hits, size, out=np.zeros_like(hits), where=size > 0)
    wanted = f1.mean(axis=2)
    gap = wanted @ [1.0, -1.0]
    one = found.difference()
    assert one.mean == pytest.approx(gap.mean(), abs=5 * gap.std() / 30)
    ends = np.quantile(gap, (0.05, 0.95))
    np.testing.assert_allclose(one.interval, ends, atol=0.2 * gap.std())
    whole = am.compare(p, list(labels), "f1", groups=groups, known=(p > 0.5) * 1.0)
    exact = [
        am.evaluate(p > 0.5, one, "f1", groups=groups, average="groups").score
        for one in labels
    ]
    assert [x.mean for x in whole.scores().values()] == pytest.approx(exact)


@pytest.mark.parametrize("metric", ["f1", "mcc", "jaccard", "balanced_accuracy", LOSS])
def test_all_labels_leave_nothing_open(metric: Any) -> None:
    wanted = true_scores(NEW_Y, LABELS, metric)
    found = am.compare([p[NEW] for p in P], LABELS, metric, reference=REFERENCE)
    rows = found.next_rows(10_000)
    np.testing.assert_array_equal(rows, np.arange(NEW_Y.size))
    done = found.add(rows, NEW_Y)
    known = am.compare([p[NEW] for p in P], LABELS, metric, known=NEW_Y * 1.0)
    better = int(np.argmin(wanted) if metric is LOSS else np.argmax(wanted))
    for one in (done, known):
        assert [x.mean for x in one.scores().values()] == pytest.approx(list(wanted))
        gap = wanted[0] - wanted[1]
        assert one.mean == pytest.approx(gap)
        assert one.interval == pytest.approx((gap, gap))
        assert one.best() == ("AB"[better], 1.0)
        assert one.sure() == "AB"[better]
        assert one.difference().verdict == "counted"
        answer = repr(one).splitlines()[0]
        assert answer.startswith(f"{'AB'[better]} is better by {abs(gap):.3f} ")
        assert answer.endswith(
            "on these rows, whose labels are all known; others may differ"
        )
        assert not one.assumptions
        assert not {"assumes", "P(A is better)"} & dict(one.lines()).keys()
        assert am.report(one).values["comparison"]["mean"] == one.mean
        assert one.labels_needed(0.1) == 0
        with pytest.raises(ValueError, match="labels of all rows are known"):
            one.next_rows(1)


def test_certain_probabilities_are_no_labels() -> None:
    found = am.compare(np.zeros(9), [np.zeros(9), np.ones(9)], "specificity")
    assert found.difference().verdict == "sure"
    assert repr(found).startswith("A is better by 1.000 specificity (+1.000 to +1.000)")


def test_the_same_decisions_are_told() -> None:
    same = am.compare(P[0][NEW], [LABELS[0], LABELS[0]], reference=(Y[OLD], P[0][OLD]))
    one = same.difference()
    assert (one.mean, one.interval, one.probability) == (0.0, (0.0, 0.0), 0.5)
    assert one.verdict == "same score"
    assert same.best().probability == pytest.approx(0.5)
    assert same.sure(0.6) is None
    assert same.notes == ("B decides as A does: their difference is 0",)
    assert repr(same).startswith("A and B have the same F1")
    one = am.compare(
        P[0], [Y | True, Y & False], "mcc"
    )  # of all decisions of one class
    assert repr(one).startswith("A and B have the same MCC")


def test_differences_hold_and_labels_narrow_them() -> None:
    """Generated data with known truth, cuts that were tuned on the reference."""
    held, errors = np.zeros(2), np.zeros((2, 16))
    for seed in range(16):
        y, p = models(100 + seed, 2500)
        new, reference = slice(500, None), (y[:500], [one[:500] for one in p])
        how: dict[str, Any] = {"n_bootstrap": 0, "cv": None}
        rules = [am.tune(y[:500], one[:500], "f1", **how) for one in p]
        labels = [rule.applies(one[new]) for rule, one in zip(rules, p, strict=True)]
        gap = np.subtract(*true_scores(y[new], labels))
        found = am.compare([one[new] for one in p], labels, reference=reference)
        for step in range(2):
            low, high = found.interval
            held[step] += low <= gap <= high
            errors[step, seed] = found.mean - gap
            rows = found.next_rows(50, random_state=seed)
            found = found.add(rows, y[new][rows])
    assert (held >= 12).all()
    assert np.abs(errors).mean() < 0.05


# ---------------------------------------------------------------------------- labels


def test_rows_to_label_are_where_models_differ() -> None:
    rows = FOUND.next_rows(60)
    assert rows.size == 60
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(rows, FOUND.next_rows(60))
    assert not np.array_equal(rows, FOUND.next_rows(60, random_state=1))
    apart = LABELS[0] != LABELS[1]
    assert apart[rows].mean() > 4 * apart.mean()
    more = FOUND.add(rows, NEW_Y[rows])
    assert not set(more.next_rows(60)) & set(rows.tolist())
    assert (FOUND.n_labels, more.n_labels) == (0, 60)


def test_labels_are_added_step_by_step() -> None:
    found = FOUND
    for _ in range(3):
        rows = found.next_rows(25)
        found = found.add(rows, NEW_Y[rows])
    assert [one.n_labels for one in found.history] == [0, 25, 50]
    first = FOUND.difference()
    assert found.history[0][1:] == (first.mean, *first.interval)
    width = [one.high - one.low for one in found.estimates()]
    assert width[-1] < 0.6 * width[0]
    assert found.add([rows[0]], [NEW_Y[rows[0]]]) is found  # it is known already
    named = FOUND.add([1, 5, 7], ["spam", None, "ham"], pos_label="spam")
    assert named.table.y[[1, 5, 7]].tolist() == pytest.approx(
        [1, np.nan, 0], nan_ok=True
    )


def test_a_wrong_calibrator_is_corrected_by_labels() -> None:
    """The reference has other labels: half of the positives are none by now."""
    held, nearer, before = np.zeros(2), [], FOUND.scores()["A"]
    for seed in range(4, 10):
        y = NEW_Y & (np.random.default_rng(seed).random(NEW_Y.size) < 0.5)
        truth = true_scores(y, LABELS)
        found = FOUND
        for _ in range(4):
            rows = found.next_rows(50, random_state=seed)
            found = found.add(rows, y[rows])
        after, (low, high) = found.scores()["A"], found.interval
        assert before.interval[0] > truth[0]
        nearer.append((after.mean - truth[0]) / (before.mean - truth[0]))
        held[0] += after.interval[0] <= truth[0] <= after.interval[1]
        held[1] += low <= truth[0] - truth[1] <= high
    assert np.abs(nearer).mean() < 0.6
    assert (held >= 5).all()


def test_several_models() -> None:
    y, p = models(7, 3000, (0.3, 0.6, 1.0, 2.0))
    new = slice(600, None)
    labels = {name: one[new] >= 0.4 for name, one in zip("wxyz", p, strict=True)}
    scores = {name: one[new] for name, one in zip("wxyz", p, strict=True)}
    old = {name: one[:600] for name, one in zip("wxyz", p, strict=True)}
    found = am.compare(scores, labels, reference=(y[:600], old))
    truth = dict(zip("wxyz", true_scores(y[new], labels.values()), strict=True))
    for _ in range(2):
        rows = found.next_rows(40)
        found = found.add(rows, y[new][rows])
    assert truth[found.best().model] > max(truth.values()) - 0.02
    frame = found.to_frame("polars")
    assert frame.columns == ["model", "mean", "low", "high", "p_best", "n_positives"]
    assert frame["p_best"].sum() == pytest.approx(1.0)
    assert found.difference("w", "z").mean > 0.05
    assert found.difference(0, 3).mean == found.difference("w", "z").mean
    one, other = found.difference("w", "z"), found.difference("z", "w")
    assert one.mean == pytest.approx(-other.mean)
    assert one.probability == pytest.approx(1 - other.probability)
    with pytest.raises(ValueError, match="there is no model 'a': there are 'w', 'x'"):
        found.difference("a", "w")
    with pytest.raises(ValueError, match="first and second are one model, 'w'"):
        found.difference("w", 0)


# ---------------------------------------------------------------------- input, output


def test_models_are_given_in_many_ways() -> None:
    pandas = pytest.importorskip("pandas")
    wanted = FOUND.difference()
    p = [one[NEW] for one in P]
    rules = [am.tune(Y[OLD], one[OLD], "f1") for one in P]
    frame = pandas.DataFrame({"x": p[0], "y": p[1]})
    old = pandas.DataFrame({"y": P[1][OLD], "x": P[0][OLD]})
    for labels, scores, reference in (
        (np.array(LABELS).T, np.array(p).T, (Y[OLD], np.array(REFERENCE[1]).T)),
        (pandas.DataFrame(dict(zip("xy", LABELS, strict=True))), frame, (Y[OLD], old)),
        ({"y": LABELS[1], "x": LABELS[0]}, frame, (Y[OLD], old)),
    ):
        found = am.compare(scores, labels, reference=reference)
        one = found.difference(*(("x", "y") if "x" in found.names else "AB"))
        assert one.mean == pytest.approx(wanted.mean, abs=0.006)
    odds = [np.log(one / (1 - one)) for one in p]
    old_odds = [np.log(one[OLD] / (1 - one[OLD])) for one in P]
    found = am.compare(odds, LABELS, reference=(Y[OLD], old_odds), logits=True)
    assert found.mean == pytest.approx(wanted.mean, abs=1e-9)
    cuts = [np.log(one / (1 - one)) for one in CUTS]
    cut = am.compare(odds, cuts, reference=(Y[OLD], old_odds), logits=True)
    assert cut.mean == found.mean
    tuned = am.compare(p, rules, reference=REFERENCE)
    cut = [rule.applies(one) for rule, one in zip(rules, p, strict=True)]
    assert tuned.mean == am.compare(p, cut, reference=REFERENCE).mean
    made = [am.decide(one) for one in p]
    decided = am.compare(p, made)
    assert decided.mean == am.compare(p, [one.labels for one in made]).mean
    assert decided.assumptions[0].startswith("probabilities are calibrated")
    named = am.compare(
        p,
        [np.where(one, "yes", "no") for one in LABELS],
        reference=(np.where(Y[OLD], "yes", "no"), REFERENCE[1]),
        pos_label="yes",
    )
    assert named.mean == wanted.mean


def test_a_calibrator_is_for_one_column() -> None:
    one, other = P[1][NEW], P[1][OLD]
    calibrator = am.calibrate(Y[OLD], other)
    with pytest.raises(ValueError, match="a Calibrator is for one column of scores"):
        am.compare([one, one], LABELS, reference=calibrator)
    found = am.compare(one, LABELS, reference=calibrator)
    assert found.reference == (600, Y[OLD].sum())
    wanted = am.compare(one, LABELS, reference=(Y[OLD], other))
    assert found.mean == pytest.approx(wanted.mean, abs=0.01)


def test_matrices_are_averaged_as_forecast_does() -> None:
    rng = np.random.default_rng(5)
    p = rng.beta(1.0, 2.0, (50, 4))
    y = rng.random((50, 4)) < p
    labels = [p > 0.4, p > 0.55]
    for average in ("macro", "samples", "micro"):
        found = am.compare([p, p], [p > 0.4, 0.55], average=average, known=y * 1.0)
        wanted = [am.evaluate(y, one, average=average).score for one in labels]
        assert [x.mean for x in found.scores().values()] == pytest.approx(wanted)
        free = am.compare([p, p], labels, average=average)
        near = [am.forecast(p, one, average=average).mean for one in labels]
        assert [x.mean for x in free.scores().values()] == pytest.approx(near, abs=0.06)


def test_a_comparison_is_kept_in_a_file(tmp_path: Any) -> None:
    rows = FOUND.next_rows(30)
    found = FOUND.add(rows, NEW_Y[rows])
    found.save(tmp_path / "c.json")
    again = am.Comparison.load(tmp_path / "c.json")
    assert repr(again) == repr(found)
    np.testing.assert_array_equal(again.next_rows(25), found.next_rows(25))
    rows = found.next_rows(25)
    one, other = (x.add(rows, NEW_Y[rows]) for x in (found, again))
    assert one.to_dict() == other.to_dict()
    groups = np.arange(NEW_Y.size) // 6
    by_group = am.compare(P[0][NEW], LABELS, "gmean", groups=groups)
    assert by_group.next_rows(9).size == 9
    by_group.save(tmp_path / "g.json")
    assert am.Comparison.load(tmp_path / "g.json").interval == by_group.interval
    with pytest.raises(ValueError, match="no saved comparison"):
        am.Comparison.from_dict({"file": "x"})
    for part in ({"names": ["A"]}, {"groups": [[1], [2]]}):
        with pytest.raises(ValueError, match="do not fit together"):
            am.Comparison.from_dict(found.to_dict() | part)


def test_what_it_shows() -> None:
    rows = FOUND.next_rows(50)
    found = FOUND.add(rows, NEW_Y[rows])
    text, one = repr(found), found.difference()
    wanted = one._answer("F1", greater_is_better=True, several=False)
    assert text.splitlines()[0] == wanted
    assert f"P(A is better)  {one.probability:.3f}" in text
    assert "labels          50 of 2,400 rows (2.1%)" in text
    assert f"assumes         {'; '.join(found.assumptions)}" in text
    assert f"{one.mean:+.4f}, 90% interval {one.interval[0]:+.4f} to " in text
    values = found.to_dict()
    assert values["mean"] == one.mean
    assert values["best"] == {"model": "A", "probability": found.best().probability}
    ax = found.plot()
    assert ax.get_ylabel() == "F1 of A - B"
    assert FOUND.plot(ax) is ax


FIRST_LINES = """
F1 0.015 -0.074 0.101 0.6 Cannot tell yet: a ahead by 0.015 F1 (-0.074 to +0.101)
F1 -0.015 -0.101 0.074 0.4 Cannot tell yet: b ahead by 0.015 F1 (-0.074 to +0.101)
F1 -0.015 -0.101 0 0.4 Cannot tell yet: b ahead by 0.015 F1 (+0.000 to +0.101)
F1 -0.05 -0.08 -0.02 0.002 b is better by 0.050 F1 (+0.020 to +0.080), probability .998
F1 0.05 0.0 0.1 0.95 a is likely better by 0.050 F1 (+0.000 to +0.100), probability .950
F1 0.05 0.04 0.06 1 a is better by 0.050 F1 (+0.040 to +0.060), probability over .999
F1 0 0 0 0.5 a and b have the same F1
loss -0.05 -0.08 -0.02 0.998 a is better than b by 0.050 loss (+0.020 to +0.080), prob
loss 0.01 -0.02 0.04 0.4 Cannot tell yet: b ahead of a by 0.010 loss (-0.020 to +0.040)
"""


@pytest.mark.parametrize("case", FIRST_LINES.strip().splitlines())
def test_the_first_line_says_one_thing(case: str) -> None:
    """Of a loss less is better; there it is one of several pairs."""
    title, *numbers, answer = case.split(maxsplit=5)
    mean, low, high, probability = map(float, numbers)
    gap = am.Difference("a", "b", mean, (low, high), 0.9, probability)
    up = title == "F1"
    text = gap._answer(title, greater_is_better=up, several=not up)
    assert text.startswith(answer)


def test_notebooks_show_both_posteriors_and_their_difference() -> None:
    page = FOUND._repr_html_()
    assert page.count("<svg") == 2
    assert page.count("<polyline") == 2
    assert "<title>F1 of A - B</title>" in page
    assert page.count(FOUND.assumptions[0]) == 1  # folded, in no line besides
    odd = am.compare({"<a>": P[0][NEW]}, {"<a>": 0.4})
    assert odd._repr_html_().count("<svg") == 1
    assert "<a>" not in odd._repr_html_()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [LABELS[0], LABELS[1][:-1]]}, "labels of B has shape"),
        ({"p": [P[0][NEW], P[1]]}, r"p of B has shape \(3000,\), but p"),
        ({"pos_label": 9}, "^labels of A and labels of B never hold 9"),
        ({"p": [P[0][NEW]] * 3}, "decisions of 2 models, but the scores of 3"),
        ({"labels": [0.1, 0.2, 0.3]}, "labels are 3 numbers, thresholds, for 2"),
        ({"labels": []}, "labels is empty: there is no model"),
        ({"labels": {1: LABELS[0], "1": LABELS[1]}}, "two models are called '1'"),
        ({"p": {}}, "p is empty: there is no model"),
        ({"labels": {"a": 0.4, "b": 0.4}, "p": {"a": P[0], "c": P[1]}}, "names must"),
        ({"reference": (Y[OLD], REFERENCE[1][:1])}, "scores of 1 models, but p of 2"),
        (
            {"reference": (Y[OLD][:9], REFERENCE[1])},
            r"has shape \(9,\) but p of A in the reference",
        ),
        ({"reference": (np.zeros(600), REFERENCE[1])}, "no positive among its 600"),
        ({"reference": (np.ones(600), REFERENCE[1])}, "no negative among its 600 rows"),
        ({"reference": (Y[OLD], [np.full(600, 0.5)] * 2)}, "reference are equal"),
        ({"reference": 3}, "reference must be labelled rows here, a pair"),
        ({"known": np.zeros(5)}, "known has shape"),
        ({"coverage": 2}, "coverage must lie strictly between 0 and 1"),
        ({"groups": np.arange(7)}, "groups"),
        ({"average": "macro"}, "needs groups"),
        ({"p": NEW_Y * 1, "reference": None}, "0 or 1.* true labels as known="),
        ({"p": [NEW_Y * 1] * 2, "reference": None}, "all of them 0 or 1"),
        ({"labels": [P[1][NEW]] * 2}, "^labels of A(?!.*swap)"),
        ({"p": ["0.3"] * 2400, "reference": None}, "p is not a number at row 0: '0.3'"),
    ],
)
def test_what_is_refused(change: dict[str, Any], message: str) -> None:
    given = {"labels": LABELS, "p": [p[NEW] for p in P], "reference": REFERENCE}
    with pytest.raises((ValueError, TypeError), match=message):
        am.compare(**(given | change))


@pytest.mark.parametrize(
    ("p", "labels"),
    [
        (LABELS, [p[NEW] for p in P]),
        (CUTS, [p[NEW] for p in P]),
        (LABELS[0] * 1, P[0][NEW]),
        (0.4, P[0][NEW]),
        ({"a": LABELS[0], "b": LABELS[1]}, np.array(P)[:, NEW].T),
        ([am.tune(Y[OLD], P[0][OLD], "f1", n_bootstrap=0)], P[0][NEW]),
        ([am.decide(P[0][NEW])], [P[0][NEW]]),
    ],
)
def test_a_swapped_call_is_recognised(p: Any, labels: Any) -> None:
    with pytest.raises(ValueError, match="p like labels: did you swap them"):
        am.compare(p, labels)
    am.compare(labels, p)  # the other way round it is fine


@pytest.mark.parametrize("verb", ["forecast", "review_rows"])
@pytest.mark.parametrize("kind", [list, np.array, pd.Series])
def test_a_swapped_call_of_one_column_is_recognised(verb: str, kind: Any) -> None:
    p, labels, call = kind(P[0][NEW]), kind(LABELS[0] * 1), getattr(am, verb)
    said = rf"did you swap them\? The order is {verb}\(p, labels, metric\)"
    for given in (labels, kind(LABELS[0]), kind(LABELS[0] * 1.0)):
        with pytest.raises(ValueError, match=said):
            call(given, p)
    call(p, labels)
    with pytest.raises(ValueError, match="labels holds") as caught:
        call(p, p)
    assert "swap" not in str(caught.value)


ADDED: Any = (
    ([7, 3, 7], [0, 1, 1], "row 7 is labelled twice, once 0 and once 1"),
    ([3], [0], "row 3 is labelled 0, but it was 1 before"),
    ([1, 2400], [0, 1], "rows has 2400 at position 1: the 2,400 rows"),
    ([0.5], [1], "rows must be whole numbers"),
    ([1, 2], [1], "y has shape"),
)


@pytest.mark.parametrize(("rows", "y", "message"), ADDED)
def test_labels_that_cannot_be_added(rows: Any, y: Any, message: str) -> None:
    more = FOUND.add([9, 9, 3], [0, 0, 1])
    assert more.n_labels == 2
    with pytest.raises((ValueError, TypeError), match=message):
        more.add(rows, y)


def test_verdicts_of_a_judge_are_scores_beside_labels() -> None:
    known = np.where(np.arange(NEW_Y.size) < 60, NEW_Y, np.nan)
    with pytest.warns(UserWarning, match="all of them 0 or 1"):
        assert am.compare(LABELS[1] * 1.0, LABELS[:1], known=known).n_labels == 60


JUDGE, SOME = P[0][:900], np.arange(0, 900, 30)
SAID = [Y[:900] ^ (P[1][:900] > 0.9), Y[:900]]
GROUPS = np.arange(900) // 9


def notes(p: Any = JUDGE, labels: Any = SAID, **how: Any) -> str:
    return " ".join(am.compare(p, labels, **how).notes)


def test_rows_that_are_labelled_twice_get_a_note() -> None:
    y, odds, both = Y[SOME], np.log(JUDGE / (1 - JUDGE)), [p[SOME] for p in P]
    for text in (
        notes(reference=(y, np.float32(JUDGE[SOME])), known=Y[:900]),
        notes(odds, logits=True, reference=(y, odds[SOME])),
        notes([p[:900] for p in P], reference=(y, both)),
    ):
        assert text.startswith("all scores of the reference occur in p: if they are")
    for few in (JUDGE.round(2), 0.8 * (JUDGE > 0.4) + 0.1):  # by accident
        assert "occur in p" not in notes(few, reference=(y, few[SOME]))
    assert "occur in p" not in notes(reference=(Y[900:], P[0][900:]))


def test_a_judge_without_labels_gets_a_note() -> None:
    note, grouped = "not what the systems know beyond it", {"groups": GROUPS}
    found, decided = am.compare(JUDGE, SAID), am.decide(JUDGE, groups=GROUPS)
    assert {"assumes", "note:"} < set(repr(found).split())
    assert note in notes(reference=(Y[900:], P[0][900:]))
    assert note in notes(labels=SAID[:1], **grouped)
    assert note not in repr(found.add([3], [1])) + notes(known=Y[:900])
    assert note not in notes([p[:900] for p in P]) + notes(labels=[0.3])
    assert note not in notes(labels=[decided], **grouped)
    # The judge prefers its own decisions: nothing is sure before the first label.
    own = am.compare(JUDGE, [JUDGE >= 0.4, SAID[0]])
    assert (own.difference().probability > 0.99, own.sure()) == (True, None)
    assert (own.difference().verdict, own.n_labels) == ("likely", 0)
    assert repr(own).startswith("A is likely better")
