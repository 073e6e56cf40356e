"""Calibrators of class probabilities, for rows with exactly one of several classes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from argmetric._calibrate.calibrator import Calibrator, FunctionCalibrator
from argmetric._calibrate.calibrators import check_temperature
from argmetric._calibrate.logistic import row_blocks
from argmetric._ground.arguments import check_number
from argmetric._ground.display import Lines
from argmetric._ground.odds import NEAREST
from argmetric._ground.pictures import (
    MOST_BARS,
    bars_size,
    draw_bars,
    draw_map,
    drawing,
)
from argmetric._ground.types import ArrayLike, Axes, Booleans, ClassTuple, Floats
from argmetric._ground.validation import to_floats
from argmetric.classes._input import (
    check_class_probabilities,
    first_texts,
    given_classes,
)

SHOWN = 4  # classes whose biases are printed


def log_softmax(x: Floats) -> Floats:
    """Return rows minus the logarithm of the sum of their exponentials.

    `x` and the answer have the shape (n_rows, n_classes).
    """
    x = np.asarray(x - x.max(axis=1, keepdims=True))
    return np.asarray(x - np.log(np.exp(x).sum(axis=1, keepdims=True)))


def apply_temperature(p: Floats, temperature: float) -> Floats:
    """Return rows proportional to p to the power of 1 / temperature.

    `p` and the answer have the shape (n_rows, n_classes).
    """
    if temperature == 1.0:
        return p
    return np.exp(log_softmax(np.log(np.maximum(p, NEAREST)) / temperature))


@dataclass(frozen=True, repr=False, eq=False)
class ClassCalibrator(Calibrator):
    """A calibrator of rows of class probabilities, one column per class."""

    _of_classes: ClassVar[bool] = True

    def _map_p(self, p: Floats) -> Floats:
        return np.exp(self._map(np.log(np.maximum(p, NEAREST))))

    def _inverse_link(self, x: Floats) -> Floats:
        return np.exp(x)

    def apply(self, p: ArrayLike, *, logits: bool = False) -> Floats:
        values = check_class_probabilities(p, logits=logits)
        return np.exp(self._map(values)) if logits else self._map_p(values)

    def apply_logits(self, x: ArrayLike) -> Floats:
        return self._map(check_class_probabilities(x, "x", logits=True))

    def _source(self) -> Lines:
        return [("reference", f"{self.n:,} labelled rows")]


def check_class_columns(x: Floats, count: int) -> None:
    """Refuse what is not of shape (n_rows, count)."""
    if x.ndim != 2 or x.shape[1] != count:
        raise ValueError(
            f"this calibrator is for {count} classes: it takes a matrix with {count} "
            f"columns, not an array of shape {x.shape}"
        )


@dataclass(frozen=True, repr=False, eq=False)
class ClassTemperatureCalibrator(ClassCalibrator):
    """Class probabilities softmax(log p / temperature), row by row."""

    temperature: float  # above 1 for scores that are too sure of themselves
    n_classes: int  # number of columns

    kind: ClassVar[str] = "class_temperature"

    def _check(self) -> None:
        check_temperature(self.temperature)
        check_number(self.n_classes, "n_classes", low=2)

    def _map(self, x: Floats) -> Floats:
        check_class_columns(x, self.n_classes)
        return log_softmax(x / self.temperature)

    @property
    def formula(self) -> str:
        return f"p' = softmax(log p / {self.temperature:.4g}), {self.n_classes} classes"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what becomes of one class where the others share the rest evenly."""

        def of_one_class(p: Floats) -> Floats:
            rest = self.n_classes - 1
            others = np.repeat(((1.0 - p) / rest)[:, None], rest, axis=1)
            return self._map_p(np.column_stack([p, others]))[:, 0]

        axes: Axes = draw_map(ax, self.method, of_one_class)
        return axes


@dataclass(frozen=True, repr=False, eq=False)
class ClassMatrixCalibrator(ClassCalibrator):
    """Class probabilities softmax(slope·L + (L - centre)·matrix + biases), L = log p.

    The matrix moves probability between classes that the model confuses. Probabilities
    of `floor` and less count as `floor`, and `lump` is added to their logits: the many
    zeros of a forest or a vote of neighbours are not certain. Scores that are far too
    sure, such as those of naive Bayes, are taken to the power of 1 / `temperature`
    first, so that `floor` does not wipe out their small ones. A slope and a
    temperature of 1, and biases and a matrix of 0, change nothing.
    """

    slope: float
    biases: Floats  # one per class
    # weight of log p of a class (row) in the logit of another (column); None where
    # there are too many classes to fit it
    matrix: Floats | None = None
    centre: Floats | None = None  # means of log p in the reference, with a matrix
    lump: float = 0.0
    floor: float | None = None  # None: fitted to logits
    # of the classes in the reference
    prevalences: Floats | None = field(default=None, kw_only=True)
    classes: ClassTuple | None = field(default=None, kw_only=True)
    temperature: float = field(default=1.0, kw_only=True)

    kind: ClassVar[str] = "class_matrix"

    def _check(self) -> None:
        """Refuse parameters of wrong shapes or values."""
        check_number(self.slope, "slope")
        check_number(self.lump, "lump")
        check_temperature(self.temperature)
        if self.floor is not None:
            check_number(self.floor, "floor", low=0.0)
        count = np.size(self.biases)
        if count < 2 or (self.matrix is None) != (self.centre is None):
            raise ValueError("biases of two classes or more, and matrix with centre")
        shapes = {"biases": (count,), "matrix": (count, count), "centre": (count,)}
        for name, shape in (shapes | {"prevalences": (count,)}).items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, finite_array(value, name, shape))
        if self.classes is not None:
            names = given_classes(list(self.classes), count)
            object.__setattr__(self, "classes", names)

    def _check_draws(self, draws: Floats) -> None:
        """Refuse draws whose rows are not matrix, biases, slope and lump."""
        count = self.n_classes
        if draws.shape[1] == count + 2:
            return
        if self.matrix is None or draws.shape[1] != count * count + count + 2:
            raise ValueError("a row of draws must hold matrix, biases, slope, lump")

    def _draw_fields(self, row: Floats) -> dict[str, object]:
        """Return a row of `draws` as fields of the calibrator."""
        count = self.n_classes
        head, biases, (slope, lump) = np.split(
            row, [row.size - count - 2, row.size - 2]
        )
        drawn = {"biases": biases, "slope": float(slope), "lump": float(lump)}
        if head.size:
            drawn["matrix"] = head.reshape(count, count)
        return drawn

    @property
    def n_classes(self) -> int:
        """Number of columns."""
        return int(self.biases.size)

    def _map(self, x: Floats) -> Floats:
        """Return calibrated log-probabilities of logits (n_rows, n_classes)."""
        check_class_columns(x, self.n_classes)
        x = log_softmax(x / self.temperature)
        if self.floor is None:
            return log_softmax(self._logits(x, None))
        low = math.log(self.floor)
        return log_softmax(self._logits(np.maximum(x, low), x <= low))

    def _map_p(self, p: Floats) -> Floats:
        """Return calibrated class probabilities (n_rows, n_classes), block by block."""
        check_class_columns(p, self.n_classes)
        floor = NEAREST if self.floor is None else self.floor
        mapped = np.empty(p.shape)
        for part in row_blocks(p.shape[0]):
            rows = apply_temperature(p[part], self.temperature)
            is_low = None if self.floor is None else rows <= floor
            z = self._logits(np.log(np.maximum(rows, floor)), is_low)
            z -= z.max(axis=1, keepdims=True)
            np.exp(z, out=mapped[part])
        mapped /= mapped.sum(axis=1, keepdims=True)
        return mapped

    def _logits(self, x: Floats, is_low: Booleans | None) -> Floats:
        """Return x·W + slope·x + biases, with `lump` added where p is at the floor."""
        if self.matrix is None or self.centre is None:
            z = self.slope * x + self.biases
        else:
            whole = self.matrix + self.slope * np.eye(self.n_classes)
            z = x @ whole + (self.biases - self.centre @ self.matrix)
        if is_low is not None and self.lump:
            np.add(z, self.lump, out=z, where=is_low)
        return np.asarray(z)

    @property
    def formula(self) -> str:
        terms = f"{self.slope:.4g} log p"
        if self.matrix is not None:
            terms += " + (log p - c) W"
        terms += " + b"
        if self.lump and self.floor is not None:
            terms += f" {self.lump:+.3g} [p ≤ {self.floor:.2g}]"
        without = "" if self.matrix is not None else ", without a matrix W"
        first = "" if self.temperature == 1.0 else f" of p^(1/{self.temperature:.4g})"
        return f"p' = softmax({terms}){first}, {self.n_classes} classes{without}"

    @property
    def names(self) -> ClassTuple:
        """Names of the columns, or their numbers."""
        return tuple(range(self.n_classes)) if self.classes is None else self.classes

    def _source(self) -> Lines:
        order = np.argsort(-np.abs(self.biases), kind="stable")
        words = [f"{self.names[i]} {self.biases[i]:+.3g}" for i in order]
        return [*super()._source(), ("biases", first_texts(words, SHOWN))]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the matrix; the biases where there is none, or too many classes."""
        names, count = list(map(str, self.names)), self.n_classes
        if self.matrix is None or count > MOST_BARS:
            labels = {"xlabel": "Bias", "title": self.method}
            with drawing(ax, bars_size(count), **labels) as ax:
                draw_bars(ax, names, self.biases)
            return ax
        side = 2.4 + 0.24 * count
        labels = {"xlabel": "changes the logit of", "ylabel": "log p of"}
        with drawing(ax, (side + 1, side), **labels, title="Weights W") as ax:
            reach = float(np.abs(self.matrix).max()) or 1.0
            image = ax.imshow(self.matrix, cmap="RdBu", vmin=-reach, vmax=reach)
            ax.set_xticks(range(count), names, rotation=90)
            ax.set_yticks(range(count), names)
            ax.figure.colorbar(image, ax=ax)
        return ax


def finite_array(value: object, name: str, shape: tuple[int, ...]) -> Floats:
    """Return an array of this shape, or refuse it by name."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers of shape {shape}")
    return array


@dataclass(frozen=True, repr=False, eq=False)
class ClassFunctionCalibrator(ClassCalibrator, FunctionCalibrator):
    """A function of the user's own, from a matrix of class probabilities to another."""

    def _map(self, x: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self._map_p(np.exp(log_softmax(x))))

    def _map_p(self, p: Floats) -> Floats:
        """Return what the user's function makes of class probabilities, checked."""
        what = "what the calibrator gives"
        given = to_floats(self.function(p), what)
        if given.shape != p.shape:
            raise ValueError(
                f"the calibrator gives an array of shape {given.shape} for class "
                f"probabilities of shape {p.shape}"
            )
        return check_class_probabilities(given, what)

    def _source(self) -> Lines:
        return []
