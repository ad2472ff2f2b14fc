"""How much device memory a plan needs, and whether that is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nautilus_cli.errors import UsageError
from nautilus_cli.ir.counts import before_reads
from nautilus_cli.ir.dims import upper
from nautilus_cli.lowering.plan import Plan, Port


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Device memory of a model with one context; each further context needs all but the weights again.

    Attributes:
        weights_bytes: of the model's constants.
        workspace_bytes: of intermediate tensors, without what depends on numbers that the host reads while the model runs.
        inputs_bytes: of the inputs.
        outputs_bytes: of the outputs that do not lie in an input.
    """

    weights_bytes: int
    workspace_bytes: int
    inputs_bytes: int
    outputs_bytes: int

    @property
    def total_bytes(self) -> int:
        """All of it; code and what the driver needs itself not included."""
        return self.weights_bytes + self.workspace_bytes + self.inputs_bytes + self.outputs_bytes

    def __str__(self) -> str:
        parts = (
            ("weights", self.weights_bytes),
            ("workspace", self.workspace_bytes),
            ("inputs", self.inputs_bytes),
            ("outputs", self.outputs_bytes),
        )
        return f"{_bytes(self.total_bytes)}: {', '.join(f'{name} {count}' for name, count in parts)}"


def memory_of(plan: Plan) -> Memory:
    """Return what a plan needs."""
    return Memory(
        weights_bytes=plan.weight_bytes,
        workspace_bytes=upper(before_reads(plan.arena_bytes)),
        inputs_bytes=_ports_bytes(plan.inputs),
        outputs_bytes=_ports_bytes(port for port in plan.outputs if port.shared is None),
    )


def require_within(plan: Plan, most_bytes: int | None) -> None:
    """Check that a plan needs no more than is allowed.

    Raises:
        UsageError: it does.
    """
    needed = memory_of(plan)
    if most_bytes is not None and needed.total_bytes > most_bytes:
        raise UsageError(
            f"the model needs {needed}; allowed are {_bytes(most_bytes)}",
            where="--max-memory",
            hint=f"Allow at least {needed.total_bytes}, or compile for a smaller batch with --shape.",
        )


def _ports_bytes(ports: Iterable[Port]) -> int:
    return upper(sum(port.bytes for port in ports))


def _bytes(count: int) -> str:
    return f"{count} bytes ({count / 2**20:.1f} MiB)"
