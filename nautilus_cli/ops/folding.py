"""Constant folding: when the results of an operator become constants, and what they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.dims import is_symbolic
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I32, TensorType
from nautilus_cli.ops.evaluate import evaluate_operator
from nautilus_cli.ops.spec import Anchor, Movement, Operator

MAX_GROWTH_BYTES = 64 << 20
"""Results above this that are larger than their operands stay nodes: an Expand of one number is not worth its megabytes."""

MAX_REARRANGED_BYTES = 1 << 20
"""A weight above this is not copied only to stand in another order: the kernel that reads it packs it anyway."""

MAX_PRODUCT_ELEMENTS = 1 << 30
"""A heavy operator of constants folds while result elements times elements of its largest operand stay below this (about a second)."""

MAX_FOLD_WORK = 1 << 33
"""Steps that all folding of a model may take beyond its size, some ten seconds: a loop could else fold a heavy operator again and again."""

PRODUCTS = frozenset({"Attention", "Einsum", "GRU", "Gemm", "LSTM", "LinearAttention", "RNN"})
"""Operators that are products, though no kernel has their name."""

MAX_WIDENED_BYTES = 1 << 20
"""Weights of 8 bits that would take more than this as 32-bit integers stay: their product reads a quarter of the bytes."""

MAX_UNPACKED_BYTES = 1 << 20
"""Packed weights whose values would take more than this stay packed: the kernel that reads them unpacks, and moves fewer bytes."""

TYPE_ONLY = frozenset({"Shape", "Size", "EyeLike"})
"""Operators whose results depend on the types of their operands alone, not on contents."""


def fold(operator: Operator, attrs: object, inputs: Sequence[Value | None], results: Sequence[TensorType]) -> tuple[np.ndarray, ...] | None:
    """Return the results of an operator where they should become constants, None where it should stay a node.

    Args:
        operator: what is applied.
        attrs: its attributes.
        inputs: its operands.
        results: the inferred types of its results.

    Raises:
        InternalError: the operator's truth disagrees with its shape rule.
    """
    operands = [v for v in inputs if v is not None]
    if any(is_symbolic(dim) for v in operands for dim in v.type.shape):
        return None
    if operator.name in TYPE_ONLY:
        arrays = [None if v is None else np.broadcast_to(np.zeros((), v.type.dtype.numpy), v.type.static) for v in inputs]
    elif all(v.constant is not None for v in operands) and _is_worth_it(operator, operands, results):
        arrays = [None if v is None else v.constant for v in inputs]
    else:
        return None
    found = evaluate_operator(operator, attrs, arrays, len(results))
    if len(found) < len(results):
        raise InternalError(f"evaluates to {len(found)} results where its shape rule has {len(results)}", where=operator.name)
    if _is_rearranged(operator, found):
        return None
    return tuple(_as_constant(operator, array, type_) for array, type_ in zip(found, results, strict=False))


def _is_worth_it(operator: Operator, operands: Sequence[Value], results: Sequence[TensorType]) -> bool:
    """Whether folding costs neither much memory nor much time."""
    size = sum(t.bytes for t in results)
    if size > MAX_GROWTH_BYTES and size > sum(v.type.bytes for v in operands):
        return False
    if operator.name == "nautilus::UnpackBits" and size > MAX_UNPACKED_BYTES:
        return False
    if operator.name == "Cast" and results[0].dtype == I32 and operands[0].type.dtype.bits == 8 and size > MAX_WIDENED_BYTES:
        return False
    return not _is_heavy(operator) or work(operator, operands, results) <= MAX_PRODUCT_ELEMENTS


def work(operator: Operator, operands: Sequence[Value], results: Sequence[TensorType]) -> int:
    """Return about how many steps an evaluation takes: elements, and for a product elements of the result times those of an operand.

    What only moves elements is bounded by the memory that it takes.
    """
    if operator.name in TYPE_ONLY or isinstance(operator.lowering, Movement):
        return 0
    made, read = sum(t.elements for t in results), [v.type.elements for v in operands]
    return made * max(read, default=0) if _is_heavy(operator) else made + sum(read)


def _is_heavy(operator: Operator) -> bool:
    """Whether an operator may do more for an element than look at one of each operand."""
    return isinstance(operator.lowering, Anchor) or operator.name in PRODUCTS


def _is_rearranged(operator: Operator, found: Sequence[np.ndarray]) -> bool:
    """Whether the results are large and only another order of an operand: numpy then gives a strided view."""
    return (
        isinstance(operator.lowering, Movement)
        and operator.name == "Transpose"
        and any(array.nbytes > MAX_REARRANGED_BYTES and not array.flags.c_contiguous for array in found)
    )


def _as_constant(operator: Operator, array: np.ndarray, type_: TensorType) -> np.ndarray:
    """Return a dense array that nobody can write, checked against its inferred type."""
    if array.dtype != type_.dtype.numpy or array.shape != type_.static:
        raise InternalError(f"evaluates to {array.dtype}{list(array.shape)}, its shape rule says {type_}", where=operator.name)
    dense = np.asarray(array, order="C").view()
    dense.flags.writeable = False
    return dense
