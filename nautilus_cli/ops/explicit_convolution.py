"""Convolutions in the form that kernels take: explicit attributes, two or three spatial dimensions, the bias apart."""

from __future__ import annotations

from typing import Any

from nautilus_cli.ir.graph import Value
from nautilus_cli.ops.spec import Emitter
from nautilus_cli.ops.wide import reshape


def explicit_convolution(
    emitter: Emitter, op: str, attrs: Any, explicit: Any, operands: tuple[Value | None, ...]
) -> tuple[Value | None, ...] | None:
    """Return the result of a convolution in that form; None where it has it already.

    Args:
        emitter: of nodes.
        op: the operator.
        attrs: its attributes as they are.
        explicit: the same for explicit numbers; where there is one spatial dimension, for a first one of a single line, too.
        operands: X, W, and the bias of the results' channels where there is one.
    """
    x, w, bias = (*operands, None)[:3]
    assert x is not None
    assert w is not None
    if bias is None and explicit == attrs:
        return None
    spatial = len(x.type.shape) - 2
    if spatial == 1:
        x, w = (reshape(emitter, v, (*v.type.static[:2], 1, v.type.static[2])) for v in (x, w))
    result = emitter.node(op, [x, w], explicit)
    if spatial == 1:
        batch, channels, _, size = result.type.static
        result = reshape(emitter, result, (batch, channels, size))
    if bias is not None:
        result = emitter.node("Add", [result, reshape(emitter, bias, (1, bias.type.elements, *(1 for _ in range(spatial))))])
    return (result,)
