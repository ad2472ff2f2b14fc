"""MelWeightMatrix: triangles over a spectrum, evenly spaced on the mel scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F64, I64, TensorType
from nautilus_cli.ops.checks import contents, integers, known, operand, operand_count, required, same_dtype
from nautilus_cli.ops.element_types import FLOATS, INDICES, NUMERIC, dtype_from_onnx
from nautilus_cli.ops.numbers import Arithmetic, progression
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import cast, reshape, scalar

_NAMES = ("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz")
_MEL = 2595.0
_CORNER_HERTZ = 700.0
"""mel(f) = 2595 log10(1 + f / 700). Source: ONNX 28, MelWeightMatrix-17."""


@dataclass(frozen=True, slots=True)
class MelWeightMatrixAttrs:
    """Attributes of MelWeightMatrix."""

    output_datatype: int = 1


def _edges(bands: int, length: int, rate: int, low: float, high: float) -> np.ndarray:
    """Return the numbers of the spectrum at which triangles begin, peak and end: two more than there are bands.

    The step is the range divided by the number of edges, not of gaps between them, as the reference implementation of ONNX has it.
    """
    mels = _MEL * np.log10(1 + np.array([low, high]) / _CORNER_HERTZ)
    points = np.arange(bands + 2) * ((mels[1] - mels[0]) / (bands + 2)) + mels[0]
    hertz = _CORNER_HERTZ * (10 ** (points / _MEL) - 1)
    return np.asarray((length + 1) * hertz // rate).astype(np.int64)


def _matrix(arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the weights, [length // 2 + 1, bands].

    Raises:
        ModelError: a number is out of range.
    """
    bands, length, rate = (int(a.reshape(())) for a in arrays[:3])
    low, high = (float(a.reshape(())) for a in arrays[3:])
    if bands < 0 or length < 1 or rate < 1 or not -_CORNER_HERTZ < low <= high < np.inf:
        raise ModelError(
            f"{bands} bands from {low} to {high} Hz of a spectrum of length {length} at {rate} Hz; "
            "the specification requires positive sizes and ascending edges"
        )
    count = length // 2 + 1
    edges = _edges(bands, length, rate, low, high)
    if bands and not (edges[0] >= 0 and edges[-2] < count and edges[-1] <= count):
        raise ModelError(
            f"bands from {low} to {high} Hz reach from number {edges[0]} to {edges[-1]} of a spectrum of {count}",
            hint=f"The upper edge is at most half the sample rate: {rate / 2} Hz.",
        )
    result = np.zeros((count, bands))
    for band in range(bands):
        begin, peak, end = (int(n) for n in edges[band : band + 3])
        if begin == peak:
            result[peak, band] = 1
        else:
            result[begin : peak + 1, band] = np.arange(peak - begin + 1) / (peak - begin)
        if end > peak:
            result[peak:end, band] = np.arange(end - peak, 0, -1) / (end - peak)
    return result


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 5, 5)
    for index, name in enumerate(_NAMES):
        found = operand(inference, index, name, INDICES if index < 3 else FLOATS)
        if found.elements != 1:
            raise ModelError(f"operand '{name}' has shape {list(found.static)}; the specification requires a scalar")
        first = 0 if index < 3 else 3
        same_dtype(operand(inference, first, _NAMES[first]), found, name, f"'{_NAMES[first]}'")
    dtype = dtype_from_onnx(inference.attrs.output_datatype)
    if dtype not in NUMERIC:
        raise ModelError(f"output_datatype is {dtype}; the specification allows {', '.join(d.name for d in NUMERIC)}")
    bands, length = (integers(contents(inference.constants, index, _NAMES[index]))[0] for index in (0, 1))
    if bands < 0 or length < 1:
        raise ModelError(f"{bands} bands of a spectrum of length {length}; the specification requires positive sizes")
    return (TensorType(dtype, (length // 2 + 1, bands)),)


def _evaluate(attrs: MelWeightMatrixAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    return (_matrix(required(arrays)).astype(dtype_from_onnx(attrs.output_datatype).numpy),)


def _build(emitter: Emitter, attrs: MelWeightMatrixAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Work `_matrix` out when the model runs, in float64: each weight from the edges of its band."""
    bands_value, length_value, *rest = required(operands)
    bands, length = (integers(array)[0] for array in required(known((bands_value, length_value))))
    rate, low, high = (cast(emitter, reshape(emitter, value, ()), F64) for value in rest)
    on = Arithmetic(emitter, F64)

    def mel(hertz: Value) -> Value:
        ratio = on.add(1, on.divide(hertz, _CORNER_HERTZ))
        return on.multiply(on.divide(emitter.node("Log", [ratio]), np.log(10)), _MEL)

    first = mel(low)
    step = on.divide(on.subtract(mel(high), first), bands + 2)
    points = on.add(on.multiply(progression(emitter, bands + 2, F64), step), first)
    hertz = on.multiply(on.subtract(on.apply("Pow", 10, on.divide(points, _MEL)), 1), _CORNER_HERTZ)
    edges = emitter.node("Floor", [on.divide(on.multiply(hertz, length + 1), rate)])
    begin, peak, end = (_part(emitter, edges, place, bands) for place in range(3))
    count = length // 2 + 1
    place = reshape(emitter, progression(emitter, count, F64), (count, 1))
    rise, fall = on.subtract(peak, begin), on.subtract(end, peak)
    flat = on.apply("Equal", rise, 0)
    upwards = on.where(flat, 1, on.divide(on.subtract(place, begin), on.where(flat, 1, rise)))
    downwards = on.divide(on.subtract(end, place), on.apply("Max", fall, 1))
    is_rising = emitter.node("And", [on.apply("GreaterOrEqual", place, begin), on.apply("LessOrEqual", place, peak)])
    is_falling = emitter.node("And", [on.apply("GreaterOrEqual", place, peak), on.apply("Less", place, end)])
    found = on.where(is_falling, downwards, on.where(is_rising, upwards, 0))
    # Bands that leave the spectrum are an index out of range, which the run reports: the second of one matrix.
    first_edge, last_peak, last_end = (reshape(emitter, _part(emitter, edges, n, 1), ()) for n in (0, bands, bands + 1))
    ends = [on.apply("GreaterOrEqual", first_edge, 0), on.apply("Less", last_peak, count), on.apply("LessOrEqual", last_end, count)]
    is_inside = emitter.node("And", [emitter.node("And", ends[:2]), ends[2]])
    index = emitter.node("Where", [is_inside, scalar(emitter, 0, I64), scalar(emitter, 1, I64)])
    found = emitter.node("Gather", [reshape(emitter, found, (1, count, bands)), index], axis=0)
    return (cast(emitter, found, dtype_from_onnx(attrs.output_datatype)),)


def _part(emitter: Emitter, edges: Value, first: int, count: int) -> Value:
    """Return COUNT edges from FIRST on, as a row."""
    part = emitter.node("Slice", [edges, emitter.sizes([first]), emitter.sizes([first + count])])
    return reshape(emitter, part, (1, count))


OPERATOR = Operator(
    name="MelWeightMatrix",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, MelWeightMatrix-17",
    attributes=MelWeightMatrixAttrs,
    since=17,
)
