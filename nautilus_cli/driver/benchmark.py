"""bench(): how long a library takes, and how long onnxruntime does on the same inputs."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nautilus_cli import __version__
from nautilus_cli.driver.benchmark_result import BenchResult, Series
from nautilus_cli.driver.options import Progress, silent
from nautilus_cli.driver.running import read_inputs
from nautilus_cli.driver.value_samples import as_bindings, listed_ranges, sampled_values
from nautilus_cli.errors import FileError, NautilusError, UsageError
from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.types import TensorType
from nautilus_cli.runtime.benchmark import Load, Measured, host_timer, measure, measure_library
from nautilus_cli.runtime.library import Library
from nautilus_cli.runtime.library import load as load_library
from nautilus_cli.toolchain.clocks import ClockReader, Clocks, pci_bus_id
from nautilus_cli.verify import report
from nautilus_cli.verify.inputs import DrawnInput, draw

if TYPE_CHECKING:
    from nautilus_cli.frontend.load import LoadedModel
    from nautilus_cli.verify.rival import Rival

EMULATED = "emulated: not a speed"
"""What must be said wherever times of an emulated library are shown."""

_UNKNOWN_INTEGERS = (0.0, 1.0)
"""What is drawn for integers whose use nobody knows: inside of any axis, and a mask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    """What to measure, how, and against what.

    Attributes:
        library: the shared library.
        against: the ONNX file that it was compiled from, to measure onnxruntime on; None not to.
        inputs: an .npz file of inputs by name; None for seeded ones.
        seed: of the inputs that are drawn.
        ranges: lowest and highest value drawn, by input name.
        load: how much is measured, and of what.
        percentiles: to report beside the median.
        device: number of the GPU.
        place: where the library runs, as `nautilus_cli.load` takes it.
        export: .json file to write every sample to; None to keep none.
    """

    library: Path
    against: Path | None = None
    inputs: Path | None = None
    seed: int = 0
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    load: Load = field(default_factory=Load)
    percentiles: tuple[float, ...] = (10, 90, 99)
    device: int = 0
    place: str = "automatic"
    export: Path | None = None


def bench(options: BenchOptions, progress: Progress = silent) -> BenchResult:
    """Measure a library, and onnxruntime on the same inputs where a model is given.

    Raises:
        NautilusError: the subclass says what failed.
    """
    progress("loading the library", 0, 1)
    with load_library(options.library, device=options.device, place=options.place) as library:
        values = _values(library, options)
        loaded = None
        if options.against is not None:
            from nautilus_cli.driver.origin import given_shapes, origin  # here: to measure a library without a model takes no onnx

            progress("reading the model", 0, 1)
            shapes = given_shapes(library, options.inputs) if library.dimensions and options.inputs is not None else None
            loaded = origin(library, options.against, shapes, as_bindings(values))
        inputs = _inputs(library, loaded, values, options)
        arrays = {name: drawn.array for name, drawn in inputs.items()}
        info = library.info
        notes = [EMULATED] if info.is_emulated else []
        versions = _versions(library)
        progress("measuring the library", 0, 1)
        measured, clocks = _measure(library, arrays, loaded, options)
        series = [_series("nautilus", measured, options)]
        if loaded is not None:
            progress("measuring onnxruntime", 0, 1)
            rival, beside = _measure_rival(library, loaded, arrays, options)
            series.append(beside)
            versions["onnxruntime"] = rival.version
            if not info.is_emulated and not rival.is_on_gpu:
                notes.append("onnxruntime has no CUDA provider here: it ran on the CPU.")
    result = BenchResult(
        library=options.library,
        target=info.target,
        device=info.device,
        is_emulated=info.is_emulated,
        load=options.load,
        inputs={name: drawn.description for name, drawn in inputs.items()},
        series=tuple(series),
        clocks=clocks,
        versions=versions,
        notes=tuple(notes),
    )
    if options.export is not None:
        report.write(result.to_data(has_samples=True), options.export)
    return result


def _measure(
    library: Library, arrays: Mapping[str, np.ndarray], loaded: LoadedModel | None, options: BenchOptions
) -> tuple[Measured, tuple[Clocks, ...]]:
    """Measure the library, and read the GPU's clocks meanwhile.

    Raises:
        UsageError: inputs that were drawn without knowing their use are out of range.
    """
    clocks: list[Clocks] = []
    with ClockReader(None if library.is_emulated else pci_bus_id(options.device)) as reader:

        def look() -> None:
            found = reader.read()
            if found is not None:
                clocks.append(found)

        try:
            return measure_library(library, arrays, options.load, look), tuple(clocks)
        except UsageError as error:
            if loaded is not None or options.inputs is not None:
                raise
            hint = "Inputs were drawn without the model, which says what may be in them: pass --inputs, --range or --against MODEL."
            raise UsageError(error.message, where=error.where, hint=hint) from error


def _measure_rival(library: Library, loaded: LoadedModel, arrays: Mapping[str, np.ndarray], options: BenchOptions) -> tuple[Rival, Series]:
    """Measure onnxruntime on the model that a library was compiled from, and on the same inputs."""
    from nautilus_cli.driver.origin import reference_model
    from nautilus_cli.verify.rival import Rival

    assert options.against is not None
    model = reference_model(library, options.against, loaded)
    rival = Rival(model, options.against.parent, device=None if library.is_emulated else options.device)
    feeds = {**loaded.constants, **arrays}
    runs = [rival.bind(feeds, include_transfers=options.load.include_transfers) for _ in range(options.load.contexts)]
    return rival, _series(rival.name, measure([host_timer(run) for run in runs], options.load), options)


def _values(library: Library, options: BenchOptions) -> dict[str, np.ndarray]:
    """Return values for the inputs that decide shapes, where no file has them.

    Raises:
        UsageError: none were found that the library takes.
    """
    if options.inputs is not None or not library.model.reads_values:
        return {}
    if library.dimensions:
        raise _open_error(library)
    found: list[dict[str, np.ndarray]] = []
    with suppress(FileError):  # a library runs without its manifest
        found = list(sampled_values(library, listed_ranges(library), [tensor.shape for tensor in library.inputs]))
    if not found:
        names = ", ".join(quoted(tensor.name) for tensor in library.inputs if tensor.read_elements)
        message = f"values of inputs decide shapes ({names}), and none were found that the library takes"
        raise UsageError(message, where=str(library.path), hint="Pass --inputs FILE.npz with them.")
    return found[-1]


def _open_error(library: Library) -> UsageError:
    names = ", ".join(dimension.name for dimension in library.dimensions)
    return UsageError(
        f"leaves dimensions open ({names})", where=str(library.path), hint="Pass --inputs FILE.npz with arrays of some sizes."
    )


def _inputs(library: Library, loaded: LoadedModel | None, values: Mapping[str, np.ndarray], options: BenchOptions) -> dict[str, DrawnInput]:
    """Return the inputs, from the file or drawn: as their use in the model allows, where there is one.

    Args:
        library: what takes them.
        loaded: the model, in which VALUES are bound.
        values: of inputs that decide shapes, where no file has them.
        options: the file, and ranges.
    """
    if options.inputs is not None:
        constants = {} if loaded is None else loaded.constants
        return {name: DrawnInput(array=a, description="given") for name, a in read_inputs(options.inputs, library, constants).items()}
    told = {name: DrawnInput(array=array, description=f"values that it takes: {array.tolist()}") for name, array in values.items()}
    if loaded is not None:
        return {**draw(loaded.graph, options.seed, options.ranges), **told}
    if library.dimensions:
        raise _open_error(library)
    drawn = [tensor for tensor in library.inputs if tensor.name not in values]
    graph = Graph(inputs=tuple((t.name, Value(TensorType(t.type, t.shape))) for t in drawn), outputs=(), nodes=())
    integers = {t.name: _UNKNOWN_INTEGERS for t in drawn if t.type.kind in ("int", "uint") and t.type.bits > 8}
    return {**draw(graph, options.seed, {**integers, **options.ranges}), **told}


def _series(name: str, measured: Measured, options: BenchOptions) -> Series:
    percentiles = {percent: measured.percentile_us(percent) for percent in sorted(set(options.percentiles))}
    return Series(name=name, measured=measured, percentiles=percentiles)


def _versions(library: Library) -> dict[str, str]:
    """Return the versions of what measures, of what was measured, and of what built it as far as the manifest says."""
    major, minor = library.info.driver_version
    found = {"nautilus": __version__, "library": library.info.version, "python": platform.python_version(), "numpy": np.__version__}
    if not library.is_emulated:
        found["driver"] = f"CUDA {major}.{minor}"
    try:
        tools = library.manifest["tools"]
    except NautilusError:  # a library runs without its manifest
        return found
    return found | {f"built with {name}": str(version) for name, version in tools.items() if name != "nautilus"}
