"""Several classes, or several labels per row, over a stream."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from argmetric._ground.arguments import is_among, shown
from argmetric._ground.features import is_second
from argmetric._ground.labels import clear_labels, label_array, plain_label
from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import AnyArray, ArrayLike, ClassNames, Floats
from argmetric.metrics import ClassMetric, Metric, get_metric
from argmetric.stream._input import (
    check_same_classes,
    first_classes,
    read_classes,
    read_labels,
)
from argmetric.stream._learners import OWN_DECISION, FeatureRows, count_rows
from argmetric.stream._model import StreamModel, WaitingRows, new_model
from argmetric.stream._omma import OMMARule, decide_rows, read_matrix
from argmetric.stream._rule_base import UNWEIGHTED, Weights

if TYPE_CHECKING:
    from argmetric.stream._classifier import OnlineClassifier
    from argmetric.stream._wrapper import OnlineThreshold

Codes = AnyArray  # numbers of classes, or 0 and 1, of each label a column


def _is_default(rule: object) -> bool:
    """Return whether the user left `rule` at its default."""
    return rule is None or (isinstance(rule, str) and rule == "histogram")


def takes_several(owner: OnlineClassifier | OnlineThreshold) -> bool:
    """Return whether the rule and the learner support more than two classes."""
    ours = isinstance(owner.rule, OMMARule) or _is_default(owner.rule)
    return ours and not is_among(getattr(owner, "learner", ""), OWN_DECISION)


def build_answers(
    owner: OnlineClassifier | OnlineThreshold,
    y: ArrayLike | None,
    n: int,
    classes: ClassNames | None = None,
    *,
    two: type[TwoAnswers] | None = None,
    whole: bool = False,
    other: str = "X",
) -> TwoAnswers | Answers:
    """Return the answers for two classes, several classes, or a matrix of labels.

    Classes are those of the first labels (`whole` if these are all), or `classes`.

    Parameters
    ----------
    y : array-like of shape (n,) or (n, n_labels)
    n : int
        Number of rows of `other`, for messages.
    two : type, optional
        Class of the answers for two classes.
    """
    own = isinstance(owner.rule, OMMARule)
    if y is not None and (owner.pos_label is None or own):
        shape = y.shape if hasattr(y, "shape") else label_array(y, "y").shape
        if len(shape) == 2 and shape[1] > 1:
            return Answers(owner, np.arange(shape[1]), labelled=True)
    values = read_labels(y, n, first=True, other=other)
    if owner.pos_label is None or own:
        if classes is None:
            check_classification_targets(values)
        names = np.unique(values if classes is None else read_classes(classes))
        if names.size > 2 or (names.size == 2 and own):
            return Answers(owner, names, labelled=False)
    pair = first_classes(values, classes, owner.pos_label, whole=whole)
    return (two or TwoAnswers)(owner, pair)


def count_outcomes(truth: Codes, labels: Codes, weights: Weights) -> Floats:
    """Return tp, k, t and n of labels 0 and 1, shape (4,) or (4, n_labels)."""
    weight, pace = weights
    w = weight if pace else np.ones(len(truth))
    return np.stack([w @ one for one in (truth * labels, labels, truth, truth**0)])


class TwoAnswers:
    """True labels and decisions of two classes, the negative one first."""

    labelled = False

    def __init__(
        self, owner: OnlineClassifier | OnlineThreshold, classes: AnyArray
    ) -> None:
        self.metric, self.classes = get_metric(owner.metric), classes

    def code(
        self,
        y: ArrayLike | None,
        n: int,
        classes: ClassNames | None = None,
        other: str = "X",
    ) -> Codes:
        """Return 1 for the positive class and 0 for the negative one."""
        if classes is not None:
            check_same_classes(classes, self.classes)
        values = read_labels(y, n, first=False, other=other)
        return is_second(values, self.classes).astype(np.uint8)

    def to_labels(self, labels: Codes) -> AnyArray:
        """Return the classes of codes 0 and 1."""
        return np.asarray(self.classes.take(labels))

    def columns(self, logits: Floats) -> Floats:
        """Return probabilities of both classes, of shape (n_rows, 2)."""
        return np.column_stack(from_log_odds(logits)[::-1])

    def evaluate(
        self, truth: Codes, labels: Codes, weights: Weights = UNWEIGHTED
    ) -> float:
        """Return the metric of labels, negated if smaller is better."""
        counts = count_outcomes(truth, labels, weights)
        return self.metric._gain(float(self.metric.value(*counts)))


class Answers:
    """True labels and decisions of several classes or labels, and their score.

    The counts of the score are those of all rows, while those of the rule may fade.
    """

    def __init__(
        self,
        owner: OnlineClassifier | OnlineThreshold,
        classes: AnyArray,
        *,
        labelled: bool,
    ) -> None:
        if not takes_several(owner):
            raise ValueError(
                "Only binary classification is supported by the learners 'stamp' and "
                f"'omcsl' and by one threshold: rule is {shown(owner.rule)}; for "
                "several classes or labels pass rule=OMMARule(), or leave rule and "
                "learner alone"
            )
        rule = owner.rule if isinstance(owner.rule, OMMARule) else OMMARule()
        self.rule, self.classes, self.labelled = rule, classes, labelled
        width, metric = len(classes), owner.metric
        self.by_row = labelled and rule.average == "samples"
        self.metric: ClassMetric | Metric
        if labelled:
            self.metric = rule._label_metric(metric)
            self.counts = np.zeros(2 if self.by_row else (4, width))
            self.state = np.zeros(1)
            if not self.by_row:
                self.state = rule.init_state(metric, n_labels=width)
        else:
            self.metric = rule._class_metric(metric, width)
            self.counts = np.zeros((width, width))
            self.state = rule.init_state(metric, n_classes=width)

    def code(
        self,
        y: ArrayLike | None,
        n: int,
        classes: ClassNames | None = None,
        other: str = "X",
    ) -> Codes:
        """Return the numbers of the true classes, or a matrix of 0 and 1."""
        if self.labelled:
            shape = n, len(self.classes)
            return clear_labels(y, shape=shape, other=other).astype(np.int64)
        if classes is not None:
            check_same_classes(classes, self.classes)
        values = read_labels(y, n, first=True, other=other)
        place = np.searchsorted(self.classes, values)
        place = np.minimum(place, len(self.classes) - 1).astype(np.int64)
        wrong = np.flatnonzero(self.classes[place] != values)
        if wrong.size:
            raise ValueError(
                f"y is {shown(plain_label(values[wrong[0]]))} at row {wrong[0]}, which "
                "is none of the classes: name all of them at the first call, "
                "partial_fit(X, y, classes=[...])"
            )
        return place

    def to_labels(self, labels: Codes) -> AnyArray:
        """Return the classes of class numbers; labels 0 and 1 stay."""
        return labels if self.labelled else np.asarray(self.classes[labels])

    def columns(self, p: Floats) -> Floats:
        return p

    def column(self, truth: Codes, c: int) -> npt.NDArray[np.uint8]:
        """Return which rows belong to class c, or have label c."""
        return (truth[:, c] if self.labelled else truth == c).astype(np.uint8)

    def shares(self, logits: Floats) -> Floats:
        """Return probabilities from log-odds, both of shape (n_rows, n_classes).

        Log-odds are those of a class against the rest, or of a label. Probabilities of
        classes are divided by their sum.
        """
        logs = -np.logaddexp(0.0, -logits)
        if not self.labelled:
            logs = logs - np.logaddexp.reduce(logs, axis=1)[:, None]
        return np.asarray(np.exp(logs))

    def unknown(self, n: int) -> Floats:
        """Return the probabilities of an untrained model."""
        width = len(self.classes)
        return np.full((n, width), 0.5 if self.labelled else 1.0 / width)

    def decide(self, p: Floats) -> Codes:
        """Return labels (n_rows, n_classes) or classes for probabilities."""
        if not self.by_row:
            return np.asarray(self.rule.decide(self.state, p))
        assert isinstance(self.metric, Metric)
        rows = read_matrix(p, len(self.classes), of_classes=False)
        labels: Codes = decide_rows(rows, self.metric, self.rule.per_row)
        return labels

    def gains(self, p: Floats) -> Floats:
        """Return gains.

        Above 0 for predicted labels, largest for the predicted class.
        """
        if self.by_row:
            return np.asarray(self.decide(p) - 0.5)
        return np.asarray(self.rule.gains_of(self.state, p))

    def learn(self, p: Floats, truth: Codes, weights: Weights = UNWEIGHTED) -> Codes:
        """Decide every row before it is counted; return the decisions."""
        weight, pace = weights
        if self.by_row:
            labels = self.decide(p)
        else:
            if not self.state.flags.writeable:  # a memory map
                self.state = self.state.copy()
            given = weight if pace else None
            decided = self.rule.run(self.state, p, truth, sample_weight=given)
            labels = np.asarray(decided)
        self.counts = self.counts + self._count(truth, labels, weights)
        return labels

    @property
    def score(self) -> float:
        return self._value(self.counts)

    def evaluate(
        self, truth: Codes, labels: Codes, weights: Weights = UNWEIGHTED
    ) -> float:
        value = self._value(self._count(truth, labels, weights))
        return value if self.metric.greater_is_better else -value

    def _count(self, truth: Codes, labels: Codes, weights: Weights) -> Floats:
        """Return the counts behind the score: a table, counts per label, or a mean."""
        weight, pace = weights
        width, w = len(self.classes), weight if pace else np.ones(len(truth))
        if not self.labelled:
            cells = np.bincount(truth * width + labels, w, width * width)
            return np.asarray(cells.reshape(width, width), dtype=np.float64)
        if not self.by_row:
            return count_outcomes(truth, labels, weights)
        assert isinstance(self.metric, Metric)
        values = self.metric.value(*count_outcomes(truth.T, labels.T, UNWEIGHTED))
        known = ~np.isnan(values)
        return np.array([w[known] @ values[known], w[known].sum()])

    def _value(self, counts: Floats) -> float:
        """Return the score from the counts."""
        if isinstance(self.metric, ClassMetric):
            return float(self.metric.score(counts))
        if self.by_row:
            return float(counts[0] / counts[1]) if counts[1] else float("nan")
        if self.rule.average == "micro":
            return float(self.metric.value(*counts.sum(axis=1)))
        values = self.metric.value(*counts)
        known = values[~np.isnan(values)]
        return float(known.mean()) if known.size else float("nan")


class SeveralModel:
    """A binary learner for each class against the rest, or for each label.

    Delayed labels and drift detectors, which concern a single threshold, are not
    supported.
    """

    n_expired = n_late = n_drifts = 0
    detector = None

    def __init__(self, owner: OnlineClassifier, answers: Answers, width: int) -> None:
        if owner.detector is not None:
            raise ValueError("detector only supports binary problems: pass None")
        two = copy.copy(owner)
        two.metric, two.rule = "f1", "fixed"
        self.answers, self.waiting = answers, WaitingRows()
        self.models = [new_model(two, width) for _ in answers.classes]

    def decide(self, rows: FeatureRows) -> tuple[Codes, Floats]:
        """Return labels and probabilities by the current state; nothing is learned."""
        logits = [model.decide(rows)[1] for model in self.models]
        p = self.answers.shares(np.column_stack(logits))
        return self.answers.decide(p), p

    def learn(
        self, rows: FeatureRows, truth: Codes, weights: Weights = UNWEIGHTED
    ) -> tuple[Codes, Floats]:
        """Decide each row, then learn from it.

        Return labels and probabilities of before.
        """
        logits = np.empty((count_rows(rows), len(self.models)))
        for c, model in enumerate(self.models):
            own = self.answers.column(truth, c)
            logits[:, c] = model.learn(rows, own, weights)[1]
        p = self.answers.shares(logits)
        return self.answers.learn(p, truth, weights), p

    def margins(self, labels: Codes, p: Floats) -> Floats:
        """Return the gains of the classes or labels."""
        return self.answers.gains(p)

    def grow(self, n_features: int) -> None:
        for model in self.models:
            model.grow(n_features)

    def coefficients(self, n_features: int) -> Floats:
        return np.stack([model.coefficients(n_features) for model in self.models])

    @property
    def n_seen(self) -> int:
        return self.models[0].n_seen

    @property
    def score(self) -> float:
        """Return the metric of all predictions, each made before its label was seen."""
        return self.answers.score

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return the state of all models and of the rule as arrays, for a file."""
        each = [model.to_arrays() for model in self.models]
        arrays = {name: np.stack([one[name] for one in each]) for name in each[0]}
        arrays["rule"] = self.answers.state.copy()
        arrays["counts"] = self.answers.counts.copy()
        return arrays | {"labelled": np.array(self.answers.labelled)}

    def take_arrays(self, arrays: Mapping[str, AnyArray], n_features: int) -> None:
        """Restore the state from `to_arrays`; arrays of other shapes are refused."""
        answers = self.answers
        for name, own in (("rule", answers.state), ("counts", answers.counts)):
            if np.shape(arrays[name]) != own.shape:
                raise ValueError(f"its array {name} has another shape")
        answers.state = np.array(arrays["rule"], dtype=np.float64)
        answers.counts = np.array(arrays["counts"], dtype=np.float64)
        for c, model in enumerate(self.models):
            kept = {name: arrays[name][c] for name in ("model", "weights", "history")}
            model.take_arrays(kept | {"rule": model.rule_state}, n_features)


def build_model(
    owner: OnlineClassifier, answers: TwoAnswers | Answers, width: int
) -> StreamModel | SeveralModel:
    """Return an untrained model for two classes, or for several."""
    if isinstance(answers, TwoAnswers):
        return new_model(owner, width)
    return SeveralModel(owner, answers, width)
