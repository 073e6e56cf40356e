"""Rules for matrices: one for each of several labels, or one for all cells."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from argmetric._ground.arguments import refuse_given
from argmetric._ground.display import (
    Field,
    Headline,
    counted,
    cut_text,
    documented,
    first_lines,
    metric_title,
    number,
)
from argmetric._ground.labels import (
    binary_labels,
    clear_labels,
    label_array,
    plain_label,
)
from argmetric._ground.layout import column_names
from argmetric._ground.pictures import bars_size, draw_bars, drawing
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    Axes,
    Booleans,
    Floats,
    Frame,
    Label,
)
from argmetric._ground.validation import (
    check_choice,
    is_sparse,
    refuse_two_classes,
    same_kind,
    to_floats,
)
from argmetric._verbs.guarantees import guarantee_sentence
from argmetric._verbs.tune._binary import Group
from argmetric._verbs.tune._other_rules import Column, TuneProblem
from argmetric._verbs.tune._portable import PortableRule
from argmetric._verbs.tune._rule import Rule
from argmetric._verbs.tune.files import SavedRule
from argmetric.metrics import Metric

SHOWN = 8  # labels in the printed form


@dataclass(frozen=True, repr=False, eq=False)
class MultiLabelRule(SavedRule):
    """One rule per label, or one for all of them.

    Parameters
    ----------
    rules : tuple of Rule
        In the order of the columns.
    names : tuple
        Names of the labels: those of the columns, or their numbers.
    average : {"macro", "micro", "samples"}
        "macro": every label has a threshold of its own; otherwise all share one.

    Examples
    --------
    >>> import argmetric as am
    >>> y = [[1, 0], [0, 0], [1, 1], [0, 1]]
    >>> p = [[0.9, 0.2], [0.4, 0.1], [0.6, 0.3], [0.1, 0.4]]
    >>> rule = am.tune(y, p, "f1")
    >>> rule.thresholds
    array([0.5 , 0.25])
    >>> rule.apply([[0.7, 0.2]])
    array([[1, 0]])
    """

    kind: ClassVar[str] = "multilabel"

    rules: tuple[Rule, ...]
    names: tuple[Label, ...]
    average: str = "macro"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(self.rules))
        object.__setattr__(self, "names", tuple(map(plain_label, self.names)))
        if not self.rules or len(self.rules) != len(self.names):
            raise ValueError(
                f"{len(self.rules)} rules and {len(self.names)} names: one of each per "
                "label is needed"
            )

    @property
    def metric(self) -> Metric:
        """Return the metric, the same for all labels."""
        return self.rules[0].metric

    @property
    def score(self) -> float:
        """Mean score over the labels; of all cells, or rows, where one rule serves."""
        return float(np.mean([rule.score for rule in self.rules]))

    @property
    def optimism(self) -> float:
        """Mean optimism over the labels."""
        return float(np.mean([rule.optimism for rule in self.rules]))

    @property
    def mean(self) -> float:
        """Score to expect on new rows: the mean over the labels of their `mean`."""
        return float(np.mean([rule.mean for rule in self.rules]))

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the rules, each once."""
        return tuple(dict.fromkeys(note for one in self.rules for note in one.notes))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions behind `mean`."""
        return self.rules[0].assumptions

    @property
    def thresholds(self) -> Floats:
        """One per label."""
        return np.array([rule.threshold for rule in self.rules])

    def applies(self, p: ArrayLike) -> Booleans:
        """Return which entries are positive.

        Parameters
        ----------
        p : array-like of shape (n, labels)
            Scores as they were tuned on.

        Returns
        -------
        ndarray of bool, shape (n, labels)
            True where the label is positive.
        """
        scores = to_floats(p, "p")
        if scores.ndim != 2 or scores.shape[1] != len(self.rules):
            raise ValueError(
                f"p must have {len(self.rules)} columns, one per label, not shape "
                f"{scores.shape}"
            )
        if self.average != "macro":
            return self.rules[0].applies(scores)
        columns = zip(self.rules, scores.T, strict=True)
        return np.stack([rule.applies(column) for rule, column in columns], axis=1)

    def apply(self, p: ArrayLike) -> AnyArray | Frame:
        """Return labels 0 and 1 of every entry, in the type of the input.

        Parameters
        ----------
        p : array-like of shape (n, labels)
            Scores as they were tuned on.

        Returns
        -------
        array-like of {0, 1}, shape (n, labels)
            An array, or a frame where `p` is one.
        """
        return same_kind(p)(self.applies(p).astype(np.int64))

    def _columns(self) -> dict[str, object]:
        scores = [rule.score for rule in self.rules]
        names = [str(name) for name in self.names]
        return {"label": names, "threshold": self.thresholds, "score": scores}

    def _headline(self) -> Headline:
        known = not math.isnan(self.mean)
        where = "on new rows" if known else "on these rows"
        name = f"{self.average} {metric_title(self.metric.name)}"
        value = number(self.mean if known else self.score)
        return Headline(name, value, f"{where}, {counted(len(self.rules), 'label')}")

    def fields(self) -> list[Field]:
        held, one_for_all = None, self.average != "macro"
        if not math.isnan(self.optimism):
            held = f"{number(self.mean)} (optimism {self.optimism:+.3f})"
        kept = self.rules[:1] if one_for_all else self.rules
        names = ("all labels",) if one_for_all else self.names
        cuts = (f"{x._scale} {x.operator} {cut_text(x.threshold)}" for x in kept)
        if not one_for_all:
            pairs = zip(cuts, kept, strict=True)
            cuts = (f"{cut}, score {number(rule.score)}" for cut, rule in pairs)
        lines = zip(map(str, names), cuts, strict=True)
        return [
            *self._header(),
            Field(words="score", text=f"{number(self.score)} ({self.average})"),
            Field(words="mean", text=held),
            *first_lines(lines, len(kept), SHOWN, "labels"),
            Field(words="guarantee", text=self._promise or None),
            *self._keys("average", "names"),
            Field("rules", kept),
        ]

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> MultiLabelRule:
        """Return the rule that a file holds, a rule for each label."""
        for one in values["rules"]:
            if cls._kind_of(one) != Rule.kind:
                raise ValueError("a saved rule for several labels holds odd rules")
        rules = [Rule._from_plain(one) for one in values["rules"]]
        if values["average"] != "macro":
            rules = rules * len(values["names"])
        return cls(tuple(rules), tuple(values["names"]), values["average"])

    def _portable(self) -> PortableRule:
        cuts = [cut for rule in self.rules for cut in rule._portable().cuts]
        names = tuple(map(str, self.names))
        promise = self._promise
        return PortableRule(self._title(), names, (0, 1), tuple(cuts), promise=promise)

    @property
    def _promise(self) -> str:
        known = zip(self.names, self.rules, strict=True)
        return guarantee_sentence({name: rule.guarantee for name, rule in known})

    def _title(self) -> str:
        return f"MultiLabelRule({len(self.rules)} labels, metric={self.metric.name})"

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the score of every label, with its threshold."""
        values = np.array([rule.score for rule in self.rules])
        names = [
            f"{name} ({rule._scale} {rule.operator} {rule.threshold:.3g})"
            for name, rule in zip(self.names, self.rules, strict=True)
        ]
        xlabel = f"Actual {metric_title(self.metric.name)}"
        size, words = bars_size(len(names)), {"title": self._title()}
        with drawing(ax, size, xlabel=xlabel, **words) as ax:
            draw_bars(ax, names, values)
        return ax


def tune_matrix(
    y: ArrayLike,
    p: ArrayLike,
    scores: Floats,
    problem: TuneProblem,
    *,
    groups: ArrayLike | None,
    pos_label: Label | None,
    average: str | None,
) -> list[MultiLabelRule]:
    """Tune a rule for each column of labels, or one for all entries."""
    options = {"groups": groups, "pos_label": pos_label}
    refuse_given(options, "goes with one column of scores, not with a matrix")
    if not is_sparse(y) and label_array(y).ndim == 1:
        way_out = "the column of the positive class, such as np.asarray(p)[:, -1]"
        raise ValueError(
            f"y has one label per row and p has shape {scores.shape}: pass {way_out}, "
            "or a matrix y; for one of several classes call argmetric.classes.tune"
        )
    average = "macro" if average is None else average
    if problem.terms is not None and average != "macro":
        raise ValueError(
            f"confidence is for each label by itself, not for average={average!r}"
        )
    check_choice(average, "average", ("macro", "micro", "samples"))
    problem.check_missed(scores.shape[1], average)
    refuse_two_classes(scores, "p")
    labels = clear_labels(y, shape=scores.shape)
    given = column_names(p)
    _refuse_other_order(column_names(y), given)
    names = tuple(range(scores.shape[1])) if given is None else tuple(given)
    inside = bool(scores.min() >= 0.0 and scores.max() <= 1.0)
    known: dict[str, object] = {"probabilities": inside}
    if average == "macro":
        columns = []
        for j, name in enumerate(names):
            of_column, both = f"column {name!r} of y", problem.terms is None
            one = binary_labels(labels[:, j], name=of_column, both=both)
            asked = problem.of_label(of_column, j, len(names))
            column = Column(np.ascontiguousarray(scores[:, j]), one)
            columns.append(asked.rules(column, known))
        return [MultiLabelRule(rules, names) for rules in zip(*columns, strict=True)]
    rows, count = scores.shape
    if problem.weight is not None:
        problem = replace(problem, weight=np.repeat(problem.weight, count))
    # The cells of a row are drawn together: they depend on each other.
    group = Group(np.repeat(np.arange(rows), count), rows, average == "samples")
    known["average"] = average
    flat = binary_labels(labels.ravel(), both=True)
    rules = problem.rules(Column(scores.ravel(), flat, group), known)
    return [MultiLabelRule((rule,) * count, names, average) for rule in rules]


def _refuse_other_order(of_y: AnyArray | None, of_p: AnyArray | None) -> None:
    """Refuse columns of the same names in another order: they go by position."""
    if of_y is None or of_p is None:
        return
    labels, scores = list(of_y), list(of_p)
    if labels != scores and set(labels) == set(scores):
        first = next(i for i, one in enumerate(labels) if one != scores[i])
        raise ValueError(
            f"column {first} of y is {labels[first]!r} but that of p is "
            f"{scores[first]!r}: bring them into the same order, as by y[p.columns]"
        )
