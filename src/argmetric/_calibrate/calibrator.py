"""A calibrator: a non-decreasing map of probabilities that can be kept in a file."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from argmetric._ground.arguments import check_flag, check_number
from argmetric._ground.display import Field, Lines, documented, only_shown
from argmetric._ground.odds import expit, logit
from argmetric._ground.pictures import draw_map
from argmetric._ground.saving import Saved, check_version, refuse_spelled_numbers
from argmetric._ground.types import ArrayLike, Axes, Floats
from argmetric._ground.validation import check_scores, read_scores, to_floats

FORMAT = 3  # of the saved form; 1 had neither reach nor draws, 2 no counts
SHOWN = (0.01, 0.1, 0.5, 0.9)  # probabilities whose images are printed


@dataclass(frozen=True, repr=False, eq=False)
class Calibrator(Saved["Calibrator"]):
    """A non-decreasing map from probabilities to calibrated probabilities.

    Made by `calibrate` and `adjust_prior`; taken by `decide`, `forecast` and `tune`.

    Attributes
    ----------
    method : str
        How the map was found: "platt", "beta", "temperature", "isotonic", ...
    n : int
        Rows of the labelled reference it was fitted on; 0 where there was none.
    prevalence : float or None
        Share of positives in that reference.
    draws : ndarray or None
        Parameters of other maps that the reference allows, one per row, equally
        likely; None without a reference. `forecast` averages over them.
    counts : ndarray or None
        Mean log-odds, rows and positives of cells of the reference, in three rows;
        `forecast` uses them to judge how certain the map is. None as for `draws`.

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
        "class_matrix": "argmetric.classes.ClassMatrixCalibrator",
        "class_prior_shift": "argmetric.classes.ClassPriorShift",
        "class_temperature": "argmetric.classes.ClassTemperatureCalibrator",
    }
    _of_classes: ClassVar[bool] = False  # whether it maps rows of class probabilities
    method: ClassVar[str] = ""  # by default what `kind` says

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "method" not in vars(cls) and vars(cls).get("kind"):
            cls.method = cls.kind.removeprefix("class_").replace("_", " ")

    def __post_init__(self) -> None:
        if type(self) is Calibrator:
            raise TypeError("calibrators are made by calibrate() and adjust_prior()")
        check_finite("n", self.n, 0)
        if self.prevalence is not None:
            check_finite("prevalence", self.prevalence, 0)
        self._check()
        if self.draws is not None:
            draws = np.asarray(self.draws, dtype=np.float64)
            if draws.ndim != 2 or not draws.size or not np.isfinite(draws).all():
                raise ValueError(
                    "draws must be a matrix of finite numbers, one map a row"
                )
            self._check_draws(draws)
            object.__setattr__(self, "draws", draws)
        if self.counts is not None:
            counts = np.asarray(self.counts, dtype=np.float64)
            if counts.ndim != 2 or len(counts) != 3 or not np.isfinite(counts).all():
                raise ValueError(
                    "counts must be a matrix of three rows of finite numbers"
                )
            x, rows, positives = counts
            if not ((np.diff(x) > 0).all() and (positives >= 0).all()):
                raise ValueError(
                    "counts must have rising log-odds and no negative positives"
                )
            if not (rows >= positives).all() or not positives.any():
                raise ValueError(
                    "counts must have positives, and no more of them than rows"
                )
            object.__setattr__(self, "counts", counts)

    def _check(self) -> None:
        """Refuse parameters that make no map."""

    def _check_draws(self, draws: Floats) -> None:
        """Refuse draws of which a row makes no map."""
        raise ValueError(f"a {self.kind} map has no draws")

    def _drawn(self, row: Floats) -> dict[str, Any]:
        """A row of `draws` as fields of the map; or all, as fields with a row each."""
        raise NotImplementedError

    @property
    def _uncertain(self) -> bool:
        """Whether the reference allows other maps."""
        return any(one.draws is not None for one in self.parts)

    @cached_property
    def _family(self) -> Calibrator:
        """All alternatives as one map: it takes n log-odds to an array (maps, n)."""
        if self.draws is None:
            return self
        return self._varied(**self._drawn(self.draws.T[..., None]))

    @cached_property
    def alternatives(self) -> tuple[Calibrator, ...]:
        """The other maps that the reference allows, each as likely as the next."""
        if self.draws is None:
            return ()
        return tuple(self._varied(**self._drawn(row)) for row in self.draws)

    def _varied(self, **changes: Any) -> Calibrator:
        """The map with other parameters, which were checked together as draws."""
        kept = {one.name: getattr(self, one.name) for one in fields(self)}
        other = object.__new__(type(self))
        other.__dict__.update(kept | {"draws": None, "counts": None} | changes)
        return other

    def _map(self, x: Floats) -> Floats:
        """Log-odds to log-odds."""
        raise NotImplementedError

    def _map_p(self, p: Floats) -> Floats:
        """Probabilities to probabilities."""
        return expit(self._map(logit(p)))

    def _inverse_link(self, x: Floats) -> Floats:
        """What `_map` gives, as probabilities."""
        return expit(x)

    def apply(self, p: ArrayLike, *, logits: bool = False) -> Floats:
        """Calibrated probabilities.

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
        values = _values(p, "p", logits=logits)
        mapped = (
            self._inverse_link(self._map(values)) if logits else self._map_p(values)
        )
        return mapped[0] if _is_number(p) else mapped

    def apply_logits(self, x: ArrayLike) -> Floats:
        """Log-odds of the calibrated probabilities, accurate near 0 and 1.

        Parameters
        ----------
        x : array-like
            Log-odds, of any shape.

        Returns
        -------
        ndarray
            Log-odds in the shape of `x`, infinite where the map gives 0 or 1.
        """
        values = _values(x, "x", logits=True)
        mapped = self._map(values)
        return mapped[0] if _is_number(x) else mapped

    def __call__(self, p: Any) -> Floats:
        return self.apply(p)

    def then(self, other: Calibrator) -> ChainedMap:
        """This map, and another one after it.

        Parameters
        ----------
        other : Calibrator
            Takes what this one gives, as a prior shift after a calibration.
        """
        if not isinstance(other, Calibrator):
            raise TypeError(f"other must be a Calibrator, not {type(other).__name__}")
        return ChainedMap((*self.parts, *other.parts))

    def keeps_apart(self, low: float, high: float) -> bool:
        """Whether distinct log-odds between these stay distinct."""
        return True

    @property
    def parts(self) -> tuple[Calibrator, ...]:
        """The maps of a chain; a single map is its own part."""
        return (self,)

    @property
    def _rises(self) -> bool:
        """Whether it is known never to fall: a function of the user's own may."""
        return not any(isinstance(one, FunctionMap) for one in self.parts)

    @property
    def summary(self) -> str:
        """Method and reference in a few words."""
        return f"{self.method} on {self.n:,} labelled rows"

    @property
    def formula(self) -> str:
        """The map in one line."""
        raise NotImplementedError

    def fields(self) -> list[Field]:
        images = None
        if not self.parts[0]._of_classes:
            images = ", ".join(f"{x:.3g}" for x in self._map_p(np.array(SHOWN)))
            images = f"become {images}"
        own = [one.name for one in fields(self) if one.name not in _COMMON]
        return [
            Field("calibrator", self.kind, "method", self.method),
            Field("format", FORMAT, "map", self.formula),
            *only_shown(self._source()),
            Field(words=", ".join(map(str, SHOWN)), text=images),
            *self._keys(*_COMMON, *own),
        ]

    _told = ("method", "map")

    def _source(self) -> Lines:
        """Lines on what the map was made from."""
        if not self.n:
            return []
        share = "" if self.prevalence is None else f", {self.prevalence:.1%} positive"
        return [("reference", f"{self.n:,} labelled rows{share}")]

    @classmethod
    def _kind_of(cls, values: Any) -> str:
        # Any kind may be in a file, and one is known once its module is loaded
        from argmetric._calibrate import maps, prior, spline  # noqa: F401

        if not isinstance(values, dict) or "calibrator" not in values:
            raise ValueError("this is no saved calibrator: it has no key 'calibrator'")
        if "file" in values:  # a rule has a calibrator, or none, under that key
            raise ValueError(f"this is no saved calibrator, but {values['file']!r}")
        check_version(values.get("format", FORMAT), FORMAT, "this calibrator")
        return str(values["calibrator"])

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> Calibrator:
        """The map of a saved one; older formats had no reach, draws or counts."""
        wanted = {one.name for one in fields(cls)}
        if values.get("format", FORMAT) < FORMAT:
            values = dict.fromkeys({"reach", "draws", "counts"} & wanted) | values
        given = {key: x for key, x in values.items() if key not in _HEADER}
        for key in given.keys() - {"classes"}:
            refuse_spelled_numbers(given[key], key)
        if set(given) != wanted:
            odd = sorted(set(given) ^ wanted)
            raise ValueError(
                f"a saved {cls.kind} map with missing or unknown keys: {odd}"
            )
        return cls._made(given)

    @classmethod
    def _made(cls, values: dict[str, Any]) -> Calibrator:
        """The map of this kind with these plain values as parameters."""
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
        """Draw the map over the diagonal."""
        drawn: Axes = draw_map(ax, self.method, self.apply)
        return drawn


_COMMON = ("n", "prevalence", "draws", "counts")
_HEADER = ("calibrator", "format")


def _values(p: Any, name: str, *, logits: bool) -> Floats:
    """Checked scores; a single number becomes a vector of one."""
    return read_scores([p] if _is_number(p) else p, name, logits=logits)


def _is_number(value: Any) -> bool:
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


def check_finite(name: str, value: Any, low: float = -math.inf) -> None:
    """Refuse a parameter that is no finite number of at least `low`."""
    check_number(value, name, low=low)


@dataclass(frozen=True, repr=False, eq=False)
class ChainedMap(Calibrator):
    """Several maps, one after the other."""

    maps: tuple[Calibrator, ...]  # in the order of their use

    kind: ClassVar[str] = "chain"

    def _check(self) -> None:
        if not self.maps or not all(isinstance(m, Calibrator) for m in self.maps):
            raise TypeError("maps must hold one Calibrator or more")
        if len({one._of_classes for one in self.maps}) > 1:
            raise ValueError(
                "a map of class probabilities does not go together with a map of the "
                "probability of one class"
            )
        object.__setattr__(self, "maps", tuple(self.maps))
        object.__setattr__(self, "n", max(one.n for one in self.maps))
        object.__setattr__(self, "prevalence", self.maps[-1].prevalence)

    @classmethod
    def _made(cls, values: dict[str, Any]) -> Calibrator:
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
        """Chains in which the maps that have others vary, each by itself in turn."""
        found = [one.alternatives for one in self.maps]
        count = max(map(len, found))
        return tuple(
            self._varied(
                maps=tuple(
                    others[i % len(others)] if others else one
                    for one, others in zip(self.maps, found, strict=True)
                )
            )
            for i in range(count)
        )

    @cached_property
    def _family(self) -> Calibrator:
        """A chain of families; maps without draws serve every alternative."""
        return self._varied(maps=tuple(one._family for one in self.maps))

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
class FunctionMap(Calibrator):
    """A function of the user's own, from probabilities to probabilities."""

    function: Callable[[Floats], Any]  # takes and gives an array of one dimension

    method: ClassVar[str] = "function"

    def _map(self, x: Floats) -> Floats:
        return logit(self._map_p(expit(x)))

    def _map_p(self, p: Floats) -> Floats:
        given = to_floats(self.function(p.ravel()), "what the calibrator gives")
        if given.shape != (p.size,):
            raise ValueError(
                f"the calibrator gives an array of shape {given.shape} for {p.size} "
                "probabilities; it has to give one for each"
            )
        given = check_scores(given, "what the calibrator gives", logits=False)
        return given.reshape(p.shape)

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
            f"the function {self.name} cannot be saved: use a map made by calibrate()"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionMap) and self.function is other.function

    def __hash__(self) -> int:
        return hash(self.function)
