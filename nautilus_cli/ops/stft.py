"""STFT: Fourier transforms of windows that slide over a signal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import is_symbolic, upper
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType, dtype_of
from nautilus_cli.ops.checks import (
    contents,
    first_of,
    integers,
    known,
    operand,
    operand_count,
    optional_contents,
    optional_operand,
    same_dtype,
    shaped,
)
from nautilus_cli.ops.element_types import FLOATS, INDICES
from nautilus_cli.ops.fourier import DIRECT_LENGTH, cut, matrix, multiplied, open_matrix, transformed
from nautilus_cli.ops.precision import stored
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.view import view
from nautilus_cli.ops.wide import cast, reshape, widen
from nautilus_cli.ops.windows import WindowsAttrs


@dataclass(frozen=True, slots=True)
class STFTAttrs:
    """Attributes of STFT."""

    onesided: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What slides.

    Attributes:
        length: of a frame.
        step: from frame to frame.
        frames: how many.
        outputs: numbers of a frame's spectrum.
    """

    length: int
    step: int
    frames: int
    outputs: int


def _plan(attrs: STFTAttrs, types: Sequence[TensorType | None], constants: Sequence[np.ndarray | None]) -> _Plan:
    """Return what slides.

    Raises:
        ModelError: shapes and numbers do not fit together, or are not known at compile time.
    """
    signal = first_of(types)
    shape = signal.static
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in (1, 2)):
        raise ModelError(f"operand 'signal' has shape {list(shape)}; the specification requires [batch, length, 1 or 2]")
    if attrs.onesided and shape[2:] == (2,):
        raise ModelError("onesided is 1, but operand 'signal' is complex; the specification requires a real one then")
    given = [contents(constants, 1, "frame_step"), optional_contents(constants, types, 3, "frame_length")]
    for array, name in zip(given, ("frame_step", "frame_length"), strict=True):
        if array is not None and array.size != 1:
            raise ModelError(f"operand '{name}' has shape {list(array.shape)}; the specification requires a scalar")
    window = types[2] if len(types) > 2 else None
    if window is not None and len(window.shape) != 1:
        raise ModelError(f"operand 'window' has shape {list(window.static)}; the specification requires a vector")
    own = None if given[1] is None else integers(given[1])[0]
    length = own if window is None else window.static[0]
    length = shape[1] if length is None else length
    assert given[0] is not None
    (step,) = integers(given[0])
    if own is not None and own < 1:
        raise ModelError(f"frame_length is {own}; the specification requires a positive number")
    if step < 1 or not 1 <= length <= upper(shape[1]):
        raise ModelError(
            f"frames of {length} in steps of {step} over a signal of {shape[1]}; the specification requires positive numbers, "
            "and frames no longer than the signal"
        )
    if own is not None and not is_symbolic(own):
        shaped(window, "window", (own,))
    return _Plan(
        length=length, step=step, frames=maximum(0, shape[1] - length) // step + 1, outputs=length // 2 + 1 if attrs.onesided else length
    )


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 4)
    signal = operand(inference, 0, "signal", FLOATS)
    step = operand(inference, 1, "frame_step", INDICES)
    same_dtype(signal, optional_operand(inference, 2, "window", FLOATS), "window")
    length = optional_operand(inference, 3, "frame_length", INDICES)
    same_dtype(step, length, "frame_length", "'frame_step'")
    found = _plan(inference.attrs, inference.types, inference.constants)
    room = signal.static[1] - found.length
    inference.require(room, 0, max(0, upper(room)), "how many samples there are beyond the first frame")
    if length is not None and inference.constants[3] is not None:
        inference.require(integers(inference.constants[3])[0], found.length, found.length, "the frame length, which is that of the window")
    return (TensorType(signal.dtype, (signal.static[0], found.frames, found.outputs, 2)),)


def _places(found: _Plan) -> np.ndarray:
    """Return which sample each place of each frame is, [frames, length]."""
    return np.asarray(np.arange(found.frames)[:, None] * found.step + np.arange(found.length))


def _evaluate(attrs: STFTAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x = first_of(arrays)
    found = _plan(attrs, [None if a is None else TensorType(dtype_of(a), a.shape) for a in arrays], arrays)
    wide = x.astype(np.float64)
    wide = wide[..., None] if wide.ndim == 2 else wide
    signal = wide[..., 0] + (1j * wide[..., 1] if wide.shape[2] == 2 else 0)
    frames = signal[:, _places(found)]
    if len(arrays) > 2 and arrays[2] is not None:
        frames = frames * arrays[2].astype(np.float64)
    result = np.fft.fft(frames)[..., : found.outputs]
    return (stored(np.stack([result.real, result.imag], -1), x),)


def _build(emitter: Emitter, attrs: STFTAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Frames are a view of the signal; while they are short, each is a row of one product."""
    x, window = first_of(operands), (*operands, None, None)[2]
    found = _plan(attrs, [None if v is None else v.type for v in operands], known(operands))
    batch, samples = x.type.static[:2]
    size = x.type.static[2] if len(x.type.shape) == 3 else 1
    signal = reshape(emitter, widen(emitter, x), (batch, samples * size))
    frames = emitter.node("nautilus::Windows", [signal], WindowsAttrs(length=found.length * size, step=found.step * size))
    rows = view(emitter, frames, (batch * found.frames, found.length, size))
    if is_symbolic(found.length):
        result = _open_at_once(emitter, found, rows, window)
    else:
        result = (_at_once if found.length <= DIRECT_LENGTH else _in_parts)(emitter, found, rows, window)
    return (cast(emitter, reshape(emitter, result, (batch, found.frames, found.outputs, 2)), x.type.dtype),)


def _at_once(emitter: Emitter, found: _Plan, rows: Value, window: Value | None) -> Value:
    """Multiply [rows, n, c]; a window that is known is part of the factors before they are rounded."""
    size = rows.type.static[2]
    factors = matrix(found.length, found.outputs, found.length, is_complex=size == 2, inverse=False)
    if window is None:
        return multiplied(emitter, rows, factors)
    if window.constant is not None:
        return multiplied(emitter, rows, factors * window.constant.astype(np.float64).reshape(-1, 1, 1, 1))
    flat = factors.reshape(found.length, -1).astype(rows.type.dtype.numpy)
    weights = emitter.node("Mul", [emitter.constant(flat), reshape(emitter, widen(emitter, window), (found.length, 1))])
    columns = (rows.type.static[0], found.length * size)
    product = emitter.node("MatMul", [reshape(emitter, rows, columns), reshape(emitter, weights, (columns[1], 2 * found.outputs))])
    return reshape(emitter, product, (columns[0], found.outputs, 2))


def _open_at_once(emitter: Emitter, found: _Plan, rows: Value, window: Value | None) -> Value:
    """Multiply [rows, n, c] of a length that only a run knows."""
    count, length, size = rows.type.static
    if window is not None:
        rows = emitter.node("Mul", [rows, reshape(emitter, widen(emitter, window), (length, 1))])
    factors = open_matrix(emitter, length, found.outputs, length, is_complex=size == 2, inverse=False, dtype=rows.type.dtype)
    product = emitter.node("MatMul", [reshape(emitter, rows, (count, length * size)), factors])
    return reshape(emitter, product, (count, found.outputs, 2))


def _in_parts(emitter: Emitter, found: _Plan, rows: Value, window: Value | None) -> Value:
    """Multiply by the window and transform what is too long for one product."""
    if window is not None:
        rows = emitter.node("Mul", [rows, reshape(emitter, widen(emitter, window), (found.length, 1))])
    return cut(emitter, transformed(emitter, rows, inverse=False), 1, found.outputs)


OPERATOR = Operator(
    name="STFT",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, STFT-17",
    attributes=STFTAttrs,
    since=17,
)
