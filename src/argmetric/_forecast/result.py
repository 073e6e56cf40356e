"""What `forecast` gives back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from argmetric._input.types import Floats
from argmetric._results.discrete import ScoreLaw
from argmetric._results.display import Result
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric._calibrate.share import EstimatedShare


@dataclass(frozen=True, repr=False, eq=False)
class Forecast(Result, ScoreLaw):
    """The distribution of the score of labels, before the true labels are known.

    Attributes
    ----------
    mean : float
        What is forecast: the expected score, with a reference over all maps that it
        allows. `Decision.expected` is under one of them.
    interval : tuple of two floats
        Central interval that contains the score with probability `coverage` or more:
        with 90 %, the score is below it with a probability of at most 5 %, and above
        it with at most 5 %.
    coverage : float
        The probability that the interval contains the score.
    interval_given_map : tuple of two floats, or None
        The interval that would hold if the calibrator and an estimated share of
        positives were exact; the difference to `interval` is their uncertainty. None
        without a calibrator, or if its uncertainty is unknown.
    std : float
        Standard deviation of the score.
    values, probabilities : ndarray
        The distribution of the score: its values, ascending, and their probabilities.
    p_undefined : float
        Probability that the metric is 0/0 and left out (`zero_division=nan`).
    metric : Metric
        What is forecast.
    n, n_positives : int
        Number of labels, and of those that are 1.
    n_groups : int or None
        Number of segments; None for a single vector.
    expected_positives : float
        Expected number of actual positives.
    assumptions : tuple of str
        Conditions under which the forecast is valid.
    share : EstimatedShare or None
        The share of positives that `prior="estimate"` found: `mean`, an interval from
        `low` to `high` of the same coverage, and the share in the `reference`.
    notes : tuple of str
        Signs that an assumption fails, such as scores that moved since the reference.
    """

    mean: float
    interval: tuple[float, float]
    coverage: float
    std: float
    values: Floats
    probabilities: Floats
    p_undefined: float
    metric: Metric
    n: int
    n_positives: int
    n_groups: int | None
    expected_positives: float
    assumptions: tuple[str, ...]
    interval_given_map: tuple[float, float] | None = None
    share: EstimatedShare | None = None
    notes: tuple[str, ...] = ()

    @property
    def share_of_map(self) -> float | None:
        """Share of the interval's width that is the map's own uncertainty."""
        if self.interval_given_map is None:
            return None
        width, given = (
            high - low for low, high in (self.interval, self.interval_given_map)
        )
        return max(0.0, 1.0 - given / width) if width > 0.0 else 0.0

    def _lines(self) -> list[tuple[str, str]]:
        low, high = self.interval
        lines = [
            ("metric", self.metric.name),
            ("mean", f"{self.mean:.4f}"),
            (f"{self.coverage:.0%} interval", f"{low:.4f} to {high:.4f}"),
            ("labels", f"{self.n_positives:,} positive of {self.n:,}"),
            ("expected positives", f"{self.expected_positives:.1f}"),
        ]
        if self.interval_given_map is not None:
            a, b = self.interval_given_map
            share = f"{self.share_of_map:.0%} of the width is the map's"
            lines.insert(3, ("given the map", f"{a:.4f} to {b:.4f}; {share}"))
        if self.share is not None:
            lines.append(("share", str(self.share)))
        if self.n_groups is not None:
            lines.insert(1, ("mean over", f"{self.n_groups:,} groups"))
        if self.p_undefined > 0:
            lines.append(("left out (0/0)", f"with probability {self.p_undefined:.3g}"))
        lines.append(("assuming", "; ".join(self.assumptions)))
        return lines

    def _notes(self) -> tuple[str, ...]:
        return self.notes

    def to_dict(self) -> dict[str, Any]:
        """Everything but the law, for JSON."""
        return {
            "metric": self.metric.name,
            "zero_division": (
                None
                if math.isnan(self.metric.zero_division)
                else self.metric.zero_division
            ),
            "mean": self.mean if math.isfinite(self.mean) else None,
            "interval": [x if math.isfinite(x) else None for x in self.interval],
            "coverage": self.coverage,
            "interval_given_map": self.interval_given_map
            and list(self.interval_given_map),
            "share_of_map": self.share_of_map,
            "std": self.std if math.isfinite(self.std) else None,
            "p_undefined": self.p_undefined,
            "n": self.n,
            "n_positives": self.n_positives,
            "n_groups": self.n_groups,
            "expected_positives": self.expected_positives,
            "share": None if self.share is None else self.share._asdict(),
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the law of the score with its mean and interval.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from argmetric._forecast.plot import ForecastDisplay

        return ForecastDisplay(self).plot(ax).ax_
