"""Files of any size, in pieces or whole; decisions and labels that rows come with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from argmetric._ground.arguments import check_bytes, keywords_of
from argmetric._ground.label_words import LabelText
from argmetric._ground.types import AnyArray
from argmetric.cli._command import Arguments
from argmetric.cli._errors import UsageError
from argmetric.cli._learning import warnings_in
from argmetric.cli._report import progress
from argmetric.cli._values import check_encoding
from argmetric.cli.scores import _rows as io
from argmetric.cli.scores._layout import DECISIONS, STAR, TableRows, metric_of
from argmetric.metrics import ClassMetric, Metric
from argmetric.scale import files

AnyMetric = Metric | ClassMetric | None
RUNNING = "memory on_error"
GROUPED = f"{RUNNING} work_dir missing_groups"
# Options by the parameters of verbs over files; the others have the same names
_PARAMETERS = {
    **dict.fromkeys(("cost_fp", "cost_fn"), "metric"),
    **dict.fromkeys(("reference_score", "reference_label"), "reference"),
    "new_decisions": "decision_column",
    "seed": "random_state",
}
# Columns that each command reads of files that are opened
_READ = {
    "decide": "score group decision_column",
    "forecast": "score group decision_column",
    "evaluate": "label group decision_column",
    "tune": "score label",
    "calibrate": "score label weight group",
}
_READING = ("encoding", "max_line", "decimal")  # how text is written
_FORCING = ("on_error", "work_dir", "missing_groups", "resume")
_ALWAYS = (
    f"{GROUPED} resume output json file more jobs coverage fail_under fail_on "
    f"{' '.join(_READING)}"
)
# Memory that a file takes when it is read at once, by its size; packed text is larger
_UNPACKED, _PACKED = 6, 30
_ALWAYS_READ = 1 << 28  # bytes that every machine has


def works_in_pieces(verb: str, o: Arguments, source: io.Input) -> bool:
    """Return whether the rows are worked on in pieces.

    Refuse an option that needs all rows at once, if the memory does not hold them.
    """
    remote = isinstance(source, str) and "://" in source
    many = io.in_pieces(source[0]) if isinstance(source, tuple) else remote
    if isinstance(source, str):
        many = many or os.path.isdir(source) or io.is_pattern(source)
    if o.memory is not None:
        _limit(o)  # refused where it is too little, however small the file
    if not (many or any(map(o.has, _FORCING)) or _is_large(o, source)):
        return False
    from argmetric import scale

    verbs = [verb, "calibration_check"] if verb == "calibrate" else [verb]
    known = (keywords_of(getattr(scale.Files, one)) for one in verbs)
    taken = {*_ALWAYS.split(), *_READ[verb].split(), *chain.from_iterable(known)}
    given = [name for name in o.names if o.has(name) and name not in taken]
    beyond = [name for name in given if _PARAMETERS.get(name) not in taken]
    if not beyond:
        return True
    io.check(verb, {"whole", *filter(o.has, o.names)}, o)
    option, name = f"--{beyond[0].replace('_', '-')}", io.shown_input(source)
    if remote:
        raise UsageError(f"{option} needs all rows at once: copy {name} to this disk")
    if _is_large(o, source):
        raise UsageError(
            f"{option} needs all rows at once, and {name} takes about "
            f"{_memory_of(source) / 1e6:,.0f} MB: more than the "
            f"{_limit(o) / 1e6:,.0f} MB of --memory"
        )
    output = "-"
    if many and verb == "decide" and not o.output_format:
        output = o.output or "-"
    if output != "-" and not (Path(output).suffix or os.path.isfile(output)):
        raise UsageError(
            f"{option} reads all rows at once, and they are written to one file, not "
            f"to a folder: pass -o {output}.csv, or leave {option} out"
        )
    return False


def _is_large(o: Arguments, source: io.Input) -> bool:
    """Return whether files take more memory than there is, if read at once."""
    needed = _memory_of(source)
    return (o.memory is not None or needed > _ALWAYS_READ) and needed > _limit(o)


def _limit(o: Arguments) -> int:
    """Return the bytes that --memory grants."""
    from argmetric.scale import check_memory

    try:
        return check_memory(o.memory, "--memory")
    except ValueError as error:
        raise UsageError(str(error)) from error


def _memory_of(source: io.Input) -> int:
    """Return about how many bytes files take that are read at once; 0 of a stream."""
    total = 0
    for path in io.list_files(source) if source != "-" else ():
        packed = path.lower().endswith((".gz", ".zst"))
        if os.path.isfile(path):
            total += (_PACKED if packed else _UNPACKED) * os.path.getsize(path)
    return total


def columns(
    o: Arguments, source: io.Input, *names: str, logits: bool = False
) -> dict[str, str]:
    """Return the columns of files that options name, or the usual ones."""
    from argmetric.scale import columns_of

    named = {name: getattr(o, name) for name in names}
    return columns_of(source, named, _reading(o), logits=logits)


def _reading(o: Arguments) -> dict[str, Any]:
    """Return the options that were given on encoding, line length and decimals."""
    how = o.only(*(name for name in _READING if name in o.names))
    if how:
        check_encoding(how["encoding"])
        how["max_line"] = check_bytes(how["max_line"], "--max-line")
    return how


@contextmanager
def running(o: Arguments, source: io.Input) -> Iterator[Any]:
    """Yield a function that runs a verb of `scale` on files, while progress is shown.

    The function passes on those options of the command line that `scale.open` and the
    verb have as parameters.
    """
    from argmetric import scale

    settings = o.only(*o.names)
    settings |= {"pos_label": LabelText(o.pos_label), "random_state": o.seed}
    settings |= {"n_jobs": -1 if o.jobs is None else o.jobs}
    # Options that the commands have turned into a metric, a calibrator or a rule
    settings |= {"zero_division": None, "reference": None, "rule": None}

    def call(function: Callable[..., Any], values: dict[str, object]) -> Any:
        known = keywords_of(function)
        return function(**{name: values[name] for name in known if name in values})

    def run(verb: str, **more: object) -> Any:
        """Open the files and call a verb; `more` are its first arguments."""
        values = {**settings, **more}
        opened = call(partial(scale.open, source), values)
        return call(getattr(replace(opened, reading=_reading(o)), verb), values)

    with progress(f"reading {io.shown_input(source)} in pieces"):
        yield run


def rows_of(
    source: io.Input, found: Any, metric: AnyMetric, average: Any, **used: str | None
) -> TableRows:
    """Return a description of rows that were read in batches, like that of others."""
    file, groups = io.shown_input(source), getattr(found, "n_groups", None)
    table = SimpleNamespace(source=file, format="parquet", n_rows=found.n)
    ids = None if groups is None else SimpleNamespace(ids=range(groups))
    rows = TableRows(table, "one", metric, average, groups=ids)
    for role, name in used.items():
        rows.use(role, name)
    return rows


def answer_in_pieces(
    verb: str, o: Arguments, source: io.Input, *, named: str = "", **how: Any
) -> tuple[TableRows, Any, list[str]]:
    """Return rows that were read in pieces, the answer of a verb, and notes.

    `named` are the options of columns that the verb must be given. The metric is that
    of the options, if no other is.
    """
    average = None
    if "metric" not in how:
        how["metric"], average = metric_of(o, "one")
    fitting = verb in ("tune", "calibrate")
    used: Any = columns(o, source, *named.split(), logits=fitting) if named else {}
    notes = ["read in pieces"]
    with warnings_in(notes), running(o, source) as run:
        found = run(verb, average=average or "groups", **used, **how)
    roles = {"decision" if k == "decision_column" else k: x for k, x in used.items()}
    for role in ("score", "decision", "label", "group"):
        if isinstance(name := getattr(found, role, None), str):
            roles[role] = name
    roles.setdefault("group", o.group)
    rows = rows_of(source, found, how["metric"], average, **roles)
    return rows, found, [*notes, *getattr(found, "skipped", ())]


def read_decisions(rows: TableRows, o: Arguments) -> tuple[str, AnyArray] | None:
    """Return decisions that are in the file, in words and values, if there are some."""
    table, name = rows.table, rows.used.get("decision") or o.decision_column
    if rows.way == "wide":
        stem = DECISIONS.removesuffix(STAR)
        if rows.judged or any(one.startswith(stem) for one in table.names):
            name = name or DECISIONS
        if name is None:
            return None
        labels = rows.labels_in(name, "--decision-column", o)
        rows.use("decisions", name if rows.judged else None)
        return f"columns {name!r}", labels
    taken = [o.group, rows.used.get("label")] if rows.way == "classes" else []
    usual = files.default_columns(table, files.DECISION_NAMES, taken=taken)
    if name is None and not usual:
        return None
    name = io.find_decisions(table, name)
    rows.use("decision", name)
    if rows.way == "classes":
        return f"column {name!r}", rows.labels_in(name, "--decision-column", o)
    pos_label = o.pos_label if rows.judged else None
    return f"column {name!r}", io.load_decisions(table, name, pos_label)


def read_known_labels(rows: TableRows, o: Arguments) -> AnyArray | None:
    """Return labels that are known already, nan where they are not."""
    if o.known is None:
        return None
    rows.use("known", o.known)
    return rows.labels_in(o.known, "--known", o, missing=True)
