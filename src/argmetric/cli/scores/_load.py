"""From a file and options to columns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from argmetric import _files as files
from argmetric._input.arguments import check_bytes
from argmetric._input.groups import Groups as CodedGroups
from argmetric._input.types import Floats, Integers
from argmetric.cli._errors import UsageError
from argmetric.cli._options import MAX_LINE
from argmetric.cli._progress import reading
from argmetric.cli._values import check_encoding
from argmetric.cli.scores._rows import Input, listed, shown_input

_WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")
DEFAULTS = {
    "score": files.SCORE_NAMES,
    "label": files.LABEL_NAMES,
    "decision_column": files.DECISION_NAMES,
}


class GroupColumns(NamedTuple):
    """Which rows belong together, and how the metric is averaged over groups."""

    codes: Integers
    ids: list[Any]
    average: Any

    @property
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
        return files.read_tables(paths, format, name=name, **how)


def find(
    role: files.Role,
    table: files.Table,
    name: str | None,
    *,
    logits: bool = False,
    taken: Iterable[str | None] = (),
    prefix: str = "",
) -> str:
    """Return the column of a role, named or by a usual name.

    The option that names it may have a prefix, as --reference-score has.
    """
    defaults = DEFAULTS[role] + (files.LOGIT_NAMES if logits else ())
    used: Any = list(taken)
    usual = files.default_columns(table, defaults, taken=used)
    for stem in (
        () if usual or name is not None or role != "score" else files.SCORE_NAMES
    ):
        alike = [name for name in table.names if name.lower().startswith(f"{stem}_")]
        if len(alike) > 1:  # such as p_0, p_1, p_2
            raise files.DataError(
                f"{table.source} has {len(alike)} columns of scores, {alike[0]} to "
                f"{alike[-1]}: decide, forecast and tune take several labels with "
                f"--scores '{alike[0][: len(stem) + 1]}*', decide one of several "
                "classes with --one-label too; --score COLUMN takes one"
            )
    how: Any = {"what": role.partition("_")[0], "role": f"{prefix}{role}"}
    return files.find_column(table, name, defaults, taken=used, **how)


find_score = partial(find, "score")
find_label = partial(find, "label")
find_decisions = partial(find, "decision_column")


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


def refuse_shared(**chosen: str | None) -> None:
    """Refuse one column for two purposes, each given by the name of its option."""
    seen: dict[str, str] = {}
    for option, name in chosen.items():
        shown = option.replace("_", "-")
        if name in seen:
            raise UsageError(f"--{seen[name]} and --{shown} both name column {name!r}")
        seen |= {} if name is None else {name: shown}


def as_classes(names: list[str]) -> list[Any]:
    """Return names as classes: whole numbers where all of them are.

    Examples
    --------
    >>> as_classes(["2", "10"]), as_classes(["007", "2"])
    ([2, 10], ['007', '2'])
    """
    whole = all(_WHOLE.fullmatch(name) for name in names)
    return [int(name) for name in names] if whole else names
