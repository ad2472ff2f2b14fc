"""What happens with a GPU, over a stand-in for libcuda.so.1 that keeps device memory on the host.

A process finds its libcuda.so.1 once, so each case is a process of its own.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import fake_library

LOAD = "import sys, nautilus_cli; print(nautilus_cli.load(sys.argv[1], place=sys.argv[2]).info.target)"


@pytest.fixture
def fake_cuda(tmp_path: Path):
    def build(*flags: str) -> dict[str, str]:
        folder = tmp_path / "driver"
        folder.mkdir()
        source = Path(fake_library.__file__).with_name("fake_image.c")
        fake_library.shared(folder / "libcuda.so.1", source, flags=("-std=gnu99", "-DFAKE_GPU", "-Wl,-soname,libcuda.so.1", *flags))
        return {**os.environ, "LD_LIBRARY_PATH": str(folder)}

    return build


def load(path: Path, environment: dict[str, str], place: str = "automatic") -> str:
    done = subprocess.run([sys.executable, "-c", LOAD, path, place], env=environment, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def test_device_runs(fake_cuda):
    cases = Path(__file__).with_name("fake_gpu_cases.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cases]
    done = subprocess.run(command, env=fake_cuda(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout and "skipped" not in done.stdout


@pytest.mark.parametrize(
    ("capability", "targets", "chosen"),
    [
        (90, ["sm_90a", "sm_80"], "sm_90a"),
        (
            90,
            ["sm_80", "emulated"],
            "capability 9.0. This library holds code for sm_80, emulated (which runs with --emulated). Compile it with --target for 9.0",
        ),
        (86, ["sm_80", "sm_86", "sm_89"], "sm_86"),
        (87, ["sm_80", "sm_86", "sm_89"], "sm_86"),
        (80, ["sm_86", "sm_80"], "sm_80"),
        (80, ["sm_86"], "compute capability 8.0"),
        (103, ["sm_100a"], "device 0, fake 0, has compute capability 10.3"),  # an `a` target fits its own capability only
        (121, ["sm_120"], "sm_120"),
        (89, ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120", "emulated"], "sm_89"),
        (100, ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120", "emulated"], "sm_100a"),
        (100, ["emulated"], "emulated"),
    ],
)
def test_target_choice(tmp_path, host, image, fake_cuda, capability, targets, chosen):
    from nautilus_cli.targets import registry

    variants = [fake_library.variant(image, registry.target(name)) for name in targets]
    path = fake_library.write(tmp_path / "libfat.so", host, *variants)
    assert chosen in load(path, fake_cuda(f"-DFAKE_CAPABILITY={capability}"))


@pytest.mark.parametrize(("place", "chosen"), [("automatic", "sm_90a"), ("gpu", "sm_90a"), ("emulated", "emulated")])
def test_the_emulator_runs_only_when_asked(tmp_path, host, image, fake_cuda, place, chosen):
    path = fake_library.write(tmp_path / "libfat.so", host, fake_library.variant(image), fake_library.gpu_variant())
    assert load(path, fake_cuda(), place) == chosen


def test_the_emulator_does_not_stand_in_for_a_missing_gpu(tmp_path, host, image, fake_cuda):
    path = fake_library.write(tmp_path / "libfat.so", host, fake_library.variant(image), fake_library.gpu_variant())
    assert "found no GPU" in load(path, fake_cuda("-DFAKE_DEVICES=0"))


def test_an_old_driver_is_named(gpu_library_path, fake_cuda, tmp_path):
    script = tmp_path / "script"
    script.write_text("{ local: cuGraphAddKernelNode_v2; };")
    assert "the CUDA driver, version 13.0, is too old: it has no cuGraphAddKernelNode_v2. CUDA 12.3" in load(
        gpu_library_path, fake_cuda(f"-Wl,--version-script={script}")
    )


def test_no_device(gpu_library_path, fake_cuda):
    assert "DeviceError" in (text := load(gpu_library_path, fake_cuda("-DFAKE_DEVICES=0"))) and "found no GPU" in text


def test_an_emulated_library_needs_no_driver(library_path, fake_cuda):
    assert load(library_path, fake_cuda("-DFAKE_DEVICES=0")) == "emulated"
