"""The number that a code of four bits stands for, in a table that the attributes hold: what decompositions of unusual 4-bit types need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.types import F32, F64, TensorType
from nautilus_cli.ops.checks import operand, operand_count, required
from nautilus_cli.ops.spec import Inference, Operator, Pointwise

LOOK_UP = "nautilus::LookUp"
_CODES = 16


@dataclass(frozen=True, slots=True)
class LookUpAttrs:
    """Attributes of LookUp: sixteen numbers."""

    table: tuple[float, ...] = tuple(float(number * number) for number in range(_CODES))


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    if len(inference.attrs.table) != _CODES:
        raise InternalError(f"a table of {len(inference.attrs.table)} numbers for codes of four bits")
    return (operand(inference, 0, "code", (F32, F64)),)


def _evaluate(attrs: LookUpAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    (code,) = required(arrays)
    places = np.clip(np.nan_to_num(code), 0, _CODES - 1).astype(np.int64)
    return (np.array(attrs.table, code.dtype)[places],)


OPERATOR = Operator(
    name=LOOK_UP,
    infer=_infer,
    evaluate=_evaluate,
    lowering=Pointwise("look_up", lambda attrs, _: attrs.table),
    source="Nautilus's own: a table of sixteen numbers",
    attributes=LookUpAttrs,
)
"""A code is a whole number from 0 to 15, as floating point, whose type the table's numbers have."""
