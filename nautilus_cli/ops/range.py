"""Range: an arithmetic progression."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.constructors import rounded
from nautilus_cli.ir.dims import FloatOperation, is_symbolic, lower, same, upper
from nautilus_cli.ir.floats import is_float, of_float
from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.indicators import equal, less
from nautilus_cli.ir.types import BF16, F16, F32, F64, I16, I32, I64, TensorType, dtype_of
from nautilus_cli.ops.checks import contents, integers, known, operand, operand_count, required, same_dtype
from nautilus_cli.ops.element_types import stash_dtype
from nautilus_cli.ops.numbers import real
from nautilus_cli.ops.operands import DEFAULT_MOST
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import cast, reshape, widen

_ALLOWED = (F32, F64, I16, I32, I64, F16, BF16)
_NAMES = ("start", "limit", "delta")

MOST_ELEMENTS = 1 << 20
"""Of a progression whose length is open: positions in a sequence are far fewer."""


_FURTHEST = 1 << 30
"""A number beyond, which only a run knows, may be the nearest that stands for it (`ops/operands.py`)."""

_NO_LESS = 1 << 62
"""A progression that runs the other way has no element, however far it would."""


@dataclass(frozen=True, slots=True)
class RangeAttrs:
    """Attributes of Range; 16-bit floats are computed in float32 whatever `stash_type` says."""

    stash_type: int = 1


def _count(start: np.ndarray, limit: np.ndarray, delta: np.ndarray) -> int:
    """Return the number of elements. Source: ONNX 28, Range-27: max(ceil((limit - start) / delta), 0)."""
    elements = [a.reshape(-1).tolist() for a in (start, limit, delta)]
    if any(is_float(element) for (element,) in elements):
        begin, end, by = (of_float(element) if isinstance(element, float) else element for (element,) in elements)
        steps = FloatOperation("divide", FloatOperation("subtract", end, begin), by)
        return maximum(0, rounded(steps, "ceil", -_NO_LESS, DEFAULT_MOST[0], "the number of elements of a Range"))
    if any(a.dtype == object for a in (start, limit, delta)):
        count = _open_count(start, limit, delta)
        return count if upper(count) <= MOST_ELEMENTS else minimum(count, DEFAULT_MOST[0])
    first, last, step = (a.reshape(()).item() for a in map(widened, (start, limit, delta)))
    if step == 0 or step != step:
        raise ModelError(f"delta is {step}; the specification requires a step other than 0")
    return max(0, int(-((first - last) // step)) if isinstance(step, int) else ceil((last - first) / step))


def _open_count(start: np.ndarray, limit: np.ndarray, delta: np.ndarray) -> int:
    """Return the number of elements of integers, of which a run knows some."""
    begin, end, by = integers(np.stack([np.asarray(a, object).reshape(()) for a in (start, limit, delta)]))
    if same(by, 0):
        raise ModelError("delta is 0; the specification requires a step other than 0")
    distance = (1 - 2 * less(by, 0)) * (end - begin)
    return maximum(0, -(-distance // maximum(1, by, -by)))


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 3)
    types = [operand(inference, i, n, _ALLOWED) for i, n in enumerate(_NAMES)]
    for name, type_ in zip(_NAMES, types, strict=True):
        same_dtype(types[0], type_, name)
        if type_.elements != 1:
            raise ModelError(f"operand '{name}' has shape {list(type_.static)}; the specification requires a scalar")
    stash_dtype(inference.attrs.stash_type)
    values = [contents(inference.constants, i, n) for i, n in enumerate(_NAMES)]
    if any(is_symbolic(value.item()) for value in values):
        _require(inference, values)
    return (TensorType(types[0].dtype, (_count(*values),)),)


def _require(inference: Inference, values: list[np.ndarray]) -> None:
    """Let a run make sure that the numbers are a progression of no more elements than there is a table for."""
    for name, value in zip(_NAMES, values, strict=True):
        inference.require(value.item(), -_FURTHEST, _FURTHEST, name)
    inference.require(equal(values[2].item(), 0), 0, 0, "whether delta is 0")
    count = _open_count(*values)
    if upper(count) > MOST_ELEMENTS:
        inference.require(count, 0, DEFAULT_MOST[0], "the number of elements")


def _evaluate(_attrs: RangeAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    start, limit, delta = required(arrays)
    dtype = dtype_of(start).compute.numpy
    steps = np.arange(_count(start, limit, delta)).astype(dtype)
    return (stored(widened(start).reshape(()) + steps * widened(delta).reshape(()), start),)


def _build(emitter: Emitter, _attrs: RangeAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Cut a progression from the longest that it can be, which is a constant; step and first element are applied where they are open."""
    start, limit, delta = required(operands)
    count = _count(*required(known((start, limit, delta))))
    if upper(count) > MOST_ELEMENTS:
        raise ModelError(f"has up to {upper(count)} elements, of which the library would hold a table", hint="Give a narrower range.")
    dtype = start.type.dtype
    begin = start.constant if start.constant is not None and delta.constant is not None else np.zeros((), dtype.numpy)
    step = delta.constant if delta.constant is not None else np.ones((), dtype.numpy)
    # A table longer than its part, so that the part is COUNT elements long whatever the bounds of that are.
    steps = np.arange(upper(count) + (1 if is_symbolic(count) and lower(count) == upper(count) else 0)).astype(dtype.compute.numpy)
    steps = widened(begin).reshape(()) + steps * widened(step).reshape(())
    is_whole = start.constant is not None and delta.constant is not None
    table = emitter.constant(stored(steps, begin) if is_whole else steps)
    cut = emitter.node("Slice", [table, emitter.sizes([0]), emitter.sizes([count])])
    if delta.constant is None:
        cut = emitter.node("Mul", [cut, _scalar(emitter, delta)])
    if not is_whole:
        cut = emitter.node("Add", [cut, _scalar(emitter, start)])
    return (cast(emitter, cut, dtype),)


def _scalar(emitter: Emitter, value: Value) -> Value:
    """Return an operand as a scalar in the type in which it is computed, read as data where its contents are a float's."""
    element = None if value.contents is None else value.contents.item()
    if element is not None and is_float(element):
        return real(emitter, element, value.type.dtype.compute)
    return reshape(emitter, widen(emitter, value), ())


OPERATOR = Operator(
    name="Range",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, Range-27",
    attributes=RangeAttrs,
    since=11,
)
