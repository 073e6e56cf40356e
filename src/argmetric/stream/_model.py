"""Learner, threshold rule and score over a stream, and rows that wait for labels."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_choice, check_count, check_seed, shown
from argmetric._ground.odds import logit_of
from argmetric._ground.types import AnyArray, BinaryLabels, Floats
from argmetric.metrics import Metric, get_metric
from argmetric.stream._learners import (
    LEARNERS,
    OWN_DECISION,
    FeatureRows,
    Learner,
    ModelState,
    SparseRows,
    to_sparse,
)
from argmetric.stream._rule_base import UNWEIGHTED, ThresholdRule, Weights
from argmetric.stream._rules import get_rule

if TYPE_CHECKING:
    from argmetric.stream._classifier import OnlineClassifier


_Row = tuple[npt.NDArray[np.int32], Floats, int]


class WaitingRows:
    """Rows by id, oldest first, with the predicted label of each."""

    def __init__(self) -> None:
        self.rows: dict[int, _Row] = {}
        self.next_id = 0
        self.expired_below = 0

    def add(self, rows: FeatureRows, labels: BinaryLabels) -> npt.NDArray[np.int64]:
        """Store the rows, and return their ids."""
        sparse = rows if isinstance(rows, SparseRows) else to_sparse(rows)
        ids = np.arange(self.next_id, self.next_id + sparse.n)
        ends = sparse.indptr.tolist()
        for i, key in enumerate(ids.tolist()):
            part = slice(ends[i], ends[i + 1])
            row = sparse.indices[part].copy(), sparse.data[part].copy()
            self.rows[key] = (*row, int(labels[i]))
        self.next_id += sparse.n
        return ids

    def expire(self, most: int) -> tuple[SparseRows, BinaryLabels] | None:
        """Remove and return the oldest rows beyond `most`, or None."""
        extra = len(self.rows) - most
        if extra <= 0:
            return None
        oldest = list(self.rows)[:extra]
        self.expired_below = oldest[-1] + 1
        return self.take(np.array(oldest))

    def is_waiting(self, ids: AnyArray) -> npt.NDArray[np.bool_]:
        """Return which ids still wait; raise an error for unknown or repeated ids."""
        keys = ids.tolist()
        for place, key in enumerate(keys):
            if isinstance(key, bool) or not isinstance(key, int):
                raise TypeError(
                    "ids must be whole numbers from predict_id, not "
                    f"{shown(key)} at position {place}"
                )
            if key not in self.rows and not 0 <= key < self.expired_below:
                never = key >= self.next_id or key < 0
                what = "predict_id never returned" if never else "had its label already"
                raise ValueError(f"ids holds {key} at position {place}, which {what}")
        if len(set(keys)) < len(keys):
            twice = Counter(keys).most_common(1)[0][0]
            raise ValueError(f"ids holds {twice} twice: a row has one label")
        return np.array([key in self.rows for key in keys], dtype=bool)

    def take(self, ids: AnyArray) -> tuple[SparseRows, BinaryLabels]:
        """Remove and return some rows."""
        return _stack_rows([self.rows.pop(key) for key in ids.tolist()])

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return the waiting rows and their ids as arrays, for a file."""
        rows, labels = _stack_rows(list(self.rows.values()))
        return {
            "waiting_numbers": np.array([self.next_id, self.expired_below]),
            "waiting_ids": np.array(list(self.rows), dtype=np.int64),
            "waiting_indptr": rows.indptr,
            "waiting_indices": rows.indices,
            "waiting_data": rows.data,
            "waiting_labels": labels,
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, AnyArray], n_features: int
    ) -> WaitingRows:
        """Rebuild the rows from `to_arrays`; none wait if the arrays are missing.

        Columns from `n_features` on are refused: compiled code would write there.
        """
        waiting = cls()
        if "waiting_numbers" not in arrays:
            return waiting
        waiting.next_id, waiting.expired_below = arrays["waiting_numbers"].tolist()
        ends = arrays["waiting_indptr"].tolist()
        labels = arrays["waiting_labels"].tolist()
        indices = arrays["waiting_indices"]
        if len(indices) != len(arrays["waiting_data"]):
            raise ValueError("rows that wait have more columns than values, or fewer")
        if len(indices) and not 0 <= indices.min() <= indices.max() < n_features:
            raise ValueError(f"a row that waits has a column beyond {n_features}")
        for i, key in enumerate(arrays["waiting_ids"].tolist()):
            part = slice(ends[i], ends[i + 1])
            own = np.array(indices[part], dtype=np.int32)
            data = np.array(arrays["waiting_data"][part], dtype=np.float64)
            waiting.rows[key] = own, data, int(labels[i])
        return waiting


def _stack_rows(parts: list[_Row]) -> tuple[SparseRows, BinaryLabels]:
    """Stack rows into a CSR matrix, and return it with the predicted labels."""
    nothing = np.zeros(0, np.int32), np.zeros(0), 0
    indices, data, _ = zip(nothing, *parts, strict=True)
    ends = np.cumsum([one.size for one in indices], dtype=np.int64)
    rows = SparseRows(ends, np.concatenate(indices), np.concatenate(data))
    return rows, np.array([label for *_, label in parts], dtype=np.uint8)


_NO_LABELS: BinaryLabels = np.zeros(0, dtype=np.uint8)
_STRETCH = 256  # rows between two calls of the detector
_HISTORY = ("n_seen", "tp", "k", "t", "n", "threshold")


class Detector(Protocol):
    """Detector of changes in a stream of numbers, such as river's ADWIN."""

    drift_detected: bool

    def update(self, value: float) -> object:
        """Process the next number."""


class StreamModel:
    """A learner with a threshold rule, and their state.

    It takes checked rows in the types of the kernels, and labels 0 and 1; it does not
    know classes or feature names. Without a `rule` the learner has its own decision.
    The `detector` gets 1 for every error and 0 for every hit; at a drift the rule is
    reset and the learner takes large steps again.
    """

    def __init__(
        self,
        metric: Metric,
        learner: Learner,
        rule: ThresholdRule | None,
        n_features: int = 0,
        detector: Detector | None = None,
    ) -> None:
        self.metric, self.learner, self.rule = metric, learner, rule
        self.detector = detector
        self.rule_state = self._new_state()
        self.state = learner.init(metric, n_features)
        self.waiting = WaitingRows()
        self.n_expired = self.n_late = self.n_drifts = 0

    def _new_state(self) -> Floats:
        """Return the state of an untrained rule."""
        return np.zeros(1) if self.rule is None else self.rule.init_state(self.metric)

    # -- rows ---------------------------------------------------------------------

    def decide(self, rows: FeatureRows) -> tuple[BinaryLabels, Floats]:
        """Return labels and log-odds by the current state; nothing is learned."""
        return self._block(rows, _NO_LABELS, UNWEIGHTED, learn=False)

    def learn(
        self, rows: FeatureRows, truth: BinaryLabels, weights: Weights = UNWEIGHTED
    ) -> tuple[BinaryLabels, Floats]:
        """Decide each row, then learn from it.

        Return the labels and log-odds of before.
        """
        if self.detector is None:
            return self._block(rows, truth, weights, learn=True)
        labels, logits = np.empty(truth.size, np.uint8), np.empty(truth.size)
        start = 0
        while start < truth.size:
            start = self._learn_to_drift(rows, truth, weights, start, (labels, logits))
        return labels, logits

    def margins(self, labels: BinaryLabels, logits: Floats) -> Floats:
        """Return log-odds minus the threshold; signs agree with the labels."""
        threshold = min(max(self.threshold, 1e-300), 1.0 - 2.0**-53)
        margin = logits - logit_of(threshold)
        # the sign must agree with the label, also in a tie or the last bit
        margin = np.where(labels == 1, np.maximum(margin, 1e-300), margin)
        return np.asarray(np.where(labels == 1, margin, np.minimum(margin, 0.0)))

    def grow(self, n_features: int) -> None:
        self.state.grow(self.learner, n_features)

    def _block(
        self, rows: FeatureRows, truth: BinaryLabels, weights: Weights, *, learn: bool
    ) -> tuple[BinaryLabels, Floats]:
        """Run the learner on rows; raise an error if a log-odds overflows."""
        weights_flags = self.state.weights.flags
        if not (self.rule_state.flags.writeable and weights_flags.writeable):
            # a memory map, of all arrays or of the large ones alone
            self.rule_state = self.rule_state.copy()
            self.state = ModelState(*(one.copy() for one in self.state.arrays))
        labels, logits = self.learner.block(
            self.state, self.rule_state, rows, truth, weights, learn=learn
        )
        if logits.size and np.isnan(logits.max()):
            row = int(np.flatnonzero(np.isnan(logits))[0])
            raise ValueError(
                f"the log-odds of row {row} overflow: features or sample_weight of it, "
                "or of rows before it, are too large; scale them, and fit again"
            )
        return labels, logits

    def _learn_to_drift(
        self,
        rows: FeatureRows,
        truth: BinaryLabels,
        weights: Weights,
        start: int,
        out: tuple[BinaryLabels, Floats],
    ) -> int:
        """Learn up to the next drift, at most `_STRETCH` rows; return the next row.

        The stretch is learned. If the detector fires inside it, the state is restored
        and learned again up to that row: so blocks of all sizes give the same result.

        Parameters
        ----------
        rows, truth, weights
            All rows of the call of `learn`.
        start : int
            First row of the stretch.
        out : tuple of two ndarray of shape (n_rows,)
            Output: labels and log-odds.
        """
        weight, pace = weights
        weight = weight[start * pace :]
        stop = min(start + _STRETCH, truth.size)
        kept = [array.copy() for array in (self.rule_state, *self.state.arrays)]
        part = slice(start, stop)
        labels, logits = self._block(
            rows[part], truth[part], (weight, pace), learn=True
        )
        drift, detector = None, self.detector
        assert detector is not None
        seen = weight[: stop - start] > 0.0 if pace else None
        for i, error in enumerate((labels != truth[part]).tolist()):
            if seen is not None and not seen[i]:
                continue
            detector.update(float(error))
            if detector.drift_detected:
                drift = start + i + 1
                break
        out[0][part], out[1][part] = labels, logits
        if drift is None:
            return stop
        if drift < stop:
            self.rule_state = kept[0]
            self.state = ModelState(*kept[1:])
            part = slice(start, drift)
            self._block(rows[part], truth[part], (weight, pace), learn=True)
        self.rule_state = self._new_state()
        self.learner.restart(self.state)
        self.n_drifts += 1
        return drift

    # -- labels that come later, in any order, or never ---------------------------

    def hold(
        self, rows: FeatureRows, *, most: int, as_negative: bool
    ) -> tuple[npt.NDArray[np.int64], BinaryLabels]:
        """Decide rows and keep them for `feedback`; return their ids and labels.

        Rows beyond `most` expire, oldest first: they are dropped, or learned as
        negatives.
        """
        labels, _ = self.decide(rows)
        ids = self.waiting.add(rows, labels)
        expired = self.waiting.expire(most)
        if expired is not None:
            self.n_expired += expired[1].size
            if as_negative:
                self._learn_late(*expired, np.zeros(expired[1].size, dtype=np.uint8))
        return ids, labels

    def feedback(self, ids: AnyArray, truth: BinaryLabels) -> int:
        """Learn from rows of `hold` that have not expired; return their number."""
        is_waiting = self.waiting.is_waiting(ids)
        self.n_late += int((~is_waiting).sum())
        if is_waiting.any():
            rows, labels = self.waiting.take(ids[is_waiting])
            self._learn_late(rows, labels, truth[is_waiting])
        return int(is_waiting.sum())

    def _learn_late(
        self, rows: SparseRows, predicted: BinaryLabels, truth: BinaryLabels
    ) -> None:
        """Learn from rows of `hold`, and score their earlier predictions."""
        now, _ = self.learn(rows, truth)
        change = predicted.astype(np.int64) - now
        slots, model = self.learner.slots, self.state.model
        model[slots.PREDICTED] += change.sum()
        model[slots.HITS] += (change * truth).sum()

    # -- what was learned ---------------------------------------------------------

    @property
    def threshold(self) -> float:
        """Return the threshold on probabilities for the next row."""
        if self.rule is not None:
            return self.rule.threshold_of(self.rule_state)
        return self.learner.own_threshold(self.state)

    def coefficients(self, n_features: int) -> Floats:
        return self.learner.coefficients(self.state, n_features)

    @property
    def n_seen(self) -> int:
        return int(self.state.model[self.learner.slots.STEPS])

    @property
    def score(self) -> float:
        """Return the metric of all predictions, each made before its label was seen."""
        first = self.learner.slots.HITS
        return float(self.metric.value(*self.state.model[first : first + 4]))

    @property
    def history(self) -> dict[str, Floats]:
        """Return rows seen, counts, threshold and score at up to 512 moments."""
        length = int(self.state.model[self.learner.slots.LENGTH])
        columns = dict(zip(_HISTORY, self.state.history[:length].T.copy(), strict=True))
        counts = (columns[name] for name in ("tp", "k", "t", "n"))
        return columns | {"score": np.atleast_1d(self.metric.value(*counts))}

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return copies of the state as arrays."""
        model, weights, history = (array.copy() for array in self.state.arrays)
        return {
            "rule": self.rule_state.copy(),
            "model": model,
            "weights": weights,
            "history": history,
        }

    def take_arrays(self, arrays: Mapping[str, AnyArray], n_features: int) -> None:
        """Restore the state from `to_arrays`, with the rows that wait for labels.

        Arrays that compiled code would read beyond their ends are refused.
        """
        own = self.to_arrays()
        needed = own.pop("weights").shape
        right = all(np.shape(arrays[name]) == one.shape for name, one in own.items())
        given, axis = np.shape(arrays["weights"]), int(not self.learner.features_first)
        right = right and len(given) == 2 and given[1 - axis] == needed[1 - axis]
        if not (right and given[axis] > n_features):
            raise ValueError(
                "arrays of the state have other shapes: is it damaged, or of another "
                "version of argmetric?"
            )
        history = arrays["history"]
        self.rule_state = np.array(arrays["rule"], dtype=np.float64)
        saved = (arrays[name] for name in ("model", "weights", "history"))
        self.state = ModelState(*(np.array(one, dtype=np.float64) for one in saved))
        if not 0 <= self.state.model[self.learner.slots.LENGTH] < len(history):
            raise ValueError("the length of its history is not that of the array")
        self.waiting = WaitingRows.from_arrays(arrays, n_features)


def new_model(owner: OnlineClassifier, n_features: int) -> StreamModel:
    """Check all parameters, and return an untrained binary model."""
    metric = get_metric(owner.metric)
    check_seed(owner.random_state, high=2**32 - 1)
    check_choice(owner.learner, "learner", LEARNERS)
    seed, rule = 0, None
    if owner.learner == "omcsl":
        from sklearn.utils import check_random_state

        seed = int(check_random_state(owner.random_state).randint(2**31 - 1))
    options = (owner.step, owner.average, owner.memory, owner.fit_intercept)
    learner, detector = Learner(owner.learner, *options, seed), owner.detector
    if owner.learner not in OWN_DECISION:
        rule = get_rule(owner.rule)  # type: ignore[arg-type]  # of two classes
    elif owner.rule != "histogram" and owner.rule is not None:
        raise ValueError(f"{owner.learner} has its own decision rule: do not pass rule")
    elif detector is not None:
        raise ValueError(f"{owner.learner} cannot be reset: pass detector=None")
    check_count(owner.waiting, "waiting", low=1)
    check_choice(owner.expired, "expired", ("drop", "negative"))
    if detector is not None and not hasattr(detector, "drift_detected"):
        raise TypeError(
            "detector needs update() and drift_detected, as in river; got "
            f"{shown(detector)}"
        )
    return StreamModel(metric, learner, rule, n_features, copy.deepcopy(detector))
