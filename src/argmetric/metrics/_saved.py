"""A metric as plain values, for rules and models that are kept in files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from argmetric.metrics._base import CustomMetric, Metric
from argmetric.metrics._catalogue import CLASSES


@dataclass(frozen=True)
class MissingFunction:
    """Stands for a function of the user's own, of which a file holds the name."""

    name: str

    def __call__(self, *_: Any) -> NoReturn:
        raise RuntimeError(
            f"the metric {self.name!r} is a function that a file cannot hold: the rule "
            "applies without it, but to evaluate the metric pass the function again"
        )


def metric_to_dict(metric: Metric) -> dict[str, Any]:
    """The class and its parameters; of a function of the user's own, the name.

    Parameters
    ----------
    metric : Metric
        Any metric.

    Examples
    --------
    >>> from argmetric.metrics._saved import metric_to_dict
    >>> import argmetric as am
    >>> metric_to_dict(am.FBeta(2))
    {'class': 'FBeta', 'name': 'f2', 'beta': 2.0, 'zero_division': 0.0}
    """
    from argmetric._results.saving import plain

    head = {"class": type(metric).__name__, "name": metric.name}
    if CLASSES.get(type(metric).__name__) is not type(metric):
        return {
            "class": "CustomMetric",
            "name": metric.name,
            "greater_is_better": metric.greater_is_better,
            "zero_division": plain(metric.zero_division),
        }
    return head | {name: plain(x) for name, x in metric._parameters().items()}


def metric_from_dict(values: dict[str, Any]) -> Metric:
    """The metric that `metric_to_dict` described.

    A function of the user's own comes back as a metric that says so when it is
    evaluated.

    Parameters
    ----------
    values : dict
        What `metric_to_dict` gave.
    """
    if not isinstance(values, dict) or not {"class", "name"} <= set(values):
        raise ValueError(f"this is no saved metric: {values!r}")
    from argmetric._results.saving import restored

    known = {key: restored(x) for key, x in values.items() if key != "class"}
    kind = values["class"]
    if kind == "CustomMetric":
        function = MissingFunction(str(known["name"]))
        return CustomMetric(function, **known)
    if kind not in CLASSES:
        raise ValueError(
            f"no metric of the class {kind!r} is known here: was the file written by a "
            "later version?"
        )
    del known["name"]
    try:
        return CLASSES[kind](**known)
    except TypeError as error:
        raise ValueError(
            f"the saved metric {kind} has odd parameters: {error}"
        ) from None
