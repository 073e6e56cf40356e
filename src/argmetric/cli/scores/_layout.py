"""Rows of a file as the functions of the package take them, whatever their layout.

One column of scores ("one"), a column for each of several labels ("wide": `--scores
'p_*'`), or one for each class of which a row has one ("classes": `--scores 'p_*'
--one-label`). A layout says which columns are read; what comes after is the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from argmetric import _files as files
from argmetric._input.types import Floats
from argmetric._input.validation import Probabilities
from argmetric.cli import _judge
from argmetric.cli._command import Given
from argmetric.cli._errors import UsageError
from argmetric.cli._progress import progress
from argmetric.cli.scores import _load as load

if TYPE_CHECKING:
    from argmetric import Calibrator

Way = Literal["one", "wide", "classes"]
COLUMNS = "scores labels one_label group label pos_label"
READING = "format encoding max_line decimal"
JUDGED = "metric average zero_division"
MAPS = "calibrator reference reference_score reference_label prior"
_DECISIONS = "decision_*"  # as `argmetric decide` names them
_ORDER = "target scores score decision labels label known weight group"
_JUDGED_ORDER = "score decision labels decisions label group scores"


@dataclass
class Rows:
    """Rows, and what decisions on them are judged by.

    Attributes
    ----------
    columns : dict of str to str
        The column of scores of each label or class; one, by no name.
    used : dict of str to str
        The columns that were used, by their roles.
    p, y : ndarray or None
        The scores as they are in the file, and true labels.
    calibrator, reference : Calibrator and FittedReference or pair, or None
        What the scores go through first, and the labelled rows that it is from.
    judged : bool
        Whether decisions of the file are scored, which stand first then.
    prefix : str
        How the options begin that name the columns: "reference_" for --reference.
    notes : list of str
        Why labels were not used.
    """

    table: Any
    way: Way
    metric: Any
    average: Any = None
    columns: dict[str, str] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)
    p: Any = None
    y: Any = None
    positive: Any = None
    groups: Any = None
    logits: bool = False
    in_range: bool = False
    calibrator: Calibrator | None = None
    reference: Any = None
    labelled: tuple[Any, Any] | None = None
    judged: bool = False
    prefix: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The labels or classes: what * stands for."""
        return list(self.columns)

    @property
    def classes(self) -> list[Any]:
        """The class of each column."""
        return load.as_classes(self.names)

    @property
    def score(self) -> str:
        """The column of scores, or their pattern."""
        return self.used.get("scores") or self.used["score"]

    @property
    def checked(self) -> Any:
        """The scores as the functions of the package take them."""
        return Probabilities(self.p, self.logits) if self.in_range else self.p

    @cached_property
    def scale(self) -> Floats:
        """The scores on the scale of thresholds: recalibrated, if they are."""
        if self.calibrator is None:
            return np.asarray(self.p)
        apply = self.calibrator.apply_logits if self.logits else self.calibrator.apply
        if self.way == "one":
            return apply(self.checked)
        return apply(self.p.ravel()).reshape(self.p.shape)

    @property
    def mass(self) -> Floats:
        """The positives to expect of each label."""
        from argmetric._input.odds import expit

        return (expit(self.scale) if self.logits else self.scale).sum(axis=0)

    @property
    def how(self) -> dict[str, Any]:
        """How rows lie, as the functions of the package take it."""
        if self.way == "wide":
            return {"average": self.average}
        groups, average = None, None
        if self.groups is not None:
            groups, average = self.groups.checked, self.groups.average
        if self.way == "classes":
            return {"classes": self.classes, "groups": groups}
        return {"groups": groups, "average": average}

    @property
    def scoring(self) -> dict[str, Any]:
        """How scores are to be read, compared with those of the reference if any."""
        name = "calibrator" if self.reference is None else "reference"
        return {"logits": self.logits, name: getattr(self, name)}

    def decide(self, **options: Any) -> Any:
        """Return the decision with the highest expected score."""
        from argmetric import decide

        return decide(self.checked, self.metric, **self.how, **self.scoring, **options)

    def forecast(self, labels: Any, coverage: float, **options: Any) -> Any:
        """Return the score to expect of a decision."""
        from argmetric import forecast

        how = {**self.how, **self.scoring, **options}
        return forecast(self.checked, labels, self.metric, coverage, **how)

    def evaluate(self, labels: Any) -> Any:
        """Return the score of a decision against the labels, None without labels."""
        if self.y is None:
            return None
        from argmetric import evaluate

        how = {**self.how, **({"one_label": True} if self.way == "classes" else {})}
        return evaluate(self.y, labels, self.metric, **how)

    def described(self) -> dict[str, Any]:
        """Which rows, and the columns used, as plain values."""
        order = (_JUDGED_ORDER if self.judged else _ORDER).split()
        if self.way == "classes" and not self.judged:
            order.append(order.pop(order.index("decision")))
        return {
            "file": self.table.source,
            "format": self.table.format,
            "rows": self.table.n_rows,
            "columns": {role: self.used[role] for role in order if role in self.used},
        }

    def named(self, decision: str) -> list[str]:
        """Return the names of the columns that decisions are written to."""
        if self.way != "wide":
            return [decision]
        pattern = decision if load.STAR in decision else f"{decision}_{load.STAR}"
        return [pattern.replace(load.STAR, name) for name in self.columns]

    def use(self, role: str, name: str | None) -> str | None:
        """Remember which column was used for what."""
        if name is not None:
            self.used[role] = name
        return name


def way_of(o: Given) -> Way:
    """Return the layout that options ask for."""
    if o.one_label:
        return "classes"
    return "wide" if o.scores is not None or o.labels is not None else "one"


def metric_of(o: Given, way: Way, n_classes: int = 2) -> tuple[Any, Any]:
    """Return the metric and the average that options name, checked."""
    if way == "classes":
        found = _judge.class_metric(o.metric, o.average, o.zero_division, n_classes)
        return found, "groups"
    average = _judge.average_of(o.average, o.group, wide=way == "wide")
    return _judge.metric_named(o.metric, o.zero_division, several=True), average


def read(
    o: Given,
    source: Any,
    *,
    rule: Any = None,
    labels: Literal["optional", "required", "classes", "none"] = "optional",
    scores: Literal["probabilities", "numbers", "none"] = "probabilities",
    judged: bool = False,
) -> Rows:
    """Read rows in the layout that the options ask for.

    Parameters
    ----------
    o : Given
        The options.
    source : str or tuple of str
        Where the rows are.
    rule : optional
        What decides: it says what the scores are, its metric, the order of labels.
    labels : str, optional
        "optional" takes those that a column plainly offers, "required" refuses rows
        without, "classes" are labels as they are in the file.
    scores : str, optional
        "numbers" need not be probabilities; "none" reads those that were named.
    judged : bool, optional
        Whether there must be a column of decisions.
    """
    way = way_of(o)
    if rule is None:
        metric, average = metric_of(o, way)
    else:
        metric, average = rule.metric, getattr(rule, "average", None)
        if way == "one":
            average = _judge.average_of(o.average, o.group)
            sure = rule.probabilities or rule.calibrator is not None
            if o.logits and sure:
                raise UsageError("--logits: the rule was tuned on probabilities")
            scores = "probabilities" if sure else "numbers"
        elif way == "wide" and not rule.rules[0].probabilities:
            scores = "numbers"
    if way == "classes" and o.scores is None and scores != "none":
        raise UsageError(
            "--one-label needs a column of probabilities for each class: pass them as "
            "--scores 'p_*'"
        )
    table = load.read_rows(source, **o.only(*READING.split()))
    rows = Rows(table, way, metric, average, logits=bool(o.logits), judged=judged)
    if judged and way != "wide" and o.threshold is None:
        rows.use("decision", _judged_column(rows, o))
    with progress(f"checking {table.n_rows:,} rows"):
        _read_scores(rows, o, rule, scores)
        _read_labels(rows, o, rule, labels)
        average = "groups" if way == "classes" else rows.average
        rows.groups = load.load_groups(table, o.group, average)
    rows.use("group", o.group)
    rows.use("weight", o.weight)
    if way == "classes":
        if rule is not None:
            o = o.but(metric=rule.metric.name.removeprefix("macro "))
        rows.metric = metric_of(o, way, max(len(rows.columns), 2))[0]
    return rows


def _judged_column(rows: Rows, o: Given) -> str:
    """Return the column of decisions; without one, the error names --threshold."""
    table, name = rows.table, o.decision_column
    try:
        return load.find_decisions(table, name)
    except files.DataError as error:
        usual = files.default_columns(table, files.DECISION_NAMES)
        if name is not None or usual or rows.way == "classes":
            raise
        raise files.DataError(
            f"{error}, or --threshold NUMBER to score a cut-off of the probabilities"
        ) from None


def _read_scores(
    rows: Rows, o: Given, rule: Any, scores: str, of: dict[str, str] | None = None
) -> None:
    """Find the columns of scores, those that go with others if any, and read them."""
    table, numbers, way = rows.table, scores == "numbers", rows.way
    if way != "one" and o.scores is None:
        if way == "wide":
            rows.columns = load.matched(table, o.labels, "--labels")
            return
        decision = rows.used["decision"]  # classes are those that occur
        label = load.find_label(table, o.label, taken=[decision, o.group])
        coded = [files.class_names(table, one)[1] for one in (label, decision)]
        names = load.as_classes(list(dict.fromkeys([*coded[0], *coded[1]])))
        rows.columns = dict.fromkeys(map(str, sorted(names)), "")
        return
    if way != "one":
        rows.columns = load.matched(table, o.scores, "--scores")
        if of is not None:
            same = load.partners(table, o.scores, "--scores", of, o.scores)
            rows.columns = dict(zip(of, same, strict=True))
        elif rule is not None:
            wanted = rule.names if way == "wide" else rule.classes
            rows.columns = load.in_order_of(table, rows.columns, wanted)
        rows.use("scores", o.scores)
        if way == "wide" or scores != "none":
            rows.p = load.score_matrix(
                table,
                rows.columns.values(),
                logits=rows.logits,
                any=numbers,
                classes=o.scores if way == "classes" else "",
            )
        return
    score, named = o.score, o.only("label", "group", "weight")
    if scores != "none":
        how: Any = {"logits": rows.logits, "role": f"{rows.prefix}score"}
        taken = named.values()
        score = load.find(table, score, what="score", taken=taken, **how)
        rows.columns = {"": score}
    rows.use("score", score)
    other = rows.used.get("decision") or o.decision_column
    named = {"score": score, "known": o.known, "decision_column": other}
    named |= o.only("group", "label", "weight")
    load.refuse_shared(**{f"{rows.prefix}{k}": name for k, name in named.items()})
    if rule is not None:
        rows.calibrator = rule.calibrator
        if rule.reference is not None and (rows.logits or not numbers):
            rows.calibrator = rule.reference.calibrator
            rows.reference = rule.reference
    if numbers:
        rows.p = files.numbers(table, score)
    elif scores != "none":
        rows.p = files.probabilities(table, score, logits=rows.logits)
        rows.in_range = rule is None


def _read_labels(rows: Rows, o: Given, rule: Any, labels: str) -> None:
    """Find the columns of true labels, and read them."""
    table = rows.table
    if rows.way == "wide":
        if o.labels is not None:
            first = o.scores or o.labels
            true = load.partners(table, o.labels, "--labels", rows.columns, first)
            rows.y = load.label_matrix(table, true, o.pos_label)
            rows.use("labels", o.labels)
        elif labels in ("required", "classes"):
            raise UsageError("several labels need their true labels: pass --labels")
        return
    pos_label, shared = o.pos_label, o.has("known") or o.has("reference")
    if rows.way == "one" and rule is not None and pos_label is None and is_named(rule):
        pos_label, shared = str(rule.pos_label), True  # it has seen both classes

    def values(name: str) -> Any:
        if rows.way == "classes":
            return load.class_labels(table, name, rows.names)
        if labels == "classes":
            found, rows.positive = files.classes(table, name, pos_label)
            return found
        return files.labels(table, name, pos_label=pos_label)

    other = rows.used.get("decision") or o.decision_column
    taken = [*rows.columns.values(), o.score, o.group, o.known, o.weight, other]
    if labels == "optional":
        strict = rows.way == "one" and pos_label is not None and not shared
        found = load.optional_labels(table, o.label, values, taken=taken, strict=strict)
        rows.use("label", found.column)
        rows.y, rows.notes = found.values, [found.note] if found.note else []
    elif labels != "none":
        role: Any = f"{rows.prefix}label"
        label = load.find_label(table, o.label, taken=taken, role=role)
        rows.y = values(label)
        rows.use("label", label)
    if rows.way == "classes":
        named = {"label": rows.used.get("label"), "group": o.group}
        load.refuse_shared(decision_column=other, **named)


def is_named(rule: Any) -> bool:
    """Whether a rule gives other labels than 0 and 1."""
    return (rule.neg_label, rule.pos_label) != (0, 1)


# ---------------------------------------------------------------- decisions, maps


def decided(rows: Rows, o: Given) -> tuple[str, Any] | None:
    """Return decisions that are in the file, in words and values, if there are some."""
    table, name = rows.table, rows.used.get("decision") or o.decision_column
    if rows.way == "wide":
        stem = _DECISIONS.removesuffix(load.STAR)
        if rows.judged or any(one.startswith(stem) for one in table.names):
            name = name or _DECISIONS
        if name is None:
            return None
        first = rows.used.get("scores") or rows.used["labels"]
        columns = rows.columns
        chosen = load.partners(table, name, "--decision-column", columns, first)
        if rows.judged:
            rows.use("decisions", name)
        return f"columns {name!r}", load.label_matrix(table, chosen, o.pos_label)
    taken = [o.group, rows.used.get("label")] if rows.way == "classes" else []
    used = [one for one in taken if one is not None]
    if name is None and not files.default_columns(
        table, files.DECISION_NAMES, taken=used
    ):
        return None
    name = load.find_decisions(table, name)
    rows.use("decision", name)
    if rows.way == "classes":
        return f"column {name!r}", load.class_labels(table, name, rows.names)
    pos_label = o.pos_label if rows.judged else None
    return f"column {name!r}", load.load_decisions(table, name, pos_label)


def arrived(rows: Rows, o: Given) -> Any:
    """Return labels that are known already, nan where they are not."""
    if o.known is None:
        return None
    rows.use("known", o.known)
    if rows.way == "wide":
        columns = load.partners(rows.table, o.known, "--known", rows.columns, o.scores)
        return load.label_matrix(rows.table, columns, o.pos_label, missing=True)
    name = files.named_column(rows.table, o.known)
    return files.labels(rows.table, name, pos_label=o.pos_label, missing=True)


def recalibrate(rows: Rows, o: Given) -> None:
    """Take the map that the options ask for, if any."""
    if o.calibrator is not None:
        rows.calibrator = read_calibrator(o.calibrator)
    if o.reference is None:
        return
    table, y, p = read_reference(o, rows.score, rows.columns)
    rows.labelled = rows.reference = y, p
    if rows.way != "classes":
        found = fitted(o, table, y, p)
        rows.calibrator = found.calibrator
        rows.reference = None if found.rows is None else found


def fitted(o: Given, table: files.Table, y: Any, p: Any) -> Any:
    """Return the map of labelled rows, with these rows."""
    from argmetric._calibrate.resolve import resolve_reference

    logits = bool(o.logits)
    try:
        return resolve_reference(None, (y, Probabilities(p, logits)), logits=logits)
    except ValueError as error:
        raise files.DataError(f"{table.source}: {error}") from error


def read_reference(
    o: Given, score: str, columns: dict[str, str] | None = None
) -> tuple[files.Table, Any, Floats]:
    """Read labels and scores of --reference.

    `score` is the column of scores of the rows, looked for in the reference too, and
    `columns` are those of several labels or classes.
    """
    how = o.only("encoding", "max_line", "decimal")
    table = load.read_rows(o.reference, **{k: v for k, v in how.items() if v})
    way = way_of(o)
    if way == "wide" and o.labels is None:
        raise UsageError("--reference needs its labels: pass --labels 'y_*'")
    named = {"score": o.reference_score, "label": o.reference_label}
    for role, same in (("score", score), ("label", o.label)):
        if named[role] is None and same in table.names:
            named[role] = same
    none = dict.fromkeys(("group", "weight", "known", "decision_column"))
    o = o.but(**named, **none)
    rows = Rows(table, way, None, logits=bool(o.logits), prefix="reference_")
    _read_scores(rows, o, None, "probabilities", columns)
    _read_labels(rows, o, None, "required")
    return table, rows.y.astype(np.int64) if way == "one" else rows.y, rows.p


def read_calibrator(path: str) -> Calibrator:
    """Read a map that `argmetric calibrate` wrote."""
    from argmetric import Calibrator

    if path == "-":
        raise UsageError("a map is read from a file, not from standard input")
    try:
        return Calibrator.load(path)
    except OSError as error:
        raise files.DataError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, TypeError, UnicodeDecodeError) as error:
        said = f"{path} is not a map of argmetric calibrate: {error}"
        raise files.DataError(said) from error
