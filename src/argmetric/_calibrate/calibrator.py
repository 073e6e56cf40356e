"""A calibrator: a non-decreasing function of probabilities, kept in a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from argmetric._ground.arguments import check_flag, check_number, shown
from argmetric._ground.display import Field, Lines, documented, only_shown
from argmetric._ground.odds import expit, logit
from argmetric._ground.pictures import draw_map
from argmetric._ground.saving import Saved, check_version, refuse_spelled_numbers
from argmetric._ground.types import ArrayLike, Axes, Floats
from argmetric._ground.validation import check_scores, read_scores, to_floats

FORMAT = 3  # of the saved form; 1 had neither reach nor draws, 2 no counts
SHOWN = (0.01, 0.1, 0.5, 0.9)  # probabilities that are printed beside what they become
# Where each kind is defined that a file may name: loaded when a file does so
_KINDS = {
    "calibrators": ("identity", "platt", "beta", "temperature", "isotonic"),
    "prior": ("prior_shift", "matched_share"),
    "spline": ("spline",),
}


@dataclass(frozen=True, repr=False, eq=False)
class Calibrator(Saved["Calibrator"]):
    """A non-decreasing function from probabilities to calibrated probabilities.

    Made by `calibrate` and `adjust_prior`; taken by `decide`, `forecast` and `tune`.

    Parameters
    ----------
    n : int, default=0
        Rows of the labelled reference; 0 where there was none.
    prevalence : float, optional
        Prevalence of that reference.
    draws : ndarray, optional
        Parameters of other calibrators that the reference allows, one per row, equally
        likely; None without a reference. `forecast` averages over them.
    counts : ndarray, optional
        Mean log-odds, rows and positives of bins of the reference, in three rows;
        `forecast` judges by them how certain the calibrator is. None as for `draws`.

    Attributes
    ----------
    method : str
        How it was fitted: "platt", "beta", "temperature", "isotonic", ...

    Examples
    --------
    >>> import argmetric as am
    >>> y = [0, 0, 1, 0, 1, 1, 0, 1]
    >>> p = [0.01, 0.02, 0.03, 0.04, 0.05, 0.2, 0.1, 0.4]
    >>> calibrator = am.calibrate(y, p)
    >>> calibrator.apply([0.01, 0.1, 0.4]).round(2)
    array([0.02, 0.43, 0.88])
    >>> len(calibrator.alternatives)
    48
    """

    n: int = field(default=0, kw_only=True)
    prevalence: float | None = field(default=None, kw_only=True)
    draws: Floats | None = field(default=None, kw_only=True)
    counts: Floats | None = field(default=None, kw_only=True)

    _what: ClassVar[str] = "calibrator"
    _elsewhere: ClassVar[dict[str, str]] = {
        **{
            kind: f"argmetric._calibrate.{k}.Calibrator"
            for k in _KINDS
            for kind in _KINDS[k]
        },
        "class_matrix": "argmetric.classes.ClassMatrixCalibrator",
        "class_prior_shift": "argmetric.classes.ClassPriorShift",
        "class_temperature": "argmetric.classes.ClassTemperatureCalibrator",
    }
    _of_classes: ClassVar[bool] = False  # whether it takes rows of class probabilities
    method: ClassVar[str] = ""  # by default that of `kind`

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        if "method" not in vars(cls) and vars(cls).get("kind"):
            cls.method = cls.kind.removeprefix("class_").replace("_", " ")

    def __post_init__(self) -> None:
        if type(self) is Calibrator:
            raise TypeError("calibrators are made by calibrate() and adjust_prior()")
        check_number(self.n, "n", low=0)
        if self.prevalence is not None:
            check_number(self.prevalence, "prevalence", low=0)
        self._check()
        if self.draws is not None:
            draws = np.asarray(self.draws, dtype=np.float64)
            if draws.ndim != 2 or not draws.size or not np.isfinite(draws).all():
                raise ValueError(
                    "draws must be a matrix of finite numbers, a calibrator a row"
                )
            self._check_draws(draws)
            object.__setattr__(self, "draws", draws)
        if self.counts is not None:
            counts = np.asarray(self.counts, dtype=np.float64)
            if counts.ndim != 2 or len(counts) != 3 or not np.isfinite(counts).all():
                raise ValueError("counts must be three rows of finite numbers")
            x, rows, positives = counts
            fit = (positives >= 0).all() and (rows >= positives).all()
            if not ((np.diff(x) > 0).all() and fit and positives.any()):
                raise ValueError(
                    "counts must have rising log-odds, then rows, then positives: "
                    "some, none negative, and no more than rows"
                )
            object.__setattr__(self, "counts", counts)

    def _check(self) -> None:
        """Refuse parameters that make no calibrator."""

    def _check_draws(self, draws: Floats) -> None:
        """Refuse draws if any row of them would be no valid calibrator."""
        raise ValueError(f"a {self.kind} calibrator has no draws")

    def _draw_fields(self, row: Floats) -> dict[str, object]:
        """Return one row of `draws` as fields; of all rows, one array per field."""
        raise NotImplementedError

    @property
    def _uncertain(self) -> bool:
        """Whether the reference allows other calibrators."""
        return any(one.draws is not None for one in self.parts)

    @cached_property
    def _family(self) -> Calibrator:
        """Return one calibrator for all alternatives: log-odds (n_calibrators, n)."""
        if self.draws is None:
            return self
        return self._with_fields(**self._draw_fields(self.draws.T[..., None]))

    @cached_property
    def alternatives(self) -> tuple[Calibrator, ...]:
        """Return the other calibrators that the reference allows, equally likely."""
        if self.draws is None:
            return ()
        return tuple(self._with_fields(**self._draw_fields(row)) for row in self.draws)

    def _with_fields(self, **changes: object) -> Calibrator:
        """Return a copy with other parameters, which are not checked again."""
        kept = {one.name: getattr(self, one.name) for one in fields(self)}
        other = object.__new__(type(self))
        other.__dict__.update(kept | {"draws": None, "counts": None} | changes)
        return other

    def _map(self, x: Floats) -> Floats:
        """Calibrate log-odds of any shape."""
        raise NotImplementedError

    def _map_p(self, p: Floats) -> Floats:
        """Calibrate probabilities of any shape."""
        return expit(self._map(logit(p)))

    def _map_scores(self, scores: Floats, *, logits: bool) -> Floats:
        """Calibrate checked scores and keep their scale; log-odds keep their tails."""
        return self._map(scores) if logits else self._map_p(scores)

    def _inverse_link(self, x: Floats) -> Floats:
        """Return calibrated log-odds, as `_map` returns them, as probabilities."""
        return expit(x)

    def apply(self, p: ArrayLike, *, logits: bool = False) -> Floats:
        """Return calibrated probabilities.

        Parameters
        ----------
        p : array-like
            Probabilities, of any shape.
        logits : bool, default=False
            Whether `p` holds log-odds.

        Returns
        -------
        ndarray
            Probabilities in the shape of `p`.
        """
        logits = check_flag(logits, "logits")
        x = _values(p, "p", logits=logits)
        mapped = self._inverse_link(self._map(x)) if logits else self._map_p(x)
        return mapped[0] if _is_number(p) else mapped

    def apply_logits(self, x: ArrayLike) -> Floats:
        """Return log-odds of the calibrated probabilities, accurate near 0 and 1.

        Parameters
        ----------
        x : array-like
            Log-odds, of any shape.

        Returns
        -------
        ndarray
            Log-odds in the shape of `x`, infinite where the probability is 0 or 1.
        """
        values = _values(x, "x", logits=True)
        mapped = self._map(values)
        return mapped[0] if _is_number(x) else mapped

    def __call__(self, p: ArrayLike) -> Floats:
        return self.apply(p)

    def then(self, other: Calibrator) -> ChainedCalibrator:
        """Return the chain of this calibrator and another one after it.

        Parameters
        ----------
        other : Calibrator
            Applied to what this one gives, as a prior shift after a calibration.

        Returns
        -------
        Calibrator
            Its `parts` are those of both.
        """
        if not isinstance(other, Calibrator):
            raise TypeError(f"other must be a Calibrator, not {type(other).__name__}")
        return ChainedCalibrator((*self.parts, *other.parts))

    def keeps_apart(self, low: float, high: float) -> bool:
        """Return whether distinct log-odds from `low` to `high` stay distinct.

        Parameters
        ----------
        low, high : float
            The least and the largest of the log-odds.

        Returns
        -------
        bool
            Whether no two of them become equal.
        """
        return True

    @property
    def parts(self) -> tuple[Calibrator, ...]:
        """Return the calibrators of a chain in order; a single one alone."""
        return (self,)

    @property
    def _rises(self) -> bool:
        """Whether the curve never falls; unknown, and False, for a user's function."""
        return not any(isinstance(one, FunctionCalibrator) for one in self.parts)

    @property
    def summary(self) -> str:
        """Method and reference in a few words."""
        return f"{self.method} on {self.n:,} labelled rows"

    @property
    def formula(self) -> str:
        """Return the formula of the calibrator, in one line."""
        raise NotImplementedError

    def fields(self) -> list[Field]:
        """Return all fields of the result, in the order of its summary.

        Returns
        -------
        list of Field
            Keys with values for JSON, and words with text for the summary.
        """
        images = None
        if not self.parts[0]._of_classes:
            images = ", ".join(f"{x:.3g}" for x in self._map_p(np.array(SHOWN)))
            images = f"become {images}"
        own = [one.name for one in fields(self) if one.name not in _COMMON]
        return [
            Field("calibrator", self.kind, "method", self.method),
            Field("format", FORMAT, "formula", self.formula),
            *only_shown(self._source()),
            Field(words=", ".join(map(str, SHOWN)), text=images),
            *self._keys(*_COMMON, *own),
        ]

    _told = ("method", "formula")

    def _source(self) -> Lines:
        """Return lines on the reference."""
        if not self.n:
            return []
        share = "" if self.prevalence is None else f", {self.prevalence:.1%} positive"
        return [("reference", f"{self.n:,} labelled rows{share}")]

    @classmethod
    def _kind_of(cls, values: object) -> str:
        """Return the kind of a saved calibrator; refuse others and newer formats."""
        if not isinstance(values, dict) or "calibrator" not in values:
            raise ValueError("this is no saved calibrator: it has no key 'calibrator'")
        if "file" in values:  # a rule has a calibrator, or none, under that key
            raise ValueError(
                f"this is no saved calibrator, but {shown(values['file'])}"
            )
        check_version(values.get("format", FORMAT), FORMAT, "this calibrator")
        return str(values["calibrator"])

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> Calibrator:
        """Return a saved calibrator; older formats had no reach, draws or counts."""
        wanted = {one.name for one in fields(cls)}
        if values.get("format", FORMAT) < FORMAT:
            values = dict.fromkeys({"reach", "draws", "counts"} & wanted) | values
        own = {key: x for key, x in values.items() if key not in _HEADER}
        for key in own.keys() - {"classes"}:
            refuse_spelled_numbers(own[key], key)
        if set(own) != wanted:
            odd = sorted(set(own) ^ wanted)
            raise ValueError(
                f"a saved {cls.kind} calibrator has missing or unknown keys: {odd}"
            )
        return cls._from_fields(own)

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Calibrator:
        """Return a calibrator of this kind with these plain values as parameters."""
        return cls(**values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Calibrator):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(json.dumps(self.to_dict()))

    def _title(self) -> str:
        return f"Calibrator: {self.method}, {self.formula}"

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the calibration curve over the diagonal."""
        axes: Axes = draw_map(ax, self.method, self.apply)
        return axes


_COMMON = ("n", "prevalence", "draws", "counts")
_HEADER = ("calibrator", "format")


def _values(p: ArrayLike, name: str, *, logits: bool) -> Floats:
    """Return checked scores; a single number becomes a vector of one."""
    return read_scores([p] if _is_number(p) else p, name, logits=logits)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) or (
        isinstance(value, np.ndarray) and value.ndim == 0
    )


def check_columns(draws: Floats, count: int, words: str) -> None:
    """Refuse draws without one column for each parameter."""
    if draws.shape[1] != count:
        raise ValueError(f"a row of draws must hold {words}")


def check_not_negative(draws: Floats, name: str) -> None:
    """Refuse columns of draws for parameters that are 0 or more."""
    if (draws < 0.0).any():
        raise ValueError(f"draws of {name} must not be negative")


@dataclass(frozen=True, repr=False, eq=False)
class ChainedCalibrator(Calibrator):
    """Several calibrators, one after the other."""

    maps: tuple[Calibrator, ...]  # in the order of their use

    kind: ClassVar[str] = "chain"

    def _check(self) -> None:
        """Refuse parts that make no chain; take size and prevalence from them."""
        if not self.maps or not all(isinstance(m, Calibrator) for m in self.maps):
            raise TypeError("maps must hold one Calibrator or more")
        if len({one._of_classes for one in self.maps}) > 1:
            raise ValueError(
                "a calibrator of class probabilities does not go together with one of "
                "the probability of one class"
            )
        object.__setattr__(self, "maps", tuple(self.maps))
        object.__setattr__(self, "n", max(one.n for one in self.maps))
        object.__setattr__(self, "prevalence", self.maps[-1].prevalence)

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Calibrator:
        return cls(tuple(Calibrator.from_dict(one) for one in values["maps"]))

    def _map(self, x: Floats) -> Floats:
        for one in self.maps:
            x = one._map(x)
        return x

    def _map_p(self, p: Floats) -> Floats:
        for one in self.maps:
            p = one._map_p(p)
        return p

    def _inverse_link(self, x: Floats) -> Floats:
        return self.maps[-1]._inverse_link(x)

    @property
    def parts(self) -> tuple[Calibrator, ...]:
        return self.maps

    @property
    def summary(self) -> str:
        return ", then ".join(one.summary for one in self.maps)

    @cached_property
    def alternatives(self) -> tuple[Calibrator, ...]:
        """Return chains of the alternatives of all parts, the i-th with the i-th."""
        choices = [one.alternatives for one in self.maps]
        count = max(map(len, choices))
        return tuple(
            self._with_fields(
                maps=tuple(
                    others[i % len(others)] if others else one
                    for one, others in zip(self.maps, choices, strict=True)
                )
            )
            for i in range(count)
        )

    @cached_property
    def _family(self) -> Calibrator:
        """A chain of families; parts without draws serve every alternative."""
        return self._with_fields(maps=tuple(one._family for one in self.maps))

    def keeps_apart(self, low: float, high: float) -> bool:
        for one in self.maps:
            if not one.keeps_apart(low, high):
                return False
            low, high = one._map(np.array([low, high])).tolist()
        return True

    @property
    def formula(self) -> str:
        return ", then ".join(one.formula for one in self.maps)


@dataclass(frozen=True, repr=False, eq=False)
class FunctionCalibrator(Calibrator):
    """A function of the user's own, from probabilities to probabilities."""

    function: Callable[[Floats], object]  # takes and gives an array of one dimension

    method: ClassVar[str] = "function"

    def _map(self, x: Floats) -> Floats:
        return logit(self._map_p(expit(x)))

    def _map_p(self, p: Floats) -> Floats:
        """Return what the user's function makes of probabilities, checked."""
        name = "what the calibrator gives"
        mapped = to_floats(self.function(p.ravel()), name)
        if mapped.shape != (p.size,):
            raise ValueError(
                f"the calibrator gives an array of shape {mapped.shape} for {p.size} "
                "probabilities; it has to give one for each"
            )
        return check_scores(mapped, name, logits=False).reshape(p.shape)

    @property
    def name(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    def summary(self) -> str:
        return f"the function {self.name}"

    def keeps_apart(self, low: float, high: float) -> bool:
        return False

    @property
    def formula(self) -> str:
        return f"p' = {self.name}(p)"

    def to_dict(self) -> dict[str, Any]:
        raise TypeError(
            f"the function {self.name} cannot be saved: use a Calibrator, such as "
            "calibrate() gives"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionCalibrator) and self.function is other.function

    def __hash__(self) -> int:
        return hash(self.function)
