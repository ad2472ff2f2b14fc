"""Draws small random graphs whose results are known, and known to be well-conditioned.

Every node is evaluated when it is drawn, and is thrown away where its result could not be compared afterwards:

- in an *exact* graph all floating-point results are multiples of a small power of two and so small that no order of evaluation and
  no fusion can round, so they are compared bit for bit;
- in a *real* graph every result is computed a second time from operands that are off by a few units in the last place. Where that
  changes a discrete result, or a continuous one by more than a fraction of the tolerance that `numerics` derives, the node goes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.types import BF16, BOOL, F16, F32, F64, DType, TensorType, dtype_of
from nautilus_cli.numerics import EXACT, Tolerance, compare
from nautilus_cli.numerics.propagation import estimate
from nautilus_cli.numerics.tolerance import from_deviation, unit_roundoff
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.evaluate import evaluate_operator
from nautilus_cli.ops.registry import operators

MOST_ELEMENTS = 3000
"""Of a tensor: an emulated kernel takes a millisecond for that."""

MOST_PRODUCTS = 150_000
"""Multiplications of a product or convolution."""

_SIGNIFICAND = {"f16": 11, "bf16": 8, "f32": 23, "f64": 45}
_GRID = 6
"""Exact results are multiples of 2 to the power of minus this, at least."""


class RejectedError(Exception):
    """What was drawn cannot be used; another draw may."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RandomGraph:
    """A graph, what goes in, and what must come out.

    Attributes:
        seed: it was drawn from.
        graph: as a frontend would give it.
        feeds: an array for each input.
        expected: an array for each output.
        tolerances: for each output.
    """

    seed: int
    graph: Graph
    feeds: dict[str, np.ndarray]
    expected: dict[str, np.ndarray]
    tolerances: dict[str, Tolerance]


def draw(seed: int) -> RandomGraph:
    """Return the graph of a seed."""
    return Drawing(seed).finish()


class Drawing:
    """A graph that grows by random nodes.

    Attributes:
        random: what decides.
        is_exact: whether results are compared bit for bit.
        float_: the floating-point type of most tensors.
        truth: contents of every value.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = np.random.default_rng(seed)
        self.is_exact = bool(self.random.random() < 0.5)
        self.float_: DType = self.choose([F32, F32, F32, F16, F16, BF16, F64] if self.random.random() < 0.5 else [F32, F16])
        self.has_specials = bool(self.random.random() < 0.08)
        self.has_empty = bool(self.random.random() < 0.08)
        self.builder = GraphBuilder()
        self.truth: dict[Value, np.ndarray] = {}
        self.shaken: dict[Value, np.ndarray] = {}
        self.pool: list[Value] = []
        self.inputs: list[tuple[str, Value]] = []
        self.count = self.integer(1, 15) if self.chance(0.9) else self.integer(16, 50)

    # What is drawn

    def finish(self) -> RandomGraph:
        """Draw nodes, choose outputs, and return the graph."""
        from tests.support.random_graphs.steps import STEPS

        weights = np.array([weight for weight, _ in STEPS], float)
        favourites = weights * self.random.exponential(1.0, len(STEPS)) ** 2  # a graph has a character
        favourites /= favourites.sum()
        self.add_input()
        tries = 0
        while len(self.builder.nodes) < self.count and tries < 12 * self.count:
            tries += 1
            step: Callable[[Drawing], None] = STEPS[int(self.random.choice(len(STEPS), p=favourites))][1]
            before = len(self.builder.nodes)
            self.builder.origin = (f"n{before}",)
            try:
                step(self)
            except RejectedError:
                self.forget(before)
        return self._with_outputs()

    def _with_outputs(self) -> RandomGraph:
        read = {v for node in self.builder.nodes for v in node.operands()}
        made = [v for node in self.builder.nodes for v in node.results()]
        ends = [v for v in made if v not in read]
        chosen = [v for v in ends if self.random.random() < 0.9] or ends[:1]
        chosen += [v for v in made if self.random.random() < 0.12]
        if not chosen or self.random.random() < 0.05:
            chosen.append(self.choose(self.pool))  # an input or a constant
        if self.random.random() < 0.05:
            chosen.append(self.choose(chosen))  # a value twice
        chosen = chosen if self.random.random() < 0.1 else list(dict.fromkeys(chosen))
        outputs = tuple((f"y{i}", v) for i, v in enumerate(chosen[:6]))
        graph = Graph(tuple(self.inputs), outputs, tuple(self.builder.nodes))
        tolerances = {n: self._tolerance(graph, i, self.truth[v]) for i, (n, v) in enumerate(outputs)}
        return RandomGraph(
            seed=self.seed,
            graph=graph,
            feeds={n: self.truth[v] for n, v in self.inputs},
            expected={n: self.truth[v] for n, v in outputs},
            tolerances=tolerances,
        )

    def _tolerance(self, graph: Graph, output: int, expected: np.ndarray) -> Tolerance:
        if self.is_exact:
            return EXACT
        return from_deviation(estimate(graph, fp32_mode="ffma")[output].deviation, expected)

    # Randomness

    def choose(self, options: Sequence[Any]) -> Any:
        """Return one of some options."""
        if not options:
            raise RejectedError("nothing to choose from")
        return options[int(self.random.integers(len(options)))]

    def chance(self, probability: float) -> bool:
        """Return true now and then."""
        return bool(self.random.random() < probability)

    def integer(self, low: int, high: int) -> int:
        """Return an integer between two, both included."""
        return int(self.random.integers(low, high + 1))

    def dimension(self) -> int:
        """Return a size of a dimension."""
        if self.has_empty and self.chance(0.15):
            return 0
        return int(self.choose([1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 8, 9, 12, 13, 16, 17, 24, 32]))

    def shape(self, low: int = 0, high: int = 5) -> tuple[int, ...]:
        """Return a shape of some rank."""
        while True:
            found = tuple(self.dimension() for _ in range(self.integer(low, high)))
            if prod(found) <= MOST_ELEMENTS // 2:
                return found

    def factors(self, elements: int, rank: int) -> tuple[int, ...]:
        """Return a shape of so many elements."""
        if elements == 0:
            found = [self.integer(1, 4) for _ in range(rank)]
            if not rank:
                raise RejectedError("a scalar is not empty")
            found[self.integer(0, rank - 1)] = 0
            return tuple(found)
        if rank == 0 and elements != 1:
            raise RejectedError("not a scalar")
        found = []
        for place in range(rank):
            divisors = [d for d in range(1, elements + 1) if elements % d == 0]
            found.append(elements if place == rank - 1 else int(self.choose(divisors)))
            elements //= found[-1]
        self.random.shuffle(found)
        return tuple(found)

    def array(self, shape: tuple[int, ...], dtype: DType, *, specials: bool = False) -> np.ndarray:
        """Return contents of moderate size, with infinities and NaN among them where SPECIALS and the graph has them."""
        if dtype == BOOL:
            return self.random.random(shape) < 0.5
        if not dtype.is_float:
            low = 0 if dtype.kind == "uint" else -9
            return np.asarray(self.random.integers(low, 10, shape)).astype(dtype.numpy)
        if self.is_exact:
            found = self.random.integers(-3, 4, shape) * self.choose([1.0, 1.0, 0.5, 2.0])
        else:
            found = self.random.standard_normal(shape) * self.choose([1.0, 1.0, 0.1, 4.0])
        found = np.asarray(found)
        if specials and self.has_specials and self.chance(0.4) and found.size:
            for special in (np.nan, np.inf, -np.inf):
                if self.chance(0.4):
                    found[tuple(self.integer(0, d - 1) for d in shape)] = special
        return found.astype(dtype.numpy)

    # Values

    def add_input(self, shape: tuple[int, ...] | None = None, dtype: DType | None = None) -> Value:
        """Declare an input."""
        shape = self.shape() if shape is None else shape
        if prod(shape) > MOST_ELEMENTS or len(self.inputs) >= 6:
            raise RejectedError("too large, or too many inputs")
        dtype = dtype or self.float_
        name = f"x{len(self.inputs)}"
        value = self.builder.input(name, TensorType(dtype, shape))
        self.inputs.append((name, value))
        return self._know(value, self.array(shape, dtype, specials=True))

    def add_constant(self, array: np.ndarray) -> Value:
        """Return a constant."""
        return self._know(self.builder.constant(array), array)

    def numbers(self, *numbers: int) -> Value:
        """Return a constant vector of int64, for attributes that are operands."""
        return self.attribute(np.array(numbers, np.int64))

    def attribute(self, array: np.ndarray) -> Value:
        """Return a constant that no other node reads, and that is never off."""
        value = self.builder.constant(array)
        self.truth[value] = self.shaken[value] = array
        return value

    def _know(self, value: Value, array: np.ndarray) -> Value:
        self.truth[value] = array
        self.shaken[value] = self._shake(array, value.type.dtype)
        self.pool.append(value)
        return value

    def pick(self, accepts: Callable[[Value], bool] = lambda _: True, *, new: bool = True) -> Value:
        """Return a value of the pool, later ones more often."""
        fitting = [v for v in self.pool if accepts(v)]
        if not fitting:
            raise RejectedError("no value fits")
        if self.chance(0.7):
            return fitting[max(0, len(fitting) - 1 - int(self.random.geometric(0.5)) + 1)]
        return self.choose(fitting)

    def pick_float(self) -> Value:
        """Return a floating-point value."""
        return self.pick(lambda v: v.type.dtype.is_float)

    def like(self, shape: tuple[int, ...], dtype: DType, *, constant: float = 0.4) -> Value:
        """Return some value of this type: one of the pool, as it is or moved into shape; a constant; or an input."""
        elements = prod(shape)
        if elements > MOST_ELEMENTS:
            raise RejectedError("too large")
        if self.chance(constant):
            array = self.array(shape, dtype)
            if self.chance(0.1) and array.size:
                array = np.full(shape, array.flat[0])
            return self.add_constant(array)
        same = [v for v in self.pool if v.type.dtype == dtype and v.type.static == shape]
        if same and self.chance(0.7):
            return self.choose(same)
        many = [v for v in self.pool if v.type.dtype == dtype and v.type.elements == elements]
        if many and self.chance(0.7):
            value = self.choose(many)
            if len(value.type.shape) > 1 and self.chance(0.5):
                value = self.apply("Transpose", [value], perm=tuple(int(i) for i in self.random.permutation(len(value.type.shape))))
            return value if value.type.static == shape else self.apply("Reshape", [value, self.numbers(*shape)], allowzero=1)
        wider = [v for v in self.pool if v.type.dtype == dtype and len(v.type.shape) == len(shape) and self._covers(v, shape)]
        if wider and self.chance(0.5):
            value = self.choose(wider)
            starts = [self.integer(0, d - n) for d, n in zip(value.type.static, shape, strict=True)]
            ends = [s + n for s, n in zip(starts, shape, strict=True)]
            return self.apply("Slice", [value, self.numbers(*starts), self.numbers(*ends)])
        if len(self.inputs) < 6 and self.chance(0.7):
            return self.add_input(shape, dtype)
        return self.add_constant(self.array(shape, dtype))

    @staticmethod
    def _covers(value: Value, shape: tuple[int, ...]) -> bool:
        return all(n <= d for d, n in zip(value.type.static, shape, strict=True)) and value.type.static != shape

    def broadcasting(self, shape: tuple[int, ...], dtype: DType) -> Value:
        """Return a value that broadcasts to a shape."""
        kept = shape[self.integer(0, len(shape)) if self.chance(0.3) else 0 :]
        kept = tuple(1 if self.chance(0.25) else d for d in kept)
        return self.like(kept, dtype)

    def ranked(self, low: int, high: int, dtype: DType | None = None) -> Value:
        """Return a value whose rank lies between two, reshaped where that is needed."""

        def fits(value: Value) -> bool:
            return value.type.dtype == (dtype or value.type.dtype) and (dtype is not None or value.type.dtype.is_float)

        value = self.pick(fits)
        if low <= len(value.type.shape) <= high:
            return value
        if self.chance(0.3):
            return self.add_input(self.shape(low, high), dtype)
        shape = self.factors(value.type.elements, self.integer(low, high))
        return self.apply("Reshape", [value, self.numbers(*shape)], allowzero=1)

    # Nodes

    def apply(self, op: str, operands: Sequence[Value | None], *, outputs: int = 1, add: bool = True, **attributes: Any) -> Value:
        """Append a node and return its first result."""
        return self.apply_all(op, operands, outputs=outputs, add=add, **attributes)[0]

    def apply_all(
        self, op: str, operands: Sequence[Value | None], *, outputs: int = 1, add: bool = True, **attributes: Any
    ) -> tuple[Value, ...]:
        """Append a node and return its results.

        Raises:
            RejectedError: the results could not be compared.
        """
        before = len(self.builder.nodes)
        try:
            results = self.builder.apply(op, operands, outputs=(None,) * outputs, **attributes)
        except ModelError as error:
            raise RejectedError(str(error)) from error
        if any(v is not None and v.type.elements > MOST_ELEMENTS for v in results):
            del self.builder.nodes[before:]
            raise RejectedError("too large")
        operator = operators()[op]
        attrs = self.builder.attributes(operator, None, attributes)
        found = evaluate_operator(operator, attrs, [None if v is None else self.truth[v] for v in operands], outputs)
        shaken = evaluate_operator(operator, attrs, [None if v is None else self.shaken[v] for v in operands], outputs)
        for value, array, other in zip(results, found, shaken, strict=False):
            assert value is not None
            self.truth[value] = array
            self.shaken[value] = self._shake(other, value.type.dtype)
        try:
            for value in results:
                assert value is not None
                self._check(op, attrs, operands, value)
        except RejectedError:
            del self.builder.nodes[before:]
            raise
        self.pool += [v for v in results if v is not None and add]
        return tuple(v for v in results if v is not None)

    def forget(self, nodes: int) -> None:
        """Drop the nodes after the first few that nothing reads: a step that failed half-way may have appended some."""
        del self.builder.nodes[nodes:]
        made = {v for node in self.builder.nodes for v in node.results()} | {v for _, v in self.inputs}
        self.pool = [v for v in self.pool if v in made or v.constant is not None]

    def _shake(self, array: np.ndarray, dtype: DType) -> np.ndarray:
        """Return the array off by a few units in the last place; 16-bit floats wide, since fusion leaves their rounding out."""
        if self.is_exact or not dtype.is_float:
            return array
        step = unit_roundoff(dtype) * (8 if dtype in (F32, F64) else 2)
        with np.errstate(all="ignore"):
            wide = array.astype(np.float64)
            return np.asarray(wide * (1 + step * self.random.uniform(-1, 1, array.shape))).astype(dtype.compute.numpy)

    def _check(self, op: str, attrs: Any, operands: Sequence[Value | None], value: Value) -> None:
        """Raise RejectedError where a result cannot be compared."""
        array = self.truth[value]
        if self.is_exact:
            if value.type.dtype.is_float:
                _check_grid(array, value.type.dtype)
                self._check_sum(op, attrs, operands, array)
            return
        shaken = self.shaken[value]
        if not value.type.dtype.is_float:
            if not np.array_equal(array, shaken) or not self._is_stable(op, attrs, operands, array):
                raise RejectedError("a discrete result is not stable")
            return
        graph = Graph(tuple(self.inputs), (("y", value),), tuple(self.builder.nodes))
        tolerance = from_deviation(estimate(graph, fp32_mode="ffma")[0].deviation, array)
        half = Tolerance(rtol=tolerance.rtol / 2, atol=tolerance.atol / 2)
        with np.errstate(all="ignore"):
            if not compare(shaken, array, half).is_match:
                raise RejectedError("the result is ill-conditioned")
            finite = np.isfinite(array)
            largest = {"f16": 3e4}.get(value.type.dtype.name, 1e9)
            if array.size and (np.abs(array[finite].astype(np.float64)) > largest).any():
                raise RejectedError("the result is large")

    def _is_stable(self, op: str, attrs: Any, operands: Sequence[Value | None], array: np.ndarray) -> bool:
        """Whether a discrete result stays the same when every operand is shaken again."""
        if not any(v is not None and v.type.dtype.is_float for v in operands):
            return True
        for _ in range(4):
            shaken = [None if v is None else self._shake(self.shaken[v], v.type.dtype) for v in operands]
            if not np.array_equal(array, evaluate_operator(operators()[op], attrs, shaken, 1)[0]):
                return False
        return True

    def _check_sum(self, op: str, attrs: Any, operands: Sequence[Value | None], array: np.ndarray) -> None:
        """Partial sums must be exact in any order."""
        if op not in _SUMS:
            return
        arrays = [None if v is None else self.truth[v] for v in operands]
        grid = sum(_grid(a) for a in arrays[: 2 if op in ("MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum") else 1] if a is not None)
        wide = [np.abs(a.astype(np.float64)) if a is not None and dtype_of(a).is_float else a for a in arrays]
        (total, *_) = evaluate_operator(operators()[op], attrs, wide, 1)
        if op in ("ReduceMean", "AveragePool", "GlobalAveragePool"):
            total = total * (max(a.size for a in arrays if a is not None) / max(1, array.size) + 64)
        finite = total[np.isfinite(total)]
        if finite.size and finite.max() * 2.0**grid > 2**23:
            raise RejectedError("a partial sum could be rounded")


_SUM_NAMES = """
MatMul Gemm Conv ConvTranspose Einsum CumSum ReduceSum ReduceMean ReduceL1 ReduceSumSquare ReduceProd AveragePool GlobalAveragePool Sum Mean
"""
_SUMS = frozenset(_SUM_NAMES.split())


def _grid(array: np.ndarray) -> int:
    """Return the negative exponent of the power of two of which all elements are multiples.

    Raises:
        RejectedError: it is too large.
    """
    with np.errstate(all="ignore"):
        wide = array.astype(np.float64)
        wide = wide[np.isfinite(wide)]
    for grid in range(_GRID + 1):
        scaled = wide * 2.0**grid
        if (scaled == np.rint(scaled)).all():
            return grid
    raise RejectedError("not on the grid")


def _check_grid(array: np.ndarray, dtype: DType) -> None:
    grid = _grid(array)
    with np.errstate(all="ignore"):
        wide = np.abs(array.astype(np.float64))
    finite = wide[np.isfinite(wide)]
    if finite.size and finite.max() * 2.0**grid > 2 ** (_SIGNIFICAND[dtype.name] - 1):
        raise RejectedError("a result could be rounded")
