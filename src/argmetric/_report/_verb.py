"""The verb `report`: a page on any result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argmetric._compare import Comparison
from argmetric._ground.types import ArrayLike, Label, ReferenceLike
from argmetric._monitor import Monitoring
from argmetric._report._check import report_check, report_rule
from argmetric._report._classes import report_class_check, report_class_decision
from argmetric._report._compare import report_comparison
from argmetric._report._decision import report_decision
from argmetric._report._monitor import report_class_monitoring, report_monitoring
from argmetric._report._report import Report
from argmetric._verbs.check import CalibrationCheck
from argmetric._verbs.decide import Decision
from argmetric._verbs.tune import Rule
from argmetric.classes import ClassCalibrationCheck, ClassDecision, ClassMonitoring

_PAGES: dict[type, tuple[Callable[..., Report], tuple[str, ...]]] = {
    Decision: (report_decision, ("y", "pos_label", "coverage", "reference")),
    ClassDecision: (report_class_decision, ("y", "coverage", "reference")),
    Rule: (report_rule, ()),
    CalibrationCheck: (report_check, ()),
    ClassCalibrationCheck: (report_class_check, ()),
    Comparison: (report_comparison, ()),
    Monitoring: (report_monitoring, ()),
    ClassMonitoring: (report_class_monitoring, ()),
}  # what makes the page of each result, and what it can be told besides


def report(
    result: object,
    y: ArrayLike | None = None,
    *,
    pos_label: Label | None = None,
    coverage: float | None = None,
    reference: ReferenceLike | None = None,
) -> Report:
    """Make a page on a result, to be saved or shown in a notebook.

    Parameters
    ----------
    result : Decision, Rule, CalibrationCheck, Comparison, Monitoring, or of classes
        What `decide`, `tune`, `calibration_check`, `compare` or `monitor` gave back, or
        `decide`, `check` or `monitor` of `argmetric.classes`.
    y : array-like, optional
        True labels of a decision, where they are known by now: the page then holds the
        actual score against the forecast.
    pos_label : object, optional
        The label of `y` that counts as positive.
    coverage : float, optional
        Probability that the interval of a decision contains the score; by default 0.9.
    reference : pair (y, p), optional
        Labelled rows on which the probabilities of a decision are checked.

    Returns
    -------
    Report
        ``save("page.html")`` writes it; Markdown, JSON and text say the same.

    Examples
    --------
    >>> import argmetric as am
    >>> page = am.report(am.decide([0.9, 0.45, 0.4, 0.1]))
    >>> print(page.render("md").splitlines()[0])
    # Predict 3 of 4 rows positive
    """
    kind = type(result).__name__
    known = [one for one in _PAGES if isinstance(result, one)]
    if not known:
        raise TypeError(
            "result must be what decide, tune, calibration_check, compare or monitor "
            f"gave back: there is no page on {kind}"
        )
    made, takes = _PAGES[known[0]]
    given: dict[str, Any] = {"y": y, "pos_label": pos_label, "coverage": coverage}
    given |= {"reference": reference}
    told = {name: value for name, value in given.items() if value is not None}
    for name in told.keys() - takes:
        raise ValueError(f"{name} tells nothing about a {kind}: leave it out")
    return made(result, **told)
