"""Result of `sets.decide`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._ground.display import (
    Field,
    Headline,
    Result,
    documented,
    metric_fields,
    metric_title,
    number,
    with_interval,
)
from argmetric._ground.pictures import drawing
from argmetric._ground.types import Axes, Floats, Integers, Interval
from argmetric.metrics import Metric


@dataclass(frozen=True, repr=False, eq=False)
class SetDecision(Result):
    """Sets chosen from samples, with a forecast of their score.

    Parameters
    ----------
    labels : frozenset, list or dict of those, or array
        The chosen sets, in the form of the samples.
    metric : Metric
        The metric that was maximised.
    expected_each, bound_each : ndarray of shape (n_questions,)
        Mean score over the samples, which was maximised, and an upper bound on that of
        any set. They are equal if the maximum is exact.
    vote_share : float, optional
        Minimum share of the samples that name an item, if sets were chosen by votes
        because that scores more on the reference; inf if empty sets score most.
    mean_each : ndarray of shape (n_questions,)
        Forecast score: against samples that were left out of the choice, recalibrated
        on the reference if there is one.
    interval : (float, float)
        Interval that holds the actual mean score with probability `coverage`.
    coverage : float
        Nominal coverage of the interval.
    sizes : ndarray of shape (n_questions,)
        Number of items of each set.
    n_samples, n_labelled : int
        Smallest number of samples of a question; number of answers in the reference.
    notes : tuple of str, default=()
        Warnings about the forecast.

    Examples
    --------
    >>> import argmetric as am
    >>> decision = am.sets.decide([{"rome", "paris"}, {"rome"}, {"rome", "oslo"}])
    >>> decision.labels, decision.sizes.tolist(), decision.n_samples
    (frozenset({'rome'}), [1], 3)
    """

    labels: Any
    metric: Metric
    expected_each: Floats
    bound_each: Floats
    mean_each: Floats
    interval: Interval
    coverage: float
    sizes: Integers
    n_samples: int
    n_labelled: int
    vote_share: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Return the number of questions."""
        return self.sizes.size

    @property
    def expected(self) -> float:
        """Return the mean score over the samples.

        It was maximised, so it is optimistic.
        """
        return float(self.expected_each.mean())

    @property
    def bound(self) -> float:
        """Return an upper bound on `expected`; equal if the sets are the best."""
        return float(self.bound_each.mean())

    @property
    def mean(self) -> float:
        """Return the forecast score, averaged over the questions."""
        return float(self.mean_each.mean())

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions behind the forecast score."""
        if self.n_labelled:
            return ("new questions are like those of the reference",)
        return ("the true set is distributed as the samples of the model are",)

    def fields(self) -> list[Field]:
        """Return all fields of the result, in the order of its summary."""
        gap = self.bound - self.expected
        exact = "the best of all sets" if gap < 1e-9 else f"at most {gap:.3f} below it"
        one = self.n == 1
        return [
            *self._keys("mean", "interval"),
            self._field("expected", "mean over the samples", number),
            self._field("bound", "maximum", f"{{:.3f}} ({exact})"),
            *metric_fields(self.metric),
            Field("n", self.n, None if one else "questions", f"{self.n:,}"),
            Field(
                "sizes",
                self.sizes,
                "items chosen",
                f"{self.sizes[0]:,}" if one else f"{self.sizes.mean():.3g} on average",
            ),
            self._field("n_samples", "samples of each", "{:,} or more"),
            *self._keys("coverage", "n_labelled", "vote_share"),
            *self._keys("expected_each", "mean_each"),
            Field("notes", self.notes),
        ]

    def _headline(self) -> Headline:
        interval = with_interval(self.interval, self.coverage)
        what = "" if self.n == 1 else f"{self.n:,} sets, "
        name = f"{what}{metric_title(self.metric.name)} to expect"
        return Headline(name, number(self.mean), interval)

    def _columns(self) -> dict[str, Any]:
        return {
            "size": self.sizes,
            "expected": self.expected_each,
            "bound": self.bound_each,
            "mean": self.mean_each,
        }

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the scores to expect of all questions, sorted, and their mean."""
        with drawing(ax, xlabel="questions, sorted", ylabel=self.metric.name) as ax:
            at = np.arange(1, self.n + 1)
            for values, style, label in (
                (self.mean_each, "o-", "score to expect"),
                (self.expected_each, ".", "mean over samples"),
            ):
                ax.plot(at, np.sort(values), style, ms=3, label=label)
            ax.axhspan(*self.interval, alpha=0.2, label=f"{self.coverage:.0%} interval")
            ax.legend()
        return ax
