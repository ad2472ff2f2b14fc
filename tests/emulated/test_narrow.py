"""Types of 8 bits and less: every code, and casts to them from numbers around every step, bit for bit what ml_dtypes says."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from nautilus_cli.codegen.names import TYPES
from nautilus_cli.ir.types import BOOL, DTYPES, F8E8M0, F32, I2, I4, NARROW, U2, U4, DType
from nautilus_cli.ops.cast import CastAttrs, converted
from nautilus_cli.ops.element_types import FLOAT8, ONNX_NUMBERS
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Cast
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.host_compiler import compile_object, link_image

CODES = {dtype: np.arange(1 << dtype.bits, dtype=np.uint8) for dtype in NARROW}
COMPUTE = [d for d in DTYPES.values() if d.compute == d]
POWERS = tuple(product((0, 1), ("up", "down", "nearest")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """A cast with its attributes."""

    source: DType
    target: DType
    saturate: int = 1
    round_mode: str = "up"

    @property
    def attrs(self) -> CastAttrs:
        return CastAttrs(ONNX_NUMBERS[self.target], self.saturate, self.round_mode)

    @property
    def symbol(self) -> str:
        """The device function that the operator names."""
        lowering = operators()["Cast"].lowering
        assert isinstance(lowering, Cast) and lowering.manner is not None
        return f"{lowering.manner(self.attrs, self.target)}cast_{self.source}_{self.target}"


def conversions() -> Iterator[Conversion]:
    for source, target in product(COMPUTE, NARROW):
        if target in FLOAT8:
            yield from (Conversion(source=source, target=target, saturate=s) for s in (0, 1))
        elif target == F8E8M0:
            yield from (Conversion(source=source, target=target, saturate=s, round_mode=r) for s, r in POWERS)
        else:
            yield Conversion(source=source, target=target)


CONVERSIONS = {c.symbol: c for c in conversions()}


def kernel(symbol: str, source: str, result: str, call: str) -> str:
    body = f"for (long long i = 0; i < count; ++i) y[i] = {call}(x[i]);"
    return f'extern "C" __global__ void {symbol}(long long count, const {source} *x, {result} *y) {{ {body} }}'


def translation_unit() -> str:
    lines = ["#include <nautilus/core/math.cuh>", "using namespace nautilus;"]
    for dtype in NARROW:
        storage, compute = TYPES[dtype.name], TYPES[dtype.compute.name]
        lines.append(kernel(f"read_{dtype}", storage, compute, "to_compute"))
        lines.append(kernel(f"write_{dtype}", compute, storage, f"to_storage<{storage}>"))
    for symbol, c in CONVERSIONS.items():
        lines.append(kernel(symbol, TYPES[c.source.name], TYPES[c.target.compute.name], f"math::{symbol}"))
    return "\n".join(lines) + "\n"


class Functions:
    """Calls the functions of a shared library."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def call(self, symbol: str, x: np.ndarray, result: np.dtype) -> np.ndarray:
        x = np.ascontiguousarray(x)
        y = np.zeros(x.shape, result)
        self._library[symbol](ctypes.c_longlong(x.size), ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data))
        return y


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Functions:
    store = Cache(tmp_path_factory.mktemp("cache"))
    path = tmp_path_factory.mktemp("functions") / "functions.so"
    path.write_bytes(link_image([compile_object(translation_unit(), store)], store))
    return Functions(ctypes.CDLL(str(path)))


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_every_code_reads_as_its_number(dtype: DType, functions: Functions) -> None:
    codes = CODES[dtype].view(dtype.numpy)
    found = functions.call(f"read_{dtype}", codes, dtype.compute.numpy)
    expected = codes.astype(dtype.compute.numpy)
    np.testing.assert_array_equal(found, expected)
    if dtype.is_float:
        is_number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[is_number]), np.signbit(expected[is_number]))


@pytest.mark.parametrize("dtype", [I4, U4, I2, U2], ids=str)
def test_bits_above_a_code_are_ignored(dtype: DType, functions: Functions) -> None:
    every = np.arange(256, dtype=np.uint8)
    found = functions.call(f"read_{dtype}", every, dtype.compute.numpy)
    low = (every & ((1 << dtype.bits) - 1)).view(dtype.numpy)
    np.testing.assert_array_equal(found, low.astype(dtype.compute.numpy))


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_every_code_is_written_as_it_was_read(dtype: DType, functions: Functions) -> None:
    numbers = functions.call(f"read_{dtype}", CODES[dtype].view(dtype.numpy), dtype.compute.numpy)
    found = functions.call(f"write_{dtype}", numbers, np.dtype(np.uint8))
    kept = np.ones(len(found), bool) if not dtype.is_float else ~np.isnan(numbers)  # a NaN's payload is not
    np.testing.assert_array_equal(found[kept], CODES[dtype][kept])
    if dtype.is_float and not kept.all():
        assert np.isnan(found[~kept].view(dtype.numpy).astype(np.float32)).all()


def numbers(c: Conversion) -> np.ndarray:
    """Values around every step of the target, at random, and at the edges of the source."""
    rng = np.random.default_rng(5)
    kind = c.source.numpy
    if c.source == BOOL:
        return np.array([False, True])
    if not c.source.is_float:
        limits = np.iinfo(kind)
        near = np.arange(max(limits.min, -600), min(limits.max, 600) + 1)
        wide = rng.integers(limits.min, limits.max, 5000, kind, endpoint=True)
        return np.concatenate([near.astype(kind), wide, np.array([limits.min, limits.max, limits.max - 1], kind)])
    if c.target.kind != "float":  # out of range of int32: undefined
        return np.concatenate([np.arange(-40, 40, 0.125), rng.uniform(-1e6, 1e6, 500)]).astype(kind)
    codes = CODES[c.target].view(c.target.numpy).astype(np.float64)
    steps = np.unique(np.abs(codes[np.isfinite(codes)]))
    middles = (steps[1:] + steps[:-1]) / 2
    quarters = np.concatenate([steps[:-1] + f * np.diff(steps) for f in (0.25, 0.75)])
    beyond = np.abs(steps[-1]) * np.array([1.01, 1.03, 1.06, 1.1, 1.2, 1.25, 1.5, 2, 4, 1e4])
    below = steps[steps > 0][0] * np.array([0.1, 0.49, 0.5, 0.51, 0.74, 0.75, 0.76, 0.99])
    with np.errstate(over="ignore"):
        near = np.concatenate([steps, middles, quarters, beyond, below]).astype(kind)
        around = [near, np.nextafter(near, kind.type(0)), np.nextafter(near, kind.type(np.inf))]
        bits = rng.integers(0, 1 << 32, 200_000, dtype=np.uint32).view(np.float32).astype(kind)
        middle = np.exp2(rng.uniform(-30, 20, 50_000)).astype(kind)
    edges = np.array([0, np.inf, np.nan, np.finfo(kind).max, np.finfo(kind).tiny, np.finfo(kind).smallest_subnormal], kind)
    found = np.concatenate([*around, bits, middle, edges])
    return np.concatenate([found, -found])


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow")
@pytest.mark.parametrize("symbol", sorted(CONVERSIONS))
def test_cast(symbol: str, functions: Functions) -> None:
    c = CONVERSIONS[symbol]
    x = numbers(c)
    number = functions.call(symbol, x, c.target.compute.numpy)
    found = functions.call(f"write_{c.target}", number, np.dtype(np.uint8))
    expected = converted(x, c.target, is_saturating=bool(c.saturate), round_mode=c.round_mode).view(np.uint8)
    wrong = np.flatnonzero(found != expected)
    assert not wrong.size, f"{wrong.size}: {[(x[i], found[i], expected[i]) for i in wrong[:5]]}"


def test_saturation_and_infinity_differ(functions: Functions) -> None:
    """The table of the specification, by hand: what overflows."""
    x = np.array([np.inf, -np.inf, 1e6, -1e6], np.float32)

    def codes(symbol: str, target: str) -> list[int]:
        result = functions.call(symbol, x, np.dtype(np.float32))
        return [int(v) for v in functions.call(f"write_{target}", result, np.dtype(np.uint8))]

    assert codes("saturating_cast_f32_f8e4m3fn", "f8e4m3fn") == [0x7E, 0xFE, 0x7E, 0xFE]
    assert codes("cast_f32_f8e4m3fn", "f8e4m3fn") == [0x7F, 0xFF, 0x7F, 0xFF]
    assert codes("saturating_cast_f32_f8e5m2", "f8e5m2") == [0x7B, 0xFB, 0x7B, 0xFB]
    assert codes("cast_f32_f8e5m2", "f8e5m2") == [0x7C, 0xFC, 0x7C, 0xFC]
    assert codes("cast_f32_f8e4m3fnuz", "f8e4m3fnuz") == [0x80] * 4
    assert codes("cast_f32_f8e5m2fnuz", "f8e5m2fnuz") == [0x80] * 4


def test_doubles_round_once(functions: Functions) -> None:
    """Just beside the middle of two numbers, which rounding by way of float32 would take for the middle."""
    x = 1 + (2 * np.arange(8) + 1) * 2.0**-4 + np.array([[2.0**-40], [-(2.0**-40)]])
    target = DTYPES["f8e4m3fn"]
    found = functions.call("saturating_cast_f64_f8e4m3fn", x, F32.numpy)
    steps = np.arange(8, 17) / 8
    np.testing.assert_array_equal(found, [steps[1:], steps[:-1]])
    assert (found != x.astype(np.float32).astype(target.numpy).astype(np.float32)).any(), "the values do not tell"
