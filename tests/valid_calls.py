"""One valid call of every public callable, small enough to be made thousands of times.

An estimator is called by its constructor and `fit` together, as it checks what it was
given when it is fitted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, SGDClassifier

import argmetric as am
from argmetric import search, sequence, stream

P = [0.9, 0.6, 0.3, 0.1, 0.7, 0.2]
Y = [1, 1, 0, 0, 0, 1]
PAIR = [[0.9, 0.2], [0.4, 0.1], [0.6, 0.3], [0.1, 0.4]]
PAIR_Y = [[1, 0], [0, 0], [1, 1], [0, 1]]
THREE = [[0.5, 0.3, 0.2], [0.6, 0.4, 0], [0.5, 0.1, 0.4], [0.8, 0.1, 0.1]]
X = np.array([[0.2], [1.0], [2.0], [3.0], [0.4], [2.5]] * 4)
X_Y = [1, 0, 1, 1, 0, 1] * 4
CHAIN = sequence.MarkovChain([0.7, 0.3], [[[0.9, 0.1], [0.4, 0.6]]] * 3)
CALIBRATOR = am.calibrate(Y, P)
RULE = am.tune(Y, P, n_bootstrap=0, cv=0)
MULTI_LABEL = am.tune(PAIR_Y, PAIR, n_bootstrap=0, cv=0)
MULTI_CLASS = am.classes.tune(list("abca"), THREE, n_bootstrap=0, cv=0)
DECISION = am.decide(P, groups=list("aabbcc"), average="groups")
FORECAST = am.forecast(P, Y)


def fitted(kind: Callable[..., Any], X: Any, y: Any, *names: str) -> Callable[..., Any]:
    """Constructor and fit in one; `names` are parameters of fit."""

    def call(**arguments: Any) -> Any:
        to_fit = {name: arguments.pop(name) for name in names if name in arguments}
        return kind(**arguments).fit(X, y, **to_fit)

    return call


def drawn(function: Callable[..., Any], **fixed: Any) -> Callable[..., Any]:
    """A picture that is not kept."""

    def call(**arguments: Any) -> Any:
        plt = pytest.importorskip("matplotlib.pyplot", reason="needs the extra 'plot'")
        try:
            return function(**fixed, **arguments)
        finally:
            plt.close("all")

    return call


def lasting(kind: Callable[..., Any]) -> Callable[..., Any]:
    """A rule of a stream that decides on a few rows."""

    def call(**arguments: Any) -> Any:
        rule = kind(**arguments)
        return rule.run(rule.init_state("f1"), P, Y)

    return call


@dataclasses.dataclass(frozen=True)
class Call:
    """A function, and arguments with which it works."""

    function: Callable[..., Any]
    arguments: dict[str, Any]
    # What messages call an argument, where that is not its name
    words: dict[str, str] = dataclasses.field(
        default_factory=lambda: {"utility": "utility|metric"}
    )
    changes: frozenset[str] = frozenset()  # arguments that are changed on purpose

    def __call__(self, **other: Any) -> Any:
        return self.function(**{**self.arguments, **other})


def of(function: Callable[..., Any], /, **arguments: Any) -> Call:
    return Call(function, arguments)


PLAIN_METRICS = (
    "Accuracy BalancedAccuracy FowlkesMallows GMean HMean Jaccard Kappa Lift MCC "
    "Markedness Precision QMean Recall Specificity SquaredCountError Youden Metric"
)
LIMITS = {"min_precision": 0.1, "min_recall": 0.1, "zero_division": 1.0}
CALLS: dict[str, Call] = {
    **{
        f"argmetric.{name}": of(getattr(am, name), zero_division=0.0)
        for name in PLAIN_METRICS.split()
    },
    "argmetric.FBeta": of(am.FBeta, beta=2.0, zero_division=0.0),
    "argmetric.Tversky": of(am.Tversky, alpha=0.4, beta=0.2, zero_division=0.0),
    "argmetric.Utility": of(am.Utility, tp=1, fp=-1, fn=0, tn=0, zero_division=0.0),
    "argmetric.LinearFractional": of(
        am.LinearFractional, c=(0, 2, 0, 0), d=(0, 0, 1, 1), zero_division=0.0
    ),
    "argmetric.CustomMetric": of(
        am.CustomMetric,
        function=lambda tp, k, t, n: tp / n,
        name="hits",
        greater_is_better=True,
        zero_division=0.0,
    ),
    "Metric.value": of(am.FBeta().value, tp=1, k=2, t=2, n=4),
    "Metric.score": of(am.FBeta().score, y_true=Y, y_pred=Y),
    "Metric.ranking_principle": of(am.GMean().ranking_principle, n=5),
    "Metric.with_zero_division": of(am.MCC().with_zero_division, zero_division=1),
    "argmetric.decide": Call(
        am.decide,
        {
            **{"p": P, "metric": "f1", "groups": list("aabbcc"), "average": "groups"},
            **{"min_positives": 1, "max_positives": 2, "logits": False},
            **{"reference": CALIBRATOR, "n_jobs": 1, **LIMITS},
        },
        {"p": r"\bp\b|no number of positives"},
    ),
    "decide, one vector": Call(
        am.decide,
        {
            **{"p": P, "metric": "gmean", "average": None},
            **{"min_positives": 0, "max_positives": None, **LIMITS},
        },
        {"p": r"\bp\b|meets all limits"},  # tiny probabilities meet no precision
    ),
    "decide, a matrix": Call(
        am.decide,
        {"p": PAIR, "metric": "jaccard", "average": "macro", "reference": (Y, P)},
        {"reference": r"reference|\bp\b|\by\b"},
    ),
    "argmetric.forecast": of(
        am.forecast,
        p=P,
        labels=Y,
        metric="f1",
        coverage=0.9,
        groups=list("aabbcc"),
        average="groups",
        known=[1, None, None, 0, None, None],
        prior=0.4,
        overdispersion=0.1,
        zero_division=1.0,
        logits=False,
        reference=CALIBRATOR,
        pos_label=1,
    ),
    "argmetric.published.decide": of(
        am.published.decide,
        p=P,
        metric="f1",
        groups=list("aabbcc"),
        average="groups",
        zero_division=1.0,
        logits=False,
    ),
    "argmetric.evaluate": of(
        am.evaluate,
        y=Y,
        labels=Y,
        metric="f1",
        groups=list("aabbcc"),
        average="groups",
        zero_division=1.0,
        pos_label=1,
    ),
    "argmetric.tune": of(
        am.tune,
        y=Y,
        p=P,
        metric="f1",
        sample_weight=[1, 2, 1, 1, 1, 1],
        groups=None,
        max_positives=4,
        cost=None,
        pos_label=1,
        reference=CALIBRATOR,
        choice="one_se",
        average=None,
        n_bootstrap=5,
        coverage=0.9,
        cv=2,
        random_state=0,
        **LIMITS,
    ),
    "tune, groups": of(
        am.tune, y=Y, p=P, groups=list("aabbcc"), average="groups", n_bootstrap=3, cv=2
    ),
    "tune, costs": of(am.tune, y=Y, p=P, cost=(1, 2), n_bootstrap=0, cv=None),
    "tune, several labels": of(
        am.tune, y=PAIR_Y, p=PAIR, metric="f1", average="macro", n_bootstrap=0, cv=0
    ),
    "tune, no labels": of(am.tune, y=None, p=P, metric="f1", n_bootstrap=2),
    "argmetric.calibrate": Call(
        am.calibrate,
        {
            "y": Y,
            "p": P,
            "method": "beta",
            "sample_weight": [1, 2, 1, 1, 1, 1],
            "pos_label": 1,
            "logits": False,
        },
        {"p": r"\bp\b|scores"},
    ),
    "argmetric.calibration_check": Call(
        am.calibration_check,
        {
            **{"y": Y, "p": P, "metric": "f1", "groups": None, "average": None},
            **{"sample_weight": [1, 2, 1, 1, 1, 1], "pos_label": 1, "n_bins": 3},
            **{"n_bootstrap": 3, "random_state": 0, "logits": False},
            "zero_division": 1.0,
        },
        {"p": r"\bp\b|scores"},
    ),
    "argmetric.adjust_prior": of(
        am.adjust_prior, p=P, prevalence=0.2, reference_prevalence=0.4, logits=False
    ),
    "adjust_prior, found": of(am.adjust_prior, p=P, reference_prevalence=0.4),
    "argmetric.check_metric": of(am.check_metric, metric="f1", n=6),
    "argmetric.get_metric": of(am.get_metric, metric="f1", zero_division=0.0),
    "argmetric.optimal_scorer": of(
        lambda **given: am.optimal_scorer(**given)(
            LogisticRegression().fit(X, X_Y), X, X_Y
        ),
        metric="f1",
        pos_label=1,
        max_positives=10,
        **LIMITS,
    ),
    "argmetric.MetricClassifier": of(
        fitted(am.MetricClassifier, X, X_Y, "sample_weight", "groups"),
        estimator=LogisticRegression(),
        metric="f1",
        calibration="platt",
        cv=2,
        choice="best",
        max_positives=20,
        average="pooled",
        pos_label=1,
        random_state=0,
        sample_weight=[1, 2] * 12,
        groups=list("aabbcc") * 4,
        **LIMITS,
    ),
    "argmetric.MetricLogisticRegression": of(
        fitted(am.MetricLogisticRegression, X, X_Y, "sample_weight"),
        metric="f1",
        objective="soft",
        C=1.0,
        gamma=1.0,
        fit_intercept=True,
        n_restarts=1,
        class_weight=None,
        random_state=0,
        n_jobs=None,
        warm_start=False,
        max_iter=5,
        tol=1e-3,
        pos_label=1,
        verbose=0,
        sample_weight=[1, 2] * 12,
    ),
    "argmetric.metric_objective": of(
        am.metric_objective, metric="f1", objective="soft"
    ),
    "MetricObjective": Call(
        am.metric_objective("f1"),
        {"first": [1, 0, 0, 0], "second": [0.0, 0.0, 0.0, 0.0]},
        {"first": "label|margin", "second": "margin|label"},
    ),
    "Calibrator.apply": of(CALIBRATOR.apply, p=P, logits=False),
    "Calibrator.apply_logits": of(CALIBRATOR.apply_logits, x=P),
    "Calibrator.then": of(CALIBRATOR.then, other=CALIBRATOR),
    "Calibrator.from_dict": Call(
        am.Calibrator.from_dict,
        {"values": CALIBRATOR.to_dict()},
        {"values": "saved|this rule|this calibrator|of the kind"},
    ),
    "Rule.apply": of(RULE.apply, p=P),
    "Rule.from_dict": Call(
        am.Rule.from_dict,
        {"values": RULE.to_dict()},
        {"values": "saved|this rule|this calibrator|of the kind"},
    ),
    "MultiLabelRule.apply": of(MULTI_LABEL.apply, p=PAIR),
    "MultiClassRule.apply": of(MULTI_CLASS.apply, p=THREE),
    "Decision.curve_of": of(DECISION.curve_of, group="a"),
    "Decision.to_frame": of(DECISION.to_frame, backend="pandas"),
    "Report.render": of(am.report(RULE).render, format="md"),
    "argmetric.report": of(
        lambda result, **known: am.report(
            DECISION if type(result) is str else result, **known
        ),  # a copy of a decision has no page
        **{"result": "a decision", "y": Y, "pos_label": 1, "coverage": 0.8},
        reference=(Y, P),
    ),
    "Forecast.cdf": of(FORECAST.cdf, x=0.5),
    "Forecast.probability_below": of(FORECAST.probability_below, x=0.5),
    "Forecast.quantile": of(FORECAST.quantile, q=0.5),
}


# ------------------------------------------------------------------------- stream

RUNNING = stream.HistogramRule()
CLASS_COUNTS = stream.OMMARule().init_state("f1", n_classes=3)


def run_classes(rule: stream.OMMARule) -> Any:
    """A rule of several classes that decides on a few rows."""
    return rule.run(rule.init_state("f1", n_classes=3), THREE, [0, 1, 2, 0])


CALLS |= {
    "argmetric.stream.FixedRule": of(lasting(stream.FixedRule), threshold=0.3),
    "argmetric.stream.FOFORule": of(lasting(stream.FOFORule), n=10, start=0.2),
    "argmetric.stream.SFORule": of(
        lasting(stream.SFORule), n=10, start=0.2, radius=0.4
    ),
    "argmetric.stream.OFORule": of(
        lasting(stream.OFORule), prior=(1, 4), forget=None, window=None
    ),
    "argmetric.stream.NewtonRule": of(lasting(stream.NewtonRule), forget=None),
    "argmetric.stream.HistogramRule": of(
        lasting(stream.HistogramRule),
        **{
            one.name: getattr(RUNNING, one.name)
            for one in dataclasses.fields(stream.HistogramRule)
        },
    ),
    "ThresholdRule.init_state": of(RUNNING.init_state, metric="f1"),
    "ThresholdRule.run": Call(
        RUNNING.run,
        {
            "state": RUNNING.init_state("f1"),
            "scores": P,
            "y": Y,
            "sample_weight": [1, 2, 1, 1, 1, 1],
            "logits": False,
        },
        changes=frozenset({"state"}),
    ),
    "ThresholdRule.decide": of(
        RUNNING.decide, state=RUNNING.init_state("f1"), scores=P, logits=False
    ),
    "ThresholdRule.threshold_of": of(
        RUNNING.threshold_of, state=RUNNING.init_state("f1")
    ),
    "argmetric.stream.OMMARule": of(
        lambda **options: run_classes(stream.OMMARule(**options)),
        **dataclasses.asdict(stream.OMMARule()),
    ),
    "OMMARule.init_state": of(
        stream.OMMARule().init_state, metric="f1", n_classes=3, n_labels=None
    ),
    "OMMARule.run": Call(
        stream.OMMARule().run,
        {
            "state": stream.OMMARule().init_state("f1", n_classes=3),
            "p": THREE,
            "y": [0, 1, 2, 0],
            "sample_weight": [1, 2, 1, 1],
        },
        changes=frozenset({"state"}),
    ),
    "OMMARule.decide": of(stream.OMMARule().decide, state=CLASS_COUNTS, p=THREE),
    "OMMARule.gains_of": of(stream.OMMARule().gains_of, state=CLASS_COUNTS, p=THREE),
    "OMMARule.counts_of": of(stream.OMMARule().counts_of, state=CLASS_COUNTS),
    "argmetric.stream.get_rule": of(stream.get_rule, rule="newton"),
    "argmetric.stream.ProgressiveScore": of(
        lambda y_true, y_pred, **given: stream.ProgressiveScore(**given).update(
            y_true, y_pred
        ),
        metric="f1",
        window=5,
        fading=None,
        y_true=Y,
        y_pred=Y,
    ),
    "argmetric.stream.OnlineClassifier": of(
        fitted(stream.OnlineClassifier, X, X_Y, "sample_weight"),
        metric="f1",
        rule="histogram",
        learner="sgd",
        step=None,
        average=None,
        memory=None,
        fit_intercept=True,
        hash_bits=None,
        detector=None,
        waiting=10,
        expired="drop",
        pos_label=1,
        random_state=0,
        sample_weight=[1, 2] * 12,
    ),
    "argmetric.stream.OnlineThreshold": of(
        fitted(stream.OnlineThreshold, X, X_Y),
        model=SGDClassifier(loss="log_loss", random_state=0),
        metric="f1",
        rule="histogram",
        pos_label=1,
    ),
}

# ----------------------------------------------------------------------- displays

MODEL = LogisticRegression().fit(X, X_Y)
STREAM = stream.OnlineClassifier().fit(X, X_Y)
ROWS = {"X": X}
LABELLED = {"X": X, "y": X_Y}
SEEN = {"estimator": MODEL, "metric": "f1", "pos_label": 1, "ax": None}
QUICK = {"n_bootstrap": 3}
CALLS |= {
    "ExpectedMetricDisplay.from_predictions": of(
        drawn(am.ExpectedMetricDisplay.from_predictions),
        **{"p": P, "metric": "f1", "ax": None, "max_positives": 3, "average": None},
    ),
    "ExpectedMetricDisplay.from_estimator": of(
        drawn(am.ExpectedMetricDisplay.from_estimator, **ROWS), **SEEN
    ),
    "ForecastDisplay.from_predictions": of(
        drawn(am.ForecastDisplay.from_predictions),
        **{"p": P, "labels": Y, "metric": "f1", "score": 0.5, "ax": None},
        average=None,
    ),
    "ForecastDisplay.from_estimator": of(
        drawn(am.ForecastDisplay.from_estimator, **ROWS), **SEEN, score=0.5
    ),
    "CalibrationCostDisplay.from_predictions": of(
        drawn(am.CalibrationCostDisplay.from_predictions, **QUICK),
        **{"y": Y, "p": P, "metric": "f1", "ax": None},
    ),
    "CalibrationCostDisplay.from_estimator": of(
        drawn(am.CalibrationCostDisplay.from_estimator, **LABELLED, **QUICK), **SEEN
    ),
    "ThresholdDisplay.from_predictions": of(
        drawn(am.ThresholdDisplay.from_predictions, **QUICK),
        **{"y": Y, "p": P, "metric": "f1", "ax": None},
    ),
    "ThresholdDisplay.from_estimator": of(
        drawn(am.ThresholdDisplay.from_estimator, **LABELLED, **QUICK), **SEEN
    ),
    "StreamDisplay.from_predictions": of(
        drawn(stream.StreamDisplay.from_predictions),
        **{"y_true": Y, "y_pred": Y, "metric": "f1", "thresholds": P, "ax": None},
    ),
    "StreamDisplay.from_estimator": of(
        drawn(stream.StreamDisplay.from_estimator), estimator=STREAM, ax=None
    ),
}

# ----------------------------------------------------------------------- sequence

CALLS |= {
    "argmetric.sequence.BoundarySimilarity": of(sequence.BoundarySimilarity),
    "argmetric.sequence.ZeroOne": of(sequence.ZeroOne),
    "argmetric.sequence.Hamming": of(sequence.Hamming, normalise=True),
    "argmetric.sequence.CountUtility": of(sequence.CountUtility, metric="f1"),
    "argmetric.sequence.Pk": of(sequence.Pk, window=2),
    "argmetric.sequence.WindowDiff": of(sequence.WindowDiff, window=2),
    "argmetric.sequence.WindowUtility": of(
        sequence.WindowUtility,
        window=2,
        function=lambda z, y: float(z == y),
        greater_is_better=True,
    ),
    "argmetric.sequence.Independent": of(sequence.Independent, p=P),
    "argmetric.sequence.MarkovChain": of(
        sequence.MarkovChain, initial=[0.7, 0.3], transitions=[[[0.9, 0.1], [0.4, 0.6]]]
    ),
    "argmetric.sequence.LinearChainCRF": of(
        sequence.LinearChainCRF,
        unary=[[1.0, 0.0], [0.0, 0.5]],
        pairwise=[[0.0, -1.0], [0.0, 1.0]],
        labels=["a", "b"],
    ),
    "argmetric.sequence.decode": of(
        sequence.decode,
        metric="f1",
        model=CHAIN,
        zero_division=0.0,
        budget=100,
        beam=4,
    ),
    "argmetric.sequence.distribution": of(
        sequence.distribution,
        utility="f1",
        z=[1, 0, 0, 1],
        model=CHAIN,
        max_states=1000,
    ),
    "argmetric.sequence.evaluate": of(
        sequence.evaluate, utility="f1", z=[1, 0, 0, 1], y=[1, 1, 0, 0]
    ),
    "argmetric.sequence.expectation": of(
        sequence.expectation,
        utility="f1",
        z=[1, 0, 0, 1],
        model=CHAIN,
        beam=None,
        tol=0.0,
        max_states=1000,
    ),
    "UtilityDistribution.cdf": of(
        sequence.distribution("f1", [1, 0], sequence.Independent([0.9, 0.2])).cdf, x=0.5
    ),
    "UtilityDistribution.quantile": of(
        sequence.distribution("f1", [1, 0], sequence.Independent([0.9, 0.2])).quantile,
        q=0.5,
    ),
}


# ------------------------------------------------------------------------- search

WORDS, KINDS = ["banana", "onion", "yes"], ["cvcvcv", "vcvvc", "cvc"]
SPELLING = search.SequenceLabelling("cv")
SENTENCE = [("the", "DT"), ("cat", "NN"), ("sleeps", "VBZ")]
TAGS = ["B-NP", "I-NP", "B-VP"]
CALLS |= {
    "argmetric.search.LinearLearner": of(
        search.LinearLearner,
        kind="svm",
        epochs=2,
        step=0.5,
        target="cheapest",
        hash_bits=10,
        quadratic=False,
    ),
    "argmetric.search.Searn": of(
        fitted(search.Searn, WORDS, KINDS),
        task=SPELLING,
        learner="perceptron",
        beta=1.0,
        iterations=1,
        beam=1,
        cross_validation=None,
        patience=1,
        n_rollouts=1,
        prediction="draw",
        beam_scores="log",
        search_width=1,
        random_state=0,
    ),
    "argmetric.search.Tagger": of(
        fitted(search.Tagger, [SENTENCE] * 3, [TAGS] * 3),
        task="chunk",
        beam=1,
        epochs=1,
        step=0.5,
        dropout=0.0,
        hash_bits=10,
        history_value=1.0,
        random_state=0,
    ),
    "argmetric.search.QueueTask": of(
        search.QueueTask, task=SPELLING, width=2, search_width=2
    ),
    "argmetric.search.default_templates": of(search.default_templates, task="chunk"),
    "argmetric.search.check_task": of(
        search.check_task,
        task=SPELLING,
        X=WORDS,
        Y=KINDS,
        n_paths=2,
        max_outputs=10,
        max_steps=20,
        random_state=0,
    ),
}
