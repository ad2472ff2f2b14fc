"""Reductions over axes: five that kernels know, and those written in them, as tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import is_symbolic, same
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BOOL, F64, I8, I32, I64, U8, U32, U64, DType, TensorType
from nautilus_cli.ops.checks import first_of, integers, normal_axes, operand, operand_count, optional_contents, optional_operand
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.open_axes import named_dimensions, require_distinct, split_shape, without
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Lowering, MovementContext, Operator, Reduction
from nautilus_cli.ops.view import view
from nautilus_cli.ops.wide import cast, scalar, widen

_SUMMABLE = (*FLOATS, I32, I64, U32, U64)
_COMPARABLE = (*_SUMMABLE, I8, U8, BOOL)


@dataclass(frozen=True, slots=True)
class ReduceAttrs:
    """Attributes of the reductions; before opset 13 or 18 the axes were one."""

    keepdims: int = 1
    noop_with_empty_axes: int = 0
    axes: tuple[int, ...] | None = None


def reduced_axes(attrs: ReduceAttrs, given: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Return the axes to reduce, ascending: none or an empty list stands for all, or for none with noop_with_empty_axes.

    Raises:
        ModelError: an axis is out of range or given twice.
    """
    axes = attrs.axes if given is None else given
    if not axes:
        return () if attrs.noop_with_empty_axes else tuple(range(rank))
    return tuple(sorted(normal_axes(axes, rank)))


def _given_axes(constants: Sequence[np.ndarray | None], types: Sequence[TensorType | None]) -> tuple[int, ...] | None:
    found = optional_contents(constants, types, 1, "axes")
    return None if found is None else integers(found)


def _axes_of(context: MovementContext) -> tuple[int, ...]:
    rank = len(first_of(context.types).shape)
    return reduced_axes(context.attrs, _given_axes(context.constants, context.types), rank)


def _infer_with(allowed: Collection[DType]) -> Callable[[Inference], tuple[TensorType, ...]]:
    def infer(inference: Inference) -> tuple[TensorType, ...]:
        operand_count(inference, 1, 2)
        data = operand(inference, 0, "data", allowed)
        optional_operand(inference, 1, "axes", (I64,))
        given = _given_axes(inference.constants, inference.types)
        if _is_open(given):
            return (TensorType(data.dtype, _open_shape(inference, data.static, given)),)
        axes = reduced_axes(inference.attrs, given, len(data.shape))
        if inference.attrs.keepdims:
            shape = tuple(1 if a in axes else d for a, d in enumerate(data.static))
        else:
            shape = tuple(d for a, d in enumerate(data.static) if a not in axes)
        return (TensorType(data.dtype, shape),)

    return infer


def _is_open(given: Sequence[int] | None) -> TypeGuard[Sequence[int]]:
    """Whether there are axes that only a run knows."""
    return given is not None and any(map(is_symbolic, given))


def _open_shape(inference: Inference, shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, ...]:
    if len(axes) > len(shape):
        raise ModelError(f"{len(axes)} axes are given; the operand has {len(shape)} dimensions")
    require_distinct(inference, axes, len(shape))
    flags = named_dimensions(axes, len(shape))
    if inference.attrs.keepdims:
        return split_shape(shape, flags)[::2]
    return without(shape, flags, len(axes))


Reduced = Callable[[Value, tuple[int, ...], int], Value]
"""Emits a reduction of a value over known axes, with keepdims."""


def _with_known_axes(emitter: Emitter, attrs: ReduceAttrs, operands: tuple[Value | None, ...], reduced: Reduced) -> Value | None:
    """Write a reduction over axes that only a run knows as one over known axes, whose sizes it knows; None where it knows the axes."""
    data = first_of(operands)
    axes = operands[1].contents if len(operands) > 1 and operands[1] is not None else None
    if axes is None:
        return None
    shape = data.type.static
    flags = named_dimensions(integers(axes), len(shape))
    if same(data.type.elements, 0):  # whatever is reduced, it is nothing
        nothing = reduced(emitter.constant(np.zeros((0,), data.type.dtype.numpy)), (0,), 0)
        sizes = split_shape(shape, flags)[::2] if attrs.keepdims else without(shape, flags, axes.size)
        return emitter.node("Expand", [nothing, emitter.sizes(sizes)])
    kept = reduced(view(emitter, data, split_shape(shape, flags)), tuple(range(1, 2 * len(shape), 2)), 0)
    return kept if attrs.keepdims else view(emitter, kept, without(shape, flags, axes.size))


Reduce = Callable[[np.ndarray, tuple[int, ...], bool], np.ndarray]


def _evaluate_with(reduce: Reduce) -> Callable[[Any, tuple[np.ndarray | None, ...], int], tuple[np.ndarray, ...]]:
    def evaluate(attrs: ReduceAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
        data = first_of(arrays)
        given = arrays[1] if len(arrays) > 1 else None
        axes = reduced_axes(attrs, None if given is None else integers(given), data.ndim)
        with np.errstate(all="ignore"):
            return (stored(reduce(widened(data), axes, bool(attrs.keepdims)), data),)

    return evaluate


def _sum(x: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    return np.asarray(np.sum(x, axis=axes, keepdims=keep, dtype=x.dtype))


def _mean(x: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    """Divide by the count; of integers the quotient is cut towards zero.

    The mean of nothing is undefined (ONNX 28, ReduceMean-18): it is 0 here, as onnxruntime has it.
    """
    count = max(1, int(np.prod([x.shape[a] for a in axes], dtype=np.int64)))
    total = _sum(x, axes, keep)
    if x.dtype.kind == "f":
        return np.asarray(total / x.dtype.type(count))
    return np.asarray(np.trunc(np.divide(total, count)) if abs(total).max(initial=0) < 2**53 else total // count).astype(x.dtype)


def _least(dtype: np.dtype[Any]) -> Any:
    """The identity of a maximum."""
    return False if dtype.kind == "b" else -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _greatest(dtype: np.dtype[Any]) -> Any:
    """The identity of a minimum."""
    return True if dtype.kind == "b" else np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def _max(x: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    return np.asarray(np.max(x, axis=axes, keepdims=keep, initial=_least(x.dtype)))


def _min(x: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    return np.asarray(np.min(x, axis=axes, keepdims=keep, initial=_greatest(x.dtype)))


def _prod(x: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    return np.asarray(np.prod(x, axis=axes, keepdims=keep, dtype=x.dtype))


def _l2(x: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    return np.asarray(np.sqrt(_sum(x * x, axes, keep)))


def _log_sum_exp(x: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    top = _max(x, axes, True)
    top = np.where(np.isinf(top), x.dtype.type(0), top)
    total = np.log(_sum(np.exp(x - top), axes, True)) + top
    return total if keep else np.asarray(np.squeeze(total, axes))


def reduction(emitter: Emitter, op: str, value: Value, axes: tuple[int, ...], *, keepdims: int = 1) -> Value:
    """Emit a reduction over known axes; over none, a copy."""
    return emitter.node(op, [value], axes=axes, keepdims=keepdims, noop_with_empty_axes=1)


def _known_axes(attrs: ReduceAttrs, operands: tuple[Value | None, ...]) -> tuple[int, ...]:
    types = [None if v is None else v.type for v in operands]
    constants = [None if v is None else v.constant for v in operands]
    return reduced_axes(attrs, _given_axes(constants, types), len(first_of(types).shape))


Steps = Callable[[Emitter, Value, tuple[int, ...], int], Value]


def _decomposed(steps: Steps) -> Decompose:
    """Compute 16-bit floats in float32 throughout."""

    def build(emitter: Emitter, attrs: ReduceAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        data = first_of(operands)
        result = _with_known_axes(emitter, attrs, operands, lambda x, axes, keep: steps(emitter, widen(emitter, x), axes, keep))
        if result is None:
            result = steps(emitter, widen(emitter, data), _known_axes(attrs, operands), attrs.keepdims)
        return (cast(emitter, result, data.type.dtype),)

    return Decompose(build)


def _l1_steps(emitter: Emitter, x: Value, axes: tuple[int, ...], keep: int) -> Value:
    return reduction(emitter, "ReduceSum", emitter.node("Abs", [x]), axes, keepdims=keep)


def _square_steps(emitter: Emitter, x: Value, axes: tuple[int, ...], keep: int) -> Value:
    return reduction(emitter, "ReduceSum", emitter.node("Mul", [x, x]), axes, keepdims=keep)


def _l2_steps(emitter: Emitter, x: Value, axes: tuple[int, ...], keep: int) -> Value:
    total = _square_steps(emitter, x, axes, keep)
    return emitter.node("Sqrt", [total if total.type.dtype.is_float else cast(emitter, total, F64)])


def _log_sum_steps(emitter: Emitter, x: Value, axes: tuple[int, ...], keep: int) -> Value:
    return emitter.node("Log", [reduction(emitter, "ReduceSum", x, axes, keepdims=keep)])


def _log_sum_exp_steps(emitter: Emitter, x: Value, axes: tuple[int, ...], keep: int) -> Value:
    """Shift by the maximum, so that no exponential overflows; an infinite maximum shifts by nothing."""
    top = reduction(emitter, "ReduceMax", x, axes)
    top = emitter.node("Where", [emitter.node("IsInf", [top]), scalar(emitter, 0, x.type.dtype), top])
    total = reduction(emitter, "ReduceSum", emitter.node("Exp", [emitter.node("Sub", [x, top])]), axes)
    result = emitter.node("Add", [emitter.node("Log", [total]), top])
    if keep or not axes:
        return result
    return emitter.node("Squeeze", [result], axes=axes)


def _normaliser(op: str) -> Callable[[Emitter, Any, tuple[Value | None, ...]], tuple[Value | None, ...] | None]:
    def normalise(emitter: Emitter, attrs: ReduceAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...] | None:
        found = _with_known_axes(emitter, attrs, operands, lambda x, axes, keep: reduction(emitter, op, x, axes, keepdims=keep))
        return None if found is None else (found,)

    return normalise


def _row(name: str, version: int, reduce: Reduce, lowering: Lowering, allowed: Collection[DType] = _SUMMABLE) -> Operator:
    return Operator(
        name=name,
        infer=_infer_with(allowed),
        evaluate=_evaluate_with(reduce),
        lowering=lowering,
        source=f"ONNX 28, {name}-{version}",
        attributes=ReduceAttrs,
        normalise=None if isinstance(lowering, Decompose) else _normaliser(name),
    )


OPERATORS = (
    _row("ReduceSum", 13, _sum, Reduction("sum", _axes_of)),
    _row("ReduceMean", 18, _mean, Reduction("sum", _axes_of, mean=True)),
    _row("ReduceMax", 20, _max, Reduction("max", _axes_of), _COMPARABLE),
    _row("ReduceMin", 20, _min, Reduction("min", _axes_of), _COMPARABLE),
    _row("ReduceProd", 18, _prod, Reduction("prod", _axes_of)),
    _row("ReduceL1", 18, lambda x, axes, keep: _sum(np.abs(x), axes, keep), _decomposed(_l1_steps)),
    _row("ReduceL2", 18, _l2, _decomposed(_l2_steps)),
    _row("ReduceLogSum", 28, lambda x, axes, keep: np.log(_sum(x, axes, keep)), _decomposed(_log_sum_steps), FLOATS),
    _row("ReduceLogSumExp", 28, _log_sum_exp, _decomposed(_log_sum_exp_steps), FLOATS),
    _row("ReduceSumSquare", 18, lambda x, axes, keep: _sum(x * x, axes, keep), _decomposed(_square_steps)),
)
