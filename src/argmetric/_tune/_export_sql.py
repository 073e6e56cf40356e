"""Rules as SQL: numbers to the last digit, names quoted, NULL where `apply` refuses."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from argmetric._tune._export import UNIT, PortableRule, RawCut


class Dialect(NamedTuple):
    """How a database writes numbers and names, and which functions it knows."""

    name: str
    double: str
    quote: str
    missing: str  # of a score {x}
    greatest: str = "greatest"
    least: str = "least"
    most_arguments: int = 100_000  # of `greatest`

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
        Dialect("duckdb", "DOUBLE", '"', _NAN),
        Dialect(
            "postgres",
            "DOUBLE PRECISION",
            '"',
            "{x} IS NULL\n    OR {x} = CAST('NaN' AS DOUBLE PRECISION)",
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
        ),
        Dialect("spark", "DOUBLE", "`", _NAN),
    )
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
        return cases[0]
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
    values = [
        f"{dialect.least}({dialect.greatest}({x}, {zero}), {one})"
        f" * {dialect.number(weight)} + {dialect.number(offset)}"
        for x, weight, offset in zip(scores, rule.weights, rule.offsets, strict=True)
    ]
    top = values[0]
    if len(values) > 1:
        top = f"{dialect.greatest}({', '.join(values)})"
    cases = "\n".join(
        f"  WHEN {value} THEN {dialect.label(label)}"
        for value, label in zip(values, rule.labels, strict=True)
    )
    return f"CASE WHEN {refused} THEN NULL\n  ELSE CASE {top}\n{cases} END END"
