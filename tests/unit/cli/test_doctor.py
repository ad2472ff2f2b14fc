"""nautilus doctor: text or data, and a failing code only where nothing can be compiled."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nautilus_cli import driver
from nautilus_cli.errors import DeviceError
from nautilus_cli.toolchain import diagnosis
from nautilus_cli.toolchain.diagnosis import Diagnosis, Finding

from .conftest import Run

FINDINGS = (
    Finding(name="driver", found=None, advice="Without a GPU."),
    Finding(name="C compiler", found="cc 12"),
)


def with_diagnosis(monkeypatch: pytest.MonkeyPatch, *, gpu: bool, emulated: bool, target: str | None = None) -> None:
    found = Diagnosis(findings=FINDINGS, gpu_target=target, can_compile_gpu=gpu, can_compile_emulated=emulated)
    monkeypatch.setattr(diagnosis, "diagnose", lambda store: found)


def test_text(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with_diagnosis(monkeypatch, gpu=True, emulated=True)
    done = run("doctor")
    assert done.code == 0
    assert done.out.splitlines() == [
        "driver      missing",
        "            Without a GPU.",
        "C compiler  cc 12",
        "",
        "Compiles for: GPU targets, the emulator.",
        "Default target: emulated: kernels run on the CPU, right but slow.",
    ]


def test_the_default_target_is_the_gpus(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with_diagnosis(monkeypatch, gpu=True, emulated=False, target="sm_90a")
    assert run("doctor").out.splitlines()[-2:] == ["Compiles for: GPU targets.", "Default target: sm_90a."]


def test_json(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with_diagnosis(monkeypatch, gpu=True, emulated=True)
    data = json.loads(run("doctor", "--json").out)
    assert data["findings"][0] == {"name": "driver", "found": None, "advice": "Without a GPU."}
    assert (data["can_compile_gpu"], data["can_compile_emulated"], data["gpu_target"]) == (True, True, None)


@pytest.mark.parametrize(("gpu", "emulated", "code"), [(False, False, 4), (True, False, 0), (False, True, 0)])
def test_the_code_is_0_unless_nothing_can_be_compiled(
    gpu: bool, emulated: bool, code: int, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_diagnosis(monkeypatch, gpu=gpu, emulated=emulated)
    assert run("doctor").code == code


def test_on_this_machine(run: Run) -> None:
    done = run("doctor")
    assert done.code == 0
    assert "NVRTC" in done.out


def examined(**changes: Any) -> SimpleNamespace:
    findings = (Finding(name="processor", found="x86_64"), Finding(name="runs here", found="no", advice="There is no driver."))
    need = SimpleNamespace(library="libc.so.6", versions=("GLIBC_2.34",))
    made = {"library": Path("libm.so"), "findings": findings, "targets": ("sm_90a",), "needs": (need,), "runs_on": None}
    return SimpleNamespace(**{**made, "problem": DeviceError("there is no driver.", where="libm.so"), **changes})


def test_a_library_that_does_not_run_here(run: Run, answer) -> None:
    calls = answer("diagnose_library", examined())
    done = run("doctor", "libm.so", "--device", "1", "--emulated")
    assert calls == [driver.LibraryDiagnosisOptions(library=Path("libm.so"), device=1, place="emulated")]
    assert done.code == 5
    assert done.out.splitlines() == ["libm.so", "", "processor  x86_64", "runs here  no", "           There is no driver."]
    assert done.err == "error: libm.so: there is no driver.\n"


def test_a_library_as_data(run: Run, answer) -> None:
    answer("diagnose_library", examined(problem=None, runs_on="sm_90a on H200"))
    done = run("doctor", "libm.so", "--json")
    assert done.code == 0
    data = json.loads(done.out)
    assert (data["runs_here"], data["runs_on"], data["problem"], data["targets"]) == (True, "sm_90a on H200", None, ["sm_90a"])
    assert data["needs"] == [{"library": "libc.so.6", "versions": ["GLIBC_2.34"]}]
    assert data["findings"][0] == {"name": "processor", "found": "x86_64", "advice": None}
