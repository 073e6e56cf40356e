"""``argmetric compare``: models in files, rows to label, labels that come, the page."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import argmetric as am
from cli_files import NEW, OLD, P, Y, write_columns, write_models

GIVEN = ("compare", "new.csv", "--scores", "p_*", "--reference", "old.csv")


@pytest.fixture(autouse=True)
def folder():
    write_models("old.csv", "new.csv")


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
    write_columns("found.csv", {"row": numbers, "y": y})
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
    write_columns("judged.csv", {"judge": P["b"][NEW], "human": known, **called})
    given = ("--score", "judge", "--decisions", "d_*", "--json")
    values = json.loads(run("compare", "judged.csv", *given, "--known", "human").out)
    assert values["columns"]["known"] == "human"
    assert (values["n_labels"], values["reference_rows"]) == (100, 0)
    same = json.loads(run("compare", "judged.csv", *given, "--label", "human").out)
    assert same["models"] == values["models"]
    write_columns("seen.csv", {"judge": P["b"][NEW][::9], "human": known[::9]})
    twice = ("--label", "human", "--reference", "seen.csv")
    (note, *_) = json.loads(run("compare", "judged.csv", *given, *twice).out)["notes"]
    assert "labels as --known and no --reference" in note
    seen = np.flatnonzero(np.array(known) != "")
    write_columns("people.csv", {"row": seen + 1, "y": Y[NEW][seen]})
    apart = json.loads(
        run("compare", "judged.csv", *given, "--known", "people.csv").out
    )
    assert apart["models"] == values["models"]
    assert [one["n_labels"] for one in apart["history"]] == [0, 100]
    y = np.array([float(one) if one else np.nan for one in known])
    found = am.compare(P["b"][NEW], called, known=y)
    assert values["difference"]["mean"] == found.mean


def test_a_column_of_labels_that_is_not_there_is_refused(run):
    known = [str(y) if i % 9 == 0 else "" for i, y in enumerate(Y[NEW])]
    called = {f"p_{name}": p[NEW] for name, p in P.items()}
    write_columns("some.csv", {"label": known, **called})
    given = ("compare", "some.csv", "--scores", "p_*", "--threshold", "0.5")
    assert "100 of 900 rows" in run(*given, "--label", "label").out
    assert "no column 'lable'" in run(*given, "--label", "lable").err


@pytest.mark.parametrize("metric", ["f1", "accuracy", "mcc", "jaccard"])
def test_one_system_and_a_judge(run, metric):
    seen = np.arange(0, 900, 9)
    write_columns("one.csv", {"judge": P["b"][NEW], "d_bot": (P["a"][NEW] >= 0.4) * 1})
    write_columns("people.csv", {"row": seen + 1, "y": Y[NEW][seen]})
    given = ("one.csv", "--score", "judge", "--known", "people.csv", "-m", metric)
    values, plain = (
        json.loads(run("compare", *given, "--decisions", one, "--json").out)
        for one in ("d_*", "d_bot")
    )
    assert plain["models"] == [values["models"][0] | {"model": "d_bot"}]
    assert "no column 'd_cat'" in run("compare", *given, "--decisions", "d_cat").err
    labels = {"bot": P["a"][NEW] >= 0.4}
    found = am.compare(P["b"][NEW], labels, metric).add(seen, Y[NEW][seen])
    assert values["difference"] is None
    assert values["answer"] == repr(found).splitlines()[0]
    assert values["models"][0]["mean"] == found.mean
    assert f" of bot: {found.mean:.4f} (" in values["answer"]
    for name in ("page.html", "page.md"):
        run("compare", *given, "--decisions", "d_*", "--report", name)
    page = Path("page.md").read_text()
    assert page.splitlines()[0] == "# " + values["answer"]
    assert "Score by labels" not in page  # it is a picture
    assert "Score by labels" in Path("page.html").read_text()
    rows = ", ".join(map(str, found.next_rows(25) + 1))
    assert f"Counted from 1: {rows}." in page
    assert "difference" not in page
    assert am.report(found).values["comparison"]["scores"]["bot"]["mean"] == found.mean


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
    picture = html.split("<figure>")[1].split("</figure>")[0]
    for one in found.estimates():
        assert f"label{'s' * (one.n_labels != 1)}: {one.mean:+.4f} (" in picture
    (zero,) = re.findall(r'<line class="same"[^>]* y1="([\d.]+)"', picture)
    assert f'y="{zero}">0</text>' in picture
    assert picture.count('<line class="error') == len(found.estimates())
    report = am.report(found)
    assert report.kind == "compare"
    assert report.values["comparison"]["mean"] == found.mean
    same = am.compare(P["a"], [P["a"] > 0.5] * 2)
    assert [one.key for one in am.report(same).sections] == ["models", "labels"]
