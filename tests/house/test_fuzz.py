"""Every argument of every public callable, replaced by what nobody should pass.

`make test` makes a few hundred calls, `make test-all` 20,000; ARGMETRIC_SEED draws
others. What is drawn, and what may happen, is in `fuzz.py`, which makes one again.
"""

import importlib
import inspect
import os
import warnings

import pytest

from fuzz import CALLS, complaint, odd_call
from slow import SLOW

SEED = int(os.environ.get("ARGMETRIC_SEED", "20"))
N_CALLS = 20_000 if SLOW else 400

ROOMS = ("", ".classes", ".published", ".scale", ".search", ".sequence")
ROOMS += (".stream", ".train")
MADE_BY_THE_PACKAGE = """
ActualScore ActualClassScore ClassDecision ClassForecast Files CalibrationCheck
ClassCalibrationCheck Calibrator Decision Forecast MetricSurfaceDisplay MultiClassRule
MultiLabelRule Rule RankingPrinciple Expectation VectorExpectation SequenceDecision
Span SpanDecision SpanMarginals Recalibration UtilityDistribution RuleRun Chunk
Sentence Evaluation History Mixture TaskReport MetricObjective Tree Summary
SummaryScores Progress ScaledClassDecision ScaledDecision Report
LazyDecision LazyTable
ExpectedMetricDisplay ForecastDisplay CalibrationCostDisplay ThresholdDisplay
StreamDisplay LabelledEstimate LabellingPlan Monitoring Comparison Difference Review
ClassMonitoring ClassPeriod Guarantee NotCertifiedError ReviewRule ReviewMonitoring
ReviewPeriod ParityRule ClassReviewRule ParityMonitoring ParityPeriod
ClassReviewMonitoring
"""
BASES = {"SimpleFunction", "VectorFunction", "ThresholdRule", "Task"}  # to derive from
WITHOUT_ARGUMENTS = {"metric_names", "warmup"}
AN_EXTRA = {"RiverClassifier"}  # called where these are there
# Called by the package, with what it made itself
INNER = """
Calibrator.keeps_apart Rule.named CrfsuiteModel.sentences_and_known LinearLearner.fit
AllPairs.fit EstimatorLearner.fit OneAgainstAll.fit Mixture.action_scores Mixture.choose
Mixture.component_numbers Mixture.interpolate _WindowFunction.n_windows
ExportMixin.to_onnx
"""
# Called by another name: that of a class below, or of a method that does the same
BY_ANOTHER_NAME = """
LinearFractional.ranking_principle Utility.ranking_principle TextTagger.evaluate
TextTagger.score Costing.predict_proba CrfsuiteModel.sentences MetricObjective.score
ProgressiveScore.update OnlineClassifier.fit OnlineThreshold.learn_one
OnlineThreshold.predict_one OnlineThreshold.predict_proba_one Parameters.get_params
Parameters.set_params
"""


def public_classes():
    for room in ROOMS:
        module = importlib.import_module(f"argmetric{room}")
        found = (getattr(module, name) for name in module.__all__)
        yield from filter(inspect.isclass, found)


def is_for_search(kind):
    """Whether its methods are a protocol: called with states that they made."""
    return any(one.__name__ in ("Task", "SimpleFunction") for one in kind.__mro__)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Calls that read and write files do so in a folder of their own."""
    monkeypatch.chdir(tmp_path)


def test_every_public_callable_is_called():
    named = {*MADE_BY_THE_PACKAGE.split(), *BASES, *WITHOUT_ARGUMENTS, *AN_EXTRA}
    for room in ROOMS:
        module = importlib.import_module(f"argmetric{room}")
        for name in module.__all__:
            if callable(getattr(module, name)) and name not in named:
                known = {f"{module.__name__}.{name}", f"argmetric.{name}"}
                assert known & set(CALLS), f"no valid call of {module.__name__}.{name}"


def test_every_public_method_with_arguments_is_called():
    called = {
        getattr(kind, name.partition(".")[2]).__qualname__
        for kind in public_classes()
        for name in CALLS
        if name.startswith(f"{kind.__name__}.") and "," not in name
    }
    for kind in public_classes():
        if is_for_search(kind):
            continue
        for name, method in inspect.getmembers(kind, callable):
            own = getattr(method, "__func__", method)
            if name.startswith("_") or name == "plot" or not inspect.isfunction(own):
                continue
            if not own.__module__.startswith("argmetric"):
                continue
            if not set(inspect.signature(own).parameters) - {"self", "cls"}:
                continue
            known = {own.__qualname__, f"{kind.__name__}.{name}"}
            others = {*INNER.split(), *BY_ANOTHER_NAME.split()}
            assert known & {*called, *CALLS, *others}, (
                f"no valid call of {own.__qualname__}"
            )


@pytest.mark.parametrize("name", CALLS)
def test_the_calls_are_valid(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        CALLS[name]()


def test_odd_arguments_are_taken_or_refused_by_name():
    found = []
    for number in range(N_CALLS):
        answer = complaint(odd_call(SEED, number))
        if answer is not None:
            again = f"python tests/fuzz.py {SEED} {number}"
            found.append(f"{odd_call(SEED, number)}: {answer} ({again})")
    assert not found, "\n".join(found)
