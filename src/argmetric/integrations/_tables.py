"""Add a column of decisions to tables whose groups are complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from argmetric._calibrate.resolve import resolve_calibrator, with_positives
from argmetric._ground.arguments import check_number, shown
from argmetric._verbs.decide import decide
from argmetric.metrics import MetricLike, get_metric

Table = TypeVar("Table")
# Options of `decide` that do not depend on the rows of other groups
SETTINGS = {
    *("zero_division", "min_positives", "max_positives", "min_precision"),
    *("min_recall", "logits", "reference", "budget", "pos_label"),
    "n_jobs",
}


def decide_table(
    table: Table,
    *,
    p: str,
    groups: str,
    metric: MetricLike = "f1",
    output: str = "decision",
    **settings: object,
) -> Table:
    """Return a table with one more column: the labels that `decide` chooses.

    Every group must be whole in the table. Its labels then do not depend on the other
    groups, so that tables can be decided one by one, in any engine.

    Parameters
    ----------
    table : pyarrow.Table, pandas or Polars DataFrame
        The rows, in any order.
    p, groups : str
        Columns of the probabilities and of the groups.
    metric : str, Metric or callable, default="f1"
        Metric that scores each group.
    output : str, default="decision"
        Name of the new column.
    **settings
        Of `decide`: limits, `reference`, `zero_division`, `logits`; and `budget`, whose
        costs are named by their column: ``budget=("tokens", 400)``.

    Returns
    -------
    pyarrow.Table, pandas or Polars DataFrame
        A table of the same kind, its rows in the same order.

    Raises
    ------
    ValueError
        For a missing score, group or cost (NULL or NaN): drop or fill it first.

    Examples
    --------
    >>> import argmetric as am
    >>> import pyarrow as pa
    >>> table = pa.table({"user": [1, 1, 2], "score": [0.9, 0.2, 0.4]})
    >>> labelled = am.integrations.decide_table(table, p="score", groups="user")
    >>> labelled["decision"].to_pylist()
    [1, 0, 1]
    """
    options = read_settings(settings)
    return _label_table(table, p, groups, metric, output=output, settings=options)


def decide_batches(
    batches: Iterable[Table],
    *,
    p: str,
    groups: str,
    metric: MetricLike = "f1",
    output: str = "decision",
    **settings: object,
) -> Iterator[Table]:
    """Yield tables as `decide_table` returns them; refuse a group in two of them.

    Parameters
    ----------
    batches : iterable of tables
        Such as the partitions of a query. Each must hold whole groups.
    p, groups, metric, output, **settings
        As for `decide_table`.

    Yields
    ------
    table
        The table of each batch with its decisions.

    Examples
    --------
    >>> import argmetric as am
    >>> import pyarrow as pa
    >>> batches = [pa.table({"user": [i, i], "score": [0.9, 0.2]}) for i in (1, 2)]
    >>> tables = am.integrations.decide_batches(batches, p="score", groups="user")
    >>> [table["decision"].to_pylist() for table in tables]
    [[1, 0], [1, 0]]
    """
    options = read_settings(settings)
    seen: set[Any] = set()
    for number, batch in enumerate(batches):
        frame = _frame(batch)
        check_columns(frame.columns, groups)
        ids = list(frame[groups].unique().to_list())
        split = seen.intersection(ids)
        if split:
            raise ValueError(
                f"group {shown(min(split, key=str))} is in batch {number} and in an "
                "earlier one: partition the rows by group, so that each is whole"
            )
        seen.update(ids)
        yield _label_table(batch, p, groups, metric, output=output, settings=options)


def read_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Check options for groups on their own; fit a reference once, to a calibrator."""
    unknown = sorted(settings.keys() - SETTINGS)
    if unknown:
        raise TypeError(
            f"{unknown[0]} does not work on partitions, as it may need rows of other "
            f"groups: pass some of {', '.join(sorted(SETTINGS))}"
        )
    settings = dict(settings)
    reference, logits = settings.get("reference"), settings.get("logits", False)
    reference = with_positives(reference, settings.pop("pos_label", None))
    if reference is not None:
        settings["reference"] = resolve_calibrator(reference, logits=logits)
    return settings


def check_columns(known: Iterable[str], *wanted: str, output: str = "decision") -> None:
    """Raise an error if a wanted column is missing, or if `output` exists."""
    names = list(known)
    for name in wanted:
        if not isinstance(name, str) or name not in names:
            raise ValueError(f"no column {shown(name)}: there are {', '.join(names)}")
    if output in names:
        raise ValueError(f"there is a column {output!r} already: pass another output")


def _frame(table: object) -> Any:
    """Return the table as a narwhals frame."""
    import narwhals.stable.v2 as nw

    try:
        return nw.from_native(table, eager_only=True)
    except TypeError as error:
        raise TypeError(
            "a table must be a pyarrow Table, or a pandas or Polars DataFrame, not "
            f"{type(table).__name__}; decide_batches takes several"
        ) from error


def _label_table(
    table: Table,
    p: str,
    groups: str,
    metric: MetricLike,
    *,
    output: str,
    settings: dict[str, Any],
) -> Table:
    """Return the table with a column of decisions.

    Parameters
    ----------
    table : pyarrow.Table, pandas or Polars DataFrame
        The rows.
    p, groups : str
        Columns of the probabilities and of the groups.
    metric : str, Metric or callable
        Metric that scores each group.
    output : str
        Name of the new column.
    settings : dict
        Options of `decide`, as `read_settings` returns them.
    """
    import narwhals.stable.v2 as nw

    frame = _frame(table)
    check_columns(frame.columns, p, groups, output=output)
    budget = settings.get("budget")
    if isinstance(budget, tuple | list) and len(budget) == 2:  # others are refused
        check_columns(frame.columns, budget[0], output=output)
        costs = frame[budget[0]].to_native()
        settings = settings | {"budget": (costs, budget[1])}
    if not len(frame):
        column = frame[p].cast(nw.Int64)
    else:
        how = {"groups": frame[groups].to_native(), "average": "groups", **settings}
        labels = decide(frame[p].to_native(), metric, **how).labels
        column = nw.from_native(labels, series_only=True)
    labelled: Table = frame.with_columns(column.alias(output)).to_native()
    return labelled


@dataclass(frozen=True)
class PassageChoice:
    """Choose the passages of a query to pass on, by their scores and lengths.

    Parameters
    ----------
    metric : str or Metric, default="f1"
        Metric of the passages that are passed on.
    reference : pair (y, p) or Calibrator, optional
        Labelled queries, or a calibrator fitted on them, as for `decide`; rerankers
        are rarely calibrated.
    logits : bool, default=False
        Whether scores are log-odds, such as those of most cross-encoders.
    max_tokens : float, optional
        Maximum number of tokens per query.
    count_tokens : callable, optional
        Function that counts the tokens of a text; by default its words.

    Examples
    --------
    >>> import argmetric as am
    >>> choice = am.integrations.PassageChoice(max_tokens=5)
    >>> choice.choose([0.9, 0.8, 0.4], ["four words of text", "one two", "three"])
    [0, 2]
    """

    metric: MetricLike = "f1"
    reference: Any = None
    logits: bool = False
    max_tokens: float | None = None
    count_tokens: Callable[[str], int] | None = None

    def __post_init__(self) -> None:
        get_metric(self.metric)  # refuse a wrong name now, not at the first query
        if self.max_tokens is not None:
            check_number(self.max_tokens, "max_tokens", low=0.0)

    def choose(self, scores: Sequence[float | None], texts: Sequence[str]) -> list[int]:
        """Return the indices of the passages to pass on, in the order of `scores`.

        Parameters
        ----------
        scores : sequence of float
            One for each passage.
        texts : sequence of str
            The passages.

        Returns
        -------
        list of int
            Indices into `texts`.
        """
        if len(scores) != len(texts):
            raise ValueError(f"{len(scores)} scores for {len(texts)} passages")
        if any(one is None for one in scores):
            place = list(scores).index(None)
            raise ValueError(f"passage {place} has no score: rerank the passages first")
        if not len(scores):
            return []
        budget = None
        if self.max_tokens is not None:
            count = self.count_tokens or (lambda text: len(text.split()))
            budget = [count(text) for text in texts], self.max_tokens
        result = decide(
            np.asarray(scores, dtype=np.float64),
            self.metric,
            reference=self.reference,
            logits=self.logits,
            budget=budget,
        )
        return [int(i) for i in np.flatnonzero(result.labels)]
