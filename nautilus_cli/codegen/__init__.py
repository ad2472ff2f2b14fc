"""Plan to kernel text."""

from nautilus_cli.codegen.render import Rendered, render, unit

__all__ = ["Rendered", "render", "unit"]
