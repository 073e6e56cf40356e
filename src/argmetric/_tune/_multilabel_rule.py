"""Rules for several labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from argmetric._input.labels import plain_label
from argmetric._input.types import Booleans, Floats
from argmetric._input.validation import same_kind, to_floats
from argmetric._results.display import Lines
from argmetric._results.pictures import bars_size, draw_bars, drawing
from argmetric._results.saving import plain
from argmetric._tune._rule import Rule
from argmetric._tune._saved_rule import SavedRule
from argmetric.metrics import Metric

SHOWN = 8  # labels in the printed form


@dataclass(frozen=True, repr=False, eq=False)
class MultiLabelRule(SavedRule):
    """One rule per label, or one for all of them.

    Attributes
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
    names: tuple[Any, ...]
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
        """What was tuned for."""
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
    def thresholds(self) -> Floats:
        """One per label."""
        return np.array([rule.threshold for rule in self.rules])

    def applies(self, p: Any) -> Booleans:
        """Which cells are positive.

        Parameters
        ----------
        p : array-like of shape (n, labels)
            Scores as they were tuned on.
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

    def apply(self, p: Any) -> Any:
        """Labels 0 and 1 of every cell, in the kind of the input.

        Parameters
        ----------
        p : array-like of shape (n, labels)
            Scores as they were tuned on.
        """
        return same_kind(p)(self.applies(p).astype(np.int64))

    def to_dict(self) -> dict[str, Any]:
        """Everything but the curves, for JSON."""
        kept = self.rules if self.average == "macro" else self.rules[:1]
        return {
            **self._header(),
            "average": self.average,
            "names": plain(self.names, "a name"),
            "rules": [rule.to_dict() for rule in kept],
        }

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> MultiLabelRule:
        for one in values["rules"]:
            if cls._kind_of(one) != Rule.kind:
                raise ValueError("a saved rule for several labels holds odd rules")
        rules = [Rule._from_plain(one) for one in values["rules"]]
        if values["average"] != "macro":
            rules = rules * len(values["names"])
        return cls(tuple(rules), tuple(values["names"]), values["average"])

    def _title(self) -> str:
        return f"MultiLabelRule({len(self.rules)} labels, metric={self.metric.name})"

    def _lines(self) -> Lines:
        lines = [("score", f"{self.score:.4f} ({self.average})")]
        if not math.isnan(self.optimism):
            text = f"{self.score - self.optimism:.4f} (optimism {self.optimism:+.4f})"
            lines.append(("out of fold", text))
        if self.average != "macro":
            rule = self.rules[0]
            text = f"{rule._scale} {rule.operator} {rule.threshold:.4g}"
            return [*lines, ("all labels", text)]
        for name, rule in list(zip(self.names, self.rules, strict=True))[:SHOWN]:
            text = f"{rule._scale} {rule.operator} {rule.threshold:.4g}"
            lines.append((str(name), f"{text}, score {rule.score:.4f}"))
        if len(self.rules) > SHOWN:
            lines.append(("...", f"{len(self.rules) - SHOWN} more labels"))
        return lines

    def plot(self, ax: Any = None) -> Any:
        """Draw the score of every label, with its threshold.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        values = np.array([rule.score for rule in self.rules])
        names = [
            f"{name} ({rule._scale} {rule.operator} {rule.threshold:.3g})"
            for name, rule in zip(self.names, self.rules, strict=True)
        ]
        size = bars_size(len(names))
        with drawing(ax, size, xlabel=self.metric.name, title=self._title()) as ax:
            draw_bars(ax, names, values)
        return ax
