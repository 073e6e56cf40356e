"""Values of the wrong kind are refused in words, and change nothing."""

import math
import os
import re
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn import metrics
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB

import argmetric as am
import opened
from argmetric.search import Costing, SequenceLabelling, Summarizer, Tagger
from argmetric.train import FrankWolfeClassifier
from refusing import refuses

NAN = math.nan
NAMES = {"am": am, "math": math, "np": np, "pd": pd, "sp": sp, "metrics": metrics}
NAMES |= {"LogisticRegression": LogisticRegression, "Fraction": Fraction}
NAMES |= {"FRANK_WOLFE": FrankWolfeClassifier, "TWO": ([[0.0], [1.0]] * 9, [0, 1] * 9)}
NAMES |= {"LABELS": SequenceLabelling("ab"), "NESTED": [0.5]}
for _ in range(5000):
    NAMES["NESTED"] = [NAMES["NESTED"]]
# A call, an arrow, the type of its error and a pattern of the message; what follows
# the first line is inset.
REFUSED = r"""
am.classes.forecast([[0.5, 0.5], [0.2, 0.8]], ["a", "d"], classes=["a", "b"])
    -> ValueError: label 'd' in row 1, which is not among
am.compare([0.5, 0.4], [1, 0], y=[1, 0]) -> TypeError: is known meant
am.compare([0.5, 0.4], sp.dok_array(np.eye(2))) -> TypeError: labels must be dense
am.Rule.from_dict({"file": sp.dok_array(np.eye(2))}) -> ValueError: no saved rule
am.classes.decide(sp.csr_array(np.eye(2))) -> TypeError: pass p\.toarray\(\)
am.classes.tune([0, "a", 2], np.eye(3)) -> TypeError: different types
am.forecast([0.5, 0.5, 0.0], [1, 0, 0], prior=5e-324)
    -> ValueError: cannot be met: the probabilities would be
am.sequence.token_model([[0.5, 0.5]], ["O", 3])
    -> TypeError: labels must .* not 3 at position 1
am.evaluate([1, 0], [1, 1], pos_label=pd.NA) -> TypeError: pos_label must be one label
am.decide(sp.coo_array([0.1, 0.9]), average="micro")
    -> ValueError: p is sparse with 1 dim.* or p\.toarray
am.evaluate([], []) -> ValueError: y is empty: there is nothing to eval
am.evaluate([0, 2], [0, 1]) -> ValueError: y holds 0, 2, not 0 and 1; pass pos_l
am.evaluate([0, None], [0, 1]) -> ValueError: y has no label at row 1
am.evaluate([0, 1], [0, 1, 1]) -> ValueError: labels has shape \(3,\) but y has sh
am.evaluate([0, 1], [0, 1], groups=[1, 2, 3])
    -> ValueError: groups has 3 rows but y has 2
am.evaluate(np.zeros((2, 2, 2)), np.zeros((2, 2, 2)))
    -> ValueError: y must have one or two dimensions
am.evaluate(sp.eye_array(2), sp.csr_array(np.diag([1, 0.5])), average="micro")
    -> ValueError: 0\.5, 1 \(0\.5 at row 1, column 1\)
am.evaluate([1, 1, "é\x00", 0], [1, 1, 0, 0]) -> ValueError: \('é.x00' at row 2\)
am.evaluate([1, {}, 0], [1, 1, 0]) -> TypeError: y has no label at row 1: \{\}
am.decide([0.5, 0.4]).plot(3) -> TypeError: ax must be matplotlib Axes, not int
am.decide([0.5, 0.4], groups=[0, 1], average="groups", n_jobs=0) -> ValueError: n_jobs
am.check_metric(lambda tp, k, t, n: np.divide(1.0, k - tp)) -> ValueError: inf
am.get_metric(metrics.fbeta_score)
    -> TypeError: fbeta_score .* pass metric=FBeta\(beta\)
am.get_metric(metrics.hinge_loss)
    -> TypeError: metric is hinge_loss of .* such as 'f1'
am.get_metric(metrics.roc_auc_score)
    -> ValueError: 'roc_auc_score' judges the order
am.get_metric(metrics.get_scorer("neg_log_loss"))
    -> ValueError: 'log_loss' judges the probabilities
am.get_metric(am.optimal_scorer("f1"))
    -> TypeError: metric is a scorer, OptimalScorer: pass the
am.search.span_features(pd.DataFrame({"a": [1.0, 2.0]}), 0, 1)
    -> TypeError: x must be a sequence of tokens
am.search.span_features(pd.Series(["a", "b"], index=[1, 0]), 0, 1)
    -> TypeError: x must be a sequence of tokens, a list
am.classes.evaluate([1j, 1], [1j, 1]) -> TypeError: complex
am.search.span_features(np.array([["a"], ["b"]]), 0, 1)
    -> TypeError: features of a token must be numbers
am.sequence.decode_spans() -> TypeError: pass a model, or candidates
am.sequence.decode_spans(am.sequence.token_model([[1.0]], ["O"]), candidates=[[]])
    -> ValueError: pass either candidates, or a model
am.sequence.decode_spans(candidates=[[]], method="exact") -> ValueError: need a model
am.sequence.write_labels([(1, 4, "X")], 3)
    -> ValueError: span 1 to 4 is not within n=3 tokens
am.sequence.write_labels([(0, 1, "X"), (1, 1.5, "X")], 3)
    -> ValueError: the stop of chunks\[1\] must be a whole
am.sequence.write_labels([5], 3) -> TypeError: chunks .* not 5 at position 0
am.sequence.write_labels(["PER"], 3) -> TypeError: chunks .* not 'PER' at position 0
am.sequence.write_labels([(0, 1)], 3) -> TypeError: chunks .* not \(0, 1\) at position 0
am.sequence.write_labels([], 10 ** 9)
    -> ValueError: n must be a whole number from 0 to 100,000,
am.stream.ProgressiveScore("f1", window=3, fading=4) -> ValueError: not both
am.stream.ProgressiveScore("f1", window=0) -> ValueError: window must be
am.stream.ProgressiveScore("f1", fading=1) -> ValueError: fading must be
am.stream.ProgressiveScore("f1").update([1, 0], [1]) -> ValueError: y_pred has shape
am.decide([0.5, 0.4, 0.3], lambda tp, k, t, n: np.where(k == 2, np.inf, tp))
    -> ValueError: infinite
am.decide([0.5] * 2, groups=[1, [2]], average="groups")
    -> TypeError: row 1 that cannot be hashed: \[2\]
am.decide([0.5] * 2, groups=[{"a": 1}] * 2, average="groups")
    -> TypeError: row 0 that cannot be hashed: \{'a': 1\}
am.decide([0.5] * 4, groups="abcd", average="groups")
    -> TypeError: one id per row, not the text 'abcd'
am.stream.StreamDisplay.from_estimator(LogisticRegression())
    -> TypeError: LogisticRegression does not: see from_pred
am.stream.StreamDisplay.from_predictions([], [])
    -> ValueError: y_true must hold a row or more
am.stream.StreamDisplay.from_predictions([1], [1], thresholds=[])
    -> ValueError: thresholds
am.CustomMetric(3) -> TypeError: function must be callable
am.CustomMetric(abs, True) -> TypeError: name must be text, not True
am.adjust_prior([0.9, 0.7, 0.8], reference_prevalence=0.5) -> ValueError: runs to 1
am.adjust_prior([], reference_prevalence=0.5) -> ValueError: empty
am.adjust_prior([0.1, np.nan], reference_prevalence=0.5) -> ValueError: NaN at row 1
am.undo_sampling([0.5], rate=0) -> ValueError: rate must be a positive number, not 0
am.undo_sampling([0.5], rate=2) -> ValueError: rate must be 1 or less, not 2: .* ratio=
am.undo_weights([0.5], ratio=float("inf")) -> ValueError: ratio must
am.undo_weights([0.5, 2.0], ratio=3) -> ValueError: p is 2
am.optimal_scorer(average="macro") -> ValueError: needs one_label=True
am.optimal_scorer("youden", one_label=True) -> ValueError: no form for several classes
am.check_metric("f1", n=201) -> ValueError: n must be a whole number from 1 to 200, no
am.decode -> AttributeError: no attribute 'decode'
am.check_metric("kapa") -> ValueError: did you mean 'kappa'
am.FBeta("2") -> TypeError: beta must be a number, not '2'
am.Utility(1, None) -> TypeError: fp must be a number, not None
am.search.Searn("chunk").fit(["x"], ["a"]) -> TypeError: task must be a Task
am.search.LinearLearner(hash_bits=None, quadratic=True) -> ValueError: knows no products
am.search.SequenceLabelling("aa") -> ValueError: distinct
am.search.WordChunking(["X"], metric="mcc") -> ValueError: true negatives
am.search.SpanChunking(["X"], 0) -> ValueError: max_length
am.search.QueueTask(am.search.SequenceLabelling("ab"), 0) -> ValueError: width
am.search.Task().start("x") -> NotImplementedError: start
am.search.check_task("chunk", ["a"], ["b"]) -> TypeError: task must be a Task, not str
am.search.LearnedOrder("cc") -> ValueError: labels must be distinct and not empty
am.search.QueueTask(3, 2) -> TypeError: task must be a Task, not int
am.search.WordChunking("NP") -> TypeError: types must be a list of text, not 'NP'
am.search.Summarizer().predict([["The room was clean."] * 2], characters=18)
    -> ValueError: has 19 characters, more than the budget of 18
am.search.Tagger("pos", memory="both").recipe() -> ValueError: memory is for spans
am.search.read_trees("none.dp") -> ValueError: ^cannot read none\.dp:
am.search.read_trees("a.dp", format="x")
    -> ValueError: format must be one of 'conllu', 'dp', not 'x'
am.sequence.token_model([[0.4, 0.5]], ["O", "B-X"]) -> ValueError: sums to 0\.9 at row 0
am.sequence.token_model([[1.4, -0.4]], ["O", "B-X"]) -> ValueError: outside
am.optimal_scorer("f7x") -> ValueError: f7x
am.metric_objective("mcc", objective="expected") -> ValueError: objective="soft"
am.metric_objective("f1", objective="hard") -> ValueError: objective must be one of
am.forecast([0.5, 0.4], [1, 0], overdispersion=20) -> ValueError: between 0 and 5
am.decide(np.empty((0, 3)), average="macro", per_row=1) -> ValueError: p is empty
am.Rule("f1", 0.3, ">") -> ValueError: operator must be
am.decide(pd.DataFrame({"a": [0.1, 0.2], "b": [0.3, None]}).astype("Float64"),
    average="macro") -> ValueError: p has NaN at row 1, column 1
am.decide([0.2, -1e-05]) -> ValueError: p is -1e-05 at row 1, .*; probabilities are
    needed
am.decide([0.2, 1.00001]) -> ValueError: p is 1\.00001 at row 1, .*; probabilities are
    needed
am.decide([0.2, -0.1, 1.1]) -> ValueError: p is -0.1 at row 1, .*; probabilities are
    needed
am.decide([0.2, 3.0]) -> ValueError: p is 3 at row 1, .*; probabilities are needed
am.decide([0.2, -1.2]) -> ValueError: looks like logits: pass logits=True
am.decide([-0.1, 4.5]) -> ValueError: looks like logits: pass logits=True
am.decide([0.2, 30.0]) -> ValueError: looks like percentages: divide by 100
am.decide([0.2, 300.0]) -> ValueError: probabilities are needed
am.decide([-math.inf, 0.2]) -> ValueError: p is -inf at row 0, .*; probabilities are
    needed
am.evaluate(["ok", "fraud"], ["ok", "ok"]) -> ValueError: y holds 'fraud', 'ok', not 0
    and 1; pass pos_label='ok' or
am.forecast([0.9, 0.7, 0.6, 0.6, 0.2, 0.1], list("abbbbb")) -> ValueError: labels holds
    'a', 'b', not 0 and 1; pass pos_label='b' or pos_label='a'
am.evaluate(["ok", "fraud"], ["ok", "ok"], pos_label="frad") -> ValueError: y and labels
    never hold 'frad', which pos_label names; they hold '
am.evaluate([0, 1], [0, 1], pos_label=[1]) -> TypeError: pos_label must be one label,
    not \[1\]
am.evaluate(["a", None], ["a", "a"], pos_label="a") -> ValueError: y has no label at row
    1; every row needs a label
am.evaluate([0, -1, 1], [0, 0, 1]) -> ValueError: y holds -1, 0, 1 \(-1 at row 1\);
    labels have two values; pass
am.forecast([0.5, 0.5], [0, 1], known=[2, None]) -> ValueError: known holds 2, not 0 and
    1; pass pos_label=2
am.evaluate(sp.eye_array(2), sp.eye_array(2), pos_label=0) -> ValueError: pos_label=0
    goes with dense labels: those of a sparse matrix such as y
am.evaluate([0, 1], [0.2, 0.7]) -> ValueError: labels holds 0\.2, 0\.7, not .*; these
    look like scores: are scores and labels in their places
am.evaluate([0, 1, 1], [0.2, 0.7, 0.4])
    -> ValueError: look like scores; evaluate takes labels: pass p >= threshold, or what
am.forecast([0.2, 0.7, 0.4], [0.2, 0.7, 0.4])
    -> ValueError: in their places, as in \(p, labels\)\?$
am.evaluate(np.eye(3), [0, 1, 0]) -> ValueError: per row call argmetric.classes.evaluate
am.tune([0, 1], [[0.2], [0.7]]) -> ValueError: such as np\.asarray\(p\)\[:, -1\], or a
am.calibrate([0, 1], [[0.2], [0.7]]) -> ValueError: one column, np\.ravel\(p\)
am.forecast([0.2, 0.7], [[0], [1]]) -> ValueError: one column, np\.ravel\(labels\)
am.decide(pd.DataFrame({"a": ["x"], "b": [0.5]}))
    -> TypeError: row 0, column 0: 'x'; pass one column, such as p\['b'\]
am.monitor(0.3, [0.2, 0.7], reference=([0, 1], [0.2, 0.7]))
    -> TypeError: not float; a threshold comes after p, as in mon
am.classes.decide([[0.5, 0.5]], limits={0: 1}) -> TypeError: is max_per_class meant
am.classes.monitor([[0.5, 0.5]], [0], freq="1d") -> TypeError: is every meant
am.monitor([0.2], reference=TWO, freq="1w") -> TypeError: is every meant
am.MetricClassifier(prefit=True) -> TypeError: takes no prefit: .* FrozenEstimator
am.MetricClassifier(cv="prefit").fit(*TWO) -> TypeError: 'prefit'; .* FrozenEstimator
am.tune([0.2, 0.7, 0.4], [0, 1, 0]) -> ValueError: are scores and labels in their places
am.decide([0.2, 0.7], scoring="f1") -> TypeError: metric='f1'
am.decide([0.2, 0.7], threshold=0.3) -> TypeError: forecast\(p, threshold, metric\)
am.tune([0, 1], [0.2, 0.7], scoring="f1") -> TypeError: named by metric
am.MetricClassifier(scoring="f1") -> TypeError: named by metric
am.MetricLogisticRegression(scoring="f1") -> TypeError: named by metric
am.train.FrankWolfeClassifier(scoring="f1") -> TypeError: named by metric
am.classes.decide(np.eye(2), max_positives=1) -> TypeError: max_per_class=
am.classes.tune([0, 1], np.eye(2), budget=1) -> TypeError: max_per_class=
am.decide("f1", [0.2, 0.7]) -> TypeError: scores and labels, as in decide\(p, metric\)
am.classes.forecast([0, 1, 1], np.eye(3)) -> ValueError: are p and another
am.classes.tune([[0.3, 0.7], [0.6, 0.4]], ["b", "a"]) -> ValueError: are p and another
am.evaluate(list("abc"), list("abb")) -> ValueError: or call
    argmetric\.classes\.evaluate
am.evaluate(list("abc"), list("abb"), pos_label="a") -> ValueError: or call
    argmetric\.classes\.evaluate
am.evaluate([0, 1, 2], [0, 1, 1], groups=[1, 1, 2], average="groups") -> ValueError: or
    call argmetric\.classes\.evaluate
am.FBeta().score([0, 1, 2], [0, 1, 1]) -> ValueError: or call
    argmetric\.classes\.evaluate
am.ThresholdDisplay.from_predictions([[1, 0], [0, 1]] * 9, [[0.9, 0.2], [0.1, 0.7]] * 9,
    n_bootstrap=0, cv=None) -> ValueError: p must be one score for each row
am.search.LinearLearner(kind="forest") -> ValueError: kind must be one of
am.search.LinearLearner(target="none") -> ValueError: target must be one of
am.search.LinearLearner(epochs=0) -> ValueError: epochs
am.search.LinearLearner(step=0.0) -> ValueError: step
am.search.LinearLearner(hash_bits=40) -> ValueError: hash_bits
am.search.Tagger("label").fit_matrix([[1.0]], [0], [2]) -> ValueError: lengths add up to
    2
am.search.Tagger("label").fit_matrix([[1.0]], [0, 1], [1]) -> ValueError: y has the
    shape
am.search.Tagger("label").fit_matrix([[np.inf]], [0], [1]) -> ValueError: row 0 of X
am.search.Tagger("label").fit_matrix([[1.0]], [0], [0.5]) -> ValueError: lengths must be
am.search.Tagger("label").fit_matrix([[1.0]], [0.5], [1]) -> ValueError: y must hold
am.decide([0.9, 0.5, 0.2], "f1", min_precision=0.99, min_positives=1) -> ValueError: 0.9
am.decide([0.9, 0.5, 0.2], "f1", min_recall=0.99, max_positives=1) -> ValueError: recall
am.decide([0.9, 0.5, 0.2], "f1", min_positives=4) -> ValueError: min_positives
am.Utility(tp=[1.0, math.nan]) -> ValueError: tp .* row 1
am.Utility(fp=[[1.0]]) -> ValueError: fp must be a number or have one value a row
am.Utility(fn="many") -> TypeError: fn must be
am.decide([0.9, 0.5], am.Utility(tp=[1, 2, 3])) -> ValueError: tp of Utility has 3 val
am.decide([0.9, 0.5], am.Utility(tp=[1, 2]), groups=[0, 1]) -> ValueError: groups does n
am.decide([0.9, 0.5], am.Utility(tp=[1, 2]), min_recall=0.5) -> ValueError: min_recall d
am.decide([0.9, 0.5], am.Utility(tp=[1, 2]), missed=2) -> ValueError: missed does not g
am.forecast([0.9, 0.5], [1, 0], am.Utility(tp=[1, 2]), overdispersion=0.5)
    -> ValueError: overdispersion does not go with a Utility of one value a row
am.evaluate([1, 0], [1, 0], am.Utility(tp=[1, 2]), sample_weight=[1, 2])
    -> ValueError: sample_weight does not go with a Utility
am.tune([1, 0], [0.9, 0.5], am.Utility(tp=[1, 2])) -> ValueError: every row gains
am.tune([1, 0], [0.9, 0.5], am.Utility(tp=[1, 2], fp=-1), max_positives=1)
    -> ValueError: max_positives does not go with a Utility
am.calibration_check([1, 0] * 2, [0.9, 0.5] * 2, am.Utility(tp=[1] * 4))
    -> ValueError: no function of counts
am.decide([0.9, 0.5], "mcc", missed=3) -> ValueError: mcc counts true neg
am.decide([0.9, 0.5], am.Utility(tn=1.0), missed=3) -> ValueError: counts true negat
am.decide([0.9, 0.5], missed="3")
    -> TypeError: missed must be a count such as 12, a rate
am.decide([0.9, 0.5], missed=True) -> TypeError: missed must be a count .* not True
am.decide([0.9, 0.5], missed=-1) -> ValueError: a count of 0 or more, such as 12, or a
am.decide([0.9, 0.5], missed=[30, 70]) -> TypeError: or a tuple \(found, missed\), not
am.evaluate([1, 0], [1, 0], missed=np.array(4)) -> TypeError: missed must be a count
am.decide([0.9, 0.5], missed=math.nan) -> ValueError: missed must
am.decide([0.9, 0.5], missed=31.0) -> ValueError: from 0.0 to 30, not 31.0
am.decide([0.9, 0.5], missed=(3, 4, 5)) -> ValueError: must be a pair \(found, missed\)
am.decide([0.9, 0.5], missed=(3, -4)) -> ValueError: missed of missed=\(found, missed\)
am.decide([0.9, 0.5], missed=(0, 4)) -> ValueError: no positive was found
am.decide([0.9, 0.5], missed=(1, 40)) -> ValueError: more than 30 missed per found
am.decide([0.9, 0.5], missed=3, min_recall=0.5) -> ValueError: does not go with
am.decide(np.full((3, 2), 0.5), average="macro", missed=3, per_row=1)
    -> ValueError: missed=3 is the count of one batch, and there are 2 groups, rows or
am.decide(np.full((3, 2), 0.5), average="macro", missed=0.5, per_row=1)
    -> ValueError: per_row does not go with missed
am.forecast([0.9, 0.5], [1, 0], groups=[0, 1], missed=3) -> ValueError: of one batch
am.evaluate([1, 0], [1, 0], missed=[3, 4]) -> ValueError: missed is a list of 2: with
am.evaluate([1, 0], [1, 0], missed=3, sample_weight=[1, 2]) -> ValueError: no weights
am.evaluate([[1, 0]], [[1, 0]], average="macro", missed=[3, 0.5]) -> TypeError: one
am.tune([1, 0], [0.9, 0.5], missed=[3, 4]) -> TypeError: missed is a list, one a label
am.tune(None, [0.9, 0.5], missed=3) -> ValueError: missed needs labels in tune
am.tune([1, 0], [0.9, 0.5], missed=3, min_recall=0.5) -> ValueError: does not go
am.tune([1, 0], [0.9, 0.5], missed=3, groups=[0, 1]) -> ValueError: of one batch
am.tune([1, 0], [0.9, 0.5], missed=3, sample_weight=[1, 2]) -> ValueError: no weights
am.tune([[1, 0], [0, 1]], np.eye(2), missed=[3]) -> ValueError: missed is a list of 1
am.tune([[1, 0], [0, 1]], np.eye(2), missed=3) -> ValueError: the count of one batch
am.decide([0.9, 0.5, 0.2], "f1", min_positives=2, max_positives=1) -> ValueError:
    max_positives
am.decide([0.9, 0.5, 0.2], "f1", max_positives=-1) -> ValueError: max_positives
am.decide([0.9, 0.5, 0.2], "f1", min_positives=-1) -> ValueError: min_positives
am.decide([0.9, 0.5, 0.2], "f1", min_precision=1.5) -> ValueError: min_precision
am.decide([0.9, 0.5, 0.2], "f1", min_recall=-0.1) -> ValueError: min_recall
am.decide(np.array([0.9, 0.6, 0.3, 0.8, 0.2, 0.1, 0.55, 0.35]), max_positives="20%",
    min_positives=3) -> ValueError: max_positives='20%' of 8 items is 1, below m
am.decide(np.array([0.9, 0.6, 0.3, 0.8, 0.2, 0.1, 0.55, 0.35]), groups=list("aabbccdd"),
    max_positives="20%", min_positives=1) -> ValueError: of 2 items is 0, below
    min_positives=1
FRANK_WOLFE([]).fit(*TWO) -> TypeError: estimator must be a classifier, not \[\]
FRANK_WOLFE(LogisticRegression).fit(*TWO) -> TypeError: estimator must be a classifier
FRANK_WOLFE(verbose=np.zeros(2)).fit(*TWO) -> TypeError: verbose must be a number
FRANK_WOLFE(cv=np.timedelta64(2, "s")).fit(*TWO) -> TypeError: cv must be a number of
FRANK_WOLFE(min_recall=np.timedelta64("NaT")).fit(*TWO) -> TypeError: min_recall must
FRANK_WOLFE(max_iter=2**31).fit(*TWO) -> ValueError: max_iter must be .* to 10,000
am.FBeta().value(1, [None], 1, 2) -> TypeError: k must hold counts, not \[None\]
FRANK_WOLFE(pos_label=[1]).fit(*TWO) -> TypeError: pos_label must be one label
am.search.Searn(LABELS).fit(["x"], ["a"], dev=pd.DataFrame([[0, 1]]))
    -> TypeError: dev must be \(X, Y\) or a share
am.search.Searn(LABELS, verbose="x").fit(["x"], ["a"]) -> TypeError: verbose must be
am.stream.OnlineClassifier(learner=np.zeros(2)).fit(*TWO) -> ValueError: learner must be
am.stream.OnlineClassifier(learner=pd.DataFrame()).fit(*TWO) -> ValueError: learner must
am.stream.get_rule(sp.dok_array(np.eye(2))) -> ValueError: rule must be one of
am.stream.OMMARule().gains_of(np.ma.array(np.zeros(99), mask=True), np.eye(3))
    -> TypeError: the state must be the array from init_state
am.decide([0.5], zero_division=np.complex64(1)) -> ValueError: must be 0, 1 or nan
am.monitor([0.5], [1], pos_label=pd.DataFrame(), reference=([0, 1] * 9, [0.2, 0.7] * 9))
    -> TypeError: pos_label must be one label
am.classes.evaluate(["a"], 10 ** 400) -> ValueError: labels must be a finite number
am.classes.evaluate(["a"], Fraction(1, 3)) -> TypeError: labels is the threshold 0\.333
am.classes.evaluate(list("abc"), ["a", "ask", "c"]) -> ValueError: labels has 'ask', wh
am.classes.evaluate([0, 1, 2.0], [0, -1, 2.0]) -> ValueError: has -1, which is no true
am.review_rows(sp.csr_array(np.eye(3)), [1, 0, 1], "f1", 1) -> ValueError: p must be one
am.decide(sp.csr_array(np.eye(3))) -> ValueError: p is a matrix, and a matrix needs av
am.decide(sp.coo_array([0.1, 0.9])) -> ValueError: p is sparse with 1 dim
am.decide(np.zeros(2, [("a", float)])) -> TypeError: not of records: .* p\['a'\]
am.evaluate(np.zeros(2, [("a", int)]), [0, 1]) -> TypeError: y must .* y\['a'\]
am.Calibrator.from_dict({"calibrator": "spline", "ends": sp.eye_array(2)})
    -> ValueError: a saved calibrator is damaged: 'ends' must be a list
am.Calibrator.from_dict({"calibrator": "platt", "format": NESTED}) -> ValueError: odd f
am.Rule.from_dict({"file": NESTED}) -> ValueError: no saved rule
am.ReviewRule("f1", 0.2, 0.6).accepts(np.zeros(2)) -> ValueError: name must be one of
am.FBeta().value(-1e308, 1, 1, 2) -> ValueError: tp must hold finite counts
am.Utility(tp=NESTED) -> ValueError: tp is ragged: .* or lists lie too deep
am.search.SequenceLabelling(NESTED) -> TypeError: labels must be hashable
am.search.Tagger().fit([[NESTED, "O"]]) -> ValueError: write every token in one way
am.stream.OnlineThreshold(NESTED).fit(*TWO) -> TypeError: model must have partial_fit
am.tune([[1, 0], [0, 1]], [0.9, 0.5]) -> ValueError: one label for each row of p, not
am.tune([1, 0, 1, 0], [0.9, 0.5, 0.4, 0.2], am.CustomMetric(lambda tp, k, t, n: tp / (k
    - tp), name="odds")) -> ValueError: odds is infinite
"""


@pytest.mark.parametrize("line", REFUSED.replace("\n    ", " ").split("\n")[1:-1])
def test_a_call_is_refused_in_these_words(line):
    if "plot" in line or "Display" in line:
        pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
    call, said = line.split(" -> ")
    error, pattern = said.split(": ", 1)
    refuses(eval(error, NAMES), pattern, eval, call, NAMES)


@pytest.mark.parametrize(
    "load", [am.Rule.load, am.Calibrator.load, Tagger.load, Summarizer.load]
)
def test_a_file_descriptor_is_no_path(load):
    reading, writing = os.pipe()
    for number in (reading, writing, True):
        refuses(TypeError, "path must be the name of a file", load, number)
    os.write(writing, b"open")  # neither end was closed
    assert os.read(reading, 4) == b"open"
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("verb", ["decide", "forecast"])
def test_what_is_no_tensor_is_refused(verb, monkeypatch):
    monkeypatch.setattr("argmetric.tensors._arrays.OLD_NUMPY", True)
    call, more = getattr(am.tensors, verb), {"forecast": [[True]]}.get(verb, [])
    arrays = f"numpy {np.__version__}"
    for p, kind in (([0.5], "list"), (None, "NoneType"), (np.array([0.5]), arrays)):
        refuses(TypeError, rf"not {re.escape(kind)}; functions such", call, p, *more)


@pytest.mark.parametrize("size", [1e38, 1e39, 1e300])
@pytest.mark.parametrize("groups", [None, np.arange(60) % 5])
def test_scores_on_both_sides_of_the_largest_32_bit_number(size, groups):
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 60), rng.normal(size=60)
    large = am.tune(y, size * scores, groups=groups)
    small = am.tune(y, scores, groups=groups)
    assert large.score == small.score
    np.testing.assert_array_equal(large.apply(size * scores), small.apply(scores))


def test_all_rows_above_a_threshold_that_32_bits_cannot_hold():
    rule = am.tune([1, 0, 1], np.array([1.0, 2.0, 3.0]) * 1e39, "recall")
    assert rule.threshold == float(np.finfo(np.float32).max)
    assert rule.apply(np.array([1e39, 3e38])).tolist() == [1, 0]


@pytest.mark.parametrize("form", ["array", "list", "frame"])
@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: am.MetricClassifier(LogisticRegression()).fit(X, y),
        lambda X, y: am.MetricLogisticRegression().fit(X, y),
        lambda X, y: am.stream.OnlineClassifier().partial_fit(X, y, classes=[0, 1]),
        lambda X, y: am.stream.OnlineThreshold(GaussianNB()).fit(X, y),
    ],
)
def test_a_whole_number_beyond_floats_among_features(fit, form):
    X, y = np.zeros((40, 2), dtype=object), np.arange(40) % 2
    X[:, 0] = y
    X[7, 1] = 10**400
    given = {"array": X, "list": X.tolist(), "frame": pd.DataFrame(X)}[form]
    refuses(ValueError, "row 7, column 1 that is beyond all floats", fit, given, y)


def test_a_whole_number_beyond_floats_where_labels_are_predicted():
    X, y = np.zeros((40, 1)), np.arange(40) % 2
    X[:, 0] = y
    huge = np.array([[1], [-(10**400)]], dtype=object)
    for model in (
        am.MetricClassifier(LogisticRegression()),
        am.MetricLogisticRegression(),
        am.stream.OnlineThreshold(GaussianNB()),
        Costing(LogisticRegression(), n_draws=1),
    ):
        model.fit(X, y)
        refuses(ValueError, "row 1, column 0", model.predict, huge)


@pytest.mark.parametrize(
    "model",
    [
        am.MetricClassifier(LogisticRegression()),
        am.stream.OnlineThreshold(SGDClassifier(random_state=0)),
        Costing(LogisticRegression(), n_draws=1),
    ],
)
def test_a_nan_that_cannot_be_compared(model):
    X = (np.arange(40) % 2)[:, None]
    model.fit(X, X.ravel())
    assert model.predict([[1], [0]]).tolist() == [1, 0]
    with pytest.raises(ValueError, match=r"X has Decimal\('sNaN'\)"):
        model.predict([[1], [Decimal("sNaN")]])


def test_a_lazy_frame_is_not_asked_for_its_types():
    X = pl.LazyFrame({"a": [0.0, 1.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError, match=r"not LazyFrame; pass X.collect\(\)"):
            am.MetricLogisticRegression().fit(X, [0, 1])


def test_a_short_float_as_pos_label_beside_a_long_label():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="labels have two values"):
            am.calibrate([1, 3, -(10**18)], [0.1, 0.2, 0.3], pos_label=np.float16(3))


def test_files_are_not_read_to_their_end_before_they_are_checked():
    read = []

    class Endless:
        def __getitem__(self, i):
            read.append(i)
            return 0.5

    with pytest.raises(TypeError, match=r"files must be the name of a file, not 0\.5"):
        opened.evaluate(Endless(), "f1")
    assert read == [0]


@pytest.mark.parametrize("share", [1e-300, 1e-307, 1e-320, 5e-324])
def test_a_share_on_both_sides_of_the_smallest_full_float(share):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="reference_prevalence"):
            am.adjust_prior([0.2, 0.5, 0.9], reference_prevalence=share)
        # Where each row is certain, the share of those that are 1
        found = am.adjust_prior([0.0, 1.0, 1.0, 0.0, 0.0], reference_prevalence=share)
    assert found.prevalence == pytest.approx(0.4, rel=1e-12)


def test_a_surprise_of_numbers_at_the_edge():
    made = am.forecast([0.9, 0.9, 0.9], [1, 1, 1])
    assert made.surprise(made.interval[0]) is None
    assert "outside" in made.surprise(0.0)
    assert made.surprise(NAN) is None
    refuses(ValueError, "finite", made.surprise, 10**400)
