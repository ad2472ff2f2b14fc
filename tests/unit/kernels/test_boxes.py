"""Tensor maps of operands: what can be one, and what it says."""

from __future__ import annotations

import pytest

from nautilus_cli.ir.expression import Expression, Load
from nautilus_cli.ir.index_map import IndexMap, from_strides, identity, padded, regroup
from nautilus_cli.ir.types import BF16, F16, F32, I32, DType
from nautilus_cli.kernels.base import TensorMap
from nautilus_cli.kernels.boxes import matrix_map, result_map, result_violations, violations
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


def epilogue(index_map: IndexMap, storage: DType = F16, *, loaded: IndexMap | None = None) -> Expression:
    """Return an epilogue that stores its parameter, with something of slot 1 added."""
    steps = Steps()
    result = steps.parameter(0, F32)
    if loaded is not None:
        result = steps.apply("add", result, steps.load(1, F16, loaded))
    steps.store(result, 2, storage, index_map)
    return steps.expression()


def test_a_result_of_heads_is_one_map() -> None:
    heads = regroup(from_strides((2, 4, 72, 48), (72 * 4 * 48, 48, 4 * 48, 1)), [[0, 1], [2], [3]])
    found = epilogue(heads, F32, loaded=from_strides((8, 72, 48), (0, 0, 1)))
    assert result_violations(found) == ()
    assert result_map(found, 64) == TensorMap(
        slot=2, element="f32", offset=0, extents=(48, 72, 4, 2), strides=(768, 192, 55296), box=(32, 64, 1, 1), swizzle=128
    )


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (epilogue(identity((1, 8, 16)), loaded=identity((1, 8, 16))), "differs from row to row"),
        (epilogue(identity((1, 8, 15))), "a distance of 30 bytes"),
        (epilogue(from_strides((1, 8, 15), (0, 16, 1))), "no whole pairs"),
        (epilogue(from_strides((2, 8, 16), (0, 16, 1))), "more than once"),
        (epilogue(from_strides((1, 8, 16), (0, 1, 8))), "neighbouring elements"),
        (epilogue(identity((1, 8, 16)), I32), "elements of i32"),
    ],
)
def test_other_results_are_refused(expression: Expression, reason: str) -> None:
    assert any(reason in text for text in result_violations(expression)), result_violations(expression)
