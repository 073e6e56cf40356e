"""``argmetric export``."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from argmetric import _files as files
from argmetric._results.whole_files import written_whole
from argmetric.cli import _options as opt
from argmetric.cli._errors import DONE, UsageError, say
from argmetric.cli.scores._rules import load_any_rule, refuse_bad_target


def export(
    rule: Annotated[opt.FilePath, Parameter(metavar="RULE")],
    /,
    *,
    to: Literal["sql", "python", "onnx", "json"],
    dialect: Literal["duckdb", "postgres", "sqlite", "spark"] = "duckdb",
    column: Annotated[list[str] | None, Parameter(negative="", metavar="NAME")] = None,
    name: str = "label",
    output: opt.TextTarget = None,
) -> int:
    """Write a rule for a program that does not have argmetric.

    Nothing but numbers is left of the rule: a cut on calibrated scores becomes a cut
    on the scores as they are.

    Parameters
    ----------
    rule
        A rule of `argmetric tune`.
    to
        An expression of SQL, a function of Python, a model of ONNX, or JSON.
    dialect
        With --to sql: whose SQL.
    column
        With --to sql: the column of scores; for several labels or classes one for
        each, in their order. [default: p, or the names of the labels]
    name
        With --to python: the name of the function.
    """
    found = load_any_rule(rule)
    if output not in (None, "-"):
        refuse_bad_target(output)
    if to == "onnx":
        if output in (None, "-"):
            raise UsageError("a model of ONNX is a file: pass -o FILE")
        try:
            data = found.to_onnx().SerializeToString()
        except ImportError as error:
            raise files.DataError(str(error)) from error
    else:
        names: Any = column[0] if column and len(column) == 1 else column
        text = {
            "sql": lambda: found.to_sql(dialect, names),
            "python": lambda: found.to_python(name),
            "json": found.to_json,
        }[to]()
        data = f"{text.rstrip()}\n".encode()
    if output in (None, "-"):
        sys.stdout.write(data.decode())
        return DONE
    with written_whole(output) as file:
        file.write(data)
    say(f"written: {output}")
    return DONE
