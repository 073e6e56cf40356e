"""Rows with predictions whose score is forecast."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from argmetric._forecast.distributions import ScorePMF
from argmetric._forecast.groups import MetricGroups
from argmetric._ground.groups import Segments
from argmetric._ground.layout import Layout
from argmetric._ground.odds import logit
from argmetric._ground.types import Booleans, Floats
from argmetric.metrics import Metric, MissedPositives


@dataclass(frozen=True)
class Batch:
    """Rows with predictions whose score is forecast.

    Attributes
    ----------
    metric : Metric
    layout : Layout
        How the rows lie in segments; its scores are those before calibration.
    p, q : ndarray of shape (n_rows,)
        Calibrated probabilities of a positive and of a negative.
    known : ndarray of shape (n_rows,)
        True labels, nan where unknown.
    selected : ndarray of bool, shape (n_rows,)
        Rows that are predicted positive.
    deviation : float
        Standard deviation of the random effect that the rows of a segment share.
    prior : float or None
        The prevalence, where it is known.
    logits : bool
        Whether scores are log-odds.
    """

    metric: Metric
    layout: Layout
    p: Floats
    q: Floats
    known: Floats
    selected: Booleans
    deviation: float
    prior: float | None
    logits: bool

    @property
    def n(self) -> int:
        """Number of rows, with the absent ones of a sparse matrix."""
        return int(self.layout.sizes.sum())

    @property
    def odds(self) -> Floats:
        """Log-odds before calibration."""
        scores = self.layout.scores
        return scores if self.logits else logit(scores)

    def score_pmf(self) -> tuple[ScorePMF, float]:
        """Return the distribution of the score under p, and the expected positives."""
        metric = self.metric
        found, positives = self._pmf_of(metric)
        if isinstance(metric, MissedPositives) and not isinstance(metric.missed, int):
            # Mixed over equally likely numbers of missed positives; the mean is exact
            parts = metric.parts(alone=self.layout.single)
            each = [self._pmf_of(part)[0] for part in parts]
            defined = (1.0 - found.p_undefined) / len(each)
            atoms = [(x.values, defined * x.probabilities) for x in each]
            lost = np.full(1, math.nan), np.full(1, found.p_undefined)
            found = replace(ScorePMF.from_atoms([*atoms, lost]), mean=found.mean)
        return found, positives

    def _pmf_of(self, metric: Metric) -> tuple[ScorePMF, float]:
        """Return the distribution of a metric, and the expected positives."""
        layout = self.layout
        order = slice(None) if layout.rows is None else layout.rows
        rows = Segments(self.p[order], self.q[order], layout.indptr, layout.sizes)
        known, selected = self.known[order], self.selected[order]
        groups = MetricGroups(metric, rows, known, selected, self.deviation)
        if layout.single:
            return groups.pmf(0)
        from argmetric._forecast.group_mean import mean_distribution  # loads much

        return mean_distribution(groups)
