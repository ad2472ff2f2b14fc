"""Which device decides the target, and runs it."""

from __future__ import annotations

import pytest

from nautilus_cli.driver.each_target import that_run
from nautilus_cli.driver.selection import select, select_each, that_runs
from nautilus_cli.errors import DeviceError, UsageError
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


@pytest.mark.usefixtures("no_device")
def test_several_targets_stand_in_one_order():
    for names in ("emulated,sm_90a,sm_80", "sm_80,emulated,sm_90a"):
        assert [s.target.name for s in select_each(names)] == ["sm_80", "sm_90a", "emulated"]
    assert [s.target.name for s in select_each("sm_80")] == ["sm_80"]
    assert [s.target.name for s in select_each(None)] == ["emulated"]
    with pytest.raises(UsageError, match="--target: 'sm_80' is named twice"):
        select_each("sm_80,emulated,sm_80")
    with pytest.raises(UsageError, match="--target: 'sm_99' is not a target"):
        select_each("sm_80,sm_99")


@pytest.mark.parametrize(
    ("names", "number", "runs"),
    [
        ("sm_80,sm_90a,emulated", None, "sm_80"),
        ("sm_80,sm_90a,emulated", 1, "sm_90a"),
        ("sm_86,sm_90a,emulated", None, "sm_90a"),
        ("sm_86,sm_120,emulated", None, "emulated"),
        ("sm_86,sm_120", None, None),
    ],
)
@pytest.mark.usefixtures("devices")
def test_which_of_several_runs_here(names: str, number: int | None, runs: str | None):
    found = that_runs(select_each(names, number))
    assert (found.target.name if found else None) == runs


def test_of_two_that_run_the_one_that_loading_picks(monkeypatch: pytest.MonkeyPatch):
    ada = device.Device(index=0, name="L40", capability=(8, 9), multiprocessors=142)
    monkeypatch.setattr(device, "driver", lambda: device.Driver(version=(13, 0), devices=(ada,), problem=None))
    found = that_runs(select_each("sm_80,sm_89,sm_86"))
    assert found is not None and found.target.name == "sm_89"


@pytest.mark.usefixtures("no_device")
def test_without_a_device_the_emulator_runs_if_it_is_there():
    found = that_runs(select_each("sm_80,emulated"))
    assert found is not None and found.target.is_emulated
    assert that_runs(select_each("sm_80,sm_90a")) is None


@pytest.mark.parametrize(
    ("names", "number", "ways"),
    [
        ("sm_80,sm_90a,emulated", None, (("gpu", 0), ("emulated", 0))),
        ("sm_80,sm_90a,emulated", 1, (("gpu", 1), ("emulated", 0))),
        ("sm_86,sm_120,emulated", None, (("emulated", 0),)),
        ("sm_86,sm_120", None, ()),
    ],
)
@pytest.mark.usefixtures("devices")
def test_every_way_to_run_several(names: str, number: int | None, ways: tuple[tuple[str, int], ...]):
    assert that_run(select_each(names, number)) == ways
