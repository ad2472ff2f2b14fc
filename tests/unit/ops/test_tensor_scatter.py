from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F32, I32, I64, TensorType
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import full_shapes, seeds, values
from tests.unit.ops.lowered import Evaluator, lowered
from tests.unit.ops.oracle import check

OPERATOR = operators()["TensorScatter"]


@given(st.data(), full_shapes(3), seeds(), st.sampled_from([np.float32, ml_dtypes.bfloat16, np.int8, np.bool_]))
@settings(max_examples=40)
def test_against_the_reference(data: st.DataObject, shape: tuple[int, ...], rng: np.random.Generator, dtype: object) -> None:
    axis = data.draw(st.integers(1, len(shape) - 1))
    extent = shape[axis]
    count = data.draw(st.integers(0, extent))
    past, update = values(rng, shape, dtype), values(rng, (*shape[:axis], count, *shape[axis + 1 :]), dtype)
    mode = data.draw(st.sampled_from(["linear", "circular"]))
    highest = extent - count if mode == "linear" else 3 * extent
    starts = np.array(data.draw(st.lists(st.integers(0, highest), min_size=shape[0], max_size=shape[0])), np.int64)
    given_axis = data.draw(st.sampled_from([axis, axis - len(shape)]))
    check("TensorScatter", [past, update, starts], {"mode": mode, "axis": given_axis})
    if data.draw(st.booleans()):
        check("TensorScatter", [past, update], {"mode": mode, "axis": given_axis})


@pytest.mark.parametrize(("mode", "starts"), [("linear", [2, 0, 1]), ("circular", [4, 9, 3])])
def test_places_at_run_time(mode: str, starts: list[int]) -> None:
    """The same nodes as for known places, but none of them folds: rows of each sample go to a table of its own."""
    past, update = np.zeros((3, 2, 5, 4), np.float32), np.ones((3, 2, 3, 4), np.float32)
    builder = GraphBuilder()
    types = (TensorType(F32, past.shape), TensorType(F32, update.shape), TensorType(I64, (3,)))
    operands = tuple(builder.input(name, type_) for name, type_ in zip("abc", types, strict=True))
    (result,) = OPERATOR.lowering.build(builder, OPERATOR.attributes(mode=mode), operands)  # type: ignore[union-attr]
    assert "ScatterND" in [node.op for node in builder.nodes]
    assert result.type == types[0]
    check("TensorScatter", [past, update, np.array(starts)], {"mode": mode})


@pytest.mark.parametrize("starts", [None, [2, 2], [7, 12]])
def test_one_known_place_moves_slices(starts: list[int] | None) -> None:
    past, update = np.zeros((2, 5, 4), np.float32), np.ones((2, 2, 4), np.float32)
    evaluator = Evaluator()
    operands = [evaluator.constant(a) for a in (past, update, *(() if starts is None else (np.array(starts),)))]
    attrs = OPERATOR.attributes(mode="circular" if starts == [7, 12] else "linear")
    (found,) = evaluator.apply(OPERATOR, attrs, tuple(operands), 1)
    assert set(evaluator.reached) <= {"Slice", "Concat"}
    assert found.constant is not None
    np.testing.assert_array_equal(found.constant[:, 2 if starts else 0], 1)


def test_the_whole_cache() -> None:
    update = np.ones((2, 5, 4), np.float32)
    (found,) = lowered(OPERATOR, OPERATOR.attributes(), [np.zeros((2, 5, 4), np.float32), update], 1)
    np.testing.assert_array_equal(found, update)


@pytest.mark.parametrize(
    ("update", "places", "attrs", "message"),
    [
        ((2, 6, 4), None, {}, r"'update' has shape \[2, 6, 4\]; for a cache of shape \[2, 5, 4\] .* at most 5 in dimension 1"),
        ((2, 2, 3), None, {}, "requires the same, but"),
        ((2, 2), None, {}, "requires the same, but"),
        ((2, 2, 4), None, {"axis": 0}, "axis is 0, the batch"),
        ((2, 2, 4), None, {"axis": -3}, "axis is -3, the batch"),
        ((2, 2, 4), None, {"axis": 3}, "axis is 3; for a tensor of rank 3 the specification allows -3 to 2"),
        ((2, 2, 4), None, {"mode": "ring"}, "mode is 'ring'; the specification allows 'linear', 'circular'"),
        ((2, 2, 4), TensorType(I64, (3,)), {}, r"'write_indices' has shape \[3\]; the specification requires \[2\]"),
        ((2, 2, 4), TensorType(I32, (2,)), {}, "'write_indices' has type i32"),
    ],
)
def test_refusals(update: tuple[int, ...], places: TensorType | None, attrs: dict[str, object], message: str) -> None:
    types = (TensorType(F32, (2, 5, 4)), TensorType(F32, update), *(() if places is None else (places,)))
    with pytest.raises(ModelError, match=message):
        OPERATOR.infer(Inference(OPERATOR.attributes(**attrs), types, (None,) * len(types), 1))


def test_known_place_beyond_the_end() -> None:
    types = (TensorType(F32, (2, 5, 4)), TensorType(F32, (2, 2, 4)), TensorType(I64, (2,)))
    with pytest.raises(ModelError, match="index 5 is outside a dimension of 5"):
        OPERATOR.infer(Inference(OPERATOR.attributes(), types, (None, None, np.array([0, 4])), 1))
