"""What this machine can compile for and run on, what is missing, and how to get it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as package_version

from nautilus_cli import resources
from nautilus_cli.errors import ToolchainError
from nautilus_cli.targets.registry import for_capability
from nautilus_cli.toolchain import device, host_compiler, nvrtc
from nautilus_cli.toolchain.cache import Cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked for.

    Attributes:
        name: what.
        found: what there is; None where it is missing.
        advice: what its absence means and how to get it; None where nothing is to be done.
    """

    name: str
    found: str | None
    advice: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Everything that was looked for.

    Attributes:
        findings: in a fixed order.
        gpu_target: target of the first device, or None.
        can_compile_gpu: whether `compile` works for GPU targets.
        can_compile_emulated: whether `compile` works for the emulator.
    """

    findings: tuple[Finding, ...]
    gpu_target: str | None
    can_compile_gpu: bool
    can_compile_emulated: bool


def diagnose(store: Cache) -> Diagnosis:
    """Look for everything that compiling, running and verifying need."""
    driver = device.driver()
    first = driver.devices[0] if driver.devices else None
    target = for_capability(first.capability) if first else None
    compiler, c, cxx = _tool("NVRTC", nvrtc.version), _compiler("C"), _compiler("C++")
    findings = (
        _driver(driver),
        *(_device(found) for found in driver.devices),
        compiler,
        c,
        cxx,
        _package("onnxruntime", "'nautilus verify' and the check after 'compile' need it; 'pip install onnxruntime'."),
        _package("optuna", "'nautilus tune' needs it; 'pip install optuna'."),
        Finding(name="C header", found=str(resources.include() / "nautilus" / "abi.h")),
        Finding(name="cache", found=f"{store.folder}, {_mebibytes(store.size_bytes())}"),
    )
    return Diagnosis(
        findings=findings,
        gpu_target=target.name if target else None,
        can_compile_gpu=bool(compiler.found and c.found),
        can_compile_emulated=bool(cxx.found and c.found),
    )


def _driver(found: device.Driver) -> Finding:
    version = f"CUDA {found.version[0]}.{found.version[1]}" if found.version else None
    if found.problem is None:
        return Finding(name="driver", found=version)
    advice = f"Without a GPU, because {found.problem}: libraries for one can be compiled here, and emulated ones run here."
    return Finding(name="driver", found=version, advice=advice)


def _device(found: device.Device) -> Finding:
    major, minor = found.capability
    target = for_capability(found.capability)
    text = f"{found.name}, compute capability {major}.{minor}, {found.multiprocessors} multiprocessors"
    if target is None:
        return Finding(name=f"GPU {found.index}", found=text, advice="No target fits it: compute capability 8.0 or later is needed.")
    return Finding(name=f"GPU {found.index}", found=f"{text}, target {target.name}")


def _tool(name: str, version: Callable[[], str]) -> Finding:
    try:
        return Finding(name=name, found=version())
    except ToolchainError as error:
        return Finding(name=name, found=None, advice=str(error))


def _compiler(language: str) -> Finding:
    def version() -> str:
        compiler = host_compiler.find(language)
        return f"{compiler.version} ({' '.join(compiler.command)})"

    return _tool(f"{language} compiler", version)


def _package(name: str, advice: str) -> Finding:
    try:
        return Finding(name=name, found=package_version(name))
    except PackageNotFoundError:
        return Finding(name=name, found=None, advice=advice)


def _mebibytes(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:.1f} MiB"
