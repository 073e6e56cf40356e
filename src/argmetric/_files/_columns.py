"""Find a column: by its name, else by the one default name that is present."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

import numpy as np

from argmetric._files._arrow import to_numpy
from argmetric._files._formats import DELIMITERS, DataError, Role, marked
from argmetric._files._functions import call
from argmetric._files._table import Table

SCORE_NAMES = (
    "score", "scores", "prob", "probs", "proba", "probability", "probabilities", "p",
    "y_score", "y_prob", "y_proba", "pred_prob", "pred_proba", "predicted_probability",
)  # fmt: skip
LOGIT_NAMES = ("logit", "logits", "log_odds")
LABEL_NAMES = ("label", "labels", "y", "y_true", "target")
DECISION_NAMES = ("decision", "prediction", "predicted", "pred", "y_pred")

_SHOWN_COLUMNS = 12


def named_column(table: Table, name: str) -> str:
    """Return a name that the user gave, once it is known to be one column's.

    Parameters
    ----------
    table : Table
        The rows.
    name : str
        The name asked for.

    Raises
    ------
    DataError
        If no column has the name (the nearest are offered), or several have.
    """
    count = table.names.count(name)
    if count == 1:
        _refuse_repeated_key(table, name)
        return name
    if count > 1:
        raise DataError(repeated(table, name))
    lowered = {known.lower(): known for known in table.names}
    near = [lowered[low] for low in get_close_matches(name.lower(), lowered, n=3)]
    hint = f"; did you mean {_either(near)}?" if near else ""
    raise DataError(f"no column {name!r} in {table.source}{hint} {_listed(table)}")


def default_columns(
    table: Table, defaults: Iterable[str], *, taken: Iterable[str] = ()
) -> list[str]:
    """Return the columns with a default name, upper or lower case.

    Parameters
    ----------
    table : Table
        The rows.
    defaults : iterable of str
        The default names, in lower case.
    taken : iterable of str, optional
        Columns that already serve another purpose.
    """
    known, used = set(defaults), set(taken)
    return [n for n in table.names if n.lower() in known and n not in used]


def find_column(
    table: Table,
    name: str | None,
    defaults: Iterable[str],
    *,
    what: str,
    role: Role,
    taken: Iterable[str] = (),
) -> str:
    """Return the column that was named, else the only one with a default name.

    Parameters
    ----------
    table : Table
        The rows.
    name : str or None
        What the user asked for.
    defaults : iterable of str
        Names to look for where the user named none.
    what : str
        What the column holds, for messages: ``"score"``, ``"label"``.
    role : str
        By which the user names it, for messages.
    taken : iterable of str, optional
        Columns that already serve another purpose.

    Raises
    ------
    DataError
        If there is none, or more than one.
    """
    if name is not None:
        return named_column(table, name)
    defaults = tuple(defaults)
    found = default_columns(table, defaults, taken=taken)
    if found and len(set(found)) == 1:
        return named_column(table, found[0])
    if found:
        raise DataError(
            f"{table.source}: which column is the {what}? Candidates: "
            f"{_quoted(found)}; choose with {marked(role)}"
        )
    looked_for = ", ".join(defaults)
    raise DataError(
        f"{table.source} has no {what} column (looked for {looked_for}); "
        f"pass {marked(role, 'COLUMN')} {_listed(table)}{_header_hint(table)}"
    )


def repeated(table: Table, name: str) -> str:
    """Say which columns have the same name."""
    places = [str(i) for i, known in enumerate(table.names, 1) if known == name]
    return (
        f"{table.source} has {len(places)} columns named {name!r}: columns "
        f"{', '.join(places[:-1])} and {places[-1]}; rename one"
    )


def _refuse_repeated_key(table: Table, name: str) -> None:
    """Refuse a key that one line of JSON has twice: which of them counts?"""
    if table.lines is None:
        return
    import json
    import re

    pattern = re.escape(json.dumps(name, ensure_ascii=False)) + r"\s*:"
    often = call("count_substring_regex", table.lines, pattern=pattern)
    for line in np.flatnonzero(to_numpy(often, np.int64) > 1).tolist():
        # It may be the key of an object within the object
        pairs = json.loads(table.lines[line].as_py(), object_pairs_hook=list)
        if sum(key == name for key, _ in pairs) > 1:
            raise DataError(f"{table.source}, row {line + 1}: the key {name!r} twice")


def _listed(table: Table) -> str:
    names = table.names
    more = f", … {len(names)} in all" if len(names) > _SHOWN_COLUMNS else ""
    return f"(columns: {', '.join(names[:_SHOWN_COLUMNS])}{more})"


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _either(names: list[str]) -> str:
    return " or ".join(repr(name) for name in names)


def _header_hint(table: Table) -> str:
    """Point out names that are all numbers: the first row was taken for a header."""

    def is_number(text: str) -> bool:
        try:
            float(text)
        except ValueError:
            return False
        return True

    if table.format in DELIMITERS and all(is_number(name) for name in table.names):
        return "; the first line looks like data: the file needs a header line"
    return ""
