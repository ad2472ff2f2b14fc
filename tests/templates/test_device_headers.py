"""The device headers compile for every GPU target through NVRTC and for the emulator; each of them by itself too."""

from __future__ import annotations

from pathlib import Path

import pytest

from nautilus_cli import resources
from nautilus_cli.targets.registry import target, targets
from nautilus_cli.toolchain import host_compiler, nvrtc
from nautilus_cli.toolchain.cache import Cache
from tests.emulated.executor import FIXTURES

HEADERS = sorted(path.name for path in (resources.include() / "nautilus" / "device").glob("*.cuh"))
FIXTURE = (Path(__file__).parent / "fixtures" / "every_device_function.cu").read_text()
GPU_TARGETS = [known.name for known in targets().values() if not known.is_emulated]
TWINS = [
    # fixtures of the emulator's tests that run on a device too, and on which
    *(("matrices", name) for name in GPU_TARGETS),
    *(("copies", name) for name in GPU_TARGETS if target(name).capability >= (9, 0)),
    ("warpgroups", "sm_90a"),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.mark.parametrize("name", GPU_TARGETS)
def test_every_function_compiles_for_a_gpu(name: str, store: Cache) -> None:
    cubin = nvrtc.compile_kernel(FIXTURE, "every_device_function", target(name), store)
    assert cubin.image[:4] == b"\x7fELF" and "every_device_function" in cubin.resources
    assert "warning" not in cubin.log


@pytest.mark.parametrize(("fixture", "name"), TWINS)
def test_twins_compile_for_a_gpu(fixture: str, name: str, store: Cache) -> None:
    cubin = nvrtc.compile_kernel((FIXTURES / f"{fixture}.cu").read_text(), fixture, target(name), store)
    assert "warning" not in cubin.log
    assert all(used.spill_store_bytes == 0 for used in cubin.resources.values())


def test_every_function_compiles_for_the_emulator(store: Cache) -> None:
    assert host_compiler.compile_object(FIXTURE, store)[:4] == b"\x7fELF"


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_needs_no_other_before_it(header: str, store: Cache) -> None:
    text = f'#include <nautilus/device/{header}>\nextern "C" __global__ void alone() {{}}\n'
    nvrtc.compile_kernel(text, "alone", target("sm_80"), store)
    host_compiler.compile_object(text, store)


def test_device_code_is_the_only_place_with_ptx() -> None:
    assert HEADERS
    for path in sorted(resources.templates().rglob("*")):
        if path.suffix in {".cuh", ".h", ".jinja", ".cu"} and "device" not in path.relative_to(resources.templates()).parts:
            assert "asm(" not in path.read_text() and "asm volatile" not in path.read_text(), path


def test_kernel_text_sees_no_header_of_the_system() -> None:
    """What a kernel includes decides how long g++ takes: <vector> alone costs more than all of ours."""
    for path in sorted((resources.include() / "nautilus" / "device").rglob("*")):
        if path.is_file():
            includes = [line for line in path.read_text().splitlines() if line.startswith("#include")]
            assert all(line.startswith("#include <nautilus/") for line in includes), path
