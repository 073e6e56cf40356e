"""NannyML: the F1 of new rows without their labels."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from search_parts.data import timed

import argmetric as am
from peers_parts.cases import f1, scored
from peers_parts.rows import Row

THEIRS = 'CBPE(metrics=["f1"], problem_type="classification_binary").fit(reference)'
OURS = 'forecast(p, labels, "f1", reference=(y, p))'
LEVEL = 0.9973  # of three standard errors on each side, NannyML's band
WIDE = 'forecast(p, labels, "f1", coverage=0.9973, reference=(y, p))'
FEWEST = 10  # positives among the labelled rows and among the new ones


def run(fast: bool) -> list[Row]:
    """The reference is the held part, the new rows are the test part."""
    os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"
    error = Row("error of the estimated F1", "points", "lower", THEIRS, OURS)
    outside = Row(
        "cases in which the interval misses the actual F1",
        "%", "at most", THEIRS, WIDE, allowed=100.0 - 100.0 * LEVEL,
    )  # fmt: skip
    width = Row("width of the interval", "points", "lower", THEIRS, WIDE)
    spent = Row("estimate", "CPU s", "lower", THEIRS, OURS, ratio=True)
    warm = False
    for one in scored(fast, 2):
        if min(one.held_y.sum(), one.y.sum()) < FEWEST:
            continue
        reference = one.held_y, one.held_p
        cut = am.tune(*reference, "f1", n_bootstrap=0, cv=None).threshold
        labels = (one.p >= cut).astype(int)
        calls = (
            lambda o=one, c=cut: from_nannyml(o.held_y, o.held_p, o.p, c),
            lambda o=one, r=reference, z=labels: am.forecast(o.p, z, "f1", reference=r),
        )
        for call in () if warm else calls:
            call()
        warm = True
        (theirs, their_seconds), (ours, our_seconds) = map(timed, calls)
        value, *band = (100.0 * x for x in theirs)
        actual = f1(one.y, labels)
        wide = am.forecast(one.p, labels, "f1", LEVEL, reference=reference)
        interval = [100.0 * x for x in wide.interval]
        errors = abs(value - actual), abs(100.0 * ours.mean - actual)
        error.add(one.name, *errors, unit=one.data)
        outside.add(
            one.name,
            *(100.0 * (not low <= actual <= high) for low, high in (band, interval)),
            unit=one.data,
        )
        widths = (float(np.diff(ends)[0]) for ends in (band, interval))
        width.add(one.name, *widths, unit=one.data)
        spent.add(one.name, their_seconds, our_seconds, unit=one.data)
    return [error, outside, width, spent]


def from_nannyml(
    y: np.ndarray, reference_p: np.ndarray, p: np.ndarray, threshold: float
) -> tuple[float, ...]:
    """F1, its lower and its upper bound for new rows."""
    import nannyml
    import pandas

    def frame(scores: np.ndarray) -> Any:
        labels = (scores >= threshold).astype(int)
        return pandas.DataFrame({"p": scores, "z": labels})

    cbpe = nannyml.CBPE(
        problem_type="classification_binary",
        y_true="y",
        y_pred="z",
        y_pred_proba="p",
        metrics=["f1"],
        chunk_size=p.size,
    )
    reference = frame(reference_p).assign(y=np.asarray(y, dtype=int))
    found = cbpe.fit(reference).estimate(frame(p)).filter(period="analysis")
    columns = ["value", "lower_confidence_boundary", "upper_confidence_boundary"]
    return tuple(found.to_df()["f1"][columns].to_numpy()[-1].tolist())
