"""A few numbers side by side in one register, for kernels.

LLVM finds such lanes by itself in long loops alone. `eight(array, i)`, `four` and
`two` read the numbers from place i on, `put` writes them; sums, products and
quotients go lane by lane, with a single number as the same in all lanes. What is
written here becomes part of the kernels that use it: like the decorators, it may only
change together with their files.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

_FUSED = ("contract",)
_ONE = ir.IntType(32)


class Lanes(types.Type):
    """So many 64-bit numbers."""

    def __init__(self, width):
        self.width = width
        self.vector = ir.VectorType(ir.DoubleType(), width)
        super().__init__(f"Lanes({width})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, kind.vector)


def _place(context, builder, kind, array, i, vector):
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [i]), vector.as_pointer())


def _reader(lanes):
    """Return a function that loads as many numbers from an array as lanes has."""

    def read(typing, array, i):
        def generate(context, builder, signature, values):
            array, i = values
            kind = signature.args[0]
            place = _place(context, builder, kind, array, i, lanes.vector)
            return builder.load(place, align=8)

        return lanes(array, i), generate

    return intrinsic(read)


eight, four, two = _reader(Lanes(8)), _reader(Lanes(4)), _reader(Lanes(2))


@intrinsic
def put(typing, array, i, lanes):
    """Write the lanes to an array, from place i on."""

    def generate(context, builder, signature, values):
        array, i, value = values
        place = _place(context, builder, signature.args[0], array, i, value.type)
        builder.store(value, place, align=8)
        return context.get_dummy_value()

    return types.void(array, i, lanes), generate


@intrinsic
def alike(typing, lanes, x):
    """Return the number x in every lane."""

    def generate(context, builder, signature, values):
        vector = signature.return_type.vector
        none = ir.Constant(vector, ir.Undefined)
        first = builder.insert_element(none, values[1], ir.Constant(_ONE, 0))
        zeros = ir.Constant(ir.VectorType(_ONE, vector.count), None)
        return builder.shuffle_vector(first, none, zeros)

    return lanes(lanes, types.float64), generate


@intrinsic
def above(typing, a, b):
    """Return 1 where a > b, else 0."""

    def generate(context, builder, signature, values):
        vector = signature.return_type.vector
        zero, one = (ir.Constant(vector, [x] * vector.count) for x in (0.0, 1.0))
        return builder.select(builder.fcmp_ordered(">", *values), one, zero)

    return a(a, b), generate


@intrinsic
def running(typing, lanes):
    """Return the cumulative sums of the lanes."""

    def generate(context, builder, signature, values):
        total, width = values[0], signature.return_type.width
        zero, shift = ir.Constant(total.type, [0.0] * width), 1
        while shift < width:
            source = [width] * shift + list(range(width - shift))
            place = ir.Constant(ir.VectorType(_ONE, width), source)
            moved = builder.shuffle_vector(total, zero, place)
            total, shift = builder.fadd(total, moved), 2 * shift
        return total

    return lanes(lanes), generate


@intrinsic
def over_root(typing, x, squares):
    """Return x/√squares; 0 where squares ≤ 0."""

    def generate(context, builder, signature, values):
        vector = signature.return_type.vector
        zero = ir.Constant(vector, [0.0] * vector.count)
        root = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(vector, [vector]),
            f"llvm.sqrt.v{vector.count}f64",
        )
        quotient = builder.fdiv(values[0], builder.call(root, values[1:]))
        above = builder.fcmp_ordered(">", values[1], zero)
        return builder.select(above, quotient, zero)

    return x(x, squares), generate


def _arithmetic(operation, instruction):
    """Make an operator of Python, such as `operator.add`, one on lanes (LLVM's `fadd`).

    A float on one side is spread over all lanes; other types are left to numba.
    """

    @intrinsic
    def by_lane(typing, a, b):
        def generate(context, builder, signature, values):
            return getattr(builder, instruction)(*values, flags=_FUSED)

        return a(a, b), generate

    @overload(operation)
    def by_types(a, b):
        if isinstance(a, Lanes) and isinstance(b, Lanes):
            return lambda a, b: by_lane(a, b)
        if isinstance(a, Lanes) and isinstance(b, types.Float):
            return lambda a, b: by_lane(a, alike(a, b))
        if isinstance(b, Lanes) and isinstance(a, types.Float):
            return lambda a, b: by_lane(alike(b, a), b)
        return None


_arithmetic(operator.add, "fadd")
_arithmetic(operator.sub, "fsub")
_arithmetic(operator.mul, "fmul")
_arithmetic(operator.truediv, "fdiv")
