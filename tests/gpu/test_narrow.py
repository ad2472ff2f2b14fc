"""Types of 8 bits and less on a device: the emulator's tests on the other twin."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulated import test_narrow
from tests.gpu.device_functions import DeviceFunctions, compiled
from tests.gpu.on_device import skip_without_device

pytestmark = pytest.mark.gpu

skip_without_device()

for _name, _test in vars(test_narrow).items():
    if _name.startswith("test_"):
        globals()[_name] = _test


class NarrowFunctions:
    """Calls the functions of a cubin, with the interface of test_narrow.Functions."""

    def __init__(self, functions: DeviceFunctions) -> None:
        self._functions = functions

    def call(self, symbol: str, x: np.ndarray, result: np.dtype) -> np.ndarray:
        return self._functions.launch(symbol, (np.ascontiguousarray(x),), [], result)


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> NarrowFunctions:
    return NarrowFunctions(compiled(test_narrow.translation_unit(), tmp_path_factory))
