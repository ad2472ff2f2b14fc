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
        starts: where they begin along the other dimensions, one number for each of all; none where they begin at 0.
    """

    axis: int
    position: int
    starts: tuple[int, ...] = ()

    def places(self, rank: int) -> tuple[int, ...]:
        """Return where the rows begin along each of RANK dimensions."""
        starts = self.starts or (0,) * rank
        return (*starts[: self.axis], self.position, *starts[self.axis + 1 :])


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    cache, rows = operand(inference, 0, "cache", ALL), operand(inference, 1, "rows", ALL)
    same_dtype(cache, rows, "rows")
    axis = normal_axis(inference.attrs.axis, len(cache.static))
    starts = inference.attrs.starts or (0,) * len(cache.static)
    others = [(c, s, r) for i, (c, s, r) in enumerate(zip(cache.static, starts, rows.static, strict=False)) if i != axis]
    fits = all(same(c, r) or upper(s + r - c) <= 0 for c, s, r in others)
    if not len(cache.static) == len(rows.static) == len(starts) or not fits:
        raise ModelError(f"puts rows of {list(rows.static)} into a cache of {list(cache.static)} along axis {axis}")
    if upper(inference.attrs.position + rows.static[axis] - cache.static[axis]) > 0:
        raise ModelError(f"puts {rows.static[axis]} rows at {inference.attrs.position} into a cache that has room for {cache.static[axis]}")
    return (cache,)


def _evaluate(attrs: CacheWriteAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    cache, rows = required(arrays)
    result = cache.copy()
    result[tuple(slice(start, start + size) for start, size in zip(attrs.places(rows.ndim), rows.shape, strict=True))] = rows
    return (result,)


OPERATOR = Operator(
    name="nautilus::CacheWrite",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor(family=FAMILY, prologue=(1,), epilogue=False),
    source="Nautilus's own: its result is the cache itself, in the same memory",
    attributes=CacheWriteAttrs,
)
