"""Files with a column for each of several labels."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow.csv as pc
import pytest

import argmetric as am

N = 40
NAMES = "cat", "dog", "bird"
RNG = np.random.default_rng(11)
P = RNG.beta(0.7, 1.5, (N, 3)).round(3).clip(0.001, 0.999)
Y = (RNG.random((N, 3)) < P).astype(int)


def write(name="pets.csv", y_order=(2, 0, 1)):
    """Labels stand in another order than scores: they go by their names."""
    header = [f"p_{one}" for one in NAMES] + [f"y_{NAMES[j]}" for j in y_order]
    rows = np.hstack([P, Y[:, list(y_order)]]).tolist()
    lines = [",".join([str(i), *map(str, row)]) for i, row in enumerate(rows)]
    Path(name).write_text("\n".join([",".join(["photo", *header]), *lines, ""]))
    return name


def written(name):
    table = pc.read_csv(name)
    return np.stack([np.array(table[f"decision_{one}"]) for one in NAMES], axis=1)


def test_so_many_labels_in_every_row(run):
    both = "--scores", "p_*", "--per-row", "2"
    ended = run("decide", write(), *both, "-o", "o.csv")
    assert "2 a row for f1" in ended.err
    wanted = am.decide(P, average="macro", per_row=2).labels
    assert written("o.csv").tolist() == wanted.tolist()
    assert wanted.sum(axis=1).tolist() == [2] * N
    run("decide", write(), "--score", "p_cat", "--per-row", "2").failed(
        2, "--per-row is a number of labels in every row"
    )


def test_decisions_are_written_forecast_and_judged(run, answer):
    both, report = ("--scores", "p_*", "-m", "f2"), ("--report", "page.md")
    ended = run("decide", write(), *both, "--json", "-o", "o.csv", *report)
    found, d = json.loads(ended.out), am.decide(P, "f2", average="macro")
    assert written("o.csv").tolist() == d.labels.tolist()
    assert (found["labels"], found["n_positives"]) == (list(NAMES), d.n_positives)
    assert Path("page.md").exists()
    assert answer("forecast o.csv", *both)["source"] == "columns 'decision_*'"
    evaluated = "evaluate", "o.csv", "--labels", "y_*", "-m", "f2"
    counts = answer(*evaluated)["actual"]["counts"]
    assert counts["tp"] == (Y * d.labels).sum()
    assert run(*evaluated, "--fail-under", "0.999").code == 3


def test_a_tuned_rule_is_kept_and_finds_its_labels_by_name(run):
    run("tune", write(), "--scores", "p_*", "--labels", "y_*", "-o", "r.json")
    rule, kept = am.tune(Y, P, "f1", average="macro"), am.Rule.load("r.json")
    assert (kept.names, kept.average) == (NAMES, "macro")
    swapped = Path("pets.csv").read_text().replace("p_cat,p_dog", "p_dog,p_cat")
    Path("swapped.csv").write_text(swapped)
    run("decide", "swapped.csv", "--scores", "p_*", "--rule", "r.json", "-o", "o.csv")
    assert written("o.csv").tolist() == rule.apply(P[:, [1, 0, 2]]).tolist()


def test_decisions_are_named_as_asked(run):
    named = "--decision-column", "*_chosen"
    run("decide", write(), "--scores", "p_*", *named, "-o", "o.csv")
    header = Path("o.csv").read_text().splitlines()[0]
    assert header.endswith("y_dog,cat_chosen,dog_chosen,bird_chosen")
    ended = run("evaluate", "o.csv", "--labels", "y_*", *named)
    score = am.evaluate(Y, am.decide(P, average="macro").labels, average="macro")
    assert re.search(f"^score +{score:.4f} *$", ended.out, re.MULTILINE)
    ends = re.search(r"^90% interval +(\S+) to (\S+) *$", ended.out, re.MULTILINE)
    assert [*map(float, ends.groups())] == pytest.approx(score.interval, abs=0.004)
