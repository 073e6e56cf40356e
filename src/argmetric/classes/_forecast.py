"""forecast: the distribution of the score of given classes.

With the labelled rows of a reference it is mixed over models of what labels hit
(`_label_model`). Some calls have none: a calibrator alone, known prevalences of the
classes, and more than 60 classes. There it is mixed over calibrators, with an
allowance for their form. A G-mean is 0 if one class has no hit, so that its allowance
is made class by class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

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
    ClassTuple,
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
    MetricDistribution,
    distribution_over_calibrators,
    draw_scores,
    exact_distribution,
    score_expected,
)
from argmetric.classes._input import codes_of
from argmetric.classes._label_model import fit_label_model, labels_of_nearest
from argmetric.classes._values import expected_metric
from argmetric.metrics import (
    ClassAverage,
    ClassGMean,
    ClassMetric,
    MetricLike,
    ordinal_kappa,
)

MOST_LABELLED = 5000  # rows of a reference from which hits of labels are learnt
DRAWS = 1000  # of a G-mean, over all calibrators
ALLOWANCE = 0.02  # standard deviation for the form of a calibrator, found by coverage
# The same for one class, in units of log p: of a class with no rows in the reference;
# as many rows as halve its variance; and draws of it for every other calibrator.
CLASS_ALLOWANCE, HALVING_ROWS, CLASS_DRAWS = 0.7, 10.0, 3
RISE, MOST_RISES = 0.3, 5.0  # of log-odds, to bring the mean over calibrators to p's


@dataclass(frozen=True, repr=False, eq=False)
class ClassForecast(DistributionResult):
    """Distribution of the score of labels, one of several classes per row.

    Parameters
    ----------
    mean : float
        Mean of the score. With a calibrator alone it takes the calibrator as exact;
        with ``reference=(y, p)`` it accounts for how often labels like these were right
        in the reference. `ClassDecision.expected` is the objective of
        a decision, which takes calibrated probabilities as exact.
    interval : Interval
        Central interval that contains the score with probability `coverage` or more.
    interval_given_calibrator : Interval or None
        The interval if the calibrator were exact; None without one.
    coverage : float
        Nominal coverage of the intervals.
    std : float
        Standard deviation of the score.
    values, probabilities : ndarray
        Scores that the labels can have, ascending, and their probabilities.
    metric : ClassMetric
        Metric of the score, with its convention for absent classes.
    classes : tuple
        The class of each column of p.
    n : int
        Number of rows.
    n_groups : int or None
        Number of groups that the score is the mean over.
    assumptions : tuple of str
        Conditions under which the forecast is valid.
    notes : tuple of str
        Notes on how p was corrected.
    mean_standard_error : float
        Standard error of `mean`: 0 where it is exact.
    n_draws : int
        Drawn true labels that the distribution rests on: 0 where it is exact, as of a
        few rows and of accuracy, both without a reference. The probability of the
        interval has a standard error of at most 1/(2·√n_draws).

    Examples
    --------
    >>> import argmetric as am
    >>> p = [[.6, .3, .1], [.5, .2, .3], [.7, .2, .1], [.5, .45, .05]]
    >>> f = am.classes.forecast(p, [0, 0, 0, 1], "accuracy")
    >>> f.values.tolist(), f.probabilities.round(3).tolist()
    ([0.0, 0.25, 0.5, 0.75, 1.0], [0.033, 0.187, 0.372, 0.314, 0.094])
    """

    mean: float
    interval: Interval
    interval_given_calibrator: Interval | None
    coverage: float
    std: float
    values: Floats
    probabilities: Floats
    metric: ClassMetric
    classes: ClassTuple
    n: int
    n_groups: int | None
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    mean_standard_error: float = 0.0
    n_draws: int = 0

    _check: ClassVar[str] = "classes.check(y, p)"

    _told = ("mean", "interval")

    def fields(self) -> list[Field]:
        """Return all fields of the result, in the order of its summary.

        Returns
        -------
        list of Field
            Keys with values for JSON, and words with text for the summary.
        """
        assuming = "; ".join(self.assumptions)
        n_groups = self._field("n_groups", "mean over", "{:,} groups")
        return [
            *class_metric_fields(self.metric),
            n_groups._replace(key=None),
            self._field("mean", "mean", number),
            self._field("interval", "interval", between),
            self._field("interval_given_calibrator", "given the calibrator", between),
            *self._keys("coverage", "std", "mean_standard_error", "n_draws"),
            self._field("n", "rows", f"{{:,}}, {len(self.classes)} classes"),
            Field("n_groups", self.n_groups),
            Field("assumptions", self.assumptions, ASSUMES, assuming),
            Field("notes", self.notes),
        ]

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distribution of the score and its interval."""
        name = metric_title(self.metric.name)
        words = {"xlabel": name, "title": f"Forecast: {self.mean:.3f}"}
        with drawing(ax, (6.4, 3.8), **words) as ax:
            draw_distribution(ax, self, self.interval, self.coverage)
        return ax


@refuses("sample_weight")
def forecast(
    p: ArrayLike | None = None,
    labels: ArrayLike | LabelRule | WithLabels | None = None,
    metric: MetricLike | None = None,
    coverage: float = 0.9,
    *,
    mean: ArrayLike | None = None,
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
        The predicted class of each row, however it was chosen, a rule, or a decision.
    metric : str, Metric or callable, optional
        The metric that scores the labels, as for `decide`; by default that of a rule
        or a decision, or "f1".
    coverage : float, default=0.9
        Probability that the interval contains the score.
    mean, classes, groups, average, zero_division, cost
        As for `decide`. With `mean`, a rule in `labels` has cuts of means.
    known : array-like, optional
        True classes that have arrived already; nan or None for the others.
    prior, logits, reference
        As for `decide`.

    Returns
    -------
    ClassForecast
        The distribution of the score, with mean and interval.

    Examples
    --------
    >>> import argmetric as am
    >>> p = [[.6, .3, .1], [.5, .2, .3], [.7, .2, .1], [.5, .45, .05]]
    >>> f = am.classes.forecast(p, ["a", "a", "a", "b"], "f1", classes=["a", "b", "c"])
    >>> round(f.mean, 3)
    0.433
    """
    if labels is None:
        raise TypeError("forecast needs labels: the predicted class of each row")
    if cost is None:
        metric = scoring_metric(metric, labels)
    batch, found = read_call(
        "forecast",
        p,
        metric,
        mean=mean,
        classes=classes,
        groups=groups,
        average=average,
        zero_division=zero_division,
        cost=cost,
        prior=prior,
        logits=logits,
        reference=reference,
    )
    given: ArrayLike | None = p if mean is None else mean
    predicted, _ = predicted_labels(labels, given, logits=logits)
    codes = codes_of(predicted, batch.classes, batch.p.shape[0], "labels")
    return forecast_batch(batch, codes, found, coverage, known=known)


def forecast_batch(
    batch: ClassBatch,
    codes: Integers,
    metric: ClassMetric,
    coverage: float = 0.9,
    *,
    known: ArrayLike | None = None,
    random_state: int = 0,
) -> ClassForecast:
    """Forecast labels of rows that were checked."""
    coverage = check_share(coverage, "coverage")
    random_state = check_count(random_state, "random_state")
    if batch.p.shape[0] == 0:
        raise ValueError("p has no rows: there is nothing to forecast")
    true = None
    if known is not None:
        true = codes_of(known, batch.classes, batch.p.shape[0], "known", partial=True)
    rows = _with_known(batch, batch.p, true)
    labels = batch.by_group(codes)
    expected = expected_metric(rows, metric, labels)
    mean = float(expected.groups.mean()) if expected.exact else None
    scores = exact_distribution(rows, metric, labels)
    if scores is None:
        drawn = draw_scores(rows, metric, labels, seed=random_state)
        scores = MetricDistribution.from_draws(drawn, mean)
    if not scores.values.size:
        raise ValueError(f"{metric.name} is undefined in every outcome")
    error = scores.mean_error(metric) if mean is None else 0.0
    mean = scores.mean if mean is None else mean
    assumptions = ["independent rows", "calibrated probabilities"]
    interval_given_calibrator = None
    if batch.calibrator is not None:
        assumptions[1] = "rows come as those of the reference did"
        interval_given_calibrator = scores.interval(coverage)
        if batch.labelled is not None:
            scores, error = _forecast_by_label_model(
                batch, rows, codes, metric, random_state
            )
            mean = scores.mean
        elif isinstance(metric, ClassGMean):
            drawn = _draw_by_class(
                batch, true, metric, codes, seed=random_state, mean=mean
            )
            scores = MetricDistribution.from_draws(drawn)
        else:
            # Standard deviation of the expected score over calibrators that fit as well
            means = []
            for p in batch.alternatives():
                there = _with_known(batch, p, true)
                expected = expected_metric(there, metric, labels, roughly=True)
                means.append(float(np.nanmean(expected.groups)))
            std = math.hypot(np.std(means) if len(means) > 1 else 0.0, ALLOWANCE)
            scores = distribution_over_calibrators(
                rows, metric, labels, seed=random_state, mean=mean, std=std
            )
    return ClassForecast(
        mean=mean,
        interval=scores.interval(coverage),
        interval_given_calibrator=interval_given_calibrator,
        coverage=coverage,
        std=scores.std,
        values=scores.values,
        probabilities=scores.probabilities,
        metric=metric,
        classes=batch.classes,
        n=rows.p.shape[0],
        n_groups=None if batch.groups is None else batch.groups.count,
        assumptions=tuple(assumptions),
        notes=batch.notes,
        mean_standard_error=error,
        n_draws=scores.draws,
    )


def _forecast_by_label_model(
    batch: ClassBatch,
    rows: GroupRows,
    codes: Integers,
    metric: ClassMetric,
    seed: int,
) -> tuple[MetricDistribution, float]:
    """Return the distribution of the score, and the standard error of its mean.

    A model of how often a label is right is fitted to the reference, whose labelled
    rows first get labels in the way that those of the batch were chosen: the most
    probable class, before or after the calibrator, if the batch has those labels; else
    the label of the nearest row of the batch.

    codes : ndarray of shape (n_rows,)
        Column of the label of each row of the batch.
    """
    labelled = batch.labelled
    assert labelled is not None
    used = np.arange(labelled.code.size)
    if used.size > MOST_LABELLED:
        used = np.linspace(0, used.size - 1, MOST_LABELLED).astype(np.int64)
    q = labelled.held_out[used]
    raw_labels = batch.most_probable
    if raw_labels is not None and np.array_equal(codes, raw_labels):
        chosen = labelled.scores[used].argmax(axis=1)
    elif np.array_equal(codes, batch.p.argmax(axis=1)):
        chosen = q.argmax(axis=1)
    else:
        chosen = labels_of_nearest(batch.p, codes, q)
    model = fit_label_model(labelled.code[used], q, chosen, metric)
    factors = model.factors(seed)
    labels = batch.by_group(codes)
    scores = draw_scores(rows, metric, labels, seed=seed, factors=factors)
    by_level, mean = scores.reshape(len(factors), -1), None
    if ordinal_kappa(metric) is not None:
        # Noise in the parameters lowers these kappas, 2 points with 100 labelled rows,
        # and real scores are those at the mode: draws are weighted to have this mean.
        # Kappa of classes in no order is not: there the mode is 1 to 3 points too high
        levels = np.concatenate([model.factors_at_mode, factors])
        at = score_expected(rows, metric, labels, levels)
        by_level = by_level + (at[0] - at[1:, None])
        mean = float(by_level.mean())
    # Pairs of opposite factors are independent; one may be undefined in every draw
    pairs = np.ma.masked_invalid(by_level.reshape(len(factors) // 2, -1)).mean(axis=1)
    pairs = pairs.compressed()
    error = float(np.std(pairs)) / math.sqrt(max(pairs.size - 1, 1))
    return MetricDistribution.from_draws(scores, mean), error


def _with_known(batch: ClassBatch, p: Floats, true: Integers | None) -> GroupRows:
    """Return rows in which known classes are certain.

    Parameters
    ----------
    batch : ClassBatch
    p : ndarray of shape (n_rows, n_classes)
    true : ndarray of shape (n_rows,) or None
        Column of the true class, -1 where it is not known.
    """
    if true is not None and (true >= 0).any():
        p = p.copy()
        known = np.flatnonzero(true >= 0)
        p[known] = 0.0
        p[known, true[known]] = 1.0
    return ClassBatch(p, batch.classes, batch.groups).rows()


def _draw_by_class(
    batch: ClassBatch,
    true: Integers | None,
    metric: ClassMetric,
    codes: Integers,
    *,
    seed: int,
    mean: float,
) -> Floats:
    """Return scores of labels, with errors of the calibrator drawn per class.

    In each draw p of class a in the rows given b is multiplied by e^(σ_a·z), z normal.
    With m rows of the class in the reference σ_a² is 0.7²·10/(10 + m). Noise
    lowers the mean: log-odds that labels are right rise until it is `mean`.

    Parameters
    ----------
    batch : ClassBatch
    true : ndarray of shape (n_rows,) or None
        Column of the true class, -1 where it is not known.
    metric : ClassMetric
    codes : ndarray of shape (n_rows,)
        Column of the label.
    seed : int
    mean : float
    """
    counts = np.zeros(len(batch.classes))
    if getattr(batch.calibrator, "prevalences", None) is not None:
        counts = batch.calibrator.n * batch.calibrator.prevalences
    sd = CLASS_ALLOWANCE * np.sqrt(HALVING_ROWS / (HALVING_ROWS + counts))
    times = CLASS_DRAWS if plan.draws_every_row(codes.size) else 1
    alternatives = [*batch.alternatives()]
    alternatives = alternatives if len(alternatives) > 1 else [batch.p]
    draws = math.ceil(DRAWS / (len(alternatives) * times))
    labels = batch.by_group(codes)

    def scores_at(rise: float) -> Floats:
        """Draw scores with the log-odds that labels are right raised by `rise`."""
        rng = np.random.default_rng(seed)
        scores = []
        for p in alternatives * times:
            factors = np.exp(sd * rng.standard_normal((sd.size, sd.size)))
            moved = p * (factors * np.exp(rise * np.eye(sd.size)))[codes]
            moved /= moved.sum(axis=1, keepdims=True)
            rows = _with_known(batch, moved, true)
            state = int(rng.integers(2**31))
            scores.append(draw_scores(rows, metric, labels, seed=state, n_draws=draws))
        return np.concatenate(scores)

    scores = scores_at(0.0)
    low, high = (float(np.nanmean(one)) for one in (scores, scores_at(RISE)))
    if low >= mean or high <= low:
        return scores
    return scores_at(min((mean - low) / (high - low), MOST_RISES) * RISE)
