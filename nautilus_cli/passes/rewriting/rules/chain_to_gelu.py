"""x · ½ · (1 + Erf(x / √2)) = Gelu(x), and x · ½ · (1 + Tanh(√(2/π) · (x + 0.044715 · x³))) = Gelu(x) by tanh, however they are associated.

Exporters of opsets before 20, which have no Gelu, write the chain. One operator is fewer instructions, of 16 bits above all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite, pi, sqrt

import numpy as np
from numpy.polynomial import polynomial

from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ir.types import F64
from nautilus_cli.numerics.tolerance import unit_roundoff
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.passes.rewriting.rule import Surroundings

DEPTH = 6
"""Most nodes on a way through what is multiplied, or through the function's argument: a chain as exporters write it has four."""

DEGREE = 3
"""Of the argument as a polynomial in x."""

FORMS: dict[str, tuple[str, tuple[float, ...]]] = {
    "Erf": ("none", (0.0, sqrt(0.5), 0.0, 0.0)),
    "Tanh": ("tanh", (0.0, sqrt(2 / pi), 0.0, sqrt(2 / pi) * 0.044715)),
}
"""By function: the attribute of Gelu, and the coefficients of the argument, lowest power first.

Source: ONNX 28, Gelu-20.
"""

ROUNDINGS = 2
"""Roundings to the element type that a coefficient has at most: of each of two constants, or of a constant and of its square root."""

COMPUTED = 4
"""Roundings to float64 that it has here, and in what it is compared to."""


class ChainToGelu:
    """Take the chain of operators that older exporters write for the GELU that it is."""

    name = "chain_to_gelu"
    pattern = "Mul(Mul(x, 0.5), Add(Erf(Div(x, c)), 1))"

    def check(self, node: Node, around: Surroundings) -> tuple[Node, ...] | str:
        """Apply where the constants are those of GELU but for rounding, and nothing else reads what lies between."""
        found = _matched(node, around)
        return found if isinstance(found, str) else found.nodes

    def rewrite(self, node: Node, around: Surroundings, emit: GraphBuilder) -> Value:
        """Emit the operator on what the chain begins with."""
        found = _matched(node, around)
        assert isinstance(found, _Match)
        return emit.node("Gelu", (found.x,), approximate=found.approximate)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Match:
    """A chain: what it begins with, which form of GELU it is, and its nodes, the last one last."""

    x: Value
    approximate: str
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class _Walk:
    """A walk from a node towards what it is computed from, through values that have no other reader.

    Attributes:
        around: of the node.
        nodes: those that it went through.
    """

    around: Surroundings
    nodes: dict[Node, None] = field(default_factory=dict)

    def step(self, value: Value, *ops: str) -> Node | None:
        """Return the node of one of OPS that computes VALUE for one reader only, and note it."""
        for op in ops:
            node = self.around.sole_producer(value, op)
            if node is not None:
                self.nodes[node] = None
                return node
        return None

    def product(self, value: Value, depth: int = DEPTH) -> tuple[float, list[Value]]:
        """Return a constant and the values that VALUE is the product of."""
        number = _number(value)
        if number is not None:
            return number, []
        node = self.step(value, "Mul", "Div", "Neg") if depth else None
        return (1.0, [value]) if node is None else self.factors(node, depth - 1)

    def factors(self, node: Node, depth: int = DEPTH) -> tuple[float, list[Value]]:
        """Return the same for the result of a multiplication, a division or a change of sign."""
        left, *others = node.operands()
        constant, values = self.product(left, depth)
        if not others:
            return -constant, values
        if node.op == "Mul":
            factor, more = self.product(others[0], depth)
            return constant * factor, [*values, *more]
        divisor = _number(others[0])
        return (constant / divisor, values) if divisor else (1.0, list(node.results()))

    def polynomial(self, value: Value, x: Value, depth: int = DEPTH) -> np.ndarray | None:
        """Return the coefficients of VALUE as a polynomial in X, lowest power first; None where it is none of DEGREE at most."""
        if value is x:
            return np.array([0.0, 1.0])
        number = _number(value)
        if number is not None:
            return np.array([number])
        node = self.step(value, "Mul", "Add", "Sub", "Div", "Neg", "Pow") if depth else None
        if node is None:
            return None
        terms = [self.polynomial(operand, x, depth - 1) for operand in node.operands()]
        result = _combined(node.op, *(term for term in terms if term is not None)) if all(t is not None for t in terms) else None
        return result if result is not None and len(result) <= DEGREE + 1 else None


def _matched(node: Node, around: Surroundings) -> _Match | str:
    if node.op != "Mul":
        return "not a multiplication"
    result = next(node.results())
    if not result.type.dtype.is_float:
        return "not a floating-point multiplication"
    walk = _Walk(around)
    half, values = walk.factors(node)
    if len(values) != 2:
        return "not a product of two values and constants"
    for x, one_more in (values, reversed(values)):
        found = _shifted(walk, one_more)
        if found is None:
            continue
        function, shift, factor = found
        approximate, wanted = FORMS[function.op]
        with np.errstate(all="ignore"):  # numbers of a model; what overflows is no constant of GELU
            argument = walk.polynomial(next(function.operands()), x)
        if argument is None:
            return f"what {function.op} is of is no polynomial in the other factor, or another node reads what lies between"
        if argument[-1] < 0:  # 1 - Erf(-x / √2), as the complementary function is written; both functions are odd
            argument, factor = -argument, -factor
        unit = unit_roundoff(result.type.dtype)
        rounding = ROUNDINGS * unit * (1 + unit) + COMPUTED * unit_roundoff(F64)
        got = [half * shift, half * factor, *argument, *[0.0] * (len(wanted) - len(argument))]
        if not all(abs(a - b) <= rounding * b for a, b in zip(got, (0.5, 0.5, *wanted), strict=True)):
            return f"the constants around {function.op} are not those of GELU"
        if x.type != result.type:
            return "a constant has more dimensions than the tensor"
        return _Match(x=x, approximate=approximate, nodes=(*walk.nodes, node))
    return "no factor is a constant and Erf, or Tanh, that nothing else reads"


def _shifted(walk: _Walk, value: Value) -> tuple[Node, float, float] | None:
    """Return the function, s and t where VALUE is s + t · function(...)."""
    total = walk.step(value, "Add", "Sub")
    if total is None:
        return None
    (left, lefts), (right, rights) = (walk.product(operand) for operand in total.operands())
    if total.op == "Sub":
        right = -right
    if lefts:
        left, lefts, right, rights = right, rights, left, lefts
    function = walk.step(rights[0], *FORMS) if not lefts and len(rights) == 1 else None
    return None if function is None else (function, left, right)


def _combined(op: str, left: np.ndarray, right: np.ndarray | None = None) -> np.ndarray | None:
    """Return the polynomial that an operator makes of polynomials; None where it makes another function, or of a higher power."""
    if right is None:
        return -left
    match op:
        case "Add":
            return np.asarray(polynomial.polyadd(left, right))
        case "Sub":
            return np.asarray(polynomial.polysub(left, right))
        case "Mul":
            return np.asarray(polynomial.polymul(left, right))
        case "Div":
            return left / right[0] if len(right) == 1 and right[0] else None
        case _:
            return np.asarray(polynomial.polypow(left, int(right[0]))) if len(right) == 1 and right[0] in range(1, DEGREE + 1) else None


def _number(value: Value) -> float | None:
    """Return the number that a constant of one element holds, if it is finite."""
    if value.constant is None or value.constant.size != 1:
        return None
    number = float(value.constant.reshape(()))
    return number if isfinite(number) else None


RULE = ChainToGelu()
