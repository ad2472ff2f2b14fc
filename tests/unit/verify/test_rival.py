"""onnxruntime as it is measured against: it runs, on what it is given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.verify.rival import Rival
from tests.support import modelled_library, tiny_library


@pytest.fixture
def model(tmp_path: Path) -> Path:
    onnx.save(modelled_library.model(), tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


@pytest.mark.parametrize("include_transfers", [False, True])
def test_it_runs(include_transfers: bool, model: Path):
    inputs = tiny_library.feeds()
    rival = Rival(model)
    assert rival.name == f"onnxruntime {onnxruntime.__version__}, CPU"
    sum_, picked = rival.bind({**inputs, "bound": np.zeros(1)}, include_transfers=include_transfers)()  # type: ignore[misc]
    expected = tiny_library.expected(inputs)
    np.testing.assert_array_equal(sum_.numpy(), expected["sum"])
    np.testing.assert_array_equal(picked.numpy(), expected["picked"])


def test_a_gpu_that_it_cannot_use_is_not_claimed(model: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    assert not Rival(model, device=0).is_on_gpu


def test_what_it_cannot_load_or_run(model: Path, tmp_path: Path):
    with pytest.raises(ModelError, match="the model: onnxruntime cannot load it"):
        Rival(b"nonsense")
    (tmp_path / "bad.onnx").write_bytes(b"nonsense")
    with pytest.raises(ModelError, match=r"bad\.onnx: onnxruntime cannot load it"):
        Rival(tmp_path / "bad.onnx")
    with pytest.raises(ModelError, match="onnxruntime cannot run it"):
        Rival(model).bind({"x": np.zeros((2, 3), np.float32)}, include_transfers=True)
