"""AffineGrid: the places that GridSample takes for an affine transformation, as a matrix product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import contents, integers, operand, operand_count, required, vector
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import reshape


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
    if rank not in (2, 3) or min(size) < 1 or theta.static != (size[0], rank, rank + 1):
        raise ModelError(
            f"operand 'theta' has shape {list(theta.static)} and size is {list(size)}; "
            "the specification requires [batch, 2, 3] for four positive sizes or [batch, 3, 4] for five"
        )
    return (TensorType(theta.dtype, (size[0], *size[2:], rank)),)


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


def _evaluate(attrs: AffineGridAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    theta, size = required(arrays)
    sizes = integers(size)[2:]
    found = places(attrs, sizes).astype(theta.dtype)
    return (stored((widened(found) @ widened(theta).swapaxes(1, 2)).reshape(len(theta), *sizes, len(sizes)), theta),)


def _build(emitter: Emitter, attrs: AffineGridAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    theta, size = required(operands)
    assert size.constant is not None
    sizes = integers(size.constant)[2:]
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
