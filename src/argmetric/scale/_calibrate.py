"""calibrate, over files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import argmetric._calibrate as in_memory
from argmetric._arguments import check_choice, check_flag
from argmetric._calibrate import (
    DEFAULT,
    METHODS,
    Calibrator,
    Method,
    fit_map,
    refuse_useless,
)
from argmetric._files import DataError
from argmetric._labels import Labels
from argmetric._suspect import warn_of_scale
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
        As `argmetric.calibrate` takes it. "auto" compares maps out of fold and needs
        `n_sample`; so does "isotonic" for more than four million rows whose scores
        are all different.
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
    One look at the labels and one at all rows, which are added up by class and score.
    Up to four million rows every distinct score is kept apart, and the map is that of
    `argmetric.calibrate` up to the rounding of sums (1e-10 of a probability). With more
    rows scores are added up that differ by less than 1/4096 in log-odds, with their
    mean: "platt", "beta" and "temperature" then give the same probabilities to 1e-8,
    "spline" to 1e-4, as its cells of equal mass may end a few rows further on. Draws
    are kept to seven digits, here as there.
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
        elif chosen == "auto":
            raise DataError(
                "method='auto' compares maps out of fold, for which rows must fit in "
                f"memory: n_sample=1000000 takes so many of the {rows.n:,}"
            )
        else:
            found = _fitted(rows, chosen)
        rows.run.tell_skipped()
    return found


def _fitted(rows: LabelledRows, method: Method) -> Calibrator:
    reference = rows.counted(exact=rows.n <= FEW)
    labels = Labels(np.zeros(0, dtype=bool), rows.mark.positive, rows.mark.negative)
    refuse_useless(reference, labels)
    warn_of_scale(reference.scores, logits=reference.logits, rows=reference.n)
    if method == "isotonic" and not reference.is_exact:
        raise DataError(
            f"an isotonic map of {rows.n:,} rows needs their distinct scores in "
            "memory: round the scores to four digits, or take some of the rows with "
            "n_sample=1000000"
        )
    return fit_map(reference, method)
