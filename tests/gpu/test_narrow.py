"""Types of 8 bits and less on a device: the emulator's tests on the other twin."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.toolchain.device import driver
from tests.emulated import test_narrow
from tests.gpu.device_functions import DeviceFunctions, compiled

pytestmark = pytest.mark.gpu

if driver().problem:
    pytest.skip(f"no CUDA device: {driver().problem}", allow_module_level=True)

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
