"""Which device decides the target, and runs it."""

from __future__ import annotations

import pytest

from nautilus_cli.driver.selection import select
from nautilus_cli.errors import DeviceError
from nautilus_cli.toolchain import device

AMPERE = device.Device(index=0, name="A100", capability=(8, 0), multiprocessors=108)
HOPPER = device.Device(index=1, name="H200", capability=(9, 0), multiprocessors=132)
OLD = device.Device(index=2, name="V100", capability=(7, 0), multiprocessors=80)


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> None:
    found = device.Driver(version=(13, 0), devices=(AMPERE, HOPPER, OLD), problem=None)
    monkeypatch.setattr(device, "driver", lambda: found)


@pytest.fixture
def no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    found = device.Driver(version=None, devices=(), problem="no CUDA driver (libcuda.so.1 cannot be loaded)")
    monkeypatch.setattr(device, "driver", lambda: found)


@pytest.mark.parametrize(
    ("target", "number", "chosen", "on"),
    [
        (None, None, "sm_80", 0),
        (None, 0, "sm_80", 0),
        (None, 1, "sm_90a", 1),
        ("sm_90a", None, "sm_90a", 1),
        ("sm_90a", 1, "sm_90a", 1),
        ("emulated", 1, "emulated", 0),
    ],
)
@pytest.mark.usefixtures("devices")
def test_a_device_that_fits(target: str | None, number: int | None, chosen: str, on: int):
    found = select(target, number)
    assert (found.target.name, found.runs_here, found.device) == (chosen, True, on)
    assert found.gpu == (None if chosen == "emulated" else (AMPERE, HOPPER)[on].name)


@pytest.mark.parametrize(("target", "number"), [("sm_90a", 0), ("sm_120", None)])
@pytest.mark.usefixtures("devices")
def test_a_device_that_does_not_fit(target: str, number: int | None):
    found = select(target, number)
    assert (found.target.name, found.runs_here, found.gpu) == (target, False, None)


@pytest.mark.usefixtures("devices")
def test_a_device_without_a_target_is_emulated():
    found = select(None, 2)
    assert found.target.is_emulated
    assert "V100 has compute capability 7.0" in found.notes[0]


@pytest.mark.parametrize("target", [None, "sm_90a"])
@pytest.mark.usefixtures("devices")
def test_a_number_that_no_device_has(target: str | None):
    with pytest.raises(DeviceError, match=r"--device: there is no device 7. Devices: 0 \(A100\), 1 \(H200\), 2 \(V100\)"):
        select(target, 7)


@pytest.mark.usefixtures("no_device")
def test_a_number_without_any_device():
    with pytest.raises(DeviceError, match="--device: there is no device 0. Found: no CUDA driver"):
        select(None, 0)
    assert select(None).target.is_emulated
