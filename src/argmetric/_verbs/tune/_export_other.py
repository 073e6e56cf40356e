"""Rules for databases and as ONNX.

SQL has numbers to the last digit, names quoted, and NULL where `apply` refuses. ONNX is
a graph of its own, or the last nodes of a model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from argmetric._ground.arguments import install, shown
from argmetric._ground.odds import NEAREST
from argmetric._ground.validation import ONE_BITS
from argmetric._verbs.tune._portable import (
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
        """Return an expression that is this float exactly.

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
        """Return a quoted name; SQLite would take an unknown one for text."""
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote

    def score(self, name: str) -> str:
        """Return the score in a column as a double."""
        column = self.column(name)
        return column if self.name == "sqlite" else f"CAST({column} AS {self.double})"

    def label(self, value: object) -> str:
        """Return a label as a literal."""
        if isinstance(value, bool):
            return str(value).upper()
        if isinstance(value, str):
            if self.name == "spark":
                return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
            return "'" + value.replace("'", "''") + "'"
        return self.number(value) if isinstance(value, float) else str(value)

    def product(self, x: str, weight: float) -> str:
        """Return p times a weight; Postgres refuses one that rounds to 0."""
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

    def refusal_condition(self, x: str, low: float, high: float) -> str:
        """Return the condition under which `apply` refuses a score."""
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
    """Return the expression of a rule, or those of its labels by name."""
    rule.labels_of(f"a column of {dialect.name}", int, float, str, bool)
    promise = f"\n  /* {rule.promise} */" if rule.promise else ""
    if rule.weights:
        return _of_classes(rule, dialect, columns) + promise
    cuts = [rule.cuts] if rule.single else [(cut,) for cut in rule.cuts]
    cases = [
        _of_cuts(rule, some, dialect, name)
        for some, name in zip(cuts, columns, strict=True)
    ]
    if not rule.single:
        named = zip(cases, rule.columns, strict=True)
        cases = [f"{case} AS {dialect.column(name)}" for case, name in named]
    return ",\n".join(cases) + promise


def _of_cuts(
    rule: PortableRule, cuts: tuple[RawCut, ...], dialect: Dialect, name: str
) -> str:
    """Return SQL for the label above the highest cut that a score reaches."""
    x = dialect.score(name)
    lowest, *above = map(dialect.label, rule.labels)
    cases = "\n".join(
        f"  WHEN {x} {cut.operator} {dialect.number(cut.cut)} THEN {label}"
        for cut, label in reversed([*zip(cuts, above, strict=True)])
    )
    refused = dialect.refusal_condition(x, cuts[0].low, cuts[0].high)
    return f"CASE WHEN {refused} THEN NULL\n{cases} ELSE {lowest} END"


def _of_classes(rule: PortableRule, dialect: Dialect, columns: tuple[str, ...]) -> str:
    """Return SQL for the first class with the largest weight·p + offset."""
    if len(columns) > dialect.most_arguments:
        raise ValueError(
            f"{dialect.name} has no function for the greatest of {len(columns)} "
            f"numbers, only of {dialect.most_arguments}: use another target"
        )
    scores = [dialect.score(name) for name in columns]
    refused = "\n    OR ".join(dialect.refusal_condition(x, *UNIT) for x in scores)
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
    """Return the SQL expression for the label of the first of the greatest values."""
    top = values[0]
    if len(values) > 1:
        top = f"{dialect.greatest}({', '.join(values)})"
    names = [dialect.label(label) for label in rule.labels]
    if rule.least:
        *names, ask = names
        names = [
            f"CASE WHEN {value} >= {dialect.number(least)} THEN {name} ELSE {ask} END"
            for value, least, name in zip(values, rule.least, names, strict=True)
        ]
    cases = "\n".join(
        f"  WHEN {value} THEN {name}" for value, name in zip(values, names, strict=True)
    )
    return f"CASE {top}\n{cases} END"


def _of_logits(
    rule: PortableRule, logits: ClassLogits, dialect: Dialect, p: list[str]
) -> str:
    """Return SQL for `class_values`, step by step; NULL for a wrong sum."""
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

    def dot(column: Iterable[float]) -> str:
        """Return the sum of x times a column of numbers."""
        pairs = [(a, w) for a, w in zip(x, column, strict=True) if w]
        return " + ".join(f"{a} * {number(w)}" for a, w in pairs) or number(0.0)

    y = []
    columns = zip(logits.matrix.T.tolist(), logits.biases.tolist(), lumps, strict=True)
    for column, bias, lump in columns:
        y.append(f"{dot(column)} + {number(bias)}{lump}")
    step(y, sum=sum_)
    if rule.gains or any(rule.offsets):
        step([f"{one} - {top}" for one in x], sum=sum_)
        step([f"exp({most}({one}, {least}))" for one in x], sum=sum_)
        parts = [f"{a} / {number(w)}" for a, w in zip(x, rule.weights, strict=True)]
        gained = [dot(column) for column in zip(*rule.gains, strict=True)] or x
        step(gained, sum=sum_, total=" + ".join(parts))
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
    """Return steps as named queries: the text grows linearly with their number."""
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
    """Return steps over a list of one row.

    Spark would copy the columns of a query into the next, and DuckDB would join its
    result to the table, which loses the order of the rows.
    """
    first, rest, row, pair, last = _LISTS[dialect.name]
    text = ""
    for one in steps:
        made = row.format(", ".join(pair.format(*item) for item in one.items()))
        text = rest.format(text, made) if text else first.format(made)
    return rest.format(text, result) + last


OPSET = 18  # of a graph of its own
OLDEST_OPSET = 13  # that has all operators as they are used here
IR_VERSION = 9
PREFIX = "argmetric_"


def onnx_model(rule: PortableRule, model: object, output: str | None) -> Any:
    """Return an ONNX model that adds labels to `model`, or maps scores to labels."""
    try:
        import onnx
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"to_onnx needs onnx: {install('onnx')}", name="onnx"
        ) from error
    kind = rule.labels_of("ONNX", int, str, bool)
    helper, types = onnx.helper, onnx.TensorProto
    code = {int: types.INT64, str: types.STRING, bool: types.BOOL}[kind]
    nodes = _Nodes(onnx)
    if model is None:
        shape = ["n"] if rule.single else ["n", len(rule.columns)]
        given = helper.make_tensor_value_info("p", types.DOUBLE, shape)
        graph = helper.make_graph([], "rule", [given], [])
        opset = helper.make_opsetid("", OPSET)
        made = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
        scores = "p"
    else:
        if not isinstance(model, onnx.ModelProto):
            raise TypeError(
                "model must be a ModelProto, such as onnx.load(path) gives, not "
                f"{shown(model)}"
            )
        made = onnx.ModelProto()
        made.CopyFrom(model)
        version = next(
            x.version for x in made.opset_import if x.domain in ("", "ai.onnx")
        )
        if version < OLDEST_OPSET:
            raise ValueError(
                f"the model has opset {version}, and the rule needs {OLDEST_OPSET} or "
                "later: convert it with onnx.version_converter"
            )
        scores = nodes.scores_of(made.graph, rule, output)
    made.doc_string = "\n".join(filter(None, (made.doc_string, rule.promise)))
    label, valid = nodes.write(rule, scores)
    made.graph.node.extend(nodes.made)
    shape = ["n"] if rule.single or rule.weights else ["n", len(rule.columns)]
    for name, of_type in ((label, code), (valid, types.BOOL)):
        found = helper.make_tensor_value_info(name, of_type, shape)
        made.graph.output.append(found)
    onnx.checker.check_model(made)
    return made


class _Nodes:
    """Nodes of an ONNX graph, named in the order in which they are added."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.made: list[Any] = []

    def add(self, operator: str, *inputs: str, name: str = "", **settings: Any) -> str:
        """Add a node; return the name of its output."""
        name = PREFIX + (name or f"{operator.lower()}_{len(self.made)}")
        node = self.onnx.helper.make_node(operator, inputs, [name], **settings)
        self.made.append(node)
        return name

    def constant(self, values: object) -> str:
        array = np.array(values)
        if array.dtype.kind == "U":
            array = array.astype(object)
        return self.add("Constant", value=self.onnx.numpy_helper.from_array(array))

    def write(self, rule: PortableRule, scores: str) -> tuple[str, str]:
        """Add the nodes of the label, and of whether the scores are valid."""
        types = self.onnx.TensorProto
        labels = self.constant(rule.labels)
        p = self.add("Cast", scores, to=types.DOUBLE)
        if rule.weights:
            valid = self.between(p, *UNIT)
            p = self.add("Clip", p, self.constant(0.0), self.constant(1.0))
            if rule.logits is None:
                value = self.add("Mul", p, self.constant(rule.weights))
                value = self.add("Add", value, self.constant(rule.offsets))
            else:
                total = self.sum(p)
                valid = self.add("And", valid, self.between(total, *SUMS))
                total = self.add("Max", total, self.constant(LEAST_SUM))
                p = self.add("Div", p, total)
                value = self.values(rule, rule.logits, p)
            place = self.add("ArgMax", value, axis=1, keepdims=int(bool(rule.least)))
            if rule.least:
                top = self.add("GatherElements", value, place, axis=1)
                least = self.add("Gather", self.constant(rule.least), place)
                ask = self.constant(len(rule.columns))
                place = self.add("Where", self.add("Less", top, least), ask, place)
                place = self.sum(place, keepdims=0)
            counts = self.sum(self.add("Cast", valid, to=types.INT64), keepdims=0)
            count = self.constant(len(rule.columns))
            valid = self.add("Equal", counts, count, name="valid")
        else:
            cuts = rule.cuts if rule.single else [(*zip(*rule.cuts, strict=True),)]
            places = []
            for cut, operator, *_ in cuts:
                reached = self.add("GreaterOrEqual", p, self.constant(cut))
                below = self.constant(np.asarray(operator) == "<")
                is_above = self.add("Xor", reached, below)
                places.append(self.add("Cast", is_above, to=types.INT64))
            place = places[0]
            for other in places[1:]:
                place = self.add("Add", place, other)
            low, high = cuts[0][2:]
            valid = self.between(p, low, high, name="valid")
        return self.add("Gather", labels, place, name="label"), valid

    def values(self, rule: PortableRule, logits: ClassLogits, p: str) -> str:
        """Add the nodes of `class_values` for rows that sum to 1."""
        x = self.add("Log", self.add("Max", p, self.constant(NEAREST)))
        if logits.temperature != 1.0:
            x = self.add("Div", x, self.constant(logits.temperature))
            x = self.add("LogSoftmax", x, axis=1)
        is_low = None
        if logits.floor is not None:
            floor = self.constant(logits.floor)
            is_low = self.add("LessOrEqual", x, floor)
            x = self.add("Max", x, floor)
        y = self.add("MatMul", x, self.constant(logits.matrix))
        y = self.add("Add", y, self.constant(logits.biases))
        if is_low is not None and logits.lump:
            lump, zero = self.constant(logits.lump), self.constant(0.0)
            y = self.add("Add", y, self.add("Where", is_low, lump, zero))
        if rule.gains or any(rule.offsets):
            place = self.add("ArgMax", y, axis=1, keepdims=1)
            top = self.add("GatherElements", y, place, axis=1)
            y = self.add("Max", self.add("Sub", y, top), self.constant(LEAST_EXPONENT))
            part = self.add("Exp", y)
            total = self.sum(self.add("Div", part, self.constant(rule.weights)))
            y = self.add("Mul", total, self.constant(rule.offsets))
            if rule.gains:
                part = self.add("MatMul", part, self.constant(rule.gains))
            y = self.add("Add", part, y)
        y = self.add("Div", y, self.constant(STEP))
        return self.add("Floor", self.add("Add", y, self.constant(0.5)))

    def sum(self, x: str, keepdims: int = 1) -> str:
        """Add the sums of rows."""
        return self.add("ReduceSum", x, self.constant([1]), keepdims=keepdims)

    def between(self, p: str, low: object, high: object, name: str = "") -> str:
        """Add nodes for low ≤ p ≤ high, false for NaN; return their output."""
        above = self.add("GreaterOrEqual", p, self.constant(low))
        below = self.add("LessOrEqual", p, self.constant(high))
        return self.add("And", above, below, name=name)

    def scores_of(self, graph: Any, rule: PortableRule, output: str | None) -> str:
        """Return a model's output scores, in the shape that the rule takes."""
        types = self.onnx.TensorProto
        found = {
            one.name: one.type.tensor_type
            for one in graph.output
            if one.type.tensor_type.elem_type in (types.FLOAT, types.DOUBLE)
        }
        if output is None and len(found) == 1:
            output = next(iter(found))
        if output is None or output not in found:
            raise ValueError(
                f"output={shown(output)} must name an output of floats of the model: "
                f"{', '.join(found) or 'it has none'}. For a model of skl2onnx pass "
                "options={'zipmap': False} there"
            )
        columns = [one.dim_value for one in found[output].shape.dim[1:]]
        if not rule.single:
            if columns != [len(rule.columns)]:
                raise ValueError(
                    f"output {output!r} must have {len(rule.columns)} columns, and has "
                    f"{columns or 'none'}"
                )
            return output
        if not columns:
            return output
        if columns not in ([1], [2]):
            raise ValueError(
                f"output {output!r} must have one column of scores, or the columns of "
                f"two classes, and has {columns}"
            )
        return self.add("Gather", output, self.constant(columns[0] - 1), axis=1)
