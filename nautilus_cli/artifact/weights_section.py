"""The section of a plan's weights: arrays where they lie, zeros between them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from nautilus_cli.errors import InternalError
from nautilus_cli.lowering.plan import Plan

Bytes = bytes | memoryview


def weight_pieces(plan: Plan) -> Iterator[Bytes]:
    """Yield the weights section of a plan: arrays in place, zeros between them.

    Raises:
        InternalError: the weights overlap or pass the section's end.
    """
    position = 0
    for weight in plan.weights:
        if weight.offset < position:
            raise InternalError(f"weights overlap at byte {weight.offset}", where=", ".join(weight.tensors))
        if weight.offset > position:
            yield bytes(weight.offset - position)
        data = np.ascontiguousarray(weight.array).reshape(-1).view(np.uint8)
        if data.nbytes:
            yield data.data
        position = weight.offset + data.nbytes
    if position > plan.weight_bytes:
        raise InternalError(f"weights end at byte {position}, their section at {plan.weight_bytes}")
    if position < plan.weight_bytes:
        yield bytes(plan.weight_bytes - position)


def weights_digest(plan: Plan) -> bytes:
    """Return the SHA-256 of the weights section."""
    digest = hashlib.sha256()
    for piece in weight_pieces(plan):
        digest.update(piece)
    return digest.digest()
