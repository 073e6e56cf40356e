"""Valid calls of the methods of fitted models and saved results; see `valid_calls`."""

import copy
import functools
from pathlib import Path

from sklearn.linear_model import LogisticRegression, SGDClassifier

import argmetric as am
from argmetric import search, sequence, stream
from valid_calls import KINDS, SENTENCE, SPELLING, TAGS, WORDS, X_Y, Call, X, calls
from valid_structures import CLUSTERS, SUMMARIES, crfsuite_file

SENTENCES, LABELS = [SENTENCE] * 3, [TAGS] * 3
# What scikit-learn calls them in its messages
ROWS = {"X": r"\bX\b|array|[Ff]eature|sample", "y": r"\by\b|label|class|sample"}
ROWS |= {"sample_weight": r"\bsample_weight\b|[Ss]ample weights|all weights"}
OF_TEXT = {"sentences": "sentence|token|word|column", "labels": "label"}
OF_TEXT |= {"dev": "dev|sentence|label|head|token", "heads": "head|root", "tags": "tag"}
A_ROW = {"x": r"\bx\b|feature"}
OF_SEARCH = {"X": r"\b[Xx]\b", "Y": r"\b[Yy]\b", "dev": r"dev|\b[XxYy]\b"}


def method(made, name):
    """A method of a model that is fitted once, and called on a copy of it."""

    def call(**given):
        return getattr(copy.deepcopy(made()), name)(**given)

    return call


@functools.cache
def wrapped():
    return am.MetricClassifier(LogisticRegression(), cv=2, random_state=0).fit(X, X_Y)


@functools.cache
def mixed():
    return am.train.FrankWolfeClassifier(cv=2, max_iter=2).fit(X, X_Y)


@functools.cache
def logistic():
    return am.MetricLogisticRegression(n_restarts=1, max_iter=5).fit(X, X_Y)


@functools.cache
def online():
    return stream.OnlineClassifier().fit(X, X_Y)


@functools.cache
def waiting():
    model = stream.OnlineClassifier(waiting=10).fit(X, X_Y)
    model.predict_id(X[:3])
    return model


@functools.cache
def over_sgd():
    model = SGDClassifier(loss="log_loss", random_state=0)
    return stream.OnlineThreshold(model).fit(X, X_Y)


@functools.cache
def spoken():
    """A model that takes one row at a time, as river gives them."""
    model = stream.OnlineClassifier(hash_bits=8)
    model.learn_one({"a": 1.0, "b": "text"}, True)
    return model


@functools.cache
def tagger():
    return search.Tagger("chunk", epochs=1, hash_bits=10).fit(SENTENCES, LABELS)


@functools.cache
def by_matrix():
    return search.Tagger("label", epochs=1, hash_bits=10).fit_matrix(
        X[:6], list("abcabc"), [2, 4]
    )


@functools.cache
def searcher():
    return search.Searn(SPELLING, beta=1.0, iterations=1).fit(WORDS, KINDS)


@functools.cache
def costing():
    return search.Costing(LogisticRegression(), n_draws=2).fit(X, X_Y)


@functools.cache
def summarizer():
    return search.Summarizer(iterations=1).fit(CLUSTERS, SUMMARIES, words=8)


@functools.cache
def crf():
    return sequence.LinearChainCRF([[1.0, 0.0], [0.0, 0.5]], [[0.0, -1.0], [0.0, 1.0]])


def loaded(kind, made, **fixed):
    """Save something, then load it from the file it was saved to, or from another."""

    def call(path):
        made().save("saved.model")
        return kind.load(path, **fixed)

    return call


def saved(made):
    return lambda path: made().save(path)


def from_crfsuite(path):
    Path("tiny.crfsuite").write_bytes(crfsuite_file())
    return sequence.LinearChainCRF.from_crfsuite(path)


A_REFERENCE = {"reference": r"reference|\bp\b|\by\b"}
SAVED = {"path": "saved.model"}
METHODS = calls(
    r"""
Metric.tie_floor: am.MCC().tie_floor(n=6)
Calibrator.plot: drawn(CALIBRATOR.plot)(ax=None)
Calibrator.save: CALIBRATOR.save(**SAVED) -> A_FILE
Calibrator.load: loaded(am.Calibrator, lambda: CALIBRATOR)(**SAVED) -> A_FILE
Rule.applies: RULE.applies(p=P)
Rule.predict: RULE.predict(p=P)
Rule.plot: drawn(RULE.plot)(ax=None)
Rule.save: RULE.save(**SAVED) -> A_FILE
Rule.load: loaded(am.Rule, lambda: RULE)(**SAVED) -> A_FILE
ReviewRule.accepts: REVIEW_RULE.accepts(name="min_npv")
ReviewRule.actions: REVIEW_RULE.actions(p=P)
ReviewRule.predict: REVIEW_RULE.predict(p=P)
ReviewRule.plot: drawn(REVIEW_RULE.plot)(ax=None)
ReviewRule.save: REVIEW_RULE.save(**SAVED) -> A_FILE
ReviewRule.load: loaded(am.ReviewRule, lambda: REVIEW_RULE)(**SAVED) -> A_FILE
ParityRule.predict: PARITY_RULE.apply(p=P, groups=list("ababab"))
ParityRule.plot: drawn(PARITY_RULE.plot)(ax=None)
ParityRule.to_sql: PARITY_RULE.to_sql(dialect="sqlite", column=["p", "sex"])
ParityRule.to_python: PARITY_RULE.to_python(name="decide")
ParityRule.save: PARITY_RULE.save(**SAVED) -> A_FILE
ParityRule.load: loaded(am.ParityRule, lambda: PARITY_RULE)(**SAVED) -> A_FILE
ExportMixin.to_sql: RULE.to_sql(dialect="duckdb", column="p")
ExportMixin.to_python: RULE.to_python(name="label")
MultiLabelRule.applies: MULTI_LABEL.applies(p=PAIR)
MultiLabelRule.from_dict: am.MultiLabelRule.from_dict(values=MULTI_LABEL.to_dict())
    -> OF_SAVED
MultiClassRule.from_dict: am.classes.MultiClassRule.from_dict(
    values=MULTI_CLASS.to_dict())
    -> OF_SAVED
MultiClassRule.predicts: MULTI_CLASS.predicts(p=THREE)
ClassReviewRule.predicts: CLASS_REVIEW.predicts(p=THREE)
ClassReviewRule.predict: CLASS_REVIEW.predict(p=THREE)
ClassReviewRule.plot: drawn(CLASS_REVIEW.plot)(ax=None)
ClassReviewRule.save: CLASS_REVIEW.save(**SAVED) -> A_FILE
ClassReviewRule.load: loaded(am.classes.ClassReviewRule, lambda: CLASS_REVIEW)(**SAVED)
    -> A_FILE
Decision.plot: drawn(DECISION.plot)(ax=None)
Decision.forecast: DECISION.forecast(coverage=0.9, known=None, prior=None,
    overdispersion=0.0)
Forecast.surprise: FORECAST.surprise(score=0.5)
Forecast.plot: drawn(FORECAST.plot)(ax=None)
evaluate, a forecast: am.evaluate(y=Y, labels=Y, forecast=FORECAST)
decide, a reference: am.decide(p=P, metric="f1", average=None, reference=(Y * 9, P * 9),
    logits=False) -> A_REFERENCE
forecast, a reference: am.forecast(p=P, labels=Y, average=None,
    reference=(Y * 9, P * 9), coverage=0.9) -> A_REFERENCE
Report.save: am.report(RULE).save(path="page.html", format="html") -> A_FILE
MetricClassifier.fit: am.MetricClassifier(LogisticRegression(), cv=2).fit(X=X, y=X_Y,
    sample_weight=[1, 2] * 12, groups=list("aabbcc") * 4) -> ROWS
FrankWolfeClassifier.fit: am.train.FrankWolfeClassifier(LogisticRegression(), cv=2,
    parity=("recall", 0.9), max_iter=2).fit(X=X, y=X_Y, sample_weight=[1, 2] * 12,
    groups=list("aabbcc") * 4) -> ROWS
FrankWolfeClassifier.predict: method(mixed, "predict")(X=X) -> ROWS
FrankWolfeClassifier.score: method(mixed, "score")(X=X, y=X_Y,
    sample_weight=[1, 2] * 12) -> ROWS
MetricClassifier.predict: method(wrapped, "predict")(X=X) -> ROWS
MetricClassifier.score: method(wrapped, "score")(X=X, y=X_Y, sample_weight=[1, 2] * 12)
    -> ROWS
MetricClassifier.predict_proba: method(wrapped, "predict_proba")(X=X) -> ROWS
MetricClassifier.decision_function: method(wrapped, "decision_function")(X=X) -> ROWS
MetricClassifier.decide: method(wrapped, "decide")(X=X, groups=list("aabbcc") * 4,
    average="groups") -> ROWS
MetricClassifier.forecast: method(wrapped, "forecast")(X=X, labels=X_Y,
    groups=list("aabbcc") * 4) -> ROWS
MetricLogisticRegression.fit: am.MetricLogisticRegression(n_restarts=1, max_iter=5).fit(
    X=X, y=X_Y, sample_weight=[1, 2] * 12) -> ROWS
MetricLogisticRegression.at: method(logistic, "at")(metric="f1") -> {}
MetricLogisticRegression.score: method(logistic, "score")(X=X, y=X_Y) -> ROWS
MetricLogisticRegression.predict: method(logistic, "predict")(X=X) -> ROWS
MetricLogisticRegression.predict_proba: method(logistic, "predict_proba")(X=X) -> ROWS
MetricLogisticRegression.decision_function: method(logistic, "decision_function")(X=X)
    -> ROWS
MetricObjective.eval: am.metric_objective("f1").eval(first=[1, 0, 0, 0],
    second=[0.0, 0.1, 0.0, 0.0], sample_weight=None)
    -> {"first": "label|margin", "second": "margin|label"}
MetricSurfaceDisplay.from_data: drawn(am.train.MetricSurfaceDisplay.from_data)(X=X,
    y=X_Y, metric="f1", gamma=1.0, name="here", theta0=[0.0, 1.0],
    theta1=[-1.0, 0.0, 1.0])
    -> ROWS
ThresholdRule.update: stream.HistogramRule().update(
    state=stream.HistogramRule().init_state("f1"), score=0.5, y=1)
    -> {"score": "scores?"}
OnlineClassifier.partial_fit: method(online, "partial_fit")(X=X, y=X_Y, classes=[0, 1],
    sample_weight=[1, 2] * 12) -> ROWS
OnlineClassifier.predict_id: method(waiting, "predict_id")(X=X[:3]) -> ROWS
OnlineClassifier.feedback: method(waiting, "feedback")(ids=[0, 1], y=[1, 0])
    -> ROWS | {"ids": r"\bids?\b"}
OnlineClassifier.progressive: method(online, "progressive")(X=X, y=X_Y,
    sample_weight=[1, 2] * 12, classes=[0, 1], return_proba=True) -> ROWS
OnlineClassifier.score: method(online, "score")(X=X, y=X_Y, sample_weight=None) -> ROWS
OnlineClassifier.set_state: method(online, "set_state")(
    state=online().get_state())
OnlineClassifier.predict_one: method(spoken, "predict_one")(x={"a": 1.0, "b": "text"})
    -> A_ROW
OnlineClassifier.predict_proba_one: method(spoken, "predict_proba_one")(
    x={"a": 1.0, "b": "text"}) -> A_ROW
OnlineThreshold.fit: method(over_sgd, "fit")(X=X, y=X_Y) -> ROWS
OnlineThreshold.partial_fit: method(over_sgd, "partial_fit")(X=X, y=X_Y, classes=[0, 1])
    -> ROWS
OnlineThreshold.progressive: method(over_sgd, "progressive")(X=X, y=X_Y, classes=[0, 1])
    -> ROWS
OnlineThreshold.score: method(over_sgd, "score")(X=X, y=X_Y) -> ROWS
UtilityDistribution.probability_below:
    sequence.distribution("f1", [1, 0, 0, 1], CHAIN).probability_below(x=0.5)
LinearChainCRF.score: method(crf, "score")(y=[0, 1])
LinearChainCRF.from_crfsuite: from_crfsuite(path="tiny.crfsuite") -> A_FILE
Tagger.fit: search.Tagger("chunk", epochs=1, hash_bits=10).fit(sentences=SENTENCES,
    labels=LABELS, dev=(SENTENCES, LABELS)) -> OF_TEXT
Tagger.predict: method(tagger, "predict")(sentences=SENTENCES) -> OF_TEXT
Tagger.predict_nbest: method(tagger, "predict_nbest")(sentences=SENTENCES, n=2)
    -> OF_TEXT
Tagger.evaluate: method(tagger, "evaluate")(sentences=SENTENCES, labels=LABELS)
    -> OF_TEXT
Tagger.score: method(tagger, "score")(sentences=SENTENCES, labels=LABELS) -> OF_TEXT
Tagger.fit_matrix: search.Tagger("label", epochs=1, hash_bits=10).fit_matrix(X=X[:6],
    y=list("abcabc"), lengths=[2, 4]) -> ROWS
Tagger.predict_matrix: method(by_matrix, "predict_matrix")(X=X[:6], lengths=[2, 4])
    -> ROWS
Tagger.score_matrix: method(by_matrix, "score_matrix")(X=X[:6], y=list("abcabc"),
    lengths=[2, 4]) -> ROWS
Tagger.save: saved(tagger)(**SAVED) -> A_FILE
Tagger.load: loaded(search.Tagger, tagger)(**SAVED) -> A_FILE
Searn.fit: search.Searn(SPELLING, beta=1.0, iterations=1).fit(X=WORDS, Y=KINDS,
    dev=(WORDS, KINDS)) -> OF_SEARCH
Searn.predict: method(searcher, "predict")(X=WORDS) -> OF_SEARCH
Searn.score: method(searcher, "score")(X=WORDS, Y=KINDS) -> OF_SEARCH
Searn.save: saved(searcher)(**SAVED) -> A_FILE
Searn.load: loaded(search.Searn, searcher, task=SPELLING)(**SAVED) -> A_FILE
Costing.predict: method(costing, "predict")(X=X) -> ROWS
Summarizer.save: saved(summarizer)(**SAVED) -> A_FILE
Summarizer.load: loaded(search.Summarizer, summarizer)(**SAVED) -> A_FILE
""",
    globals(),
)
for name in ("predict", "predict_proba", "decision_function"):
    METHODS[f"OnlineClassifier.{name}"] = Call(method(online, name), {"X": X}, ROWS)

for name in ("predict", "predict_proba"):
    METHODS[f"OnlineThreshold.{name}"] = Call(method(over_sgd, name), {"X": X}, ROWS)
