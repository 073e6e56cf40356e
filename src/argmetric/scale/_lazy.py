"""Lazy tables of Polars, DuckDB, Dask and Spark, opened once; verbs as methods."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np

from argmetric._calibrate.resolve import resolve_calibrator
from argmetric._expected import is_long
from argmetric._forecast.distributions import score_pmf_from_counts
from argmetric._forecast.forecast import forecast as forecast_rows
from argmetric._forecast.result import Forecast
from argmetric._ground.arguments import as_flags, check_column
from argmetric._ground.display import Field
from argmetric._ground.labels import binary_labels, read_together
from argmetric._ground.limits import check_limits
from argmetric._ground.types import ReferenceLike
from argmetric._ground.validation import Probabilities
from argmetric._verbs.decide import (
    SegmentCounts,
    cut_between,
    decide_by,
    decide_items,
    error_note,
    refuse_never_defined,
    whole_tie_note,
)
from argmetric.metrics import Metric, MetricLike, get_metric, require_defined
from argmetric.scale import _lazy_items
from argmetric.scale._forecast import forecast_of
from argmetric.scale._lazy_groups import GroupWork, decide_groups
from argmetric.scale._lazy_items import (
    BINS,
    LazyItems,
    Rows,
    binned_pmf,
    column_of,
    moments_in_bins,
)
from argmetric.scale._parts import SUMS, decision_on_all
from argmetric.scale._result import ScaledDecision
from argmetric.scale._verbs import LabelledScores, Verbs
from argmetric.scale.files import DECISION_NAMES, LABEL_NAMES, SCORE_NAMES

MOST_ROWS = 1 << 24  # decided at once in memory, about 1 GB, where aggregates do not do
MOST_COUNTS = 1 << 23  # numbers of positives that are looked at one by one
MOST_CONVOLVED = 1 << 20  # rows whose probabilities are convolved one by one
USUAL = {"score": SCORE_NAMES, "label": LABEL_NAMES, "decision_column": DECISION_NAMES}


@dataclass(frozen=True, repr=False)
class LazyDecision(ScaledDecision):
    """Result of a decision over a lazy table: the table with a column of decisions.

    Parameters
    ----------
    table : lazy table
        Of the engine that was given, with one more column of 0 and 1. Nothing of it is
        computed yet. With groups, Dask, DuckDB and Spark give the rows another order.
    output : str
        The name of that column.
    score, group : str
        The columns that were used; `group` is None for one vector.
    n : int
        Number of rows.
    n_files : int
        0: there are no files.
    n_groups : int or None
        Number of groups; None for one vector.
    n_positives : int
        Number of predicted positives, those of the table.
    threshold, threshold_raw : float or None
        For one vector: rows at or above it are positive, on the scale that `scale`
        names and on that of the column. None where each group has its own cut.
    scale : {"p", "logit", "calibrated p", "calibrated logit"}
        What `threshold` is compared with.
    expected : float
        Expected metric; the mean over groups where there are some.
    error : float
        Bound or estimate of the numerical error of `expected`.
    expected_half, n_half : float or None, int
        Expected score of a cut at one half of the scores as given, None if the metric
        has no value in some group; and its number of positives.
    metric : Metric
        What was maximised.
    plan : str
        How the rows were processed, such as "one vector, 2 passes".
    skipped : tuple of str
        Empty: there are no files.
    notes : tuple of str
        Remarks on the result.

    Examples
    --------
    >>> import polars as pl
    >>> from argmetric import scale
    >>> rows = pl.LazyFrame({"score": [0.9, 0.6, 0.1]})
    >>> scale.open(rows).decide("f1").n_positives
    2
    """

    table: Any = None
    threshold_raw: float | None = None

    def fields(self) -> list[Field]:
        """Return what is shown of the decision.

        Returns
        -------
        list of Field
            Keys, values and words, in their order.
        """
        rows = Field("n", self.n, "rows", f"{self.n:,}")
        left_out = ("n_files", "skipped")
        known = [one for one in super().fields() if one.key not in left_out]
        known = [rows if one.key == "n" else one for one in known]
        return [*known, Field("threshold_raw", self.threshold_raw)]


@dataclass(frozen=True, repr=False, eq=False)
class LazyTable(Verbs):
    """A lazy table and its columns; see `open`. Only aggregates are collected.

    Parameters
    ----------
    table : lazy table
        A LazyFrame of Polars, a relation of DuckDB, a DataFrame of Dask or Spark.
    score, label, group, decision_column : str or None, default=None
        The columns; None finds those with a usual name, and no groups.

    Examples
    --------
    >>> import polars as pl
    >>> from argmetric import scale
    >>> rows = pl.LazyFrame({"score": [0.9, 0.6, 0.1]})
    >>> scale.open(rows).decide("f1").table.collect()["decision"].to_list()
    [1, 1, 0]
    """

    table: Any  # of its engine
    score: str | None = None
    label: str | None = None
    group: str | None = None
    decision_column: str | None = None

    @cached_property
    def _frame(self) -> nw.LazyFrame[Any]:
        """Return the table as narwhals has it, which keeps its schema."""
        frame: nw.LazyFrame[Any] = nw.from_native(self.table).lazy()
        return frame

    def _subject(self) -> str:
        engine = type(self.table).__module__.split(".")[0].lstrip("_")
        return f"LazyTable: {engine}"

    def decide(
        self,
        metric: MetricLike = "f1",
        *,
        output: str | None = None,
        average: Literal["groups", "pooled"] = "groups",
        zero_division: float | None = None,
        min_positives: int = 0,
        max_positives: int | str | None = None,
        min_precision: float | None = None,
        min_recall: float | None = None,
        logits: bool = False,
        reference: ReferenceLike | None = None,
    ) -> LazyDecision:
        """Choose the labels with the highest expected metric.

        One vector takes two passes over its scores. Rows with equal scores get equal
        labels: of the cuts that split no tie it is the best one, and otherwise that of
        `argmetric.decide`. Groups are brought together by the engine, and decided once
        for the numbers of the result and again when the table is computed; which rows
        of a tie at the cut of a group are chosen is up to the order in which the engine
        hands them out, their number is not.

        Parameters
        ----------
        metric : str, Metric or callable, default="f1"
            See `argmetric.decide`.
        output : str, optional
            Name of the new column: by default the `decision_column`, or "decision".
        average : {"groups", "pooled"}, default="groups"
            With groups: their mean (default), or all rows pooled.
        zero_division, min_positives, max_positives, min_precision, min_recall, logits
            See `argmetric.decide`.
        reference : pair (y, p) or Calibrator, optional
            See `argmetric.decide`.

        Returns
        -------
        LazyDecision
            The lazy table with one more column, and the expected score.
        """
        metric = get_metric(metric, zero_division=zero_division)
        (logits,) = as_flags(logits=logits)
        limits = check_limits(min_positives, max_positives, min_precision, min_recall)
        options: dict[str, Any] = {
            "min_positives": min_positives,
            "max_positives": max_positives,
            "min_precision": min_precision,
            "min_recall": min_recall,
            "logits": logits,
            "reference": resolve_calibrator(reference, logits=logits),
        }
        table = self._frame
        if output is None:
            output = self.decision_column or "decision"
        check_column(output, "output")
        if output.lower() in map(str.lower, table.collect_schema().names()):
            raise ValueError(
                f"output: there is a column {output!r} already: name another one"
            )
        columns = self._columns(self._by_group(average), p="score")
        plain = not logits and options["reference"] is None and "g" not in columns
        rows = Rows(table, columns, "logit" if logits else "p", in_bins=plain)
        about: dict[str, Any] = {
            **{"output": output, "score": columns["p"], "group": columns.get("g")},
            **{"n": rows.n, "n_files": 0, "metric": metric},
        }
        if "g" in columns:
            return LazyDecision(**about, **_decide_groups(table, rows, options, about))
        count = None
        if plain and is_long(rows.n) and limits.min_precision == limits.min_recall == 0:
            items = LazyItems(rows, rows.n)
            count = decide_items(items, metric, limits, most=MOST_COUNTS, whole=True)
        if count is None:
            found = _decide_values(rows, metric, options)
        else:
            cut = cut_between(count.upper, count.lower)
            notes = whole_tie_note(count.lost, metric) + error_note(count.error)
            found = {
                **{"n_positives": count.best, "expected": count.expected},
                **{"expected_half": count.at_half, "n_half": count.n_half},
                **{"threshold": cut, "threshold_raw": cut, "scale": "p"},
                **{"error": count.error, "notes": tuple(notes)},
            }
        cut = found["threshold_raw"]
        if cut == 0.0 and not logits:
            cut = -1.0  # all: rounding may have left some below 0
        p = nw.col(columns["p"]).cast(nw.Float64)
        column = (p >= cut).cast(nw.Int8).alias(output)
        found |= {"table": table.with_columns(column).to_native(), "n_groups": None}
        plan = f"one vector, {rows.passes} passes"
        return LazyDecision(**about, **found, plan=plan)

    def _count_labels(self, pos_label: object, *, by_group: bool) -> SegmentCounts:
        columns = self._columns(by_group, y="label", d="decision_column")
        rows = Rows(self._frame, columns)
        read = read_together(pos_label, y=rows.labels["y"], labels=rows.labels["d"])
        true, chosen = (labels == 1.0 for labels in read)
        if by_group:
            return rows.group_counts(true, chosen)
        cells = (true & chosen, chosen, true, true | ~true)
        tp, k, t, n = (np.array([float(rows.counts[cell].sum())]) for cell in cells)
        return SegmentCounts(tp, k, t, n)

    def _forecast(
        self, metric: Metric, coverage: float, pos_label: object, *, by_group: bool
    ) -> Forecast:
        columns = self._columns(by_group, p="score", d="decision_column")
        rows = Rows(self._frame, columns)
        chosen = read_together(pos_label, labels=rows.labels["d"])[0] == 1.0
        frame = rows.mark(d=chosen)
        if rows.n <= MOST_CONVOLVED:
            return _forecast_values(rows, frame, metric, coverage)
        if "g" in columns:
            raise ValueError(
                f"a forecast by group takes at most {MOST_CONVOLVED:,} rows of a lazy "
                f"table, not {rows.n:,}: write them to files, or take average='pooled'"
            )
        require_defined(metric, rows.n)
        found = rows.numbers(moments_in_bins(frame, 0.0, BINS, "d"))
        rows.check_rows(found["rows"].sum(), rows.n)
        hits, misses = (
            binned_pmf({name: one[found["d"] == side] for name, one in found.items()})
            for side in (1, 0)
        )
        k = int(rows.counts[chosen].sum())
        pmf = score_pmf_from_counts(metric, rows.n, k, hits, misses)
        sizes: dict[str, Any] = {"n": rows.n, "n_positives": k, "n_groups": None}
        expected = math.fsum(found["x"]) / BINS
        return forecast_of(pmf, metric, coverage, expected_positives=expected, **sizes)

    @contextlib.contextmanager
    def _labelled_scores(self, pos_label: object) -> Iterator[LabelledScores]:
        columns = self._columns(False, p="score", y="label")
        rows = Rows(self._frame, columns, "finite")
        labels = binary_labels(rows.labels["y"], pos_label, both=True)
        rows.frame = rows.mark(y=labels.positive)
        whole = np.array([[rows.low, rows.high, rows.n, 0.0]])
        few = _lazy_items.MOST_SCANNED
        yield LabelledScores(whole, rows.label_bins, few, labels)

    def _columns(self, by_group: bool, /, **roles: str) -> dict[str, str]:
        """Return the columns with some roles, by names of our own, and the groups."""
        if by_group:
            roles["g"] = "group"
        names = self._frame.collect_schema().names()
        found = {
            name: column_of(names, getattr(self, role), USUAL.get(role, ()), role)
            for name, role in roles.items()
        }
        if len(set(found.values())) < len(found):
            raise ValueError(f"one column has two roles: {', '.join(found.values())}")
        return found


def _decide_groups(
    table: Any, rows: Rows, options: dict[str, Any], about: dict[str, Any]
) -> dict[str, Any]:
    """Return the decision on groups: a pass of two columns, and a lazy table."""
    metric, columns = about["metric"], (about["score"], about["group"])
    sums = decide_groups(rows.frame, GroupWork("p", "g", metric, options))
    found = rows.numbers(sums.select(*(nw.col(name).sum() for name in SUMS)))
    total = {name: float(found[name][0]) for name in SUMS}
    rows.check_rows(total["n"], rows.n)
    fields = decision_on_all(total, metric, grouped=True)
    if rows.high > 0.0:
        refuse_never_defined(fields["expected"], metric)
    work = GroupWork(*columns, metric, options, about["output"])
    scale = "logit" if options["logits"] else "p"
    return {
        **fields,
        "threshold": None,
        "plan": f"by group, {rows.passes} passes",
        "scale": scale if options["reference"] is None else f"calibrated {scale}",
        "table": decide_groups(table, work).to_native(),
    }


def _decide_values(
    rows: Rows, metric: Metric, options: dict[str, Any]
) -> dict[str, Any]:
    """Return the decision on distinct scores and their counts, in memory."""
    if rows.n > MOST_ROWS:
        raise ValueError(
            f"{rows.n:,} rows have to be decided at once with this metric and these "
            f"options, and at most {MOST_ROWS:,} can be: sums are enough for named "
            "metrics of probabilities without reference, min_precision and min_recall"
        )
    values, times = rows.values(rows.frame)
    rows.check_rows(times.sum(), rows.n)
    found = decide_by(np.repeat(values, times), metric, whole_ties=True, **options)
    if found.threshold_raw is None:
        raise ValueError(
            "the calibrator falls somewhere, so that no cut of the column gives these "
            "labels: calibrate the scores first, and decide on the new column"
        )
    half = {
        "expected_half": found.cut_half.expected,
        "n_half": found.cut_half.n_positives,
    }
    names = ("n_positives", "threshold", "threshold_raw", "scale", "expected", "error")
    return {name: getattr(found, name) for name in (*names, "notes")} | half


def _forecast_values(
    rows: Rows, frame: nw.LazyFrame[Any], metric: Metric, coverage: float
) -> Forecast:
    """Return the forecast of rows that are few, fetched with their numbers."""
    keys = [name for name in ("p", "d", "g") if name in rows.columns]
    found = rows.ask(frame.group_by(keys).agg(rows=nw.len()))
    times = found["rows"].to_numpy()
    rows.check_rows(times.sum(), rows.n)
    at = np.repeat(np.arange(times.size), times)
    p: Any = Probabilities(found["p"].to_numpy()[at], scale_is_known=True)
    groups = {"groups": found["g"].take(at)} if "g" in keys else {}
    return forecast_rows(
        p, found["d"].to_numpy(zero_copy_only=False)[at], metric, coverage, **groups
    )


def open_lazy(
    table: Any, others: dict[str, Any], **columns: str | None
) -> LazyTable | None:
    """Return the lazy table that narwhals reads; None if this is something else.

    Parameters
    ----------
    others : dict
        Options for files, which are refused unless they have their defaults.
    **columns
        Names of columns by their roles.
    """
    frame = nw.from_native(table, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        raise TypeError(
            f"this table of {frame.implementation.name.lower()} is in memory: pass its "
            "columns to argmetric.decide and the like, or a lazy frame"
        )
    if not isinstance(frame, nw.LazyFrame):
        return None
    for name, value in others.items():
        if value not in (None, "error", "stop"):
            raise ValueError(f"{name} goes with files, not with a lazy table")
    return LazyTable(table, **columns)
