"""Inverse of com.microsoft: inverses of square matrices."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.types import F16, F32, F64, TensorType
from nautilus_cli.ops.checks import first_of, operand, operand_count
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Anchor, Inference, NoAttrs, Operator
from nautilus_cli.ops.square import require_square


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    x = operand(inference, 0, "X", (F16, F32, F64))
    require_square(x, "X")
    return (x,)


def _evaluate(_attrs: NoAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    """A singular matrix has no inverse; what stands there instead is not specified."""
    x = first_of(arrays)
    wide = widened(x)
    result = np.empty_like(wide)
    for place in np.ndindex(wide.shape[:-2]):
        try:
            result[place] = np.linalg.inv(wide[place])
        except np.linalg.LinAlgError:
            result[place] = np.nan
    return (stored(result, x),)


OPERATOR = Operator(
    name="com.microsoft::Inverse",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor("elimination", prologue=(0,)),
    source=source("Inverse"),
)
