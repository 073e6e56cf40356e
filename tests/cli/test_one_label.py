"""Files whose rows have one of several classes: ``--one-label``."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.csv as pc
import pytest

import argmetric as am
from argmetric.cli._errors import with_flags
from cli_files import write_columns
from command import plain, words

NAMES = "cat", "dog", "bird"
RNG = np.random.default_rng(29)
ASK = "--scores", "p_*", "--one-label"


def drawn(n):
    whole = RNG.multinomial(1000, [0.6, 0.3, 0.1], n) + RNG.integers(0, 900, (n, 3))
    p = np.round(whole / whole.sum(axis=1, keepdims=True), 4)
    codes = (p.cumsum(axis=1) < RNG.random((n, 1))).sum(axis=1).clip(0, 2)
    return p, codes


P, CODES = drawn(60)
Y = np.array(NAMES)[CODES]
REFERENCE = drawn(300)


def write(name="pets.csv", p=P, y=Y):
    """Rows, with a group each and a column of classes."""
    rows = zip(p.tolist(), y, strict=True)
    lines = [
        f"{i % 3},{','.join(map(str, row))},{one}" for i, (row, one) in enumerate(rows)
    ]
    head = "g," + ",".join(f"p_{one}" for one in NAMES) + ",kind"
    Path(name).write_text("\n".join([head, *lines, ""]))
    return name


def test_decisions_are_written_and_judged(run, answer):
    asked = *ASK, "--label", "kind", "--group", "g", "--json"
    found = json.loads(run("decide", write(), *asked, "-o", "o.csv").out)
    how = {"classes": NAMES, "groups": np.arange(60) % 3}
    d = am.classes.decide(P, **how)
    assert np.array(pc.read_csv("o.csv")["decision"]).tolist() == d.labels.tolist()
    actual = plain(am.classes.evaluate(Y, d.labels, **how).to_dict())
    assert found["actual"] == actual
    listed = "decide", "pets.csv", *ASK[2:], "--group", "g", "--scores"
    assert run(*listed, "p_cat,p_dog,p_bird", "-o", "listed.csv").code == 0
    same = np.array(["p_" + one for one in d.labels])
    assert (np.array(pc.read_csv("listed.csv")["decision"]) == same).all()
    assert with_flags("call argmetric.classes.decide") == "pass --one-label"
    assert (found["file"], found["rows"]) == ("pets.csv", 60)
    assert found["columns"] == {"scores": "p_*", "label": "kind", "group": "g"}
    judged = "evaluate", "o.csv", "--one-label", "--label", "kind", "--group", "g"
    assert answer(*judged, "--scores", "p_*")["actual"] == actual
    assert run(*judged, "--fail-under", "0.999").code == 3


def test_without_columns_of_scores_the_classes_are_those_that_occur(run):
    rows = "y,z", "b,b", "a,c", "10,b", "c,c"
    Path("named.csv").write_text("\n".join([*rows, ""]))
    asked = "evaluate", "named.csv", "--one-label", "--decision-column", "z", "--json"
    found = json.loads(run(*asked).out)
    assert found["actual"]["classes"] == ["10", "a", "b", "c"]
    score = am.classes.evaluate(["b", "a", "10", "c"], ["b", "c", "b", "c"])
    assert found["actual"]["score"] == float(score)


def test_a_reference_recalibrates_and_goes_by_names(run):
    p, codes = REFERENCE
    write("val.csv", p, np.array(NAMES)[codes])
    text = Path("val.csv").read_text()
    lines = [line.split(",") for line in text.splitlines()]
    swapped = "\n".join(",".join([g, c, b, a, y]) for g, a, b, c, y in lines)
    Path("val.csv").write_text(swapped + "\n")
    asked = *ASK, "--label", "kind", "--reference", "val.csv", "--json"
    found = json.loads(run("decide", write(), *asked).out)
    reference = np.array(NAMES)[codes], p
    d = am.classes.decide(P, classes=NAMES, reference=reference)
    assert found["decision"] == plain(d.to_dict())
    assert found["notes"] == list(d.notes)


def test_rows_that_do_not_sum_to_one_are_refused_with_the_way_out(run):
    p = P.copy()
    p[4:6] /= 2
    run("decide", write(p=p.round(4)), *ASK).failed(
        1,
        exactly="pets.csv: row 5: the columns 'p_*' sum to "
        f"{p[4].round(4).sum():.4g}, not to 1 (2 such rows); with --one-label they are "
        "the probabilities of the classes. Divide each row by its sum; pass --logits "
        "if these are scores before a softmax; or leave out --one-label if a row can "
        "have several labels; rows are counted from 1, without the header",
    )


def test_a_forecast_is_told_and_judged(run, answer):
    asked = "forecast", write(), *ASK, "--label", "kind"
    found, d = answer(*asked), am.classes.decide(P, classes=NAMES)
    own = d.forecast()
    assert found["source"] == "optimal for macro f1"
    assert found["notes"] == plain(own.to_dict())["notes"]
    assert f"forecast {own.mean:.4f}, 90 % interval" in words(run(*asked).out)
    assert run(*asked, "--fail-under", f"{own.mean + 1e-6}").code == 3
    low = f"{own.interval[0] + 1e-6}"
    assert run(*asked, "--fail-under", low).code == 0
    assert run(*asked, "--fail-under", low, "--fail-on", "interval").code == 3


def test_an_actual_score_outside_of_the_interval_is_noted(answer):
    wrong = np.array(NAMES)[(P.argmax(axis=1) + 1) % 3]
    found = answer(
        "forecast", write(y=wrong), *ASK, "--label", "kind", "-m", "accuracy"
    )
    assert found["notes"][-1].endswith("with argmetric calibrate --one-label")


def test_calibrate_checks_and_its_map_is_applied(run, answer):
    p, codes = REFERENCE
    y = np.array(NAMES)[codes]
    write("val.csv", p, y)
    asked = "calibrate", "val.csv", *ASK, "--label", "kind", "-o", "map.json"
    found = answer(*asked)
    assert found["check"] == plain(am.classes.check(y, p, classes=NAMES).to_dict())
    own = am.classes.calibrate(y, p, classes=NAMES)
    assert am.Calibrator.load("map.json") == own
    told = words(run(*asked).out)
    assert "reliable classes 3 of 3 cat yes; forecast" in told
    mapped = "decide", write(), *ASK, "--reference", "map.json", "--json"
    d = am.classes.decide(P, classes=NAMES, reference=own)
    assert json.loads(run(*mapped).out)["decision"]["expected"] == d.expected
    hot = answer(*asked, "--method", "temperature")
    assert hot["check"]["method"] == "temperature"


def test_a_rule_of_classes_decides_and_is_forecast(run, answer):
    write()
    run("tune", "pets.csv", *ASK, "--label", "kind", "-o", "rule.json")
    rule = am.classes.MultiClassRule.load("rule.json")
    asked = *ASK, "--rule", "rule.json", "--label", "kind"
    ended = run("decide", "pets.csv", *asked, "-o", "o.csv")
    assert ended.code == 0, ended.err
    labels = rule.apply(P)
    assert np.array(pc.read_csv("o.csv")["decision"]).tolist() == labels.tolist()
    own = am.classes.forecast(P, labels, "f1", classes=NAMES)
    assert f"forecast {own.mean:.4f}" in words(ended.err)
    assert "metric macro f1; a class that is neither" in words(ended.err)
    for command in ("decide", "forecast"):
        found = answer(command, "pets.csv", *asked)
        assert found["forecast"] == plain(own.to_dict())
        real = am.classes.evaluate(Y, labels, "f1", classes=NAMES)
        assert found["actual"] == plain(real.to_dict())


def test_several_metrics_make_several_rules_of_classes(run):
    asked = *ASK, "--label", "kind", "-m", "f1", "-m", "jaccard"
    ended = run("tune", write(), *asked, "-o", "{metric}.json", "--json")
    assert ended.code == 0, ended.err
    how = {"classes": NAMES, "average": "macro", "random_state": 0}
    rules = am.classes.tune(Y, P, ["f1", "jaccard"], **how)
    found = json.loads(ended.out)
    assert found["rules"] == [plain(one.to_dict()) for one in rules.values()]


def test_limits_by_class(run):
    p = np.random.default_rng(4).dirichlet([2, 1, 1], 60)
    names = ["cat", "dog", "owl"]
    columns = {f"p_{name}": one for name, one in zip(names, p.T, strict=True)}
    write_columns("p.csv", columns)
    given = ("decide", "p.csv", "--scores", "p_*", "--one-label", "-o", "out.csv")
    assert (
        run(*given, "--max-per-class", "cat=10", "--max-per-class", "dog=20%").code == 0
    )
    with open("out.csv") as file:
        found = [row["decision"] for row in csv.DictReader(file)]
    most = {"cat": 10, "dog": "20%"}
    wanted = am.classes.decide(p, "f1", classes=names, max_per_class=most)
    assert found == wanted.labels.tolist()
    assert found.count("cat") == 10
    for bad, message in {
        ("cow=1",): "--max-per-class names the class 'cow'",
        ("cat",): "--max-per-class cat: one CLASS=COUNT",
        ("cat=few",): "--max-per-class cat=few: A whole number",
        ("cat=1", "--max-per-class", "cat=2"): "one CLASS=COUNT for each class",
        ("cat=1", "--max-positives", "2"): "pass --max-per-class CLASS=COUNT",
    }.items():
        assert message in run(*given, "--max-per-class", *bad).err
    alone = run("decide", "p.csv", "--score", "p_cat", "--max-per-class", "cat=1")
    assert "--max-per-class goes with --one-label" in alone.err
    with pytest.raises(ValueError, match=r"max_per_class has 0\.1: .* 10% as text"):
        am.classes.decide(p, "f1", classes=names, max_per_class={"cat": 0.1})


def ordered(name, seed, n=200):
    """Grades from 1 to 3, a column of each one's probability, and a predicted mean."""
    rng = np.random.default_rng(seed)
    m = np.round(rng.uniform(0.5, 3.5, n), 3)
    y = np.clip(np.rint(m + rng.normal(0, 0.6, n)), 1, 3).astype(int)
    p = np.exp(-1.5 * (np.arange(1, 4) - m[:, None]) ** 2)
    p /= p.sum(axis=1, keepdims=True)
    rows = zip(p.tolist(), m.tolist(), y.tolist(), strict=True)
    lines = [",".join(map(repr, [*row, at, one])) for row, at, one in rows]
    Path(name).write_text("\n".join(["p_1,p_2,p_3,m,grade", *lines, ""]))
    return y, p, m


def test_grades_by_probabilities_and_by_means(run, answer):
    (known, q, x), (y, p, m) = ordered("val.csv", 0), ordered("new.csv", 1)
    to = "--one-label", "--label", "grade"
    metric = "--metric", "quadratic_kappa"
    how = {"metric": "quadratic_kappa", "classes": [1, 2, 3]}
    for columns, table, rows, given in (
        (("--scores", "p_*"), {"p": q}, {"p": p}, p),
        (("--mean", "m"), {"mean": x}, {"mean": m}, m),
    ):
        (key,) = table
        asked = *columns, *to, *metric
        rule = am.classes.tune(known, **table, **how)
        found = answer("tune", "val.csv", *asked, "-o", "rule.json", "--force")
        assert found["rules"][0]["score"] == rule.score
        saved = am.classes.MultiClassRule.load("rule.json")
        assert saved.apply(given).tolist() == rule.apply(given).tolist()
        d = am.classes.decide(**rows, **how, reference=(known, table[key]))
        out = "--reference", "val.csv", "--json", "--force", "-o", "o.csv"
        found = json.loads(run("decide", "new.csv", *asked, *out).out)
        assert np.array(pc.read_csv("o.csv")["decision"]).tolist() == d.labels.tolist()
        assert found["actual"]["score"] == float(am.classes.evaluate(y, d))
        assert found["forecast"]["mean"] == d.forecast().mean
        by_rule = *columns, *to, "--rule", "rule.json"
        run("decide", "new.csv", *by_rule, *out)
        labels = np.array(pc.read_csv("o.csv")["decision"]).tolist()
        assert labels == rule.apply(given).tolist()
        pair = {"reference": (known, table[key])}
        how_far = *by_rule, "--reference", "val.csv"
        for asked_by, label in ((asked, d), (by_rule, rule)):
            found = answer("forecast", "new.csv", *asked_by, *how_far[-2:])
            wanted = am.classes.forecast(**rows, labels=label, **how, **pair)
            assert found["forecast"]["mean"] == pytest.approx(wanted.mean)
            assert found["actual"]["score"] == float(
                am.classes.evaluate(
                    y, label.apply(given) if label is rule else d, rule.metric
                )
            )
        found = answer("monitor", "new.csv", *how_far, "--every", "100")
        own = {"labels": rule, "known": y, "every": 100, "classes": [1, 2, 3]}
        periods = am.classes.monitor(**rows, **pair, **own).periods
        assert [x["mean"] for x in found["periods"]] == [x.mean for x in periods]


def test_means_need_labels_that_are_numbers(run):
    ordered("val.csv", 0)
    Path("text.csv").write_text("m,grade\n0.2,low\n1.1,high\n")
    Path("done.csv").write_text("pred,grade\nlow,low\nhigh,mid\nmid,high\n")
    ask = "--one-label", "--label", "grade", "--mean", "m"
    kappa = "--one-label", "--label", "grade", "--metric", "quadratic_kappa"
    for words_of, text in (
        (("decide", "val.csv", *ask), "--mean needs labelled rows, which show how far"),
        (("tune", "val.csv", *ask[1:]), "--mean goes with --one-label: pass it too"),
        (("tune", "val.csv", *ask, "--scores", "p_*"), "takes the place of --scores"),
        (("evaluate", "done.csv", *kappa), "'high', 'low', 'mid'): pass their columns"),
        (("tune", "text.csv", *ask), "column 'grade' has text, and --mean is for clas"),
    ):
        found = run(*words_of)
        assert found.code in (1, 2)
        assert text in " ".join(found.err.split())
