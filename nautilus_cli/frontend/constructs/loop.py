"""Loop: unrolled, one copy of its body an iteration, where it has few; else a node that holds its body, which the run repeats.

It is unrolled too where its states are no tensors, or not of one type throughout. How many iterations there are must then be known, or
bounded by a small number; a declared output of the model may say it as well, and then the run checks that it is so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.constructs.base import Construct, Occurrence
from nautilus_cli.frontend.constructs.growing import Growing
from nautilus_cli.frontend.constructs.held import given_by_a_kernel
from nautilus_cli.frontend.constructs.loop_body import Body, body_graph, cut_to, repeated, without_pieces
from nautilus_cli.frontend.constructs.selection import as_flag
from nautilus_cli.frontend.constructs.unrolling import BIND, Progress, scan_outputs, take_in, unavailable, unroll
from nautilus_cli.frontend.element_values import is_candidate
from nautilus_cli.frontend.entities import Entity
from nautilus_cli.frontend.subgraph import Subgraph
from nautilus_cli.ir.counts import ceiling
from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ir.undecided import UndecidedError
from nautilus_cli.ops.operands import RangeError, UnknownContentsError, shortened
from nautilus_cli.ops.wide import cast

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


def _build(call: Occurrence) -> Sequence[Entity | None]:
    call.count(2, None)
    trips, condition = call.single(0, "iu", "M"), call.single(1, "b", "cond")
    states = [call.required(number) for number in range(2, len(call.operands))]
    body = call.body("body", 2 + len(states), 1 + max(len(states), len(call.node.output)), repeats=True)
    outputs: list[list[Entity]] = [[] for _ in body.graph.output[1 + len(states) :]]
    progress = Progress(states, outputs, confirmed=states, declared=_declared(call, len(states)))
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
            take_in(call, progress, condition, 0)
        unroll(call, body, progress, trips, limit, () if condition is None else condition.type.static)
    return [*progress.states, *scan_outputs(call, body, progress)][: len(call.node.output)]


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
    if trips is None and declared is None and not found.is_conditional and not found.is_last:
        raise call.error("never ends: it has no trip count, and its condition stays true")
    if declared is not None and not (is_certain and limit is not None):
        return None, ""  # the declared length is held against the run's
    if _is_better_unrolled(call, found, trips, limit, work=call.host.unrolled - before, is_certain=is_certain):
        return None, ""
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
        return [*after, *(unavailable(call, number) for number in range(len(found.pieces)))], ""
    if count is not None and trips is not None:
        _ask_for(call, trips)
    return _counted(call, found.counting or found, known, count, start), ""


def _is_better_unrolled(call: Occurrence, body: Body, trips: Value | None, limit: int | None, *, work: int, is_certain: bool) -> bool:
    """Whether a loop that need not be unrolled is: it is short, or ends by what is known.

    Args:
        call: the loop.
        body: as a graph.
        trips: how often it runs at most; None where only its condition ends it.
        limit: the same where it is a constant.
        work: nodes that loops in it unrolled to.
        is_certain: whether nothing ends it earlier.
    """
    if limit is not None and (is_certain or not body.growing.axes):  # of states of several shapes none can be chosen
        most = MOST_UNROLLED_NODES if is_certain else MOST_CHECKED_NODES
        if unrolls_to_little(call, limit, body, work, most):
            return True
    return (trips is None or limit is not None) and (body.is_last or body.has_known_end)


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
    trips = None if trips is None else ceiling(trips)  # the host plans for them, and does not know what a kernel counts
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


def _declared(call: Occurrence, states: int) -> int | None:
    """Return how many iterations a scan output has that the model declares as an output of its own, with a length."""
    for number in range(states, len(call.node.output)):
        dims = call.declared(number)
        if dims and isinstance(dims[0], int) and dims[0] > 0:
            return dims[0]
    return None


CONSTRUCT = Construct(name="Loop", build=_build, source="ONNX 28, Loop-25", attributes=("body",))
