"""Forecasts of several decisions on the same rows, from the same posterior draws.

A decision maximises the expected score S under the fitted calibrator; a forecast is a
mean over all calibrators that the reference allows. In draw d, where rows are positive
with the probabilities p_d, the score of labels is about m(p_d): the metric of expected
counts, or with groups the expected mean over a sample of them. So

    forecast of labels = S(labels) + gap(labels) + c,
    gap(labels) = mean over d of m(p_d) - m(p),

where p are the probabilities of the fitted calibrator, and c makes it exact for the
labels that were chosen. All labels have the draws of the chosen ones: their difference
has no noise of its own. Forecasts made one by one put the cut at 0.5 above decisions
that beat it on held-out labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.resolve import calibrated_scores
from argmetric._forecast.batch import Batch
from argmetric._forecast.draws import DRAWS, Posterior, ScoreBins, sums
from argmetric._forecast.posterior_score import (
    MOVES,
    GroupSample,
    distribution_of_draws,
    fitted_probabilities,
)
from argmetric._ground.layout import Layout, lay_out
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import Metric, Utility

CUTS = {"best_cut": "best single cut", "cut_half": "cut at 0.5"}  # rivals, for people
AHEAD = (  # of other labels: their forecast, "this" or "the best", and its forecast
    "forecast {}, {} decision {}: it is the best under the fitted calibrator, and a "
    "forecast is the mean over all that the labelled rows allow"
)


class SharedDraws:
    """Posterior draws for rows of which some are `chosen` as positive.

    Parameters
    ----------
    layout : Layout
        The rows, with scores as they were before the calibrator.
    chosen : ndarray of bool, shape (n_rows,)
        Labels whose forecast is known.
    reference : Calibrator
        One that has draws.
    prior : float, optional
        The prevalence, where it is known.
    logits : bool
        Whether scores are log-odds.
    """

    def __init__(
        self,
        layout: Layout,
        chosen: Booleans,
        *,
        reference: Calibrator,
        prior: float | None = None,
        logits: bool,
    ) -> None:
        unknown = np.full(layout.scores.size, np.nan)
        metric: Any = None  # set by `mean`
        rows = unknown, unknown, unknown, chosen
        batch = Batch(metric, layout, *rows, 0.0, prior, logits)
        self.batch, self.layout = batch, layout
        self.bins = ScoreBins.of(batch.odds, chosen, unknown, reference)
        draws = DRAWS if layout.single else MOVES
        posterior = Posterior(reference)
        self.p = posterior.probabilities(self.bins, prior, batch.n, draws=draws)
        self.fitted = fitted_probabilities(batch, self.bins, reference)

    @cached_property
    def moves(self) -> Floats:
        """Mean probability of each row over the draws less the fitted, (n_rows,)."""
        moves: Floats = (self.p.mean(axis=1) - self.fitted[:, 0])[self.bins.place]
        return moves

    def mean(self, metric: Metric) -> float:
        """Return the forecast of the chosen labels of one vector for a metric."""
        batch = replace(self.batch, metric=metric)
        return float(distribution_of_draws(batch, self.bins, self.p).mean)

    def gap(self, labels: Booleans, metric: Metric) -> float:
        """Return the correction of the expected score of labels, of shape (n_rows,)."""
        layout, place = self.layout, self.bins.place
        if isinstance(metric, Utility) and metric._by_rows:
            return float(metric._weights(labels) @ self.moves)
        if layout.single:
            counts = np.bincount(place, labels, self.bins.rows.size)[None]
            return float(self.gaps(counts.astype(np.float64), metric)[0])
        rows = layout.segment_rows(0, layout.sizes.size)
        known = self.batch.known[rows]
        segments = layout.indptr, layout.sizes
        sample = GroupSample(metric, place[rows], labels[rows], known, segments)
        means = [sample.moments(column)[0] for column in self.p.T]
        return float(np.mean(means)) - sample.moments(self.fitted[:, 0])[0]

    def counts_along(self, order: Integers, k: Integers) -> Floats:
        """Return the rows of each bin among the first k of `order`, (n_k, n_bins).

        The numbers k ascend.
        """
        size = self.bins.rows.size
        step = np.searchsorted(k, np.arange(order.size), side="right")
        code = step * size + self.bins.place[order]
        counts = np.bincount(code, minlength=(k.size + 1) * size)
        return np.cumsum(counts.reshape(-1, size)[: k.size], axis=0).astype(np.float64)

    def gaps(self, counts: Floats, metric: Metric) -> Floats:
        """Return the correction for labels of one vector, given as `counts_along`."""
        k, n = counts.sum(axis=1)[:, None], float(self.batch.n)

        def mean(p: Floats) -> Floats:
            hits, rest = sums(counts, p), sums(self.bins.rows - counts, p)
            values = metric.value(hits, k, hits + rest, n)
            return np.asarray(values.mean(axis=1))

        return np.nan_to_num(mean(self.p) - mean(self.fitted))


def cut_forecasts(decision: Any, mean: float) -> dict[str, float]:
    """Return forecasts of "best_cut" and "cut_half" of a decision.

    Parameters
    ----------
    decision : Decision
        As `decide` returned it.
    mean : float
        The forecast of its labels.
    """
    asked, metric = decision._asked, decision.metric
    cuts = {name: getattr(decision, name) for name in ("best_cut", "cut_half")}
    calibrator, logits = asked["calibrator"], asked["logits"]
    if calibrator is None or not calibrator._uncertain:
        return {name: cut.expected for name, cut in cuts.items()}
    grouping = {name: asked[name] for name in ("groups", "average")}
    layout = lay_out(asked["p"], logits=logits, **grouping)
    chosen = layout.select(np.asarray(decision.labels)) == 1
    draws = SharedDraws(layout, chosen, logits=logits, **asked["forecast"])
    rest = mean - decision.expected - draws.gap(chosen, metric)
    scores = {"cut_half": layout.scores}
    scores["best_cut"] = calibrated_scores(calibrator, layout.scores, logits=logits)
    return {
        name: shift_scores(
            cut.expected,
            draws.gap(scores[name] >= cut.threshold, metric) + rest,
            metric,
        )
        for name, cut in cuts.items()
    }


def ahead_of(
    decision: Any,
    mean: float,
    forecasts: dict[str, float],
    write: Callable[[float], str],
) -> Iterator[str]:
    """Yield names of cuts whose forecast exceeds that of a decision fitted to p.

    Parameters
    ----------
    decision, mean
        As for `cut_forecasts`.
    forecasts : dict
        The forecasts of "best_cut" and "cut_half", or of one of them.
    write : callable
        The text of a score; scores of equal text count as equal.
    """
    sign = 1.0 if decision.metric.greater_is_better else -1.0
    for key, value in forecasts.items():
        name, cut = CUTS[key], getattr(decision, key)
        ahead = sign * (value - mean) > 0.0 and write(value) != write(mean)
        if ahead and sign * (decision.expected - cut.expected) >= 0.0:
            yield f"the {name} is {AHEAD.format(write(value), 'this', write(mean))}"


def shift_scores(
    expected: float | Floats, shift: float | Floats, metric: Metric
) -> Any:
    """Return expected + shift, clipped to [0, 1] if `expected` lies in it.

    A sum of worths has no such ends.
    """
    if isinstance(metric, Utility):
        return np.add(expected, shift)
    low = np.where(np.less(expected, 0.0), -np.inf, 0.0)
    high = np.where(np.greater(expected, 1.0), np.inf, 1.0)
    shifted = np.clip(np.add(expected, shift), low, high)
    return shifted if shifted.ndim else float(shifted)
