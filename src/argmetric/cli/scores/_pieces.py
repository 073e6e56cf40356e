"""Files of any size, in pieces or whole; decisions and labels that rows come with."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from inspect import signature
from itertools import chain
from types import SimpleNamespace
from typing import Any

from argmetric._ground.label_words import LabelText
from argmetric.cli._command import Given
from argmetric.cli._errors import UsageError
from argmetric.cli._learning import warnings_in
from argmetric.cli._progress import stages
from argmetric.cli.scores import _rows as io
from argmetric.cli.scores import _rows as load
from argmetric.cli.scores._layout import DECISIONS, STAR, TableRows
from argmetric.cli.scores._rows import check
from argmetric.scale import files

RUNNING = "engine scheduler memory on_error"
GROUPED = f"{RUNNING} work_dir missing_groups"
# Options by the parameters of verbs over files; the others have the same names
_PARAMETERS = {
    **dict.fromkeys(("cost_fp", "cost_fn"), "cost"),
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
_FORCING = ("engine", "on_error", "work_dir", "missing_groups", "resume")
_ALWAYS = (
    f"{GROUPED} resume output json encoding max_line decimal file more jobs coverage "
    "fail_under fail_on"
)


def asked(verb: str, o: Given, source: io.Input) -> bool:
    """Whether the rows are worked on in pieces.

    Refuse an option that needs all rows at once, if the memory does not hold them.
    """
    if o.scheduler is not None and o.engine != "dask":
        raise UsageError("--scheduler is about Dask: pass --engine dask too")
    if o.memory is not None:
        _limit(o)
    if isinstance(source, tuple):
        many = io.in_pieces(source[0])
    else:
        large = os.path.isfile(source) and source.lower().endswith(io.COLUMNAR)
        many = os.path.isdir(source) or "://" in source or io.is_pattern(source)
        many = many or (large and os.path.getsize(source) > _limit(o))
    if not (many or any(map(o.has, _FORCING))):
        return False
    from argmetric import scale

    verbs = [verb, "calibration_check"] if verb == "calibrate" else [verb]
    known = (signature(getattr(scale.Files, one)).parameters for one in verbs)
    taken = {*_ALWAYS.split(), *_READ[verb].split(), *chain.from_iterable(known)}
    given = [name for name in o.names if o.has(name) and name not in taken]
    beyond = [name for name in given if _PARAMETERS.get(name) not in taken]
    if not beyond:
        return True
    check(verb, {"whole"}, o)
    option, name = f"--{beyond[0].replace('_', '-')}", io.shown_input(source)
    if "://" in name:
        raise UsageError(f"{option} needs all rows at once: copy {name} to this disk")
    size, most = sum(map(os.path.getsize, io.listed(source))), _limit(o)
    if size > most:
        raise UsageError(
            f"{option} needs all rows at once, and {name} has {size / 1e6:,.0f} MB: "
            f"more than the {most / 1e6:,.0f} MB of --memory"
        )
    return False


def _limit(o: Given) -> int:
    from argmetric.scale import check_memory

    try:
        return check_memory(o.memory, "--memory")
    except ValueError as error:
        raise UsageError(str(error)) from error


def columns(o: Given, source: io.Input, *names: str, logits: bool = False) -> Any:
    """Return the columns of files by the options that name them."""
    from argmetric.scale import columns_of

    more = {"score": files.LOGIT_NAMES} if logits else {}
    wanted = {k: (getattr(o, k), io.DEFAULTS[k] + more.get(k, ())) for k in names}
    return dict(zip(names, columns_of(source, **wanted), strict=True))


@contextmanager
def running(o: Given, source: io.Input) -> Iterator[Callable[..., Any]]:
    """Start workers, and yield what calls a verb with the options that it takes."""
    from argmetric import scale

    jobs, dask = -1 if o.jobs is None else o.jobs, o.engine == "dask"
    kind = partial(scale.Dask, o.scheduler, n_jobs=jobs)
    before = logging.root.manager.disable
    if dask:  # what ends the run is told once, by its message
        logging.disable(logging.CRITICAL)

    def call(function: Any, how: dict[str, Any]) -> Any:
        known = signature(function).parameters
        return function(**{name: how[name] for name in known if name in how})

    try:
        with stages() as report, kind() if dask else scale.Threads(jobs) as executor:
            given = o.only(*o.names)
            given |= {"pos_label": LabelText(o.pos_label), "random_state": o.seed}
            given |= {"executor": executor, "progress": report}
            given |= {"zero_division": None, "reference": None}  # made use of

            def run(verb: str, metric: Any = None, **more: Any) -> Any:
                how = {**given, **more}
                how |= {} if metric is None else {"metric": metric}
                opened = call(partial(scale.open, source), how)
                return call(getattr(opened, verb), how)

            yield run
    finally:
        logging.disable(before)


def rows_of(
    source: io.Input,
    n: int,
    metric: Any,
    average: Any = None,
    groups: int | None = None,
    **used: str | None,
) -> TableRows:
    """Return rows of files that were read in pieces, to be told as others are."""
    table = SimpleNamespace(source=io.shown_input(source), format="parquet", n_rows=n)
    ids = None if groups is None else SimpleNamespace(ids=range(groups))
    rows = TableRows(table, "one", metric, average, groups=ids)
    for role, name in used.items():
        rows.use(role, name)
    return rows


def answered(
    verb: str,
    o: Given,
    source: io.Input,
    metric: Any,
    average: Any,
    named: str = "",
    **how: Any,
) -> tuple[TableRows, Any, list[str]]:
    """Return rows that were read in pieces, what a verb says of them, and notes.

    `named` are the options of columns that the verb must be given.
    """
    fitting = verb in ("tune", "calibrate")
    used: Any = columns(o, source, *named.split(), logits=fitting) if named else {}
    notes = [f"read in pieces, engine {o.engine}"]
    with warnings_in(notes), running(o, source) as run:
        found = run(verb, metric, average=average or "groups", **used, **how)
    roles = {"decision" if k == "decision_column" else k: x for k, x in used.items()}
    for role in ("score", "decision", "label", "group"):
        if isinstance(name := getattr(found, role, None), str):
            roles[role] = name
    groups = getattr(found, "n_groups", None)
    roles.setdefault("group", o.group)
    rows = rows_of(source, found.n, metric, average, groups, **roles)
    return rows, found, [*notes, *getattr(found, "skipped", ())]


def decided(rows: TableRows, o: Given) -> tuple[str, Any] | None:
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


def arrived(rows: TableRows, o: Given) -> Any:
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
