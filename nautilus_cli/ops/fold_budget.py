"""How much memory and time folding may take for a model, its loops and branches included."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nautilus_cli.ir.dims import is_symbolic
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.folding import MAX_FOLD_WORK, fold, work
from nautilus_cli.ops.spec import Operator

DEFAULT_FOLD_BYTES = 512 << 20
"""Enough for every mask and table that exporters spell out in nodes; it bounds what a hostile model of a few bytes can cost."""


class FoldBudget:
    """What is left to fold with.

    Args:
        size_bytes: that all constants which folding makes may take together; 0 folds nothing but empty tensors.
    """

    def __init__(self, size_bytes: int = DEFAULT_FOLD_BYTES) -> None:
        self._bytes = size_bytes
        self._work = MAX_FOLD_WORK + 4 * size_bytes

    def fold(
        self, operator: Operator, attrs: object, inputs: Sequence[Value | None], types: tuple[TensorType, ...]
    ) -> tuple[np.ndarray, ...] | None:
        """Return the results of an operator where they are constants, as far as memory for them and time is left."""
        size = sum(type_.bytes for type_ in types)
        if is_symbolic(size) or size > self._bytes:
            return None
        steps = 0
        if all(v is None or v.constant is not None for v in inputs):
            steps = work(operator, [v for v in inputs if v is not None], types)
            if steps > self._work:
                return None
        constants = fold(operator, attrs, inputs, types)
        if constants is not None:
            self._work -= steps
            operands = [v.constant for v in inputs if v is not None and v.constant is not None]
            self._bytes -= sum(c.nbytes for c in constants if not any(np.may_share_memory(c, a) for a in operands))
        return constants
