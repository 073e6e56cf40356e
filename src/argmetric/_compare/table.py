"""Rows by pattern of predictions: distributions of the scores, and rows to label.

Rows with the same predictions of all models are a *pattern*. One more positive of a
pattern moves the difference of scores by the same h, so positives by pattern are all
that must be known. Their probabilities are those of `effects.EffectsModel`, their
counts are drawn by `_forecast.draws.draw_counts`. Without labels and without a
reference probabilities are taken as they are, as `forecast` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from argmetric._compare import design, effects
from argmetric._compare.strata import allocation, drawn_rows, strata_of
from argmetric._forecast.draws import COUNTS, DRAWS, draw_counts
from argmetric._ground.layout import Layout
from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import Metric

STRATA = 2  # of a pattern, at most; all together about a quarter of PLANNED
STRATA_OF_ONE = 5  # where there is one model, and so two patterns
PLANNED = 100  # labels that strata are made for
EFFECT, EFFECT_UNVERIFIED = 0.25, 0.7  # of a pattern, in the plan of labels
SAFETY = 1.35  # errors against those expected before any label
TIED = 0.01  # of the rows at a cut
SAME_ROWS = (
    "all scores of the reference occur in p: if they are rows of p, pass their labels "
    "as `known` and no `reference`: it counts them twice, or without their decisions"
)
UNLABELLED = (  # a note on systems whose predictions are no cuts of p
    "without known labels only what p says is counted, not what the systems know "
    "beyond it: label the next rows and pass their labels as `known`"
)
FEWEST_GROUP_DRAWS, GROUP_CELLS = 96, 20_000_000  # of labels of rows in groups


def are_cuts(labels: Booleans, scores: Floats) -> bool:
    """Return whether the labels of every model are a cut of its scores.

    Rows at the cut itself may go either way where they are at most 1 %.
    """
    for called, x in zip(labels, np.broadcast_to(scores, labels.shape), strict=True):
        last = x[~called].max(initial=-np.inf)
        first = x[called].min(initial=np.inf)
        if last > first or (last == first and (x == first).mean() > TIED):
            return False
    return True


class ScoredGroups(NamedTuple):
    """Groups whose scores are averaged."""

    code: Integers  # of every row
    size: Floats  # rows of each

    @classmethod
    def of(cls, layout: Layout) -> ScoredGroups:
        """Return the segments of a layout."""
        code = np.empty(layout.scores.size, dtype=np.int64)
        place = np.repeat(np.arange(layout.sizes.size), np.diff(layout.indptr))
        code[layout.segment_rows(0, layout.sizes.size)] = place
        return cls(code, layout.sizes.astype(np.float64))


@dataclass(frozen=True)
class PatternTable:
    """Rows by pattern of predictions, in bins, with the labels that are there."""

    decisions: Booleans  # (models, patterns)
    pattern: Integers  # of every row
    bin: Integers  # of every row
    odds: Floats  # (calibrators, bins) log-odds
    y: Floats  # labels, nan where unknown
    metric: Metric
    raw: bool  # whether scores are taken as they are, without a reference
    judged: bool  # whether scores are a judge's, not those that predictions cut
    groups: ScoredGroups | None = None

    @cached_property
    def size(self) -> Integers:
        """Rows of every bin, labelled or not."""
        return np.bincount(self.bin, minlength=self.odds.shape[1])

    @cached_property
    def group(self) -> Integers:
        """Pattern of every bin."""
        pattern = np.zeros(self.size.size, dtype=np.int64)
        pattern[self.bin] = self.pattern
        return pattern

    @cached_property
    def probability(self) -> Floats:
        """Probability of a positive in every bin, the mean over the calibrators."""
        return np.asarray(from_log_odds(self.odds)[0].mean(axis=0))

    @cached_property
    def n_predicted(self) -> Floats:
        """Predicted positives of each model."""
        return np.asarray(self.decisions @ np.bincount(self.pattern), np.float64)

    @property
    def score_range(self) -> tuple[Floats, Floats]:
        """Lowest and highest score of each model; infinite where one is undefined.

        Without a label all rows are predicted wrong, or right.
        """
        k, n, known = self.n_predicted, float(self.y.size), self.is_labelled
        called = self.decisions[:, self.pattern[known]] * 1.0
        tp, t = called @ self.y[known], self.y[known].sum()
        hit = k - called.sum(axis=1)  # if all rows without a label are right
        wrong, right = (0.0 * k, n - known.sum() - hit), (hit, 0.0)
        ends = [self.metric.value(tp + a, k, t + a + b, n) for a, b in (wrong, right)]
        low, high = np.minimum(*ends), np.maximum(*ends)
        return np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf)

    @cached_property
    def is_labelled(self) -> Booleans:
        """Rows whose label has come."""
        return ~np.isnan(self.y)

    @property
    def prior(self) -> effects.Prior:
        """Return the prior of the errors that the probabilities may have."""
        if not self.is_labelled.any():
            return effects.AS_REFERENCE
        if not self.judged:
            return effects.RAW if self.raw else effects.OWN
        alone = len(self.decisions) == 1
        return effects.one_system(self._area) if alone else effects.JUDGED

    @cached_property
    def _area(self) -> float:
        """AUC of the scores for the predictions of the first model; 1 of one class."""
        x, called = self.odds.mean(axis=0), self.decisions[0, self.group]
        _, place = np.unique(x, return_inverse=True)
        k, n = (np.bincount(place, self.size * side) for side in (called, ~called))
        below = np.cumsum(n) - n / 2.0  # ties half
        pairs = float(k.sum() * n.sum())
        return float(k @ below) / pairs if pairs else 1.0

    @cached_property
    def moves(self) -> Floats:
        """Change h of each score by one more positive of each pattern.

        Central differences at the expected counts. Of the shape (models, patterns,
        groups).
        """
        whole = np.zeros(self.y.size, np.int64), np.array([float(self.y.size)])
        code, n = self.groups or whole
        p, called = self.probability[self.bin], self.decisions[:, self.pattern]
        tp, k = (
            np.array([np.bincount(code, a * x, n.size) for a in called])[:, None]
            for x in (p, np.ones(p.size))
        )
        t = np.bincount(code, p, n.size)
        step = np.minimum(1.0, 0.5 * np.minimum(n - t, t))
        step = np.where(step > 0.0, step, 1.0)
        moved = self.decisions[:, :, None] * step
        with np.errstate(invalid="ignore"):  # roots, where a pattern has no rows
            up, down = (
                self.metric.value(tp + s * moved, k, t + s * step, n)
                for s in (0.5, -0.5)
            )
        return np.nan_to_num((up - down) / step)

    def influence(self, contrasts: Floats) -> Floats:
        """Return √Σ h² of every bin over the contrasts of models, in rows."""
        moved = np.einsum("cm,mpg->cpg", np.atleast_2d(contrasts), self.moves)
        square = (moved**2).sum(axis=0)
        if self.groups is None:
            return np.asarray(np.sqrt(square[self.group, 0]))
        of_row = square[self.pattern, self.groups.code]
        total = np.bincount(self.bin, of_row, self.size.size)
        return np.asarray(np.sqrt(total / self.size) / self.groups.size.size)

    def first_contrasts(self) -> Floats:
        """Return contrasts of the models: of two, or of each against the mean."""
        count = len(self.decisions)
        if count <= 2:
            return np.array([[1.0, -1.0][:count]])
        return np.eye(count) - 1.0 / count

    @cached_property
    def member(self) -> Integers:
        """Stratum of every bin."""
        sizes, p = self.influence(self.first_contrasts()), self.probability
        mass = self.size * (sizes * np.sqrt(p * (1 - p)) + 1e-12)
        per, bins = np.bincount(self.group, mass), np.bincount(self.group)
        room = max(PLANNED // 4 - per.size, 0)
        most = STRATA if len(self.decisions) > 1 else STRATA_OF_ONE
        count = 1 + np.floor(room * per / per.sum() + 0.5)
        count = np.clip(count, 1, np.minimum(most, bins)).astype(np.int64)
        return strata_of(self.group, mass, count)

    def _labels_in(self, member: Integers) -> tuple[Integers, Integers, Integers]:
        """Return rows, labels and positives of every stratum."""
        count = int(member.max()) + 1
        total = np.bincount(member, self.size, count).astype(np.int64)
        stratum = member[self.bin[self.is_labelled]]
        labels = np.bincount(stratum, minlength=count)
        positives = np.bincount(stratum, self.y[self.is_labelled], count)
        return total, labels, positives.astype(np.int64)

    @cached_property
    def _mean_probability(self) -> Floats:
        """Mean probability of every stratum."""
        expected = np.bincount(self.member, self.probability * self.size)
        return np.asarray(expected / np.bincount(self.member, self.size))

    def _weights(self, contrasts: Floats) -> Floats:
        """Return Neyman's weights of the strata, from the rates estimated so far."""
        _, labels, positives = self._labels_in(self.member)
        p, mu = self.probability, self._mean_probability
        sizes = self.size * self.influence(contrasts) * np.sqrt(p * (1 - p))
        weight = np.bincount(self.member, sizes)
        before = np.maximum(mu * (1 - mu), 1e-6)
        kappa = 1.0 / (self.prior.spread**2 * before)
        rate = (kappa * mu + positives) / (kappa + labels)
        now = np.maximum(rate * (1 - rate), 1e-6)
        return np.asarray(weight * np.sqrt(now / before))

    def next_rows(self, n: int, contrasts: Floats, seed: object) -> Integers:
        """Return rows to label next, in rising order."""
        total, labels, _ = self._labels_in(self.member)
        open_ = np.flatnonzero(~self.is_labelled)
        wanted = allocation(n, total, self._weights(contrasts), labels)
        return drawn_rows(self.member[self.bin[open_]], wanted, open_, seed)

    @cached_property
    def score_draws(self) -> Floats:
        """Draws of the scores, of the shape (models, draws)."""
        rng, called = np.random.default_rng(1), self.decisions * 1.0
        p = self.probability_draws()
        if self.groups is not None:
            return self._means_over_groups(self.groups, p, rng)
        bins, count = np.arange(self.size.size), called.shape[1]
        rows = np.zeros((count, bins.size))
        labelled = np.bincount(self.bin[self.is_labelled], minlength=bins.size)
        rows[self.group, bins] = self.size - labelled
        known = np.bincount(self.pattern, np.nan_to_num(self.y), count)
        repeats = COUNTS * max(DRAWS // p.shape[1], 1)
        positives = draw_counts(p, rows, repeats, rng) + known[:, None]
        tp = np.einsum("mp,rpd->mrd", called, positives)
        k, t, n = self.n_predicted, positives.sum(axis=1), float(self.y.size)
        drawn = self.metric.value(tp, k[:, None, None], t, n).reshape(len(called), -1)
        if self.judged and 1 < self.is_labelled.sum() < n and np.isfinite(drawn).all():
            drawn = self._beside_labels(drawn, positives.mean(axis=(0, 2)))
        return drawn

    def _beside_labels(self, drawn: Floats, positives: Floats) -> Floats:
        """Move a part of the draws of each score onto PPI++.

        positives : (patterns) expected number
        """
        at, n = self.bin[self.is_labelled], float(self.y.size)
        total, labels, _ = self._labels_in(self.member)
        weight = design.label_weights(total, labels, self.member[at])
        rate = (positives / np.bincount(self.pattern))[self.group]
        bins = self.probability, rate, self.size
        rows = design.LabelledRows(at, self.y[self.is_labelled], weight, *bins)
        moved = []
        for called, k, one, *ends in zip(
            self.decisions, self.n_predicted, drawn, *self.score_range, strict=True
        ):
            counts = called @ positives, k, positives.sum(), n
            influence = design.row_influence(self.metric, *counts)
            of_bins = influence[1 * called[self.group]]
            moved.append(design.moved_onto_labels(one, rows, of_bins, ends))
        return np.stack(moved)

    def probability_draws(self) -> Floats:
        """Return (bins, draws) probabilities of a positive."""
        learnt = bool(self.is_labelled.any())
        if self.raw and not learnt:  # the first weights: all models alike
            return from_log_odds(self.odds[:1].T)[0]
        member = self.member if learnt else self.group
        _, labels, positives = self._labels_in(member)
        rows = self.odds, self.size, self.group, member, self.decisions
        model = effects.EffectsModel(*rows, labels, positives, self.prior)
        return model.probability_draws(np.random.default_rng(0))

    def _means_over_groups(
        self, groups: ScoredGroups, p: Floats, rng: np.random.Generator
    ) -> Floats:
        """Draw the mean over groups of every model's score.

        In each draw the unknown labels are drawn with the probability of their bin, and
        groups where the metric is undefined are left out of the mean.

        p : ndarray of shape (n_bins, n_draws)

        Returns
        -------
        ndarray of shape (n_models, n_draws)
        """
        order = np.argsort(groups.code, kind="stable")
        first = np.searchsorted(groups.code[order], np.arange(groups.size.size))
        called, bin_ = self.decisions[:, self.pattern[order]] * 1.0, self.bin[order]
        k, label = np.add.reduceat(called, first, axis=1), self.y[order]
        count = int(np.clip(GROUP_CELLS // self.y.size, FEWEST_GROUP_DRAWS, DRAWS))
        means = []
        for column in p.T[np.arange(count) * p.shape[1] // count]:
            hit = rng.random(bin_.size) < column[bin_]
            y = np.where(np.isnan(label), hit, label)
            t = np.add.reduceat(y, first)
            tp = np.add.reduceat(y * called, first, axis=1)
            values = self.metric.value(tp, k, t, groups.size)
            defined = ~np.isnan(values)
            total = np.where(defined, values, 0.0).sum(axis=1)
            with np.errstate(invalid="ignore"):
                means.append(total / defined.sum(axis=1))
        return np.array(means).T

    def expected_sd(self, m: int, contrasts: Floats) -> float:
        """Return the sd of a contrast that m chosen labels leave, before they come.

        sd² = Σ h²·[(N - m)²·v/(κ + m) + (N - m)·v] over strata, v = μ·(1 - μ).
        """
        total, labels, _ = self._labels_in(self.member)
        v = np.maximum(self._mean_probability * (1 - self._mean_probability), 1e-6)
        labels = labels + allocation(m, total, self._weights(contrasts), labels)
        square = self.size * self.influence(contrasts) ** 2
        square = np.bincount(self.member, square) / total
        effect = EFFECT_UNVERIFIED if self.raw or self.judged else EFFECT
        spread, left = effects.OWN.spread**2 + 2 * effect**2, total - labels
        kappa = 1.0 / (spread * v)
        whole = square * (left**2 * v / (kappa + labels) + left * v)
        return float(np.sqrt(whole.sum()))
