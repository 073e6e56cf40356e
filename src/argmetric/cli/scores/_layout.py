"""Rows of a file as the functions of the package take them, whatever their layout.

One column of scores ("one"), a column for each of several labels ("wide": `--scores
'p_*'`), or one for each class of which a row has one ("classes": `--scores 'p_*'
--one-label`). A layout says which columns are read; what comes after is the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

import argmetric as am
from argmetric._ground.arguments import keywords_of
from argmetric._ground.types import AnyArray, Floats
from argmetric._ground.validation import SUM_TOLERANCE, Probabilities
from argmetric.cli import _learning
from argmetric.cli._command import Arguments
from argmetric.cli._errors import UsageError, naming, with_flags
from argmetric.cli._report import progress
from argmetric.cli.scores import _rows as load
from argmetric.metrics import Utility, check_order, with_missed
from argmetric.scale import files

Way = Literal["one", "wide", "classes"]
AnyRule = Any  # Rule, MultiLabelRule or MultiClassRule, by the way
COLUMNS = "scores labels one_label group label pos_label"
READING = "format encoding max_line decimal"
JUDGED = "metric average zero_division"
MAPS = "reference reference_score reference_label prior"
STAR = "*"
DECISIONS = "decision_*"  # as `argmetric decide` names them
_SHOWN_NAMES = 5  # columns, where none matches a pattern
_ROLES = "target scores score decision labels decisions label known weight group"


@dataclass
class TableRows:
    """Rows, and what decisions on them are judged by.

    `columns` are those of scores, by label or class (one has no name), and `used` all
    columns by their roles. Scores go through `calibrator` first, which may be that of
    the labelled rows of `reference`. Decisions that are `judged` stand first. `prefix`
    begins the options that name columns: "reference_" for those of --reference.
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
    calibrator: am.Calibrator | None = None
    reference: Any = None
    labelled: tuple[Any, Any] | None = None
    judged: bool = False
    mean: Any = None  # what --mean names, where p was made of it
    prefix: str = ""
    known_classes: list[Any] | None = None  # of a rule, in its order
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Return the names of the labels or classes: the part that * matches."""
        return list(self.columns)

    @property
    def classes(self) -> list[Any]:
        """Return the class of each column."""
        return self.known_classes or load.as_classes(self.names)

    @property
    def score(self) -> str:
        """Return the name of the column of scores, or the pattern of several."""
        return self.used.get("scores") or self.used["score"]

    @property
    def checked_scores(self) -> Floats | Probabilities:
        """Return the scores as verbs take them; `Probabilities` if they are checked."""
        return Probabilities(self.p, self.logits) if self.in_range else self.p

    @cached_property
    def scale(self) -> Floats:
        """Return the scores on the scale of thresholds: after any calibrator."""
        if self.calibrator is None:
            return np.asarray(self.p)
        apply = self.calibrator.apply_logits if self.logits else self.calibrator.apply
        return apply(self.checked_scores)

    @property
    def layout_options(self) -> dict[str, Any]:
        """Return the options on groups, average and classes that verbs take."""
        if self.way == "wide":
            return {"average": self.average}
        if self.way == "classes":
            return {"classes": self.classes, "groups": self.groups}
        average = None if self.groups is None else self.average
        return {"groups": self.groups, "average": average}

    def call(self, verb: str, *columns: object, **options: object) -> Any:
        """Call a verb with the columns, and the options of these rows that it takes."""
        module = am.classes if self.way == "classes" else am
        function, known_of = getattr(module, verb), self.reference
        if known_of is None:
            known_of = self.calibrator
        how = {**self.layout_options, "logits": self.logits, "reference": known_of}
        known = keywords_of(function)
        return function(*columns, **{k: how[k] for k in how if k in known} | options)

    def decide(self, **options: object) -> Any:
        """Return the decision with the highest expected score."""
        if self.way == "classes":
            options.pop("n_jobs", None)  # refused where it is given
        return self.call("decide", self.checked_scores, self.metric, **options)

    def forecast(self, labels: object, coverage: float, **options: object) -> Any:
        """Return the score to expect of a decision."""
        given = self.checked_scores, labels, self.metric, coverage
        return self.call("forecast", *given, **options)

    def evaluate(self, labels: object) -> Any:
        """Return the score of a decision against the labels, None without labels."""
        if self.y is None:
            return None
        return self.call("evaluate", self.y, labels, self.metric)

    def description(self) -> dict[str, Any]:
        """Return the file, its rows, and the columns used, as plain values."""
        return {
            "file": self.table.source,
            "format": self.table.format,
            "rows": self.table.n_rows,
            "columns": {k: self.used[k] for k in _ROLES.split() if k in self.used},
        }

    def column_names(self, decision: str) -> list[str]:
        """Return the names of the columns that decisions are written to."""
        if self.way != "wide":
            return [decision]
        pattern = decision if STAR in decision else f"{decision}_{STAR}"
        return [pattern.replace(STAR, name) for name in self.columns]

    def use(self, role: str, name: str | None) -> None:
        """Remember the column that serves a role, such as "score"."""
        if name is not None:
            self.used[role] = name

    def recalibrate(self, o: Arguments) -> None:
        """Take the calibrator that the options ask for, if any."""
        if o.reference is None:
            return
        if load.is_saved(o.reference):
            self.calibrator = load.load_saved(o.reference, "map")
            return
        table, y, p = read_reference(o, self.score, self.columns)
        if o.mean is not None:
            self.mean = self.p
            how: Any = {"classes": self.classes, "reference": (y, p)}
            with naming(table.source):
                call = am.classes.read_means(None, self.p, **how)
            self.p, p = call.p, call.reference[1]
        self.labelled = self.reference = y, p
        if self.way != "classes":
            from argmetric._calibrate.resolve import resolve_reference

            known = y, Probabilities(p, self.logits)
            with naming(table.source):
                found = resolve_reference(known, logits=self.logits)
            self.calibrator = found.calibrator
            self.reference = None if found.rows is None else found

    # ------------------------------------------------------------------- columns

    def matching_columns(self, pattern: str, option: str) -> dict[str, str]:
        """Return the columns that a pattern matches, each by what ``*`` stands for."""
        if option == "--scores" and "," in pattern and STAR not in pattern:
            return {x: files.named_column(self.table, x) for x in pattern.split(",")}
        if pattern.count(STAR) != 1:
            raise UsageError(
                f"{option} {pattern!r} must contain one *, which stands for the name "
                "of a label, as in 'p_*'"
            )
        before, after = pattern.split(STAR)
        table, names = self.table, self.table.names
        size, star = len(before) + len(after), slice(len(before), -len(after) or None)
        found = {
            one[star]: files.named_column(table, one)
            for one in names
            if len(one) > size and one.startswith(before) and one.endswith(after)
        }
        if not found:
            more = ", …" if len(names) > _SHOWN_NAMES else ""
            raise files.DataError(
                f"{table.source}: no column matches {option} {pattern!r} "
                f"(columns: {', '.join(names[:_SHOWN_NAMES])}{more})"
            )
        return found

    def partners(self, pattern: str, option: str, first: str) -> dict[str, str]:
        """Return the columns of a pattern, in the order of the columns of the first."""
        found = self.matching_columns(pattern, option)
        both = (self.columns, found, pattern), (found, self.columns, first)
        for columns, others, wanted in both:
            for name in columns:
                if name not in others:
                    raise files.DataError(
                        f"{self.table.source}: column {columns[name]!r} has no "
                        f"partner: there is no {wanted.replace(STAR, name)!r}"
                    )
        return {name: found[name] for name in self.columns}

    def labels_in(
        self, name: str, option: str, o: Arguments, *, missing: bool = False
    ) -> AnyArray:
        """Return labels of a column, or of those of a pattern: 0 and 1, or classes.

        Where one is missing, it is nan, or None of classes.
        """
        pos, how = o.pos_label, {"missing": missing}
        if self.way == "wide":
            columns = self.partners(name, option, o.scores or o.labels).values()
            read = [files.labels(self.table, x, pos_label=pos, **how) for x in columns]
            return np.stack(read, axis=1).astype(float if missing else np.int64)
        files.named_column(self.table, name)
        if self.way == "one":
            return files.labels(self.table, name, pos_label=pos, **how)
        codes, found = files.class_names(self.table, name, self.names, **how)
        classes = dict(zip(self.names, self.classes, strict=True))
        if not missing:
            return np.array([classes[name] for name in found])[codes]
        known = [classes.get(name) for name in found]
        return np.array([*known, None], dtype=object)[codes]

    def check_sums(self, pattern: str) -> None:
        """Refuse class probabilities of a row that do not sum to 1."""
        total = self.p.sum(axis=1)
        wrong = np.flatnonzero(np.abs(total - 1.0) > SUM_TOLERANCE)
        if wrong.size and not self.logits:
            source, row = self.table.place_of(int(wrong[0]))
            more = f" ({wrong.size:,} such rows)" if wrong.size > 1 else ""
            raise files.DataError(
                f"{source}: row {row + 1}: the columns {pattern!r} sum to "
                f"{total[wrong[0]]:.4g}, not to 1{more}; with --one-label they are the "
                "probabilities of the classes. Divide each row by its sum; pass "
                "--logits if these are scores before a softmax; or leave out "
                f"--one-label if a row can have several labels; {files.COUNTED}"
            )

    def read_scores(self, o: Arguments, rule: AnyRule | None, scores: str) -> None:
        """Find the columns of scores and read them, "numbers", or "none" at all.

        Columns that are there already are those of rows that these go with.
        """
        table, way, read = self.table, self.way, scores != "none"
        column: Any = partial(files.probabilities, logits=self.logits)
        column = files.numbers if scores == "numbers" else column
        if way == "one":
            self._find_one(o, rule, scores)
            self.p = column(table, self.used["score"]) if read else None
            self.in_range = rule is None and scores == "probabilities"
        elif o.scores is not None:
            if self.columns:
                self.columns = self.partners(o.scores, "--scores", o.scores)
            else:
                self.columns = self.matching_columns(o.scores, "--scores")
            if rule is not None:
                self._order_by(rule.names if way == "wide" else rule.classes)
                self.known_classes = None if way == "wide" else [*rule.classes]
            self.use("scores", o.scores)
            columns = [*self.columns.values()]
            if way == "classes" and len(columns) < 2:
                raise files.DataError(
                    f"{table.source}: only {columns[0]!r} matches --scores "
                    f"{o.scores!r}; --one-label needs a column for each of two classes "
                    "or more"
                )
            if way == "wide" or read:
                self.p = _read_matrix(table, columns, column, o.scores)
            if way == "classes" and read:
                self.check_sums(o.scores)
        elif o.mean is not None:
            self.use("score", files.named_column(table, o.mean))
            self.p = files.numbers(table, o.mean)
            known = self.columns or (rule.classes if rule else self._classes_of(o))
            self.columns = dict.fromkeys(map(str, known), o.mean)
        elif way == "wide":
            self.columns = self.matching_columns(o.labels, "--labels")
        else:  # classes are those that occur
            decision = self.used["decision"]
            label = load.find_label(table, o.label, taken=[decision, o.group])
            coded = [files.class_names(table, one)[1] for one in (label, decision)]
            names = load.as_classes(list(dict.fromkeys([*coded[0], *coded[1]])))
            way_out = "pass their columns in order, --scores 'p_*', or write numbers"
            with naming(table.source):
                check_order(self.metric, sorted(names), way_out)
            self.columns = dict.fromkeys(map(str, sorted(names)), "")

    def _classes_of(self, o: Arguments) -> list[Any]:
        """Return the classes in order, of the labels that go with --mean."""
        table, label = self.table, o.label
        if o.reference is not None:
            table, label = load.read_rows(o.reference), o.reference_label or o.label
        label = load.find_label(table, label, taken=[o.mean])
        found = load.as_classes(files.class_names(table, label)[1])
        if any(isinstance(one, str) for one in found):
            raise files.DataError(
                f"{table.source}: column {label!r} has text, and --mean is for classes "
                "that are whole numbers in order"
            )
        return sorted(found)

    def _order_by(self, names: Iterable[Any]) -> None:
        """Take the order of the labels of a rule, which must be the same."""
        wanted, found = [str(name) for name in names], self.columns
        odd = {name: "these rows" for name in wanted if name not in found}
        odd |= {name: "the rule" for name in found if name not in wanted}
        for name, where in odd.items():
            raise files.DataError(
                f"{self.table.source}: label {name!r} is not among those of {where}"
            )
        self.columns = {name: found[name] for name in wanted}

    def _find_one(self, o: Arguments, rule: AnyRule | None, scores: str) -> None:
        """Find the one column of scores, and the calibrator of its rule."""
        named, score = o.only("group", "label", "weight"), o.score
        if scores != "none":
            how: Any = {"logits": self.logits, "prefix": self.prefix}
            score = load.find_score(self.table, score, taken=named.values(), **how)
            self.columns = {"": score}
        self.use("score", score)
        other = self.used.get("decision") or o.decision_column
        named = {"score": score, "known": o.known, "decision_column": other, **named}
        load.refuse_shared(**{f"{self.prefix}{k}": name for k, name in named.items()})
        if rule is not None:
            self.calibrator = rule.calibrator
            kept = getattr(rule, "reference", None)  # a rule of two cuts has none
            if kept is not None and (self.logits or scores != "numbers"):
                self.calibrator, self.reference = kept.calibrator, kept

    def read_labels(self, o: Arguments, rule: AnyRule | None, labels: str) -> None:
        """Find the columns of true labels, if they are there, and read them."""
        if self.way == "wide":
            if o.labels is not None:
                self.y = self.labels_in(o.labels, "--labels", o)
                self.use("labels", o.labels)
            elif labels in ("required", "classes"):
                raise UsageError("several labels need their true labels: pass --labels")
            return
        other = self.used.get("decision") or o.decision_column
        used = [*self.columns.values(), o.score, o.group, o.known, o.weight, other]
        usual = files.default_columns(self.table, files.LABEL_NAMES, taken=used)
        optional = labels == "optional" and o.label is None
        if labels != "none" and (usual or not optional):
            pos_label = o.pos_label
            # One that is about these labels alone is no guess
            shared = o.has("known") or o.has("reference")
            must_fit = pos_label is not None and not shared
            if self.way == "one" and rule is not None and pos_label is None:
                pos_label = str(rule.pos_label) if is_named(rule) else None
            try:
                where: Any = {"taken": used, "prefix": self.prefix}
                label = load.find_label(self.table, o.label, **where)
                self.y = self._label_values(label, pos_label, labels, o)
                self.use("label", label)
            except files.DataError as error:  # the name alone is no reason to fail
                if not optional or (self.way != "classes" and must_fit):
                    raise
                self.notes = [with_flags(f"labels not used: {error}")]
        if self.way == "classes":
            named = {"label": self.used.get("label"), "group": o.group}
            load.refuse_shared(decision_column=other, **named)

    def _label_values(
        self, name: str, pos_label: str | None, labels: str, o: Arguments
    ) -> AnyArray:
        """Return a column of labels: classes, as in the file, or 0 and 1."""
        if self.way == "classes":
            return self.labels_in(name, "--label", o)
        if labels != "classes":
            return files.labels(self.table, name, pos_label=pos_label)
        both = not o.has("confidence")  # a promise may speak of one class
        how: Any = {"pos_label": pos_label, "both": both}
        found, self.positive = files.classes(self.table, name, **how)
        return found

    def find_decision(self, o: Arguments) -> None:
        """Find the column of decisions that are judged."""
        try:
            self.use("decision", load.find_decisions(self.table, o.decision_column))
        except files.DataError as error:
            usual = files.default_columns(self.table, files.DECISION_NAMES)
            if o.decision_column is not None or usual or self.way == "classes":
                raise
            more = "or --threshold NUMBER to score a cut-off of the probabilities"
            raise files.DataError(f"{error}, {more}") from None


def _read_matrix(table: Any, names: list[str], read: Any, pattern: str) -> Floats:
    """Return columns of scores; of '*' an error says that it takes all columns."""
    try:
        return np.stack([read(table, name) for name in names], axis=1)
    except files.DataError as error:
        more = "; --scores '*' takes all columns: pass fewer, such as 'p_*'"
        raise files.DataError(f"{error}{more * (pattern == STAR)}") from None


def is_named(rule: am.Rule) -> bool:
    """Return whether a rule gives other labels than 0 and 1."""
    return (rule.neg_label, rule.pos_label) != (0, 1)


def way_of(o: Arguments) -> Way:
    """Return the layout that options ask for."""
    if o.one_label:
        return "classes"
    return "wide" if o.scores is not None or o.labels is not None else "one"


def metric_of(o: Arguments, way: Way, n_classes: int = 2) -> tuple[Any, Any]:
    """Return the metric and the average that options name, checked."""
    if way == "classes":
        found = _learning.class_metric(o.metric, o.average, o.zero_division, n_classes)
        return found, "groups"
    average = _learning.average_of(o.average, o.group, wide=way == "wide")
    metric = _learning.metric_named(o.metric, o.zero_division, several=True)
    try:
        return with_missed(metric, o.missed), average
    except ValueError as error:
        raise UsageError(f"--missed: {error}") from None


def read_table_rows(
    o: Arguments,
    source: load.Input,
    *,
    rule: AnyRule | None = None,
    labels: Literal["optional", "required", "classes", "none"] = "optional",
    scores: Literal["probabilities", "numbers", "none"] = "probabilities",
    judged: bool = False,
) -> TableRows:
    """Read rows in the layout that the options ask for.

    A rule says what the scores are, its metric, and the order of labels. Labels that
    are "optional" are those that a column plainly offers, "classes" are as they are in
    the file. Scores may be any "numbers"; with "none" those are read that were named.
    Rows that are `judged` must have a column of decisions.
    """
    way = way_of(o)
    if rule is None:
        metric, average = metric_of(o, way)
    else:
        metric, average = rule.metric, getattr(rule, "average", None)
        if way == "one":
            average = _learning.average_of(o.average, o.group)
        scores = _scores_of(rule, o, way)
    if way == "classes" and scores != "none" and o.scores is o.mean is None:
        raise UsageError(
            "--one-label needs a column of probabilities for each class: pass them as "
            "--scores 'p_*'; or a column of predicted means, as --mean COLUMN"
        )
    table = load.read_rows(source, **o.only(*READING.split()))
    rows = TableRows(table, way, metric, average, logits=bool(o.logits), judged=judged)
    if judged and way != "wide" and o.threshold is None:
        rows.find_decision(o)
    looks = way == "one" and labels == "optional"
    with progress(f"checking {table.n_rows:,} rows") if looks else nullcontext():
        rows.read_scores(o, rule, scores)
        rows.read_labels(o, rule, labels)
        rows.groups = load.load_groups(table, o.group)
    rows.use("group", o.group)
    rows.use("weight", o.weight)
    if o.amount is not None:
        rows.metric = _metric_of_amounts(table, o)
        rows.use("amount", o.amount)
    if way == "classes":
        if rule is not None:
            name = rule.metric.name.removeprefix("macro ").replace(" ", "_")
            o = o.but(metric=name)
        rows.metric = metric_of(o, way, max(len(rows.columns), 2))[0]
    return rows


def _metric_of_amounts(table: files.Table, o: Arguments) -> Utility:
    """Return the worth of labels by a column of amounts and by costs of errors."""
    column = files.named_column(table, o.amount)
    costs = (0.0 - (one or 0.0) for one in (o.cost_fp, o.cost_fn))
    return Utility(files.numbers(table, column), *costs)


def _scores_of(
    rule: AnyRule, o: Arguments, way: Way
) -> Literal["probabilities", "numbers"]:
    """Return whether a rule was tuned on probabilities or on any numbers."""
    if way == "classes":
        return "probabilities"
    if way == "wide":
        return "probabilities" if rule.rules[0].probabilities else "numbers"
    sure = rule.probabilities or rule.calibrator is not None
    if o.logits and sure:
        raise UsageError("--logits: the rule was tuned on probabilities")
    return "probabilities" if sure else "numbers"


# ---------------------------------------------------------------------------- maps


def require_both_classes(place: str, y: AnyArray) -> None:
    """Refuse labels of one class: nothing can be learned from them."""
    if y.min() == y.max():
        raise files.DataError(
            f"{place}: every label is {int(y[0])}; rows of both classes are needed"
        )


def read_reference(
    o: Arguments,
    score: str,
    columns: dict[str, str] | None = None,
    rule: AnyRule | None = None,
) -> tuple[files.Table, AnyArray, Floats]:
    """Read labels and scores of --reference, in columns of the rows where it can be.

    A rule of classes orders them.
    """
    given = o.only("encoding", "max_line", "decimal").items()
    neither = f"--reference {o.reference} is neither labelled rows nor a map of "
    neither += "argmetric calibrate"
    try:
        table = load.read_rows(o.reference, **{k: v for k, v in given if v})
    except files.DataError as error:
        if not os.path.isfile(o.reference):
            raise
        raise files.DataError(f"{neither}: {error}") from None
    if not table.names:
        raise files.DataError(f"{neither}: it has no columns")
    way = way_of(o)
    if way == "wide" and o.labels is None:
        raise UsageError("--reference needs its labels: pass --labels 'y_*'")
    named = {"score": o.reference_score, "label": o.reference_label}
    for role, same in (("score", score), ("label", o.label)):
        if named[role] is None and same in table.names:
            named[role] = same
    o = o.but(**named, group=None, weight=None, known=None, decision_column=None)
    rows = TableRows(table, way, None, logits=bool(o.logits), prefix="reference_")
    rows.columns = columns or {}
    rows.read_scores(o, rule, "probabilities")
    rows.read_labels(o, None, "required")
    return table, rows.y.astype(np.int64) if way == "one" else rows.y, rows.p
