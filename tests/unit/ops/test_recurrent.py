"""LSTM, GRU and RNN with all their options against onnxruntime, and where it has none against onnx's reference or a twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F32, I32, TensorType
from nautilus_cli.ops.cell_activations import ACTIVATIONS
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import seeds
from tests.unit.ops.lowered import Evaluator, lowered
from tests.unit.ops.oracle import check, onnxruntime_says, same

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
FUNCTIONS = {"LSTM": 3, "GRU": 2, "RNN": 1}


def operands(
    rng: np.random.Generator,
    op: str,
    *,
    steps: int = 4,
    batch: int = 3,
    inputs: int = 5,
    hidden: int = 6,
    directions: int = 1,
    lengths: list[int] | None = None,
    bias: bool = True,
    initial: bool = True,
    peepholes: bool = False,
    dtype: Any = np.float32,
) -> list[np.ndarray | None]:
    def normal(*shape: int) -> np.ndarray:
        return (0.2 * rng.standard_normal(shape)).astype(dtype)  # small: not every activation function is bounded

    g, d, h = GATES[op], directions, hidden
    found: list[np.ndarray | None] = [normal(steps, batch, inputs), normal(d, g * h, inputs), normal(d, g * h, h)]
    found.append(normal(d, 2 * g * h) if bias else None)
    found.append(None if lengths is None else np.array(lengths, np.int32))
    found.append(normal(d, batch, h) if initial else None)
    if op == "LSTM":
        found += [normal(d, batch, h) if initial else None, normal(d, 3 * h) if peepholes else None]
    return found


def outputs(op: str) -> int:
    return 3 if op == "LSTM" else 2


@given(
    st.sampled_from(sorted(GATES)),
    st.sampled_from(["forward", "reverse", "bidirectional"]),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(1, 6),
    st.data(),
    seeds(),
)
@settings(max_examples=60)
def test_like_onnxruntime(
    op: str, direction: str, steps: int, batch: int, hidden: int, data: st.DataObject, rng: np.random.Generator
) -> None:
    directions = 2 if direction == "bidirectional" else 1
    attrs: dict[str, Any] = {"direction": direction, "hidden_size": hidden}
    if data.draw(st.booleans()):
        # onnxruntime compares these names with case in RNN.
        attrs["activations"] = [data.draw(st.sampled_from(sorted(ACTIVATIONS))) for _ in range(FUNCTIONS[op] * directions)]
        takes = {key: sum(getattr(ACTIVATIONS[n], f"takes_{key}") for n in attrs["activations"]) for key in ("alpha", "beta")}
        for key, count in takes.items():
            if count:
                attrs[f"activation_{key}"] = [round(float(v), 2) for v in rng.uniform(0.1, 0.9, count)]
    if data.draw(st.booleans()):
        attrs["clip"] = 0.7
    if op == "LSTM" and data.draw(st.booleans()):
        attrs["input_forget"] = 1
    if op == "GRU" and data.draw(st.booleans()):
        attrs["linear_before_reset"] = 1
    lengths = [data.draw(st.integers(0, steps)) for _ in range(batch)] if data.draw(st.booleans()) else None
    arrays = operands(
        rng,
        op,
        steps=steps,
        batch=batch,
        hidden=hidden,
        directions=directions,
        lengths=lengths,
        bias=data.draw(st.booleans()),
        initial=data.draw(st.booleans()),
        peepholes=data.draw(st.booleans()),
    )
    check(op, arrays, attrs, outputs=outputs(op), terms=5 + hidden, depth=8 * steps, oracle=onnxruntime_says)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_batch_before_time(op: str, direction: str) -> None:
    """onnxruntime has no layout 1; it must give what layout 0 gives, with two dimensions swapped."""
    rng = np.random.default_rng(1)
    arrays = operands(rng, op, directions=2 if direction == "bidirectional" else 1, lengths=[4, 1, 2])
    operator = operators()[op]
    plain = operator.evaluate(operator.attributes(direction=direction), tuple(arrays), outputs(op))
    swapped = [a.swapaxes(0, 1) if a is not None and place in (0, 5, 6) else a for place, a in enumerate(arrays)]
    attrs = operator.attributes(direction=direction, layout=1)
    found = operator.evaluate(attrs, tuple(swapped), outputs(op))
    same(found[0], plain[0].transpose(2, 0, 1, 3), terms=1, depth=1)
    for one, other in zip(found[1:], plain[1:], strict=True):
        same(one, other.swapaxes(0, 1), terms=1, depth=1)
    for one, other in zip(lowered(operator, attrs, swapped, outputs(op)), found, strict=True):
        same(one, other, terms=11, depth=32)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_types(op: str, dtype: Any) -> None:
    """The truth of a type is that of float64, rounded."""
    arrays = operands(np.random.default_rng(2), op, directions=2, dtype=dtype)
    operator = operators()[op]
    attrs = operator.attributes(direction="bidirectional")
    truth = operator.evaluate(attrs, tuple(arrays), outputs(op))
    wide = tuple(a if a is None or a.dtype == np.int32 else a.astype(np.float64) for a in arrays)
    for found, wanted in zip(truth, operator.evaluate(attrs, wide, outputs(op)), strict=True):
        same(found, wanted.astype(dtype), terms=11, depth=16)
    for found, wanted in zip(lowered(operator, attrs, arrays, outputs(op)), truth, strict=True):
        same(found, wanted, terms=11, depth=32)


def reached(op: str, **attributes: Any) -> list[str]:
    evaluator = Evaluator()
    operator = operators()[op]
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    arrays = operands(np.random.default_rng(3), op, directions=directions)
    values = tuple(None if a is None else evaluator.constant(a) for a in arrays)
    evaluator.apply(operator, operator.attributes(**attributes), values, 1)
    return evaluator.reached


def test_the_decomposition_is_one_product_and_one_recurrence() -> None:
    for op in GATES:
        found = reached(op, direction="bidirectional")
        assert found.count("MatMul") == found.count("nautilus::Recurrence") == 1


def test_directions_with_other_activations_are_two_recurrences() -> None:
    found = reached("RNN", direction="bidirectional", activations=("Tanh", "Relu"))
    assert (found.count("MatMul"), found.count("nautilus::Recurrence")) == (1, 2)


T4 = TensorType(F32, (4, 3, 5))


@pytest.mark.parametrize(
    ("op", "types", "attrs", "message"),
    [
        ("LSTM", [T4, (1, 24, 5), (1, 24, 6)], {"direction": "backward"}, "direction is 'backward'"),
        ("LSTM", [T4, (1, 24, 5), (1, 24, 6)], {"direction": "bidirectional"}, r"'W' has shape \[1, 24, 5\].*requires \[2, 24, 5\]"),
        ("LSTM", [T4, (1, 24, 5), (1, 24, 6)], {"hidden_size": 5}, "hidden_size is 5, but operand 'R' has 6 columns"),
        ("LSTM", [T4, (1, 24, 5), (1, 24, 6)], {"layout": 2}, "layout is 2"),
        ("LSTM", [T4, (1, 24, 5), (1, 24, 6)], {"clip": -1.0}, "clip is -1.0"),
        ("LSTM", [T4, (1, 24, 5), (1, 24, 6)], {"activations": ("Tanh",)}, "names 1 functions; the specification requires 3"),
        ("LSTM", [T4, (1, 24, 5), (1, 24, 6)], {"activations": ("Tahn", "Tanh", "Tanh")}, "'Tahn' is not one of.*Known: Tanh"),
        ("LSTM", [T4, (1, 24, 5), (1, 24, 6)], {"activations": ("Affine", "Tanh", "Tanh")}, "activation_alpha has no value for Affine"),
        ("LSTM", [T4, (1, 24, 5), (1, 24, 6), (1, 24)], {}, r"'B' has shape \[1, 24\].*requires \[1, 48\]"),
        ("GRU", [T4, (1, 18, 5), (1, 18, 6), None, TensorType(I32, (4,))], {}, r"'sequence_lens' has shape \[4\].*requires \[3\]"),
        ("GRU", [T4, (1, 18, 5), (1, 18, 6), None, None, (3, 1, 6)], {}, r"'initial_h' has shape \[3, 1, 6\]"),
        ("GRU", [T4, (1, 18, 5), (1, 18, 6), None, None, None, (1, 3, 6)], {}, "has 7 operands"),
        ("RNN", [TensorType(F32, (4, 3)), (1, 6, 5), (1, 6, 6)], {}, "requires rank 3: time, batch and input"),
        ("RNN", [T4, TensorType(I32, (1, 6, 5)), (1, 6, 6)], {}, "operand 'W' has type i32"),
    ],
)
def test_refusals(op: str, types: list[Any], attrs: dict[str, Any], message: str) -> None:
    operator = operators()[op]
    given_types = tuple(TensorType(F32, t) if isinstance(t, tuple) else t for t in types)
    with pytest.raises(ModelError, match=message):
        operator.infer(Inference(operator.attributes(**attrs), given_types, (None,) * len(given_types), 1))
