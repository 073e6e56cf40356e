"""What a comparison says of a model, and of two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from argmetric._ground.display import Field, Result

SURE, LIKELY = 0.99, 0.9  # probabilities from which a verdict says so
VERDICTS = ("sure", "likely", "cannot tell", "same decisions")


class ModelScore(NamedTuple):
    """The score of a model: what is expected, and an interval."""

    mean: float
    interval: tuple[float, float]


class ForecastScore(NamedTuple):
    """The score of a model as `forecast` has it, without labels and reference."""

    mean: float
    interval: tuple[float, float]
    moved: float  # from the mean under the joint probabilities of all models


class Best(NamedTuple):
    """The model that is most likely the best, and how likely."""

    model: str
    probability: float


class Look(NamedTuple):
    """What was known of a difference after so many labels."""

    n_labels: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True, repr=False, eq=False)
class Difference(Result):
    """The paired difference of the scores of two models on the same rows.

    Parameters
    ----------
    first, second : str
        The models: the difference is the score of the first minus that of the second.
    mean : float
        The expected difference.
    interval : tuple of two floats
        Interval that contains the difference with the probability `coverage`.
    coverage : float
        The probability asked for.
    probability : float
        Posterior probability that the first model is better. It is no p-value.

    Examples
    --------
    >>> import argmetric as am
    >>> am.Difference("a", "b", 0.05, (0.02, 0.08), 0.9, 0.998).verdict
    'sure'
    """

    first: str
    second: str
    mean: float
    interval: tuple[float, float]
    coverage: float
    probability: float

    @property
    def verdict(self) -> str:
        """How sure it is which model is better: one of four words."""
        if self.mean == 0.0 and self.interval == (0.0, 0.0):
            return VERDICTS[3]
        most = max(self.probability, 1.0 - self.probability)
        return VERDICTS[0 if most >= SURE else 1 if most >= LIKELY else 2]

    def _answer(self, title: str, *, greater_is_better: bool, several: bool) -> str:
        """Return which model is better in one sentence; `title`: of the metric.

        Of several models the second is named too.
        """
        names, surety = (self.first, self.second), self.probability
        if self.verdict == VERDICTS[3]:
            return f"{names[0]} and {names[1]} make the same decisions"
        sign, (low, high) = 1 if greater_is_better else -1, self.interval
        gap, ends = sign * self.mean, sorted((sign * low, sign * high))
        open_ = self.verdict == VERDICTS[2]
        if gap < 0.0 if open_ else surety < 0.5:
            names, gap, ends = names[::-1], -gap, [-ends[1], -ends[0]]
            surety = 1.0 - surety
        by = f"by {gap:.3f} {title}"
        if low < high:
            by = f"{by} ({ends[0]:+.3f} to {ends[1]:+.3f})"
        if open_:
            ahead = f"ahead of {names[1]}" if several else "ahead"
            return f"Cannot tell yet: {names[0]} {ahead} {by}"
        how = "better" if self.verdict == VERDICTS[0] else "likely better"
        how = f"{how} than {names[1]}" if several else how
        return f"{names[0]} is {how} {by}, probability {_probability(surety)}"

    def _title(self) -> str:
        low, high = self.interval
        gap = f"{self.first} - {self.second}: {self.mean:+.4f}"
        return f"{gap} ({low:+.4f} to {high:+.4f}), {self.verdict}"

    def fields(self) -> list[Field]:
        """Return all fields of the result.

        Returns
        -------
        list of Field
            In the order of the summary.
        """
        within = f"{self.coverage:.0%} interval"
        return [
            *self._keys("first", "second", "coverage"),
            self._field("mean", f"{self.first} - {self.second}", "{:+.4f}"),
            self._field("interval", within, "{0[0]:+.4f} to {0[1]:+.4f}"),
            self._field("probability", f"P({self.first} is better)", "{:.3f}"),
            self._field("verdict", "verdict"),
        ]


def _probability(value: float) -> str:
    """Return a probability of one half or more with three digits."""
    text = f"{value:.3f}"
    return "over .999" if text == "1.000" else text.removeprefix("0")
