"""Planted bugs around ldmatrix, mma and wgmma are found: by numbers that go wrong, or by a report that says what, who and where."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.emulated.executor import ILLEGAL_ADDRESS, LAUNCH_FAILED, MISALIGNED, Image, LaunchError, Mode

ORDERS = (Mode(), Mode(order="reverse"), Mode(order="random", seed=1))
LAZY = tuple(replace(mode, lazy=True) for mode in ORDERS)

SHARED_BYTES = 3 * 8192 + 16
RIGHT = np.broadcast_to(64 * np.arange(64, dtype=np.float32), (64, 64))


def launch(image: Image, name: str, threads: int = 128) -> np.ndarray:
    """Run a kernel and return the result."""
    out = np.zeros((64, 64), np.float32)
    image.launch(name, out, block=(threads, 1, 1), shared_bytes=SHARED_BYTES, maps=())
    return out


@pytest.mark.parametrize("mode", [*ORDERS, *LAZY], ids=str)
def test_the_product_itself_is_right(executor_image: Image, mode: Mode) -> None:
    executor_image.configure(mode)
    assert np.array_equal(launch(executor_image, "product_without_a_bug"), RIGHT)


@pytest.mark.parametrize("mode", [*ORDERS, *LAZY], ids=str)
def test_sums_read_early(executor_image: Image, mode: Mode) -> None:
    executor_image.configure(mode)
    assert np.isnan(launch(executor_image, "sums_read_early")).all()


@pytest.mark.parametrize("mode", LAZY, ids=str)
def test_operand_overwritten(executor_image: Image, mode: Mode) -> None:
    executor_image.configure(mode)
    assert (launch(executor_image, "operand_overwritten") == -64).all()


def test_eager_products_hide_an_overwritten_operand(executor_image: Image) -> None:
    executor_image.configure(Mode())
    assert np.array_equal(launch(executor_image, "operand_overwritten"), RIGHT)


@pytest.mark.parametrize("mode", [*ORDERS, *LAZY], ids=str)
def test_wrong_stride(executor_image: Image, mode: Mode) -> None:
    executor_image.configure(mode)
    assert not np.array_equal(launch(executor_image, "wrong_stride"), RIGHT)


def test_stage_released_by_one_warp_of_four(executor_image: Image) -> None:
    """The other warps still read it: in order that always shows, at random for some seed."""
    is_right = []
    for mode in (Mode(lazy=True), *(Mode(order="random", seed=seed, lazy=True) for seed in range(8))):
        executor_image.configure(mode)
        out = launch(executor_image, "released_by_one_warp", threads=160)
        assert np.array_equal(out[:16], RIGHT[:16])
        is_right.append(np.array_equal(out, RIGHT))
    assert not is_right[0] and not all(is_right[1:])


@pytest.mark.parametrize("name", ["missing_warp_barrier", "uninitialised_matrix"])
def test_matrices_of_what_was_not_written(executor_image: Image, name: str) -> None:
    executor_image.configure(Mode())
    out = launch(executor_image, name, threads=32)
    assert np.isnan(out.view(np.float32)[:2]).any()


FAULTS = [
    (
        "missing_fence",
        128,
        LAUNCH_FAILED,
        r"wgmma with new sums and without a wgmma_fence since the last wait in faulty_warpgroups\.cu:\d+",
    ),
    ("operands_differ", 128, LAUNCH_FAILED, r"the threads of a warpgroup differ in a wgmma: another has started one in faulty_warpgroups"),
    ("operand_outside", 128, ILLEGAL_ADDRESS, r"an operand of wgmma outside of the dynamic shared memory in faulty_warpgroups\.cu:\d+"),
    ("misaligned_operand", 128, LAUNCH_FAILED, r"wgmma_descriptor of a place or distance that is no multiple of 16 bytes"),
    ("three_warps", 128, LAUNCH_FAILED, r"not all warps of a warpgroup have started the wgmma in faulty_warpgroups\.cu:\d+"),
    ("half_a_warp", 128, LAUNCH_FAILED, r"wgmma by some lanes of a warp alone, waited for in faulty_warpgroups\.cu:\d+"),
    ("warp_of_no_warpgroup", 160, LAUNCH_FAILED, r"wgmma by a warp that is not of a whole warpgroup"),
    ("product_in_flight", 128, LAUNCH_FAILED, r"the thread ends with a wgmma in flight, started in faulty_warpgroups\.cu:\d+"),
    ("lanes_diverge_at_products", 128, LAUNCH_FAILED, r"the threads of a warpgroup differ in a wgmma"),
    ("misaligned_matrix", 32, MISALIGNED, r"load_matrices of 16 bytes at 0x[0-9a-f]+, which is not a multiple of that,"),
    ("matrix_outside", 32, ILLEGAL_ADDRESS, r"thread \(9, 0, 0\): load_matrices from outside of the dynamic shared memory"),
    (
        "lanes_diverge_at_mma",
        32,
        LAUNCH_FAILED,
        r"the lanes of a warp diverge: others wait at mma_block in faulty_warpgroups\.cu:\d+, this one at",
    ),
]


@pytest.mark.parametrize("mode", [ORDERS[0], *LAZY], ids=str)
@pytest.mark.parametrize(("name", "threads", "status", "report"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_report(executor_image: Image, mode: Mode, name: str, threads: int, status: int, report: str) -> None:
    executor_image.configure(mode)
    with pytest.raises(LaunchError) as caught:
        launch(executor_image, name, threads)
    assert caught.value.status == status, caught.value.text
    assert re.search(report, caught.value.text) and caught.value.text.startswith("block (0, 0, 0)"), caught.value.text


def test_a_failed_launch_leaves_nothing_behind(executor_image: Image) -> None:
    executor_image.configure(Mode(lazy=True))
    for name, threads, *_ in FAULTS:
        with pytest.raises(LaunchError):
            launch(executor_image, name, threads)
        assert np.array_equal(launch(executor_image, "product_without_a_bug"), RIGHT)
