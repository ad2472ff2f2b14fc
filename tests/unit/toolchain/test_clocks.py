"""Clocks are read where they can be, and that they cannot is no error."""

from __future__ import annotations

from typing import Any

import pytest

from nautilus_cli.toolchain.clocks import ClockReader, Clocks, pci_bus_id


class FakeNvml:
    """The functions of the management library that are asked, over one device."""

    def __init__(self, *, init: int = 0, handle: int = 0, clock: int = 0) -> None:
        self.init, self.handle, self.clock = init, handle, clock
        self.bus_ids: list[bytes] = []
        self.shutdowns = 0

    def nvmlInit_v2(self) -> int:  # noqa: N802
        return self.init

    def nvmlDeviceGetHandleByPciBusId_v2(self, bus_id: bytes, device: Any) -> int:  # noqa: N802
        self.bus_ids.append(bus_id)
        device._obj.value = 7
        return self.handle

    def nvmlDeviceGetClockInfo(self, device: Any, kind: Any, value: Any) -> int:  # noqa: N802
        assert device.value == 7
        value._obj.value = {1: 1755, 2: 3201}[kind.value]
        return self.clock

    def nvmlDeviceGetMaxClockInfo(self, device: Any, kind: Any, value: Any) -> int:  # noqa: N802
        value._obj.value = {1: 1980}[kind.value]
        return self.clock

    def nvmlShutdown(self) -> int:  # noqa: N802
        self.shutdowns += 1
        return 0


class FakeCuda:
    """The functions of libcuda that are asked."""

    def __init__(self, *, status: int = 0) -> None:
        self.status = status

    def cuInit(self, flags: Any) -> int:  # noqa: N802
        return self.status

    def cuDeviceGet(self, handle: Any, index: Any) -> int:  # noqa: N802
        handle._obj.value = index.value
        return 0

    def cuDeviceGetPCIBusId(self, text: Any, size: Any, handle: Any) -> int:  # noqa: N802
        text.value = b"0000:%02d:00.0" % handle.value
        return 0


def missing(name: str) -> Any:
    raise OSError(f"{name}: cannot open shared object file")


def test_clocks_are_those_of_the_device():
    nvml = FakeNvml()
    with ClockReader("0000:3b:00.0", lambda name: nvml) as reader:
        assert reader.read() == Clocks(sm_mhz=1755, memory_mhz=3201, most_sm_mhz=1980)
    assert nvml.bus_ids == [b"0000:3b:00.0"]
    assert nvml.shutdowns == 1
    assert reader.read() is None


@pytest.mark.parametrize("nvml", [FakeNvml(init=1), FakeNvml(handle=6), FakeNvml(clock=3), object()])
def test_a_library_that_refuses(nvml: Any):
    with ClockReader("0000:3b:00.0", lambda name: nvml) as reader:
        assert reader.read() is None


def test_nothing_to_read():
    assert ClockReader(None).read() is None
    assert ClockReader("0000:3b:00.0", missing).read() is None


def test_bus_ids():
    assert pci_bus_id(2, lambda name: FakeCuda()) == "0000:02:00.0"
    assert pci_bus_id(2, lambda name: FakeCuda(status=100)) is None
    assert pci_bus_id(2, lambda name: object()) is None
    assert pci_bus_id(2, missing) is None
