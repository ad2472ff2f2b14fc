"""inspect(): what is in a model or a library, and what becomes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nautilus_cli.artifact.special_files import refuse_special
from nautilus_cli.artifact.steps import steps_data
from nautilus_cli.driver.options import InspectOptions, Progress, silent
from nautilus_cli.driver.plan_sections import (
    Section,
    fields_text,
    kernels_section,
    kernels_text,
    memory_section,
    nodes_text,
    plan_data,
    shared_lines,
    source,
    steps_section,
)
from nautilus_cli.driver.selection import select
from nautilus_cli.errors import FileError, UsageError, nearest
from nautilus_cli.ir.control import all_nodes
from nautilus_cli.ir.graph import FusedGraph, Graph
from nautilus_cli.ir.text import print_graph
from nautilus_cli.lowering.building.lowered_group import origin_of
from nautilus_cli.lowering.plan import Plan

_ELF = b"\x7fELF"


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectResult:
    """The answer, for people and as data.

    Attributes:
        sections: for people.
        data: the same for programs.
        notes: sentences for the user.
    """

    sections: tuple[Section, ...]
    data: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def inspect(options: InspectOptions, progress: Progress = silent) -> InspectResult:
    """Look into a model, or into a library through its manifest.

    Raises:
        FileError: the file is missing, or a library without its manifest.
        ModelError: the model is invalid.
    """
    refuse_special(options.model, "cannot be read")
    try:
        with options.model.open("rb") as file:
            magic = file.read(len(_ELF))
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", where=str(options.model)) from error
    if magic == _ELF:
        return _inspect_library(options.model)
    return _inspect_model(options, progress)


def _inspect_model(options: InspectOptions, progress: Progress) -> InspectResult:
    from nautilus_cli.driver.open_dimensions import points_of
    from nautilus_cli.driver.reading import read_model
    from nautilus_cli.lowering.fusion.choice import choose_fusion
    from nautilus_cli.lowering.planner import plan_each
    from nautilus_cli.passes import pipeline
    from nautilus_cli.passes.legalization.supported import unsupported
    from nautilus_cli.toolchain.cache import Cache
    from nautilus_cli.tuning.records import recorded_choice

    progress("reading the model", 0, 1)
    model = read_model(options)
    graph = pipeline.simplify(model.graph, is_supported=False)
    sections = [_summary(options.model, model.graph, model.opset, model.producer)]
    data: dict[str, Any] = {"model": str(options.model), "opset": model.opset, "operators": dict(Counter(n.op for n in model.graph.nodes))}
    missing = unsupported(graph)
    data["unsupported"] = [{"node": u.node, "op": u.op, "reason": u.reason} for u in missing]
    if missing:
        rows = tuple((u.node, u.op, u.reason) for u in missing)
        sections.append(Section(title="unsupported", columns=("node", "operator", "reason"), rows=rows))
        return InspectResult(sections=tuple(sections), data=data)
    target = select(options.target).target
    fused = choose_fusion(graph, fp32_mode=options.fp32_mode)
    points = points_of(options.shapes, options.dims, model)
    (planned,) = plan_each(fused, ((target, recorded_choice(Cache.default(), target)),), fp32_mode=options.fp32_mode, points=points)
    if options.explain is not None:
        return _explain(options.explain, graph, planned)
    sections += [
        Section(title="graph", text=print_graph(graph)),
        Section(title="unsupported", text="none"),
        _groups_section(fused),
        kernels_section(planned),
        *steps_section(steps_data(planned.steps)),
        memory_section(planned),
    ]
    data |= {"groups": _groups_data(fused), **plan_data(planned)}
    return InspectResult(sections=tuple(sections), data=data)


def _summary(path: Path, graph: Graph, opset: int, producer: str) -> Section:
    counts = Counter(node.op for node in graph.nodes)
    inputs = ", ".join(f"{name}: {value.type}" for name, value in graph.inputs)
    outputs = ", ".join(f"{name}: {value.type}" for name, value in graph.outputs)
    text = f"{path.name}: opset {opset}{f', by {producer}' if producer else ''}; inputs {inputs}; outputs {outputs}"
    return Section(title="model", text=text, columns=("operator", "nodes"), rows=tuple((op, str(n)) for op, n in counts.most_common()))


def _groups_section(fused: FusedGraph) -> Section:
    rows = tuple(
        (str(i), g.kind, " ".join(n.op for n in g.nodes), ", ".join(str(v.type) for v in g.outputs), nodes_text(origin_of(g)))
        for i, g in enumerate(fused.groups)
    )
    return Section(title="fusion groups", columns=("launch", "family", "operators", "stores", "ONNX nodes"), rows=rows)


def _groups_data(fused: FusedGraph) -> list[dict[str, Any]]:
    return [
        {"family": g.kind, "operators": [n.op for n in g.nodes], "stores": [str(v.type) for v in g.outputs], "nodes": list(origin_of(g))}
        for g in fused.groups
    ]


def _explain(name: str, graph: Graph, plan: Plan) -> InspectResult:
    """Say where one ONNX node went, and which rewrites came close at the nodes that are left of it."""
    from nautilus_cli.passes.rewriting.apply_rules import explain

    known = {origin for node in all_nodes(graph) for origin in node.origin}
    if name not in known:
        hint = f"It was folded away, or there is no such node. {nearest(name, known)}"
        raise UsageError(f"nothing is left of node '{name}'.", where="--explain", hint=hint)
    left = [node for node in all_nodes(graph) if name in node.origin]
    sections = [Section(title=f"node {name}", text=f"became {', '.join(node.op for node in left)}")]
    data: dict[str, Any] = {"node": name, "operators": [node.op for node in left], "launches": []}
    for number, launch in enumerate(plan.launches):
        if name in launch.origin:
            request = plan.kernels[launch.kernel].request
            line = f"launch {number}: {request.family}; {fields_text(request.problem)}; {fields_text(request.schedule)}"
            sections.append(Section(title=f"launch {number}", text=f"{line}; with {nodes_text(launch.origin, 12)}"))
            data["launches"].append({"launch": number, "family": request.family, "nodes": list(launch.origin)})
    rows = tuple((node.op, rule, why) for node in left for rule, why in explain(graph, node))
    if rows:
        sections.append(Section(title="rewrites that did not apply", columns=("operator", "rule", "reason"), rows=rows))
    data["rewrites"] = [{"operator": op, "rule": rule, "reason": why} for op, rule, why in rows]
    return InspectResult(sections=tuple(sections), data=data)


def _inspect_library(path: Path) -> InspectResult:
    from nautilus_cli.artifact import manifest
    from nautilus_cli.runtime.library import held_targets

    held = held_targets(path)
    found = manifest.read_beside(path)
    ports = [f"{p['name']}: {p['dtype']}{p['shape']}" for p in (*found["inputs"], *found["outputs"])]
    text = f"{path.name}: targets {', '.join(name for name, _ in held)}; {', '.join(ports)}; model {found['model_sha256'][:16]}"
    text = "\n".join([text, *shared_lines(found["inputs"], [port["name"] for port in found["outputs"]])])
    place = f" in {found['weights_file']}" if found["weights_file"] else ""
    memory = f"arena {found['arena_bytes']} bytes, weights {found['weight_bytes']} bytes{place}"
    targets = [found, *found["more_targets"]]
    sections = [section for target in targets for section in _held_sections(target, is_one=len(targets) == 1)]
    data = {**found, "targets": [{"name": name, "emulated": emulated} for name, emulated in held]}
    summary = Section(title="library", text=text)
    return InspectResult(sections=(summary, *sections, Section(title="memory", text=memory)), data=data)


def _held_sections(target: Mapping[str, Any], *, is_one: bool) -> tuple[Section, ...]:
    """Return the kernels, launches and steps of one target, as its part of the manifest has them."""
    behind = "" if is_one else f" of {target['target']}"
    others = [[a["kernel"] for a in launch.get("alternatives", ())] for launch in target["launches"]]
    uses = Counter(kernel for launch, more in zip(target["launches"], others, strict=True) for kernel in {launch["kernel"], *more})
    kernels = Section(
        title=f"kernels{behind}",
        columns=("kernel", "family", "launches", "schedule", "source"),
        rows=tuple(
            (str(i), k["family"], str(uses[i]), " ".join(f"{n}={v}" for n, v in k["schedule"].items()), source(k["family"]))
            for i, k in enumerate(target["kernels"])
        ),
    )
    launches = Section(
        title=f"launches{behind}",
        columns=("launch", "kernel", "grid", "ONNX nodes"),
        rows=tuple(
            (
                str(i),
                kernels_text(launch["kernel"], others[i]),
                "x".join(map(str, launch["grid"])),
                nodes_text(launch["nodes"]) or launch["note"],
            )
            for i, launch in enumerate(target["launches"])
        ),
    )
    return kernels, launches, *steps_section(target.get("steps", ()), behind)
