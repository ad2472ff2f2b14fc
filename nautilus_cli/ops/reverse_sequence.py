"""ReverseSequence: the first elements of each sequence of a batch, from the last to the first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import operand, operand_count, required
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.numbers import progression
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import reshape, scalar


@dataclass(frozen=True, slots=True)
class ReverseSequenceAttrs:
    """Attributes of ReverseSequence."""

    batch_axis: int = 1
    time_axis: int = 0


def _check_lengths(lengths: np.ndarray, steps: int) -> None:
    """Check lengths that are known.

    Raises:
        ModelError: one is out of range.
    """
    if lengths.size and not (lengths.min() >= 0 and lengths.max() <= steps):
        raise ModelError(f"sequence_lens are {lengths.tolist()[:8]}; a sequence of {steps} steps allows 0 to {steps}")


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    x, lengths = operand(inference, 0, "input", ALL), operand(inference, 1, "sequence_lens", (I64,))
    attrs = inference.attrs
    if {attrs.batch_axis, attrs.time_axis} != {0, 1} or len(x.shape) < 2:
        raise ModelError(
            f"batch_axis is {attrs.batch_axis} and time_axis {attrs.time_axis} for a tensor of rank {len(x.shape)}; "
            "the specification requires 0 and 1, or 1 and 0, of rank 2 at least"
        )
    if lengths.static != (x.static[attrs.batch_axis],):
        raise ModelError(
            f"operand 'sequence_lens' has shape {list(lengths.static)}; one for each of {x.static[attrs.batch_axis]} is needed"
        )
    known = inference.constants[1]
    if known is not None:
        _check_lengths(known, x.static[attrs.time_axis])
    return (x,)


def _evaluate(attrs: ReverseSequenceAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x, lengths = required(arrays)
    _check_lengths(lengths, x.shape[attrs.time_axis])
    steps = np.arange(x.shape[attrs.time_axis])[:, None]
    sources = np.where(steps < lengths, lengths - 1 - steps, steps)  # [time, batch]
    batch = np.arange(x.shape[attrs.batch_axis])
    return (x[sources, batch] if attrs.time_axis == 0 else x[batch[:, None], sources.T],)


def _sized(form: tuple[int, int], size: int) -> tuple[int, ...]:
    return tuple(size if dim < 0 else dim for dim in form)


def _build(emitter: Emitter, attrs: ReverseSequenceAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Gather each step of each sequence from where it was; a length beyond the steps gives an index out of range."""
    x, lengths = required(operands)
    shape = x.type.static[:2]
    along_time, along_batch = ((-1, 1), (1, -1)) if attrs.time_axis == 0 else ((1, -1), (-1, 1))
    steps = reshape(emitter, progression(emitter, shape[attrs.time_axis]), _sized(along_time, shape[attrs.time_axis]))
    ends = emitter.node("Reshape", [lengths, emitter.constant(np.array(along_batch))])
    mirrored = emitter.node("Sub", [ends, emitter.node("Add", [steps, scalar(emitter, 1, I64)])])
    sources = emitter.node("Where", [emitter.node("Less", [mirrored, scalar(emitter, 0, I64)]), steps, mirrored])
    line = reshape(emitter, progression(emitter, shape[attrs.batch_axis]), _sized(along_batch, shape[attrs.batch_axis]))
    batch = emitter.node("Expand", [line, emitter.sizes(shape)])
    pair = (sources, batch) if attrs.time_axis == 0 else (batch, sources)
    columns = [emitter.node("Unsqueeze", [index, emitter.constant(np.array([2]))]) for index in pair]
    return (emitter.node("GatherND", [x, emitter.node("Concat", columns, axis=2)]),)


OPERATOR = Operator(
    name="ReverseSequence",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, ReverseSequence-28",
    attributes=ReverseSequenceAttrs,
    since=10,
)
