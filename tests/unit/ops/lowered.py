"""Evaluates an operator by what its lowering says: decompositions to the end, movement by its index maps, the rest by its truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType, dtype_of
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Anchor, Decompose, HostOnly, Inference, Movement, MovementContext, Operator, Reduction

NORMAL_FORMS = {
    "MatMul": lambda attrs, types: len(types) == 2 and all(len(t.shape) >= 2 for t in types),
    "Conv": lambda attrs, types: (
        len(types) == 2 and len(types[0].shape) >= 4 and attrs.auto_pad == "NOTSET" and None not in window_of(attrs)
    ),
    "MaxPool": lambda attrs, types: len(types[0].shape) >= 4 and attrs.auto_pad == "NOTSET" and None not in window_of(attrs),
}
NORMAL_FORMS |= {"AveragePool": NORMAL_FORMS["MaxPool"], "LpPool": NORMAL_FORMS["MaxPool"]}


def window_of(attrs: Any) -> tuple[Any, ...]:
    return (attrs.kernel_shape, attrs.strides, attrs.dilations, attrs.pads)


class Evaluator:
    """An emitter whose every value is known at once."""

    def __init__(self) -> None:
        self.reached: list[str] = []

    def constant(self, array: np.ndarray) -> Value:
        return Value(TensorType(dtype_of(array), array.shape), constant=np.asarray(array))

    def sizes(self, sizes: Sequence[int]) -> Value:
        return self.constant(np.array(list(sizes), np.int64))

    def node(self, op: str, inputs: Sequence[Value | None], attrs: object | None = None, **overrides: Any) -> Value:
        operator = operators()[op]
        given: Any = operator.attributes(**overrides) if attrs is None else replace(attrs, **overrides)  # type: ignore[type-var]
        return self.apply(operator, given, tuple(inputs), 1)[0]

    def results(self, op: str, inputs: Sequence[Value | None], count: int, attrs: object | None = None) -> tuple[Value, ...]:
        operator = operators()[op]
        return self.apply(operator, operator.attributes() if attrs is None else attrs, tuple(inputs), count)

    def apply(self, operator: Operator, attrs: Any, inputs: tuple[Value | None, ...], outputs: int) -> tuple[Value, ...]:
        types = tuple(None if v is None else v.type for v in inputs)
        constants = tuple(None if v is None else v.constant for v in inputs)
        inferred = operator.infer(Inference(attrs, types, constants, outputs))
        lowering = operator.lowering
        results = None
        if isinstance(lowering, Decompose):
            results = lowering.build(self, attrs, inputs)
        elif operator.normalise is not None:
            results = operator.normalise(self, attrs, inputs)
        if results is None:
            self.reached.append(operator.name)
            assert not isinstance(lowering, HostOnly), f"{operator.name} is left for a kernel"
            results = tuple(self.constant(a) for a in self._run(operator, attrs, MovementContext(attrs, types, constants, inferred, 0)))
        found = []
        for result, type_ in zip(results[:outputs], inferred, strict=True):
            assert result is not None
            if result.type != type_:
                raise InternalError(f"{operator.name} lowers to {result.type}, its shape rule says {type_}")
            found.append(result)
        return tuple(found)

    def _run(self, operator: Operator, attrs: Any, context: MovementContext) -> tuple[np.ndarray, ...]:
        lowering = operator.lowering
        if isinstance(lowering, Movement):
            return tuple(moved(lowering, replace(context, output=number)) for number in range(len(context.results)))
        if isinstance(lowering, Reduction):
            axes = lowering.axes(context)
            assert tuple(sorted(set(axes))) == axes
        if isinstance(lowering, Anchor):
            assert NORMAL_FORMS.get(operator.name, lambda *_: True)(attrs, context.types)
        return tuple(np.asarray(a) for a in operator.evaluate(attrs, context.constants, len(context.results)))


def moved(lowering: Movement, context: MovementContext) -> np.ndarray:
    """Gather a movement's result by its index maps: the first piece whose guards hold, the last one everywhere else."""
    result_type = context.results[context.output]
    pieces = lowering.pieces(context)
    result: np.ndarray | None = None
    for piece in reversed(pieces):
        offsets, valid = piece.map.offsets()
        assert piece.map.extents == result_type.static
        source = np.zeros(1, result_type.dtype.numpy) if piece.operand is None else context.constants[piece.operand]
        assert source is not None
        flat = np.ascontiguousarray(source).reshape(-1)
        if flat.size == 0:
            flat = np.zeros(1, flat.dtype)
            assert not valid.any()
        assert offsets.size == 0 or (offsets.min() >= 0 and offsets.max() < flat.size)
        result = flat[offsets] if result is None else np.where(valid, flat[offsets], result)
        if piece is pieces[-1]:
            covered = valid
        else:
            covered = covered | valid
    assert result is not None
    assert covered.all(), "some element comes from nowhere"
    return result


def lowered(operator: Operator, attrs: Any, arrays: Sequence[np.ndarray | None], outputs: int) -> tuple[np.ndarray, ...]:
    """Return the results of an operator as its lowering computes them."""
    evaluator = Evaluator()
    with np.errstate(all="ignore"):
        values = evaluator.apply(operator, attrs, tuple(None if a is None else evaluator.constant(a) for a in arrays), outputs)
    return tuple(v.constant for v in values if v.constant is not None)
