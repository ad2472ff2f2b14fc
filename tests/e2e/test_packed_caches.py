"""Decoders whose caches are packed in one tensor, of a layer or of the model, as one buffer (--inplace-cache), against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.runtime.description import EmulatorOptions
from tests.e2e.decoders import DIMS, HEAD, HEADS, LAYERS, PACKED, VOCABULARY, assert_close, decoder, next_ids

TARGET = "emulated"
STEPS = 5


class Packed:
    """A decoder with packed caches, and its library.

    Args:
        folder: where they lie.
        packed: how they are packed.
    """

    def __init__(self, folder: Path, packed: str) -> None:
        self.model, self.library = folder / "decoder.onnx", folder / "libdecoder.so"
        onnx.save(decoder(packed=packed), self.model)
        self.names = [f"past.{layer}" for layer in range(LAYERS)] if packed == "layers" else ["past"]
        self.outer = (2,) if packed == "layers" else (LAYERS, 2)
        options = driver.CompileOptions(
            model=self.model, output=self.library, target=TARGET, dims=DIMS, verify=False, jobs=1, inplace_cache=True
        )
        self.notes = driver.compile(options).notes

    def steps(self, batch: int) -> list[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]]:
        """Return what goes into each step of onnxruntime's greedy generation, and what comes out."""
        session = onnxruntime.InferenceSession(str(self.model), providers=["CPUExecutionProvider"])
        outputs = [output.name for output in session.get_outputs()]
        ids = np.random.default_rng(batch).integers(0, VOCABULARY, (batch, 5))
        past = {name: np.zeros((*self.outer, batch, HEADS, 0, HEAD), np.float32) for name in self.names}
        found = []
        for _ in range(STEPS):
            inputs = {"input_ids": ids, **past}
            given = dict(zip(outputs, session.run(outputs, inputs), strict=True))
            found.append((inputs, given))
            past = {name: given[name.replace("past", "present")] for name in self.names}
            ids = next_ids(given["logits"])
        return found


@pytest.mark.parametrize("packed", PACKED)
def test_each_step_from_an_empty_past_on(packed: str, tmp_path: Path) -> None:
    """On host arrays, where the packed tensors are dense; and kept on the device, where no step copies them."""
    subject = Packed(tmp_path, packed)
    with nautilus_cli.load(subject.library) as library:
        if library.is_emulated:
            library.configure_emulator(EmulatorOptions(order="random", poison=True, seed=1))
        shared = {tensor.name: tensor.shared for tensor in library.inputs if tensor.shared is not None}
        assert {name: (s.axis, s.capacity) for name, s in shared.items()} == dict.fromkeys(subject.names, (len(subject.outer) + 2, 26))
        for batch in (1, 2):
            mine: dict[str, np.ndarray] = {}
            for number, (inputs, outputs) in enumerate(subject.steps(batch)):
                found = library({**inputs, **mine})
                for name, truth in outputs.items():
                    assert_close(found[name], truth, f"step {number}, {name}")
                mine = {name: found[name.replace("past", "present")] for name in subject.names}
            with nautilus_cli.Decoder(library, batch=batch) as kept:
                for number, (inputs, outputs) in enumerate(subject.steps(batch)):
                    found = kept.step(input_ids=inputs["input_ids"])
                    assert list(found) == ["logits"]
                    assert_close(found["logits"], outputs["logits"], f"step {number} on the device")
        whole = f"{int(np.prod(subject.outer)) * HEADS * HEAD}*batch*past"
        kernels = library.manifest["kernels"]
        assert not any(whole in str(kernel["problem"].get("elements")) for kernel in kernels), "none runs over a packed cache as a whole"
