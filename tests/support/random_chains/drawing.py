"""Draws chains of matrix products as networks have them: norms of rows before, work on either side, residual sums, gated units.

What `random_graphs` draws are all operators, of which few meet a product in the way that makes one kernel of several nodes. Here all do.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BF16, F16, F32, I64, DType
from nautilus_cli.numerics.tolerance import unit_roundoff
from tests.support.random_graphs.drawing import MOST_ELEMENTS, Drawing, RandomGraph, RejectedError

_ONNX_NUMBERS = {F16: 10, BF16: 16, F32: 1}
_EPSILONS = (1e-5, 1e-5, 1e-6, 1e-12, 0.0, 0.1, 100.0)
_WIDTHS = (32, 32, 64, 64, 96, 96, 160, 1, 7, 24, 40)
"""Of rows; norms of multiples of 32 columns may go into products."""


def draw(seed: int) -> RandomGraph:
    """Return the chain of a seed."""
    return Chain(seed).finish()


class Chain(Drawing):
    """A graph of rows that blocks work on in turn.

    Attributes:
        rows: dimensions before the last one, which most tensors have.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.is_exact = False
        self.float_ = self.choose([F16, F16, F16, BF16, BF16, F32])
        self.has_specials = self.chance(0.15)
        self.rows = self._rows()
        self.count = self.integer(2, 7)

    def _rows(self) -> tuple[int, ...]:
        rows = self.choose([1, 2, 3, 5, 8, 13, 16, 17, 31, 33, 64, 67, 70, *([0] if self.chance(0.2) else [])])
        before = self.choose([(), (), (), (1,), (2,), (1, 3), (3, 1)])
        return (*before, rows) if prod(before) * rows <= 75 else (rows,)

    def finish(self) -> RandomGraph:
        """Draw blocks, each of what those before it left."""
        weights = np.array([weight for weight, _ in _BLOCKS], float)
        weights /= weights.sum()
        self.add_input((*self.rows, self._width()))
        for _ in range(4 * self.count):
            before = len(self.builder.nodes)
            self.builder.origin = (f"n{before}",)
            try:
                _BLOCKS[int(self.random.choice(len(_BLOCKS), p=weights))][1](self)
            except RejectedError:
                self.forget(before)
            if len(self.builder.nodes) > 6 * self.count:
                break
        return self._with_outputs()

    def _shake(self, array: np.ndarray, dtype: DType) -> np.ndarray:
        """Return the array off by a unit roundoff at most, half as much in 16 bits: long sums add up what is off in all of their terms."""
        if not dtype.is_float:
            return array
        step = unit_roundoff(dtype) * (1 if dtype == F32 else 0.5)
        with np.errstate(all="ignore"):
            wide = array.astype(np.float64)
            return np.asarray(wide * (1 + step * self.random.uniform(-1, 1, array.shape))).astype(dtype.compute.numpy)

    def _width(self, *, whole: float = 0.6) -> int:
        fitting = [width for width in _WIDTHS if width * prod(self.rows) <= MOST_ELEMENTS]
        parts = [width for width in fitting if width % 32 == 0]
        return int(self.choose(parts if parts and self.chance(whole) else fitting))

    def stream(self, *, is_norm: bool = False) -> Value:
        """Return a tensor of rows, of late ones more often."""
        return self.pick(lambda v: v.type.dtype == self.float_ and len(v.type.shape) > 1 and (not is_norm or v.type.static[-1] > 1))

    def scalar(self, number: float, dtype: Any = None) -> Value:
        """Return a constant of one number."""
        shape = self.choose([(), (), (1,), (1, 1)])
        return self.attribute(np.full(shape, number, (dtype or self.float_).numpy))

    def vector(self, width: int, dtype: Any = None, *, around: float = 0.0) -> Value:
        """Return a constant of one number a column, or now and then one for all of them."""
        shape: tuple[int, ...] = self.choose([(width,), (width,), (width,), (1, width), (1,), ()])
        array = around + self.random.standard_normal(shape) * self.choose([0.5, 0.1])
        return self.attribute(np.asarray(array).astype((dtype or self.float_).numpy))

    def weight(self, depth: int, columns: int) -> Value:
        """Return a constant matrix, held in one of the ways in which models hold it."""
        scale = self.choose([1.0, 0.5]) / np.sqrt(max(1, depth))

        def constant(*shape: int) -> Value:
            return self.attribute((self.random.standard_normal(shape) * scale).astype(self.float_.numpy))

        kind = self.choose(["plain", "plain", "turned", "part", "shared", "batch"])
        if kind == "turned":
            return self.apply("Transpose", [constant(columns, depth)], perm=(1, 0), add=False)
        if kind == "part":
            return self.apply(
                "Slice", [constant(depth, columns + 3), self.numbers(2), self.numbers(2 + columns), self.numbers(1)], add=False
            )
        if kind == "shared":
            known = [v for v in self.truth if v.constant is not None and v.type.static == (depth, columns) and v.type.dtype == self.float_]
            return self.choose(known) if known else constant(depth, columns)
        return constant(1, depth, columns) if kind == "batch" and self.rows[1:] else constant(depth, columns)


def add_bias(d: Chain, y: Value) -> Value:
    """Add columns, rows, a number, or a tensor of the same shape, from either side."""
    shape = y.type.static
    kind = d.choose(["columns", "columns", "columns", "rows", "residual", "residual", "number", "none"])
    if kind == "none":
        return y
    other = d.vector(shape[-1])
    if kind == "rows":
        other = d.attribute(d.array((shape[-2], 1), d.float_))
    if kind == "number":
        other = d.scalar(0.5)
    if kind == "residual":
        known = [v for v in d.pool if v.type.static == shape and v.type.dtype == d.float_ and v is not y]
        other = d.choose(known) if known and d.chance(0.7) else d.add_input(shape)
    return d.apply("Add", [y, other] if d.chance(0.7) else [other, y])


def product(d: Chain, x: Value | None = None) -> Value:
    """Multiply rows by a constant, and add something."""
    x = d.stream() if x is None else x
    depth, columns = x.type.static[-1], d._width()
    if len(x.type.shape) == 2 and d.chance(0.15):
        turned = d.chance(0.5)
        w = d.attribute((d.random.standard_normal((columns, depth) if turned else (depth, columns)) / 8).astype(d.float_.numpy))
        return d.apply("Gemm", [x, w, *([d.vector(columns)] if d.chance(0.7) else [])], transB=int(turned))
    y = d.apply("MatMul", [x, d.weight(depth, columns)])
    return add_bias(d, add_bias(d, y)) if d.chance(0.6) else y


def by_input(d: Chain) -> None:
    """Multiply rows by what a run gives, or another tensor's rows, in batches or not."""
    x = d.stream()
    depth = x.type.static[-1]
    batch = d.choose([(), x.type.static[:-2], tuple(1 for _ in x.type.static[:-2])])
    add_bias(d, d.apply("MatMul", [x, d.add_input((*batch, depth, d._width()))]))


def norm_of(d: Chain, x: Value) -> Value:
    """Normalise rows, by an operator or written out."""
    width, epsilon = x.type.static[-1], d.choose(_EPSILONS)
    if d.chance(0.35):
        x = d.apply("Add", [x, d.scalar(d.choose([1.0, 3.0, -7.0]))])
    kind = d.choose(["layer", "layer", "layer", "rms", "rms", "written", "written", "other axis"])
    if kind == "layer":
        operands = [x, d.vector(width, around=1.0), *([d.vector(width)] if d.chance(0.7) else [])]
        return d.apply("LayerNormalization", operands, epsilon=epsilon, stash_type=d.choose([1, 1, 1, _ONNX_NUMBERS[d.float_]]))
    if kind == "rms":
        return d.apply("RMSNormalization", [x, d.vector(width, around=1.0)], epsilon=epsilon)
    if kind == "other axis":
        axis = len(x.type.shape) - 2
        return d.apply("LayerNormalization", [x, d.attribute(d.array(x.type.static[axis:], d.float_))], axis=axis, epsilon=epsilon)
    return _written_out(d, x, max(epsilon, 1e-5))


def _written_out(d: Chain, x: Value, epsilon: float) -> Value:
    """As exporters write a norm: in 32 bits or not, centred or not, by a power or a product, with a division or a reciprocal."""
    dtype = F32 if d.chance(0.7) else d.float_
    wide = d.apply("Cast", [x], to=_ONNX_NUMBERS[dtype], add=False) if dtype != d.float_ else x
    axis = d.numbers(-1)
    distance = d.apply("Sub", [wide, d.apply("ReduceMean", [wide, axis], add=False)], add=False) if d.chance(0.6) else wide
    squares = d.apply(*(("Pow", [distance, d.scalar(2.0, dtype)]) if d.chance(0.5) else ("Mul", [distance, distance])), add=False)
    variance = d.apply("ReduceMean", [squares, axis], add=False)
    root = d.apply("Sqrt", [d.apply("Add", [variance, d.scalar(epsilon, dtype)], add=False)], add=False)
    unit = (
        d.apply("Div", [distance, root], add=False)
        if d.chance(0.5)
        else d.apply("Mul", [distance, d.apply("Reciprocal", [root], add=False)], add=False)
    )
    if dtype != d.float_ and d.chance(0.5):
        unit, dtype = d.apply("Cast", [unit], to=_ONNX_NUMBERS[d.float_], add=False), d.float_
    width = x.type.static[-1]
    if d.chance(0.8):
        unit = d.apply("Mul", [unit, d.vector(width, dtype, around=1.0)], add=False)
    if d.chance(0.5):
        unit = d.apply("Add", [d.vector(width, dtype), unit], add=False)
    return d.apply("Cast", [unit], to=_ONNX_NUMBERS[d.float_]) if dtype != d.float_ else unit


def pre_norm(d: Chain) -> None:
    """One to three products of normalised rows, some of which are reshaped before; now and then others read these too."""
    x = d.stream(is_norm=True)
    y = norm_of(d, x)
    shape = y.type.static
    for _ in range(d.choose([1, 1, 2, 3])):
        rows = y
        if d.chance(0.2):
            rows = d.apply("Reshape", [y, d.numbers(prod(shape[:-1]), shape[-1])], allowzero=1)
        activation(d, product(d, rows))
    if d.chance(0.15):
        d.apply("Relu", [y])
    if d.chance(0.8) and y in d.pool:
        d.pool.remove(y)


def layer(d: Chain) -> None:
    """x + f(n(x)·w)·w', as a transformer's feed-forward layer."""
    x = d.stream(is_norm=True)
    hidden = activation(d, product(d, norm_of(d, x)))
    y = d.apply("MatMul", [hidden, d.weight(hidden.type.static[-1], x.type.static[-1])])
    if d.chance(0.6):
        y = d.apply("Add", [y, d.vector(x.type.static[-1])])
    d.apply("Add", [x, y] if d.chance(0.5) else [y, x])


def activation(d: Chain, x: Value) -> Value:
    """Apply a function that follows products."""
    kind = d.choose(["Relu", "Gelu", "Tanh", "Sigmoid", "silu", "none", "none"])
    if kind == "none":
        return x
    if kind == "silu":
        return d.apply("Mul", [x, d.apply("Sigmoid", [x], add=False)])
    return d.apply(kind, [x])


def gated(d: Chain) -> None:
    """Two products of the same rows that meet, or one in halves."""
    x = norm_of(d, d.stream(is_norm=True)) if d.chance(0.4) else d.stream()
    columns = d._width(whole=0.3)
    if d.chance(0.4):
        both = d.apply("MatMul", [x, d.weight(x.type.static[-1], 2 * columns)], add=d.chance(0.1))
        if d.chance(0.6):
            both = d.apply("Add", [both, d.vector(2 * columns)], add=d.chance(0.1))
        first, second = d.apply_all("Split", [both, d.numbers(columns, columns)], outputs=2, axis=-1, add=d.chance(0.1))
    else:
        first, second = (d.apply("MatMul", [x, d.weight(x.type.static[-1], columns)], add=d.chance(0.1)) for _ in range(2))
        if d.chance(0.4):
            first = d.apply("Add", [first, d.vector(columns)])
    add_bias(d, d.apply("Mul", [activation(d, first), second]))


def before(d: Chain) -> None:
    """Work on the left operand of a product, of functions that are not zero at zero too."""
    x = d.stream()
    for _ in range(d.integer(1, 3)):
        kind = d.choose(["Exp", "Cos", "Sigmoid", "Abs", "add", "mul", "where"])
        if kind == "add":
            x = d.apply("Add", [x, d.vector(x.type.static[-1], around=1.0)], add=False)
        elif kind == "mul":
            x = d.apply("Mul", [x, d.add_input(x.type.static) if d.chance(0.5) else d.scalar(0.75)], add=False)
        elif kind == "where":
            mask = d.attribute(d.random.random(x.type.static[-2:]) < 0.6)
            x = d.apply("Where", [mask, x, d.scalar(0.25)], add=False)
        else:
            x = d.apply(kind, [x], add=False)
    product(d, x)


def reciprocals(d: Chain) -> None:
    """A left operand that is infinite where a tile ends: what lies beyond a row must not reach it."""
    x = d.stream()
    positive = d.apply("Add", [d.apply("Abs", [x], add=False), d.scalar(0.5)], add=False)
    product(d, d.apply(d.choose(["Reciprocal", "Log"]), [positive], add=False))


def turned(d: Chain) -> None:
    """Rows that a transposition gives, as heads that are merged."""
    x = d.stream()
    rank = len(x.type.shape)
    y = d.apply("Transpose", [x], perm=(*range(rank - 2), rank - 1, rank - 2), add=False)
    product(d, norm_of(d, y) if d.chance(0.3) else y)


def gathered(d: Chain) -> None:
    """Rows that indices name."""
    x = d.stream()
    rows = x.type.static[-2]
    if not rows:
        raise RejectedError("there is no row")
    indices = d.random.integers(-rows, rows, d.choose([1, 2, 5, 20])).astype(np.int64)
    place = d.add_input((len(indices),), I64)
    d.truth[place] = d.shaken[place] = indices
    y = d.apply("Gather", [x, place], axis=len(x.type.shape) - 2, add=False)
    product(d, activation(d, y))


_BLOCKS: tuple[tuple[float, Callable[[Chain], Any]], ...] = (
    (2.0, product),
    (0.7, by_input),
    (4.0, pre_norm),
    (3.0, layer),
    (2.0, gated),
    (1.5, before),
    (0.5, reciprocals),
    (0.7, turned),
    (0.7, gathered),
)
