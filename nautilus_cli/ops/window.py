"""Sliding windows of convolution and pooling: kernel, stride, dilation and padding, with every default resolved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import lower, upper
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.occurrences import follows_from_values
from nautilus_cli.ops.checks import one_of
from nautilus_cli.ops.spec import Inference

AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


class WindowAttrs(Protocol):
    """The attributes that convolution and pooling share."""

    @property
    def auto_pad(self) -> str:
        """How padding is found where `pads` does not give it."""
        ...

    @property
    def dilations(self) -> tuple[int, ...] | None:
        """Distance of neighbouring kernel elements."""
        ...

    @property
    def pads(self) -> tuple[int, ...] | None:
        """Padding before each spatial dimension, then after each."""
        ...

    @property
    def strides(self) -> tuple[int, ...] | None:
        """Distance of neighbouring windows."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """How windows run over the spatial dimensions; every tuple has one element a dimension.

    Attributes:
        sizes: of the operand.
        kernel: kernel elements.
        strides: distance of windows.
        dilations: distance of kernel elements.
        begin: padding before.
        end: padding after.
        results: number of windows.
        asked: numbers of windows that values of inputs decide: a run makes sure of each that there is one (`require_windows`).
    """

    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    results: tuple[int, ...]
    asked: tuple[int, ...] = ()

    @property
    def pads(self) -> tuple[int, ...]:
        """The padding as ONNX writes it."""
        return (*self.begin, *self.end)

    def padded(self, array: np.ndarray, fill: float | int) -> np.ndarray:
        """Return ARRAY, whose last dimensions are the spatial ones, padded with FILL to all that the windows reach."""
        reach = [(r - 1) * s + (k - 1) * d + 1 for r, s, k, d in zip(self.results, self.strides, self.kernel, self.dilations, strict=True)]
        after = [max(e, n - b - size) for e, n, b, size in zip(self.end, reach, self.begin, self.sizes, strict=True)]
        return np.pad(array, [(0, 0)] * (array.ndim - len(self.sizes)) + list(zip(self.begin, after, strict=True)), constant_values=fill)

    def positions(self, padded: np.ndarray) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
        """Yield for each kernel element its place and a view of the elements of a padded array that it meets, one a window."""
        for place in product(*(range(k) for k in self.kernel)):
            numbers = zip(place, self.dilations, self.results, self.strides, strict=True)
            slices: tuple[Any, ...] = (..., *(slice(k * d, k * d + (r - 1) * s + 1, s) for k, d, r, s in numbers))
            yield place, padded[slices]


def window(attrs: WindowAttrs, sizes: tuple[int, ...], kernel: tuple[int, ...], *, ceil_mode: bool = False) -> Window:
    """Return the windows of a kernel over spatial dimensions of SIZES.

    Raises:
        ModelError: an attribute does not fit, or no window does.

    With auto_pad VALID and ceil_mode the text of ONNX does not count a window that is cut off at the end; its shape inference and
    onnxruntime do, and so does this.

    Source: ONNX 28, AveragePool-22 and Conv-22 (output shapes and auto_pad).
    """
    rank = len(sizes)
    strides = one_each(attrs.strides, rank, "strides")
    dilations = one_each(attrs.dilations, rank, "dilations")
    if len(kernel) != rank or min(kernel, default=1) < 1:
        raise ModelError(f"kernel_shape is {list(kernel)} for {rank} spatial dimensions; the specification requires one positive size each")
    spans = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True))
    mode = one_of(attrs.auto_pad or "NOTSET", AUTO_PADS, "auto_pad")
    begin, end, results, asked = [], [], [], []
    for place, (size, stride, span) in enumerate(zip(sizes, strides, spans, strict=True)):
        if mode in ("SAME_UPPER", "SAME_LOWER"):
            count = -(-size // stride)
            total = max(0, (count - 1) * stride + span - size)
            before = total // 2 if mode == "SAME_UPPER" else total - total // 2
            after = total - before
        else:
            before, after = _explicit(attrs.pads, rank, place) if mode == "NOTSET" else (0, 0)
            room = size + before + after - span
            count = (-(-room // stride) if ceil_mode else room // stride) + 1
            if ceil_mode and (count - 1) * stride >= size + before:
                count -= 1  # a window that would start in the padding behind is ignored
        if follows_from_values(count) and lower(count) < 1 <= upper(count):
            asked.append(count)
            count = maximum(1, count)
        if count < 1:
            raise ModelError(f"a window of {span} does not fit in a dimension of {size} with padding {before} and {after}")
        begin.append(before)
        end.append(after)
        results.append(count)
    return Window(
        sizes=sizes,
        kernel=kernel,
        strides=strides,
        dilations=dilations,
        begin=tuple(begin),
        end=tuple(end),
        results=tuple(results),
        asked=tuple(asked),
    )


def require_windows(inference: Inference, found: Window) -> None:
    """Let a run make sure that there is a window along each dimension; a shape rule asks it of every window that it uses."""
    for count in found.asked:
        inference.require(count, 1, upper(count), f"the number of windows of {list(found.kernel)}")


def one_each(values: tuple[int, ...] | None, rank: int, name: str) -> tuple[int, ...]:
    """Return one positive number for each spatial dimension, ones where they are left out.

    Raises:
        ModelError: there are more or fewer, or one is not positive.
    """
    if not values:
        return (1,) * rank
    if len(values) != rank or min(values) < 1:
        raise ModelError(f"{name} is {list(values)} for {rank} spatial dimensions; the specification requires one positive number each")
    return values


def _explicit(pads: tuple[int, ...] | None, rank: int, place: int) -> tuple[int, int]:
    if not pads:
        return 0, 0
    if len(pads) != 2 * rank or min(pads) < 0:
        raise ModelError(f"pads is {list(pads)} for {rank} spatial dimensions; the specification requires two numbers each, none negative")
    return pads[place], pads[rank + place]
