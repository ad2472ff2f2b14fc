"""Windows over images: what convolution and pooling share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import IndexMap, permuted, regroup


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A tensor as an image; with one spatial dimension the height is 1, with one or two the depth is 1.

    Attributes:
        batch, channels, depth, height, width: extents.
    """

    batch: int
    channels: int
    depth: int
    height: int
    width: int

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """The extents in ONNX order."""
        return self.batch, self.channels, self.depth, self.height, self.width

    @property
    def pixels(self) -> int:
        """Pixels of all images."""
        return self.batch * self.depth * self.height * self.width

    @property
    def walk(self) -> IndexMap:
        """The map from (plane, y, x, channel) to the linear index in ONNX order; planes count over batch and depth."""
        return regroup(permuted(self.shape, (0, 2, 3, 4, 1)), [[0, 1], [2], [3], [4]])


def image(value: Value) -> Image:
    """Return VALUE, of shape [batch, channels, depth, height, width] without the first or the first two of the spatial ones, as images."""
    batch, channels, *space = value.type.static
    depth, height, width = three(tuple(space), 1)
    return Image(batch=batch, channels=channels, depth=depth, height=height, width=width)


def three(numbers: tuple[int, ...], fill: int) -> tuple[int, int, int]:
    """Return one number for depth, height and width each; FILL stands for missing ones."""
    depth, height, width = (fill, fill, *numbers)[-3:]
    return depth, height, width


def window_fields(source: Image, target: Image, attrs: Any) -> dict[str, int]:
    """Return the fields of `kernels.window.Window` for an operator in its normal form.

    Args:
        source: what the windows slide over.
        target: has one pixel a window.
        attrs: with kernel_shape, strides, dilations and pads for every spatial dimension.
    """
    rank = len(attrs.kernel_shape)
    found = {"batch": source.batch}
    for prefix, numbers in (
        ("in", source.shape[2:]),
        ("out", target.shape[2:]),
        ("kernel", three(attrs.kernel_shape, 1)),
        ("stride", three(attrs.strides, 1)),
        ("dilation", three(attrs.dilations, 1)),
    ):
        found |= {f"{prefix}_{name}": number for name, number in zip(("depth", "height", "width"), numbers, strict=True)}
    return found | dict(zip(("pad_front", "pad_top", "pad_left"), three(attrs.pads[:rank], 0), strict=True))
