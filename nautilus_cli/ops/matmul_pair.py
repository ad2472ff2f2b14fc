"""MatMulPair: two products of the same rows, in one kernel. A pass makes it of two MatMuls; no ONNX model has it."""

from __future__ import annotations

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import operand, operand_count, required, same_dtype
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.matmul import product_shape
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Anchor, Inference, NoAttrs, Operator

FAMILY = "gemm_pair"
"""Of the groups that such nodes begin, which become kernels of the product families."""


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 3)
    a, first, second = (operand(inference, i, name, FLOATS) for i, name in enumerate(("A", "B1", "B2")))
    same_dtype(a, first, "B1")
    same_dtype(a, second, "B2")
    if first.static != second.static:
        raise ModelError(f"multiplies matrices of {list(first.static)} and {list(second.static)}; both must have one shape")
    result = TensorType(a.dtype, product_shape(a.static, first.static))
    return result, result


def _evaluate(_attrs: NoAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    a, *factors = required(arrays)
    with np.errstate(all="ignore"):
        return tuple(stored(np.matmul(widened(a), widened(b)), a) for b in factors)


OPERATOR = Operator(
    name="nautilus::MatMulPair",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor(FAMILY, prologue=(0, 1, 2), results=2),
    source="Nautilus's own: two MatMul-13 with one left operand",
)
