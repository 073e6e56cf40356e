"""One valid call of every public callable, small enough to be made thousands of times.

An estimator is called by its constructor and `fit` together, as it checks what it was
given when it is fitted.
"""

import ast
import dataclasses
import re

import numpy as np
import pytest
from sklearn.linear_model import (
    LogisticRegression,
    SGDClassifier,  # noqa: F401 in a table
)

import argmetric as am
from argmetric import search, sequence, stream

P = [0.9, 0.6, 0.3, 0.1, 0.7, 0.2]
Y = [1, 1, 0, 0, 0, 1]
PAIR = [[0.9, 0.2], [0.4, 0.1], [0.6, 0.3], [0.1, 0.4]]
PAIR_Y = [[1, 0], [0, 0], [1, 1], [0, 1]]
THREE = [[0.5, 0.3, 0.2], [0.6, 0.4, 0], [0.5, 0.1, 0.4], [0.8, 0.1, 0.1]]
X = np.array([[0.2], [1.0], [2.0], [3.0], [0.4], [2.5]] * 4)
X_Y = [1, 0, 1, 1, 0, 1] * 4
DISTRIBUTION = sequence.distribution("f1", [1, 0], sequence.Independent([0.9, 0.2]))
CHAIN = sequence.MarkovChain([0.7, 0.3], [[[0.9, 0.1], [0.4, 0.6]]] * 3)
CALIBRATOR = am.calibrate(Y, P)
RULE = am.tune(Y, P, n_bootstrap=0, cv=0)
REVIEW_RULE = am.ReviewRule(
    "f1", 0.25, 0.65, n=6, automated=0.5, histogram=((0.0, 0.5, 1.0), (2, 1), (1, 2))
)
PARITY_RULE = am.ParityRule(
    ("a", "b"), (RULE, RULE), "recall", 0.1, rates=(0.5, 0.6), sizes=(2, 1), n=6
)
MULTI_LABEL = am.tune(PAIR_Y, PAIR, n_bootstrap=0, cv=0)
MULTI_CLASS = am.classes.tune(list("abca"), THREE, n_bootstrap=0, cv=0)
CLASS_REVIEW = am.classes.ClassReviewRule(
    ("a", "b", "c"), [0.5, 0.4, 0.0], n=4, automated=0.5, counts=((2, 1, 1),) * 3
)
DECISION = am.decide(P, groups=list("aabbcc"), average="groups")
FORECAST = am.forecast(P, Y)


def fitted(kind, X, y, *names):
    """Constructor and fit in one; `names` are parameters of fit."""

    def call(**arguments):
        to_fit = {name: arguments.pop(name) for name in names if name in arguments}
        return kind(**arguments).fit(X, y, **to_fit)

    return call


def drawn(function, **fixed):
    """A picture that is not kept."""

    def call(**arguments):
        plt = pytest.importorskip("matplotlib.pyplot", reason="needs the extra 'plot'")
        try:
            return function(**fixed, **arguments)
        finally:
            plt.close("all")

    return call


def lasting(kind):
    """A rule of a stream that decides on a few rows."""

    def call(**arguments):
        rule = kind(**arguments)
        return rule.run(rule.init_state("f1"), P, Y)

    return call


@dataclasses.dataclass(frozen=True)
class Call:
    """A function, and arguments with which it works."""

    function: object
    arguments: dict
    # What messages call an argument, where that is not its name
    words: dict = dataclasses.field(
        default_factory=lambda: {"utility": "utility|metric"}
    )
    changes: frozenset = frozenset()  # arguments that are changed on purpose

    def __call__(self, **other):
        return self.function(**{**self.arguments, **other})


KNOWN = {}  # what tables may name
CHANGES = "ThresholdRule.run", "ThresholdRule.update", "OMMARule.run"  # their state


def calls(table, names):
    """Read a table of valid calls, one an entry; what follows its first line is inset.

    An entry is a name, a call, and after an arrow what messages call its arguments,
    where that is not their names. `names` are what it may name, beside those of the
    files of calls that were read before.
    """
    KNOWN.update(names)
    found, space = {}, {**KNOWN}
    for entry in re.split(r"\n(?=\S)", table.strip()):
        name, call = re.split(r":\s+", entry, maxsplit=1)
        call, *words = call.split(" -> ")
        tree = ast.parse(call.strip(), mode="eval").body
        function = eval(ast.unparse(tree.func), space)
        arguments = eval(f"dict({', '.join(map(ast.unparse, tree.keywords))})", space)
        said = [eval(one, space) for one in words]
        changes = frozenset({"state"} if name in CHANGES else ())
        found[name] = Call(function, arguments, *said, changes=changes)
    return found


def scored(**options):
    return am.optimal_scorer(**options)(LogisticRegression().fit(X, X_Y), X, X_Y)


def page_of(result, **known):
    """A page of a decision, the copy of which has none, or of something else."""
    return am.report(DECISION if type(result) is str else result, **known)


PLAIN_METRICS = (
    "Accuracy BalancedAccuracy FowlkesMallows GMean HMean Jaccard Kappa Lift MCC "
    "Markedness Precision QMean Recall Specificity SquaredCountError Youden Metric"
)
OF_SAVED = {"values": "saved|this rule|this calibrator|of the kind"}
LIMITS = {"min_precision": 0.1, "min_recall": 0.1, "zero_division": 1.0}
CALLS = {
    f"argmetric.{name}": Call(getattr(am, name), {"zero_division": 0.0})
    for name in PLAIN_METRICS.split()
}
CALLS |= calls(
    r"""
argmetric.FBeta: am.FBeta(beta=2.0, zero_division=0.0)
argmetric.Tversky: am.Tversky(alpha=0.4, beta=0.2, zero_division=0.0)
argmetric.Utility: am.Utility(tp=1, fp=-1, fn=0, tn=0, zero_division=0.0)
argmetric.LinearFractional: am.LinearFractional(c=(0, 2, 0, 0), d=(0, 0, 1, 1),
    zero_division=0.0)
argmetric.CustomMetric: am.CustomMetric(function=lambda tp, k, t, n: tp / n,
    name="hits", greater_is_better=True, zero_division=0.0)
Metric.value: am.FBeta().value(tp=1, k=2, t=2, n=4)
Metric.score: am.FBeta().score(y_true=Y, y_pred=Y)
Metric.ranking_principle: am.GMean().ranking_principle(n=5)
Metric.with_zero_division: am.MCC().with_zero_division(zero_division=1)
argmetric.decide: am.decide(p=P, metric="f1", groups=list("aabbcc"), average="groups",
    min_positives=1, max_positives=2, logits=False, reference=CALIBRATOR, n_jobs=1,
    **LIMITS) -> {"p": r"\bp\b|no number of positives",
    "reference": r"reference|\bp\b|\by\b"}
decide, one vector: am.decide(p=P, metric="gmean", average=None, min_positives=0,
    max_positives=None, **LIMITS) -> {"p": r"\bp\b|meets all limits"}
decide, a matrix: am.decide(p=PAIR, metric="jaccard", average="macro", reference=(Y, P))
    -> {"reference": r"reference|\bp\b|\by\b"}
decide, missed positives: am.decide(p=P, missed=2) -> {"p": r"\bp\b"}
argmetric.forecast: am.forecast(p=P, labels=Y, metric="f1", coverage=0.9,
    groups=list("aabbcc"), average="groups", known=[1, None, None, 0, None, None],
    prior=0.4, overdispersion=0.1, zero_division=1.0, logits=False,
    reference=CALIBRATOR, pos_label=1)
argmetric.published.decide: am.published.decide(p=P, metric="f1", groups=list("aabbcc"),
    average="groups", zero_division=1.0, logits=False)
argmetric.evaluate: am.evaluate(y=Y, labels=Y, metric="f1", groups=list("aabbcc"),
    average="groups", zero_division=1.0, pos_label=1)
argmetric.tune: am.tune(y=Y, p=P, metric="f1", sample_weight=[1, 2, 1, 1, 1, 1],
    groups=None, max_positives=4, pos_label=1, reference=CALIBRATOR,
    average=None, n_bootstrap=5, coverage=0.9, cv=2, random_state=0,
    **LIMITS)
tune, groups: am.tune(y=Y, p=P, groups=list("aabbcc"), average="groups", n_bootstrap=3,
    cv=2)
tune, promises: am.tune(y=Y, p=P, metric="f1", min_recall=0.1, min_positives=None,
    min_specificity=None, min_npv=None, budget=None, confidence=0.5, new_rows=2,
    prior=0.5)
tune, several labels: am.tune(y=PAIR_Y, p=PAIR, metric="f1", average="macro",
    n_bootstrap=0, cv=0)
tune, no labels: am.tune(y=None, p=P, metric="f1", n_bootstrap=2)
argmetric.calibrate: am.calibrate(y=Y, p=P, method="beta",
    sample_weight=[1, 2, 1, 1, 1, 1], pos_label=1, logits=False)
    -> {"p": r"\bp\b|scores"}
argmetric.calibration_check: am.calibration_check(y=Y, p=P, metric="f1", groups=None,
    average=None, sample_weight=[1, 2, 1, 1, 1, 1], pos_label=1, n_bins=3,
    n_bootstrap=3, random_state=0, logits=False, zero_division=1.0)
    -> {"p": r"\bp\b|scores"}
argmetric.adjust_prior: am.adjust_prior(p=P, prevalence=0.2, reference_prevalence=0.4,
    logits=False)
adjust_prior, found: am.adjust_prior(p=P, reference_prevalence=0.4)
argmetric.check_metric: am.check_metric(metric="f1", n=6)
argmetric.get_metric: am.get_metric(metric="f1", zero_division=0.0)
argmetric.optimal_scorer: scored(metric="f1", pos_label=1, max_positives=10, **LIMITS)
argmetric.MetricClassifier:
    fitted(am.MetricClassifier, X, X_Y, "sample_weight", "groups")(
    estimator=LogisticRegression(), metric="f1", calibration="platt", cv=2,
    max_positives=20, average="pooled", pos_label=1, random_state=0,
    sample_weight=[1, 2] * 12, groups=list("aabbcc") * 4, **LIMITS)
argmetric.train.FrankWolfeClassifier:
    fitted(am.train.FrankWolfeClassifier, X, X_Y, "sample_weight", "groups")(
    estimator=LogisticRegression(), metric="f1", oracle="plug-in", algorithm="auto",
    min_recall=0.1, min_precision=0.1, parity=("recall", 0.9), randomised=False,
    calibration="platt", cv=2, max_iter=2, pos_label=1, zero_division=0.0,
    random_state=0, verbose=0, sample_weight=[1, 2] * 12, groups=list("aabbcc") * 4)
argmetric.MetricLogisticRegression:
    fitted(am.MetricLogisticRegression, X, X_Y, "sample_weight")(
    metric="f1", objective="soft", C=1.0, gamma=1.0, fit_intercept=True, n_restarts=1,
    class_weight=None, random_state=0, n_jobs=None, warm_start=False, max_iter=5,
    tol=1e-3, pos_label=1, verbose=0, sample_weight=[1, 2] * 12)
argmetric.metric_objective: am.metric_objective(metric="f1", objective="soft")
MetricObjective: am.metric_objective("f1")(first=[1, 0, 0, 0],
    second=[0.0, 0.0, 0.0, 0.0]) -> {"first": "label|margin", "second": "margin|label"}
Calibrator.apply: CALIBRATOR.apply(p=P, logits=False)
Calibrator.apply_logits: CALIBRATOR.apply_logits(x=P)
Calibrator.then: CALIBRATOR.then(other=CALIBRATOR)
Calibrator.from_dict: am.Calibrator.from_dict(values=CALIBRATOR.to_dict())
    -> OF_SAVED
Rule.apply: RULE.apply(p=P)
Rule.from_dict: am.Rule.from_dict(values=RULE.to_dict())
    -> OF_SAVED
ReviewRule.apply: REVIEW_RULE.apply(p=P)
ReviewRule.from_dict: am.ReviewRule.from_dict(values=REVIEW_RULE.to_dict())
    -> OF_SAVED
ParityRule.apply: PARITY_RULE.apply(p=P, groups=list("ababab"))
ParityRule.from_dict: am.ParityRule.from_dict(values=PARITY_RULE.to_dict())
    -> OF_SAVED
MultiLabelRule.apply: MULTI_LABEL.apply(p=PAIR)
MultiClassRule.apply: MULTI_CLASS.apply(p=THREE)
ClassReviewRule.apply: CLASS_REVIEW.apply(p=THREE)
ClassReviewRule.from_dict: am.classes.ClassReviewRule.from_dict(
    values=CLASS_REVIEW.to_dict())
    -> OF_SAVED
Decision.curve_of: DECISION.curve_of(group="a")
Decision.to_frame: DECISION.to_frame(backend="pandas")
Report.render: am.report(RULE).render(format="md")
argmetric.report: page_of(result="a decision", y=Y, pos_label=1, coverage=0.8,
    reference=(Y, P)) -> {"reference": r"reference|\bp\b|\by\b"}
Forecast.cdf: FORECAST.cdf(x=0.5)
Forecast.probability_below: FORECAST.probability_below(x=0.5)
Forecast.quantile: FORECAST.quantile(q=0.5)
""",
    globals(),
)


# ------------------------------------------------------------------------- stream

RUNNING = stream.HistogramRule()
HISTOGRAM = [one.name for one in dataclasses.fields(RUNNING)]
CLASS_COUNTS = stream.OMMARule().init_state("f1", n_classes=3)


def over_classes(**options):
    """A rule of several classes that decides on a few rows."""
    rule = stream.OMMARule(**options)
    return rule.run(rule.init_state("f1", n_classes=3), THREE, [0, 1, 2, 0])


def progressive(y_true, y_pred, **options):
    return stream.ProgressiveScore(**options).update(y_true, y_pred)


CALLS |= calls(
    r"""
argmetric.stream.FixedRule: lasting(stream.FixedRule)(threshold=0.3)
argmetric.stream.FOFORule: lasting(stream.FOFORule)(n=10, start=0.2)
argmetric.stream.SFORule: lasting(stream.SFORule)(n=10, start=0.2, radius=0.4)
argmetric.stream.OFORule: lasting(stream.OFORule)(prior=(1, 4), forget=None,
    window=None)
argmetric.stream.NewtonRule: lasting(stream.NewtonRule)(forget=None)
argmetric.stream.HistogramRule: lasting(stream.HistogramRule)(
    **{name: getattr(RUNNING, name) for name in HISTOGRAM})
ThresholdRule.init_state: RUNNING.init_state(metric="f1")
ThresholdRule.run: RUNNING.run(state=RUNNING.init_state("f1"), scores=P, y=Y,
    sample_weight=[1, 2, 1, 1, 1, 1], logits=False)
ThresholdRule.decide: RUNNING.decide(state=RUNNING.init_state("f1"), scores=P,
    logits=False)
ThresholdRule.threshold_of: RUNNING.threshold_of(state=RUNNING.init_state("f1"))
argmetric.stream.OMMARule: over_classes(
    **dataclasses.asdict(stream.OMMARule()))
OMMARule.init_state: stream.OMMARule().init_state(metric="f1", n_classes=3,
    n_labels=None)
OMMARule.run: stream.OMMARule().run(
    state=stream.OMMARule().init_state("f1", n_classes=3), p=THREE, y=[0, 1, 2, 0],
    sample_weight=[1, 2, 1, 1])
OMMARule.decide: stream.OMMARule().decide(state=CLASS_COUNTS, p=THREE)
OMMARule.gains_of: stream.OMMARule().gains_of(state=CLASS_COUNTS, p=THREE)
OMMARule.counts_of: stream.OMMARule().counts_of(state=CLASS_COUNTS)
argmetric.stream.get_rule: stream.get_rule(rule="newton")
argmetric.stream.ProgressiveScore: progressive(metric="f1", window=5, fading=None,
    y_true=Y, y_pred=Y)
argmetric.stream.OnlineClassifier:
    fitted(stream.OnlineClassifier, X, X_Y, "sample_weight")(
    metric="f1", rule="histogram", learner="sgd", step=None, average=None, memory=None,
    fit_intercept=True, hash_bits=None, detector=None, waiting=10, expired="drop",
    pos_label=1, random_state=0, sample_weight=[1, 2] * 12)
argmetric.stream.OnlineThreshold: fitted(stream.OnlineThreshold, X, X_Y)(
    model=SGDClassifier(loss="log_loss", random_state=0), metric="f1", rule="histogram",
    pos_label=1)
""",
    globals(),
)

# ----------------------------------------------------------------------- displays

MODEL = LogisticRegression().fit(X, X_Y)
STREAM = stream.OnlineClassifier().fit(X, X_Y)
ROWS = {"X": X}
LABELLED = {"X": X, "y": X_Y}
SEEN = {"estimator": MODEL, "metric": "f1", "pos_label": 1, "ax": None}
QUICK = {"n_bootstrap": 3}
CALLS |= calls(
    r"""
ExpectedMetricDisplay.from_predictions:
    drawn(am.ExpectedMetricDisplay.from_predictions)(p=P, metric="f1", ax=None,
    max_positives=3, average=None)
ExpectedMetricDisplay.from_estimator:
    drawn(am.ExpectedMetricDisplay.from_estimator, **ROWS)(**SEEN)
ForecastDisplay.from_predictions: drawn(am.ForecastDisplay.from_predictions)(p=P,
    labels=Y, metric="f1", score=0.5, ax=None, average=None)
ForecastDisplay.from_estimator:
    drawn(am.ForecastDisplay.from_estimator, **ROWS)(**SEEN,
    score=0.5)
CalibrationCostDisplay.from_predictions:
    drawn(am.CalibrationCostDisplay.from_predictions, **QUICK)(y=Y, p=P, metric="f1",
    ax=None) -> {"p": r"\bp\b|scores"}
CalibrationCostDisplay.from_estimator:
    drawn(am.CalibrationCostDisplay.from_estimator, **LABELLED, **QUICK)(**SEEN)
ThresholdDisplay.from_predictions:
    drawn(am.ThresholdDisplay.from_predictions, **QUICK)(y=Y, p=P, metric="f1",
    ax=None)
ThresholdDisplay.from_estimator:
    drawn(am.ThresholdDisplay.from_estimator, **LABELLED, **QUICK)(**SEEN)
StreamDisplay.from_predictions: drawn(stream.StreamDisplay.from_predictions)(y_true=Y,
    y_pred=Y, metric="f1", thresholds=P, ax=None)
StreamDisplay.from_estimator: drawn(stream.StreamDisplay.from_estimator)(
    estimator=STREAM, ax=None)
""",
    globals(),
)

# ----------------------------------------------------------------------- sequence

CALLS |= calls(
    r"""
argmetric.sequence.BoundarySimilarity: sequence.BoundarySimilarity()
argmetric.sequence.ZeroOne: sequence.ZeroOne()
argmetric.sequence.Hamming: sequence.Hamming(normalise=True)
argmetric.sequence.CountUtility: sequence.CountUtility(metric="f1")
argmetric.sequence.Pk: sequence.Pk(window=2)
argmetric.sequence.WindowDiff: sequence.WindowDiff(window=2)
argmetric.sequence.WindowUtility: sequence.WindowUtility(window=2,
    function=lambda z, y: float(z == y), greater_is_better=True)
argmetric.sequence.Independent: sequence.Independent(p=P)
argmetric.sequence.MarkovChain: sequence.MarkovChain(initial=[0.7, 0.3],
    transitions=[[[0.9, 0.1], [0.4, 0.6]]])
argmetric.sequence.LinearChainCRF: sequence.LinearChainCRF(
    unary=[[1.0, 0.0], [0.0, 0.5]], pairwise=[[0.0, -1.0], [0.0, 1.0]],
    labels=["a", "b"])
argmetric.sequence.decode: sequence.decode(metric="f1", model=CHAIN, zero_division=0.0,
    budget=100, beam=4)
argmetric.sequence.distribution: sequence.distribution(utility="f1", z=[1, 0, 0, 1],
    model=CHAIN, max_states=1000)
argmetric.sequence.evaluate: sequence.evaluate(utility="f1", z=[1, 0, 0, 1],
    y=[1, 1, 0, 0])
argmetric.sequence.expectation: sequence.expectation(utility="f1", z=[1, 0, 0, 1],
    model=CHAIN, beam=None, tol=0.0, max_states=1000)
UtilityDistribution.cdf: DISTRIBUTION.cdf(x=0.5)
UtilityDistribution.quantile: DISTRIBUTION.quantile(q=0.5)
""",
    globals(),
)


# ------------------------------------------------------------------------- search

WORDS, KINDS = ["banana", "onion", "yes"], ["cvcvcv", "vcvvc", "cvc"]
SPELLING = search.SequenceLabelling("cv")
SENTENCE = [("the", "DT"), ("cat", "NN"), ("sleeps", "VBZ")]
TAGS = ["B-NP", "I-NP", "B-VP"]
CALLS |= calls(
    r"""
argmetric.search.LinearLearner: search.LinearLearner(kind="svm", epochs=2, step=0.5,
    target="cheapest", hash_bits=10, quadratic=False)
argmetric.search.EstimatorLearner: search.EstimatorLearner(
    estimator=LogisticRegression(), dense=True)
argmetric.search.Searn: fitted(search.Searn, WORDS, KINDS)(task=SPELLING,
    learner="perceptron", beta=1.0, iterations=1, beam=1, cross_validation=None,
    patience=1, n_rollouts=1, prediction="draw", beam_scores="log", search_width=1,
    random_state=0)
argmetric.search.Tagger: fitted(search.Tagger, [SENTENCE] * 3, [TAGS] * 3)(task="chunk",
    beam=1, epochs=1, step=0.5, dropout=0.0, hash_bits=10, history_value=1.0,
    random_state=0)
argmetric.search.QueueTask: search.QueueTask(task=SPELLING, width=2, search_width=2)
argmetric.search.default_templates: search.default_templates(task="chunk")
argmetric.search.check_task: search.check_task(task=SPELLING, X=WORDS, Y=KINDS,
    n_paths=2, max_outputs=10, max_steps=20, random_state=0)
""",
    globals(),
)
