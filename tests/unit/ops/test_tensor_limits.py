"""What a tensor can be at most."""

from __future__ import annotations

import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.types import F32, TensorType
from nautilus_cli.ops.tensor_limits import check_size


def test_a_tensor_of_more_bytes_than_python_writes() -> None:
    huge = symbol("n", 0, 1 << 62)
    with pytest.raises(ModelError) as caught:
        check_size(TensorType(F32, (huge,) * 64), "node 'x'")
    assert "more than 340282366920938463463374607431768211456 bytes" in str(caught.value)
    assert str(caught.value).startswith("node 'x': a tensor of type f32[n, n,")
