from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F32, TensorType
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from nautilus_cli.ops.windows import WindowsAttrs
from tests.unit.ops.lowered import lowered

OPERATOR = operators()["nautilus::Windows"]


@pytest.mark.parametrize(("length", "step"), [(1, 1), (4, 1), (4, 3), (4, 4), (4, 9), (11, 2)])
def test_windows_overlap_or_leave_gaps(length: int, step: int) -> None:
    x = np.arange(22, dtype=np.float32).reshape(2, 11)
    wanted = np.stack([x[:, first : first + length] for first in range(0, 12 - length, step)], 1)
    attrs = WindowsAttrs(length=length, step=step)
    (truth,) = OPERATOR.evaluate(attrs, (x,), 1)
    assert np.array_equal(truth, wanted)
    assert np.array_equal(lowered(OPERATOR, attrs, [x], 1)[0], wanted)


@pytest.mark.parametrize(("length", "step"), [(0, 1), (12, 1), (4, 0)])
def test_refusals(length: int, step: int) -> None:
    with pytest.raises(ModelError, match="over rows of 11"):
        OPERATOR.infer(Inference(WindowsAttrs(length=length, step=step), (TensorType(F32, (2, 11)),), (None,), 1))
