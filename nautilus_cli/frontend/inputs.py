"""A graph's inputs: their declared types, the shapes and constants that the user gives, what is still open."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from onnx import GraphProto, TensorProto, TypeProto, ValueInfoProto

from nautilus_cli.errors import ModelError, UsageError, nearest, shortened
from nautilus_cli.frontend.bindings import bound_array
from nautilus_cli.frontend.ranges import bound_shape
from nautilus_cli.frontend.tensors import element_type
from nautilus_cli.ir.dims import is_symbolic, lower, same, upper
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.ranges import DimRange, Size
from nautilus_cli.ir.types import U32, UCS4, DType, Sym, TensorType
from nautilus_cli.numerics.strings import DEFAULT_WIDTH
from nautilus_cli.ops.tensor_limits import MAX_RANK, check_size


@dataclass(frozen=True, slots=True)
class Declared:
    """An input as the model declares it.

    Attributes:
        name: its name.
        dtype: element type.
        dims: dimensions, an unnamed open one as `?`; None where even the rank is open.
    """

    name: str
    dtype: DType
    dims: tuple[int | Sym, ...] | None

    def __str__(self) -> str:
        dims = "of any shape" if self.dims is None else f"[{', '.join(shortened(str(dim)) for dim in self.dims)}]"
        return f"{quoted(self.name)} {dims}"


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a graph starts from.

    Attributes:
        types: type of each run-time input, in ONNX order; symbolic where a dimension has a range.
        constants: contents of each input that is bound.
        notes: sentences for the user.
        known: what is known of run-time inputs, as arrays of integers and expressions; the library checks the integers.
        elements: symbols for the elements of run-time inputs that rules compute with; the host reads those.
        ranges: what the user says of elements, by `INPUT[NUMBER]`.
        bounds: what the user says of numbers that kernels give, by their names.
        read: names of those for which the host waits.
        texts: names of the run-time inputs that are strings; their types are those of the code points.
        lets_numbers_decide: whether numbers that kernels compute may decide shapes.
        renamed: what dimensions are called that became one with another, by the name that the model gives them.
    """

    types: Mapping[str, TensorType]
    constants: Mapping[str, np.ndarray]
    known: Mapping[str, np.ndarray] = field(default_factory=dict)
    elements: Mapping[str, np.ndarray] = field(default_factory=dict)
    ranges: Mapping[str, DimRange] = field(default_factory=dict)
    bounds: Mapping[str, int] = field(default_factory=dict)
    read: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    texts: frozenset[str] = frozenset()
    lets_numbers_decide: bool = False
    renamed: Mapping[str, str] = field(default_factory=dict)


NO_DIMS: Mapping[str, DimRange] = {}


def resolve_inputs(
    graph: GraphProto, shapes: Mapping[str, Sequence[Size]], bindings: Mapping[str, str], dims: Mapping[str, DimRange] = NO_DIMS
) -> Inputs:
    """Return the inputs with the user's shapes, ranges and constants.

    An input that is also an initializer is a constant, not an input. One name of a dimension is one size everywhere.

    Raises:
        UsageError: a name is unknown, or a shape or constant does not fit.
        ModelError: a declared type is not supported, or a dimension stays open.
    """
    initial = {t.name for t in graph.initializer}
    declared = {v.name: declared_type(v) for v in graph.input if v.name not in initial}
    _check_given(graph, declared, initial, shapes, bindings)
    ranges = _of_elements(declared, dims)
    named = _names(declared)
    bounds = {name: _bound(name, given, named) for name, given in dims.items() if name not in ranges and name not in named}
    dims = {name: given for name, given in dims.items() if name in named}
    sizes = _named_sizes(dims)
    bound = {name: _with_shape(declared[name], bound_shape(name, shape, declared[name].dims), sizes) for name, shape in shapes.items()}
    types: dict[str, TensorType] = {}
    constants: dict[str, np.ndarray] = {}
    open_inputs: list[Declared] = []
    notes: list[str] = []
    has_ranges = bool(dims) or any(isinstance(size, DimRange) for shape in shapes.values() for size in shape)
    for name, input_ in declared.items():
        found = bound.get(name, input_.dims)
        if has_ranges and found is not None and name not in bindings:
            found = _with_default_ranges(name, found, sizes, notes)
        static = None if found is None else _static(found, sizes)
        if static is None and name in bindings:
            static = _shape_of_binding(input_, sizes)
        if static is None:
            open_inputs.append(input_)
            continue
        type_ = check_size(TensorType(input_.dtype, static), f"input {quoted(name)}")
        if name in bindings:
            constants[name] = bound_array(name, bindings[name], type_)
        else:
            types[name] = type_
    if open_inputs:
        raise _open_error(open_inputs, sizes)
    texts = frozenset(name for name, input_ in declared.items() if input_.dtype == UCS4)
    bound_text = next((name for name in texts if name in bindings), None)
    if bound_text is not None:
        raise UsageError("an input of strings cannot be bound", where=f"--bind {quoted(bound_text)}", hint="Pass it at run time.")
    numbers = {name: replace(type_, dtype=U32) if name in texts else type_ for name, type_ in types.items()}
    return Inputs(numbers, constants, ranges=ranges, bounds=bounds, notes=tuple(notes), texts=texts & types.keys())


DEFAULT_RANGES = {"batch": DimRange(1, 64), "other": DimRange(1, 512)}
"""Of dimensions that the model leaves open, where others are given a range and they are not: an input's first one, and the rest."""


def _with_default_ranges(
    name: str, dims: Sequence[int | Sym], sizes: dict[Sym, tuple[int, str]], notes: list[str]
) -> tuple[int | Sym, ...]:
    """Give the dimensions of an input that are still open their default ranges, with a note each."""
    found: list[int | Sym] = []
    for number, dim in enumerate(dims):
        if not isinstance(dim, Sym) or dim in sizes:
            found.append(dim)
            continue
        label = dim.name if dim.name != "?" else f"{name}[{number}]"
        default = DEFAULT_RANGES["batch" if number == 0 else "other"]
        size = default.symbol(label)
        if dim.name != "?":
            sizes[dim] = (size, f"input {quoted(name)}")
        found.append(size)
        notes.append(f"dimension {quoted(label)[1:-1]} has no size or range: {default} is taken; --dim or --shape sets another.")
    return tuple(found)


def _of_elements(declared: Mapping[str, Declared], dims: Mapping[str, DimRange]) -> dict[str, DimRange]:
    """Return the ranges that the user gives of elements of integer inputs, rather than of dimensions."""
    named = _names(declared)
    found = {}
    for text, given in dims.items():
        name, _, number = text.removesuffix("]").rpartition("[")
        is_element = text.endswith("]") and number.isdecimal() and name in declared and declared[name].dtype.kind in ("int", "uint")
        if is_element and text not in named:
            found[text] = given
    return found


def _names(declared: Mapping[str, Declared]) -> frozenset[str]:
    """Return the names of the inputs' dimensions."""
    return frozenset(dim.name for input_ in declared.values() for dim in input_.dims or () if isinstance(dim, Sym))


def _bound(name: str, given: DimRange, dims: frozenset[str]) -> int:
    """Return the greatest value of a number that a kernel gives, if it is one; `require_known` tells later.

    Raises:
        UsageError: the range is not one of such a number.
    """
    if given.low != 0 or given.divisor != 1 or given.points:
        raise UsageError(
            f"no input has a dimension of this name, and a number that a kernel gives is any from 0 on, not {given}",
            where=f"--dim {quoted(name)}",
            hint=nearest(name, dims) or f"Write {name}=0..{given.high} for such a number.",
        )
    return given.high


def require_known(bounds: Mapping[str, int], names: Iterable[str], inputs: Inputs) -> None:
    """Refuse bounds of what is neither an input's dimension nor a number that a kernel gives.

    Args:
        bounds: by name.
        names: of the numbers that kernels give.
        inputs: of the model.

    Raises:
        UsageError: there is one.
    """
    dims = {symbol.name for type_ in inputs.types.values() for dim in type_.static for symbol in symbols(dim)}
    known = frozenset(names)
    for name in bounds:
        if name not in known:
            raise UsageError(
                "no input has a dimension of this name, and no kernel gives a number that is called so",
                where=f"--dim {quoted(name)}",
                hint=nearest(name, known | dims),
            )


def _named_sizes(dims: Mapping[str, DimRange]) -> dict[Sym, tuple[int, str]]:
    """Return the ranges that the user gives by a dimension's name."""
    return {Sym(name): (given.symbol(name), f"--dim {quoted(name)}") for name, given in dims.items()}


def declared_type(info: ValueInfoProto, role: str = "input") -> Declared:
    """Return a declared type.

    Raises:
        ModelError: it is not a dense tensor of a supported element type.
    """
    where = f"{role} {quoted(info.name)}"
    kind = info.type.WhichOneof("value")
    if kind != "tensor_type":
        name = "" if kind is None else kind.removesuffix("_type").replace("_", " ")
        what = "has no type" if kind is None else f"is {'an' if name[0] in 'aeiou' else 'a'} {name}"
        raise ModelError(f"{what}; only dense tensors are supported", where=where)
    tensor: TypeProto.Tensor = info.type.tensor_type
    is_text = tensor.elem_type == TensorProto.STRING
    dtype = UCS4 if is_text else element_type(tensor.elem_type, where)
    if not tensor.HasField("shape"):
        return Declared(info.name, dtype, None)
    if len(tensor.shape.dim) > MAX_RANK:
        raise ModelError(f"has {len(tensor.shape.dim)} dimensions", where=where, hint=f"The limit is {MAX_RANK}.")
    dims: list[int | Sym] = []
    for dim in tensor.shape.dim:
        # Some writers mark an open dimension by -1.
        dims.append(dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else Sym(dim.dim_param or "?"))
    if is_text:
        dims.append(DEFAULT_WIDTH)
    return Declared(info.name, dtype, tuple(dims))


def _check_given(
    graph: GraphProto,
    declared: Mapping[str, Declared],
    initial: set[str],
    shapes: Mapping[str, Sequence[Size]],
    bindings: Mapping[str, str],
) -> None:
    """Check the names that the user gives, and that input names are unique."""
    names = [v.name for v in graph.input]
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None or "" in names:
        raise ModelError(f"two inputs are called {quoted(twice)}" if twice else "an input has no name", where="graph")
    for option, given in (("--shape", shapes), ("--bind", bindings)):
        for name in given:
            if name in initial:
                raise UsageError("is an initializer of the model, a constant already", where=f"{option} {quoted(name)}")
            if name not in declared:
                raise UsageError("the model has no input of this name", where=f"{option} {quoted(name)}", hint=nearest(name, declared))


def _with_shape(input_: Declared, shape: Sequence[int], sizes: dict[Sym, tuple[int, str]]) -> tuple[int, ...]:
    """Check a given shape against the declared one, and learn the sizes of its named dimensions."""
    where = f"--shape {quoted(input_.name)}"
    given = "x".join(map(str, shape))
    if any(lower(size) < 0 for size in shape):
        raise UsageError(f"{given} has a negative dimension", where=where)
    if len(shape) > MAX_RANK:
        raise UsageError(f"has {len(shape)} dimensions", where=where, hint=f"The limit is {MAX_RANK}.")
    if input_.dims is None:
        return tuple(shape)
    dims = input_.dims
    if input_.dtype == UCS4 and len(shape) == len(dims):
        dims = (*dims[:-1], shape[-1])  # the width of strings is the user's to say
    elif input_.dtype == UCS4 and len(shape) == len(dims) - 1:
        shape = (*shape, DEFAULT_WIDTH)
    if len(shape) != len(dims):
        raise UsageError(
            f"{given} has {len(shape)} dimensions; the model declares {len(dims)}: {input_}",
            where=where,
            hint=f"For example: {_example(input_, sizes)}.",
        )
    for number, (size, dim) in enumerate(zip(shape, dims, strict=True)):
        if isinstance(dim, int):
            if not same(size, dim):
                raise UsageError(f"{given} has {size} in dimension {number}; the model declares {dim}: {input_}", where=where)
        elif dim.name != "?":
            known, source = sizes.setdefault(dim, (size, f"input {quoted(input_.name)}"))
            if not same(known, size):
                raise UsageError(
                    f"{given} makes dimension '{shortened(str(dim))}' {_told(size)}; {source} makes it {_told(known)}",
                    where=where,
                    hint="One name of a dimension is one size.",
                )
    return tuple(shape)


def _told(size: int) -> str:
    """Return a size, or its range."""
    return f"{lower(size)}..{upper(size)}" if is_symbolic(size) else str(size)


def _static(dims: Iterable[int | Sym], sizes: Mapping[Sym, tuple[int, str]]) -> tuple[int, ...] | None:
    """Return dimensions as numbers, None where one is open."""
    found = []
    for dim in dims:
        if isinstance(dim, Sym):
            if dim not in sizes:
                return None
            dim = sizes[dim][0]
        found.append(dim)
    return tuple(found)


def _shape_of_binding(input_: Declared, sizes: Mapping[Sym, tuple[int, str]]) -> tuple[int, ...] | None:
    """Return the shape of a bound input that leaves it open: a scalar where even the rank is, else one element along open dimensions."""
    if input_.dims is None:
        return ()
    return tuple(sizes.get(dim, (1, ""))[0] if isinstance(dim, Sym) else dim for dim in input_.dims)


def _open_error(inputs: Sequence[Declared], sizes: Mapping[Sym, tuple[int, str]]) -> ModelError:
    """Return the error that shows which options to pass."""
    what = "; ".join(map(str, inputs))
    options = " ".join(_example(input_, sizes) for input_ in inputs)
    plural = "inputs have dimensions" if len(inputs) > 1 else "an input has dimensions"
    return ModelError(f"{plural} that the model leaves open: {what}", hint=f"Pass their sizes, for example: {options}")


def _example(input_: Declared, sizes: Mapping[Sym, tuple[int, str]]) -> str:
    """Return a `--shape` option with plausible sizes for what is open."""
    dims = input_.dims if input_.dims is not None else (Sym("batch"), Sym("channels"), Sym("height"), Sym("width"))
    known = [sizes[d][0] if isinstance(d, Sym) and d in sizes else d for d in dims]
    text = "x".join(str(_plausible(d, number, len(dims)) if isinstance(d, Sym) else d) for number, d in enumerate(known))
    return f"--shape {shlex.quote(f'{quoted(input_.name)[1:-1]}={text}')}"


def _plausible(dim: Sym, number: int, rank: int) -> int:
    """Return a usual size of an open dimension: images are 224 wide and texts 128 long."""
    name = dim.name.lower()
    if "batch" in name or number == 0:
        return 1
    if "seq" in name or "len" in name or "time" in name:
        return 128
    if rank == 4:
        return 3 if number == 1 else 224
    return 128
