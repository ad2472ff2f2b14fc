"""Which kernel is wrong: the result of every group against the ONNX tensor that it still equals.

The kernels are those of the library, but no two buffers share memory: every stored tensor is an output of a library built for this.
The first group that differs is then built once more with a kernel for each of its nodes, which tells a wrong node from a wrong fusion.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nautilus_cli import __version__
from nautilus_cli.artifact import bundle
from nautilus_cli.artifact.variant import Variant
from nautilus_cli.codegen.render import render
from nautilus_cli.driver.group_results import Fault, GroupResult, PerNode
from nautilus_cli.driver.held_choice import HeldChoice, held_target
from nautilus_cli.driver.options import Progress, VerifyOptions
from nautilus_cli.driver.origin import open_origin
from nautilus_cli.frontend.cut import cut_file
from nautilus_cli.frontend.load import LoadedModel
from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.dims import Symbol, same
from nautilus_cli.ir.dims_text import parse_size
from nautilus_cli.ir.graph import FusedGraph, Graph, Group, Value
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.kernels.base import Choose
from nautilus_cli.lowering.building.lowered_group import origin_of
from nautilus_cli.lowering.choosing.dispatch import first_serving
from nautilus_cli.lowering.control.walk import launches_of
from nautilus_cli.lowering.fusion.choice import choose_fusion
from nautilus_cli.lowering.plan import SIZES_NOTE, Alternative, Launch
from nautilus_cli.lowering.planner import plan
from nautilus_cli.passes import pipeline
from nautilus_cli.passes.bisection.expose import expose
from nautilus_cli.passes.bisection.unfuse import unfuse
from nautilus_cli.runtime.library import Library
from nautilus_cli.runtime.library import load as load_library
from nautilus_cli.targets import registry
from nautilus_cli.targets.base import Target
from nautilus_cli.toolchain import host_compiler
from nautilus_cli.toolchain.builder import build
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.verify import check, references
from nautilus_cli.verify.inputs import DrawnInput
from nautilus_cli.verify.report import Report


def per_node(
    model: LoadedModel, library: Library, options: VerifyOptions, settings: check.Settings, *, found: Report, progress: Progress
) -> PerNode:
    """Compare every group's result with onnxruntime's; where outputs are held against a file, with its operators evaluated in float64.

    Args:
        model: what the library was compiled from.
        library: the library.
        options: the model's file, and where to run.
        settings: inputs and tolerances.
        found: what became of the library's outputs.
        progress: told what is done.

    Raises:
        NautilusError: something cannot be built or run.
    """
    held = held_target(library.manifest, library.info.target)
    kernels_of = open_origin(library, options.model) if library.dimensions else model  # kernels that serve all sizes, as the library's
    fused = choose_fusion(pipeline.simplify(kernels_of.graph), fp32_mode=settings.fp32_mode)
    inputs = check.given_or_drawn(model.graph, settings)
    sizes = _sizes(kernels_of.graph, model.graph)
    bench = _Bench(
        model=model,
        sizes=sizes,
        options=options,
        settings=settings,
        target=registry.target(library.info.target),
        choose=HeldChoice(held["kernels"]),
        points={name: tuple(named) for name, named in library.manifest.get("points", {}).items()},
        inputs=inputs,
        progress=progress,
    )
    groups = bench.compare(fused)
    notes = []
    launched = {_held_kernel(launch, library, sizes) for launch in held["launches"] if launch["note"] != SIZES_NOTE}
    if {kernel for group in groups for kernel in group.kernel.split()} != {held["kernels"][number]["symbol"] for number in launched}:
        notes.append(
            f"the library, by Nautilus {library.info.version}, has other kernels for these sizes: those that are chosen today, without "
            "records of measurements, were compared."
        )
    unseen = sum(not group.comparisons for group in groups)
    if unseen:
        notes.append(f"{unseen} of {len(groups)} groups store no tensor of the ONNX graph: what reads them was compared.")
    truth = references.truth(model.graph)
    if settings.golden is not None and not found.is_match:
        is_match = check.Checker(model.graph, library, settings, progress).check(inputs, truth).is_match
        if is_match:
            notes.append(f"the outputs are what {truth.name} gives: those in the file may be of another model or other inputs.")
    else:
        is_match = found.is_match
    return PerNode(
        groups=groups,
        fault=_fault(bench, fused, groups, is_match=is_match),
        reference=found.reference if settings.golden is None else truth.name,
        notes=tuple(notes),
    )


def _fault(bench: _Bench, fused: FusedGraph, groups: tuple[GroupResult, ...], *, is_match: bool) -> Fault | None:
    """Return where results begin to be wrong, after building the first wrong group with a kernel for each node."""
    wrong = next((number for number, group in enumerate(groups) if group.first_wrong is not None), None)
    if wrong is None:
        return None if is_match else Fault(cause="memory")
    tensor = groups[wrong].first_wrong or ""
    suspects = [fused.groups[number] for number in _unseen_before(fused, groups, wrong)]
    inside = {value for group in suspects for node in group.nodes for value in node.results()}
    apart = unfuse(fused, suspects)
    alone = bench.compare(apart)
    for number, found in enumerate(alone):
        if found.first_wrong is not None and not inside.isdisjoint(apart.groups[number].outputs):
            nodes = [name for other in _unseen_before(apart, alone, number) for name in alone[other].nodes]
            return Fault(cause="node", group=wrong, tensor=tensor, nodes=tuple(dict.fromkeys(nodes)), kernel=found.kernel)
    nodes = [name for number in _unseen_before(fused, groups, wrong) for name in groups[number].nodes]
    return Fault(cause="fusion", group=wrong, tensor=tensor, nodes=tuple(dict.fromkeys(nodes)), kernel=groups[wrong].kernel)


def _unseen_before(fused: FusedGraph, groups: tuple[GroupResult, ...], number: int) -> list[int]:
    """Return the group and those before it that it depends on through groups which could not be compared, in order."""
    stored = {value: place for place, group in enumerate(fused.groups) for value in group.outputs}
    found, pending = {number}, [number]
    while pending:
        for node in fused.groups[pending.pop()].nodes:
            for value in node.operands():
                place = stored.get(value)
                if place is not None and place not in found and not groups[place].comparisons:
                    found.add(place)
                    pending.append(place)
    return sorted(found)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Bench:
    """Builds fused graphs, runs them and compares what they store."""

    model: LoadedModel
    sizes: Mapping[str, int]
    options: VerifyOptions
    settings: check.Settings
    target: Target
    choose: Choose
    points: Mapping[str, tuple[int, ...]]
    inputs: Mapping[str, DrawnInput]
    progress: Progress

    def compare(self, fused: FusedGraph) -> tuple[GroupResult, ...]:
        """Return what is found for each group."""
        exposed = expose(fused)
        names = {value: name for name, value in exposed.graph.outputs}
        graph = _reference_graph(self.model.graph, exposed, self.sizes)
        kernels, results = self._run(exposed)
        self.progress("comparing each group", 0, 1)
        checker = check.Checker(graph, lambda _: results, self.settings, self.progress)
        comparisons = checker.check(self.inputs, self._reference(graph)).comparisons
        return tuple(
            GroupResult(
                family=group.kind,
                kernel=kernels.get(number, ""),
                operators=tuple(node.op for node in group.nodes),
                nodes=origin_of(group),
                comparisons={names[v]: comparisons[names[v]] for v in group.outputs if names.get(v) in comparisons},
            )
            for number, group in enumerate(fused.groups)
        )

    def _reference(self, graph: Graph) -> references.Reference:
        """Return what says which tensors are right; outputs in a file are the way to do without onnxruntime."""
        if self.settings.golden is not None:
            return references.truth(graph)
        return references.oracle(cut_file(self.options.model, [name for name, _ in graph.outputs]), self.options.model.parent)

    def _run(self, exposed: FusedGraph) -> tuple[dict[int, str], dict[str, np.ndarray]]:
        """Build a library and run it; return each group's kernel, and every stored tensor in ONNX order."""
        planned = plan(exposed, self.target, self.choose, fp32_mode=self.settings.fp32_mode, points=self.points)
        kernels = [render(kernel.request) for kernel in planned.kernels]
        store = Cache.default()
        built = build(
            kernels,
            self.target,
            store=store,
            jobs=self.options.jobs,
            progress=lambda done, total: self.progress("compiling kernels", done, total),
        )
        symbols = tuple(kernel.symbol for kernel in kernels)
        with tempfile.TemporaryDirectory(prefix="nautilus-") as folder:
            path = Path(folder, "libgroups.so")
            bundle.write(
                path,
                host_library=host_compiler.shared_library(store),
                variants=(Variant(target=self.target, plan=planned, symbols=symbols, images=built.images),),
                model_digest=bytes(32),
                tools={},
                producer=__version__,
                fp32_mode=self.settings.fp32_mode,
            )
            place = "emulated" if self.target.is_emulated else "gpu"
            with load_library(path, device=self.options.device, place=place) as library:
                self.progress("running", 0, 1)
                found = library({name: drawn.array for name, drawn in self.inputs.items()})
        numbers = iter([_kernel(launch, self.sizes) for launch in planned.launches if launch.note != SIZES_NOTE])
        return (
            {number: _symbols(group, numbers, symbols) for number, group in enumerate(exposed.groups)},
            {name: _in_onnx_order(found[name], value) for name, value in exposed.graph.outputs},
        )


def _kernel(launch: Launch, sizes: Mapping[str, int]) -> int:
    """Return the number of the kernel that sizes choose for a launch."""
    other = first_serving(launch.alternatives, sizes)
    return launch.kernel if other is None else other.kernel


def _held_kernel(launch: Mapping[str, Any], library: Library, sizes: Mapping[str, int]) -> int:
    """Return the same of a launch as the manifest has it."""
    known = {d.name: Symbol(d.name, d.low, d.high, d.divisor) for d in library.dimensions}
    alternatives = (
        Alternative(condition=parse_size(one["condition"].removesuffix(" <= 0"), known), kernel=one["kernel"], words=())
        for one in launch.get("alternatives", ())
    )
    return _kernel(Launch(kernel=launch["kernel"], words=(), alternatives=tuple(alternatives)), sizes)


def _symbols(group: Group, numbers: Iterator[int], symbols: Sequence[str]) -> str:
    """Return the kernels of a group: none where it stores nothing, several where it is branches or a loop."""
    return " ".join(dict.fromkeys(symbols[next(numbers)] for _ in range(launches_of(group))))


def _in_onnx_order(array: np.ndarray, value: Value) -> np.ndarray:
    """Return a stored tensor, whose elements lie in the value's own order of dimensions, in ONNX order."""
    if value.order is None:
        return array
    stored = array.reshape([array.shape[axis] for axis in value.order])
    return np.ascontiguousarray(stored.transpose(np.argsort(value.order)))


def _sizes(graph: Graph, sized: Graph) -> dict[str, int]:
    """Return the sizes of open dimensions, by name, in a graph of the same inputs where they are fixed."""
    pairs = zip(graph.inputs, sized.inputs, strict=True)
    dims = [pair for (_, a), (_, b) in pairs for pair in zip(a.type.static, b.type.static, strict=True)]
    return {symbol.name: size for dim, size in dims for symbol in symbols(dim) if str(dim) == symbol.name}


def _reference_graph(graph: Graph, exposed: FusedGraph, sizes: Mapping[str, int]) -> Graph:
    """Return the model's graph with those of its tensors as outputs that EXPOSED gives out, behind its own."""
    tensors: dict[str, Any] = {v.tensor: v for node in graph.nodes for v in node.results() if v.tensor is not None}
    outputs = list(graph.outputs)
    for name, value in exposed.graph.outputs[len(graph.outputs) :]:
        known = tensors.get(name) if name == value.tensor else None
        shape = bind(value.type.static, sizes)
        if known is not None and known.type.dtype == value.type.dtype and same(known.type.static, shape):
            outputs.append((name, known))
    return replace(graph, outputs=tuple(outputs))
