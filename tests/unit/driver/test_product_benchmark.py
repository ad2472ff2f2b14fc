"""bench_product(): which kernel is measured, on what, and that an emulator's time is no speed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nautilus_cli.driver.benchmark import EMULATED
from nautilus_cli.driver.cublas import cublas
from nautilus_cli.driver.product_benchmark import PRODUCT_TYPES, ProductBenchOptions, bench_product
from nautilus_cli.errors import UsageError
from nautilus_cli.ir.types import F16
from nautilus_cli.lowering.single.lone_product import LoneProduct, rotated, stride
from nautilus_cli.targets.registry import target

ERRORS = {"fp16": 5e-4, "bf16": 4e-3, "fp32": 1e-6, "tf32": 1e-3, "3xtf32": 2e-6}
"""Of the norm: a rounding of the result, or of the operands."""


@pytest.mark.parametrize("dtype", PRODUCT_TYPES)
def test_a_product_is_right_and_its_emulated_time_no_speed(dtype: str, tmp_path: Path) -> None:
    result = bench_product(ProductBenchOptions(extents=(40, 24, 72), dtype=dtype, target="emulated", turns=3, export=tmp_path / "e.json"))
    assert result.error < ERRORS[dtype]
    assert result.is_emulated and EMULATED in result.notes and result.cublas_us is None
    assert result.latency_us > 0 and result.tflops > 0
    data = json.loads((tmp_path / "e.json").read_text())
    assert data["extents"] == [40, 24, 72] and data["ratio"] is None and data["family"] == result.family
    assert data["schedule"] == result.schedule


def test_the_kernel_is_what_a_compilation_takes() -> None:
    sm_90a = target("sm_90a")
    choose = lambda kind, problem, judged: kind.choose(problem, judged)  # noqa: E731
    request = LoneProduct(m=4096, n=4096, k=4096, dtype=F16, fp32_mode="ffma").request(sm_90a, choose)
    assert request.family == "gemm_wgmma" and request.problem.b_is_constant and request.problem.result_bytes == 2
    assert LoneProduct(m=5, n=7, k=9, dtype=F16, fp32_mode="ffma").request(sm_90a, choose).family != "gemm_wgmma"  # rows of 18 bytes


def test_launches_walk_over_aligned_copies() -> None:
    product = LoneProduct(m=3, n=5, k=8, dtype=F16, fp32_mode="ffma")
    emulated = target("emulated")
    request = product.request(emulated, lambda kind, problem, judged: kind.choose(problem, judged))
    plan = rotated(product, request, "emulated", copies=2, launches=3)
    assert stride(product, 40) == 128 and plan.inputs[1].shape == (256,)
    assert [launch.words[1].value for launch in plan.launches] == [0, 256, 0]


@pytest.mark.parametrize(("symbolic", "extents"), [("m", (40, 24, 72)), ("mnk", (40, 24, 72)), ("nk", (3, 37, 53))])
def test_extents_may_be_arguments(symbolic: str, extents: tuple[int, int, int]) -> None:
    result = bench_product(ProductBenchOptions(extents=extents, symbolic=symbolic, target="emulated", turns=1))
    assert result.error < ERRORS["fp16"] and result.symbolic == symbolic
    assert result.known_us is not None and result.known_us > 0


def test_a_library_of_open_rows_launches_a_kernel_for_them() -> None:
    sm_90a = target("sm_90a")
    choose = lambda kind, problem, judged: kind.choose(problem, judged)  # noqa: E731
    for m, kind in ((1, "gemm_skinny"), (1000, "gemm_wgmma")):
        product = LoneProduct(m=m, n=4096, k=4096, dtype=F16, symbolic="m", fp32_mode="ffma")
        request = product.request(sm_90a, choose)
        assert request.family == kind and request.scalars == 1
        plan = rotated(product, request, "sm_90a", copies=1, launches=1)
        assert [word.value for word in plan.launches[0].words] == [0, 0, 0, m]
        assert all(isinstance(size, int) and size > 0 for size in plan.kernels[0].geometry.grid)


def test_bad_extents_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        bench_product(ProductBenchOptions(extents=(4, 0, 4), target="emulated"))
    with pytest.raises(UsageError, match="4 GiB"):
        bench_product(ProductBenchOptions(extents=(2**20, 2**20, 2**20), target="emulated"))
    with pytest.raises(UsageError, match=r"--gemm: a product of 2147483648, 1, 1 is too large for emulated: a grid of .* blocks"):
        bench_product(ProductBenchOptions(extents=(2**31, 1, 1), target="emulated"))


def test_without_torch_there_is_no_cublas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    assert cublas(8, 8, 8, "f16", is_tf32=False, device=0, copies=1, launches=1) is None
