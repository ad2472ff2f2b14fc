"""Contents that are known as expressions: small integer tensors made of shapes, which decide other shapes.

A tensor of this kind is an array of objects: Python integers and symbolic ones. Operators that only move elements run on numbers of their
elements; arithmetic is that of the symbolic integers. What no rule here covers is a tensor like any other.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.counts import counts_in
from nautilus_cli.ir.dims import Float, Symbolic, is_symbolic, lower, upper
from nautilus_cli.ir.floats import is_float, of_float
from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.indicators import at_most, chosen, equal, less
from nautilus_cli.ir.overlong import OverlongError
from nautilus_cli.ir.substitution import substitute_float
from nautilus_cli.ir.types import DType, TensorType
from nautilus_cli.ir.undecided import UndecidedError
from nautilus_cli.ops.evaluate import evaluate_operator
from nautilus_cli.ops.float_contents import computed
from nautilus_cli.ops.operands import depends_on_values
from nautilus_cli.ops.spec import Operator

MOST_ELEMENTS = 256
"""Elements of a tensor whose contents are followed; shapes have fewer."""

HOST_LOWEST, HOST_HIGHEST = -(1 << 63), (1 << 63) - 1
"""What the host computes with when a run begins."""

_EXACT_FLOAT = 1 << 24
"""Integers up to this have an exact float32. Source: IEEE 754-2019, 3.3."""

_BY_AXES = (
    "CumProd",
    "CumSum",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Squeeze",
    "Unsqueeze",
)

READERS: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(_BY_AXES, (1,)),
    "AffineGrid": (1,),
    "Col2Im": (1, 2),
    "ConstantOfShape": (0,),
    "DFT": (1, 2),
    "Expand": (1,),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1),
    "OneHot": (1,),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (2, 3),
    "STFT": (1, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "com.microsoft::Pad": (1,),
    "com.microsoft::Range": (0, 1, 2),
}
"""Operands that decide a shape and may be symbolic: the operator's rules compute with them as they do with numbers."""

_MOVED: Mapping[str, tuple[int, ...] | None] = {
    "Concat": None,
    "Expand": (0,),
    "Flatten": (0,),
    "Gather": (0,),
    "GatherElements": (0,),
    "GatherND": (0,),
    "Identity": (0,),
    "Reshape": (0,),
    "Slice": (0,),
    "Split": (0,),
    "Squeeze": (0,),
    "Tile": (0,),
    "Transpose": (0,),
    "Unsqueeze": (0,),
    "Where": (1, 2),
}
"""Operators each result element of which is an element of one of these operands (None: of any)."""


def _divided(a: int, b: int) -> int | None:
    """Return a quotient rounded towards zero, which that rounded down is where both are positive."""
    if upper(b) < 0:
        a, b = -a, -b
    if lower(b) <= 0:
        return None
    if lower(a) >= 0:
        return a // b
    return -(-a // b) if upper(a) <= 0 else chosen(less(a, 0), -(-a // b), a // b)


def _remainder(a: int, b: int) -> int | None:
    """Return a remainder with the divisor's sign."""
    if upper(b) < 0:
        return -(-a % -b)
    return a % b if lower(b) > 0 else None


def _magnitude(a: int) -> int:
    return a if lower(a) >= 0 else maximum(a, -a)


_ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "Abs": _magnitude,
    "Add": python.add,
    "Div": _divided,
    "Equal": python.eq,
    "Greater": python.gt,
    "GreaterOrEqual": python.ge,
    "Less": python.lt,
    "LessOrEqual": python.le,
    "Max": maximum,
    "Min": minimum,
    "Mod": _remainder,
    "Mul": python.mul,
    "Neg": python.neg,
    "Sub": python.sub,
}
"""Elementwise integer functions; None where the result is no integer expression."""

_COMPARISONS: Mapping[str, Callable[[int, int], int]] = {
    "Equal": equal,
    "Greater": lambda a, b: less(b, a),
    "GreaterOrEqual": lambda a, b: at_most(b, a),
    "Less": less,
    "LessOrEqual": at_most,
}
"""The same as indicators, for values of inputs: these are data as well, so that nothing else needs a decision."""

_REDUCTIONS: Mapping[str, Callable[[Sequence[int]], int]] = {
    "ReduceMax": lambda values: maximum(*values),
    "ReduceMin": lambda values: minimum(*values),
    "ReduceProd": prod,
    "ReduceSum": sum,
}


def readable(op: str, index: int, value: Value | None) -> np.ndarray | None:
    """Return what a rule of operator OP may know of its operand: a constant, or an expression where the rule can compute with one."""
    if value is None or value.constant is not None:
        return None if value is None else value.constant
    return value.contents if index in READERS.get(op, ()) else None


def contents(
    operator: Operator, attrs: Any, inputs: Sequence[Value | None], results: Sequence[TensorType]
) -> tuple[np.ndarray, ...] | None:
    """Return the contents of an operator's results as arrays of objects, None where they are not known.

    Args:
        operator: what is applied.
        attrs: its attributes.
        inputs: its operands.
        results: the inferred types of its results.
    """
    if operator.name == "Shape":
        return (_objects(_dims(inputs[0])[attrs.start : attrs.end], results[0]),)
    if operator.name == "Size":
        return (_objects([prod(_dims(inputs[0]))], results[0]),)
    if not any(v is not None and v.contents is not None for v in inputs):
        return None
    if any(v is not None and (v.constant is None and v.contents is None) for v in inputs):
        return None
    if any(any(is_symbolic(d) for d in t.shape) or t.elements > MOST_ELEMENTS for t in results):
        return None
    if operator.name == "Where" and inputs[0] is not None and inputs[0].contents is not None:
        return _chosen(inputs, results)
    if operator.name in _MOVED:
        return _moved(operator, attrs, inputs, results)
    try:
        found = _computed(operator.name, attrs, inputs, results)
        return None if found is None else _as_types_hold(found, results)
    except (UndecidedError, OverlongError):
        return None


def may_wrap(found: Sequence[np.ndarray], results: Sequence[TensorType]) -> bool:
    """Whether a number that follows from dimensions may be beyond its type: as data it wraps around, as a size it is refused."""
    for array, type_ in zip(found, results, strict=True):
        if type_.dtype.kind not in ("int", "uint"):
            continue
        low, high = type_.dtype.limits
        if any(not is_float(v) and (lower(v) < low or upper(v) > high) for v in array.reshape(-1).tolist()):
            return True
    return False


def _as_types_hold(found: tuple[np.ndarray, ...], results: Sequence[TensorType]) -> tuple[np.ndarray, ...] | None:
    """Return contents whose plain integers wrap around as in kernels; None where the host cannot compute with an expression.

    An expression that values of inputs or kernels decide stays as it is: what a run makes sure of is known of these (`element_limits.py`).
    """
    held = []
    for array, type_ in zip(found, results, strict=True):
        values = array.reshape(-1).tolist()
        if type_.dtype.kind in ("int", "uint"):
            low, bits = type_.dtype.limits[0], type_.dtype.bits
            values = [v if is_symbolic(v) or is_float(v) else (v - low) % (1 << bits) + low for v in values]
            if any(isinstance(v, Symbolic) and not depends_on_values(v) and not counts_in(v) and _is_beyond_host(v) for v in values):
                return None
        held.append(_objects(values, type_))
    return tuple(held)


def _is_beyond_host(value: Symbolic) -> bool:
    """Whether a number of 64 bits may not hold an expression, or one of its coefficients."""
    extremes = (value.low, value.high, *(coefficient for _, coefficient in value.terms))
    return min(extremes) < HOST_LOWEST or max(extremes) > HOST_HIGHEST


def _dims(value: Value | None) -> tuple[int, ...]:
    assert value is not None
    return value.type.static


def bound_contents(array: np.ndarray | None, sizes: Mapping[str, int]) -> np.ndarray | None:
    """Return contents with symbols replaced by sizes, or by other expressions; constants as they are."""
    if array is None or array.dtype != object:
        return array
    found = array.copy()
    found.reshape(-1)[:] = [substitute_float(value, sizes) for value in array.reshape(-1)]
    return found


def as_constant(array: np.ndarray, dtype: DType) -> np.ndarray | None:
    """Return contents as an array of numbers, None where one of them is known only when the model runs."""
    if any(is_symbolic(v) or is_float(v) for v in array.reshape(-1)):
        return None
    found = array.astype(dtype.numpy)
    found.flags.writeable = False
    return found


def _objects(values: Sequence[Float], type_: TensorType) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    array = array.reshape(type_.static)
    array.flags.writeable = False
    return array


def _elements(value: Value) -> np.ndarray | None:
    """Return the contents of an operand, those of a constant included, as objects; None where one is no number for the host."""
    if value.constant is None:
        return value.contents
    if value.constant.size > MOST_ELEMENTS:
        return None
    try:
        return _objects([of_float(v) if isinstance(v, float) else int(v) for v in value.constant.reshape(-1).tolist()], value.type)
    except ModelError:
        return None


def _moved(operator: Operator, attrs: Any, inputs: Sequence[Value | None], results: Sequence[TensorType]) -> tuple[np.ndarray, ...] | None:
    """Number all elements of the operands that move, let the operator move the numbers, and read off the elements."""
    data = _MOVED[operator.name]
    arrays: list[np.ndarray | None] = []
    elements: list[int] = []
    for index, value in enumerate(inputs):
        if value is None or (data is not None and index not in data):
            if value is not None and value.constant is None:
                return None  # it moves by what is not known
            arrays.append(None if value is None else value.constant)
            continue
        own = _elements(value)
        if own is None:
            return None
        arrays.append(np.arange(len(elements), len(elements) + own.size, dtype=np.int64).reshape(own.shape))
        elements += own.reshape(-1).tolist()
    found = evaluate_operator(operator, attrs, arrays, len(results))
    return tuple(_objects([elements[i] for i in array.reshape(-1)], type_) for array, type_ in zip(found, results, strict=False))


def _chosen(inputs: Sequence[Value | None], results: Sequence[TensorType]) -> tuple[np.ndarray, ...] | None:
    """Return elements of two operands as a condition of indicators says."""
    operands = [None if v is None else _elements(v) for v in inputs]
    known = [array for array in operands if array is not None]
    if len(known) < len(operands) or any(map(is_float, (v for array in known for v in array.reshape(-1)))):
        return None
    rows = zip(*(array.reshape(-1).tolist() for array in np.broadcast_arrays(*known)), strict=True)
    return (_objects([chosen(*row) for row in rows], results[0]),)


def _computed(name: str, attrs: Any, inputs: Sequence[Value | None], results: Sequence[TensorType]) -> tuple[np.ndarray, ...] | None:
    operands = [None if v is None else _elements(v) for v in inputs]
    known = [array for array in operands if array is not None]
    (type_, *others) = results
    if len(known) < len(operands) or others:
        return None
    if any(map(is_float, (v for array in known for v in array.reshape(-1)))) or (name == "Div" and type_.dtype.is_float):
        rows = list(zip(*(array.reshape(-1).tolist() for array in np.broadcast_arrays(*known)), strict=True))
        floats = computed(name, rows, _dtype(inputs[0]), type_.dtype)
        return None if floats is None else (_objects(floats, type_),)
    if name in ("Cast", "CastLike"):
        values = known[0].reshape(-1).tolist()
        is_exact = type_.dtype.kind in ("int", "uint") or (type_.dtype.is_float and all(_is_exact(v) for v in values))
        if is_exact and type_.dtype.bits >= 32:
            return (_objects(values, type_),)
        floats = computed(name, [(v,) for v in values], _dtype(inputs[0]), type_.dtype) if type_.dtype.is_float else None
        return None if floats is None else (_objects(floats, type_),)
    if name in ("Floor", "Ceil"):
        return (known[0],)
    if name in _REDUCTIONS:
        return (_objects([_REDUCTIONS[name](known[0].reshape(-1).tolist())], type_),) if type_.elements == 1 else None
    function = _ARITHMETIC.get(name)
    if function is None or (name == "Mod" and attrs.fmod):
        return None
    columns = [array.reshape(-1).tolist() for array in np.broadcast_arrays(*known)]
    if name in _COMPARISONS and any(map(depends_on_values, (v for column in columns for v in column))):
        function = _COMPARISONS[name]
    values = [function(*row) for row in zip(*columns, strict=True)]
    if any(v is None for v in values) or (type_.dtype.is_float and not all(map(_is_exact, values))):
        return None
    return (_objects(values, type_),)


def _dtype(value: Value | None) -> DType:
    assert value is not None
    return value.type.dtype


def _is_exact(value: int) -> bool:
    return lower(value) >= -_EXACT_FLOAT and upper(value) <= _EXACT_FLOAT
