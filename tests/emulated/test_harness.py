"""The harness itself: it must notice what a wrong kernel does, and the device runner's own path works on any driver."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from nautilus_cli.targets.registry import target
from nautilus_cli.toolchain.builder import build
from tests.emulated.cases.pointwise import several_stores
from tests.emulated.driver import Driver
from tests.emulated.harness import GUARD_BYTES, Case, DeviceRunner, check, distinct, render_all

(CASE,) = several_stores()


class FakeRunner:
    """Leaves behind what the case expects, but for one change."""

    def __init__(self, change: Callable[[list[np.ndarray]], None]) -> None:
        self._change = change

    def launch(self, case: Case, buffers: Sequence[np.ndarray]) -> list[np.ndarray]:
        after = [buffer.copy() for buffer in buffers]
        for slot, expected in case.expected.items():
            after[slot][GUARD_BYTES:-GUARD_BYTES] = expected.astype(case.buffers[slot].dtype).view(np.uint8)
        self._change(after)
        return after


def _set(slot: int, place: int) -> Callable[[list[np.ndarray]], None]:
    def change(after: list[np.ndarray]) -> None:
        after[slot][place] ^= 0x40

    return change


def test_what_is_right_passes() -> None:
    check(CASE, FakeRunner(lambda after: None))


@pytest.mark.parametrize(
    ("slot", "place", "said"),
    [
        (0, GUARD_BYTES + 3, "changed buffer 0"),
        (1, GUARD_BYTES + 3, "buffer 1: 1 of 192"),
        (2, -GUARD_BYTES - 1, "buffer 2: 1 of 192"),
        (1, 0, "wrote before buffer 1"),
        (2, GUARD_BYTES - 1, "wrote before buffer 2"),
        (0, -GUARD_BYTES, "wrote behind buffer 0"),
    ],
)
def test_what_is_wrong_is_noticed(slot: int, place: int, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check(CASE, FakeRunner(_set(slot, place)))


def test_what_was_not_written_is_noticed() -> None:
    def forget(after: list[np.ndarray]) -> None:
        after[3][GUARD_BYTES:-GUARD_BYTES] = CASE.buffers[3].view(np.uint8)

    with pytest.raises(AssertionError, match="buffer 3: 192 of 192"):
        check(CASE, FakeRunner(forget))


@pytest.mark.parametrize("is_exact", [False, True])
def test_the_device_runner_on_the_emulated_driver(is_exact: bool, tmp_path: Path) -> None:
    (image,) = build(distinct(render_all([CASE])), target("emulated")).images
    path = tmp_path / "driver.so"
    path.write_bytes(image.data)
    check(CASE, DeviceRunner([CASE], Driver.emulated(ctypes.CDLL(str(path))), target("emulated"), is_exact=is_exact))


def test_names_are_unique() -> None:
    with pytest.raises(AssertionError, match="share a name"):
        render_all([CASE, CASE])
