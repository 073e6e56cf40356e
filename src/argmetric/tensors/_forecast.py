"""forecast and the counts of evaluate, for tensors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from argmetric._ground.arguments import as_flags, check_share
from argmetric._ground.discrete import ROUNDING
from argmetric._ground.display import metric_title
from argmetric._ground.types import ArrayLike, Floats, Integers
from argmetric.metrics import Metric, MetricLike, RatioForm, get_metric, require_defined
from argmetric.tensors._arrays import (
    Tensor,
    both_p,
    like,
    namespace,
    read_labels,
    read_tensor,
    to_host,
    work_dtype,
)
from argmetric.tensors._curves import (
    PaddedRows,
    count_pmf,
    expected_curves,
    tilted_sets,
    total,
    usable_form,
)
from argmetric.tensors._decide import mean_defined
from argmetric.tensors._segments import CELLS_AT_ONCE, SegmentedTensor

PMF_ROWS = 64  # longest rows whose whole PMF is summed: 4,225 cells each


@dataclass(frozen=True, repr=False, eq=False)
class TensorForecast:
    """Forecast of the score of labels, as tensors on the device of `p`.

    Attributes
    ----------
    means, std : tensor
        What is forecast, mean and standard deviation of the score, of every row, label
        or group; one number for a single batch. `std` is nan where it is not computed:
        rows of more than 64 cells and a metric other than F-beta, Jaccard or Tversky.
    interval : tuple of two tensors, or None
        Lower and upper end for each of them; None if one has more than 64 cells.
    coverage : float
        Probability that the interval contains the score.
    group_ids, metric, average
        As in `TensorDecision`.

    Examples
    --------
    >>> import torch
    >>> import argmetric as am
    >>> f = am.forecast(torch.tensor([0.9, 0.6, 0.2, 0.1]), torch.tensor([1, 1, 0, 0]))
    >>> round(float(f.mean), 3)
    0.768
    """

    means: Tensor
    std: Tensor
    interval: tuple[Tensor, Tensor] | None
    coverage: float
    group_ids: Tensor | None
    metric: Metric
    average: str | None

    @property
    def mean(self) -> Tensor:
        """Mean of `means` where they are defined, on the device."""
        return mean_defined(self.means)

    @property
    def std_of_mean(self) -> Tensor:
        """Standard deviation of the mean over independent rows or groups."""
        xp = namespace(self.std)
        flat = xp.reshape(self.std, (-1,))
        return xp.sqrt(mean_defined(flat * flat) / flat.shape[0])

    def __repr__(self) -> str:
        by = f", average={self.average!r}" if self.average else ""
        return (
            f"TensorForecast({metric_title(self.metric.name)} {float(self.mean):.4f} ± "
            f"{float(self.std_of_mean):.4f}{by}, on {self.means.device})"
        )


def forecast(
    p: Tensor,
    labels: Tensor,
    metric: MetricLike = "f1",
    coverage: float = 0.9,
    *,
    groups: ArrayLike | None = None,
    average: str | None = None,
    zero_division: float | None = None,
    logits: bool = False,
    dtype: str = "float64",
) -> TensorForecast:
    """Forecast the score of labels before the true labels are known, on the device.

    `argmetric.forecast` calls it for tensors.

    Parameters
    ----------
    p : tensor
        Probabilities, or log-odds with ``logits=True``.
    labels : tensor
        The 0/1 labels to score, in the shape of `p`.
    metric, coverage, groups, average, zero_division, logits
        As for `argmetric.forecast`.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the sums.

    Returns
    -------
    TensorForecast
        Means, standard deviations and intervals of the score.

    Examples
    --------
    >>> import torch
    >>> from argmetric.tensors import forecast
    >>> p = torch.tensor([[0.9, 0.6], [0.3, 0.2]], dtype=torch.float64)
    >>> means = forecast(p, p > 0.25, average="samples").means
    >>> [round(mean, 3) for mean in means.tolist()]
    [0.82, 0.28]
    """
    metric = get_metric(metric, zero_division=zero_division)
    coverage = check_share(coverage, "coverage")
    (logits,) = as_flags(logits=logits)
    p = read_tensor(p, "p", logits=logits)
    xp = namespace(p)
    work = work_dtype(xp, dtype, p)
    chosen = xp.astype(read_labels(labels, "labels", p, "p"), xp.int8)
    segments = SegmentedTensor(p, average, groups, "p")
    longest = int(segments.distinct[-1])
    require_defined(metric, longest)
    moments, most = long_moments, None
    if longest <= PMF_ROWS:
        moments, most = pmf_moments, CELLS_AT_ONCE // (PMF_ROWS + 1) ** 2
    found = []
    for part in segments.parts(most):
        scores = xp.astype(segments.take(p, part, -math.inf if logits else 0.0), work)
        # Selected items first: every curve holds for the first k items in any order
        flags = segments.take(chosen, part, 0)
        order = xp.argsort(-flags, stable=True)
        flags = xp.take_along_axis(flags, order, axis=-1)
        scores = xp.take_along_axis(scores, order, axis=-1)
        k = total(xp, xp.astype(flags, xp.int64))
        rows = PaddedRows(xp, *both_p(xp, scores, logits), part.sizes)
        found.append((part, moments(rows, flags > 0, k, metric, coverage)))
    mean, std, low, high = segments.gather(found)
    ends = None if most is None else (low, high)
    ids = segments.group_ids
    return TensorForecast(mean, std, ends, coverage, ids, metric, average)


def pmf_moments(
    rows: PaddedRows, chosen: Tensor, k: Tensor, metric: Metric, coverage: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return mean, std and interval of short rows, from PMFs of hits and misses."""
    xp, p, q, width = rows.xp, rows.p, rows.q, rows.p.shape[1] + 1
    hits = count_pmf(xp, xp.where(chosen, p, 0.0), xp.where(chosen, q, 1.0))
    misses = count_pmf(xp, xp.where(chosen, 0.0, p), xp.where(chosen, 1.0, q))
    probabilities = xp.reshape(hits[:, :, None] * misses[:, None, :], (p.shape[0], -1))
    # Values at every (k; a hits, r misses): sizes and k down, cells across
    a, r = (x.ravel() for x in np.indices((width, width)).astype(np.float64))
    count, size = rows.host_k[..., None], rows.host_n[..., None]
    possible = (a <= count) & (r <= size - count)
    a, r = np.where(possible, a, 0.0), np.where(possible, r, 0.0)
    table = np.reshape(metric.value(a, count, a + r, size), (-1, width * width))
    places = k[:, 0]
    if rows.place is not None:
        places = places + rows.place * width
    values = xp.take(like(xp, table, p), places, axis=0)
    defined = ~xp.isnan(values)
    weights = xp.where(defined, probabilities, 0.0)
    values = xp.where(defined, values, 0.0)
    mass = total(xp, weights)
    safe = xp.where(mass > 0.0, mass, math.nan)
    mean = total(xp, weights * values) / safe
    variance = total(xp, weights * (values - mean) ** 2) / safe
    order = xp.argsort(values, stable=True)
    weights, values = (
        xp.take_along_axis(x, order, axis=-1) for x in (weights / safe, values)
    )
    below = xp.cumulative_sum(weights, axis=-1)
    rest = (1.0 - coverage) / 2.0
    ends = []
    for reached in (below <= rest + ROUNDING, below < 1.0 - rest - ROUNDING):
        count = total(xp, xp.astype(reached, xp.int64))
        place = xp.clip(count, None, width * width - 1)
        ends.append(xp.take_along_axis(values, place, axis=-1)[:, 0])
    return mean[:, 0], xp.sqrt(variance)[:, 0], ends[0], ends[1]


def long_moments(
    rows: PaddedRows, chosen: Tensor, k: Tensor, metric: Metric, coverage: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return mean and std of the score of each row; std only for ratios of hits."""
    xp, form = rows.xp, usable_form(metric, tuple(rows.distinct.tolist()))
    nothing = xp.zeros_like(rows.p[:, 0]) + math.nan
    defined = not math.isnan(metric.zero_division)
    if not (isinstance(form, RatioForm) and form.counts_hits_only and defined):
        mean = xp.take_along_axis(expected_curves(rows, metric), k, axis=-1)
        return mean[:, 0], nothing, nothing, nothing
    none = xp.prod(rows.q, axis=-1, keepdims=True)
    at_none = rows.lift(metric.value(0, rows.host_k, 0, rows.host_n)) + 0.0 * none
    at_none = xp.take_along_axis(at_none, k, axis=-1)
    mean, second = (
        hit_moment(rows, chosen, form, power) + none * at_none**power
        for power in (1, 2)
    )
    variance = xp.clip(second - mean * mean, 0.0, None)
    return mean[:, 0], xp.sqrt(variance)[:, 0], nothing, nothing


def hit_moment(rows: PaddedRows, chosen: Tensor, form: RatioForm, power: int) -> Tensor:
    """Return E[(c1·tp/D)^power] of selected items: c1^power·Σ w·E[e^(-s·D)]·M.

    M is Σr for power 1 and (Σr)² + Σr(1-r) for 2, with the r = p·u/φ of those items.
    """
    xp, out = rows.xp, 0.0
    for head, share, _ in tilted_sets(rows, chosen, form, power):
        r = xp.where(chosen, share, 0.0)
        hits = total(xp, r)
        out = out + head * (hits if power == 1 else hits**2 + total(xp, r * (1.0 - r)))
    return form.c[1] ** power * out


def count(
    y: Tensor, labels: Tensor, groups: object, average: str | None
) -> tuple[Floats, Floats, Floats, Integers]:
    """Return hits, predicted and actual positives, and the size, per segment.

    The labels stay on their device; four numbers for each segment leave it.
    """
    if math.prod(y.shape) == 0:
        raise ValueError("y is empty: there is nothing to evaluate")
    true = read_labels(y, "y", y, "y")
    pred = read_labels(labels, "labels", y, "y")
    xp = namespace(true)
    segments = SegmentedTensor(true, average, groups, "y")
    kinds = [xp.astype(flags, xp.int64) for flags in (true & pred, pred, true)]
    found = [
        (part, tuple(xp.sum(segments.take(x, part, 0), axis=-1) for x in kinds))
        for part in segments.parts()
    ]
    sums = (np.atleast_1d(to_host(x)) for x in segments.gather(found))
    hits, k, t = (x.astype(np.float64) for x in sums)
    return hits, k, t, segments.sizes


def sums_of_rows(
    y: Tensor, labels: Tensor, by_true: Floats, by_predicted: Floats, by_hit: Floats
) -> Floats:
    """Return Σ_j of factors of each label, along the rows of two label matrices.

    The factors, of shape (n_labels,), are those of y, of labels and of their product.
    """
    true, pred = read_labels(y, "y", y, "y"), read_labels(labels, "labels", y, "y")
    xp = namespace(true)
    try:
        work = work_dtype(xp, "float64", true)
    except TypeError:  # a device or a setting without float64
        work = xp.float32
    sums = 0.0
    for flags, factors in (
        (true, by_true),
        (pred, by_predicted),
        (true & pred, by_hit),
    ):
        numbers = xp.astype(flags, work)
        sums = sums + xp.sum(numbers * like(xp, factors, numbers), axis=-1)
    return np.asarray(to_host(sums), dtype=np.float64)
