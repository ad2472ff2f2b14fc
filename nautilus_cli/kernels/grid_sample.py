"""Sampling of images at run-time places: nearest, linear or cubic along each spatial dimension."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.ir.types import F32, DType
from nautilus_cli.kernels.places import Places, Schedule
from nautilus_cli.kernels.places_family import PlacesFamily

__all__ = ["FAMILY", "TAPS", "Problem", "Schedule"]

TAPS = {"nearest": 1, "linear": 2, "cubic": 4}
"""Elements along each dimension, by mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A sampling.

    Functors, in this order: `X` at (image, one place for each spatial dimension, channel); `Grid` at (image, sample, coordinate), from -1
    to 1 along a dimension or in elements, the last dimension's coordinate first; `Epilogue` at (image, sample, channel), whose parameter 0
    is the sample in X's compute type.

    Attributes:
        images: of the batch.
        channels: of an image.
        samples: of an image.
        sizes: spatial dimensions of an image.
        taps: 1, 2 or 4 elements along each dimension: nearest, linear, cubic.
        is_aligned: whether -1 and 1 are the centres of the first and the last element; else their outer edges.
        is_clamped: whether elements outside are the outermost ones.
        is_reflected: whether elements outside are mirrored at those centres or edges; without both, they are zero.
        is_in_elements: whether coordinates count elements from the centre of the first.
        grid_compute: type in which places are computed.
        is_channels_last: whether channels are innermost in memory; only sizes vectors.
        x_storage: type of the elements in memory; only sizes vectors.
    """

    images: int
    channels: int
    samples: int
    sizes: tuple[int, ...]
    taps: int
    is_aligned: bool
    is_clamped: bool
    is_reflected: bool
    is_in_elements: bool = False
    grid_compute: DType = F32
    is_channels_last: bool = True
    x_storage: DType = F32

    @property
    def work(self) -> Places:
        """The samples as schedules see them."""
        return Places(
            images=self.images,
            places=self.samples,
            channels=self.channels,
            is_channels_last=self.is_channels_last,
            element_bytes=self.x_storage.bytes,
        )


FAMILY = PlacesFamily(name="grid_sample", problem_type=Problem)
