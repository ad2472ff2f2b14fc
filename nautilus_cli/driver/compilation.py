"""compile(): the whole story, from an ONNX file to a verified library."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from nautilus_cli import __version__
from nautilus_cli.artifact import bundle
from nautilus_cli.artifact.payload import Variant
from nautilus_cli.codegen.render import Rendered, render
from nautilus_cli.driver.memory import require_within
from nautilus_cli.driver.options import CompileOptions, Progress, VerifyOptions, silent
from nautilus_cli.driver.selection import select
from nautilus_cli.driver.temporaries import save_temporaries
from nautilus_cli.driver.verification import VerifyResult, verify_loaded
from nautilus_cli.frontend.load import load
from nautilus_cli.lowering.planner import plan
from nautilus_cli.passes import pipeline
from nautilus_cli.runtime.library import load as load_library
from nautilus_cli.toolchain import host_compiler
from nautilus_cli.toolchain.builder import build
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.tuning.records import recorded_choice
from nautilus_cli.verify import report


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileResult:
    """What a compilation wrote.

    Attributes:
        library: the shared library.
        manifest: its manifest.
        target: name of the target.
        kernels: distinct kernels.
        launches: kernels that one run launches.
        library_bytes: size of the library.
        weight_bytes: of which weights.
        arena_bytes: device memory for intermediate tensors.
        notes: sentences for the user.
        verification: the comparison with onnxruntime; None where it was not wanted or the target cannot run here.
    """

    library: Path
    manifest: Path
    target: str
    kernels: int
    launches: int
    library_bytes: int
    weight_bytes: int
    arena_bytes: int
    notes: tuple[str, ...]
    verification: VerifyResult | None


def compile(options: CompileOptions, progress: Progress = silent) -> CompileResult:
    """Compile a model to a library and a manifest, then compare it with onnxruntime where the target can run here.

    Raises:
        NautilusError: the subclass says what failed; nothing half-written stays.
    """
    selection = select(options.target, options.device)
    target, store = selection.target, Cache.default()
    bundle.require_writable(options.output)

    progress("reading the model", 0, 1)
    model = load(options.model, shapes=options.shapes, bindings=options.bindings, outputs=options.outputs)
    progress("fusing", 0, 1)
    fused = pipeline.run(model.graph)
    progress("planning", 0, 1)
    choose = recorded_choice(store, target, gpu=selection.gpu)
    planned = plan(fused, target, choose)
    require_within(planned, options.max_memory_bytes)
    rendered = [render(kernel.request) for kernel in planned.kernels]

    built = build(rendered, target, store=store, jobs=options.jobs, progress=lambda done, total: progress("compiling kernels", done, total))
    if options.save_temps is not None:
        save_temporaries(options.save_temps, rendered, built, fused.graph)

    progress("writing the library", 0, 1)
    written = bundle.write(
        options.output,
        host_library=host_compiler.shared_library(store),
        variants=(Variant(target=target, plan=planned, symbols=symbols(rendered), images=built.images),),
        model_digest=bytes.fromhex(model.sha256),
        bindings=options.bindings,
        tools=tool_versions(target.is_emulated),
        producer=__version__,
    )
    report.discard(report.report_path(options.output))

    notes = (*selection.notes, *choose.notes)
    verification = None
    if options.verify and selection.runs_here:
        with load_library(options.output, device=selection.device) as library:
            verification = verify_loaded(model, library, VerifyOptions(model=options.model, library=options.output), progress)
    elif options.verify:
        notes = (*notes, f"not verified; on a machine that runs {target.name}: nautilus verify {options.model.name} {options.output.name}")
    return CompileResult(
        library=options.output,
        manifest=written.manifest,
        target=target.name,
        kernels=len(planned.kernels),
        launches=len(planned.launches),
        library_bytes=options.output.stat().st_size,
        weight_bytes=planned.weight_bytes,
        arena_bytes=planned.arena_bytes,
        notes=notes,
        verification=verification,
    )


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
