"""The chains of operators that exporters write for GELU, in their associations, and those that only look like one."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from pathlib import Path

import numpy as np
import onnx
import pytest

from models.small import build
from nautilus_cli.frontend.load import load
from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.types import BF16, F16, F32, F64, DType
from nautilus_cli.passes.pipeline import simplify
from nautilus_cli.passes.rewriting.apply_rules import all_rules, apply_rules
from nautilus_cli.passes.rewriting.rule import surroundings
from tests.unit.passes.sketches import Sketch, ops

Same = Callable[[Graph, Graph], None]
Chain = Callable[["Scalars", Value], Value]


class Scalars(Sketch):
    """A sketch whose arithmetic takes numbers."""

    def __call__(self, op: str, *operands: Value | float) -> Value:
        """Append an operator on values and on constants of the sketch's type."""
        return self.node(op, [v if isinstance(v, Value) else self.constant(np.array(v, self.dtype.numpy)) for v in operands])


def torchscript(s: Scalars, x: Value) -> Value:
    return s("Mul", s("Mul", x, s("Add", s("Erf", s("Div", x, sqrt(2))), 1)), 0.5)


def tf2onnx(s: Scalars, x: Value) -> Value:
    return s("Mul", s("Mul", 0.5, x), s("Add", 1, s("Erf", s("Mul", sqrt(0.5), x))))


def distribution(s: Scalars, x: Value) -> Value:
    return s("Mul", x, s("Mul", s("Add", s("Erf", s("Div", x, sqrt(2))), 1), 0.5))


def distributed(s: Scalars, x: Value) -> Value:
    return s("Mul", s("Add", 0.5, s("Mul", s("Erf", s("Div", x, sqrt(2))), 0.5)), x)


def halves_by_division(s: Scalars, x: Value) -> Value:
    return s("Mul", s("Add", s("Erf", s("Div", x, sqrt(2))), 1), s("Div", x, 2))


def complementary(s: Scalars, x: Value) -> Value:
    return s("Mul", s("Mul", 0.5, x), s("Sub", 1, s("Erf", s("Mul", s("Neg", x), sqrt(0.5)))))


def gpt2(s: Scalars, x: Value) -> Value:
    cube = s("Mul", s("Pow", x, 3), 0.044715)
    return s("Mul", s("Mul", x, 0.5), s("Add", s("Tanh", s("Mul", s("Add", x, cube), sqrt(2 / pi))), 1))


def products(s: Scalars, x: Value) -> Value:
    cube = s("Mul", 0.044715, s("Mul", s("Mul", x, x), x))
    return s("Mul", x, s("Mul", 0.5, s("Add", 1, s("Tanh", s("Mul", sqrt(2 / pi), s("Add", x, cube))))))


def factored(s: Scalars, x: Value) -> Value:
    inner = s("Mul", s("Mul", x, 0.7978845608), s("Add", 1, s("Mul", s("Mul", 0.044715, x), x)))
    return s("Mul", s("Mul", x, 0.5), s("Add", 1, s("Tanh", inner)))


CHAINS: dict[Chain, str] = {
    **dict.fromkeys((torchscript, tf2onnx, distribution, distributed, halves_by_division, complementary), "none"),
    **dict.fromkeys((gpt2, products, factored), "tanh"),
}


def graph_of(chain: Chain, dtype: DType = F32) -> Graph:
    s = Scalars(dtype)
    return s.graph([("y", chain(s, s.x(5, 7)))])


def reason(graph: Graph, place: int = -1) -> tuple[object, ...] | str:
    (rule,) = (rule for rule in all_rules() if rule.name == "chain_to_gelu")
    return rule.check(graph.nodes[place], surroundings(graph))


@pytest.mark.parametrize("dtype", [F16, F32], ids=str)
@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.__name__)
def test_a_chain_is_one_operator(chain: Chain, dtype: DType, same_results: Same) -> None:
    graph = graph_of(chain, dtype)
    result = apply_rules(graph)
    assert list(ops(result)) == ["Gelu"]
    assert result.nodes[0].attrs.approximate == CHAINS[chain]  # type: ignore[attr-defined]
    same_results(graph, result)
    assert apply_rules(result) is result


@pytest.mark.parametrize("dtype", [BF16, F64], ids=str)
@pytest.mark.parametrize("chain", [torchscript, gpt2])
def test_constants_are_those_of_the_type(chain: Chain, dtype: DType) -> None:
    assert list(ops(apply_rules(graph_of(chain, dtype)))) == ["Gelu"]


def test_ten_digits_are_not_a_constant_of_float64() -> None:
    graph = graph_of(factored, F64)
    assert apply_rules(graph) is graph
    assert reason(graph) == "the constants around Tanh are not those of GELU"


def with_numbers(half: float = 0.5, one: float = 1.0, divisor: float = sqrt(2)) -> Chain:
    return lambda s, x: s("Mul", s("Mul", x, half), s("Add", s("Erf", s("Div", x, divisor)), one))


@pytest.mark.parametrize("numbers", [{"half": 0.501}, {"one": 0.999}, {"divisor": 1.4142}, {"divisor": -sqrt(2)}, {"divisor": 1e-30}])
def test_other_constants_are_another_function(numbers: dict[str, float]) -> None:
    graph = graph_of(with_numbers(**numbers))
    assert apply_rules(graph) is graph
    assert reason(graph) == "the constants around Erf are not those of GELU"


def test_a_divisor_may_be_zero_or_no_number() -> None:
    for divisor in (0.0, float("inf"), float("nan")):
        graph = graph_of(with_numbers(divisor=divisor))
        assert apply_rules(graph) is graph


def test_four_digits_are_a_constant_of_float16() -> None:
    """1.4142 is the float16 nearest to it, which is that nearest to √2."""
    assert list(ops(apply_rules(graph_of(with_numbers(divisor=1.4142), F16)))) == ["Gelu"]


def test_the_function_of_another_tensor_stays() -> None:
    s = Scalars()
    graph = s.graph([("y", s("Mul", s("Mul", s.x(5), 0.5), s("Add", s("Erf", s("Div", s.x(5, name="z"), sqrt(2))), 1)))])
    assert apply_rules(graph) is graph
    assert reason(graph) == "what Erf is of is no polynomial in the other factor, or another node reads what lies between"


@pytest.mark.parametrize("place", range(4))
def test_what_lies_between_may_have_no_other_reader(place: int) -> None:
    """As an output of the graph, or by another node."""
    for reader in ("Identity", "Relu"):
        s = Scalars()
        y = torchscript(s, s.x(5, 7))
        (between,) = s.nodes[place].results()
        other = between if reader == "Identity" else s(reader, between)
        graph = s.graph([("y", y), ("other", other)])
        assert "Gelu" not in ops(apply_rules(graph))


def test_a_constant_that_broadcasts_the_tensor_stays() -> None:
    s = Scalars()
    more = s.constant(np.full((1, 1, 1), 0.5, np.float32))
    x = s.x(5, 7)
    graph = s.graph([("y", s("Mul", s("Mul", x, s("Add", s("Erf", s("Div", x, sqrt(2))), 1)), more))])
    assert apply_rules(graph) is graph
    assert reason(graph) == "a constant has more dimensions than the tensor"


def test_a_gate_behind_it_stays(same_results: Same) -> None:
    """The chain ends before what it is multiplied by."""
    s = Scalars()
    graph = s.graph([("y", s("Mul", gpt2(s, s.x(5, 7)), s.x(5, 7, name="gate")))])
    result = apply_rules(graph)
    assert list(ops(result)) == ["Gelu", "Mul"]
    same_results(graph, result)


def test_a_long_product_is_looked_at_for_a_few_steps() -> None:
    s = Scalars()
    y = s.x(5, 7)
    for _ in range(3000):
        y = s("Mul", y, y if len(s.nodes) % 2 else 0.5)
    graph = s.graph([("y", s("Neg", y))])
    assert apply_rules(graph) is graph


@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
@pytest.mark.parametrize(
    ("network", "exporter"), [("bert", "torchscript"), ("vit", "torchscript"), ("gpt2", "torchscript"), ("gpt2", "dynamo")]
)
def test_small_networks_have_operators_for_their_chains(network: str, exporter: str, dtype: str, tmp_path: Path) -> None:
    onnx.save(build(network, exporter, dtype), tmp_path / "m.onnx")
    found = list(ops(simplify(load(tmp_path / "m.onnx").graph)))
    assert "Gelu" in found
    assert not {"Erf", "Tanh"}.intersection(found)
