"""Loop: unrolled, one copy of its body an iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from onnx import GraphProto

from nautilus_cli.frontend.constructs.base import Construct, Occurrence
from nautilus_cli.frontend.constructs.selection import as_flag, guard, select
from nautilus_cli.frontend.constructs.stacking import stacked
from nautilus_cli.frontend.entities import Entity, Unavailable, as_tensor
from nautilus_cli.frontend.inputs import declared_type
from nautilus_cli.frontend.subgraph import Subgraph
from nautilus_cli.ir.graph import Value

MOST_CONDITIONAL = 64
"""Iterations of a loop whose end is only known at run time: all of them are computed, and the results of those after its end dropped."""

BIND = "Where that depends on the value of an input, fix it with --bind NAME=VALUE."


@dataclass(slots=True)
class _Progress:
    """A loop on its way.

    Attributes:
        states: the loop-carried values.
        collected: what each scan output has got so far.
        running: whether this iteration happens at run time; None where that is certain.
        settled: the states as they were when `running` last changed: right whether or not the loop has ended.
    """

    states: Sequence[Entity]
    collected: list[list[Entity]]
    running: Value | None = None
    settled: Sequence[Entity] = field(default_factory=tuple)


def _build(call: Occurrence) -> Sequence[Entity | None]:
    call.count(2, None)
    trips, condition = call.single(0, "iu", "M"), call.single(1, "b", "cond")
    states = [call.required(number) for number in range(2, len(call.operands))]
    body = call.body("body", 2 + len(states), 1 + max(len(states), len(call.node.output)), repeats=True)
    if trips is not None and trips.constant is None:
        raise call.error("its trip count is only known at run time, which is not supported", BIND)
    limit = None if trips is None or trips.constant is None else int(trips.constant.item())
    progress = _Progress(states, [[] for _ in body.graph.output[1 + len(states) :]], settled=states)
    if condition is None or condition.constant is None or condition.constant.item():
        progress.running = None if condition is None or condition.constant is not None else as_flag(call.builder, condition)
        _unroll(call, body, progress, limit, () if condition is None else condition.type.static)
    return [*progress.states, *_outputs(call, body, progress)][: len(call.node.output)]


def _unroll(call: Occurrence, body: Subgraph, progress: _Progress, limit: int | None, shape: tuple[int, ...]) -> None:
    """Import iterations until the loop has ended for certain."""
    true = call.constant(np.ones(shape, bool))
    count = len(progress.states)
    number = 0
    while limit is None or number < limit:
        if progress.running is not None:
            _require_few(call, limit, number)
        call.host.spend(1, call.where)
        start = len(call.builder.nodes)
        names = ["", *call.node.output[:count]] if limit == number + 1 and progress.running is None else ()
        inputs = (call.constant(np.int64(number)), true, *progress.states)
        going, *found = body.run(call.host, inputs, label=f"[{number}]", results=names)
        if progress.running is not None:
            guard(call.builder, start, progress.running)
        progress.states = found[:count]
        for outputs, value in zip(progress.collected, found[count:], strict=True):
            outputs.append(value)
        number += 1
        if number == limit or not _goes_on(call, progress, as_tensor(going, "its body's condition", call.where)):
            break
    _settle(call, progress)


def _goes_on(call: Occurrence, progress: _Progress, condition: Value) -> bool:
    """Take in a body's condition; return False where the loop ends here for certain."""
    if condition.type.elements != 1 or condition.type.dtype.kind != "bool":
        raise call.error(f"its body's condition has the type {condition.type}; the specification requires one bool")
    if condition.constant is not None:
        return bool(condition.constant.item())
    _settle(call, progress)
    flag = as_flag(call.builder, condition)
    progress.running = flag if progress.running is None else call.builder.node("And", [progress.running, flag])
    return True


def _settle(call: Occurrence, progress: _Progress) -> None:
    """Make the states right whether or not the loop has ended."""
    if progress.running is not None:
        progress.states = [
            select(call, progress.running, new, old, f"loop-carried value {number}")
            for number, (new, old) in enumerate(zip(progress.states, progress.settled, strict=True))
        ]
    progress.settled = progress.states


def _require_few(call: Occurrence, limit: int | None, number: int) -> None:
    """Refuse to compute many iterations that may not happen."""
    if limit is None or limit - number > MOST_CONDITIONAL:
        bound = "without a trip count" if limit is None else f"with {limit - number} iterations that may or may not happen"
        raise call.error(
            f"its condition is only known at run time, {bound}; at most {MOST_CONDITIONAL} such iterations are computed",
            f"{BIND} Otherwise give the loop a small trip count.",
        )


def _outputs(call: Occurrence, body: Subgraph, progress: _Progress) -> list[Entity]:
    """Return the scan outputs."""
    results: list[Entity] = []
    count = len(progress.states)
    for number, values in enumerate(progress.collected):
        if progress.running is not None:
            results.append(
                Unavailable(
                    f"reads scan output {number} of {call.where}: it has as many elements as the loop has iterations, "
                    "which is only known at run time"
                )
            )
        elif values:
            tensors = [as_tensor(value, f"scan output {number}", call.where) for value in values]
            results.append(stacked(call.builder, tensors, 0, call.tensor_name(count + number)))
        else:
            results.append(_empty(call, body, progress, number))
    return results


def _empty(call: Occurrence, body: Subgraph, progress: _Progress, number: int) -> Value:
    """Return a scan output without elements."""
    declared = declared_element(body.graph, 1 + len(progress.states) + number)
    if declared is None:  # what the body would give says what shape it would have
        inputs = (call.constant(np.int64(0)), call.constant(np.bool_(True)), *progress.states)
        found = body.run(call.host, inputs, label="[0]")[1 + len(progress.states) + number]
        value = as_tensor(found, f"scan output {number}", call.where)
        declared = np.zeros((0, *value.type.static), value.type.dtype.numpy)
    return call.constant(declared)


def declared_element(graph: GraphProto, number: int) -> np.ndarray | None:
    """Return no elements of the type that a body declares for an output, None where it leaves that open."""
    info = graph.output[number]
    if not info.type.HasField("tensor_type") or not info.type.tensor_type.elem_type:
        return None
    declared = declared_type(info, "subgraph output")
    if declared.dims is None or not all(isinstance(dim, int) for dim in declared.dims):
        return None
    return np.zeros((0, *(int(dim) for dim in declared.dims if isinstance(dim, int))), declared.dtype.numpy)


CONSTRUCT = Construct(name="Loop", build=_build, source="ONNX 28, Loop-25")
