"""Constants as bits, so that every compiler reads the same number."""

from __future__ import annotations

import numpy as np

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.expression import Constant


def bits(constant: Constant) -> str:
    """Return the bits of a constant in its type as a hexadecimal literal of 32 or 64 bits; a negative integer is two's complement.

    Raises:
        InternalError: the text is no number of that type.
    """
    dtype = constant.dtype
    try:
        if dtype.is_float:
            if dtype.bits < 32:
                raise InternalError(f"constant of type {dtype}", hint="Constants have a compute type.")
            with np.errstate(over="ignore"):
                value = np.array(float.fromhex(constant.text)).astype(dtype.numpy)
            raw = int(value.view(f"u{dtype.bytes}"))
        else:
            raw = _in_range(int(constant.text), constant) & ((1 << dtype.bits) - 1)
    except ValueError as error:
        raise InternalError(f"constant {constant.text!r} is no {dtype}") from error
    return f"0x{raw:016x}ull" if dtype.bits == 64 else f"0x{raw:08x}u"


def _in_range(value: int, constant: Constant) -> int:
    """Return VALUE after checking that the constant's type holds it."""
    dtype = constant.dtype
    low, high = dtype.limits
    if not low <= value <= high:
        raise InternalError(f"constant {constant.text} does not fit {dtype}")
    return value
