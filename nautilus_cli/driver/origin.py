"""The model that a library was compiled from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nautilus_cli.artifact import manifest
from nautilus_cli.errors import FileError, UsageError
from nautilus_cli.frontend.cut import cut_file
from nautilus_cli.frontend.load import LoadedModel, load
from nautilus_cli.ir.dims import Symbol
from nautilus_cli.lowering.ranges import representative
from nautilus_cli.runtime.library import Library
from nautilus_cli.verify import archive

Shapes = Mapping[str, tuple[int, ...]]


def origin(library: Library, model: Path, shapes: Shapes | None = None) -> LoadedModel:
    """Return the model with the library's shapes, bindings and outputs, after making sure that the library was compiled from it.

    Args:
        library: the library.
        model: the ONNX file.
        shapes: of the inputs, where the library leaves dimensions open.

    Raises:
        FileError: the manifest is missing, or the library was compiled from another model.
        UsageError: dimensions are open and no shapes are given.
        NautilusError: the model cannot be loaded.
    """
    content = manifest.read(manifest.manifest_path(library.path), digest=library.info.manifest_sha256)
    if library.dimensions and shapes is None:
        raise open_error(library)
    shapes = shapes if shapes is not None else {tensor.name: tensor.shape for tensor in library.inputs}
    outputs = tuple(tensor.name for tensor in library.outputs)
    try:
        loaded = load(model, shapes=shapes, bindings=content["bindings"], outputs=outputs)
    except UsageError as error:  # what the user gave to compile does not fit this model
        raise FileError(
            f"was compiled from another model: {error}", where=str(library.path), hint=f"Compile {model.name} again."
        ) from error
    if loaded.sha256 != library.info.model_sha256:
        raise FileError("was compiled from another model", where=str(library.path), hint=f"Compile {model.name} again.")
    return loaded


def open_error(library: Library) -> UsageError:
    """Return the error for a library whose dimensions are open where sizes are needed."""
    names = ", ".join(dimension.name for dimension in library.dimensions)
    return UsageError(
        f"leaves dimensions open ({names})", where=str(library.path), hint="Pass --inputs FILE.npz with arrays of some sizes."
    )


def given_shapes(library: Library, inputs: Path) -> Shapes:
    """Return the shapes that the arrays of an .npz file give to the library's inputs."""
    arrays = archive.read(inputs)
    return {tensor.name: arrays[tensor.name].shape for tensor in library.inputs if tensor.name in arrays}


def sampled_shapes(library: Library) -> Iterator[tuple[str, Shapes]]:
    """Yield shapes of the inputs of a library with open dimensions, with what they are.

    Raises:
        FileError: the manifest is missing.
        UsageError: an input has a dimension that is worked out from others.
    """
    content = manifest.read(manifest.manifest_path(library.path), digest=library.info.manifest_sha256)
    dims = tuple(Symbol(d.name, d.low, d.high, d.divisor) for d in library.dimensions)
    known = {d.name for d in dims}
    for port in content["inputs"]:
        if any(isinstance(size, str) and size not in known for size in port["shape"]):
            raise open_error(library)
    for what, sizes in sampled(dims):
        yield what, {p["name"]: tuple(sizes[size] if isinstance(size, str) else size for size in p["shape"]) for p in content["inputs"]}


def sampled(dims: Sequence[Symbol]) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Yield sizes of dimensions, with what they are: the smallest, the largest, and those between that divide by little."""
    yield "the smallest sizes", {d.name: d.low for d in dims}
    yield "the largest sizes", {d.name: d.high for d in dims}
    middle = {d: (d.low + d.high) // (2 * d.divisor) * d.divisor for d in dims}
    yield "sizes between", {d.name: representative(replace(d, high=max(d.low, middle[d]))) for d in dims}


def reference_model(library: Library, model: Path, loaded: LoadedModel) -> Path | bytes:
    """Return what a reference runs: the model file, or where the library has other outputs, its bytes with these."""
    return cut_file(model, [tensor.name for tensor in library.outputs]) if loaded.is_cut else model
