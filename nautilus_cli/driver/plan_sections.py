"""A plan for people and as data: kernels, launches and memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from nautilus_cli.artifact.steps import steps_text
from nautilus_cli.driver.memory import memory_of
from nautilus_cli.ir.dims import is_symbolic
from nautilus_cli.lowering.plan import Plan, Port


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the answer: text, then a table where it has columns.

    Attributes:
        title: its heading.
        text: sentences.
        columns: headings of the table.
        rows: the table.
    """

    title: str
    text: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def nodes_text(names: Sequence[str], limit: int = 4) -> str:
    """Return names of ONNX nodes, the first few."""
    shown = ", ".join(names[:limit])
    return f"{shown}, and {len(names) - limit} more" if len(names) > limit else shown


def fields_text(data: object) -> str:
    """Return the fields of a problem or schedule."""
    return " ".join(f"{f.name}={getattr(data, f.name)}" for f in fields(data))  # type: ignore[arg-type]


def source(family: str) -> str:
    """Return where the device code of a family is."""
    return f"templates/include/nautilus/kernels/{family}.cuh"


def sizes_data(sizes: Sequence[int]) -> list[int | str]:
    """Return sizes as JSON types: those that depend on open dimensions as text."""
    return [size_data(size) for size in sizes]


def size_data(size: int) -> int | str:
    """Return a size as a JSON type."""
    return str(size) if is_symbolic(size) else size


def port_data(port: Port) -> dict[str, Any]:
    """Return an input or output as JSON types."""
    shared = {} if port.shared is None else {"shared": asdict(port.shared)}
    return {"name": port.name, "dtype": str(port.dtype), "shape": sizes_data(port.shape), **shared}


def shared_lines(inputs: Sequence[Mapping[str, Any]], outputs: Sequence[str]) -> list[str]:
    """Return a line for each input that shares its memory with an output.

    Args:
        inputs: as `port_data`, or the manifest, has them.
        outputs: names, in order.
    """
    return [
        f"{port['name']} in the memory of {outputs[port['shared']['port']]},"
        f" with room for {port['shared']['capacity']} along dimension {port['shared']['axis']}"
        for port in inputs
        if "shared" in port
    ]


def kernels_section(plan: Plan) -> Section:
    """Return the distinct kernels with their schedules."""
    uses = Counter(kernel for launch in plan.launches for kernel in {launch.kernel, *(a.kernel for a in launch.alternatives)})
    rows = tuple(
        (
            str(i),
            k.request.family,
            str(uses[i]),
            fields_text(k.request.problem),
            fields_text(k.request.schedule),
            ", ".join(k.recipes) or "-",
        )
        for i, k in enumerate(plan.kernels)
    )
    text = f"{len(plan.kernels)} kernels, {len(plan.launches)} launches, for {plan.target}; text under templates/include/nautilus/kernels/"
    return Section(title="kernels", text=text, columns=("kernel", "family", "launches", "problem", "schedule", "weights"), rows=rows)


def kernels_text(kernel: int, alternatives: Sequence[int]) -> str:
    """Return the number of a launch's kernel, and of how many the sizes of a run choose."""
    count = len({kernel, *alternatives})
    return str(kernel) if count == 1 else f"{kernel}, of {count} by size"


def launches_section(plan: Plan) -> Section:
    """Return the launches in order."""
    columns = ("launch", "kernel", "family", "grid", "threads", "shared bytes", "ONNX nodes")
    rows = []
    for number, launch in enumerate(plan.launches):
        kernel = plan.kernels[launch.kernel]
        grid = "x".join(map(str, kernel.geometry.grid))
        what = nodes_text(launch.origin) or launch.note
        geometry = (grid, str(kernel.geometry.threads), str(kernel.geometry.smem_bytes))
        which = kernels_text(launch.kernel, [a.kernel for a in launch.alternatives])
        rows.append((str(number), which, kernel.request.family, *geometry, what))
    return Section(title="launches", columns=columns, rows=tuple(rows))


def steps_section(steps: Sequence[Mapping[str, Any]], behind: str = "") -> tuple[Section, ...]:
    """Return which launches run, and when, from what the manifest says; nothing where all do, one after another."""
    return (Section(title=f"steps{behind}", text="\n".join(steps_text(steps))),) if steps else ()


def memory_section(plan: Plan) -> Section:
    """Return the memory of one context, and the buffers of its workspace."""
    rows = tuple((b.tensor or "-", str(b.offset), str(b.bytes), f"{b.first}..{b.last}") for b in plan.buffers)
    return Section(title="memory", text=f"{memory_of(plan)}", columns=("tensor", "offset", "bytes", "launches"), rows=rows)


def plan_data(plan: Plan) -> dict[str, Any]:
    """Return a plan as JSON types."""
    memory = memory_of(plan)
    return {
        "target": plan.target,
        "kernels": [
            {
                "family": k.request.family,
                "problem": fields_text(k.request.problem),
                "schedule": fields_text(k.request.schedule),
                "source": source(k.request.family),
                "weight_recipes": list(k.recipes),
            }
            for k in plan.kernels
        ],
        "launches": [
            {
                "kernel": launch.kernel,
                "grid": sizes_data(plan.kernels[launch.kernel].geometry.grid),
                "threads": plan.kernels[launch.kernel].geometry.threads,
                "smem_bytes": plan.kernels[launch.kernel].geometry.smem_bytes,
                "nodes": list(launch.origin),
                "note": launch.note,
                "alternatives": [{"condition": f"{size_data(a.condition)} <= 0", "kernel": a.kernel} for a in launch.alternatives],
            }
            for launch in plan.launches
        ],
        "arena_bytes": memory.workspace_bytes,
        "weight_bytes": plan.weight_bytes,
        "input_bytes": memory.inputs_bytes,
        "output_bytes": memory.outputs_bytes,
        "memory_bytes": memory.total_bytes,
        "buffers": [
            {"tensor": b.tensor, "offset": size_data(b.offset), "bytes": size_data(b.bytes), "first": b.first, "last": b.last}
            for b in plan.buffers
        ],
    }
