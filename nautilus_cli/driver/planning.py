"""preview(): what compile would build, without building it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nautilus_cli.driver.inspection import InspectResult
from nautilus_cli.driver.memory import require_within
from nautilus_cli.driver.options import Progress, silent
from nautilus_cli.driver.plan_sections import Section, kernels_section, launches_section, memory_section, plan_data
from nautilus_cli.driver.selection import select
from nautilus_cli.frontend.load import load
from nautilus_cli.lowering.planner import plan
from nautilus_cli.passes import pipeline
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.tuning.records import recorded_choice


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewOptions:
    """What to plan, and for what: the options of `compile` that decide the plan.

    Attributes:
        model: the ONNX file.
        target: name of a target; None for the device present, else the emulator.
        shapes: static shape of an input, by name.
        bindings: constant value of an input as text, by name.
        outputs: tensors to give out in place of the model's outputs, in order; none for those that it declares.
        max_memory_bytes: device memory that one context may need; None for any.
        device: number of the GPU whose target is the default; None for the first.
    """

    model: Path
    target: str | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    bindings: Mapping[str, str] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    max_memory_bytes: int | None = None
    device: int | None = None


def preview(options: PreviewOptions, progress: Progress = silent) -> InspectResult:
    """Return the plan that `compile` would build: kernels, launches and memory. Nothing is built or written.

    Raises:
        NautilusError: what `compile` raises before it builds.
    """
    selection = select(options.target, options.device)
    progress("reading the model", 0, 1)
    model = load(options.model, shapes=options.shapes, bindings=options.bindings, outputs=options.outputs)
    progress("fusing", 0, 1)
    fused = pipeline.run(model.graph)
    progress("planning", 0, 1)
    choose = recorded_choice(Cache.default(), selection.target, gpu=selection.gpu)
    planned = plan(fused, selection.target, choose)
    require_within(planned, options.max_memory_bytes)

    notes = (*selection.notes, *choose.notes)
    ports = {"inputs": planned.inputs, "outputs": planned.outputs}
    lines = [f"{kind}: {', '.join(f'{p.name}: {p.dtype}{list(p.shape)}' for p in found)}" for kind, found in ports.items()]
    summary = Section(title="plan", text="\n".join([f"{options.model.name} for {selection.target.name}", *lines]))
    data = {
        "model": str(options.model),
        "notes": list(notes),
        **{kind: [{"name": p.name, "dtype": str(p.dtype), "shape": list(p.shape)} for p in found] for kind, found in ports.items()},
        **plan_data(planned),
    }
    sections = (summary, kernels_section(planned), launches_section(planned), memory_section(planned))
    return InspectResult(sections=sections, data=data, notes=notes)
