"""CacheWrite: puts rows into a cache at their place. A pass makes it of Concat; no ONNX model has it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import same, upper
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import normal_axis, operand, operand_count, required, same_dtype
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.spec import Anchor, Inference, Operator

FAMILY = "cache_write"
"""Of the groups that such nodes make, which become pointwise kernels."""


@dataclass(frozen=True, slots=True)
class CacheWriteAttrs:
    """Attributes of CacheWrite.

    Attributes:
        axis: dimension along which the rows lie.
        position: where the first one goes.
    """

    axis: int
    position: int


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    cache, rows = operand(inference, 0, "cache", ALL), operand(inference, 1, "rows", ALL)
    same_dtype(cache, rows, "rows")
    axis = normal_axis(inference.attrs.axis, len(cache.static))
    others = [(c, r) for i, (c, r) in enumerate(zip(cache.static, rows.static, strict=False)) if i != axis]
    if len(cache.static) != len(rows.static) or not all(same(c, r) for c, r in others):
        raise ModelError(f"puts rows of {list(rows.static)} into a cache of {list(cache.static)} along axis {axis}")
    if upper(inference.attrs.position + rows.static[axis] - cache.static[axis]) > 0:
        raise ModelError(f"puts {rows.static[axis]} rows at {inference.attrs.position} into a cache that has room for {cache.static[axis]}")
    return (cache,)


def _evaluate(attrs: CacheWriteAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    cache, rows = required(arrays)
    result = cache.copy()
    result[(slice(None),) * attrs.axis + (slice(attrs.position, attrs.position + rows.shape[attrs.axis]),)] = rows
    return (result,)


OPERATOR = Operator(
    name="nautilus::CacheWrite",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor(family=FAMILY, prologue=(1,), epilogue=False),
    source="Nautilus's own: its result is the cache itself, in the same memory",
    attributes=CacheWriteAttrs,
)
