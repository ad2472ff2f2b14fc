"""Transforms of signals in one network, with work fused around, held against the operators' truths and against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.frontend.load import load
from nautilus_cli.numerics import compare, derived
from nautilus_cli.ops.evaluate import evaluate
from tests.e2e.every_order import ORDERS, Sketch


def features(s: Sketch) -> None:
    """Log-mel features of a voice, as speech models begin: a window, its spectrum, bands of its power."""
    window = s.node("HannWindow", s.constant(40))
    spectrum = s.node("STFT", s.floats(2, 400, 1), s.constant(16), window, s.constant(40))
    power = s.node("ReduceSumSquare", spectrum, s.constant([-1]), keepdims=0)
    numbers = [s.constant(n) for n in (8, 40, 16000)] + [s.constant(np.float32(n)) for n in (0, 8000)]
    mel = s.node("MatMul", power, s.node("MelWeightMatrix", *numbers))
    s.node("Log", s.node("Add", mel, s.constant(np.float32(1e-3))))
    s.node("STFT", s.floats(1, 60, 2), s.constant(7), s.floats(12), onesided=0)


def transforms(s: Sketch) -> None:
    """An image through the frequency domain: real to half a spectrum, along the other axis, and back."""
    half = s.node("DFT", s.floats(2, 6, 9, 1), "", s.constant(2), onesided=1)
    whole = s.node("DFT", s.node("Mul", half, s.floats(6, 5, 1)), "", s.constant(1))
    back = s.node("DFT", whole, "", s.constant(1), inverse=1)
    s.node("Relu", s.node("DFT", back, s.constant(9), s.constant(2), inverse=1, onesided=1))


def long_transforms(s: Sketch) -> None:
    """In steps, since 1030 is 2 · 5 · 103, and by a chirp, since 521 is a prime; onnxruntime loses two or three digits here."""
    s.node("DFT", s.floats(1, 1030, 2), "", s.constant(1))
    s.node("DFT", s.floats(1, 521, 1), "", s.constant(1), inverse=1)


def blocks(s: Sketch) -> None:
    s.node("Relu", s.node("Col2Im", s.floats(2, 27, 30), s.constant([7, 8]), s.constant([3, 3])))
    s.node("Col2Im", s.floats(1, 12, 6), s.constant([4, 6]), s.constant([2, 3]), strides=[2, 2], pads=[0, 1, 0, 0])
    s.node("CenterCropPad", s.floats(5, 8, 3), s.constant([7, 4]), axes=[0, 1])


@pytest.fixture(scope="module")
def sketch() -> Sketch:
    sketch = Sketch()
    for part in (features, transforms, blocks, long_transforms):
        part(sketch)
    return sketch


def test_agrees_with_the_truth_in_every_order(sketch: Sketch, tmp_path: Path) -> None:
    path, output = tmp_path / "model.onnx", tmp_path / "libmodel.so"
    onnx.save(sketch.untyped(20), path)  # onnx infers no type behind MelWeightMatrix
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", verify=False))
    expected = evaluate(load(path).graph, sketch.feeds)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()][:-2]
    said = dict(zip(names, session.run(names, sketch.feeds), strict=True))
    with nautilus_cli.load(output) as library:
        for options in ORDERS:
            library.configure_emulator(options)
            found = library(sketch.feeds)
            for name, truth in expected.items():
                # Sums of up to 100 terms in a row with others, and twice as many in the long transforms.
                scale = float(np.abs(truth).max()) if truth.dtype.kind == "f" else None
                for wanted in (truth, said.get(name, truth)):
                    result = compare(np.asarray(found[name]), wanted, derived(wanted, terms=200, depth=16, scale=scale))
                    assert result.is_match, f"{name} with {options}: {result}"
