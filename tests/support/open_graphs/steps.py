"""The steps that random graphs with open dimensions are made of. Each adds one to a drawing, or does nothing where it does not fit."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.open_graphs.computing import (
    binary,
    by_itself,
    by_weights,
    gather,
    greatest_ones,
    mean_by_size,
    positions,
    reduce,
    running_sum,
    softmax,
    triangle,
    unary,
    where,
)
from tests.support.open_graphs.drawing import Drawing
from tests.support.open_graphs.movement import concat, cut, expand, flatten, halves, merge, pad, repeat, slice_, split, squeeze, transpose

STEPS: tuple[Callable[[Drawing], None], ...] = (
    *(unary, binary, binary, binary, transpose, transpose, merge, merge, cut, flatten, squeeze, concat, concat, slice_, slice_, halves),
    *(pad, expand, reduce, reduce, softmax, by_weights, by_weights, by_itself, gather, where, positions, mean_by_size, split),
    *(repeat, running_sum, triangle, greatest_ones),
)
"""Several times what shall be drawn more often."""
