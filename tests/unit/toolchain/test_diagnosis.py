"""The diagnosis: what is there, what is missing, and how to get it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nautilus_cli.errors import ToolchainError
from nautilus_cli.toolchain import device, nvrtc
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.diagnosis import Diagnosis, Finding, diagnose


def finding(diagnosis: Diagnosis, name: str) -> Finding:
    (found,) = (found for found in diagnosis.findings if found.name == name)
    return found


def with_driver(monkeypatch: pytest.MonkeyPatch, found: device.Driver) -> None:
    monkeypatch.setattr(device, "driver", lambda: found)


H200 = device.Device(index=0, name="NVIDIA H200", capability=(9, 0), multiprocessors=132)
OLD = device.Device(index=0, name="Tesla V100", capability=(7, 0), multiprocessors=80)


def test_a_machine_with_a_gpu(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    with_driver(monkeypatch, device.Driver(version=(13, 0), devices=(H200,), problem=None))
    found = diagnose(store)
    assert (found.gpu_target, found.can_compile_gpu, found.can_compile_emulated) == ("sm_90a", True, True)
    assert finding(found, "driver") == Finding(name="driver", found="CUDA 13.0")
    assert finding(found, "GPU 0").found == "NVIDIA H200, compute capability 9.0, 132 multiprocessors, target sm_90a"
    assert finding(found, "NVRTC").found == nvrtc.version()


def test_a_machine_without(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    with_driver(monkeypatch, device.Driver(version=None, devices=(), problem="no CUDA driver"))
    found = diagnose(store)
    assert found.gpu_target is None
    assert found.can_compile_gpu
    assert finding(found, "driver").found is None
    assert "no CUDA driver" in (finding(found, "driver").advice or "")


def test_a_gpu_that_is_too_old(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    with_driver(monkeypatch, device.Driver(version=(12, 8), devices=(OLD,), problem=None))
    found = diagnose(store)
    assert found.gpu_target is None
    assert finding(found, "GPU 0").advice == "No target fits it: compute capability 8.0 or later is needed."


@pytest.mark.usefixtures("no_compilers")
def test_without_a_host_compiler_nothing_can_be_compiled(store: Cache) -> None:
    found = diagnose(store)
    assert (found.can_compile_gpu, found.can_compile_emulated) == (False, False)
    assert "pip install ziglang" in (finding(found, "C compiler").advice or "")


def test_without_nvrtc_the_emulator_is_left(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise ToolchainError("NVRTC cannot be loaded.", hint="Install it.")

    monkeypatch.setattr(nvrtc, "version", missing)
    found = diagnose(store)
    assert (found.can_compile_gpu, found.can_compile_emulated) == (False, True)
    assert finding(found, "NVRTC") == Finding(name="NVRTC", found=None, advice="NVRTC cannot be loaded. Install it.")


def test_the_cache_and_the_header_are_shown(store: Cache) -> None:
    store.store("cubin", "ab" * 32, b"x" * 2**20)
    found = diagnose(store)
    assert finding(found, "cache").found == f"{store.folder}, 1.0 MiB"
    assert Path(finding(found, "C header").found or "").is_file()
