"""What `verify --per-node` finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nautilus_cli.ir.names import quoted
from nautilus_cli.numerics import Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult:
    """What was found for one group: one kernel.

    Attributes:
        family: kernel family.
        kernel: its symbol; "" for a group that stores empty tensors only; several for one that is branches or a loop.
        operators: of its nodes.
        nodes: the ONNX nodes that it computes.
        comparisons: of each ONNX tensor that it stores; empty where it stores none.
    """

    family: str
    kernel: str
    operators: tuple[str, ...]
    nodes: tuple[str, ...]
    comparisons: Mapping[str, Comparison]

    @property
    def first_wrong(self) -> str | None:
        """The first tensor that differs, if any."""
        return next((name for name, found in self.comparisons.items() if not found.is_match), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Where results begin to be wrong.

    Attributes:
        cause: `node`: a kernel for one node alone is wrong; `fusion`: only the group's kernel is; `memory`: no kernel is.
        group: number of the first group that differs; None where none does.
        tensor: that differs first.
        nodes: ONNX nodes that the fault lies in: one, where every tensor between them could be compared.
        kernel: symbol of the wrong kernel.
    """

    cause: str
    group: int | None = None
    tensor: str = ""
    nodes: tuple[str, ...] = ()
    kernel: str = ""

    @property
    def text(self) -> str:
        """The fault in words."""
        if self.cause == "memory":
            return "no group differs when each buffer has memory of its own: the library reuses memory that is still needed, or is damaged."
        names = ", ".join(quoted(name) for name in self.nodes)
        first = f"group {self.group} is the first that differs, in tensor {quoted(self.tensor)}"
        if self.cause == "fusion":
            return f"{first}; with a kernel for each of its nodes none does: {self.kernel}, which fuses {names}, is wrong."
        nodes = "node" if len(self.nodes) == 1 else "one of the nodes"
        return f"{first}; with a kernel for each of its nodes, the first to differ is {self.kernel}, of {nodes} {names}."


@dataclass(frozen=True, slots=True, kw_only=True)
class PerNode:
    """What was found.

    Attributes:
        groups: in the order in which they run.
        fault: where results begin to be wrong; None where nothing is.
        reference: what the groups were compared with.
        notes: sentences for the user.
    """

    groups: tuple[GroupResult, ...]
    fault: Fault | None
    reference: str
    notes: tuple[str, ...]
