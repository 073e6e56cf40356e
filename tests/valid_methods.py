"""Valid calls of the methods of fitted models and saved results; see `valid_calls`."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.linear_model import LogisticRegression, SGDClassifier

import argmetric as am
from argmetric import search, sequence, stream, train
from valid_calls import (
    CALIBRATOR,
    CHAIN,
    DECISION,
    FORECAST,
    KINDS,
    MULTI_CLASS,
    MULTI_LABEL,
    PAIR,
    RULE,
    SENTENCE,
    SPELLING,
    TAGS,
    THREE,
    WORDS,
    X_Y,
    Call,
    P,
    X,
    Y,
    drawn,
    of,
)
from valid_structures import A_FILE, CLUSTERS, SUMMARIES, crfsuite_file

SENTENCES, LABELS = [SENTENCE] * 3, [TAGS] * 3
# What scikit-learn calls them in its messages
ROWS = {"X": r"\bX\b|array|[Ff]eature|sample", "y": r"\by\b|label|class|sample"}
ROWS |= {"sample_weight": r"\bsample_weight\b|[Ss]ample weights|all weights"}
OF_TEXT = {"sentences": "sentence|token|word|column", "labels": "label"}
OF_TEXT |= {"dev": "dev|sentence|label|head|token", "heads": "head|root", "tags": "tag"}
A_ROW = {"x": r"\bx\b|feature"}
OF_SEARCH = {"X": r"\b[Xx]\b", "Y": r"\b[Yy]\b", "dev": r"dev|\b[XxYy]\b"}
BARE = {"tagger": "tagger|tag|path|cannot read"}


def method(made: Callable[[], Any], name: str) -> Callable[..., Any]:
    """A method of a model that is fitted once, and called on a copy of it."""

    def call(**given: Any) -> Any:
        return getattr(copy.deepcopy(made()), name)(**given)

    return call


@functools.cache
def wrapped() -> Any:
    return am.MetricClassifier(LogisticRegression(), cv=2, random_state=0).fit(X, X_Y)


@functools.cache
def logistic() -> Any:
    return am.MetricLogisticRegression(n_restarts=1, max_iter=5).fit(X, X_Y)


@functools.cache
def online() -> Any:
    return stream.OnlineClassifier().fit(X, X_Y)


@functools.cache
def waiting() -> Any:
    model = stream.OnlineClassifier(waiting=10).fit(X, X_Y)
    model.predict_id(X[:3])
    return model


@functools.cache
def over_sgd() -> Any:
    model = SGDClassifier(loss="log_loss", random_state=0)
    return stream.OnlineThreshold(model).fit(X, X_Y)


@functools.cache
def spoken() -> Any:
    """A model that takes one row at a time, as river gives them."""
    model = stream.OnlineClassifier(hash_bits=8)
    model.learn_one({"a": 1.0, "b": "text"}, True)
    return model


@functools.cache
def tagger() -> Any:
    return search.Tagger("chunk", epochs=1, hash_bits=10).fit(SENTENCES, LABELS)


@functools.cache
def by_matrix() -> Any:
    return search.Tagger("label", epochs=1, hash_bits=10).fit_matrix(
        X[:6], list("abcabc"), [2, 4]
    )


@functools.cache
def searcher() -> Any:
    return search.Searn(SPELLING, beta=1.0, iterations=1).fit(WORDS, KINDS)


@functools.cache
def summarizer() -> Any:
    return search.Summarizer(iterations=1).fit(CLUSTERS, SUMMARIES, words=8)


@functools.cache
def crf() -> Any:
    return sequence.LinearChainCRF([[1.0, 0.0], [0.0, 0.5]], [[0.0, -1.0], [0.0, 1.0]])


def loaded(kind: Any, made: Callable[[], Any], **fixed: Any) -> Callable[..., Any]:
    """Save something, then load it from the file it was saved to, or from another."""

    def call(path: Any) -> Any:
        made().save("saved.model")
        return kind.load(path, **fixed)

    return call


def from_crfsuite(path: Any) -> Any:
    Path("tiny.crfsuite").write_bytes(crfsuite_file())
    return sequence.LinearChainCRF.from_crfsuite(path)


A_REFERENCE = {"reference": r"reference|\bp\b|\by\b"}
SAVED = {"path": "saved.model"}
METHODS: dict[str, Call] = {
    "Metric.tie_floor": of(am.MCC().tie_floor, n=6),
    "Calibrator.plot": of(drawn(CALIBRATOR.plot), ax=None),
    "Calibrator.save": Call(CALIBRATOR.save, SAVED, A_FILE),
    "Calibrator.load": Call(loaded(am.Calibrator, lambda: CALIBRATOR), SAVED, A_FILE),
    "Rule.applies": of(RULE.applies, p=P),
    "Rule.predict": of(RULE.predict, p=P),
    "Rule.plot": of(drawn(RULE.plot), ax=None),
    "Rule.save": Call(RULE.save, SAVED, A_FILE),
    "Rule.load": Call(loaded(am.Rule, lambda: RULE), SAVED, A_FILE),
    "Exported.to_sql": of(RULE.to_sql, dialect="duckdb", column="p"),
    "Exported.to_python": of(RULE.to_python, name="label"),
    "MultiLabelRule.applies": of(MULTI_LABEL.applies, p=PAIR),
    "MultiLabelRule.from_dict": Call(
        am.MultiLabelRule.from_dict,
        {"values": MULTI_LABEL.to_dict()},
        {"values": "saved|this rule|this calibrator|of the kind"},
    ),
    "MultiClassRule.from_dict": Call(
        am.classes.MultiClassRule.from_dict,
        {"values": MULTI_CLASS.to_dict()},
        {"values": "saved|this rule|this calibrator|of the kind"},
    ),
    "MultiClassRule.predicts": of(MULTI_CLASS.predicts, p=THREE),
    "Decision.plot": of(drawn(DECISION.plot), ax=None),
    "Decision.forecast": of(
        DECISION.forecast, coverage=0.9, known=None, prior=None, overdispersion=0.0
    ),
    "Forecast.surprise": of(FORECAST.surprise, score=0.5),
    "Forecast.plot": of(drawn(FORECAST.plot), ax=None),
    "evaluate, a forecast": of(am.evaluate, y=Y, labels=Y, forecast=FORECAST),
    "decide, a reference": Call(
        am.decide,
        {
            **{"p": P, "metric": "f1", "average": None},
            **{"reference": (Y * 9, P * 9), "logits": False},
        },
        A_REFERENCE,
    ),
    "forecast, a reference": Call(
        am.forecast,
        {
            **{"p": P, "labels": Y, "average": None},
            **{"reference": (Y * 9, P * 9), "coverage": 0.9},
        },
        A_REFERENCE,
    ),
    "Report.save": Call(
        am.report(RULE).save, {"path": "page.html", "format": "html"}, A_FILE
    ),
    # ------------------------------------------------------------------ models
    "MetricClassifier.fit": Call(
        am.MetricClassifier(LogisticRegression(), cv=2).fit,
        {"X": X, "y": X_Y, "sample_weight": [1, 2] * 12, "groups": list("aabbcc") * 4},
        ROWS,
    ),
    "MetricClassifier.predict": Call(method(wrapped, "predict"), {"X": X}, ROWS),
    "MetricClassifier.score": Call(
        method(wrapped, "score"), {"X": X, "y": X_Y, "sample_weight": [1, 2] * 12}, ROWS
    ),
    "MetricClassifier.predict_proba": Call(
        method(wrapped, "predict_proba"), {"X": X}, ROWS
    ),
    "MetricClassifier.decision_function": Call(
        method(wrapped, "decision_function"), {"X": X}, ROWS
    ),
    "MetricClassifier.decide": Call(
        method(wrapped, "decide"),
        {"X": X, "groups": list("aabbcc") * 4, "average": "groups"},
        ROWS,
    ),
    "MetricClassifier.forecast": Call(
        method(wrapped, "forecast"),
        {"X": X, "labels": X_Y, "groups": list("aabbcc") * 4},
        ROWS,
    ),
    "MetricLogisticRegression.fit": Call(
        am.MetricLogisticRegression(n_restarts=1, max_iter=5).fit,
        {"X": X, "y": X_Y, "sample_weight": [1, 2] * 12},
        ROWS,
    ),
    "MetricLogisticRegression.at": Call(method(logistic, "at"), {"metric": "f1"}, {}),
    "MetricLogisticRegression.score": Call(
        method(logistic, "score"), {"X": X, "y": X_Y}, ROWS
    ),
    "MetricLogisticRegression.predict": Call(
        method(logistic, "predict"), {"X": X}, ROWS
    ),
    "MetricLogisticRegression.predict_proba": Call(
        method(logistic, "predict_proba"), {"X": X}, ROWS
    ),
    "MetricLogisticRegression.decision_function": Call(
        method(logistic, "decision_function"), {"X": X}, ROWS
    ),
    "MetricObjective.eval": Call(
        train.metric_objective("f1").eval,
        {"first": [1, 0, 0, 0], "second": [0.0, 0.1, 0.0, 0.0], "sample_weight": None},
        {"first": "label|margin", "second": "margin|label"},
    ),
    "MetricSurfaceDisplay.from_data": Call(
        drawn(train.MetricSurfaceDisplay.from_data),
        {
            **{"X": X, "y": X_Y, "metric": "f1", "gamma": 1.0, "name": "here"},
            **{"theta0": [0.0, 1.0], "theta1": [-1.0, 0.0, 1.0]},
        },
        ROWS,
    ),
    # ------------------------------------------------------------------ stream
    "ThresholdRule.update": Call(
        stream.HistogramRule().update,
        {"state": stream.HistogramRule().init_state("f1"), "score": 0.5, "y": 1},
        {"score": "scores?"},
        changes=frozenset({"state"}),
    ),
    "OnlineClassifier.partial_fit": Call(
        method(online, "partial_fit"),
        {"X": X, "y": X_Y, "classes": [0, 1], "sample_weight": [1, 2] * 12},
        ROWS,
    ),
    **{
        f"OnlineClassifier.{name}": Call(method(online, name), {"X": X}, ROWS)
        for name in ("predict", "predict_proba", "decision_function")
    },
    "OnlineClassifier.predict_id": Call(
        method(waiting, "predict_id"), {"X": X[:3]}, ROWS
    ),
    "OnlineClassifier.feedback": Call(
        method(waiting, "feedback"),
        {"ids": [0, 1], "y": [1, 0]},
        ROWS | {"ids": r"\bids?\b"},
    ),
    "OnlineClassifier.progressive": Call(
        method(online, "progressive"),
        {
            **{"X": X, "y": X_Y, "sample_weight": [1, 2] * 12},
            **{"classes": [0, 1], "return_proba": True},
        },
        ROWS,
    ),
    "OnlineClassifier.score": Call(
        method(online, "score"), {"X": X, "y": X_Y, "sample_weight": None}, ROWS
    ),
    "OnlineClassifier.set_state": of(
        lambda state: method(online, "set_state")(state=state),
        state=online().get_state(),
    ),
    "OnlineClassifier.predict_one": Call(
        method(spoken, "predict_one"), {"x": {"a": 1.0, "b": "text"}}, A_ROW
    ),
    "OnlineClassifier.predict_proba_one": Call(
        method(spoken, "predict_proba_one"), {"x": {"a": 1.0, "b": "text"}}, A_ROW
    ),
    "OnlineThreshold.fit": Call(method(over_sgd, "fit"), {"X": X, "y": X_Y}, ROWS),
    "OnlineThreshold.partial_fit": Call(
        method(over_sgd, "partial_fit"), {"X": X, "y": X_Y, "classes": [0, 1]}, ROWS
    ),
    **{
        f"OnlineThreshold.{name}": Call(method(over_sgd, name), {"X": X}, ROWS)
        for name in ("predict", "predict_proba")
    },
    "OnlineThreshold.progressive": Call(
        method(over_sgd, "progressive"), {"X": X, "y": X_Y, "classes": [0, 1]}, ROWS
    ),
    "OnlineThreshold.score": Call(method(over_sgd, "score"), {"X": X, "y": X_Y}, ROWS),
    # ---------------------------------------------------------------- sequence
    "UtilityDistribution.probability_below": of(
        sequence.distribution("f1", [1, 0, 0, 1], CHAIN).probability_below, x=0.5
    ),
    "LinearChainCRF.score": of(method(crf, "score"), y=[0, 1]),
    "LinearChainCRF.from_crfsuite": Call(
        from_crfsuite, {"path": "tiny.crfsuite"}, A_FILE
    ),
    # ------------------------------------------------------------------ search
    "Tagger.fit": Call(
        search.Tagger("chunk", epochs=1, hash_bits=10).fit,
        {"sentences": SENTENCES, "labels": LABELS, "dev": (SENTENCES, LABELS)},
        OF_TEXT,
    ),
    "Tagger.predict": Call(
        method(tagger, "predict"), {"sentences": SENTENCES}, OF_TEXT
    ),
    "Tagger.predict_nbest": Call(
        method(tagger, "predict_nbest"), {"sentences": SENTENCES, "n": 2}, OF_TEXT
    ),
    "Tagger.evaluate": Call(
        method(tagger, "evaluate"), {"sentences": SENTENCES, "labels": LABELS}, OF_TEXT
    ),
    "Tagger.score": Call(
        method(tagger, "score"), {"sentences": SENTENCES, "labels": LABELS}, OF_TEXT
    ),
    "Tagger.fit_matrix": Call(
        search.Tagger("label", epochs=1, hash_bits=10).fit_matrix,
        {"X": X[:6], "y": list("abcabc"), "lengths": [2, 4]},
        ROWS,
    ),
    "Tagger.predict_matrix": Call(
        method(by_matrix, "predict_matrix"), {"X": X[:6], "lengths": [2, 4]}, ROWS
    ),
    "Tagger.score_matrix": Call(
        method(by_matrix, "score_matrix"),
        {"X": X[:6], "y": list("abcabc"), "lengths": [2, 4]},
        ROWS,
    ),
    "Tagger.save": Call(lambda path: tagger().save(path), SAVED, A_FILE),
    "Tagger.load": Call(loaded(search.Tagger, tagger), SAVED, A_FILE),
    "Searn.fit": Call(
        search.Searn(SPELLING, beta=1.0, iterations=1).fit,
        {"X": WORDS, "Y": KINDS, "dev": (WORDS, KINDS)},
        OF_SEARCH,
    ),
    "Searn.predict": Call(method(searcher, "predict"), {"X": WORDS}, OF_SEARCH),
    "Searn.score": Call(method(searcher, "score"), {"X": WORDS, "Y": KINDS}, OF_SEARCH),
    "Searn.save": Call(lambda path: searcher().save(path), SAVED, A_FILE),
    "Searn.load": Call(loaded(search.Searn, searcher, task=SPELLING), SAVED, A_FILE),
    "Costing.predict": Call(
        method(
            lambda: search.Costing(LogisticRegression(), n_draws=2).fit(X, X_Y),
            "predict",
        ),
        {"X": X},
        ROWS,
    ),
    "Summarizer.save": Call(lambda path: summarizer().save(path), SAVED, A_FILE),
    "Summarizer.load": Call(loaded(search.Summarizer, summarizer), SAVED, A_FILE),
}
