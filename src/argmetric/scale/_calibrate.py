"""calibrate and calibration_check, over files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import argmetric._calibrate.calibrate as in_memory
from argmetric._calibrate.calibrate import DEFAULT, ROWS_COMPARED, choose_method
from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.fit import METHODS, Method, fit_map
from argmetric._calibrate.reference import refuse_useless
from argmetric._calibration_check import CalibrationCheck
from argmetric._calibration_check import calibration_check as check_rows
from argmetric._files import DataError
from argmetric._input.arguments import check_choice, check_count, check_flag, check_seed
from argmetric._input.layout import Average
from argmetric._input.likely_slips import warn_of_scale
from argmetric.metrics import MetricLike, get_metric
from argmetric.scale._columns import WantedColumns
from argmetric.scale._labelled import counted_rows, drawn_reference, taken_rows
from argmetric.scale._reading import reading
from argmetric.scale._run import Run

if TYPE_CHECKING:
    from argmetric.scale._open import Files

MOST_EXACT_ROWS = 1 << 22  # rows of which every distinct score is kept apart
MOST_CHECKED_ROWS = 1 << 22  # rows that are checked in memory unasked
MOST_SAMPLE = 1 << 26  # rows that are held in memory


def calibrate(
    files: Files,
    method: Method | None = None,
    *,
    pos_label: Any = None,
    logits: bool = False,
    n_sample: int | None = None,
    random_state: int | None = 0,
) -> Calibrator:
    """Fit a calibration map to scores and labels.

    Parameters
    ----------
    method : str, optional
        See `argmetric.calibrate`.
    pos_label, logits
        See `argmetric.calibrate`.
    n_sample : int, optional
        Fit on a random sample of this many rows, or on all if there are fewer. By
        default all rows.
    random_state : int, optional
        Seed of the sample.

    Returns
    -------
    Calibrator

    Notes
    -----
    One pass reads the labels, one sums all rows by class and score; "auto" needs one
    more, to compare maps on as many rows of each class as in memory. Up to four million
    rows every distinct score is kept apart, and the map is that of
    `argmetric.calibrate` up to the rounding of sums (1e-10 of a probability). With more
    rows, scores that differ by less than 1/4096 in log-odds are replaced by their mean:
    "platt", "beta" and "temperature" then give the same probabilities to 1e-8, "spline"
    to 1e-4, as its cells of equal mass may end a few rows further on, and "isotonic" is
    the map of scores that were rounded so. Draws are kept to seven digits, here as
    there.
    """
    if method is not None:
        check_choice(method, "method", METHODS)
    chosen = method or DEFAULT
    n_sample = _check_sample(n_sample, random_state)
    wanted = _wanted(files, None, logits)
    with reading(files, wanted, pos_label, both=True) as run:
        if n_sample is not None:
            y, p, w, _ = taken_rows(run, n_sample, random_state)
            found = in_memory.calibrate(y, p, method, sample_weight=w, logits=logits)
        else:
            found = _fitted(run, _compared(run) if chosen == "auto" else chosen)
        run.tell_skipped()
    return found


def _wanted(files: Files, group: str | None, logits: bool) -> WantedColumns:
    logits = check_flag(logits, "logits")
    return WantedColumns(
        {"score": files.score, "label": files.label},
        group=group,
        weight=files.weight,
        scores="logits" if logits else "probabilities",
        missing="own",
    )


def _check_sample(n_sample: Any, random_state: Any) -> int | None:
    """How many rows are to be drawn; None: none."""
    check_seed(random_state)
    if n_sample is None:
        return None
    return check_count(n_sample, "n_sample", low=2, high=MOST_SAMPLE)


def _compared(run: Run) -> Method:
    """What "auto" stands for, on some rows of each class as in memory."""
    reference = drawn_reference(run, ROWS_COMPARED)
    refuse_useless(reference, run.columns.truth.classes)
    return choose_method(reference, "auto")


def _fitted(run: Run, method: Method) -> Calibrator:
    steps = method == "isotonic"
    exact = run.n <= MOST_EXACT_ROWS
    reference = counted_rows(run, exact=exact, together=steps)
    refuse_useless(reference, run.columns.truth.classes)
    warn_of_scale(reference.scores, logits=reference.logits, rows=reference.n)
    return fit_map(reference, method)


def calibration_check(
    files: Files,
    metric: MetricLike = "f1",
    *,
    average: Average | None = None,
    pos_label: Any = None,
    method: Method = DEFAULT,
    n_bins: int = 10,
    n_bootstrap: int = 200,
    random_state: int | None = 0,
    logits: bool = False,
    zero_division: float | None = None,
    n_sample: int | None = None,
) -> CalibrationCheck:
    """Check whether probabilities in files are calibrated well enough to use.

    The check of up to four million rows is that of `argmetric.calibration_check` to the
    last digit. It fits maps out of fold and resamples rows, so it needs them in memory:
    with more rows pass `n_sample`.

    Parameters
    ----------
    metric : str, Metric or callable, default="f1"
        The metric of the decisions and forecasts.
    average, pos_label, method, n_bins, n_bootstrap, logits, zero_division
        See `argmetric.calibration_check`.
    random_state : int, optional
        Seed of the sample, the folds and the samples of these.
    n_sample : int, optional
        Check a random sample of this many rows, or all if there are fewer. Groups are
        checked whole, and so not on a sample.

    Returns
    -------
    CalibrationCheck
    """
    metric = get_metric(metric, zero_division=zero_division)
    n_sample = _check_sample(n_sample, random_state)
    wanted = _wanted(files, files.group, logits)
    with reading(files, wanted, pos_label, both=True) as run:
        if n_sample is None and run.n > MOST_CHECKED_ROWS:
            raise DataError(
                f"{run.n:,} rows are too many to be mapped out of fold and drawn "
                "again: n_sample=1000000 checks so many of them"
            )
        if files.group is not None and n_sample is not None and n_sample < run.n:
            raise DataError(
                "a sample of rows has no whole groups: leave group or n_sample out"
            )
        y, p, w, groups = taken_rows(run, n_sample or run.n, random_state)
        run.tell_skipped()
    return check_rows(
        y,
        p,
        metric,
        groups=groups,
        average=average,
        sample_weight=w,
        method=method,
        n_bins=n_bins,
        n_bootstrap=n_bootstrap,
        random_state=random_state,
        logits=logits,
    )
