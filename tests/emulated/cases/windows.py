"""Windows in numpy, in float64, and the index maps of channels-last images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

import numpy as np

from nautilus_cli.kernels.window import Window

AnyWindow = TypeVar("AnyWindow", bound=Window)


def out_extent(extent: int, kernel: int, stride: int, dilation: int, before: int, after: int) -> int:
    """Return how many windows fit along one dimension."""
    return (extent + before + after - (kernel - 1) * dilation - 1) // stride + 1


def taps(window: Window, image: np.ndarray, fill: float) -> Iterator[np.ndarray]:
    """Yield what each tap sees of images [planes, y, x, channels], as [out planes, out y, out x, channels]; FILL outside the image."""
    volume = image.reshape(window.batch, window.in_depth, *image.shape[1:])
    zs = np.arange(window.out_depth) * window.stride_depth - window.pad_front
    for d in range(window.kernel_depth):
        z = zs + d * window.dilation_depth
        inside = (z >= 0) & (z < window.in_depth)
        planes = volume[:, np.clip(z, 0, window.in_depth - 1)]
        for seen in _plane_taps(window, planes.reshape(-1, *image.shape[1:]), fill):
            found = seen.reshape(window.batch, window.out_depth, *seen.shape[1:])
            yield np.where(inside[None, :, None, None, None], found, fill).reshape(seen.shape)


def _plane_taps(window: Window, image: np.ndarray, fill: float) -> Iterator[np.ndarray]:
    """Yield what each tap of a window without depth sees."""
    ys = np.arange(window.out_height) * window.stride_height - window.pad_top
    xs = np.arange(window.out_width) * window.stride_width - window.pad_left
    for r in range(window.kernel_height):
        for s in range(window.kernel_width):
            y, x = ys + r * window.dilation_height, xs + s * window.dilation_width
            inside = ((y >= 0) & (y < window.in_height))[:, None] & ((x >= 0) & (x < window.in_width))[None, :]
            seen = image[:, np.clip(y, 0, window.in_height - 1)][:, :, np.clip(x, 0, window.in_width - 1)]
            yield np.where(inside[None, :, :, None], seen, fill)


def count(window: Window, before: tuple[int, int, int], after: tuple[int, int, int]) -> np.ndarray:
    """Return [out planes, out y, out x]: taps of each window inside the image with these margins around it."""

    def along(out: int, kernel: int, stride: int, dilation: int, pad: int, low: int, high: int) -> np.ndarray:
        at = np.arange(out)[:, None] * stride - pad + np.arange(kernel)[None, :] * dilation
        return ((at >= low) & (at < high)).sum(axis=1)

    w = window
    planes = along(w.out_depth, w.kernel_depth, w.stride_depth, w.dilation_depth, w.pad_front, -before[0], w.in_depth + after[0])
    rows = along(w.out_height, w.kernel_height, w.stride_height, w.dilation_height, w.pad_top, -before[1], w.in_height + after[1])
    columns = along(w.out_width, w.kernel_width, w.stride_width, w.dilation_width, w.pad_left, -before[2], w.in_width + after[2])
    return np.tile(planes, w.batch)[:, None, None] * rows[:, None] * columns[None, :]


def deepened(window: AnyWindow, size: int, kernel: int, *, stride: int = 1, dilation: int = 1, pads: tuple[int, int] = (0, 0)) -> AnyWindow:
    """Return a window with a depth."""
    return replace(
        window,
        in_depth=size,
        out_depth=out_extent(size, kernel, stride, dilation, *pads),
        kernel_depth=kernel,
        stride_depth=stride,
        dilation_depth=dilation,
        pad_front=pads[0],
        **({"pad_back": pads[1]} if hasattr(window, "pad_back") else {}),
    )
