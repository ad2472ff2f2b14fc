"""What a tensor can be at most."""

from __future__ import annotations

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import lower, upper
from nautilus_cli.ir.types import TensorType

MAX_TENSOR_BYTES = 1 << 38
"""256 GiB: more than the memory of any supported device, so a tensor above it is a mistake or an attack."""

MAX_RANK = 64
"""Source: NumPy 2.0 release notes: the greatest number of dimensions of an array."""


def check_size(type_: TensorType, place: str, most_bytes: int = MAX_TENSOR_BYTES) -> TensorType:
    """Return the type if a tensor of it can exist.

    Raises:
        ModelError: a dimension is negative, there are more than MAX_RANK, or the tensor is larger than MOST_BYTES.
    """
    if len(type_.shape) > MAX_RANK:
        raise ModelError(f"a tensor has {len(type_.shape)} dimensions", where=place, hint=f"The limit is {MAX_RANK}.")
    if any(lower(dim) < 0 for dim in type_.static):
        raise ModelError(f"the result's type {type_} has a negative dimension", where=place)
    if upper(type_.bytes) > most_bytes:
        raise ModelError(
            f"a tensor of type {type_} takes {upper(type_.bytes)} bytes",
            where=place,
            hint=f"The limit is {MAX_TENSOR_BYTES} bytes (256 GiB).",
        )
    return type_
