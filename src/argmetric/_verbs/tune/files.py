"""Base of all rules: how they are applied, compared and saved in files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from argmetric._ground.arguments import (
    check_count,
    check_number,
    check_share,
    shown,
    to_float,
)
from argmetric._ground.display import Field
from argmetric._ground.label_words import list_labels
from argmetric._ground.saving import Saved, check_version, is_file_of, restore_values
from argmetric._ground.types import AnyArray, ArrayLike, Floats, Frame, Interval, Series
from argmetric._verbs.guarantees import Guarantee
from argmetric._verbs.tune._export import ExportMixin
from argmetric.metrics import (
    ClassMetric,
    Metric,
    class_metric_from_dict,
    metric_from_dict,
    metric_to_dict,
)

if TYPE_CHECKING:
    from argmetric._calibrate.calibrator import Calibrator
    from argmetric._calibrate.kept_reference import KeptReference


INTERVALS = ("interval", "threshold_interval", "plateau")
FACTS = ("prevalence", "positive_rate", "score", "argmax_score", "optimism", "mean")


class FrozenDict(dict[str, Any]):
    """A dict that cannot be changed, for the fields of a frozen object."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this mapping is read-only")

    __setitem__ = __delitem__ = update = pop = popitem = _refuse
    clear = setdefault = __ior__ = _refuse

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


def read_fields(kind: Any, values: dict[str, Any], *but: str) -> dict[str, Any]:
    """Return the fields of a saved rule by name, but those that it reads itself."""
    names = [one.name for one in fields(kind) if one.name not in but]
    missing = sorted(set(names) - values.keys())
    if missing:
        raise ValueError(f"a saved rule lacks {', '.join(missing)}")
    return {
        name: READERS[name](values[name]) if name in READERS else values[name]
        for name in names
    }


def read_only(values: object) -> Floats:
    """Return a read-only view; the array itself stays writable."""
    view = np.asarray(values, dtype=np.float64).view()
    view.flags.writeable = False
    return view


def current_versions() -> FrozenDict:
    """Return the versions that a rule is made with."""
    package = sys.modules["argmetric"]  # an import would point upwards
    return FrozenDict(argmetric=package.__version__, numpy=np.__version__)


def number(value: object) -> float:
    """Return a number of a saved rule, where infinities and nan are text."""
    found = restore_values(value)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise ValueError(f"a saved rule has {shown(value)} where a number belongs")
    return to_float(found)


def count(value: object) -> int:
    """Return a number of rows."""
    found = number(value)
    if not (found >= 0 and found.is_integer()):
        raise ValueError(f"a saved rule has {value!r} where a count belongs")
    return int(found)


def interval(value: object) -> Interval | None:
    """Return two numbers of a saved rule, or None."""
    if value is None:
        return None
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError(f"a saved rule has {value!r} where two numbers belong")
    return Interval(number(value[0]), number(value[1]))


def check_fields(rule: Any) -> dict[str, object]:
    """Check the fields of a rule; return those to convert, by name.

    Numbers may be nan.
    """
    classes = getattr(rule, "classes", ())
    if len(set(classes)) < len(classes):
        raise ValueError(f"classes has a class twice: {list_labels(classes)}")
    known: dict[str, object] = {}
    if not (type(rule.n) is int and rule.n >= 0):
        known["n"] = check_count(rule.n, "n")
    if not (isinstance(rule.coverage, float) and 0.0 < rule.coverage < 1.0):
        known["coverage"] = check_share(rule.coverage, "coverage")
    for name in FACTS:
        if hasattr(rule, name):
            known[name] = plain_float(getattr(rule, name), name)
    for name in INTERVALS:
        if hasattr(rule, name):
            known[name] = _checked_interval(getattr(rule, name), name)
    return known


def plain_float(value: object, name: str) -> float:
    """Return a number as a float, which may be nan or infinite."""
    if isinstance(value, float):
        return float(value)
    return check_number(value, name, infinite=True)


def _checked_interval(value: object, name: str) -> Interval | None:
    """Return two ends, the lower one first, or None."""
    if value is None:
        return None
    if not isinstance(value, list | tuple | np.ndarray) or len(value) != 2:
        raise TypeError(f"{name} must be two numbers or None, not {shown(value)}")
    low, high = (plain_float(end, name) for end in value)
    if low > high:
        raise ValueError(
            f"{name} must begin with its lower end, not {low:g} to {high:g}"
        )
    return Interval(low, high)


def saved_metric(metric: Metric | ClassMetric) -> dict[str, object]:
    """Return the plain form of a metric of two or of several classes."""
    return (
        metric.to_dict() if isinstance(metric, ClassMetric) else metric_to_dict(metric)
    )


def loaded_metric(values: dict[str, Any]) -> Metric | ClassMetric:
    """Return the metric that `saved_metric` described."""
    if isinstance(values, dict) and str(values.get("class")).startswith("Class"):
        return class_metric_from_dict(values)
    return metric_from_dict(values)


def saved_calibrator(calibrator: object) -> object:
    """Return the plain form of a calibrator; refuse a function."""
    if calibrator is None:
        return None
    if not hasattr(calibrator, "to_dict"):
        raise TypeError(
            f"the calibrator is a {type(calibrator).__name__}, which no file can hold: "
            "use one that calibrate() makes"
        )
    return calibrator.to_dict()


def loaded_calibrator(values: dict[str, Any] | None) -> Calibrator | None:
    """Return the calibrator that a saved rule has, or None."""
    if values is None:
        return None
    from argmetric._calibrate.calibrator import Calibrator

    return Calibrator.from_dict(values)


def loaded_guarantee(values: dict[str, Any] | None) -> Guarantee | None:
    """Return the guarantee that a saved rule has, or None."""
    return None if values is None else Guarantee._from_plain(values)


def loaded_reference(values: dict[str, Any] | None) -> KeptReference | None:
    """Return the summary of the rows that a rule was tuned on."""
    if values is None:
        return None
    from argmetric._calibrate.kept_reference import KeptReference

    return KeptReference.from_dict(values)


READERS: dict[str, Callable[[Any], Any]] = {  # what is not taken as the file has it
    **dict.fromkeys((*FACTS, "threshold", "low", "high", "gap", "coverage"), number),
    **dict.fromkeys(("automated", "accepted", "rejected", "probability"), number),
    **dict.fromkeys((*INTERVALS, "automated_interval"), interval),
    "n": count,
    "metric": loaded_metric,
    "calibrator": loaded_calibrator,
    "guarantee": loaded_guarantee,
}


def apply_calibrator(calibrator: object, p: object) -> object:
    """Return the calibrated p, by an object with `apply` or a function."""
    apply = getattr(calibrator, "apply", calibrator)
    if not callable(apply):
        raise TypeError(
            "calibrator must be made by calibrate(), or be a function of p, not "
            f"{type(calibrator).__name__}"
        )
    return apply(p)


FORMAT = 2  # of the saved form; 1 had no reference
NAME = "argmetric rule"
CURVE = ("thresholds", "scores")  # not saved: as long as the rows


class SavedRule(ExportMixin, Saved[Any]):
    """A frozen rule that can be written to a file and read back.

    A new kind of rule is a class below this one with a `kind`, `fields` and
    `_from_plain`, that the face of the room imports.
    """

    _what: ClassVar[str] = "rule"
    _elsewhere: ClassVar[dict[str, str]] = {
        "multiclass": "argmetric.classes.MultiClassRule",
        "class_review": "argmetric.classes.ClassReviewRule",
    }

    def apply(self, p: ArrayLike) -> AnyArray | Series | Frame:
        raise NotImplementedError

    def predict(self, p: ArrayLike) -> AnyArray | Series | Frame:
        """Return labels of the scores, as `apply`; scikit-learn's name.

        Parameters
        ----------
        p : array-like
            Scores as they were tuned on, not rows of features.

        Returns
        -------
        array-like
            0 and 1, or the labels that `y` had.
        """
        return self.apply(p)

    def _freeze(self, **known: object) -> None:
        """Set fields to what was checked, and keep notes and versions from changes."""
        versions = FrozenDict(vars(self)["versions"])
        known |= {"notes": tuple(self.notes), "versions": versions}
        for name, value in known.items():
            object.__setattr__(self, name, value)

    def _header(self) -> list[Field]:
        head = {"file": NAME, "format": FORMAT, "kind": self.kind}
        return [Field(*pair) for pair in head.items()]

    @classmethod
    def _kind_of(cls, values: object) -> str:
        """Return the kind of a saved rule; refuse other values and newer formats."""
        if not is_file_of(values, NAME):
            raise ValueError(f"this is no saved rule: its key 'file' is not {NAME!r}")
        made = values.get("versions")
        by = made.get("argmetric", "") if isinstance(made, dict) else ""
        check_version(values.get("format"), FORMAT, "this rule", by)
        kind = values.get("kind")
        return kind if isinstance(kind, str) else shown(kind)

    def __getstate__(self) -> dict[str, object]:
        """Return plain dicts for pickle, which fills a mapping item by item."""
        state = dict(vars(self))
        for name, value in state.items():
            if isinstance(value, FrozenDict):
                state[name] = dict(value)
        return state

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            if isinstance(value, dict):
                value = FrozenDict(value)
            elif isinstance(value, np.ndarray):
                value = read_only(value)
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, SavedRule)
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> str:
        """Return all that is compared, as text: nan equals itself there.

        Not the rows that it was tuned on: files read in batches keep none.
        """
        compared = [one for one in self.fields() if one.key != "reference"]
        try:
            return json.dumps(self._plain(compared), sort_keys=True)
        except TypeError:  # a function as calibrator, or labels of a kind of their own
            left = (*CURVE, "threshold_raw", "cuts", "_kept")
            kept = {name: x for name, x in vars(self).items() if name not in left}
            return repr(kept)
