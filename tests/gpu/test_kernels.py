"""The cases of every family on a device: those that the emulator runs, bit for bit the same requests and data.

Under compute-sanitizer: `compute-sanitizer --tool memcheck python -m pytest tests/gpu --exact-buffers --every 5`, and with
`--tool racecheck` or `synccheck`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module

import pytest

from nautilus_cli.kernels.registry import families
from nautilus_cli.targets.registry import for_capability, target
from nautilus_cli.toolchain.device import driver
from tests.emulated.driver import Driver
from tests.emulated.harness import OLDEST, Case, DeviceRunner, check
from tests.gpu.on_device import skip_without_device

pytestmark = pytest.mark.gpu

skip_without_device()


@cache
def _cases(family: str) -> Sequence[Case]:
    cases: Sequence[Case] = import_module(f"tests.emulated.cases.{family}").cases()
    return cases


@cache
def _driver() -> Driver:
    return Driver.real()


@cache
def _runner(family: str, every: int, is_exact: bool) -> DeviceRunner:
    (device, *_) = driver().devices
    architecture = for_capability(device.capability)
    assert architecture is not None, f"no target runs on compute capability {device.capability}"
    return DeviceRunner(_cases(family)[::every], _driver(), architecture, is_exact=is_exact)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    every = metafunc.config.getoption("--every", 1)
    parameters = [pytest.param(family, case, id=f"{family}-{case.name}") for family in families() for case in _cases(family)[::every]]
    metafunc.parametrize(("family", "case"), parameters)


def test_matches_numpy(family: str, case: Case, request: pytest.FixtureRequest) -> None:
    (device, *_) = driver().devices
    if family in OLDEST and for_capability(device.capability) != target(OLDEST[family]):
        pytest.skip(f"{family} is for {OLDEST[family]} alone")
    check(case, _runner(family, request.config.getoption("--every", 1), request.config.getoption("--exact-buffers", False)))
