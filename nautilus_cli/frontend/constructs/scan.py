"""Scan: unrolled, one copy of its body a step, where it has few; else a node that holds its body, which the run repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.constructs.base import Construct, Occurrence
from nautilus_cli.frontend.constructs.loop import unrolls_to_little
from nautilus_cli.frontend.constructs.loop_body import body_graph, repeated
from nautilus_cli.frontend.constructs.selection import select
from nautilus_cli.frontend.constructs.stacking import element, stacked
from nautilus_cli.frontend.constructs.unrolling import declared_element
from nautilus_cli.frontend.entities import as_tensor
from nautilus_cli.frontend.subgraph import Subgraph
from nautilus_cli.ir.counts import counts_in
from nautilus_cli.ir.dims import is_symbolic, same
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ir.undecided import UndecidedError
from nautilus_cli.ops.operands import RangeError, UnknownContentsError

BATCHED_BEFORE = 9
"""Opset before which the first dimension is a batch, and each of its elements has a length. Source: ONNX 8, Scan-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One walk through time.

    Attributes:
        body: imported once a step.
        states: at the start.
        inputs: what is scanned, and along which axis.
        steps: how many there are.
        input_reverse: of each input, whether it is read from its end.
        output_axes: of each output, the axis along which it is collected, maybe counted from the end.
        output_reverse: of each output, whether a new element comes first.
        label: put before the number of a step.
        names: of the results in the graph around; empty where they are none there.
        length: how many steps happen; None for all of them. Known at run time only, it is a scalar.
    """

    body: Subgraph
    states: Sequence[Value]
    inputs: Sequence[tuple[Value, int]]
    steps: int
    input_reverse: Sequence[bool]
    output_axes: Sequence[int]
    output_reverse: Sequence[bool]
    label: str = ""
    names: Sequence[str] = ()
    length: Value | None = None


def _build(call: Occurrence) -> Sequence[Value | None]:
    is_batched = call.version < BATCHED_BEFORE
    first = 1 if is_batched else 0
    count = call.integer("num_scan_inputs", 0)
    call.count(first + 1, None)
    tensors = [call.tensor(number) for number in range(first, len(call.operands))]
    if not 1 <= count <= len(tensors):
        raise call.error(f"num_scan_inputs is {count}; with its operands the specification allows 1 to {len(tensors)}")
    states, scanned = tensors[:-count], tensors[-count:]
    body = call.body("body", len(tensors), max(len(states), len(call.node.output)), repeats=True)
    if is_batched:
        return _batched(call, body, states, scanned)
    outputs = len(body.graph.output) - len(states)
    axes = call.integers("scan_input_axes", count, 0)
    inputs = [(value, _axis(call, axis, len(value.type.static), "scan_input_axes")) for value, axis in zip(scanned, axes, strict=True)]
    steps = _steps(call, [value.type.static[axis] for value, axis in inputs])
    run = _Run(
        body=body,
        states=states,
        inputs=inputs,
        steps=steps,
        input_reverse=_flags(call, "scan_input_directions", count),
        output_axes=call.integers("scan_output_axes", outputs, 0),
        output_reverse=_flags(call, "scan_output_directions", outputs),
        names=call.node.output,
    )
    return (_held(call, run) or _walk(call, run))[: len(call.node.output)]


def _held(call: Occurrence, run: _Run) -> list[Value] | None:
    """Return the results of a scan that is not unrolled; None where it is better to."""
    elements = [TensorType(v.type.dtype, (*v.type.static[:axis], *v.type.static[axis + 1 :])) for v, axis in run.inputs]
    if not is_symbolic(run.steps) and run.steps <= 1:
        return None
    for number, type_ in enumerate(elements):
        if counts_in(type_.shape):  # the host walks along the tensor, and does not know how far apart the pieces lie
            if not is_symbolic(run.steps):
                return None
            raise call.error(
                f"scan input {number} has pieces of {type_}, whose size a kernel gives, and is as long as only the run knows; "
                "one of both has to be known"
            )
    before = call.host.unrolled
    try:
        found = body_graph(call, run.body, run.states, is_loop=False, elements=elements)
    except (UndecidedError, UnknownContentsError, RangeError):
        raise  # another import may know more
    except ModelError:
        if is_symbolic(run.steps):
            raise
        return None  # unrolled, it is the step at fault that the error names
    if not is_symbolic(run.steps) and unrolls_to_little(call, run.steps, found, call.host.unrolled - before):
        return None
    axes = [_axis(call, axis, len(type_.static) + 1, "scan_output_axes") for axis, type_ in zip(run.output_axes, found.pieces, strict=True)]
    states, collected, _ = repeated(
        call,
        found,
        trips=run.steps,
        scanned=[(_moved(call, v, axis, 0), back) for (v, axis), back in zip(run.inputs, run.input_reverse, strict=True)],
        collected=run.output_reverse,
        length=run.steps,
    )
    return [*states, *(_moved(call, value, 0, axis) for value, axis in zip(collected, axes, strict=True))]


def _moved(call: Occurrence, value: Value, axis: int, place: int) -> Value:
    """Return a tensor with an axis at another place, the others in order."""
    others = [number for number in range(len(value.type.static)) if number != axis]
    order = (*others[:place], axis, *others[place:])
    return value if axis == place else call.builder.node("Transpose", [value], perm=order)


def _walk(call: Occurrence, run: _Run) -> list[Value]:
    """Import the body once a step; return the last states and the collected outputs."""
    builder, states = call.builder, list(run.states)
    collected: list[list[Value]] = [[] for _ in run.output_axes]
    for step in range(run.steps):
        call.host.spend(1, call.where)
        places = (run.steps - 1 - step if is_reverse else step for is_reverse in run.input_reverse)
        elements = [element(builder, value, axis, place) for (value, axis), place in zip(run.inputs, places, strict=True)]
        names = run.names[: len(states)] if step == run.steps - 1 and run.length is None else ()
        found = run.body.run(call.host, [*states, *elements], label=f"[{run.label}{step}]", results=names)
        tensors = [as_tensor(value, f"result {number}", call.where) for number, value in enumerate(found)]
        for number, (old, new) in enumerate(zip(states, tensors, strict=False)):
            if new.type != old.type:
                raise call.error(
                    f"state variable {number} is {new.type} after step {step} and {old.type} before it; the specification requires one type"
                )
        if run.length is not None:
            tensors = _stopped(call, run.length, step, tensors, states)
        states = tensors[: len(states)]
        for outputs, value in zip(collected, tensors[len(states) :], strict=True):
            outputs.append(value)
    results = []
    for number, values in enumerate(collected):
        place = len(states) + number
        tensor = call.tensor_name(place) if run.names else None
        results.append(_collected(call, run, number, values, tensor) if values else _empty(call, run, number))
    return [*states, *results]


def _stopped(call: Occurrence, length: Value, step: int, tensors: Sequence[Value], states: Sequence[Value]) -> list[Value]:
    """Return the results of a step that may be behind the end: there states stay, and outputs are zero."""
    happens = call.builder.node("Less", [call.constant(np.array(step, length.type.dtype.numpy)), length])
    kept = [*states, *(call.constant(np.zeros((), v.type.dtype.numpy)) for v in tensors[len(states) :])]
    found = []
    for number, (new, old) in enumerate(zip(tensors, kept, strict=True)):
        if number >= len(states):
            found.append(call.builder.node("Where", [happens, new, old]))
        else:
            found.append(as_tensor(select(call, happens, new, old, f"state variable {number}"), "a state", call.where))
    return found


def _collected(call: Occurrence, run: _Run, number: int, values: Sequence[Value], tensor: str | None) -> Value:
    """Return an output from its elements."""
    axis = _axis(call, run.output_axes[number], len(values[0].type.static) + 1, "scan_output_axes")
    return stacked(call.builder, values[::-1] if run.output_reverse[number] else values, axis, tensor)


def _empty(call: Occurrence, run: _Run, number: int) -> Value:
    """Return an output without elements."""
    declared = declared_element(run.body.graph, len(run.states) + number)
    if declared is None:
        raise call.error(f"has no steps, and its body does not declare the shape of output {number}")
    axis = _axis(call, run.output_axes[number], declared.ndim, "scan_output_axes")
    return call.constant(np.moveaxis(declared, 0, axis))


def _batched(call: Occurrence, body: Subgraph, states: Sequence[Value], scanned: Sequence[Value]) -> Sequence[Value | None]:
    """Import Scan-8: one walk for each element of the batch."""
    builder = call.builder
    if any(len(value.type.static) < 2 for value in scanned) or any(not value.type.static for value in states):
        raise call.error("a state variable has no batch dimension, or a scan input no time dimension; the specification requires them")
    batches = {value.type.static[0] for value in (*states, *scanned)}
    if len(batches) != 1:
        raise call.error(f"its operands have batches of {sorted(batches)}; the specification requires one size")
    batch, steps = batches.pop(), _steps(call, [value.type.static[1] for value in scanned])
    lengths = call.optional_tensor(0)
    if lengths is not None and (lengths.type.static != (batch,) or lengths.type.dtype.kind != "int"):
        raise call.error(f"operand 'sequence_lens' has the type {lengths.type}; the specification requires {[batch]} integers")
    if not batch:
        raise call.error("has a batch of 0, which is not supported")
    outputs = len(body.graph.output) - len(states)
    walks = []
    for place in range(batch):
        length = None if lengths is None else element(builder, lengths, 0, place)
        run = _Run(
            body=body,
            states=[element(builder, value, 0, place) for value in states],
            inputs=[(element(builder, value, 0, place), 0) for value in scanned],
            steps=steps,
            input_reverse=_flags(call, "directions", len(scanned)),
            output_axes=(0,) * outputs,
            output_reverse=(False,) * outputs,
            label=f"{place}, ",
            length=length,
        )
        walks.append(_walk(call, run))
    return [stacked(builder, values, 0, call.tensor_name(n)) for n, values in enumerate(zip(*walks, strict=True))][: len(call.node.output)]


def _steps(call: Occurrence, lengths: Sequence[int]) -> int:
    """Return how many steps there are."""
    if not all(same(length, lengths[0]) for length in lengths):
        raise call.error(f"its scan inputs have {', '.join(map(str, lengths))} elements; the specification requires one number")
    return lengths[0]


def _axis(call: Occurrence, axis: int, rank: int, name: str) -> int:
    """Return an axis counted from the front."""
    if not -rank <= axis < rank:
        raise call.error(f"{name} has {axis}; for a tensor of rank {rank} the specification allows {-rank} to {rank - 1}")
    return axis + rank if axis < 0 else axis


def _flags(call: Occurrence, name: str, count: int) -> tuple[bool, ...]:
    """Return an attribute of directions: whether each is reverse."""
    values = call.integers(name, count, 0)
    if any(value not in (0, 1) for value in values):
        raise call.error(f"{name} is {list(values)}; the specification allows 0 and 1")
    return tuple(value == 1 for value in values)


CONSTRUCT = Construct(
    name="Scan",
    build=_build,
    source="ONNX 28, Scan-25 and Scan-8",
    attributes=(
        "body",
        "directions",
        "num_scan_inputs",
        "scan_input_axes",
        "scan_input_directions",
        "scan_output_axes",
        "scan_output_directions",
    ),
    since=8,
)
