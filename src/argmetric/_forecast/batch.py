"""Labels that are scored, with all that is known of their rows."""

from __future__ import annotations

from dataclasses import dataclass

from argmetric._forecast.groups import JudgedGroups, law_of_one
from argmetric._forecast.laws import ValueLaw
from argmetric._input.layout import Layout
from argmetric._input.odds import logit
from argmetric._input.segments import Segments
from argmetric._input.types import Booleans, Floats
from argmetric.metrics import Metric


@dataclass(frozen=True)
class Batch:
    """Rows whose labels are scored."""

    metric: Metric  # what scores them
    layout: Layout  # how they lie in segments; its scores are those before any map
    # p, q: chances of a positive and of a negative, after the map
    p: Floats
    q: Floats
    # known, selected: labels that have come, nan for the others; and those that are
    # scored
    known: Floats
    selected: Booleans
    deviation: float  # of the effect that the rows of a segment share
    prior: float | None  # the share of positives, where it is given
    logits: bool  # whether scores are log-odds

    @property
    def n(self) -> int:
        """Rows, with the absent ones of a sparse matrix."""
        return int(self.layout.sizes.sum())

    @property
    def odds(self) -> Floats:
        """Log-odds before the map."""
        scores = self.layout.scores
        return scores if self.logits else logit(scores)

    def law(self) -> tuple[ValueLaw, float]:
        """Law of the score given the chances, and the expected positives."""
        metric, layout = self.metric, self.layout
        p, q, known, selected = self.p, self.q, self.known, self.selected
        if layout.single:
            n = int(layout.sizes[0])
            return law_of_one(metric, n, p, q, known, selected, self.deviation)
        from argmetric._forecast.means import law_of_mean

        if layout.rows is not None:
            p, q, known = (one[layout.rows] for one in (p, q, known))
            selected = selected[layout.rows]
        rows = Segments(p, q, layout.indptr, layout.sizes)
        return law_of_mean(JudgedGroups(metric, rows, known, selected, self.deviation))
