"""The device twins of nautilus/device do what their emulated twins do: the same fixtures under the same tests."""

from __future__ import annotations

import pytest

from nautilus_cli.targets.base import Target
from nautilus_cli.toolchain import nvrtc
from nautilus_cli.toolchain.cache import Cache
from tests.emulated import test_executor, test_executor_conversions
from tests.emulated.executor import FIXTURES
from tests.gpu.device_image import DeviceImage
from tests.gpu.on_device import skip_without_device

pytestmark = pytest.mark.gpu

skip_without_device()

# Tests of orders and units are about the emulator alone.
for _module in (test_executor, test_executor_conversions):
    for _name, _test in vars(_module).items():
        if _name.startswith("test_") and _name not in {"test_a_seed_decides_the_order", "test_units_complete_by_themselves"}:
            globals()[_name] = _test


@pytest.fixture(scope="module")
def image(architecture: Target, tmp_path_factory: pytest.TempPathFactory) -> DeviceImage:
    store = Cache(tmp_path_factory.mktemp("cache"))
    return DeviceImage([nvrtc.compile_kernel((FIXTURES / "sound.cu").read_text(), "sound", architecture, store).image])
