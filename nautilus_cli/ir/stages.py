"""Stages of index maps: coordinates cut into digits, and the sum of digit times stride (see `index_map.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from nautilus_cli.ir.dims import lower, same, upper


@dataclass(frozen=True, slots=True)
class Axis:
    """One digit of a coordinate.

    Attributes:
        extent: how many values the digit takes.
        stride: what one step of the digit adds to the index; 0 repeats, a negative one reverses.
        begin: first value that holds an element.
        end: one past the last value that holds an element; None for `extent`.
    """

    extent: int
    stride: int
    begin: int = 0
    end: int | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axis) and same(_numbers(self), _numbers(other))

    @property
    def stop(self) -> int:
        """One past the last value that holds an element."""
        return self.extent if self.end is None else self.end

    @property
    def is_guarded(self) -> bool:
        """Whether some value of the digit may hold no element."""
        return upper(self.begin) > 0 or (self.end is not None and lower(self.end - self.extent) < 0)

    @property
    def is_void(self) -> bool:
        """Whether no value of the digit holds an element."""
        return upper(self.stop - self.begin) <= 0


def _numbers(axis: Axis) -> tuple[int | None, ...]:
    return axis.extent, axis.stride, axis.begin, axis.end


Digits = tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """Coordinates to one linear index: offset + sum of digit × stride.

    Attributes:
        coordinates: for each coordinate its digits, most significant first.
        offset: index where every digit is zero; with guards it may lie outside the buffer.
    """

    coordinates: tuple[Digits, ...]
    offset: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stage) and self.coordinates == other.coordinates and same(self.offset, other.offset)

    @property
    def is_guarded(self) -> bool:
        """Whether some digit is guarded."""
        return any(axis.is_guarded for digits in self.coordinates for axis in digits)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a dense tensor, in elements."""
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))
