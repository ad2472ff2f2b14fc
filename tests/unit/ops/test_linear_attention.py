from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F16, F32, F64, TensorType
from nautilus_cli.ops.linear_attention import RULES
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import seeds, values
from tests.unit.ops.lowered import Evaluator
from tests.unit.ops.oracle import check, reference, same

OPERATOR = operators()["LinearAttention"]


def operands(
    rng: np.random.Generator,
    rule: str,
    *,
    batch: int = 2,
    steps: int = 3,
    readers: int = 4,
    heads: int = 2,
    keys: int = 3,
    columns: int = 5,
) -> list[np.ndarray | None]:
    """Operands of a rule, the keys of length one at most, as the delta rules need them."""
    is_gated, is_delta = RULES[rule]
    keys, columns = 3, 5
    query, value = values(rng, (batch, steps, readers * keys), np.float32), values(rng, (batch, steps, heads * columns), np.float32)
    key = (rng.standard_normal((batch, steps, heads * keys)) / keys).astype(np.float32)
    past = values(rng, (batch, heads, keys, columns), np.float32)
    decay = -np.abs(values(rng, (batch, steps, heads * keys), np.float32))
    beta = np.abs(rng.uniform(0, 1, (batch, steps, heads))).astype(np.float32)
    return [query, key, value, past, decay if is_gated else None, beta if is_delta else None]


@given(st.data(), st.sampled_from(tuple(RULES)), seeds(), st.integers(1, 3), st.integers(1, 3), st.integers(1, 4))
@settings(max_examples=40)
def test_against_the_reference(data: st.DataObject, rule: str, rng: np.random.Generator, heads: int, group: int, steps: int) -> None:
    given_arrays = operands(rng, rule, steps=steps, heads=heads, readers=heads * group)
    if data.draw(st.booleans()):
        given_arrays[3] = None
    decay, beta = given_arrays[4], given_arrays[5]
    if decay is not None and data.draw(st.booleans()):
        given_arrays[4] = np.ascontiguousarray(decay[..., :heads])
    if beta is not None and data.draw(st.booleans()):
        given_arrays[5] = np.ascontiguousarray(beta[..., :1])
    while given_arrays[-1] is None:
        given_arrays.pop()
    attrs: dict[str, Any] = {"q_num_heads": heads * group, "kv_num_heads": heads, "update_rule": rule}
    if data.draw(st.booleans()):
        attrs["scale"] = 0.25
    check("LinearAttention", given_arrays, attrs, outputs=2, terms=16, depth=16 * steps)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_operands_with_a_wide_state(dtype: Any) -> None:
    """The state is held in float32 all the way, and keeps the type of the past one."""
    arrays = operands(np.random.default_rng(0), "gated_delta", steps=20)
    narrow = [a if a is None or index == 3 else a.astype(dtype) for index, a in enumerate(arrays)]
    attrs = {"q_num_heads": 4, "kv_num_heads": 2}
    truth = OPERATOR.evaluate(OPERATOR.attributes(**attrs), tuple(narrow), 2)
    wide = reference("LinearAttention", [None if a is None else a.astype(np.float32) for a in narrow], attrs, 2, 27)
    assert (truth[0].dtype, truth[1].dtype) == (dtype, np.float32)
    same(truth[0], wide[0].astype(dtype), terms=16, depth=16)
    same(truth[1], wide[1], terms=16, depth=320)


def test_it_is_one_recurrence_that_reads_everything_where_it_lies() -> None:
    evaluator = Evaluator()
    arrays = operands(np.random.default_rng(0), "gated_delta")
    attrs = OPERATOR.attributes(q_num_heads=4, kv_num_heads=2)
    evaluator.apply(OPERATOR, attrs, tuple(None if a is None else evaluator.constant(a) for a in arrays), 2)
    assert sorted(set(evaluator.reached)) == ["Reshape", "nautilus::LinearRecurrence"]
    assert evaluator.reached.count("nautilus::LinearRecurrence") == 1


def test_no_steps_leave_the_state() -> None:
    arrays = operands(np.random.default_rng(0), "gated_delta", steps=1)
    empty = [a if a is None or index == 3 else a[:, :0] for index, a in enumerate(arrays)]
    output, state = OPERATOR.evaluate(OPERATOR.attributes(q_num_heads=4, kv_num_heads=2), tuple(empty), 2)
    assert output.shape == (2, 0, 20)
    np.testing.assert_array_equal(state, arrays[3])


@pytest.mark.parametrize(
    ("attrs", "changes", "message"),
    [
        ({"q_num_heads": 3}, {}, "q_num_heads is 3 and kv_num_heads 2; the specification requires a positive multiple"),
        ({"kv_num_heads": 0}, {}, "kv_num_heads 0"),
        ({"update_rule": "cubic"}, {}, "update_rule is 'cubic'"),
        ({"update_rule": "linear"}, {}, "update_rule 'linear' does not take operand 'decay'"),
        ({}, {4: None}, "update_rule 'gated_delta' requires operand 'decay'"),
        ({}, {5: None}, "update_rule 'gated_delta' requires operand 'beta'"),
        ({}, {0: (2, 12)}, r"'query' has shape \[2, 12\]; the specification requires batch, time and heads"),
        ({}, {0: (2, 3, 13)}, r"'query' has shape \[2, 3, 13\]; the specification requires \[2, 3\] and a multiple of 4"),
        ({}, {1: (2, 3, 8)}, r"'key' has shape \[2, 3, 8\]; the specification requires \[2, 3\] and 6"),
        ({}, {2: (2, 4, 10)}, r"'value' has shape \[2, 4, 10\]"),
        ({}, {3: (2, 2, 5, 3)}, r"'past_state' has shape \[2, 2, 5, 3\]; the specification requires \[2, 2, 3, 5\]"),
        ({}, {4: (2, 3, 5)}, r"'decay' has shape \[2, 3, 5\]; the specification requires \[2, 3\] and 6"),
        ({}, {5: (2, 3, 3)}, r"'beta' has shape \[2, 3, 3\]; the specification requires \[2, 3\] and 2"),
    ],
)
def test_refusals(attrs: dict[str, Any], changes: dict[int, tuple[int, ...] | None], message: str) -> None:
    shapes: dict[int, tuple[int, ...] | None] = dict(enumerate([(2, 3, 12), (2, 3, 6), (2, 3, 10), (2, 2, 3, 5), (2, 3, 6), (2, 3, 2)]))
    types = tuple(None if s is None else TensorType(F32, s) for s in (shapes | changes).values())
    with pytest.raises(ModelError, match=message):
        OPERATOR.infer(Inference(OPERATOR.attributes(**({"q_num_heads": 4, "kv_num_heads": 2} | attrs)), types, (None,) * 6, 2))


@pytest.mark.parametrize(("dtype", "message"), [(F64, "has type f64"), (F16, "requires that of the first operand")])
def test_types(dtype: Any, message: str) -> None:
    types = (TensorType(F32, (2, 3, 12)), TensorType(dtype, (2, 3, 6)), TensorType(F32, (2, 3, 10)))
    with pytest.raises(ModelError, match=message):
        OPERATOR.infer(Inference(OPERATOR.attributes(q_num_heads=4, kv_num_heads=2, update_rule="linear"), types, (None,) * 3, 1))
