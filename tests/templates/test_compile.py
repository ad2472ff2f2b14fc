"""Every family compiles for every architecture, without spills; no device is needed."""

from __future__ import annotations

import pytest

from nautilus_cli.codegen import render
from nautilus_cli.ir.types import F16, F32, DType
from nautilus_cli.kernels import row
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.registry import families
from nautilus_cli.targets.registry import target
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.nvrtc import compile_kernel
from tests.emulated.cases.families import representative
from tests.emulated.cases.programs import layer_norm
from tests.emulated.harness import OLDEST


@pytest.mark.parametrize("architecture", ["sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120"])
@pytest.mark.parametrize("family", families())
def test_compiles(family: str, architecture: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    request = representative(family)
    if OLDEST.get(family, "sm_80") != "sm_80" and families()[family].violations(request.problem, request.schedule, target(architecture)):
        pytest.skip(f"{family} is not for {architecture}")
    kernel = render(request)
    cubin = compile_kernel(kernel.text, kernel.symbol, target(architecture), Cache(tmp_path_factory.mktemp("cubins")))
    used = cubin.resources[kernel.symbol]
    assert cubin.image.startswith(b"\x7fELF")
    assert used.spill_load_bytes == used.spill_store_bytes == used.stack_bytes == 0, "values that should be in registers are in memory"
    assert used.smem_bytes == 0, "kernels take their shared memory dynamically"
    assert "warning" not in cubin.log, cubin.log


@pytest.mark.parametrize(("columns", "storage"), [(1024, F32), (1000, F16), (16384, F32), (32768, F16), (50257, F32)])
def test_chosen_rows_fit_into_registers(columns: int, storage: DType, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two loads held, or read ahead, at the lengths where the choice changes."""
    sm_90a = target("sm_90a")
    problem = row.Problem(rows=8, columns=columns, row_major=True, element_bytes=storage.bytes)
    schedule = row.FAMILY.choose(problem, sm_90a)
    functors = (("Program", layer_norm(8, columns, storage)),)
    kernel = render(KernelRequest(family="row", problem=problem, schedule=schedule, functors=functors, pointers=8))
    cubin = compile_kernel(kernel.text, kernel.symbol, sm_90a, Cache(tmp_path_factory.mktemp("cubins")))
    used = cubin.resources[kernel.symbol]
    assert used.spill_store_bytes == used.stack_bytes == 0, schedule
    assert len(cubin.image) < 64 * 1024, "names of constants take more of the cubin than its code"
