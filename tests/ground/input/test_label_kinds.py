"""One table of kinds of labels, through everything that takes labels.

The same verdict, the same numbers where labels are taken, and where they are not the
words of the one function that has them.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression, SGDClassifier

import argmetric as am
from argmetric._ground import label_words
from argmetric._ground import labels as label_arrays
from argmetric._ground.label_words import as_comparison
from argmetric.stream import (
    HistogramRule,
    OnlineClassifier,
    OnlineThreshold,
    ProgressiveScore,
)
from command import Run

RNG = np.random.default_rng(5)
N = 40
P = RNG.beta(1.0, 1.5, N).round(3)
Y = (RNG.random(N) < P).astype(int)
PRED = (P > 0.5).astype(int)
X = np.column_stack([P + 0.1 * RNG.normal(size=N), RNG.normal(size=N)]).round(3)
NAN_ROW = 3

Make = Callable[[list[Any]], Any]


@dataclass(frozen=True)
class Kind:
    """Two labels in some container; with `pos_label` where they need one."""

    negative: Any
    positive: Any
    make: Make
    pos_label: Any = None

    def write(self, bits: Any) -> Any:
        return self.make([self.positive if bit else self.negative for bit in bits])


def nullable(dtype: str) -> Make:
    return lambda values: pd.Series(values, dtype=dtype)


NUMBERS: dict[str, Make] = {
    "list": list,
    "array": np.array,
    "objects": lambda values: np.array(values, dtype=object),
    "pandas": pd.Series,
    "categorical": lambda values: pd.Series(values, dtype="category"),
    "polars": pl.Series,
    "arrow": pa.array,
}
TEXTS: dict[str, Make] = NUMBERS | {
    "nullable": nullable("string"),
    "polars categorical": lambda values: pl.Series(values, dtype=pl.Categorical),
    "arrow dictionary": lambda values: pa.array(values).dictionary_encode(),
}
CLEAR = {
    **{f"0/1 {name}": Kind(0, 1, make) for name, make in NUMBERS.items()},
    **{f"-1/1 {name}": Kind(-1, 1, make) for name, make in NUMBERS.items()},
    **{f"bool {name}": Kind(False, True, make) for name, make in NUMBERS.items()},
    "0/1 floats": Kind(0.0, 1.0, np.array),
    "-1/1 floats": Kind(-1.0, 1.0, list),
    "0/1 uint8": Kind(0, 1, lambda values: np.array(values, dtype=np.uint8)),
    "0/1 nullable": Kind(0, 1, nullable("Int64")),
    "-1/1 nullable": Kind(-1, 1, nullable("Int8")),
    "0/1 nullable floats": Kind(0.0, 1.0, nullable("Float64")),
    "bool nullable": Kind(False, True, nullable("boolean")),
}
UNCLEAR = {
    **{f"1/2 {name}": Kind(1, 2, make, 2) for name, make in NUMBERS.items()},
    **{
        f"text {name}": Kind("ham", "spam", make, "spam")
        for name, make in TEXTS.items()
    },
    "1/2 nullable": Kind(1, 2, nullable("Int64"), 2),
    "text '0'/'1'": Kind("0", "1", list, "1"),
    "fractions": Kind(0.25, 0.75, np.array, 0.75),
}


@dataclass(frozen=True)
class Verb:
    """Something that takes labels.

    Attributes
    ----------
    call : callable
        Of y, the predicted labels, and `pos_label` where there is one.
    name : str
        What messages call y.
    takes : bool
        Whether it takes `pos_label`.
    learns : bool
        Whether it needs both classes.
    both_names : str
        What messages call all labels that are read with one `pos_label`.
    by_order : bool
        Whether the second of two sorted classes is positive, as in scikit-learn.
    naming : callable or None
        How the way out of unclear labels is named.
    """

    call: Callable[..., Any]
    name: str = "y"
    takes: bool = True
    learns: bool = True
    both_names: str = "y"
    by_order: bool = False
    naming: Any = None

    def says_unclear(self, found: list[Any]) -> str:
        if self.naming is None:
            return str(label_words.unclear(found, self.name))
        return str(label_words.unclear(found, self.name, self.naming))


def fitted(model: Any) -> Callable[..., Any]:
    """Which rows a model calls positive, learned from y."""

    def call(y: Any, pred: Any, **options: Any) -> list[bool]:
        learned = model(**options).fit(X, y)
        positive = options.get("pos_label")
        if positive is None:
            positive = learned.classes_[1]
        return (np.asarray(learned.predict(X)) == positive).tolist()

    return call


class Scored:
    """A model that was fitted before, with the classes that y has."""

    def __init__(self, y: Any) -> None:
        self.classes_ = np.unique(np.asarray(label_arrays.label_array(y)))

    def predict_proba(self, X: Any) -> Any:
        return np.column_stack([1 - P, P])


def tuned(y: Any, pred: Any, **options: Any) -> Any:
    rule: Any = am.tune(y, P, n_bootstrap=10, **options)
    assert (
        np.asarray(rule.apply(P) == rule.pos_label).sum() == (rule.threshold <= P).sum()
    )
    return rule.threshold, rule.score, rule.optimism


VERBS = {
    "evaluate": Verb(
        lambda y, pred, **o: am.evaluate(y, pred, **o),
        "y",
        learns=False,
        both_names="y and labels",
    ),
    "forecast known": Verb(
        lambda y, pred, **o: am.forecast(P, pred, known=y, **o).mean,
        "known",
        learns=False,
        both_names="labels and known",
    ),
    "tune": Verb(tuned),
    "calibrate": Verb(lambda y, pred, **o: am.calibrate(y, P, **o).apply(P).tolist()),
    "calibration_check": Verb(
        lambda y, pred, **o: (
            am.calibration_check(y, P, method="platt", n_bootstrap=10, **o).gap
        )
    ),
    "optimal_scorer": Verb(
        lambda y, pred, **o: am.optimal_scorer(**o)(Scored(y), X, y)
    ),
    "decide reference": Verb(
        lambda y, pred: am.decide(P, reference=(y, P)).expected,
        "the y of reference=(y, p)",
        takes=False,
    ),
    "Metric.score": Verb(
        lambda y, pred: am.FBeta(1).score(y, pred),
        "y_true",
        takes=False,
        learns=False,
        naming=as_comparison("y_true"),
    ),
    "ProgressiveScore": Verb(
        lambda y, pred: ProgressiveScore().update(y, pred),
        "y_true",
        takes=False,
        learns=False,
        naming=as_comparison("y_true"),
    ),
    "metric_objective": Verb(
        lambda y, pred: am.metric_objective().score(y, P - 0.5),
        "the labels",
        takes=False,
        learns=False,
        naming=as_comparison("the labels"),
    ),
    "ThresholdRule.run": Verb(
        lambda y, pred: (
            HistogramRule()
            .run(HistogramRule().init_state(am.FBeta(1)), P, y)
            .thresholds.tolist()
        ),
        takes=False,
        learns=False,
        naming=as_comparison("y"),
    ),
    "MetricClassifier": Verb(
        fitted(lambda **o: am.MetricClassifier(LogisticRegression(), cv=2, **o)),
        by_order=True,
    ),
    "MetricLogisticRegression": Verb(
        fitted(lambda **o: am.MetricLogisticRegression(random_state=0, **o)),
        by_order=True,
    ),
    "OnlineClassifier": Verb(fitted(lambda **o: OnlineClassifier(**o)), by_order=True),
    "OnlineThreshold": Verb(
        fitted(
            lambda **o: OnlineThreshold(
                SGDClassifier(loss="log_loss", random_state=0), **o
            )
        ),
        by_order=True,
    ),
}
NAMED = [name for name, verb in VERBS.items() if verb.takes]


def called(verb: str, kind: Kind, bits: Any = Y, *, named: bool = False) -> Any:
    options = {"pos_label": kind.pos_label or kind.positive} if named else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows
        return VERBS[verb].call(kind.write(bits), kind.write(PRED), **options)


def refusal(call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    with pytest.raises(ValueError, match=r"\w") as caught:
        call(*arguments, **options)
    return str(caught.value)


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    """What every verb gives for 0/1 in an array."""
    plain = Kind(0, 1, np.array)
    return {verb: called(verb, plain) for verb in VERBS}


@pytest.mark.parametrize("verb", VERBS)
def test_labels_that_say_it_themselves(verb: str, expected: dict[str, Any]) -> None:
    for name, kind in CLEAR.items():
        assert called(verb, kind) == expected[verb], name
        if VERBS[verb].takes:
            assert called(verb, kind, named=True) == expected[verb], name


@pytest.mark.parametrize("verb", NAMED)
def test_labels_that_are_named(verb: str, expected: dict[str, Any]) -> None:
    for name, kind in UNCLEAR.items():
        if VERBS[verb].by_order and name == "fractions":
            continue  # scikit-learn takes them for a regression
        assert called(verb, kind, named=True) == expected[verb], name


@pytest.mark.parametrize("verb", VERBS)
def test_labels_that_do_not_say_it(verb: str, expected: dict[str, Any]) -> None:
    for name, kind in UNCLEAR.items():
        if VERBS[verb].by_order:
            if name != "fractions":
                assert called(verb, kind) == expected[verb], name
            continue
        # Labels come before what is known of them
        who = "labels" if verb == "forecast known" else VERBS[verb].name
        caught = refusal(called, verb, kind)
        found = [kind.negative, kind.positive]
        said = VERBS[verb].says_unclear(found).replace(VERBS[verb].name, who, 1)
        assert caught == said, name
        assert repr(kind.positive) in said


@pytest.mark.parametrize("make", NUMBERS)
@pytest.mark.parametrize("verb", VERBS)
def test_three_classes(verb: str, make: str) -> None:
    y = NUMBERS[make]([*Y[:-1].tolist(), 2])
    pred = NUMBERS[make](PRED.tolist())
    one = VERBS[verb]
    if one.takes:
        caught = refusal(one.call, y, pred, pos_label=2)
        said = label_words.too_many([0, 1, 2], one.both_names, 2)
        assert caught.endswith(str(said))
    if verb in ("MetricClassifier", "optimal_scorer"):
        return  # several classes are theirs
    caught = refusal(one.call, y, pred)
    hint = "" if one.by_order else f" (2 at row {N - 1})"
    assert str(label_words.too_many([0, 1, 2], one.name, hint=hint)) in caught


@pytest.mark.parametrize("verb", NAMED)
def test_a_positive_label_that_is_not_there(verb: str) -> None:
    one = VERBS[verb]
    for y, pred, pos_label in (
        (Y, PRED, 3),
        (np.where(Y, "spam", "ham"), np.where(PRED, "spam", "ham"), "Spam"),
    ):
        found = label_arrays.distinct(y)
        caught = refusal(one.call, y, pred, pos_label=pos_label)
        assert caught == str(label_words.absent(pos_label, found, one.both_names))


@pytest.mark.parametrize("label", [0, 1, -1, False, True, 0.0])
@pytest.mark.parametrize("verb", VERBS)
def test_one_class_only(verb: str, label: Any) -> None:
    if verb == "optimal_scorer":
        return  # a fold may lack a class that the model knows
    one, y = VERBS[verb], np.full(N, label)
    if not one.learns:
        bits = np.full(N, int(label == 1))
        assert one.call(y, PRED) == one.call(bits, PRED)
        return
    caught = refusal(one.call, y, PRED)
    plain = label_arrays.plain_label(label)
    if verb == "decide reference":
        plain = label == 1  # read once, before the map is fitted
    assert caught == str(label_words.one_class(plain, "y"))


@pytest.mark.parametrize("verb", NAMED)
def test_one_class_only_of_text(verb: str) -> None:
    if verb == "optimal_scorer":
        return
    one, y = VERBS[verb], np.full(N, "ok")
    if not one.learns:
        zeros = np.zeros(N, dtype=int)
        found = one.call(y, y, pos_label="fraud")
        assert found == one.call(zeros, zeros)
        with pytest.raises(ValueError, match="'OK', which pos_label names"):
            one.call(y, y, pos_label="OK")  # rather a slip
        return
    for pos_label in ("ok", "fraud"):
        caught = refusal(one.call, y, y, pos_label=pos_label)
        assert caught == str(label_words.one_class("ok", "y"))


GAPS: dict[str, Make] = {
    "None in a list": lambda y: [*y[:NAN_ROW], None, *y[NAN_ROW + 1 :]],
    "nan in a list": lambda y: [*y[:NAN_ROW], math.nan, *y[NAN_ROW + 1 :]],
    "nan": lambda y: np.where(np.arange(N) == NAN_ROW, np.nan, y),
    "pandas.NA": lambda y: pd.Series(y, dtype="Int64").where(np.arange(N) != NAN_ROW),
    "no truth": lambda y: pd.Series(np.array(y) == 1, dtype="boolean").where(
        np.arange(N) != NAN_ROW
    ),
    "polars": lambda y: pl.Series([*y[:NAN_ROW], None, *y[NAN_ROW + 1 :]]),
    "masked": lambda y: np.ma.array(y, mask=np.arange(N) == NAN_ROW),
}


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_missing_label(verb: str, gap: str) -> None:
    one, y = VERBS[verb], GAPS[gap](Y.tolist())
    if verb == "forecast known":
        assert 0.0 < one.call(y, PRED) < 1.0
        return
    if verb == "optimal_scorer":
        one = Verb(lambda y, pred: am.optimal_scorer()(Scored(Y), X, y))
    caught = refusal(one.call, y, PRED)
    assert caught == str(label_words.no_label(one.name, f"row {NAN_ROW}"))


# ------------------------------------------------------------------------- files


def numbers_of(summary: dict[str, Any], path: str) -> Any:
    found: Any = summary
    for key in path.split("."):
        found = found[int(key)] if key.isdigit() else found[key]
    return found


@dataclass(frozen=True)
class Command:
    arguments: tuple[str, ...]
    result: str
    learns: bool = True


COMMANDS = {
    "decide": Command(("--label", "y"), "actual.score", learns=False),
    "evaluate": Command(
        ("--label", "y", "--decision-column", "d"), "actual.score", False
    ),
    "forecast": Command(("--known", "y", "--decision-column", "d"), "forecast", False),
    "tune": Command(("--label", "y"), "rules.0.optimism"),
    "calibrate": Command(("--label", "y"), "calibrator.draws"),
    "train": Command(("--target", "y", "--model", "logistic"), "rule.optimism"),
    "stream": Command(("--target", "y"), "counts", learns=False),
}
FILE_KINDS = {
    "0/1": ([0, 1], None),
    "-1/1": ([-1, 1], None),
    "bool": ([False, True], None),
    "floats": ([0.0, 1.0], None),
    "spelled": (["FALSE", "TRUE"], None),
    "1/2": ([1, 2], "2"),
    "text": (["ham", "spam"], "spam"),
    "0/1, named": ([0, 1], "1"),
    "-1/1, named": ([-1, 1], "1"),
}


def write(file: str, y: list[Any]) -> None:
    values = {"score": P.tolist(), "a": X[:, 0].tolist(), "d": PRED.tolist(), "y": y}
    if file.endswith("parquet"):
        pq.write_table(pa.table(values), file)
        return
    lines = [
        ",".join(values),
        *(",".join(map(str, row)) for row in zip(*values.values(), strict=True)),
    ]
    Path(file).write_text("\n".join(lines).replace("None", "") + "\n")


def answered(run: Run, command: str, file: str, y: list[Any], *more: str) -> Any:
    write(file, y)
    ended = run(command, file, *COMMANDS[command].arguments, *more, "--json")
    assert ended.code == 0, ended.err
    return numbers_of(json.loads(ended.out), COMMANDS[command].result)


@pytest.mark.parametrize("file", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("command", COMMANDS)
def test_files(run: Run, command: str, file: str) -> None:
    plain = answered(run, command, file, Y.tolist())
    for name, (pair, pos_label) in FILE_KINDS.items():
        y = [pair[bit] for bit in Y]
        named = [] if pos_label is None else ["--pos-label", pos_label]
        assert answered(run, command, file, y, *named) == plain, name


def as_option(*label: Any) -> str:
    return f"--pos-label {label[0]}" if label else "--pos-label"


@pytest.mark.parametrize("file", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("command", COMMANDS)
def test_refusals_of_files(run: Run, command: str, file: str) -> None:
    name = f"{file}: column 'y'"
    three = [*Y[:-1].tolist(), 2]
    seen = list(map(str, three)) if file == "t.csv" else three
    text = ["ham", *np.where(Y, "spam", "ham")[1:].tolist()]
    cases: dict[str, tuple[list[Any], list[str], str]] = {
        "unclear": (
            text,
            [],
            str(label_words.unclear(["ham", "spam"], name, as_option)),
        ),
        "many": (
            three,
            ["--pos-label", "2"],
            label_words.too_many(list(dict.fromkeys(seen)), name, 2).problem,
        ),
        "absent": (
            text,
            ["--pos-label", "Spam"],
            str(label_words.absent("Spam", ["ham", "spam"], name, as_option)),
        ),
        "missing": ([*Y[:-1].tolist(), None], [], f"is empty; {label_words.EVERY_ROW}"),
    }
    if COMMANDS[command].learns:
        cases["one class"] = ([1] * N, [], label_words.one_class(1, name).way_out)
    if command == "stream":  # row by row: the first that is wrong
        cases = {
            "unclear": (text, [], label_words.unclear(["ham"], "it").problem),
            "many": (three, ["--pos-label", "1"], label_words.neither("2", "0", "1")),
            "missing": ([*Y[:-1].tolist(), None], [], "it has no label"),
        }
    if command == "forecast":
        del cases["missing"]
    for case, (y, more, message) in cases.items():
        write(file, y)
        ended = run(command, file, *COMMANDS[command].arguments, *more)
        assert ended.code == 1, case
        assert message in ended.err, case
    if command in ("decide", "evaluate", "forecast"):
        zeros = answered(run, command, file, [0] * N)
        assert answered(run, command, file, ["ok"] * N, "--pos-label", "no") == zeros
