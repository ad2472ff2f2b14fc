"""Windows in numpy, in float64, and the index maps of channels-last images."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nautilus_cli.kernels.window import Window


def out_extent(extent: int, kernel: int, stride: int, dilation: int, before: int, after: int) -> int:
    """Return how many windows fit along one dimension."""
    return (extent + before + after - (kernel - 1) * dilation - 1) // stride + 1


def taps(window: Window, image: np.ndarray, fill: float) -> Iterator[np.ndarray]:
    """Yield what each tap sees of an image [batch, y, x, channels], as [batch, out y, out x, channels]; FILL outside the image."""
    ys = np.arange(window.out_height) * window.stride_height - window.pad_top
    xs = np.arange(window.out_width) * window.stride_width - window.pad_left
    for r in range(window.kernel_height):
        for s in range(window.kernel_width):
            y, x = ys + r * window.dilation_height, xs + s * window.dilation_width
            inside = ((y >= 0) & (y < window.in_height))[:, None] & ((x >= 0) & (x < window.in_width))[None, :]
            seen = image[:, np.clip(y, 0, window.in_height - 1)][:, :, np.clip(x, 0, window.in_width - 1)]
            yield np.where(inside[None, :, :, None], seen, fill)


def count(window: Window, top: int, left: int, bottom: int, right: int) -> np.ndarray:
    """Return [out y, out x]: taps of each window inside the image with these margins around it."""

    def along(out: int, kernel: int, stride: int, dilation: int, pad: int, low: int, high: int) -> np.ndarray:
        at = np.arange(out)[:, None] * stride - pad + np.arange(kernel)[None, :] * dilation
        return ((at >= low) & (at < high)).sum(axis=1)

    w = window
    rows = along(w.out_height, w.kernel_height, w.stride_height, w.dilation_height, w.pad_top, -top, w.in_height + bottom)
    columns = along(w.out_width, w.kernel_width, w.stride_width, w.dilation_width, w.pad_left, -left, w.in_width + right)
    return rows[:, None] * columns[None, :]
