"""``argmetric compare``: models in files, rows to label, labels that come, the page."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import argmetric as am

RNG = np.random.default_rng(6)
X = RNG.normal(-1.2, 1.6, 1400)
Y = (RNG.random(1400) < 1 / (1 + np.exp(-X))).astype(int)
P = {
    name: (1 / (1 + np.exp(-X - RNG.normal(0, s, 1400)))).round(6)
    for name, s in (("a", 1.5), ("b", 0.4))
}
OLD, NEW = slice(0, 500), slice(500, None)
GIVEN = ("compare", "new.csv", "--scores", "p_*", "--reference", "old.csv")


def write(path, columns):
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("old.csv", {"p_a": P["a"][OLD], "p_b": P["b"][OLD], "y": Y[OLD]})
    ids = [f"{i:04d}" for i in range(900)]
    called = {f"d_{name}": (p[NEW] >= 0.4).astype(int) for name, p in P.items()}
    scores = {f"p_{name}": p[NEW] for name, p in P.items()}
    write("new.csv", {"id": ids, **scores, **called})


def compared():
    scores = {name: p[NEW] for name, p in P.items()}
    old = {name: p[OLD] for name, p in P.items()}
    rules = {name: am.tune(Y[OLD], p, "f1") for name, p in old.items()}
    return am.compare(scores, rules, "f1", reference=(Y[OLD], old))


def test_the_answer_is_that_of_the_function(run, answer):
    found, one = compared(), compared().difference()
    values = answer(*GIVEN)
    assert values["difference"] == one.to_dict()
    assert values["answer"] == repr(found).splitlines()[0]
    assert [x["model"] for x in values["models"]] == ["a", "b"]
    assert values["models"][1]["p_best"] == found.best().probability
    assert (values["rows"], values["reference_rows"]) == (900, 500)
    text = run(*GIVEN).out
    assert f"P(a is better)  {one.probability:.3f}" in text
    assert "models decide by the cuts that are best on the reference: a 0." in text
    decided = answer(*GIVEN, "--decisions", "d_*")
    cut = answer(*GIVEN, "--threshold", "0.4")
    assert decided["models"] == cut["models"]


def test_rows_are_labelled_in_batches(run):
    found = compared()
    run(*GIVEN, "--next", "40", "-o", "to_label.csv")
    with open("to_label.csv") as file:
        rows = list(csv.DictReader(file))
    numbers = np.array([int(row["row"]) for row in rows])
    np.testing.assert_array_equal(numbers - 1, found.next_rows(40))
    assert [row["id"] for row in rows] == [f"{i - 1:04d}" for i in numbers]
    y = Y[NEW][numbers - 1]
    write("found.csv", {"row": numbers, "y": y})
    more = found.add(numbers - 1, y)
    end = run(*GIVEN, "--known", "found.csv", "--next", "5", "-o", "n.csv", "--json")
    values = json.loads(end.out)
    assert values["difference"] == more.difference().to_dict()
    assert values["n_labels"] == 40
    assert values["next"] == (more.next_rows(5) + 1).tolist()
    assert [one["n_labels"] for one in values["history"]] == [0, 40]


def test_a_judge_and_labels_of_people(run):
    known = [str(y) if i % 9 == 0 else "" for i, y in enumerate(Y[NEW])]
    called = {f"d_{name}": (p[NEW] >= 0.4).astype(int) for name, p in P.items()}
    write("judged.csv", {"judge": P["b"][NEW], "human": known, **called})
    given = ("--score", "judge", "--decisions", "d_*", "--json")
    values = json.loads(run("compare", "judged.csv", *given, "--known", "human").out)
    assert values["columns"]["known"] == "human"
    assert (values["n_labels"], values["reference_rows"]) == (100, 0)
    same = json.loads(run("compare", "judged.csv", *given, "--label", "human").out)
    assert same["models"] == values["models"]
    seen = np.flatnonzero(np.array(known) != "")
    write("people.csv", {"row": seen + 1, "y": Y[NEW][seen]})
    apart = json.loads(
        run("compare", "judged.csv", *given, "--known", "people.csv").out
    )
    assert apart["models"] == values["models"]
    assert [one["n_labels"] for one in apart["history"]] == [0, 100]
    y = np.array([float(one) if one else np.nan for one in known])
    found = am.compare(P["b"][NEW], called, known=y)
    assert values["difference"]["mean"] == found.mean


@pytest.mark.parametrize("metric", ["f1", "accuracy", "mcc", "jaccard"])
def test_one_system_and_a_judge(run, metric):
    seen = np.arange(0, 900, 9)
    write("one.csv", {"judge": P["b"][NEW], "d_bot": (P["a"][NEW] >= 0.4) * 1})
    write("people.csv", {"row": seen + 1, "y": Y[NEW][seen]})
    given = ("--score", "judge", "--decisions", "d_*", "--known", "people.csv")
    ended = run("compare", "one.csv", *given, "--metric", metric, "--json")
    values = json.loads(ended.out)
    labels = {"bot": P["a"][NEW] >= 0.4}
    found = am.compare(P["b"][NEW], labels, metric).add(seen, Y[NEW][seen])
    assert values["difference"] is None
    assert values["answer"] == repr(found).splitlines()[0]
    assert values["models"][0]["mean"] == found.mean
    assert f" of bot: {found.mean:.4f} (" in values["answer"]


def test_the_page_has_verdict_picture_and_rows(run):
    run(*GIVEN, "--report", "page.html")
    run(*GIVEN, "--report", "page.md")
    page = Path("page.md").read_text()
    found = compared()
    assert page.splitlines()[0] == "# " + repr(found).splitlines()[0]
    assert "- Verdict: **" in page
    rows = ", ".join(map(str, found.next_rows(25) + 1))
    assert f"Counted from 1: {rows}." in page
    html = Path("page.html").read_text()
    assert "no difference" in html
    assert "<svg" in html
    report = am.report(found)
    assert report.kind == "compare"
    assert report.values["comparison"]["mean"] == found.mean
    same = am.compare(P["a"], [P["a"] > 0.5] * 2)
    assert [one.key for one in am.report(same).sections] == ["models", "labels"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--next", "5"), "--next writes rows: pass -o FILE"),
        (("-o", "x.csv"), "-o takes the rows of --next"),
        (("--known", "who"), "--known 'who' is neither a file nor a column of new.csv"),
        (("--decisions", "q_*"), "no column matches --decisions 'q_*'"),
        (("--decisions", "d_*", "--threshold", "0.5"), "exclude each other"),
        (("--score", "p_a"), "--scores and --score exclude each other"),
        (
            ("--known", "twice.csv"),
            "twice.csv: row 4 is labelled twice, once 0 and once 1",
        ),
        (
            ("--known", "odd.csv"),
            "row 1: 0 in the column 'row' is no number of the 900",
        ),
        (("--known", "far.csv"), "row 1: 5000 in the column 'row' is no number"),
    ],
)
def test_what_is_refused(run, given, message):
    write("twice.csv", {"row": [4, 4], "y": [0, 1]})
    write("odd.csv", {"row": [0], "y": [1]})
    write("far.csv", {"row": [5000], "y": [1]})
    ended = run(*GIVEN, *given)
    assert ended.code in (1, 2)
    assert message in ended.err
