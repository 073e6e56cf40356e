"""What all parts of the online classifier share: its arrays, and rows in."""

from __future__ import annotations

import copy
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from argmetric._arguments import check_choice, check_count, check_seed, shown
from argmetric._sparse import check_structure
from argmetric._suspect import warn_of_common_class
from argmetric._types import BinaryLabels, Floats
from argmetric._validation import is_sparse
from argmetric.metrics import Metric, MetricLike, get_metric
from argmetric.stream._features import (
    Vocabulary,
    hash_rows,
    sparse_rows,
)
from argmetric.stream._labels import is_positive, order_classes, two_classes
from argmetric.stream._learners import (
    LEARNERS,
    OWN_DECISION,
    AverageName,
    Learner,
    LearnerName,
    ModelState,
    Rows,
    part_of,
)
from argmetric.stream._rules import RuleName, ThresholdRule, get_rule
from argmetric.stream._waiting import WaitingRows

NO_LABELS: BinaryLabels = np.zeros(0, dtype=np.uint8)
ONE = np.ones(1)
_BLOCK = 256  # rows between two looks at the detector


class Detector(Protocol):
    """Anything that watches a stream of numbers, such as river's ADWIN."""

    drift_detected: bool

    def update(self, value: float) -> Any:
        """See the next number."""


class StreamCore(BaseEstimator):  # type: ignore[misc]
    """Parameters, arrays and the call of the compiled chunk."""

    metric: MetricLike
    rule: RuleName | ThresholdRule
    learner: LearnerName
    step: float | None
    average: AverageName | None
    memory: float | None
    fit_intercept: bool
    hash_bits: int | None
    detector: Detector | None
    waiting: int
    expired: Literal["drop", "negative"]
    pos_label: Any
    random_state: Any

    classes_: npt.NDArray[Any]
    n_features_in_: int
    _metric: Metric
    _learner: Learner
    _rule: ThresholdRule
    _rule_state: Floats
    _state: ModelState
    _vocabulary: Vocabulary
    _waiting: WaitingRows

    def _started(self) -> bool:
        return hasattr(self, "_state")

    def __sklearn_is_fitted__(self) -> bool:
        return self._started()

    def _start(self, width: int) -> None:
        """Empty arrays for rows of this width."""
        self._metric: Metric = get_metric(self.metric)
        seed = 0
        check_seed(self.random_state, high=2**32 - 1)
        check_choice(self.learner, "learner", LEARNERS)
        if self.learner == "omcsl":
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._learner = Learner(
            self.learner, self.step, self.average, self.memory, self.fit_intercept, seed
        )
        if self.learner in OWN_DECISION:
            if self.rule != "histogram" and self.rule is not None:
                raise ValueError(
                    f"{self.learner} carries its own decision: leave `rule` alone"
                )
            if self.detector is not None:
                raise ValueError(
                    f"{self.learner} cannot start anew: leave `detector` alone"
                )
            self._rule_state = np.zeros(1)
        else:
            self._rule = get_rule(self.rule)
            self._rule_state = self._rule.init_state(self._metric)
        check_count(self.waiting, "waiting", low=1)
        check_choice(self.expired, "expired", ("drop", "negative"))
        if self.detector is not None and not hasattr(self.detector, "drift_detected"):
            raise TypeError(
                "detector must have update and drift_detected, as those of river have, "
                f"and {shown(self.detector)} has not"
            )
        names = getattr(self, "feature_names_in_", None)
        self._vocabulary = Vocabulary(0 if names is not None else width)
        if names is not None:
            self._vocabulary = Vocabulary(0, {name: i for i, name in enumerate(names)})
        self._waiting = WaitingRows()
        self.n_expired_ = self.n_late_ = self.n_drifts_ = 0
        self.detector_ = copy.deepcopy(self.detector)
        self._state = self._learner.init(self._metric, width)

    def _rows(self, X: Any, *, reset: bool, least: int = 0) -> Rows:
        """Checked rows, hashed if asked for."""
        bits = self.hash_bits
        if bits is not None:
            bits = check_count(bits, "hash_bits", low=1, high=30)
        check_structure(X, "X")
        options = {"accept_sparse": "csr", "dtype": np.float64, "order": "C"}
        options["ensure_min_samples"] = least
        if bits:
            checked = check_array(X, accept_large_sparse=True, **options)
            if reset:
                self.n_features_in_ = 2**bits
        elif not reset and self._needs_no_check(X):
            checked = X
        else:
            checked = validate_data(self, X, reset=reset, **options)
        if is_sparse(checked):
            return sparse_rows(checked, bits)
        return hash_rows(checked, bits) if bits else checked

    def _needs_no_check(self, X: Any) -> bool:
        """Whether rows are as the kernels take them: small chunks spare 0.2 ms."""
        if hasattr(self, "feature_names_in_"):
            return False
        if type(X) is np.ndarray:
            values = X if X.flags.c_contiguous else None
        else:
            is_csr = is_sparse(X) and getattr(X, "format", "") == "csr"
            values = X.data if is_csr else None
        if values is None or values.dtype != np.float64:
            return False
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            return False
        with np.errstate(all="ignore"):
            return bool(np.isfinite(values.sum()))

    def _truth(
        self, y: Any, classes: Any, n: int, *, whole: bool = False
    ) -> BinaryLabels:
        """1 for the positive class, 0 for the negative one; others are refused."""
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: labels are needed"
            )
        values = y
        if type(y) is not np.ndarray or y.ndim != 1 or y.dtype.kind == "c":
            values = column_or_1d(y, warn=True)
        if values.size != n:
            check_consistent_length(np.empty(n), values)
        if not hasattr(self, "classes_"):
            if classes is None:
                check_classification_targets(values)
            found = two_classes(values, classes, whole=whole)
            if self.pos_label is None:
                warn_of_common_class(found, 1, values)
            self.classes_ = order_classes(found, self.pos_label)
        elif classes is not None:
            self._check_same(classes)
        return is_positive(values, self.classes_).astype(np.uint8)

    def _check_same(self, classes: Any) -> None:
        if sorted(np.asarray(classes).tolist()) != sorted(self.classes_.tolist()):
            raise ValueError(
                f"classes {list(classes)} are not those of the first call: "
                f"{self.classes_.tolist()}"
            )

    def _run(
        self, rows: Rows, truth: BinaryLabels, weight: Floats, pace: int
    ) -> tuple[BinaryLabels, Floats]:
        """Predict and learn, watched by the detector if there is one."""
        if self.detector_ is None:
            return self._chunk(rows, truth, weight, pace)
        labels, logits = np.empty(truth.size, np.uint8), np.empty(truth.size)
        start = 0
        while start < truth.size:
            start = self._watched(rows, truth, weight, pace, start, labels, logits)
        return labels, logits

    def _chunk(
        self,
        rows: Rows,
        truth: BinaryLabels,
        weight: Floats,
        pace: int,
        learn: bool = True,
    ) -> tuple[BinaryLabels, Floats]:
        if not self._rule_state.flags.writeable:  # loaded from a memory map
            self._rule_state = self._rule_state.copy()
            self._state = ModelState(*(one.copy() for one in self._state.arrays))
        labels, logits = self._learner.chunk(
            self._state, self._rule_state, rows, truth, weight, pace, learn=learn
        )
        if logits.size and np.isnan(logits.max()):
            row = int(np.flatnonzero(np.isnan(logits))[0])
            raise ValueError(
                f"the log-odds of row {row} overflow: its features, or those of rows "
                "before it, are too large; scale them, and start anew"
            )
        return labels, logits

    def _watched(
        self,
        rows: Rows,
        truth: BinaryLabels,
        weight: Floats,
        pace: int,
        start: int,
        labels: BinaryLabels,
        logits: Floats,
    ) -> int:
        """Learn up to the next drift, at most a block; returns the next row.

        The block is learned, and where the detector fires inside of it, taken back and
        learned again up to that row: so chunks of all sizes do the same.
        """
        assert self.detector_ is not None
        stop = min(start + _BLOCK, truth.size)
        kept = [array.copy() for array in (self._rule_state, *self._state.arrays)]
        part = slice(start, stop)
        found = self._chunk(
            part_of(rows, start, stop), truth[part], weight[start * pace :], pace
        )
        drift = None
        seen = weight[start * pace :][: stop - start] > 0.0 if pace else None
        for i, error in enumerate((found[0] != truth[part]).tolist()):
            if seen is not None and not seen[i]:
                continue
            self.detector_.update(float(error))
            if self.detector_.drift_detected:
                drift = start + i + 1
                break
        labels[part], logits[part] = found
        if drift is None:
            return stop
        if drift < stop:
            self._rule_state = kept[0]
            self._state = ModelState(*kept[1:])
            part = slice(start, drift)
            self._chunk(
                part_of(rows, start, drift), truth[part], weight[start * pace :], pace
            )
        self._rule_state = self._rule.init_state(self._metric)
        self._learner.restart(self._state)
        self.n_drifts_ += 1
        return drift


def sigmoid(z: Floats) -> Floats:
    """1/(1 + e^-z) without overflow."""
    e = np.exp(-np.abs(z))
    return np.where(z >= 0.0, 1.0 / (1.0 + e), e / (1.0 + e))
