"""Tensor cores, mbarriers and bulk copies on a device do what their emulated twins do: the same fixtures under the same tests."""

from __future__ import annotations

import pytest

from nautilus_cli.targets.registry import for_capability
from nautilus_cli.toolchain import nvrtc
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.device import driver
from tests.emulated import test_copies, test_matrices, test_warpgroups
from tests.emulated.executor import FIXTURES
from tests.gpu.device_image import DeviceImage
from tests.gpu.on_device import skip_without_device

pytestmark = pytest.mark.gpu

skip_without_device()

(_device, *_) = driver().devices
CAPABILITY = _device.capability

MODULES = {"matrices": test_matrices}
if CAPABILITY >= (9, 0):
    MODULES["copies"] = test_copies
if CAPABILITY == (9, 0):
    MODULES["warpgroups"] = test_warpgroups

for _kind, _module in MODULES.items():
    for _name, _test in vars(_module).items():
        if _name.startswith("test_") and (_name != "test_store" or CAPABILITY >= (9, 0)):
            globals()[_name.replace("test_", f"test_{_kind}_", 1)] = _test


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> DeviceImage:
    architecture = for_capability(CAPABILITY)
    assert architecture is not None, f"no target for compute capability {CAPABILITY}"
    store = Cache(tmp_path_factory.mktemp("cache"))
    texts = {kind: (FIXTURES / f"{kind}.cu").read_text() for kind in MODULES}
    return DeviceImage(nvrtc.compile_kernel(text, kind, architecture, store).image for kind, text in texts.items())
