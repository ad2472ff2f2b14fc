"""AffineGrid: the places that GridSample takes for an affine transformation, as a matrix product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import is_symbolic, same
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F64, I64, TensorType
from nautilus_cli.ops.checks import contents, first_of, integers, known, operand, operand_count, required, vector
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.numbers import Arithmetic, progression
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import cast, reshape


@dataclass(frozen=True, slots=True)
class AffineGridAttrs:
    """Attributes of AffineGrid."""

    align_corners: int = 0


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    theta = operand(inference, 0, "theta", FLOATS)
    operand(inference, 1, "size", (I64,))
    size = vector(contents(inference.constants, 1, "size"), "size")
    rank = len(size) - 2
    shape = theta.static
    fits = rank in (2, 3) and len(shape) == 3 and same(shape[1:], (rank, rank + 1)) and not any(n < 1 for n in size)
    if not fits or (not is_symbolic(size[0] - shape[0]) and size[0] != shape[0]):
        raise ModelError(
            f"operand 'theta' has shape {list(theta.static)} and size is {list(size)}; "
            "the specification requires [batch, 2, 3] for four positive sizes or [batch, 3, 4] for five"
        )
    inference.require(size[0], shape[0], shape[0], "the batch of the size, which is that of theta")
    return (TensorType(theta.dtype, (shape[0], *size[2:], rank)),)


def places(attrs: AffineGridAttrs, sizes: Sequence[int]) -> np.ndarray:
    """Return the homogeneous places of a grid, [places, dimensions + 1], the last dimension's coordinate first.

    With align_corners, one place alone is at -1, as in onnx's reference implementation.
    """
    lines = []
    for size in sizes:
        step = 2 / max(1, size - 1) if attrs.align_corners else 2 / size
        lines.append(np.arange(size) * step - (1 if attrs.align_corners else 1 - step / 2))
    axes = np.meshgrid(*lines, indexing="ij")
    return np.stack([*(axis.reshape(-1) for axis in reversed(axes)), np.ones(prod(sizes))], axis=1)


def _open_places(emitter: Emitter, attrs: AffineGridAttrs, sizes: Sequence[int]) -> Value:
    """Return `places` of sizes that only a run knows."""
    on = Arithmetic(emitter, F64)
    columns = []
    for axis, size in enumerate(sizes):
        line = progression(emitter, size, F64)
        if attrs.align_corners:
            line = on.subtract(on.multiply(line, on.divide(2, maximum(1, size - 1))), 1)
        else:
            step = on.divide(2, size)
            line = on.subtract(on.multiply(line, step), on.subtract(1, on.divide(step, 2)))
        line = reshape(emitter, line, (*(1 for _ in sizes[:axis]), size, *(1 for _ in sizes[axis + 1 :]), 1))
        columns.append(emitter.node("Expand", [line, emitter.sizes([*sizes, 1])]))
    ones = emitter.node("Expand", [on.value(1.0), emitter.sizes([*sizes, 1])])
    joined = emitter.node("Concat", [*reversed(columns), ones], axis=len(sizes))
    return reshape(emitter, joined, (prod(sizes), len(sizes) + 1))


def _evaluate(attrs: AffineGridAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    theta, size = required(arrays)
    sizes = integers(size)[2:]
    found = places(attrs, sizes).astype(theta.dtype)
    return (stored((widened(found) @ widened(theta).swapaxes(1, 2)).reshape(len(theta), *sizes, len(sizes)), theta),)


def _build(emitter: Emitter, attrs: AffineGridAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    theta = first_of(operands)
    sizes = integers(required(known(operands[1:]))[0])[2:]
    if any(map(is_symbolic, sizes)):
        found = cast(emitter, _open_places(emitter, attrs, sizes), theta.type.dtype)
    else:
        found = emitter.constant(places(attrs, sizes).astype(theta.type.dtype.numpy))
    grid = emitter.node("MatMul", [found, emitter.node("Transpose", [theta], perm=(0, 2, 1))])
    return (reshape(emitter, grid, (theta.type.static[0], *sizes, len(sizes))),)


OPERATOR = Operator(
    name="AffineGrid",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, AffineGrid-20",
    attributes=AffineGridAttrs,
    since=20,
)
