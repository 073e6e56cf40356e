"""What a claim is, and how its verdict follows from its figures.

A claim asks one or more questions of the figures that its experiment returns. All
answered yes: it holds. All no: it does not hold. Else it holds in part. A question of
an estimate stays open where the 95 % interval has both answers in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from harness import described, met

PAPERS = {
    "jansche2007": "Jansche (2007): A Maximum Expected Utility Framework for Binary "
    "Sequence Labeling",
    "jansche2005": "Jansche (2005): Maximum Expected F-Measure Training of Logistic "
    "Regression Models",
    "natarajan2015": "Natarajan et al. (2015): Optimal Decision-Theoretic "
    "Classification Using Non-Decomposable Performance Metrics",
    "liu2018": "Liu et al. (2018): Faster Online Learning of Optimal Threshold for "
    "Consistent F-measure Optimization",
    "daume2009": "Daumé et al. (2009): Search-based Structured Prediction",
}
GENERATED = "generated"
HOLDS, IN_PART, DOES_NOT_HOLD = "holds", "in part", "does not hold"
NOT_RUN, FAILED = "not run", "failed"
Answer = Literal["so", "not so", "open"]


@dataclass(frozen=True)
class Estimate:
    """A mean that another draw would move, and its 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Any) -> Estimate:
        """Of independent draws, two or more, by Student's t."""
        from scipy.stats import t

        values = np.asarray(values, dtype=np.float64)
        error = values.std(ddof=1) / values.size**0.5
        reach = float(t.ppf(0.975, values.size - 1) * error)
        mean = float(values.mean())
        return cls(mean, mean - reach, mean + reach)


Figure = float | Estimate
Figures = Mapping[str, Figure]


@dataclass(frozen=True)
class Ask:
    """A question of one figure: is it what the claim needs it to be?

    A fast run may leave out what only full runs are asked.
    """

    figure: str
    target: tuple[Any, ...]
    full_only: bool = False

    def answer(self, figure: Figure) -> Answer:
        values = [figure]
        if isinstance(figure, Estimate):
            values = [figure.low, figure.value, figure.high]
        found = {met(float(value), self.target) for value in values}
        return "open" if len(found) == 2 else "so" if found == {True} else "not so"

    def told(self, figure: Figure) -> str:
        return f"{self.figure} {shown(figure)} (asked {described(self.target)})"


def at_most(figure: str, bound: float, **options: bool) -> Ask:
    return Ask(figure, ("<=", bound), **options)


def at_least(figure: str, bound: float, **options: bool) -> Ask:
    return Ask(figure, (">=", bound), **options)


def within(figure: str, low: float, high: float, **options: bool) -> Ask:
    return Ask(figure, ("within", low, high), **options)


@dataclass(frozen=True)
class Claim:
    """One thing that a paper says, and the experiment that asks whether it is so.

    `printed` are the paper's figures, by the names of ours where there are such.
    `measure` is told whether to be fast, and returns our figures.
    """

    name: str
    place: str
    says: str
    measure: Callable[[bool], Figures]
    asks: Sequence[Ask]
    data: str = GENERATED
    seeds: str = "none"
    printed: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""

    @property
    def paper(self) -> str:
        return self.name.split("-")[0]

    def verdict(self, figures: Figures, *, fast: bool) -> tuple[str, str]:
        """The verdict, and the questions by how they were answered."""
        by_answer: dict[Answer, list[str]] = {}
        for ask in self.asks:
            if fast and ask.full_only and ask.figure not in figures:
                continue
            figure = figures[ask.figure]
            by_answer.setdefault(ask.answer(figure), []).append(ask.told(figure))
        why = "; ".join(
            f"{answer}: {', '.join(by_answer[answer])}"
            for answer in ("not so", "open", "so")
            if answer in by_answer
        )
        if set(by_answer) == {"so"}:
            return HOLDS, why
        return DOES_NOT_HOLD if set(by_answer) == {"not so"} else IN_PART, why


def shown(figure: Figure) -> str:
    """Four digits; an estimate with its interval."""
    if isinstance(figure, Estimate):
        return f"{figure.value:.4g} ({figure.low:.4g} to {figure.high:.4g})"
    return f"{figure:.4g}"
