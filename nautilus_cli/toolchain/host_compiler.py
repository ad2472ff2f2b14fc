"""The host's C and C++ compilers: the library's host code, and everything of the emulator.

Flags and why:
    -ffile-prefix-map, -frandom-seed, --build-id=sha1: the same sources give the same bytes wherever they lie.
    -fvisibility=hidden: only what a header marks as exported is; several images of one process do not see each other.
    -fno-gnu-unique: or copies of one image would share the variables of templates, and dlclose would keep them.
    -ffp-contract=off: every compiler gives the same numbers; kernels write fma where they mean it.
    -fno-strict-aliasing: kernels read shared memory through vector types.
    -static-libstdc++: an image needs libc only.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache as remember
from importlib.util import find_spec
from pathlib import Path

from nautilus_cli import resources
from nautilus_cli.errors import InternalError, ToolchainError
from nautilus_cli.toolchain import processes
from nautilus_cli.toolchain.cache import Cache, key
from nautilus_cli.toolchain.includes import IncludeScanner

_NAMES = {"C": ("cc", "gcc", "clang"), "C++": ("c++", "g++", "clang++")}
_ZIG_COMMANDS = {"C": "cc", "C++": "c++"}

OPTIMISATION = "-O2"

_COMMON_FLAGS = ("-fPIC", "-pthread", "-fvisibility=hidden")
_C_FLAGS = ("-std=c99", OPTIMISATION, *_COMMON_FLAGS)
_CXX_FLAGS = ("-std=c++17", *_COMMON_FLAGS, "-DNAUTILUS_EMULATED=1", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing")
_LINK_FLAGS = ("-shared", "-pthread", "-Wl,--build-id=sha1")

_FIRST_ERROR = re.compile(r"^(?:(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? |[^\s:]+: )?(?:fatal )?error: (?P<text>.*)$", re.MULTILINE)
_LINK_ERROR = re.compile(r"^.*(?:undefined reference to|undefined symbol|duplicate symbol|multiple definition of).*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """A compiler of the host.

    Attributes:
        language: `C` or `C++`.
        command: how it is called.
        version: first line of what it says about itself.
        target: the machine it compiles for, as a triple.
        is_zig: whether it is the `ziglang` package.
        is_gcc: whether it is GCC.
    """

    language: str
    command: tuple[str, ...]
    version: str
    target: str
    is_zig: bool = False
    is_gcc: bool = False

    @property
    def identity(self) -> str:
        """What a cache key holds of it; not the path, so that moving it costs nothing."""
        return f"{self.version}\n{self.target}"


def find(language: str) -> Compiler:
    """Return the compiler of a language: the system's, else that of the `ziglang` package.

    Raises:
        ToolchainError: there is neither.
    """
    # PATH is part of the question: an answer is not kept when it changes.
    return _find(language, os.environ.get("PATH", ""))


@remember
def _find(language: str, path: str) -> Compiler:
    names = _NAMES[language]
    for name in names:
        location = shutil.which(name, path=path)
        compiler = _probe(language, (location,)) if location else None
        if compiler:
            return compiler
    if find_spec("ziglang"):
        compiler = _probe(language, (sys.executable, "-m", "ziglang", _ZIG_COMMANDS[language]), is_zig=True)
        if compiler:
            return compiler
    raise ToolchainError(
        f"no {language} compiler: none of {', '.join(names)} is on PATH, and the package ziglang is not installed.",
        hint="Install one, for example with 'apt-get install g++', or 'pip install ziglang'.",
    )


def _probe(language: str, command: tuple[str, ...], *, is_zig: bool = False) -> Compiler | None:
    """Return the compiler behind a command, or None where it does not even say its version."""
    try:
        with tempfile.TemporaryDirectory(prefix="nautilus-") if is_zig else nullcontext("") as folder:
            environment = os.environ | (_zig_folders(folder) if is_zig else {})
            version = _say(command, "--version", environment)
            target = _say(command, "-dumpmachine", environment)
    except (OSError, subprocess.CalledProcessError):
        return None
    is_gcc = "Free Software Foundation" in version
    # One line of a version is enough: GCC puts its release into the first, clang too.
    first = version.splitlines()[0] if version else ""
    return Compiler(language=language, command=command, version=first, target=target.strip(), is_zig=is_zig, is_gcc=is_gcc)


def _say(command: tuple[str, ...], option: str, environment: Mapping[str, str]) -> str:
    command = (*command, option)
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout


def _zig_folders(folder: Path | str) -> dict[str, str]:
    """Return where zig keeps what it builds; it does nothing without such a folder, and has none of its own where HOME is not set."""
    return dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), str(folder))


def shared_library(store: Cache) -> bytes:
    """Return the library's host code: one shared library, the same for every model.

    It has a build-id note, whose program header the bundle writer turns into the one that maps the payload.

    Raises:
        ToolchainError: there is no C compiler, or it refuses.
    """
    compiler = find("C")
    folder = resources.host()
    sources = sorted(folder.glob("*.c"))
    if not sources:
        raise InternalError("no C source", where=str(folder))
    flags = (*_flags(compiler, _C_FLAGS), *_include_flags())
    name = _key(compiler, (*flags, *_LINK_FLAGS, "-ldl"), ((source.name, source.read_text(), folder) for source in sources))

    def build() -> bytes:
        with tempfile.TemporaryDirectory(prefix="nautilus-") as work:
            arguments = (*flags, *_seed(name), *_LINK_FLAGS, *map(str, sources), "-ldl", "-o", "host.so")
            run(compiler, arguments, Path(work), store)
            return Path(work, "host.so").read_bytes()

    return store.get("host", name, build)


def runtime_sources() -> tuple[Path, ...]:
    """Return the emulator's own source files, sorted."""
    folder = resources.emulator()
    sources = tuple(sorted(folder.glob("*.cpp")))
    if not sources:
        raise InternalError("no C++ source", where=str(folder))
    return sources


def compile_object(source: str | Path, store: Cache, *, scanner: IncludeScanner | None = None, optimisation: str = OPTIMISATION) -> bytes:
    """Return the object file of one C++ translation unit of an emulated image.

    Args:
        source: C++ text, or the file that holds it.
        store: where objects are kept.
        scanner: shared by the units of one build.
        optimisation: the compiler's option.

    Raises:
        ToolchainError: there is no C++ compiler, or it refuses.
    """
    compiler = find("C++")
    flags = (optimisation, *_flags(compiler, _CXX_FLAGS), *_include_flags())
    file, text, folder = (source.name, source.read_text(), source.parent) if isinstance(source, Path) else ("kernels.cpp", source, None)
    name = _key(compiler, flags, [(file, text, folder)], scanner)

    def build() -> bytes:
        with tempfile.TemporaryDirectory(prefix="nautilus-") as work:
            if not folder:
                Path(work, file).write_text(text)
            run(compiler, (*flags, *_seed(name), "-c", str(source) if folder else file, "-o", "unit.o"), Path(work), store)
            return Path(work, "unit.o").read_bytes()

    return store.get("object", name, build)


def link_image(objects: Sequence[bytes], store: Cache) -> bytes:
    """Return the emulated image that the objects make: a shared library that needs libc only.

    Raises:
        ToolchainError: there is no C++ compiler, or a symbol is missing or defined twice.
    """
    compiler = find("C++")
    flags = [*_LINK_FLAGS, "-Wl,-z,defs", "-Wl,--gc-sections", "-s"]
    if not compiler.is_zig:  # zig links its own C++ library into the image by itself
        flags += ["-static-libgcc", "-static-libstdc++", "-Wl,--exclude-libs,ALL"]
    name = key(compiler.identity, *flags, *objects)

    def build() -> bytes:
        with tempfile.TemporaryDirectory(prefix="nautilus-") as work:
            files = []
            for index, content in enumerate(objects):
                files.append(f"{index}.o")
                Path(work, files[-1]).write_bytes(content)
            run(compiler, (*flags, *files, "-ldl", "-o", "image.so"), Path(work), store)
            return Path(work, "image.so").read_bytes()

    return store.get("image", name, build)


def run(compiler: Compiler, arguments: Iterable[str], work: Path, store: Cache) -> str:
    """Call the compiler in a folder; return what it said.

    Raises:
        ToolchainError: it refused; the message is its first error, the place that error's file and line.
    """
    environment = dict(os.environ)
    environment["LC_ALL"] = "C"  # the messages are parsed
    environment["TMPDIR"] = str(work)  # what a compiler that is stopped leaves goes with the folder
    if compiler.is_zig:  # zig keeps the C and C++ libraries that it builds: beside our own entries, not in the home folder
        environment |= _zig_folders(store.folder / "zig")
    command = (*compiler.command, *arguments)
    done = processes.call(command, cwd=work, environment=environment)
    if done.returncode:
        raise _refused(compiler, done.stderr)
    return done.stderr


def _refused(compiler: Compiler, log: str) -> ToolchainError:
    """Return the error of a failed call: its first error line and place."""
    found = _FIRST_ERROR.search(log)
    linked = _LINK_ERROR.search(log)
    if found and found["file"]:
        templates = f"{resources.templates()}{os.sep}"
        where, message = f"{found['file'].removeprefix(templates)}, line {found['line']}", found["text"]
    elif linked:
        where, message = "linking", linked[0].strip()
    else:
        lines = log.strip().splitlines()
        where, message = compiler.command[0], found["text"] if found else lines[-1] if lines else "it failed without a message"
    error = ToolchainError(f"the {compiler.language} compiler refused: {message}.", where=where, hint=f"Compiler: {compiler.version}.")
    error.add_note(log)
    return error


def _flags(compiler: Compiler, base: tuple[str, ...]) -> tuple[str, ...]:
    """Return the flags for this compiler; the emulator's kernels want fused multiply-add and 256-bit vectors where there are."""
    flags = [*base, f"-ffile-prefix-map={resources.templates()}=templates"]
    if compiler.language == "C++":
        if platform.machine() == "x86_64":
            flags.append("-march=x86_64_v3" if compiler.is_zig else "-march=x86-64-v3")
        flags += ["-ffunction-sections", "-fdata-sections"]
        if compiler.is_gcc:
            flags.append("-fno-gnu-unique")
    if compiler.is_zig:
        flags.append("-fno-sanitize=undefined")  # on by default there
    return tuple(flags)


def _include_flags() -> tuple[str, ...]:
    return tuple(f"-I{folder}" for folder in include_folders())


def include_folders() -> tuple[Path, ...]:
    """Return the folders that host code, emulator and kernels include from."""
    return (resources.include(), resources.host())


def _seed(name: str) -> tuple[str, ...]:
    # GCC names some local symbols at random unless told from what.
    return (f"-frandom-seed={name}",)


def _key(
    compiler: Compiler,
    flags: Iterable[str],
    sources: Iterable[tuple[str, str, Path | None]],
    scanner: IncludeScanner | None = None,
) -> str:
    """Return the cache key of compiling (file name, text, folder) sources; it holds no path of this machine."""
    scanner = scanner or IncludeScanner(include_folders())
    templates = str(resources.templates())
    parts: list[str | bytes] = [compiler.identity, *(flag.replace(templates, "templates") for flag in flags)]
    for file, text, folder in sources:
        parts += [file, text, scanner.digest(text, folder)]
    return key(*parts)
