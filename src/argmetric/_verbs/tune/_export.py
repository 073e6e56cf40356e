"""Export rules to databases, model files, Python and JSON."""

from __future__ import annotations

import builtins
import json
import math
from keyword import iskeyword
from typing import Any, Literal

from argmetric._ground.arguments import check_choice, check_texts, shown
from argmetric._ground.display import Result
from argmetric._ground.odds import NEAREST
from argmetric._ground.saving import plain
from argmetric._ground.types import Estimator
from argmetric._verbs.tune._export_other import DIALECTS, onnx_model, sql_text
from argmetric._verbs.tune._portable import (
    LEAST_EXPONENT,
    STEP,
    SUMS,
    UNIT,
    ClassLogits,
    PortableRule,
    RawCut,
)

SCHEMA = "argmetric exported rule 2"  # docs/_static/rule.schema.json
SqlDialect = Literal["duckdb", "postgres", "sqlite", "spark"]


class ExportMixin(Result):
    """Exports that all rules have: for databases, model files and programs."""

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
            With the outputs "argmetric_label" and "argmetric_valid".
        """
        return onnx_model(self._portable(), model, output)

    def to_python(self, name: str = "label") -> str:
        """Return the source of a Python function that labels one row.

        It needs no package. It returns None for a score that `apply` refuses.

        Parameters
        ----------
        name : str, default="label"
            Name of the function.

        Returns
        -------
        str
            The source of the function.

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
        check_function_name(name)
        rule = self._portable()
        rule.labels_of("a function", int, float, str, bool)
        told = f"{rule.title}: {rule.promise}" if rule.promise else rule.title
        title = told.replace("\\", "/").replace("'", "`")
        if rule.single:
            return _python_cut(rule, rule.cuts, name, title).rstrip()
        head = _COLUMNS.format(name=name, title=title, count=len(rule.columns))
        if rule.weights:
            if rule.logits is None:
                body = _WEIGHTED.format(weights=rule.weights, offsets=rule.offsets)
            else:
                body = _of_logits(rule, rule.logits)
            low, high = UNIT
            choice = f"{rule.labels}[value.index(max(value))]"
            if rule.least:
                least = ", ".join(map(_float_text, rule.least))
                choice = _ASKING.format(
                    labels=rule.labels[:-1], least=least, ask=repr(rule.labels[-1])
                )
            return head + _CLASSES.format(body=body, choice=choice, low=low, high=high)
        parts = [
            _python_cut(rule, (cut,), f"_{name}_{i}", f"Column {i}")
            for i, cut in enumerate(rule.cuts)
        ]
        calls = ", ".join(f"_{name}_{i}(p[{i}])" for i in range(len(parts)))
        return "\n\n".join([*parts, f"{head}    return [{calls}]\n"])

    def to_json(self) -> str:
        """Return the rule as JSON for other programs: cuts on raw scores.

        The key "rule" holds what `save` writes. `docs/_static/rule.schema.json` of the
        source describes the rest.

        Returns
        -------
        str
            A JSON object.
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
            "least": rule.least,
            "gains": rule.gains,
            "map": None if rule.logits is None else vars(rule.logits),
            "rule": self.to_dict(),
        }
        return json.dumps(plain(values), allow_nan=False, ensure_ascii=False)


def check_function_name(name: str) -> None:
    """Refuse what cannot be the name of a function of one's own."""
    usable = isinstance(name, str) and name.isidentifier() and not iskeyword(name)
    if not usable or hasattr(builtins, name):
        raise ValueError(
            f"name must be a name of Python that is not taken, not {shown(name)}"
        )


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
    return {cases}
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
    return {choice}
"""
_ASKING = """\
next(
        label if x >= least else {ask}
        for x, label, least in zip(value, {labels}, ({least},))
        if x == max(value)
    )"""
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
{gains}    value = [a + b * total for a, b in zip(part, {offsets})]
"""
_GAINS = """\
    part = [sum(a * b for a, b in zip(part, column)) for column in {columns}]
"""
_STEPS = """\
    value = [floor(y / {step} + 0.5) for y in value]"""


def _of_logits(rule: PortableRule, logits: ClassLogits) -> str:
    """Return Python code that decides on the logits of classes."""
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
    if rule.gains or any(rule.offsets):
        gains = ""
        if rule.gains:
            gains = _GAINS.format(columns=tuple(zip(*rule.gains, strict=True)))
        plain = {"weights": rule.weights, "offsets": rule.offsets, "gains": gains}
        body += _OFFSETS.format(least=LEAST_EXPONENT, **plain)
    return body + _STEPS.format(step=STEP)


def _python_cut(
    rule: PortableRule, cuts: tuple[RawCut, ...], name: str, title: str
) -> str:
    """Return the source of a function that labels one score by cuts, lowest first."""
    cases, *above = map(repr, rule.labels)
    for cut, label in zip(cuts, above, strict=True):
        cases = f"{label} if p {cut.operator} {_float_text(cut.cut)} else {cases}"
    ends = {key: _float_text(getattr(cuts[0], key)) for key in ("low", "high")}
    return _CUT.format(name=name, title=title, cases=cases, **ends)


def _float_text(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'float("{value}")'
