"""compile(): the whole story, from an ONNX file to a verified library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from nautilus_cli import __version__
from nautilus_cli.artifact import bundle
from nautilus_cli.artifact.variant import Variant
from nautilus_cli.artifact.weights_file import WeightsPlace
from nautilus_cli.codegen.render import Rendered, render
from nautilus_cli.driver.each_target import that_run, together
from nautilus_cli.driver.memory import memory_of, require_within
from nautilus_cli.driver.open_dimensions import open_dimensions, points_of, verify_sampled, worst
from nautilus_cli.driver.options import CompileOptions, Progress, VerifyOptions, silent
from nautilus_cli.driver.reading import read_model
from nautilus_cli.driver.selection import Selection, select_each
from nautilus_cli.driver.temporaries import save_temporaries
from nautilus_cli.driver.verification import verify_loaded
from nautilus_cli.driver.verification_result import VerifyResult
from nautilus_cli.errors import NotServedError
from nautilus_cli.frontend.load import LoadedModel
from nautilus_cli.ir.graph import Graph
from nautilus_cli.lowering.fusion.choice import choose_fusion
from nautilus_cli.lowering.plan import Plan
from nautilus_cli.lowering.planner import plan_each
from nautilus_cli.passes import pipeline
from nautilus_cli.runtime.library import load as load_library
from nautilus_cli.targets.base import Target
from nautilus_cli.toolchain import host_compiler
from nautilus_cli.toolchain.builder import build
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.tuning.records import recorded_choice
from nautilus_cli.verify import report
from nautilus_cli.verify.no_reference import NoReference


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledTarget:
    """What a library holds for one target.

    Attributes:
        target: its name.
        kernels: distinct kernels.
        launches: kernels that one run launches.
        arena_bytes: device memory for intermediate tensors.
    """

    target: str
    kernels: int
    launches: int
    arena_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileResult:
    """What a compilation wrote.

    Attributes:
        library: the shared library.
        manifest: its manifest.
        weights: the file of its weights; None where they lie in the library.
        targets: what it holds for each target.
        library_bytes: size of the library.
        weight_bytes: of the weights, wherever they lie.
        notes: sentences for the user.
        verification: the comparison with onnxruntime; None where it was not wanted, no target can run here, or onnxruntime cannot.
    """

    library: Path
    manifest: Path
    weights: Path | None
    targets: tuple[CompiledTarget, ...]
    library_bytes: int
    weight_bytes: int
    notes: tuple[str, ...]
    verification: VerifyResult | None


def compile(options: CompileOptions, progress: Progress = silent) -> CompileResult:
    """Compile a model to a library and a manifest, then compare it with onnxruntime where a target can run here.

    A library that cannot be compared is complete and stays; a note says so.

    Raises:
        NautilusError: the subclass says what failed; nothing half-written stays.
    """
    selections = select_each(options.target, options.device)
    targets, store = tuple(s.target for s in selections), Cache.default()
    bundle.require_writable(options.output)
    bundle.require_apart(options.output, options.model)

    progress("reading the model", 0, 1)
    model = read_model(options)
    progress("fusing", 0, 1)
    fused = choose_fusion(pipeline.simplify(model.graph, inplace_cache=options.inplace_cache), fp32_mode=options.fp32_mode)
    progress("planning", 0, 1)
    choices = [recorded_choice(store, s.target, gpu=s.gpu) for s in selections]
    points = points_of(options.shapes, options.dims, model)
    plans = plan_each(fused, zip(targets, choices, strict=True), fp32_mode=options.fp32_mode, points=points)
    require_within(plans[0], options.max_memory_bytes)  # memory is the same for all
    variants = [_built(target, plan, fused.graph, options, store, progress) for target, plan in zip(targets, plans, strict=True)]

    progress("writing the library", 0, 1)
    written = bundle.write(
        options.output,
        host_library=host_compiler.shared_library(store),
        variants=variants,
        model_digest=bytes.fromhex(model.sha256),
        bindings=options.bindings,
        fp32_mode=options.fp32_mode,
        points=points,
        tools=tool_versions(all(target.is_emulated for target in targets)),
        producer=__version__,
        weights=WeightsPlace(options.weights),
    )
    report.discard(report.report_path(options.output))

    notes = [*model.notes]
    notes += [note for selection, choose in zip(selections, choices, strict=True) for note in (*selection.notes, *choose.notes)]
    verification, reasons = _compared(model, options, selections, progress)
    notes += reasons
    return CompileResult(
        library=options.output,
        manifest=written.manifest,
        weights=written.weights,
        targets=tuple(
            CompiledTarget(target=p.target, kernels=len(p.kernels), launches=len(p.launches), arena_bytes=memory_of(p).workspace_bytes)
            for p in plans
        ),
        library_bytes=options.output.stat().st_size,
        weight_bytes=plans[0].weight_bytes,
        notes=tuple(notes),
        verification=verification,
    )


def _compared(
    model: LoadedModel, options: CompileOptions, selections: Sequence[Selection], progress: Progress
) -> tuple[VerifyResult | None, list[str]]:
    """Compare the library with onnxruntime wherever it runs here; return the verdict, or none and sentences that say why."""
    if not options.verify:
        return None, []
    here = that_run(selections)
    if not here:
        names = " or ".join(selection.target.name for selection in selections)
        return None, [f"not verified; on a machine that runs {names}: nautilus verify {options.model.name} {options.output.name}"]
    verdict = None
    try:
        verdict = together([_verified(model, options, place, device, progress) for place, device in here])
    except NoReference as error:
        return None, [f"not verified; the library is complete, but there is nothing to compare it with: {error}"]
    except NotServedError as error:
        return None, [f"not verified; the library is complete, but not for what was drawn: {error}; verify --inputs takes others"]
    finally:
        if verdict is None:  # one of some sizes alone would pass for one of all
            report.discard(report.report_path(options.output))
    return verdict, []


def _verified(model: LoadedModel, options: CompileOptions, place: str, device: int, progress: Progress) -> VerifyResult:
    """Compare the library, as it runs in one place."""
    with load_library(options.output, device=device, place=place) as library:
        if open_dimensions(model) or library.model.reads_values:
            return worst(verify_sampled(model, library, options, device, progress))
        return verify_loaded(model, library, VerifyOptions(model=options.model, library=options.output, device=device), progress)


def _built(target: Target, plan: Plan, graph: Graph, options: CompileOptions, store: Cache, progress: Progress) -> Variant:
    """Render and compile a plan's kernels."""
    stage = f"compiling kernels for {target.name}"
    rendered = [render(kernel.request) for kernel in plan.kernels]
    distinct = list({kernel.symbol: kernel for kernel in rendered}.values())  # kernels for different sizes may be one text
    built = build(distinct, target, store=store, jobs=options.jobs, progress=lambda done, total: progress(stage, done, total))
    if options.save_temps is not None:
        folder = options.save_temps / target.name if "," in (options.target or "") else options.save_temps
        save_temporaries(folder, distinct, built, graph)
    return Variant(target=target, plan=plan, symbols=symbols(rendered), images=built.images)


def symbols(rendered: list[Rendered]) -> tuple[str, ...]:
    """Return the symbol of each kernel."""
    return tuple(kernel.symbol for kernel in rendered)


def tool_versions(is_emulated: bool) -> dict[str, str]:
    """Return the versions of what decides the library's bytes."""
    names = ("onnx", "numpy", "jinja2") if is_emulated else ("onnx", "numpy", "jinja2", "nvidia-cuda-nvrtc")
    found = {"nautilus": __version__}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
