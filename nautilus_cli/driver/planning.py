"""preview(): what compile would build, without building it."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.artifact.steps import steps_data
from nautilus_cli.driver.inspection import InspectResult
from nautilus_cli.driver.memory import require_within
from nautilus_cli.driver.open_dimensions import points_of
from nautilus_cli.driver.options import ModelOptions, Progress, silent
from nautilus_cli.driver.plan_sections import (
    Section,
    kernels_section,
    launches_section,
    memory_section,
    plan_data,
    port_data,
    shared_lines,
    steps_section,
)
from nautilus_cli.driver.reading import read_model
from nautilus_cli.driver.selection import select_each
from nautilus_cli.ir.binding import dimensions
from nautilus_cli.lowering.fusion.choice import choose_fusion
from nautilus_cli.lowering.planner import plan_each
from nautilus_cli.passes import pipeline
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.tuning.records import recorded_choice


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewOptions(ModelOptions):
    """What to plan, and for what: the options of `compile` that decide the plan.

    Attributes:
        max_memory_bytes: device memory that one context may need; None for any.
        device: number of the GPU whose target is the default; None for the first.
        inplace_cache: whether an output that is an input with rows appended lies in the same memory.
    """

    max_memory_bytes: int | None = None
    device: int | None = None
    inplace_cache: bool = False


def preview(options: PreviewOptions, progress: Progress = silent) -> InspectResult:
    """Return the plan that `compile` would build: kernels, launches and memory. Nothing is built or written.

    Raises:
        NautilusError: what `compile` raises before it builds.
    """
    selections = select_each(options.target, options.device)
    progress("reading the model", 0, 1)
    model = read_model(options)
    progress("fusing", 0, 1)
    fused = choose_fusion(pipeline.simplify(model.graph, inplace_cache=options.inplace_cache), fp32_mode=options.fp32_mode)
    progress("planning", 0, 1)
    choices = [recorded_choice(Cache.default(), s.target, gpu=s.gpu) for s in selections]
    points = points_of(options.shapes, options.dims, model)
    plans = plan_each(fused, zip((s.target for s in selections), choices, strict=True), fp32_mode=options.fp32_mode, points=points)
    first = plans[0]
    require_within(first, options.max_memory_bytes)

    notes = (*model.notes, *(note for s, choose in zip(selections, choices, strict=True) for note in (*s.notes, *choose.notes)))
    ports = {"inputs": first.inputs, "outputs": first.outputs}
    lines = [f"{kind}: {', '.join(f'{p.name}: {p.dtype}{list(p.shape)}' for p in found)}" for kind, found in ports.items()]
    lines += [f"{d.name}: {d.low}..{d.high}, multiples of {d.divisor}" for d in dimensions(tuple(p.shape for p in first.inputs))]
    lines += shared_lines([port_data(p) for p in first.inputs], [p.name for p in first.outputs])
    names = ", ".join(s.target.name for s in selections)
    summary = Section(title="plan", text="\n".join([f"{options.model.name} for {names}", *lines]))
    data = {
        "model": str(options.model),
        "notes": list(notes),
        **{kind: [port_data(p) for p in found] for kind, found in ports.items()},
        **plan_data(first),
        "more_targets": [plan_data(p) for p in plans[1:]],
    }
    per_target = [s for p in plans for s in (kernels_section(p), launches_section(p), *steps_section(steps_data(p.steps)))]
    return InspectResult(sections=(summary, *per_target, memory_section(first)), data=data, notes=notes)
