"""DFT: the discrete Fourier transform along one axis, of real or complex numbers, and its inverse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import is_symbolic, same, upper
from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.indicators import chosen, equal, from_front, selected
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import first_of, integers, known, operand, operand_count, optional_contents, optional_operand
from nautilus_cli.ops.element_types import FLOATS, INDICES
from nautilus_cli.ops.fourier import (
    DIRECT_LENGTH,
    cut,
    half_matrix,
    matrix,
    mirrored,
    multiplied,
    open_half_matrix,
    open_matrix,
    transformed,
)
from nautilus_cli.ops.open_axes import line_shape
from nautilus_cli.ops.operands import UnknownContentsError
from nautilus_cli.ops.precision import stored
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.split import SplitAttrs
from nautilus_cli.ops.view import view
from nautilus_cli.ops.wide import cast, reshape, scalar, widen


@dataclass(frozen=True, slots=True)
class DFTAttrs:
    """Attributes of DFT."""

    inverse: int = 0
    onesided: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What is transformed.

    Attributes:
        axis: from the front.
        length: of the transform.
        outputs: along the axis of the result.
        size: 1 for a real result, 2 for a complex one.
    """

    axis: int
    length: int
    outputs: int
    size: int


def _number(constants: Sequence[np.ndarray | None], types: Sequence[TensorType | None], index: int, name: str) -> int | None:
    """Return a scalar operand, None where it is left out."""
    array = optional_contents(constants, types, index, name)
    if array is None:
        return None
    if array.size != 1:
        raise ModelError(f"operand '{name}' has shape {list(array.shape)}; the specification requires a scalar")
    return integers(array)[0]


def _own_length(attrs: DFTAttrs, shape: tuple[int, ...], axis: int) -> int:
    """Return the length of a transform for which no operand says it."""
    size = selected(axis, shape[:-1])
    return 2 * (size - 1) if attrs.onesided and attrs.inverse else size


def _plan(attrs: DFTAttrs, shape: tuple[int, ...], length: int | None, axis: int | None) -> _Plan:
    """Return what is transformed.

    Raises:
        ModelError: axis, length or the number of parts do not fit the operand.
    """
    rank, axis = len(shape), -2 if axis is None else axis
    if rank < 2 or shape[-1] not in (1, 2):
        raise ModelError(f"operand 'input' has shape {list(shape)}; the specification requires 1 or 2 as the last dimension")
    if same(axis, -1) or not -rank <= axis <= rank - 2:
        raise ModelError(f"axis is {axis}; for a tensor of rank {rank} the specification allows {-rank} to -2 and 0 to {rank - 2}")
    axis = from_front(axis, rank)
    if attrs.onesided and (shape[-1] == 2) != bool(attrs.inverse):
        wanted = "complex" if attrs.inverse else "real"
        raise ModelError(f"onesided is 1 and operand 'input' has {shape[-1]} parts; the specification requires a {wanted} operand here")
    halved = bool(attrs.onesided and attrs.inverse)
    is_given = length is not None
    length = _own_length(attrs, shape, axis) if length is None else length
    if upper(length) < 1 or (is_given and length < 1):
        raise ModelError(f"the length of the transform is {length}; the specification requires a positive number")
    length = maximum(1, length)
    outputs = length // 2 + 1 if attrs.onesided and not attrs.inverse else length
    return _Plan(axis=axis, length=length, outputs=outputs, size=1 if halved else 2)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 3)
    x = operand(inference, 0, "input", FLOATS)
    optional_operand(inference, 1, "dft_length", INDICES)
    optional_operand(inference, 2, "axis", (I64,))
    length, axis = (_number(inference.constants, inference.types, index, name) for index, name in ((1, "dft_length"), (2, "axis")))
    if any(s.source is None for s in symbols(axis)):
        raise UnknownContentsError(2, "axis")  # one that the result's declared shape is to tell, which it may not
    if axis is not None:
        inference.require(equal(axis, -1), 0, 0, "whether the axis is that of the parts")
    found = _plan(inference.attrs, x.static, length, axis)
    if length is None:
        inference.require(_own_length(inference.attrs, x.static, found.axis), 1, max(1, upper(found.length)), "the length of the transform")
    return (TensorType(x.dtype, _result_shape(x.static, found)),)


def _result_shape(shape: tuple[int, ...], found: _Plan) -> tuple[int, ...]:
    return (*(chosen(equal(found.axis, dim), found.outputs, size) for dim, size in enumerate(shape[:-1])), found.size)


def _evaluate(attrs: DFTAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x, length, axis = (*arrays, None, None)[:3]
    assert x is not None
    found = _plan(attrs, x.shape, None if length is None else int(length.reshape(())), None if axis is None else int(axis.reshape(())))
    wide = x.astype(np.float64)
    signal = wide[..., 0] + (1j * wide[..., 1] if x.shape[-1] == 2 else 0)
    if found.size == 1:
        return (stored(np.fft.irfft(signal, found.length, found.axis)[..., None], x),)
    result = (np.fft.ifft if attrs.inverse else np.fft.fft)(signal, found.length, found.axis)
    result = result.take(np.arange(found.outputs), found.axis)
    return (stored(np.stack([result.real, result.imag], -1), x),)


def _build(emitter: Emitter, attrs: DFTAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x = first_of(operands)
    types = [None if v is None else v.type for v in operands]
    length, axis = (_number(known(operands), types, index, name) for index, name in ((1, "dft_length"), (2, "axis")))
    found = _plan(attrs, x.type.static, length, axis)
    if is_symbolic(found.axis):
        return (cast(emitter, _along_open_axis(emitter, attrs, found, widen(emitter, x)), x.type.dtype),)
    rank = len(x.type.shape)
    order = (*(a for a in range(rank - 1) if a != found.axis), found.axis, rank - 1)
    moved = widen(emitter, emitter.node("Transpose", [x], perm=order) if order != tuple(range(rank)) else x)
    outer = moved.type.static[:-2]
    rows = reshape(emitter, moved, (prod(outer), *moved.type.static[-2:]))
    result = reshape(emitter, _rows(emitter, attrs, found, rows), (*outer, found.outputs, found.size))
    if order != tuple(range(rank)):
        result = emitter.node("Transpose", [result], perm=tuple(order.index(a) for a in range(rank)))
    return (cast(emitter, result, x.type.dtype),)


def _along_open_axis(emitter: Emitter, attrs: DFTAttrs, found: _Plan, x: Value) -> Value:
    """Transform along an axis that only a run knows: the middle one of three, and the parts behind."""
    *shape, parts = x.type.static
    outer, size, inner = line_shape(shape, found.axis)
    lines = emitter.node("Transpose", [view(emitter, x, (outer, size, inner, parts))], perm=(0, 2, 1, 3))
    result = _rows(emitter, attrs, found, view(emitter, lines, (outer * inner, size, parts)))
    lines = view(emitter, result, (outer, inner, found.outputs, found.size))
    return view(emitter, emitter.node("Transpose", [lines], perm=(0, 2, 1, 3)), _result_shape(x.type.static, found))


def _open_rows(emitter: Emitter, attrs: DFTAttrs, found: _Plan, x: Value) -> Value:
    """Transform [rows, n, c] to [rows, outputs, size] by one product, whatever the length is."""
    rows, size, parts = x.type.static
    inputs = minimum(size, found.length // 2 + 1 if found.size == 1 else found.length)
    x = reshape(emitter, cut(emitter, x, 1, inputs), (rows, inputs * parts))
    if found.size == 1:
        factors = open_half_matrix(emitter, inputs, found.length, x.type.dtype)
    else:
        factors = open_matrix(
            emitter, inputs, found.outputs, found.length, is_complex=parts == 2, inverse=bool(attrs.inverse), dtype=x.type.dtype
        )
    return reshape(emitter, emitter.node("MatMul", [x, factors]), (rows, found.outputs, found.size))


def _rows(emitter: Emitter, attrs: DFTAttrs, found: _Plan, x: Value) -> Value:
    """Transform [rows, n, c] to [rows, outputs, size]."""
    length, inverse = found.length, bool(attrs.inverse)
    if is_symbolic(length):
        return _open_rows(emitter, attrs, found, x)
    if is_symbolic(x.type.static[1]):
        x = cut(emitter, x, 1, length)
    if length <= DIRECT_LENGTH:
        used = length // 2 + 1 if found.size == 1 else length
        x = x if x.type.static[1] <= used else cut(emitter, x, 1, used)
        inputs = x.type.static[1]
        if found.size == 1:
            return multiplied(emitter, x, half_matrix(inputs, length))
        factors = matrix(inputs, found.outputs, length, is_complex=x.type.static[2] == 2, inverse=inverse)
        return multiplied(emitter, x, factors / length if inverse else factors)
    if found.size == 1:
        x = mirrored(emitter, cut(emitter, x, 1, length // 2 + 1), length)
    result = transformed(emitter, cut(emitter, x, 1, length), inverse=inverse)
    if found.size == 1:
        result = emitter.results("Split", [result], 2, SplitAttrs(axis=2))[0]
    result = cut(emitter, result, 1, found.outputs)
    return emitter.node("Mul", [result, scalar(emitter, 1 / length, result.type.dtype)]) if inverse else result


OPERATOR = Operator(
    name="DFT",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, DFT-20",
    attributes=DFTAttrs,
    since=20,
)
