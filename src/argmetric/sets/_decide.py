"""Choose the set with the highest mean score over sampled answers."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from argmetric._ground.arguments import LARGEST_COUNT, check_count, check_share
from argmetric._ground.odds import bounded_logit, expit
from argmetric._ground.types import ArrayLike, Floats, Interval
from argmetric.metrics import Metric, MetricLike, RatioForm, get_metric
from argmetric.sets._result import SetDecision
from argmetric.sets._samples import Samples, read_samples, read_true_sets
from argmetric.sets._votes import KnownAnswers, vote_items

# Sets of hashable items: of one question, of several, or 0/1 draws
SamplesLike: TypeAlias = Collection[object] | Mapping[object, object]
FOLDS = 5  # folds of the samples, for held-out scores
DRAWS = 2000  # simulated mean scores, for the interval
BLOCK = 100_000  # random numbers per block, to limit memory
FEWEST_LABELLED = 10  # questions with known answers needed to recalibrate the score
PRIOR_OF_INTERCEPT, PRIOR_OF_SLOPE = 3.0, 1.5  # standard deviations, around 0 and 1
EDGE = 1e-3  # scores are clipped to [EDGE, 1 - EDGE] before their log-odds are taken


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
        One weight per sample, or for several questions a list of such lists.
    max_items : int, optional
        Maximum number of items of a set.
    reference : (true sets, samples), optional
        Questions with known answers, and samples of the same model. The forecast of the
        score is recalibrated on them. Sets are chosen by votes (all items named by at
        least a share of the samples, tuned on them) if these score more there.
    zero_division : {0.0, 1.0}, optional
        Score of an empty set if the true set is empty too.
    coverage : float, default=0.9
        Nominal coverage of the interval.

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
    >>> decision = am.sets.decide(answers, "f1")
    >>> sorted(decision.labels), round(decision.expected, 3)
    (['paris', 'rome'], 0.667)
    """
    metric = get_metric(metric, zero_division=zero_division)
    form = _ratio_form(metric)
    coverage = check_share(coverage, "coverage")
    most = LARGEST_COUNT
    if max_items is not None:
        most = check_count(max_items, "max_items", low=0)
    data = read_samples(samples, weights)
    labelled = None
    if reference is not None:
        labelled = _score_reference(reference, metric, form, most)
    share = None if labelled is None else labelled.vote_share
    least = None if share is None else np.full(data.n, share)
    chosen, bounds = _choose(data, form, most)
    if least is not None:
        chosen = vote_items(data, least, most)
        bounds[:, 0] = _question_means(data, _scores(data, form, chosen))
    means, scores = _held_out_scores(data, form, most, least)
    each, interval, notes = _forecast_scores(data, means, scores, labelled, coverage)
    return SetDecision(
        metric=metric,
        labels=data.restore_form(chosen),
        expected_each=bounds[:, 0],
        bound_each=bounds[:, 1],
        mean_each=each,
        interval=interval,
        coverage=coverage,
        n_samples=int(data.counts.min()),
        n_labelled=0 if labelled is None else labelled.actual.size,
        vote_share=share,
        sizes=np.diff(np.append(0.0, np.cumsum(chosen))[data.firsts]).astype(np.int64),
        notes=notes,
    )


def _ratio_form(metric: Metric) -> Floats:
    """Return (c, d1, d2, d3, value of 0/0) of f = c·o / (d1·o + d2·k + d3·t).

    Here o items are shared, k are predicted and t are true; see `kernels.choose`.
    """
    form = metric.form
    if (
        not isinstance(form, RatioForm)
        or not form.counts_hits_only
        or form.d[0] != 0.0
        or min(form.d[2:]) < 0.0
    ):
        raise ValueError(
            f"metric must be F-beta, Dice, Jaccard or Tversky, not {metric.name}: "
            "others need the number of items that no sample names, or the size of one "
            "set alone"
        )
    if math.isnan(metric.zero_division):
        raise ValueError(
            "zero_division=nan leaves questions out of the mean, so that an empty set "
            "cannot be compared with others: choose 0 or 1"
        )
    return np.array([form.c[1], *form.d[1:], metric.zero_division])


def _choose(data: Samples, form: Floats, most: int) -> tuple[Floats, Floats]:
    """Choose the best set of every question.

    Returns
    -------
    chosen : ndarray of shape (n_items,)
        1 for items that are chosen.
    bounds : ndarray of shape (n_questions, 2)
        Mean score over the samples, and an upper bound on that of any set.
    """
    from argmetric.sets.kernels.choose import choose_sets

    chosen, bounds = np.zeros(data.codes.size), np.zeros((data.n, 2))
    choose_sets(*data.flat, data.weights, form, most, chosen, bounds)
    return chosen, bounds


def _scores(data: Samples, form: Floats, chosen: Floats) -> Floats:
    """Return the score of the chosen sets against each sample, shape (n_samples,)."""
    from argmetric.sets.kernels.choose import score_samples

    scores = np.empty(data.weights.size)
    score_samples(*data.flat, form, chosen, scores)
    return scores


def _question_means(data: Samples, scores: Floats) -> Floats:
    """Average scores of shape (n_samples,) over the samples of every question."""
    question = np.repeat(np.arange(data.n), data.counts)
    return np.bincount(question, data.weights * scores, data.n).astype(np.float64)


def _held_out_scores(
    data: Samples, form: Floats, most: int, least: Floats | None = None
) -> tuple[Floats, Floats]:
    """Score every sample by a set chosen without that sample.

    A set fits the samples that it was chosen on: their mean score is too optimistic.

    Parameters
    ----------
    form : ndarray of shape (5,)
        As `_ratio_form` returns it.
    most : int
        Maximum number of items of a set.
    least : ndarray of shape (n_questions,), optional
        Minimum vote shares, where sets are chosen by votes.

    Returns
    -------
    means : ndarray of shape (n_questions,)
    scores : ndarray of shape (n_samples,)
    """
    question = np.repeat(np.arange(data.n), data.counts)
    place, count = np.arange(question.size) - data.questions[question], data.counts
    count = count[question]
    fold = place * np.minimum(count, FOLDS) // count
    scores = np.empty(question.size)
    for part in range(int(fold.max()) + 1):
        out = fold == part
        weights = np.where(out, 0.0, data.weights)
        total = np.bincount(question, weights, data.n)[question]
        weights = np.where(total > 0.0, weights, data.weights)  # no other sample counts
        total = np.bincount(question, weights, data.n)[question]
        rest = replace(data, weights=weights / total)
        if least is None:
            chosen, _ = _choose(rest, form, most)
        else:
            chosen = vote_items(rest, least, most)
        scores[out] = _scores(data, form, chosen)[out]
    return _question_means(data, scores), scores


class Reference(NamedTuple):
    """Forecast and actual scores (n_questions,) of questions with known answers."""

    forecast: Floats
    actual: Floats
    vote_share: float | None = None  #: minimum vote share, where votes score more


def _score_reference(pair: Any, metric: Metric, form: Floats, most: int) -> Reference:
    """Read the reference, and compare choosing by mean score with choosing by votes.

    Votes are compared at a share that was tuned on these very questions. At shares
    tuned on other ones, with which they are scored for the forecast, they were taken
    too seldom: half a point was lost to them on chains of scene.

    Parameters
    ----------
    pair : (true sets, samples)
        The reference of `decide`.
    form : ndarray of shape (5,)
        As `_ratio_form` returns it.
    most : int
        Maximum number of items of a set.
    """
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError("reference must be a pair (true sets, samples)")
    true_sets, samples = pair
    data = read_samples(samples, None, "the samples of reference")
    if data.n < FEWEST_LABELLED:
        raise ValueError(
            f"reference=(true sets, samples) has samples of {data.n} question(s): "
            f"{FEWEST_LABELLED} or more are needed to recalibrate the score"
        )
    true = read_true_sets(true_sets, data, "the truth of reference")
    known = KnownAnswers.from_sets(data, true, metric)
    actual = known.scores(_choose(data, form, most)[0])
    share, least = known.tune_votes(most)
    tuned = known.scores(vote_items(data, np.full(data.n, share), most))
    if actual.mean() >= tuned.mean():
        return Reference(_held_out_scores(data, form, most)[0], actual)
    voted = known.scores(vote_items(data, least, most))
    return Reference(_held_out_scores(data, form, most, least)[0], voted, share)


def _forecast_scores(
    data: Samples,
    means: Floats,
    scores: Floats,
    labelled: Reference | None,
    coverage: float,
) -> tuple[Floats, Interval, tuple[str, ...]]:
    """Forecast the score of every question, and the interval of their mean.

    Parameters
    ----------
    means : ndarray of shape (n_questions,)
        Held-out mean scores.
    scores : ndarray of shape (n_samples,)
        Held-out score against each sample.
    labelled : Reference or None
        Scores of questions with known answers: means are recalibrated on them. Without
        them the true set is assumed to be distributed as the samples are.
    coverage : float
        Nominal coverage of the interval.

    Returns
    -------
    means : ndarray of shape (n_questions,)
    interval : Interval
    notes : tuple of str
    """
    rng, draws = np.random.default_rng(0), np.empty(DRAWS)
    step = max(1, BLOCK // data.n)
    blocks = [slice(first, first + step) for first in range(0, DRAWS, step)]
    notes = []
    if labelled is None:
        # Draw the true set of each question from its samples
        reached = np.cumsum(data.weights)
        starts = np.append(0.0, reached)[data.questions[:-1]]
        for block in blocks:
            places = starts + rng.random((draws[block].size, data.n))
            at = np.searchsorted(reached, places, side="right")
            at = np.clip(at, data.questions[:-1], data.questions[1:] - 1)
            draws[block] = scores[at].mean(axis=1)
        notes.append(
            "the forecast treats the true set as one more sample of the model: models "
            "are often overconfident, so pass reference=(true sets, samples)"
        )
        if alone := int((data.counts == 1).sum()):
            notes.append(
                f"{alone:,} of {data.n:,} questions have one sample, which the set "
                "equals: their forecast score is too high"
            )
    else:
        if labelled.vote_share is not None:
            notes.append(_vote_note(labelled.vote_share))
        line, covariance, residual = fit_line(labelled.forecast, labelled.actual)
        lines = rng.multivariate_normal(line, covariance, DRAWS, method="eigh")
        x = bounded_logit(means, EDGE, 1.0 - EDGE)
        means = expit(line[0] + line[1] * x)
        for block in blocks:
            a, b = lines[block].T[:, :, None]
            draws[block] = expit(a + b * x).mean(axis=1)
        draws += rng.normal(0.0, residual / math.sqrt(data.n), DRAWS)
        np.clip(draws, 0.0, 1.0, out=draws)
    tail = (1.0 - coverage) / 2.0
    low, high = np.quantile(draws, (tail, 1.0 - tail)).tolist()
    return means, Interval(low, high), tuple(notes)


def _vote_note(share: float) -> str:
    """Return a note that says how sets are chosen by votes."""
    which = f"the items that {share:.0%} or more of the samples name"
    if share == 0.0:
        which = "all items that a sample names"
    elif share > 1.0:
        which = "no items"
    return f"sets have {which}, which scores most on the reference"


def fit_line(forecast: Floats, actual: Floats) -> tuple[Floats, Floats, float]:
    """Fit a + b·log-odds(forecast) to the log-odds of the expected actual score.

    Maximise Σ y·log μ + (1-y)·log(1-μ), μ = expit(a + b·x), with priors a ~ N(0, 3²)
    and b ~ N(1, 1.5²), by Newton's method.

    Parameters
    ----------
    forecast, actual : ndarray of shape (n_questions,)
        Forecast and actual scores in [0, 1].

    Returns
    -------
    line : ndarray of shape (2,)
        a and b.
    covariance : ndarray of shape (2, 2)
        H⁻¹(Σ g·gᵀ + P)H⁻¹, P the precision of the prior.
    residual : float
        Standard deviation of y - μ.
    """
    x = bounded_logit(forecast, EDGE, 1.0 - EDGE)
    x = np.stack([np.ones(x.size), x], axis=1)
    centre = np.array([0.0, 1.0])
    precision = np.diag([PRIOR_OF_INTERCEPT**-2.0, PRIOR_OF_SLOPE**-2.0])
    line = centre
    for _ in range(50):
        mu = expit(x @ line)
        gradient = x.T @ (actual - mu) - precision @ (line - centre)
        hessian = (x * (mu * (1.0 - mu))[:, None]).T @ x + precision
        step = np.linalg.solve(hessian, gradient)
        step /= max(1.0, float(np.abs(step).max()))  # far out the likelihood is flat
        line = line + step
        if np.abs(step).max() < 1e-10:
            break
    residuals = actual - expit(x @ line)
    inverse, parts = np.linalg.inv(hessian), x * residuals[:, None]
    covariance = inverse @ (parts.T @ parts + precision) @ inverse
    return line, covariance, math.sqrt((residuals**2).sum() / (actual.size - 2))
