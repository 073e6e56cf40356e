"""Results show themselves: as text, in notebooks, and as pictures."""

import dataclasses
import re
import sys

import numpy as np
import pytest

import argmetric as am
from argmetric import search, sequence, stream
from argmetric._ground.pictures import small_densities
from argmetric.search import (
    Evaluation,
    SequenceLabelling,
    Tree,
    check_task,
    score_summaries,
)
from argmetric.sequence import Recalibration
from argmetric.stream import RuleRun
from refusing import refuses

P = np.array([0.9, 0.8, 0.4, 0.3, 0.2, 0.1])
Y = [1, 1, 0, 1, 0, 0]


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
    yield score_summaries(["a b", "c"], [["a b c", "b c"], ["c d"]])


@pytest.fixture(scope="module", params=list(range(11)))
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
    text, table = repr(result), result._repr_html_()
    cut = " more lines in a notebook and in to_dict()" in text
    for line in result._lines():
        for cell in line:
            assert cell.strip() in text or cut or type(result) is Recalibration
            shown = cell.replace(">", "&gt;").replace("'", "&#x27;") in table
            assert shown or line[0] == "assumes"  # which is folded


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
        *("Chunk", "Sentence", "Span"),
        *("Independent", "MarkovChain", "LinearChainCRF", "CrfsuiteModel"),
        *("MetricObjective", "MetricSurfaceDisplay", "StreamDisplay"),
        "NotCertifiedError",
    }


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
    y, labels = [1] * 5 + [0] * 5, [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    score = am.evaluate(y, labels)
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


def test_labels_of_a_rule_are_no_markup():
    rule = am.Rule("f1", 0.5, pos_label="<script>", neg_label="no")
    assert "<script>" not in rule._repr_html_()
    assert "&lt;script&gt;" in rule._repr_html_()


def test_a_report_on_a_task():
    report = check_task(SequenceLabelling("ab"), ["aa"], ["ab"])
    assert repr(report).startswith("TaskReport: no problem found in ")
    assert "no problem found in" in report._repr_html_()


def test_a_decision_without_a_curve_says_so():
    chain = sequence.MarkovChain([0.5, 0.5], np.full((3, 2, 2), 0.5))
    decision = sequence.decode(sequence.BoundarySimilarity(), chain)
    assert decision.curve is None
    refuses(ValueError, "there is no curve to draw", decision.plot)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        ModuleNotFoundError, match=r"matplotlib: pip install 'argmetric\[plot\]'"
    ):
        am.decide([0.5]).plot()


def test_frames_are_of_the_libraries_that_are_known():
    check = am.calibration_check(Y * 20, np.tile(P, 20) * np.linspace(0.9, 1, 120))
    for frame in (am.decide(P).to_frame, check.bins.to_frame):
        assert frame("pyarrow").num_rows > 1
        refuses(ValueError, "backend must be one of 'pandas'", frame, "excel")


@pytest.mark.parametrize(
    ("backend", "extra"),
    [("pandas", "pandas"), ("polars", "polars"), ("pyarrow", "files")],
)
def test_a_frame_without_its_library_names_the_extra(monkeypatch, backend, extra):
    monkeypatch.setitem(sys.modules, backend, None)
    text = rf"this needs {backend}: pip install 'argmetric\[{extra}\]'"
    with pytest.raises(ModuleNotFoundError, match=text):
        am.decide([0.5]).to_frame(backend)


def test_densities_stand_on_the_line_of_no_rows():
    draws = {"a": np.array([0, 0.5, 1, 1]), "b": np.array([0.3, 0.3, 0.6, 0.6])}
    shown = small_densities(draws, "F1")
    first, second = (
        {float(one.split(",")[1]) for one in points.split()}
        for points in re.findall("points='([^']*)'", shown)
    )
    bottom, top = max(second), min(second)  # of 40 bins most have no row
    assert second == {bottom, top}
    assert first == {bottom, (bottom + top) / 2, top}
    assert 0 <= top < 0.1 * bottom < bottom < 110  # the picture is filled, and holds it
