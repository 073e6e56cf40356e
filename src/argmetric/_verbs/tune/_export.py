"""Rules for other programs: each in plain numbers, from which all targets are written.

Calibration is monotone, so a cut on calibrated scores is a cut on raw scores,
exact to the last digit. No calibrator is needed where the rule is used.
"""

from __future__ import annotations

import builtins
import json
import math
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, Literal, NamedTuple

import numpy as np

from argmetric._ground.arguments import check_choice, check_texts, shown
from argmetric._ground.display import Result
from argmetric._ground.odds import NEAREST
from argmetric._ground.saving import plain
from argmetric._ground.types import Estimator, Floats
from argmetric._ground.validation import ONE_BITS, ROUNDING, SUM_TOLERANCE

SCHEMA = "argmetric exported rule 2"  # docs/_static/rule.schema.json
POINTS = 1024  # probabilities that a round of the search for a cut looks at
UNIT = (-ROUNDING, 1.0 + ROUNDING)  # what `apply` takes for probabilities
REAL = (-math.inf, math.inf)
STEP = 2.0**-24  # of the values of classes that are compared
SUMS = (1.0 - SUM_TOLERANCE, 1.0 + SUM_TOLERANCE)  # of rows that `apply` takes
LEAST_SUM = 0.5  # no row that `apply` takes is near: others are not divided by 0
LEAST_EXPONENT = -60.0  # e to this power is below STEP, and underflows nowhere

SqlDialect = Literal["duckdb", "postgres", "sqlite", "spark"]


class RawCut(NamedTuple):
    """`score operator cut` is positive; scores outside of low…high have no label."""

    cut: float
    operator: str
    low: float
    high: float


@dataclass(frozen=True)
class ClassLogits:
    """Logits of weighted classes: x·matrix + biases, + lump where x is at the floor.

    x = log max(p / sum p, 2^-53). With a `temperature` other than 1, x becomes
    log softmax(x / temperature). x of `floor` or less count as `floor`.
    """

    temperature: float  # of p, before all else
    floor: float | None  # A logarithm
    lump: float  # added to the logit of a class at the floor
    matrix: Floats  # A row for each x, a column for each logit
    biases: Floats  # one for each class, the logarithm of its weight included


@dataclass(frozen=True)
class PortableRule:
    """One cut for each column, or the largest of weight·p + offset of classes."""

    title: str  # the rule in words
    columns: tuple[str, ...]  # names of the columns of scores
    labels: tuple[Any, ...]  # negative and positive label, or the classes
    cuts: tuple[RawCut, ...] = ()  # one for each column; empty for classes
    # weights, offsets: one for each class; empty for cuts
    weights: tuple[float, ...] = ()
    offsets: tuple[float, ...] = ()
    # from p to weighted logits of the classes, where the rule has a calibrator
    logits: ClassLogits | None = None
    single: bool = False  # whether scores are one vector and not a matrix
    promise: str = ""  # what is guaranteed for new rows

    def labels_of(self, target: str, *kinds: type) -> type:
        """Return the kind of the labels; refuse what the target cannot write."""
        found = {type(one) for one in self.labels}
        if found == {int, float}:
            found = {float}
        if len(found) > 1 or not found <= set(kinds):
            known = ", ".join(one.__name__ for one in kinds)
            raise TypeError(
                f"{target} cannot hold the labels {', '.join(map(shown, self.labels))}:"
                f" all must be of one kind ({known})"
            )
        return found.pop()


class ExportMixin(Result):
    """What all rules have: their form for databases, model files and programs."""

    def _portable(self) -> PortableRule:
        raise NotImplementedError

    def to_sql(self, dialect: SqlDialect = "duckdb", column: object = None) -> str:
        """Return an SQL expression with the label of a row, as `apply` gives it.

        Scores that `apply` refuses get NULL: NULL itself, NaN, numbers outside of 0 to
        1 where the rule has a calibrator or several classes, and rows of classes that
        do not sum to 1 where it has both.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "sqlite", "spark"}, default="duckdb"
            The database.
        column : str or sequence of str, optional
            Name of the column of scores, by default "p". With several labels or
            classes one name for each; by default their own names.

        Returns
        -------
        str
            A CASE expression. With several labels, one for each, separated by commas
            and named by the labels.

        Examples
        --------
        >>> import argmetric as am
        >>> print("SELECT", am.Rule("f1", 0.3).to_sql(column="score"), "FROM t")
        SELECT CASE WHEN CAST("score" AS DOUBLE) IS NULL
            OR isnan(CAST("score" AS DOUBLE)) THEN NULL
          WHEN CAST("score" AS DOUBLE) >= CAST('0.3' AS DOUBLE) THEN 1 ELSE 0 END FROM t
        """
        from argmetric._verbs.tune._export_other import DIALECTS, sql_text

        check_choice(dialect, "dialect", tuple(DIALECTS))
        rule = self._portable()
        return sql_text(rule, DIALECTS[dialect], _columns(rule, column))

    def to_onnx(self, model: Estimator | None = None, output: str | None = None) -> Any:
        """Return an ONNX model with the label of each row, as `apply` gives it.

        It has two more outputs: "argmetric_label", and "argmetric_valid", which is
        False for scores that `apply` refuses; their label means nothing.

        Parameters
        ----------
        model : onnx.ModelProto, optional
            The model that makes the scores: the rule is appended to a copy. By default
            a model of its own, whose input "p" holds doubles.
        output : str, optional
            The output of `model` with the scores; by default its only output of
            floats. Of two columns the second is that of the positive class.

        Returns
        -------
        onnx.ModelProto
        """
        from argmetric._verbs.tune._export_other import onnx_model

        return onnx_model(self._portable(), model, output)

    def to_python(self, name: str = "label") -> str:
        """Return the source of a Python function that labels one row.

        It needs no package. It returns None for a score that `apply` refuses.

        Parameters
        ----------
        name : str, default="label"
            Name of the function.

        Examples
        --------
        >>> import argmetric as am
        >>> print(am.Rule("f1", 0.3).to_python())
        def label(p):
            '''Rule(p >= 0.3, metric=f1)'''
            if p is None or not float("-inf") <= (p := float(p)) <= float("inf"):
                return None
            return 1 if p >= 0.3 else 0
        """
        usable = isinstance(name, str) and name.isidentifier() and not iskeyword(name)
        if not usable or hasattr(builtins, name):
            raise ValueError(
                f"name must be a name of Python that is not taken, not {shown(name)}"
            )

        rule = self._portable()
        rule.labels_of("a function", int, float, str, bool)
        told = f"{rule.title}: {rule.promise}" if rule.promise else rule.title
        title = told.replace("\\", "/").replace("'", "`")
        if rule.single:
            return _python_cut(rule, rule.cuts[0], name, title).rstrip()
        head = _COLUMNS.format(name=name, title=title, count=len(rule.columns))
        if rule.weights:
            if rule.logits is None:
                body = _WEIGHTED.format(weights=rule.weights, offsets=rule.offsets)
            else:
                body = _of_logits(rule, rule.logits)
            low, high = UNIT
            return head + _CLASSES.format(
                body=body, labels=rule.labels, low=low, high=high
            )
        parts = [
            _python_cut(rule, cut, f"_{name}_{i}", f"Column {i}")
            for i, cut in enumerate(rule.cuts)
        ]
        calls = ", ".join(f"_{name}_{i}(p[{i}])" for i in range(len(parts)))
        return "\n\n".join([*parts, f"{head}    return [{calls}]\n"])

    def to_json(self) -> str:
        """Return the rule as JSON for other programs: cuts on raw scores.

        The key "rule" holds what `save` writes. `docs/_static/rule.schema.json` of the
        source describes the rest.
        """
        rule = self._portable()
        rule.labels_of("JSON", int, float, str, bool)
        values = {
            "schema": SCHEMA,
            "columns": rule.columns,
            "labels": rule.labels,
            "cuts": [cut._asdict() for cut in rule.cuts],
            "weights": rule.weights,
            "offsets": rule.offsets,
            "map": None if rule.logits is None else vars(rule.logits),
            "rule": self.to_dict(),
        }
        return json.dumps(plain(values), allow_nan=False, ensure_ascii=False)


def raw_cut(calibrator: Any, threshold: float) -> float:
    """Return the smallest probability whose calibrated value is ≥ threshold.

    -inf where all do, inf where none does. Floats from 0 to 1 ascend with their bits,
    and the calibrator is monotone but for rounding errors, which the cut leaves out.
    """
    ends = calibrator.apply([0.0, 1.0]) >= threshold
    if ends[0]:
        return -math.inf
    if not ends[1]:
        return math.inf
    low, high = 0, int(ONE_BITS)  # below the threshold, and not
    while high - low > 1:
        step = max((high - low) // POINTS, 1)
        bits = np.append(np.arange(low, high, step), high)
        reached = calibrator.apply(bits.view(np.float64)) >= threshold
        first = int(np.argmax(reached[1:])) + 1
        low, high = int(bits[first - 1]), int(bits[first])
    return float(np.int64(high).view(np.float64))


def portable_cut(threshold: float | None, operator: str, *, unit: bool) -> RawCut:
    """Return the cut of a column; refuse one off the scale of the scores."""
    if threshold is None:
        raise TypeError(
            "the calibrator of this rule is a function, which cannot be exported: use "
            "one that calibrate() makes"
        )
    low, high = UNIT if unit else REAL
    if operator == ">=" and threshold == math.inf:  # not even an infinite score
        threshold, operator = -math.inf, "<"
    return RawCut(threshold, operator, low, high)


def _columns(rule: PortableRule, column: object) -> tuple[str, ...]:
    """Return the names of the columns of scores."""
    if column is None:
        return rule.columns
    wanted = "a name" if rule.single else f"{len(rule.columns)} names"
    given = [column] if isinstance(column, str) else column
    names = check_texts(given, "column", wanted)
    if len(names) != len(rule.columns):
        raise ValueError(f"column must be {wanted}, not {shown(column)}")
    return tuple(names)


_CUT = """\
def {name}(p):
    '''{title}'''
    if p is None or not {low} <= (p := float(p)) <= {high}:
        return None
    return {positive} if p {operator} {cut} else {negative}
"""
_COLUMNS = """\
def {name}(p):
    '''{title}'''
    if len(p) != {count}:
        raise ValueError("{count} scores are needed, one for each column")
"""
_CLASSES = """\
    if any(x is None or not {low} <= float(x) <= {high} for x in p):
        return None
    p = [min(max(float(x), 0.0), 1.0) for x in p]
{body}
    return {labels}[value.index(max(value))]
"""
_WEIGHTED = """\
    value = [x * w + b for x, w, b in zip(p, {weights}, {offsets})]"""
_SUM = """\
    from math import exp, floor, log
    total = sum(p)
    if not {low} <= total <= {high}:
        return None
    x = [log(max(one / total, {nearest})) for one in p]
"""
_TEMPERATURE = """\
    x = [one / {temperature} for one in x]
    top = max(x)
    total = top + log(sum(exp(one - top) for one in x))
    x = [one - total for one in x]
"""
_LOGITS = """\
    x = [max(one, {floor}) for one in x]
    value = [
        sum(a * b for a, b in zip(x, column)) + bias + {lump} * (one <= {floor})
        for one, column, bias in zip(x, {columns}, {biases})
    ]
"""
_OFFSETS = """\
    top = max(value)
    part = [exp(max(y - top, {least})) for y in value]
    total = sum(a / w for a, w in zip(part, {weights}))
    value = [a + b * total for a, b in zip(part, {offsets})]
"""
_STEPS = """\
    value = [floor(y / {step} + 0.5) for y in value]"""


def _of_logits(rule: PortableRule, logits: ClassLogits) -> str:
    low, high = SUMS
    body = _SUM.format(low=low, high=high, nearest=NEAREST)
    if logits.temperature != 1.0:
        body += _TEMPERATURE.format(temperature=logits.temperature)
    body += _LOGITS.format(
        floor=_float_text(-math.inf if logits.floor is None else logits.floor),
        lump=logits.lump,
        columns=tuple(map(tuple, logits.matrix.T.tolist())),
        biases=tuple(logits.biases.tolist()),
    )
    if any(rule.offsets):
        body += _OFFSETS.format(
            least=LEAST_EXPONENT, weights=rule.weights, offsets=rule.offsets
        )
    return body + _STEPS.format(step=STEP)


def _python_cut(rule: PortableRule, cut: RawCut, name: str, title: str) -> str:
    negative, positive = map(repr, rule.labels)
    return _CUT.format(
        name=name,
        title=title,
        low=_float_text(cut.low),
        high=_float_text(cut.high),
        operator=cut.operator,
        cut=_float_text(cut.cut),
        negative=negative,
        positive=positive,
    )


def _float_text(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'float("{value}")'
