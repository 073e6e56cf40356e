"""Thresholds that labelled rows prove, and the best ones for a population without any.

Of a population only the probabilities are known.
With t = π·n fixed, every linear-fractional metric is (a + b·tp + c·k) over
(d + e·tp + f·k). Its best value L solves max over predictions of numerator − L ·
denominator = 0, which the rows solve one by one: predict 1 where
(b − L·e)·p + c − L·f > 0. Dinkelbach's iteration finds L in a few steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from argmetric._ground.arguments import check_count, check_share, is_sized, shown
from argmetric._ground.labels import Labels
from argmetric._ground.types import Booleans, Floats, Integers, Interval, Label
from argmetric._ground.validation import read_scores, warn_user
from argmetric._verbs._certify import OF_CLASS, LabelledRows, Terms, certify
from argmetric._verbs.guarantees import Guarantee
from argmetric._verbs.tune._binary import (
    FEW_ROWS,
    Group,
    Settings,
    prepare_search,
    rule_at,
    tune_metrics,
    within_range,
)
from argmetric._verbs.tune._review import ReviewRule, tuned_review
from argmetric._verbs.tune._rule import Rule
from argmetric._verbs.tune._scan import RuleLimits, limit_words
from argmetric._verbs.tune._uncertainty import (
    N_DRAWS,
    confusion_matrix,
    mean_worth,
    quantiles,
)
from argmetric.metrics import (
    MeanForm,
    Metric,
    Utility,
    listed_wrongly,
    refuse_for_amounts,
    require_one_batch,
)

if TYPE_CHECKING:
    from argmetric._calibrate.calibrator import Calibrator

FEWEST_ROWS = 5
DIGITS = 6  # of scores that count as rounded
REPEATED = 0.1  # share of rows with the score of an earlier one that is told of


class Column(NamedTuple):
    """Scores of one label, with the labels and the groups of their rows."""

    scores: Floats
    labels: Labels
    group: Group | None = None

    @property
    def positive(self) -> Booleans:
        return self.labels.positive


@dataclass(frozen=True)
class TuneProblem:
    """Arguments of `tune` that are the same for all columns of scores."""

    metrics: list[Metric]
    settings: Settings
    weight: Floats | None
    calibrator: Calibrator | None
    terms: Terms | None = None  # of a guarantee
    by_label: list[list[Metric]] | None = None  # metrics of each, with missed positives

    def of_label(self, name: str, place: int, count: int) -> TuneProblem:
        """Return the problem of one of several labels: all promises hold at once."""
        if self.by_label is not None:
            return replace(self, metrics=self.by_label[place])
        if self.terms is None:
            return self
        if self.terms.unlabelled is not None:
            raise ValueError(
                "new_rows: scores go with one column of scores, not with a matrix; "
                "pass a number of rows"
            )
        return replace(self, terms=replace(self.terms, label=name, n_labels=count))

    def check_missed(self, n_labels: int, average: str) -> None:
        """Refuse missed positives of other labels, or one count for several."""
        if self.by_label is None:
            require_one_batch(self.metrics[0], n_labels if average == "macro" else 1)
        elif len(self.by_label) != n_labels or average != "macro":
            raise listed_wrongly(len(self.by_label), n_labels)

    def rules(self, column: Column, known: dict[str, Any]) -> list[Rule]:
        """Return a rule for each metric."""
        amounts, settings = self.metrics[0], self.settings
        if isinstance(amounts, Utility) and amounts._by_rows:
            found = [self._amounts_rule(column, amounts)]
        elif self.terms is None:
            scores, labels, group = column
            given = scores, labels.positive, self.weight, group
            found = tune_metrics(prepare_search(*given, settings), self.metrics)
        else:
            found = self._certified_rules(self.terms, column)
        return [replace(rule, calibrator=self.calibrator, **known) for rule in found]

    def _amounts_rule(self, column: Column, metric: Utility) -> Rule:
        """Return the rule of a column for a worth of each row's own."""
        from argmetric._verbs._amounts import tune_amounts

        scores = column.scores
        alone: dict[str, object] = {"groups": column.group, "confidence": self.terms}
        alone["sample_weight"] = self.weight
        alone.update(self.settings.limits.named_limits)
        alone["metric, a list,"] = len(self.metrics) > 1
        refuse_for_amounts(alone)

        def tune_rows(gains: Booleans, weight: Floats, plain: Metric) -> Rule:
            search = prepare_search(scores, gains, weight, None, self.settings)
            rule = tune_metrics(search, [plain])[0]
            chosen = float((scores >= rule.threshold).mean())
            return replace(rule, positive_rate=chosen, n=scores.size)

        return tune_amounts(column.positive, metric, tune_rows)

    def review_rule(self, column: Column, *, ask: Label) -> ReviewRule:
        """Return two cuts, each with its promise."""
        assert self.terms is not None
        rows, terms = self._rows_to_certify(self.terms, column)
        given = column.scores, column.labels
        how: Any = {"ask": ask, "coverage": self.settings.coverage}
        rule = tuned_review(rows, terms, self.metrics[0], *given, **how)
        typed = self.settings.limits.named_limits
        return replace(rule, calibrator=self.calibrator, constraints=typed)

    def _rows_to_certify(
        self, terms: Terms, column: Column
    ) -> tuple[LabelledRows, Terms]:
        """Return independent rows, one of each group, and terms with all limits."""
        (scores, labels, group), settings = column, self.settings
        _check_classes(terms, labels, settings.limits)
        check_rows(scores, grouped=group is not None)
        kept: Integers | slice = slice(None)
        if group is not None:  # rows of a group are not independent: one of each
            rng = np.random.default_rng(settings.seeds().samples)
            mixed = rng.permutation(scores.size)
            kept = mixed[np.unique(group.code[mixed], return_index=True)[1]]
        inside = bool(scores.min() >= 0.0 and scores.max() <= 1.0)
        if terms.unlabelled is not None and not inside:
            raise ValueError(
                "new_rows: scores go with probabilities, and p lies outside of [0, 1]"
            )
        n_labels = None if group is None else scores.size
        own = scores[kept], labels.positive[kept]
        typed = settings.limits.named_limits
        shares = settings.limits.of_share(scores.size).named_limits
        words = {name: limit_words({name: x}) for name, x in typed.items()}
        rows = LabelledRows(*own, inside, terms.unlabelled, n_labels)
        return rows, replace(terms, limits=shares, words=words)

    def _certified_rules(self, terms: Terms, column: Column) -> list[Rule]:
        """Return one rule for each metric, with its guarantee."""
        settings, metrics = self.settings, self.metrics
        scores, positive, group = column.scores, column.positive, column.group
        rows, terms = self._rows_to_certify(terms, column)
        typed = settings.limits.named_limits
        found = [certify(rows, terms, metric) for metric in metrics]
        if positive.all() or not positive.any():
            pairs = zip(found, metrics, strict=True)
            rules = [_rule_of_one_class(scores, positive, *pair) for pair in pairs]
        else:
            free = replace(settings, limits=RuleLimits(), cv=0)
            search = prepare_search(scores, positive, None, group, free)
            above = [np.count_nonzero(search.cuts.scores >= x.threshold) for x in found]
            cuts = zip(metrics, map(int, above), strict=True)
            rules = [rule_at(search, metric, cut) for metric, cut in cuts]
        return [
            replace(rule, threshold=one.threshold, constraints=typed, guarantee=one)
            for rule, one in zip(rules, found, strict=True)
        ]


def _check_classes(terms: Terms, labels: Labels, limits: RuleLimits) -> None:
    """Refuse rows of one class, unless each limit speaks of that class alone."""
    positive = labels.positive
    if positive.any() and not positive.all():
        return
    only, lacking = ("positive", "negative")[:: 1 if positive.any() else -1]
    needs = [x for x in limits.named_limits if OF_CLASS.get(x) != only]
    if needs or not limits.named_limits:
        what = needs[0] if needs else "a floor under the metric"
        raise ValueError(
            f"every label of {terms.label or 'y'} is {only}: {what} needs {lacking} "
            "rows too"
        )
    if labels.neg_label is None:
        raise ValueError(
            f"every label is {shown(labels.pos_label)}, and the name of the other "
            "class is not known: pass y as 0 and 1"
        )


def _rule_of_one_class(
    scores: Floats, positive: Booleans, found: Guarantee, metric: Metric
) -> Rule:
    """Return a rule without a score: rows of one class say nothing of the metric."""
    only, end = ("positive", "highest") if positive.all() else ("negative", "lowest")
    note = f"only {only} rows: the {end} certified threshold, not tuned for the metric"
    return Rule(
        metric,
        found.threshold,
        prevalence=float(positive.mean()),
        positive_rate=float((scores >= found.threshold).mean()),
        n=scores.size,
        notes=(note,),
    )


def check_terms(
    confidence: object,
    *,
    new_rows: object,
    prior: object,
    limits: RuleLimits,
    sample_weight: object,
    y: object,
) -> Terms | None:
    """Return the terms of a guarantee; None without a confidence."""
    if confidence is None:
        if new_rows is not None or prior is not None:
            name = "prior" if new_rows is None else "new_rows"
            raise ValueError(f"{name} goes with confidence: pass confidence=0.95")
        return None
    if y is None:
        raise ValueError("confidence needs labelled rows, and y is None")
    if sample_weight is not None:
        raise ValueError(
            "sample_weight has no guarantee: a row that counts twice proves no more "
            "than one; leave it out, or pass groups for rows that belong together"
        )
    if limits.min_positives is not None:
        raise ValueError(
            "min_positives has no guarantee: pass min_recall with confidence, or leave "
            "one of both out"
        )
    number, scores = None, None
    if is_sized(new_rows):
        scores = read_scores(new_rows, "new_rows", logits=False)
        if scores.size > len(scores):
            raise ValueError(
                f"new_rows has shape {scores.shape}: its scores are one column, as "
                "new_rows[:, 1] is, or pass a number of rows"
            )
        scores = scores.ravel()
        if not scores.size:
            raise ValueError("new_rows holds no scores")
    elif new_rows is not None:
        number = check_count(new_rows, "new_rows", low=1)
    return Terms(
        {},
        {},
        check_share(confidence, "confidence"),
        number,
        None if prior is None else check_share(prior, "prior"),
        scores,
    )


def check_rows(scores: Floats, *, grouped: bool = False) -> None:
    """Refuse too few rows; warn of repeated ones, which prove less than they seem to.

    Rounded scores are no repeated rows.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,) or (n_rows, n_classes)
    grouped : bool, default=False
        Whether one row of each group is taken, so that others may repeat it.
    """
    if len(scores) < FEWEST_ROWS:
        raise ValueError(
            f"{len(scores)} rows prove nothing: confidence needs {FEWEST_ROWS} at "
            "the least, and mostly hundreds"
        )
    if grouped or np.array_equal(scores, np.round(scores, DIGITS)):
        return
    _, counts = np.unique(scores, axis=0, return_counts=True)
    often = int(np.gcd.reduce(counts)) if counts.size > 1 else 1
    share = 1.0 - counts.size / len(scores)
    if often > 1 or REPEATED <= share <= 0.5:
        told = (
            f"every score occurs {often} times"
            if often > 1
            else (f"{share:.0%} of the rows have the score of an earlier row")
        )
        warn_user(
            f"{told}: a guarantee counts every row as a draw of its own; leave "
            f"duplicates out{', or pass groups' if scores.ndim == 1 else ''}"
        )


STEPS = 100  # of Dinkelbach's iteration: superlinear, a handful are needed
SAME = 1e-9  # relative error at which a probed metric counts as linear-fractional
BINS = 512


class Ratio(NamedTuple):
    """(a + b·tp + c·k) / (d + e·tp + f·k) for one t and n."""

    numerator: tuple[float, float, float]
    denominator: tuple[float, float, float]

    def value(self, tp: Floats, k: Floats) -> Floats:
        """Return the ratio; nan where the denominator is not positive."""
        (a, b, c), (d, e, f) = self.numerator, self.denominator
        below = d + e * tp + f * k
        safe = np.where(below > 0, below, 1.0)
        return np.where(below > 0, (a + b * tp + c * k) / safe, math.nan)

    def slopes(self, value: float) -> tuple[float, float]:
        """Return slope and level: predict a row where slope·p + level > 0."""
        (_, b, c), (_, e, f) = self.numerator, self.denominator
        return b - value * e, c - value * f


def as_ratio(metric: Metric, t: float, n: float) -> Ratio:
    """Return the metric at fixed t and n; refuse if it is not linear-fractional."""
    coefficients = getattr(metric, "coefficients", None)
    if coefficients is not None:
        (c0, c1, c2, c3), (d0, d1, d2, d3) = coefficients
        return Ratio((c0 * n + c3 * t, c1, c2), (d0 * n + d3 * t, d1, d2))
    ratio = _of_cells(metric, t, n) or _probe(metric, t, n)
    if ratio is None:
        raise ValueError(
            f"{metric.name} is not linear-fractional: without labels use decide(p, "
            f"metric), which is exact for every metric; tune() needs y for it"
        )
    return ratio


def _of_cells(metric: Metric, t: float, n: float) -> Ratio | None:
    """Return a weighted sum of the four counts over a scale affine in k."""
    form = metric.form
    if not metric.greater_is_better or not isinstance(form, MeanForm):
        return None
    if form.cells is None or form.scale is None:
        return None
    a, b, c, d = form.cells
    k = n * np.array([0.0, 0.5, 1.0])
    first, middle, last = map(float, form.scale(k, np.full(3, n)))
    if abs(first + last - 2 * middle) > SAME * abs(middle):
        return None
    above = (d * n + (c - d) * t, a - b - c + d, b - d)
    return Ratio(above, (first, 0.0, (last - first) / n))


def _probe(metric: Metric, t: float, n: float) -> Ratio | None:
    """Return the ratio of a metric α(k)·tp + β(k), 1/α and β/α affine in k, or None."""
    if not metric.greater_is_better:
        return None
    k = n * np.array([0.15, 0.35, 0.55, 0.8])[:, None]
    share = np.array([0.2, 0.5, 0.9])
    low, high = np.maximum(0.0, k + t - n), np.minimum(k, t)
    tp = low + share * (high - low)
    values = metric.value(tp, k, t, n)
    if not np.isfinite(values).all():
        return None
    slope = (values[:, 2] - values[:, 0]) / (tp[:, 2] - tp[:, 0])
    level = values[:, 0] - slope * tp[:, 0]
    size = np.abs(values).max() + np.abs(level).max()
    bent = np.abs(level + slope * tp[:, 1] - values[:, 1]).max() > SAME * size
    if bent or not (slope > 0).all():
        return None
    inverse, offset = 1.0 / slope, level / slope
    column = k[:, 0]
    lines = []
    for line, unit in ((offset, t), (inverse, np.abs(inverse).max())):
        rise = (line[3] - line[0]) / (column[3] - column[0])
        start = line[0] - rise * column[0]
        if np.abs(start + rise * column - line).max() > SAME * unit:
            return None
        # What rounding leaves of a zero would bend the decision at p = 0 or 1.
        known = (start, rise) if abs(rise) * n > SAME * unit else (line.mean(), 0.0)
        lines.append(tuple(float(x) if abs(x) > 1e-14 * unit else 0.0 for x in known))
    (a, c), (d, f) = lines
    return Ratio((a, 1.0, c), (d, 0.0, f))


class PopulationOptimum(NamedTuple):
    """Best value for the population, and the threshold that reaches it."""

    value: float
    threshold: float
    operator: str


def best_prediction(
    p: Floats, mass: Floats, weight: Floats, ratio: Ratio
) -> PopulationOptimum | None:
    """Run Dinkelbach's iteration on ascending p.

    `mass` and `weight` are running sums from 0.

    Each step predicts the rows of positive worth, which are one end of the order, and
    takes the value of that prediction; it stops when the value no longer rises.
    """
    ends = ratio.value(np.array([0.0, mass[-1]]), np.array([0.0, weight[-1]]))
    if np.isnan(ends).all():
        return None
    best, chosen = float(np.nanmax(ends)), int(np.nanargmax(ends))
    # The threshold of the best prediction so far, by its rows: none or all of them.
    safe = PopulationOptimum(best, -math.inf if chosen else math.inf, ">=")
    for _ in range(STEPS):
        slope, level = ratio.slopes(best)
        cut = -level / slope if slope != 0 else math.nan
        if slope > 0:
            i = int(np.searchsorted(p, cut, side="right"))
            tp, k = mass[-1] - mass[i], weight[-1] - weight[i]
            by_rows = float(p[i]) if i < p.size else math.inf, ">="
        elif slope < 0:
            i = int(np.searchsorted(p, cut, side="left"))
            tp, k = mass[i], weight[i]
            by_rows = math.nextafter(p[i - 1], math.inf) if i else -math.inf, "<"
        else:
            tp, k = (mass[-1], weight[-1]) if level > 0 else (0.0, 0.0)
            by_rows = -math.inf if level > 0 else math.inf, ">="
        value = float(ratio.value(np.asarray(tp), np.asarray(k)))
        if not value > best + 4e-16 * abs(best):
            break
        best, safe = value, PopulationOptimum(value, *by_rows)
    slope, level = ratio.slopes(best)
    if slope == 0:
        return safe
    found = PopulationOptimum(best, float(-level / slope), ">=" if slope > 0 else "<")
    i = int(np.searchsorted(p, found.threshold, side="left"))
    tp, k = mass[i], weight[i]
    if slope > 0:
        tp, k = mass[-1] - tp, weight[-1] - k
    reached = float(ratio.value(np.asarray(tp), np.asarray(k)))
    # The best precision is one of the p: rounding may lift the threshold over it.
    return found if reached >= best - SAME * abs(best) else safe


def tune_population(
    scores: Floats, metrics: list[Metric], weight: Floats | None, settings: Settings
) -> list[Rule]:
    """Tune one label-free rule per metric."""
    if weight is None:
        p, w = np.sort(scores), np.ones(scores.size)
    else:
        order = np.argsort(scores)
        p, w = scores[order], weight[order]
    mass = np.concatenate([[0.0], np.cumsum(w * p)])
    total = np.concatenate([[0.0], np.cumsum(w)])
    t, n = float(mass[-1]), float(total[-1])
    if t <= 0.0 or t >= n:
        which = "0" if t <= 0.0 else "1"
        raise ValueError(f"every p is {which}: any threshold is as good")
    notes = ["tuned without labels: right if the probabilities are calibrated"]
    if p.size < FEW_ROWS:
        guess = "the threshold is little more than a guess"
        notes.append(f"tuned on {p.size} rows: {guess}")
    rules = []
    for metric in metrics:
        found = best_prediction(p, mass, total, as_ratio(metric, t, n))
        if found is None:
            raise ValueError(f"{metric.name} has no positive denominator on these rows")
        empty = float(metric.value(0.0, 0.0, t, n))
        if empty > found.value:  # a convention, such as 0/0 = 1
            found = PopulationOptimum(empty, math.inf, ">=")
        value, threshold, operator = found
        side = p >= threshold if operator == ">=" else p < threshold
        k = float(w[side].sum())
        seen = confusion_matrix(float((w * p)[side].sum()), k, t, n)
        rule = Rule(
            metric=metric,
            threshold=threshold,
            operator=operator,  # type: ignore[arg-type]
            prevalence=t / n,
            positive_rate=k / n,
            n=p.size,
            score=value,
            coverage=settings.coverage,
            notes=tuple(notes),
        )
        if settings.n_bootstrap:
            first, second = _intervals(p, w, rule, settings, seen)
            rule = replace(rule, interval=first, threshold_interval=second)
        rules.append(rule)
    return rules


def _intervals(
    p: Floats, w: Floats, rule: Rule, settings: Settings, seen: Floats
) -> tuple[Interval | None, Interval | None]:
    """Return intervals of score and threshold, by a bootstrap over bins of rows.

    The score has the noise of as many new rows.
    """
    metric = rule.metric
    rng = np.random.default_rng(settings.seeds().samples)
    edges = np.unique(np.linspace(0, p.size, min(p.size, BINS) + 1).astype(np.int64))
    rows = np.diff(edges)
    masses = np.add.reduceat(w * p, edges[:-1]) / rows
    weights = np.add.reduceat(w, edges[:-1]) / rows
    middle = np.where(weights > 0, masses / np.where(weights > 0, weights, 1), 0.0)
    values, thresholds = [], []
    drawn = rng.multinomial(p.size, rows / p.size, size=settings.n_bootstrap)
    for sample in drawn:
        mass = np.concatenate([[0.0], np.cumsum(sample * masses)])
        weight = np.concatenate([[0.0], np.cumsum(sample * weights)])
        t, n = float(mass[-1]), float(weight[-1])
        if not 0.0 < t < n:
            continue
        found = best_prediction(middle, mass, weight, as_ratio(metric, t, n))
        if found is not None:
            values.append(found.value)
            thresholds.append(found.threshold)
    rng = np.random.default_rng(settings.seeds().new_rows)
    n, worth = float(seen.sum()), mean_worth(w)
    cells = rng.multinomial(round(n / worth), seen.ravel() / n, N_DRAWS) * worth
    tn, fp, fn, tp = cells.T
    new = metric.value(tp, tp + fp, tp + fn, tn + fp + fn + tp)
    shifts = np.resize(np.array(values) - rule.score, new.size) if values else 0.0
    ends = quantiles(new + shifts, settings.coverage)
    between = quantiles(np.array(thresholds), settings.coverage)
    return within_range(ends, metric, n), between
