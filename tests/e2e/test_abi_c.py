"""The C interface from C and C++, plain and under sanitizers, on a library whose emulated image is a stand-in."""

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nautilus_cli.artifact.variant import Variant
from nautilus_cli.artifact.weights_file import WeightsPlace
from nautilus_cli.targets.registry import target
from nautilus_cli.toolchain import host_compiler
from nautilus_cli.toolchain.cache import Cache
from tests.support import fake_library, sanitized, tiny_library
from tests.unit.runtime.test_counts import variant as counting
from tests.unit.runtime.test_open_shapes import variant as open_to_sizes
from tests.unit.runtime.test_values import variant as sized_by_values

HERE = Path(__file__).parent


def run(program: Path, *arguments: str, **environment: str) -> str:
    done = sanitized.run([program, *arguments], environment or None)
    if sanitized.UNSUITED in done.stderr:
        pytest.skip("ThreadSanitizer does not run with this kernel's address space randomisation")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def example(tmp_path: Path, library: Path) -> Path:
    fake_library.compile_c(tmp_path / "example", "-std=c99", "-pedantic", HERE / "example.c", library)
    return tmp_path / "example"


def test_the_example_runs(tmp_path, library_path):
    program = example(tmp_path, library_path)
    assert run(program).splitlines() == ["target emulated, device fake 0", "sum[0] = 2", "picked[0] = 2"]


def test_the_example_says_that_there_is_no_driver(tmp_path, gpu_library_path):
    done = subprocess.run([example(tmp_path, gpu_library_path)], capture_output=True, text=True)
    assert done.returncode == 1
    assert "no CUDA driver was found (libcuda.so.1" in done.stderr
    assert "This library holds code for sm_90a. Install the NVIDIA driver, CUDA 12.3 or newer." in done.stderr


def test_the_library_needs_libc_only(library_path):
    needed = re.findall(r"NEEDED.*\[(.*)\]", subprocess.run(["readelf", "-d", library_path], capture_output=True, text=True).stdout)
    assert needed
    assert {name.split(".so")[0] for name in needed} <= {"libc", "libdl", "ld-linux-x86-64", "ld-linux-aarch64"}


FLAVOURS = {
    "c99": ("gcc", ("-std=c99", "-pedantic", "-D_POSIX_C_SOURCE=200809L"), ()),
    "c++17": ("g++", ("-x", "c++", "-std=c++17"), ()),
    "address and undefined": ("gcc", ("-std=gnu99",), ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")),
    "thread": ("gcc", ("-std=gnu99",), ("-fsanitize=thread",)),
}
"""Compiler, its flags for the program, and those for the program, the host code and the image."""


SANITIZED = {flavour: sanitizers for flavour, (_, _, sanitizers) in FLAVOURS.items() if sanitizers}


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_every_function(tmp_path, flavour):
    compiler, flags, sanitizers = FLAVOURS[flavour]
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    host = fake_library.host_library(tmp_path, flags=sanitizers)
    image = fake_library.fake_image(tmp_path, flags=sanitizers)
    library = fake_library.write(tmp_path / "libmodel.so", host, fake_library.variant(image))
    program = tmp_path / "use_abi"
    sources = ("-Wno-missing-field-initializers", HERE / "use_abi.c", "-x", "none", library, "-pthread")
    fake_library.compile_c(program, *flags, *sanitizers, *sources, compiler=(compiler,))
    repeats = "100" if sanitizers else "1000"
    assert run(program, repeats) == "0 failures\n"


def check_sanitized(folder: Path, flavour: str, name: str, variant_of: Callable[[bytes], Variant]) -> None:
    """Run the C program of a name, under a sanitizer, on the library that holds what an image becomes."""
    sanitizers = SANITIZED[flavour]
    host = fake_library.host_library(folder, flags=sanitizers)
    library = fake_library.write(folder / "libmodel.so", host, variant_of(fake_library.fake_image(folder, flags=sanitizers)))
    program = folder / name
    fake_library.compile_c(program, "-std=gnu99", *sanitizers, HERE / f"{name}.c", library, "-pthread", compiler=("gcc",))
    assert run(program) == "0 failures\n"


def limited(variant: Variant, word: int) -> Variant:
    """Return a variant of which a run fails that leaves more than two in a word of the workspace."""
    return replace(variant, plan=replace(variant.plan, limits=(("found.count", word, 2),)))


@pytest.mark.parametrize("flavour", SANITIZED)
def test_a_thread_that_asks_of_runs_of_another(tmp_path, flavour):
    check_sanitized(tmp_path, flavour, "watched", lambda image: limited(counting(image), 0))


@pytest.mark.parametrize("flavour", SANITIZED)
def test_a_thread_that_asks_while_another_gives_larger_shapes(tmp_path, flavour):
    check_sanitized(tmp_path, flavour, "use_grown", lambda image: limited(open_to_sizes(image), 256 // 8))


@pytest.mark.parametrize("flavour", SANITIZED)
def test_shapes_that_change_with_every_call(tmp_path, flavour):
    check_sanitized(tmp_path, flavour, "use_shapes", open_to_sizes)


def compiled_pair(folder: Path, libraries: tuple[Path, Path], sanitizers: tuple[str, ...] = ()) -> tuple[Path, list[str]]:
    """Return a program that uses two libraries, and its arguments."""
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    program = folder / "two_libraries"
    sources = (HERE / "two_libraries.cpp", "-ldl", "-pthread")
    fake_library.compile_c(program, "-std=c++17", "-pedantic", *sanitizers, *sources, compiler=("g++",))
    return program, [str(libraries[0]), "0", str(libraries[1]), "100"]


def moved_weights(variant: Variant) -> Variant:
    """Return a variant whose weights are greater by 100."""
    zeros, weights = variant.plan.weights
    moved = replace(weights, array=weights.array + np.float32(100))
    return replace(variant, plan=replace(variant.plan, weights=(zeros, moved)))


@pytest.mark.parametrize("flavour", SANITIZED)
def test_two_libraries_in_one_process(tmp_path, flavour):
    sanitizers = SANITIZED[flavour]
    host = fake_library.host_library(tmp_path, flags=sanitizers)
    variant = fake_library.variant(fake_library.fake_image(tmp_path, flags=sanitizers))
    first = fake_library.write(tmp_path / "libfirst.so", host, variant)
    second = fake_library.write(tmp_path / "libsecond.so", host, moved_weights(variant), weights=WeightsPlace.EXTERNAL)
    program, arguments = compiled_pair(tmp_path, (first, second), sanitizers)
    assert run(program, *arguments, "50") == ""


def test_two_emulated_libraries_in_one_process(tmp_path):
    """The real emulator, which has threads of its own, twice."""
    store = Cache.default()
    variant = tiny_library.variant(target("emulated"), store)
    host = host_compiler.shared_library(store)
    first = fake_library.write(tmp_path / "libfirst.so", host, variant)
    second = fake_library.write(tmp_path / "libsecond.so", host, moved_weights(variant))
    program, arguments = compiled_pair(tmp_path, (first, second))
    assert run(program, *arguments, "300") == ""


@pytest.mark.parametrize("flavour", [name for name in FLAVOURS if name != "thread"])
def test_values_that_decide_sizes(tmp_path, flavour):
    compiler, flags, sanitizers = FLAVOURS[flavour]
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    host = fake_library.host_library(tmp_path, flags=sanitizers)
    image = fake_library.fake_image(tmp_path, flags=sanitizers)
    library = fake_library.write(tmp_path / "libmodel.so", host, sized_by_values(image))
    program = tmp_path / "use_values"
    fake_library.compile_c(program, *flags, *sanitizers, HERE / "use_values.c", "-x", "none", library, compiler=(compiler,))
    run(program)
