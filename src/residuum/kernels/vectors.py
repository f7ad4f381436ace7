"""Eight floats side by side: the few vector instructions that Numba does not offer by itself.

The rows of a marginal are short (an attribute has two to a hundred values) and of odd length once an axis lost its
first slice. A compiler left alone handles such rows one number at a time. Spelling out the vectors makes them several
times faster. LLVM splits a vector of eight into what the processor has, so this is not tied to one instruction set.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

LANES = 8

_instruction: Any = intrinsic  # the decorated function takes one argument less than it declares

_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_INT32 = ir.IntType(32)


class _Vector(types.Type):
    def __init__(self) -> None:
        super().__init__(name=f"Float64x{LANES}")


_vector = _Vector()


@register_model(_Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, type_) -> None:
        super().__init__(manager, type_, _DOUBLES)


def _address(context, builder, array_type, array, index):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _DOUBLES.as_pointer())


@_instruction
def load(_context, array, _index):
    """The vector at `array[index : index + 8]`."""

    def generate(context, builder, signature, arguments):
        address = _address(context, builder, signature.args[0], *arguments)
        instruction = builder.load(address)
        instruction.align = array.dtype.bitwidth // 8
        return instruction

    return _vector(array, types.intp), generate


@_instruction
def store(_context, array, _index, _x):
    """Write a vector to `array[index : index + 8]`."""

    def generate(context, builder, signature, arguments):
        *where, x = arguments
        instruction = builder.store(x, _address(context, builder, signature.args[0], *where))
        instruction.align = array.dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(array, types.intp, _vector), generate


@_instruction
def splat(_context, _x):
    """One number in all lanes."""

    def generate(context, builder, signature, arguments):
        undefined = ir.Constant(_DOUBLES, ir.Undefined)
        first = builder.insert_element(undefined, arguments[0], ir.Constant(_INT32, 0))
        return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_INT32, LANES), [0] * LANES))

    return _vector(types.float64), generate


def _lanewise(instruction):
    @_instruction
    def operation(_context, _x, _y):
        def generate(context, builder, signature, arguments):
            return getattr(builder, instruction)(*arguments)

        return _vector(_vector, _vector), generate

    return operation


add = _lanewise("fadd")
sub = _lanewise("fsub")
mul = _lanewise("fmul")


@_instruction
def magnitude(_context, _x):
    """The absolute value of each lane."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(_DOUBLES, [_DOUBLES])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.fabs.v{LANES}f64"), arguments)

    return _vector(_vector), generate


@_instruction
def total(_context, _x):
    """The sum of the lanes."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType(), _DOUBLES])
        reduce = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{LANES}f64")
        return builder.call(reduce, [ir.Constant(ir.DoubleType(), -0.0), *arguments], fastmath=["reassoc"])

    return types.float64(_vector), generate
