"""decide: the set of the highest mean score over sampled answers."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from argmetric._ground.arguments import LARGEST_COUNT, check_count, check_share
from argmetric._ground.types import ArrayLike, Floats, Integers, Interval
from argmetric.metrics import Metric, MetricLike, RatioForm, get_metric
from argmetric.sets._result import SetDecision
from argmetric.sets._samples import Samples, read_samples, read_truth

# Sets of hashable items: of one question, of several, or 0/1 draws
SamplesLike: TypeAlias = Collection[object] | Mapping[object, object]
FOLDS = 5  # parts of the samples that are left out in turn
DRAWS = 2000  # of the mean score, for its interval
BLOCK = 100_000  # numbers that are drawn at once
FEWEST_LABELLED = 10  # answers whose truth is known, for a recalibrated score
PRIOR_OF_INTERCEPT, PRIOR_OF_SLOPE = 3.0, 1.5  # standard deviations, around 0 and 1
EDGE = 1e-3  # scores are kept so far from 0 and 1 before their log-odds


def decide(
    samples: SamplesLike,
    metric: MetricLike = "f1",
    *,
    weights: ArrayLike | Sequence[ArrayLike] | None = None,
    max_items: int | None = None,
    reference: tuple[object, SamplesLike] | None = None,
    zero_division: float | None = None,
    coverage: float = 0.9,
) -> SetDecision:
    """Return the set of the highest mean score over several sampled answers.

    Parameters
    ----------
    samples : list of sets, list of those, dict of those, or array
        Several answers to one question, each a set of hashable items; or such a list
        for every question; or 0/1 draws of the shape (draws, rows, labels).
    metric : str or Metric, default="f1"
        F-beta, Dice, Jaccard or Tversky. The first two have an
        exact maximum; for the others see `SetDecision.bound`.
    weights : array-like, optional
        A weight for every sample, or a list of them for every question.
    max_items : int, optional
        Most items of a set.
    reference : (truth, samples), optional
        Questions whose true sets are known, with samples of the same model: the score
        to expect is recalibrated on them.
    zero_division : {0.0, 1.0}, optional
        What an empty set counts where the truth is empty as well.
    coverage : float, default=0.9
        Coverage of the interval.

    Returns
    -------
    SetDecision
        `labels` (the sets), `expected`, `mean` and `interval`.

    Notes
    -----
    The best k items are those of the largest sum over the samples that have them of
    w·(1 + β²)/(β²·t + k), t the size of the sample; the best k wins [1]_.

    References
    ----------
    .. [1] Dembczyński, Waegeman, Cheng, Hüllermeier (2011). An exact algorithm for
       F-measure maximization. NIPS.

    Examples
    --------
    >>> import argmetric as am
    >>> answers = [{"rome", "paris"}, {"rome"}, {"rome", "oslo"}, {"paris", "bonn"}]
    >>> found = am.sets.decide(answers, "f1")
    >>> sorted(found.labels), round(found.expected, 3)
    (['paris', 'rome'], 0.667)
    """
    metric = get_metric(metric, zero_division=zero_division)
    form = _form(metric)
    coverage = check_share(coverage, "coverage")
    most = LARGEST_COUNT
    if max_items is not None:
        most = check_count(max_items, "max_items", low=0)
    read = read_samples(samples, weights)
    chosen, found = _choose(read, form, most)
    means, scores = _held_out(read, form, most)
    labelled = None
    if reference is not None:
        labelled = _labelled(reference, metric, form, most)
    each, interval, notes = _forecast(read, means, scores, labelled, coverage)
    return SetDecision(
        metric=metric,
        labels=_as_given(read, chosen),
        expected_each=found[:, 0],
        bound_each=found[:, 1],
        mean_each=each,
        interval=interval,
        coverage=coverage,
        n_samples=int(np.diff(read.questions).min()),
        n_labelled=0 if labelled is None else labelled[0].size,
        sizes=_sizes(read.firsts, chosen),
        notes=notes,
    )


def _form(metric: Metric) -> Floats:
    """c, d1, d2, d3 and the value of 0/0 of a metric of shared and predicted items."""
    form = metric.form
    if (
        not isinstance(form, RatioForm)
        or not form.counts_hits_only
        or form.d[0] != 0.0
        or min(form.d[2:]) < 0.0
    ):
        raise ValueError(
            f"{metric.name} needs the number of items that nobody named, which sets do "
            "not have: choose F-beta, Dice, Jaccard or Tversky"
        )
    if math.isnan(metric.zero_division):
        raise ValueError(
            "zero_division=nan leaves questions out of the mean, so that an empty set "
            "cannot be compared with others: choose 0 or 1"
        )
    return np.array([form.c[1], *form.d[1:], metric.zero_division])


def _choose(read: Samples, form: Floats, most: int) -> tuple[Floats, Floats]:
    from argmetric.sets.kernels.choose import choose_sets

    chosen, found = np.zeros(read.codes.size), np.zeros((read.n, 2))
    choose_sets(
        read.questions,
        read.ends,
        read.items,
        read.firsts,
        read.weights,
        form,
        most,
        chosen,
        found,
    )
    return chosen, found


def _scores(read: Samples, form: Floats, chosen: Floats) -> Floats:
    """The score of the chosen sets against every sample."""
    from argmetric.sets.kernels.choose import score_samples

    scores = np.empty(read.ends.size - 1)
    score_samples(
        read.questions, read.ends, read.items, read.firsts, form, chosen, scores
    )
    return scores


def _held_out(read: Samples, form: Floats, most: int) -> tuple[Floats, Floats]:
    """Means per question, and scores per sample, of sets chosen without that sample.

    A set fits the samples that it was chosen on: their mean is too high a forecast.
    """
    question = read.question_of_samples()
    place = np.arange(question.size) - read.questions[question]
    count = np.diff(read.questions)[question]
    fold = place * np.minimum(count, FOLDS) // count
    scores = np.empty(question.size)
    for part in range(int(fold.max()) + 1):
        out = fold == part
        weights = np.where(out & (count > 1), 0.0, read.weights)
        total = np.bincount(question, weights, read.n)
        weights = np.where(total[question] > 0.0, weights, read.weights)
        total = np.bincount(question, weights, read.n)
        rest = replace(read, weights=weights / total[question])
        chosen, _ = _choose(rest, form, most)
        scores[out] = _scores(read, form, chosen)[out]
    means = np.bincount(question, read.weights * scores, read.n)
    return means.astype(np.float64), scores


def _labelled(
    reference: Any, metric: Metric, form: Floats, most: int
) -> tuple[Floats, Floats]:
    """Forecast and actual score of questions whose truth is known."""
    if not isinstance(reference, tuple | list) or len(reference) != 2:
        raise TypeError("reference must be a pair (true sets, samples)")
    truth, samples = reference
    read = read_samples(samples, None, "the samples of reference")
    if read.n < FEWEST_LABELLED:
        raise ValueError(
            f"reference has {read.n} answers: {FEWEST_LABELLED} or more are needed to "
            "recalibrate the score"
        )
    true = read_truth(truth, read, "the truth of reference")
    chosen, _ = _choose(read, form, most)
    means, _ = _held_out(read, form, most)
    sets = read.sets(chosen)
    counts = np.array(
        [(len(a & b), len(a), len(b)) for a, b in zip(sets, true, strict=True)], float
    )
    hits, k, t = counts.T
    return means, np.asarray(metric.value(hits, k, t, np.maximum(k + t, 1.0)))


def _forecast(
    read: Samples,
    means: Floats,
    scores: Floats,
    labelled: tuple[Floats, Floats] | None,
    coverage: float,
) -> tuple[Floats, Interval, tuple[str, ...]]:
    """Score to expect of every question, the interval of their mean, and notes."""
    rng = np.random.default_rng(0)
    if labelled is None:
        draws = _drawn_means(read, scores, rng)
        note = (
            "the score assumes that the truth is one more sample of the model: models "
            "are often too sure, so pass reference=(true sets, samples)"
        )
        return means, _middle(draws, coverage), (note,)
    line, covariance, residual = fit_line(*labelled)
    x = log_odds(means)
    each = 1.0 / (1.0 + np.exp(-(line[0] + line[1] * x)))
    lines = rng.multivariate_normal(line, covariance, DRAWS, method="eigh")
    draws = np.empty(DRAWS)
    step = max(1, BLOCK // read.n)
    for first in range(0, DRAWS, step):
        a, b = lines[first : first + step].T[:, :, None]
        draws[first : first + step] = (1.0 / (1.0 + np.exp(-(a + b * x)))).mean(axis=1)
    draws += rng.normal(0.0, residual / math.sqrt(read.n), DRAWS)
    return each, _middle(np.clip(draws, 0.0, 1.0), coverage), ()


def log_odds(scores: Floats) -> Floats:
    """Log-odds of scores that are kept off 0 and 1."""
    inside = np.clip(scores, EDGE, 1.0 - EDGE)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def fit_line(forecast: Floats, actual: Floats) -> tuple[Floats, Floats, float]:
    """Fit a + b·log-odds of the forecast to the log-odds of the mean actual score.

    Maximises Σ y·log μ + (1-y)·log(1-μ), μ = expit(a + b·x), with a ~ N(0, 3²) and
    b ~ N(1, 1.5²), by Newton's method. Also the covariance H⁻¹(Σ g·gᵀ + P)H⁻¹, P the
    prior's precision, and the deviation of y from μ.
    """
    x = np.stack([np.ones(forecast.size), log_odds(forecast)], axis=1)
    centre = np.array([0.0, 1.0])
    precision = np.diag([PRIOR_OF_INTERCEPT**-2.0, PRIOR_OF_SLOPE**-2.0])
    line = centre.copy()
    for _ in range(50):
        mu = 1.0 / (1.0 + np.exp(-(x @ line)))
        gradient = x.T @ (actual - mu) - precision @ (line - centre)
        hessian = (x * (mu * (1.0 - mu))[:, None]).T @ x + precision
        step = np.linalg.solve(hessian, gradient)
        step /= max(1.0, float(np.abs(step).max()))  # the likelihood is flat far out
        line = line + step
        if np.abs(step).max() < 1e-10:
            break
    mu = 1.0 / (1.0 + np.exp(-(x @ line)))
    inverse = np.linalg.inv(hessian)
    parts = x * (actual - mu)[:, None]
    covariance = inverse @ (parts.T @ parts + precision) @ inverse
    spread = ((actual - mu) ** 2).sum() / (actual.size - 2)
    return line, covariance, math.sqrt(spread)


def _drawn_means(read: Samples, scores: Floats, rng: np.random.Generator) -> Floats:
    """Means over questions when the truth of each is one of its samples."""
    reached = np.cumsum(read.weights)
    starts = np.append(0.0, reached)[read.questions[:-1]]
    last = read.questions[1:] - 1
    draws = np.empty(DRAWS)
    step = max(1, BLOCK // read.n)
    for first in range(0, DRAWS, step):
        block = draws[first : first + step]
        places = starts + rng.random((block.size, read.n))
        at = np.searchsorted(reached, places, side="right")
        block[:] = scores[np.clip(at, read.questions[:-1], last)].mean(axis=1)
    return draws


def _middle(draws: Floats, coverage: float) -> Interval:
    tail = (1.0 - coverage) / 2.0
    low, high = np.quantile(draws, (tail, 1.0 - tail)).tolist()
    return Interval(low, high)


def _as_given(read: Samples, chosen: Floats) -> Any:
    """The sets in the form of the samples: a set, a list, a dict or a 0/1 matrix."""
    if read.shape is not None:
        return read.matrix(chosen)
    sets = read.sets(chosen)
    if read.single:
        return sets[0]
    return sets if read.keys is None else dict(zip(read.keys, sets, strict=True))


def _sizes(firsts: Integers, chosen: Floats) -> Integers:
    """Number of chosen items of every question."""
    reached = np.append(0.0, np.cumsum(chosen))
    return np.diff(reached[firsts]).astype(np.int64)
