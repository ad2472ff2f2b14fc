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
