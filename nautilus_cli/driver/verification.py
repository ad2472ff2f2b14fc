"""verify(): a library against onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nautilus_cli.artifact import manifest
from nautilus_cli.driver.options import Progress, VerifyOptions, silent
from nautilus_cli.errors import FileError
from nautilus_cli.frontend.load import LoadedModel, load
from nautilus_cli.numerics import Comparison
from nautilus_cli.runtime.library import Library
from nautilus_cli.runtime.library import load as load_library
from nautilus_cli.verify import archive, check, report


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyResult:
    """What a verification found.

    Attributes:
        target: what the library ran on.
        comparisons: of each output, in ONNX order.
        report: the verdict's file, beside the library.
        notes: sentences for the user.
    """

    target: str
    comparisons: Mapping[str, Comparison]
    report: Path
    notes: tuple[str, ...] = ()


def verify(options: VerifyOptions, progress: Progress = silent) -> VerifyResult:
    """Compare a library with onnxruntime on the model that it was compiled from; shapes and bindings are the library's own.

    Raises:
        NautilusError: the subclass says what failed. A mismatch is a result, not an error.
    """
    progress("reading the model", 0, 1)
    with load_library(options.library) as library:
        content = manifest.read(manifest.manifest_path(options.library), digest=library.info.manifest_sha256)
        shapes = {tensor.name: tensor.shape for tensor in library.inputs}
        model = load(options.model, shapes=shapes, bindings=content["bindings"])
        if model.sha256 != library.info.model_sha256:
            raise FileError("was compiled from another model", where=str(options.library), hint=f"Compile {options.model.name} again.")
        return verify_loaded(model, library, options, progress)


def verify_loaded(model: LoadedModel, library: Library, options: VerifyOptions, progress: Progress = silent) -> VerifyResult:
    """Compare a loaded library with onnxruntime, and write the verdict beside it."""
    progress("comparing with onnxruntime", 0, 1)
    settings = check.Settings(
        inputs=options.inputs,
        seed=options.seed,
        ranges=options.ranges,
        rtol=options.rtol,
        atol=options.atol,
        constants=model.constants,
    )
    found = check.verify(options.model, model.graph, library, settings)
    report.write(found, report.report_path(options.library))
    if options.save_outputs is not None:
        archive.write(options.save_outputs, found.actual)
    return VerifyResult(
        target=library.info.target,
        comparisons=found.comparisons,
        report=report.report_path(options.library),
        notes=found.notes,
    )
