"""Random programs of branches and loops within each other, held against onnxruntime: what lies where in memory, and when."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.runtime.description import EmulatorOptions
from tests.support.random_programs import COLUMNS, ROWS, program
from tests.unit.ops.oracle import same


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    """Fresh memory holds NaNs, so what is read before it is written shows."""
    model = program(seed)
    onnx.save(model, tmp_path / "model.onnx")
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # its optimiser crashes on some of them
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    library = tmp_path / "libmodel.so"
    driver.compile(driver.CompileOptions(model=tmp_path / "model.onnx", output=library, target="emulated", verify=False))
    with nautilus_cli.load(library, emulator=EmulatorOptions(poison=True)) as loaded:
        for k in range(4):
            for m in (0, 2, 3):
                x = np.random.default_rng(k).standard_normal((ROWS, COLUMNS)).astype(np.float32)
                feeds = {"x": x, "k": np.array(k), "m": np.array(m)}
                found = loaded(feeds)
                for name, wanted in zip(names, session.run(names, feeds), strict=True):
                    same(np.asarray(found[name]), wanted, terms=64, depth=256)
