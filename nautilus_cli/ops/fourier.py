"""Fourier transforms of any length as matrix products.

Up to `DIRECT_LENGTH` a transform is one product with a matrix of cosines and sines. Longer ones are split as Cooley and Tukey did: a length
a b is b transforms of length a, a turn of each number, and a transforms of length b. Where no factor is short enough, the transform is a
convolution with a chirp, whose length is a power of two (Bluestein). All constants are computed in float64.

A complex number is the last dimension, real part first. `inverse` turns the other way round and does not divide by the length.

Source: J. Cooley, J. Tukey: An Algorithm for the Machine Calculation of Complex Fourier Series, 1965; L. Bluestein: A Linear Filtering
Approach to the Computation of Discrete Fourier Transform, 1970.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nautilus_cli.ir.dims import is_symbolic, same
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F64, I64, DType
from nautilus_cli.ops.numbers import Arithmetic, progression
from nautilus_cli.ops.spec import Emitter
from nautilus_cli.ops.split import SplitAttrs
from nautilus_cli.ops.wide import cast, reshape, scalar

DIRECT_LENGTH = 512
"""Up to here one product, of at most 1024 × 1024 numbers."""


def angles(inputs: int, outputs: int, length: int, *, inverse: bool) -> np.ndarray:
    """Return the angle of each input's share of each output, [inputs, outputs]; the product of places is reduced before it is rounded."""
    turns = np.outer(np.arange(inputs), np.arange(outputs)) % length
    return np.asarray((2 if inverse else -2) * np.pi * turns / length)


def matrix(inputs: int, outputs: int, length: int, *, is_complex: bool, inverse: bool) -> np.ndarray:
    """Return the matrix of a transform from real or complex numbers to complex ones: [inputs, 1 or 2, outputs, 2]."""
    angle = angles(inputs, outputs, length, inverse=inverse)
    cos, sin = np.cos(angle), np.sin(angle)
    rows = [np.stack([cos, sin], -1)] + ([np.stack([-sin, cos], -1)] if is_complex else [])
    return np.stack(rows, 1)


def half_matrix(inputs: int, length: int) -> np.ndarray:
    """Return the matrix from the first half of a spectrum to the real signal: [inputs, 2, length, 1], divided by the length.

    Numbers of the spectrum stand for themselves and their mirror images, but for the first and, of an even length, the last.
    """
    angle = angles(inputs, length, length, inverse=True)
    places = np.arange(inputs)
    weight = np.where((places == 0) | (2 * places == length), 1.0, 2.0)[:, None] / length
    return np.stack([weight * np.cos(angle), -weight * np.sin(angle)], 1)[..., None]


def open_matrix(emitter: Emitter, inputs: int, outputs: int, length: int, *, is_complex: bool, inverse: bool, dtype: DType) -> Value:
    """Return `matrix` of sizes that only a run knows, laid out as the factor of a product: [inputs x (1 or 2), outputs x 2].

    That of an inverse is divided by the length.
    """
    cos, sin = _open_waves(emitter, inputs, outputs, length, inverse=inverse)
    on = Arithmetic(emitter, F64)
    if inverse:
        cos, sin = on.divide(cos, length), on.divide(sin, length)
    rows = [(cos, sin), (on.subtract(0, sin), cos)] if is_complex else [(cos, sin)]
    parts = [_joined(emitter, part, (inputs, 1, outputs, 1), 3) for part in rows]
    whole = parts[0] if len(parts) == 1 else emitter.node("Concat", parts, axis=1)
    return cast(emitter, reshape(emitter, whole, (inputs * len(rows), outputs * 2)), dtype)


def open_half_matrix(emitter: Emitter, inputs: int, length: int, dtype: DType) -> Value:
    """Return `half_matrix` of sizes that only a run knows: [inputs x 2, length]."""
    cos, sin = _open_waves(emitter, inputs, length, length, inverse=True)
    on = Arithmetic(emitter, F64)
    places = progression(emitter, inputs, F64)
    is_alone = emitter.node("Or", [on.apply("Equal", places, 0), on.apply("Equal", on.multiply(places, 2), length)])
    weight = reshape(emitter, on.divide(on.where(is_alone, 1, 2), length), (inputs, 1))
    parts = (on.multiply(weight, cos), on.subtract(0, on.multiply(weight, sin)))
    return cast(emitter, reshape(emitter, _joined(emitter, parts, (inputs, 1, length), 1), (inputs * 2, length)), dtype)


def _joined(emitter: Emitter, parts: Sequence[Value], shape: tuple[int, ...], axis: int) -> Value:
    """Return matrices side by side along a new axis."""
    return emitter.node("Concat", [reshape(emitter, part, shape) for part in parts], axis=axis)


def _open_waves(emitter: Emitter, inputs: int, outputs: int, length: int, *, inverse: bool) -> tuple[Value, Value]:
    """Return cosine and sine of `angles` of sizes that only a run knows: [inputs, outputs] each, in float64."""
    whole, on = Arithmetic(emitter, I64), Arithmetic(emitter, F64)
    turns = whole.multiply(reshape(emitter, progression(emitter, inputs), (inputs, 1)), progression(emitter, outputs))
    turns = cast(emitter, whole.apply("Mod", turns, maximum(1, length)), F64)
    angle = on.divide(on.multiply(turns, (2 if inverse else -2) * np.pi), length)
    return emitter.node("Cos", [angle]), emitter.node("Sin", [angle])


def multiplied(emitter: Emitter, x: Value, factors: np.ndarray) -> Value:
    """Return [rows, n, c] times a matrix [n, c, m, d]: [rows, m, d]."""
    rows = x.type.static[0]
    inputs, size, outputs, depth = factors.shape
    flat = factors.reshape(inputs * size, outputs * depth).astype(x.type.dtype.numpy)
    product = emitter.node("MatMul", [reshape(emitter, x, (rows, inputs * size)), emitter.constant(flat)])
    return reshape(emitter, product, (rows, outputs, depth))


def cut(emitter: Emitter, x: Value, axis: int, count: int) -> Value:
    """Return the first COUNT elements along an axis; zeros where there are not so many."""
    extent = x.type.static[axis]
    if same(extent, count):
        return x
    if is_symbolic(extent - count):
        sides = [0] * 2 * len(x.type.shape)
        sides[len(x.type.shape) + axis] = count - extent
        padded = emitter.node("Pad", [x, emitter.sizes(sides), scalar(emitter, 0, x.type.dtype)])
        return reshape(emitter, padded, tuple(count if a == axis else d for a, d in enumerate(x.type.static)))
    if extent > count:
        sizes = emitter.constant(np.array([count, extent - count], np.int64))
        return emitter.results("Split", [x, sizes], 2, SplitAttrs(axis=axis))[0]
    if extent < count:
        pads = np.zeros((2, len(x.type.shape)), np.int64)
        pads[1, axis] = count - extent
        return emitter.node("Pad", [x, emitter.constant(pads.reshape(-1)), scalar(emitter, 0, x.type.dtype)])
    return x


def transformed(emitter: Emitter, x: Value, *, inverse: bool) -> Value:
    """Return the transforms of [rows, n, 1 or 2]: [rows, n, 2], in the type of X."""
    rows, length, size = x.type.static
    if length <= DIRECT_LENGTH:
        return multiplied(emitter, x, matrix(length, length, length, is_complex=size == 2, inverse=inverse))
    outer = _factor(length)
    if outer is None:
        return _by_chirp(emitter, x, inverse=inverse)
    inner = length // outer
    # Element i1 inner + i2 of the input, k1 + outer k2 of the output.
    first = _swapped(emitter, reshape(emitter, x, (rows, outer, inner, size)))
    first = transformed(emitter, reshape(emitter, first, (rows * inner, outer, size)), inverse=inverse)
    turned = _turned(emitter, reshape(emitter, first, (rows, inner, outer, 2)), angles(inner, outer, length, inverse=inverse))
    second = reshape(emitter, _swapped(emitter, turned), (rows * outer, inner, 2))
    second = transformed(emitter, second, inverse=inverse)
    return reshape(emitter, _swapped(emitter, reshape(emitter, second, (rows, outer, inner, 2))), (rows, length, 2))


def mirrored(emitter: Emitter, x: Value, length: int) -> Value:
    """Return the whole spectrum of a real signal, of which X [rows, length // 2 + 1, 2] is the first half."""
    mirror = np.arange((length - 1) // 2, 0, -1)
    rest = emitter.node("Gather", [x, emitter.constant(mirror)], axis=1)
    rest = emitter.node("Mul", [rest, emitter.constant(np.array([1, -1], x.type.dtype.numpy))])
    return emitter.node("Concat", [x, rest], axis=1)


def _factor(length: int) -> int | None:
    """Return the factor up to DIRECT_LENGTH that comes closest to the root of a length; None where there is none."""
    found = [n for n in range(2, DIRECT_LENGTH + 1) if length % n == 0]
    return min(found, key=lambda n: max(n, length // n), default=None)


def _swapped(emitter: Emitter, x: Value) -> Value:
    """Return [rows, a, b, c] as [rows, b, a, c]."""
    return emitter.node("Transpose", [x], perm=(0, 2, 1, 3))


def _turned(emitter: Emitter, x: Value, angle: np.ndarray) -> Value:
    """Return complex numbers turned by angles that broadcast to them."""
    return _product(emitter, x, np.cos(angle), np.sin(angle))


def _product(emitter: Emitter, x: Value, real: np.ndarray, imaginary: np.ndarray) -> Value:
    """Return real or complex numbers, the last dimension, times complex constants."""
    dtype = x.type.dtype.numpy
    a, b = (emitter.constant(part[..., None].astype(dtype)) for part in (real, imaginary))
    axis = len(x.type.shape) - 1
    if x.type.static[-1] == 1:
        return emitter.node("Concat", [emitter.node("Mul", [x, a]), emitter.node("Mul", [x, b])], axis=axis)
    u, v = emitter.results("Split", [x], 2, SplitAttrs(axis=axis))
    parts = [
        emitter.node("Sub", [emitter.node("Mul", [u, a]), emitter.node("Mul", [v, b])]),
        emitter.node("Add", [emitter.node("Mul", [u, b]), emitter.node("Mul", [v, a])]),
    ]
    return emitter.node("Concat", parts, axis=axis)


def _by_chirp(emitter: Emitter, x: Value, *, inverse: bool) -> Value:
    """Since 2 i k = i² + k² - (k - i)², a transform is a convolution of turned numbers with a chirp."""
    length = x.type.static[1]
    places = np.arange(length)
    angle = (1 if inverse else -1) * np.pi * (places * places % (2 * length)) / length
    padded = 1 << (2 * length - 2).bit_length()
    chirp = np.zeros(padded, np.complex128)
    chirp[:length] = np.exp(-1j * angle)
    chirp[padded - length + 1 :] = chirp[1:length][::-1]
    spectrum = np.fft.fft(chirp) / padded
    turned = cut(emitter, _turned(emitter, x, angle), 1, padded)
    product = _product(emitter, transformed(emitter, turned, inverse=False), spectrum.real, spectrum.imag)
    return _turned(emitter, cut(emitter, transformed(emitter, product, inverse=True), 1, length), angle)
