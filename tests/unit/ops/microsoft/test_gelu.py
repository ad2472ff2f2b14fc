from __future__ import annotations

import numpy as np
import pytest

from tests.unit.ops.microsoft.contrib import agrees, agrees_in_half, floats, refuses

RNG = np.random.default_rng(1)


@pytest.mark.parametrize("shape", [(5,), (2, 3, 7), (1, 64)])
def test_gelu(shape: tuple[int, ...]) -> None:
    x, bias = 2 * floats(RNG, *shape), floats(RNG, shape[-1])
    agrees("Gelu", [x])
    agrees("FastGelu", [x])
    agrees("FastGelu", [x, bias])
    agrees("BiasGelu", [x, bias])
    agrees("QuickGelu", [x])
    agrees("QuickGelu", [x], {"alpha": 0.5})


def test_in_half_precision_the_sum_is_not_rounded() -> None:
    x, bias = floats(RNG, 4, 33), floats(RNG, 33)
    agrees_in_half("FastGelu", [x, bias])
    agrees_in_half("BiasGelu", [x, bias])
    agrees_in_half("Gelu", [x])
    agrees_in_half("QuickGelu", [x])


def test_split_multiplies_the_left_half_by_the_gelu_of_the_right() -> None:
    from nautilus_cli.ops.registry import operators
    from tests.unit.ops.oracle import onnxruntime_says, same

    x, bias = floats(RNG, 2, 3, 10), floats(RNG, 10)
    left, right = np.split(x + bias, 2, axis=-1)
    (wanted,) = onnxruntime_says("com.microsoft::Gelu", [right], {}, 1, 22)
    (found,) = operators()["com.microsoft::BiasSplitGelu"].evaluate(None, (x, bias), 1)
    same(found, left * wanted, terms=1, depth=8)


@pytest.mark.parametrize("shape", [(4, 6), (2, 3, 6)])
def test_product(shape: tuple[int, ...]) -> None:
    from nautilus_cli.ops.registry import operators
    from tests.unit.ops.oracle import onnxruntime_says, same

    x, w, bias = floats(RNG, *shape), floats(RNG, 6, 5), floats(RNG, 5)
    (wanted,) = onnxruntime_says("com.microsoft::FastGelu", [x @ w, bias], {}, 1, 22)
    (found,) = operators()["com.microsoft::GemmFastGelu"].evaluate(None, (x, w, bias), 1)
    same(found, wanted, terms=6, depth=8)


def test_refusals() -> None:
    x = floats(RNG, 2, 6)
    refuses("FastGelu", [x, floats(RNG, 5)], {}, r"'bias' has shape \[5\]; the specification requires \[6\]")
    refuses("FastGelu", [x, floats(RNG, 6).astype(np.float64)], {}, "'bias' has type f64")
    refuses("BiasGelu", [x], {}, "has 1 operands; the specification allows 2")
    refuses("Gelu", [x.astype(np.int32)], {}, "'X' has type i32")
    refuses("BiasSplitGelu", [floats(RNG, 2, 2, 5), floats(RNG, 5)], {}, "even last dimension")
    refuses("BiasSplitGelu", [x, floats(RNG, 6)], {}, "requires rank 3")
