"""One property: a verb says the same of the same rows on every surface.

Arrays in memory are the oracle. A surface is a function of a problem and a folder; one
more is a line of SURFACES, which names the verbs that it has.
"""

import contextlib
import io
import itertools
import json
import math
import warnings
from dataclasses import dataclass, replace

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin

import argmetric as am
import exported
from argmetric.cli import main
from argmetric.integrations import decide_table

NASTY = (0.0, 1.0, 1e-300, 0.5, 0.25, 0.1, 1 - 2**-53, 0.7, 0.3)
QUICK = {"n_bootstrap": 0, "cv": None}
METRICS = ("f1", "f2", "jaccard", "mcc", "gmean", "accuracy", "recall", "kappa")


@dataclass(frozen=True)
class Problem:
    verb: str
    table: pa.Table
    how: dict
    group: str | None
    cuts: tuple  # where the rows are cut into files

    @property
    def columns(self):
        return [self.table[name].to_numpy() for name in ("score", "label", "decision")]

    @property
    def input(self):
        """The rows of a file: what is decided has no label yet."""
        return self.table.select([0, 1] if self.verb == "decide" else [0, 1, 2, 3])


@st.composite
def problems(draw, verb):
    n = draw(st.integers(1, 40))
    values = {"user": st.integers(0, 5), "score": st.sampled_from(NASTY)}
    values |= dict.fromkeys(("label", "decision"), st.integers(0, 1))
    rows = {x: draw(st.lists(v, min_size=n, max_size=n)) for x, v in values.items()}
    zero = draw(st.sampled_from([0.0, 1.0, math.nan]))
    how = {"metric": draw(st.sampled_from(METRICS)), "zero_division": zero}
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=2)))
    group = None if verb == "tune" else draw(st.sampled_from([None, "user"]))
    return Problem(verb, pa.table(rows), how, group, (0, *cuts, n))


def memory(problem, folder):
    (p, y, d), how = problem.columns, dict(problem.how)
    if problem.group:
        how |= {"groups": problem.table["user"].to_numpy(), "average": "groups"}
    if problem.verb == "decide":
        found = am.decide(p, **how)
        return {"labels": found.labels.tolist(), "expected": found.expected}
    if problem.verb == "evaluate":
        return {"score": float(am.evaluate(y, d, **how))}
    if problem.verb == "tune":
        return rule_fields(am.tune(y, p, **how, **QUICK))
    return forecast_fields(am.forecast(p, d, **how))


def rule_fields(rule):
    labels = rule.apply(np.array(NASTY)).tolist()
    return {"labels": labels, "score": rule.score, "threshold": rule.threshold}


def forecast_fields(found):
    return {"mean": found.mean, "low": found.interval[0], "high": found.interval[1]}


def write_jsonl(table, path):
    rows = (json.dumps(row) + "\n" for row in table.to_pylist())
    path.write_text("".join(rows))


def files(problem, folder, write=pq.write_table, end="parquet"):
    (folder / "in").mkdir()
    for i, (a, b) in enumerate(itertools.pairwise(problem.cuts)):
        if end == "parquet" or a < b:  # text without rows is refused
            write(problem.input.slice(a, b - a), folder / f"in/{i}.{end}")
    data = am.scale.open(str(folder / "in"), group=problem.group)
    if problem.verb == "decide":
        found = data.decide(**problem.how, output=str(folder / "out"))
        parts = [pq.read_table(path) for path in sorted(folder.glob("out/*.parquet"))]
        labels = pa.concat_tables(parts)["decision"].to_pylist()
        return {"labels": labels, "expected": found.expected}
    quick = QUICK if problem.verb == "tune" else {}
    found = getattr(data, problem.verb)(**problem.how, **quick)
    if problem.verb == "tune":
        return rule_fields(found)
    if problem.verb == "evaluate":
        return {"score": found.score}
    return forecast_fields(found)


def csv_files(problem, folder):
    return files(problem, folder, pyarrow.csv.write_csv, "csv")


def jsonl_files(problem, folder):
    return files(problem, folder, write_jsonl, "jsonl")


def command(problem, folder):
    rows, out = str(folder / "rows.csv"), str(folder / "out.csv")
    pyarrow.csv.write_csv(problem.input, rows)
    zero = f"{problem.how['zero_division']:g}"
    words = [problem.verb, rows, "-m", problem.how["metric"], "--zero-division", zero]
    words += ["--json", *(["--group", problem.group] if problem.group else [])]
    words += ["-o", out] if problem.verb in ("decide", "tune") else []
    said, refused = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(refused):
        code = main(words)
    if code:
        raise ValueError(refused.getvalue())
    if problem.verb == "tune":
        return rule_fields(am.Rule.load(out))
    found = json.loads(said.getvalue())
    if problem.verb == "decide":
        labels = pyarrow.csv.read_csv(out)["decision"].to_pylist()
        return {"labels": labels, "expected": found["decision"]["expected"]}
    if problem.verb == "evaluate":
        return {"score": found["actual"]["score"]}
    low, high = found["forecast"]["interval"]
    return {"mean": found["forecast"]["mean"], "low": low, "high": high}


def frame(problem, folder):
    if not problem.group:
        return memory(problem, folder)
    table = pl.from_arrow(problem.input)
    found = decide_table(table, p="score", groups="user", **problem.how)
    return {"labels": found["decision"].to_list()}


class Known(ClassifierMixin, BaseEstimator):
    """A model whose probability of class 1 is the feature."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def estimator(problem, folder):
    (p, _, d), grouped = problem.columns, problem.group is not None
    model = am.MetricClassifier(Known(), calibration=None, cv=2, **problem.how)
    model.fit(np.linspace(0, 1, 20)[:, None], np.arange(20) % 2)
    groups = problem.table["user"].to_numpy() if grouped else None
    how = {"groups": groups, "average": "groups" if grouped else None}
    if problem.verb == "decide":
        found = model.decide(p[:, None], **how)
        return {"labels": found.labels.tolist(), "expected": found.expected}
    return forecast_fields(model.forecast(p[:, None], d, **how))


def export(problem, folder):
    """The rule as Python and as SQL of two engines."""
    p, y, _ = problem.columns
    rule = am.tune(y, p, **problem.how, **QUICK)
    rows = [[x] for x in NASTY]
    targets = [x for x in ("python", "sqlite", "duckdb") if not exported.missing(x)]
    first, *others = (
        {"labels": exported.TARGETS[target][0](rule, rows)} for target in targets
    )
    assert all(one == first for one in others)
    return first


def polars_table(problem, folder):
    return lazy_answer(problem, pl.from_arrow(problem.input).lazy())


def duckdb_table(problem, folder):
    con = duckdb.connect()
    con.register("rows", problem.input)
    return lazy_answer(problem, con.sql("FROM rows"))


def lazy_answer(problem, table):
    data = am.scale.open(table, group=problem.group)
    found = getattr(data, problem.verb)(**problem.how)
    if problem.verb == "evaluate":
        return {"score": float(found)}
    if problem.verb == "forecast":
        return forecast_fields(found)
    if any("equal scores" in note for note in found.notes):
        return {}  # arrays split a tie here: tests/scale/test_lazy.py has these
    told = {"expected": found.expected}
    if isinstance(table, pl.LazyFrame):
        return told | {"labels": found.table.collect()["decision"].to_list()}
    labels = found.table.to_arrow_table()["decision"].to_pylist()
    return told if problem.group else told | {"labels": labels}  # in another order


SURFACES = {
    polars_table: ("decide", "evaluate", "forecast"),
    duckdb_table: ("decide", "evaluate", "forecast"),
    **dict.fromkeys(
        (files, csv_files, jsonl_files), ("decide", "evaluate", "forecast", "tune")
    ),
    command: ("decide", "evaluate", "forecast", "tune"),
    frame: ("decide",),
    estimator: ("decide", "forecast"),
    export: ("tune",),
}


def answer(surface, problem, folder):
    try:
        with warnings.catch_warnings(action="ignore"):
            return surface(problem, folder)
    except (ValueError, SystemExit):
        return "refused"


@pytest.mark.parametrize(
    ("surface", "verb"),
    [(one, verb) for one, verbs in SURFACES.items() for verb in verbs],
    ids=lambda x: getattr(x, "__name__", x),
)
@settings(max_examples=15)
@given(data=st.data())
def test_every_surface_says_what_arrays_say(surface, verb, tmp_path_factory, data):
    problem = data.draw(problems(verb))
    wanted = answer(memory, problem, None)
    found = answer(surface, problem, tmp_path_factory.mktemp("surface"))
    numbers = {} if wanted == "refused" else dict(wanted)
    labels = numbers.pop("labels", None)
    if any(map(math.isnan, numbers.values())) and found == "refused":
        return  # a command tells that the score of its answer is not defined
    scored = replace(problem, verb="evaluate")
    if found == "refused" == answer(memory, scored, None) and surface is command:
        return  # likewise where the true labels are there
    assert (found == "refused") == (wanted == "refused")
    if wanted != "refused":
        assert found.pop("labels", labels) == labels
        for key, value in found.items():
            number = math.nan if value is None else value  # JSON has no NaN
            wanted_number = pytest.approx(
                numbers[key], rel=1e-9, abs=1e-12, nan_ok=True
            )
            assert number == wanted_number
