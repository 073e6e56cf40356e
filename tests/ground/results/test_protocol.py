"""Every public result keeps one protocol, or is named here with the reason why not."""

import dataclasses
import inspect
import json
import math
from typing import NamedTuple, get_args

import numpy as np
import pytest

import argmetric as am
from argmetric import search, sequence, stream, tensors
from argmetric._ground.display import (
    ALARM,
    MOST_LINES,
    PERIOD,
    Field,
    ForecastVerdict,
    Headline,
    Result,
    Shown,
    number,
)
from argmetric._ground.saving import plain
from argmetric._ground.types import Interval
from argmetric._monitor import VERDICTS, Period

ROOMS = (am, am.classes, am.scale, search, sequence, stream, am.train)
MEMBERS = ("notes", "assumptions", "fields", "lines", "plot", "to_frame", "to_dict")

# Results without save() and load(), and why
NOT_KEPT = {
    "ActualClassScore": "counts of labels: evaluate makes it again at once",
    "ActualScore": "counts of labels: evaluate makes it again at once",
    "CalibrationCheck": "to_dict() has all figures; nothing is computed from it later",
    "ClassCalibrationCheck": "as CalibrationCheck",
    "ClassDecision": "labels belong into the user's table; `rule` has save()",
    "ClassForecast": "to_dict() has its figures, to_frame() its distribution",
    "ClassPeriod": "ClassMonitoring keeps its periods",
    "Decision": "labels belong into the user's table; curves need the input again",
    "Difference": "a few figures: to_dict(); Comparison keeps all",
    "Evaluation": "six figures: to_dict()",
    "Forecast": "to_dict() has its figures, to_frame() its distribution",
    "Guarantee": "a Rule keeps its own",
    "LazyDecision": "its table is of the engine",
    "LabelledEstimate": "a few figures: to_dict()",
    "LabellingPlan": "to_frame() is the list of rows to label",
    "Period": "Monitoring keeps its periods",
    "ParityPeriod": "ParityMonitoring keeps its periods",
    "ReviewPeriod": "ReviewMonitoring keeps its periods",
    "Recalibration": "four figures: to_dict(), and Recalibration(**figures)",
    "ScaledClassDecision": "the folder that it wrote keeps it",
    "ScaledDecision": "the folder that it wrote keeps it",
    "SequenceDecision": "labels belong into the user's table",
    "SpanDecision": "labels belong into the user's file",
    "Summary": "to_html() is its page, to_dict() its text and steps",
    "SummaryScores": "to_frame() has every cluster",
    "TaskReport": "a list of problems to mend",
    "UtilityDistribution": "to_frame() is the whole distribution",
    "Review": "rows belong into the user's table",
}
WITHOUT_PLOT = {
    "Difference": "Comparison draws it over the labels",
    "ParityMonitoring": "argmetric.report draws its gaps",
    "ParityPeriod": "argmetric.report draws all periods",
    "ReviewPeriod": "ReviewMonitoring draws all periods",
    "TaskReport": "sentences, and nothing to draw",
}
# What is shown and is no result: parts, models and running scores
NO_RESULTS = {
    "AllPairs": "an estimator",
    "Costing": "a learner",
    "EstimatorLearner": "a learner",
    "Expectation": "a mean and its bounds: a number that says how exact it is",
    "Files": "what verbs of many files are called on",
    "FixedRule": "a rule that goes on learning",
    "FOFORule": "a rule that goes on learning",
    "HistogramRule": "a rule that goes on learning",
    "History": "the log of a fit: a sequence of iterations, which its model keeps",
    "LazyTable": "what verbs of a lazy table are called on",
    "LinearLearner": "a learner",
    "Mixture": "a policy",
    "NewtonRule": "a rule that goes on learning",
    "OFORule": "a rule that goes on learning",
    "OMMARule": "a rule that goes on learning",
    "OneAgainstAll": "an estimator",
    "ProgressiveScore": "a running score, which every row changes",
    "RankingPrinciple": "a property of a metric",
    "RuleRun": "labels and thresholds of a stream, row by row",
    "SFORule": "a rule that goes on learning",
    "Searn": "a model",
    "SpanMarginals": "input of decode_spans",
    "Summarizer": "a model",
    "Tagger": "a model",
    "ThresholdRule": "what rules of streams have in common",
    "Tree": "a sentence with its heads",
    "VectorExpectation": "means and their bounds",
}
# Tensors stay on their device: no text, frame or file is made of them unasked
ON_A_DEVICE = ("TensorDecision", "TensorForecast", "MaskDecision")


def public_classes():
    found = {}
    for room in ROOMS:
        for name in room.__all__:
            one = getattr(room, name)
            if isinstance(one, type):
                found[name] = one
    return found | {"Period": Period}


RESULTS = {
    name: one for name, one in public_classes().items() if issubclass(one, Result)
}


def test_the_tables_name_results_and_nothing_else():
    kept = {name for name, one in RESULTS.items() if hasattr(one, "save")}
    assert not kept & set(NOT_KEPT)
    assert kept | set(NOT_KEPT) == set(RESULTS)
    assert set(WITHOUT_PLOT) <= set(RESULTS)


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_every_result_keeps_the_protocol(name):
    kind = RESULTS[name]
    for member in MEMBERS:
        there = hasattr(kind, member) or member in getattr(
            kind, "__dataclass_fields__", {}
        )
        assert there or (member == "plot" and name in WITHOUT_PLOT), member
    if name not in WITHOUT_PLOT:
        drawn = inspect.signature(kind.plot).parameters
        assert (list(drawn)[:2], drawn["ax"].default) == (["self", "ax"], None)
    if name not in NOT_KEPT:
        assert callable(kind.save)
        assert callable(kind.load)
    if dataclasses.is_dataclass(kind):
        assert kind.__dataclass_params__.frozen


def test_what_else_is_shown_is_named():
    shown = {
        name
        for name, one in public_classes().items()
        if issubclass(one, Shown) and not issubclass(one, Result)
    }
    assert shown <= set(NO_RESULTS)
    for name in ON_A_DEVICE:
        if name != "MaskDecision":
            assert getattr(tensors, name).__dataclass_params__.frozen


P = np.array([0.9, 0.8, 0.4, 0.3, 0.2, 0.1])
Y = [1, 1, 0, 1, 0, 0]


def some_results():
    utility = sequence.distribution("f1", [1, 0], sequence.Independent([0.9, 0.2]))
    decision = am.decide(P)
    rule = am.tune(Y * 20, np.tile(P, 20), n_bootstrap=20, random_state=0)
    promised = am.tune(Y * 40, np.tile(P, 40), min_recall=0.5, confidence=0.9)
    new = np.tile(P, 40)
    found = am.monitor(new, 0.5, reference=(Y * 20, np.tile(P, 20)), every=80)
    classes = am.classes.decide(np.stack([P, 1 - P], axis=1), classes=["a", "b"])
    yield decision, "expected F1 ", decision.expected
    yield decision.forecast(), "F1 ", decision.forecast().mean
    yield am.evaluate(Y, P > 0.35), "actual F1 ", am.evaluate(Y, P > 0.35)
    yield rule, "p >= ", rule.mean
    yield am.Rule("f1", 0.3), "p >= 0.3", None
    yield promised.guarantee, "p ≥ ", None
    yield found, "F1 in the last period ", None
    yield found.periods[-1], "score ", None
    yield found.to_label(10), "rows to label 10", None
    yield classes, "expected macro F1 ", classes.expected
    yield classes.forecast(), "macro F1 ", classes.forecast().mean
    yield utility, "mean ", utility.mean


@pytest.mark.parametrize("place", range(12))
def test_the_answer_comes_first_and_ten_lines_are_enough(place):
    """First line: the answer with its number; the view has it in large letters."""
    one, words, value = list(some_results())[place]
    headline = one._headline()
    assert isinstance(headline, Headline)
    assert str(headline).startswith(words)
    if not isinstance(one, float):  # which prints as a float
        lines = repr(one).splitlines()
        assert lines[0] == f"{type(one).__name__}: {headline}"
        assert len(lines) <= MOST_LINES
    if value is not None:
        assert number(value) in str(headline)
    html = one._repr_html_()
    assert "font-size:2.2em" in html
    for note in one.notes:
        assert note in repr(one)
    assert ("<details>" in html) == bool(one.assumptions)
    assert "<script" not in html


class Remarked(Result):
    """A result with more notes and lines than anybody reads."""

    @property
    def notes(self):
        return tuple(f"note {i}" for i in range(9))

    def fields(self):
        return [Field(f"k{i}", i, f"line {i}", str(i)) for i in range(9)]


def test_what_is_too_long_says_what_is_left_out():
    lines = repr(Remarked()).splitlines()
    assert len(lines) == MOST_LINES
    assert lines[3].strip() == "... 7 more lines in a notebook and in to_dict()"
    assert lines[-1].strip() == "... 4 more in notes"
    assert list(Remarked().to_frame("pyarrow").column_names) == [
        f"k{i}" for i in range(9)
    ]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_every_one_is_a_frame_and_plain_values(backend):
    pytest.importorskip(backend)
    for one, *_ in some_results():
        assert len(one.to_frame(backend)) >= 1
        plain(one.to_dict())


def test_pictures_are_drawn_of_plain_arrays():
    for one, *_ in list(some_results())[:4]:
        picture = one._picture()
        assert picture.count("<svg") == picture.count("</svg>")
        assert "nan" not in picture
    decision = am.decide(P)
    assert decision._picture().count("<circle") == 1
    assert decision.forecast()._picture().count("<rect") > 3


def test_periods_and_guarantees_are_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    drawn = [one for one, *_ in some_results()]
    guarantee, period = drawn[5], drawn[7]
    assert guarantee.plot().get_xlabel() == "Threshold"
    assert period.plot().get_title().endswith(period.verdict)
    plt.close("all")


def test_an_actual_score_does_not_change():
    score = am.evaluate(Y, P > 0.35)
    with pytest.raises(dataclasses.FrozenInstanceError):
        score.metric = None
    assert score.interval == (score.interval.low, score.interval.high)


def test_intervals_are_pairs_with_named_ends():
    interval = am.forecast(P, P > 0.35).interval
    assert isinstance(interval, Interval)
    assert interval == (interval.low, interval.high)
    assert plain({"interval": interval}) == {"interval": list(interval)}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.12345, "0.123"),
        (0.00412, "0.00412"),
        (1.0, "1.000"),
        (12.345, "12.3"),
        (1234.5, "1,234"),
        (0.0, "0.000"),
        (math.nan, "undefined"),
    ],
)
def test_numbers_have_three_digits(value, text):
    assert number(value) == text


def test_verdicts_are_those_of_the_table():
    assert tuple(PERIOD) == VERDICTS
    assert len(set(PERIOD.values())) == len(PERIOD)
    found = am.monitor(np.tile(P, 40), 0.5, reference=(Y * 20, np.tile(P, 20)))
    assert {one.verdict for one in found.periods} <= set(PERIOD)
    check = am.calibration_check(Y * 20, np.tile(P, 20), n_bootstrap=20)
    verdicts = (check.fit_to_decide, check.fit_to_forecast)
    assert set(verdicts) <= set(get_args(ForecastVerdict))
    page = am.report(check)
    assert tuple(card.value for card in page.cards) == verdicts
    page = am.report(found)
    assert page.cards[0].value == found.periods[-1].verdict
    assert set(ALARM) >= {one.alarm for one in found.alarms}


class Hostile(Result):
    def _title(self):
        return "<script>title"

    notes = ("<script>note",)

    def fields(self):
        lines = [("<b>name", 'a & b "<i>'), ("longer name", "x")]
        return [Field("a", 1.0), *(Field(None, None, *line) for line in lines)]


def test_text_of_others_is_no_markup():
    html = Hostile()._repr_html_()
    assert "<script" not in html
    assert "<b>" not in html
    assert "<i>" not in html
    assert "&lt;b&gt;name" in html
    assert "a &amp; b" in html
    assert repr(Hostile()).splitlines() == [
        "<script>title",
        '  <b>name      a & b "<i>',
        "  longer name  x",
        "  note: <script>note",
    ]


class Pair(NamedTuple):
    low: float
    high: float


class Made(Result):
    """A result with a value of every kind."""

    made = 0

    def slow(self):
        self.made += 1
        return [1, 2]

    def fields(self):
        nan, inf = math.nan, math.inf
        return [
            Field("number", np.float64(0.5), "number", "0.5"),
            Field("pair", Pair(nan, -inf), "pair", "unknown"),
            Field("array", np.array([[1.0, nan], [inf, 2.0]])),
            Field("flags", np.array([True, False]), "flags"),
            Field("nested", (Hostile(), {"a": [np.int64(3), None]})),
            Field("slow", lambda: self.slow()),
            Field(None, 4, "only shown", "4"),
        ]


def test_all_forms_of_a_result_come_from_its_fields():
    result = Made()
    shown = [("number", "0.5"), ("pair", "unknown"), ("only shown", "4")]
    assert result.lines() == shown
    assert repr(result) == (
        "Made\n  number      0.5\n  pair        unknown\n  only shown  4"
    )
    assert [f">{text}</td>" in result._repr_html_() for _, text in shown] == [True] * 3
    assert result.made == 0  # nobody asked for JSON
    values = result.to_dict()
    assert values == {
        "number": 0.5,
        "pair": {"low": None, "high": "-inf"},
        "array": [[1.0, None], ["inf", 2.0]],
        "flags": [True, False],
        "nested": [{"a": 1.0}, {"a": [3, None]}],
        "slow": [1, 2],
    }
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert result.made == 1


def test_long_values_are_cut_short():
    class Long(Shown):
        def __init__(self):
            self.text, self.numbers, self._hidden = "x" * 500, np.arange(99), 1

    text, numbers = Long()._lines()
    assert (text[0], len(text[1]), text[1][-1]) == ("text", 120, "…")
    assert numbers == ("numbers", "int64 array of shape (99,)")


def test_a_value_that_differs_by_rounding_is_that_value():
    found = am.forecast([0.9, 0.6, 0.3], [1, 1, 0])
    reached = found.probabilities.cumsum()
    for value, below, at in zip(found.values[1:], reached, reached[1:], strict=False):
        assert found.cdf(value - 5e-13) == pytest.approx(at, rel=1e-15)
        assert found.probability_below(value + 5e-13) == pytest.approx(below, rel=1e-15)
