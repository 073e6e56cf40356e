"""One threshold for one column of scores."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from argmetric._input.labels import Labels
from argmetric._input.types import Booleans, Floats, Integers
from argmetric._tune._groups import (
    GroupedRows,
    GroupSampler,
    Steps,
    group_rows,
    group_sampler,
    mean_curve,
    steps_of,
)
from argmetric._tune._limits import RuleLimits
from argmetric._tune._resample import MANY_ROWS, Sampler, SampleSums, cell_sampler
from argmetric._tune._rule import Rule
from argmetric._tune._scan import (
    Curve,
    Cuts,
    SortedRows,
    count_cuts,
    curve_of,
    runs,
    sort_rows,
)
from argmetric._tune._uncertainty import (
    N_GROUP_DRAWS,
    Choice,
    Procedure,
    Spread,
    confusion_of,
    draw_samples,
    mean_worth,
    new_scores,
    plateaus,
    quantiles,
)
from argmetric.metrics import Metric

FEW_ROWS = 50  # below this a note says that a tuned threshold is a guess


@dataclass(frozen=True)
class Settings:
    """How to choose, and how to measure how sure the choice is."""

    limits: RuleLimits
    choice: Choice
    n_bootstrap: int
    coverage: float
    cv: int
    seed: np.random.SeedSequence

    def seeds(self) -> list[np.random.SeedSequence]:
        """For samples, splits, bundles and new rows; always the same."""
        root, key = self.seed, self.seed.spawn_key
        return [
            np.random.SeedSequence(root.entropy, spawn_key=(*key, i)) for i in range(4)
        ]


@dataclass(frozen=True)
class Group:
    """Number of the group of every row, and whether their mean is wanted."""

    code: Integers
    count: int
    average: bool


@dataclass(frozen=True)
class Search:
    """Sorted rows with all their cuts, ready for any metric."""

    rows: SortedRows
    cuts: Cuts
    grouped: GroupedRows | None
    mean_over_groups: bool
    settings: Settings

    @cached_property
    def allowed(self) -> Booleans | None:
        return self.settings.limits.allowed_cuts(self.cuts)

    def steps(self, metric: Metric) -> Steps | None:
        """Changes of the mean over groups; None where all rows are one matrix."""
        if self.grouped is None or not self.mean_over_groups:
            return None
        return steps_of(self.grouped, metric)

    def curve(self, metric: Metric, steps: Steps | None) -> Curve:
        cuts = self.cuts
        if steps is None:
            values = cuts.scored(metric)
        else:
            assert self.grouped is not None
            values = mean_curve(self.grouped, steps)
        return curve_of(values, metric, self.allowed, cuts.n)

    def sampler(self, keep: Integers, steps: Steps | None) -> Sampler:
        if self.grouped is None:
            return cell_sampler(self.rows, self.cuts, keep)
        return group_sampler(
            self.grouped,
            self.cuts,
            keep,
            steps,
            counts=steps is None or bool(self.settings.limits.given),
            rng=np.random.default_rng(self.settings.seeds()[2]),
        )


def search_rows(
    scores: Floats,
    positive: Booleans,
    weight: Floats | None,
    group: Group | None,
    settings: Settings,
) -> Search:
    """Sort once; refuse weights that leave one class without any.

    A row without weight is as if it were not there, and so is a group of such rows.
    """
    if weight is not None and not weight.all():
        kept = weight > 0.0
        scores, positive, weight = scores[kept], positive[kept], weight[kept]
        if group is not None:
            weighs = np.bincount(group.code[kept], minlength=group.count) > 0
            code = (np.cumsum(weighs) - 1)[group.code[kept]]
            group = Group(code, int(weighs.sum()), group.average)
        if positive.all() or not positive.any():
            which = "negative" if positive.any() else "positive"
            raise ValueError(
                f"sample_weight is 0 on every {which} row: nothing to tune on"
            )
    rows = sort_rows(scores, positive, weight, order=group is not None)
    cuts = count_cuts(rows)
    grouped = None
    if group is not None:
        grouped = group_rows(rows, group.code, group.count)
        rows = grouped.rows
    mean = group is not None and group.average
    return Search(rows, cuts, grouped, mean, settings)


@dataclass(frozen=True)
class Draws:
    """Samples and splits of the rows, and the cuts at which they are counted.

    With groups, also their sampler and the fold of every unit in every split.
    """

    cuts: Integers
    samples: Iterable[SampleSums]
    splits: tuple[SampleSums, ...]
    groups: GroupSampler | None = None
    dealt: Integers | None = None

    def column(self, cut: int) -> int:
        """Where a cut is counted; of many, some are: this one, or the one below."""
        return int(np.searchsorted(self.cuts, cut))


def draw(search: Search, keep: Integers, steps: Steps | None, *, once: bool) -> Draws:
    """Samples that are looked at once are made as they are asked for."""
    settings = search.settings
    if not settings.n_bootstrap and not settings.cv:
        return Draws(keep, (), ())
    sampler = search.sampler(keep, steps)
    seeds = settings.seeds()
    folds = min(settings.cv, sampler.n_units)
    if search.grouped is not None and sampler.n_units < 2:
        return Draws(sampler.cuts, (), ())  # one group, drawn again, is itself
    samples = draw_samples(sampler, settings.n_bootstrap, seeds[0])
    splits: tuple[SampleSums, ...] = ()
    if folds > 1:
        splits = tuple(sampler.splits(np.random.default_rng(seeds[1]), folds))
    groups, dealt = None, None
    if isinstance(sampler, GroupSampler):
        groups = sampler
        dealt = sampler.deal(np.random.default_rng(seeds[1]), max(folds, 1))
    kept = samples if once else tuple(samples)
    return Draws(sampler.cuts, kept, splits, groups, dealt)


def tune_metrics(search: Search, metrics: list[Metric]) -> list[Rule]:
    """One rule per metric over one sort, and over one set of samples."""
    steps = [search.steps(metric) for metric in metrics]
    curves = [
        search.curve(metric, one) for metric, one in zip(metrics, steps, strict=True)
    ]
    if search.cuts.scores.size == 1:
        score = search.cuts.scores[0]
        warnings.warn(
            f"all scores equal {score:g}: the rule predicts all rows or none",
            UserWarning,
            stacklevel=4,
        )
    best = np.unique([curve.best for curve in curves])
    once = len(metrics) == 1 and search.settings.choice == "best"
    draws = None
    rules = []
    for metric, curve, one in zip(metrics, curves, steps, strict=True):
        if draws is None or one is not None:  # means over groups differ by metric
            draws = draw(search, best, one, once=once)
        rules.append(_rule(search, metric, curve, draws))
    return rules


def rule_at(search: Search, metric: Metric, cut: int) -> Rule:
    """The rule of one cut that was chosen elsewhere: nothing of it was tuned here."""
    steps = search.steps(metric)
    draws = Draws(np.array([cut]), (), ())
    return _rule(search, metric, search.curve(metric, steps), draws, cut)


def _rule(
    search: Search, metric: Metric, curve: Curve, draws: Draws, given: int | None = None
) -> Rule:
    settings, cuts = search.settings, search.cuts
    optimal = runs(curve.optimal)
    limits = settings.limits.of_share(cuts.n)
    procedure = Procedure(metric, limits, curve.tolerance)
    cut = curve.best if given is None else given
    if given is not None:
        first = last = cut
    elif settings.choice == "one_se":
        error = _standard_error(procedure, draws, cut)
        procedure = replace(procedure, standard_error=error)
        first, last = (
            int(end[0]) for end in plateaus(curve.gain[None], np.array([cut]), error)
        )
        cut = first
    else:
        first, last = _run_around(optimal, cut)
    score, column = float(curve.values[cut]), draws.column(cut)
    spread = None
    if settings.n_bootstrap and given is None:
        spread = procedure.bootstrap(draws.samples, draws.cuts, column)
    held_cuts = procedure.held_out_cuts(draws.splits, column)
    held = [sums.at(one) for sums, one in zip(draws.splits, held_cuts, strict=True)]
    outside = math.nan
    if held:
        outside = float(np.mean([sums.score(metric)[0, 0] for sums in held]))
    sign = 1.0 if metric.greater_is_better else -1.0
    return Rule(
        metric=metric,
        threshold=cuts.threshold(cut),
        prevalence=cuts.t / cuts.n,
        positive_rate=cuts.chosen(cut) / cuts.n,
        n=search.rows.n_rows,
        score=score,
        score_interval=_score_interval(search, metric, draws, held_cuts, cut),
        threshold_interval=_threshold_interval(spread, cuts, settings),
        plateau=cuts.interval(first, last),
        optimal_thresholds=_intervals(cuts, optimal),
        optimism=sign * (score - outside),
        out_of_fold_score=outside,
        choice=settings.choice,
        constraints=settings.limits.given,
        coverage=settings.coverage,
        notes=_notes(search, cut),
        thresholds=cuts.thresholds,
        scores=curve.values,
    )


def _standard_error(procedure: Procedure, draws: Draws, cut: int) -> float:
    """Of the score of one cut."""
    spread = procedure.bootstrap(draws.samples, draws.cuts, draws.column(cut))
    if math.isnan(spread.standard_error):
        name = procedure.metric.name
        raise ValueError(
            f"{name} has no standard error on these rows: use choice='best'"
        )
    return spread.standard_error


def _run_around(found: Integers, cut: int) -> tuple[int, int]:
    """The run that holds a cut."""
    i = int(np.searchsorted(found[:, 0], cut, side="right")) - 1
    return int(found[i, 0]), int(found[i, 1])


def _intervals(cuts: Cuts, found: Integers) -> Floats:
    """Runs of cuts as intervals (low, high] of thresholds."""
    last = found[:, 1]
    inside = last < cuts.scores.size
    low = np.full(last.size, -math.inf)
    low[inside] = cuts.scores[last[inside]]
    return np.stack([low, cuts.thresholds[found[:, 0]]], axis=1)


def _score_interval(
    search: Search, metric: Metric, draws: Draws, held: list[Integers], cut: int
) -> tuple[float, float] | None:
    """Of the score on as many new rows, or groups, by cuts tuned on other folds.

    Without folds the cut of all rows is used, and the optimism of tuning remains.
    """
    cuts, settings = search.cuts, search.settings
    if not settings.n_bootstrap or (search.grouped and draws.groups is None):
        return None
    rng = np.random.default_rng(settings.seeds()[3])
    if draws.groups is None or draws.dealt is None:
        sums = [one.at(index) for one, index in zip(draws.splits, held, strict=True)]
        counts = [tuple(float(x[0, 0]) for x in one.counts()) for one in sums]
        seen = counts or [(float(cuts.tp[cut]), cuts.chosen(cut), cuts.t, cuts.n)]
        tables = [confusion_of(*four) for four in seen]
        scores = new_scores(metric, tables, mean_worth(search.rows.weight), rng)
    else:
        units = [one[fold] for one, fold in zip(held, draws.dealt, strict=False)]
        units = units or [np.full(draws.groups.n_units, draws.column(cut))]
        size = -(-N_GROUP_DRAWS // len(units))
        drawn = [draws.groups.new_scores(metric, one, size, rng) for one in units]
        scores = np.concatenate(drawn)
    return within_range(quantiles(scores, settings.coverage), metric, cuts.n)


def within_range(
    ends: tuple[float, float] | None, metric: Metric, n: float
) -> tuple[float, float] | None:
    """An interval kept within [0, 1], or [-1, 1], where the metric lives there."""
    corners = metric._corners(n)  # the best and the worst predictions
    if ends is None or corners.min() < -1.0 or corners.max() > 1.0:
        return ends
    low = 0.0 if corners.min() >= 0.0 else -1.0
    return min(max(ends[0], low), 1.0), min(max(ends[1], low), 1.0)


def _threshold_interval(
    spread: Spread | None, cuts: Cuts, settings: Settings
) -> tuple[float, float] | None:
    """Thresholds fall as cuts rise."""
    if spread is None:
        return None
    ends = quantiles(spread.cuts.astype(np.float64), settings.coverage)
    if ends is None:
        return None
    return cuts.threshold(int(ends[1])), cuts.threshold(int(ends[0]))


def _notes(search: Search, cut: int) -> tuple[str, ...]:
    notes = []
    n = search.rows.n_rows
    if n < FEW_ROWS:
        notes.append(f"tuned on {n} rows: the threshold is little more than a guess")
    if search.grouped is not None and search.grouped.n_groups < 2:
        notes.append("one group only: nothing to draw again, so there are no intervals")
    if cut == 0:
        notes.append("the best cut predicts no positive at all")
    elif cut == search.cuts.size - 1:
        notes.append("the best cut predicts every row positive")
    return tuple(notes)


def finish(rule: Rule, labels: Labels | None, **known: Any) -> Rule:
    """Names of the classes, and what else the search does not know."""
    if labels is not None:
        known |= {"pos_label": labels.pos_label, "neg_label": labels.neg_label}
    return replace(rule, **known)


SLACK = 1e-9  # rounding of a bound


@dataclass(frozen=True)
class CountedRows(SortedRows):
    """Rows that are known by their number alone."""

    size: int = 0

    @property
    def n_rows(self) -> int:
        return self.size


def tune_cuts(
    cuts: Cuts, metrics: list[Metric], settings: Settings, labels: Labels
) -> list[Rule]:
    """One rule per metric, over cuts of which some may be left out.

    Samples are those of many rows: bins of neighbouring scores.
    """
    search = _search(cuts, settings)
    inside = bool(cuts.scores[-1] >= 0.0 and cuts.scores[0] <= 1.0)
    return [
        finish(rule, labels, calibrator=None, probabilities=inside, average=None)
        for rule in tune_metrics(search, metrics)
    ]


def _search(cuts: Cuts, settings: Settings) -> Search:
    if cuts.n > MANY_ROWS:
        nothing = np.zeros(0)
        rows = CountedRows(nothing, nothing > 0, None, None, size=int(cuts.n))
        return Search(rows, cuts, None, False, settings)
    # few rows are resampled one by one
    counts = np.diff(np.stack([cuts.tp, cuts.fp])).astype(np.int64)
    positive = np.tile([True, False], cuts.scores.size)
    each = counts.T.ravel()
    scores = np.repeat(cuts.scores, 2)
    return search_rows(
        np.repeat(scores, each), np.repeat(positive, each), None, None, settings
    )


def can_hold_the_best(
    cuts: Cuts, metrics: list[Metric], limits: RuleLimits
) -> Booleans:
    """Which steps between neighbouring cuts can hide a cut as good as the best.

    Between two cuts both counts lie in a rectangle, and a fraction, like any metric
    that rises with hits and falls with false alarms, is largest in one of its corners.
    """
    alive = np.zeros(cuts.size - 1, dtype=bool)
    for metric in metrics:
        if metric.form is None:
            alive[:] = True
            continue
        alive |= _alive(cuts, metric, limits)
    return alive


def _alive(cuts: Cuts, metric: Metric, limits: RuleLimits) -> Booleans:
    tp, fp, t, n = cuts.tp, cuts.fp, cuts.t, cuts.n
    sign = 1.0 if metric.greater_is_better else -1.0
    top = -np.inf
    allowed = limits.allowed(tp, cuts.k, t, n)
    if allowed is None or allowed.any():
        curve = curve_of(metric.value(tp, cuts.k, t, n), metric, allowed, n)
        top = float(curve.gain.max()) - curve.tolerance
    ends = slice(None, -1), slice(1, None)
    corners = [(tp[one], fp[other]) for one in ends for other in ends]
    values = [sign * metric.value(a, a + b, t, n) for a, b in corners]
    bound: Floats = np.fmax.reduce(values)
    if not metric.greater_is_better:  # an error may have its least value in between
        bound = np.where((cuts.k[:-1] < t) & (cuts.k[1:] > t), np.inf, bound)
    alive = ~(bound < top - SLACK * max(1.0, abs(top)))
    if limits.given:
        floors = replace(limits, max_positives=None)
        could = floors.allowed(tp[1:], tp[1:] + fp[:-1], t, n)
        alive &= True if could is None else could
        alive &= limits.within_budget(cuts.k[:-1], n)
    return alive
