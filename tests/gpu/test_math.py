"""Device functions against numpy, over the edges of every type, on a device: the emulator's tests on the other twin."""

from __future__ import annotations

import pytest

from tests.emulated import test_math
from tests.emulated.functions import translation_unit
from tests.gpu.device_functions import DeviceFunctions, compiled
from tests.gpu.on_device import skip_without_device

pytestmark = pytest.mark.gpu

skip_without_device()

for _name, _test in vars(test_math).items():
    if _name.startswith("test_"):
        globals()[_name] = _test


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> DeviceFunctions:
    return compiled(translation_unit(), tmp_path_factory)
