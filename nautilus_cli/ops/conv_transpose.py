"""ConvTranspose: the gradient of a convolution, as an operator of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import one_of, operand, operand_count, optional_operand, same_dtype
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.explicit_convolution import explicit_convolution
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Anchor, Emitter, Inference, Operator
from nautilus_cli.ops.window import AUTO_PADS, one_each


@dataclass(frozen=True, slots=True)
class ConvTransposeAttrs:
    """Attributes of ConvTranspose.

    In the normal form every one but output_shape is given, auto_pad is NOTSET, there are two spatial dimensions at least and no bias.
    `output_padding` is then whatever the result has beyond what the windows reach.
    """

    auto_pad: str = "NOTSET"
    dilations: tuple[int, ...] | None = None
    group: int = 1
    kernel_shape: tuple[int, ...] | None = None
    output_padding: tuple[int, ...] | None = None
    output_shape: tuple[int, ...] | None = None
    pads: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How elements of the operand reach results: element i adds to result i · stride + tap · dilation - begin, where there is one.

    Every tuple has one number a spatial dimension.

    Attributes:
        sizes: of the operand.
        kernel: taps.
        strides: distance of what neighbouring elements reach.
        dilations: distance of what neighbouring taps reach.
        begin: results cut off before the first.
        results: of the result.
    """

    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    results: tuple[int, ...]

    @property
    def reach(self) -> tuple[int, ...]:
        """One past the last result that an element reaches, counted from the first that one does."""
        numbers = zip(self.sizes, self.kernel, self.strides, self.dilations, strict=True)
        return tuple((n - 1) * s + (k - 1) * d + 1 for n, k, s, d in numbers)


def spread(attrs: ConvTransposeAttrs, x: tuple[int, ...], w: tuple[int, ...]) -> Spread:
    """Return how a transposed convolution of shapes X (batch, channels, spatial) and W (channels, out channels a group, kernel) spreads.

    Raises:
        ModelError: shapes and attributes do not fit together.

    Source: ONNX 28, ConvTranspose-22. Padding that output_shape or SAME would make negative is none, as in onnxruntime and the cases of
    the specification: the result is then longer at its end.
    """
    if len(x) < 3 or len(w) != len(x):
        raise ModelError(f"operands have shapes {list(x)} and {list(w)}; the specification requires batch, channels and spatial dimensions")
    if attrs.kernel_shape and attrs.kernel_shape != w[2:]:
        raise ModelError(f"kernel_shape is {list(attrs.kernel_shape)}, but operand 'W' has shape {list(w)}")
    if attrs.group < 1 or x[1] != w[0] or x[1] % attrs.group:
        raise ModelError(
            f"group is {attrs.group} for operands of shapes {list(x)} and {list(w)}; "
            "the specification requires equally many channels of both, which group divides"
        )
    rank, sizes, kernel = len(x) - 2, x[2:], w[2:]
    if 0 in sizes or 0 in kernel:
        raise ModelError(f"operands have shapes {list(x)} and {list(w)}; spatial dimensions must not be empty")
    strides, dilations = one_each(attrs.strides, rank, "strides"), one_each(attrs.dilations, rank, "dilations")
    extra = _numbers(attrs.output_padding, rank, "output_padding")
    mode = one_of(attrs.auto_pad or "NOTSET", AUTO_PADS, "auto_pad")
    pads = _numbers(attrs.pads if mode == "NOTSET" else None, 2 * rank, "pads")
    wanted = attrs.output_shape
    if wanted is None and mode.startswith("SAME"):
        wanted = tuple(n * s for n, s in zip(sizes, strides, strict=True))
    found = Spread(sizes=sizes, kernel=kernel, strides=strides, dilations=dilations, begin=pads[:rank], results=())
    whole = tuple(r + e for r, e in zip(found.reach, extra, strict=True))
    if wanted is None:
        results = tuple(n - b - e for n, b, e in zip(whole, pads[:rank], pads[rank:], strict=True))
        if any(result < 1 for result in results):
            raise ModelError(f"pads is {list(pads)}, which leaves nothing of {list(whole)}")
        return replace(found, results=results)
    results = wanted[-rank:]  # some exporters write batch and channels as well
    if len(wanted) not in (rank, rank + 2) or any(result < 1 for result in results):
        raise ModelError(f"output_shape is {list(wanted)} for {rank} spatial dimensions; the specification requires one positive size each")
    total = [maximum(0, n - r) for n, r in zip(whole, results, strict=True)]
    return replace(found, begin=tuple(t // 2 if mode == "SAME_UPPER" else t - t // 2 for t in total), results=results)


def _numbers(values: tuple[int, ...] | None, count: int, name: str) -> tuple[int, ...]:
    if not values:
        return (0,) * count
    if len(values) != count or min(values) < 0:
        raise ModelError(f"{name} is {list(values)}; the specification requires {count} numbers, none negative")
    return values


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 3)
    x, w = operand(inference, 0, "X", FLOATS), operand(inference, 1, "W", FLOATS)
    bias = optional_operand(inference, 2, "B", FLOATS)
    same_dtype(x, w, "W")
    same_dtype(x, bias, "B")
    found = spread(inference.attrs, x.static, w.static)
    channels = w.static[1] * inference.attrs.group
    if bias is not None and bias.static != (channels,):
        raise ModelError(f"operand 'B' has shape {list(bias.static)}; the specification requires {[channels]}")
    return (TensorType(x.dtype, (x.static[0], channels, *found.results)),)


def _evaluate(attrs: ConvTransposeAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    """Add a matrix product for each tap to the results that it reaches."""
    x, w, bias = (*arrays, None)[:3]
    assert x is not None
    assert w is not None
    found = spread(attrs, x.shape, w.shape)
    batch, group, channels = x.shape[0], attrs.group, w.shape[1]
    elements = widened(x).reshape(batch, group, x.shape[1] // group, int(np.prod(found.sizes)))
    weights = widened(w).reshape(group, x.shape[1] // group, channels, *found.kernel)
    whole = [max(reach, b + r) for reach, b, r in zip(found.reach, found.begin, found.results, strict=True)]
    result = np.zeros((batch, group, channels, *whole), elements.dtype)
    with np.errstate(all="ignore"):
        for place in product(*(range(k) for k in found.kernel)):
            element: tuple[Any, ...] = (..., *place)
            part = weights[element].swapaxes(1, 2) @ elements
            numbers = zip(place, found.dilations, found.sizes, found.strides, strict=True)
            reached: tuple[Any, ...] = (..., *(slice(k * d, k * d + (n - 1) * s + 1, s) for k, d, n, s in numbers))
            result[reached] += part.reshape(batch, group, channels, *found.sizes)
    kept: tuple[Any, ...] = (..., *(slice(b, b + r) for b, r in zip(found.begin, found.results, strict=True)))
    result = result[kept].reshape(batch, group * channels, *found.results)
    if bias is not None:
        result = result + widened(bias).reshape(-1, *(1 for _ in found.results))
    return (stored(result, x),)


def _normalise(emitter: Emitter, attrs: ConvTransposeAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...] | None:
    """Make the bias an addition, one spatial dimension two, and every attribute explicit."""
    x, w = operands[:2]
    assert x is not None
    assert w is not None
    found = spread(attrs, x.type.static, w.type.static)
    line = len(found.sizes) == 1
    one, zero = ((1,), (0,)) if line else ((), ())
    # What padding at the end cuts off, or what lies beyond all that is reached.
    rest = [reach - b - r for reach, b, r in zip(found.reach, found.begin, found.results, strict=True)]
    full = replace(
        attrs,
        auto_pad="NOTSET",
        output_shape=None,
        kernel_shape=(*one, *found.kernel),
        strides=(*one, *found.strides),
        dilations=(*one, *found.dilations),
        pads=(*zero, *found.begin, *zero, *(max(0, n) for n in rest)),
        output_padding=(*zero, *(max(0, -n) for n in rest)),
    )
    return explicit_convolution(emitter, "ConvTranspose", attrs, full, operands)


OPERATOR = Operator(
    name="ConvTranspose",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor("conv_transpose", prologue=(0,), slides_windows=True),
    source="ONNX 28, ConvTranspose-22",
    attributes=ConvTransposeAttrs,
    normalise=_normalise,
)
