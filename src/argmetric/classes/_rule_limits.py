"""Limits of the classes of a rule: most rows of each, and least recalls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from argmetric._expected import TIE
from argmetric._ground.arguments import shown
from argmetric._ground.types import Floats, Integers
from argmetric.classes._input import of_each_class


@dataclass(frozen=True)
class ClassLimits:
    """Limits on the rows that weights are tuned on, one number for every class."""

    most: Floats  # largest share of all rows that is given the class; inf: no limit
    recall: Floats  # least recall; 0: no limit

    def excess(
        self, tp: Floats, k: Floats, t: Any, n: Any, c: Integers | int | slice
    ) -> Floats:
        """Rows by which classes c miss: (k - most·n)₊ + (recall·t - tp)₊."""
        over = k - self.most[c] * n * (1.0 + TIE)
        short = self.recall[c] * t * (1.0 - TIE) - tp
        return np.asarray(np.maximum(over, 0.0) + np.maximum(short, 0.0))

    def of_table(self, table: Floats) -> Floats:
        """The excess of every class in a table of counts."""
        tp, k, t = np.diagonal(table), table.sum(axis=0), table.sum(axis=1)
        return self.excess(tp, k, t, t.sum(), slice(None))

    def refuse(self, table: Floats, classes: tuple[Any, ...]) -> NoReturn:
        """Say which class is furthest from its limits in the nearest table."""
        c = int(np.argmax(self.of_table(table)))
        tp, k, t = table[c, c], table[:, c].sum(), table[c].sum()
        found = f"class {shown(classes[c])} is left with {k:g} rows"
        most = self.most[c] * table.sum()
        if k > most * (1.0 + TIE):
            found += f", {k - most:.4g} more than max_per_class={most:.4g}"
        if tp < self.recall[c] * t * (1.0 - TIE):
            found += (
                f" and a recall of {tp / t:.3g} ({tp:g} of {t:g}) where min_recall "
                f"asks for {self.recall[c]:g}"
            )
        raise ValueError(
            "no weights were found that keep the limits together on these rows: "
            f"{found}; lower min_recall or raise max_per_class"
        )


def check_class_limits(
    max_per_class: Any,
    min_recall: Any,
    classes: tuple[Any, ...],
    true: Floats | Integers,
) -> ClassLimits | None:
    """Limits of each class, given as for `decide`; `true`: rows of each class."""
    if max_per_class is None and min_recall is None:
        return None
    n = float(true.sum())
    most = of_each_class(max_per_class, classes, "max_per_class", np.inf, int(n))
    recall = of_each_class(min_recall, classes, "min_recall", 0.0)
    if (recall > 1.0).any():
        raise ValueError(f"min_recall must lie from 0 to 1, not at {recall.max():g}")
    if most.sum() < n * (1.0 - TIE):
        raise ValueError(
            f"max_per_class leaves room for {most.sum():g} rows, but there are {n:g}: "
            "raise it"
        )
    few = np.flatnonzero(most * (1.0 + TIE) < recall * true)
    if few.size:
        c = int(few[0])
        raise ValueError(
            f"class {shown(classes[c])} has {true[c]:g} rows: a recall of "
            f"{recall[c]:g} needs {recall[c] * true[c]:.4g} of them, and max_per_class "
            f"leaves {most[c]:g}"
        )
    return ClassLimits(np.where(most < n, most / n, np.inf), recall)


def limits_note(max_per_class: Any, min_recall: Any) -> str:
    given = {"max_per_class": max_per_class, "min_recall": min_recall}
    told = (f"{name}={one}" for name, one in given.items() if one is not None)
    return "limits hold on these rows: " + ", ".join(told)
