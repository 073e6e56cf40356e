"""From two patterns of column names to a matrix of scores and one of labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
from cyclopts import Parameter

from argmetric import _files as files
from argmetric._input.types import Floats
from argmetric.cli._errors import UsageError
from argmetric.cli._option_sets import Columns, Judge
from argmetric.cli._options import IN_FILE, WideAverage
from argmetric.cli._summary import Values, metric_described, rows_described
from argmetric.cli.scores._inputs import Input
from argmetric.cli.scores._load import read_rows
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric import Calibrator

_STAR = "*"
DECISIONS = "decision_*"  # as `argmetric decide` names them
_SHOWN_NAMES = 5
_Pattern = Annotated[str | None, IN_FILE, Parameter(metavar="PATTERN")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Wide:
    """Which columns hold the scores and labels of several labels.

    Parameters
    ----------
    scores
        With a column for each of several labels: the columns of their scores, as in
        'p_*'. What * stands for is the name of the label.
    labels
        With --scores: the columns of their true labels, as in 'y_*'.
    """

    scores: _Pattern = None
    labels: _Pattern = None

    @property
    def asked(self) -> bool:
        """Whether rows have several labels."""
        if self.labels is not None and self.scores is None:
            raise UsageError("--labels goes with --scores: pass the pattern of both")
        return self.scores is not None


NOT_WIDE = Wide()


@dataclass(frozen=True)
class WideBatch:
    """Rows with a score, and perhaps a true label, for each of several labels.

    Attributes
    ----------
    table : Table
        The rows.
    metric : Metric
        What decisions are judged by.
    average : str
        How it is averaged over labels and rows.
    names : list of str
        The labels: what * stands for.
    scores : dict of str to str
        The column of scores of each label.
    p : ndarray of shape (n, labels)
        The scores as they are in the file.
    y : ndarray of shape (n, labels) or None
        The true labels, 0 and 1.
    patterns : dict of str to str
        The patterns, by what they are for.
    """

    table: files.Table
    metric: Metric
    average: WideAverage
    names: list[str]
    scores: dict[str, str]
    p: Floats
    y: npt.NDArray[np.int64] | None
    logits: bool
    patterns: dict[str, str]
    calibrator: Calibrator | None = None

    @property
    def scoring(self) -> dict[str, Any]:
        """How scores are to be read, as the functions of the package take it."""
        return {"logits": self.logits, "calibrator": self.calibrator}

    @property
    def scale(self) -> Floats:
        """The scores on the scale of thresholds: recalibrated, if they are."""
        if self.calibrator is None:
            return self.p
        apply = self.calibrator.apply_logits if self.logits else self.calibrator.apply
        return apply(self.p.ravel()).reshape(self.p.shape)

    def described(self) -> Values:
        """What was asked of which rows."""
        return wide_described(
            self.table, self.metric, self.names, self.average, **self.patterns
        )

    def real_score(self, decision: npt.NDArray[Any]) -> float | None:
        """The score of a decision against the labels, None without labels."""
        if self.y is None:
            return None
        from argmetric import evaluate

        return float(evaluate(self.y, decision, self.metric, average=self.average))


def wide_described(
    table: files.Table,
    metric: Metric,
    names: list[str],
    average: WideAverage,
    **patterns: str,
) -> Values:
    """Return what was asked: file, rows, patterns, labels, metric, convention."""
    return {
        **rows_described(table, **patterns),
        **metric_described(metric),
        "labels": names,
        "average": average,
    }


def refuse_beside_wide(**given: Any) -> None:
    """Refuse options that are about one column of scores."""
    for name, is_given in given.items():
        if is_given:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} is about one column of scores, not --scores")


def load_wide(
    file: Input,
    wide: Wide,
    columns: Columns,
    judge: Judge,
    *,
    logits: bool,
    any_numbers: bool = False,
    metric: Metric | None = None,
) -> WideBatch:
    """Read rows with several labels.

    Parameters
    ----------
    file, wide, columns, judge
        The options.
    logits : bool
        Whether scores are log-odds.
    any_numbers : bool
        Whether scores need not be probabilities.
    metric : Metric, optional
        What decisions are judged by, where the options do not say it.
    """
    assert wide.scores is not None
    metric = judge.resolved() if metric is None else metric
    average = judge.wide_average()
    table = read_rows(file, **columns.reading)
    scores = matched(table, wide.scores, "--scores")
    p = score_matrix(table, [*scores.values()], logits=logits, any=any_numbers)
    patterns, y = {"scores": wide.scores}, None
    if wide.labels is not None:
        patterns["labels"] = wide.labels
        true = partners(table, wide.labels, "--labels", scores, wide.scores)
        y = label_matrix(table, true, columns.pos_label)
    return WideBatch(
        table, metric, average, list(scores), scores, p, y, logits, patterns
    )


def default_decisions(table: files.Table) -> str | None:
    """Return the pattern of decisions as `argmetric decide` names them, if any."""
    before = DECISIONS.removesuffix(_STAR)
    found = any(name.startswith(before) for name in table.names)
    return DECISIONS if found else None


def matched(table: files.Table, pattern: str, option: str) -> dict[str, str]:
    """Return the columns that a pattern matches, each by what ``*`` stands for.

    Parameters
    ----------
    table : Table
        The rows.
    pattern : str
        A name with one ``*`` in it.
    option : str
        Where the pattern is from, for messages.
    """
    if pattern.count(_STAR) != 1:
        raise UsageError(
            f"{option} {pattern!r} has to hold one *, which stands for the name of a "
            "label, as in 'p_*'"
        )
    before, after = pattern.split(_STAR)
    size = len(before) + len(after)
    found = {
        name[len(before) : len(name) - len(after)]: files.named_column(table, name)
        for name in table.names
        if len(name) > size and name.startswith(before) and name.endswith(after)
    }
    if not found:
        shown = ", ".join(table.names[:_SHOWN_NAMES])
        more = ", …" if len(table.names) > _SHOWN_NAMES else ""
        raise files.DataError(
            f"{table.source}: no column matches {option} {pattern!r} "
            f"(columns: {shown}{more})"
        )
    return found


def partners(
    table: files.Table,
    pattern: str,
    option: str,
    of: dict[str, str],
    of_pattern: str,
) -> list[str]:
    """Return the columns of a pattern in the order of those that they go with.

    Parameters
    ----------
    table : Table
        The rows.
    pattern, option : str
        As for `matched`.
    of : dict of str to str
        The columns that they go with.
    of_pattern : str
        The pattern that found these.
    """
    found = matched(table, pattern, option)
    both = (of, found, pattern), (found, of, of_pattern)
    for columns, others, wanted in both:
        for name, column in columns.items():
            if name not in others:
                raise files.DataError(
                    f"{table.source}: column {column!r} has no partner: there is no "
                    f"{wanted.replace(_STAR, name)!r}"
                )
    return [found[name] for name in of]


def label_matrix(
    table: files.Table, columns: list[str], pos_label: str | None
) -> npt.NDArray[np.int64]:
    """Return labels of several columns as 0 and 1."""
    values = [files.labels(table, name, pos_label=pos_label) for name in columns]
    return np.stack(values, axis=1).astype(np.int64)


def score_matrix(
    table: files.Table, columns: list[str], *, logits: bool = False, any: bool = False
) -> Floats:
    """Return scores of several columns: probabilities, log-odds, or any numbers."""
    if any:
        return np.stack([files.numbers(table, name) for name in columns], axis=1)
    read = partial(files.probabilities, table, logits=logits)
    return np.stack([read(name) for name in columns], axis=1)


def named_after(pattern: str, name: str) -> str:
    """Return the name of a new column of a label.

    Examples
    --------
    >>> named_after("decision", "cat"), named_after("*_chosen", "cat")
    ('decision_cat', 'cat_chosen')
    """
    pattern = pattern if _STAR in pattern else f"{pattern}_{_STAR}"
    return pattern.replace(_STAR, name)
