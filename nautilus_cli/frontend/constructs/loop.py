"""Loop: unrolled, one copy of its body an iteration, where it has few; else a node that holds its body, which the run repeats.

It is unrolled too where its states are no tensors, or not of one type throughout. How many iterations there are must then be known, or
bounded by a small number; a declared output of the model may say it as well, and then the run checks that it is so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from onnx import GraphProto

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.constructs.base import Construct, Occurrence
from nautilus_cli.frontend.constructs.growing import Growing
from nautilus_cli.frontend.constructs.held import given_by_a_kernel
from nautilus_cli.frontend.constructs.loop_body import Body, body_graph, cut_to, repeated, without_pieces
from nautilus_cli.frontend.constructs.selection import as_flag, guard, required_to_hold, select
from nautilus_cli.frontend.constructs.stacking import stacked
from nautilus_cli.frontend.element_values import is_candidate
from nautilus_cli.frontend.entities import Entity, Unavailable, as_tensor
from nautilus_cli.frontend.inputs import declared_type
from nautilus_cli.frontend.subgraph import Subgraph
from nautilus_cli.ir.counts import ceiling
from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ir.undecided import UndecidedError
from nautilus_cli.ops.operands import RangeError, UnknownContentsError, shortened
from nautilus_cli.ops.wide import cast

MOST_CONDITIONAL = 64
"""Iterations of a loop whose end is only known at run time: all of them are computed, and the results of those after its end dropped."""

MOST_UNROLLED = 64
"""Iterations of a loop that is unrolled although it need not be."""

MOST_UNROLLED_NODES = 2000
"""Nodes that such a loop unrolls to."""

MOST_CHOSEN_NODES = 10_000
"""Nodes and iterations, those of trials included, that loops of a model unroll to which need not: more are left for those which must."""

MOST_CHECKED_NODES = 200
"""Nodes that a loop whose end is only known at run time unrolls to: all are computed, which is quicker than to wait for its condition."""

MOST_PIECES = 512
"""Iterations of a loop whose end only the run knows, where it has scan outputs and the model gives no small bound: there is memory for
so many."""

MOST_BOUND = 1 << 16
"""Greatest bound of a model's own for which memory is planned."""

BIND = "Where that depends on the value of an input, fix it with --bind NAME=VALUE."


@dataclass(slots=True)
class _Progress:
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


def _build(call: Occurrence) -> Sequence[Entity | None]:
    call.count(2, None)
    trips, condition = call.single(0, "iu", "M"), call.single(1, "b", "cond")
    states = [call.required(number) for number in range(2, len(call.operands))]
    body = call.body("body", 2 + len(states), 1 + max(len(states), len(call.node.output)), repeats=True)
    outputs: list[list[Entity]] = [[] for _ in body.graph.output[1 + len(states) :]]
    progress = _Progress(states, outputs, confirmed=states, declared=_declared(call, len(states)))
    limit = None if trips is None or trips.constant is None else int(trips.constant.item())
    results, why = _held(call, body, states, trips, condition, progress.declared)
    if results is not None:
        return results[: len(call.node.output)]
    if trips is not None and trips.constant is None:
        if progress.declared is None:
            raise call.error(f"its trip count is only known at run time{why}", BIND)
        progress.assumed = True
    if condition is None or condition.constant is None or condition.constant.item():
        if condition is not None and condition.constant is None:
            _take_in(call, progress, condition, 0)
        _unroll(call, body, progress, trips, limit, () if condition is None else condition.type.static)
    return [*progress.states, *_outputs(call, body, progress)][: len(call.node.output)]


def _held(
    call: Occurrence, body: Subgraph, states: Sequence[Entity], trips: Value | None, condition: Value | None, declared: int | None
) -> tuple[Sequence[Entity] | None, str]:
    """Return the results of a loop that is not unrolled; None where it is better to, or must be, and why it must."""
    limit = None if trips is None or trips.constant is None else int(trips.constant.item())
    if (condition is not None and condition.constant is not None and not condition.constant.item()) or (limit is not None and limit < 1):
        return None, ""
    before = call.host.unrolled
    numbers = limit is None or limit * len(body.varying) > MOST_CHOSEN_NODES  # else copies of the body know more of theirs
    try:
        bound = partial(_bound, call, trips=trips, limit=limit)
        found = body_graph(call, body, states, is_loop=True, bound=bound, lets_numbers_decide=numbers)
    except (UndecidedError, RangeError):
        raise  # another import may know more
    except ModelError as error:
        if isinstance(error, UnknownContentsError) and (error.inputs or (numbers and not call.builder.lets_numbers_decide)):
            raise  # so it may of these inputs, or let kernels give what decides shapes
        return None, f", and its body cannot be repeated as it is: {error.message}"
    is_counted = condition is None or condition.constant is not None
    is_certain = is_counted and not found.is_conditional
    few = MOST_UNROLLED_NODES if is_certain else MOST_CHECKED_NODES
    if trips is None and declared is None and not found.is_conditional and not found.is_last:
        raise call.error("never ends: it has no trip count, and its condition stays true")
    is_open = trips is not None and limit is None
    is_short = limit is not None and unrolls_to_little(call, limit, found, call.host.unrolled - before, few)
    is_short = is_short and (is_certain or not found.growing.axes)  # of states of several shapes none can be chosen
    if is_short or (not is_open and (found.is_last or found.has_known_end)):
        return None, ""
    if declared is not None and not (is_certain and limit is not None):
        return None, ""  # the declared length is held against the run's
    sizes = None if trips is None else call.builder.sizes_in(trips)
    known = limit if sizes is None else sizes.item()
    if known is not None and found.is_last:
        known = minimum(known, 1)
    count = None if trips is None or known is not None else _as_count(call, trips)
    if count is not None and found.is_last:
        count = call.builder.node("Min", [count, call.constant(np.int64(1))])
    start = None if is_counted or condition is None else as_flag(call.builder, condition)
    if is_certain and known is not None:
        after, collected, _ = repeated(call, found, trips=known, collected=(False,) * len(found.pieces), length=maximum(known, 0))
        return [*after, *collected], ""
    if not _read(call, len(states)):
        after, _, _ = repeated(call, without_pieces(found), trips=known, count=count, start=start)
        return [*after, *(_unavailable(call, number) for number in range(len(found.pieces)))], ""
    if count is not None and trips is not None:
        _ask_for(call, trips)
    return _counted(call, found.counting or found, known, count, start), ""


def unrolls_to_little(call: Occurrence, trips: int, body: Body, work: int, few: int = MOST_UNROLLED_NODES) -> bool:
    """Whether a loop that need not be unrolled is.

    Args:
        call: the node.
        trips: iterations.
        body: of it.
        work: nodes and iterations that BODY took to import; of loops in loops that is many times its nodes.
        few: nodes that it may unroll to.
    """
    is_small = trips <= MOST_UNROLLED and trips * len(body.graph.nodes) <= few
    return is_small and call.host.unrolled + trips * work <= MOST_CHOSEN_NODES


def _bound(call: Occurrence, growing: Growing, trips: Value | None, limit: int | None) -> int:
    """Return how often a loop runs at most, of which states change their sizes.

    Raises:
        UnknownContentsError: another import knows it.
        RangeError: another import knows more of it.
    """
    sizes = None if trips is None else call.builder.sizes_in(trips)
    known = limit if sizes is None else sizes.item()
    if known is None and trips is not None:
        _ask_for(call, trips)
    known = None if known is None else maximum(1, ceiling(known))
    if known is not None and upper(known) > MOST_BOUND and (cuts := shortened((TensorType(I64, (known,)),))):
        raise RangeError({name: (cut.low, cut.high) for name, cut in cuts.items()}, is_default=True)
    growth = [(n, upper(size.change), upper(ceiling(size.first))) for n, size in enumerate(growing.sizes) if not size.is_set]
    given = {n: call.builder.bounds.of(call.builder.own_name(growing.name(call, n))) for n, step, _ in growth if step > 0}
    few = [max(1, (most - first) // step) for n, step, first in growth if (most := given.get(n)) is not None]
    if few:
        known = min(few) if known is None else minimum(known, min(few))
    if known is None and given:
        call.host.note(
            f"{call.where} ends when the run says, and its states grow without a bound: up to {MOST_PIECES} iterations are taken; "
            f"--dim {growing.name(call, next(iter(given)))}=0..N sets another."
        )
    return MOST_PIECES if known is None else known


def _ask_for(call: Occurrence, trips: Value) -> None:
    """Ask for the trip count as an expression of elements of inputs, of which the host knows how long the scan outputs are.

    Raises:
        UnknownContentsError: another import can have it so.
    """
    behind = call.builder.unread_inputs(trips)
    if behind and all(is_candidate(value.type) for value in behind.values()):
        error = UnknownContentsError(0, "M")
        error.inputs = tuple(behind)
        raise error


def _read(call: Occurrence, states: int) -> bool:
    """Whether scan outputs are wanted."""
    return any(call.node.output[states:])


def _counted(call: Occurrence, found: Body, trips: int | None, count: Value | None, start: Value | None) -> Sequence[Entity]:
    """Return the results of a loop whose scan outputs have a length that only its end tells."""
    name = call.size_name(found.count)
    bound = _most_pieces(call, name, trips)
    reverse = (False,) * len(found.pieces)
    after, collected, number = repeated(
        call, found, trips=trips, count=count, start=start, collected=reverse, length=bound, is_whole=False, most=upper(bound)
    )
    assert number is not None
    length = call.builder.count(name, bound)
    call.builder.holds(length, given_by_a_kernel(call, number))
    first = found.count
    return [*after, *(cut_to(call, value, length, call.tensor_name(first + place)) for place, value in enumerate(collected))]


def _most_pieces(call: Occurrence, name: str, trips: int | None) -> int:
    """Return how many pieces scan outputs can have: as the user says, else the model, else by default."""
    given = call.builder.bounds.of(call.builder.own_name(name))
    is_known = trips is not None and upper(trips) <= MOST_BOUND
    if given is not None:
        return given if trips is None or not is_known else minimum(maximum(trips, 0), given)
    if trips is not None and is_known:
        return maximum(trips, 0)
    call.host.note(
        f"{call.where} ends when the run says, and its scan outputs have no bound: up to {MOST_PIECES} iterations are taken; "
        f"--dim {name}=0..N sets another."
    )
    return MOST_PIECES


def _as_count(call: Occurrence, trips: Value) -> Value:
    """Return a trip count as a scalar of int64."""
    return cast(call.builder, as_flag(call.builder, trips), I64)


def _unavailable(call: Occurrence, number: int) -> Unavailable:
    return Unavailable(
        f"reads scan output {number} of {call.where}: it has as many elements as the loop has iterations, which is only known at run time"
    )


def _declared(call: Occurrence, states: int) -> int | None:
    """Return how many iterations a scan output has that the model declares as an output of its own, with a length."""
    for number in range(states, len(call.node.output)):
        dims = call.declared(number)
        if dims and isinstance(dims[0], int) and dims[0] > 0:
            return dims[0]
    return None


def _unroll(call: Occurrence, body: Subgraph, progress: _Progress, trips: Value | None, limit: int | None, shape: tuple[int, ...]) -> None:
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


def _require_end(call: Occurrence, progress: _Progress, trips: Value | None, going: Value) -> None:
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


def _goes_on(call: Occurrence, progress: _Progress, condition: Value, number: int) -> bool:
    """Take in a body's condition after NUMBER iterations; return False where the loop ends here for certain."""
    if condition.type.elements != 1 or condition.type.dtype.kind != "bool":
        raise call.error(f"its body's condition has the type {condition.type}; the specification requires one bool")
    if condition.constant is not None:
        return bool(condition.constant.item())
    _take_in(call, progress, condition, number)
    return True


def _take_in(call: Occurrence, progress: _Progress, condition: Value, number: int) -> None:
    """Let the next iteration depend on a condition that is only known at run time, or assume it where an output's length says so."""
    flag = as_flag(call.builder, condition)
    if progress.declared is not None and progress.running is None and number < progress.declared:
        progress.assumed = True
        progress.checks.append(flag)
        return
    _confirm(call, progress)
    progress.running = flag if progress.running is None else call.builder.node("And", [progress.running, flag])


def _confirm(call: Occurrence, progress: _Progress) -> None:
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


def _outputs(call: Occurrence, body: Subgraph, progress: _Progress) -> list[Entity]:
    """Return the scan outputs."""
    results: list[Entity] = []
    count = len(progress.states)
    checks = progress.checks
    for number, values in enumerate(progress.collected):
        if progress.running is not None:
            results.append(_unavailable(call, number))
        elif values:
            tensors = [as_tensor(value, f"scan output {number}", call.where) for value in values]
            result = stacked(call.builder, tensors, 0, call.tensor_name(count + number))
            if checks and call.declared(count + number):
                result, checks = required_to_hold(call.builder, result, checks), []
            results.append(result)
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


CONSTRUCT = Construct(name="Loop", build=_build, source="ONNX 28, Loop-25", attributes=("body",))
