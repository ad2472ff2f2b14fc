"""NormalizedMatMul: a product by a constant of rows that are normalised by their moments. A pass makes it; no ONNX model has it.

With the mean M and the variance V of a row of A, joined of its moments,

    result = (A·B) / √(V + epsilon) + bias,    or with is_centred = 0    (A·B) / √(V + M² + epsilon) + bias:

A is multiplied as it is stored. The first is a product of centred rows where B's columns add up to zero; what it is divided by then is that
of a LayerNormalization, and V + M², the mean of squares, that of an RMSNormalization. Of a row of one number, whose V is 0, centred columns
make nothing but roundings, and √epsilon would raise these: A·B is taken as 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.types import F32, TensorType
from nautilus_cli.ops.checks import operand, operand_count, optional_operand, same_dtype, shaped
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.matmul import product_shape
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.row_moments import MOMENTS
from nautilus_cli.ops.spec import Anchor, Inference, Operator

FAMILY = "gemm_normalized"
"""Of the groups that such nodes begin, which become kernels of the product families."""


@dataclass(frozen=True, slots=True)
class NormalizedMatMulAttrs:
    """Attributes of NormalizedMatMul.

    Attributes:
        epsilon: what is added to the variance.
        is_centred: 1 where the variance is that from the mean, 0 where it is that from zero.
    """

    epsilon: float
    is_centred: int


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 4)
    a, b = operand(inference, 0, "A", FLOATS), operand(inference, 1, "B", FLOATS)
    moments = operand(inference, 2, "moments", (F32,))
    same_dtype(a, b, "B")
    shape = product_shape(a.static, b.static)
    if len(b.static) != 2 or len(a.static) < 2 or not same(moments.static[:-2], a.static[:-1]) or not same(moments.static[-1], MOMENTS):
        raise ModelError(f"multiplies {list(a.static)} and {list(b.static)} by moments of {list(moments.static)}")
    shaped(optional_operand(inference, 3, "bias", (F32,)), "bias", shape[-1:])
    return (TensorType(a.dtype, shape),)


def _evaluate(attrs: NormalizedMatMulAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    a, b, moments, bias = (*arrays, None)[:4]
    assert a is not None and b is not None and moments is not None
    columns = a.shape[-1] // moments.shape[-2]
    with np.errstate(all="ignore"):
        mean = moments[..., 0].mean(-1, keepdims=True)
        variance = (moments[..., 1] / columns + np.square(moments[..., 0] - mean)).mean(-1, keepdims=True)
        if not attrs.is_centred:
            variance = variance + np.square(mean)
        product = np.matmul(widened(a), widened(b))
        if attrs.is_centred:
            product = np.where(variance == 0, 0, product)
        result = product / np.sqrt(variance + np.float32(attrs.epsilon))
        return (stored(result if bias is None else result + bias, a),)


OPERATOR = Operator(
    name="nautilus::NormalizedMatMul",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor(FAMILY, prologue=()),
    source="Nautilus's own: MatMul-13 of LayerNormalization-17 or RMSNormalization-23",
    attributes=NormalizedMatMulAttrs,
)
