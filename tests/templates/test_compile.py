"""Every family compiles for every architecture, without spills; no device is needed."""

from __future__ import annotations

import pytest

from nautilus_cli.codegen import render
from nautilus_cli.kernels.registry import families
from nautilus_cli.targets.registry import target
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.nvrtc import compile_kernel
from tests.emulated.cases.families import representative


@pytest.mark.parametrize("architecture", ["sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120"])
@pytest.mark.parametrize("family", families())
def test_compiles(family: str, architecture: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    kernel = render(representative(family))
    cubin = compile_kernel(kernel.text, kernel.symbol, target(architecture), Cache(tmp_path_factory.mktemp("cubins")))
    used = cubin.resources[kernel.symbol]
    assert cubin.image.startswith(b"\x7fELF")
    assert used.spill_load_bytes == used.spill_store_bytes == used.stack_bytes == 0, "values that should be in registers are in memory"
    assert used.smem_bytes == 0, "kernels take their shared memory dynamically"
    assert "warning" not in cubin.log, cubin.log
