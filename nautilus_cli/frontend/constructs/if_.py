"""If: one of two subgraphs."""

from __future__ import annotations

from collections.abc import Sequence

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.constructs.base import Construct, Occurrence
from nautilus_cli.frontend.constructs.held import closed, held
from nautilus_cli.frontend.constructs.selection import as_flag, described, guard, select
from nautilus_cli.frontend.entities import Entity
from nautilus_cli.ir.control import BranchAttrs
from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Cast, Movement, Pointwise, Reduction

MOST_NODES = 1000
"""Of both branches together, where both are computed: the work of the one that is not taken is lost."""

CHEAP_NODES = 24
"""Of both branches together, none of them heavy: computing both is quicker than to wait for the condition."""

CHEAP_ELEMENTS = 1 << 16
"""Of each tensor that such branches compute."""

GATHERS = frozenset({"Gather", "GatherElements", "GatherND"})

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
    graphs: list[Graph] = []
    outside: list[Value] = []
    for name in BRANCHES:
        with call.host.apart() as builder:
            found = call.body(name, 0, count).run(call.host, ())[:count]
            results = [(f"result {number}", value) for number, value in enumerate(found) if isinstance(value, Value)]
            graph, read = closed(builder, (), results)
        graphs.append(graph)
        outside += read
    are_tensors = all(len(graph.outputs) == count for graph in graphs)
    if not are_tensors or (all(map(_is_cheap, graphs)) and sum(len(graph.nodes) for graph in graphs) <= CHEAP_NODES):
        return _both(call, condition)
    for number, (yes, no) in enumerate(zip(*(graph.outputs for graph in graphs), strict=True)):
        if yes[1].type != no[1].type:
            raise _differ(call, number, yes[1], no[1])
    attrs = BranchAttrs(then_branch=graphs[0], else_branch=graphs[1])
    return held(call, "nautilus::If", [condition, *outside], attrs, [call.tensor_name(number) for number in range(count)])


def _is_cheap(graph: Graph) -> bool:
    """Whether a branch is a matter of a kernel or two, whatever it computes."""
    return all(
        (isinstance(operators()[node.op].lowering, Pointwise | Cast | Movement | Reduction) or node.op in GATHERS)
        and all(isinstance(v.type.elements, int) and v.type.elements <= CHEAP_ELEMENTS for v in node.results())
        for node in graph.nodes
    )


def _differ(call: Occurrence, number: int, yes: Value, no: Value) -> ModelError:
    return call.error(
        f"its condition is only known at run time, and result {number} is {described(yes)} in one case and {described(no)} in the other; "
        "one type and shape is required",
        "Where the condition depends on the value of an input, fix that with --bind NAME=VALUE.",
    )


def _both(call: Occurrence, condition: Value) -> Sequence[Entity | None]:
    """Compute both branches, and choose."""
    builder = call.builder
    flag = as_flag(builder, condition)
    refusal = builder.node("Not", [flag])
    found = []
    first = len(builder.nodes)
    for name, wanted in zip(BRANCHES, (flag, refusal), strict=True):
        start = len(builder.nodes)
        found.append(call.body(name, 0, len(call.node.output)).run(call.host, ()))
        guard(builder, start, wanted)
    if len(builder.nodes) - first > MOST_NODES:
        raise call.error(
            f"its condition is only known at run time, and its branches have {len(builder.nodes) - first} nodes together; "
            f"both are computed then, which is done up to {MOST_NODES}",
            "Where the condition depends on the value of an input, fix that with --bind NAME=VALUE.",
        )
    return [
        select(call, flag, yes, no, f"result {number}", call.tensor_name(number)) if name else None
        for number, (name, yes, no) in enumerate(zip(call.node.output, *found, strict=False))
    ]


CONSTRUCT = Construct(name="If", build=_build, source="ONNX 28, If-25", attributes=BRANCHES)
