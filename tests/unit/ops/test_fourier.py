from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import TensorType, dtype_of
from nautilus_cli.ops import fourier
from nautilus_cli.ops.composed import ImmediateEmitter
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.frontend.models import imported, model, node, output, tensor_input
from tests.unit.ops.drawing import seeds, values
from tests.unit.ops.oracle import check, onnxruntime_says, same

TYPES = st.sampled_from([np.float32, np.float64, np.float16, ml_dtypes.bfloat16])


@given(st.data(), st.booleans(), st.booleans(), seeds(), TYPES)
@settings(max_examples=120)
def test_dft(data: st.DataObject, inverse: bool, onesided: bool, rng: np.random.Generator, dtype: Any) -> None:
    shape = data.draw(st.lists(st.integers(2, 9), min_size=1, max_size=3).map(tuple))
    parts = (2 if inverse else 1) if onesided else data.draw(st.integers(1, 2))
    axis = data.draw(st.integers(0, len(shape) - 1))
    length = data.draw(st.none() | st.integers(1, 12))
    x = values(rng, (*shape, parts), dtype)
    arrays = [x, None if length is None else np.array(length), np.array(axis - len(shape) - 1 if data.draw(st.booleans()) else axis)]
    check("DFT", arrays, {"inverse": int(inverse), "onesided": int(onesided)}, terms=64)


def test_without_an_axis_it_is_the_last() -> None:
    x = values(np.random.default_rng(1), (2, 3, 5, 1), np.float32)
    check("DFT", [x], terms=64)
    check("DFT", [x], {"onesided": 1}, terms=64)


@pytest.mark.parametrize("limit", [4, 8])
@pytest.mark.parametrize("length", [9, 12, 16, 30, 49, 64, 11, 22, 13 * 17, 257])
@pytest.mark.parametrize("mode", ["forward", "inverse", "onesided", "half", "real"])
def test_long_transforms_are_split(limit: int, length: int, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A smaller limit makes the lengths long: several factors, one prime beyond the limit, and a factor with one.
    for module in (fourier, operators()["DFT"].infer.__globals__):
        if isinstance(module, dict):
            monkeypatch.setitem(module, "DIRECT_LENGTH", limit)
        else:
            monkeypatch.setattr(module, "DIRECT_LENGTH", limit)
    parts = 1 if mode in ("onesided", "real") else 2
    count = length // 2 + 1 if mode == "half" else length
    x = values(np.random.default_rng(length), (2, count, parts), np.float64)
    attrs = {"inverse": int(mode in ("inverse", "half")), "onesided": int(mode in ("onesided", "half"))}
    check("DFT", [x, np.array(length), np.array(1)], attrs, terms=16 * length, depth=16)


def test_a_long_transform_takes_little_memory() -> None:
    seen: list[int] = []

    class Watched(ImmediateEmitter):
        def constant(self, array: np.ndarray) -> Any:
            seen.append(array.nbytes)
            return super().constant(array)

    emitter = Watched()
    x = emitter.constant(values(np.random.default_rng(1), (1, 4096, 1), np.float32))
    found = fourier.transformed(emitter, x, inverse=False).constant
    assert found is not None
    wanted = np.fft.fft(x.constant[0, :, 0].astype(np.float64))  # type: ignore[index]
    same(found[0], np.stack([wanted.real, wanted.imag], -1).astype(np.float32), terms=4096, depth=8)
    assert max(seen) <= 4096 * 2 * 4 * 2


@given(st.data(), st.booleans(), seeds(), TYPES)
@settings(max_examples=60)
def test_stft(data: st.DataObject, windowed: bool, rng: np.random.Generator, dtype: Any) -> None:
    samples = data.draw(st.integers(4, 40))
    length = data.draw(st.integers(1, samples))
    parts = data.draw(st.integers(1, 2))
    x = values(rng, (2, samples, parts), dtype)
    window = values(rng, (length,), dtype) if windowed else None
    lengths = None if windowed and data.draw(st.booleans()) else np.array(length)
    arrays = [x, np.array(data.draw(st.integers(1, 9))), window, lengths]
    check("STFT", arrays, {"onesided": data.draw(st.integers(0, 2 - parts))}, terms=64)


@pytest.mark.parametrize("onesided", [0, 1])
def test_stft_as_onnxruntime_computes_it(onesided: int) -> None:
    rng = np.random.default_rng(3)
    arrays = [values(rng, (2, 100, 1), np.float32), np.array(10), values(rng, (16,), np.float32), np.array(16)]
    check("STFT", arrays, {"onesided": onesided}, oracle=onnxruntime_says, terms=64)


def test_stft_of_long_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    for module in (vars(fourier), operators()["STFT"].infer.__globals__):
        monkeypatch.setitem(module, "DIRECT_LENGTH", 4)
    for parts in (1, 2):
        arrays = [values(rng, (2, 90, parts), np.float64), np.array(7), values(rng, (24,), np.float64)]
        check("STFT", arrays, {"onesided": 2 - parts}, terms=512, depth=16)


def test_a_signal_may_have_no_last_dimension() -> None:
    rng = np.random.default_rng(5)
    x, step, window = values(rng, (2, 50), np.float32), np.array(5), values(rng, (12,), np.float32)
    operator = operators()["STFT"]
    (found,) = operator.evaluate(operator.attributes(), (x, step, window), 1)
    (wanted,) = operator.evaluate(operator.attributes(), (x[..., None], step, window), 1)
    assert np.array_equal(found, wanted)


def test_the_axis_was_an_attribute() -> None:
    x = values(np.random.default_rng(6), (3, 4, 5, 1), np.float32)
    for attributes, axis in (({}, 1), ({"axis": 2}, 2), ({"axis": -3}, 1)):
        proto = model([node("DFT", ["x"], ["y"], **attributes)], [tensor_input("x", *x.shape)], [output("y")], opset=17)
        (found,) = imported(proto).graph.nodes
        assert found.inputs[2] is not None and found.inputs[2].constant is not None
        assert int(found.inputs[2].constant) % 4 == axis


@pytest.mark.parametrize(
    ("op", "arrays", "attrs", "message"),
    [
        ("DFT", [np.zeros((2, 3), np.float32)], {}, "requires 1 or 2 as the last dimension"),
        ("DFT", [np.zeros((2, 3, 2), np.float32)], {"onesided": 1}, "requires a real operand"),
        ("DFT", [np.zeros((2, 3, 1), np.float32)], {"onesided": 1, "inverse": 1}, "requires a complex operand"),
        ("DFT", [np.zeros((2, 3, 1), np.float32), None, np.array(2)], {}, "axis is 2; for a tensor of rank 3"),
        ("DFT", [np.zeros((2, 3, 1), np.float32), np.array(0)], {}, "length of the transform is 0"),
        ("DFT", [np.zeros((2, 3, 1), np.int32)], {}, "has type i32"),
        ("STFT", [np.zeros((2, 9, 2), np.float32), np.array(2)], {}, "'signal' is complex"),
        ("STFT", [np.zeros((2, 9, 1), np.float32), np.array(0)], {}, "in steps of 0"),
        ("STFT", [np.zeros((2, 9, 1), np.float32), np.array(1), None, np.array(10)], {}, "frames of 10"),
        ("STFT", [np.zeros((2, 9, 1), np.float32), np.array(1), np.zeros(4, np.float32), np.array(5)], {}, "'window' has shape"),
    ],
)
def test_refusals(op: str, arrays: list[np.ndarray | None], attrs: dict[str, int], message: str) -> None:
    operator = operators()[op]
    types = tuple(None if a is None else TensorType(dtype_of(a), a.shape) for a in arrays)
    with pytest.raises(ModelError, match=message):
        operator.infer(Inference(operator.attributes(**attrs), types, tuple(arrays), 1))
