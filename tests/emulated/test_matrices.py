"""Matrices in the registers of a warp: ldmatrix, stmatrix and mma.sync against numpy, in every layout and type."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.ir.types import BF16, F16, F32, DType
from nautilus_cli.numerics import Tolerance, compare, derived
from tests.emulated.executor import Image, Mode

FIXTURES = ("matrices",)

MODES = (Mode(), Mode(order="reverse"), Mode(order="random", seed=1, lazy=True))

STORAGE = {"f16": F16, "bf16": BF16, "tf32": F32}


@pytest.fixture(params=MODES, ids=str)
def image(request: pytest.FixtureRequest, executor_image: Image) -> Image:
    executor_image.configure(request.param)
    return executor_image


SHARED_BYTES = 2048


def places(seed: int) -> np.ndarray:
    """Return a row of shared memory for each lane, none of them twice."""
    return (16 * np.random.default_rng(seed).permutation(SHARED_BYTES // 16)[:32]).astype(np.int32)


def matrices_at(shared: np.ndarray, where: np.ndarray, count: int) -> np.ndarray:
    """Return the matrices as [count, 8 rows, 8 elements of 16 bits]."""
    rows = [shared.view(np.uint8)[place : place + 16] for place in where[: 8 * count]]
    return np.stack(rows).view(np.uint16).reshape(count, 8, 8)


def registers_of(matrices: np.ndarray, is_transposed: bool) -> np.ndarray:
    """Return what each lane holds, [32 lanes, count]."""
    if is_transposed:
        matrices = matrices.swapaxes(1, 2)
    # Lane l: elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4.
    return np.ascontiguousarray(matrices.reshape(len(matrices), 32, 2)).view(np.uint32)[..., 0].T


@pytest.mark.parametrize("suffix", ["", "_transposed"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_load(image: Image, count: int, suffix: str) -> None:
    shared = np.random.default_rng(count).integers(0, 2**32, SHARED_BYTES // 4, dtype=np.uint32)
    where, out = places(count), np.zeros((32, count), np.uint32)
    image.launch(f"load_{count}{suffix}", shared, where, out, scalars=(shared.size,), shared_bytes=SHARED_BYTES)
    assert np.array_equal(out, registers_of(matrices_at(shared, where, count), bool(suffix)))


@pytest.mark.parametrize("suffix", ["", "_transposed"])
def test_load_of_several_tiles(image: Image, suffix: str) -> None:
    step = 32
    shared = np.random.default_rng(0).integers(0, 2**32, (SHARED_BYTES + 2 * step) // 4, dtype=np.uint32)
    where, out = places(0), np.zeros((32, 3, 4), np.uint32)
    image.launch(f"load_tiles_4{suffix}", shared, where, out, scalars=(shared.size, step), shared_bytes=shared.nbytes)
    for tile in range(3):
        assert np.array_equal(out[:, tile], registers_of(matrices_at(shared, where + tile * step, 4), bool(suffix)))


@pytest.mark.parametrize("suffix", ["", "_transposed"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_store(image: Image, count: int, suffix: str) -> None:
    random = np.random.default_rng(count)
    matrices = random.integers(0, 2**16, (count, 8, 8), dtype=np.uint16)
    shared = random.integers(0, 2**32, SHARED_BYTES // 4, dtype=np.uint32)
    where, expected = places(count), shared.copy()
    for place, row in zip(where, matrices.reshape(-1, 8), strict=False):
        expected.view(np.uint8)[place : place + 16] = row.view(np.uint8)
    registers = np.ascontiguousarray(registers_of(matrices, bool(suffix)))
    image.launch(f"store_{count}{suffix}", registers, where, shared, scalars=(shared.size,), shared_bytes=SHARED_BYTES)
    assert np.array_equal(shared, expected)


def as_tensor_core_reads(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Return an operand in float64, of float32 the bits that count."""
    if dtype == F32:
        array = (array.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return array.astype(np.float64)


def is_sum(actual: np.ndarray, expected: np.ndarray, depth: int) -> None:
    tolerance: Tolerance = derived(expected, terms=depth, accumulate=F32, storage=F32)
    result = compare(actual, expected, tolerance)
    assert result.is_match, str(result)


@pytest.mark.parametrize(
    ("kind", "rows", "pairs"),
    [("f16", 1, 1), ("f16", 4, 2), ("f16", 2, 4), ("bf16", 1, 1), ("bf16", 2, 2), ("tf32", 1, 1), ("tf32", 2, 3)],
)
def test_product(image: Image, kind: str, rows: int, pairs: int) -> None:
    storage, random = STORAGE[kind], np.random.default_rng(0)
    m, n, k = 16 * rows, 16 * pairs, 64 // storage.bytes
    a, b = (random.standard_normal((size, k)).astype(storage.numpy) for size in (m, n))
    sums = random.standard_normal((m, n)).astype(np.float32)
    expected = sums + as_tensor_core_reads(a, storage) @ as_tensor_core_reads(b, storage).T
    image.launch(f"product_{kind}_{rows}_{pairs}", a, b, sums)
    is_sum(sums, expected, k + 1)


@pytest.mark.parametrize("kind", ["f16", "bf16", "tf32"])
def test_product_of_whole_numbers_is_exact(image: Image, kind: str) -> None:
    """Neither an element nor a sum is rounded, so every element must be in its place."""
    storage, random = STORAGE[kind], np.random.default_rng(0)
    k = 64 // storage.bytes
    a, b = (random.integers(-9, 10, (16, k)).astype(storage.numpy) for _ in range(2))
    sums = random.integers(-9, 10, (16, 16)).astype(np.float32)
    expected = sums + a.astype(np.float32) @ b.astype(np.float32).T
    image.launch(f"product_{kind}_1_1", a, b, sums)
    assert np.array_equal(sums, expected)


@pytest.mark.parametrize("name", ["f16_kk", "f16_mk", "f16_kn", "bf16_mn", "tf32_kk"])
def test_product_through_shared_memory(image: Image, name: str) -> None:
    kind, layout = name.split("_")
    storage, random = STORAGE[kind], np.random.default_rng(0)
    k = 64 // storage.bytes
    a, b = (random.integers(-9, 10, (32, k)).astype(storage.numpy) for _ in range(2))
    expected = a.astype(np.float32) @ b.astype(np.float32).T
    left, right = (np.ascontiguousarray(x if letter == "k" else x.T) for x, letter in zip((a, b), layout, strict=True))
    c = np.full((32, 32), np.nan, np.float32)
    image.launch(f"through_shared_{name}", left, right, c, shared_bytes=2 * 32 * 80)
    assert np.array_equal(c, expected)


def test_rounding_to_tf32(image: Image) -> None:
    random = np.random.default_rng(0)
    bits = random.integers(0, 2**32, 4000, dtype=np.uint32)
    ties = random.integers(0, 2**19, 1000, dtype=np.uint32) << 13 | np.uint32(0x1000)
    x = np.concatenate([bits, ties, ties - np.uint32(1), np.array([0, 0x80000000, 0x7F800000, 0xFF800000], np.uint32)]).view(np.float32)
    x = x[np.isfinite(x) | np.isinf(x)]
    out = np.zeros(x.shape, np.uint32)
    image.launch("round_to_tf32", x, out, scalars=(x.size,))
    magnitude = (x.view(np.uint32) & np.uint32(0x7FFFFFFF)).astype(np.uint64)
    rounded = (magnitude + 0x1000 >> 13 << 13).astype(np.uint32) | (x.view(np.uint32) & np.uint32(0x80000000))
    assert np.array_equal(out & np.uint32(0xFFFFE000), rounded)


def test_tf32_of_a_nan_is_one(image: Image) -> None:
    # Those that numpy and a GPU's arithmetic make, one with a bit that counts, and one without, which is infinite to tensor cores.
    bits = np.array([0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F802000, 0x7F800001], np.uint32)
    x, out = bits.view(np.float32), np.zeros(bits.size, np.uint32)
    image.launch("round_to_tf32", x, out, scalars=(x.size,))
    *others, without = out & np.uint32(0xFFFFE000)
    assert without == 0x7F800000
    out = np.array(others, np.uint32)
    assert np.isnan((out & np.uint32(0xFFFFE000)).view(np.float32)).all(), [hex(bits) for bits in out]
