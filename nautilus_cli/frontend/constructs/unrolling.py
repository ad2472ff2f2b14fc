"""Loops that are unrolled: one copy of the body an iteration, until it has ended for certain; a condition of the run drops copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from onnx import GraphProto

from nautilus_cli.frontend.constructs.base import Occurrence
from nautilus_cli.frontend.constructs.selection import as_flag, guard, required_to_hold, select
from nautilus_cli.frontend.constructs.stacking import stacked
from nautilus_cli.frontend.entities import Entity, Unavailable, as_tensor
from nautilus_cli.frontend.inputs import declared_type
from nautilus_cli.frontend.subgraph import Subgraph
from nautilus_cli.ir.graph import Value

MOST_CONDITIONAL = 64
"""Iterations of a loop whose end is only known at run time: all of them are computed, and the results of those after its end dropped."""

BIND = "Where that depends on the value of an input, fix it with --bind NAME=VALUE."


@dataclass(slots=True)
class Progress:
    """A loop on its way.

    Attributes:
        states: the loop-carried values.
        collected: what each scan output has got so far.
        running: whether this iteration happens at run time; None where that is certain.
        confirmed: the states as they were when `running` last changed: right whether or not the loop has ended.
        declared: how many iterations a declared output says that there are; None where none does.
        assumed: whether that number is taken for true, because the run alone knows.
        checks: what must hold at run time for it to be true.
    """

    states: Sequence[Entity]
    collected: list[list[Entity]]
    running: Value | None = None
    confirmed: Sequence[Entity] = field(default_factory=tuple)
    declared: int | None = None
    assumed: bool = False
    checks: list[Value] = field(default_factory=list)


def unroll(call: Occurrence, body: Subgraph, progress: Progress, trips: Value | None, limit: int | None, shape: tuple[int, ...]) -> None:
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
        if number == limit:
            break
        flag = as_tensor(going, "its body's condition", call.where)
        if number == progress.declared and (progress.assumed or flag.constant is None):
            progress.assumed = True
            _require_end(call, progress, trips, flag)
            break
        if not _goes_on(call, progress, flag, number):
            break
    if progress.assumed and number != progress.declared:
        raise call.error(f"has {number} iterations, but an output is declared with {progress.declared}")
    _confirm(call, progress)


def take_in(call: Occurrence, progress: Progress, condition: Value, number: int) -> None:
    """Let the next iteration depend on a condition that is only known at run time, or assume it where an output's length says so."""
    flag = as_flag(call.builder, condition)
    if progress.declared is not None and progress.running is None and number < progress.declared:
        progress.assumed = True
        progress.checks.append(flag)
        return
    _confirm(call, progress)
    progress.running = flag if progress.running is None else call.builder.node("And", [progress.running, flag])


def _require_end(call: Occurrence, progress: Progress, trips: Value | None, going: Value) -> None:
    """Check at run time that the loop ends here: by its trip count, or because its body says so."""
    builder = call.builder
    ends: Value | None = None
    if going.constant is None:
        ends = builder.node("Not", [as_flag(builder, going)])
    elif not going.constant.item():
        ends = call.constant(np.bool_(True))
    if trips is None or trips.constant is not None:
        if ends is None:
            raise call.error(f"does not end after {progress.declared} iterations, as many as an output is declared with")
        progress.checks.append(ends)
        return
    wanted = builder.constant(np.array(progress.declared, trips.type.dtype.numpy))
    count = as_flag(builder, trips)
    is_last = builder.node("Equal", [count, wanted])
    if ends is not None:
        is_last = builder.node("Or", [is_last, builder.node("And", [builder.node("Greater", [count, wanted]), ends])])
    progress.checks.append(is_last)


def _goes_on(call: Occurrence, progress: Progress, condition: Value, number: int) -> bool:
    """Take in a body's condition after NUMBER iterations; return False where the loop ends here for certain."""
    if condition.type.elements != 1 or condition.type.dtype.kind != "bool":
        raise call.error(f"its body's condition has the type {condition.type}; the specification requires one bool")
    if condition.constant is not None:
        return bool(condition.constant.item())
    take_in(call, progress, condition, number)
    return True


def _confirm(call: Occurrence, progress: Progress) -> None:
    """Make the states right whether or not the loop has ended."""
    if progress.running is not None:
        progress.states = [
            select(call, progress.running, new, old, f"loop-carried value {number}")
            for number, (new, old) in enumerate(zip(progress.states, progress.confirmed, strict=True))
        ]
    progress.confirmed = progress.states


def _require_few(call: Occurrence, limit: int | None, number: int) -> None:
    """Refuse to compute many iterations that may not happen."""
    if limit is None or limit - number > MOST_CONDITIONAL:
        bound = "without a trip count" if limit is None else f"with {limit - number} iterations that may or may not happen"
        raise call.error(
            f"its condition is only known at run time, {bound}; at most {MOST_CONDITIONAL} such iterations are computed",
            f"{BIND} Otherwise give the loop a small trip count.",
        )


def scan_outputs(call: Occurrence, body: Subgraph, progress: Progress) -> list[Entity]:
    """Return the scan outputs."""
    results: list[Entity] = []
    count = len(progress.states)
    checks = progress.checks
    for number, values in enumerate(progress.collected):
        if progress.running is not None:
            results.append(unavailable(call, number))
        elif values:
            tensors = [as_tensor(value, f"scan output {number}", call.where) for value in values]
            result = stacked(call.builder, tensors, 0, call.tensor_name(count + number))
            if checks and call.declared(count + number):
                result, checks = required_to_hold(call.builder, result, checks), []
            results.append(result)
        else:
            results.append(_empty(call, body, progress, number))
    return results


def unavailable(call: Occurrence, number: int) -> Unavailable:
    """Return what stands for a scan output whose length only the run knows."""
    return Unavailable(
        f"reads scan output {number} of {call.where}: it has as many elements as the loop has iterations, which is only known at run time"
    )


def _empty(call: Occurrence, body: Subgraph, progress: Progress, number: int) -> Value:
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
