"""One table of kinds of labels, through everything that takes labels.

The same verdict, the same numbers where labels are taken, and where they are not the
words of the one function that has them.
"""

import json
import math
import re
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
from argmetric.stream import (
    HistogramRule,
    OnlineClassifier,
    OnlineThreshold,
    ProgressiveScore,
)

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

    def write(self, bits):
        return self.make([self.positive if bit else self.negative for bit in bits])


def nullable(dtype):
    return lambda values: pd.Series(values, dtype=dtype)


NUMBERS = {
    "list": list,
    "array": np.array,
    "objects": lambda values: np.array(values, dtype=object),
    "pandas": pd.Series,
    "categorical": lambda values: pd.Series(values, dtype="category"),
    "polars": pl.Series,
    "arrow": pa.array,
}
TEXTS = NUMBERS | {
    "nullable": nullable("string"),
    "polars categorical": lambda values: pl.Series(values, dtype=pl.Categorical),
    "arrow dictionary": lambda values: pa.array(values).dictionary_encode(),
}
SOME = {name: NUMBERS[name] for name in ("list", "categorical", "arrow")}
CLEAR = {
    **{f"0/1 {name}": Kind(0, 1, make) for name, make in NUMBERS.items()},
    **{f"-1/1 {name}": Kind(-1, 1, make) for name, make in SOME.items()},
    **{f"bool {name}": Kind(False, True, make) for name, make in SOME.items()},
    "0/1 floats": Kind(0.0, 1.0, np.array),
    "-1/1 floats": Kind(-1.0, 1.0, list),
    "0/1 uint8": Kind(0, 1, lambda values: np.array(values, dtype=np.uint8)),
    "0/1 nullable": Kind(0, 1, nullable("Int64")),
    "-1/1 nullable": Kind(-1, 1, nullable("Int8")),
    "0/1 nullable floats": Kind(0.0, 1.0, nullable("Float64")),
    "bool nullable": Kind(False, True, nullable("boolean")),
}
UNCLEAR = {
    **{f"1/2 {name}": Kind(1, 2, make, 2) for name, make in SOME.items()},
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
    """

    call: Callable[..., Any]
    name: str = "y"
    takes: bool = True
    learns: bool = True
    both_names: str = "y"
    by_order: bool = False

    def way_out(self, label):
        """How the positive label is named: as an option, or by a comparison."""
        keyword = self.takes or "reference" in self.name
        return f"pos_label={label!r}" if keyword else f"{self.name} == {label!r}"


def fitted(model):
    """Which rows a model calls positive, learned from y."""

    def call(y, pred, **options):
        learned = model(**options).fit(X, y)
        positive = options.get("pos_label")
        if positive is None:
            positive = learned.classes_[1]
        return (np.asarray(learned.predict(X)) == positive).tolist()

    return call


class Scored:
    """A model that was fitted before, with the classes that y has."""

    def __init__(self, y):
        self.classes_ = np.unique(y.to_pylist() if isinstance(y, pa.Array) else [*y])

    def predict_proba(self, X):
        return np.column_stack([1 - P, P])


def tuned(y, pred, **options):
    rule = am.tune(y, P, n_bootstrap=10, **options)
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
        lambda y, pred: am.FBeta(1).score(y, pred), "y_true", takes=False, learns=False
    ),
    "ProgressiveScore": Verb(
        lambda y, pred: ProgressiveScore().update(y, pred),
        "y_true",
        takes=False,
        learns=False,
    ),
    "metric_objective": Verb(
        lambda y, pred: am.metric_objective().score(y, P - 0.5),
        "the labels",
        takes=False,
        learns=False,
    ),
    "ThresholdRule.run": Verb(
        lambda y, pred: (
            HistogramRule()
            .run(HistogramRule().init_state(am.FBeta(1)), P, y)
            .thresholds.tolist()
        ),
        takes=False,
        learns=False,
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


def called(verb, kind, bits=Y, *, named=False):
    options = {"pos_label": kind.pos_label or kind.positive} if named else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows
        return VERBS[verb].call(kind.write(bits), kind.write(PRED), **options)


def refusal(call, *arguments, **options):
    with pytest.raises(ValueError, match=r"\w") as caught:
        call(*arguments, **options)
    return str(caught.value)


@pytest.fixture(scope="module")
def expected():
    """What every verb gives for 0/1 in an array."""
    plain = Kind(0, 1, np.array)
    return {verb: called(verb, plain) for verb in VERBS}


@pytest.mark.parametrize("verb", VERBS)
def test_labels_that_say_it_themselves(verb, expected):
    for name, kind in CLEAR.items():
        assert called(verb, kind) == expected[verb], name
        if VERBS[verb].takes and name.endswith(("list", "nullable")):
            assert called(verb, kind, named=True) == expected[verb], name


@pytest.mark.parametrize("verb", NAMED)
def test_labels_that_are_named(verb, expected):
    for name, kind in UNCLEAR.items():
        if VERBS[verb].by_order and name == "fractions":
            continue  # scikit-learn takes them for a regression
        assert called(verb, kind, named=True) == expected[verb], name


@pytest.mark.parametrize("verb", VERBS)
def test_labels_that_do_not_say_it(verb, expected):
    for name, kind in UNCLEAR.items():
        if VERBS[verb].by_order:
            if name != "fractions":
                assert called(verb, kind) == expected[verb], name
            continue
        # Labels come before what is known of them
        who = "labels" if verb == "forecast known" else VERBS[verb].name
        low, high = kind.negative, kind.positive
        ways = f"{VERBS[verb].way_out(high)} or {VERBS[verb].way_out(low)}"
        swapped = (
            "these look like scores: are scores and labels in their places, as in "
            f"{'(p, labels)' if who == 'labels' else '(y, p)'}? If these are labels, "
        )
        hint = swapped if name == "fractions" else ""
        said = f"{who} holds {low!r}, {high!r}, not 0 and 1; {hint}pass {ways}"
        assert refusal(called, verb, kind) == said, name


@pytest.mark.parametrize("make", SOME)
@pytest.mark.parametrize("verb", VERBS)
def test_three_classes(verb, make):
    y = NUMBERS[make]([*Y[:-1].tolist(), 2])
    pred = NUMBERS[make](PRED.tolist())
    one = VERBS[verb]
    if one.takes:
        said = f"{one.both_names} hold(s)? 0, 1, 2; labels have two values; pass "
        said += " and ".join(f"{x} == 2" for x in one.both_names.split(" and "))
        assert re.search(said, refusal(one.call, y, pred, pos_label=2))
    if verb in SEVERAL:
        return  # several classes are theirs
    hint = "" if one.by_order else f" (2 at row {N - 1})"
    said = f"{one.name} holds 0, 1, 2{hint}; labels have two values; pass {one.name} "
    assert said in refusal(one.call, y, pred)


@pytest.mark.parametrize("verb", NAMED)
def test_a_positive_label_that_is_not_there(verb):
    one = VERBS[verb]
    for y, pred, pos_label in (
        (Y, PRED, 3),
        (np.where(Y, "spam", "ham"), np.where(PRED, "spam", "ham"), "Spam"),
    ):
        said = rf"^{one.both_names} never holds? {pos_label!r}, which pos_label names; "
        assert re.search(said, refusal(one.call, y, pred, pos_label=pos_label))


SEVERAL = ("MetricClassifier", "OnlineClassifier", "OnlineThreshold", "optimal_scorer")
ONE_CLASS = "has one class only: every label is {}; rows of both classes are needed"


@pytest.mark.parametrize("label", [0, 1, -1, False, True, 0.0])
@pytest.mark.parametrize("verb", VERBS)
def test_one_class_only(verb, label):
    if verb == "optimal_scorer":
        return  # a fold may lack a class that the model knows
    one, y = VERBS[verb], np.full(N, label)
    if not one.learns:
        bits = np.full(N, int(label == 1))
        assert one.call(y, PRED) == one.call(bits, PRED)
        return
    if verb == "decide reference":
        label = label == 1  # read once, before the calibrator is fitted
    said = repr(label).removesuffix(".0")
    told = refusal(one.call, y, PRED)
    assert re.fullmatch(f"y {ONE_CLASS.format(f'{said}(?:.0)?')}", told)


@pytest.mark.parametrize("verb", NAMED)
def test_one_class_only_of_text(verb):
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
        told = refusal(one.call, y, y, pos_label=pos_label)
        assert told == f"y {ONE_CLASS.format(repr('ok'))}"


GAPS = {
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
def test_a_missing_label(verb, gap):
    one, y = VERBS[verb], GAPS[gap](Y.tolist())
    if verb == "forecast known":
        assert 0.0 < one.call(y, PRED) < 1.0
        return
    if verb == "optimal_scorer":
        one = Verb(lambda y, pred: am.optimal_scorer()(Scored(Y), X, y))
    said = f"{one.name} has no label at row {NAN_ROW}; every row needs a label"
    assert refusal(one.call, y, PRED) == said


# ------------------------------------------------------------------------- files


def numbers_of(summary, path):
    found = summary
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
    "-1/1": ([-1, 1], None),
    "bool": ([False, True], None),
    "floats": ([0.0, 1.0], None),
    "spelled": (["FALSE", "TRUE"], None),
    "1/2": ([1, 2], "2"),
    "text": (["ham", "spam"], "spam"),
    "-1/1, named": ([-1, 1], "1"),
}
OF_PARQUET = ("-1/1", "bool", "text")


def write(file, y):
    values = {"score": P.tolist(), "a": X[:, 0].tolist(), "d": PRED.tolist(), "y": y}
    if file.endswith("parquet"):
        pq.write_table(pa.table(values), file)
        return
    lines = [
        ",".join(values),
        *(",".join(map(str, row)) for row in zip(*values.values(), strict=True)),
    ]
    Path(file).write_text("\n".join(lines).replace("None", "") + "\n")


def answered(run, command, file, y, *more):
    write(file, y)
    ended = run(command, file, *COMMANDS[command].arguments, *more, "--json")
    assert ended.code == 0, ended.err
    return numbers_of(json.loads(ended.out), COMMANDS[command].result)


@pytest.mark.parametrize("file", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("command", COMMANDS)
def test_files(run, command, file):
    plain = answered(run, command, file, Y.tolist())
    for name in OF_PARQUET if file == "t.parquet" else FILE_KINDS:
        pair, pos_label = FILE_KINDS[name]
        y = [pair[bit] for bit in Y]
        named = [] if pos_label is None else ["--pos-label", pos_label]
        assert answered(run, command, file, y, *named) == plain, name


@pytest.mark.parametrize(
    ("command", "file"),
    [*((one, "t.csv") for one in COMMANDS), ("decide", "t.parquet")],
)
def test_refusals_of_files(run, command, file):
    name = f"{file}: column 'y'"
    three = [*Y[:-1].tolist(), 2]
    text = ["ham", *np.where(Y, "spam", "ham")[1:].tolist()]
    ways = "--pos-label spam or --pos-label ham"
    absent = f"{name} never holds 'Spam', which --pos-label names; it holds 'ham', 's"
    cases = {
        "unclear": (text, [], f"{name} holds 'ham', 'spam', not 0 and 1; pass {ways}"),
        "many": (three, ["--pos-label", "2"], "2'; labels have two values"),
        "absent": (text, ["--pos-label", "Spam"], absent),
        "missing": ([*Y[:-1].tolist(), None], [], "is empty; every row needs a label"),
    }
    if file == "t.parquet":
        cases["many"] = (three, ["--pos-label", "2"], "2; labels have two values")
    if COMMANDS[command].learns:
        cases["one class"] = ([1] * N, [], "rows of both classes are needed")
    if command == "stream":  # row by row: the first that is wrong
        neither = "label '2' is neither '1' (positive) nor '0' (negative)"
        cases = {
            "unclear": (text, [], "it holds 'ham', not 0 and 1"),
            "many": (three, ["--pos-label", "1"], neither),
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
