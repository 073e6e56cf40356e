"""calibrate, over files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import argmetric._calibrate as in_memory
from argmetric._calibrate import (
    DEFAULT,
    METHODS,
    ROWS_COMPARED,
    Calibrator,
    Method,
    choose_method,
    fit_map,
    refuse_useless,
)
from argmetric._input.arguments import check_choice, check_flag
from argmetric._input.labels import Labels
from argmetric._input.likely_slips import warn_of_scale
from argmetric.scale._drawn import drawn_reference
from argmetric.scale._labelled import LabelledRows, Wanted, check_sample, labelled_rows
from argmetric.scale._reading import How
from argmetric.scale._sources import OnError
from argmetric.scale._tasks import Progress

FEW = 1 << 22  # rows of which every distinct score is kept apart


def calibrate(
    files: Any,
    method: Method | None = None,
    *,
    score: str | None = None,
    label: str | None = None,
    weight: str | None = None,
    pos_label: Any = None,
    logits: bool = False,
    n_sample: int | None = None,
    random_state: int | None = 0,
    on_error: OnError = "stop",
    memory: int | str | None = None,
    executor: Any = None,
    n_jobs: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Calibrator:
    """Fit a map that makes probabilities fit labels, on files of any size.

    Parameters
    ----------
    files : str, path or list of these
        As `argmetric.scale.decide` takes them.
    method : str, optional
        As `argmetric.calibrate` takes it.
    score : str, optional
        The column of scores: by default the one called score, prob, p or the like.
    label : str, optional
        The column of true labels: by default the one called label, y, target or the
        like.
    weight : str, optional
        The column of weights of the rows.
    pos_label, logits
        As `argmetric.calibrate` takes them.
    n_sample : int, optional
        Fit `argmetric.calibrate` on so many rows, each as likely to be drawn as the
        next; all of them where there are no more. By default on all rows.
    random_state : int, optional
        Seed of the sample.
    on_error, memory, executor, n_jobs, progress
        As `argmetric.scale.decide` takes them.

    Returns
    -------
    Calibrator

    Notes
    -----
    One look at the labels and one at all rows, which are added up by class and score;
    "auto" takes one more, to compare maps on as many rows of each class as in memory.
    Up to four million rows every distinct score is kept apart, and the map is that of
    `argmetric.calibrate` up to the rounding of sums (1e-10 of a probability). With more
    rows scores are added up that differ by less than 1/4096 in log-odds, with their
    mean: "platt", "beta" and "temperature" then give the same probabilities to 1e-8,
    "spline" to 1e-4, as its cells of equal mass may end a few rows further on, and
    "isotonic" is the map of scores that were rounded so. Draws are kept to seven
    digits, here as there.
    """
    if method is not None:
        check_choice(method, "method", METHODS)
    chosen = method or DEFAULT
    n_sample = check_sample(n_sample, random_state)
    wanted = Wanted(score, label, weight, None, pos_label, check_flag(logits, "logits"))
    how = How(on_error, memory, None, executor, n_jobs, progress)
    with labelled_rows(files, wanted, how) as rows:
        if n_sample is not None:
            y, p, w, _ = rows.taken(n_sample, random_state)
            found = in_memory.calibrate(
                y, p, method, sample_weight=w, logits=wanted.logits
            )
        else:
            found = _fitted(rows, _compared(rows) if chosen == "auto" else chosen)
        rows.run.tell_skipped()
    return found


def _compared(rows: LabelledRows) -> Method:
    """What "auto" stands for, on some rows of each class as in memory."""
    reference = drawn_reference(rows, ROWS_COMPARED)
    refuse_useless(reference, _labels(rows))
    return choose_method(reference, "auto")


def _fitted(rows: LabelledRows, method: Method) -> Calibrator:
    steps = method == "isotonic"
    reference = rows.counted(exact=rows.n <= FEW, together=steps)
    refuse_useless(reference, _labels(rows))
    warn_of_scale(reference.scores, logits=reference.logits, rows=reference.n)
    return fit_map(reference, method)


def _labels(rows: LabelledRows) -> Labels:
    return Labels(np.zeros(0, dtype=bool), rows.mark.positive, rows.mark.negative)
