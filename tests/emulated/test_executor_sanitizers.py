"""Kernels under sanitizers: no report on correct ones, and bugs that neither numbers nor the executor show."""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nautilus_cli import resources
from nautilus_cli.toolchain import host_compiler
from tests.emulated.executor import FIXTURES
from tests.support import sanitized

FLAGS = ("-std=c++17", "-O1", "-march=x86-64-v3", "-ffp-contract=off", "-fno-strict-aliasing", "-Wno-tsan")
INCLUDES = tuple(f"-I{folder}" for folder in (resources.include(), resources.host()))

SOUND = [
    # kernel, blocks, block x, block y, shared bytes, two scalars
    "twice 4 256 1 0 1000 0",
    "row_sum 4 256 1 32 700 0",
    "transpose 1 32 8 4224 32 32",
    "pipeline 1 64 1 3072 7 0",
    "lanes 1 32 1 0 0 0",
    "producer 1 128 1 128 5 0",
    "atomics 4 128 1 0 0 0",
    "turnstile 8 64 1 4 0 0",
    "gemm 1 256 1 16640 128 64",
    "load_tiles_4 1 32 1 2112 528 32",
    "through_shared_f16_mk 1 32 1 5120 0 0",
    "phases 1 96 1 16 50 0",
    "ring 1 160 1 5168 11 0",
    "ring_of_small_copies 1 64 1 5168 11 0",
    "product_without_a_bug 1 128 1 24592 0 0",
]
FIFO_EAGER, RANDOM_LAZY = "0 0", "2 1"


def build(sanitizer: str, folder: Path) -> Path:
    """Return a program that runs fixtures under a sanitizer: kernels are instrumented, the runtime only tells of its fibers."""
    compiler = host_compiler.find("C++")
    if not compiler.is_gcc:
        pytest.skip("needs GCC, whose sanitizers this is written for")
    told = (*FLAGS, *INCLUDES, "-pthread", "-DNAUTILUS_EMULATED=1", "-c")
    runtime = (f"-DNAUTILUS_SANITIZE_{sanitizer.upper()}",)
    sources = [(path, runtime) for path in sorted(resources.emulator().glob("*.cpp"))]
    kernels = [
        path for path in sorted(FIXTURES.glob("*.cu")) if path.stem != "warpgroups"
    ]  # which is large, and touches little memory itself
    sources += [(path, ("-g", f"-fsanitize={sanitizer}", "-x", "c++")) for path in kernels]
    sources += [(FIXTURES / "sanitized.cpp", ())]

    def compile_one(source: tuple[Path, tuple[str, ...]]) -> Path:
        path, flags = source
        out = folder / f"{path.name}.o"
        subprocess.run([*compiler.command, *told, *flags, str(path), "-o", str(out)], check=True)
        return out

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compile_one, sources))
    program = folder / "sanitized"
    link = [*compiler.command, f"-fsanitize={sanitizer}", "-pthread", *map(str, objects), "-ldl", "-o", str(program)]
    if subprocess.run(link, capture_output=True, check=False).returncode:
        pytest.skip(f"the runtime library of -fsanitize={sanitizer} is not installed")
    return program


def run(program: Path, kernel: str, mode: str = FIFO_EAGER) -> str:
    """Return what the program and its sanitizer say."""
    done = sanitized.run([program, *kernel.split(), *mode.split()])
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def thread_sanitizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = build("thread", tmp_path_factory.mktemp("thread"))
    if sanitized.UNSUITED in run(program, SOUND[0]):
        pytest.skip("ThreadSanitizer does not run with this kernel's address space randomisation")
    return program


@pytest.fixture(scope="module")
def address_sanitizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("address", tmp_path_factory.mktemp("address"))


@pytest.mark.parametrize("mode", [FIFO_EAGER, RANDOM_LAZY])
@pytest.mark.parametrize("kernel", SOUND)
def test_no_report_on_a_correct_kernel(thread_sanitizer: Path, address_sanitizer: Path, kernel: str, mode: str) -> None:
    for program in (thread_sanitizer, address_sanitizer):
        assert run(program, kernel, mode) == "status 0 \n"


@pytest.mark.parametrize(
    "kernel",
    [
        "missing_barrier 1 64 1 256 0 0",
        "race_won_by_luck 1 64 1 256 0 0",
        "stage_reused_early 1 64 1 256 0 0",
        "missing_warp_barrier 1 32 1 24592 0 0",
        "released_too_early 1 64 1 2080 0 0",
    ],
)
def test_races_are_found_with_their_place(thread_sanitizer: Path, kernel: str) -> None:
    said = run(thread_sanitizer, kernel)
    assert "WARNING: ThreadSanitizer: data race" in said and re.search(r"faulty\w*\.cu:", said)


def test_a_failed_launch_is_no_race(thread_sanitizer: Path) -> None:
    said = run(thread_sanitizer, "deadlock 1 64 1 0 0 0")
    assert said.startswith("status 702 block (0, 0, 0): deadlock") and "WARNING" not in said


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("out_of_bounds 1 32 1 128 0 0", "use-after-poison"),
        ("local_out_of_bounds 1 1 1 0 0 0", "stack-buffer-overflow"),
        ("global_out_of_bounds 1 1 1 0 0 0", "heap-buffer-overflow"),
    ],
)
def test_accesses_out_of_bounds_are_found(address_sanitizer: Path, kernel: str, kind: str) -> None:
    said = run(address_sanitizer, kernel)
    assert f"ERROR: AddressSanitizer: {kind}" in said and kernel.split()[0] in said
