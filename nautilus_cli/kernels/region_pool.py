"""Pooling of regions of images, given as corners at run time, into cells."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.ir.types import F32, DType
from nautilus_cli.kernels.places import Places, Schedule
from nautilus_cli.kernels.places_family import PlacesFamily

__all__ = ["FAMILY", "Problem", "Schedule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A pooling of regions.

    Functors, in this order: `X` at (image, y, x, channel); `Corner` at (region, side), sides being left, top, right and bottom, in pixels;
    `Image` at (region,), an integer; `Epilogue` at (region, y, x, channel), whose parameter 0 is the cell in X's compute type. An image
    that does not exist gives zeros and stores code 1 in the word that the last pointer argument names.

    Attributes:
        regions: that are pooled.
        images: that they lie in.
        channels: of an image.
        in_height, in_width: of an image.
        out_height, out_width: cells of a region.
        samples: along one dimension of a cell; 0 for one a pixel, rounded up.
        combine: `sum` for the mean of samples, each interpolated from its neighbours; `max` for the maximum of their weighted neighbours.
        is_whole: whether a cell is instead the maximum of all pixels, of which the corners are whole numbers.
        is_bounded: whether regions smaller than a pixel count as one pixel wide or high.
        is_channels_last: whether channels are innermost in memory; only sizes vectors.
        x_storage: type of the elements in memory; only sizes vectors.
    """

    regions: int
    images: int
    channels: int
    in_height: int
    in_width: int
    out_height: int
    out_width: int
    samples: int
    combine: str
    is_whole: bool
    is_bounded: bool
    is_channels_last: bool = True
    x_storage: DType = F32

    @property
    def work(self) -> Places:
        """The cells as schedules see them."""
        return Places(
            images=self.regions,
            places=self.out_height * self.out_width,
            channels=self.channels,
            is_channels_last=self.is_channels_last,
            element_bytes=self.x_storage.bytes,
        )


FAMILY = PlacesFamily(name="region_pool", problem_type=Problem)
