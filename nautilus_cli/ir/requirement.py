"""What a run makes sure of before it computes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """That an integer, which depends on shapes and values of inputs, lies in a range.

    Attributes:
        value: the integer.
        low: least value that is right.
        high: greatest value that is right.
        text: what the integer is, for the error: "node 'r' (Reshape): the number of elements of the result".
    """

    value: int
    low: int
    high: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """That a number which a kernel gives is not above what the library was compiled for.

    A kernel makes the run fail where it is; the host finds out here which number it was.

    Attributes:
        name: what the user calls the number.
        count: name of the count that it is, as `Graph.counts` has it.
        most: its greatest value.
    """

    name: str
    count: str
    most: int
