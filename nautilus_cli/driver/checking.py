"""check(): whether a model will compile, and all that keeps it from that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nautilus_cli.driver.options import ModelOptions, Progress, silent
from nautilus_cli.driver.selection import Selection, select_each
from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.examination import examine
from nautilus_cli.ir.graph import Graph
from nautilus_cli.lowering.building.lowered_group import origin_of
from nautilus_cli.lowering.fusion.choice import choose_fusion
from nautilus_cli.lowering.planner import refused
from nautilus_cli.passes import pipeline
from nautilus_cli.passes.legalization.supported import unsupported, without_unsupported
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.tuning.records import recorded_choice


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions(ModelOptions):
    """What to check, and for what: the options of `compile` that decide whether it can.

    Attributes:
        device: number of the GPU whose target is the default; None for the first.
    """

    device: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """Something that keeps a model from being compiled.

    Attributes:
        node: name of the ONNX node; empty where it is not a node.
        op: its operator; empty where it is not a node.
        reason: why.
        hint: an option, a rewrite or another export that would help; empty where nothing is known to.
    """

    node: str
    op: str
    reason: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The answer.

    Attributes:
        model: the file.
        targets: what it was checked for.
        opset: version of ONNX's own domain.
        producer: who wrote the model.
        nodes: of its main graph.
        launches: kernels that one run would launch; None where something keeps it from being compiled.
        obstacles: all that does.
        unexamined: nodes of which only the operator could be checked, since they read what an unsupported node computes.
        notes: sentences for the user.
    """

    model: Path
    targets: tuple[str, ...]
    opset: int
    producer: str
    nodes: int
    launches: int | None
    obstacles: tuple[Obstacle, ...]
    unexamined: int
    notes: tuple[str, ...]


def check(options: CheckOptions, progress: Progress = silent) -> CheckResult:
    """Return whether `compile` would build a model, without packing weights or building anything.

    Raises:
        FileError: the file cannot be read.
        ModelError: it is no ONNX model, or its structure is invalid.
        UsageError: an option does not fit the model.
    """
    selections = select_each(options.target, options.device)
    progress("reading the model", 0, 1)
    found = examine(options.model, shapes=options.shapes, dims=options.dims, bindings=options.bindings, outputs=options.outputs)
    obstacles = [Obstacle(node=f.node, op=f.op, reason=f.reason, hint=f.hint) for f in found.findings]
    launches = None
    if found.graph is not None:
        progress("planning", 0, 1)
        later, launches = _planned(found.graph, selections, options.fp32_mode)
        obstacles += later
    return CheckResult(
        model=options.model,
        targets=tuple(s.target.name for s in selections),
        opset=found.opset,
        producer=found.producer,
        nodes=found.nodes,
        launches=None if obstacles else launches,
        obstacles=tuple(obstacles),
        unexamined=found.unexamined,
        notes=tuple(note for s in selections for note in s.notes),
    )


def _planned(graph: Graph, selections: Sequence[Selection], fp32_mode: str) -> tuple[list[Obstacle], int | None]:
    """Return what no kernel can do, and how many groups of nodes there are."""
    try:
        graph = pipeline.simplify(graph, is_supported=False)
        found = [Obstacle(node=u.node, op=u.op, reason=u.reason, hint=u.hint) for u in unsupported(graph)]
        fused = choose_fusion(without_unsupported(graph) if found else graph, fp32_mode=fp32_mode)
    except ModelError as error:
        return [Obstacle(node=error.where or "", op="", reason=error.message, hint=error.hint or "")], None
    for selection in selections:
        choose = recorded_choice(Cache.default(), selection.target, gpu=selection.gpu)
        for group, refusal in refused(fused, selection.target, choose, fp32_mode=fp32_mode):
            anchor = group.anchor or group.nodes[-1]
            found.append(Obstacle(node=", ".join(origin_of(group)), op=anchor.op, reason=refusal.message, hint=refusal.hint or ""))
    return found, len(fused.groups)
