"""MaxUnpool: pooled values back at the places where their maxima lay, zeros elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import lower, same, upper
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I64, TensorType, dtype_of
from nautilus_cli.ops.checks import first_of, integers, known, operand, operand_count, optional_contents, required
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.gather import checked_indices
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import reshape, scalar
from nautilus_cli.ops.window import one_each


@dataclass(frozen=True, slots=True)
class MaxUnpoolAttrs:
    """Attributes of MaxUnpool."""

    kernel_shape: tuple[int, ...]
    pads: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None


def pooled_shape(attrs: MaxUnpoolAttrs, x: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that the indices count in: what windows over it, without anything beyond them, were pooled to shape X.

    Raises:
        ModelError: shape and attributes do not fit together.
    """
    rank = len(x) - 2
    if rank < 1 or len(attrs.kernel_shape) != rank:
        raise ModelError(f"operand 'X' has shape {list(x)} for kernel_shape {list(attrs.kernel_shape)}; one size a dimension is required")
    pads = attrs.pads or (0,) * 2 * rank
    if len(pads) != 2 * rank:
        raise ModelError(f"pads is {list(pads)} for {rank} spatial dimensions; the specification requires two numbers each")
    strides = one_each(attrs.strides, rank, "strides")
    numbers = zip(x[2:], one_each(attrs.kernel_shape, rank, "kernel_shape"), strides, pads[:rank], pads[rank:], strict=True)
    sizes = tuple((n - 1) * s + k - b - e for n, k, s, b, e in numbers)
    if min(sizes) < 1:
        raise ModelError(f"pads is {list(pads)}, which leaves nothing of windows over {list(x[2:])}")
    return (*x[:2], *sizes)


def _result_shape(
    attrs: MaxUnpoolAttrs, x: tuple[int, ...], constants: Sequence[np.ndarray | None], types: Sequence[TensorType | None]
) -> tuple[int, ...]:
    given = optional_contents(constants, types, 2, "output_shape")
    inner = pooled_shape(attrs, x)
    if given is None:
        return inner
    shape = integers(given)
    if len(shape) != len(inner) or any(n < lower(m) for n, m in zip(shape, inner, strict=True)):
        raise ModelError(f"output_shape is {list(shape)}; the windows fill {list(inner)}, and it must be no smaller")
    return shape


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 3)
    x, indices = operand(inference, 0, "X", FLOATS), operand(inference, 1, "I", (I64,))
    if x.static != indices.static:
        raise ModelError(f"operands have shapes {list(x.static)} and {list(indices.static)}; the specification requires equal ones")
    shape, inner = _result_shape(inference.attrs, x.static, inference.constants, inference.types), pooled_shape(inference.attrs, x.static)
    for dim, (n, m) in enumerate(zip(shape, inner, strict=True)):
        inference.require(n - m, 0, max(0, upper(n)), f"how much longer dimension {dim} of output_shape is than what the windows fill")
    return (TensorType(x.dtype, shape),)


def _evaluate(attrs: MaxUnpoolAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x, indices = required(arrays[:2])
    inner = pooled_shape(attrs, x.shape)
    flat = np.zeros(prod(inner), x.dtype)
    flat[checked_indices(indices, flat.size).reshape(-1)] = x.reshape(-1)
    types = [None if a is None else TensorType(dtype_of(a), a.shape) for a in arrays]
    shape = _result_shape(attrs, x.shape, arrays, types)
    return (np.pad(flat.reshape(inner), [(0, n - m) for n, m in zip(shape, inner, strict=True)]),)


def _build(emitter: Emitter, attrs: MaxUnpoolAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Scatter into zeros, then pad behind."""
    x, indices = required(operands[:2])
    count = x.type.elements
    inner = pooled_shape(attrs, x.type.static)
    zeros = emitter.node("Expand", [scalar(emitter, 0, x.type.dtype), emitter.sizes([prod(inner)])])
    flat = emitter.node("ScatterElements", [zeros, reshape(emitter, indices, (count,)), reshape(emitter, x, (count,))])
    result = reshape(emitter, flat, inner)
    size = first_of(operands[2:]) if any(v is not None for v in operands[2:]) else None
    if size is None:
        return (result,)
    shape = _result_shape(attrs, x.type.static, known(operands), (x.type, indices.type, size.type))
    if same(shape, inner):
        return (result,)
    behind = [n - m for n, m in zip(shape, inner, strict=True)]
    return (reshape(emitter, emitter.node("Pad", [result, emitter.sizes([0] * len(shape) + behind)]), shape),)


OPERATOR = Operator(
    name="MaxUnpool",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, MaxUnpool-22",
    attributes=MaxUnpoolAttrs,
    since=9,
)
