"""Verb `report`, a page on any result; the page of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from argmetric._compare import VERDICTS, Comparison
from argmetric._ground.display import counted, metric_title
from argmetric._ground.types import ArrayLike, Label, ReferenceLike
from argmetric._monitor import Monitoring, ParityMonitoring, ReviewMonitoring
from argmetric._report import _figures as draw
from argmetric._report._check import (
    report_check,
    report_class_decision,
    report_class_review,
    report_parity,
    report_review,
    report_rule,
)
from argmetric._report._curves import Request
from argmetric._report._decision import DecisionPage
from argmetric._report._figures import Figure, number, percent, scores
from argmetric._report._monitoring import (
    report_class_monitoring,
    report_monitoring,
    report_parity_monitoring,
    report_review_monitoring,
)
from argmetric._report._profit import ProfitPage
from argmetric._report._report import Card, PageTable, Report, Section
from argmetric._verbs.check import CalibrationCheck
from argmetric._verbs.decide import Decision
from argmetric._verbs.tune import ParityRule, ReviewRule, Rule
from argmetric.classes import (
    ClassCalibrationCheck,
    ClassDecision,
    ClassMonitoring,
    ClassReviewRule,
)

NEXT = 25  # rows to label that are listed
MEANINGS = (  # of the verdicts
    "the posterior probability is .99 or more; it is no p-value",
    "the posterior probability is .9 or more: a batch of labels may settle it",
    "the posterior probability is below .9: label the rows below",
    "models have the same score whatever the labels are, or all labels are known",
    "of these rows alone, whose labels are known; other rows may differ",
)
KEPT = ("names", "scores", "mean", "interval", "probability", "best", "n", "n_labels")


def _difference_text(value: float) -> str:
    """Return a difference as on an axis."""
    return f"{value:+g}" if value else "0"


def report_decision(
    decision: Decision,
    y: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
    pos_label: Label | None = None,
    coverage: float = 0.9,
    reference: ReferenceLike | None = None,
    names: dict[str, str] | None = None,
    group_names: Sequence[object] | None = None,
) -> Report:
    """Return a report of a decision, or of other `labels` of its rows.

    `names` says what to call the "file", the "score", the "label" and the "group";
    `group_names` are those of the groups, where groups are numbers from 0 on.
    """
    known = {"y": y, "pos_label": pos_label, "names": names or {}, "ids": group_names}
    by_rows = getattr(decision.metric, "_by_rows", False)
    page = ProfitPage if by_rows else DecisionPage
    return page(Request(decision, reference, **known), labels, coverage).report()


def _difference_cards(found: Comparison, within: str) -> tuple[Card, ...]:
    """Return the cards of the difference of two models."""
    one, best = found.difference(), found.best()
    meaning = MEANINGS[VERDICTS.index(one.verdict)]
    sure = f"that {best.model} is the best"
    return (
        Card("Verdict", one.verdict, meaning, accent=True),
        Card(f"{one.first} - {one.second}", f"{one.mean:+.4f}", within),
        Card("Probability", f"{best.probability:.3f}", sure),
    )


def report_comparison(found: Comparison) -> Report:
    """Return a report of a comparison of models, or of the score of one."""
    title, models = metric_title(found.metric.name), found.scores()
    several, within = len(models) > 1, f"{percent(found.coverage)} interval"
    if several:
        one = found.difference()
        gap, what = f"{title} of {one.first} - {one.second}", "difference"
        cards = _difference_cards(found, f"{within} {scores(*found.interval)}")
    else:
        gap, what = f"{title} of {found.names[0]}", "score"
        value = number(found.mean), f"{within} {scores(*found.interval)}"
        cards = (Card(gap, *value, accent=True),)
    known = Card("Labels", f"{found.n_labels:,}", f"of {counted(found.n, 'row')}")
    p_best = dict(zip(found.names, found.to_dict()["p_best"], strict=True))
    table = [
        (name, number(x.mean), scores(*x.interval), f"{p_best[name]:.3f}")
        for name, x in models.items()
    ]
    header = ("model", title, within, "P(best)")
    labels, mean, low, high = zip(*found.estimates(), strict=True)
    start = (0.0,) if several else ()
    text: Any = _difference_text if several else "{:g}".format
    y = draw.axis(gap, min(*low, *high, *start), max(*low, *high, *start), text=text)
    x = draw.axis("labels of these rows", 0.0, max(*labels, 1), whole=True)
    sign = "+" if several else ""
    titles = [
        f"{counted(n, 'label')}: {score:{sign}.4f} ({first:{sign}.4f} to "
        f"{last:{sign}.4f})"
        for n, score, first, last in found.estimates()
    ]
    ends: dict[str, Any] = {"low": low, "high": high, "titles": titles}
    points = draw.points(labels, mean, name="mean and interval", **ends)
    caption, shapes = f"The {what} after each batch of labels", [points]
    if several:
        shapes.append(draw.level(0.0, "same", "no difference"))
        caption += "; 0 is no difference"
    figures = (Figure(f"{caption}.", x, y, tuple(shapes)),)
    sections = [
        Section("models", "Scores", tables=(PageTable("Models", header, table),)),
        Section("labels", f"{what.capitalize()} by labels", figures=figures),
    ]
    if found.n_labels < found.n and not (several and one.verdict == VERDICTS[3]):
        rows = ", ".join(map(str, found.next_rows(NEXT) + 1))
        text = [f"Counted from 1: {rows}."]
        if several:
            needed = found.labels_needed(max(abs(one.mean), 0.005))
            text.append(
                f"About {counted(needed, 'label')} of such rows show a difference of "
                f"{max(abs(one.mean), 0.005):.4f} with a probability of .8, if it is "
                "real."
            )
        sections.append(Section("next", "Rows to label next", tuple(text)))
    return Report(
        kind="compare",
        title=found._title(),
        subtitle=f"{counted(found.n, 'row')}; metric: {title}",
        cards=(*cards, known),
        sections=tuple(sections),
        notes=found.notes,
        assumptions=found.assumptions,
        values={"comparison": {k: v for k, v in found.to_dict().items() if k in KEPT}},
    )


_PAGES: dict[type, tuple[Callable[..., Report], tuple[str, ...]]] = {
    Decision: (report_decision, ("y", "pos_label", "coverage", "reference")),
    ClassDecision: (report_class_decision, ("y", "coverage", "reference")),
    Rule: (report_rule, ()),
    ReviewRule: (report_review, ()),
    ClassReviewRule: (report_class_review, ()),
    ParityRule: (report_parity, ()),
    CalibrationCheck: (report_check, ()),
    ClassCalibrationCheck: (report_check, ()),
    Comparison: (report_comparison, ()),
    Monitoring: (report_monitoring, ()),
    ClassMonitoring: (report_class_monitoring, ()),
    ReviewMonitoring: (report_review_monitoring, ()),
    ParityMonitoring: (report_parity_monitoring, ()),
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

    Experimental: may change in any release.

    Parameters
    ----------
    result : Decision, rule, CalibrationCheck, Comparison or Monitoring
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
    make, takes = _PAGES[known[0]]
    how: dict[str, Any] = {"y": y, "pos_label": pos_label, "coverage": coverage}
    how = {k: x for k, x in (how | {"reference": reference}).items() if x is not None}
    for name in how.keys() - takes:
        raise ValueError(f"{name} tells nothing about a {kind}: leave it out")
    return make(result, **how)
