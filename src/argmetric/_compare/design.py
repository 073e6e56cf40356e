"""Scores from labels of random rows: PPI++, which is unbiased by any judge.

The influence of a row on a score m of n rows is n·(m' - m), m' the score with one more
row like it, at the counts that a posterior expects. Its mean over all rows is what that
score is off, to first order; of accuracy exactly. Of the rows without a label it is

    ρ = λ·μ + Σ_i w_i·(f_i - λ·g_i),

f_i the influence of labelled row i, g_i what the judge expects of it, μ the mean of
that over the rows without a label, w the weights of the labels, and λ leaves the least
variance (Angelopoulos, Duchi and Zrnic 2023).

A posterior is drawn toward what the judge expects. Where labels contradict that, a part
of its draws is moved onto PPI++,

    MOST·max(0, 1 - s²/(PPI++ - expected)²),

with the standard error s of PPI++: none where both agree within s. Draws next to PPI++
are moved, so that the other end of an interval stays where it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from argmetric._ground.types import Floats, Integers
from argmetric.metrics import Metric

# Chosen on parts 1000 to 1015 of the sweep of benchmarks/compare.py, on systems
# generated alike in pairs, and on split 0 of its sets CHOSEN_ON
MOST = 0.75
UNEVEN = 1.5  # χ² of the labels of strata, over its mean, from which labels are weighed
ADDED = 1e-3  # rows that are added for the influence of one


class LabelledRows(NamedTuple):
    """Labels of rows, and what a judge says of all rows, in bins."""

    bin: Integers  # (labels)
    y: Floats  # (labels)
    weight: Floats  # (labels) sums to 1
    judged: Floats  # (bins) probability of a positive, by the judge
    rate: Floats  # (bins) and by the posterior
    size: Integers  # (bins) rows, labelled or not


def label_weights(total: Integers, labels: Integers, stratum: Integers) -> Floats:
    """Return weights of labels: alike, or by strata where these differ too much.

    total, labels : (strata) rows and labels
    stratum : (labels) number of the stratum
    """
    wanted = total * (labels.sum() / total.sum())
    uneven = ((labels - wanted) ** 2 / wanted).sum() > UNEVEN * (total.size - 1)
    weight = (total / np.maximum(labels, 1))[stratum] if uneven else 1.0 + 0.0 * stratum
    return np.asarray(weight / weight.sum())


def row_influence(metric: Metric, tp: float, k: float, t: float, n: float) -> Floats:
    """Return the influence of a row by its prediction and its label, (2, 2).

    Less its mean at the counts, which is 0 where a score has no unit.
    """
    called, y = np.indices((2, 2)) * ADDED
    more = metric.value(tp + called * y / ADDED, k + called, t + y, n + ADDED)
    now = metric.value(*(np.array([x]) for x in (tp, k, t, n)))
    found = np.nan_to_num((more - now) * n / ADDED)
    rows = np.array([[n - k - t + tp, t - tp], [k - tp, tp]])
    return np.asarray(found - (rows * found).sum() / n)


def ppi_mean(rows: LabelledRows, influence: Floats) -> tuple[float, float, float]:
    """Return the PPI++ estimate of a mean, its variance, and what the judge expects.

    influence : (bins, 2) of rows of both labels
    """
    at, y, weight, p, _, size = rows
    f, (no, yes) = influence[at, y.astype(np.int64)], influence.T
    judged = no + p * (yes - no)
    n, whole, g = f.size, size.sum(), judged[at]
    expected = size @ judged / whole
    variance = size @ (judged - expected) ** 2 / whole
    apart = (weight @ (f * g) - (weight @ f) * (weight @ g)) * n / (n - 1)
    power = float(np.clip(apart / max((1 + n / whole) * variance, 1e-12), 0.0, 1.0))
    left = f - power * g
    unknown = (size @ judged - g.sum()) / (whole - n)
    part = power * unknown + weight @ left
    square = weight**2 @ (left - weight @ left) ** 2 * n / (n - 1)
    mean = (f.sum() + (whole - n) * part) / whole
    return float(mean), float(square), float(expected)


def moved_onto_labels(
    draws: Floats, rows: LabelledRows, influence: Floats, ends: list[float]
) -> Floats:
    """Return draws of a score, those next to PPI++ moved onto it.

    The variance is at least what the posterior expects: few labels may be of one kind.

    influence : (bins, 2) at the posterior mean
    ends : lowest and highest score that the labels allow
    """
    mean, variance, expected = ppi_mean(rows, influence)
    (no, yes), rate = influence.T**2, rows.rate
    square = rows.size @ (no + rate * (yes - no)) / rows.size.sum()
    variance = max(variance, square / rows.y.size)
    moved = MOST * max(0.0, 1.0 - variance / max((mean - expected) ** 2, 1e-12))
    rank = np.argsort(np.argsort(draws if mean < 0.0 else -draws, kind="stable"))
    near = np.clip(draws + mean, ends[0], ends[1])
    return np.asarray(np.where(rank < moved * draws.size, near, draws))
