"""Libraries with open dimensions: at which sizes they are tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from nautilus_cli.driver.options import CompileOptions, Progress, VerifyOptions
from nautilus_cli.driver.origin import at_sizes, sampled
from nautilus_cli.driver.value_samples import as_bindings, ranges_of, sampled_values, values_text
from nautilus_cli.driver.verification import verify_loaded
from nautilus_cli.driver.verification_result import VerifyResult
from nautilus_cli.errors import InternalError
from nautilus_cli.frontend.load import LoadedModel, load
from nautilus_cli.ir.binding import bind, dimensions
from nautilus_cli.ir.dims import Symbol
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.ranges import DimRange, Size
from nautilus_cli.runtime.library import Library
from nautilus_cli.verify.no_reference import NoReference


def open_dimensions(model: LoadedModel) -> tuple[Symbol, ...]:
    """Return the dimensions of a model's inputs that have a range."""
    return dimensions(tuple(value.type.shape for _, value in model.graph.inputs))


def points_of(shapes: Mapping[str, Sequence[Size]], dims: Mapping[str, DimRange], model: LoadedModel) -> Mapping[str, tuple[int, ...]]:
    """Return the sizes that the user wants kernels chosen for, by the name of the dimension."""
    given = dict(dims)
    types = {name: value.type.static for name, value in model.graph.inputs}
    for name, shape in shapes.items():
        for size, dim in zip(shape, types.get(name, ()), strict=False):
            if isinstance(size, DimRange):
                given |= {found.name: size for found in symbols(dim)}
    found: dict[str, tuple[int, ...]] = {}
    for name, given_range in given.items():
        own = model.renamed.get(name, name)
        if given_range.points:
            found[own] = tuple(dict.fromkeys((*found.get(own, ()), *given_range.points)))
    return found


def verify_sampled(
    model: LoadedModel, library: Library, options: CompileOptions, device: int, progress: Progress
) -> Iterator[tuple[str, VerifyResult]]:
    """Compare a library with onnxruntime at sampled sizes, and with sampled values where those decide shapes, one after the other.

    Raises:
        NoReference: no values were found that the library takes.
    """
    types = {name: value.type.static for name, value in model.graph.inputs}
    given = VerifyOptions(model=options.model, library=options.output, device=device)
    dims = open_dimensions(model)
    for what, sizes in sampled(dims) if dims else (("its shapes", dict[str, int]()),):
        shapes = {name: bind(shape, sizes) for name, shape in types.items()}
        if not library.model.reads_values:
            with at_sizes(what, sizes):
                static = load(options.model, shapes=shapes, bindings=options.bindings, outputs=options.outputs)
            yield what, verify_loaded(static, library, given, progress)
            continue
        found = list(sampled_values(library, ranges_of(model.graph), list(shapes.values())))
        if not found:
            raise NoReference("values of inputs decide shapes, and none were found that it takes", hint="Pass them to verify as --inputs.")
        for values in found:
            bindings = {**options.bindings, **as_bindings(values)}
            with at_sizes(f"{what} with {values_text(values)}", sizes):
                static = load(options.model, shapes=shapes, bindings=bindings, outputs=options.outputs)
            yield f"{what} with {values_text(values)}", verify_loaded(static, library, given, progress)


def worst(results: Iterable[tuple[str, VerifyResult]]) -> VerifyResult:
    """Return the first result that does not match, else the last, with a note that says at which sizes was compared.

    Raises:
        InternalError: there is none.
    """
    compared: list[str] = []
    found: VerifyResult | None = None
    for what, result in results:
        compared.append(what)
        if not all(comparison.is_match for comparison in result.comparisons.values()):
            return replace(result, notes=(*result.notes, f"compared at {what}."))
        found = result
    if found is None:
        raise InternalError("no sizes to compare at")
    return replace(found, notes=(*found.notes, f"compared at {', '.join(compared)}."))
