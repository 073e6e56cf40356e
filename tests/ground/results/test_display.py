"""Results show themselves: as text, in notebooks, and as pictures."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

import argmetric as am
from argmetric import search, sequence, stream
from argmetric._ground.display import Field, Result, Shown
from argmetric._ground.pictures import drawing
from argmetric.search import (
    SequenceLabelling,
    Summary,
    Tree,
    check_task,
    score_summaries,
    score_trees,
)
from argmetric.search._searn._iterate import History, Iteration
from argmetric.search.summaries.cluster import read_cluster
from argmetric.search.tagging.labels import Evaluation
from argmetric.sequence import Recalibration
from argmetric.stream import RuleRun

P = np.array([0.9, 0.8, 0.4, 0.3, 0.2, 0.1])
Y = [1, 1, 0, 1, 0, 0]


def history():
    return History(
        (
            Iteration(1, 0.1, 120, 0.25, 0.125, 0.0, None, 0.9, 0.5, 0.25),
            Iteration(2, 0.125, 12345, 0.0625, 0.03, 0.5, 0.4375, 0.81, 12.25),
        ),
        best=2,
        stopped="after 2 iterations",
    )


def summary():
    return Summary(
        read_cluster(["One two. Three."], "it"),
        np.array([0, 0, -1]),
        np.array([0.5]),
        mode="sentences",
        policy="frequency",
        limit=2,
        unit="words",
        size=2,
    )


def spans():
    """A sentence in which a person is likely, and a place less so."""
    p = [[0.1, 0.8, 0.0, 0.1], [0.6, 0.1, 0.3, 0.0], [0.6, 0.0, 0.0, 0.4]]
    return sequence.token_model(p, ["O", "B-PER", "I-PER", "B-LOC"])


def results():
    yield am.decide(P)
    yield am.decide(P, groups=[0, 0, 0, 1, 1, 1], average="groups")
    yield am.forecast(P, P > 0.35)
    yield am.tune(Y, P, n_bootstrap=0, cv=None)
    yield am.calibrate(Y, P, method="platt")
    yield am.calibration_check(Y * 20, np.tile(P, 20) * np.linspace(0.9, 1, 120))
    yield sequence.decode("f1", sequence.Independent(P))
    yield sequence.distribution("f1", [1, 0], sequence.Independent([0.9, 0.2]))
    yield Recalibration(0.9, 0.1, 0.01, 1.0)
    yield sequence.decode_spans(spans(), method="counts")
    yield history()
    yield score_trees([Tree(["a", "b"], None, [2, 0])], [[0, 1]])
    yield summary()
    yield score_summaries(["a b", "c"], [["a b c", "b c"], ["c d"]])


@pytest.fixture(scope="module", params=list(range(14)))
def result(request):
    return list(results())[request.param]


def test_results_are_drawn_on_given_and_on_new_axes(result):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    assert result.plot(ax) is ax
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    assert ax.get_legend() is not None
    own = result.plot()
    assert own is not ax
    assert [t.get_text() for t in own.get_legend().texts] == [
        t.get_text() for t in ax.get_legend().texts
    ]
    plt.close(figure)
    plt.close(own.figure)


def test_text_and_table_say_the_same(result):
    assert isinstance(result, Shown)
    text, table = repr(result), result._repr_html_()
    cut = " more lines in a notebook and in to_dict()" in text
    for line in result._lines():
        for cell in line:
            assert cell.strip() in text or cut or type(result) is Recalibration
            shown = cell.replace(">", "&gt;").replace("'", "&#x27;") in table
            assert shown or line[0] == "assumes"  # which is folded


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


def kinds_below(kind):
    for one in kind.__subclasses__():
        yield one
        yield from kinds_below(one)


def test_results_write_their_fields_and_nothing_else():
    """But for tables of periods, text below the lines, laws in one line, functions."""
    for room in (am, am.classes, am.scale, search, sequence, stream, am.train):
        for name in room.__all__:  # so that all are loaded
            getattr(room, name)
    forms = ("to_dict", "lines", "_lines", "_repr_html_")
    own = {
        f"{kind.__name__}.{form}"
        for kind in kinds_below(Result)
        if kind.__module__.startswith("argmetric")
        for form in (*forms, "__repr__")
        if form in vars(kind) and not (form == "__repr__" and is_generated(kind))
    }
    assert own == {
        "FunctionMap.to_dict",
        *("ClassMonitoring._lines", "Monitoring._lines"),
        *("Summary.__repr__", "Summary._repr_html_"),
        "TaskReport.__repr__",
    }


def is_generated(kind):
    """Whether a printed form is that of a dataclass."""
    return kind.__dataclass_params__.repr


def shown():
    """An object of each kind that is no result, with a cell that it has to show."""
    yield search.Tagger(epochs=3), ("epochs", "3")
    yield search.Searn(SequenceLabelling("ab"), beta=0.5), ("beta", "0.5")
    yield search.LinearLearner(kind="svm"), ("kind", "&#x27;svm&#x27;")
    yield search.AllPairs("<script>"), ("estimator", "&#x27;&lt;script&gt;&#x27;")
    yield search.Costing(None, n_draws=7), ("n_draws", "7")
    yield Tree(["<b>", "c"], ["X", "Y"], [2, 0]), ("&lt;b&gt;", "X", "c")
    yield Tree(["a"], None, [-1]), ("a", "")
    yield sequence.expectation("f1", [1], sequence.Independent([0.5])), ("mean", "0.5")
    yield am.get_metric("f1").ranking_principle(9), ("holds", "True")
    yield stream.OFORule(prior=(1, 4)), ("prior", "(1.0, 4.0)")
    yield RuleRun(np.array([0, 1]), np.array([0.5, 0.25])), ("positives", "1 of 2")
    yield stream.ProgressiveScore(window=1000), ("window", "1,000")


@pytest.mark.parametrize("place", range(12))
def test_what_is_no_result_is_a_table_in_a_notebook_too(place):
    one, (name, *cells) = list(shown())[place]
    html = one._repr_html_()
    assert "<caption style" in html
    row = next(row for row in html.split("<tr>") if f">{name}</th>" in row)
    for cell in cells:
        assert f">{cell}</td>" in row
    assert "<script" not in html


def test_long_values_are_cut_short():
    class Long(Shown):
        def __init__(self):
            self.text, self.numbers, self._hidden = "x" * 500, np.arange(99), 1

    text, numbers = Long()._lines()
    assert (text[0], len(text[1]), text[1][-1]) == ("text", 120, "…")
    assert numbers == ("numbers", "int64 array of shape (99,)")


def test_every_result_and_estimator_shows_itself_in_notebooks():
    """All that hold results or learn; metrics, tasks, models and settings do not."""
    rooms = (am, am.classes, am.scale, search, sequence, stream, am.train)
    shy = {
        name
        for room in rooms
        for name in room.__all__
        if isinstance(found := getattr(room, name), type)
        and not hasattr(found, "_repr_html_")
        and not issubclass(found, am.Metric | search.Task | sequence.SimpleFunction)
    }
    assert shy == {
        *("CalibrationCostDisplay", "ExpectedMetricDisplay", "ForecastDisplay"),
        "ThresholdDisplay",
        *("Progress", "Dask", "Processes", "Threads"),  # parts of others
        *("Chunk", "Sentence", "Span"),
        *("Independent", "MarkovChain", "LinearChainCRF", "CrfsuiteModel"),
        *("MetricObjective", "MetricSurfaceDisplay", "StreamDisplay"),
        "NotCertifiedError",
    }


def test_every_result_is_drawn():
    """All but words, and a number with its interval that its Comparison draws."""
    rooms = (am, am.classes, am.scale, search, sequence, stream, am.train)
    found = {name: getattr(room, name) for room in rooms for name in room.__all__}
    kinds = {
        name: kind
        for name, kind in found.items()
        if isinstance(kind, type) and issubclass(kind, Result)
    }
    undrawn = {name for name, kind in kinds.items() if not hasattr(kind, "plot")}
    assert undrawn == {"Difference", "TaskReport"}
    assert len(kinds) > 15
    for name in {*kinds, "RuleRun"} - undrawn:
        drawn = inspect.signature(found[name].plot).parameters
        assert list(drawn)[:2] == ["self", "ax"], name
        assert drawn["ax"].default is None, name


def bars(ax):
    """Names and lengths of the bars of a picture."""
    names = [one.get_text() for one in ax.get_yticklabels()]
    return dict(zip(names, (one.get_width() for one in ax.patches), strict=True))


def test_chosen_spans_are_drawn_by_type():
    plt = pytest.importorskip("matplotlib.pyplot")
    decision = sequence.decode_spans([spans(), spans()], method="counts")
    ax = decision.plot()
    assert [one.get_text() for one in ax.get_legend().texts] == ["LOC", "PER"]
    assert sum(one.get_height() for one in ax.patches) == decision.n_spans == 4
    assert ax.get_title().startswith("4 spans, expected f1 0.")
    nothing = sequence.token_model([[1.0, 0.0]], ["O", "B-X"])
    empty = sequence.decode_spans(nothing).plot(ax.figure.add_subplot())
    assert (len(empty.patches), empty.get_legend()) == (0, None)
    plt.close(ax.figure)


def test_an_evaluation_has_a_bar_for_each_share():
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = Evaluation(0.5, 0.25, 1.0, 0.4, 0, 1000).plot()
    assert bars(ax) == {
        "accuracy 0.500": 0.5,
        "precision 0.250": 0.25,
        "recall 1.000": 1.0,
        "F1 0.400": 0.4,
    }
    assert list(bars(Evaluation(0.5, None, None, None, 0, 9).plot())) == [
        "accuracy 0.500"
    ]
    plt.close("all")


def test_what_was_done_to_many_files_is_drawn():
    plt = pytest.importorskip("matplotlib.pyplot")
    f1 = am.FBeta()
    sizes = {"n": 10, "n_files": 2, "n_groups": None}
    decision = am.scale.ScaledDecision(
        *("out", "p", None),
        **sizes,
        **{"n_positives": 4, "threshold": 0.3, "expected": 0.75, "error": 0.0},
        **{"expected_half": 0.5, "n_half": 2, "metric": f1, "plan": "one vector"},
    )
    assert bars(decision.plot()) == {"decision 0.750": 0.75, "0.5 cut-off 0.500": 0.5}
    alone = dataclasses.replace(decision, expected_half=None)
    assert bars(alone.plot()) == {"decision 0.750": 0.75}
    counts = {"tp": 3, "fp": 1, "fn": 2, "tn": 4}
    score = am.scale.ScaledScore(
        *(2 / 3, f1, "y", "decision", None),
        **sizes,
        n_groups_without_positives=None,
        counts=counts,
    )
    ax = score.plot()
    cells = {one.get_position(): one.get_text() for one in ax.texts}
    assert cells == {  # decision from left to right, truth from top to bottom
        (0, 0): "4\n80.0%",
        (1, 0): "1\n20.0%",
        (0, 1): "2\n40.0%",
        (1, 1): "3\n60.0%",
    }
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Predicted", "Actual")
    assert ax.get_title() == "Actual F1: 0.667"
    plt.close("all")


def test_what_is_no_axes_is_refused():
    with pytest.raises(TypeError, match="ax must be matplotlib Axes, not int"):
        am.decide(P).plot(3)


def test_labels_of_a_rule_are_no_markup():
    rule = am.Rule("f1", 0.5, pos_label="<script>", neg_label="no")
    assert "<script>" not in rule._repr_html_()
    assert "&lt;script&gt;" in rule._repr_html_()


def test_a_history_is_a_table():
    assert repr(history()).splitlines() == [
        " iteration   beta  examples  regret  mistakes  roll-in  dev loss  initial  "
        "seconds",
        "         1    0.1       120  0.2500    12.50%   0.0000         -      0.9  "
        "   0.50",
        "*        2  0.125     12345  0.0625     3.00%   0.5000    0.4375     0.81  "
        "  12.25",
        "* kept; after 2 iterations",
        "mistakes on inputs not seen in iteration 1: 25.00%",
    ]
    html = history()._repr_html_()
    assert html.count("<td") == 3 * 8
    assert "* kept; after 2 iterations" in html


def test_a_law_of_utilities():
    law = sequence.distribution("f1", [1, 0], sequence.Independent([0.9, 0.2]))
    assert law.interval == (law.quantile(0.05), law.quantile(0.95))
    assert repr(law).splitlines() == [
        "UtilityDistribution: mean 0.840, 90% interval 0.000 to 1.000",
        "  median  1.000",
        "  values  3",
    ]
    nothing = sequence.UtilityDistribution(np.zeros(0), np.zeros(0), 1.0)
    assert repr(nothing).split() == ["UtilityDistribution", "never", "defined"]


def test_an_evaluation_of_labels_and_one_of_chunks():
    labels = Evaluation(0.5, None, None, None, 0, 1000)._repr_html_()
    assert labels.count("<tr>") == 2
    chunks = Evaluation(0.5, 0.25, 1.0, 0.4, 3, 1000)._repr_html_()
    assert chunks.count("<tr>") == 5
    assert "1,000, 3 of an unknown label" in chunks


def test_a_report_on_a_task():
    report = check_task(SequenceLabelling("ab"), ["aa"], ["ab"])
    assert repr(report).startswith("TaskReport: no problem found in ")
    assert "no problem found in" in report._repr_html_()


def test_a_decision_without_a_curve_says_so():
    chain = sequence.MarkovChain([0.5, 0.5], np.full((3, 2, 2), 0.5))
    decision = sequence.decode(sequence.BoundarySimilarity(), chain)
    assert decision.curve is None
    with pytest.raises(ValueError, match="there is no curve to draw"):
        decision.plot()


def test_without_matplotlib_the_extra_is_named():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "sys.modules['matplotlib.pyplot'] = None\n"
        "import argmetric as am\n"
        "try:\n    am.decide([0.5]).plot()\n"
        "except ModuleNotFoundError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert done.stdout == ("plots need matplotlib: pip install 'argmetric[plot]'\n")


def test_a_run_of_a_rule_is_drawn():
    plt = pytest.importorskip("matplotlib.pyplot")
    run = RuleRun(np.array([0, 1, 1]), np.array([0.5, 0.25, 0.125]))
    ax = run.plot()
    assert ax.lines[0].get_ydata().tolist() == [0.5, 0.25, 0.125]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("row", "threshold")
    plt.close(ax.figure)


def test_there_is_no_legend_where_nothing_is_named():
    plt = pytest.importorskip("matplotlib.pyplot")
    with drawing(None, title="nothing") as ax:
        pass
    assert ax.get_title() == "nothing"
    assert ax.get_legend() is None
    plt.close(ax.figure)


def test_frames_are_of_the_libraries_that_are_known():
    check = am.calibration_check(Y * 20, np.tile(P, 20) * np.linspace(0.9, 1, 120))
    for frame in (am.decide(P).to_frame, check.bins.to_frame):
        assert frame("pyarrow").num_rows > 1
        with pytest.raises(ValueError, match="backend must be one of 'pandas'"):
            frame("excel")
