"""A launch that may begin before those ahead of it have ended must wait for them, or the order of launches is lost."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator

import pytest

from nautilus_cli.kernels.base import Geometry
from tests.emulated.driver import Driver, KernelNodeParams, launch_config
from tests.emulated.executor import LAUNCH_FAILED, Image, Mode

GEOMETRY = Geometry(grid=(3, 1, 1), threads=32, smem_bytes=0)
NOBODY, FIRST, OTHERS, ALL = 0b000, 0b001, 0b110, 0b111
"""Blocks of the grid, a bit each."""

Launch = Callable[[Driver, ctypes.c_void_p, ctypes.Array[ctypes.c_void_p], bool], int]


@pytest.fixture(params=[Mode(), Mode(order="random", seed=1, threads=3)], ids=str)
def driver(executor_image: Image, request: pytest.FixtureRequest) -> Iterator[Driver]:
    executor_image.configure(request.param)
    found = Driver.emulated(executor_image.library)
    yield found
    found.functions["cuCtxPopCurrent"](None)
    found.functions["cuDevicePrimaryCtxRelease"](0)


def on_a_stream(driver: Driver, function: ctypes.c_void_p, parameters: ctypes.Array[ctypes.c_void_p], is_dependent: bool) -> int:
    config = launch_config(GEOMETRY, is_dependent=is_dependent)
    return driver.functions["cuLaunchKernelEx"](ctypes.byref(config), function, parameters, None)


def in_a_graph(driver: Driver, function: ctypes.c_void_p, parameters: ctypes.Array[ctypes.c_void_p], is_dependent: bool) -> int:
    """Launch as the second node of a graph, behind one that waits, with parameters that were set anew."""
    sound = (ctypes.c_longlong * 2)(ALL, NOBODY)
    first = (ctypes.c_void_p * 1)(ctypes.addressof(sound))
    graph, exec_, nodes = ctypes.c_void_p(), ctypes.c_void_p(), (ctypes.c_void_p * 2)()
    given = [
        KernelNodeParams(
            function, (ctypes.c_uint * 3)(*GEOMETRY.grid), (ctypes.c_uint * 3)(GEOMETRY.threads, 1, 1), 0, ctypes.addressof(words)
        )
        for words in (first, parameters)
    ]
    driver.call("cuGraphCreate", ctypes.byref(graph), 0)
    for number in range(2):
        node = ctypes.byref(nodes, number * ctypes.sizeof(ctypes.c_void_p))
        driver.call("cuGraphAddKernelNode", node, graph, None, ctypes.c_size_t(0), ctypes.byref(given[number]))
    edge = (ctypes.c_ubyte * 8)(1, 0, 1) if is_dependent else None
    driver.call("cuGraphAddDependencies", graph, ctypes.byref(nodes), ctypes.byref(nodes, 8), edge, ctypes.c_size_t(1))
    driver.call("cuGraphInstantiateWithFlags", ctypes.byref(exec_), graph, ctypes.c_ulonglong(0))
    driver.call("cuGraphExecKernelNodeSetParams", exec_, ctypes.c_void_p(nodes[1]), ctypes.byref(given[1]))
    status = driver.functions["cuGraphLaunch"](exec_, None)
    driver.functions["cuGraphExecDestroy"](exec_)
    driver.functions["cuGraphDestroy"](graph)
    return status


WAYS = pytest.mark.parametrize("launch", [on_a_stream, in_a_graph])


def run(driver: Driver, launch: Launch, kernel: str, waiting: int, leaving: int, *, is_dependent: bool = True) -> int:
    module = driver.load(b"any image: it is loaded already")
    words = (ctypes.c_longlong * 2)(waiting, leaving)
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(words))
    return launch(driver, driver.function(module, kernel), parameters, is_dependent)


@WAYS
@pytest.mark.parametrize(
    ("kernel", "waiting", "leaving"),
    [
        ("dependent_fixed", ALL, NOBODY),  # by one thread of each block
        ("dependent_fixed", FIRST, OTHERS),  # a block that stays waits
        ("dependent_fixed", ALL, ALL),
        ("dependent_open", FIRST, OTHERS),
        ("dependent_open", NOBODY, ALL),  # what leaves waits
    ],
)
def test_a_grid_that_waits(driver: Driver, launch: Launch, kernel: str, waiting: int, leaving: int, executor_image: Image) -> None:
    assert run(driver, launch, kernel, waiting, leaving) == 0, executor_image.last_error()


@WAYS
@pytest.mark.parametrize("kernel", ["dependent_fixed", "dependent_open"])
@pytest.mark.parametrize(("waiting", "blocks"), [(NOBODY, (0, 1, 2)), (FIRST, (1, 2)), (OTHERS, (0,))])
def test_a_block_that_does_not_wait(
    driver: Driver, launch: Launch, kernel: str, waiting: int, blocks: tuple[int, ...], executor_image: Image
) -> None:
    assert run(driver, launch, kernel, waiting, NOBODY) == LAUNCH_FAILED
    texts = {
        f"kernel {kernel}: block ({block}, 0, 0): no thread has called dependency_wait, "
        "although the launch may begin before those ahead of it have ended"
        for block in blocks
    }
    assert executor_image.last_error() in texts


@WAYS
def test_a_grid_of_which_all_blocks_leave(driver: Driver, launch: Launch, executor_image: Image) -> None:
    assert run(driver, launch, "dependent_fixed", NOBODY, ALL) == LAUNCH_FAILED
    assert executor_image.last_error() == (
        "kernel dependent_fixed: all blocks have nothing to do, and none has called dependency_wait, which orders other launches"
    )


@WAYS
@pytest.mark.parametrize("leaving", [NOBODY, ALL])
def test_a_launch_that_begins_when_all_has_ended_need_not_wait(driver: Driver, launch: Launch, leaving: int) -> None:
    assert run(driver, launch, "dependent_fixed", NOBODY, leaving, is_dependent=False) == 0
