"""What a tensor can be at most."""

from __future__ import annotations

from nautilus_cli.errors import ModelError, shortened
from nautilus_cli.ir.dims import lower, upper
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.error_place import ErrorPlace

MAX_TENSOR_BYTES = 1 << 38
"""256 GiB: more than the memory of any supported device, so a tensor above it is a mistake or an attack."""

MAX_RANK = 64
"""Source: NumPy 2.0 release notes: the greatest number of dimensions of an array."""


_LONGEST_TYPE = 160
"""Characters of a type that a message shows."""

_LONGEST_NUMBER = 1 << 128
"""What Python writes out is limited, and nobody reads it."""


def check_size(type_: TensorType, place: str, most_bytes: int = MAX_TENSOR_BYTES) -> TensorType:
    """Return the type if a tensor of it can exist.

    Raises:
        ModelError: a dimension is negative, there are more than MAX_RANK, or the tensor is larger than MOST_BYTES.
    """
    if len(type_.shape) > MAX_RANK:
        raise ModelError(f"a tensor has {len(type_.shape)} dimensions", where=place, hint=f"The limit is {MAX_RANK}.")
    if any(lower(dim) < 0 for dim in type_.static):
        raise ModelError(f"the result's type {told(type_)} has a negative dimension", where=place)
    with ErrorPlace(place):
        size_bytes = upper(type_.bytes)
    if size_bytes > most_bytes:
        amount = f"{size_bytes}" if size_bytes < _LONGEST_NUMBER else f"more than {_LONGEST_NUMBER}"
        raise ModelError(
            f"a tensor of type {told(type_)} takes {amount} bytes",
            where=place,
            hint=f"The limit is {MAX_TENSOR_BYTES} bytes (256 GiB).",
        )
    return type_


def told(type_: TensorType) -> str:
    """Return a type as text that is no longer than a message should be."""
    return shortened(str(type_), _LONGEST_TYPE)
