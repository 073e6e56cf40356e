"""What is reported on: rows with their scores, and how they are to be decided."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from argmetric._calibrate.applied import recalibrated
from argmetric._calibrate.resolve import FittedReference, resolve_calibrator
from argmetric._decide import Decision, decide
from argmetric._forecast.forecast import forecast
from argmetric._forecast.result import Forecast
from argmetric._input.layout import Layout, lay_out
from argmetric._input.odds import from_log_odds
from argmetric._input.types import Booleans, Floats
from argmetric._input.validation import Probabilities
from argmetric._results.display import shortest_cut
from argmetric.metrics import Metric


@dataclass(frozen=True)
class Asked:
    """One call of `decide`, with what is known besides."""

    p: Any
    metric: Metric
    groups: Any
    average: Any
    logits: bool
    calibrator: Any
    reference: Any  # a pair (y, p), or None
    limits: dict[str, Any]
    coverage: float
    y: Any = None
    pos_label: Any = None
    names: dict[str, str] = field(default_factory=dict)
    ids: Any = None  # names of the groups, where `groups` are numbers for them
    fitted: FittedReference | None = None  # what new scores are compared with

    @cached_property
    def given(self) -> Layout:
        """The rows as they were given."""
        grouping = {"groups": self.groups, "average": self.average}
        return lay_out(self.p, **grouping, logits=self.logits)

    @cached_property
    def layout(self) -> Layout:
        """The rows with calibrated scores."""
        layout = self.given
        found = resolve_calibrator(self.calibrator, None, logits=self.logits)
        if found is not None:
            layout = recalibrated(layout, found, logits=self.logits)
        return layout

    def require_scores(self) -> None:
        """Refuse scores that leave nothing to choose by, or nothing to doubt."""
        if self.layout.sparse:
            raise ValueError("a report needs a dense p: pass p.toarray()")
        scores = self.layout.scores
        low, high = float(scores.min()), float(scores.max())
        if low == high:
            raise ValueError(
                f"every score is {low:g}: there is nothing to choose by, and nothing "
                "to report"
            )
        ends = (-math.inf, math.inf) if self.logits else (0.0, 1.0)
        if np.isin(scores, ends).all():
            raise ValueError(
                "every score is 0 or 1: these are labels, not probabilities; a report "
                "needs probabilities, such as predict_proba(X)[:, 1]"
            )

    @property
    def probabilities(self) -> Floats:
        """Calibrated probabilities, in the order of the rows."""
        scores = self.layout.scores
        return from_log_odds(scores)[0] if self.logits else scores

    @property
    def score_name(self) -> str:
        name = self.names.get("score", "p")
        return "log-odds" if self.logits and name == "p" else name

    @property
    def scale(self) -> str:
        name = self.score_name
        return name if self.calibrator is None else f"calibrated {name}"

    def raw_cut(self, threshold: float | None) -> str | None:
        """A cut on the scores as they were given, where they went through a map."""
        if self.calibrator is None or threshold is None or not math.isfinite(threshold):
            return None
        scores = self.given.scores
        above = scores >= threshold
        low = float(scores.max(initial=-math.inf, where=~above))
        high = float(scores.min(initial=math.inf, where=above))
        return f"{self.score_name} ≥ {shortest_cut(threshold, low, high)}"

    @property
    def grouping(self) -> dict[str, Any]:
        """Groups that were checked and numbered once, and how they are averaged."""
        return {"groups": self.given.coded, "average": self.average}

    @property
    def scores(self) -> Any:
        """What was given, checked once where it has no columns to be named by."""
        if len(self.given.shape) == 2:
            return self.p
        return Probabilities(self.given.scores, self.logits)

    def decide(self, metric: Metric | None = None) -> Decision:
        """The decision that is reported on, or one on these rows for another metric.

        The first has a note where the scores moved since the reference.
        """
        how: dict[str, Any] = {"calibrator": self.calibrator}
        if metric is None and self.fitted is not None:
            how = {"reference": self.fitted}
        found: Decision = decide(
            self.scores,
            metric or self.metric,
            **self.grouping,
            **self.limits,
            logits=self.logits,
            **how,
        )
        return found

    def forecast(self, labels: Any) -> Forecast:
        """The score of labels, the uncertainty of the calibrator included."""
        found: Forecast = forecast(
            self.scores,
            labels,
            self.metric,
            self.coverage,
            **self.grouping,
            logits=self.logits,
            calibrator=self.calibrator,
        )
        return found

    def expected(self, labels: Any, forecast_: Forecast) -> float:
        """The expected score of labels if the calibrator's map were certain."""
        if self.calibrator is None:
            return forecast_.mean
        p = self.shaped(self.probabilities)
        found: Forecast = forecast(p, labels, self.metric, **self.grouping)
        return found.mean

    def shaped(self, values: Floats | Booleans) -> Any:
        """One value for each score, in the shape of the input."""
        return np.asarray(self.layout.restore(values))
