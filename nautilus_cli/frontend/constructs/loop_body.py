"""Loops that are not unrolled: a body that the run walks through, as a node that holds its graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nautilus_cli.frontend.constructs.base import Occurrence
from nautilus_cli.frontend.constructs.growing import MOST_ROUNDS, Growing
from nautilus_cli.frontend.constructs.held import closed, held
from nautilus_cli.frontend.constructs.selection import required_to_hold
from nautilus_cli.frontend.entities import Entity, as_tensor
from nautilus_cli.frontend.required_numbers import taken_conditions
from nautilus_cli.frontend.subgraph import Subgraph
from nautilus_cli.ir.control import LoopAttrs
from nautilus_cli.ir.counts import counts_in
from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.rewrite import prune
from nautilus_cli.ir.types import BOOL, I64, TensorType
from nautilus_cli.ir.undecided import UndecidedError
from nautilus_cli.ops.builder import GraphBuilder

MOST_ITERATIONS = 1 << 20
"""Of a loop whose trip count is known before a run."""

MOST_OPEN_ITERATIONS = 1 << 16
"""Of one whose end only the run knows: one that never ends is an error after a few seconds."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Body:
    """A loop's body as a graph of its own.

    Attributes:
        graph: as `LoopAttrs` has it.
        count: how many states the model's loop has.
        states: what the states are before the first iteration: those that change, then, where the body reads it, the iteration's number.
        changing: which of the model's states they are; None for the iteration's number, -1 and below for the sizes of states.
        kept: the model's states that are not among them, by place: what they always are.
        pieces: types of what it adds to the collected results.
        outside: what it reads from around it.
        is_conditional: whether its first result says that the loop goes on.
        is_last: whether the first iteration is the last one.
        has_known_end: whether its first result follows from constants: an iteration's number, or a state that counts, decides the end.
        before: the model's states before the first iteration.
        growing: the sizes of states that change.
        counting: the same with the iteration's number among its states, where that is not among them already.
    """

    graph: Graph
    count: int
    states: tuple[Value, ...]
    changing: tuple[int | None, ...]
    kept: dict[int, Value]
    pieces: tuple[TensorType, ...]
    outside: list[Value]
    is_conditional: bool
    is_last: bool
    has_known_end: bool
    before: tuple[Value, ...]
    growing: Growing
    counting: Body | None = None


def body_graph(
    call: Occurrence,
    body: Subgraph,
    states: Sequence[Entity],
    *,
    is_loop: bool,
    elements: Sequence[TensorType] = (),
    bound: Callable[[Growing], int] | None = None,
    lets_numbers_decide: bool = True,
) -> Body:
    """Import a body once, of which nothing is known but the types of what it reads.

    Args:
        call: the node.
        body: of it.
        states: before the first iteration.
        is_loop: whether it takes the iteration's number and a condition, and gives a condition, as that of a Loop.
        elements: types of the pieces that it takes behind the states, as that of a Scan.
        bound: gives how many iterations there are at most, where states turn out to change their sizes; None where they must not.
        lets_numbers_decide: whether numbers that the body computes may decide shapes, where those of the model may.

    Raises:
        ModelError: what it gives is not of the types that it takes, or no tensor.
    """
    before = [as_tensor(state, f"state {number}", call.where) for number, state in enumerate(states)]
    pieces = [Value(type_) for type_ in elements]
    body.hoist(call.host)
    once = _imported(call, body, before, pieces, is_loop, bound, lets_numbers_decide)
    initial = [*once.growing.elements(call, before), *once.growing.first(call)]
    for place, piece in enumerate(once.given):
        if counts_in(piece.type):
            raise call.error(
                f"scan output {place} grows by {piece.type} in an iteration, whose size the iteration decides; one size is required"
            )
    if once.flag is not None and (once.flag.type.elements != 1 or once.flag.type.dtype != BOOL):
        raise call.error(f"its body's condition has the type {once.flag.type}; the specification requires one bool")
    initial.append(call.constant(np.zeros((), np.int64)))
    return _without_what_stays(before, initial, once)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Iteration:
    """What one import of a body gave.

    Attributes:
        builder: what has its nodes.
        carried: the states before the iteration: the model's, sizes of those that change, and the iteration's number.
        following: the same behind it.
        pieces: what it takes pieces of.
        given: what it adds to the collected results.
        flag: whether the loop goes on; None where the body does not say.
        growing: the sizes of states that change.
    """

    builder: GraphBuilder
    carried: Sequence[Value]
    following: Sequence[Value]
    pieces: Sequence[Value]
    given: Sequence[Value]
    flag: Value | None
    growing: Growing

    def graph(self, known: Mapping[Value, Value], changing: Sequence[int], condition: Value | None) -> tuple[Graph, list[Value]]:
        """Return the graph of the states of the numbers CHANGING, and what it reads from around it.

        Args:
            known: what other states always are.
            changing: numbers of states.
            condition: the graph's first result; None where it has none.
        """
        taken = [*((f"state {n}", self.carried[n]) for n in changing), *((f"piece {n}", v) for n, v in enumerate(self.pieces))]
        goes_on = [] if condition is None else [("goes on", condition)]
        left = [*((f"state {n}", self.following[n]) for n in changing), *((f"piece {n}", v) for n, v in enumerate(self.given))]
        return closed(self.builder, taken, [*goes_on, *left], known=known)


def _imported(
    call: Occurrence,
    body: Subgraph,
    before: Sequence[Value],
    pieces: Sequence[Value],
    is_loop: bool,
    bound: Callable[[Growing], int] | None,
    lets_numbers_decide: bool,
) -> _Iteration:
    """Import a body until the sizes of its states are known; arguments as those of `body_graph`."""
    growing = Growing(iterations=1)
    for _ in range(MOST_ROUNDS):
        number = Value(TensorType(I64, ()))
        with call.host.apart() as builder:
            if not lets_numbers_decide:
                builder.keep_numbers_out()
            growing, carried, seen, sizes = growing.enter(call, before, call.origin)
            first: list[Entity] = [number, call.constant(np.ones((), bool))] if is_loop else []
            given_back = _run(call, body, [*first, *seen, *pieces], growing)
            found = [as_tensor(value, f"result {place} of its body", call.where) for place, value in enumerate(given_back)]
            flag = found.pop(0) if is_loop else None
            following, given = found[: len(before)], found[len(before) :]
            learned = growing.learn(before, following) if bound is not None else None
            if learned is None:
                _require_same(call, before, following)
            if learned is None or learned is growing:
                following = [*growing.elements(call, following), *growing.following(call, following)]
                carried += sizes
                flag = _check(builder, flag, carried, following, given)
                following.append(builder.node("Add", [number, builder.constant(np.ones((), np.int64))]))
                carried.append(number)
                break
            builder.discard()
        assert bound is not None
        growing = replace(learned, iterations=bound(learned))
    else:
        raise call.error("its states have other sizes in each iteration, which follow no rule; one type and shape is required")
    return _Iteration(builder=builder, carried=carried, following=following, pieces=pieces, given=given, flag=flag, growing=growing)


def _without_what_stays(before: Sequence[Value], initial: Sequence[Value], once: _Iteration) -> Body:
    """Return a body of the states that change, INITIAL before the first iteration."""
    count, carried, following, flag = len(before), once.carried, once.following, once.flag
    kept = {place: initial[place] for place, value in enumerate(following) if value is carried[place]}
    known = {carried[place]: value for place, value in kept.items()}
    changing = [place for place in range(len(carried)) if place not in kept]
    is_conditional = flag is not None and flag.constant is None
    condition = flag if is_conditional else None
    graph, outside = once.graph(known, changing, condition)
    whole = Body(
        graph=graph,
        count=count,
        states=tuple(initial[place] for place in changing),
        changing=tuple(place if place < count else None if place == len(carried) - 1 else count - 1 - place for place in changing),
        kept={place: value for place, value in kept.items() if place < count},
        pieces=tuple(value.type for value in once.given),
        outside=outside,
        is_conditional=is_conditional,
        is_last=flag is not None and flag.constant is not None and not flag.constant.item(),
        before=tuple(before),
        growing=once.growing,
        has_known_end=is_conditional and flag is not None and _follows_from_constants(flag, initial, once),
    )
    number = carried[-1]
    read = [value for node in graph.nodes if node.outputs[0] is not following[-1] for value in node.operands()]
    if any(value is number for value in (*read, *following[:-1], *once.given)):
        return whole
    graph, outside = once.graph(known, changing[:-1], condition)
    return replace(whole, graph=graph, outside=outside, states=whole.states[:-1], changing=whole.changing[:-1], counting=whole)


def _run(call: Occurrence, body: Subgraph, operands: Sequence[Entity], growing: Growing) -> Sequence[Entity]:
    """Import a body; a size that changes may leave a question open, which is no reason to import the model anew."""
    try:
        return body.run(call.host, operands)
    except UndecidedError as error:
        if not growing.sizes:
            raise
        raise call.error(f"the sizes of its states change, and {error}") from error


def _check(builder: GraphBuilder, flag: Value | None, carried: Sequence[Value], following: list[Value], given: list[Value]) -> Value | None:
    """Let what an iteration gives wait for checks of the numbers that decide shapes in it; return its condition.

    Args:
        builder: what has the body's nodes.
        flag: the condition; None where there is none.
        carried: the states before the iteration.
        following: the states behind it; one that changes may be replaced.
        given: the pieces that it adds to collected results; where no state changes, the first one is replaced.
    """
    conditions = taken_conditions(builder)
    if not conditions:
        return flag
    if flag is not None and flag.constant is None:
        return required_to_hold(builder, flag, conditions)
    changing = [place for place, value in enumerate(following) if value is not carried[place]]
    for values, place in ((following, changing[:1]), (given, [0] if given and not changing else [])):
        for number in place:
            values[number] = required_to_hold(builder, values[number], conditions)
    return flag


def _require_same(call: Occurrence, before: Sequence[Value], after: Sequence[Value]) -> None:
    for place, (old, new) in enumerate(zip(before, after, strict=True)):
        if old.type != new.type:
            raise call.error(f"state {place} is {old.type} before an iteration and {new.type} after it; one type and shape is required")


def _follows_from_constants(flag: Value, initial: Sequence[Value], once: _Iteration) -> bool:
    """Whether a value of each iteration follows from constants: from states that begin as one and go on as what follows from constants."""
    nodes = once.builder.nodes
    constant = {state for state, first in zip(once.carried, initial, strict=True) if first.constant is not None}
    before = len(once.carried) + 1
    while before != len(constant):
        before = len(constant)
        steps = zip(once.carried, once.following, strict=True)
        constant = {state for state, after in steps if state in constant and _sources(nodes, after) <= constant}
    return _sources(nodes, flag) <= constant


def _sources(nodes: Sequence[Node], value: Value) -> set[Value]:
    """Return what a value depends on that no constant is and none of the nodes computes."""
    made = {result: node for node in nodes for result in node.results()}
    sources: set[Value] = set()
    seen: set[Value] = set()
    pending = [value]
    while pending:
        found = pending.pop()
        if found in seen or found.constant is not None:
            continue
        seen.add(found)
        if found in made:
            pending.extend(made[found].operands())
        else:
            sources.add(found)
    return sources


def without_pieces(body: Body) -> Body:
    """Return a body that adds to no collected results: of their length, nothing is known."""
    kept = len(body.graph.outputs) - len(body.pieces)
    return replace(body, graph=prune(replace(body.graph, outputs=body.graph.outputs[:kept])), pieces=())


def cut_to(call: Occurrence, value: Value, count: int, tensor: str | None) -> Value:
    """Return the first COUNT pieces of a collected result, a size that a kernel gives."""
    sizes = call.builder.sizes
    (found,) = call.builder.apply("Slice", [value, sizes([0]), sizes([count]), sizes([0])], outputs=(tensor,))
    assert found is not None
    return found


def repeated(
    call: Occurrence,
    body: Body,
    *,
    trips: int | None = None,
    count: Value | None = None,
    start: Value | None = None,
    scanned: Sequence[tuple[Value, bool]] = (),
    collected: Sequence[bool] = (),
    length: int = 0,
    is_whole: bool = True,
    most: int = MOST_OPEN_ITERATIONS,
) -> tuple[list[Value], list[Value], Value | None]:
    """Append a loop; return the states behind it, in the order of the model's, the collected results, and, where it counts, the iterations.

    Args:
        call: the node.
        body: of it.
        trips: how many iterations there are at most, where that is known.
        count: a scalar of int64 that says it, where that is not known.
        start: a scalar that says whether the loop begins; None where it does.
        scanned: what each iteration reads a piece of, and whether from its end.
        collected: of each result that grows, whether at its front.
        length: how long these are.
        is_whole: whether they are what the model calls its scan outputs; else a part of each is.
        most: iterations after which it is an error to go on.
    """
    if not body.states and not collected:
        return [body.kept[place] for place in sorted(body.kept)], [], None
    is_bounded = trips is not None
    if counts_in(trips):  # the host reads it as any other number of the run
        assert trips is not None
        _require_in_order(call, scanned, collected)
        count, trips = call.builder.node("Reshape", [call.builder.sizes((trips,)), call.constant(np.empty(0, np.int64))]), None
    growth = [upper(body.growing.iterations)] if body.growing.axes else [MOST_ITERATIONS]
    attrs = LoopAttrs(
        body=body.graph,
        states=len(body.states),
        scanned=tuple(is_reverse for _, is_reverse in scanned),
        collected=tuple(collected),
        trips=trips,
        is_conditional=body.is_conditional,
        length=length,
        most=min(MOST_ITERATIONS if is_bounded and not body.is_conditional else most, *growth),
    )
    if isinstance(trips, int) and trips > MOST_ITERATIONS and not body.is_conditional:
        raise call.error(f"has {trips} iterations; at most {MOST_ITERATIONS} are possible")
    names = [None if place is None or place < 0 or place in body.growing.axes else call.tensor_name(place) for place in body.changing]
    names += [call.tensor_name(body.count + number) if is_whole else None for number in range(len(collected))]
    results = held(call, "nautilus::Loop", [count, start, *body.states, *(value for value, _ in scanned), *body.outside], attrs, names)
    states: dict[int, Value] = dict(body.kept)
    for place, value in zip(body.changing, results, strict=False):
        if place is not None:
            states[place] = value
    sizes = [states.pop(-1 - number) for number in range(len(body.growing.sizes))]
    body.growing.left(call, states, sizes, body.before)
    number = next((value for place, value in zip(body.changing, results, strict=False) if place is None), None)
    return [states[place] for place in sorted(states)], results[len(body.states) :], number


def _require_in_order(call: Occurrence, scanned: Sequence[tuple[Value, bool]], collected: Sequence[bool]) -> None:
    """Refuse pieces from the end of a tensor whose length a kernel gives: the host knows where they lie before that.

    Raises:
        ModelError: there are some.
    """
    if any(collected) or any(is_reverse for _, is_reverse in scanned):
        raise call.error("goes backwards along a dimension of which only the run knows the size, since it counts elements")
