"""The host compiler: found or named, the same bytes each time, and images that run."""

from __future__ import annotations

import ctypes
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from nautilus_cli.errors import ToolchainError
from nautilus_cli.toolchain import host_compiler
from nautilus_cli.toolchain.cache import Cache

from .conftest import kernel

PT_NOTE = 4


def load(content: bytes, folder: Path) -> ctypes.CDLL:
    path = folder / "library.so"
    path.write_bytes(content)
    return ctypes.CDLL(str(path))


def program_header_kinds(image: bytes) -> list[int]:
    offset, size, count = (int.from_bytes(image[at : at + n], "little") for at, n in ((32, 8), (54, 2), (56, 2)))
    return [int.from_bytes(image[offset + i * size : offset + i * size + 4], "little") for i in range(count)]


def test_the_host_library_exports_what_it_marks_and_has_a_note(store: Cache, templates: Path, tmp_path: Path) -> None:
    content = host_compiler.shared_library(store)
    library = load(content, tmp_path)
    assert library.nautilus_answer() == 42
    assert not hasattr(library, "nautilus_hidden")
    library.nautilus_file.restype = ctypes.c_char_p
    assert library.nautilus_file() == b"templates/host/answer.c"
    assert PT_NOTE in program_header_kinds(content)


def test_the_same_sources_give_the_same_bytes(templates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def everything(store: Cache) -> tuple[bytes, ...]:
        objects = tuple(host_compiler.compile_object(source, store) for source in host_compiler.runtime_sources())
        return host_compiler.shared_library(store), *objects, host_compiler.link_image(objects, store)

    first = everything(Cache(tmp_path / "one"))
    assert everything(Cache(tmp_path / "two")) == first
    moved = templates.rename(tmp_path / "moved-templates")
    monkeypatch.setattr("nautilus_cli.resources.templates", lambda: moved)
    assert everything(Cache(tmp_path / "three")) == first


def test_the_second_time_comes_from_the_cache(store: Cache, templates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = host_compiler.shared_library(store)

    def runs(*arguments: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(host_compiler, "run", runs)
    assert host_compiler.shared_library(store) == first
    (templates / "host" / "answer.h").write_text("int nautilus_hidden(void); /* changed */\n")
    with pytest.raises(AssertionError):
        host_compiler.shared_library(store)


def test_kernels_are_compiled_with_the_emulated_twin(store: Cache, templates: Path, tmp_path: Path) -> None:
    content = host_compiler.link_image([host_compiler.compile_object(kernel("k", 7).text, store)], store)
    assert load(content, tmp_path).k_call(6) == 42


def test_an_error_names_file_and_line(store: Cache, templates: Path) -> None:
    with pytest.raises(ToolchainError, match=r"^kernels\.cpp, line 2: the C\+\+ compiler refused: .*missing"):
        host_compiler.compile_object("int x;\nint y = missing;\n", store)
    (templates / "host" / "answer.c").write_text("\n\nint broken(void) { return missing; }\n")
    with pytest.raises(ToolchainError, match=r"^host/answer\.c, line 3: the C compiler refused: .*missing"):
        host_compiler.shared_library(store)


def test_a_missing_symbol_is_an_error_of_linking(store: Cache, templates: Path) -> None:
    unit = host_compiler.compile_object('extern "C" int absent(); int call() { return absent(); }', store)
    other = host_compiler.compile_object('int call(); extern "C" __attribute__((visibility("default"))) int f() { return call(); }', store)
    with pytest.raises(ToolchainError, match=r"^linking: .*absent"):
        host_compiler.link_image([unit, other], store)


@pytest.mark.usefixtures("no_compilers")
@pytest.mark.parametrize(("language", "names"), [("C", "cc, gcc, clang"), ("C++", r"c\+\+, g\+\+, clang\+\+")])
def test_without_a_compiler_the_error_names_both_ways_out(language: str, names: str) -> None:
    host_compiler._find.cache_clear()
    try:
        with pytest.raises(ToolchainError, match=rf"none of {names} is on PATH.*ziglang.*pip install ziglang"):
            host_compiler.find(language)
    finally:
        host_compiler._find.cache_clear()


def test_a_compiler_that_does_not_run_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    good = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert good
    (tmp_path / "gcc").symlink_to(good)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert host_compiler.find("C").command == (str(tmp_path / "gcc"),)


@pytest.mark.skipif(find_spec("ziglang") is None, reason="the package ziglang is not installed")
def test_zig_stands_in_where_there_is_no_compiler(store: Cache, templates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("HOME", raising=False)  # as in many a container
    assert host_compiler.find("C").is_zig
    content = host_compiler.shared_library(store)
    assert load(content, tmp_path).nautilus_answer() == 42
    assert PT_NOTE in program_header_kinds(content)
