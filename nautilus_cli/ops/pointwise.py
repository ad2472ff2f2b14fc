"""Builds pointwise operators: one call makes one row of a table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from nautilus_cli.ir.types import DType, TensorType
from nautilus_cli.ops.checks import broadcast_shape, operand, operand_count, same_dtype
from nautilus_cli.ops.precision import widened
from nautilus_cli.ops.spec import Inference, NoAttrs, Operator, Pointwise

Constants = Callable[[Any, tuple[TensorType, ...]], tuple[float | int, ...]]


def pointwise(
    name: str,
    function: str,
    evaluate: Callable[..., np.ndarray],
    *,
    version: int,
    since: int,
    operands: Sequence[str] = ("X",),
    allowed: Collection[DType],
    result: DType | None = None,
    attributes: type = NoAttrs,
    constants: Constants | None = None,
    variadic: bool = False,
    check: Callable[[Any, tuple[TensorType, ...]], None] | None = None,
) -> Operator:
    """Return a pointwise operator whose operands have one element type and broadcast.

    Args:
        name: ONNX name.
        function: device function.
        evaluate: from (attrs, *arrays in compute type) to the result in compute type.
        version: version of the operator in the newest opset, for `source`.
        since: oldest version with the same meaning.
        operands: their names in the specification; of a variadic operator, the first.
        allowed: element types.
        result: element type of the result; None for that of the operands.
        attributes: attribute dataclass.
        constants: scalars for the device function.
        variadic: any number of operands from one on; the device function folds them from left to right.
        check: further checks; raises ModelError.
    """

    def infer(inference: Inference) -> tuple[TensorType, ...]:
        operand_count(inference, len(operands), None if variadic else len(operands))
        names = [f"{operands[0]}_{i}" for i in range(len(inference.types))] if variadic else operands
        types = tuple(operand(inference, i, n, allowed) for i, n in enumerate(names))
        for n, t in zip(names[1:], types[1:], strict=True):
            same_dtype(types[0], t, n)
        if check is not None:
            check(inference.attrs, types)
        return (TensorType(result or types[0].dtype, broadcast_shape(*(t.static for t in types), inference=inference)),)

    def truth(attrs: Any, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
        given = [a for a in arrays if a is not None]
        with np.errstate(all="ignore"):
            value = np.asarray(evaluate(attrs, *(widened(a) for a in given)))
            return (value.astype(result.numpy if result else given[0].dtype, copy=False),)

    return Operator(
        name=name,
        infer=infer,
        evaluate=truth,
        lowering=Pointwise(function, constants, fold=variadic),
        source=f"ONNX 28, {name}-{version}",
        attributes=attributes,
        since=since,
    )
