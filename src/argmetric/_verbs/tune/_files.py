"""Parts of rules as a file holds them, and what keeps a rule as it is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from argmetric._ground.arguments import (
    check_count,
    check_number,
    check_share,
    shown,
    to_float,
)
from argmetric._ground.label_words import listed
from argmetric._ground.saving import restored
from argmetric._ground.types import Floats, Interval
from argmetric.metrics import (
    ClassMetric,
    Metric,
    class_metric_from_dict,
    metric_from_dict,
    metric_to_dict,
)

if TYPE_CHECKING:
    from argmetric._calibrate.cells import KeptReference

INTERVALS = ("interval", "threshold_interval", "plateau")
FACTS = (
    "prevalence",
    "positive_rate",
    "score",
    "argmax_score",
    "optimism",
    "mean",
)


class FrozenDict(dict[str, Any]):
    """A dict that cannot be changed, for the fields of a frozen object."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("this mapping is read-only")

    __setitem__ = __delitem__ = update = pop = popitem = _refuse
    clear = setdefault = __ior__ = _refuse

    def __reduce__(self) -> Any:
        return FrozenDict, (dict(self),)


def read_only(values: Any) -> Floats:
    """A view that cannot be written to; the array it shows stays as it is."""
    view = np.asarray(values, dtype=np.float64).view()
    view.flags.writeable = False
    return view


def current_versions() -> FrozenDict:
    """Versions that made a rule."""
    package = sys.modules["argmetric"]  # an import would point upwards
    return FrozenDict(argmetric=package.__version__, numpy=np.__version__)


def number(value: Any) -> float:
    """A number in a saved rule; what is not finite is text there."""
    found = restored(value)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise ValueError(f"a saved rule has {shown(value)} where a number belongs")
    return to_float(found)


def count(value: Any) -> int:
    """A number of rows."""
    found = number(value)
    if not (found >= 0 and found.is_integer()):
        raise ValueError(f"a saved rule has {value!r} where a count belongs")
    return int(found)


def interval(value: Any) -> Interval | None:
    """Two numbers in a saved rule, or None."""
    if value is None:
        return None
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError(f"a saved rule has {value!r} where two numbers belong")
    return Interval(number(value[0]), number(value[1]))


def checked_facts(rule: Any) -> dict[str, Any]:
    """What a rule says of its score: numbers, which may be nan, and intervals.

    Floats as `tune` gives them pass at once.
    """
    classes = getattr(rule, "classes", ())
    if len(set(classes)) < len(classes):
        raise ValueError(f"classes has a class twice: {listed(classes)}")
    known: dict[str, Any] = {}
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


def plain_float(value: Any, name: str) -> float:
    """A number as a float, which may be nan or infinite."""
    if isinstance(value, float):
        return float(value)
    return check_number(value, name, infinite=True)


def _checked_interval(value: Any, name: str) -> Interval | None:
    """Two ends, the lower one first, or None."""
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


def saved_metric(metric: Metric | ClassMetric) -> dict[str, Any]:
    """The plain form of a metric of two classes or of several."""
    return (
        metric.to_dict() if isinstance(metric, ClassMetric) else metric_to_dict(metric)
    )


def loaded_metric(values: Any) -> Metric | ClassMetric:
    """What `saved_metric` described."""
    if isinstance(values, dict) and str(values.get("class")).startswith("Class"):
        return class_metric_from_dict(values)
    return metric_from_dict(values)


def loaded_offsets(values: Any) -> Floats | None:
    """Offsets of a saved rule; older files have none."""
    return None if values is None else np.array([number(x) for x in values])


def saved_calibrator(calibrator: Any) -> Any:
    """The plain form of a calibrator; a function cannot be kept."""
    if calibrator is None:
        return None
    if not hasattr(calibrator, "to_dict"):
        raise TypeError(
            f"the calibrator is a {type(calibrator).__name__}, which no file can hold: "
            "use one that calibrate() makes"
        )
    return calibrator.to_dict()


def loaded_calibrator(values: Any) -> Any:
    if values is None:
        return None
    from argmetric._calibrate.calibrator import Calibrator

    return Calibrator.from_dict(values)


def loaded_reference(values: Any) -> KeptReference | None:
    """What a rule keeps of the rows that it was tuned on."""
    if values is None:
        return None
    from argmetric._calibrate.cells import KeptReference

    return KeptReference.from_dict(values)


def calibrated(calibrator: Any, p: Any) -> Any:
    """What the calibrator makes of p: an object with `apply`, or a function."""
    apply = getattr(calibrator, "apply", calibrator)
    if not callable(apply):
        raise TypeError(
            "calibrator must be made by calibrate(), or be a function of p, not "
            f"{type(calibrator).__name__}"
        )
    return apply(p)
