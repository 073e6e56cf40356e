"""Learners over streams: their arrays, and calls of the compiled blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_choice, check_flag, check_number
from argmetric._ground.types import Floats
from argmetric.metrics import Metric
from argmetric.stream._rule_base import Weights, coefficients, level_form, rare_rule

LearnerName = Literal["mixture", "sgd", "adagrad", "stamp", "omcsl"]
AverageName = Literal["polynomial", "suffix"]
LEARNERS = ("mixture", "sgd", "adagrad", "stamp", "omcsl")
OWN_DECISION = ("stamp", "omcsl")
_LINEAR = ("sgd", "adagrad")
_EXPERTS = (0.1, 1.0, 10.0, 1.0, 0.3, 3.0)  # AdaGrad ×3, its average, SGD ×2
_ROOM = 1 << 16  # entries of dense rows compressed at a time: they stay in cache


@dataclass(frozen=True)
class SparseRows:
    """Rows of a CSR matrix in the types that the kernels are compiled for."""

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    data: Floats

    @property
    def n(self) -> int:
        return self.indptr.size - 1

    def __getitem__(self, part: slice) -> SparseRows:
        ends = self.indptr[part.start : part.stop + 1]
        return SparseRows(ends, self.indices, self.data)


FeatureRows = Floats | SparseRows


def count_rows(rows: FeatureRows) -> int:
    """Return the number of rows."""
    return rows.n if isinstance(rows, SparseRows) else rows.shape[0]


def to_sparse(rows: Floats, room: SparseRows | None = None) -> SparseRows:
    """Return dense rows as CSR without zeros, in the arrays of `room` if any."""
    from argmetric.stream.kernels import stream

    room = _room(*rows.shape) if room is None else room[0 : len(rows)]
    stream.compress(rows, room.indptr, room.indices, room.data)
    return room


def _room(n: int, width: int) -> SparseRows:
    """Allocate arrays for n dense rows without zeros."""
    indptr = np.empty(n + 1, dtype=np.int64)
    indices, data = np.empty(n * width, dtype=np.int32), np.empty(n * width)
    return SparseRows(indptr, indices, data)


@dataclass(frozen=True)
class Learner:
    """A learner with its options.

    - "sgd": logistic regression by w ← w - c/√t · ∇; `average` "polynomial" (weights
      4/(t+3)) or "suffix" (the iterates since the last power of two but one, between
      a half and three quarters of all), kept in O(non-zeros) per row.
    - "adagrad": w_j ← w_j - c·g_j/√(Σ g_j²), the same averages.
    - "mixture": the fixed-share mixture of AdaGrad with c = 0.1, 1, 10, the polynomial
      average of c = 1, and SGD with c = 0.3, 3; share rate 1e-4. `step` scales all.
    - "stamp": Narasimhan, Kar and Jain (2015). Epochs of s rows (100, then ×1.2 and
      rounded up) update w by the cost-weighted logistic gradient at the level v, with
      the step c/√t; the next s/4 rows update v alone, by the ratio of mean logistic
      rewards 1 - log₂(1 + e^∓z), each mean held within [0, 1]. v starts at ½; the last
      iterate is used, without a projection. Positive where w·x > 0.
    - "omcsl": Yan et al. (2017). Ten cost-weighted logistic learners at the levels
      0.05, 0.15, ..., 0.95, all updated at every row, step c/√t; the one that decides
      row n+1 is drawn with probabilities ∝ exp(√(8·ln10·n)·Φ_k), Φ_k its metric so far;
      outside of learning the one with the largest Φ_k decides.

    `memory` (rows) bounds what is remembered: SGD's step stays at c/√memory, AdaGrad's
    squares fade by 1/e in `memory` rows, averages span no more than that.
    """

    name: LearnerName
    step: float | None = None
    average: AverageName | None = None
    memory: float | None = None
    fit_intercept: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice(self.name, "learner", LEARNERS)
        if self.step is not None:
            step = check_number(self.step, "step", low=0.0, strict=True)
            object.__setattr__(self, "step", step)
        if self.average is not None:
            check_choice(self.average, "average", ("polynomial", "suffix"))
        if self.average is not None and self.name not in _LINEAR:
            raise ValueError(f"average is for sgd and adagrad, not for {self.name}")
        if self.memory is not None:
            memory = check_number(self.memory, "memory")
            if memory < 1.0:
                raise ValueError(f"memory must be at least 1 row, not {memory!r}")
            object.__setattr__(self, "memory", memory)
        flag = check_flag(self.fit_intercept, "fit_intercept")
        object.__setattr__(self, "fit_intercept", flag)

    @property
    def slots(self) -> ModuleType:
        """Return the module with the slots of `model` that all learners share."""
        from argmetric.stream.kernels import stream

        return stream

    @property
    def kernels(self) -> ModuleType:
        """Return the module with the kernels of this learner."""
        if self.name in OWN_DECISION:
            from argmetric.stream.kernels import stream_baselines

            return stream_baselines
        return self.slots

    def init(self, metric: Metric, n_features: int) -> ModelState:
        """Return the arrays of an untrained learner."""
        kernels, slots = self.kernels, self.slots
        model = np.zeros(kernels.MODEL)
        model[slots.RATE] = 1.0 if self.step is None else self.step
        model[slots.MEMORY] = math.inf if self.memory is None else self.memory
        model[slots.INTERCEPT] = self.fit_intercept
        model[slots.SEED] = self.seed
        model[slots.EVERY] = model[slots.RECORD] = 1.0
        if self.name in OWN_DECISION:
            self._fill_baseline(model, metric, kernels)
        else:
            self._fill_linear(model, kernels)
        shape = self._shape(1 + n_features)
        return ModelState(model, np.zeros(shape), np.zeros((slots.RECORDS, 6)))

    def _fill_linear(self, model: Floats, kernels: ModuleType) -> None:
        """Set the slots of SGD, AdaGrad and the mixture."""
        model[[kernels.LATE, kernels.LATE_GROWTH]] = 1.0
        model[[kernels.FACTOR_A, kernels.FACTOR_B]] = 1.0
        model[kernels.START_B], model[kernels.TURN] = 1.0, 2.0
        if self.memory is not None and self.name != "sgd":
            model[kernels.LATE_GROWTH] = math.exp(1.0 / self.memory)
        if self.name == "mixture":
            model[kernels.SHARE] = 1e-4
            model[kernels.EXPERTS : kernels.EXPERTS + 6] = 1.0 / 6.0
            rates = model[kernels.RATE] * np.array(_EXPERTS)
            model[kernels.RATES : kernels.RATES + 6] = rates
            return
        model[kernels.KIND] = kernels.ADAGRAD if self.name == "adagrad" else kernels.SGD
        codes = {None: kernels.PLAIN, "polynomial": kernels.POLYNOMIAL}
        model[kernels.AVERAGE] = codes.get(self.average, kernels.SUFFIX)

    def _fill_baseline(
        self, model: Floats, metric: Metric, kernels: ModuleType
    ) -> None:
        """Write the state of STAMP or OMCSL; refuse metrics that they cannot take."""
        ratio = coefficients(metric)
        if ratio is None:
            raise ValueError(
                f"{self.name} is for ratios of affine counts (F-beta, Jaccard, "
                f"Tversky, ...), not for {metric.name}; use the mixture"
            )
        level_form(metric)  # refuses ratios without an optimal threshold
        model[kernels.C0 : kernels.C0 + 4], model[kernels.D0 : kernels.D0 + 4] = ratio
        model[kernels.LEVEL], model[kernels.LEARNING] = 0.5, 1.0
        model[kernels.LEFT] = model[kernels.EPOCH] = 100.0

    def _shape(self, features: int) -> tuple[int, int]:
        """Return the shape of the weights for a number of features."""
        if self.name == "mixture":
            return features, int(self.kernels.STRIDE)
        if self.name == "omcsl":
            return features, self.kernels.LEARNERS
        if self.name == "stamp" or (self.name == "sgd" and self.average is None):
            return 1, features
        rows = {None: 2, "polynomial": 3, "suffix": 4}
        return rows[self.average], features

    @property
    def features_first(self) -> bool:
        """Return whether the first axis of the weights is the feature."""
        return self.name in ("mixture", "omcsl")

    def block(
        self,
        state: ModelState,
        rule: Floats,
        rows: FeatureRows,
        y: npt.NDArray[np.uint8],
        weights: Weights,
        *,
        learn: bool,
    ) -> tuple[npt.NDArray[np.uint8], Floats]:
        """Decide every row before it learns its label; return labels and log-odds.

        Parameters
        ----------
        state : ModelState
            Arrays of the learner, changed in place if `learn`.
        rule : ndarray
            State of the threshold rule, changed in place if `learn`.
        rows : ndarray of shape (n_rows, n_features), or SparseRows
        y : ndarray of uint8, shape (n_rows,)
            Labels 0 and 1; empty without `learn`.
        weights : (ndarray, int)
            Weights of the rows, and the step at which they are read: 0 if all are 1.
        """
        n, (weight, pace) = count_rows(rows), weights
        labels, logits = np.empty(n, dtype=np.uint8), np.empty(n)
        if whole := not isinstance(rows, SparseRows) and self.name in _LINEAR:
            ends = rows.shape[1] * np.arange(n + 1)
            rows = SparseRows(ends, np.zeros(0, np.int32), rows.reshape(-1))
        if isinstance(rows, SparseRows):
            given = (y, weight, pace, learn)
            self._call(state, rule, rows, given, (labels, logits), whole=whole)
            return labels, logits
        size = max(1, min(n, _ROOM // max(rows.shape[1], 1)))
        room = _room(size, rows.shape[1])
        for start in range(0, n, size):
            part = slice(start, start + size)
            given = (y[part], weight[start * pace :], pace, learn)
            out = (labels[part], logits[part])
            self._call(state, rule, to_sparse(rows[part], room), given, out)
        return labels, logits

    def _call(
        self,
        state: ModelState,
        rule: Floats,
        rows: SparseRows,
        given: tuple[Any, ...],
        out: tuple[Any, ...],
        *,
        whole: bool = False,
    ) -> None:
        """Call the kernel of the learner on sparse rows.

        Parameters
        ----------
        given : tuple
            Labels, weights, step of the weights, and whether to learn.
        out : tuple of two ndarray of shape (n_rows,)
            Output: labels and log-odds.
        whole : bool
            Whether rows hold all columns in order.
        """
        kernels, arrays = self.kernels, state.arrays
        # unsigned: spares the check for negative indices
        matrix = (rows.indptr, rows.indices.view(np.uint32), rows.data)
        if self.name in OWN_DECISION:
            kernels.baseline_sparse(matrix, given, self.name == "omcsl", arrays, out)
            return
        decided = given, rule, rare_rule(rule)
        if self.name == "mixture":
            model, weights, history = arrays
            arrays, room = (model, weights.reshape(-1), history), (5, len(_EXPERTS))
            kernels.mixture_sparse(matrix, *decided, arrays, np.empty(room), out)
        else:
            kernels.linear_sparse(matrix, whole, *decided, arrays, out)

    def coefficients(self, state: ModelState, n_features: int) -> Floats:
        """Return the intercept and weights of the log-odds, shape (1 + n_features,).

        A mixture of probabilities has no weights of its own: those of its experts are
        averaged, weighted by their shares.
        """
        kernels, weights = self.kernels, state.weights
        if self.name == "omcsl":
            best = kernels.omcsl_pick(state.model, True)
            return np.array(weights[: 1 + n_features, best])
        if self.name == "mixture":
            shares = state.model[kernels.EXPERTS : kernels.EXPERTS + 6]
            average = weights[:, 1] + state.model[kernels.FACTOR_A] * weights[:, 3]
            experts = weights[:, :6].copy()
            experts[:, 3] = average
            return np.asarray(experts[: 1 + n_features] @ shares)
        one = weights[0].copy()
        if self.average is not None:
            one += state.model[kernels.FACTOR_A] * weights[2]
        return np.asarray(one[: 1 + n_features])

    def own_threshold(self, state: ModelState) -> float:
        """Return the threshold of a learner that decides itself, on probabilities."""
        kernels, model = self.kernels, state.model
        level = model[kernels.LEVEL]
        if self.name == "omcsl":
            level = (kernels.omcsl_pick(model, True) + 0.5) / kernels.LEARNERS
        return float(1.0 - kernels.cost(model, level))

    def restart(self, state: ModelState) -> None:
        """Take large steps again after a drift; the weights stay."""
        kernels, model, weights = self.kernels, state.model, state.weights
        kept = {slot: model[slot] for slot in range(kernels.KIND)}
        self._fill_linear(model, kernels)
        for slot, value in kept.items():
            model[slot] = value
        model[kernels.START_A] = 0.0
        model[kernels.SINCE] = model[kernels.STEPS]
        if self.name == "mixture":
            weights[:, 3] = 0.0
            weights[:, 6:] = 0.0
        else:
            weights[1:] = 0.0


@dataclass
class ModelState:
    """Arrays of a learner, which are changed in place."""

    model: Floats
    weights: Floats
    history: Floats = field(repr=False)

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats]:
        """Return the arrays in the order in which the kernels take them."""
        return self.model, self.weights, self.history

    def grow(self, learner: Learner, n_features: int) -> None:
        """Make room for more features, twice as much as is needed now."""
        axis = 0 if learner.features_first else 1
        if self.weights.shape[axis] > n_features:
            return
        shape = list(self.weights.shape)
        shape[axis] = 1 + 2 * n_features
        larger = np.zeros(shape)
        larger[: self.weights.shape[0], : self.weights.shape[1]] = self.weights
        self.weights = larger
