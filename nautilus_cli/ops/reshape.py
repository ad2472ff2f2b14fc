"""Reshape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import contents, integers, operand, operand_count, required
from nautilus_cli.ops.element_types import STORABLE
from nautilus_cli.ops.identity import same_elements
from nautilus_cli.ops.spec import Inference, Movement, Operator


@dataclass(frozen=True, slots=True)
class ReshapeAttrs:
    """Attributes of Reshape."""

    allowzero: int = 0


def resolved_shape(shape: tuple[int, ...], requested: Sequence[int], *, allow_zero: bool) -> tuple[int, ...]:
    """Return the result's shape: 0 copies a dimension (unless ALLOW_ZERO), one -1 takes what is left.

    Raises:
        ModelError: the numbers of elements differ, or a request is not allowed.
    """
    found = f"shape {list(requested)} for a tensor of shape {list(shape)}"
    if any(d < -1 for d in requested) or list(requested).count(-1) > 1:
        raise ModelError(f"{found}: the specification allows one -1 and no other negative dimension")
    if allow_zero and -1 in requested and 0 in requested:
        raise ModelError(f"{found}: with allowzero the specification does not allow both 0 and -1")
    sizes = list(requested)
    if not allow_zero:
        for place, size in enumerate(sizes):
            if size == 0:
                if place >= len(shape):
                    raise ModelError(f"{found}: a 0 at place {place} copies a dimension that is not there")
                sizes[place] = shape[place]
    total, known = prod(shape), prod(s for s in sizes if s != -1)
    if -1 in sizes:
        if known == 0 or total % known:
            raise ModelError(f"{found}: {total} elements do not divide by {known}")
        sizes[sizes.index(-1)] = total // known
    elif known != total:
        raise ModelError(f"{found}: {total} elements cannot become {known}")
    return tuple(sizes)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    data = operand(inference, 0, "data", STORABLE)
    operand(inference, 1, "shape", (I64,))
    requested = integers(contents(inference.constants, 1, "shape"))
    return (TensorType(data.dtype, resolved_shape(data.static, requested, allow_zero=bool(inference.attrs.allowzero))),)


def _evaluate(attrs: ReshapeAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    data, shape = required(arrays)
    return (data.reshape(resolved_shape(data.shape, integers(shape), allow_zero=bool(attrs.allowzero))),)


OPERATOR = Operator(
    name="Reshape",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Movement(same_elements),
    source="ONNX 28, Reshape-25",
    attributes=ReshapeAttrs,
    since=5,
)
