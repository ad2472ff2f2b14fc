"""Draws small random graphs over named dimensions, which are built once with the dimensions open, and once for any sizes.

A graph is a list of steps that write nodes into a builder. A step is tried with open dimensions first; one that the shape rules cannot
decide, or that grows beyond bounds, is forgotten. Shapes that reshapes and slices need are computed by nodes (Shape, Gather, Mul, Concat),
as exporters write them. Numbers are small whole ones, and as long as no step rounds, results are exact whatever the order of the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from random import Random

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import is_symbolic, lower, same, upper
from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.types import F32, I64, TensorType
from nautilus_cli.numerics import EXACT, Tolerance
from nautilus_cli.numerics.propagation import estimate
from nautilus_cli.numerics.tolerance import from_deviation
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.evaluate import evaluate

MOST_ELEMENTS = 20_000
MOST_PRODUCTS = 400_000
MOST_EXACT = 2.0**20
"""Above it, results are clipped before they go on: sums of f32 are exact up to 2 to the power of 24."""

Step = Callable[[GraphBuilder, list[Value]], Value]
"""Writes nodes; returns their result. The list holds the results of the steps before, the inputs first."""


@dataclass(frozen=True, slots=True)
class Dim:
    """A dimension with its sizes."""

    name: str
    low: int
    high: int
    divisor: int

    def symbol(self) -> int:
        """Return it as a symbolic integer."""
        return symbol(self.name, self.low, self.high, self.divisor)

    def sizes(self, random: Random) -> int:
        """Return one of its sizes."""
        return random.randrange(-(-self.low // self.divisor), self.high // self.divisor + 1) * self.divisor


@dataclass(frozen=True, slots=True)
class Input:
    """An input: its dimensions by name or as numbers, and for one of indices how many there are to choose from."""

    shape: tuple[str | int, ...]
    indices: int | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenGraph:
    """A drawn graph.

    Attributes:
        seed: it was drawn from.
        dims: its open dimensions.
        inputs: what goes in.
        steps: what is computed.
        outputs: numbers of the steps that are given out.
        is_exact: whether no step rounds.
        graph: with the dimensions open.
    """

    seed: int
    dims: tuple[Dim, ...]
    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    is_exact: bool
    graph: Graph

    def sized(self, sizes: Mapping[str, int]) -> Graph:
        """Return the graph for some sizes."""
        return build(self.inputs, self.steps, self.outputs, sizes)

    def feeds(self, sizes: Mapping[str, int], seed: int) -> dict[str, np.ndarray]:
        """Return inputs for some sizes."""
        random = np.random.default_rng(seed)
        found = {}
        for number, one in enumerate(self.inputs):
            shape = tuple(sizes[dim] if isinstance(dim, str) else dim for dim in one.shape)
            array = random.integers(-3, 4, shape).astype(np.float32) if one.indices is None else random.integers(0, one.indices, shape)
            found[f"x{number}"] = array
        return found

    def truth(self, sizes: Mapping[str, int], feeds: Mapping[str, np.ndarray]) -> dict[str, tuple[np.ndarray, Tolerance]]:
        """Return each output and how closely it must be met."""
        graph = self.sized(sizes)
        expected = evaluate(graph, feeds)
        errors = estimate(graph, fp32_mode="ffma")
        return {
            name: (expected[name], EXACT if self.is_exact else from_deviation(error.deviation, expected[name]))
            for (name, _), error in zip(graph.outputs, errors, strict=True)
        }

    def cases(self) -> list[dict[str, int]]:
        """Return the smallest and the largest sizes, and some between."""
        random = Random(self.seed)
        some = [{dim.name: dim.sizes(random) for dim in self.dims} for _ in range(3)]
        return [{dim.name: dim.low for dim in self.dims}, {dim.name: dim.high for dim in self.dims}, *some]


def build(inputs: tuple[Input, ...], steps: tuple[Step, ...], outputs: tuple[int, ...], sizes: Mapping[str, int]) -> Graph:
    """Return a graph whose dimensions are SIZES: numbers, or symbols."""
    builder = GraphBuilder()
    values = []
    for number, one in enumerate(inputs):
        shape = tuple(sizes[dim] if isinstance(dim, str) else dim for dim in one.shape)
        values.append(builder.input(f"x{number}", TensorType(F32 if one.indices is None else I64, shape)))
    for number, step in enumerate(steps):
        builder.origin = (f"n{number}",)
        values.append(step(builder, values))
    first = len(inputs)
    return builder.graph([(f"y{i}", values[first + i]) for i in outputs])


def draw(seed: int) -> OpenGraph:
    """Return the graph of a seed."""
    return Drawing(seed).finish()


class Drawing:
    """A graph that grows by random steps.

    Attributes:
        random: what decides.
        values: what the steps so far compute, the inputs first, with open dimensions.
        greatest: bound of the magnitude of each.
    """

    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, Random(seed)
        self.has_rounding = self.random.random() < 0.4
        self.dims = tuple(self._dim(name) for name in ("n", "m", "len")[: self.random.randint(1, 3)])
        self.symbols = {dim.name: dim.symbol() for dim in self.dims}
        self.inputs: list[Input] = []
        self.steps: list[Step] = []
        self.values: list[Value] = []
        self.greatest: list[float] = []
        self.is_exact = True
        self.builder = GraphBuilder()

    def _dim(self, name: str) -> Dim:
        kind = self.random.random()
        if kind < 0.15:
            return Dim(name, 0, self.random.randint(3, 6), 1)
        if kind < 0.3:
            return Dim(name, 4, 12, 4)
        return Dim(name, self.random.choice([1, 1, 2, 3]), self.random.randint(4, 9), 1)

    def finish(self) -> OpenGraph:
        """Draw inputs and steps, choose outputs, and return the graph."""
        from tests.support.open_graphs.steps import STEPS

        for _ in range(self.random.randint(1, 3)):
            self.add_input(self.random_shape(self.random.randint(1, 4)))
        inputs = len(self.inputs)
        wanted = self.random.randint(2, 12)
        for _ in range(12 * wanted):
            if len(self.steps) == wanted:
                break
            self.random.choice(STEPS)(self)
        assert len(self.inputs) == inputs
        read = self.read()
        ends = [i for i in range(len(self.steps)) if i + inputs not in read] or [len(self.steps) - 1]
        outputs = tuple(dict.fromkeys(ends + [i for i in range(len(self.steps)) if self.random.random() < 0.15]))[:5]
        arguments = tuple(self.inputs), tuple(self.steps), outputs
        return OpenGraph(
            seed=self.seed,
            dims=self.dims,
            inputs=arguments[0],
            steps=arguments[1],
            outputs=outputs,
            is_exact=self.is_exact,
            graph=build(*arguments, self.symbols),
        )

    def read(self) -> set[int]:
        """Return the numbers of the values that nodes read."""
        operands = {v for node in self.builder.nodes for v in node.operands()}
        return {i for i, value in enumerate(self.values) if value in operands}

    def random_shape(self, rank: int) -> tuple[str | int, ...]:
        """Return dimensions, about half of them open."""
        names = [dim.name for dim in self.dims]
        return tuple(self.random.choice(names) if self.random.random() < 0.6 else self.random.randint(1, 5) for _ in range(rank))

    def add_input(self, shape: tuple[str | int, ...], indices: int | None = None) -> int:
        """Declare an input; return its number. Only before the first step."""
        number = len(self.inputs)
        dims = tuple(self.symbols[d] if isinstance(d, str) else d for d in shape)
        self.inputs.append(Input(shape, indices))
        self.values.append(self.builder.input(f"x{number}", TensorType(F32 if indices is None else I64, dims)))
        self.greatest.append(3.0)
        return number

    def pick(self) -> int:
        """Return the number of a value, a late one more often."""
        count = len(self.values)
        return max(self.random.randrange(count), self.random.randrange(count))

    def shape(self, number: int) -> tuple[int, ...]:
        """Return the shape of a value."""
        return self.values[number].type.static

    def append(self, step: Step, greatest: float, *, rounds: bool = False) -> bool:
        """Add a step whose results are at most GREATEST; return whether it could be."""
        if rounds and not self.has_rounding:
            return False
        nodes = len(self.builder.nodes)
        self.builder.origin = (f"n{len(self.steps)}",)
        try:
            value = step(self.builder, self.values)
            if self.builder.requirements:  # that some sizes break
                self.builder.requirements.clear()
                raise ModelError("not for all sizes")
            if value.constant is not None or value.contents is not None or upper(value.type.elements) > MOST_ELEMENTS:
                raise ModelError("of no interest")
        except ModelError:
            del self.builder.nodes[nodes:]
            return False
        if self.is_exact and not rounds and greatest > MOST_EXACT:
            inner = step

            def step(builder: GraphBuilder, values: list[Value]) -> Value:
                limits = (builder.constant(np.array(limit, np.float32)) for limit in (-7, 7))
                return builder.node("Clip", (inner(builder, values), *limits))

            del self.builder.nodes[nodes:]
            value, greatest = step(self.builder, self.values), 7.0
        self.is_exact &= not rounds
        self.steps.append(step)
        self.values.append(value)
        self.greatest.append(greatest)
        return True


def is_open(dim: int) -> bool:
    """Whether a dimension depends on an open one."""
    return is_symbolic(dim)


def smallest(dim: int) -> int:
    """Return the least that a dimension can be."""
    return lower(dim)


def most_products(*dims: int) -> int:
    """Return how many multiplications a product of these dimensions takes at most."""
    return int(prod(upper(dim) for dim in dims))


def equal(left: object, right: object) -> bool:
    """Whether two dimensions or shapes are equal at all sizes."""
    return same(left, right)
