"""How far products of f32 are from float64: strict, as sums of two tf32 numbers, and rounded to tf32."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.ir.types import F32
from tests.emulated.cases import gemm, gemm_mma, gemm_wgmma
from tests.emulated.harness import CANARY, GUARD_BYTES, Case, EmulatedRunner

EXTENTS = (1, 64, 64, 2048)


def cases() -> dict[str, Case]:
    """Return one product in every mode; operands are those of `gemm.values`, the same in each."""
    square = gemm_mma.SCHEDULES["square"]
    return {
        "ffma": gemm.plain("ffma", EXTENTS, gemm.SCHEDULES["wide"]),
        "3xtf32": gemm_mma.plain("3xtf32", EXTENTS, square, storage=F32, terms=3),
        "3xtf32-wgmma": gemm_wgmma.plain("3xtf32-wgmma", EXTENTS, gemm_wgmma.SCHEDULES["single"], storage=F32, terms=3),
        "tf32": gemm_mma.plain("tf32", EXTENTS, square, storage=F32),
    }


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """Return the norm of each mode's error over that of the result."""
    found = cases()
    runner = EmulatedRunner(list(found.values()), tmp_path_factory.mktemp("modes"))
    a, b = (found["ffma"].buffers[slot].reshape(64, 2048).astype(np.float64) for slot in (0, 1))
    exact = a @ b.T
    norms = {}
    for mode, case in found.items():
        assert all((case.buffers[slot] == found["ffma"].buffers[slot]).all() for slot in (0, 1))
        guard = np.full(GUARD_BYTES, CANARY, np.uint8)
        buffers = [np.concatenate([guard, np.ascontiguousarray(buffer).reshape(-1).view(np.uint8), guard]) for buffer in case.buffers]
        result = runner.launch(case, buffers)[2][GUARD_BYTES:-GUARD_BYTES].view(np.float32).reshape(exact.shape)
        norms[mode] = float(np.linalg.norm(result - exact) / np.linalg.norm(exact))
    return norms


@pytest.mark.parametrize("mode", ["3xtf32", "3xtf32-wgmma"])
def test_three_products_are_no_worse_than_one_of_floats(mode: str, errors: dict[str, float]) -> None:
    assert 0 < errors[mode] <= errors["ffma"]


def test_one_product_of_tf32_is_far_worse(errors: dict[str, float]) -> None:
    assert errors["tf32"] > 100 * errors["ffma"]
