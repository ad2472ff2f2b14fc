"""Device functions against numpy, over the edges of every type, on a device: the emulator's tests on the other twin."""

from __future__ import annotations

import pytest

from nautilus_cli.toolchain.device import driver
from tests.emulated import test_math
from tests.emulated.functions import translation_unit
from tests.gpu.device_functions import DeviceFunctions, compiled

pytestmark = pytest.mark.gpu

if driver().problem:
    pytest.skip(f"no CUDA device: {driver().problem}", allow_module_level=True)

for _name, _test in vars(test_math).items():
    if _name.startswith("test_"):
        globals()[_name] = _test


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> DeviceFunctions:
    return compiled(translation_unit(), tmp_path_factory)
