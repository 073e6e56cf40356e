"""From a file and options to arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from argmetric import _files as files
from argmetric._input.arguments import check_bytes
from argmetric._input.groups import Groups as CodedGroups
from argmetric._input.types import Floats, Integers
from argmetric._input.validation import Probabilities
from argmetric.cli._errors import UsageError, with_flags
from argmetric.cli._option_sets import Columns, Judge, Scores
from argmetric.cli._options import MAX_LINE, Average, check_encoding
from argmetric.cli._progress import progress, reading
from argmetric.cli.scores._rows import Input, listed, shown_input
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric import Calibrator, Decision, Forecast
    from argmetric._calibrate.kept import ScoreCells
    from argmetric._calibrate.reference import Reference


@dataclass(frozen=True)
class GroupColumns:
    """Which rows belong together, and how the metric is averaged over groups."""

    column: str
    codes: Integers
    ids: list[Any]
    average: Average

    @cached_property
    def checked(self) -> CodedGroups:
        """The groups as the functions of the package take them, coded already."""
        return CodedGroups(self.codes, np.arange(len(self.ids)))


@dataclass(frozen=True)
class TrueLabels:
    """True labels, or a note on why a column was not taken for them."""

    column: str | None = None
    values: Floats | Integers | None = None
    note: str | None = None


@dataclass(frozen=True)
class ScoreBatch:
    """Scored rows, and what decisions on them are judged by.

    Attributes
    ----------
    p : ndarray
        The scores as they are in the file.
    calibrator : Calibrator or None
        What they go through first.
    reference : Reference or ScoreCells or None
        The labelled rows that it was fitted on, where they are at hand.
    in_range : bool
        Whether they were checked to be what they are taken for.
    """

    table: files.Table
    metric: Metric
    score: str
    p: Floats
    logits: bool
    groups: GroupColumns | None
    labels: TrueLabels
    calibrator: Calibrator | None = None
    reference: Reference | ScoreCells | None = None
    in_range: bool = False

    @property
    def checked(self) -> Floats | Probabilities:
        """The scores as the functions of the package take them, checked already."""
        return Probabilities(self.p, self.logits) if self.in_range else self.p

    @cached_property
    def scale(self) -> Floats:
        """The scores on the scale of thresholds: recalibrated, if they are."""
        if self.calibrator is None:
            return self.p
        if self.logits:
            return self.calibrator.apply_logits(self.checked)
        return self.calibrator.apply(self.checked)

    @property
    def scale_name(self) -> str:
        """What thresholds are compared with, in words."""
        return self.score if self.calibrator is None else f"calibrated {self.score}"

    @property
    def scoring(self) -> dict[str, Any]:
        """How scores are to be read, as the functions of the package take it."""
        return {"logits": self.logits, "calibrator": self.calibrator}

    @property
    def compared(self) -> dict[str, Any]:
        """How scores are to be read, compared with those of the reference if any."""
        if self.reference is None:
            return self.scoring
        from argmetric._calibrate.resolve import FittedReference

        reference = FittedReference(self.calibrator, self.reference)
        return {"logits": self.logits, "reference": reference}

    @property
    def grouping(self) -> dict[str, Any]:
        """Groups as the functions of the package take them."""
        return grouping(self.groups)

    @property
    def score_columns(self) -> frozenset[str]:
        """The columns of scores."""
        return frozenset({self.score})

    def named(self, decision: str) -> list[str]:
        """Return the names of the columns that decisions are written to."""
        return [decision]

    def decide(self, **options: Any) -> Decision:
        """Return the decision with the highest expected score."""
        from argmetric import decide

        how = {**self.grouping, **self.compared, **options}
        found: Decision = decide(self.checked, self.metric, **how)
        return found

    def forecast(
        self, labels: npt.NDArray[Any], coverage: float, **options: Any
    ) -> Forecast:
        """Return the score to expect of a decision."""
        from argmetric import forecast

        how = {**self.grouping, **self.compared, **options}
        found: Forecast = forecast(self.checked, labels, self.metric, coverage, **how)
        return found

    def real_score(self, decision: npt.NDArray[Any]) -> float | None:
        """Return the score of a decision against the labels, None without labels."""
        if self.labels.values is None:
            return None
        from argmetric import evaluate

        score = evaluate(self.labels.values, decision, self.metric, **self.grouping)
        return float(score)


def read_rows(
    source: Input,
    format: files.Format | None = None,
    encoding: str = "utf-8",
    max_line: str = MAX_LINE,
    decimal: str = ".",
) -> files.Table:
    """Read rows of one file, or of several, with a sign of life."""
    check_encoding(encoding)
    try:
        most = check_bytes(max_line, "--max-line")
    except ValueError as error:
        raise UsageError(str(error)) from None
    how: dict[str, Any] = {"encoding": encoding, "max_line": most, "decimal": decimal}
    paths, name = listed(source), shown_input(source)
    with reading(name):
        if len(paths) == 1:
            return files.read_table(paths[0], format, **how)
        return files.read_tables(paths, format, name=name, **how)


def load_batch(
    file: Input,
    scores: Scores,
    columns: Columns,
    judge: Judge,
    *,
    taken: Iterable[str | None] = (),
    shared: bool = False,
) -> ScoreBatch:
    """Read scored rows.

    Parameters
    ----------
    file : str or tuple of str
        Where the rows are.
    scores : Scores
        The options about scores.
    columns : Columns
        The options about other columns.
    judge : Judge
        The options that name the metric.
    taken : iterable of str or None, optional
        Columns with another purpose, which are no labels.
    shared : bool, optional
        Whether --pos-label is about the labels of other rows too.
    """
    metric = judge.resolved()
    judge.average_for(columns.group)  # wrong usage comes before the file is read
    table = read_rows(file, **columns.reading)
    score = find_score(table, scores, taken=[columns.group, columns.label])
    refuse_shared(score=score, group=columns.group, label=columns.label)
    with progress(f"checking {table.n_rows:,} rows"):
        p = files.probabilities(table, score, logits=scores.logits)
        groups = load_groups(table, columns, judge)
        used = [name for name in (score, columns.group, *taken) if name is not None]
        labels = optional_labels(table, columns, taken=used, shared=shared)
    return ScoreBatch(
        table, metric, score, p, scores.logits, groups, labels, in_range=True
    )


def find_score(
    table: files.Table,
    scores: Scores,
    *,
    taken: Iterable[str | None] = (),
    role: files.Role = "score",
) -> str:
    """Return the column of scores."""
    defaults = files.SCORE_NAMES + (files.LOGIT_NAMES if scores.logits else ())
    used = [name for name in taken if name is not None]
    if scores.score is None and not files.default_columns(table, defaults, taken=used):
        _refuse_several_scores(table)
    return files.find_column(
        table, scores.score, defaults, what="score", role=role, taken=used
    )


def _refuse_several_scores(table: files.Table) -> None:
    """Refuse columns such as p_0, p_1, p_2 where one column of scores is read."""
    for stem in files.SCORE_NAMES:
        alike = [name for name in table.names if name.lower().startswith(f"{stem}_")]
        if len(alike) > 1:
            raise files.DataError(
                f"{table.source} has {len(alike)} columns of scores, {alike[0]} to "
                f"{alike[-1]}: decide, forecast and tune take several labels with "
                f"--scores '{alike[0][: len(stem) + 1]}*', decide one of several "
                "classes with --one-label too; --score COLUMN takes one"
            )


def load_groups(
    table: files.Table, columns: Columns, judge: Judge
) -> GroupColumns | None:
    """Return the groups that were asked for, if any."""
    average = judge.average_for(columns.group)
    if columns.group is None or average is None:
        return None
    name = files.named_column(table, columns.group)
    codes, ids = files.groups(table, name)
    return GroupColumns(name, codes, ids, average)


def grouping(groups: GroupColumns | None) -> dict[str, Any]:
    """Return groups as keywords for the functions of the package."""
    if groups is None:
        return {"groups": None, "average": None}
    return {"groups": groups.checked, "average": groups.average}


def optional_labels(
    table: files.Table,
    columns: Columns,
    *,
    taken: Iterable[str],
    shared: bool = False,
) -> TrueLabels:
    """Return labels that were asked for, or that a column plainly offers.

    A column that only has the name of a label is no reason to fail, unless --pos-label
    can be about no other column.
    """
    if columns.label is not None:
        return TrueLabels(*load_labels(table, columns))
    found = files.default_columns(table, files.LABEL_NAMES, taken=taken)
    if not found:
        return TrueLabels()
    try:
        name, y = load_labels(table, columns, taken=taken)
        return TrueLabels(name, y)
    except files.DataError as error:
        if columns.pos_label is not None and not shared:
            raise
        return TrueLabels(note=with_flags(f"labels not used: {error}"))


def load_labels(
    table: files.Table,
    columns: Columns,
    *,
    taken: Iterable[str | None] = (),
    role: files.Role = "label",
) -> tuple[str, Floats]:
    """Return the label column and its values; there must be one."""
    name = find_label(table, columns.label, taken=taken, role=role)
    return name, files.labels(table, name, pos_label=columns.pos_label)


def find_label(
    table: files.Table,
    name: str | None,
    *,
    taken: Iterable[str | None] = (),
    role: files.Role = "label",
) -> str:
    """Return the column of labels."""
    return files.find_column(
        table,
        name,
        files.LABEL_NAMES,
        what="label",
        role=role,
        taken=[one for one in taken if one is not None],
    )


def load_weights(table: files.Table, name: str | None) -> Floats | None:
    """Return a column of weights, if one was named."""
    return (
        None if name is None else files.weights(table, files.named_column(table, name))
    )


def load_decisions(
    table: files.Table, name: str | None, pos_label: str | None
) -> tuple[str, Integers]:
    """Return a column of decisions and its values: 0 and 1, else as labels are."""
    name = files.find_column(
        table, name, files.DECISION_NAMES, what="decision", role="decision_column"
    )
    try:
        values = files.labels(table, name)
    except files.DataError:
        if pos_label is None:
            raise
        values = files.labels(table, name, pos_label=pos_label)
    return name, values.astype(np.int64)


def refuse_shared(**chosen: str | None) -> None:
    """Refuse one column for two purposes, each given by the name of its option."""
    seen: dict[str, str] = {}
    for option, name in chosen.items():
        if name is None:
            continue
        shown = option.replace("_", "-")
        if name in seen:
            raise UsageError(f"--{seen[name]} and --{shown} both name column {name!r}")
        seen[name] = shown
