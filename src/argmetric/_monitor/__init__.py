"""monitor: is my model still good, before the labels come?"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, TypedDict, Unpack, overload

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.fit import DEFAULT, fit_calibrator
from argmetric._calibrate.reference import Reference
from argmetric._calibrate.resolve import resolve_reference, with_positives
from argmetric._ground.arguments import (
    check_choice,
    check_flag,
    check_number,
    check_share,
    refuse_given,
    refuses,
    shown,
)
from argmetric._ground.groups import check_groups
from argmetric._ground.labels import (
    check_scale_of_rule,
    check_threshold,
    scoring_metric,
)
from argmetric._ground.layout import Average, check_matrix_average
from argmetric._ground.types import ArrayLike, Floats, Label, LabelsLike, ReferenceLike
from argmetric._ground.validation import (
    read_scores,
    refuse_two_classes,
    warn_of_scale,
    warn_user,
)
from argmetric._monitor._bins import CANNOT_SAY as CANNOT_SAY
from argmetric._monitor._bins import NEGATIVE as NEGATIVE
from argmetric._monitor._bins import POSITIVE, PeriodBins
from argmetric._monitor._bins import PRIOR as PRIOR
from argmetric._monitor._bins import SIZES as SIZES
from argmetric._monitor._bins import VERDICTS as VERDICTS
from argmetric._monitor._bins import Readings as Readings
from argmetric._monitor._distribution import DEVIATIONS as DEVIATIONS
from argmetric._monitor._distribution import SHIFTS as SHIFTS
from argmetric._monitor._distribution import Shift as Shift
from argmetric._monitor._labelling import LabelledEstimate as LabelledEstimate
from argmetric._monitor._labelling import LabellingPlan as LabellingPlan
from argmetric._monitor._parity import ParityMonitoring as ParityMonitoring
from argmetric._monitor._parity import ParityPeriod as ParityPeriod
from argmetric._monitor._parity import group_texts, predicted_by_group
from argmetric._monitor._period import Period as Period
from argmetric._monitor._period import drawn_score as drawn_score
from argmetric._monitor._period import values_of as values_of
from argmetric._monitor._periods import Every as Every
from argmetric._monitor._periods import check_every as check_every
from argmetric._monitor._periods import number_rows as number_rows
from argmetric._monitor._periods import read_times as read_times
from argmetric._monitor._periods import restore_every as restore_every
from argmetric._monitor._result import Monitoring as Monitoring
from argmetric._monitor._review import ReviewMonitoring as ReviewMonitoring
from argmetric._monitor._review import ReviewPeriod as ReviewPeriod
from argmetric._monitor._watch import Watch, read_features
from argmetric._monitor._watch import critical_value as critical_value
from argmetric._monitor._watch import movements as movements
from argmetric._monitor._words import BETTER as BETTER
from argmetric._monitor._words import AllPeriods as AllPeriods
from argmetric._monitor._words import OnePeriod as OnePeriod
from argmetric._monitor._words import restore_period as restore_period
from argmetric._verbs.tune import ParityRule, ReviewRule, Rule
from argmetric.metrics import Metric, MetricLike, get_metric

__all__ = [
    "LabelledEstimate",
    "LabellingPlan",
    "Monitoring",
    "ParityMonitoring",
    "ParityPeriod",
    "Period",
    "ReviewMonitoring",
    "ReviewPeriod",
    "monitor",
]

MIN_POSITIVES = 8  # of a reference, below which intervals have not been tried
# Rows, and rows of each class, from which a segment has a calibrator of its own
MIN_SEGMENT_ROWS, MIN_SEGMENT_CLASS_ROWS = 200, 8
N_SOUGHT = 200  # scores of the reference that are sought among the rows
FLOOR_ROWS = 24  # of the tables on which the range of a metric is computed
MIN_OVERLAP = 0.95  # share of them from which the reference is among the rows


class _Options(TypedDict, total=False):
    """Options of `monitor` that do not decide what it returns."""

    time: ArrayLike | None
    every: str | int | None
    known: ArrayLike | None
    by: ArrayLike | None
    groups: ArrayLike | None
    average: Average | None
    features: tuple[ArrayLike, ArrayLike] | None
    shift: Shift
    coverage: float
    floor: float | None
    false_alarms: float
    zero_division: float | None
    pos_label: Label | None
    logits: bool


@overload
def monitor(
    p: ArrayLike,
    labels: ReviewRule,
    metric: None = None,
    *,
    reference: ReferenceLike,
    **options: Unpack[_Options],
) -> ReviewMonitoring: ...
@overload
def monitor(
    p: ArrayLike,
    labels: ParityRule,
    metric: None = None,
    *,
    reference: ReferenceLike,
    **options: Unpack[_Options],
) -> ParityMonitoring: ...
@overload
def monitor(
    p: ArrayLike,
    labels: LabelsLike,
    metric: MetricLike | None = None,
    *,
    reference: ReferenceLike,
    **options: Unpack[_Options],
) -> Monitoring: ...
@refuses("scoring")
def monitor(
    p: ArrayLike,
    labels: LabelsLike | ReviewRule | ParityRule,
    metric: MetricLike | None = None,
    *,
    reference: ReferenceLike,
    time: ArrayLike | None = None,
    every: str | int | None = None,
    known: ArrayLike | None = None,
    by: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    average: Average | None = None,
    features: tuple[ArrayLike, ArrayLike] | None = None,
    shift: Shift = "auto",
    coverage: float = 0.9,
    floor: float | None = None,
    false_alarms: float = 0.05,
    zero_division: float | None = None,
    pos_label: Label | None = None,
    logits: bool = False,
) -> Monitoring | ReviewMonitoring | ParityMonitoring:
    """Forecast the score of every period, and say whether something changed.

    A period has scores and no labels. Either nothing changed, the prevalence changed
    (label shift), or the inputs changed (covariate shift). The explanations are
    weighted by how well they fit, and mixed into one forecast, whose interval holds
    under each of them that is not ruled out; where none fits, the verdict is "cannot
    say without labels". See :doc:`/production`.

    Parameters
    ----------
    p : array-like
        Scores of the rows, as the model gave them; a matrix where rows have several
        labels, with `labels`, `known` and the reference in its shape.
    labels : array-like, Rule, ReviewRule, ParityRule, float or Decision
        Predicted labels (0/1, booleans, -1/1, or any others with `pos_label`), the rule
        that predicts them, a threshold on `p`, or a decision.
    metric : str, Metric or callable, optional
        The metric that is monitored; by default that of the rule, or "f1".
    reference : (y, p) or (y, p, by)
        Labels and scores of rows that the model was not trained on, such as the
        validation set. With a third array each segment has a reference of its own.
    time : array-like, optional
        Time of every row: dates, times or ISO text, in any order.
    every : str or int, optional
        Length of a period: "1d", "1w", "1mo", "1q", or a number of rows; by default a
        week where there are times, and otherwise all rows of a call.
    known : array-like, optional
        True labels that have arrived; nan or None for the others.
    by : array-like, optional
        Segment of every row, such as a country: each is monitored by itself, too.
    groups : array-like, optional
        Group of each row: the metric is averaged over them; of a `ParityRule` its own.
    average : {"groups", "pooled", "samples", "macro", "micro"}, optional
        With groups: their mean (default), or all rows pooled. For a matrix: the mean
        over rows or columns, or all cells together. All have one calibrator and shift.
    features : (X_reference, X), optional
        Numbers on the rows of both, to weight the reference as each period.
    shift : {"auto", "none", "prior"}, default="auto"
        "auto" mixes the three explanations. "none": nothing but the rows changed.
        "prior": the prevalence changed and nothing else did.
    coverage : float, default=0.9
        Probability that the interval contains the score.
    floor : float, optional
        Score that is good enough; it raises an alarm if the last 4 periods miss it.
    false_alarms : float, default=0.05
        Probability of a false alarm of each kind per year, or in 52 periods.
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0, by default the metric's own.
    pos_label : object, optional
        The label that counts as positive, in `labels`, `known` and `reference`.
    logits : bool, default=False
        Whether `p` holds log-odds, and the reference too.

    Returns
    -------
    Monitoring, ReviewMonitoring or ParityMonitoring
        The `periods` with verdicts; of the two rules with what these promise.

    Raises
    ------
    ValueError
        Where `p` and `labels` are swapped, the reference has rows of one class, or
        rows of a period come after a later period was closed.

    Examples
    --------
    >>> import argmetric as am, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 3, 6000)
    >>> y = rng.random(6000) < p
    >>> m = am.monitor(p[2000:], 0.3, reference=(y[:2000], p[:2000]), every=1000)
    >>> [one.verdict for one in m.periods]
    ['no shift', 'no shift', 'no shift', 'no shift']
    """
    check_choice(shift, "shift", SHIFTS)
    logits = check_flag(logits, "logits")
    if isinstance(labels, ReviewRule | ParityRule):
        alone: dict[str, object] = {"metric": metric, "by": by, "features": features}
        alone |= {"floor": floor, "average": average, "zero_division": zero_division}
        how: Any = {"reference": reference, "time": time, "every": every}
        how |= {"known": known, "shift": shift, "coverage": coverage, "logits": logits}
        how |= {"false_alarms": false_alarms, "pos_label": pos_label}
        return _monitor_rule(p, labels, groups, alone, how)
    scores = read_scores(p, "p", logits=logits)
    mean_over = _check_average(scores, groups, average)
    if features is not None and scores.ndim == 2:
        raise ValueError("features go with one column of scores, not with a matrix")
    rule = _as_rule(labels, mean_over, logits=logits)
    scored = get_metric(scoring_metric(metric, labels), zero_division=zero_division)
    names = None
    if isinstance(reference, tuple | list) and len(reference) == 3:
        names, reference = reference[2], reference[:2]
        if by is None:
            raise ValueError("reference=(y, p, by) goes with by=")
    rows, calibrator = _read_reference(reference, pos_label, logits=logits)
    warn_of_scale(scores, logits=logits, given=p)
    overlap = Overlap(rows.scores)
    overlap.add(scores)
    if overlap.message:
        warn_user(overlap.message)
    watch = Watch(
        metric=scored,
        bins=PeriodBins.from_reference(rows, _cut(rule, rows)),
        calibrator=calibrator,
        reference=np.zeros((2, 0), dtype=np.int64),
        rule=rule,
        every=check_every(every, with_time=time is not None),
        shift=shift,
        coverage=check_share(coverage, "coverage"),
        floor=None if floor is None else check_floor(floor, scored),
        false_alarms=check_share(false_alarms, "false_alarms"),
        average=mean_over,
        columns=scores.shape[1] if scores.ndim == 2 else 0,
    )
    watch = _with_reference(watch, rows)
    notes = _remarks(rule, scored, rows)
    watches: dict[str, Watch] = {}
    if names is not None:
        watches, without = _segment_watches(watch, rows, names)
        if without:
            notes.append(
                f"segments with too few rows in the reference are compared with all of "
                f"it: {', '.join(without)}"
            )
    elif by is not None:
        notes.append(
            "segments are compared with the whole reference: reference=(y, p, by) "
            "compares each with its own rows"
        )
    over = {"samples": "the rows of p", "macro": "the columns of p"}.get(str(mean_over))
    notes += [f"the score is the mean over {over or 'groups'}"] * watch.is_grouped
    empty = Monitoring(watch, notes=tuple(notes), _watches=watches)
    monitoring = empty.add(
        p,
        labels if rule is None else None,
        time=time,
        known=known,
        by=by,
        groups=groups,
        pos_label=pos_label,
    )
    if features is None:
        return monitoring
    both = read_features(features, rows.n, scores.size)
    return monitoring._with_features(rows, *both)


def _monitor_rule(
    p: ArrayLike,
    rule: ReviewRule | ParityRule,
    groups: ArrayLike | None,
    alone: dict[str, object],
    how: dict[str, Any],
) -> ReviewMonitoring | ParityMonitoring:
    """Monitor what a rule promises; options that go with a metric are refused."""
    what = "the gap between groups" if isinstance(rule, ParityRule) else "its promises"
    if isinstance(rule, ReviewRule):
        alone = alone | {"groups": groups}
    watched = f"what is monitored is {what}, on all rows"
    refuse_given(alone, f"has no meaning with a {type(rule).__name__}: {watched}")
    if isinstance(rule, ParityRule):
        return _monitor_parity(p, rule, groups, how)
    parts = {
        name: monitor(p, one, floor=rule.constraints[name], **how)
        for name, one in rule.promise_rules.items()
    }
    if not parts:
        raise ValueError("the ReviewRule promises nothing: there is nothing to monitor")
    return ReviewMonitoring(rule, parts)


def _monitor_parity(
    p: ArrayLike, rule: ParityRule, groups: object, how: dict[str, Any]
) -> ParityMonitoring:
    """Monitor the gap between groups, which are segments with a threshold each."""
    if groups is None:
        raise ValueError("a ParityRule needs the group of each row: pass groups=")
    check_scale_of_rule(rule.rules[0], logits=how["logits"])
    labels, by = predicted_by_group(rule, p, groups, how["pos_label"])
    reference = how["reference"]
    if isinstance(reference, tuple | list) and len(reference) == 3:
        y, old, names = reference
        n = len(old) if hasattr(old, "__len__") else 0
        names = group_texts(rule, names, n, "groups of reference")
        how = how | {"reference": (y, old, names)}
    metric = "recall" if rule.rate == "recall" else rule.metric
    return ParityMonitoring(rule, monitor(p, labels, metric, by=by, **how))


def _read_reference(
    reference: ReferenceLike, pos_label: Label | None, *, logits: bool
) -> tuple[Reference, Calibrator]:
    """Return the rows of a reference, and the calibrator that is fitted on them."""
    reference = with_positives(reference, pos_label)
    calibrator, rows = resolve_reference(reference, logits=logits)
    if not isinstance(rows, Reference) or calibrator is None:
        raise ValueError("monitor needs reference=(y, p): labels and their scores")
    return rows, calibrator


def _remarks(rule: Rule | float | None, metric: Metric, rows: Reference) -> list[str]:
    """Return notes on a rule of another metric, and on few rows of one class."""
    notes = []
    if isinstance(rule, Rule) and rule.metric.name != metric.name:
        notes.append(f"the rule was tuned for {rule.metric.name}")
    few = int(min(rows.counts))
    if few < MIN_POSITIVES:
        notes.append(
            f"the reference has only {few} rows of one class: intervals and verdicts "
            f"have not been tried with fewer than {MIN_POSITIVES}"
        )
    return notes


def check_floor(floor: object, metric: Metric) -> float:
    """Return the argument `floor`, a score that the metric can have.

    The range of a metric is computed on all tables of FLOOR_ROWS rows. One that is
    larger for twice the counts has no range that is known.
    """
    value = check_number(floor, "floor")
    steps = np.arange(FLOOR_ROWS + 1)
    tp, fp, fn = (one.ravel() for one in np.meshgrid(steps, steps, steps))
    there = tp + fp + fn <= FLOOR_ROWS
    tp, fp, fn = tp[there], fp[there], fn[there]
    once, twice = (
        metric.value(k * tp, k * (tp + fp), k * (tp + fn), float(k * FLOOR_ROWS))
        for k in (1, 2)
    )
    if not np.allclose(once, twice, equal_nan=True):
        return value
    low, high = np.nanmin(once), np.nanmax(once)
    if not low <= value <= high:
        raise ValueError(
            f"floor is {value:g}, but {metric.name} lies between {low:g} and {high:g}"
        )
    return value


def _check_average(
    scores: Floats, groups: ArrayLike | None, average: Average | None
) -> str | None:
    """Return what the metric is averaged over; None without groups or columns."""
    if scores.ndim == 2:
        refuse_two_classes(scores, "p")
        check_matrix_average(groups, average)
    elif groups is not None:
        average = "groups" if average is None else average
        check_choice(average, "average", ("groups", "pooled"))
    elif average is not None:
        raise ValueError(f"average={shown(average)} needs groups, or p as a matrix")
    return None if average is None else str(average)


def _as_rule(
    labels: LabelsLike, average: str | None, *, logits: bool
) -> Rule | float | None:
    """Return a rule or a threshold; None for labels."""
    if isinstance(labels, int | float | np.number) and not isinstance(labels, bool):
        return check_threshold(labels, logits=logits)
    if not isinstance(labels, Rule):
        return None
    if labels.average not in (None, average):
        scored = "as a whole" if average is None else f"by average={average!r}"
        raise ValueError(
            f"the rule was tuned for a mean over {labels.average}, and periods are "
            f"scored {scored}"
        )
    check_scale_of_rule(labels, logits=logits)
    return labels


def _cut(rule: Rule | float | None, reference: Reference) -> float | None:
    """Return the score from which rows of the reference are predicted positive."""
    if rule is None:
        return None
    if not isinstance(rule, Rule):
        return rule
    if rule.calibrator is None:
        return rule.threshold if math.isfinite(rule.threshold) else None
    called = rule.applies(reference.scores) == (rule.operator == ">=")
    return float(reference.scores[called].min()) if called.any() else None


def _with_reference(watch: Watch, rows: Reference) -> Watch:
    """Count the rows of a reference in the bins."""
    known = rows.y.astype(np.float64)
    table = watch.bins.count(rows.scores, np.zeros(rows.n, dtype=bool), known)[0]
    return replace(watch, reference=table[0, [NEGATIVE, POSITIVE]])


def _segment_watches(
    watch: Watch, rows: Reference, names: ArrayLike
) -> tuple[dict[str, Watch], list[str]]:
    """Return a watch for each segment, and the segments with too few rows for one."""
    ids = check_groups(names, rows.n, "the reference", "by of reference")
    texts = np.array([str(one) for one in ids.tolist()], dtype=object)
    watches, without = {}, []
    for name in sorted(set(texts.tolist())):
        own = rows.take(texts == name)
        few = own.n < MIN_SEGMENT_ROWS or min(own.counts) < MIN_SEGMENT_CLASS_ROWS
        if few or own.scores.min() == own.scores.max():
            without.append(name)
        else:
            bins = PeriodBins.from_reference(own, _cut(watch.rule, own))
            part = replace(watch, bins=bins, calibrator=fit_calibrator(own, DEFAULT))
            watches[name] = _with_reference(part, own)
    return watches, without


class Overlap:
    """Find out whether rows of the reference are among those of the periods.

    Some scores that occur once in the reference are looked for in all periods.
    """

    def __init__(self, reference: Floats) -> None:
        values, counts = np.unique(reference, return_counts=True)
        alone = values[counts == 1]
        some = np.linspace(0, alone.size - 1, N_SOUGHT).astype(np.int64)
        self._sought = alone[some] if alone.size >= N_SOUGHT else alone[:0]
        self._seen = np.zeros(self._sought.size, dtype=bool)
        self._rows, self._fewest = 0, reference.size

    def add(self, scores: Floats) -> None:
        """Note which sampled scores of the reference are among these scores."""
        # Most scores are excluded by 16 bits of them, which differ where they are near
        bits, sought = (
            np.ascontiguousarray(x).view(np.uint16)[2::4]
            for x in (scores.ravel(), self._sought)
        )
        there = np.zeros(1 << 16, dtype=bool)
        there[sought] = True
        self._seen |= np.isin(self._sought, scores.ravel()[there[bits]])
        self._rows += scores.size

    @property
    def message(self) -> str | None:
        """Return the warning that rows of the reference are in the periods, or None."""
        share = self._seen.mean() if self._seen.size else 0.0
        if share < MIN_OVERLAP or self._rows < self._fewest:
            return None
        return (
            f"{share:.0%} of the scores of the reference are also among p: take the "
            "rows of the reference out of the periods, or they look better than they "
            "are"
        )
