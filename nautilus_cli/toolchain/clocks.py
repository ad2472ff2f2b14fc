"""A GPU's clocks, asked through the driver's management library alone (libnvidia-ml.so.1, which nvidia-smi uses as well).

Source: NVML API Reference Guide, "Device Queries": nvmlClockType_t, nvmlDeviceGetClockInfo.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

_LIBRARY = "libnvidia-ml.so.1"
_SM, _MEMORY = 1, 2
_BUS_ID_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """Clocks at one moment, in MHz.

    Attributes:
        sm_mhz: of the multiprocessors.
        memory_mhz: of the memory.
        most_sm_mhz: the highest that the multiprocessors can have.
    """

    sm_mhz: int
    memory_mhz: int
    most_sm_mhz: int


def pci_bus_id(index: int, open_library: Callable[[str], Any] = ctypes.CDLL) -> str | None:
    """Return the PCI bus id of a device by CUDA's number, which need not be that of the management library; None where there is none."""
    try:
        cuda = open_library("libcuda.so.1")
        text = ctypes.create_string_buffer(_BUS_ID_BYTES)
        handle = ctypes.c_int()
        if cuda.cuInit(ctypes.c_uint(0)) or cuda.cuDeviceGet(ctypes.byref(handle), ctypes.c_int(index)):
            return None
        return None if cuda.cuDeviceGetPCIBusId(text, ctypes.c_int(_BUS_ID_BYTES), handle) else text.value.decode()
    except (OSError, AttributeError):
        return None


class ClockReader:
    """Reads a device's clocks; reads nothing where the management library is missing or refuses.

    Args:
        bus_id: PCI bus id of the device; None for no device.
        open_library: loads a library by name; a test passes its own.
    """

    def __init__(self, bus_id: str | None, open_library: Callable[[str], Any] = ctypes.CDLL) -> None:
        self._nvml: Any = None
        self._device = ctypes.c_void_p()
        if bus_id is None:
            return
        try:
            nvml = open_library(_LIBRARY)
            if nvml.nvmlInit_v2() == 0:
                self._nvml = nvml
                if nvml.nvmlDeviceGetHandleByPciBusId_v2(bus_id.encode(), ctypes.byref(self._device)):
                    self.close()
        except (OSError, AttributeError):
            self._nvml = None

    def read(self) -> Clocks | None:
        """Return the clocks now; None where they cannot be read."""
        found = [
            self._number("nvmlDeviceGetClockInfo", _SM),
            self._number("nvmlDeviceGetClockInfo", _MEMORY),
            self._number("nvmlDeviceGetMaxClockInfo", _SM),
        ]
        sm, memory, most = found
        return None if sm is None or memory is None or most is None else Clocks(sm_mhz=sm, memory_mhz=memory, most_sm_mhz=most)

    def _number(self, name: str, kind: int) -> int | None:
        if self._nvml is None:
            return None
        value = ctypes.c_uint()
        try:
            failed = getattr(self._nvml, name)(self._device, ctypes.c_int(kind), ctypes.byref(value))
        except AttributeError:
            return None
        return None if failed else value.value

    def close(self) -> None:
        """Leave the management library; a second call does nothing."""
        if self._nvml is not None:
            self._nvml.nvmlShutdown()
            self._nvml = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
