"""Products are fused with sums where kernel text says so, and nowhere else; the families that multiply much do say so."""

from __future__ import annotations

import re

import pytest
from cuda.bindings import nvrtc as bindings

from nautilus_cli import resources
from nautilus_cli.codegen import render
from nautilus_cli.targets.registry import target
from nautilus_cli.toolchain import nvrtc
from tests.emulated.cases.families import representative

BOTH = """
#include <nautilus/device/device.cuh>
extern "C" __global__ void both(float *x, float *y) {
  x[0] = x[1] * x[2] + x[3];
  y[0] = nautilus::device::fma(y[1], y[2], y[3]);
}
"""


def ptx(text: str) -> str:
    """Return what NVRTC makes of TEXT with the project's options, for people to read."""
    chosen = [option.replace("=sm_", "=compute_") for option in nvrtc.options(target("sm_90a")) if "ptxas" not in option]
    arguments = [option.encode() for option in (*chosen, f"-I{resources.include()}")]
    _, program = bindings.nvrtcCreateProgram(text.encode(), b"k.cu", 0, [], [])
    (status,) = bindings.nvrtcCompileProgram(program, len(arguments), arguments)
    assert status == bindings.nvrtcResult.NVRTC_SUCCESS
    _, size = bindings.nvrtcGetPTXSize(program)
    buffer = bytearray(size)
    bindings.nvrtcGetPTX(program, buffer)
    bindings.nvrtcDestroyProgram(program)
    return buffer.decode()


def counts(text: str) -> tuple[int, int, int]:
    """Return how many fused products, products and sums of floats there are."""
    return tuple(len(re.findall(rf"\b{op}(?:\.rn)?\.f(?:32|64)", text)) for op in ("fma", "mul", "add"))  # type: ignore[return-value]


def test_only_what_is_written() -> None:
    assert counts(ptx(BOTH)) == (1, 1, 1)


@pytest.mark.parametrize("family", ["conv", "conv_transpose", "depthwise", "gemm", "recurrent"])
def test_inner_products_are_fused(family: str) -> None:
    fused, products, _ = counts(ptx(render(representative(family)).text))
    assert fused > products
