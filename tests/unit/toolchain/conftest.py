"""A cache of its own for each test, and a small tree of templates instead of the project's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from nautilus_cli import resources
from nautilus_cli.toolchain import host_compiler
from nautilus_cli.toolchain.cache import Cache


@dataclass(frozen=True)
class Kernel:
    """A hand-written kernel."""

    symbol: str
    text: str


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A templates folder with a host source, an emulator runtime and one kernel header."""
    root = tmp_path / "templates"
    for folder in ("host", "emulator", "include/nautilus/kernels"):
        (root / folder).mkdir(parents=True)
    exported = '__attribute__((visibility("default")))'
    (root / "host" / "answer.h").write_text("int nautilus_hidden(void);\n")
    (root / "host" / "hidden.c").write_text('#include "answer.h"\nint nautilus_hidden(void) { return 41; }\n')
    (root / "host" / "answer.c").write_text(
        f'#include "answer.h"\n{exported} int nautilus_answer(void) {{ return nautilus_hidden() + 1; }}\n'
        f"{exported} const char *nautilus_file(void) {{ return __FILE__; }}\n"
    )
    (root / "emulator" / "runtime.cpp").write_text('#include "runtime.h"\nint nautilus_scale() { return 10; }\n')
    (root / "emulator" / "runtime.h").write_text("int nautilus_scale();\n")
    (root / "include" / "nautilus" / "kernels" / "twice.cuh").write_text(
        "#pragma once\n"
        "#ifdef NAUTILUS_EMULATED\n"
        "#define __global__\n"
        f'#define NAUTILUS_EXPORT(name) extern "C" {exported} int name##_call(int x) {{ int y = x; name(&y); return y; }}\n'
        "int nautilus_scale();\n"
        "#else\n"
        "#define NAUTILUS_EXPORT(name)\n"
        "#endif\n"
        "namespace nautilus { template <int kFactor> inline void times(int* x) { *x *= kFactor; } }\n"
    )
    monkeypatch.setattr(resources, "templates", lambda: root)
    return root


def kernel(symbol: str, factor: int) -> Kernel:
    """A kernel that multiplies one integer."""
    text = (
        "#include <nautilus/kernels/twice.cuh>\n"
        f'extern "C" __global__ void {symbol}(int* x) {{ nautilus::times<{factor}>(x); }}\n'
        f"NAUTILUS_EXPORT({symbol})\n"
    )
    return Kernel(symbol, text)


@pytest.fixture
def no_compilers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without compilers, and without the ziglang package."""
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(host_compiler, "find_spec", lambda name: None)
