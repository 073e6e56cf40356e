"""``argmetric tag templates``, and tables of templates in files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from argmetric._results.whole_files import DataError
from argmetric.cli._errors import DONE
from argmetric.cli.tag._labels import TagTask

if TYPE_CHECKING:
    from argmetric.search import Tagger

TIERS = "tag", "chunk"  # of the joint task, in the order of their columns


def templates(task: TagTask, /) -> int:
    """Print the templates of a task, to be extended and passed to `train`.

    Parameters
    ----------
    task
        The task.
    """
    from argmetric.search import default_templates

    if task != "joint":
        sys.stdout.write(default_templates(task).lstrip())
        return DONE
    for name in TIERS:
        sys.stdout.write(f"[{name}]\n{default_templates(f'joint {name}').lstrip()}")
    return DONE


def read_table(path: str, task: TagTask) -> Any:
    """Read and check a table; that of a joint task has a part for each tier."""
    from argmetric.search import Tagger

    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text") from None
    table = _parts(text.splitlines(), path) if task == "joint" else text
    try:
        found = Tagger(task, templates=table).recipe()["templates"]
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None
    if not n_templates(found):
        raise DataError(f"{path} has no templates")
    return table


def n_templates(tables: Any) -> int:
    """How many templates a recipe has, in all tiers."""
    return sum(map(len, tables.values())) if isinstance(tables, dict) else len(tables)


def _parts(lines: list[str], path: str) -> dict[str, list[str]]:
    """Lines under ``[tag]`` and ``[chunk]``; the others empty, to keep the count."""
    heads = {f"[{name}]": name for name in TIERS}
    parts: dict[str, list[str]] = {}
    name = None
    for number, line in enumerate(lines):
        text = line.partition("#")[0].strip()
        if text in heads:
            name = heads[text]
            parts.setdefault(name, [""] * number).append("")
        elif name is not None:
            part = parts[name]
            part += [""] * (number - len(part)) + [line]
        elif text:
            raise DataError(
                f"{path}, line {number + 1}: templates of the joint task stand under a "
                f"line {' or '.join(heads)}"
            )
    return parts


def left_out(tagger: Tagger) -> list[str]:
    """A note of the recipe's templates that read a column which was not there."""
    n = n_templates(type(tagger)(**tagger.get_params()).recipe()["templates"])
    out = n - n_templates(tagger.recipe()["templates"])
    return [f"no column of parts of speech: {out} of {n} templates out"] if out else []
