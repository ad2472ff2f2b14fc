"""Windows over images: the extents that convolution, depthwise convolution and pooling share.

Images are channels-last. A problem with one spatial dimension has height 1, and one with one or two has depth 1. Functors see an image as
its planes: their first coordinate is batch · depth + z.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A window that slides over images.

    Attributes:
        batch: images.
        in_depth, in_height, in_width: of an input image.
        out_depth, out_height, out_width: of an output image.
        kernel_depth, kernel_height, kernel_width: taps of the window.
        stride_depth, stride_height, stride_width: steps between windows.
        dilation_depth, dilation_height, dilation_width: steps between the taps of a window.
        pad_front, pad_top, pad_left: planes, rows and columns of padding before the image; negative ones crop it.
    """

    batch: int
    in_height: int
    in_width: int
    out_height: int
    out_width: int
    kernel_height: int
    kernel_width: int
    stride_height: int = 1
    stride_width: int = 1
    dilation_height: int = 1
    dilation_width: int = 1
    pad_top: int = 0
    pad_left: int = 0
    in_depth: int = 1
    out_depth: int = 1
    kernel_depth: int = 1
    stride_depth: int = 1
    dilation_depth: int = 1
    pad_front: int = 0

    @property
    def taps(self) -> int:
        """Elements of a window."""
        return self.kernel_depth * self.kernel_height * self.kernel_width

    @property
    def pixels(self) -> int:
        """Pixels of all output images."""
        return self.batch * self.out_depth * self.out_height * self.out_width
