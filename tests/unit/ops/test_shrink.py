from __future__ import annotations

import numpy as np
import pytest

from tests.unit.ops.oracle import check

INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(("bias", "lambd"), [(0.0, 0.5), (1.5, 1.5), (-2.0, 3.0), (0.25, -1.0)])
def test_integers(dtype: type, bias: float, lambd: float) -> None:
    x = np.arange(12).reshape(3, 4).astype(dtype) - (dtype(6) if np.dtype(dtype).kind == "i" else dtype(0))
    x = np.maximum(x, 3) if np.dtype(dtype).kind == "u" else x  # below 0 there is nothing, and conversions there are open
    check("Shrink", [x.astype(dtype)], {"bias": bias, "lambd": lambd})
