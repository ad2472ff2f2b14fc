"""InstanceNormalization and GroupNormalization: standardised over space, or over space and a group of channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import operand, operand_count, required, same_dtype
from nautilus_cli.ops.element_types import FLOATS, stash_dtype
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.standardize import standardize, standardized
from nautilus_cli.ops.wide import cast, reshape, widen


@dataclass(frozen=True, slots=True)
class InstanceNormalizationAttrs:
    """Attributes of InstanceNormalization."""

    epsilon: float = 1e-5


@dataclass(frozen=True, slots=True)
class GroupNormalizationAttrs:
    """Attributes of GroupNormalization."""

    num_groups: int
    epsilon: float = 1e-5
    stash_type: int = 1


def _groups(attrs: Any, channels: int) -> int:
    return attrs.num_groups if isinstance(attrs, GroupNormalizationAttrs) else channels


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 3)
    x = operand(inference, 0, "X", FLOATS)
    if len(x.shape) < 3:
        raise ModelError(f"operand 'X' has shape {list(x.shape)}; the specification requires batch, channels and spatial dimensions")
    for index, name in ((1, "scale"), (2, "bias")):
        found = operand(inference, index, name, FLOATS)
        same_dtype(x, found, name)
        if found.static != x.static[1:2]:
            raise ModelError(f"operand '{name}' has shape {list(found.static)}; the specification requires {list(x.static[1:2])}")
    if isinstance(inference.attrs, GroupNormalizationAttrs):
        stash_dtype(inference.attrs.stash_type)
    groups = _groups(inference.attrs, x.static[1])
    if groups < 1 or x.static[1] % groups:
        raise ModelError(f"num_groups is {groups} for {x.static[1]} channels; the specification requires a divisor")
    return (x,)


def _grouped(shape: tuple[int, ...], groups: int) -> tuple[int, ...]:
    """One dimension of groups, one of what is standardised together."""
    together = shape[1] // groups if groups else 1
    for size in shape[2:]:
        together *= size
    return shape[0], groups, together


def _evaluate(attrs: Any, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x, scale, bias = required(arrays)
    wide = widened(x)
    normalized, _, _ = standardized(wide.reshape(_grouped(x.shape, _groups(attrs, x.shape[1]))), (2,), attrs.epsilon)
    factor, offset = (widened(a).reshape(-1, *(1 for _ in x.shape[2:])) for a in (scale, bias))
    return (stored(normalized.reshape(x.shape) * factor + offset, x),)


def _build(emitter: Emitter, attrs: Any, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, scale, bias = required(operands)
    shape = x.type.static
    grouped = reshape(emitter, widen(emitter, x), _grouped(shape, _groups(attrs, shape[1])))
    normalized, _, _ = standardize(emitter, grouped, (2,), attrs.epsilon)
    factor, offset = (reshape(emitter, widen(emitter, v), (shape[1], *(1 for _ in shape[2:]))) for v in (scale, bias))
    result = emitter.node("Add", [emitter.node("Mul", [reshape(emitter, normalized, shape), factor]), offset])
    return (cast(emitter, result, x.type.dtype),)


def _row(name: str, version: int, since: int, attributes: type) -> Operator:
    return Operator(
        name=name,
        infer=_infer,
        evaluate=_evaluate,
        lowering=Decompose(_build),
        source=f"ONNX 28, {name}-{version}",
        attributes=attributes,
        since=since,
    )


OPERATORS = (
    _row("InstanceNormalization", 22, 6, InstanceNormalizationAttrs),
    _row("GroupNormalization", 21, 21, GroupNormalizationAttrs),
)
