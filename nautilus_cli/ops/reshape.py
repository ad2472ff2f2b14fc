"""Reshape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import is_symbolic, lower, same, upper
from nautilus_cli.ir.functions import maximum, named
from nautilus_cli.ir.indicators import any_of, chosen, equal
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.quotients import divides
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
            if same(size, 0):
                if place >= len(shape):
                    raise ModelError(f"{found}: a 0 at place {place} copies a dimension that is not there")
                sizes[place] = shape[place]
    total, known = prod(shape), prod(s for s in sizes if s != -1)
    if -1 in sizes:
        if same(known, 0) or (not divides(known, total) and total % known):
            raise ModelError(f"{found}: {total} elements do not divide by {known}")
        sizes[sizes.index(-1)] = total // known
    elif known != total:
        raise ModelError(f"{found}: {total} elements cannot become {known}")
    return tuple(sizes)


def open_shape(inference: Inference, shape: tuple[int, ...], requested: Sequence[int], *, allow_zero: bool) -> tuple[int, ...]:
    """Return the result's shape where a request may be 0 or -1, which only the run knows.

    The last dimension is what the others leave of the elements, so that the result is known to have as many as the operand.
    """
    total = prod(shape)
    for size in requested:
        if size < -1:
            raise ModelError(f"the shape asks for {size}: the specification allows -1 and no other negative dimension")
        if lower(total) > 0 and size > upper(total):
            raise ModelError(f"the shape asks for {size} of a tensor of {total} elements")
    zeros, inferred = [equal(size, 0) for size in requested], [equal(size, -1) for size in requested]
    sizes = [size + 2 * is_left for size, is_left in zip(requested, inferred, strict=True)]  # 1 in place of -1
    inference.require(sum(inferred), 0, 1, "the number of -1 in the shape")
    if allow_zero:
        inference.require(any_of(zeros) * any_of(inferred), 0, 0, "both 0 and -1 in the shape, with allowzero")
    else:
        inference.require(sum(zeros[len(shape) :]), 0, 0, "a 0 in the shape that copies a dimension which is not there")
        sizes = [size + is_zero * dim for size, is_zero, dim in zip(sizes, zeros, (*shape, *(0,) * len(sizes)), strict=False)]
    known = [_under_a_name(size) for size in sizes]
    left = total // maximum(1, prod(known)) if any(map(is_symbolic, inferred)) or 1 in inferred else 1
    found = [_under_a_name(size + is_left * (left - 1)) for size, is_left in zip(known, inferred, strict=True)]
    inference.require(prod(found), total, total, "the number of elements of the result")
    *others, last = found
    rest = prod(others)
    return (*others, total // maximum(1, rest) if lower(total) > 0 else chosen(equal(rest, 0), last, total // maximum(1, rest)))


def _under_a_name(size: int) -> int:
    """Return a size that is written out long under a name: products of several would grow with the product of their terms."""
    return named(f"({size})", size)


def _may_be_another(size: int, place: int, shape: tuple[int, ...], *, allow_zero: bool) -> bool:
    """Whether a size that is asked for may be none: -1, or a 0 in place of a dimension that is not 0 itself then."""
    if not is_symbolic(size) or lower(size) >= 1:
        return False
    return lower(size) < 0 or not (allow_zero or (place < len(shape) and divides(size, shape[place])))


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    data = operand(inference, 0, "data", STORABLE)
    operand(inference, 1, "shape", (I64,))
    requested = integers(contents(inference.constants, 1, "shape"))
    allow_zero = bool(inference.attrs.allowzero)
    if allow_zero and all(lower(size) >= 0 for size in requested):
        missing = prod(requested) - data.elements
        if same(missing, 0):
            return (TensorType(data.dtype, requested),)
        if any(s.source is not None for s in symbols(missing)):
            inference.require(prod(requested), data.elements, data.elements, "the number of elements of the result")
            return (TensorType(data.dtype, requested),)
    if any(_may_be_another(size, place, data.static, allow_zero=allow_zero) for place, size in enumerate(requested)):
        return (TensorType(data.dtype, open_shape(inference, data.static, requested, allow_zero=allow_zero)),)
    return (TensorType(data.dtype, resolved_shape(data.static, requested, allow_zero=allow_zero)),)


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
