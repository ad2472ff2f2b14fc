"""GatherElements: single elements of a tensor by index along one axis."""

from __future__ import annotations

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import normal_axis, operand, operand_count, required
from nautilus_cli.ops.element_types import ALL, INDICES
from nautilus_cli.ops.gather import GatherAttrs, checked_indices
from nautilus_cli.ops.spec import Anchor, Inference, Operator


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    data, indices = operand(inference, 0, "data", ALL), operand(inference, 1, "indices", INDICES)
    rank = len(data.shape)
    axis = normal_axis(inference.attrs.axis, rank)
    pairs = zip(indices.static, data.static, strict=False)
    if len(indices.shape) != rank or any(i > d for a, (i, d) in enumerate(pairs) if a != axis):
        raise ModelError(
            f"operand 'indices' has shape {list(indices.static)} for data of shape {list(data.static)}; "
            f"the specification requires equal rank and no larger size except along axis {axis}"
        )
    known = inference.constants[1]
    if known is not None:
        checked_indices(known, data.static[axis])
    return (TensorType(data.dtype, indices.shape),)


def _evaluate(attrs: GatherAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    data, indices = required(arrays)
    axis = normal_axis(attrs.axis, data.ndim)
    near = data[tuple(slice(None) if a == axis else slice(n) for a, n in enumerate(indices.shape))]
    return (np.take_along_axis(near, checked_indices(indices, data.shape[axis]), axis),)


OPERATOR = Operator(
    name="GatherElements",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor("gather", prologue=(1,)),
    source="ONNX 28, GatherElements-13",
    attributes=GatherAttrs,
    since=11,
)
