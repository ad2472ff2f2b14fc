"""Decoders that torch's exporters wrote, batch, tokens and past open: every step and the whole generation are onnxruntime's, emulated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import nautilus_cli
from models import weightless
from models.catalogue import Model, PackedGraph, catalogue
from models.decoders import CACHES, FOLDER, VOCABULARY
from nautilus_cli import driver
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.numerics import compare, derived

DIMS = {"batch": DimRange(1, 2), "sequence": DimRange(1, 6), "past": DimRange(0, 24)}
STEPS = 10
TARGET = "emulated"
EXPORTS = [pytest.param(m, g, id=f"{m.name}/{g.exporter}") for m in catalogue(FOLDER).values() for g in m.graphs]


def steps(path: Path, ids: np.ndarray) -> Iterator[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]]:
    """Yield what goes into each step of onnxruntime's greedy generation, and what comes out."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    outputs = [port.name for port in session.get_outputs()]
    shape = session.get_inputs()[1].shape
    past = {f"past.{name}": np.zeros((len(ids), shape[1], 0, shape[3]), np.float32) for name in CACHES}
    for _ in range(STEPS):
        inputs = {"input_ids": ids, **past}
        found = dict(zip(outputs, session.run(None, inputs), strict=True))
        yield inputs, found
        past, ids = {f"past.{name}": found[f"present.{name}"] for name in CACHES}, found["logits"][:, -1:].argmax(-1)


def assert_close(found: np.ndarray, truth: np.ndarray, where: str) -> None:
    result = compare(found, truth, derived(truth, terms=100, depth=30, scale=float(np.abs(truth).max())))
    assert found.shape == truth.shape and result.is_match, f"{where}: {result}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """In place all of them, and as separate inputs and outputs every other one."""
    if "inplace" in metafunc.fixturenames:
        cases = [(one, kept) for number, one in enumerate(EXPORTS) for kept in (True, False)[: 1 + number % 2]]
        named = [pytest.param(*one.values, kept, id=f"{one.id}-{'inplace' if kept else 'separate'}") for one, kept in cases]
        metafunc.parametrize(("model", "graph", "inplace"), named)


def test_every_step(model: Model, graph: PackedGraph, inplace: bool, tmp_path: Path) -> None:
    path, output = tmp_path / "model.onnx", tmp_path / "libmodel.so"
    weightless.save(weightless.fill(graph.path), path)
    options = driver.CompileOptions(model=path, output=output, target=TARGET, dims=DIMS, verify=False, jobs=1, inplace_cache=inplace)
    driver.compile(options)
    with nautilus_cli.load(output) as library:
        for batch in (1, 2):
            ids = np.random.default_rng(batch).integers(0, VOCABULARY, (batch, 4))
            mine: dict[str, np.ndarray] = {}
            decoder = nautilus_cli.Decoder(library, batch=batch) if inplace else None
            said = []
            for number, (inputs, truth) in enumerate(steps(path, ids)):
                where = f"batch {batch}, step {number}"
                found = library({**inputs, **mine})
                for name, array in truth.items():
                    assert_close(found[name], array, f"{where}, {name}")
                mine = {f"past.{name}": found[f"present.{name}"] for name in CACHES}
                if decoder is not None:
                    assert_close(decoder.step(input_ids=inputs["input_ids"])["logits"], truth["logits"], f"{where}, in place")
                said.append(found["logits"][:, -1].argmax(-1))
                assert np.array_equal(said[-1], truth["logits"][:, -1].argmax(-1)), where
            assert len(np.unique(said)) > 2, "a decoder that always says the same shows little"
            if decoder is not None:
                assert decoder.length == 4 + STEPS - 1
                decoder.close()


def test_committed_graphs() -> None:
    assert [str(export.id) for export in EXPORTS] == ["gpt2/dynamo", "gpt2/torchscript", "llama/dynamo", "llama/torchscript"]
    assert sum(path.stat().st_size for path in FOLDER.rglob("*.xz")) < 40_000
