"""forecast: the distribution of the score of given classes.

With the labelled rows of a reference it is mixed over models of what labels hit
(`_label_model`). Some calls have none: a calibrator alone, shares of the classes that
are known, and more than 60 classes. There it is mixed over calibrators, with an
allowance for their form. A G-mean is 0 if one class has no hit, so that its allowance
is made class by class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from argmetric._expected import plan
from argmetric._forecast.result import DistributionResult
from argmetric._ground.arguments import check_count, check_share, refuses
from argmetric._ground.display import (
    ASSUMES,
    Field,
    between,
    class_metric_fields,
    documented,
    metric_title,
    number,
)
from argmetric._ground.labels import predicted_labels, scoring_metric
from argmetric._ground.pictures import draw_distribution, drawing
from argmetric._ground.types import (
    ArrayLike,
    Axes,
    ClassNames,
    Floats,
    Integers,
    Interval,
    LabelRule,
    ReferenceLike,
    SharesLike,
    WithLabels,
)
from argmetric.classes._calibrate import ClassBatch, read_call
from argmetric.classes._climb import GroupRows
from argmetric.classes._distributions import (
    Law,
    drawn_law,
    drawn_scores,
    exact_law,
    law_over_maps,
    weighed,
)
from argmetric.classes._input import codes_of
from argmetric.classes._label_model import fit_label_model, labels_of_nearest
from argmetric.classes._values import expected_metric
from argmetric.metrics import (
    ClassAverage,
    ClassFunction,
    ClassGMean,
    ClassMetric,
    MetricLike,
)

MOST_LABELLED = 5000  # rows of a reference that say what labels hit
DRAWS = 1000  # of a G-mean, over all maps
ALLOWANCE = 0.02  # standard deviation for the form of a fitted map, found by coverage
# The same for one class, in units of log p: of a class with no rows in the reference;
# as many rows as halve its variance; and draws of it for every other map.
CLASS_ALLOWANCE, HALVING_ROWS, CLASS_DRAWS = 0.7, 10.0, 3
RISE, MOST_RISES = 0.3, 5.0  # of log-odds, to bring the mean over maps to the given one


@dataclass(frozen=True, repr=False, eq=False)
class ClassForecast(DistributionResult):
    """The distribution of the score of labels, one of several classes per row.

    Attributes
    ----------
    mean : float
        What is forecast: the mean of the score. With a calibrator alone it takes the
        calibrator as exact; with ``reference=(y, p)`` it takes account of what labels
        like these hit in the reference. `ClassDecision.expected` is the objective of
        a decision, which takes calibrated probabilities as exact.
    interval : Interval
        Central interval that contains the score with probability `coverage` or more.
    interval_given_map : Interval or None
        The interval if the calibrator were exact; None without one.
    coverage : float
        Of the intervals.
    std : float
        Standard deviation of the score.
    values, probabilities : ndarray
        Scores that the labels can have, ascending, and their probabilities.
    metric : ClassMetric
        What is forecast, with its convention for absent classes.
    classes : tuple
        The class of each column of p.
    n : int
        Number of rows.
    n_groups : int or None
        Number of groups that the score is the mean over.
    assumptions : tuple of str
        Conditions under which the forecast is valid.
    notes : tuple of str
        What was done to p.
    mean_standard_error : float
        Standard error of `mean`: 0 where it is exact.
    n_draws : int
        Drawn true labels that the distribution rests on: 0 where it is exact, as of a
        few rows and of accuracy, both without a reference. The probability of the
        interval has a standard error of at most
        1/(2·√n_draws).
    """

    mean: float
    interval: Interval
    interval_given_map: Interval | None
    coverage: float
    std: float
    values: Floats
    probabilities: Floats
    metric: ClassMetric
    classes: tuple[Any, ...]
    n: int
    n_groups: int | None
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    mean_standard_error: float = 0.0
    n_draws: int = 0

    _check: ClassVar[str] = "classes.check(y, p)"

    _told = ("mean", "interval")

    def fields(self) -> list[Field]:
        assuming = "; ".join(self.assumptions)
        n_groups = self._field("n_groups", "mean over", "{:,} groups")
        return [
            *class_metric_fields(self.metric),
            n_groups._replace(key=None),
            self._field("mean", "mean", number),
            self._field("interval", "interval", between),
            self._field("interval_given_map", "given the calibrator", between),
            *self._keys("coverage", "std", "mean_standard_error", "n_draws"),
            self._field("n", "rows", f"{{:,}}, {len(self.classes)} classes"),
            Field("n_groups", self.n_groups),
            Field("assumptions", self.assumptions, ASSUMES, assuming),
            Field("notes", self.notes),
        ]

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the law of the score and its interval."""
        name = metric_title(self.metric.name)
        words = {"xlabel": name, "title": f"Forecast: {self.mean:.3f}"}
        with drawing(ax, (6.4, 3.8), **words) as ax:
            draw_distribution(ax, self, self.interval, self.coverage)
        return ax


@refuses("sample_weight")
def forecast(
    p: ArrayLike,
    labels: ArrayLike | LabelRule | WithLabels,
    metric: MetricLike | None = None,
    coverage: float = 0.9,
    *,
    classes: ClassNames | None = None,
    groups: ArrayLike | None = None,
    average: ClassAverage | None = None,
    known: ArrayLike | None = None,
    prior: SharesLike | str | None = None,
    zero_division: float | None = None,
    cost: ArrayLike | None = None,
    logits: bool = False,
    reference: ReferenceLike | None = None,
) -> ClassForecast:
    """Forecast the score of given classes before the true ones are known.

    True classes are drawn from `p`. With ``reference=(y, p)`` mean and interval take
    account of what labels like these hit in the reference; with a calibrator the
    interval includes its uncertainty.

    Parameters
    ----------
    p : array-like or frame
        Class probabilities, one column per class; rows sum to 1.
    labels : array-like, MultiClassRule or ClassDecision
        What was handed in: the class of each row, however it was chosen, a rule, or a
        decision.
    metric : str, Metric or callable, optional
        The metric that scores the labels, as for `decide`; by default that of a rule
        or a decision, or "f1".
    coverage : float, default=0.9
        Probability that the interval contains the score.
    classes, groups, average, zero_division, cost
        As for `decide`.
    known : array-like, optional
        True classes that have arrived already; nan or None for the others.
    prior, logits, reference
        As for `decide`.

    Returns
    -------
    ClassForecast

    Examples
    --------
    >>> import argmetric as am
    >>> p = [[.6, .3, .1], [.5, .2, .3], [.7, .2, .1], [.5, .45, .05]]
    >>> f = am.classes.forecast(p, ["a", "a", "a", "b"], "f1", classes=["a", "b", "c"])
    >>> round(f.mean, 3)
    0.433
    """
    if cost is None:
        metric = scoring_metric(metric, labels)
    batch, found = read_call(
        p,
        metric,
        classes=classes,
        groups=groups,
        average=average,
        zero_division=zero_division,
        cost=cost,
        prior=prior,
        logits=logits,
        reference=reference,
    )
    labels, _ = predicted_labels(labels, p, logits=logits)
    codes = codes_of(labels, batch.classes, batch.p.shape[0], "labels")
    return forecast_batch(batch, codes, found, coverage, known)


def forecast_batch(
    batch: ClassBatch,
    codes: Integers,
    metric: ClassMetric,
    coverage: float = 0.9,
    known: Any = None,
    random_state: int = 0,
) -> ClassForecast:
    """Forecast labels of rows that were checked."""
    coverage = check_share(coverage, "coverage")
    random_state = check_count(random_state, "random_state")
    if batch.p.shape[0] == 0:
        raise ValueError("p has no rows: there is nothing to forecast")
    truth = None
    if known is not None:
        truth = codes_of(known, batch.classes, batch.p.shape[0], "known", partial=True)
    rows = _with_known(batch, batch.p, truth)
    labels = batch.grouped(codes)
    expected = expected_metric(rows, metric, labels)
    mean = float(expected.groups.mean()) if expected.exact else None
    law = exact_law(rows, metric, labels)
    if law is None:
        law = drawn_law(rows, metric, labels, random_state, mean)
    if not law.values.size:
        raise ValueError(f"{metric.name} is undefined in every outcome")
    error = law.mean_error(metric) if mean is None else 0.0
    mean = law.mean if mean is None else mean
    assumptions = ["independent rows", "calibrated probabilities"]
    given = None
    if batch.calibrator is not None:
        assumptions[1] = "rows come as those of the reference did"
        given = law.interval(coverage)
        if batch.labelled is not None:
            law, error = _by_label_model(batch, rows, codes, metric, random_state)
            mean = law.mean
        elif isinstance(metric, ClassGMean):
            law = weighed(
                _drawn_by_class(batch, truth, metric, codes, random_state, mean), None
            )
        else:
            # Standard deviation of the expected score over maps that fit as well
            means = []
            for p in batch.alternatives():
                there = _with_known(batch, p, truth)
                expected = expected_metric(there, metric, labels, roughly=True)
                means.append(float(np.nanmean(expected.groups)))
            spread = math.hypot(
                float(np.std(means)) if len(means) > 1 else 0.0, ALLOWANCE
            )
            law = law_over_maps(rows, metric, labels, random_state, mean, spread)
    return ClassForecast(
        mean=mean,
        interval=law.interval(coverage),
        interval_given_map=given,
        coverage=coverage,
        std=law.std,
        values=law.values,
        probabilities=law.probabilities,
        metric=metric,
        classes=batch.classes,
        n=rows.p.shape[0],
        n_groups=None if batch.groups is None else batch.groups.count,
        assumptions=tuple(assumptions),
        notes=batch.notes,
        mean_standard_error=error,
        n_draws=law.draws,
    )


def _by_label_model(
    batch: ClassBatch,
    rows: GroupRows,
    codes: Integers,
    metric: ClassMetric,
    seed: int,
) -> tuple[Law, float]:
    """Return the distribution of the score, and the standard error of its mean.

    What labels hit is learnt from held-out rows of the reference. They get labels as
    those of the batch did: the most probable classes where these are, before or after
    the calibrator, and otherwise the label of the nearest row.
    """
    labelled = batch.labelled
    assert labelled is not None
    some = np.arange(labelled.code.size)
    if some.size > MOST_LABELLED:
        some = np.linspace(0, some.size - 1, MOST_LABELLED).astype(np.int64)
    q = labelled.held_out[some]
    usual = batch.most_probable
    if usual is not None and np.array_equal(codes, usual):
        like = labelled.scores[some].argmax(axis=1)
    elif np.array_equal(codes, batch.p.argmax(axis=1)):
        like = q.argmax(axis=1)
    else:
        like = labels_of_nearest(batch.p, codes, q)
    factors = fit_label_model(labelled.code[some], q, like, metric).factors(seed)
    function = isinstance(metric, ClassFunction)
    draws = plan.class_draws(codes.size, q.shape[1], rows.n_groups, function)
    labels = batch.grouped(codes)
    scores = drawn_scores(rows, metric, labels, seed, draws, factors)
    # Pairs of opposite factors are independent; one may be undefined in every draw
    pairs = np.ma.masked_invalid(scores.reshape(len(factors) // 2, -1)).mean(axis=1)
    pairs = pairs.compressed()
    error = float(np.std(pairs)) / math.sqrt(max(pairs.size - 1, 1))
    return weighed(scores, None), error


def _with_known(batch: ClassBatch, p: Floats, truth: Integers | None) -> GroupRows:
    """Rows in which the classes that are known are certain."""
    if truth is not None and (truth >= 0).any():
        p = p.copy()
        seen = np.flatnonzero(truth >= 0)
        p[seen] = 0.0
        p[seen, truth[seen]] = 1.0
    return ClassBatch(p, batch.classes, batch.groups).rows()


def _drawn_by_class(
    batch: ClassBatch,
    truth: Integers | None,
    metric: ClassMetric,
    codes: Integers,
    seed: int,
    mean: float,
) -> Floats:
    """Scores against truths drawn under other maps, wrong for some classes.

    In each draw of a map, p of class a in the rows given b is multiplied by e^(σ_a·z),
    z normal. With m rows of the class in the reference σ_a² is 0.7²·10/(10 + m). Noise
    lowers the mean: log-odds that labels are right rise until it is the given one.
    """
    seen = np.zeros(len(batch.classes))
    if getattr(batch.calibrator, "shares", None) is not None:
        seen = batch.calibrator.n * batch.calibrator.shares
    sd = CLASS_ALLOWANCE * np.sqrt(HALVING_ROWS / (HALVING_ROWS + seen))
    times = CLASS_DRAWS if plan.draws_every_row(codes.size) else 1
    maps = [*batch.alternatives()]
    maps = maps if len(maps) > 1 else [batch.p]
    draws = math.ceil(DRAWS / (len(maps) * times))
    labels = batch.grouped(codes)

    def scores_at(rise: float) -> Floats:
        rng = np.random.default_rng(seed)
        found = []
        for p in maps * times:
            factors = np.exp(sd * rng.standard_normal((sd.size, sd.size)))
            moved = p * (factors * np.exp(rise * np.eye(sd.size)))[codes]
            moved /= moved.sum(axis=1, keepdims=True)
            rows = _with_known(batch, moved, truth)
            state = int(rng.integers(2**31))
            found.append(drawn_scores(rows, metric, labels, state, draws))
        return np.concatenate(found)

    scores = scores_at(0.0)
    low, high = (float(np.nanmean(one)) for one in (scores, scores_at(RISE)))
    if low >= mean or high <= low:
        return scores
    return scores_at(min((mean - low) / (high - low), MOST_RISES) * RISE)
