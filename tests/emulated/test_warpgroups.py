"""wgmma: every number of columns, type, major and swizzle against numpy, and products through a ring of boxes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from nautilus_cli.ir.types import BF16, F16, F32, DType
from nautilus_cli.numerics import compare, derived
from tests.emulated.executor import Image, Mode
from tests.emulated.tensor_maps import TensorMap, swizzled
from tests.emulated.test_copies import aligned_bytes
from tests.emulated.test_matrices import as_tensor_core_reads

MODES = (Mode(), Mode(lazy=True), Mode(order="reverse", lazy=True), Mode(order="random", seed=1, lazy=True), Mode(order="random", seed=2))

STORAGE = {"f16": F16, "bf16": BF16, "tf32": F32}


@pytest.fixture(params=MODES, ids=str)
def image(request: pytest.FixtureRequest, executor_image: Image) -> Image:
    executor_image.configure(request.param)
    return executor_image


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """An operand in shared memory.

    Attributes:
        outer: rows of A or columns of B.
        depth: of the sums.
        item: bytes of an element.
        is_depth_major: whether the depth is contiguous.
        swizzle: bytes within which 16-byte chunks are swapped, or 0.
    """

    outer: int
    depth: int
    item: int
    is_depth_major: bool
    swizzle: int

    @property
    def span(self) -> int:
        """Bytes that lie together: a row of the swizzle, or 16."""
        return self.swizzle or 16

    @property
    def leading(self) -> int:
        """Leading bytes of the descriptor, far from any other distance."""
        groups_of_8 = -(-(self.outer if self.is_depth_major else self.depth) // 8)
        if self.is_depth_major:
            return groups_of_8 * 8 * self.span if not self.swizzle else 0
        return groups_of_8 * 8 * self.span if self.swizzle else 8 * self.span

    @property
    def stride(self) -> int:
        """Stride bytes."""
        if not self.is_depth_major and not self.swizzle:
            return -(-self.depth // 8) * 8 * 16
        return 8 * self.span

    @property
    def advance(self) -> int:
        """Bytes from one step of 32 bytes of depth to the next."""
        if self.is_depth_major:
            return 32 if self.swizzle else 2 * self.leading
        return 2 * (self.stride if self.swizzle else self.leading)

    def place(self, outer: np.ndarray, depth: np.ndarray) -> np.ndarray:
        """Return where elements lie before the swizzle."""
        if self.is_depth_major:
            at = depth * self.item
            chunk = at if self.swizzle else at // 16 * self.leading + at % 16
            return outer // 8 * self.stride + outer % 8 * self.span + chunk
        at = outer * self.item
        across, down = (self.leading, self.stride) if self.swizzle else (self.stride, self.leading)
        return at // self.span * across + at % self.span + depth // 8 * down + depth % 8 * self.span

    @property
    def bytes(self) -> int:
        """Size in shared memory, in whole patterns of a swizzle."""
        last = self.place(np.array(-(-self.outer // 8) * 8 - 1), np.array(-(-self.depth // 8) * 8 - 1))
        return int(-(-(last + self.span) // 1024) * 1024)

    def lay_out(self, values: np.ndarray, shared: np.ndarray, base: int) -> None:
        """Write values [outer, depth] into shared memory."""
        outer, depth = np.indices(values.shape)
        start = self.place(outer, depth) + base
        raw = values.view(np.uint8).reshape(*values.shape, self.item)
        for byte in range(self.item):
            shared[swizzled(start + byte, self.swizzle)] = raw[..., byte]


def arguments(kind: str, columns: int, layout: str, swizzle: int) -> tuple[Operand, Operand, int]:
    """Return A, B and the steps of depth: as many as a swizzle holds side by side."""
    item = STORAGE[kind].bytes
    steps = max(swizzle // 32, 1) if "k" in layout and swizzle else 3
    depth = steps * 32 // item
    left = Operand(outer=64, depth=depth, item=item, is_depth_major=layout[0] == "k", swizzle=swizzle)
    right = Operand(outer=columns, depth=depth, item=item, is_depth_major=layout[1] == "k", swizzle=swizzle)
    return left, right, steps


def random_operand(rng: np.random.Generator, shape: tuple[int, int], storage: DType, are_whole: bool) -> np.ndarray:
    values = rng.integers(-9, 10, shape) if are_whole else rng.standard_normal(shape)
    return values.astype(storage.numpy)


def run_product(image: Image, name: str, kind: str, columns: int, layout: str, swizzle: int, *, are_whole: bool, adds: bool) -> None:
    storage, rng = STORAGE[kind], np.random.default_rng(columns)
    left, right, steps = arguments(kind, columns, layout, swizzle)
    a, b = (random_operand(rng, (o.outer, o.depth), storage, are_whole) for o in (left, right))
    shared = np.full(left.bytes + right.bytes, 0xFF, np.uint8)
    left.lay_out(a, shared, 0)
    right.lay_out(b, shared, left.bytes)
    sums = rng.integers(-9, 10, (64, columns)).astype(np.float32) if adds else np.full((64, columns), np.nan, np.float32)
    expected = as_tensor_core_reads(a, storage) @ as_tensor_core_reads(b, storage).T + (sums if adds else 0)
    distances = (left.leading, left.stride, left.advance, right.leading, right.stride, right.advance)
    scalars = (shared.size, steps, *distances, left.bytes, int(adds))
    image.launch(f"wgmma_{name}_{columns}", shared, sums, block=(128, 1, 1), scalars=scalars, shared_bytes=shared.size, maps=())
    if are_whole:
        assert np.array_equal(sums, expected)
    else:
        result = compare(sums, expected, derived(expected, terms=left.depth, accumulate=F32, storage=F32))
        assert result.is_match, str(result)


COLUMNS = range(8, 257, 8)


@pytest.mark.parametrize("kind", ["f16", "tf32"])
@pytest.mark.parametrize("columns", COLUMNS)
def test_every_number_of_columns(image: Image, kind: str, columns: int) -> None:
    run_product(image, kind, kind, columns, "kk", 128, are_whole=True, adds=columns % 16 == 0)


LAYOUTS = [
    # name, type, columns, contiguous in A and B, swizzle
    ("bf16", "bf16", 8, "kk", 128),
    ("bf16", "bf16", 136, "kk", 128),
    ("f16_kn", "f16", 8, "kn", 128),
    ("f16_kn", "f16", 72, "kn", 128),
    ("f16_kn", "f16", 256, "kn", 128),
    ("f16_mk", "f16", 64, "mk", 128),
    ("bf16_mn", "bf16", 128, "mn", 128),
    ("f16_64", "f16", 40, "kk", 64),
    ("f16_32", "f16", 40, "kk", 32),
    ("f16_0", "f16", 40, "kk", 0),
    ("f16_mn_64", "f16", 96, "mn", 64),
    ("f16_mn_32", "f16", 96, "mn", 32),
    ("f16_mn_0", "f16", 96, "mn", 0),
    ("tf32_64", "tf32", 40, "kk", 64),
    ("tf32_0", "tf32", 40, "kk", 0),
]


@pytest.mark.parametrize(("name", "kind", "columns", "layout", "swizzle"), LAYOUTS, ids=[f"{case[0]}-{case[2]}" for case in LAYOUTS])
def test_every_layout(image: Image, name: str, kind: str, columns: int, layout: str, swizzle: int) -> None:
    run_product(image, name, kind, columns, layout, swizzle, are_whole=True, adds=False)


@pytest.mark.parametrize(("name", "columns"), [("f16", 128), ("tf32", 72), ("bf16", 136)])
def test_products_of_random_numbers(image: Image, name: str, columns: int) -> None:
    run_product(image, name, name, columns, "kk", 128, are_whole=False, adds=True)


@pytest.mark.parametrize(
    ("name", "kind", "columns", "layout"), [("f16", "f16", 40, "kk"), ("bf16_kn", "bf16", 128, "kn"), ("tf32", "tf32", 64, "kk")]
)
def test_products_from_registers(image: Image, name: str, kind: str, columns: int, layout: str) -> None:
    storage, rng = STORAGE[kind], np.random.default_rng(0)
    _, right, steps = arguments(kind, columns, layout, 128)
    a, b = (random_operand(rng, (outer, right.depth), storage, True) for outer in (64, columns))
    shared = np.full(right.bytes, 0xFF, np.uint8)
    right.lay_out(b, shared, 0)
    sums = np.full((64, columns), np.nan, np.float32)
    scalars = (shared.size, steps, 0, 0, 0, right.leading, right.stride, right.advance)
    image.launch(
        f"wgmma_registers_{name}_{columns}", shared, sums, a, block=(128, 1, 1), scalars=scalars, shared_bytes=shared.size, maps=()
    )
    assert np.array_equal(sums, a.astype(np.float32) @ b.astype(np.float32).T)


PRODUCTS = [("f16_128", "f16", 128, "k"), ("f16_kn_256", "f16", 256, "n"), ("bf16_kn_64", "bf16", 64, "n"), ("tf32_96", "tf32", 96, "k")]


@pytest.mark.parametrize(("m", "n", "k"), [(128, 256, 256), (200, 136, 328), (1, 8, 8)])
@pytest.mark.parametrize(("name", "kind", "columns", "major"), PRODUCTS, ids=[case[0] for case in PRODUCTS])
def test_matrix_product(image: Image, name: str, kind: str, columns: int, major: str, m: int, n: int, k: int) -> None:
    storage, rng = STORAGE[kind], np.random.default_rng(0)
    left, right = ((m, k), (n, k) if major == "k" else (k, n))
    arrays = []
    for shape in (left, right):
        array = aligned_bytes(shape[0] * shape[1] * storage.bytes).view(storage.numpy).reshape(shape)
        array[:] = random_operand(rng, shape, storage, False)
        arrays.append(array)
    a, b = arrays
    c = np.full((m, n), np.nan, np.float32)
    depth = 128 // storage.bytes
    element = {"f16": "f16", "bf16": "bf16", "tf32": "f32"}[kind]
    shapes = ((left, (depth, 128)), (right, (depth, columns) if major == "k" else (64, depth)))
    maps = tuple(
        TensorMap(array=i, element=element, extents=shape[::-1], strides=(shape[1] * storage.bytes,), box=box, swizzle=128)
        for i, (shape, box) in enumerate(shapes)
    )
    image.launch(
        f"matrix_product_{name}",
        a,
        b,
        c,
        grid=(-(-n // columns), -(-m // 128), 1),
        block=(288, 1, 1),
        scalars=(m, n, k),
        shared_bytes=3 * (128 + columns) * 128 + 6 * 8,
        maps=maps,
    )
    expected = as_tensor_core_reads(a, storage) @ (as_tensor_core_reads(b, storage).T if major == "k" else as_tensor_core_reads(b, storage))
    result = compare(c, expected, derived(expected, terms=k, accumulate=F32, storage=F32))
    assert result.is_match, str(result)


def test_registers_are_shared_out(image: Image) -> None:
    out = np.full(256, -1, np.int32)
    image.launch("shares", out, block=(256, 1, 1), maps=())
    assert np.array_equal(out, np.arange(256))
