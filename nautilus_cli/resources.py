"""Where `templates/` lies: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from nautilus_cli.errors import InternalError


@cache
def templates() -> Path:
    """Return the folder of CUDA, C and C++ sources.

    Raises:
        InternalError: the installation lacks it.
    """
    package = Path(__file__).resolve().parent
    for candidate in (package / "templates", package.parent / "templates"):
        if (candidate / "include" / "nautilus").is_dir():
            return candidate
    raise InternalError("the folder 'templates' is missing", where=str(package), hint="Install nautilus-cli again.")


def include() -> Path:
    """Return the folder to pass to a compiler with -I: `nautilus/abi.h` and the kernel headers lie in it."""
    return templates() / "include"


def kernel_stubs() -> Path:
    """Return the folder of kernel stubs, `<family>.cu.jinja`."""
    return templates() / "kernels"


def host() -> Path:
    """Return the folder of the library's C sources."""
    return templates() / "host"


def emulator() -> Path:
    """Return the folder of the emulator's C++ sources."""
    return templates() / "emulator"
