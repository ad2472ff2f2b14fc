from __future__ import annotations

import pytest

from nautilus_cli.ir.types import BF16, F16, F32, DType
from nautilus_cli.kernels.base import Family
from nautilus_cli.lowering.choosing.choice import chosen
from nautilus_cli.lowering.single.lone_product import LoneProduct
from nautilus_cli.targets.base import Target
from nautilus_cli.targets.registry import target


def ranking(family: Family, problem: object, where: Target) -> object:
    return family.choose(problem, where)


@pytest.mark.parametrize(
    ("m", "n", "k", "dtype", "family"),
    [
        (1, 2048, 2048, F16, "gemm_skinny"),
        (1, 128256, 2048, BF16, "gemm_skinny"),
        (1, 4096, 4096, F16, "gemm_skinny"),
        (8, 4096, 4096, F16, "gemm_wgmma"),
        (1, 768, 3072, F32, "gemm_skinny"),
        (1, 8192, 2048, F32, "gemm_skinny"),
        (4, 4096, 4096, F32, "gemm_skinny"),
        (8, 4096, 4096, F32, "gemm_skinny"),
        (16, 3072, 768, F32, "gemm"),
        (4096, 4096, 4096, F32, "gemm"),
        (4096, 4096, 4096, F16, "gemm_wgmma"),
    ],
)
def test_few_rows_have_their_family(m: int, n: int, k: int, dtype: DType, family: str) -> None:
    """Measured on an H200: docs/performance.md."""
    product = LoneProduct(m=m, n=n, k=k, dtype=dtype, fp32_mode="ffma")
    assert chosen(product.lowered(), target("sm_90a"), ranking).family.name == family


@pytest.mark.parametrize("dtype", [F32, F16])
def test_large_products_of_floats_are_copied_past_registers(dtype: DType) -> None:
    """The emulator and older types keep to registers: only f32 is added up as it lies in memory."""
    lowered = LoneProduct(m=4096, n=4096, k=4096, dtype=dtype, fp32_mode="ffma").lowered()
    assert lowered.problem.is_straight == (dtype == F32)
