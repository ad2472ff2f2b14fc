"""Windows over images: what the problems of convolutions and pooling share.

Images are channels-last. A problem with one spatial dimension has height 1, and one with one or two has depth 1. Functors see an image as
its planes: their first coordinate is batch · depth + z.
"""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.ir.types import F32, DType
from nautilus_cli.kernels.product import Product


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


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedWindow(Window):
    """A window over images whose channels lie in groups, with weights: a convolution or its transpose.

    Attributes:
        groups: that share neither channels nor weights.
        in_channels: of a group.
        out_channels: of a group.
        accumulate: type of the sums.
        x_storage: type of the image's elements in memory; only sizes vectors.
        weight_storage: type of the weights in memory; only sizes vectors.
    """

    groups: int
    in_channels: int
    out_channels: int
    accumulate: DType
    x_storage: DType = F32
    weight_storage: DType = F32

    def gathered_product(self, *, batch: int, m: int, k: int) -> Product:
        """Return the problem as a main loop sees it whose rows are gathered from the image, and whose k runs over taps and channels.

        Args:
            batch: products.
            m: output pixels of one.
            k: taps of one output pixel times channels of a group, channels fastest.
        """
        return Product(
            batch=batch,
            m=m,
            n=self.out_channels,
            k=k,
            a_k_last=True,
            b_k_last=True,
            a_run=self.in_channels,  # a vector must not cross from one tap to the next
            b_run=k,
            a_bytes=self.x_storage.bytes,
            b_bytes=self.weight_storage.bytes,
            sum_bytes=self.accumulate.bytes,
        )
