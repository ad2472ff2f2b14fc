"""Numbers and progressions that decompositions need: constants where they are known, else made of sizes when the model runs."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.dims import Float, FloatElement, FloatOperation, is_symbolic
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F32, F64, I64, DType
from nautilus_cli.ops.spec import Emitter
from nautilus_cli.ops.wide import cast, reshape, scalar


def number(emitter: Emitter, value: int, dtype: DType) -> Value:
    """Return an integer, which may depend on sizes, as a scalar of DTYPE."""
    if not is_symbolic(value):
        return scalar(emitter, value, dtype)
    return cast(emitter, reshape(emitter, emitter.sizes([value]), ()), dtype)


def progression(emitter: Emitter, count: int, dtype: DType = I64) -> Value:
    """Return 0, 1, 2, ... as a vector of COUNT elements, which may depend on sizes."""
    if not is_symbolic(count):
        return emitter.constant(np.arange(count).astype(dtype.numpy))
    steps = [number(emitter, bound, I64) for bound in (0, count, 1)]
    return cast(emitter, emitter.node("Range", steps), dtype)


def real(emitter: Emitter, value: Float, dtype: DType = F64) -> Value:
    """Return what the host works out from elements of float inputs as a scalar of DTYPE; a kernel works it out from the same elements."""
    return cast(emitter, _double(emitter, value), dtype)


def _double(emitter: Emitter, value: Float) -> Value:
    if isinstance(value, FloatElement):
        vector = reshape(emitter, source := emitter.source(value.input), (source.type.elements,))
        element = emitter.node("Slice", [vector], starts=(value.index,), ends=(value.index + 1,), axes=(0,))
        return cast(emitter, reshape(emitter, element, ()), F64)
    if not isinstance(value, FloatOperation):
        return number(emitter, value, F64)
    left = _double(emitter, value.left)
    if value.function == "single":
        return cast(emitter, cast(emitter, left, F32), F64)
    return emitter.node(_OPERATORS[value.function], [left, _double(emitter, value.right)])


_OPERATORS = {"add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div"}


class Arithmetic:
    """Nodes of arithmetic on vectors and scalars of one type.

    Attributes:
        emitter: where the nodes go.
        dtype: of the operands and results.
    """

    def __init__(self, emitter: Emitter, dtype: DType = F64) -> None:
        self.emitter = emitter
        self.dtype = dtype

    def value(self, operand: Value | float) -> Value:
        """Return an operand: itself, or a number as a scalar."""
        if isinstance(operand, Value):
            return operand
        return number(self.emitter, operand, self.dtype) if is_symbolic(operand) else scalar(self.emitter, operand, self.dtype)  # type: ignore[arg-type]

    def apply(self, op: str, *operands: Value | float) -> Value:
        """Return the result of an elementwise operator."""
        return self.emitter.node(op, [self.value(operand) for operand in operands])

    def add(self, left: Value | float, right: Value | float) -> Value:
        """Return a sum."""
        return self.apply("Add", left, right)

    def subtract(self, left: Value | float, right: Value | float) -> Value:
        """Return a difference."""
        return self.apply("Sub", left, right)

    def multiply(self, left: Value | float, right: Value | float) -> Value:
        """Return a product."""
        return self.apply("Mul", left, right)

    def divide(self, left: Value | float, right: Value | float) -> Value:
        """Return a quotient."""
        return self.apply("Div", left, right)

    def where(self, condition: Value, yes: Value | float, no: Value | float) -> Value:
        """Return YES where CONDITION holds, else NO."""
        return self.emitter.node("Where", [condition, self.value(yes), self.value(no)])
