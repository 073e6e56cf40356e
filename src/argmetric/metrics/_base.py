"""A metric is a function of four counts, with its conventions for 0/0."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_flag, is_real, shown
from argmetric._ground.labels import clear_labels
from argmetric._ground.types import Floats
from argmetric.metrics._forms import Form, RankingPrinciple, RatioForm, search_violation

MOST_COUNTED = 1e75  # products of four counts are finite


def ratio(numerator: Floats, denominator: Floats, undefined: float) -> Floats:
    """Return numerator/denominator, `undefined` where the denominator is 0."""
    zero = denominator == 0
    if not zero.any():
        return numerator / denominator
    safe = np.where(zero, 1.0, denominator)
    return np.where(zero, undefined, numerator / safe)


def true_negatives(tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
    """Return n - k - t + tp; counts of a quadrature may miss it by a rounding."""
    return np.maximum(n - k - t + tp, 0.0)


def _count(value: npt.ArrayLike, name: str) -> Floats:
    """Return counts as floats; refuse what is no number."""
    try:
        if value is None or np.iscomplexobj(value):
            raise TypeError
        with np.errstate(over="ignore"):  # longer floats than 64 bits become infinite
            count = np.asarray(value, dtype=np.float64)
        if isinstance(value, list | tuple) and np.isnan(count).any():
            raise TypeError  # None among them, say
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must hold counts, not {shown(value)}") from None
    if count.ndim == 0 and abs(count) > MOST_COUNTED:
        raise ValueError(f"{name} must hold finite counts, not {shown(value)}")
    return count


def _common_shape(counts: list[Floats]) -> tuple[int, ...]:
    """Return the shape that tp, k, t and n broadcast to, or refuse them."""
    shape = counts[0].shape
    if all(count.shape == shape for count in counts):
        return shape
    try:
        return np.broadcast_shapes(*(count.shape for count in counts))
    except ValueError:
        shapes = ", ".join(str(count.shape) for count in counts)
        raise ValueError(
            f"tp, k, t and n have shapes that do not go together: {shapes}"
        ) from None


@dataclass(frozen=True, repr=False, eq=False)
class Metric:
    """A function of the counts (tp, k, t, n) of a confusion matrix.

    Parameters
    ----------
    zero_division : {0.0, 1.0, nan}, default=0.0
        The value of 0/0; with nan the case is left out of every mean.

    Examples
    --------
    A subclass defines `_value` on arrays of counts:

    >>> import argmetric as am
    >>> class F1(am.Metric):
    ...     def _value(self, tp, k, t, n):
    ...         return 2 * tp / (k + t)
    >>> F1().value(tp=3, k=5, t=4, n=10).round(4)
    np.float64(0.6667)
    """

    zero_division: float = field(default=0.0, kw_only=True)

    short_name: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    formula: ClassVar[str] = ""
    convention: ClassVar[str] = ""
    # Values of zero_division that count; with any other `convention` would hold anyway.
    _zero_divisions: ClassVar[tuple[float, ...]] = (0.0, 1.0, math.nan)
    # Why the value grows with tp at fixed k and t; None where it has to be checked.
    monotone_proof: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        value = self.zero_division
        if not (is_real(value) and (value in (0, 1) or value != value)):
            raise ValueError(f"zero_division must be 0, 1 or nan, not {shown(value)}")
        object.__setattr__(self, "zero_division", float(value))
        if value != 0:  # 0 is the default, whatever the metric makes of it
            self._refuse_ignored(float(value))

    def _obeys(self, zero_division: float) -> bool:
        """Return whether this value of 0/0 is one that the metric can take."""
        known = any(zero_division == one for one in self._zero_divisions)
        return known or math.isnan(zero_division)

    def _refuse_ignored(self, zero_division: float) -> None:
        """Refuse a value of 0/0 that would change nothing."""
        if not self._obeys(zero_division):
            raise ValueError(
                f"zero_division={zero_division:g} would change nothing for {self.name} "
                f"({self.convention}): leave it out"
            )

    def _parameters(self) -> dict[str, Any]:
        """Return the values of the fields, `zero_division` last."""
        names = [one.name for one in fields(self) if one.name != "zero_division"]
        return {name: getattr(self, name) for name in (*names, "zero_division")}

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        """Return the values that equality and the hash compare, with None for nan."""
        undefined = math.isnan(self.zero_division)
        known = self._parameters() | ({"zero_division": None} if undefined else {})
        return (type(self), *known.values())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Metric):
            return NotImplemented
        return self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={x!r}" for key, x in self._parameters().items())
        return f"{type(self).__qualname__}({inside})"

    @property
    def name(self) -> str:
        """Short name, as `get_metric` takes it where the metric has one."""
        return self.short_name or type(self).__name__

    @property
    def greater_is_better(self) -> bool:
        """Whether the metric is maximised."""
        return True

    @property
    def form(self) -> Form | None:
        """Algebraic form, or None for a general function of the counts."""
        return None

    def value(
        self, tp: npt.ArrayLike, k: npt.ArrayLike, t: npt.ArrayLike, n: npt.ArrayLike
    ) -> Floats:
        """Return the value at counts tp, k (predicted), t (positives) and n.

        Parameters
        ----------
        tp, k, t, n : array-like
            Counts; broadcast against each other.

        Returns
        -------
        ndarray
            One value per cell, nan where the metric is undefined and left out.

        Examples
        --------
        >>> import argmetric as am
        >>> am.FBeta(1).value(tp=3, k=5, t=4, n=10).round(4)
        np.float64(0.6667)
        """
        given = {"tp": tp, "k": k, "t": t, "n": n}
        counts = [_count(value, name) for name, value in given.items()]
        shape = _common_shape(counts)
        result = np.asarray(self._value(*counts))
        if result.shape != shape:
            result = np.broadcast_to(result, shape).copy()
        return result[()] if shape == () else result

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        raise TypeError(f"{type(self).__name__} must define the method `_value`")

    def _new_value(
        self, tp: Floats, k: Floats, t: Floats, n: Floats, rng: np.random.Generator
    ) -> Floats:
        """Return the value at drawn counts; what else is unknown is drawn, too."""
        return self.value(tp, k, t, n)

    _expected_value = _new_value  # of many more rows, without the noise of new ones

    def score(self, y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
        """Return the score of 0/1 predictions against 0/1 labels.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n,)
            True and predicted labels: 0 and 1, booleans, or -1 and 1.

        Returns
        -------
        float
            The value at their counts.
        """
        true = clear_labels(y_true, "y_true")
        pred = clear_labels(y_pred, "y_pred", shape=true.shape, other="y_true")
        return float(self.value((true & pred).sum(), pred.sum(), true.sum(), true.size))

    def _gain(self, value: float) -> float:
        """Return the value, negated if smaller is better: larger is better then."""
        return float(value if self.greater_is_better else -value)

    def ranking_principle(self, n: int) -> RankingPrinciple:
        """Return whether some optimal decision on n items is a top-k set.

        It is one when the value never falls as tp rises by one at fixed k and t,
        on 1 ≤ k, t ≤ n-1 (0/0 conventions live outside of this range).

        Parameters
        ----------
        n : int
            Number of items.

        Returns
        -------
        RankingPrinciple
            True where it holds, with the proof or a counterexample.
        """
        if self.monotone_proof is not None:
            return RankingPrinciple(True, "proven", n, self.monotone_proof)
        return search_violation(self.value, n, self.greater_is_better)

    def _corners(self, n: npt.ArrayLike) -> Floats:
        """Return the values at the best and the worst predictions of n items."""
        # More items than floats can count change nothing but overflow.
        n = np.minimum(_count(n, "n"), 2.0**53)
        half = np.ceil(n / 2)
        zero, rest = np.zeros_like(n), n - half
        cells = [(half, half, half), (zero, half, rest), (zero, n, zero), (n, n, n)]
        cells += [(zero, zero, n), (zero, zero, zero)]
        values = np.stack([self.value(tp, k, t, n) for tp, k, t in cells])
        return np.nan_to_num(values)

    def tie_floor(self, n: npt.ArrayLike) -> Floats:
        """Return the size of rounding errors of a metric that can be negative.

        Its positive and negative parts cancel; a metric that cannot is accurate
        relative to its value, however small.

        Parameters
        ----------
        n : array-like
            Numbers of items.

        Returns
        -------
        ndarray
            Differences of values up to this size are ties, one for each n; 0 for a
            metric that is never negative.
        """
        values = self._corners(n)
        size = np.abs(values).max(axis=0)
        return np.where((values < 0).any(axis=0), 1e-12 * size, 0.0)

    def with_zero_division(self, zero_division: float | None) -> Self:
        """Return this metric with another value of 0/0.

        Parameters
        ----------
        zero_division : {0.0, 1.0, nan} or None
            The value of 0/0.

        Returns
        -------
        Metric
            A new metric; the same one with None, and where it would not obey the value.
        """
        if zero_division is None:
            return self
        plain = is_real(zero_division) and zero_division in (0, 1)
        if plain and not self._obeys(float(zero_division)):
            return self
        if type(zero_division) is float and is_lasting(self):
            return cast(Self, _with_zero_division(self, zero_division))
        return replace(self, zero_division=zero_division)


@dataclass(frozen=True, repr=False, eq=False)
class CustomMetric(Metric):
    """A metric of the user's own.

    Parameters
    ----------
    function : callable
        `function(tp, k, t, n)`; on arrays if it can, otherwise on numbers. It may
        return nan, or divide by 0, where it is undefined: `zero_division` applies.
    name : str, optional
        Name for tables and messages; by default the function's own.
    greater_is_better : bool, default=True
        Whether more is better.
    zero_division : {0.0, 1.0, nan}, default=0.0
        The value where the function gives nan, and where it gives an infinity at
        k or t equal to 0 or n; with nan the case is left out of every mean.
    smooth : bool, default=False
        Whether the function has no jumps in the counts, as ratios of them have none.
        The best k of more than 64 rows is then looked for on a rough curve first, which
        is many times as fast; of any other function every k is summed.

    Examples
    --------
    >>> import argmetric as am
    >>> g2 = am.CustomMetric(lambda tp, k, t, n: tp * tp / (k * t), name="g2")
    >>> am.decide([0.9, 0.6, 0.2], g2).n_positives
    2
    """

    function: Callable[..., Any]
    name: str = None  # type: ignore[assignment]  # filled in below
    greater_is_better: bool = True
    smooth: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.function):
            kind = type(self.function).__name__
            raise TypeError(f"function must be callable on (tp, k, t, n), not {kind}")
        name = self.name
        if name is None:
            name = getattr(self.function, "__name__", "custom")
        if not isinstance(name, str):
            raise TypeError(f"name must be text, not {shown(name)}")
        object.__setattr__(self, "name", name)
        for flag in ("greater_is_better", "smooth"):
            object.__setattr__(self, flag, check_flag(getattr(self, flag), flag))

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        """Call the user's function on arrays, or value by value if it takes none."""
        if not tp.shape == k.shape == t.shape == n.shape:
            tp, k, t, n = np.broadcast_arrays(tp, k, t, n)
        with np.errstate(divide="ignore", invalid="ignore"):
            try:
                answer = self.function(tp, k, t, n)
                raw = np.asarray(answer, dtype=np.float64)
                if raw.shape != tp.shape:
                    raw = np.broadcast_to(raw, tp.shape)
            except (TypeError, ValueError, ZeroDivisionError):
                raw = np.vectorize(self._scalar, otypes=[float])(tp, k, t, n)
            else:
                self._refuse_nothing(answer)  # numpy takes None for nan
        if np.isfinite(raw).all():
            # The function may have returned its argument, or one number for all.
            given = any(np.may_share_memory(raw, count) for count in (tp, k, t, n))
            return raw if raw.flags.writeable and not given else raw.copy()
        margin = (k <= 0) | (k >= n) | (t <= 0) | (t >= n)
        undefined = np.isnan(raw) | (np.isinf(raw) & margin)
        return np.where(undefined, self.zero_division, raw)

    def _scalar(self, tp: float, k: float, t: float, n: float) -> float:
        """Return the value of the user's function at one table; nan for 0/0."""
        try:
            answer = self.function(float(tp), float(k), float(t), float(n))
        except ZeroDivisionError:
            return math.nan
        self._refuse_nothing(answer)
        return float(answer)

    def _refuse_nothing(self, answer: object) -> None:
        if answer is None:
            raise TypeError(
                f"the function {self.name} returns None: is a `return` missing?"
            )


@lru_cache(maxsize=256)  # services ask for the same again
def _with_zero_division(metric: Metric, zero_division: float) -> Metric:
    return replace(metric, zero_division=zero_division)


def is_lasting(metric: Metric) -> bool:
    """Return whether values may be cached: user code may depend on anything."""
    own = type(metric).__module__.startswith("argmetric.metrics.")
    inner = getattr(metric, "metric", None)  # of one with missed positives
    lasts = inner is None or is_lasting(inner)
    return own and lasts and not isinstance(metric, CustomMetric)


class SizeFacts(NamedTuple):
    """Of a metric on n items: rounding, and values of none and one at 0/0 = 0 and 1."""

    floor: float
    empty: tuple[tuple[float, float], tuple[float, float]]


def size_facts(metric: Metric, n: int) -> SizeFacts:
    return _kept_facts(metric, n) if is_lasting(metric) else _facts(metric, n)


def _facts(metric: Metric, n: int) -> SizeFacts:
    k = np.array([0.0, 1.0])
    values = [metric.with_zero_division(zero).value(0, k, 0, n) for zero in (0.0, 1.0)]
    first, second = (tuple(value.tolist()) for value in values)
    return SizeFacts(float(metric.tie_floor(n)), (first, second))


_kept_facts = lru_cache(maxsize=256)(_facts)  # services ask for the same sizes again


# Five points of a central difference, and their weights: error h⁴·f⁗/30.
STEPS = np.array([-2.0, -1.0, 1.0, 2.0])
WEIGHTS = np.array([1.0, -8.0, 8.0, -1.0]) / 12.0
RELATIVE_STEP = 1e-3
SMALLEST_STEP = 1e-9  # of the class: below it the steps drown in rounding


def slopes(
    metric: Metric, hits: float, alarms: float, positives: float, negatives: float
) -> tuple[float, float, float]:
    """Return a metric at fractional counts, with its slopes in tp and in fp.

    The slope in tp keeps tp + fn = positives, that in fp keeps fp + tn = negatives.

    hits, alarms : float
        True and false positives.
    """
    tp, k, t, n = hits, hits + alarms, positives, positives + negatives
    value = float(metric.value(tp, k, t, n))
    form = metric.form
    if isinstance(form, RatioForm):
        # Slopes of N/D in tp and in k: (c_j·D - d_j·N) / D²; 0 where D is 0
        c, d = form.c, form.d
        above = c[0] * n + c[1] * tp + c[2] * k + c[3] * t
        below = d[0] * n + d[1] * tp + d[2] * k + d[3] * t
        if below == 0:
            return value, 0.0, 0.0
        ratio = above / below
        by_tp, by_k = (c[1] - d[1] * ratio) / below, (c[2] - d[2] * ratio) / below
        return value, by_tp + by_k, by_k
    along_hits, one = _around(hits, positives)
    along_alarms, other = _around(alarms, negatives)
    tp_cells = np.concatenate([along_hits, np.full(4, hits)])
    k_cells = tp_cells + np.concatenate([np.full(4, alarms), along_alarms])
    moved = metric.value(tp_cells, k_cells, t, n)
    by_hits = float(WEIGHTS @ moved[:4]) / one if one else 0.0
    by_alarms = float(WEIGHTS @ moved[4:]) / other if other else 0.0
    return value, by_hits, by_alarms


def _around(count: float, size: float) -> tuple[Floats, float]:
    """Return counts at steps around a count, kept inside the class, and the step."""
    room = min(count, size - count)
    step = max(RELATIVE_STEP * room, SMALLEST_STEP * size)
    center = min(max(count, 2.0 * step), size - 2.0 * step)
    return center + step * STEPS, step
