"""Windows over images: what convolution and pooling share."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import IndexMap, permuted


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A tensor as an image; with one spatial dimension the height is 1.

    Attributes:
        batch, channels, height, width: extents.
    """

    batch: int
    channels: int
    height: int
    width: int

    @property
    def walk(self) -> IndexMap:
        """The map from (batch, y, x, channel) to the linear index in ONNX order."""
        return permuted((self.batch, self.channels, self.height, self.width), (0, 2, 3, 1))


def image(value: Value) -> Image:
    """Return VALUE, of shape [batch, channels, width] or [batch, channels, height, width], as an image."""
    batch, channels, *space = value.type.static
    height, width = (1, *space)[-2:]
    return Image(batch=batch, channels=channels, height=height, width=width)


def two(numbers: tuple[int, ...], fill: int) -> tuple[int, int]:
    """Return (vertical, horizontal) of one number a spatial dimension; FILL stands for the missing height."""
    vertical, horizontal = (fill, *numbers)[-2:]
    return vertical, horizontal
