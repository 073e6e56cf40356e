"""Reports of one label per row: what they say is what the results say."""

import json
from pathlib import Path

import numpy as np
import pytest

import argmetric as am

NAMES = ["ok", "late", "lost"]


def rows_of(n, count, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.geomspace(3.0, 0.3, count), size=n)
    return (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1), p


@pytest.fixture(scope="module")
def made():
    code, p = rows_of(500, 3)
    y = np.array(NAMES)[code]
    d = am.classes.decide(p, classes=NAMES)
    return d, y, json.loads(am.report(d, y).render("json"))


def table(said, key):
    (found,) = [one for one in said["sections"] if one["key"] == key]
    return found["tables"][0]


def test_cards_have_expected_most_probable_and_actual_score(made):
    d, y, said = made
    actual = am.classes.evaluate(y, d.labels, classes=NAMES)
    values = {card["name"]: card["value"] for card in said["cards"]}
    assert values == {
        "Forecast macro F1": f"{d.forecast().mean:.3f}",
        "Most probable": dict(d.lines())["most probable"],
        "Actual macro F1": f"{float(actual):.3f}",
    }


def test_cards_of_a_page_with_a_reference_are_forecasts():
    code, p = rows_of(700, 3)
    y = np.array(NAMES)[code]
    reference = y[:200], p[:200]
    for metric in ("f1", "balanced_accuracy", "gmean", "mcc"):
        d = am.classes.decide(p[200:], metric, classes=NAMES, reference=reference)
        said = json.loads(am.report(d).render("json"))
        values = [card["value"] for card in said["cards"]]
        usual = np.array(NAMES)[d._batch.p.argmax(axis=1)]
        other = am.classes.forecast(
            p[200:], usual, metric, classes=NAMES, reference=reference
        )
        assert values == [f"{d.forecast().mean:.3f}", f"{other.mean:.3f}"]
        assert d.forecast().mean >= other.mean - 0.01
        assert any("take it as exact" in note for note in said["notes"])


def test_tables_are_those_of_the_decision(made):
    d, y, said = made
    gains = {row[0]: row[4] for row in table(said, "classes")["rows"]}
    for name, here, usual in zip(
        NAMES, d.per_class, d.per_class_most_probable, strict=True
    ):
        assert gains[name] == f"{here - usual:+.3f}"
    rows = table(said, "confusion-expected")["rows"]
    expected = [[f"{cell:,.1f}" for cell in row] for row in d.expected_confusion]
    assert [row[1:] for row in rows] == expected
    rows = table(said, "confusion-actual")["rows"]
    actual = am.classes.evaluate(y, d.labels, classes=NAMES).confusion
    assert [row[1:] for row in rows] == [[f"{x:.0f}" for x in row] for row in actual]
    check = am.classes.check(y, d._batch.p, d.metric, classes=NAMES)
    rows = [tuple(row) for row in table(said, "class-check")["rows"]]
    assert rows == check.lines()[2:]


def test_many_classes_have_their_most_frequent_confusions():
    _, p = rows_of(400, 40, seed=1)
    d = am.classes.decide(p)
    said = json.loads(am.report(d).render("json"))
    first = table(said, "confusion-expected")["rows"][0]
    wrong = d.expected_confusion
    np.fill_diagonal(wrong, 0.0)
    a, b = np.unravel_index(wrong.argmax(), wrong.shape)
    assert first[:3] == [str(a), str(b), f"{wrong.max():,.1f}"]
    assert len(table(said, "classes")["rows"]) == 30
    assert not any(one["key"] == "class-check" for one in said["sections"])


def test_all_forms_say_it_and_a_reference_is_checked(made):
    d, _, _ = made
    code, p = rows_of(300, 3, seed=2)
    report = am.report(d, reference=(np.array(NAMES)[code], p))
    for form in ("html", "md", "text"):
        text = report.render(form)
        assert "Expected confusion matrix" in text
        assert ("The check on the reference" in text) == (form != "text")
    check = am.classes.check(code, p, n_bootstrap=5)
    assert am.report(check).cards[1].name == "Forecast with p?"


def test_groups_and_other_metrics():
    code, p = rows_of(60, 3, seed=3)
    d = am.classes.decide(p, "mcc", groups=np.arange(60) % 4)
    text = am.report(d, code).render("text")
    assert "MCC, mean over 4 groups" in text
    assert "Rows of each class" in text


def test_the_command_writes_it(run):
    code, p = rows_of(80, 3, seed=4)
    lines = [",".join(map(repr, row)) for row in p.tolist()]
    rows = [f"{line},{NAMES[c]}" for line, c in zip(lines, code, strict=True)]
    head = ",".join(f"p_{one}" for one in NAMES) + ",kind"
    Path("rows.csv").write_text("\n".join([head, *rows, ""]))
    ended = run("decide", "rows.csv", "--scores", "p_*", "--one-label", "--label",
                "kind", "-o", "o.csv", "--report", "r.json")  # fmt: skip
    assert ended.code == 0
    said = json.loads(Path("r.json").read_text())
    d = am.classes.decide(p, classes=NAMES)
    assert said["cards"][0]["value"] == f"{d.forecast().mean:.3f}"
    assert said["names"]["file"] == "rows.csv"


def test_a_pickled_decision_has_no_report():
    import pickle

    d = pickle.loads(pickle.dumps(am.classes.decide(rows_of(9, 3)[1])))
    with pytest.raises(ValueError, match="it needs p"):
        am.report(d)
