"""SequenceMap: a subgraph for each element of a sequence."""

from __future__ import annotations

from collections.abc import Sequence

from nautilus_cli.frontend.constructs.base import Construct, Occurrence
from nautilus_cli.frontend.entities import Entity, TensorSequence, as_tensor


def _build(call: Occurrence) -> Sequence[Entity | None]:
    call.count(1, None)
    first = call.sequence(0)
    body = call.body("body", len(call.operands), len(call.node.output), repeats=True)
    others = [call.required(number) for number in range(1, len(call.operands))]
    for number, other in enumerate(others, 1):
        if isinstance(other, TensorSequence) and len(other.items) != len(first.items):
            raise call.error(
                f"operand {number} is a sequence of {len(other.items)}, the first one of {len(first.items)}; "
                "the specification requires one length"
            )
    results: list[list[Entity]] = []
    for place, item in enumerate(first.items):
        call.host.spend(1, call.where)
        inputs = [item, *(other.items[place] if isinstance(other, TensorSequence) else other for other in others)]
        results.append(body.run(call.host, inputs, label=f"[{place}]"))
    return [
        TensorSequence(tuple(as_tensor(found[number], f"result {number} of its body", call.where) for found in results))
        for number in range(len(call.node.output))
    ]


CONSTRUCT = Construct(name="SequenceMap", build=_build, source="ONNX 28, SequenceMap-17", attributes=("body",), since=17)
