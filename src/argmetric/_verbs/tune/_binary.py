"""One threshold for one column of scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from argmetric._ground.labels import Labels
from argmetric._ground.types import Booleans, Floats, Integers, Interval
from argmetric._ground.validation import warn_user
from argmetric._verbs.tune import _groups
from argmetric._verbs.tune._groups import GroupedRows, GroupSampler, Steps
from argmetric._verbs.tune._rule import Rule
from argmetric._verbs.tune._scan import (
    Curve,
    Cuts,
    RuleLimits,
    SortedRows,
    count_cuts,
    curve_of,
    runs,
    sort_rows,
)
from argmetric._verbs.tune._uncertainty import (
    MANY_ROWS,
    CellSampler,
    Procedure,
    SampleSums,
    cell_sampler,
    confusion_matrix,
    mean_worth,
    new_scores,
    quantiles,
)
from argmetric.metrics import Metric

N_GROUP_DRAWS = 1000
CELLS_AT_ONCE = 2**15  # cells of samples that are held at once, near the processor
MOST_ERRORS = 4  # by which an AUC below 1/2 may be due to few rows
FEW_ROWS = 50  # below this a note says that a tuned threshold is a guess


class Seeds(NamedTuple):
    """Seeds of the random draws of `tune`."""

    samples: np.random.SeedSequence  # of the bootstrap
    folds: np.random.SeedSequence
    bundles: np.random.SeedSequence  # into which many groups are put at random
    new_rows: np.random.SeedSequence  # their noise, in the interval of the score


@dataclass(frozen=True)
class Settings:
    """How to choose, and how to measure how sure the choice is."""

    limits: RuleLimits
    n_bootstrap: int
    coverage: float
    cv: int
    seed: np.random.SeedSequence

    def seeds(self) -> Seeds:
        """Return independent seeds for all that is drawn."""
        root, key = self.seed, self.seed.spawn_key
        return Seeds(
            *(
                np.random.SeedSequence(root.entropy, spawn_key=(*key, i))
                for i in range(4)
            )
        )


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
    def allowed_mask(self) -> Booleans | None:
        return self.settings.limits.allowed_cuts(self.cuts)

    def steps(self, metric: Metric) -> Steps | None:
        """Return changes of the mean over groups; None if rows are not grouped."""
        if self.grouped is None or not self.mean_over_groups:
            return None
        return _groups.steps_of(self.grouped, metric)

    def curve(self, metric: Metric, steps: Steps | None) -> Curve:
        """Return the metric at every cut; a mean over groups if there are `steps`."""
        if steps is None:
            values = self.cuts.metric_values(metric)
        else:
            assert self.grouped is not None
            values = _groups.mean_curve(self.grouped, steps)
        return curve_of(values, metric, self.allowed_mask, self.cuts.n)

    def sampler(
        self, keep: Integers, steps: Steps | None
    ) -> CellSampler | GroupSampler:
        """Return the bootstrap sampler of rows or of groups, at the cuts `keep`."""
        if self.grouped is None:
            return cell_sampler(self.rows, self.cuts, keep)
        return _groups.group_sampler(
            self.grouped,
            self.cuts,
            keep,
            steps,
            counts=steps is None or bool(self.settings.limits.named_limits),
            rng=np.random.default_rng(self.settings.seeds().bundles),
        )


def prepare_search(
    scores: Floats,
    positive: Booleans,
    weight: Floats | None,
    group: Group | None,
    settings: Settings,
) -> Search:
    """Sort the rows and count every cut: what all searches for a threshold share.

    Rows of weight 0, and groups that have no other rows, are left out.
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
        grouped = _groups.group_rows(rows, group.code, group.count)
        rows = grouped.rows
    mean = group is not None and group.average
    return Search(rows, cuts, grouped, mean, settings)


@dataclass(frozen=True)
class RowSamples:
    """Bootstrap samples and folds of the rows, and the cuts that they count."""

    cuts: Integers
    samples: Iterable[SampleSums] = ()
    splits: SampleSums | None = None
    folds: int = 1
    groups: GroupSampler | None = None
    dealt: Integers | None = None

    def column(self, cut: int) -> int:
        """Return the column of a cut, or of the next counted one below."""
        return int(np.searchsorted(self.cuts, cut))


def draw(
    search: Search, keep: Integers, steps: Steps | None, *, once: bool
) -> RowSamples:
    """Return bootstrap samples and folds; with `once`, drawn when they are used."""
    settings, seeds = search.settings, search.settings.seeds()
    if not settings.n_bootstrap and not settings.cv:
        return RowSamples(keep)
    sampler = search.sampler(keep, steps)
    folds = min(settings.cv, sampler.n_units)
    if search.grouped is not None and sampler.n_units < 2:
        return RowSamples(sampler.cuts)  # one group, drawn again, is itself

    def samples() -> Iterator[SampleSums]:
        rng = np.random.default_rng(seeds.samples)
        step = max(1, CELLS_AT_ONCE // sampler.cuts.size)
        for first in range(0, settings.n_bootstrap, step):
            yield sampler.bootstrap(rng, min(step, settings.n_bootstrap - first))

    drawn = samples() if once else tuple(samples())
    splits = groups = dealt = None
    if folds > 1:
        splits = sampler.splits(np.random.default_rng(seeds.folds), folds)
    if isinstance(sampler, GroupSampler):
        groups = sampler
        dealt = sampler.deal(np.random.default_rng(seeds.folds), max(folds, 1))
    return RowSamples(sampler.cuts, drawn, splits, folds, groups, dealt)


def tune_metrics(search: Search, metrics: list[Metric]) -> list[Rule]:
    """Tune one rule per metric over one sort, and over one set of samples."""
    steps = [search.steps(metric) for metric in metrics]
    curves = [
        search.curve(metric, one) for metric, one in zip(metrics, steps, strict=True)
    ]
    if search.cuts.scores.size == 1:
        score = search.cuts.scores[0]
        warn_user(f"all scores equal {score:g}: the rule predicts all rows or none")
    best = np.unique([curve.best for curve in curves])
    once = len(metrics) == 1
    drawn = None
    rules = []
    for metric, curve, one in zip(metrics, curves, steps, strict=True):
        if drawn is None or one is not None:  # means over groups differ by metric
            drawn = draw(search, best, one, once=once)
        rules.append(_rule(search, metric, curve, drawn))
    return rules


def rule_at(search: Search, metric: Metric, cut: int) -> Rule:
    """Return the rule of one cut that was chosen elsewhere, not tuned here."""
    curve = search.curve(metric, search.steps(metric))
    return _rule(search, metric, curve, RowSamples(np.array([cut])), cut)


def _rule(
    search: Search,
    metric: Metric,
    curve: Curve,
    drawn: RowSamples,
    given: int | None = None,
) -> Rule:
    """Build the rule at the best cut of a curve, or at a given cut."""
    settings, cuts = search.settings, search.cuts
    optimal, cut = runs(curve.optimal), curve.best if given is None else given
    procedure = Procedure(metric, settings.limits.of_share(cuts.n), curve.tolerance)
    run = optimal[np.searchsorted(optimal[:, 0], cut, side="right") - 1][None]
    if given is not None:
        run = np.array([[cut, cut]])
    low, high = cuts.intervals(run)[0].tolist()
    score, column = float(curve.values[cut]), drawn.column(cut)
    between, outside, held = None, math.nan, None
    if settings.n_bootstrap and given is None:
        found = procedure.bootstrap(drawn.samples, drawn.cuts)
        between = quantiles(found.astype(np.float64), settings.coverage)
    if between is not None:  # thresholds fall as cuts rise
        first, last = (cuts.threshold(int(end)) for end in between[::-1])
        between = Interval(first, last)
    if drawn.splits is not None:
        # Where the other folds allow nothing, the cut of all rows is taken.
        index, any_allowed = procedure.choose_cuts(drawn.splits.others(drawn.folds))
        chosen = np.where(any_allowed, index, column)
        held = chosen, drawn.splits.at(chosen, drawn.folds)
        outside = float(held[1].score(metric)[:, 0].mean())
    sign = 1.0 if metric.greater_is_better else -1.0
    return Rule(
        metric=metric,
        threshold=cuts.threshold(cut),
        prevalence=cuts.t / cuts.n,
        positive_rate=cuts.n_chosen(cut) / cuts.n,
        n=search.rows.n_rows,
        score=score,
        interval=_score_interval(search, metric, drawn, held, cut),
        threshold_interval=between,
        plateau=Interval(low, high),
        optimal_thresholds=cuts.intervals(optimal),
        optimism=sign * (score - outside),
        mean=outside,
        constraints=settings.limits.named_limits,
        coverage=settings.coverage,
        notes=_notes(search, cut),
        thresholds=cuts.thresholds,
        scores=curve.values,
    )


def _score_interval(
    search: Search,
    metric: Metric,
    drawn: RowSamples,
    held: tuple[Integers, SampleSums] | None,
    cut: int,
) -> Interval | None:
    """Return the interval of the score on as many new rows, or groups.

    Cuts are tuned on the other folds.

    `held` has the cut of every fold, and the sums of the splits at these cuts. Without
    folds the cut of all rows is used, and the optimism of tuning remains.
    """
    cuts, settings, groups = search.cuts, search.settings, drawn.groups
    if not settings.n_bootstrap or (search.grouped and groups is None):
        return None
    rng = np.random.default_rng(settings.seeds().new_rows)
    if groups is None:
        seen = [(cuts.tp[cut], cuts.n_chosen(cut), cuts.t, cuts.n)]
        if held is not None:
            counts = (x[:, 0].tolist() for x in held[1].counts())
            seen = list(zip(*counts, strict=True))
        tables = [confusion_matrix(*four) for four in seen]
        scores = new_scores(metric, tables, mean_worth(search.rows.weight), rng)
    else:
        units = np.full((1, groups.n_units), drawn.column(cut))
        if held is not None and drawn.dealt is not None:
            chosen = held[0].reshape(-1, drawn.folds)
            units = np.take_along_axis(chosen, drawn.dealt, axis=1)
        size = -(-N_GROUP_DRAWS // len(units))
        parts = [groups.new_scores(metric, one, size, rng) for one in units]
        scores = np.concatenate(parts)
    return within_range(quantiles(scores, settings.coverage), metric, cuts.n)


def within_range(ends: Interval | None, metric: Metric, n: float) -> Interval | None:
    """Return an interval clipped to [0, 1] or [-1, 1], if the metric lies there."""
    corners = metric._corners(n)  # the best and the worst predictions
    if ends is None or corners.min() < -1.0 or corners.max() > 1.0:
        return ends
    low = 0.0 if corners.min() >= 0.0 else -1.0
    return Interval(*(min(max(end, low), 1.0) for end in ends))


def _notes(search: Search, cut: int) -> tuple[str, ...]:
    """Return notes on few rows, one group, or a cut that predicts none or all."""
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
    cuts, (tp, fp) = search.cuts, (search.cuts.tp, search.cuts.fp)
    parts = tp[-1] / cuts.n * (fp[-1] / cuts.n)
    if parts > 0.0:
        area = (np.diff(fp / cuts.n) * (tp[1:] + tp[:-1]) / cuts.n).sum() / (2 * parts)
        error = np.sqrt((n + 1) / (12 * parts)) / n  # of scores that say nothing
        if area < 0.5 - MOST_ERRORS * error:
            notes.append(
                f"positives have the lower scores (AUC {area:.2f}): is p the "
                "probability of the other class?"
            )
    return tuple(notes)


SLACK = 1e-9  # rounding of a bound


def tune_cuts(
    cuts: Cuts, metrics: list[Metric], settings: Settings, labels: Labels
) -> list[Rule]:
    """Tune one rule per metric, over cuts of which some may be left out."""
    if cuts.n > MANY_ROWS:
        nothing = np.zeros(0)
        rows = SortedRows(nothing, nothing > 0, None, None, int(cuts.n))
        search = Search(rows, cuts, None, False, settings)
    else:
        each = np.diff(np.stack([cuts.tp, cuts.fp])).astype(np.int64).T.ravel()
        positive = np.repeat(np.tile([True, False], cuts.scores.size), each)
        scores = np.repeat(np.repeat(cuts.scores, 2), each)
        search = prepare_search(scores, positive, None, None, settings)
    inside = bool(cuts.scores[-1] >= 0.0 and cuts.scores[0] <= 1.0)
    return [
        replace(
            rule,
            pos_label=labels.pos_label,
            neg_label=labels.neg_label,
            probabilities=inside,
        )
        for rule in tune_metrics(search, metrics)
    ]


def can_hold_the_best(
    cuts: Cuts, metrics: list[Metric], limits: RuleLimits
) -> Booleans:
    """Return which steps between cuts can hide a cut as good as the best.

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
    """Return which steps between cuts can hide a cut as good as the best known."""
    tp, fp, t, n = cuts.tp, cuts.fp, cuts.t, cuts.n
    sign = 1.0 if metric.greater_is_better else -1.0
    top = -np.inf
    allowed = limits.allowed_counts(tp, cuts.k, t, n)
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
    if limits.named_limits:
        floors = replace(limits, max_positives=None, min_positives=None)
        could = floors.allowed_counts(tp[1:], tp[1:] + fp[:-1], t, n)
        alive &= True if could is None else could
        most = replace(limits, min_positives=None)
        alive &= most.within_budget(cuts.k[:-1], n)
        least = replace(limits, max_positives=None)
        alive &= least.within_budget(cuts.k[1:], n)
    return alive
