"""Rows of a training set with labels and weights, and passes over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_number, shown
from argmetric._ground.features import class_number, refuse_more_than_two
from argmetric._ground.label_words import list_labels, one_class
from argmetric._ground.labels import plain_label
from argmetric._ground.types import AnyArray, ArrayLike, Floats, Integers, Label
from argmetric._ground.validation import check_weight


@dataclass(frozen=True)
class TrainingClasses:
    """Two classes, sorted, and the one that the metric calls positive."""

    classes: AnyArray
    positive: object


def read_labels(y: AnyArray, pos_label: Label | None) -> TrainingClasses:
    """Return the two classes of y, or raise an error if there are not two."""
    from sklearn.utils.multiclass import check_classification_targets, type_of_target

    check_classification_targets(y)
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"y must hold one label per row, not {kind} targets")
    classes = np.unique(y)
    refuse_more_than_two(classes, pos_label)
    return TrainingClasses(classes, classes[class_number(classes, pos_label)])


def read_weights(
    y: AnyArray,
    labels: TrainingClasses,
    sample_weight: ArrayLike | None,
    class_weight: object,
) -> Floats:
    """Return row weights times class weights, of shape (n_rows,).

    Both classes need some weight.
    """
    checked = check_weight(sample_weight, (y.shape[0],), "y")
    weight = np.ones(y.shape[0]) if checked is None else checked
    second = y == labels.classes[1]
    sizes = np.array([weight[~second].sum(), weight[second].sum()])
    factor = np.ones(2)
    if isinstance(class_weight, str) and class_weight == "balanced":
        factor = sizes.sum() / (2.0 * np.where(sizes > 0, sizes, 1.0))
    elif class_weight is not None:
        factor = _class_factors(class_weight, labels.classes)
    there = np.flatnonzero(sizes * factor)
    if there.size == 0:
        raise ValueError("all weights are zero: there is nothing to learn from")
    if there.size == 1:
        label = plain_label(labels.classes[there[0]])
        raise one_class(label, "y", "label of positive weight")
    return np.asarray(weight * np.where(second, factor[1], factor[0]))


def _class_factors(class_weight: object, classes: AnyArray) -> Floats:
    """Return the weights of the two classes; a class that is not named weighs 1."""
    if not isinstance(class_weight, Mapping):
        raise TypeError(
            'class_weight must be a dict of weights by class, "balanced" or None, not '
            f"{shown(class_weight)}"
        )
    names = [plain_label(one) for one in classes]
    factor = np.ones(len(names))
    given = {plain_label(label): weight for label, weight in class_weight.items()}
    odd = [label for label in given if label not in names]
    if odd and not all(name in given for name in names):
        raise ValueError(
            f"class_weight names the class {shown(odd[0])}, which is not among "
            f"{list_labels(names)}"
        )
    for i, name in enumerate(names):
        if name in given:
            what = f"class_weight of {shown(name)}"
            factor[i] = check_number(given[name], what, low=0.0)
    return factor


T = TypeVar("T")

BLOCK = 16_384  # rows per partial sum, so that sums do not depend on the threads


def map_blocks(work: Callable[[int, int], T], n: int, n_threads: int) -> list[T]:
    """Return work(start, stop) for all blocks of rows, in their order."""
    starts = range(0, n, BLOCK)
    if n_threads == 1 or len(starts) <= 1:
        return [work(start, min(start + BLOCK, n)) for start in starts]
    with ThreadPoolExecutor(min(n_threads, len(starts))) as pool:
        return list(pool.map(lambda start: work(start, min(start + BLOCK, n)), starts))


def _read_only(array: AnyArray) -> AnyArray:
    """Return a read-only view, so that numba compiles one version of each kernel."""
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True)
class TrainingRows:
    """Dense C-ordered or CSR rows in memory, their labels and their weights."""

    X: Any
    positive: npt.NDArray[np.bool_]
    weight: Floats
    n_threads: int = 1

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def k(self) -> int:
        return int(self.X.shape[1])

    @cached_property
    def is_sparse(self) -> bool:
        return not isinstance(self.X, np.ndarray)

    @cached_property
    def positives(self) -> float:
        return float(self.weight[self.positive].sum())

    @cached_property
    def negatives(self) -> float:
        return float(self.weight[~self.positive].sum())

    @cached_property
    def _arrays(self) -> tuple[AnyArray, ...]:
        if self.is_sparse:
            parts = (self.X.data, self.X.indices, self.X.indptr)
            return tuple(_read_only(part) for part in parts)
        return (_read_only(self.X),)

    def take(self, rows: Integers, weight: Floats) -> TrainingRows:
        """Return some rows, with new weights."""
        return TrainingRows(self.X[rows], self.positive[rows], weight, self.n_threads)

    def sums(
        self, theta: Floats, gamma: float, *, likelihood: bool = False
    ) -> tuple[Floats, Floats]:
        """Return sums (2,) and slopes (2, k + 1) of both classes.

        See `kernels.logistic`.
        """
        from argmetric.train.kernels import logistic

        run: Any = logistic.sparse_pass if self.is_sparse else logistic.dense_pass
        known = _read_only(self.positive), _read_only(self.weight)
        model = np.ascontiguousarray(theta[:-1]), float(theta[-1]), float(gamma)

        def work(start: int, stop: int) -> tuple[Floats, Floats]:
            sums, slopes = np.zeros(2), np.zeros((2, self.k + 1))
            run(*self._arrays, start, stop, *known, *model, likelihood, sums, slopes)
            return sums, slopes

        sums, slopes = zip(*map_blocks(work, self.n, self.n_threads), strict=True)
        return np.sum(sums, axis=0), np.sum(slopes, axis=0)

    def margins(self, theta: Floats) -> Floats:
        """Return the margins z = x·θ + θ₀, of shape (n,)."""
        from argmetric.train.kernels import logistic

        run: Any = logistic.sparse_margins if self.is_sparse else logistic.dense_margins
        model = np.ascontiguousarray(theta[:-1]), float(theta[-1])
        z = np.empty(self.n)

        def work(start: int, stop: int) -> None:
            run(*self._arrays, start, stop, *model, z)

        map_blocks(work, self.n, self.n_threads)
        return z

    def least_margin(self, theta: Floats) -> float:
        """Return the smallest margin on the right side.

        Negative if a row is misclassified.
        """
        z = self.margins(theta)
        return float(np.where(self.positive, z, -z).min())

    def combine(self, factor: Floats) -> Floats:
        """Return Σ factor_i·(x_i, 1), of shape (k + 1,)."""
        from argmetric.train.kernels import logistic

        run: Any = logistic.sparse_combine if self.is_sparse else logistic.dense_combine
        factor = _read_only(factor)

        def work(start: int, stop: int) -> Floats:
            total = np.zeros(self.k + 1)
            run(*self._arrays, start, stop, factor, total)
            return total

        parts = map_blocks(work, self.n, self.n_threads)
        return np.asarray(np.sum(parts, axis=0))

    def moments(self) -> tuple[Floats, Floats]:
        """Return the weighted mean and variance of every column, each of shape (k,)."""
        total = self.positives + self.negatives
        mean = self.combine(self.weight)[:-1] / total
        if self.is_sparse:
            rows = np.repeat(np.arange(self.n), np.diff(self.X.indptr))
            center = mean[self.X.indices]
            change = self.weight[rows] * ((self.X.data - center) ** 2 - center**2)
            squares = np.bincount(self.X.indices, change, minlength=self.k)
            return mean, np.maximum(squares / total + mean**2, 0.0)

        def work(start: int, stop: int) -> Floats:
            apart = self.X[start:stop] - mean
            apart *= apart
            return np.asarray(self.weight[start:stop] @ apart)

        parts = map_blocks(work, self.n, self.n_threads)
        return mean, np.sum(parts, axis=0) / total
