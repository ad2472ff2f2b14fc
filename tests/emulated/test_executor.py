"""Correct kernels come out right in every order, eager and lazy, on one OS thread and on two."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulated.executor import Image, Mode

MODES = (
    Mode(),
    Mode(order="reverse"),
    Mode(order="reverse", lazy=True, threads=2),
    Mode(order="random", seed=1, lazy=True),
    Mode(order="random", seed=2),
    Mode(order="random", seed=3, lazy=True, threads=2),
    Mode(poison=False, lazy=True, threads=2),
)


@pytest.fixture(params=MODES, ids=str)
def image(request: pytest.FixtureRequest, executor_image: Image) -> Image:
    executor_image.configure(request.param)
    return executor_image


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


@pytest.mark.parametrize(("elements", "blocks", "threads"), [(1000, 4, 256), (1, 1, 32), (100_000, 98, 1024), (77, 3, 33)])
def test_threads_that_never_wait(image: Image, elements: int, blocks: int, threads: int) -> None:
    x, y = random(elements), np.full(elements, np.nan, np.float32)
    image.launch("twice", x, y, grid=(blocks, 1, 1), block=(threads, 1, 1), scalars=(elements,))
    assert np.array_equal(y, 2 * x)


def test_place_in_block_and_grid(image: Image) -> None:
    grid, block = (3, 2, 2), (5, 4, 3)
    rows = np.full((*grid[::-1], *block[::-1], 8), -1, np.int32)
    image.launch("place", rows, grid=grid, block=block)
    block_z, block_y, block_x, z, y, x = np.indices(rows.shape[:-1])
    linear = x + block[0] * (y + block[1] * z)
    expected = np.stack([block_x, block_y, block_z, x, y, z, linear % 32, linear // 32], axis=-1)
    assert np.array_equal(rows, expected)


@pytest.mark.parametrize("threads", [32, 64, 256, 1024])
def test_reduction_through_warps_and_shared_memory(image: Image, threads: int) -> None:
    x = np.random.default_rng(0).integers(-100, 100, (5, 700)).astype(np.float32)  # whole numbers: any order of adding gives the same
    sums = np.full(5, np.nan, np.float32)
    image.launch("row_sum", x, sums, grid=(5, 1, 1), block=(threads, 1, 1), scalars=(700,), shared_bytes=threads // 32 * 4)
    assert np.array_equal(sums, x.sum(axis=1))


def test_transpose_through_shared_memory(image: Image) -> None:
    x, y = random(70, 45), np.full((45, 70), np.nan, np.float32)
    image.launch("transpose", x, y, grid=(2, 3, 1), block=(32, 8, 1), scalars=(70, 45), shared_bytes=32 * 33 * 4)
    assert np.array_equal(y, x.T)


@pytest.mark.parametrize("chunks", [1, 2, 7])
def test_pipeline_of_asynchronous_copies(image: Image, chunks: int) -> None:
    threads = 64
    x = random(chunks * threads * 4)
    y = np.full_like(x, np.nan)
    image.launch("pipeline", x, y, block=(threads, 1, 1), scalars=(chunks,), shared_bytes=3 * threads * 16)
    assert np.array_equal(y, x + np.float32(1))


def test_asynchronous_copies_of_a_part_zero_the_rest(image: Image) -> None:
    source = np.arange(1, 17, dtype=np.uint8)
    out = np.full((32, 32), 0xAA, np.uint8)
    image.launch("partial_copies", source, out, shared_bytes=1024)
    for thread, row in enumerate(out):
        expected = [np.where(np.arange(size) < thread, source[:size], 0) for size in (16, 8, 4)]
        assert np.array_equal(row, np.concatenate([*expected, source[:4]]))


def test_exchange_between_lanes(image: Image) -> None:
    values = np.random.default_rng(0).integers(0, 1000, 32).astype(np.int32)
    out = np.full((32, 16), -1, np.int32)
    image.launch("lanes", values, out)
    lane = np.arange(32)
    third = int(np.bitwise_or.reduce((values % 3 == 0).astype(np.uint32) << lane.astype(np.uint32)).astype(np.int32))
    expected = {
        0: np.full(32, values[5]),
        1: values[lane ^ 3],
        2: values[np.where(lane + 4 < 32, lane + 4, lane)],
        3: values[np.where(lane >= 4, lane - 4, lane)],
        4: np.full(32, values.sum()),
        5: values.reshape(4, 8).sum(axis=1).repeat(8),
        6: np.full(32, third),
        7: np.full(32, 2),
        8: np.full(32, 1),
        9: values[lane ^ 1],
        10: lane ^ 1,
        11: lane ^ 1,
        12: np.where(lane < 16, values[:16].sum(), values[31]),
        13: np.where(lane < 16, 1, 2),
        14: np.full(32, 36),
        15: values[(lane + 1) % 32],
    }
    for column, right in expected.items():
        assert np.array_equal(out[:, column], right), f"column {column}"


def test_producer_and_consumers_at_named_barriers(image: Image) -> None:
    rounds, out = 5, np.full(128, -1, np.int32)
    image.launch("producer", out, block=(128, 1, 1), scalars=(rounds,), shared_bytes=128)
    thread = np.arange(32, 128)
    expected = sum(100 * round_ + (thread % 32 + thread // 32) % 32 for round_ in range(rounds))
    assert np.array_equal(out[32:], expected)


def test_atomic_operations(image: Image) -> None:
    values = np.random.default_rng(0).integers(0, 1_000_000, 64 * 128).astype(np.int32)
    histogram, others = np.zeros(16, np.int32), np.zeros(5, np.int32)
    others[1] = np.iinfo(np.int32).max
    image.launch("atomics", values, histogram, others, grid=(64, 1, 1), block=(128, 1, 1))
    assert np.array_equal(histogram, np.bincount(values % 16, minlength=16))
    assert (others[0], others[1], others[3], others[4]) == (values.max(), values.min(), 7, values.max())
    assert others[2:3].view(np.float32)[0] == values.size / 2


def test_blocks_that_wait_for_each_other(image: Image) -> None:
    counters, sums = np.zeros(2, np.uint32), np.zeros(64, np.float32)
    blocks = 40
    image.launch("turnstile", counters, sums, grid=(blocks, 1, 1), block=(64, 1, 1), shared_bytes=4)
    expected = np.float32(0)
    for ticket in range(blocks):
        expected = expected * np.float32(0.5) + np.float32(ticket + 1)
    assert np.array_equal(sums, np.full(64, expected)) and counters.tolist() == [blocks, blocks]


def test_units_complete_by_themselves(image: Image) -> None:
    out = np.zeros(64, np.int32)
    image.launch("unit", out, block=(64, 1, 1), shared_bytes=4)
    assert (out == 42).all()


def test_tiled_matrix_product(image: Image) -> None:
    m, n, k = 128, 256, 64
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-8, 8, shape).astype(np.float32) for shape in ((m, k), (k, n)))
    c = np.full((m, n), np.nan, np.float32)
    image.launch("gemm", a, b, c, grid=(n // 128, m // 128, 1), block=(256, 1, 1), scalars=(n, k), shared_bytes=2 * 8 * (132 + 128) * 4)
    assert np.array_equal(c, a @ b)


def test_a_seed_decides_the_order(executor_image: Image) -> None:
    def order(seed: int) -> list[int]:
        """The tickets that the threads of four blocks take, one after another."""
        executor_image.configure(Mode(order="random", seed=seed))
        values, counter = np.full(64, -1, np.int32), np.zeros(1, np.uint32)
        executor_image.launch("tickets", values, counter, grid=(4, 1, 1), block=(16, 1, 1))
        return values.tolist()

    first, again, other = order(7), order(7), order(8)
    assert first == again and first != other and sorted(first) == list(range(64))
