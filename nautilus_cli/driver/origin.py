"""The model that a library was compiled from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from nautilus_cli.artifact import manifest
from nautilus_cli.errors import FileError, ModelError, UsageError, nearest
from nautilus_cli.frontend.cut import cut_file
from nautilus_cli.frontend.load import LoadedModel, load
from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import Symbol, is_symbolic, lower, upper
from nautilus_cli.ir.dims_text import parse_size
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.ranges import DimRange, Size
from nautilus_cli.lowering.choosing.ranges import representative
from nautilus_cli.runtime.library import Library
from nautilus_cli.verify import archive

Shapes = Mapping[str, tuple[int, ...]]


NO_BINDINGS: Mapping[str, str] = {}


def origin(
    library: Library, model: Path, shapes: Mapping[str, Sequence[Size]] | None = None, bindings: Mapping[str, str] = NO_BINDINGS
) -> LoadedModel:
    """Return the model with the library's shapes, bindings and outputs, after making sure that the library was compiled from it.

    Args:
        library: the library.
        model: the ONNX file.
        shapes: of the inputs, where the library leaves dimensions open.
        bindings: text of the constant in place of an input that the library reads.

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
        loaded = load(model, shapes=shapes, bindings={**content["bindings"], **bindings}, outputs=outputs)
    except UsageError as error:  # what the user gave to compile does not fit this model
        raise FileError(
            f"was compiled from another model: {error}", where=str(library.path), hint=f"Compile {model.name} again."
        ) from error
    if loaded.sha256 != library.info.model_sha256:
        raise FileError("was compiled from another model", where=str(library.path), hint=f"Compile {model.name} again.")
    return loaded


def open_error(library: Library, given: Collection[str] = ()) -> UsageError:
    """Return the error for a library whose dimensions are open where sizes are needed, those GIVEN left out."""
    names = ", ".join(dimension.name for dimension in library.dimensions if dimension.name not in given)
    hint = "Pass --inputs FILE.npz with arrays of some sizes; verify also takes sizes, --dim NAME=7 for each or --shape INPUT=7x16."
    return UsageError(f"leaves dimensions open ({names})", where=str(library.path), hint=hint)


def given_shapes(library: Library, inputs: Path) -> Shapes:
    """Return the shapes that the arrays of an .npz file give to the library's inputs."""
    arrays = archive.read(inputs)
    return {tensor.name: arrays[tensor.name].shape for tensor in library.inputs if tensor.name in arrays}


def open_shapes(library: Library) -> Shapes:
    """Return the shapes of a library's inputs with the open dimensions in them, as the manifest has them.

    Raises:
        FileError: the manifest is missing.
    """
    content = manifest.read(manifest.manifest_path(library.path), digest=library.info.manifest_sha256)
    known = {d.name: d for d in _symbols(library)}

    def size(text: int | str) -> int:
        if isinstance(text, int):
            return text
        return symbol(text, known[text].low, known[text].high, known[text].divisor) if text in known else parse_size(text, known)

    return {port["name"]: tuple(map(size, port["shape"])) for port in content["inputs"]}


def _symbols(library: Library) -> tuple[Symbol, ...]:
    return tuple(Symbol(d.name, d.low, d.high, d.divisor) for d in library.dimensions)


def open_origin(library: Library, model: Path) -> LoadedModel:
    """Return the model as `origin` does, with the dimensions open that the library leaves open.

    Raises:
        FileError: as `origin`.
        NautilusError: the model cannot be loaded.
    """

    def size(dim: int) -> Size:
        divisor = next((s.divisor for s in symbols(dim) if str(dim) == s.name), 1)
        return DimRange(lower(dim), upper(dim), divisor) if is_symbolic(dim) else dim

    return origin(library, model, {name: tuple(map(size, shape)) for name, shape in open_shapes(library).items()})


def sized_shapes(library: Library, sizes: Mapping[str, int], shapes: Shapes) -> Shapes:
    """Return the shapes of a library's inputs for sizes that the user gives.

    Args:
        library: the library.
        sizes: of open dimensions, by name.
        shapes: of inputs, by name.

    Raises:
        UsageError: a name is unknown, or sizes are out of range, do not fit or leave dimensions open.
    """
    found, known = open_shapes(library), {d.name: d for d in _symbols(library)}
    given = {name: (size, f"--dim {quoted(name)}") for name, size in sizes.items()}
    for name, (_, where) in given.items():
        if name not in known:
            raise UsageError("the library leaves open no dimension of this name", where=where, hint=nearest(name, known))
    for name, shape in shapes.items():
        where = f"--shape {quoted(name)}"
        if name not in found or len(found[name]) != len(shape):
            raise UsageError("the library has no input of this name and rank", where=where, hint=nearest(name, found))
        for dim, size in zip(found[name], shape, strict=True):
            if str(dim) in known and given.setdefault(str(dim), (size, where))[0] != size:
                raise UsageError(f"dimension {dim} is {given[str(dim)][0]} by {given[str(dim)][1]}, and {size} here", where=where)
    for name, (size, where) in given.items():
        one = known[name]
        if not one.low <= size <= one.high or size % one.divisor:
            multiples = f" in multiples of {one.divisor}" if one.divisor > 1 else ""
            raise UsageError(f"dimension {name} is {size}; the library was compiled for {one.low} to {one.high}{multiples}", where=where)
    bound = {name: bind(shape, {name: size for name, (size, _) in given.items()}) for name, shape in found.items()}
    if any(map(is_symbolic, (dim for shape in bound.values() for dim in shape))):
        raise open_error(library, given)
    for name, shape in shapes.items():
        if tuple(shape) != bound[name]:
            wanted = "x".join(map(str, bound[name]))
            raise UsageError(f"with these sizes the library takes {wanted}", where=f"--shape {quoted(name)}")
    return bound


def sampled_shapes(library: Library) -> Iterator[tuple[str, Shapes]]:
    """Yield shapes of the inputs of a library with open dimensions, with what they are.

    Raises:
        FileError: the manifest is missing.
    """
    shapes = open_shapes(library)
    for what, sizes in sampled(_symbols(library)):
        yield what, {name: bind(shape, sizes) for name, shape in shapes.items()}


def sampled(dims: Sequence[Symbol]) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Yield sizes of dimensions, with what they are: the smallest, the largest, and those between that divide by little."""
    yield "the smallest sizes", {d.name: d.low for d in dims}
    yield "the largest sizes", {d.name: d.high for d in dims}
    middle = {d: (d.low + d.high) // (2 * d.divisor) * d.divisor for d in dims}
    yield "sizes between", {d.name: representative(replace(d, high=max(d.low, middle[d]))) for d in dims}


@contextmanager
def at_sizes(what: str, sizes: Mapping[str, int] | None = None) -> Iterator[None]:
    """Say of an error of the model at which sizes it is one: a range may hold sizes that the model itself does not take.

    Args:
        what: what the sizes are.
        sizes: of the open dimensions; None where WHAT says enough.
    """
    try:
        yield
    except ModelError as error:
        told = "".join(f", {quoted(name)} = {size}" for name, size in (sizes or {}).items())
        hint = "Compile with ranges whose sizes it takes, for example --dim NAME=LOW..HIGH."
        raise ModelError(f"the model does not take {what} of the library{told}: {error}", hint=hint) from error


def reference_model(library: Library, model: Path, loaded: LoadedModel) -> Path | bytes:
    """Return what a reference runs: the model file, or where the library has other outputs, its bytes with these."""
    return cut_file(model, [tensor.name for tensor in library.outputs]) if loaded.is_cut else model
