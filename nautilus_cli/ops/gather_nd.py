"""GatherND: slices of a tensor by indices along several axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import operand, operand_count, required
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.gather import checked_indices
from nautilus_cli.ops.spec import Anchor, Inference, Operator


@dataclass(frozen=True, slots=True)
class GatherNDAttrs:
    """Attributes of GatherND."""

    batch_dims: int = 0


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    data, indices = operand(inference, 0, "data", ALL), operand(inference, 1, "indices", (I64,))
    batch, shape, places = inference.attrs.batch_dims, data.static, indices.static
    if not shape or not places or not 0 <= batch < min(len(shape), len(places)):
        raise ModelError(
            f"batch_dims is {batch} for data of shape {list(shape)} and indices of shape {list(places)}; "
            "the specification requires ranks of 1 at least, and batch_dims below both"
        )
    if shape[:batch] != places[:batch] or not 1 <= places[-1] <= len(shape) - batch:
        raise ModelError(
            f"indices of shape {list(places)} do not fit data of shape {list(shape)}: the first {batch} dimensions must be equal, "
            f"and the last one 1 to {len(shape) - batch}"
        )
    known = inference.constants[1]
    if known is not None:
        for number in range(places[-1]):
            checked_indices(known[..., number], shape[batch + number])
    return (TensorType(data.dtype, (*places[:-1], *shape[batch + places[-1] :])),)


def _evaluate(attrs: GatherNDAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    data, indices = required(arrays)
    batch = attrs.batch_dims
    sets = indices.shape[:-1]
    leading = (np.arange(n).reshape(n, *(1 for _ in sets[a + 1 :])) for a, n in enumerate(indices.shape[:batch]))
    chosen = (checked_indices(indices[..., n], data.shape[batch + n]) for n in range(indices.shape[-1]))
    return (np.asarray(data[(*leading, *chosen)]),)


OPERATOR = Operator(
    name="GatherND",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor("gather", prologue=(1,)),
    source="ONNX 28, GatherND-13",
    attributes=GatherNDAttrs,
    since=11,
)
