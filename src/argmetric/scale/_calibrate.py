"""calibrate and calibration_check, over files: labelled scores, added up or drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import argmetric._calibrate.calibrate as in_memory
from argmetric._calibrate.calibrate import DEFAULT, MAX_COMPARED_ROWS, choose_method
from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.fit import METHODS, Method, fit_calibrator
from argmetric._calibrate.reference import Reference, refuse_useless
from argmetric._ground.arguments import (
    check_choice,
    check_count,
    check_flag,
    check_seed,
)
from argmetric._ground.layout import Average
from argmetric._ground.odds import logit
from argmetric._ground.types import Floats, Hashes, Integers, Label
from argmetric._ground.validation import warn_of_scale
from argmetric._verbs.check import CalibrationCheck
from argmetric._verbs.check import calibration_check as check_rows
from argmetric.metrics import MetricLike, get_metric
from argmetric.scale._columns import FileBatch, WantedColumns
from argmetric.scale._groups import tickets
from argmetric.scale._memory import ROW_BYTES, rows_held
from argmetric.scale._scan import OpenedFiles, Scan, scanning
from argmetric.scale.files import DataError

BINS = 1 << 12  # to a unit of log-odds
WIDE_BINS_FROM = 64.0  # log-odds beyond which bins are as wide as these are large
_MIDDLE = 1 << 40
_TOP = np.uint64(1 << 63)


def keys_of(scores: Floats) -> Hashes:
    """Return whole numbers in the order of the scores; -0 counts as 0."""
    bits = (scores + 0.0).view(np.uint64)
    negative = (bits & _TOP) > 0
    return np.where(negative, ~bits, bits | _TOP)


class ScoreSums(NamedTuple):
    """Sums over rows, by the number of their bin or score."""

    number: Hashes  # ascending and distinct, once they are merged
    low: Floats  # the lowest and the highest of their scores
    high: Floats
    sums: Floats  # (quantities, numbers)

    @classmethod
    def merge(cls, parts: Sequence[ScoreSums]) -> ScoreSums:
        """Return sums over the rows of all parts, added up in their order."""
        numbers, lows, highs, sums = (
            np.concatenate(one, axis=-1) for one in zip(*parts, strict=True)
        )
        number, place = np.unique(numbers, return_inverse=True)
        low, high = np.full(number.size, np.inf), np.full(number.size, -np.inf)
        np.minimum.at(low, place, lows)
        np.maximum.at(high, place, highs)
        totals = [np.bincount(place, one, number.size) for one in sums]
        return cls(number, low, high, np.stack(totals))

    def means(self, *, logits: bool) -> tuple[Floats, Floats]:
        """Return mean scores and mean log-odds of each bin; exact for equal scores."""
        _, weight, _, said, odds = self.sums
        alone, low = self.low == self.high, self.low
        odds = np.where(alone, low if logits else logit(low), odds / weight)
        said = np.where(alone, low, said / weight)
        return (odds if logits else said), odds


def class_sums(number: Hashes, scores: Floats, odds: Floats, w: Floats) -> ScoreSums:
    """Return sums of rows, given their numbers, scores and weights w.

    They are the number of rows, and Σw, Σw², Σw·score and Σw·log-odds, where infinite
    ones count as 0.
    """
    finite = np.where(np.isfinite(odds), odds, 0.0)
    said = np.where(np.isfinite(scores), scores, 0.0)
    sums = np.stack([np.ones(w.size), w, w * w, w * said, w * finite])
    return ScoreSums.merge([ScoreSums(number, scores, scores, sums)])


def bins_of(odds: Floats) -> Hashes:
    """Return the number of the bin of log-odds; infinite ones have own bins."""
    size = np.abs(odds)
    far = np.isfinite(size) & (size > WIDE_BINS_FROM)
    ratio = np.where(far, size / WIDE_BINS_FROM, 1.0)
    size = np.where(far, WIDE_BINS_FROM * (1.0 + np.log(ratio)), size)
    size = np.where(np.isfinite(size), size, float(_MIDDLE // (2 * BINS)))
    number = np.floor(np.copysign(size, odds) * BINS) + _MIDDLE
    return np.asarray(number, dtype=np.uint64)


def counted(classes: list[ScoreSums], *, logits: bool, together: bool) -> Reference:
    """Return the reference that sums of the negatives and the positives stand for.

    With `together` scores with a number in common are one score, whatever their class:
    else a calibrator of steps would tell the classes apart within a bin.
    """
    if together:
        both = ScoreSums.merge(classes)
        place = [np.searchsorted(both.number, one.number) for one in classes]
        parts = [[mean[i] for mean in both.means(logits=logits)] for i in place]
    else:
        parts = [list(one.means(logits=logits)) for one in classes]
    scores, odds = map(np.concatenate, zip(*parts, strict=True))
    y = np.repeat([False, True], [one.number.size for one in classes])
    order = np.argsort(odds, kind="stable")
    _, low, high, sums = (
        np.concatenate(one, axis=-1)[..., order] for one in zip(*classes, strict=True)
    )
    rows, weight, squares, _, _ = sums
    return Reference(
        scores[order],
        y[order],
        weight,
        logits,
        True,
        odds[order],
        rows=rows.astype(np.int64),  # exact up to 2^53
        squares=squares,
        low=low,
        high=high,
    )


def counted_rows(scan: Scan, *, exact: bool, together: bool = False) -> Reference:
    """Return a reference of sums over rows with equal or nearly equal scores.

    With `exact` only rows with the very same score are added up.
    """
    logits, weightless = scan.columns.logits, []

    def of_batch(batch: FileBatch) -> list[ScoreSums]:
        """Return sums of a batch by score, for negatives and for positives."""
        scores, weight = batch.values, batch.weight
        weightless.append(int((weight == 0.0).sum()))
        odds = scores if logits else logit(scores)
        number = keys_of(scores) if exact else bins_of(odds)
        there = weight > 0.0
        classes = there & ~batch.positive, there & batch.positive
        return [class_sums(number[i], scores[i], odds[i], weight[i]) for i in classes]

    def merge(parts: list[list[ScoreSums]]) -> list[ScoreSums]:
        nothing = np.zeros(0)
        empty = class_sums(keys_of(nothing), nothing, nothing, nothing)
        return [ScoreSums.merge(one) for one in zip(*parts, [empty] * 2, strict=True)]

    sums = counted(
        scan.merge_batches(of_batch, merge), logits=logits, together=together
    )
    if scan.n != sums.n + sum(weightless):
        raise DataError(f"{scan.n:,} rows were read and {sums.n:,} are counted")
    return sums


# -- rows that are drawn whatever their label ----------------------------------------


def _random_rows(n: int, size: int, rng: np.random.Generator) -> Integers:
    """Return the numbers of `size` random ones of n rows, rising."""
    if n <= 4 * size:
        return np.sort(rng.permutation(n)[:size])
    chosen = np.zeros(0, dtype=np.int64)
    while chosen.size < size:
        more = rng.integers(n, size=size - chosen.size)
        chosen = np.unique(np.concatenate([chosen, more]))
    return chosen


def _sample(scan: Scan, size: int, random_state: int | None) -> tuple[Any, ...]:
    """Return labels, scores, weights and groups of up to `size` random rows.

    So many of them, or all where there are no more.
    """
    chosen = None
    if size < scan.n:
        chosen = _random_rows(scan.n, size, np.random.default_rng(random_state))
    columns = scan.columns

    def values(batch: FileBatch) -> list[Any]:
        groups = [] if columns.group is None else [batch.plain_groups]
        return [batch.values, batch.positive, batch.weight, *groups]

    scores, y, weight, *ids = scan.rows(chosen, values)
    return y, scores, weight if columns.weight else None, ids[0] if ids else None


# -- some rows of each class, equal for any division into files ----------------------


def reference_sample(scan: Scan, most: int) -> Reference:
    """Return so many rows of each class at most, with weights to stand for all.

    They are those whose numbers among the rows of all files have the lowest tickets.
    """
    kinds = np.uint64, np.int64, np.float64, np.float64, np.bool_
    nothing: Any = np.zeros(2, np.int64), [np.zeros(0, kind) for kind in kinds]

    def of_batch(batch: FileBatch) -> Any:
        """Return the size of each class in a batch, and rows with random tickets."""
        row = np.arange(batch.start, batch.start + batch.size)
        there = (weight := batch.weight) > 0.0
        columns = tickets(row), row, batch.values, weight, batch.positive
        size = np.bincount(batch.positive[there], minlength=2)
        return size, [one[there] for one in columns]

    def merge(parts: list[Any]) -> Any:
        """Keep at most `most` rows of each class, those of the lowest tickets."""
        sizes, rows = zip(nothing, *parts, strict=True)
        columns = [np.concatenate(one) for one in zip(*rows, strict=True)]
        kept = [np.flatnonzero(columns[-1] == one) for one in (False, True)]
        for i, places in enumerate(kept):
            if places.size > most:
                kept[i] = places[np.argpartition(columns[0][places], most)[:most]]
        return sum(sizes), [one[np.concatenate(kept)] for one in columns]

    sizes, (_, row, *columns) = merge([scan.merge_batches(of_batch, merge)])
    scores, weight, positive = (one[np.argsort(row)] for one in columns)
    stands_for = sizes / np.maximum(np.bincount(positive, minlength=2), 1)
    alike = not scan.columns.weight and sizes.max() <= most
    weight = None if alike else weight * stands_for[positive.astype(np.int64)]
    return Reference(scores, positive, weight, scan.columns.logits)


# Rows of which every distinct score is kept apart, if memory allows
MOST_EXACT_ROWS = 1 << 22
SUM_BYTES = 240  # of a score that is kept apart, while sums are merged
MOST_CHECKED_ROWS = 1 << 22  # rows that are checked in memory unasked
MOST_SAMPLE = 1 << 26  # rows that are held in memory


def calibrate(
    files: OpenedFiles,
    method: Method | None = None,
    *,
    pos_label: Label | None = None,
    logits: bool = False,
    n_sample: int | None = None,
    random_state: int | None = 0,
) -> Calibrator:
    r"""Fit a calibrator to scores and labels.

    Parameters
    ----------
    files : Files
        The files, of which this is a method.
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
        The calibrator, as `argmetric.decide` takes it for `reference`.

    Notes
    -----
    One pass reads the labels, one sums all rows by class and score; "auto" needs one
    more, to compare calibrators on as many rows of each class as in memory. Up to four
    million rows every distinct score is kept apart, and the calibrator is that of
    `argmetric.calibrate` up to the rounding of sums (1e-10 of a probability). With more
    rows, scores that differ by less than 1/4096 in log-odds are replaced by their mean:
    "platt", "beta" and "temperature" then give the same probabilities to 1e-8, "spline"
    to 1e-4, as its bins of equal mass may end a few rows further on, and "isotonic" is
    the calibrator of scores that were rounded so. Draws are kept to seven digits, here
    as there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from argmetric import scale
    >>> path = Path(tempfile.mkdtemp(), "scores.csv")
    >>> size = path.write_text("score,label\n0.9,1\n0.6,0\n0.4,0\n0.1,0\n")
    >>> scale.open(path).calibrate("platt").formula
    "logit p' = 0.5245 logit p -0.8893"
    """
    if method is not None:
        check_choice(method, "method", METHODS)
    chosen = method or DEFAULT
    n_sample = _check_sample(n_sample, random_state)
    wanted = _wanted_columns(files, None, logits)
    with scanning(files, wanted, pos_label, both=True) as scan:
        if n_sample is not None:
            y, p, w, _ = _sample(scan, n_sample, random_state)
            return in_memory.calibrate(y, p, method, sample_weight=w, logits=logits)
        if chosen == "auto":  # on some rows of each class, as in memory
            reference = reference_sample(scan, MAX_COMPARED_ROWS)
            refuse_useless(reference, scan.columns.truth.classes)
            chosen = choose_method(reference, "auto")
        most = min(MOST_EXACT_ROWS, rows_held(scan.memory, SUM_BYTES))
        exact = scan.n <= most
        counts = counted_rows(scan, exact=exact, together=chosen == "isotonic")
        refuse_useless(counts, scan.columns.truth.classes)
        warn_of_scale(counts.scores, logits=counts.logits, rows=counts.n)
        return fit_calibrator(counts, chosen)


def _wanted_columns(
    files: OpenedFiles, group: str | None, logits: bool
) -> WantedColumns:
    """Return the columns of score, label, weight and group to read."""
    logits = check_flag(logits, "logits")
    return WantedColumns(
        {"score": files.score, "label": files.label},
        group=group,
        weight=files.weight,
        scores="logits" if logits else "probabilities",
        missing="own",
    )


def _check_sample(n_sample: object, random_state: int | None) -> int | None:
    """Return the number of rows to draw, checked; None for none."""
    check_seed(random_state)
    if n_sample is None:
        return None
    return check_count(n_sample, "n_sample", low=2, high=MOST_SAMPLE)


def calibration_check(
    files: OpenedFiles,
    metric: MetricLike = "f1",
    *,
    average: Average | None = None,
    pos_label: Label | None = None,
    method: Method = DEFAULT,
    n_bins: int = 10,
    n_bootstrap: int = 200,
    random_state: int | None = 0,
    logits: bool = False,
    zero_division: float | None = None,
    n_sample: int | None = None,
) -> CalibrationCheck:
    r"""Check whether probabilities in files are calibrated well enough to use.

    The check of up to four million rows is that of `argmetric.calibration_check` to the
    last digit. It fits calibrators out of fold and resamples rows, so it needs them in
    memory: with more rows pass `n_sample`.

    Parameters
    ----------
    files : Files
        The files, of which this is a method.
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
        The verdict, the calibration curve, and what miscalibration costs.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from argmetric import scale
    >>> path = Path(tempfile.mkdtemp(), "scores.csv")
    >>> rows = "0.9,1\n0.6,0\n0.4,1\n0.1,0\n" * 25
    >>> size = path.write_text(f"score,label\n{rows}")
    >>> check = scale.open(path).calibration_check("f1", n_bootstrap=20)
    >>> check.n, check.n_positives
    (100, 50)
    """
    metric = get_metric(metric, zero_division=zero_division)
    n_sample = _check_sample(n_sample, random_state)
    wanted = _wanted_columns(files, files.group, logits)
    with scanning(files, wanted, pos_label, both=True) as scan:
        most = min(MOST_CHECKED_ROWS, rows_held(scan.memory, ROW_BYTES))
        if n_sample is None and scan.n > most:
            raise DataError(
                f"{scan.n:,} rows are too many to be mapped out of fold and drawn "
                "again: n_sample=1000000 checks so many of them"
            )
        if files.group is not None and n_sample is not None and n_sample < scan.n:
            raise DataError(
                "a sample of rows has no whole groups: leave group or n_sample out"
            )
        y, p, w, groups = _sample(scan, n_sample or scan.n, random_state)
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
