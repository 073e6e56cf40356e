"""Rows with a column for each of several labels: ``--scores 'p_*' --labels 'y_*'``.

What * stands for is the name of a label. The commands do the same as with one column of
scores, on matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from argmetric import _files as files
from argmetric._input.types import Floats
from argmetric.cli._errors import UsageError, refuse
from argmetric.cli._option_sets import Columns, Judge, Scores, Wide
from argmetric.cli._options import WideAverage
from argmetric.cli.scores._load import ScoreBatch, TrueLabels, read_rows
from argmetric.cli.scores._rows import Input
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric import MultiLabelRule

ONE_COLUMN = "{} is about one column of scores, not --scores"
_STAR = "*"
_DECISIONS = "decision_*"  # as `argmetric decide` names them
_SHOWN_NAMES = 5  # columns, where none matches a pattern


@dataclass(frozen=True)
class WideBatch(ScoreBatch):
    """Rows with a score, and perhaps a true label, for each of several labels.

    The scores and the values of the labels are matrices of shape (n, labels); `score`
    is the pattern of the scores.

    Attributes
    ----------
    average : str
        How the metric is averaged over labels and rows.
    columns : dict of str to str
        The column of scores of each label, by what * stands for.
    """

    average: WideAverage = "macro"
    columns: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The labels: what * stands for."""
        return list(self.columns)

    @cached_property
    def scale(self) -> Floats:
        """The scores on the scale of thresholds: recalibrated, if they are."""
        if self.calibrator is None:
            return self.p
        apply = self.calibrator.apply_logits if self.logits else self.calibrator.apply
        return apply(self.p.ravel()).reshape(self.p.shape)

    @property
    def grouping(self) -> dict[str, Any]:
        """How labels are averaged, as the functions of the package take it."""
        return {"average": self.average}

    @property
    def score_columns(self) -> frozenset[str]:
        """The columns of scores."""
        return frozenset(self.columns.values())

    def named(self, decision: str) -> list[str]:
        """Return the names of the columns that decisions are written to."""
        return [named_after(decision, name) for name in self.columns]

    @property
    def patterns(self) -> dict[str, str]:
        """The patterns, by what they are for."""
        given = {"scores": self.score, "labels": self.labels.column}
        return {role: name for role, name in given.items() if name is not None}


def load_wide(
    file: Input,
    wide: Wide,
    scores: Scores,
    columns: Columns,
    judge: Judge,
    *,
    rule: MultiLabelRule | None = None,
    any_numbers: bool = False,
    metric: Metric | None = None,
) -> WideBatch:
    """Read rows with several labels.

    Parameters
    ----------
    file, wide, scores, columns, judge
        The options.
    rule : MultiLabelRule, optional
        What decides: it says what the scores are, and the order of the labels.
    any_numbers : bool
        Whether scores need not be probabilities.
    metric : Metric, optional
        What decisions are judged by, where the options do not say it.
    """
    assert wide.scores is not None
    refuse(
        ONE_COLUMN,
        score=scores.score,
        group=columns.group,
        logits=scores.logits and (any_numbers or rule is not None),
    )
    refuse(
        "{} names one column: with --scores, pass --labels 'y_*' for several labels "
        "per row; if each row has one of several classes, decide takes --one-label",
        label=columns.label,
    )
    if rule is not None:
        average: Any = rule.average
        judge = replace(judge, average=average)
        metric, any_numbers = rule.metric, not rule.rules[0].probabilities
    metric = judge.resolved() if metric is None else metric
    average = judge.wide_average()
    table = read_rows(file, **columns.reading)
    found = matched(table, wide.scores, "--scores")
    if rule is not None:
        found = _in_order_of(table, found, [str(name) for name in rule.names])
    p = score_matrix(table, found.values(), logits=scores.logits, any=any_numbers)
    labels = TrueLabels()
    if wide.labels is not None:
        true = partners(table, wide.labels, "--labels", found, wide.scores)
        labels = TrueLabels(wide.labels, _label_matrix(table, true, columns.pos_label))
    return WideBatch(
        table,
        metric,
        wide.scores,
        p,
        scores.logits,
        None,
        labels,
        average=average,
        columns=found,
    )


def _in_order_of(
    table: files.Table, found: dict[str, str], names: list[str]
) -> dict[str, str]:
    """Return columns in the order of the labels of a rule, which must be the same."""
    both = (names, found, "these rows"), (found, names, "the rule")
    for one, others, where in both:
        for name in one:
            if name not in others:
                raise files.DataError(
                    f"{table.source}: label {name!r} is not among those of {where}"
                )
    return {name: found[name] for name in names}


def wide_decisions(
    batch: WideBatch, pattern: str | None, pos_label: str | None
) -> tuple[str, npt.NDArray[np.int64]] | None:
    """Return the pattern of columns of decisions, and their values, if there are some.

    Without a pattern they are those that `argmetric decide` writes.
    """
    before = _DECISIONS.removesuffix(_STAR)
    if pattern is None and any(name.startswith(before) for name in batch.table.names):
        pattern = _DECISIONS
    if pattern is None:
        return None
    option = "--decision-column"
    chosen = partners(batch.table, pattern, option, batch.columns, batch.score)
    return pattern, _label_matrix(batch.table, chosen, pos_label)


@dataclass(frozen=True)
class JudgedLabels:
    """True labels and decisions of several labels, and the scores behind them."""

    names: list[str]
    y: npt.NDArray[np.int64]
    decisions: npt.NDArray[np.int64]
    p: Floats | None
    patterns: dict[str, str]


def load_judged(
    table: files.Table, wide: Wide, pattern: str | None, pos_label: str | None
) -> JudgedLabels:
    """Return what is needed to score the decisions on several labels."""
    assert wide.labels is not None
    pattern = pattern or _DECISIONS
    true = matched(table, wide.labels, "--labels")
    chosen = partners(table, pattern, "--decision-column", true, wide.labels)
    y = _label_matrix(table, true.values(), pos_label)
    decisions = _label_matrix(table, chosen, pos_label)
    patterns, p = {"labels": wide.labels, "decisions": pattern}, None
    if wide.scores is not None:
        patterns["scores"] = wide.scores
        behind = partners(table, wide.scores, "--scores", true, wide.labels)
        p = score_matrix(table, behind)
    return JudgedLabels(list(true), y, decisions, p, patterns)


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
    table: files.Table, pattern: str, option: str, of: dict[str, str], of_pattern: str
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


def _label_matrix(
    table: files.Table, columns: Any, pos_label: str | None
) -> npt.NDArray[np.int64]:
    """Return labels of several columns as 0 and 1."""
    values = [files.labels(table, name, pos_label=pos_label) for name in columns]
    return np.stack(values, axis=1).astype(np.int64)


def score_matrix(
    table: files.Table, columns: Any, *, logits: bool = False, any: bool = False
) -> Floats:
    """Return scores of several columns: probabilities, log-odds, or any numbers."""
    read: Any = partial(files.probabilities, logits=logits)
    if any:
        read = files.numbers
    return np.stack([read(table, name) for name in columns], axis=1)


def named_after(pattern: str, name: str) -> str:
    """Return the name of a new column of a label.

    Examples
    --------
    >>> named_after("decision", "cat"), named_after("*_chosen", "cat")
    ('decision_cat', 'cat_chosen')
    """
    pattern = pattern if _STAR in pattern else f"{pattern}_{_STAR}"
    return pattern.replace(_STAR, name)
