"""What a claim is, and how its verdict follows from its figures.

A claim asks one or more questions of the figures that its experiment returns. Each is
answered "so", "not so", or, where the 95 % interval of an estimate has both answers in
it, "open". Then the verdict is

- holds: every answer is "so";
- does not hold: every answer is "not so";
- open: no answer is "so", and at least one is open;
- in part: some answers are "so", and others are not;
- not contradicted: every answer is "so", and would be so too if a term of the claim
  were deleted: the experiment does not see that term;
- fast: not decided: a fast run left a question out or left one open, and a full run may
  answer it. Nothing is concluded from a part of the questions;
- not testable: the data, systems or printed symbols that the claim is about are not at
  hand. The figures are shown with the reason, and no question is judged.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
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
OPEN, NOT_DECIDED = "open", "fast: not decided"
NOT_CONTRADICTED, NOT_TESTABLE = "not contradicted", "not testable"
NOT_RUN, FAILED = "not run", "failed"
VERDICTS = (
    HOLDS,
    IN_PART,
    DOES_NOT_HOLD,
    OPEN,
    NOT_CONTRADICTED,
    NOT_TESTABLE,
    NOT_DECIDED,
    NOT_RUN,
    FAILED,
)
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
Measure = Callable[[bool], Figures]


@dataclass(frozen=True)
class Ask:
    """A question of one figure: is it what the claim needs it to be?

    A fast run leaves out the questions that are `full_only`, even where it has a figure
    for them.
    """

    figure: str
    target: tuple[Any, ...]
    full_only: bool = False

    def answer(self, figure: Figure) -> Answer:
        values: list[Any] = [figure]
        if isinstance(figure, Estimate):
            # An interval may reach past both ends of a range: its nearest values count.
            inside = np.clip(self.target[1:], figure.low, figure.high)
            values = [figure.low, figure.value, figure.high, *inside]
        found = {met(float(value), self.target) for value in values}
        return "open" if len(found) == 2 else "so" if found == {True} else "not so"

    def wrong(self, low: float = -np.inf, high: float = np.inf) -> float | None:
        """A value from `low` to `high` that answers "not so"; None: it cannot fail."""
        for bound in self.target[1:]:
            step = max(1.0, abs(bound))
            for value in (bound - step, bound + step):
                inside = min(max(value, low), high)
                if np.isfinite(inside) and not met(inside, self.target):
                    return inside
        return None

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
    `measure` is told whether to be fast, and returns our figures. `deleted` asks the
    same of figures that were measured with a term of the claim left out: the answer has
    to be "not so", or the experiment does not see the term. `fails_on` returns figures
    of a case made to fail the claim: a broken algorithm, or data without what the claim
    needs. `not_testable` says why nothing can be concluded.
    """

    name: str
    place: str
    says: str
    measure: Measure
    asks: Sequence[Ask]
    data: str = GENERATED
    seeds: str = "none"
    printed: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""
    deleted: Sequence[Ask] = ()
    fails_on: Callable[[], Figures] | None = None
    not_testable: str = ""

    @property
    def paper(self) -> str:
        return self.name.split("-")[0]

    def answers(self, figures: Figures, *, fast: bool) -> dict[str, str]:
        """The answer to each question, by figure; "left out" where a fast run asks not.

        There are none where the claim is not testable.
        """
        if self.not_testable:
            return {}
        return {
            ask.figure: "left out"
            if fast and ask.full_only
            else ask.answer(figures[ask.figure])
            for ask in self.asks
        }

    def verdict(self, figures: Figures, *, fast: bool) -> tuple[str, str]:
        """The verdict, and the questions by how they were answered."""
        if self.not_testable:
            return NOT_TESTABLE, self.not_testable
        answers = self.answers(figures, fast=fast)
        told: dict[str, list[str]] = {}
        for ask in self.asks:
            answer = answers[ask.figure]
            left_out = answer == "left out"
            line = ask.figure if left_out else ask.told(figures[ask.figure])
            told.setdefault(answer, []).append(line)
        why = "; ".join(
            f"{answer}: {', '.join(told[answer])}"
            for answer in ("not so", "open", "so", "left out")
            if answer in told
        )
        verdict = _verdict(set(told), fast=fast)
        if verdict == HOLDS and (unseen := self.unseen(figures)):
            return NOT_CONTRADICTED, f"{why}; not seen: {', '.join(unseen)}"
        return verdict, why

    def unseen(self, figures: Figures) -> list[str]:
        """Questions that are not answered "not so" with a term of the claim deleted."""
        found = ((ask, figures[ask.figure]) for ask in self.deleted)
        return [ask.told(one) for ask, one in found if ask.answer(one) != "not so"]


DECLARED = tomllib.loads(Path(__file__).with_name("claims.toml").read_text("utf-8"))
CLAIMS: dict[str, Claim] = {}  # those that an experiment was declared for


def declare(name: str, **more: Any) -> Callable[[Measure], Measure]:
    """Take a function as the experiment of the claim of this name.

    claims.toml has the words of the claim and its questions, but for those that follow
    from a product of systems and data: these are passed as `asks`.
    """

    def take(measure: Measure) -> Measure:
        options = DECLARED[name] | more
        for key in {"asks", "deleted"} & DECLARED[name].keys():
            options[key] = [question(*row) for row in DECLARED[name][key]]
        CLAIMS[name] = Claim(name, measure=measure, **options)
        return measure

    return take


def question(figure: str, *target: Any) -> Ask:
    """Read a row of claims.toml: a figure and its target, and perhaps "full only"."""
    full_only = target[-1] == "full only"
    return Ask(figure, target[:-1] if full_only else target, full_only)


def _verdict(answers: set[str], *, fast: bool) -> str:
    if fast and answers & {"left out", "open"}:
        return NOT_DECIDED
    if answers == {"so"}:
        return HOLDS
    if answers == {"not so"}:
        return DOES_NOT_HOLD
    return IN_PART if "so" in answers else OPEN


def shown(figure: Figure) -> str:
    """Four digits; an estimate with its interval."""
    if isinstance(figure, Estimate):
        return f"{figure.value:.4g} ({figure.low:.4g} to {figure.high:.4g})"
    return f"{figure:.4g}"
