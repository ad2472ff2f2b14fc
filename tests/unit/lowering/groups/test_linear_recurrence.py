"""Linear attention is one kernel that reads and writes tensors as they lie."""

from __future__ import annotations

import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.expression import Expression, Load
from nautilus_cli.ir.types import F16, F32
from nautilus_cli.kernels.linear_recurrence import Problem
from tests.unit.lowering.test_planner import planned
from tests.unit.passes.sketches import Sketch


@pytest.mark.parametrize("dtype", [F32, F16])
def test_linear_attention_is_one_kernel(dtype: object) -> None:
    s = Sketch(dtype)  # type: ignore[arg-type]
    query, key, value = s.x(2, 5, 32, name="q"), s.x(2, 5, 16, name="k"), s.x(2, 5, 24, name="v")
    decay, beta = s.x(2, 5, 2, name="g"), s.x(2, 5, 1, name="b")
    attrs = s.attributes(s.operator("LinearAttention"), None, {"q_num_heads": 4, "kv_num_heads": 2})
    output, state = s.results("LinearAttention", [query, key, value, None, decay, beta], 2, attrs)
    found = planned(s.graph([("y", output), ("s", state)]))
    assert len(found.launches) == 1
    request = found.kernels[0].request
    problem = request.problem
    assert isinstance(problem, Problem)
    assert (problem.heads, problem.readers, problem.keys, problem.values) == (2, 2, 8, 12)
    assert problem.is_gated and problem.is_delta and problem.accumulate == F32
    functors = dict(request.functors)
    decays = functors["Decay"]
    assert isinstance(decays, Expression)
    (load,) = [step for step in decays.steps if isinstance(step, Load)]
    assert load.map.is_uniform_last()  # one number for all keys of a head


def test_only_the_output() -> None:
    s = Sketch()
    attrs = s.attributes(s.operator("LinearAttention"), None, {"q_num_heads": 1, "kv_num_heads": 1, "update_rule": "linear"})
    output = s.node("LinearAttention", [s.x(1, 5, 8, name="q"), s.x(1, 5, 8, name="k"), s.x(1, 5, 8, name="v")], attrs)
    (kernel,) = planned(s.graph([("y", output)])).kernels
    final = dict(kernel.request.functors)["Final"]
    assert isinstance(final, Expression)
    assert final.stores == ()


def test_keys_that_no_schedule_can_hold_are_refused() -> None:
    s = Sketch()
    attrs = s.attributes(s.operator("LinearAttention"), None, {"q_num_heads": 1, "kv_num_heads": 1, "update_rule": "linear"})
    output = s.node("LinearAttention", [s.x(1, 2, 5000, name="q"), s.x(1, 2, 5000, name="k"), s.x(1, 2, 4, name="v")], attrs)
    with pytest.raises(ModelError, match="at most 128 are possible"):
        planned(s.graph([("y", output)]))
