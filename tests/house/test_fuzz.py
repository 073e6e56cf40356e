"""Every argument of every public callable, replaced by what nobody should pass."""

from __future__ import annotations

import importlib
import math
import re
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from valid_calls import CALLS as PLAIN
from valid_scale import SCALED
from valid_structures import STRUCTURES

CALLS = PLAIN | STRUCTURES | SCALED

NUMBERS = (
    *(-1, 0, 1, 2, 3, 10**12, 2**63, 2**70, -(2**70), 10**400),
    *(0.5, -0.5, 1.5, 1e-300, 1e300, math.nan, math.inf, -math.inf, True, False, 1j),
    *(np.float32(0.5), np.int64(3), np.uint64(2**63), np.array(0.5), np.array(2)),
    *(Decimal("0.5"), Decimal("sNaN"), Fraction(1, 3)),
)
OTHERS = (
    *(None, "", "abc", b"abc", "é\0", object(), ..., np.datetime64("2020-01-01")),
    *([], [1], [0.5, "x"], [[1, 2], [3]], [None], (), (1, 2), {}, {"a": 1}, {1}),
    *(np.array([]), np.zeros((2, 2, 2)), np.array(["a"]), np.array([0.5, np.nan])),
    *(iter([1]), range(3), slice(None), np.ma.array([1, 2], mask=[0, 1])),
)
N_CALLS = 2000


def odd_calls():
    """Name of a call, and one or two of its arguments replaced."""
    rng = np.random.default_rng(20)
    places = [(name, one) for name, call in CALLS.items() for one in call.arguments]
    values = [*NUMBERS, *OTHERS]
    for i in range(N_CALLS):
        name, argument = places[i % len(places)]
        other = {argument: values[rng.integers(len(values))]}
        if rng.random() < 0.2:
            second = list(CALLS[name].arguments)
            other[second[rng.integers(len(second))]] = values[rng.integers(len(values))]
        yield name, other


def names_an_argument(message, name, other):
    """One that was replaced, or another one together with its value."""
    words = [CALLS[name].words.get(one, rf"\b{one}\b") for one in other]
    words += [rf"\b{one}=" for one in CALLS[name].arguments]
    return any(re.search(word, message) for word in words)


def complaint(name, other):
    """What is wrong with how a call answers; None where it works or says what to do."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)
        try:
            CALLS[name](**other)
        except (TypeError, ValueError) as error:
            if names_an_argument(str(error), name, other):
                return None
            return f"{type(error).__name__} without the argument: {error}"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return None


MADE_BY_THE_PACKAGE = {
    *("CalibrationCheck", "Calibrator", "Decision", "Forecast", "MetricSurfaceDisplay"),
    *("MultiClassRule", "MultiLabelRule", "Rule", "RankingPrinciple"),
    *("Expectation", "SequenceDecision", "Span", "SpanDecision", "SpanMarginals"),
    *("Recalibration", "UtilityDistribution", "RuleRun", "Chunk", "Sentence"),
    *("Evaluation", "History", "Mixture", "TaskReport", "MetricObjective"),
    *("Tree", "TreeScores", "Summary", "SummaryScores", "Progress"),
    *("ScaledDecision", "ScaledScore", "Report"),
    *("ExpectedMetricDisplay", "ForecastDisplay", "CalibrationCostDisplay"),
    *("ThresholdDisplay", "StreamDisplay"),
}
BASES = {"SimpleFunction", "ThresholdRule", "Task"}  # to be derived from
WITHOUT_ARGUMENTS = {"metric_names", "warmup"}
AN_EXTRA = {"RiverClassifier", "Dask"}  # called where these are there


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Calls that read and write files do so in a folder of their own."""
    monkeypatch.chdir(tmp_path)


def test_every_public_callable_is_called():
    named = set().union(MADE_BY_THE_PACKAGE, BASES, WITHOUT_ARGUMENTS, AN_EXTRA)
    parts = "report", "scale", "search", "sequence", "stream", "train"
    for part in ("", *(f".{one}" for one in parts)):
        module = importlib.import_module(f"argmetric{part}")
        for name in module.__all__:
            if callable(getattr(module, name)) and name not in named:
                known = {f"{module.__name__}.{name}", f"argmetric.{name}"}
                assert known & set(CALLS), f"no valid call of {module.__name__}.{name}"


@pytest.mark.parametrize("name", CALLS)
def test_the_calls_are_valid(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        CALLS[name]()


def test_odd_arguments_are_taken_or_refused_by_name():
    found = []
    for name, other in odd_calls():
        answer = complaint(name, other)
        if answer is not None:
            found.append(f"{name}({other}): {answer}")
    assert not found, "\n".join(found)
