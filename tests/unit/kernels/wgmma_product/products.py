"""Problems and a schedule that tests of products by wgmma start from."""

from __future__ import annotations

from nautilus_cli.ir.types import F16, F32, DType
from nautilus_cli.kernels.gemm_wgmma import Problem, Schedule

SCHEDULE = Schedule(tile_m=128, tile_n=256, consumers=2, stages=4, cluster_m=2, group_m=8, vector_c=8, blocks=132)


def problem(m: int, n: int, k: int, *, batch: int = 1, multiply: DType = F16, lasts: tuple[bool, bool] = (True, True)) -> Problem:
    a_last, b_last = lasts if multiply != F32 else (True, True)
    return Problem(batch=batch, m=m, n=n, k=k, a_k_last=a_last, b_k_last=b_last, multiply=multiply)
