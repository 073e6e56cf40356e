"""OMMA: decide several classes, or several labels per row, online."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import (
    check_choice,
    check_count,
    check_number,
    check_structure,
    entry_place,
    is_sparse,
    shown,
)
from argmetric._ground.labels import clear_labels
from argmetric._ground.types import ArrayLike, Floats, SparseMatrix
from argmetric._ground.validation import (
    SUM_TOLERANCE,
    check_length,
    check_scores,
    read_scores,
    to_numpy,
)
from argmetric.metrics import (
    ClassAgreement,
    ClassCorrelation,
    ClassGain,
    ClassGMean,
    ClassMetric,
    ClassRatio,
    Metric,
    MetricLike,
    Recall,
    get_class_metric,
    get_metric,
)
from argmetric.stream._learners import SparseRows
from argmetric.stream._rule_base import (
    LevelForm,
    StreamRule,
    check_state,
    check_weight,
    coefficients,
    level_form,
)

Labels = npt.NDArray[np.int64] | SparseMatrix
AverageOver = Literal["macro", "weighted", "micro", "samples"]
_RECALL = (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)  # tp over t
_POSITIVE: dict[str, Any] = {"low": 0.0, "strict": True}


@dataclass(frozen=True)
class OMMARule(StreamRule):
    """Online metric maximisation, OMMA (Kotłowski et al. 2024), for any metric ψ.

    Row t is given the prediction z of the largest ⟨∇ψ(C), C(η, z)⟩, and is counted
    then. C are the confusion counts of the rows before it and the prior, η the
    probabilities of the row and C(η, z) its expected counts. With tp, the rows k given
    to a class and its true rows t this is

    - several classes: z = argmax_c η_c·∂ψ/∂tp_c + ∂ψ/∂k_c;
    - a matrix of labels: label j where η_j·∂ψ/∂tp_j + ∂ψ/∂k_j > 0, or the `per_row`
      labels of the largest such gains.

    Ties go to the lowest index, and to no label. A mean over rows ("samples") has no
    counts to learn from: each row gets the labels of its highest expected metric, if
    its labels are independent.

    Parameters
    ----------
    average : {"macro", "weighted", "micro", "samples"}, default="macro"
        Mean over classes: "macro" or "weighted". Over labels: "macro", "micro" or
        "samples".
    per_row : int, optional
        Predict so many labels in every row, for ratios of counts.
    update : {"labels", "probabilities"}, default="labels"
        What is counted after a row: its labels, or as many as η expects.
    prior : tuple of two floats or float, default=(10, 1)
        Counts before the first row, in each cell of right answers and in each of wrong
        ones; one number is in every cell, λ in the paper. The default had the largest
        mean gain over argmax on six drawn and three real streams.
    forget : float, optional
        Rows after which the counts have faded by 1/e.

    Examples
    --------
    >>> import numpy as np
    >>> from argmetric.stream import OMMARule
    >>> rule = OMMARule(prior=1)
    >>> state = rule.init_state("f1", n_classes=3)
    >>> p = np.array([[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.6, 0.1, 0.3]])
    >>> rule.run(state, p, [0, 0, 2])
    array([0, 1, 0])
    >>> rule.counts_of(state)
    array([[1., 1., 0.],
           [0., 0., 0.],
           [1., 0., 0.]])
    """

    average: AverageOver = "macro"
    per_row: int | None = None
    update: Literal["labels", "probabilities"] = "labels"
    prior: float | tuple[float, float] = (10.0, 1.0)
    forget: float | None = None
    name: ClassVar[str] = "omma"

    def __post_init__(self) -> None:
        averages = ("macro", "weighted", "micro", "samples")
        check_choice(self.average, "average", averages)
        check_choice(self.update, "update", ("labels", "probabilities"))
        cells: Any = self.prior
        if isinstance(cells, tuple | list) and len(cells) == 2:
            right, wrong = (check_number(x, "prior", **_POSITIVE) for x in cells)
            object.__setattr__(self, "prior", (right, wrong))
        else:
            object.__setattr__(self, "prior", check_number(cells, "prior", **_POSITIVE))
        self._read(check_number, "forget", **_POSITIVE)
        self._read(check_count, "per_row", low=1)

    def _class_metric(self, metric: MetricLike, n_classes: int) -> ClassMetric:
        """Return the metric of one label per row that this rule optimises."""
        if self.per_row is not None or self.average in ("micro", "samples"):
            raise ValueError(
                "per_row, average='micro' and average='samples' are for matrices of "
                "labels: a row has one class here"
            )
        average = "weighted" if self.average == "weighted" else None
        return get_class_metric(metric, average=average, n_classes=n_classes)

    def _label_metric(self, metric: MetricLike) -> Metric:
        """Return the metric of label matrices that this rule optimises."""
        if self.average == "weighted":
            raise ValueError("average='weighted' is for classes, not for labels")
        return get_metric(metric)

    def init_state(
        self,
        metric: MetricLike = "f1",
        *,
        n_classes: int | None = None,
        n_labels: int | None = None,
    ) -> Floats:
        """Return the state before the first row.

        Parameters
        ----------
        metric : str or Metric, default="f1"
            Of classes, all but functions of one's own. Of labels, what other rules
            know; with `per_row` any ratio of counts, precision and recall among them.
        n_classes : int, optional
            Number of classes, where each row has one of them.
        n_labels : int, optional
            Number of labels, where a row may have several.

        Returns
        -------
        ndarray of float
            The state, for `run` and `decide`.
        """
        from argmetric.stream.kernels import confusions as kernels

        if n_classes is not None and n_labels is None:
            width = check_count(n_classes, "n_classes", low=2, high=2**13)
            state = _class_state(self._class_metric(metric, width), width)
        elif n_labels is not None and n_classes is None:
            width = check_count(n_labels, "n_labels", low=1, high=2**30)
            state = self._label_state(self._label_metric(metric), width)
        else:
            raise ValueError("pass n_classes or n_labels, one of them")
        state[kernels.WIDTH], state[[kernels.RIGHT, kernels.WRONG]] = width, self.prior
        lasts = math.inf if self.forget is None else self.forget
        state[kernels.DECAY] = math.exp(-1.0 / lasts)
        state[kernels.SOFT] = self.update == "probabilities"
        return state

    def _label_state(self, metric: Metric, width: int) -> Floats:
        """Return the state for a matrix of labels, before the first row."""
        from argmetric.stream.kernels import confusions as kernels
        from argmetric.stream.kernels import rules

        if self.average == "samples":
            raise ValueError(
                "a mean over rows has no state: argmetric.decide(p, metric, "
                "average='samples') decides each row by itself"
            )
        if self.per_row is None:
            form = level_form(metric)
        else:
            ratio = _RECALL if isinstance(metric, Recall) else coefficients(metric)
            if ratio is None or not metric.greater_is_better:
                raise ValueError(
                    f"{metric.name} is no ratio of counts, which per_row is for: f1, "
                    "f2, jaccard, precision, recall, accuracy, ..."
                )
            form = LevelForm(rules.FRACTIONAL, 1.0, 1.0, 0.5, *ratio)
        state = np.zeros(kernels.CONFUSIONS + 3 * width)
        micro = self.average == "micro"
        state[kernels.KIND] = kernels.MICRO if micro else kernels.MACRO
        state[rules.METRIC], state[rules.B2] = form.code, form.b2
        state[rules.C0 : rules.C0 + 4] = form.c
        state[rules.D0 : rules.D0 + 4] = form.d
        state[kernels.PER_ROW] = self.per_row or 0
        return state

    def run(
        self,
        state: Floats,
        p: ArrayLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> Labels:
        """Decide each row before its labels are seen, and count it.

        Parameters
        ----------
        state : ndarray
            From `init_state`; changed in place. Blocks of any size give the same bits.
        p : array-like or sparse matrix of shape (n_samples, n_classes or n_labels)
            Probabilities; absent cells of a sparse matrix of labels are never chosen.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Numbers of the true classes, or labels 0 and 1.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a row of weight 0 is decided but not counted.

        Returns
        -------
        ndarray of the shape of y, or a sparse matrix as p
            Numbers of classes, or labels 0 and 1.
        """
        return self._rows(state, p, y, sample_weight)[0]

    def decide(self, state: Floats, p: ArrayLike) -> Labels:
        """Return labels at the counts of the state, which does not change.

        Parameters
        ----------
        state : ndarray
            From `init_state`.
        p : array-like or sparse matrix of shape (n_samples, n_classes or n_labels)
            Probabilities.

        Returns
        -------
        ndarray or sparse matrix
            Numbers of classes, or labels 0 and 1 of the shape of p.
        """
        return self._rows(state, p, None, None)[0]

    def gains_of(self, state: Floats, p: ArrayLike) -> Floats | SparseMatrix:
        """Return the gain of each class or label of a row, up to a positive factor.

        Parameters
        ----------
        state : ndarray
            From `init_state`.
        p : array-like or sparse matrix of shape (n_samples, n_classes or n_labels)
            Probabilities.

        Returns
        -------
        ndarray or sparse matrix of the shape of p
            Gains.
        """
        return self._rows(state, p, None, None)[1]

    def counts_of(self, state: Floats) -> Floats:
        """Return the confusion table, or for labels the rows tp, k, t and n.

        Rows of the table are true classes, columns predicted ones. The prior is left
        out.

        Parameters
        ----------
        state : ndarray
            From `init_state`.

        Returns
        -------
        ndarray of shape (n_classes, n_classes) or (4, n_labels)
            Counts so far.
        """
        from argmetric.stream.kernels import confusions as kernels

        width, of_classes = _layout(state)
        counts = state[kernels.CONFUSIONS :]
        if of_classes:
            return counts[: width * width].reshape(width, width).copy()
        return np.vstack(
            [counts.reshape(3, width), np.full(width, state[kernels.ROWS])]
        )

    def _rows(
        self,
        state: Floats,
        p: ArrayLike,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
    ) -> tuple[Labels, Floats | SparseMatrix]:
        """Return labels; and gains if there is no y, so that nothing is learned.

        Parameters
        ----------
        p : array-like or sparse matrix of shape (n_rows, width)
        y : array-like of shape (n_rows,) or (n_rows, width), or None
        sample_weight : array-like of shape (n_rows,) or None
        """
        from argmetric.stream.kernels import confusions as kernels

        width, of_classes = _layout(state)
        learn = y is not None
        if learn and not state.flags.writeable:
            raise ValueError("the state is read-only: pass a copy of it")
        if of_classes:
            rows = read_matrix(p, width, of_classes=True)
            n = len(rows)
            truth = read_codes(y, n, width) if learn else np.zeros(0, np.int64)
            labels, slopes = np.empty(n, np.int64), np.empty((2, width))
            gains, given = np.empty((1 if learn else n, width)), (rows, truth)
            weights = check_weight(sample_weight, n)
            kernels.run_classes(
                state, *given, *weights, learn, slopes, gains, not learn, labels
            )
            return labels, gains
        entries, restore = _label_entries(p, width)
        n = entries.n
        true = _true_entries(y, (n, width)) if learn else (entries.indptr,) * 2
        last = np.zeros(width if learn else 0, np.int64)
        each = np.empty(width if learn else entries.data.size)
        chosen = np.zeros(entries.data.size, np.int64)
        matrix = entries.indptr, entries.indices, entries.data
        weights, whole = check_weight(sample_weight, n), not is_sparse(p)
        kernels.run_labels(
            state, matrix, whole, true, *weights, learn, last, each, chosen
        )
        return restore(chosen), each if learn else restore(each)


def _class_state(metric: ClassMetric, width: int) -> Floats:
    """Return the state for several classes, before the first row."""
    from argmetric.stream.kernels import confusions as kernels
    from argmetric.stream.kernels import rules

    matrix = np.zeros((0, 0))
    if isinstance(metric, ClassRatio):
        code = kernels.RATIO
    elif isinstance(metric, ClassGMean):
        code = kernels.PRODUCT
    elif isinstance(metric, ClassCorrelation):
        code = kernels.CORRELATION
    elif isinstance(metric, ClassAgreement):
        code, matrix = kernels.AGREEMENT, metric.disagreement(width)
    elif isinstance(metric, ClassGain):
        code, matrix = kernels.GAIN, metric.gains(width)
    else:
        raise ValueError(
            f"no rule on streams for {metric.name}, a function of one's own: its "
            "slopes are not known"
        )
    state = np.zeros(kernels.CONFUSIONS + width * (width + 2) + matrix.size)
    state[kernels.KIND], state[rules.METRIC] = kernels.CLASSES, code
    state[rules.C1] = state[rules.D3] = 1.0
    if isinstance(metric, ClassRatio):
        state[rules.C1], state[kernels.SUPPORT] = metric.a, metric.by_support
        state[rules.D1 : rules.D1 + 3] = metric.b_tp, metric.b_k, metric.b_t
    state[state.size - matrix.size :] = matrix.ravel()
    return state


def _layout(state: Floats) -> tuple[int, bool]:
    """Return the number of classes or labels, and which.

    Refuse arrays that are no state.
    """
    from argmetric.stream.kernels import confusions as kernels
    from argmetric.stream.kernels import rules

    check_state(state)
    if state.ndim != 1 or state.size < kernels.CONFUSIONS:
        raise ValueError(f"the state has the shape {state.shape}: is it of a rule?")
    width, of_classes = int(state[kernels.WIDTH]), state[kernels.KIND] == 0
    length = 3 * width
    if of_classes:
        has_matrix = state[rules.METRIC] in (kernels.AGREEMENT, kernels.GAIN)
        length = width * (width * (1 + has_matrix) + 2)
    if width < 1 or state.size != kernels.CONFUSIONS + length:
        raise ValueError("the state is damaged: it is not that of this rule")
    return width, bool(of_classes)


def _label_entries(p: Any, width: int) -> tuple[SparseRows, Callable[[Any], Any]]:
    """Return probabilities as rows, and a function that restores their shape."""
    if not is_sparse(p):
        rows = read_matrix(p, width, of_classes=False)
        ends = width * np.arange(len(rows) + 1)
        entries = SparseRows(ends, np.zeros(0, np.int32), rows.reshape(-1))
        return entries, lambda flat: flat.reshape(rows.shape)
    matrix = _csr(p, "p", width)
    values = np.ascontiguousarray(matrix.data, dtype=np.float64)
    values = check_scores(
        values, "p", logits=False, where=lambda entry: entry_place(matrix, entry)
    )
    ends, columns = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)

    def restore(flat: Any) -> Any:
        """Return labels or scores of the entries as a sparse matrix."""
        parts = flat, matrix.indices, matrix.indptr
        labels = type(matrix)(parts, shape=matrix.shape, copy=True)
        if flat.dtype == np.int64:
            labels.eliminate_zeros()
        return labels

    return SparseRows(ends, columns, values), restore


def _true_entries(y: Any, shape: tuple[int, int]) -> tuple[Any, Any]:
    """Return the row ends and columns of the labels that are 1."""
    if not is_sparse(y):
        rows, columns = clear_labels(y, shape=shape).nonzero()
        return np.searchsorted(rows, np.arange(shape[0] + 1)), columns
    matrix = _csr(y, "y", shape[1])
    check_length(matrix, "y", shape[0])
    matrix.eliminate_zeros()
    odd = np.flatnonzero(matrix.data != 1)
    if odd.size:
        where = entry_place(matrix, int(odd[0]))
        raise ValueError(f"y is {matrix.data[odd[0]]} at {where}, not 0 or 1")
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)


def _csr(given: Any, name: str, width: int) -> Any:
    """Return a CSR copy without duplicates; check that it has `width` columns."""
    check_structure(given, name)
    if len(given.shape) != 2 or given.shape[1] != width:
        raise ValueError(
            f"{name} has shape {given.shape}, but there are {width} labels"
        )
    matrix = given.tocsr(copy=True)
    matrix.sum_duplicates()
    return matrix


def read_matrix(p: ArrayLike, width: int, *, of_classes: bool) -> Floats:
    """Return probabilities (n_rows, width); rows of classes must sum to 1."""
    values = np.ascontiguousarray(read_scores(p, "p", logits=False))
    if values.ndim != 2 or values.shape[1] != width:
        what = "classes" if of_classes else "labels"
        raise ValueError(
            f"p has shape {values.shape}, but a matrix of {width} columns is needed, "
            f"as there are {width} {what}"
        )
    sums = np.einsum("ij->i", values)
    off = np.flatnonzero(np.abs(sums - 1.0) > SUM_TOLERANCE)
    if of_classes and off.size:
        raise ValueError(
            f"p sums to {values[off[0]].sum():.6g} in row {off[0]}, not to 1: for "
            "several labels a row pass n_labels to init_state"
        )
    return values


def read_codes(y: ArrayLike | None, n: int, n_classes: int) -> npt.NDArray[np.int64]:
    """Return the numbers of the true classes, of shape (n,)."""
    values = to_numpy(y, "y")
    check_length(values, "y", n)
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        raise ValueError(
            f"y must hold the number of the true class of each row, not {shown(y)}"
        )
    wrong = np.flatnonzero((values < 0) | (values >= n_classes))
    if wrong.size:
        raise ValueError(
            f"y is {values[wrong[0]]} at row {wrong[0]}; classes are numbered from 0 "
            f"to {n_classes - 1}"
        )
    return values.astype(np.int64)


def decide_rows(
    p: Floats, metric: Metric, per_row: int | None
) -> npt.NDArray[np.int64]:
    """Return the labels with the highest expected metric of each row on its own."""
    from argmetric._expected import CountRange, Tables, choose_counts
    from argmetric._ground.groups import Segments

    n, width = p.shape
    order = np.argsort(-p, axis=1, kind="stable")
    best = np.full(n, per_row if per_row is not None else 0)
    if per_row is None and n:
        falling = np.take_along_axis(p, order, axis=1).ravel()
        ends, sizes = np.arange(n + 1) * width, np.full(n, width)
        segments = Segments(falling, 1.0 - falling, ends, sizes)
        floor = np.full(n, float(metric.tie_floor(width)))
        ranges = CountRange(best, sizes, floor, best)
        best = choose_counts(segments, metric, ranges, tables=Tables(metric)).best
    chosen = np.zeros(p.shape, dtype=np.int64)
    np.put_along_axis(chosen, order, np.arange(width) < best[:, None], axis=1)
    return chosen
