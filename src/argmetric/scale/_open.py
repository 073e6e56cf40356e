"""Files of any size, opened once, with the verbs as methods."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from argmetric._ground.arguments import check_choice, check_path, check_texts, shown
from argmetric._ground.types import Path
from argmetric.scale._calibrate import calibrate, calibration_check
from argmetric.scale._classes import decide_classes, evaluate_classes
from argmetric.scale._columns import MissingGroups
from argmetric.scale._decide import decide
from argmetric.scale._evaluate import count_labels
from argmetric.scale._forecast import forecast_files
from argmetric.scale._memory import check_memory
from argmetric.scale._scan import OpenedFiles
from argmetric.scale._sources import OnError, find_files
from argmetric.scale._tune import labelled_scores


class Files(OpenedFiles):
    """Files of any size, their columns, and how they are worked on; see `open`.

    Parameters
    ----------
    paths : list of (str, str)
        The files, and their names in an output.
    score, label, group, weight, decision_column : str or None
        Names of columns; None finds those with a usual name, and no groups or weights.
    scores : list of str or None
        Columns of probabilities of classes.
    missing_groups : {"error", "own"}
        What becomes of rows without a group.
    on_error : {"stop", "skip"}
        What becomes of files that cannot be read.
    memory : int
        Bytes that a run may use.
    work_dir : str or None
        The folder for temporary files.
    n_jobs : int or None
        Number of threads.
    reading : dict
        How text is written: `encoding`, `max_line` and `decimal`.

    Examples
    --------
    >>> from argmetric import scale
    >>> scale.open("scores/", group="user").evaluate("f1")  # doctest: +SKIP
    """

    decide = decide
    _count_labels = count_labels
    _forecast = forecast_files
    _labelled_scores = labelled_scores
    calibrate = calibrate
    calibration_check = calibration_check
    decide_classes = decide_classes
    evaluate_classes = evaluate_classes


def open(
    files: Path | Sequence[Path],
    *,
    score: str | None = None,
    label: str | None = None,
    group: str | None = None,
    weight: str | None = None,
    decision_column: str | None = None,
    scores: Sequence[str] | None = None,
    missing_groups: MissingGroups = "error",
    on_error: OnError = "stop",
    memory: int | str | None = None,
    work_dir: Path | None = None,
    n_jobs: int | None = None,
) -> Any:
    """Open files or a lazy table: the verbs are methods of what is returned.

    Parameters
    ----------
    files : str, path or list of these, or lazy table
        A folder, a pattern such as ``"scores/*.parquet"``, or files: Parquet or Arrow;
        CSV, TSV or JSON lines, also compressed by gzip or zstd. In a folder text counts
        where nothing else is. Or a lazy table: a LazyFrame of Polars, a relation of
        DuckDB, a DataFrame of Dask or Spark, of which the columns below are named, and
        no other option.
    score : str, optional
        The column of scores; by default the one called score, prob, p or the like.
    label : str, optional
        The column of true labels; by default the one called label, y, target or the
        like.
    group : str, optional
        The column of group ids, of any type.
    weight : str, optional
        The column of weights of the rows, for `calibrate` and `calibration_check`.
    decision_column : str, optional
        The column of decisions: the one that `decide` adds, by default ``"decision"``,
        and `evaluate` and `forecast` read, by default the one called decision,
        prediction, predicted, pred or y_pred.
    scores : list of str, optional
        The columns of probabilities of `decide_classes`, one for each class.
    missing_groups : {"error", "own"}, default="error"
        Whether rows without a group are an error, or a group of their own.
    on_error : {"stop", "skip"}, default="stop"
        Whether a file that cannot be read, or has other columns, ends the run or is
        left out and listed.
    memory : int or str, optional
        Memory that a run may use, such as ``"2GB"``; by default half of the machine's.
    work_dir : str or path, optional
        The folder for temporary files, about 24 bytes per row, and copies of text; by
        default beside the output of `decide`, else that of the system.
    n_jobs : int, optional
        Number of threads: None is 1, -1 all cores.

    Returns
    -------
    Files or LazyTable
        With `decide`, `forecast`, `evaluate` and `tune`; files also with `calibrate`,
        `calibration_check`, `decide_classes` and `evaluate_classes`.

    Examples
    --------
    >>> from argmetric import scale
    >>> data = scale.open("scores/", group="user", memory="2GB")  # doctest: +SKIP
    >>> data.decide("f1", output="decided/")  # doctest: +SKIP
    """
    named: dict[str, Any] = {
        **{"score": score, "label": label, "group": group, "weight": weight},
        "decision_column": decision_column,
    }
    for name, value in named.items():
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} must be the name of a column, not {shown(value)}")
    if scores is not None:
        scores = check_texts(scores, "scores", "a list of columns")
    named["scores"] = scores
    check_choice(missing_groups, "missing_groups", ("error", "own"))
    check_choice(on_error, "on_error", ("stop", "skip"))
    given: Any = files
    if not isinstance(given, str | os.PathLike | list | tuple):
        from argmetric.scale._lazy import open_lazy

        others = {
            **{"weight": weight, "scores": scores},
            **{"memory": memory, "work_dir": work_dir, "n_jobs": n_jobs},
            **{"on_error": on_error, "missing_groups": missing_groups},
        }
        columns = {name: named[name] for name in ("score", "label", "group")}
        table = open_lazy(given, others, decision_column=decision_column, **columns)
        if table is not None:
            return table
    return Files(
        paths=find_files(files),
        **named,
        missing_groups=missing_groups,
        on_error=on_error,
        memory=check_memory(memory),
        work_dir=None if work_dir is None else check_path(work_dir, "work_dir"),
        n_jobs=n_jobs,
    )
