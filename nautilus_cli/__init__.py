"""Nautilus compiles an ONNX model to one CUDA shared library.

`load` runs such a library from Python, and `Decoder` one that keeps its caches in place; they need numpy only.
Compiling is the command `nautilus compile`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nautilus_cli.runtime.decoder import Decoder
    from nautilus_cli.runtime.library import load

__all__ = ["Decoder", "__version__", "load"]


def __getattr__(name: str) -> Any:
    """Import on first use: `import nautilus_cli` itself costs nothing."""
    if name == "load":
        from nautilus_cli.runtime.library import load

        return load
    if name == "Decoder":
        from nautilus_cli.runtime.decoder import Decoder

        return Decoder
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("nautilus-cli")
        except PackageNotFoundError:
            return "0+unknown"  # a checkout that was never installed
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
