"""Einsum: sums of products over named dimensions, written in diagonals, sums, products and matrix products."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from nautilus_cli.ir.dims import same
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I32, U32, DType, TensorType
from nautilus_cli.ops.checks import operand, operand_count, required, same_dtype
from nautilus_cli.ops.einsum_equation import Equation, parse
from nautilus_cli.ops.element_types import NUMERIC
from nautilus_cli.ops.matmul import MULTIPLIABLE
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.reduce import reduction
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import cast, reshape


@dataclass(frozen=True, slots=True)
class EinsumAttrs:
    """Attributes of Einsum."""

    equation: str


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, None)
    types = tuple(operand(inference, i, f"Inputs_{i}", NUMERIC) for i in range(len(inference.types)))
    for number, type_ in enumerate(types[1:], 1):
        same_dtype(types[0], type_, f"Inputs_{number}")
    return (TensorType(types[0].dtype, parse(inference.attrs.equation, [t.static for t in types]).shape),)


def _evaluate(attrs: EinsumAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    given = required(arrays)
    equation = parse(attrs.equation, [a.shape for a in given])
    numbers = {name: number for number, name in enumerate(equation.sizes)}  # numpy takes numbers too, up to 52
    operands: list[Any] = []
    for array, term in zip(given, equation.terms, strict=True):
        operands += [widened(array), [numbers[name] for name in term]]
    with np.errstate(all="ignore"):
        result = np.einsum(*operands, [numbers[name] for name in equation.output], optimize=len(given) > 2)
    return (stored(np.asarray(result), given[0]),)


@dataclass(frozen=True, slots=True)
class _Named:
    """A tensor whose dimensions have different names."""

    value: Value
    names: tuple[str, ...]

    def sizes(self) -> dict[str, int]:
        return dict(zip(self.names, self.value.type.static, strict=True))


def _build(emitter: Emitter, attrs: EinsumAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Combine the operands from left to right; of three and more, 16-bit floats are widened, so that nothing is rounded on the way."""
    values = required(operands)
    dtype = values[0].type.dtype
    wide = _computed(dtype, len(values))
    equation = parse(attrs.equation, [v.type.static for v in values])
    named = [_distinct(emitter, cast(emitter, v, wide), term, equation) for v, term in zip(values, equation.terms, strict=True)]
    result = named[0]
    for number, other in enumerate(named[1:], 1):
        later = {name for term in named[number + 1 :] for name in term.names} | set(equation.output)
        result = _multiplied(emitter, result, other, later)
    result = _summed(emitter, result, set(equation.output))
    arranged = _arranged(emitter, result, equation.output)
    return (cast(emitter, _expanded(emitter, arranged, equation.shape), dtype),)


def _computed(dtype: DType, count: int) -> DType:
    """Return the type in which sums and products of DTYPE are known; integers wrap the same in a wider one."""
    if dtype not in MULTIPLIABLE:
        return I32 if dtype.kind == "int" else U32
    return dtype.compute if count > 2 else dtype


def _distinct(emitter: Emitter, value: Value, term: tuple[str, ...], equation: Equation) -> _Named:
    """Take diagonals of dimensions with one name, and drop those of size 1 that others broadcast over."""
    names = list(term)
    for name in dict.fromkeys(term):
        while names.count(name) > 1:
            first = names.index(name)
            second = names.index(name, first + 1)
            value = _diagonal(emitter, value, first, second)
            names = [n for place, n in enumerate(names) if place not in (first, second)] + [name]
    kept = [name for name, size in zip(names, value.type.static, strict=True) if same(size, equation.sizes[name])]
    shape = tuple(equation.sizes[name] for name in kept)
    return _Named(reshape(emitter, value, shape), tuple(kept))


def _diagonal(emitter: Emitter, value: Value, first: int, second: int) -> Value:
    """Emit the elements whose places along two dimensions are equal, as the last dimension; one of size 1 is read again for each."""
    shape = value.type.static
    size = maximum(shape[first], shape[second])
    order = [place for place in range(len(shape)) if place not in (first, second)]
    moved = emitter.node("Transpose", [value], perm=(*order, first, second))
    outer = tuple(shape[place] for place in order)
    if not same(shape[first], shape[second]):
        return reshape(emitter, moved, (*outer, size))
    flat = reshape(emitter, moved, (*outer, size * size))
    bounds = [emitter.sizes([bound]) for bound in (0, size * size, len(outer), size + 1)]
    return emitter.node("Slice", [flat, *bounds])


def _summed(emitter: Emitter, tensor: _Named, kept: set[str]) -> _Named:
    """Sum over the dimensions that are not kept."""
    axes = tuple(place for place, name in enumerate(tensor.names) if name not in kept)
    if not axes:
        return tensor
    names = tuple(name for name in tensor.names if name in kept)
    return _Named(reduction(emitter, "ReduceSum", tensor.value, axes, keepdims=0), names)


def _arranged(emitter: Emitter, tensor: _Named, names: tuple[str, ...]) -> Value:
    """Emit the tensor with its dimensions in the order of NAMES; those that it lacks have size 1."""
    places = [tensor.names.index(name) for name in names if name in tensor.names]
    value = tensor.value
    if places != list(range(len(places))):
        value = emitter.node("Transpose", [value], perm=tuple(places))
    sizes = tensor.sizes()
    return reshape(emitter, value, tuple(sizes.get(name, 1) for name in names))


def _expanded(emitter: Emitter, value: Value, shape: tuple[int, ...]) -> Value:
    return value if same(value.type.static, shape) else emitter.node("Expand", [value, emitter.sizes(shape)])


def _multiplied(emitter: Emitter, a: _Named, b: _Named, later: set[str]) -> _Named:
    """Multiply two tensors and sum over the dimensions that nothing later names: by one matrix product, or element by element."""
    a, b = _summed(emitter, a, later | set(b.names)), _summed(emitter, b, later | set(a.names))
    shared = [name for name in a.names if name in b.names]
    batch = tuple(name for name in shared if name in later)
    inner = tuple(name for name in shared if name not in later)
    rows = tuple(name for name in a.names if name not in shared)
    columns = tuple(name for name in b.names if name not in shared)
    names = (*batch, *rows, *columns)
    if not inner:
        return _Named(emitter.node("Mul", [_arranged(emitter, a, names), _arranged(emitter, b, names)]), names)
    sizes = a.sizes() | b.sizes()

    def extent(group: tuple[str, ...]) -> int:
        return prod(sizes[name] for name in group)

    outer = tuple(sizes[name] for name in batch)
    left = reshape(emitter, _arranged(emitter, a, (*batch, *rows, *inner)), (*outer, extent(rows), extent(inner)))
    right = reshape(emitter, _arranged(emitter, b, (*batch, *inner, *columns)), (*outer, extent(inner), extent(columns)))
    product = emitter.node("MatMul", [left, right])
    return _Named(reshape(emitter, product, tuple(sizes[name] for name in names)), names)


OPERATOR = Operator(
    name="Einsum",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, Einsum-28",
    attributes=EinsumAttrs,
    since=12,
)
