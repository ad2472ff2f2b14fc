"""nautilus doctor: text or data, and a failing code only where nothing can be compiled."""

from __future__ import annotations

import json

import pytest

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
