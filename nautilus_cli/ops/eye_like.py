"""EyeLike: ones on a diagonal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import TensorType, dtype_of
from nautilus_cli.ops.checks import first_of, operand, operand_count
from nautilus_cli.ops.element_types import ALL, dtype_from_onnx
from nautilus_cli.ops.spec import HostOnly, Inference, Operator


@dataclass(frozen=True, slots=True)
class EyeLikeAttrs:
    """Attributes of EyeLike."""

    dtype: int | None = None
    k: int = 0


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    like = operand(inference, 0, "input", ALL)
    if len(like.shape) != 2:
        raise ModelError(f"operand 'input' has shape {list(like.shape)}; the specification requires a matrix")
    dtype = like.dtype if inference.attrs.dtype is None else dtype_from_onnx(inference.attrs.dtype)
    return (TensorType(dtype, like.shape),)


def _evaluate(attrs: EyeLikeAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    like = first_of(arrays)
    dtype = dtype_of(like) if attrs.dtype is None else dtype_from_onnx(attrs.dtype)
    return (np.eye(like.shape[0], like.shape[1], attrs.k).astype(dtype.numpy),)


OPERATOR = Operator(
    name="EyeLike",
    infer=_infer,
    evaluate=_evaluate,
    lowering=HostOnly("the contents follow from the shape, so that this never runs"),
    source="ONNX 28, EyeLike-22",
    attributes=EyeLikeAttrs,
    since=9,
)
