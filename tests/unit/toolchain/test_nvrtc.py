"""NVRTC: cubins without a GPU, their numbers, and errors that name the place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nautilus_cli.errors import ToolchainError
from nautilus_cli.targets.registry import target, targets
from nautilus_cli.toolchain import nvrtc
from nautilus_cli.toolchain.cache import Cache

from .conftest import kernel

GPU_TARGETS = [name for name, found in targets().items() if not found.is_emulated]

SM_80_LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_80'
ptxas info    : Function properties for first
ptxas         .     2016 bytes stack frame, 2844 bytes spill stores, 2344 bytes spill loads
ptxas info    : Used 64 registers, used 0 barriers, 2016 bytes cumulative stack size, 364 bytes cmem[0]
ptxas info    : Compiling entry function 'second' for 'sm_80'
ptxas info    : Function properties for second
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 1 barriers, 1024 bytes smem, 364 bytes cmem[0]
"""


@pytest.mark.parametrize("name", GPU_TARGETS)
def test_every_target_compiles(name: str, store: Cache, templates: Path) -> None:
    cubin = nvrtc.compile_kernel(kernel("k", 2).text, "k", target(name), store)
    assert cubin.image[:4] == b"\x7fELF"
    assert cubin.resources["k"].registers > 0
    assert "Compile time" not in cubin.log


def test_numbers_are_read_from_the_log() -> None:
    found = nvrtc.parse_resources(SM_80_LOG)
    assert found == {
        "first": nvrtc.Resources(registers=64, stack_bytes=2016, spill_store_bytes=2844, spill_load_bytes=2344),
        "second": nvrtc.Resources(registers=8, barriers=1, smem_bytes=1024),
    }


def test_the_second_time_comes_from_the_cache(store: Cache, templates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = nvrtc.compile_kernel(kernel("k", 2).text, "k", target("sm_80"), store)

    def compiles(*arguments: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(nvrtc, "_compile", compiles)
    assert nvrtc.compile_kernel(kernel("k", 2).text, "k", target("sm_80"), store) == first
    with pytest.raises(AssertionError):
        nvrtc.compile_kernel(kernel("k", 3).text, "k", target("sm_80"), store)
    with pytest.raises(AssertionError):
        nvrtc.compile_kernel(kernel("k", 2).text, "k", target("sm_89"), store)
    with pytest.raises(AssertionError):
        nvrtc.compile_kernel(kernel("k", 2).text, "k", target("sm_80"), store, extra=("-lineinfo",))
    header = templates / "include" / "nautilus" / "kernels" / "twice.cuh"
    header.write_text(header.read_text() + "// changed\n")
    with pytest.raises(AssertionError):
        nvrtc.compile_kernel(kernel("k", 2).text, "k", target("sm_80"), store)


def test_the_same_text_gives_the_same_bytes(tmp_path: Path, templates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = nvrtc.compile_kernel(kernel("k", 2).text, "k", target("sm_90a"), Cache(tmp_path / "one"))
    moved = templates.rename(tmp_path / "moved-templates")
    monkeypatch.setattr("nautilus_cli.resources.templates", lambda: moved)
    assert nvrtc.compile_kernel(kernel("k", 2).text, "k", target("sm_90a"), Cache(tmp_path / "two")) == first


def test_an_error_in_the_text_names_its_line(store: Cache, templates: Path) -> None:
    text = 'int fine;\nextern "C" __global__ void k(int* x) { *x = missing; }\n'
    with pytest.raises(ToolchainError) as caught:
        nvrtc.compile_kernel(text, "k", target("sm_80"), store)
    assert str(caught.value) == 'k.cu, line 2: NVRTC refused: identifier "missing" is undefined.'
    assert "1 error detected" in caught.value.__notes__[0]  # the whole log, for --debug


def test_an_error_in_a_header_names_it_without_the_path_to_it(store: Cache, templates: Path) -> None:
    (templates / "include" / "nautilus" / "bad.cuh").write_text('\nstatic_assert(sizeof(int) == 8, "tile too wide");\n')
    with pytest.raises(ToolchainError, match=r"^nautilus/bad\.cuh, line 2: NVRTC refused: .*tile too wide.* While compiling k\."):
        nvrtc.compile_kernel("#include <nautilus/bad.cuh>\n", "k", target("sm_80"), store)


def test_a_missing_header_is_named(store: Cache, templates: Path) -> None:
    with pytest.raises(ToolchainError, match=r'^k\.cu, line 1: NVRTC refused: cannot open source file "nautilus/none\.cuh"'):
        nvrtc.compile_kernel("#include <nautilus/none.cuh>\n", "k", target("sm_80"), store)


@pytest.mark.parametrize("code", ["C7504", "C7508", "C7510", "C7519"])
def test_a_promise_that_ptxas_does_not_keep_is_an_error(code: str) -> None:
    assert nvrtc._BROKEN_PROMISES.search(f"ptxas info    : (x) (y)\nptxas info    : ({code}) Potential Performance Loss: wgmma.mma_async\n")
    assert not nvrtc._BROKEN_PROMISES.search("ptxas info    : (C7599) something else\n")


def test_serialised_products_are_an_error_for_whatever_reason() -> None:
    reason = "wgmma.mma_async instructions are serialized due to insufficient register resources for the wgmma pipeline"  # of 13.0
    assert nvrtc._BROKEN_PROMISES.search(f"ptxas info    : (C7511) Potential Performance Loss: {reason} in the function 'k'\n")


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(ToolchainError, match=r"cuda-bindings is missing.*pip install cuda-bindings nvidia-cuda-nvrtc"):
        nvrtc._load.__wrapped__()
