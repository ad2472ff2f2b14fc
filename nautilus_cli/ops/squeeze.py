"""Squeeze and Unsqueeze: dimensions of size 1 go and come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import is_symbolic
from nautilus_cli.ir.indicators import selected
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import integers, normal_axes, operand, operand_count, optional_contents, optional_operand
from nautilus_cli.ops.element_types import STORABLE
from nautilus_cli.ops.identity import same_elements
from nautilus_cli.ops.open_axes import named_dimensions, require_distinct, with_ones, without
from nautilus_cli.ops.spec import Inference, Movement, Operator


@dataclass(frozen=True, slots=True)
class SqueezeAttrs:
    """Attributes of Squeeze and Unsqueeze: before opset 13 the axes were one."""

    axes: tuple[int, ...] | None = None


def _squeezed(shape: tuple[int, ...], axes: Sequence[int] | None) -> tuple[int, ...]:
    gone = tuple(a for a, d in enumerate(shape) if d == 1) if axes is None else normal_axes(axes, len(shape))
    for axis in gone:
        if shape[axis] != 1:
            raise ModelError(f"dimension {axis} of shape {list(shape)} is {shape[axis]}; the specification allows only 1 to be squeezed")
    return tuple(d for a, d in enumerate(shape) if a not in gone)


def _unsqueezed(shape: tuple[int, ...], axes: Sequence[int] | None) -> tuple[int, ...]:
    if axes is None:
        raise ModelError("axes are missing; the specification requires them")
    new = normal_axes(axes, len(shape) + len(axes))
    rest = iter(shape)
    return tuple(1 if a in new else next(rest) for a in range(len(shape) + len(axes)))


def _axes(attrs: SqueezeAttrs, given: np.ndarray | None) -> tuple[int, ...] | None:
    return attrs.axes if given is None else integers(given)


def _open_squeezed(inference: Inference, shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, ...]:
    if len(axes) > len(shape):
        raise ModelError(f"{len(axes)} axes are given; the operand has {len(shape)} dimensions")
    require_distinct(inference, axes, len(shape))
    for number, axis in enumerate(normal_axes(axes, len(shape))):
        inference.require(selected(axis, shape), 1, 1, f"the dimension that element {number} of the axes names")
    return without(shape, named_dimensions(axes, len(shape)), len(axes))


def _open_unsqueezed(inference: Inference, shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, ...]:
    rank = len(shape) + len(axes)
    require_distinct(inference, axes, rank)
    return with_ones(shape, named_dimensions(axes, rank), len(axes))


OpenShape = Callable[[Inference, tuple[int, ...], Sequence[int]], tuple[int, ...]]


def _operator(
    name: str, shape_of: Callable[[tuple[int, ...], Sequence[int] | None], tuple[int, ...]], open_shape_of: OpenShape, version: int
) -> Operator:
    def infer(inference: Inference) -> tuple[TensorType, ...]:
        operand_count(inference, 1, 2)
        data = operand(inference, 0, "data", STORABLE)
        optional_operand(inference, 1, "axes", (I64,))
        axes = _axes(inference.attrs, optional_contents(inference.constants, inference.types, 1, "axes"))
        if axes is not None and any(map(is_symbolic, axes)):
            return (TensorType(data.dtype, open_shape_of(inference, data.static, axes)),)
        return (TensorType(data.dtype, shape_of(data.static, axes)),)

    def evaluate(attrs: SqueezeAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
        data = arrays[0]
        assert data is not None
        return (data.reshape(shape_of(data.shape, _axes(attrs, arrays[1] if len(arrays) > 1 else None))),)

    return Operator(
        name=name,
        infer=infer,
        evaluate=evaluate,
        lowering=Movement(same_elements),
        source=f"ONNX 28, {name}-{version}",
        attributes=SqueezeAttrs,
    )


OPERATORS = (_operator("Squeeze", _squeezed, _open_squeezed, 25), _operator("Unsqueeze", _unsqueezed, _open_unsqueezed, 25))
