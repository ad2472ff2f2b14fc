"""Kernel text to a cubin through NVRTC; no GPU, no driver and no CUDA toolkit needed."""

from __future__ import annotations

import json
import logging
import re
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache as remember
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as package_version
from types import ModuleType
from typing import Any

from nautilus_cli import resources
from nautilus_cli.errors import ToolchainError
from nautilus_cli.targets.base import Target
from nautilus_cli.toolchain.cache import Cache, key
from nautilus_cli.toolchain.includes import IncludeScanner

_log = logging.getLogger(__name__)

_HINT = "Install it with 'pip install cuda-bindings nvidia-cuda-nvrtc'."

_ENTRY = re.compile(r"Compiling entry function '(?P<symbol>[^']+)' for ")
_STACK = re.compile(r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads")
_USED = re.compile(r"Used (?P<registers>\d+) registers(?:, used (?P<barriers>\d+) barriers)?")
_STATIC_SHARED = re.compile(r"(?P<smem>\d+) bytes smem")
_DURATION = re.compile(r"^ptxas info\s*: Compile time = .*\n?", re.MULTILINE)
_FIRST_ERROR = re.compile(r"^(?P<file>[^(\n]+)\((?P<line>\d+)\): (?:catastrophic )?error(?: #\S+)?: (?P<text>.*)$", re.MULTILINE)

# ptxas serialises wgmma or ignores setmaxnreg, and only says so: a kernel that was meant otherwise is wrong.
# Source: messages of ptxas 12.4 and later.
_BROKEN_PROMISES = re.compile(r"^.*(?:\bC75(?:04|08|10|19)\b|wgmma\.mma_async instructions are serialized).*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a kernel takes of a multiprocessor, as ptxas counts it.

    Attributes:
        registers: of a thread.
        barriers: named barriers of a block.
        stack_bytes: local memory of a thread.
        spill_store_bytes: of a thread, registers written to local memory.
        spill_load_bytes: of a thread, registers read back.
        smem_bytes: static shared memory of a block; kernels take theirs dynamically, so 0 is expected.
    """

    registers: int
    barriers: int = 0
    stack_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    smem_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cubin:
    """A compiled kernel.

    Attributes:
        image: what cuModuleLoadData takes.
        resources: by symbol.
        log: what the compiler said, without durations and paths.
    """

    image: bytes
    resources: Mapping[str, Resources]
    log: str


def version() -> str:
    """Return NVRTC's version, for example `13.5.37`.

    Raises:
        ToolchainError: it is missing.
    """
    return _load().version


@dataclass(frozen=True, slots=True)
class _Nvrtc:
    module: ModuleType
    version: str


@remember
def _load() -> _Nvrtc:
    try:
        from cuda.bindings import nvrtc

        _, major, minor = nvrtc.nvrtcVersion()
    except ImportError as error:
        raise ToolchainError("NVRTC cannot be called: the package cuda-bindings is missing.", hint=_HINT) from error
    except RuntimeError as error:  # cuda-pathfinder found no libnvrtc
        raise ToolchainError("NVRTC cannot be loaded: libnvrtc is missing.", hint=_HINT) from error
    try:
        exact = package_version("nvidia-cuda-nvrtc")
    except PackageNotFoundError:
        exact = ""
    # A libnvrtc from elsewhere may be found before the package's: then only its own word counts.
    said = f"{major}.{minor}"
    return _Nvrtc(nvrtc, exact if exact.startswith(f"{said}.") else said)


def options(target: Target) -> tuple[str, ...]:
    """Return the compiler's options for a target, without include paths.

    No product is fused with a sum unless the text says so: each ONNX operator rounds its result, and where a rounding decides (a floor, a
    tie, a quantised level) a GPU must decide as the emulator and onnxruntime do. Inner products write `multiply_add`.
    """
    return (f"--gpu-architecture={target.name}", "-std=c++17", "-default-device", "--fmad=false", "--ptxas-options=-v")


def compile_kernel(
    text: str, symbol: str, target: Target, store: Cache, *, scanner: IncludeScanner | None = None, extra: tuple[str, ...] = ()
) -> Cubin:
    """Compile one kernel, or take it from the cache.

    Args:
        text: CUDA source.
        symbol: the kernel's name, which messages show.
        target: a GPU target.
        store: where cubins are kept.
        scanner: shared by the kernels of one build.
        extra: further options, for example `-lineinfo`.

    Raises:
        ToolchainError: NVRTC is missing, or refuses the text, or has not done what the text asks for.
    """
    scanner = scanner or IncludeScanner((resources.include(),))
    chosen = (*options(target), *extra)
    name = key(version(), *chosen, symbol, text, scanner.digest(text))
    content = store.get("cubin", name, lambda: _pack(_compile(text, symbol, chosen)))
    return _unpack(content)


def _compile(text: str, symbol: str, chosen: tuple[str, ...]) -> Cubin:
    nvrtc: Any = _load().module
    arguments = [option.encode() for option in (*chosen, f"-I{resources.include()}")]
    program = _value(nvrtc, nvrtc.nvrtcCreateProgram(text.encode(), f"{symbol}.cu".encode(), 0, [], []))
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(arguments), arguments)
        buffer = bytearray(_value(nvrtc, nvrtc.nvrtcGetProgramLogSize(program)))
        _value(nvrtc, nvrtc.nvrtcGetProgramLog(program, buffer))
        log = buffer.rstrip(b"\0").decode(errors="replace").replace(f"{resources.include()}/", "")
        log = _DURATION.sub("", log)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise _refused(log, symbol, status.name)
        broken = _BROKEN_PROMISES.search(log)
        if broken:
            raise ToolchainError(f"NVRTC has not kept to the kernel's text: {broken[0].strip()}.", where=f"{symbol}.cu")
        image = bytearray(_value(nvrtc, nvrtc.nvrtcGetCUBINSize(program)))
        _value(nvrtc, nvrtc.nvrtcGetCUBIN(program, image))
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    used = parse_resources(log)
    for kernel, numbers in used.items():
        if numbers.spill_store_bytes or numbers.spill_load_bytes:
            _log.info("%s spills %d bytes of registers a thread", kernel, numbers.spill_store_bytes)
    return Cubin(image=bytes(image), resources=used, log=log)


def _value(nvrtc: Any, result: tuple[Any, ...]) -> Any:
    """Return what a call of the bindings gave besides its status.

    Raises:
        ToolchainError: the status is an error.
    """
    status, *values = result
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise ToolchainError(f"NVRTC failed: {status.name}.")
    return values[0] if values else None


def _refused(log: str, symbol: str, status: str) -> ToolchainError:
    """Return the error of a failed compilation: its first error line and place."""
    found = _FIRST_ERROR.search(log)
    where, message = (f"{found['file']}, line {found['line']}", found["text"]) if found else (f"{symbol}.cu", log.strip() or status)
    hint = f"While compiling {symbol}." if found and found["file"] != f"{symbol}.cu" else None
    error = ToolchainError(f"NVRTC refused: {message}.", where=where, hint=hint)
    error.add_note(log)
    return error


def parse_resources(log: str) -> dict[str, Resources]:
    """Return the resources of each kernel that a log of `--ptxas-options=-v` tells of."""
    found: dict[str, Resources] = {}
    pieces = _ENTRY.split(log)[1:]  # symbol, what follows, symbol, ...
    for symbol, said in zip(pieces[::2], pieces[1::2], strict=True):
        used = _USED.search(said)
        if used is None:
            continue
        stack, smem = _STACK.search(said), _STATIC_SHARED.search(said, used.end())
        found[symbol] = Resources(
            registers=int(used["registers"]),
            barriers=int(used["barriers"] or 0),
            stack_bytes=int(stack["stack"]) if stack else 0,
            spill_store_bytes=int(stack["stores"]) if stack else 0,
            spill_load_bytes=int(stack["loads"]) if stack else 0,
            smem_bytes=int(smem["smem"]) if smem else 0,
        )
    return found


def _pack(cubin: Cubin) -> bytes:
    """Return a cubin with its numbers and log as one cache entry."""
    about = json.dumps({"resources": {name: asdict(used) for name, used in cubin.resources.items()}, "log": cubin.log}).encode()
    return struct.pack("<Q", len(about)) + about + cubin.image


def _unpack(content: bytes) -> Cubin:
    (length,) = struct.unpack_from("<Q", content)
    about = json.loads(content[8 : 8 + length])
    used = {name: Resources(**numbers) for name, numbers in about["resources"].items()}
    return Cubin(image=content[8 + length :], resources=used, log=about["log"])
