"""The one way from a simplified graph to the groups that become kernels: fused as the estimates say.

Fusion alone puts together what can be; whether that pays is for lowering to say, which knows the kernels.
"""

from __future__ import annotations

from nautilus_cli.ir.graph import FusedGraph, Graph
from nautilus_cli.lowering.fusion.norms import choose_norms
from nautilus_cli.lowering.fusion.prologues import choose_prologues
from nautilus_cli.passes.fusion.fuse import fuse


def choose_fusion(graph: Graph, *, fp32_mode: str) -> FusedGraph:
    """Return GRAPH fused: norms in products or apart, left operands computed while they are loaded or stored.

    What is compiled for several targets has the same kernels, so the estimates are those for one.

    Args:
        graph: a graph that `pipeline.simplify` has been over.
        fp32_mode: how products of f32 are multiplied, as `Lowering` has it.
    """
    return choose_prologues(fuse(choose_norms(graph, fp32_mode=fp32_mode)), fp32_mode=fp32_mode)
