"""What operators on square matrices ask of their operand."""

from __future__ import annotations

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import TensorType


def require_square(x: TensorType, name: str) -> None:
    """Check that the last two dimensions are equal.

    Raises:
        ModelError: there are not two, or they differ.
    """
    if len(x.shape) < 2 or x.static[-1] != x.static[-2]:
        raise ModelError(f"operand '{name}' has shape {list(x.static)}; the specification requires square matrices")
