"""tune, over files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from argmetric._files import LABEL_NAMES, DataError
from argmetric._input.labels import Labels
from argmetric._tune import (
    Choice,
    Cost,
    Limits,
    Rule,
    can_hold_the_best,
    check_settings,
    check_tune_limits,
    one_metric,
    tune_cuts,
)
from argmetric.metrics import Metric, MetricLike, require_defined
from argmetric.scale._cells import (
    Cells,
    CellTask,
    Scored,
    count_cells,
    merged_cells,
)
from argmetric.scale._columns import find_used
from argmetric.scale._conservation import require_all
from argmetric.scale._marks import find_mark, settle_marks
from argmetric.scale._reading import How, check_names, reading
from argmetric.scale._run import Run, look_at
from argmetric.scale._sources import OnError, Source, find_input
from argmetric.scale._tasks import Found, Progress, Task

FEW = 1 << 22  # rows whose scores are all looked at
MOST_CELLS = 1 << 18  # with rows in them, into which a range is divided at a time
FIRST_SHIFT = 44  # keys that differ in later bits alone are in one bin at first
WAITING_CELLS = 1 << 16  # at least, of files, before they become one
WHOLE = 0, (1 << 64) - 1


def tune(
    files: Any,
    metric: MetricLike | None = None,
    *,
    score: str | None = None,
    label: str | None = None,
    min_precision: float | None = None,
    min_recall: float | None = None,
    max_positives: float | None = None,
    cost: Cost | None = None,
    zero_division: float | None = None,
    pos_label: Any = None,
    choice: Choice = "best",
    n_bootstrap: int = 200,
    coverage: float = 0.9,
    cv: int | None = 5,
    random_state: int | np.random.Generator | None = 0,
    on_error: OnError = "stop",
    memory: int | str | None = None,
    executor: Any = None,
    n_jobs: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Rule:
    """Find the threshold with the best score on labelled rows in files of any size.

    The threshold and its score are those of `argmetric.tune` on all rows at once: rows
    are counted in bins of the score, and only the bins that can hold the best cut are
    divided further, down to single scores. `thresholds` and `scores` of the rule have
    every cut near the best one, and one for each bin elsewhere.

    Parameters
    ----------
    files : str, path or list of these
        As `argmetric.scale.decide` takes them.
    metric : str, Metric or callable, default="f1"
        What to optimise.
    score : str, optional
        The column of scores: by default the one called score, prob, p or the like.
    label : str, optional
        The column of true labels: by default the one called label, y, target or the
        like.
    min_precision, min_recall, max_positives, cost, zero_division, pos_label
        As `argmetric.tune` takes them.
    choice, n_bootstrap, coverage, cv, random_state
        As `argmetric.tune` takes them. Rows are resampled in bins of neighbouring
        scores.
    on_error, memory, executor, n_jobs, progress
        As `argmetric.scale.decide` takes them.

    Returns
    -------
    Rule
    """
    chosen = one_metric(metric, cost, zero_division)
    limits = check_tune_limits(min_precision, min_recall, max_positives)
    settings = check_settings(limits, choice, n_bootstrap, coverage, cv, random_state)
    check_names(score=score, label=label)
    how = How(on_error, memory, None, executor, n_jobs, progress)
    found = find_input(files)
    with reading(how, moves_rows=False) as run:
        use = partial(find_scored, score=score, label=label)
        sources, used = look_at(run, found, use)
        assert isinstance(used, Scored)
        (mark,) = settle_marks(run, sources, (used.mark,), pos_label, both=True)
        used = replace(used, mark=mark)
        require_defined(chosen, sum(source.rows for source in sources.values()))
        cells = _cells_for(Rows(run, sources, used), chosen, limits)
        run.tell_skipped()
    labels = Labels(np.zeros(0, dtype=bool), mark.positive, mark.negative)
    return tune_cuts(cells.cuts(), [chosen], settings, labels)[0]


def find_scored(
    source: Source, schema: Any, score: str | None, label: str | None
) -> Scored:
    """The columns of one file."""
    used = find_used(source, schema, score, None, "", logits=True, missing="error")
    mark = find_mark(
        source,
        schema,
        label,
        LABEL_NAMES,
        what="label",
        role="label",
        taken=[used.score],
    )
    if mark.column == used.score:
        raise DataError(f"label and score both name column {mark.column!r}")
    return Scored(used.score, True, mark=mark)


class Rows:
    """All rows, of which cells are counted; every count is a look at all files."""

    def __init__(self, run: Run, sources: dict[int, Source], used: Scored) -> None:
        self.run, self.sources, self.used = run, sources, used
        self.size = sum(source.rows for source in sources.values())

    def count(self, low: int, high: int, shift: int | None, n_rows: int) -> Cells:
        """Cells of the rows, so many, whose keys lie between two, both included."""
        tasks = [
            Task(
                count_cells,
                CellTask(source, self.used, low, high, shift),
                "",
                source.rows,
            )
            for source in self.sources.values()
        ]
        parts: list[Cells] = []
        waiting, most = 0, WAITING_CELLS

        def take(found: Found) -> Found:
            nonlocal waiting, most
            parts.append(found.pop("cells"))
            waiting += 1 + parts[-1].scores.size
            if waiting > most:  # as many as are merged: each is sorted a few times
                parts[:] = [merged_cells(parts)]
                waiting, most = 0, max(WAITING_CELLS, parts[0].scores.size)
            return found

        self.run.over_files("count", self.sources, tasks, take)
        cells = merged_cells(parts)
        require_all("count", n_rows, cells.n_rows)
        return cells


def _cells_for(rows: Rows, metric: Metric, limits: Limits) -> Cells:
    """Cells that are single scores wherever the best cut can be."""
    low, high = WHOLE
    if rows.size <= FEW:
        return rows.count(low, high, None, rows.size)
    shift = FIRST_SHIFT
    cells = rows.count(low, high, shift, rows.size)
    while True:
        inner = _range_left(cells, metric, limits, low, high)
        low, high = int(inner.first[0]), int(inner.last[-1])
        if inner.n_rows <= FEW:
            return cells.replaced(rows.count(low, high, None, inner.n_rows))
        finer = MOST_CELLS.bit_length() - inner.first.size.bit_length()
        if finer <= 0:
            raise DataError(
                f"cuts at {inner.n_rows:,} rows are as good as the best one for "
                f"{metric.name}: round the scores, or tune in memory"
            )
        shift = max(0, shift - finer)
        cells = cells.replaced(rows.count(low, high, shift, inner.n_rows))
        if shift == 0:
            return cells


def _range_left(
    cells: Cells, metric: Metric, limits: Limits, low: int, high: int
) -> Cells:
    """Cells from the first to the last that can hold the best cut.

    One more on either side tells the scores between which the outermost cuts lie.
    """
    alive = can_hold_the_best(cells.cuts(), [metric], limits)[::-1]
    alive &= (cells.first >= np.uint64(low)) & (cells.last <= np.uint64(high))
    found = np.flatnonzero(alive)
    if not found.size:
        limits.allowed_cuts(cells.cuts())  # says what can be had
    part = slice(max(int(found[0]) - 1, 0), int(found[-1]) + 2)
    return Cells(*(values[part] for values in vars(cells).values()))
