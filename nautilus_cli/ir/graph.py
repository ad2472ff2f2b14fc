"""The dataflow graph: values, nodes, and the graph that orders them.

Everything is frozen. Values and nodes are compared by identity; a pass builds new ones (see `rewrite.py`) and never edits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from nautilus_cli.ir.requirement import Limit, Requirement
from nautilus_cli.ir.types import TensorType


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A tensor that flows along an edge.

    Attributes:
        type: element type and shape, in ONNX order.
        tensor: the ONNX tensor whose contents this value still equals, or None once a pass ended that.
        order: physical order of the dimensions, outermost first; None is ONNX order. (0, 2, 3, 1) is channels-last.
        constant: the contents, where they are known at compile time.
        contents: the contents of a small tensor of sizes, as integers and expressions of dimensions in an array of objects; no node
            computes such a value.
    """

    type: TensorType
    tensor: str | None = None
    order: tuple[int, ...] | None = None
    constant: np.ndarray | None = None
    contents: np.ndarray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An application of an operator.

    Attributes:
        op: the operator's key in the registry: its ONNX name, with `domain::` before it outside the default domain.
        inputs: operands; None where an optional one is left out.
        outputs: results; None where an optional one is not wanted.
        attrs: the operator's frozen attribute dataclass.
        origin: names of the ONNX nodes this came from ("#12 Conv" where a node has no name).
    """

    op: str
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value | None, ...]
    attrs: object
    origin: tuple[str, ...] = ()

    def operands(self) -> Iterator[Value]:
        """Yield the inputs that are present."""
        return (v for v in self.inputs if v is not None)

    def results(self) -> Iterator[Value]:
        """Yield the outputs that are wanted."""
        return (v for v in self.outputs if v is not None)


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Nodes in topological order between inputs and outputs.

    Attributes:
        inputs: (name, value) of each run-time input, in ONNX order.
        outputs: (name, value) of each output, in ONNX order; a value may be an input or a constant, or appear twice.
        nodes: in topological order.
        texts: names of the inputs and outputs that are strings, whose code points their values hold.
        requirements: what a run makes sure of first.
        counts: (name, value) of each count (`dims.Count`): the int64 scalar that holds it while the graph runs.
        limits: of counts, also those of graphs that nodes hold, and of some that nothing needs any more.
    """

    inputs: tuple[tuple[str, Value], ...]
    outputs: tuple[tuple[str, Value], ...]
    nodes: tuple[Node, ...]
    texts: frozenset[str] = frozenset()
    requirements: tuple[Requirement, ...] = ()
    counts: tuple[tuple[str, Value], ...] = ()
    limits: tuple[Limit, ...] = ()

    def producers(self) -> dict[Value, Node]:
        """Map each computed value to its node."""
        return {v: n for n in self.nodes for v in n.results()}

    def consumers(self) -> dict[Value, list[Node]]:
        """Map each value to the nodes that read it, in order, once a node."""
        users: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for value in dict.fromkeys(node.operands()):
                users.setdefault(value, []).append(node)
        return users

    def output_values(self) -> frozenset[Value]:
        """The values that leave the graph: outputs, and counts, which the library reads."""
        return frozenset(v for _, v in (*self.outputs, *self.counts))


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Nodes that become one kernel.

    A movement node may stand in several groups, since it only changes how a load finds its element.

    Attributes:
        kind: the kernel family's name: pointwise, row, gemm, conv, pool, gather; control where it is branches or a loop.
        anchor: the heavy node; None for pointwise. For row: the first reduction.
        nodes: all members in topological order, the anchor included.
        outputs: the values that are stored, each computed by a member.
        bodies: of kind control: the graphs that the anchor holds.
    """

    kind: str
    anchor: Node | None
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]
    bodies: tuple[FusedGraph, ...] = ()

    def members(self) -> frozenset[Node]:
        """The nodes as a set."""
        return frozenset(self.nodes)


@dataclass(frozen=True, slots=True, eq=False)
class FusedGraph:
    """A graph and its groups in an order in which they can run.

    Every non-constant graph output that is not itself a graph input is stored by exactly one group,
    and every value that a group loads is a graph input, a constant, or stored by an earlier group.
    """

    graph: Graph
    groups: tuple[Group, ...] = field(default=())
