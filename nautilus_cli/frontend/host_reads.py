"""Numbers of kernels for which the host waits: those without a bound that memory could be planned for.

A number that a kernel gives has a bound, and memory is planned for that. Where that is too much, or where nothing but a default would bound
it, the plan is cut behind the kernel: the host waits, reads the number, and plans the rest for what it is. Sizes of outputs stay as they
are: the caller gives memory for these ahead of the run. So do those of what an iteration or a branch leaves: that lies where it did before.
"""

from __future__ import annotations

from nautilus_cli.ir.control import all_nodes, bodies
from nautilus_cli.ir.counts import ceiling, counts_in
from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.graph import Graph
from nautilus_cli.ops.count_bounds import CountBounds

MOST_BYTES = 1 << 30
"""Of a tensor at its bound, for which memory is planned without waiting for what it is."""


class UnplannableError(Exception):
    """Numbers are too great at most, and another import can let the host read them.

    Attributes:
        names: of these.
        notes: sentences for the user.
    """

    def __init__(self, names: frozenset[str], notes: tuple[str, ...]) -> None:
        super().__init__(", ".join(sorted(names)))
        self.names = names
        self.notes = notes


def require_plannable(graph: Graph, bounds: CountBounds) -> None:
    """Check that memory can be planned for all numbers of kernels.

    Args:
        graph: the whole model.
        bounds: of its numbers.

    Raises:
        UnplannableError: it cannot, and the host can read those that are in the way.
    """
    graphs = [graph, *(body for node in all_nodes(graph) for body in bodies(node.attrs))]
    readable = {name for one in graphs for name in _own(one) if name in bounds.names}
    reasons: dict[str, str] = {name: "has no bound" for name in bounds.defaults if name in readable}
    for node in all_nodes(graph):
        for value in node.results():
            if not counts_in(value.type.shape) or upper(ceiling(value.type.bytes)) <= MOST_BYTES:
                continue
            size = upper(ceiling(value.type.bytes))
            for symbol in sorted(counts_in(value.type.shape), key=lambda s: s.name):
                if symbol.name in readable:
                    reasons.setdefault(symbol.name, f"is up to {symbol.high}, for which a tensor would take {size / 2**30:.1f} GiB")
    if reasons:
        notes = (
            f"{name} {why}: a run waits for it, and plans what follows; --dim {name}=0..N sets a bound." for name, why in reasons.items()
        )
        raise UnplannableError(frozenset(reasons), tuple(notes))


def _own(graph: Graph) -> frozenset[str]:
    """Return the names of a graph's numbers but for those in the shapes of its outputs."""
    told = {symbol.name for _, value in graph.outputs for symbol in counts_in(value.type.shape)}
    return frozenset(name for name, _ in graph.counts if name not in told)
