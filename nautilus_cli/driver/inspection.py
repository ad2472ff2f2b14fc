"""inspect(): what is in a model or a library, and what becomes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from nautilus_cli.driver.options import InspectOptions, Progress, silent
from nautilus_cli.driver.selection import select
from nautilus_cli.errors import FileError, UsageError, nearest
from nautilus_cli.ir.graph import FusedGraph, Graph, Group, Node
from nautilus_cli.ir.text import print_graph
from nautilus_cli.lowering.plan import Plan
from nautilus_cli.targets.base import Target

_ELF = b"\x7fELF"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectResult:
    """The answer, for people and as data.

    Attributes:
        sections: for people.
        data: the same for programs.
    """

    sections: tuple[Section, ...]
    data: Mapping[str, Any]


def inspect(options: InspectOptions, progress: Progress = silent) -> InspectResult:
    """Look into a model, or into a library through its manifest.

    Raises:
        FileError: the file is missing, or a library without its manifest.
        ModelError: the model is invalid.
    """
    try:
        with options.path.open("rb") as file:
            magic = file.read(len(_ELF))
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", where=str(options.path)) from error
    if magic == _ELF:
        return _inspect_library(options.path)
    return _inspect_model(options, progress)


def _inspect_model(options: InspectOptions, progress: Progress) -> InspectResult:
    from nautilus_cli.frontend.load import load
    from nautilus_cli.lowering.planner import plan
    from nautilus_cli.passes import pipeline
    from nautilus_cli.passes.fuse import fuse
    from nautilus_cli.passes.supported import unsupported
    from nautilus_cli.toolchain.cache import Cache
    from nautilus_cli.tuning.records import recorded_choice

    progress("reading the model", 0, 1)
    model = load(options.path, shapes=options.shapes, bindings=options.bindings)
    graph = pipeline.simplify(model.graph, is_supported=False)
    sections = [_summary(options.path, model.graph, model.opset, model.producer)]
    data: dict[str, Any] = {"model": str(options.path), "opset": model.opset, "operators": dict(Counter(n.op for n in model.graph.nodes))}
    missing = unsupported(graph)
    data["unsupported"] = [{"node": u.node, "op": u.op, "reason": u.reason} for u in missing]
    if missing:
        rows = tuple((u.node, u.op, u.reason) for u in missing)
        sections.append(Section(title="unsupported", columns=("node", "operator", "reason"), rows=rows))
        return InspectResult(sections=tuple(sections), data=data)
    target = select(options.target).target
    fused = fuse(graph)
    planned = plan(fused, target, recorded_choice(Cache.default(), target))
    if options.explain is not None:
        return _explain(options.explain, graph, fused, planned)
    sections += [
        Section(title="graph", text=print_graph(graph)),
        Section(title="unsupported", text="none"),
        _groups_section(fused),
        _kernels_section(planned, target),
        _memory_section(planned),
    ]
    data |= _plan_data(fused, planned, target)
    return InspectResult(sections=tuple(sections), data=data)


def _summary(path: Path, graph: Graph, opset: int, producer: str) -> Section:
    counts = Counter(node.op for node in graph.nodes)
    inputs = ", ".join(f"{name}: {value.type}" for name, value in graph.inputs)
    outputs = ", ".join(f"{name}: {value.type}" for name, value in graph.outputs)
    text = f"{path.name}: opset {opset}{f', by {producer}' if producer else ''}; inputs {inputs}; outputs {outputs}"
    return Section(title="model", text=text, columns=("operator", "nodes"), rows=tuple((op, str(n)) for op, n in counts.most_common()))


def _nodes(names: Sequence[str], limit: int = 4) -> str:
    shown = ", ".join(names[:limit])
    return f"{shown}, and {len(names) - limit} more" if len(names) > limit else shown


def _origin(group: Group) -> list[str]:
    return list(dict.fromkeys(name for node in group.nodes for name in node.origin))


def _groups_section(fused: FusedGraph) -> Section:
    rows = tuple(
        (str(i), g.kind, " ".join(n.op for n in g.nodes), ", ".join(str(v.type) for v in g.outputs), _nodes(_origin(g)))
        for i, g in enumerate(fused.groups)
    )
    return Section(title="fusion groups", columns=("launch", "family", "operators", "stores", "ONNX nodes"), rows=rows)


def _fields(data: object) -> str:
    return " ".join(f"{f.name}={getattr(data, f.name)}" for f in fields(data))  # type: ignore[arg-type]


def _source(family: str) -> str:
    return f"templates/include/nautilus/kernels/{family}.cuh"


def _kernels_section(plan: Plan, target: Target) -> Section:
    uses = Counter(launch.kernel for launch in plan.launches)
    rows = tuple(
        (str(i), k.request.family, str(uses[i]), _fields(k.request.problem), _fields(k.request.schedule), ", ".join(k.recipes) or "-")
        for i, k in enumerate(plan.kernels)
    )
    text = f"{len(plan.kernels)} kernels, {len(plan.launches)} launches, for {target.name}; text under templates/include/nautilus/kernels/"
    return Section(title="kernels", text=text, columns=("kernel", "family", "launches", "problem", "schedule", "weights"), rows=rows)


def _memory_section(plan: Plan) -> Section:
    text = f"arena {plan.arena_bytes} bytes, weights {plan.weight_bytes} bytes in {len(plan.weights)} tensors"
    rows = tuple((b.tensor or "-", str(b.offset), str(b.bytes), f"{b.first}..{b.last}") for b in plan.buffers)
    return Section(title="memory", text=text, columns=("tensor", "offset", "bytes", "launches"), rows=rows)


def _plan_data(fused: FusedGraph, plan: Plan, target: Target) -> dict[str, Any]:
    return {
        "target": target.name,
        "groups": [
            {"family": g.kind, "operators": [n.op for n in g.nodes], "stores": [str(v.type) for v in g.outputs], "nodes": _origin(g)}
            for g in fused.groups
        ],
        "kernels": [
            {
                "family": k.request.family,
                "problem": _fields(k.request.problem),
                "schedule": _fields(k.request.schedule),
                "source": _source(k.request.family),
                "weight_recipes": list(k.recipes),
            }
            for k in plan.kernels
        ],
        "launches": [{"kernel": launch.kernel, "nodes": list(launch.origin), "note": launch.note} for launch in plan.launches],
        "arena_bytes": plan.arena_bytes,
        "weight_bytes": plan.weight_bytes,
        "buffers": [{"tensor": b.tensor, "offset": b.offset, "bytes": b.bytes, "first": b.first, "last": b.last} for b in plan.buffers],
    }


def _explain(name: str, graph: Graph, fused: FusedGraph, plan: Plan) -> InspectResult:
    """Say where one ONNX node went, and which rewrites came close at the nodes that are left of it."""
    from nautilus_cli.passes.rewriting import explain

    known = {origin for node in graph.nodes for origin in node.origin}
    if name not in known:
        hint = f"It was folded away, or there is no such node. {nearest(name, known)}"
        raise UsageError(f"nothing is left of node '{name}'.", where="--explain", hint=hint)
    left: list[Node] = [node for node in graph.nodes if name in node.origin]
    sections = [Section(title=f"node {name}", text=f"became {', '.join(node.op for node in left)}")]
    data: dict[str, Any] = {"node": name, "operators": [node.op for node in left], "launches": []}
    for number, group in enumerate(fused.groups):
        if any(node in group.members() for node in left):
            request = plan.kernels[plan.launches[number].kernel].request
            line = f"launch {number}: {request.family}; {_fields(request.problem)}; {_fields(request.schedule)}"
            sections.append(Section(title=f"launch {number}", text=f"{line}; with {_nodes(_origin(group), 12)}"))
            data["launches"].append({"launch": number, "family": request.family, "nodes": _origin(group)})
    rows = tuple((node.op, rule, why) for node in left for rule, why in explain(graph, node))
    if rows:
        sections.append(Section(title="rewrites that did not apply", columns=("operator", "rule", "reason"), rows=rows))
    data["rewrites"] = [{"operator": op, "rule": rule, "reason": why} for op, rule, why in rows]
    return InspectResult(sections=tuple(sections), data=data)


def _inspect_library(path: Path) -> InspectResult:
    from nautilus_cli.artifact import manifest
    from nautilus_cli.runtime.library import held_targets

    held = held_targets(path)
    found = manifest.read(manifest.manifest_path(path))
    ports = [f"{p['name']}: {p['dtype']}{p['shape']}" for p in (*found["inputs"], *found["outputs"])]
    summary = Section(
        title="library",
        text=f"{path.name}: targets {', '.join(name for name, _ in held)}; {', '.join(ports)}; model {found['model_sha256'][:16]}",
    )
    uses = Counter(launch["kernel"] for launch in found["launches"])
    kernels = Section(
        title="kernels",
        columns=("kernel", "family", "launches", "schedule", "source"),
        rows=tuple(
            (str(i), k["family"], str(uses[i]), " ".join(f"{n}={v}" for n, v in k["schedule"].items()), _source(k["family"]))
            for i, k in enumerate(found["kernels"])
        ),
    )
    launches = Section(
        title="launches",
        columns=("launch", "kernel", "grid", "ONNX nodes"),
        rows=tuple(
            (str(i), str(launch["kernel"]), "x".join(map(str, launch["grid"])), _nodes(launch["nodes"]) or launch["note"])
            for i, launch in enumerate(found["launches"])
        ),
    )
    memory = Section(title="memory", text=f"arena {found['arena_bytes']} bytes, weights {found['weight_bytes']} bytes")
    data = {**found, "targets": [{"name": name, "emulated": emulated} for name, emulated in held]}
    return InspectResult(sections=(summary, kernels, launches, memory), data=data)
