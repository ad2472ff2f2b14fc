"""run(): a library once, on arrays in files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nautilus_cli.driver.options import Progress, silent
from nautilus_cli.ir.types import TensorType
from nautilus_cli.runtime.arrays import OPEN
from nautilus_cli.runtime.description import Tensor
from nautilus_cli.runtime.library import Library
from nautilus_cli.runtime.library import load as load_library
from nautilus_cli.verify import archive
from nautilus_cli.verify.inputs import check_arrays, without_bound

NO_CONSTANTS: Mapping[str, np.ndarray] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What to run, on what.

    Attributes:
        library: the shared library.
        inputs: .npz file of inputs by name; None where the library takes none.
        outputs: .npz file to write the outputs to; None to keep none.
        device: number of the GPU.
        place: as `nautilus_cli.load` takes it: `automatic`, `gpu` or `emulated`.
    """

    library: Path
    inputs: Path | None = None
    outputs: Path | None = None
    device: int = 0
    place: str = "automatic"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSummary:
    """An output in a few numbers.

    Attributes:
        dtype: element type, as numpy names it.
        shape: its shape.
        min, mean, max: of the finite elements; None where there is none.
        nan: how many elements are NaN.
        inf: how many are infinite.
    """

    dtype: str
    shape: tuple[int, ...]
    min: float | None
    mean: float | None
    max: float | None
    nan: int
    inf: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What came out.

    Attributes:
        target: what the library ran on.
        device: name of the GPU, or of the emulator.
        is_emulated: whether it ran on the CPU.
        outputs: each output by name, in ONNX order.
        file: where they were written; None where they were not.
    """

    target: str
    device: str
    is_emulated: bool
    outputs: Mapping[str, OutputSummary]
    file: Path | None


def run(options: RunOptions, progress: Progress = silent) -> RunResult:
    """Run a library once; needs neither onnx nor onnxruntime.

    Raises:
        UsageError: an input is missing, unknown, or of another element type or shape.
        FileError: a file cannot be read or written.
        DeviceError: the library does not run here.
    """
    progress("loading the library", 0, 1)
    with load_library(options.library, device=options.device, place=options.place) as library:
        inputs = read_inputs(options.inputs, library)
        progress("running", 0, 1)
        outputs = library(inputs)
        info = library.info
    if options.outputs is not None:
        archive.write(options.outputs, outputs)
    return RunResult(
        target=info.target,
        device=info.device,
        is_emulated=info.is_emulated,
        outputs={name: _summary(array) for name, array in outputs.items()},
        file=options.outputs,
    )


def sized(tensor: Tensor, array: np.ndarray | None) -> tuple[int, ...]:
    """Return a tensor's shape, with the array's own sizes where dimensions are open; the library checks their ranges."""
    if array is None or array.ndim != len(tensor.shape):
        return tensor.shape
    return tuple(given if size == OPEN else size for size, given in zip(tensor.shape, array.shape, strict=True))


def _summary(array: np.ndarray) -> OutputSummary:
    values = array.astype(np.float64)
    finite = values[np.isfinite(values)]
    return OutputSummary(
        dtype=array.dtype.name,
        shape=array.shape,
        min=float(finite.min()) if finite.size else None,
        mean=float(finite.mean()) if finite.size else None,
        max=float(finite.max()) if finite.size else None,
        nan=int(np.isnan(values).sum()),
        inf=int(np.isinf(values).sum()),
    )


def read_inputs(path: Path | None, library: Library, constants: Mapping[str, np.ndarray] = NO_CONSTANTS) -> dict[str, np.ndarray]:
    """Return a library's inputs from an .npz file, checked.

    Args:
        path: the file; None for no arrays.
        library: says names, element types and shapes.
        constants: contents of inputs of the model that the library has bound, where they are known: the file may hold them too.

    Raises:
        FileError: the file cannot be read.
        UsageError: an array is missing, unknown, or of another element type or shape.
    """
    given, where = ({}, "--inputs") if path is None else (archive.read(path), str(path))
    types = {tensor.name: TensorType(tensor.type, sized(tensor, given.get(tensor.name))) for tensor in library.inputs}
    return check_arrays(without_bound(given, constants, where), types, where)
