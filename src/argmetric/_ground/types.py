"""Types by what they hold: arrays inside, and what public signatures accept."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas
    import polars
    from matplotlib.axes import Axes as Axes

    Frame: TypeAlias = pandas.DataFrame | polars.DataFrame
    Series: TypeAlias = pandas.Series | polars.Series
else:  # neither is needed, and each takes longer to load than the package
    Axes = Frame = Series = object

Floats = npt.NDArray[np.float64]
SingleFloats = npt.NDArray[np.float32]  # weights of compiled taggers
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
BinaryLabels = npt.NDArray[np.uint8]  # 0 and 1, as kernels take them
Hashes = npt.NDArray[np.uint64]
AnyArray = npt.NDArray[Any]


class Interval(NamedTuple):
    """Two ends of what a number lies between: a plain pair, with names."""

    low: Any
    high: Any


class SparseMatrix(Protocol):
    """A sparse matrix or array of scipy."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def tocsr(self, copy: bool = ...) -> Any: ...


class ScoreMap(Protocol):
    """Calibrator: a fitted one, or an object of the user's own with `apply`."""

    def apply(self, p: Any) -> Any: ...


class LabelRule(Protocol):
    """A rule that gives the labels of scores."""

    def apply(self, p: Any) -> Any: ...


class DiscreteScores(Protocol):
    """A distribution of scores on finitely many values."""

    @property
    def values(self) -> Floats: ...
    @property
    def probabilities(self) -> Floats: ...
    @property
    def mean(self) -> float: ...


class ScoringMetric(Protocol):
    """A metric of counts or of tables of classes, as results name it."""

    @property
    def name(self) -> str: ...
    @property
    def zero_division(self) -> float: ...
    @property
    def convention(self) -> str: ...


class WithLabels(Protocol):
    """Object with `labels`, such as a decision."""

    @property
    def labels(self) -> Any: ...


class Estimator(Protocol):
    """A model with scikit-learn's or river's methods, fitted or not."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...


class Splitter(Protocol):
    """Splitter into folds, as in scikit-learn."""

    def split(self, X: Any, y: Any = ..., groups: Any = ...) -> Iterable[Any]: ...


# Lists, arrays, series, frames and tensors (all that has __array__), and sparse ones
ArrayLike: TypeAlias = npt.ArrayLike | SparseMatrix
Features: TypeAlias = ArrayLike | Sequence[Mapping[str, object]]  # river has dicts
Label: TypeAlias = Hashable  # of a class
ClassTuple: TypeAlias = tuple[Label, ...]  # of the columns of class probabilities
ClassNames: TypeAlias = Sequence[Label] | AnyArray
Path: TypeAlias = str | os.PathLike[str]
LabelsLike: TypeAlias = ArrayLike | LabelRule | WithLabels | float
ReferenceLike: TypeAlias = tuple[ArrayLike, ...] | list[ArrayLike] | ScoreMap
CalibratorLike: TypeAlias = ScoreMap | Callable[[Floats], npt.ArrayLike]
SharesLike: TypeAlias = float | Sequence[float] | Mapping[Any, float] | AnyArray
RandomState: TypeAlias = "int | np.random.Generator | np.random.RandomState | None"
Folds: TypeAlias = int | Splitter | Iterable[tuple[Any, Any]]
