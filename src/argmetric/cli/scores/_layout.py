"""Rows of a file as the functions of the package take them, whatever their layout.

One column of scores ("one"), a column for each of several labels ("wide": `--scores
'p_*'`), or one for each class of which a row has one ("classes": `--scores 'p_*'
--one-label`). A layout says which columns are read; what comes after is the same.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
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
_ORDER = [
    "target",
    "scores",
    "score",
    "decision",
    "labels",
    "label",
    "known",
    "weight",
    "group",
]
JUDGED_ORDER = ["score", "decision", "labels", "decisions", "label", "group", "scores"]


@dataclass
class Rows:
    """Rows, and what decisions on them are judged by.

    Attributes
    ----------
    columns : dict of str to str
        The column of scores of each label or class; one, by no name.
    used : dict of str to str
        The columns that were used, by their roles.
    p : ndarray or None
        The scores as they are in the file.
    y : ndarray or None
        True labels.
    calibrator, reference : Calibrator and FittedReference or pair, or None
        What the scores go through first, and the labelled rows that it is from.
    judged : bool
        Whether decisions of the file are scored, which stand first then.
    notes : list of str
        Why labels were not used.
    """

    table: files.Table
    way: Way
    metric: Any
    average: Any = None
    columns: dict[str, str] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)
    p: Any = None
    y: Any = None
    positive: Any = None
    groups: load.GroupColumns | None = None
    logits: bool = False
    in_range: bool = False
    calibrator: Calibrator | None = None
    reference: Any = None
    labelled: tuple[Any, Any] | None = None
    judged: bool = False
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
    def how(self) -> dict[str, Any]:
        """How rows lie, as the functions of the package take it."""
        if self.way == "wide":
            return {"average": self.average}
        grouped = load.grouping(self.groups)
        if self.way == "classes":
            return {"classes": self.classes, "groups": grouped["groups"]}
        return grouped

    @property
    def scoring(self) -> dict[str, Any]:
        """How scores are to be read, compared with those of the reference if any."""
        how: dict[str, Any] = {"logits": self.logits}
        if self.reference is not None:
            return {**how, "reference": self.reference}
        return {**how, "calibrator": self.calibrator}

    def decide(self, **options: Any) -> Any:
        """Return the decision with the highest expected score."""
        from argmetric import decide

        return decide(self.checked, self.metric, **self.how, **self.scoring, **options)

    def forecast(self, labels: Any, coverage: float, **options: Any) -> Any:
        """Return the score to expect of a decision."""
        from argmetric import forecast

        how = {**self.how, **self.scoring, **options}
        return forecast(self.checked, labels, self.metric, coverage, **how)

    def evaluate(self, labels: Any, metric: Any = None) -> Any:
        """Return the score of a decision against the labels, None without labels."""
        if self.y is None:
            return None
        from argmetric import evaluate

        how = {**self.how, **({"one_label": True} if self.way == "classes" else {})}
        return evaluate(self.y, labels, metric or self.metric, **how)

    def described(self) -> dict[str, Any]:
        """Which rows, and the columns used, as plain values."""
        order = JUDGED_ORDER if self.judged else _ORDER
        if self.way == "classes" and not self.judged:
            order = [*(one for one in _ORDER if one != "decision"), "decision"]
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
        return [load.named_after(decision, name) for name in self.columns]

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


def read_table(source: Any, o: Given) -> files.Table:
    """Read rows as the options say."""
    return load.read_rows(source, **o.only(*READING.split()))


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
    if rule is not None:
        metric, average = rule.metric, getattr(rule, "average", None)
        if way == "one":
            average = _judge.average_of(o.average, o.group)
            if o.logits and _is_probability(rule):
                raise UsageError("--logits: the rule was tuned on probabilities")
    else:
        metric, average = metric_of(o, way)
    if way == "classes" and o.scores is None and scores != "none":
        raise UsageError(
            "--one-label needs a column of probabilities for each class: pass them as "
            "--scores 'p_*'"
        )
    table = read_table(source, o)
    rows = Rows(table, way, metric, average, logits=bool(o.logits), judged=judged)
    if judged and way != "wide" and o.threshold is None:
        rows.use("decision", _judged_column(rows, o))
    looks = way == "one" and labels == "optional"
    with progress(f"checking {table.n_rows:,} rows") if looks else nullcontext():
        reader = {"one": _read_one, "wide": _read_wide, "classes": _read_classes}[way]
        reader(rows, o, rule, labels, scores)
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


def _is_probability(rule: Any) -> bool:
    return bool(rule.probabilities or rule.calibrator is not None)


def _read_one(rows: Rows, o: Given, rule: Any, labels: str, scores: str) -> None:
    table, score = rows.table, o.score
    if scores != "none":
        taken = [o.group, o.label, o.weight]
        score = load.find_score(table, o.score, logits=rows.logits, taken=taken)
        rows.columns = {"": score}
    rows.use("score", score)
    other = rows.used.get("decision") or o.decision_column
    named = {"known": o.known, "decision_column": other}
    chosen = {"score": score, **named, "group": o.group, "label": o.label}
    load.refuse_shared(**chosen, weight=o.weight)
    if rule is not None:
        scores = "probabilities" if _is_probability(rule) else "numbers"
        rows.calibrator = rule.calibrator
        if rule.reference is not None and (scores == "probabilities" or rows.logits):
            rows.calibrator = rule.reference.calibrator
            rows.reference = rule.reference
    if scores == "probabilities":
        rows.p = files.probabilities(table, score, logits=rows.logits)
        rows.in_range = rule is None
    elif scores == "numbers":
        rows.p = files.numbers(table, score)
    pos_label, shared = o.pos_label, o.has("known") or o.has("reference")
    if rule is not None and pos_label is None and _named(rule):
        pos_label, shared = str(rule.pos_label), True  # it has seen both classes
    taken = [score, o.group, o.known, o.weight, other]
    if labels in ("required", "classes"):
        label = load.find_label(table, o.label, taken=taken)
        if labels == "classes":
            rows.y, rows.positive = files.classes(table, label, pos_label)
        else:
            rows.y = files.labels(table, label, pos_label=pos_label)
        load.refuse_shared(**{**chosen, "label": label}, weight=o.weight)
        rows.use("label", label)
    elif labels == "optional":
        found = load.optional_labels(
            table,
            o.label,
            lambda name: files.labels(table, name, pos_label=pos_label),
            taken=taken,
            strict=pos_label is not None and not shared,
        )
        rows.use("label", found.column)
        rows.y, rows.notes = found.values, [found.note] if found.note else []


def _named(rule: Any) -> bool:
    return (rule.neg_label, rule.pos_label) != (0, 1)


def _read_wide(rows: Rows, o: Given, rule: Any, labels: str, scores: str) -> None:
    table = rows.table
    if o.scores is None:
        rows.columns = load.matched(table, o.labels, "--labels")
    else:
        found = load.matched(table, o.scores, "--scores")
        if rule is not None:
            found = load.in_order_of(table, found, rule.names)
            scores = "probabilities" if rule.rules[0].probabilities else "numbers"
        rows.columns = found
        numbers = scores == "numbers"
        rows.p = load.score_matrix(
            table, found.values(), logits=rows.logits and not numbers, any=numbers
        )
        rows.use("scores", o.scores)
    if o.labels is not None:
        first = o.scores or o.labels
        true = load.partners(table, o.labels, "--labels", rows.columns, first)
        rows.y = load.label_matrix(table, true, o.pos_label)
        rows.use("labels", o.labels)
    elif labels in ("required", "classes"):
        raise UsageError("several labels need their true labels: pass --labels")


def _read_classes(rows: Rows, o: Given, rule: Any, labels: str, scores: str) -> None:
    table = rows.table
    if o.scores is None:  # classes are those that occur
        decision = rows.used["decision"]
        label = load.find_label(table, o.label, taken=[decision, o.group])
        coded = [files.class_names(table, one)[1] for one in (label, decision)]
        names = load.as_classes(list(dict.fromkeys([*coded[0], *coded[1]])))
        rows.columns = dict.fromkeys(map(str, sorted(names)), "")
    else:
        found = load.matched(table, o.scores, "--scores")
        if rule is not None:
            found = load.in_order_of(table, found, rule.classes)
        rows.columns = found
        rows.use("scores", o.scores)
        if scores != "none":
            rows.p = load.class_scores(
                table, o.scores, [*found.values()], logits=rows.logits
            )
    taken = [o.group, *rows.columns.values(), o.decision_column, o.weight]
    taken.append(rows.used.get("decision"))

    def values(name: str) -> Any:
        return load.class_labels(table, name, rows.names)

    if labels == "optional":
        found_labels = load.optional_labels(table, o.label, values, taken=taken)
        rows.use("label", found_labels.column)
        rows.y = found_labels.values
        rows.notes = [found_labels.note] if found_labels.note else []
    elif labels != "none":
        label = load.find_label(table, o.label, taken=taken)
        rows.y = values(label)
        rows.use("label", label)
    chosen = rows.used.get("decision") or o.decision_column
    named = {"label": rows.used.get("label"), "group": o.group}
    load.refuse_shared(decision_column=chosen, **named)


# ---------------------------------------------------------------- decisions, maps


def decided(rows: Rows, o: Given) -> tuple[str, Any] | None:
    """Return decisions that are in the file, in words and values, if there are some."""
    table, name = rows.table, o.decision_column
    if rows.way == "wide":
        before = _DECISIONS.removesuffix("*")
        if name is None and any(one.startswith(before) for one in table.names):
            name = _DECISIONS
        if name is None:
            return None
        first = rows.used.get("scores") or rows.used["labels"]
        option = "--decision-column"
        chosen = load.partners(table, name, option, rows.columns, first)
        if rows.judged:
            rows.use("decisions", name)
        return f"columns {name!r}", load.label_matrix(table, chosen, o.pos_label)
    taken = [one for one in (o.group, rows.used.get("label")) if one is not None]
    if name is None and not files.default_columns(
        table, files.DECISION_NAMES, taken=taken if rows.way == "classes" else ()
    ):
        return None
    name = load.find_decisions(table, name)
    rows.use("decision", name)
    if rows.way == "classes":
        return f"column {name!r}", load.class_labels(table, name, rows.names)
    return f"column {name!r}", load.load_decisions(table, name, None)


def arrived(rows: Rows, o: Given) -> Any:
    """Return labels that are known already, nan where they are not."""
    if o.known is None:
        return None
    if rows.way == "wide":
        rows.use("known", o.known)
        columns = load.partners(rows.table, o.known, "--known", rows.columns, o.scores)
        how: dict[str, Any] = {"pos_label": o.pos_label, "missing": True}
        read = [files.labels(rows.table, name, **how) for name in columns]
        return np.stack(read, axis=1)
    name = files.named_column(rows.table, o.known)
    rows.use("known", name)
    return files.labels(rows.table, name, pos_label=o.pos_label, missing=True)


def on_scale_of(rows: Rows, calibrator: Any) -> Rows:
    """Return the rows with the map by which a decision was made."""
    return replace(rows, calibrator=calibrator)
