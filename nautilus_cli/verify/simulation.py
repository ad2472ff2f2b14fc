"""A graph evaluated in float64 by the truths of its operators, as it is or with the roundings that a computation in its own types makes.

Each rounding is drawn: a normal deviate of the deviation that `numerics.propagation` gives the operator. Storing a result and elementary
functions err relative to each element, partial sums relative to the root of the sum of the squares of what is added, which for a product
of tensors is the operator applied to the squares.

Source: D. S. Parker, Monte Carlo Arithmetic: Exploiting Randomness in Floating-Point Arithmetic, UCLA CSD-970002 (1997).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from nautilus_cli.ir.control import BranchAttrs, LoopAttrs, bodies
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.types import dtype_of
from nautilus_cli.numerics.rounding import Rounding, rounding
from nautilus_cli.numerics.summed_terms import sequence_length, terms_of
from nautilus_cli.numerics.tolerance import magnitude
from nautilus_cli.ops.branch import Run, taken
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.repeat import repeated

_SUMS_OF_PRODUCTS = frozenset({"MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum", "ReduceSum", "CumSum"})
_MEANS = frozenset({"ReduceMean", "AveragePool", "GlobalAveragePool"})
_CASTS = frozenset({"Cast", "CastLike"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Roundings:
    """Which roundings are drawn.

    Attributes:
        seed: of the draw.
        fp32_mode: how products of f32 are multiplied.
    """

    seed: int
    fp32_mode: str


class _Drawn(NamedTuple):
    random: np.random.Generator
    fp32_mode: str


def simulate(graph: Graph, inputs: Mapping[str, np.ndarray], roundings: Roundings | None = None) -> dict[str, np.ndarray]:
    """Return the outputs by name; floats in float64.

    Args:
        graph: as the frontend gives it.
        inputs: an array for each input.
        roundings: those to make; None for none.
    """
    drawn = None if roundings is None else _Drawn(np.random.default_rng(roundings.seed), roundings.fp32_mode)
    arrays = _simulated(graph, {value: _wide(inputs[name]) for name, value in graph.inputs}, drawn)
    return {name: _read(value, arrays) for name, value in graph.outputs}


def _simulated(graph: Graph, arrays: dict[Value, np.ndarray], drawn: _Drawn | None) -> dict[Value, np.ndarray]:
    """Return the contents of a graph's outputs, from those of its inputs."""
    last_reader = {value: number for number, node in enumerate(graph.nodes) for value in node.operands()}
    kept = graph.output_values()

    def run(body: Graph, given: Sequence[np.ndarray | None]) -> tuple[np.ndarray, ...]:
        found = _simulated(body, {v: _wide(a) for (_, v), a in zip(body.inputs, given, strict=True) if a is not None}, drawn)
        return tuple(_read(value, found) for _, value in body.outputs)

    for number, node in enumerate(graph.nodes):
        operands = [None if v is None else _read(v, arrays) for v in node.inputs]
        is_held = bool(bodies(node.attrs))  # its graphs round, it does not
        for value, exact in zip(node.outputs, _course(node, operands, run) if is_held else _evaluated(node, operands), strict=False):
            if value is not None:
                wide = _wide(exact)
                arrays[value] = wide if drawn is None or is_held else _rounded(node, value, wide, operands, drawn)
        for value in {*node.operands(), *node.results()}:
            if value not in kept and last_reader.get(value, number) == number:
                arrays.pop(value, None)
    return arrays


def _course(node: Node, operands: Sequence[np.ndarray | None], run: Run) -> tuple[np.ndarray, ...]:
    """Return the results of a branch or loop."""
    if isinstance(node.attrs, BranchAttrs):
        return taken(node.attrs, operands, run)
    assert isinstance(node.attrs, LoopAttrs)
    return repeated(node.attrs, operands, run)


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if dtype_of(array).is_float else array


def _read(value: Value, arrays: Mapping[Value, np.ndarray]) -> np.ndarray:
    return arrays[value] if value.constant is None else _wide(value.constant)


def _evaluated(node: Node, operands: list[np.ndarray | None]) -> tuple[np.ndarray, ...]:
    """Return the results of a node; a cast between floats would round, and here does not."""
    first = operands[0] if operands else None
    if node.op in _CASTS and first is not None and dtype_of(first).is_float and next(node.results()).type.dtype.is_float:
        return (first,)
    with np.errstate(all="ignore"):
        return tuple(np.asarray(result) for result in operators()[node.op].evaluate(node.attrs, tuple(operands), len(node.outputs)))


def _rounded(node: Node, value: Value, exact: np.ndarray, operands: list[np.ndarray | None], drawn: _Drawn) -> np.ndarray:
    """Return a result with drawn roundings."""
    own = rounding(node, value, fp32_mode=drawn.fp32_mode)
    if own == Rounding(relative=0.0, summed=0.0):
        return exact
    steps = sqrt(sequence_length(node))
    with np.errstate(all="ignore"):
        error = exact * (own.relative * steps) * drawn.random.standard_normal(exact.shape)
        if terms_of(node, value) > 1:
            error += _scale(node, value, exact, operands) * (own.summed * steps) * drawn.random.standard_normal(exact.shape)
        return np.where(np.isfinite(exact), exact + error, exact)


def _scale(node: Node, value: Value, exact: np.ndarray, operands: list[np.ndarray | None]) -> np.ndarray | float:
    """Return what the error of partial sums is relative to; where the terms are not known, the root mean square of the result."""
    if node.op not in _SUMS_OF_PRODUCTS | _MEANS:
        return magnitude(exact)
    squares = [v * v if v is not None and dtype_of(v).is_float else v for v in operands]
    total = np.sqrt(np.abs(_evaluated(node, squares)[node.outputs.index(value)]))
    scale: np.ndarray = np.maximum(total / sqrt(terms_of(node, value)) if node.op in _MEANS else total, np.abs(exact))
    return scale
