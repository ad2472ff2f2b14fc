"""Contents that are numbers of floating point, of which only a run knows some: scales that are inputs, quotients of sizes, their products.

The host works them out in double precision, rounded to float32 after each operation where the tensor has that type, as a kernel does.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor

from nautilus_cli.ir.constructors import rounded
from nautilus_cli.ir.dims import Float, FloatOperation
from nautilus_cli.ir.floats import bounds, float_text, is_float
from nautilus_cli.ir.indicators import chosen, less
from nautilus_cli.ir.types import F32, F64, DType
from nautilus_cli.ops.operands import DEFAULT_MOST

_FUNCTIONS = {"Add": "add", "Div": "divide", "Mul": "multiply", "Sub": "subtract"}
_MANNERS = {"Ceil": "ceil", "Floor": "floor", "Round": "even"}


def computed(name: str, rows: Sequence[Sequence[Float]], source: DType, target: DType) -> list[Float] | None:
    """Return the elements of an elementwise operator's result, None where the host does not work them out.

    Args:
        name: of the operator.
        rows: the operands' elements for each element of the result.
        source: element type of the operands.
        target: element type of the result.
    """
    if name in ("Cast", "CastLike"):
        return [_cast(value, target) for (value, *_) in rows] if _holds_all(source) and _holds_all(target) else None
    if source not in (F32, F64) or source != target:
        return None
    if name in _MANNERS:
        return [to_integer(value, _MANNERS[name]) for (value,) in rows]
    if name == "Neg":
        return [FloatOperation("subtract", 0, value) for (value,) in rows]
    if name not in _FUNCTIONS:
        return None
    return [_rounded_to(target, FloatOperation(_FUNCTIONS[name], *row)) for row in rows]


def _holds_all(dtype: DType) -> bool:
    """Whether numbers of a type come and go without being cut."""
    return dtype in (F32, F64) or (dtype.kind == "int" and dtype.bits >= 32)


def _rounded_to(dtype: DType, value: Float) -> Float:
    return FloatOperation("single", value) if dtype == F32 else value


def _cast(value: Float, target: DType) -> Float:
    if target.is_float:
        return _rounded_to(target, value)
    if not is_float(value):
        return value
    down, up = to_integer(value, "floor"), to_integer(value, "ceil")  # cut towards zero
    return chosen(less(down, 0), up, down)


def to_integer(value: Float, manner: str) -> int:
    """Return a number rounded to an integer; one of which nothing is known is that of a size, or its negative."""
    if not is_float(value):
        return value  # type: ignore[return-value]
    known = bounds(value)
    low, high = (-DEFAULT_MOST[0], DEFAULT_MOST[0]) if known is None else (floor(known[0]), ceil(known[1]))
    name = {"even": "round"}.get(manner, manner)
    return rounded(value, manner, low, high, f"{name}({float_text(value)})")
