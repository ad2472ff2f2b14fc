"""Pooling over sliding windows: MaxPool, AveragePool and LpPool."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I8, I64, U8, DType, TensorType
from nautilus_cli.ops.checks import first_of, operand, operand_count
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Anchor, Emitter, Inference, Operator
from nautilus_cli.ops.wide import cast, reshape, scalar, widen
from nautilus_cli.ops.window import Window, require_windows, window


@dataclass(frozen=True, slots=True)
class MaxPoolAttrs:
    """Attributes of MaxPool; in the normal form of all pools every one is given, for two dimensions at least, and auto_pad is NOTSET."""

    kernel_shape: tuple[int, ...]
    auto_pad: str = "NOTSET"
    ceil_mode: int = 0
    dilations: tuple[int, ...] | None = None
    pads: tuple[int, ...] | None = None
    storage_order: int = 0
    strides: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class AveragePoolAttrs:
    """Attributes of AveragePool."""

    kernel_shape: tuple[int, ...]
    auto_pad: str = "NOTSET"
    ceil_mode: int = 0
    count_include_pad: int = 0
    dilations: tuple[int, ...] | None = None
    pads: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class LpPoolAttrs:
    """Attributes of LpPool; in the normal form `p` is 1: powers and root are nodes around a sum of magnitudes."""

    kernel_shape: tuple[int, ...]
    auto_pad: str = "NOTSET"
    ceil_mode: int = 0
    dilations: tuple[int, ...] | None = None
    p: int = 2
    pads: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None


PoolAttrs = MaxPoolAttrs | AveragePoolAttrs | LpPoolAttrs


def pool_window(attrs: PoolAttrs, x: tuple[int, ...]) -> Window:
    """Return the windows of a pool over shape X (batch, channels, spatial).

    Raises:
        ModelError: shape and attributes do not fit together.
    """
    if len(x) < 3:
        raise ModelError(f"operand 'X' has shape {list(x)}; the specification requires batch, channels and spatial dimensions")
    found = window(attrs, x[2:], attrs.kernel_shape, ceil_mode=bool(attrs.ceil_mode))
    for begin, end, kernel, dilation in zip(found.begin, found.end, found.kernel, found.dilations, strict=True):
        if max(begin, end) >= (kernel - 1) * dilation + 1:
            raise ModelError(f"pads is {list(found.pads)} for kernel_shape {list(found.kernel)}: a window could lie in the padding alone")
    return found


def pool_counts(attrs: AveragePoolAttrs, found: Window) -> np.ndarray:
    """Return by how many elements each window of an AveragePool divides, shaped as the windows."""
    ones = np.ones(found.sizes, np.int64)
    if attrs.count_include_pad:
        ones = np.pad(ones, list(zip(found.begin, found.end, strict=True)), constant_values=1)
        found = replace(found, sizes=ones.shape, begin=(0,) * ones.ndim, end=(0,) * ones.ndim)
    return np.asarray(sum(seen for _, seen in found.positions(found.padded(ones, 0))))


def _infer_with(allowed: Collection[DType]) -> Callable[[Inference], tuple[TensorType, ...]]:
    def infer(inference: Inference) -> tuple[TensorType, ...]:
        operand_count(inference, 1, 1)
        x = operand(inference, 0, "X", allowed)
        if getattr(inference.attrs, "p", 1) < 1:
            raise ModelError(f"p is {inference.attrs.p}; the specification requires a norm, of 1 at least")
        found = pool_window(inference.attrs, x.static)
        require_windows(inference, found)
        shape = (*x.static[:2], *found.results)
        return (TensorType(x.dtype, shape), TensorType(I64, shape))[: inference.outputs]

    return infer


def _evaluate_max(attrs: MaxPoolAttrs, arrays: tuple[np.ndarray | None, ...], outputs: int) -> tuple[np.ndarray, ...]:
    x = first_of(arrays)
    found = pool_window(attrs, x.shape)
    wide = widened(x)
    lowest = -np.inf if wide.dtype.kind == "f" else np.iinfo(wide.dtype).min
    padded = found.padded(wide, lowest)
    result = np.full((*x.shape[:2], *found.results), lowest, wide.dtype)
    for _, seen in found.positions(padded):
        result = np.maximum(result, seen)
    if outputs == 1:
        return (stored(result, x),)
    return stored(result, x), _first_places(attrs, found, padded, result, x.shape)


def _first_places(attrs: MaxPoolAttrs, found: Window, padded: np.ndarray, result: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return where in the flat operand each maximum is first met."""
    flat = np.arange(np.prod(found.sizes), dtype=np.int64)
    plane = flat.reshape(found.sizes[::-1]).T if attrs.storage_order else flat.reshape(found.sizes)
    numbers = found.padded(plane, -1)
    places = np.full(result.shape, -1, np.int64)
    for (_, seen), (_, number) in zip(found.positions(padded), found.positions(numbers), strict=True):
        places = np.where((places < 0) & (number >= 0) & ((seen == result) | (seen != seen)), number, places)
    base = np.arange(shape[0] * shape[1], dtype=np.int64).reshape(*shape[:2], *(1 for _ in found.sizes)) * plane.size
    return np.asarray(places + base)


def _evaluate_average(attrs: AveragePoolAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x = first_of(arrays)
    found = pool_window(attrs, x.shape)
    padded = found.padded(widened(x), 0)
    total = np.asarray(sum(seen for _, seen in found.positions(padded)))
    return (stored(total / pool_counts(attrs, found).astype(padded.dtype), x),)


def _evaluate_lp(attrs: LpPoolAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x = first_of(arrays)
    found = pool_window(attrs, x.shape)
    padded = found.padded(np.abs(widened(x)), 0)
    with np.errstate(all="ignore"):
        total = np.asarray(sum(seen**attrs.p for _, seen in found.positions(padded)))
        return (stored(total ** total.dtype.type(1 / attrs.p), x),)


def _normalise_with(name: str) -> Callable[[Emitter, Any, tuple[Value | None, ...]], tuple[Value | None, ...] | None]:
    def normalise(emitter: Emitter, attrs: PoolAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...] | None:
        """Make one spatial dimension two, and every attribute explicit."""
        x = first_of(operands)
        found = pool_window(attrs, x.type.static)
        line = len(found.sizes) == 1
        one, zero = ((1,), (0,)) if line else ((), ())
        full = replace(
            attrs,
            auto_pad="NOTSET",
            ceil_mode=0 if attrs.auto_pad.startswith("SAME") else attrs.ceil_mode,  # SAME gives the number of windows itself
            kernel_shape=(*one, *found.kernel),
            strides=(*one, *found.strides),
            dilations=(*one, *found.dilations),
            pads=(*zero, *found.begin, *zero, *found.end),
        )
        if full == attrs:
            return None
        operand = reshape(emitter, x, (*x.type.static[:2], 1, x.type.static[2])) if line else x
        results = emitter.results(name, [operand], 2 if name == "MaxPool" else 1, full)
        return tuple(reshape(emitter, result, (*x.type.static[:2], *found.results)) for result in results)

    return normalise


def _normalise_lp(emitter: Emitter, attrs: LpPoolAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...] | None:
    """Raise to the power before the window, and take the root behind it, both in the wide type."""
    if attrs.p == 1:
        return _normalise_with("LpPool")(emitter, attrs, operands)
    x = first_of(operands)
    wide = widen(emitter, x)
    dtype = wide.type.dtype
    if attrs.p == 2:
        total = emitter.node("LpPool", [emitter.node("Mul", [wide, wide])], replace(attrs, p=1))
        root = emitter.node("Sqrt", [total])
    else:
        powers = emitter.node("Pow", [emitter.node("Abs", [wide]), scalar(emitter, attrs.p, dtype)])
        total = emitter.node("LpPool", [powers], replace(attrs, p=1))
        root = emitter.node("Pow", [total, scalar(emitter, 1 / attrs.p, dtype)])
    return (cast(emitter, root, x.type.dtype),)


Normalise = Callable[[Emitter, Any, tuple[Value | None, ...]], tuple[Value | None, ...] | None]


def _row(
    name: str,
    evaluate: Callable[..., tuple[np.ndarray, ...]],
    attributes: type,
    since: int,
    allowed: Collection[DType],
    normalise: Normalise | None = None,
) -> Operator:
    return Operator(
        name=name,
        infer=_infer_with(allowed),
        evaluate=evaluate,
        lowering=Anchor("pool", prologue=(0,), results=2 if name == "MaxPool" else 1, slides_windows=True),
        source=f"ONNX 28, {name}-22",
        attributes=attributes,
        since=since,
        normalise=normalise or _normalise_with(name),
    )


OPERATORS = (
    _row("MaxPool", _evaluate_max, MaxPoolAttrs, 1, (*FLOATS, I8, U8)),
    _row("AveragePool", _evaluate_average, AveragePoolAttrs, 1, FLOATS),
    _row("LpPool", _evaluate_lp, LpPoolAttrs, 2, FLOATS, _normalise_lp),
)
