"""Rules as SQL: numbers to the last digit, names quoted, NULL where `apply` refuses."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from argmetric._ground.odds import NEAREST
from argmetric._ground.validation import ONE_BITS
from argmetric._verbs.tune._export import (
    LEAST_EXPONENT,
    LEAST_SUM,
    STEP,
    SUMS,
    UNIT,
    ClassLogits,
    PortableRule,
    RawCut,
)


class Dialect(NamedTuple):
    """How a database writes numbers and names, and which functions it knows."""

    name: str
    double: str
    quote: str
    missing: str  # of a score {x}
    greatest: str = "greatest"
    least: str = "least"
    most_arguments: int = 100_000  # of `greatest`
    kept: str = ""  # before a query whose result must be computed once
    row: str = ""  # before a column of an earlier step, where steps are lists

    def number(self, value: float) -> str:
        """An expression that is this float exactly.

        SQLite does not round every decimal to the nearest float: there it is a whole
        number over powers of two. The others read text as C does.
        """
        if self.name != "sqlite":
            return f"CAST('{value!r}' AS {self.double})".replace("inf", "Infinity")
        if math.isinf(value):
            return "9e999" if value > 0 else "-9e999"
        part, exponent = math.frexp(value)
        text, exponent = f"CAST({int(part * 2**53)} AS REAL)", exponent - 53
        while exponent:
            step = min(abs(exponent), 60)
            text += f" {'*' if exponent > 0 else '/'} {1 << step}"
            exponent += -step if exponent > 0 else step
        return f"({text} /* {value!r} */)"

    def column(self, name: str) -> str:
        """A quoted name. In quotes of its own SQLite takes an unknown one for text."""
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote

    def score(self, name: str) -> str:
        """The score in a column as a double."""
        column = self.column(name)
        return column if self.name == "sqlite" else f"CAST({column} AS {self.double})"

    def label(self, value: Any) -> str:
        """A label as a literal."""
        if isinstance(value, bool):
            return str(value).upper()
        if isinstance(value, str):
            if self.name == "spark":
                return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
            return "'" + value.replace("'", "''") + "'"
        return str(value) if isinstance(value, int) else self.number(value)

    def product(self, x: str, weight: float) -> str:
        """A probability times a weight. Postgres refuses one that rounds to 0."""
        text = f"{x} * {self.number(weight)}"
        if self.name != "postgres" or weight >= 1.0:
            return text
        low, high = 0, int(ONE_BITS)  # floats ascend with their bits
        while high - low > 1:
            middle = (low + high) // 2
            is_zero = float(np.int64(middle).view(np.float64)) * weight == 0.0
            low, high = (middle, high) if is_zero else (low, middle)
        least = self.number(float(np.int64(high).view(np.float64)))
        return f"CASE WHEN {x} < {least} THEN {self.number(0.0)} ELSE {text} END"

    def refused(self, x: str, low: float, high: float) -> str:
        """Whether `apply` refuses a score."""
        text = self.missing.format(x=x)
        if math.isinf(low):
            return text
        return f"{text} OR {x} < {self.number(low)} OR {x} > {self.number(high)}"


_NAN = "{x} IS NULL\n    OR isnan({x})"
DIALECTS = {
    one.name: one
    for one in (
        Dialect("duckdb", "DOUBLE", '"', _NAN, row="r."),
        Dialect(
            "postgres",
            "DOUBLE PRECISION",
            '"',
            "{x} IS NULL\n    OR {x} = CAST('NaN' AS DOUBLE PRECISION)",
            kept="MATERIALIZED ",
        ),
        # NaN is NULL in SQLite, and a column may hold text, which exceeds all numbers
        Dialect(
            "sqlite",
            "REAL",
            "`",
            "typeof({x}) NOT IN ('integer', 'real')",
            "max",
            "min",
            100,
            "MATERIALIZED ",
        ),
        Dialect("spark", "DOUBLE", "`", _NAN, row="r."),
    )
}


_LISTS = {  # a list of one row, the next one, a row, its columns, the first row
    "spark": (
        "array({})",
        "transform({},\n  r -> {})",
        "named_struct({})",
        "'{}', {}",
        "[0]",
    ),
    "duckdb": ("[{}]", "[{1}\n  FOR r IN {0}]", "struct_pack({})", "{} := {}", "[1]"),
}


def sql_text(rule: PortableRule, dialect: Dialect, columns: tuple[str, ...]) -> str:
    """The expression of a rule, or those of its labels with their names."""
    rule.labels_of(f"a column of {dialect.name}", int, float, str, bool)
    if rule.weights:
        return _of_classes(rule, dialect, columns)
    cases = [
        _of_cut(rule, cut, dialect, name)
        for cut, name in zip(rule.cuts, columns, strict=True)
    ]
    if rule.single:
        return cases[0] + (f"\n  /* {rule.promise} */" if rule.promise else "")
    named = zip(cases, rule.columns, strict=True)
    return ",\n".join(f"{case} AS {dialect.column(name)}" for case, name in named)


def _of_cut(rule: PortableRule, cut: RawCut, dialect: Dialect, name: str) -> str:
    x = dialect.score(name)
    negative, positive = map(dialect.label, rule.labels)
    return (
        f"CASE WHEN {dialect.refused(x, cut.low, cut.high)} THEN NULL\n"
        f"  WHEN {x} {cut.operator} {dialect.number(cut.cut)} "
        f"THEN {positive} ELSE {negative} END"
    )


def _of_classes(rule: PortableRule, dialect: Dialect, columns: tuple[str, ...]) -> str:
    """The first class whose weight·p + offset is the greatest."""
    if len(columns) > dialect.most_arguments:
        raise ValueError(
            f"{dialect.name} has no function for the greatest of {len(columns)} "
            f"numbers, only of {dialect.most_arguments}: use another target"
        )
    scores = [dialect.score(name) for name in columns]
    refused = "\n    OR ".join(dialect.refused(x, *UNIT) for x in scores)
    zero, one = dialect.number(0.0), dialect.number(1.0)
    clipped = [
        f"{dialect.least}({dialect.greatest}({x}, {zero}), {one})" for x in scores
    ]
    if rule.logits is not None:
        best = _of_logits(rule, rule.logits, dialect, clipped)
    else:
        parts = zip(clipped, rule.weights, rule.offsets, strict=True)
        values = [f"{dialect.product(x, w)} + {dialect.number(b)}" for x, w, b in parts]
        best = _first_greatest(rule, dialect, values)
    return f"CASE WHEN {refused} THEN NULL\n  ELSE {best} END"


def _first_greatest(rule: PortableRule, dialect: Dialect, values: list[str]) -> str:
    top = values[0]
    if len(values) > 1:
        top = f"{dialect.greatest}({', '.join(values)})"
    cases = "\n".join(
        f"  WHEN {value} THEN {dialect.label(label)}"
        for value, label in zip(values, rule.labels, strict=True)
    )
    return f"CASE {top}\n{cases} END"


def _of_logits(
    rule: PortableRule, logits: ClassLogits, dialect: Dialect, p: list[str]
) -> str:
    """What `class_values` chooses, step by step; NULL for a wrong sum."""
    number, most = dialect.number, dialect.greatest
    names = [f"argmetric_{i}" for i in range(len(p))]
    x = [dialect.row + name for name in names]
    sum_, total = (f"{dialect.row}argmetric_{name}" for name in ("sum", "total"))
    steps: list[dict[str, str]] = []

    def step(columns: list[str], **more: str) -> None:
        one = dict(zip(names, columns, strict=True))
        steps.append(one | {f"argmetric_{name}": text for name, text in more.items()})

    step(p)
    step(x, sum=" + ".join(x))
    divisor, nearest = f"{most}({sum_}, {number(LEAST_SUM)})", number(NEAREST)
    step([f"ln({most}({one} / {divisor}, {nearest}))" for one in x], sum=sum_)
    top, least = f"{most}({', '.join(x)})", number(LEAST_EXPONENT)
    if logits.temperature != 1.0:
        step([f"{one} / {number(logits.temperature)}" for one in x], sum=sum_)
        step([f"{one} - {top}" for one in x], sum=sum_)
        parts = [f"exp({most}({one}, {least}))" for one in x]
        step(x, sum=sum_, total=f"ln({' + '.join(parts)})")
        step([f"{one} - {total}" for one in x], sum=sum_)
    lumps = [""] * len(x)
    if logits.floor is not None:
        floor, lump = number(logits.floor), number(logits.lump)
        step([f"{most}({one}, {floor})" for one in x], sum=sum_)
        if logits.lump:
            case = f"<= {floor} THEN {lump} ELSE {number(0.0)} END"
            lumps = [f" + CASE WHEN {one} {case}" for one in x]
    y = []
    columns = zip(logits.matrix.T.tolist(), logits.biases.tolist(), lumps, strict=True)
    for column, bias, lump in columns:
        terms = [f"{a} * {number(w)}" for a, w in zip(x, column, strict=True) if w]
        y.append(" + ".join([*terms, number(bias)]) + lump)
    step(y, sum=sum_)
    if any(rule.offsets):
        step([f"{one} - {top}" for one in x], sum=sum_)
        step([f"exp({most}({one}, {least}))" for one in x], sum=sum_)
        parts = [f"{a} / {number(w)}" for a, w in zip(x, rule.weights, strict=True)]
        step(x, sum=sum_, total=" + ".join(parts))
        pairs = zip(x, rule.offsets, strict=True)
        step([f"{a} + {number(b)} * {total}" for a, b in pairs], sum=sum_)
    unit, half = number(STEP), number(0.5)
    step([f"floor({one} / {unit} + {half})" for one in x], sum=sum_)
    low, high = map(number, SUMS)
    best = _first_greatest(rule, dialect, x)
    best = f"CASE WHEN {sum_} >= {low} AND {sum_} <= {high} THEN {best} END"
    write = _in_lists if dialect.row else _in_queries
    return write(steps, best, dialect)


def _in_queries(steps: list[dict[str, str]], result: str, dialect: Dialect) -> str:
    """Steps as named queries: the text grows with their number, not with a power."""
    queries, source = [], ""
    for i, one in enumerate(steps):
        columns = ", ".join(f"{text} AS {name}" for name, text in one.items())
        queries.append(
            f"argmetric_step_{i} AS {dialect.kept}(SELECT {columns}{source})"
        )
        source = f" FROM argmetric_step_{i}"
    comma = ",\n  "
    return f"(WITH {comma.join(queries)}\n  SELECT {result}{source})"


def _in_lists(steps: list[dict[str, str]], result: str, dialect: Dialect) -> str:
    """Steps over a list of one row.

    Spark would copy the columns of a query into the next, and DuckDB would join its
    result to the table, which loses the order of the rows.
    """
    first, rest, row, pair, last = _LISTS[dialect.name]
    text = ""
    for one in steps:
        made = row.format(", ".join(pair.format(*item) for item in one.items()))
        text = rest.format(text, made) if text else first.format(made)
    return rest.format(text, result) + last
