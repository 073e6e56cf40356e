"""From a file and options to columns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from argmetric import _files as files
from argmetric._input.arguments import check_bytes
from argmetric._input.classes import SUM_TOLERANCE
from argmetric._input.groups import Groups as CodedGroups
from argmetric._input.types import AnyArray, Floats, Integers
from argmetric.cli._errors import UsageError, with_flags
from argmetric.cli._options import MAX_LINE
from argmetric.cli._progress import reading
from argmetric.cli._values import check_encoding
from argmetric.cli.scores._rows import Input, listed, shown_input

STAR = "*"
_SHOWN_NAMES = 5  # columns, where none matches a pattern
_WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")
_DEFAULTS = {
    "score": files.SCORE_NAMES,
    "label": files.LABEL_NAMES,
    "decision": files.DECISION_NAMES,
}


class GroupColumns:
    """Which rows belong together, and how the metric is averaged over groups."""

    def __init__(self, codes: Integers, ids: list[Any], average: Any) -> None:
        self.codes, self.ids, self.average = codes, ids, average

    @cached_property
    def checked(self) -> CodedGroups:
        """The groups as the functions of the package take them, coded already."""
        return CodedGroups(self.codes, np.arange(len(self.ids)))


class TrueLabels(NamedTuple):
    """True labels, or a note on why a column was not taken for them."""

    column: str | None = None
    values: Any = None
    note: str | None = None


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
        return files.read_tables(tuple(paths), format, name=name, **how)


def find(
    table: files.Table,
    name: str | None,
    *,
    what: str,
    logits: bool = False,
    taken: Iterable[str | None] = (),
    role: files.Role | None = None,
) -> str:
    """Return the column of scores, labels or decisions: named, or by a usual name."""
    defaults = _DEFAULTS[what] + (files.LOGIT_NAMES if logits else ())
    used = [one for one in taken if one is not None]
    usual = files.default_columns(table, defaults, taken=used)
    if what == "score" and name is None and not usual:
        _refuse_several_scores(table)
    named: Any = role or what
    return files.find_column(table, name, defaults, what=what, role=named, taken=used)


find_label = partial(find, what="label")
find_decisions = partial(find, what="decision", role="decision_column")


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


def load_decisions(table: files.Table, name: str, pos_label: str | None) -> Integers:
    """Return decisions: 0 and 1, else as labels are."""
    try:
        values = files.labels(table, name)
    except files.DataError:
        if pos_label is None:
            raise
        values = files.labels(table, name, pos_label=pos_label)
    return values.astype(np.int64)


def load_groups(
    table: files.Table, column: str | None, average: Any
) -> GroupColumns | None:
    """Return the groups that were asked for, if any."""
    if column is None:
        return None
    return GroupColumns(
        *files.groups(table, files.named_column(table, column)), average
    )


def load_weights(table: files.Table, name: str | None) -> Floats | None:
    """Return a column of weights, if one was named."""
    if name is None:
        return None
    return files.weights(table, files.named_column(table, name))


def optional_labels(
    table: files.Table,
    name: str | None,
    read: Any,
    *,
    taken: Iterable[str | None],
    strict: bool = False,
) -> TrueLabels:
    """Return labels that were asked for, or that a column plainly offers.

    A column that only has the name of a label is no reason to fail, unless `strict`.
    """
    if name is not None:
        return TrueLabels(files.named_column(table, name), read(name))
    used = [one for one in taken if one is not None]
    if not files.default_columns(table, files.LABEL_NAMES, taken=used):
        return TrueLabels()
    try:
        name = find_label(table, None, taken=used)
        return TrueLabels(name, read(name))
    except files.DataError as error:
        if strict:
            raise
        return TrueLabels(note=with_flags(f"labels not used: {error}"))


def refuse_shared(**chosen: str | None) -> None:
    """Refuse one column for two purposes, each given by the name of its option."""
    seen: dict[str, str] = {}
    for option, name in chosen.items():
        shown = option.replace("_", "-")
        if name in seen:
            raise UsageError(f"--{seen[name]} and --{shown} both name column {name!r}")
        seen |= {} if name is None else {name: shown}


# ------------------------------------------------- a column for each label or class


def matched(table: files.Table, pattern: str, option: str) -> dict[str, str]:
    """Return the columns that a pattern matches, each by what ``*`` stands for."""
    if pattern.count(STAR) != 1:
        raise UsageError(
            f"{option} {pattern!r} has to hold one *, which stands for the name of a "
            "label, as in 'p_*'"
        )
    before, after = pattern.split(STAR)
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
    """Return the columns of a pattern in the order of those that they go with."""
    found = matched(table, pattern, option)
    both = (of, found, pattern), (found, of, of_pattern)
    for columns, others, wanted in both:
        for name, column in columns.items():
            if name not in others:
                raise files.DataError(
                    f"{table.source}: column {column!r} has no partner: there is no "
                    f"{wanted.replace(STAR, name)!r}"
                )
    return [found[name] for name in of]


def in_order_of(
    table: files.Table, found: dict[str, str], names: Iterable[Any]
) -> dict[str, str]:
    """Return columns in the order of the labels of a rule, which must be the same."""
    wanted = [str(name) for name in names]
    both = (wanted, found, "these rows"), (found, wanted, "the rule")
    for one, others, where in both:
        for name in one:
            if name not in others:
                raise files.DataError(
                    f"{table.source}: label {name!r} is not among those of {where}"
                )
    return {name: found[name] for name in wanted}


def label_matrix(
    table: files.Table,
    columns: Iterable[str],
    pos_label: str | None,
    *,
    missing: bool = False,
) -> Any:
    """Return labels of several columns as 0 and 1, nan where one is missing."""
    how: Any = {"pos_label": pos_label, "missing": missing}
    found = np.stack([files.labels(table, name, **how) for name in columns], axis=1)
    return found if missing else found.astype(np.int64)


def score_matrix(
    table: files.Table,
    columns: Iterable[str],
    *,
    logits: bool = False,
    any: bool = False,
    classes: str = "",
) -> Floats:
    """Return scores of several columns: probabilities, log-odds, or any numbers.

    With `classes`, their pattern, the probabilities of a row sum to 1.
    """
    columns = list(columns)
    if classes and len(columns) < 2:
        raise files.DataError(
            f"{table.source}: only {columns[0]!r} matches --scores {classes!r}; "
            "--one-label needs a column for each of two classes or more"
        )
    read: Any = files.numbers if any else partial(files.probabilities, logits=logits)
    p = np.stack([read(table, name) for name in columns], axis=1)
    total = p.sum(axis=1)
    wrong = np.flatnonzero(np.abs(total - 1.0) > SUM_TOLERANCE)
    if classes and wrong.size and not logits:
        source, row = table.place_of(int(wrong[0]))
        more = f" ({wrong.size:,} such rows)" if wrong.size > 1 else ""
        raise files.DataError(
            f"{source}: row {row + 1}: the columns {classes!r} sum to "
            f"{total[wrong[0]]:.4g}, not to 1{more}; with --one-label they are the "
            "probabilities of the classes. Divide each row by its sum; pass --logits "
            "if these are scores before a softmax; or leave out --one-label if a row "
            "can have several labels"
        )
    return p


def as_classes(names: list[str]) -> list[Any]:
    """Return names as classes: whole numbers where all of them are.

    Examples
    --------
    >>> as_classes(["2", "10"]), as_classes(["007", "2"])
    ([2, 10], ['007', '2'])
    """
    whole = all(_WHOLE.fullmatch(name) for name in names)
    return [int(name) for name in names] if whole else names


def class_labels(table: files.Table, column: str, names: list[str]) -> AnyArray:
    """Return a column of classes, which must be among those of the scores."""
    codes, found = files.class_names(table, column, names)
    classes = dict(zip(names, as_classes(names), strict=True))
    return np.array([classes[name] for name in found])[codes]
