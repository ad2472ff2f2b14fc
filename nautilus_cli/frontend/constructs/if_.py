"""If: one of two subgraphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from nautilus_cli.frontend.constructs.base import Construct, Occurrence
from nautilus_cli.frontend.constructs.held import closed, given_by_a_kernel, held, own
from nautilus_cli.frontend.constructs.selection import as_flag, described, guard, required_to_hold, select
from nautilus_cli.frontend.entities import Entity, as_tensor
from nautilus_cli.frontend.required_numbers import taken_conditions
from nautilus_cli.ir.control import BranchAttrs
from nautilus_cli.ir.counts import ceiling, counts_in
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.indicators import at_most, equal, less
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.beginning import OPERATOR as BEGINNING
from nautilus_cli.ops.beginning import BeginningAttrs
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.operands import OperandsError
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Cast, Movement, Pointwise, Reduction
from nautilus_cli.ops.wide import reshape

MOST_NODES = 1000
"""Of both branches together, where both are computed: the work of the one that is not taken is lost."""

CHEAP_NODES = 24
"""Of both branches together, none of them heavy: computing both is quicker than to wait for the condition."""

CHEAP_ELEMENTS = 1 << 16
"""Of each tensor that such branches compute."""

GATHERS = frozenset({"Gather", "GatherElements", "GatherND"})

COMPARISONS: Mapping[str, Callable[[int, int], int]] = {
    "Equal": equal,
    "Greater": lambda left, right: less(right, left),
    "GreaterOrEqual": lambda left, right: at_most(right, left),
    "Less": less,
    "LessOrEqual": at_most,
}

BRANCHES = ("then_branch", "else_branch")


def _build(call: Occurrence) -> Sequence[Entity | None]:
    call.count(1, 1)
    condition = call.single(0, "b", "cond")
    if condition is None:
        raise call.error("operand 'cond' is missing; the specification requires it")
    if condition.constant is None:
        return _decided_at_run_time(call, condition)
    name = BRANCHES[0] if condition.constant.item() else BRANCHES[1]
    results = call.node.output
    return call.body(name, 0, len(results)).run(call.host, (), results=results)[: len(results)]


def _decided_at_run_time(call: Occurrence, condition: Value) -> Sequence[Entity | None]:
    """Let the run take a branch; compute both where that is cheap, and where what they give is no tensor."""
    count = len(call.node.output)
    branches = [_imported(call, name) for name in BRANCHES]
    failures = [found for found in branches if isinstance(found, OperandsError)]
    if len(failures) == len(BRANCHES):
        raise failures[0]
    if failures:
        return _only(call, condition, branches)
    imported = [found for found in branches if not isinstance(found, OperandsError)]
    tensors = [[value for value in found if isinstance(value, Value)] for _, found in imported]
    if any(len(found) < count for found in tensors):
        return _both(call, condition, imported)
    pairs = list(zip(*tensors, strict=True))
    differing = [number for number, (yes, no) in enumerate(pairs) if yes.type != no.type]
    graphs = [closed(builder, (), _named(found)) for (builder, _), found in zip(imported, tensors, strict=True)]
    if not differing and all(_is_cheap(graph) for graph, _ in graphs) and sum(len(graph.nodes) for graph, _ in graphs) <= CHEAP_NODES:
        return _both(call, condition, imported)
    types = [yes.type for yes, _ in pairs]
    sizes = {number: _sizes(call, number, *pairs[number]) for number in differing}
    for number, shape in sizes.items():
        bound = maximum(*(ceiling(value.type.elements) for value in pairs[number]))
        types[number] = TensorType(types[number].dtype, (bound,))
        for (builder, _), found in zip(imported, tensors, strict=True):
            own = found[number]
            found.extend(builder.known(TensorType(I64, ()), np.array(own.type.static[axis], dtype=object)) for axis in shape)
            found[number] = reshape(builder, own, (own.type.elements,))
        types += [TensorType(I64, ()) for _ in shape]
    if differing:
        graphs = [closed(builder, (), _named(found)) for (builder, _), found in zip(imported, tensors, strict=True)]
    (yes, outside), (no, other) = graphs
    operand, known = _condition(call, condition)
    attrs = BranchAttrs(then_branch=yes, else_branch=no, types=tuple(types), condition=known)
    names = [None if number in differing else call.tensor_name(number) for number in range(count)]
    found = held(call, "nautilus::If", [operand, *outside, *other], attrs, [*names, *(None for _ in types[count:])])
    given = iter(found[count:])
    for number, shape in sizes.items():
        found[number] = _shaped(call, number, found[number], pairs[number][0], shape, given)
    return found[:count]


def _condition(call: Occurrence, condition: Value) -> tuple[Value | None, int | None]:
    """Return a condition as an operand, or as an expression of what the host knows before a run: it need not wait then."""
    known = _known(call.builder, condition)
    return (condition, None) if known is None or counts_in(known) else (None, known)


def _known(builder: GraphBuilder, flag: Value) -> int | None:
    """Return 1 or 0 as an expression, where FLAG is a comparison of sizes that are known as expressions; None where it is not."""
    node = next((node for node in reversed(builder.nodes) if flag in node.outputs), None)
    operands = () if node is None else tuple(node.operands())
    if node is not None and node.op in ("Not", "Reshape", "Squeeze") and flag.type.elements == 1:
        inner = _known(builder, operands[0])
        return inner if inner is None or node.op != "Not" else 1 - inner
    if node is None or node.op not in COMPARISONS or len(operands) != 2:
        return None
    sizes = [value.constant if value.constant is not None else builder.sizes_in(value) for value in operands]
    if any(array is None or array.size != 1 or array.dtype.kind not in "iuO" for array in sizes):
        return None
    left, right = (array.item() for array in sizes if array is not None)
    return COMPARISONS[node.op](left, right)


Imported = tuple[GraphBuilder, Sequence[Entity]]


def _imported(call: Occurrence, name: str) -> Imported | OperandsError:
    """Import a branch; return what has its nodes and what it gives, or why its operators refuse what they are given."""
    count = len(call.node.output)
    body = call.body(name, 0, count)
    with call.host.apart() as builder:
        try:
            return builder, _checked(builder, body.run(call.host, ())[:count])
        except OperandsError as error:
            return error


def _checked(builder: GraphBuilder, results: Sequence[Entity]) -> Sequence[Entity]:
    """Return the results of a branch, of which each tensor waits for checks of the numbers that decide shapes in it."""
    conditions = taken_conditions(builder)
    if not conditions:
        return results
    return [required_to_hold(builder, found, conditions) if isinstance(found, Value) else found for found in results]


def _only(call: Occurrence, condition: Value, branches: Sequence[Imported | OperandsError]) -> Sequence[Entity | None]:
    """Return the results of the one branch that can be, and let a run that takes the other one fail: it is none for these shapes."""
    graphs = []
    refusals = []
    types: tuple[TensorType, ...] = ()
    read: list[Value] = []
    for name, found in zip(BRANCHES, branches, strict=True):
        if isinstance(found, OperandsError):
            what = f"{call.where} takes its {name}, which cannot be for the shapes that the library was compiled for: {found}"
            call.host.note(f"A run is an error where {what}")
            refusals.append(what)
            graphs.append(Graph((), (), ()))
            continue
        builder, given = found
        results = [as_tensor(value, f"result {number} of its {name}", call.where) for number, value in enumerate(given)]
        graph, outside = closed(builder, (), _named(results))
        graphs.append(graph)
        refusals.append("")
        types, read = tuple(value.type for _, value in graph.outputs), outside
    operand, known = _condition(call, condition)
    attrs = BranchAttrs(then_branch=graphs[0], else_branch=graphs[1], types=types, condition=known, refusals=(refusals[0], refusals[1]))
    return held(call, "nautilus::If", [operand, *read], attrs, [call.tensor_name(number) for number in range(len(types))])


def _named(values: Sequence[Value]) -> list[tuple[str, Value]]:
    return [(f"result {number}", value) for number, value in enumerate(values)]


def _sizes(call: Occurrence, number: int, yes: Value, no: Value) -> dict[int, int]:
    """Return sizes that the branch taken gives, by the dimension in which a result of one differs from that of the other."""
    if yes.type.dtype != no.type.dtype or len(yes.type.shape) != len(no.type.shape):
        raise call.error(
            f"its condition is only known at run time, and result {number} is {described(yes)} in one case and {described(no)} in the "
            "other; one element type and rank is required",
            "Where the condition depends on the value of an input, fix that with --bind NAME=VALUE.",
        )
    pairs = list(enumerate(zip(yes.type.static, no.type.static, strict=True)))
    return {axis: call.builder.count(call.size_name(number), maximum(ceiling(a), ceiling(b))) for axis, (a, b) in pairs if not same(a, b)}


def _shaped(call: Occurrence, number: int, value: Value, yes: Value, sizes: Mapping[int, int], given: Iterator[Value]) -> Value:
    """Return a result of the shape that the branch taken gives, from its elements and what that branch says of its sizes."""
    builder = call.builder
    for size in sizes.values():
        builder.holds(size, given_by_a_kernel(call, next(given)))
    shape = tuple(sizes.get(axis, dim) for axis, dim in enumerate(yes.type.static))
    return own(call, BEGINNING, [value], BeginningAttrs(shape=shape), call.tensor_name(number))


def _is_cheap(graph: Graph) -> bool:
    """Whether a branch is a matter of a kernel or two, whatever it computes."""
    return all(
        (isinstance(operators()[node.op].lowering, Pointwise | Cast | Movement | Reduction) or node.op in GATHERS)
        and all(isinstance(v.type.elements, int) and v.type.elements <= CHEAP_ELEMENTS for v in node.results())
        for node in graph.nodes
    )


def _both(call: Occurrence, condition: Value, branches: Sequence[Imported]) -> Sequence[Entity | None]:
    """Compute both branches, and choose."""
    builder = call.builder
    flag = as_flag(builder, condition)
    refusal = builder.node("Not", [flag])
    count = sum(len(inner.nodes) for inner, _ in branches)
    if count > MOST_NODES:
        raise call.error(
            f"its condition is only known at run time, and its branches have {count} nodes together; "
            f"both are computed where what they give is no tensor, which is done up to {MOST_NODES}",
            "Where the condition depends on the value of an input, fix that with --bind NAME=VALUE.",
        )
    for (inner, _), wanted in zip(branches, (flag, refusal), strict=True):
        start = len(builder.nodes)
        builder.take(inner)
        guard(builder, start, wanted)
    found = [given for _, given in branches]
    return [
        select(call, flag, yes, no, f"result {number}", call.tensor_name(number)) if name else None
        for number, (name, yes, no) in enumerate(zip(call.node.output, *found, strict=False))
    ]


CONSTRUCT = Construct(name="If", build=_build, source="ONNX 28, If-25", attributes=BRANCHES)
