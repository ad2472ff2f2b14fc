"""If: one of two subgraphs."""

from __future__ import annotations

from collections.abc import Sequence

from nautilus_cli.frontend.constructs.base import Construct, Occurrence
from nautilus_cli.frontend.constructs.selection import as_flag, guard, select
from nautilus_cli.frontend.entities import Entity
from nautilus_cli.ir.graph import Value

MOST_NODES = 1000
"""Of both branches together, where both are computed: the work of the one that is not taken is lost."""

BRANCHES = ("then_branch", "else_branch")


def _build(call: Occurrence) -> Sequence[Entity | None]:
    call.count(1, 1)
    condition = call.single(0, "b", "cond")
    if condition is None:
        raise call.error("operand 'cond' is missing; the specification requires it")
    if condition.constant is None:
        return _both(call, condition)
    name = BRANCHES[0] if condition.constant.item() else BRANCHES[1]
    results = call.node.output
    return call.body(name, 0, len(results)).run(call.host, (), results=results)[: len(results)]


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
