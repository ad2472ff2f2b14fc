"""Every tensor that a kernel stores as an output of the graph: each then has memory of its own, and can be looked at.

Requires: a fused graph. Establishes: the same groups, whose stored values are all outputs.
"""

from __future__ import annotations

from dataclasses import replace

from nautilus_cli.ir.graph import FusedGraph, Value


def expose(fused: FusedGraph) -> FusedGraph:
    """Return FUSED with further outputs behind its own, in the order of the groups.

    An output is called as the ONNX tensor that the value equals; one that equals none has a name that no tensor has.
    """
    outputs = list(fused.graph.outputs)
    known = fused.graph.output_values()
    taken = {name for name, _ in outputs}
    tensors = {v.tensor for group in fused.groups for v in group.outputs if v.tensor is not None}
    for number, group in enumerate(fused.groups):
        for value in group.outputs:
            if value in known:
                continue
            name = value.tensor if value.tensor is not None and value.tensor not in taken else _free(number, value, taken | tensors)
            taken.add(name)
            outputs.append((name, value))
    return FusedGraph(replace(fused.graph, outputs=tuple(outputs)), fused.groups)


def _free(group: int, value: Value, taken: set[str]) -> str:
    """Return a name for a value that has none of its own."""
    name = f"group {group}: {value.type}"
    while name in taken:
        name += "'"
    return name
