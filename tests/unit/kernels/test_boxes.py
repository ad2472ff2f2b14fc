"""Tensor maps of operands: what can be one, and what it says."""

from __future__ import annotations

import pytest

from nautilus_cli.ir.expression import Expression, Load
from nautilus_cli.ir.index_map import IndexMap, from_strides, identity, padded, regroup
from nautilus_cli.ir.types import BF16, F16, F32
from nautilus_cli.kernels.base import TensorMap
from nautilus_cli.kernels.boxes import matrix_map, violations
from tests.emulated.building import Steps


def loaded(index_map: IndexMap) -> Expression:
    return Expression((Load(1, F16, index_map),), (0,))


def test_a_matrix_of_heads_is_one_map() -> None:
    """[batch, sequence, heads, width] as a batch of batch × heads matrices, from a slice."""
    heads = from_strides((2, 4, 72, 48), (72 * 4 * 48, 48, 4 * 48, 1), 64)
    found = loaded(regroup(heads, [[0, 1], [2], [3]]))
    assert violations(found, F16) == ()
    assert matrix_map(found, 64) == TensorMap(
        slot=1,
        element="f16",
        offset=128,
        extents=(48, 72, 4, 2),
        strides=(4 * 48 * 2, 96, 72 * 4 * 96),
        box=(64, 64, 1, 1),
        swizzle=128,
    )


def test_a_batch_that_repeats_is_no_dimension() -> None:
    assert matrix_map(loaded(from_strides((12, 8, 16), (0, 16, 1))), 8).extents == (16, 8)


@pytest.mark.parametrize(
    ("index_map", "reason"),
    [
        (from_strides((1, 8, 15), (0, 15, 1)), "a distance of 30 bytes"),
        (from_strides((1, 8, 16), (0, 16, 1), 4), "begins at byte 8"),
        (from_strides((1, 8, 16), (0, 32, 2)), "neighbouring elements"),
        (from_strides((1, 8, 16), (0, -16, 1), 112), "a distance of -32 bytes"),
        (from_strides((1, 8, 16), (0, 16, 0)), "neighbouring elements"),
        (padded((1, 8, 16), (0, 1, 0), (1, 10, 16)), "not one strided tensor"),
        (regroup(from_strides((2, 3, 8, 16), (1024, 128, 16, 1)), [[], [0, 1, 2], [3]]), "one distance"),
    ],
)
def test_other_tensors_are_refused(index_map: IndexMap, reason: str) -> None:
    assert any(reason in text for text in violations(loaded(index_map), F16)), violations(loaded(index_map), F16)


def test_computed_operands_are_refused() -> None:
    steps = Steps()
    doubled = steps.expression(steps.apply("mul", steps.load(0, F16, identity((1, 8, 16))), steps.constant(2.0)))
    assert violations(doubled, F16) == ("the operand is computed, not only loaded",)
    assert violations(loaded(identity((1, 8, 16))), BF16) == ("elements of f16 are multiplied as bf16",)
    assert violations(Expression((Load(0, F32, identity((1, 8, 16))),), (0,)), F32) == ()
