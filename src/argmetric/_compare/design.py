"""Accuracy from labels of random rows: PPI++, which is unbiased by any judge.

Of the rows without a label a part

    ρ = λ·m + Σ_i w_i·(f_i - λ·g_i)

is right: f_i says whether labelled row i is right, g_i is the probability of that by
the judge, m its mean over the rows without a label, w the weights of the labels, and λ
leaves the least variance (Angelopoulos, Duchi and Zrnic 2023).

A posterior is drawn toward what the judge expects. Where labels contradict that, a part
of its draws is moved onto PPI++,

    MOST·max(0, 1 - DOUBT·s²/(PPI++ - expected)²),

with the standard error s of PPI++: none where both agree within √DOUBT·s. Draws next to
PPI++ are moved, so that the other end of an interval stays where it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from argmetric._ground.types import Booleans, Floats, Integers

# Chosen on parts 1000 to 1015 of the sweep of benchmarks/compare.py and on split 0 of
# its sets CHOSEN_ON
MOST, DOUBT = 0.85, 2.0
FIRM = 5  # labels that the posterior's variance is worth, in s²: 25 of 25 may be right
UNEVEN = 1.5  # χ² of the labels of strata, over its mean, from which labels are weighed


class LabelledRows(NamedTuple):
    """Labels of one system's rows, and what a judge says of all rows, in bins."""

    right: Booleans  # (labels) whether the prediction is right
    bin: Integers  # (labels)
    weight: Floats  # (labels) sums to 1
    judged: Floats  # (bins) probability that it is right, by the judge
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


def ppi_accuracy(rows: LabelledRows) -> tuple[float, float]:
    """Return the PPI++ estimate of the accuracy of all rows, and its variance."""
    right, at, weight, judged, size = rows
    n, whole, g = right.size, size.sum(), judged[at]
    variance = size @ (judged - size @ judged / whole) ** 2 / whole
    apart = (weight @ (right * g) - (weight @ right) * (weight @ g)) * n / (n - 1)
    power = float(np.clip(apart / max((1 + n / whole) * variance, 1e-12), 0.0, 1.0))
    left = right - power * g
    unknown = (size @ judged - g.sum()) / (whole - n)
    part = np.clip(power * unknown + weight @ left, 0.0, 1.0)
    square = weight**2 @ (left - weight @ left) ** 2 * n / (n - 1)
    return float((right.sum() + (whole - n) * part) / whole), float(square)


def moved_onto_labels(draws: Floats, rows: LabelledRows) -> Floats:
    """Return draws of the accuracy, those next to PPI++ moved onto it."""
    centre, n, whole = float(draws.mean()), rows.right.size, rows.size.sum()
    mean, variance = ppi_accuracy(rows)
    variance = (n * variance + FIRM * centre * (1.0 - centre) / n) / (n + FIRM)
    apart = mean - rows.size @ rows.judged / whole
    moved = MOST * max(0.0, 1.0 - DOUBT * variance / max(apart**2, 1e-12))
    rank = np.argsort(np.argsort(draws if mean < centre else -draws, kind="stable"))
    ends = np.array([rows.right.sum(), whole - (~rows.right).sum()]) / whole
    near = np.clip(draws + mean - centre, *ends)
    return np.asarray(np.where(rank < moved * draws.size, near, draws))
