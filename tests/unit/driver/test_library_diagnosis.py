"""diagnose_library(): what it needs, what it holds, whether it runs here and if not why."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from nautilus_cli.artifact.elf import Need
from nautilus_cli.driver import library_diagnosis
from nautilus_cli.driver.library_diagnosis import LibraryDiagnosis, LibraryDiagnosisOptions, diagnose_library
from nautilus_cli.errors import DeviceError, FileError
from nautilus_cli.toolchain import device
from nautilus_cli.toolchain.diagnosis import Finding

HOPPER = device.Device(index=1, name="H200", capability=(9, 0), multiprocessors=132)
AMPERE = device.Device(index=0, name="A100", capability=(8, 0), multiprocessors=108)


def diagnose(path: Path, **changes: int) -> LibraryDiagnosis:
    return diagnose_library(LibraryDiagnosisOptions(library=path, **changes))


def named(found: LibraryDiagnosis, name: str) -> list[Finding]:
    return [finding for finding in found.findings if finding.name == name]


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = device.Driver(version=(13, 0), devices=(AMPERE, HOPPER), problem=None)
    monkeypatch.setattr(device, "driver", lambda: driver)


def test_an_emulated_library_runs_anywhere(library_path: Path):
    found = diagnose(library_path)
    assert found.targets == ("emulated",)
    assert found.problem is None
    assert found.runs_on is not None and found.runs_on.startswith("emulated on ")
    assert {need.library.partition(".")[0] for need in found.needs} <= {"libc", "ld-linux-x86-64", "libpthread", "libdl"}
    assert all(finding.found and not finding.advice for finding in found.findings)
    (manifest,) = named(found, "manifest")
    assert manifest.found == str(library_path.with_suffix(".json"))


def test_a_library_for_a_gpu_says_what_is_missing(gpu_library_path: Path):
    found = diagnose(gpu_library_path)
    assert found.targets == ("sm_90a",)
    assert found.runs_on is None
    assert isinstance(found.problem, DeviceError)
    (runs,) = named(found, "runs here")
    assert (runs.found, runs.advice) == ("no", str(found.problem))
    assert any(finding.advice and "CUDA driver" in finding.advice for finding in named(found, "needs"))


@pytest.mark.usefixtures("devices")
def test_a_target_names_the_gpus_that_it_fits(gpu_library_path: Path):
    found = diagnose(gpu_library_path)
    (held,) = named(found, "holds")
    assert held == Finding(name="holds", found="sm_90a: fits GPU 1, H200")
    assert "libcuda.so.1, CUDA 13.0" in [finding.found for finding in named(found, "needs")]


def test_a_target_that_fits_no_gpu(gpu_library_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(device, "driver", lambda: device.Driver(version=(13, 0), devices=(AMPERE,), problem=None))
    (held,) = named(diagnose(gpu_library_path), "holds")
    assert held == Finding(name="holds", found="sm_90a", advice="No GPU here has compute capability 9.0.")


def test_a_device_that_is_not_there(library_path: Path):
    problem = diagnose(library_path, device=5).problem
    assert isinstance(problem, DeviceError)
    assert "no device 5" in str(problem)


def test_a_manifest_that_is_missing_keeps_nothing_from_running(library_path: Path):
    library_path.with_suffix(".json").unlink()
    found = diagnose(library_path)
    assert found.problem is None
    (manifest,) = named(found, "manifest")
    assert manifest.found is None
    assert manifest.advice is not None and "The library runs without it" in manifest.advice


def test_an_old_c_library(library_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(library_diagnosis, "_glibc_here", lambda: (2, 1))
    advice = [finding.advice or "" for finding in named(diagnose(library_path), "needs")]
    assert any("glibc 2." in text and "here is 2.1" in text for text in advice)


def test_a_library_that_the_system_lacks(library_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(library_diagnosis.elf, "needs", lambda image: (Need(library="libnowhere.so.9"),))
    (needed,) = named(diagnose(library_path), "needs")
    assert needed.found is None
    assert needed.advice is not None and needed.advice.startswith("libnowhere.so.9: the system's loader does not find it")


def test_another_processor(library_path: Path):
    content = bytearray(library_path.read_bytes())
    struct.pack_into("<H", content, 18, 183)
    library_path.write_bytes(content)
    found = diagnose(library_path)
    (processor,) = named(found, "processor")
    assert processor.found == "aarch64"
    assert processor.advice is not None
    assert isinstance(found.problem, FileError)


def test_a_truncated_library(library_path: Path):
    content = library_path.read_bytes()
    library_path.write_bytes(content[:-100])
    found = diagnose(library_path)
    assert "truncated" in str(found.problem)
    assert found.targets == ()


@pytest.mark.parametrize("content", [b"", b"hello", b"\x7fELF"])
def test_what_is_no_library(content: bytes, tmp_path: Path):
    path = tmp_path / "lib.so"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"lib\.so: this is not a shared library. Pass what"):
        diagnose(path)
    with pytest.raises(FileError, match=r"none\.so: the library cannot be read"):
        diagnose(tmp_path / "none.so")
