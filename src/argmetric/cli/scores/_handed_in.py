"""Decisions and labels that rows of a file come with."""

from __future__ import annotations

from typing import Any

from argmetric.cli._command import Given
from argmetric.cli.scores import _rows as load
from argmetric.cli.scores._layout import DECISIONS, STAR, Rows
from argmetric.scale import files


def decided(rows: Rows, o: Given) -> tuple[str, Any] | None:
    """Return decisions that are in the file, in words and values, if there are some."""
    table, name = rows.table, rows.used.get("decision") or o.decision_column
    if rows.way == "wide":
        stem = DECISIONS.removesuffix(STAR)
        if rows.judged or any(one.startswith(stem) for one in table.names):
            name = name or DECISIONS
        if name is None:
            return None
        labels = rows.label_matrix(name, "--decision-column", o)
        rows.use("decisions", name if rows.judged else None)
        return f"columns {name!r}", labels
    taken = [o.group, rows.used.get("label")] if rows.way == "classes" else []
    usual = files.default_columns(table, files.DECISION_NAMES, taken=taken)
    if name is None and not usual:
        return None
    name = load.find_decisions(table, name)
    rows.use("decision", name)
    if rows.way == "classes":
        return f"column {name!r}", rows.class_labels(name)
    pos_label = o.pos_label if rows.judged else None
    return f"column {name!r}", load.load_decisions(table, name, pos_label)


def arrived(rows: Rows, o: Given) -> Any:
    """Return labels that are known already, nan where they are not."""
    if o.known is None:
        return None
    rows.use("known", o.known)
    if rows.way == "wide":
        return rows.label_matrix(o.known, "--known", o, missing=True)
    name = files.named_column(rows.table, o.known)
    if rows.way == "classes":
        return rows.class_labels(name, missing=True)
    return files.labels(rows.table, name, pos_label=o.pos_label, missing=True)
