"""Planted bugs are found: by numbers that go wrong, or by a report that says what, who and where."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.emulated.executor import DEADLOCK, ILLEGAL_ADDRESS, LAUNCH_FAILED, MISALIGNED, Image, LaunchError, Mode

EVERY_ORDER = (Mode(), Mode(order="reverse"), Mode(order="random", seed=1))
LAZY_IN_EVERY_ORDER = tuple(Mode(order=mode.order, seed=mode.seed, lazy=True) for mode in EVERY_ORDER)


def results(image: Image, name: str, threads: int, shared_bytes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the input and the output of a faulty kernel that runs to its end."""
    x = np.arange(1, threads + 1, dtype=np.float32)
    y = np.zeros(threads, np.float32)
    image.launch(name, y, x, block=(threads, 1, 1), shared_bytes=shared_bytes)
    return x, y


@pytest.mark.parametrize("mode", EVERY_ORDER, ids=str)
def test_missing_barrier(executor_image: Image, mode: Mode) -> None:
    executor_image.configure(mode)
    x, y = results(executor_image, "missing_barrier", threads=64, shared_bytes=256)
    assert np.isnan(y).any() and not np.array_equal(y, x[::-1])


def test_uninitialised_shared_memory(executor_image: Image) -> None:
    executor_image.configure(Mode(poison=True))
    x, y = results(executor_image, "uninitialised_shared", threads=64, shared_bytes=260)
    assert np.array_equal(y[:-1], x[1:]) and np.isnan(y[-1])


def test_shared_memory_is_poisoned_again_for_every_block(executor_image: Image) -> None:
    executor_image.configure(Mode(poison=True))
    y, x = np.zeros(32, np.float32), np.ones(32, np.float32)
    for grid in (1, 3):
        executor_image.launch("uninitialised_shared", y, x, grid=(grid, 1, 1), shared_bytes=132)
        assert np.isnan(y[-1])


@pytest.mark.parametrize("mode", LAZY_IN_EVERY_ORDER, ids=str)
def test_wait_for_too_few_copies(executor_image: Image, mode: Mode) -> None:
    executor_image.configure(mode)
    _, y = results(executor_image, "wrong_wait_count", threads=32, shared_bytes=128)
    assert np.isnan(y).all()


def test_eager_copies_hide_a_wrong_wait(executor_image: Image) -> None:
    executor_image.configure(Mode(lazy=False))
    x, y = results(executor_image, "wrong_wait_count", threads=32, shared_bytes=128)
    assert np.array_equal(x, y)


@pytest.mark.parametrize("mode", LAZY_IN_EVERY_ORDER, ids=str)
def test_stage_filled_again_too_early(executor_image: Image, mode: Mode) -> None:
    executor_image.configure(mode)
    x, y = results(executor_image, "stage_reused_early", threads=64, shared_bytes=256)
    assert np.isnan(y).any() and not np.array_equal(y, 2 * x[::-1])


FAULTS = [
    # kernel, threads, shared bytes, status, what the report says
    (
        "divergent_barrier",
        64,
        0,
        LAUNCH_FAILED,
        r"the lanes of a warp diverge at a barrier: others wait in faulty\.cu:\d+, this one in faulty\.cu:\d+",
    ),
    (
        "barrier_after_exit",
        64,
        0,
        LAUNCH_FAILED,
        r"(block_barrier after other threads have finished|the thread ends while others wait at block_barrier) in faulty\.cu:\d+",
    ),
    ("barrier_sizes_differ", 96, 0, LAUNCH_FAILED, r"threads disagree on the size of a barrier: (64|96) and (64|96) in faulty\.cu:\d+"),
    ("half_warp_barrier", 64, 0, LAUNCH_FAILED, r"a barrier of 48 threads, neither whole warps nor of the block, in faulty\.cu:\d+"),
    ("misaligned_load", 1, 0, MISALIGNED, r"load_global of 16 bytes at 0x[0-9a-f]+, which is not a multiple of that, in faulty\.cu:\d+"),
    ("misaligned_store", 1, 0, MISALIGNED, r"store_global of 8 bytes at 0x[0-9a-f]+, which is not a multiple of that, in faulty\.cu:\d+"),
    (
        "misaligned_copy",
        1,
        64,
        MISALIGNED,
        r"cp\.async from global memory of 16 bytes at 0x[0-9a-f]+, which is not a multiple of that, in faulty\.cu:\d+",
    ),
    (
        "lanes_diverge",
        32,
        0,
        LAUNCH_FAILED,
        r"the lanes of a warp diverge: others wait at (shuffle_xor|warp_any) in faulty\.cu:\d+, this one at (shuffle_xor|warp_any) in",
    ),
    ("lane_outside_mask", 32, 0, LAUNCH_FAILED, r"shuffle by a lane outside its own mask in faulty\.cu:\d+"),
    ("lane_has_finished", 32, 0, LAUNCH_FAILED, r"shuffle names lanes that have finished or do not exist in faulty\.cu:\d+"),
    ("out_of_bounds", 32, 128, ILLEGAL_ADDRESS, r"^block \(0, 0, 0\): a write outside of the dynamic shared memory$"),
    ("copy_out_of_bounds", 32, 512, ILLEGAL_ADDRESS, r"cp\.async to outside of the dynamic shared memory in faulty\.cu:\d+"),
    ("copy_in_flight", 32, 512, LAUNCH_FAILED, r"the thread ends with a cp\.async in flight, started in faulty\.cu:\d+"),
]


@pytest.mark.parametrize("mode", LAZY_IN_EVERY_ORDER, ids=str)
@pytest.mark.parametrize(("name", "threads", "shared_bytes", "status", "report"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_report(executor_image: Image, mode: Mode, name: str, threads: int, shared_bytes: int, status: int, report: str) -> None:
    executor_image.configure(mode)
    y, x = np.zeros(threads + 8, np.float32), np.ones(threads + 8, np.float32)
    with pytest.raises(LaunchError) as caught:
        executor_image.launch(name, aligned(y), aligned(x), block=(threads, 1, 1), shared_bytes=shared_bytes)
    assert caught.value.status == status, caught.value.text
    assert re.search(report, caught.value.text), caught.value.text
    assert caught.value.text.startswith("block (0, 0, 0)")


def aligned(array: np.ndarray) -> np.ndarray:
    """Return ARRAY, or what follows in it, from an address that is a multiple of 16 on."""
    skip = -array.ctypes.data % 16 // array.itemsize
    return array[skip:]


@pytest.mark.parametrize("mode", EVERY_ORDER, ids=str)
def test_deadlock_names_barriers_and_groups_of_threads(executor_image: Image, mode: Mode) -> None:
    executor_image.configure(mode)
    with pytest.raises(LaunchError) as caught:
        results(executor_image, "deadlock", threads=96, shared_bytes=0)
    assert caught.value.status == DEADLOCK
    first, second = re.fullmatch(r"block \(0, 0, 0\): deadlock: (.*); (.*)", caught.value.text).groups()
    assert re.fullmatch(r"threads 0-31 wait at named_barrier 3 \(32 of 64 threads have arrived\) in faulty\.cu:\d+", first)
    assert re.fullmatch(r"threads 32-95 wait at block_barrier 0 \(64 of 96 threads have arrived\) in faulty\.cu:\d+", second)


def test_deadlock_between_a_warp_and_its_block(executor_image: Image) -> None:
    executor_image.configure(Mode())
    with pytest.raises(LaunchError) as caught:
        results(executor_image, "lanes_at_barrier", threads=64, shared_bytes=0)
    assert caught.value.status == DEADLOCK
    assert "threads 0-15, 32-47 wait at warp_barrier of lanes 0xffffffff in faulty.cu:" in caught.value.text
    assert "threads 16-31, 48-63 wait at block_barrier 0 (32 of 64 threads have arrived) in faulty.cu:" in caught.value.text


def test_threads_that_spin_for_ever(executor_image: Image) -> None:
    executor_image.configure(Mode())
    with pytest.raises(LaunchError) as caught:
        results(executor_image, "spin", threads=4, shared_bytes=0)
    assert caught.value.status == DEADLOCK
    assert re.fullmatch(r"block \(0, 0, 0\): deadlock: threads 0-3 spin in faulty\.cu:\d+", caught.value.text)


def test_a_failed_launch_leaves_nothing_behind(executor_image: Image) -> None:
    executor_image.configure(Mode(lazy=True, threads=2))
    for name, *_ in FAULTS:
        with pytest.raises(LaunchError):
            executor_image.launch(
                name, np.zeros(128, np.float32), np.ones(128, np.float32), grid=(64, 1, 1), block=(96, 1, 1), shared_bytes=384
            )
        x = np.random.default_rng(0).standard_normal((70, 45), dtype=np.float32)
        y = np.zeros((45, 70), np.float32)
        executor_image.launch("transpose", x, y, grid=(2, 3, 1), block=(32, 8, 1), scalars=(70, 45), shared_bytes=32 * 33 * 4)
        assert np.array_equal(y, x.T)
