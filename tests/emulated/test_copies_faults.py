"""Planted bugs around mbarriers and bulk copies are found, and so is what cuTensorMapEncodeTiled refuses."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.emulated.executor import DEADLOCK, ILLEGAL_ADDRESS, LAUNCH_FAILED, MISALIGNED, Image, LaunchError, Mode
from tests.emulated.tensor_maps import TensorMap, encode
from tests.emulated.test_copies import aligned_bytes

ORDERS = (Mode(), Mode(order="reverse"), Mode(order="random", seed=1))
LAZY = tuple(replace(mode, lazy=True) for mode in ORDERS)

SHARED_BYTES = 2 * 1024 + 4 * 8


def launch(image: Image, name: str, threads: int = 64) -> tuple[np.ndarray, np.ndarray]:
    """Run a kernel on two tiles; return what it was given and what it left."""
    x, y = (aligned_bytes(2 * 1024).view(np.float32) for _ in range(2))
    x[:] = np.arange(1, x.size + 1)
    maps = tuple(TensorMap(array=i, element="f32", extents=(32, 16), strides=(128,), box=(32, 8)) for i in range(2))
    image.launch(name, x, y, block=(threads, 1, 1), shared_bytes=SHARED_BYTES, maps=maps)
    return x, y


# In random order a load may be over in time, by luck.
@pytest.mark.parametrize("mode", LAZY[:2], ids=str)
@pytest.mark.parametrize("name", ["missing_wait", "wrong_phase"])
def test_tile_read_before_it_is_there(executor_image: Image, name: str, mode: Mode) -> None:
    executor_image.configure(mode)
    _, y = launch(executor_image, name)
    assert np.isnan(y[:256]).any()


# In reverse order the producer, which is woken first, runs last.
@pytest.mark.parametrize("mode", LAZY[::2], ids=str)
def test_stage_released_early(executor_image: Image, mode: Mode) -> None:
    executor_image.configure(mode)
    x, y = launch(executor_image, "stage_released_early")
    assert not np.array_equal(x, y)


@pytest.mark.parametrize("mode", LAZY, ids=str)
def test_stored_tile_overwritten(executor_image: Image, mode: Mode) -> None:
    executor_image.configure(mode)
    _, y = launch(executor_image, "overwritten_while_stored")
    assert (y[:64] == 2).all() and (y[64:256] == 1).all()


def test_stored_tile_read_back_early(executor_image: Image) -> None:
    executor_image.configure(Mode(lazy=True))
    _, y = launch(executor_image, "read_back_early")
    assert (y[:256] == 1).all() and y[256] == 0


def test_arrival_does_not_cover_later_copies(executor_image: Image) -> None:
    executor_image.configure(Mode(lazy=True))
    _, y = launch(executor_image, "copy_after_its_arrival")
    assert (y[256:260] == 0).all() and np.isnan(y[260:264]).all()


FAULTS = [
    (
        "too_many_arrivals",
        LAUNCH_FAILED,
        r"more arrivals than the 1 that the mbarrier at byte 2048 of shared memory expects in faulty_copies",
    ),
    ("not_initialised", LAUNCH_FAILED, r"mbarrier_arrive where no mbarrier is initialised, in faulty_copies\.cu:\d+"),
    ("initialised_too_late", LAUNCH_FAILED, r"mbarrier_arrive where no mbarrier is initialised"),
    ("initialised_twice", LAUNCH_FAILED, r"the mbarrier at byte 2048 of shared memory is initialised a second time"),
    ("misaligned_barrier", MISALIGNED, r"mbarrier_init of 8 bytes at 0x[0-9a-f]+, which is not a multiple of that,"),
    ("barrier_outside", ILLEGAL_ADDRESS, r"mbarrier_init outside of the dynamic shared memory"),
    ("barrier_overwritten", LAUNCH_FAILED, r"the mbarrier at byte 2048 of shared memory has been overwritten, as mbarrier_arrive finds"),
    ("parity_of_two", LAUNCH_FAILED, r"the parity of a phase is 0 or 1"),
    ("misaligned_box", MISALIGNED, r"tensor_load of 128 bytes at 0x[0-9a-f]+, which is not a multiple of that,"),
    ("box_within_a_chunk", LAUNCH_FAILED, r"tensor_load of a box that begins -8 bytes into a row, no multiple of 16"),
    ("store_before_the_start", LAUNCH_FAILED, r"tensor_store of a box that begins before the tensor, at -1 of dimension 1"),
    ("box_outside", ILLEGAL_ADDRESS, r"tensor_load outside of the dynamic shared memory"),
    ("too_many_coordinates", LAUNCH_FAILED, r"3 coordinates for a tensor map of rank 2"),
    ("no_tensor_map", LAUNCH_FAILED, r"what is no tensor map is used as one"),
    ("run_of_odd_bytes", LAUNCH_FAILED, r"bulk_load of bytes that are no multiple of 16"),
    ("misaligned_run", MISALIGNED, r"bulk_load of 16 bytes at 0x[0-9a-f]+, which is not a multiple of that,"),
    ("store_in_flight", LAUNCH_FAILED, r"the thread ends while a store still reads shared memory, started in faulty_copies\.cu:\d+"),
    ("load_in_flight", LAUNCH_FAILED, r"the block ends with a tensor_load in flight, started in faulty_copies\.cu:\d+"),
    ("block_of_no_cluster", LAUNCH_FAILED, r"mbarrier_arrive_at a block that the cluster does not have"),
    ("values_for_no_block", LAUNCH_FAILED, r"store_shared_async at a block that the cluster does not have"),
    ("misaligned_values", MISALIGNED, r"store_shared_async of 16 bytes at 0x[0-9a-f]+, which is not a multiple of that,"),
]


@pytest.mark.parametrize("mode", LAZY[:2], ids=str)
@pytest.mark.parametrize(("name", "status", "report"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_report(executor_image: Image, mode: Mode, name: str, status: int, report: str) -> None:
    executor_image.configure(mode)
    with pytest.raises(LaunchError) as caught:
        launch(executor_image, name)
    assert caught.value.status == status, caught.value.text
    assert re.search(report, caught.value.text) and caught.value.text.startswith("block (0, 0, 0)"), caught.value.text


@pytest.mark.parametrize("mode", [*ORDERS, *LAZY], ids=str)
def test_deadlock_names_the_barrier(executor_image: Image, mode: Mode) -> None:
    executor_image.configure(mode)
    with pytest.raises(LaunchError) as caught:
        launch(executor_image, "too_many_bytes_expected")
    assert caught.value.status == DEADLOCK
    waiting = r"threads 0-63 wait at mbarrier 2048 for parity 0 \(1 of 1 arrivals, 64 bytes outstanding\) in faulty_copies\.cu:\d+"
    assert re.fullmatch(rf"block \(0, 0, 0\): deadlock: {waiting}", caught.value.text), caught.value.text


def test_a_failed_launch_leaves_nothing_behind(executor_image: Image) -> None:
    executor_image.configure(Mode(lazy=True))
    for name, *_ in FAULTS:
        with pytest.raises(LaunchError):
            launch(executor_image, name)
        source, result = aligned_bytes(64), aligned_bytes(64)
        source[:] = 7
        executor_image.launch("run_of_bytes", source, result, block=(64, 1, 1), scalars=(64,), shared_bytes=72, maps=())
        assert np.array_equal(source, result)


GOOD = TensorMap(array=0, element="f16", extents=(100, 40, 3), strides=(208, 8320), box=(64, 8, 1), swizzle=128)
INVALID, NOT_SUPPORTED = 1, 801

REFUSED = [
    ({"extents": (100, 0, 3)}, INVALID, "an extent of 0 of dimension 1"),
    ({"extents": (100, 2**32 + 1, 3)}, INVALID, "an extent of 4294967297 of dimension 1"),
    ({"strides": (200, 8320)}, INVALID, "a stride of 200 bytes of dimension 0"),
    ({"strides": (208, 2**40)}, INVALID, "a stride of 1099511627776 bytes of dimension 1"),
    ({"box": (64, 257, 1)}, INVALID, "a box of 257 of dimension 1"),
    ({"box": (64, 8, 0)}, INVALID, "a box of 0 of dimension 2"),
    ({"box": (60, 8, 1), "swizzle": 0}, INVALID, "rows of a box of 120 bytes, no multiple of 16"),
    ({"box": (64, 8, 1), "swizzle": 64}, INVALID, "rows of a box of 128 bytes, longer than the 64 of the swizzle"),
    ({"box": (32, 8, 1)}, NOT_SUPPORTED, "a box that is narrower than its swizzle is not emulated"),
    ({"steps": (1, 9, 1)}, INVALID, "a step of 9 of dimension 1"),
    ({"steps": (1, 1, 0)}, INVALID, "a step of 0 of dimension 2"),
    ({"offset": 8}, INVALID, "the tensor is not aligned to 16 bytes"),
    ({"extents": (4,) * 6, "strides": (16,) * 5, "box": (64,) * 6}, INVALID, "a rank of 6"),
]


@pytest.mark.parametrize(("change", "status", "text"), REFUSED, ids=[text for _, _, text in REFUSED])
def test_arguments_of_a_tensor_map(executor_image: Image, change: dict[str, object], status: int, text: str) -> None:
    memory = aligned_bytes(64)
    assert encode(executor_image.encode_tiled, GOOD, memory.ctypes.data)[0] == 0
    assert encode(executor_image.encode_tiled, replace(GOOD, **change), memory.ctypes.data)[0] == status
    assert text in executor_image.last_error()


def test_a_map_of_the_largest_tensor(executor_image: Image) -> None:
    memory = aligned_bytes(64)
    largest = replace(GOOD, extents=(2**32,) * 5, strides=(2**40 - 16,) * 4, box=(64, 256, 256, 256, 256), steps=(8,) * 5)
    assert encode(executor_image.encode_tiled, largest, memory.ctypes.data)[0] == 0
