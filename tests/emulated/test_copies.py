"""mbarriers and bulk copies: boxes of every rank and swizzle at every edge, rings of stages, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulated.executor import ILLEGAL_INSTRUCTION, LAUNCH_FAILED, Image, LaunchError, Mode
from tests.emulated.tensor_maps import KINDS, TensorMap, box_places, swizzled

MODES = (
    Mode(),
    Mode(lazy=True),
    Mode(order="reverse", lazy=True),
    Mode(order="random", seed=1),
    Mode(order="random", seed=2, lazy=True),
    Mode(order="random", seed=3, lazy=True, poison=False),
)

SHARED_BYTES = 16 * 1024


@pytest.fixture(params=MODES, ids=str)
def image(request: pytest.FixtureRequest, executor_image: Image) -> Image:
    executor_image.configure(request.param)
    return executor_image


def aligned_bytes(size: int) -> np.ndarray:
    """Return zeroed bytes at a multiple of 64."""
    memory = np.zeros(size + 64, np.uint8)
    return memory[-memory.ctypes.data % 64 :][:size]


def dense(element: str, extents: tuple[int, ...], box: tuple[int, ...], pad: int = 0, **more: object) -> TensorMap:
    """Return a tensor whose rows are padded to 16 bytes, and PAD bytes more."""
    stride = -(-extents[0] * KINDS[element].itemsize // 16) * 16 + pad
    strides = []
    for extent in extents[1:]:
        strides.append(stride)
        stride *= extent
    return TensorMap(array=1, element=element, extents=extents, strides=tuple(strides), box=box, **more)


CASES: dict[str, tuple[TensorMap, tuple[int, ...]]] = {
    # name: the tensor and its box, and where the box is
    "row": (dense("f32", (100,), (32,)), (40,)),
    "row-over-the-end": (dense("f16", (100,), (64,)), (72,)),
    "row-before-the-start": (dense("f16", (100,), (64,)), (-16,)),
    "row-over-both-ends": (dense("u8", (33,), (64,)), (0,)),
    "row-beyond-both-ends": (dense("u8", (33,), (64,)), (-16,)),
    "row-far-outside": (dense("u64", (100,), (16,)), (1000,)),
    "plain": (dense("f32", (40, 20), (8, 4)), (12, 7)),
    "odd-extents": (dense("f16", (37, 19), (16, 8)), (32, 15)),
    "negative": (dense("f16", (37, 19), (16, 8)), (-8, -2)),
    "swizzle-128": (dense("f16", (200, 50), (64, 16), swizzle=128), (64, 32)),
    "swizzle-128-corner": (dense("f16", (100, 50), (64, 16), pad=16, swizzle=128), (64, 40)),
    "swizzle-128-bf16": (dense("bf16", (128, 300), (64, 256), swizzle=128), (64, -100)),
    "swizzle-128-f32": (dense("f32", (70, 20), (32, 12), swizzle=128), (48, 3)),
    "swizzle-64": (dense("f16", (100, 50), (32, 16), swizzle=64), (80, 40)),
    "swizzle-32": (dense("u8", (100, 50), (32, 24), swizzle=32), (80, -4)),
    "volume": (dense("f16", (40, 9, 5), (16, 4, 3)), (32, 7, 3)),
    "steps": (dense("u32", (40, 21, 5), (8, 7, 5), steps=(3, 2, 4)), (4, 13, 0)),
    "four": (dense("f16", (70, 7, 6, 5), (64, 3, 2, 2), swizzle=128), (0, -1, 5, 4)),
    "five": (dense("f32", (10, 4, 3, 4, 3), (4, 3, 2, 2, 2)), (8, 2, 2, 3, -1)),
    "float32-flushed": (dense("f32_ftz", (40, 20), (8, 4)), (12, 7)),
    "rounded-to-tf32": (dense("tf32", (40, 20), (32, 4), swizzle=128), (12, 17)),
    "flushed-and-rounded": (dense("tf32_ftz", (40, 20), (8, 4)), (12, 7)),
}


def contents(tensor: TensorMap, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the memory of a tensor as random bytes, and the tensor as a view of it, innermost dimension last."""
    kind = KINDS[tensor.element]
    strides = (kind.itemsize, *tensor.strides)
    memory = aligned_bytes(max(extent * stride for extent, stride in zip(tensor.extents, strides, strict=True)) + 64)
    memory[:] = np.random.default_rng(seed).integers(0, 256, memory.size, dtype=np.uint8)
    view = np.ndarray(tensor.extents[::-1], kind, memory.data, strides=strides[::-1])
    if kind == np.float32:
        view.view(np.uint32)[..., ::7] &= np.uint32(0x007FFFFF)  # some that are subnormal
    return memory, view


def as_loaded(element: str, values: np.ndarray) -> np.ndarray:
    """Return what a load makes of 32-bit elements; none flushes subnormals."""
    if element in ("tf32", "tf32_ftz"):
        rounded = (values.astype(np.uint64) + 0xFFF + (values >> 13 & 1)).astype(np.uint32) & np.uint32(0xFFFFE000)
        magnitude = values & 0x7FFFFFFF
        values = np.where(magnitude < 0x7F800000, rounded, np.where(magnitude == 0x7F800000, values, 0x7FFFE000))
    return values.astype(np.uint32)


@pytest.mark.parametrize("base", [0, 1024, 128 * 5])
@pytest.mark.parametrize("name", CASES)
def test_load_of_a_box(image: Image, name: str, base: int) -> None:
    tensor, at = CASES[name]
    memory, view = contents(tensor, 1)
    size = view.itemsize
    raw = view.view(f"u{size}")
    places = box_places(tensor, at, base, size)
    bytes_needed = base + len(places) * size
    shared = np.random.default_rng(2).integers(0, 256, -(-bytes_needed // 1024) * 1024 + 1024, dtype=np.uint8)
    expected = shared.copy()
    for address, index in places:
        value = np.array([0 if index is None else raw[index[::-1]]], raw.dtype)
        if size == 4:
            value = as_loaded(tensor.element, value)
        expected[swizzled(address + np.arange(size), tensor.swizzle)] = value.view(np.uint8)
    scalars = (shared.size, base, len(places) * size, *at)
    image.launch(f"load_box_{tensor.rank}", shared, memory, block=(96, 1, 1), scalars=scalars, shared_bytes=shared.size + 8, maps=(tensor,))
    assert np.array_equal(shared, expected)


STORES = [name for name in CASES if "f32-" not in name and "flushed" not in name]


@pytest.mark.parametrize("name", [name for name in STORES if min(CASES[name][1]) >= 0])
def test_store_of_a_box(image: Image, name: str) -> None:
    tensor, at = CASES[name]
    memory, view = contents(tensor, 1)
    size, base = view.itemsize, 1024
    places = box_places(tensor, at, base, size)
    shared = np.random.default_rng(2).integers(0, 256, -(-len(places) * size // 1024) * 1024 + 1024, dtype=np.uint8)
    if tensor.element == "tf32":
        shared.view(np.uint32)[:] = as_loaded("tf32", shared.view(np.uint32))
    expected = memory.copy()
    view_expected = np.ndarray(view.shape, f"u{size}", expected.data, strides=view.strides)
    for address, index in places:
        if index is not None:
            view_expected[index[::-1]] = shared[swizzled(address + np.arange(size), tensor.swizzle)].view(f"u{size}")[0]
            if index[0] == tensor.extents[0] - 1:  # the 16 bytes in which a row ends are written whole
                end = tensor.extents[0] * size
                behind = np.arange(end, -(-end // 16) * 16)
                row = sum(i * stride for i, stride in zip(index[1:], tensor.strides, strict=True))
                expected[row + behind] = shared[swizzled(address + size + behind - end, tensor.swizzle)]
    scalars = (shared.size, base, len(places) * size, *at)
    image.launch(f"store_box_{tensor.rank}", shared, memory, block=(64, 1, 1), scalars=scalars, shared_bytes=shared.size, maps=(tensor,))
    assert np.array_equal(memory, expected)


@pytest.mark.parametrize("name", ["row-before-the-start", "negative", "four"])
def test_a_store_of_a_box_does_not_begin_before_the_tensor(image: Image, name: str) -> None:
    """Along no dimension, where a load may; beyond the end both may be."""
    tensor, at = CASES[name]
    memory, shared = contents(tensor, 1)[0], np.zeros(16 * 1024, np.uint8)
    scalars = (shared.size, 1024, 0, *at)
    with pytest.raises(LaunchError) as caught:
        image.launch(
            f"store_box_{tensor.rank}", shared, memory, block=(64, 1, 1), scalars=scalars, shared_bytes=shared.size, maps=(tensor,)
        )
    assert caught.value.status in (LAUNCH_FAILED, ILLEGAL_INSTRUCTION)


@pytest.mark.parametrize("size", [16, 4096 + 48])
def test_run_of_bytes(image: Image, size: int) -> None:
    source, result = aligned_bytes(size), aligned_bytes(size)
    source[:] = np.random.default_rng(0).integers(0, 256, size, dtype=np.uint8)
    image.launch("run_of_bytes", source, result, block=(64, 1, 1), scalars=(size,), shared_bytes=size + 8, maps=())
    assert np.array_equal(source, result)


@pytest.mark.parametrize("threads", [1, 96])
def test_phases_end_when_all_have_arrived(image: Image, threads: int) -> None:
    out, count = np.zeros(1, np.float32), 200
    image.launch("phases", out, block=(threads, 1, 1), scalars=(count,), shared_bytes=16, maps=())
    expected = np.float32(0)
    for phase in range(count):
        expected = expected * np.float32(0.5) + np.float32(phase)
    assert out[0] == expected


RING_BYTES = 5 * 1024 + 6 * 8


@pytest.mark.parametrize("tiles", [1, 2, 3, 4, 11])
def test_ring_of_boxes(image: Image, tiles: int) -> None:
    x = aligned_bytes(tiles * 1024).view(np.float32)
    x[:] = np.random.default_rng(0).standard_normal(x.size)
    y = aligned_bytes(x.nbytes).view(np.float32)
    maps = tuple(TensorMap(array=i, element="f32", extents=(32, 8 * tiles), strides=(128,), box=(32, 8)) for i in range(2))
    image.launch("ring", x, y, block=(160, 1, 1), scalars=(tiles,), shared_bytes=RING_BYTES, maps=maps)
    assert np.array_equal(y.reshape(tiles, -1), x.reshape(tiles, -1)[:, ::-1] + np.float32(1))


@pytest.mark.parametrize("tiles", [1, 3, 4, 11])
def test_ring_of_small_copies(image: Image, tiles: int) -> None:
    x = aligned_bytes(tiles * 1024).view(np.float32)
    x[:] = np.random.default_rng(0).standard_normal(x.size)
    y = np.full_like(x, np.nan)
    image.launch("ring_of_small_copies", x, y, block=(64, 1, 1), scalars=(tiles,), shared_bytes=RING_BYTES, maps=())
    assert np.array_equal(y.reshape(tiles, -1), x.reshape(tiles, -1)[:, ::-1])


@pytest.mark.parametrize("threads", [32, 128, 160])
def test_values_sent(image: Image, threads: int) -> None:
    x = np.random.default_rng(0).standard_normal(threads * 4).astype(np.float32)
    y = np.full_like(x, np.nan)
    image.launch("values_sent", x, y, block=(threads, 1, 1), shared_bytes=threads * 16 + 8, maps=())
    assert np.array_equal(y.reshape(threads, 4), x.reshape(threads, 4)[::-1])


def test_cluster_of_one_block(image: Image) -> None:
    out = np.full(2, -1, np.int32)
    image.launch("cluster_of_one", out, block=(64, 1, 1), shared_bytes=8, maps=())
    assert out.tolist() == [0, 1]
