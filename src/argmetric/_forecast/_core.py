"""forecast: what score will these labels get?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._arguments import check_flag, check_number, check_share
from argmetric._calibrate import Calibrator, resolve_calibrator
from argmetric._decide._calibrated import calibration_note, recalibrated
from argmetric._decide._curves import compiled
from argmetric._decide._tables import Tables, by_size
from argmetric._forecast._effects import LARGEST_EFFECT, mixed_law, settle
from argmetric._forecast._laws import (
    MAX_ATOMS,
    ValueLaw,
    combine,
    compress,
    law_of_values,
    shortest_interval,
)
from argmetric._forecast._result import Forecast
from argmetric._forecast._shift import centre_log_odds, effects, match_prevalence
from argmetric._labels import check_pos_label, label_numbers
from argmetric._layout import Average, Layout, lay_out
from argmetric._odds import from_log_odds
from argmetric._segments import Floats, Integers, Segments, expit
from argmetric._suspect import warn_of_scale
from argmetric._validation import is_sparse
from argmetric.metrics import (
    Metric,
    MetricLike,
    feasible_counts,
    get_metric,
    require_defined,
)

TABLE_LIMIT = 64
FEW_GROUPS = 24  # up to so many the laws of the groups are convolved
GRID = 1 << 14

Mask = npt.NDArray[np.bool_]


def forecast(
    p: Any,
    labels: Any,
    metric: MetricLike = "f1",
    coverage: float = 0.9,
    *,
    groups: Any = None,
    average: Average | None = None,
    known: Any = None,
    prior: float | None = None,
    overdispersion: float = 0.0,
    zero_division: float | None = None,
    logits: bool = False,
    calibrator: Any = None,
    reference: Any = None,
    pos_label: Any = None,
) -> Forecast:
    """Forecast the score of given labels before the truth is known.

    Parameters
    ----------
    p : array-like
        Probabilities, as for `decide`.
    labels : array-like
        The labels that are handed in, in any way they were found: 0/1, booleans, -1/1,
        or any others with `pos_label`.
    metric : str, Metric or callable, default="f1"
        What they are judged by.
    coverage : float, default=0.9
        Probability that the interval should hold.
    groups, average
        As for `decide`; groups alone mean the mean over groups.
    known : array-like, optional
        True labels that have arrived already; nan or None for the others.
    prior : float, optional
        Prevalence that is known to hold now: one constant is added to all log-odds so
        that the mean of p meets it. (`adjust_prior` adds the constant that Bayes' rule
        gives for a change of prevalence, whatever the mean of these rows.)
    overdispersion : float, default=0.0
        Standard deviation of a normal effect on the log-odds that all rows share (all
        rows of a group, where there are groups). The probability of each single row
        stays as given; the interval widens.
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0, by default the metric's own. With nan the forecast is for the
        outcomes in which the metric is defined.
    logits : bool, default=False
        Whether `p` holds log-odds.
    calibrator, reference
        A map that `p` passes through first, or labelled rows to fit one on, as for
        `decide`.
    pos_label : object, optional
        The one of `labels` and `known` that counts as positive.

    Returns
    -------
    Forecast

    Examples
    --------
    >>> import argmetric as am
    >>> f = am.forecast([0.9, 0.6, 0.2, 0.1], [1, 1, 0, 0])
    >>> round(f.mean, 3), [round(x, 3) for x in f.interval]
    (0.768, [0.5, 1.0])
    """
    metric = get_metric(metric, zero_division=zero_division)
    coverage = check_share(coverage, "coverage")
    high = LARGEST_EFFECT
    overdispersion = check_number(overdispersion, "overdispersion", low=0.0, high=high)
    prior = None if prior is None else check_share(prior, "prior")
    logits = check_flag(logits, "logits")
    if groups is not None and average is None:
        average = "groups"
    layout = lay_out(p, groups=groups, average=average, logits=logits)
    found = resolve_calibrator(calibrator, reference, logits=logits)
    if found is None:
        warn_of_scale(layout.scores, logits=logits, zeros=layout.sparse)
    else:
        layout = recalibrated(layout, found, logits=logits)
    check_pos_label(pos_label, labels=labels, known=() if known is None else known)
    chosen = label_numbers(labels, "labels", pos_label, shape=layout.shape) == 1.0
    selected = layout.select(chosen)
    if layout.sparse and selected.sum() != chosen.sum():
        raise ValueError("a label is 1 where the sparse p has no entry")
    scores = layout.scores
    p_, q = (expit(scores), expit(-scores)) if logits else (scores, 1.0 - scores)
    if prior is not None:
        # An implicit cell stays a certain negative under any prevalence.
        p_, q = match_prevalence(p_, q, prior, int(layout.sizes.sum()))
    require_defined(metric, int(layout.sizes.max()))
    known_ = _arrived(known, pos_label, layout)
    if layout.single:
        law, positives = _law_of_one(
            metric, int(layout.sizes[0]), p_, q, known_, selected, overdispersion
        )
    else:
        law, positives = _group_law(
            metric, layout, p_, q, known_, selected, overdispersion
        )
    if not law.values.size:
        raise ValueError(
            f"{metric.name} is undefined (0/0) for these labels, whatever the truth; "
            "zero_division=0 or 1 gives it a value"
        )
    interval = shortest_interval(law.values, law.probabilities, coverage)
    return Forecast(
        mean=law.mean,
        interval=interval,
        coverage=coverage,
        std=math.sqrt(max(law.variance, 0.0)),
        values=law.values,
        probabilities=law.probabilities,
        p_undefined=law.p_undefined,
        metric=metric,
        n=int(layout.sizes.sum()),
        n_positives=int(selected.sum()),
        n_groups=None if layout.single else int(layout.sizes.size),
        expected_positives=positives,
        assumptions=_assumptions(prior, overdispersion, known_, found),
    )


def _assumptions(
    prior: float | None,
    overdispersion: float,
    known: Floats,
    found: Calibrator | None,
) -> tuple[str, ...]:
    lines = ["probabilities are calibrated"]
    since = "training"
    if found is not None:
        lines, since = [calibration_note(found)], "calibration"
    if prior is None:
        lines.append(f"no shift since {since}")
    else:
        lines.append(f"prevalence is {prior:g}, all else as in {since}")
    if overdispersion:
        lines.append(
            f"labels depend on each other through one normal effect of sd "
            f"{overdispersion:g} on the log-odds"
        )
    else:
        lines.append("labels independent given the scores")
    arrived = int((~np.isnan(known)).sum())
    return (*lines, f"{arrived:,} labels are known") if arrived else tuple(lines)


def _arrived(known: Any, pos_label: Any, layout: Layout) -> Floats:
    """Known labels per explicit item, nan where unknown."""
    if known is None:
        return np.full(layout.scores.size, math.nan)
    if is_sparse(known):
        raise TypeError(
            "known must be dense: an array with nan where a label has not arrived"
        )
    values = label_numbers(known, "known", pos_label, shape=layout.shape, missing=True)
    explicit = np.asarray(layout.select(values), dtype=np.float64)
    if layout.sparse and np.nansum(values) != np.nansum(explicit):
        raise ValueError("known is 1 where the sparse p has no entry")
    return explicit


def _law_of_one(
    metric: Metric,
    n: int,
    p: Floats,
    q: Floats,
    known: Floats,
    selected: Mask,
    deviation: float,
) -> tuple[ValueLaw, float]:
    """Law of the score of one segment, and its expected positives."""
    if deviation == 0.0:
        p, q = settle(p, q, known)
        return law_of_values(metric, n, p, q, selected), float(p.sum())
    centre = centre_log_odds(p, q, deviation)
    return mixed_law(metric, n, centre, deviation, known, selected)


def _group_law(
    metric: Metric,
    layout: Layout,
    p: Floats,
    q: Floats,
    known: Floats,
    selected: Mask,
    deviation: float,
) -> tuple[ValueLaw, float]:
    """Law of the mean over segments: convolved if they are few, else from moments."""
    order = layout.segment_rows(0, layout.indptr.size - 1)
    p, q, known, selected = p[order], q[order], known[order], selected[order]
    count = layout.sizes.size
    if count <= FEW_GROUPS:
        laws, positives = [], 0.0
        for g in range(count):
            part = slice(layout.indptr[g], layout.indptr[g + 1])
            law, mean = _law_of_one(
                metric,
                int(layout.sizes[g]),
                p[part],
                q[part],
                known[part],
                selected[part],
                deviation,
            )
            laws.append(law)
            positives += mean
        law_of_mean = _convolved(laws)
        if law_of_mean is None and all(law.p_undefined == 0.0 for law in laws):
            law_of_mean = _on_grid(laws)
        if law_of_mean is not None:
            return law_of_mean, positives
    raw, positives = np.zeros((count, 4)), 0.0
    tables = Tables(metric)
    for weight, a, b in _group_scenarios(layout.indptr, p, q, known, deviation):
        a, b = settle(a, b, known)
        segments = Segments(a, b, layout.indptr, layout.sizes)
        raw += weight[:, None] * _raw_moments(tables, segments, selected)
        positives += float(np.repeat(weight, segments.lengths) @ a)
    return _law_from_moments(raw, _bounds(metric)), positives


def _group_scenarios(
    indptr: Integers, p: Floats, q: Floats, known: Floats, deviation: float
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """(weight of every group, p, q) for values of the effect, one effect per group."""
    count = indptr.size - 1
    if deviation == 0.0:
        yield np.ones(count), p, q
        return
    centre = centre_log_odds(p, q, deviation)
    points, weights = effects()
    arrived = ~np.isnan(known)
    sign = np.where(known == 1.0, 1.0, -1.0)
    ends = np.zeros((points.size, indptr[-1] + 1))
    for i, effect in enumerate(points):
        x = sign * (centre + deviation * effect)
        np.cumsum(np.where(arrived, -np.logaddexp(0.0, -x), 0.0), out=ends[i, 1:])
    level = np.log(weights)[:, None] + np.diff(ends[:, indptr], axis=1)
    chances = np.exp(level - level.max(axis=0))
    chances /= chances.sum(axis=0)
    for effect, chance in zip(points, chances, strict=True):
        yield chance, *from_log_odds(centre + deviation * effect)


def _raw_moments(tables: Tables, segments: Segments, selected: Mask) -> Floats:
    """Per segment P(defined) and E[value^j; defined], j = 1, 2, 3."""
    kernels, count = compiled(), segments.n_segments
    moments = np.zeros((count, 4))
    raw = np.zeros((count, 3))
    for m, n, chosen in by_size(segments, TABLE_LIMIT):
        table, defined = tables.of(m, n)
        arguments = (segments.p, segments.q, segments.indptr, chosen, selected)
        kernels.table_moments(*arguments, table, raw)
        moments[chosen, 1:] = raw[chosen]
        moments[chosen, 0] = 1.0
        if defined is not None:
            kernels.table_moments(*arguments, defined, raw)
            moments[chosen, 0] = raw[chosen, 0]
    for g in np.flatnonzero(segments.lengths > TABLE_LIMIT).tolist():
        one = segments.one(g)
        part = slice(segments.indptr[g], segments.indptr[g + 1])
        law = law_of_values(
            tables.metric, int(segments.sizes[g]), one.p, one.q, selected[part]
        )
        powers = [law.probabilities @ law.values**j for j in (0, 1, 2, 3)]
        moments[g] = (1 - law.p_undefined) * np.array(powers)
    return moments


def _convolved(laws: list[ValueLaw]) -> ValueLaw | None:
    """Law of the mean over the independent values that are defined.

    Sums are kept apart by how many values went in. None where they are too many.
    """
    by_count = {0: (np.zeros(1), np.ones(1))}
    for law in laws:
        parts: dict[int, list[tuple[Floats, Floats]]] = {}
        for count, (sums, weights) in by_count.items():
            if sums.size * law.values.size > MAX_ATOMS:
                return None
            if law.p_undefined > 0:
                parts.setdefault(count, []).append((sums, weights * law.p_undefined))
            if law.values.size:
                chances = (1 - law.p_undefined) * law.probabilities
                parts.setdefault(count + 1, []).append(
                    (
                        (sums[:, None] + law.values).ravel(),
                        (weights[:, None] * chances).ravel(),
                    )
                )
        by_count = {count: compress(part) for count, part in parts.items()}
    return combine(
        [
            (sums / count if count else np.full_like(sums, math.nan), weights)
            for count, (sums, weights) in by_count.items()
        ]
    )


def _on_grid(laws: list[ValueLaw]) -> ValueLaw:
    """The same by convolution on a fine grid that keeps the mean; all are defined."""
    count = len(laws)
    low = sum(float(law.values[0]) for law in laws) / count
    high = sum(float(law.values[-1]) for law in laws) / count
    mean = sum(law.mean for law in laws) / count
    variance = sum(law.variance for law in laws) / count**2
    if high - low < 1e-12:
        return ValueLaw(np.array([mean]), np.ones(1), 0.0, mean, 0.0)
    step = (high - low) / (GRID - 1)
    total = np.ones(1)
    for law in laws:
        place = (law.values - law.values[0]) / count / step
        below = np.floor(place).astype(np.int64)
        share = place - below
        size = int(below[-1]) + 2
        grid = np.bincount(below, law.probabilities * (1 - share), size)
        grid += np.bincount(below + 1, law.probabilities * share, size)
        total = _fft(total, grid.astype(np.float64))
    values = low + step * np.arange(total.size)
    keep = total > 1e-15
    values, weights = values[keep], total[keep]
    weights = weights / weights.sum()
    values = values + (mean - weights @ values)
    return ValueLaw(values, weights, 0.0, mean, variance)


def _fft(a: Floats, b: Floats) -> Floats:
    """Convolution of two laws by Fourier transform; negative rounding is cut off."""
    size = a.size + b.size - 1
    length = 1 << (size - 1).bit_length()
    product = np.fft.rfft(a, length) * np.fft.rfft(b, length)
    return np.maximum(np.fft.irfft(product, length)[:size], 0.0)


def _bounds(metric: Metric) -> tuple[float, float]:
    """0 or -1, and 1, for a metric that keeps to them; else no bounds."""
    values = np.nan_to_num(metric.value(*feasible_counts(8), 8))
    if values.max() > 1.0 or values.min() < -1.0:
        return -math.inf, math.inf
    return (0.0 if values.min() >= 0.0 else -1.0), 1.0


def _law_from_moments(raw: Floats, bounds: tuple[float, float]) -> ValueLaw:
    """Nearly normal law of the mean over many segments, with its skewness.

    Where values can be left out the mean is a ratio of sums; its variance is that of
    the sum of (value - ratio) over the defined ones.
    """
    share, first, second, third = raw.T
    weight = float(share.sum())
    if weight <= 0.0:
        nothing = np.zeros(0)
        return ValueLaw(nothing, nothing, 1.0, math.nan, math.nan)
    mean = float(first.sum()) / weight
    # Raw moments of d = (value - mean)·1(defined), then its cumulants.
    d1 = first - mean * share
    d2 = second - 2 * mean * first + mean**2 * share
    d3 = third - 3 * mean * second + 3 * mean**2 * first - mean**3 * share
    variance = float((d2 - d1**2).sum()) / weight**2
    skew = float((d3 - 3 * d1 * d2 + 2 * d1**3).sum()) / weight**3
    deviation = math.sqrt(max(variance, 0.0))
    with np.errstate(divide="ignore"):  # all of them are left out
        undefined = float(np.exp(np.log(np.maximum(1.0 - share, 0.0)).sum()))
    if deviation < 1e-9:  # what is left of a variance of 0 after cancellation
        return ValueLaw(np.array([mean]), np.ones(1), undefined, mean, 0.0)
    z = np.linspace(-6.0, 6.0, 2401)
    density = np.exp(-(z**2) / 2) * (1 + skew / deviation**3 / 6 * (z**3 - 3 * z))
    density = np.maximum(density, 0.0)
    values = np.clip(mean + deviation * z, *bounds)
    return ValueLaw(values, density / density.sum(), undefined, mean, variance)
