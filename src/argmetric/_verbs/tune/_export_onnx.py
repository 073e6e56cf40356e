"""Rules as ONNX: a graph of its own, or the last nodes of a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric._ground.arguments import install, shown
from argmetric._ground.odds import NEAREST
from argmetric._verbs.tune._export import (
    LEAST_EXPONENT,
    LEAST_SUM,
    STEP,
    SUMS,
    UNIT,
    ClassLogits,
    PortableRule,
)

OPSET = 18  # of a graph of its own
OLDEST_OPSET = 13  # that has all operators as they are used here
IR_VERSION = 9
PREFIX = "argmetric_"


def onnx_model(rule: PortableRule, model: Any, output: str | None) -> Any:
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
    label, valid = nodes.write(rule, scores)
    made.graph.node.extend(nodes.made)
    shape = ["n"] if rule.single or rule.weights else ["n", len(rule.columns)]
    for name, of_type in ((label, code), (valid, types.BOOL)):
        found = helper.make_tensor_value_info(name, of_type, shape)
        made.graph.output.append(found)
    onnx.checker.check_model(made)
    return made


class _Nodes:
    """Nodes under names of their own, in the order they are made."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.made: list[Any] = []

    def add(self, operator: str, *inputs: str, name: str = "", **settings: Any) -> str:
        """A node; return the name of its output."""
        name = PREFIX + (name or f"{operator.lower()}_{len(self.made)}")
        node = self.onnx.helper.make_node(operator, inputs, [name], **settings)
        self.made.append(node)
        return name

    def constant(self, values: Any) -> str:
        array = np.array(values)
        if array.dtype.kind == "U":
            array = array.astype(object)
        return self.add("Constant", value=self.onnx.numpy_helper.from_array(array))

    def write(self, rule: PortableRule, scores: str) -> tuple[str, str]:
        """The label and whether the scores are valid."""
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
            place = self.add("ArgMax", value, axis=1, keepdims=0)
            counts = self.sum(self.add("Cast", valid, to=types.INT64), keepdims=0)
            count = self.constant(len(rule.columns))
            valid = self.add("Equal", counts, count, name="valid")
        else:
            cuts = rule.cuts[0] if rule.single else zip(*rule.cuts, strict=True)
            cut, operator, low, high = cuts
            reached = self.add("GreaterOrEqual", p, self.constant(cut))
            below = self.constant(np.asarray(operator) == "<")
            place = self.add("Cast", self.add("Xor", reached, below), to=types.INT64)
            valid = self.between(p, low, high, name="valid")
        return self.add("Gather", labels, place, name="label"), valid

    def values(self, rule: PortableRule, logits: ClassLogits, p: str) -> str:
        """What `class_values` gives for rows that sum to 1."""
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
        if any(rule.offsets):
            place = self.add("ArgMax", y, axis=1, keepdims=1)
            top = self.add("GatherElements", y, place, axis=1)
            y = self.add("Max", self.add("Sub", y, top), self.constant(LEAST_EXPONENT))
            part = self.add("Exp", y)
            total = self.sum(self.add("Div", part, self.constant(rule.weights)))
            y = self.add("Mul", total, self.constant(rule.offsets))
            y = self.add("Add", part, y)
        y = self.add("Div", y, self.constant(STEP))
        return self.add("Floor", self.add("Add", y, self.constant(0.5)))

    def sum(self, x: str, keepdims: int = 1) -> str:
        """Sums of rows."""
        return self.add("ReduceSum", x, self.constant([1]), keepdims=keepdims)

    def between(self, p: str, low: Any, high: Any, name: str = "") -> str:
        """Whether numbers lie between two; NaN does not."""
        above = self.add("GreaterOrEqual", p, self.constant(low))
        below = self.add("LessOrEqual", p, self.constant(high))
        return self.add("And", above, below, name=name)

    def scores_of(self, graph: Any, rule: PortableRule, output: str | None) -> str:
        """The scores that a model puts out, in the shape that the rule takes."""
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
