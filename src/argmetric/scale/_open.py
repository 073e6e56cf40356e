"""Files of any size, opened once, with the verbs as methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from argmetric._ground.arguments import check_choice, check_path, check_texts, shown
from argmetric._ground.display import Shown
from argmetric._ground.types import ArrayLike, Path
from argmetric.scale._calibrate import calibrate, calibration_check
from argmetric.scale._classes import decide_classes, evaluate_classes
from argmetric.scale._columns import MissingGroups
from argmetric.scale._decide import decide
from argmetric.scale._executors import check_memory
from argmetric.scale._scores import evaluate, forecast
from argmetric.scale._sources import OnError, blocks_of, find_input, is_array
from argmetric.scale._tasks import Progress
from argmetric.scale._train import fit
from argmetric.scale._tune import tune


@dataclass(frozen=True, repr=False, eq=False)
class Files(Shown):
    """Files of any size, their columns, and how they are worked on; see `open`."""

    # the files, sorted by path, or the partitions of a Dask collection
    found: list[Any]
    # score, label, group, weight, decision_column, scores, features, missing_groups:
    # the columns, as they were named
    score: str | None
    label: str | None
    group: str | None
    weight: str | None
    decision_column: str | None
    scores: list[str] | None
    features: list[str] | None
    missing_groups: MissingGroups
    # on_error, memory, work_dir, executor, n_jobs, progress: how the verbs run
    on_error: OnError
    memory: int
    work_dir: str | None
    executor: Any
    n_jobs: int | None
    progress: Callable[[Progress], None] | None
    are_arrays: bool = False

    decide = decide
    forecast = forecast
    evaluate = evaluate
    tune = tune
    calibrate = calibrate
    calibration_check = calibration_check
    fit = fit
    decide_classes = decide_classes
    evaluate_classes = evaluate_classes

    def __repr__(self) -> str:
        number = f"{len(self.found):,} file{'s' * (len(self.found) != 1)}"
        named = [
            f"{one.name}={getattr(self, one.name)!r}"
            for one in fields(self)[1:8]
            if getattr(self, one.name) is not None
        ]
        return f"<{', '.join([f'Files: {number}', *named])}>"


def open(
    files: Path | Sequence[Path] | tuple[ArrayLike, ArrayLike],
    *,
    score: str | None = None,
    label: str | None = None,
    group: str | None = None,
    weight: str | None = None,
    decision_column: str | None = None,
    scores: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    missing_groups: MissingGroups = "error",
    on_error: OnError = "stop",
    memory: int | str | None = None,
    work_dir: Path | None = None,
    executor: object = None,
    n_jobs: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Files:
    """Open files of any size: the verbs are methods of what is returned.

    Parameters
    ----------
    files : str, path or list of these
        A folder, a pattern such as ``"scores/*.parquet"``, or files: Parquet or Arrow,
        also at an address of fsspec. Folders such as ``day=3`` are columns. Or a Dask
        DataFrame: every partition is treated as a file; the worker that reads it
        computes it, once for each pass. For `fit` also a pair of Dask arrays, of
        features and labels, by their blocks of rows.
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
    features : list of str, optional
        The columns of numbers for `fit`; by default all but the label, in their order.
    missing_groups : {"error", "own"}, default="error"
        Whether rows without a group are an error, or a group of their own.
    on_error : {"stop", "skip"}, default="stop"
        Whether a file that cannot be read, or has other columns, ends the run or is
        left out and listed.
    memory : int or str, optional
        Memory that a run may use, such as ``"2GB"``; by default half of the machine's.
        With an executor on other machines: of all workers together.
    work_dir : str or path, optional
        The folder for temporary files, about 24 bytes per row; by default beside the
        output of `decide`, else that of the system. All workers must see it.
    executor : Threads, Processes, Dask or distributed.Client, optional
        Where tasks run: anything with ``map(function, items)``.
    n_jobs : int, optional
        Threads where there is no executor: None is 1, -1 all cores.
    progress : callable, optional
        Called with a `Progress` after each task.

    Returns
    -------
    Files
        With `decide`, `forecast`, `evaluate`, `tune`, `calibrate`, `calibration_check`,
        `fit`, `decide_classes` and `evaluate_classes`.

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
    for name, value in (("scores", scores), ("features", features)):
        several = "a list of columns"
        named[name] = None if value is None else check_texts(value, name, several)
    check_choice(missing_groups, "missing_groups", ("error", "own"))
    check_choice(on_error, "on_error", ("stop", "skip"))
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be a function, not {shown(progress)}")
    given: Any = files
    arrays = isinstance(files, tuple) and len(files) == 2 and is_array(files[0])
    return Files(
        found=blocks_of(*given) if arrays else find_input(given),
        **named,
        missing_groups=missing_groups,
        on_error=on_error,
        memory=check_memory(memory),
        work_dir=None if work_dir is None else check_path(work_dir, "work_dir"),
        executor=executor,
        n_jobs=n_jobs,
        progress=progress,
        are_arrays=arrays,
    )
